"""A primary and its streaming standby, from the programs of the local PostgreSQL."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg

from ops.local.postgres import server
from ops.local.postgres_account import account_for
from ops.local.postgres_binaries import find_binaries

REPLICATED = {"wal_level": "replica", "max_wal_senders": "4", "hot_standby": "on"}
STREAMING = "select exists (select from pg_stat_replication where state = 'streaming')"
# From now on a commit waits until the standby has it.
SYNCHRONOUS = "alter system set synchronous_standby_names = '*'"
ASYNCHRONOUS = "alter system reset synchronous_standby_names"
STOP_STREAMING = "alter system set primary_conninfo = ''"
RELOAD = "select pg_reload_conf()"
PROMOTE = "select pg_promote(true, 60)"


@dataclass(frozen=True, slots=True)
class Pair:
    """The URLs of both servers."""

    primary: str
    standby: str

    def lose_what_follows(self) -> None:
        """Commits from now on do not reach the standby, and do not wait for it: a failover will lose them."""
        self._tell(self.primary, ASYNCHRONOUS)
        self._tell(self.standby, STOP_STREAMING)

    def promote(self) -> None:
        """Make the standby a primary."""
        with psycopg.connect(self.standby, autocommit=True) as connection:
            connection.execute(PROMOTE)

    @staticmethod
    def _tell(url: str, setting: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(setting.encode())
            connection.execute(RELOAD)


@contextmanager
def open_pair(folder: Path, settings: Mapping[str, str]) -> Iterator[Pair]:
    """Two servers below `folder`, the second a synchronous standby of the first."""
    both = {**settings, **REPLICATED}
    with server(folder, settings=both) as primary:
        copy = folder.with_name("standby")
        _copy(primary, copy / "data")
        with server(copy, settings=both) as standby:
            with psycopg.connect(primary, autocommit=True) as connection:
                while connection.execute(STREAMING).fetchone() != (True,):
                    connection.execute("select pg_sleep(0.05)")
            Pair._tell(primary, SYNCHRONOUS)
            yield Pair(primary, standby)


def _copy(primary: str, data: Path) -> None:
    """A copy of the primary's data that follows it. Raises RuntimeError with the program's words."""
    account = account_for(data)
    data.mkdir(parents=True, mode=0o700)
    data.parent.chmod(0o755)
    account.own(data)
    place = parse_qs(urlsplit(primary).query)
    with account.way_to(data) as (path, descriptors):
        done = account.run(
            [
                find_binaries(None, account).folder / "pg_basebackup",
                f"--host={place['host'][0]}",
                f"--port={place['port'][0]}",
                "--username=postgres",
                f"--pgdata={path}",
                "--wal-method=stream",
                "--checkpoint=fast",
                "--write-recovery-conf",
                "--no-sync",
            ],
            descriptors=descriptors,
        )
    if done.returncode != 0:
        raise RuntimeError(f"pg_basebackup: {done.stdout.decode(errors='replace')}")
