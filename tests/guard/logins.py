"""Users of the ledger's roles, as an environment has them: they log in, and may what their role may."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

CREATE = sql.SQL("create role {user} login")
JOIN = sql.SQL("grant {role} to {user}")
DROP = sql.SQL("drop owned by {user}; drop role {user}")


@contextmanager
def login(url: str, role: str | None = None) -> Iterator[str]:
    """The URL of a new user of this database that is in the role, or in none; it is gone at the end."""
    user = sql.Identifier(name := f"{conninfo_to_dict(url)['dbname']}_{role or 'nobody'}")
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(CREATE.format(user=user))
        try:
            if role is not None:
                admin.execute(JOIN.format(role=sql.Identifier(role), user=user))
            yield make_conninfo(url, user=name)
        finally:
            admin.execute(DROP.format(user=user))
