"""Faults of the server itself: each strikes all runs that go on there, so they come in batches."""

import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

import psutil
import psycopg

from ops.local.postgres import server
from tests.faults.failover import open_pair
from tests.faults.job import Calendar
from tests.faults.plan import FAILOVERS, Kind, Plan
from tests.faults.play import Place, Play, Played
from tests.faults.proxy import Proxy
from tests.faults.stage import make_stages
from tests.faults.workers import ROOT, Workers

# A postmaster that is killed and not started again leaves its shared memory behind, unless its folder has it.
CONNECTIONS = {"max_connections": "300", "dynamic_shared_memory_type": "mmap"}
BACKENDS = "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"


@dataclass(frozen=True, slots=True)
class Site:
    """Where a batch is played. url: of the server, for good; strike: begins the outage and returns when it is over.

    how: which outage that is, of those of its kind.
    """

    url: str
    way: Callable[[str], str]
    strike: Callable[[random.Random], object]
    how: str


class CannotStrike(Exception):
    """This machine has not the means for an outage of this kind; the text says which."""


def play_batch(plans: Sequence[Plan], workers: Workers, calendar: Calendar, room: Path) -> list[Played]:
    """Play these runs of one kind beside each other, and strike them all with one outage.

    room: a folder that is deleted with all that is in it however this process ends. Raises CannotStrike.
    """
    chance = random.Random(plans[0].replay)  # noqa: S311  # repeatable on purpose
    with _folder(room) as folder, SITES[plans[0].kind](folder, plans[0].how) as site:
        ways = [site.way(stage) for stage in make_stages(site.url, len(plans))]
        plays = [Play(plan, Place(way, way, calendar), workers) for plan, way in zip(plans, ways, strict=True)]
        with ThreadPoolExecutor(len(plays)) as pool:
            playing = [pool.submit(play.run) for play in plays]
            Event().wait(chance.uniform(0.1, 1.1))
            for play in plays:
                play.strike_from_outside()
            try:
                site.strike(chance)
            finally:
                played = [one.result() for one in playing]
    return [replace(one, how=site.how) for one in played]


@contextmanager
def _crashing(folder: Path, how: str) -> Iterator[Site]:
    """A server that is killed in one of three ways, and started again on the same data."""
    with ExitStack() as stack:
        url = stack.enter_context(server(folder, settings=CONNECTIONS))

        def strike(chance: random.Random) -> None:
            if how == "backend killed":  # the server then ends all others and recovers by itself
                with psycopg.connect(url, autocommit=True) as connection:
                    victims = [pid for (pid,) in connection.execute(BACKENDS)]
                with suppress(ProcessLookupError):
                    os.kill(chance.choice(victims), signal.SIGKILL)
            else:
                dying = psutil.Process(postmaster(folder))
                dying.send_signal(signal.SIGQUIT if how == "immediate shutdown" else signal.SIGKILL)
                dying.wait()  # it still takes connections while it goes down, and would pass for one that runs
                stack.enter_context(server(folder, settings=CONNECTIONS))

        yield Site(url, str, strike, how)


@contextmanager
def _failing_over(folder: Path, how: str) -> Iterator[Site]:
    """A primary that dies, and a standby that takes its place behind the same address."""
    loses, early = FAILOVERS[how]
    with open_pair(folder, CONNECTIONS) as pair, Proxy(pair.primary) as proxy:

        def strike(chance: random.Random) -> None:
            if loses:
                pair.lose_what_follows()
                Event().wait(chance.uniform(0.0, 0.4))
            os.kill(postmaster(folder), signal.SIGKILL)
            if early:  # the name leads to the standby before that is promoted: it refuses to write
                proxy.lead_to(pair.standby)
                Event().wait(chance.uniform(0.0, 0.3))
            pair.promote()
            proxy.lead_to(pair.standby)
            proxy.cut("reset")

        yield Site(pair.primary, proxy.through, strike, how)


@contextmanager
def _filling_up(folder: Path, how: str) -> Iterator[Site]:
    """A server whose disk is full for a while, by another means where this machine has not that one."""
    folder.mkdir()
    helper = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.disk", folder, how],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def say(command: str) -> str:
        assert helper.stdin is not None
        helper.stdin.write(f"{command}\n")
        helper.stdin.flush()
        return heard()

    def heard() -> str:
        assert helper.stdout is not None
        if line := helper.stdout.readline():
            return line.rstrip("\n")
        raise RuntimeError("the server with the small disk has died: see its words above")

    try:
        means, _, url = heard().rpartition(" ")
        if means.startswith("-"):
            raise CannotStrike(f"{means[2:]} {url}")
        with Proxy(url) as proxy:

            def strike(chance: random.Random) -> None:
                say(f"fill {chance.choice([0, 0, 1 << 14, 1 << 17])}")
                Event().wait(chance.uniform(0.3, 3.0))
                proxy.lead_to(say("clear"))

            yield Site(url, proxy.through, strike, means)
    finally:
        helper.communicate()


SITES: dict[Kind, Callable[[Path, str], AbstractContextManager[Site]]] = {
    "restart": _crashing,
    "failover": _failing_over,
    "disk": _filling_up,
}


def postmaster(folder: Path) -> int:
    """The process number of the server in this folder."""
    return int((folder / "data" / "postmaster.pid").read_text().splitlines()[0])


@contextmanager
def _folder(room: Path) -> Iterator[Path]:
    """The path for one server's folder, which is deleted at the end."""
    with tempfile.TemporaryDirectory(dir=room, ignore_cleanup_errors=True) as made:
        os.chmod(made, 0o711)  # noqa: S103  # the server may be another user's
        yield Path(made) / "server"
