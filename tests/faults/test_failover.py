"""A standby is no database to work with until it is promoted."""

import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from handlers.guard.errors import DatabaseUnavailable
from handlers.guard.migrate import migrate
from handlers.guard.session import open_session
from tests.faults.failover import open_pair

LEASE = timedelta(seconds=30)


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that the servers' account can reach, also when that is not ours; pytest's own is closed to others."""
    with tempfile.TemporaryDirectory(prefix="shiftlock-") as made:
        Path(made).chmod(0o711)
        yield Path(made)


def test_the_guard_takes_a_standby_for_a_database_out_of_reach_until_it_is_promoted(folder: Path) -> None:
    with open_pair(folder / "primary", {"fsync": "off"}) as pair:
        with psycopg.connect(pair.primary, autocommit=True) as connection:
            migrate(connection)
        with pytest.raises(DatabaseUnavailable, match="server is in hot standby mode"):
            open_session(lambda: pair.standby, lease=LEASE, name="test guard")
        pair.lose_what_follows()
        pair.promote()
        open_session(lambda: pair.standby, lease=LEASE, name="test guard").connection.close()
