"""Where the runtime's connections go."""

from datetime import UTC, datetime
from pathlib import Path

from psycopg.conninfo import make_conninfo

from handlers.guard.connection import Connect
from handlers.runtime.iam_token import credentials, sign_token
from handlers.runtime.settings import DatabaseUrl, IamDatabase

# Amazon's root certificates for RDS come with the bundle: verify-full needs them, and nothing is fetched at run time.
RDS_ROOTS = Path(__file__).with_name("rds-global-bundle.pem")

# A paused Aurora needs 15 to 30 s to resume (Aurora user guide, "Scaling to zero ACUs").
CONNECT_TIMEOUT = 60


def connection_strings(database: DatabaseUrl | IamDatabase) -> Connect:
    """A source of connection strings, with a fresh token each time where the database takes one."""
    if isinstance(database, DatabaseUrl):
        return lambda: database.url

    def with_token() -> str:
        return make_conninfo(
            host=database.host,
            port=database.port,
            dbname=database.name,
            user=database.user,
            password=sign_token(database, credentials(), datetime.now(UTC)),
            sslmode="verify-full",
            sslrootcert=str(RDS_ROOTS),
            connect_timeout=CONNECT_TIMEOUT,
        )

    return with_token
