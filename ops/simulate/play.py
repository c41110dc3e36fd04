"""Play a scenario through, event after event, and read what the ledger says of it."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from handlers.declaration.job import Job
from handlers.runtime.settings import DatabaseUrl, Settings
from ops.simulate.agenda import Agenda, Rank
from ops.simulate.bells import Bell, bells
from ops.simulate.crew import Crew
from ops.simulate.history import Run, history
from ops.simulate.passes import Passes
from ops.simulate.scenario import MINUTE, Scenario
from ops.simulate.scratch import Scratch, scratch_database

FIRST_REPLAN = 512  # events; and again each time that there have been twice as many


@dataclass(frozen=True, slots=True)
class Played:
    """What came of it: the runs with a tick in the scenario's time, by tick, and what is in no ledger.

    unheard: bells that did not ring, by job; doubled: bells that rang twice. passes: those the scheduler made.
    """

    runs: tuple[Run, ...]
    unheard: Counter[str]
    doubled: Counter[str]
    passes: int


def play(
    scenario: Scenario,
    server_url: str,
    *,
    checked: bool = True,
    tell: Callable[[datetime], None] = lambda now: None,
) -> Played:
    """Play it on a scratch database of this server. checked: see there. tell: hears the virtual time of each event.

    Raises psycopg.Error and what the guard raises.
    """
    with scratch_database(server_url, before(scenario), checked=checked) as scratch:
        return play_on(scenario, scratch, tell=tell)


def before(scenario: Scenario) -> datetime:
    """When the scheduler makes its first pass: so the first ticks have their rows when they come."""
    return scenario.start - MINUTE


def play_on(scenario: Scenario, scratch: Scratch, *, tell: Callable[[datetime], None] = lambda now: None) -> Played:
    """Play it on this scratch database, whose time is `before` it."""
    stage = _Stage(scenario, scratch)
    try:
        stage.play(tell)
    finally:
        stage.crew.close()
    runs = tuple(history(scratch.connection, scenario.start, scenario.end))
    return Played(runs, stage.unheard, stage.doubled, stage.passes.made)


class _Stage:
    """A scenario as it is played."""

    def __init__(self, scenario: Scenario, scratch: Scratch) -> None:
        self._scenario, self._scratch = scenario, scratch
        self._clock, self._agenda = scratch.clock, Agenda()
        lease = Settings("simulated", DatabaseUrl(scratch.url)).lease
        self.crew = Crew(scratch, scenario, self._agenda, lease)
        self.passes = Passes(scratch, scenario, self._agenda, self.crew)
        self.crew.scheduler = self.passes
        self.unheard: Counter[str] = Counter()
        self.doubled: Counter[str] = Counter()

    def play(self, tell: Callable[[datetime], None]) -> None:
        scenario = self._scenario
        for outage in scenario.outages.spans:
            self._agenda.put(max(outage.start, scenario.start), Rank.OUTAGE, self.crew.die)
        if not scenario.clock:
            for job in scenario.catalogue:
                self._await_bell(job, bells(job, scenario.start, scenario.end, scenario.faults))
        self.passes.begin()
        self.passes.wake(scenario.start)
        events, grown = 0, FIRST_REPLAN
        while (coming := self._agenda.take(before=scenario.end)) is not None:
            events += 1
            if events == grown:
                self._scratch.replan()
                grown *= 2
            now, action = coming
            self._clock.now = now
            tell(now)
            action(now)

    def _await_bell(self, job: Job, to_come: Iterator[Bell]) -> None:
        bell = next(to_come, None)
        if bell is None:
            return

        def ring(now: datetime) -> None:
            self._await_bell(job, to_come)
            faults = self._scenario.faults
            if faults.loses(job.name, bell.tick) or now in self._scenario.outages:
                self.unheard[job.name] += 1
                return
            if (later := faults.rings_again(job.name, bell.tick)) is not None:
                self.doubled[job.name] += 1
                self._agenda.put(now + later, Rank.BELL, ring_again)
            self.crew.start(job, bell.delivery)

        def ring_again(now: datetime) -> None:
            if now not in self._scenario.outages:
                self.crew.start(job, bell.delivery)

        self._agenda.put(bell.at, Rank.BELL, ring)
