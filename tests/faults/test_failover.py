"""A standby is no database to work with until it is promoted."""

from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from handlers.guard.errors import DatabaseUnavailable
from handlers.guard.migrate import migrate
from handlers.guard.session import open_session
from tests.faults.failover import open_pair

LEASE = timedelta(seconds=30)


def test_the_guard_takes_a_standby_for_a_database_out_of_reach_until_it_is_promoted(tmp_path: Path) -> None:
    tmp_path.chmod(0o711)
    with open_pair(tmp_path / "primary", {"fsync": "off"}) as pair:
        with psycopg.connect(pair.primary, autocommit=True) as connection:
            migrate(connection)
        with pytest.raises(DatabaseUnavailable, match="server is in hot standby mode"):
            open_session(lambda: pair.standby, lease=LEASE, name="test guard")
        pair.lose_what_follows()
        pair.promote()
        open_session(lambda: pair.standby, lease=LEASE, name="test guard").connection.close()
