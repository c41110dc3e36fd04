"""The scheduler's passes over the ledger: the real ones, in each minute in which there may be something to do."""

from datetime import datetime, timedelta

from handlers.planning.carry_out import call
from handlers.planning.sweep import sweep
from handlers.runtime.identity import Delivery
from handlers.runtime.retry import INFRASTRUCTURE_BUDGET
from ops.simulate.agenda import Agenda, Rank
from ops.simulate.crew import Crew
from ops.simulate.scenario import MINUTE, Scenario
from ops.simulate.scratch import Scratch

# When a pass will have something to do, should nothing else happen: nothing more is planned, or a row is due. Planning
# goes further ahead than this, but when a row is written alters nothing as long as that is before its tick. What is
# left to somebody else at first is due for a pass when that time is over.
DUTIES = """
(select 0 as id, min(planned_until) as at from shiftlock.jobs)
union all
(select run.id, run.next_run + case when run.attempt = 0 and not run.waiting and run.next_run = run.tick
                                    then asked.on_time else interval '0' end as at
 from shiftlock.job_runs run
 join unnest(%(jobs)s::text[], %(on_times)s::interval[]) as asked (job, on_time) on asked.job = run.job_name
 where run.status = 'pending' order by at limit %(most)s)
"""
MOST_DUTIES = 100
# Not the ids of runs: to plan, and whatever comes after the runs that were read.
PLANNING, MORE = 0, -1

MOMENT = timedelta(microseconds=1)
# So long after the full minute a watchdog's function has started and is connected. What the minute's bells have started
# is at work by then. A clock of our own is always there.
STARTED = timedelta(seconds=5)


class Passes:
    """Makes a pass each minute, and as a clock of our own also when a process ends; those of no use are left out.

    None is made in an outage; the first after it comes with its end.
    """

    def __init__(self, scratch: Scratch, scenario: Scenario, agenda: Agenda, crew: Crew) -> None:
        self._connection, self._clock = scratch.connection, scratch.clock
        self._scenario, self._agenda, self._crew = scenario, agenda, crew
        self._next: datetime | None = None
        self._looked = scratch.clock.now
        self._into_minute = timedelta() if scenario.clock else STARTED
        self._lease_ends: set[datetime] = set()
        # What was found when the ledger was last asked, by run; those whose run a process has claimed are over.
        self._duties: dict[int, datetime] = {}
        self._asked = False
        rings = scenario.clock
        self._facts = {
            "jobs": [job.name for job in scenario.catalogue],
            "on_times": [timedelta() if rings else scenario.on_time(job) for job in scenario.catalogue],
            "most": MOST_DUTIES,
        }
        self.made = 0

    def begin(self) -> None:
        """Make the first pass, now: what comes after it is planned, and nothing before it was missed."""
        self._pass(self._clock.now)

    def wake(self, at: datetime) -> None:
        """Look at the ledger at the first regular pass after `at`, or earlier."""
        self._asked = False
        self._look_at(max(self._at_or_after(at), self._after(self._looked)))

    def claimed(self, run_id: int) -> None:
        """The run is no longer due."""
        self._duties.pop(run_id, None)

    def lost(self, lease_end: datetime) -> None:
        """Rescue what was lost, once its lease is over."""
        self._lease_ends.add(lease_end)
        self.wake(lease_end)

    def ended(self, now: datetime) -> None:
        """A process has ended: a clock of our own notices at once."""
        if self._scenario.clock:
            self._asked = False
            self._look_at(now)

    def _look_at(self, at: datetime) -> None:
        over = self._scenario.outages.over(at)
        if over != at:
            # A clock of our own is started again, and looks at once.
            at = over if self._scenario.clock else self._at_or_after(over)
        if self._next is None or at < self._next:
            self._next = at
            self._agenda.put(at, Rank.PASS, self._look)

    def _look(self, now: datetime) -> None:
        if now != self._next:
            return  # there was an earlier look, which has found out when the next must be
        self._next, self._looked = None, now
        if self._scenario.every_pass:
            self._pass(now)
            self._look_at(self._after(now))
            return
        if not self._asked:
            self._ask()
        if self._next_duty() <= now:
            self._pass(now)
            self._ask()
        self._look_at(max(self._at_or_after(self._next_duty()), self._after(now)))

    def _next_duty(self) -> datetime:
        return min((*self._duties.values(), *self._lease_ends), default=self._scenario.end)

    def _ask(self) -> None:
        self._duties = dict(self._connection.execute(DUTIES, self._facts).fetchall())
        runs = self._duties.keys() - {PLANNING}
        if len(runs) == MOST_DUTIES:
            self._duties[MORE] = max(self._duties[run_id] for run_id in runs)
        self._asked = True

    def _pass(self, now: datetime) -> None:
        self.made += 1
        self._crew.beat()
        self._clock.strike()
        made = sweep(
            self._connection,
            self._scenario.catalogue,
            on_time=self._scenario.on_time_but_for_spread,
            rings=self._scenario.clock,
            lost_budget=INFRASTRUCTURE_BUDGET,
        )
        self._lease_ends = {end for end in self._lease_ends if end > now}
        if not made.starts:
            return
        called = call(self._connection, [start.due.run_id for _, start in made.starts])
        for job, start in made.starts:
            if start.due.run_id in called:
                self._crew.start(job, Delivery(start.trigger, None, run_id=start.due.run_id))

    def _at_or_after(self, at: datetime) -> datetime:
        """The time of the first regular pass that is no earlier."""
        pass_of_minute = at.replace(second=0, microsecond=0) + self._into_minute
        return pass_of_minute if pass_of_minute >= at else pass_of_minute + MINUTE

    def _after(self, at: datetime) -> datetime:
        """The time of the first regular pass that is later."""
        return self._at_or_after(at + MOMENT)
