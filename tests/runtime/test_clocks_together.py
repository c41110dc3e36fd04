"""Three clocks at once over five simulated days, any of them killed at any time: each tick runs once, none is missed.

Ledger, planning, clock and runner are the real ones. The time is the ledger's own and moves in steps; a run's process
is the clock's, so that a killed clock leaves claimed runs behind.
"""

import os
import random
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from handlers.declaration.catalogue import declare
from handlers.declaration.cron import Cron, cron, every
from handlers.declaration.duration import hours
from handlers.declaration.job import Job
from handlers.declaration.policy import CatchUp
from handlers.planning.misfire import Start
from handlers.runtime.children import Child, Children
from handlers.runtime.clock import Clock
from handlers.runtime.identity import Delivery
from handlers.runtime.logs import open_log
from handlers.runtime.runner import Runner
from handlers.runtime.settings import DatabaseUrl, Settings
from handlers.runtime.stop import Stop
from ops.simulate.scratch import Scratch, scratch_database
from tests.conftest import SERVERS
from tests.databases import Template
from tests.runtime.running import FORK

BEGIN = datetime(2026, 10, 22, 0, 0, 30, tzinfo=UTC)  # a clock change of Berlin's lies in the five days
END = BEGIN + timedelta(days=5)
CLOCKS, KILLS = 3, 0.08
LOOKS = 60  # seconds that a look may take


def job(name: str, schedule: Cron) -> Job:
    facts = {"longest_run": hours(1), "catch_up": CatchUp("all", window=None, at_most=1000)}
    return Job(name, target="tests.runtime.sample_jobs:succeed", schedule=schedule, **facts)  # type: ignore[arg-type]


TABLE = declare(
    job("half-hourly", every(minutes=30)),
    job("hourly-in-berlin", cron("0 * * * ? *", zone="Europe/Berlin")),
    job("nightly-in-berlin", cron("30 2 * * ? *", zone="Europe/Berlin")),
)
ROWS = """
select tick, status, (select count(*) from shiftlock.job_attempts where run_id = run.id and outcome = 'succeeded')
from shiftlock.job_runs as run where job_name = %s and tick > %s and tick <= %s order by tick
"""


class Here(Children):
    """Runs what it is told to start at once, in the clock's own process."""

    def __init__(self, runner: Runner) -> None:
        super().__init__({}, 1, lambda job: [])
        self._runner = runner

    def start(self, job: Job, start: Start) -> int:
        """Run it to its end."""
        self._runner.run(job, Delivery(start.trigger, None, run_id=start.due.run_id))
        return os.getpid()

    def reap(self) -> list[tuple[Child, int]]:
        """None is ever left."""
        return []


def be_a_clock(url: str, told: Connection) -> None:
    """Look when told to, and say so."""
    log, stop = open_log(), Stop()
    log.setLevel("CRITICAL")
    settings = Settings("test", DatabaseUrl(url), timedelta(seconds=30))
    children = Here(Runner(settings=settings, observers=(), log=log, stop=stop, compute="test"))
    clock = Clock(lambda: url, TABLE, children, log, stop, lambda made: None)
    with suppress(EOFError):
        while told.recv():
            clock.look()
            told.send("looked")


class Clocks:
    """The three processes."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._running: list[tuple[BaseProcess, Connection]] = []
        self.killed = 0

    def all_look(self, chance: random.Random) -> None:
        """Let all of them look at once; one may be killed over it, and is replaced."""
        while len(self._running) < CLOCKS:
            ours, theirs = FORK.Pipe()
            process = FORK.Process(target=be_a_clock, args=(self._url, theirs))
            process.start()
            theirs.close()
            self._running.append((process, ours))
        for _, pipe in self._running:
            pipe.send("look")
        if chance.random() < KILLS:
            victim, pipe = self._running.pop(chance.randrange(CLOCKS))
            wait([pipe], chance.uniform(0.0, 0.03))  # somewhere within its look
            os.kill(victim.pid or 0, signal.SIGKILL)
            victim.join()
            self.killed += 1
        for _, pipe in self._running:
            assert pipe.poll(LOOKS)
            pipe.recv()

    def end(self) -> None:
        """End all of them."""
        for process, _ in self._running:
            process.kill()
            process.join()


@contextmanager
def clocks(url: str) -> Iterator[Clocks]:
    """Three clocks, which are gone at the end."""
    running = Clocks(url)
    try:
        yield running
    finally:
        running.end()


def five_days(scratch: Scratch, running: Clocks, chance: random.Random) -> None:
    """Let time go by in steps of up to an hour, and a few looks more at the end."""
    clock = scratch.clock
    running.all_look(random.Random(0))  # noqa: S311  # they begin with the jobs' registration
    while clock.now < END:
        clock.now = min(END, clock.now + timedelta(seconds=chance.randrange(20, 3600)))
        clock.strike()
        for _ in range(2):
            running.all_look(chance)
    for _ in range(CLOCKS * 2):
        clock.now += timedelta(seconds=31)  # what killed clocks have left comes to the end of its lease
        clock.strike()
        running.all_look(random.Random(0))  # noqa: S311


def test_three_clocks_run_each_tick_of_five_days_once_though_they_are_killed(template_on: object) -> None:
    template: Template = template_on(SERVERS[0])  # type: ignore[operator]
    with ExitStack() as stack:
        scratch = stack.enter_context(scratch_database(template.url, BEGIN))
        running = stack.enter_context(clocks(scratch.url))
        five_days(scratch, running, random.Random(20261022))  # noqa: S311  # repeatable on purpose
        for each in TABLE:
            expected = [(tick, "succeeded", 1) for tick in each.schedule.between(BEGIN, END)]
            assert scratch.connection.execute(ROWS, [each.name, BEGIN, END]).fetchall() == expected
        assert running.killed > 10
        assert len([*TABLE.find("hourly-in-berlin").schedule.between(BEGIN, END)]) == 120
