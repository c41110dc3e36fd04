"""`jobs simulate`: the schedule, with what may go wrong, on a virtual clock over a throwaway ledger."""

import sys
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from handlers.declaration.catalogue import Catalogue
from handlers.schedule import SCHEDULE
from ops.local.postgres import LocalPostgresError, server
from ops.refused import Refused
from ops.simulate.alarms import pages
from ops.simulate.faults import Chance, Faults
from ops.simulate.outages import Outage, Outages, Span, outages
from ops.simulate.play import play
from ops.simulate.report import print_record, print_report
from ops.simulate.scenario import Scenario
from ops.simulate.tally import tallies
from ops.wording import minute

LONGEST = timedelta(days=5 * 366)
CLEAR_LINE = "\r\x1b[K"


def simulate(
    *,
    start: datetime,
    end: datetime,
    given: Sequence[Outage],
    lost: float,
    duplicate: float,
    fail: Sequence[Chance],
    die: Sequence[Chance],
    takes: float,
    clock: bool,
    seed: int,
    job: str | None,
    most_pages: int,
    as_json: bool,
) -> None:
    """Simulate, and print what came of it. Raises Refused and UnknownJob."""
    start, end = _whole_minutes(start), _whole_minutes(end)
    if start >= end:
        raise Refused(f"--from {minute(start)} to {minute(end)}: allowed is a --to that comes later")
    if end - start > LONGEST:
        raise Refused(f"--from {minute(start)} to {minute(end)}: allowed is 5 years at most")
    if clock and (lost or duplicate):
        raise Refused("--clock with --lost or --duplicate: these are about bells, and a clock of our own needs none")
    catalogue = SCHEDULE if job is None else Catalogue((SCHEDULE.find(job),))
    scenario = Scenario(
        catalogue=catalogue,
        start=start,
        end=end,
        outages=_outages(given, start, end),
        faults=Faults(seed, lost, duplicate, _by_job(fail, catalogue), _by_job(die, catalogue)),
        takes=takes,
        clock=clock,
    )
    try:
        with server(None, fast=True) as url:
            played = play(scenario, url, checked=False, tell=_progress(scenario))
    except LocalPostgresError as error:
        raise Refused(f"no throwaway database for the simulation: {error}") from error
    finally:
        if sys.stderr.isatty():
            print(CLEAR_LINE, end="", file=sys.stderr, flush=True)
    counted, called = tallies(scenario, played), pages(catalogue, played.runs, start, end)
    if as_json:
        print_record(scenario, counted, called)
    else:
        print_report(scenario, counted, called, most_pages=most_pages)


def _by_job(chances: Sequence[Chance], catalogue: Catalogue) -> dict[str, float]:
    """The probability of each job; of two that are given for it, the later counts. Raises UnknownJob."""
    by_job: dict[str, float] = {}
    for chance in chances:
        by_job |= {job.name: chance.of for job in (catalogue if chance.job is None else (catalogue.find(chance.job),))}
    return by_job


def _outages(given: Sequence[Outage], start: datetime, end: datetime) -> Outages:
    for outage in given:
        if isinstance(outage, Span) and (outage.end <= start or outage.start >= end):
            raise Refused(
                f"--outage {minute(outage.start)}..{minute(outage.end)}: allowed is one between "
                f"{minute(start)} and {minute(end)}"
            )
    return outages(given, start, end)


def _whole_minutes(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)


def _progress(scenario: Scenario) -> Callable[[datetime], None]:
    """Say on a terminal which day is simulated."""
    if not sys.stderr.isatty():
        return lambda now: None
    day = scenario.start.date() - timedelta(days=1)

    def tell(now: datetime) -> None:
        nonlocal day
        if now.date() != day:
            day = now.date()
            print(f"{CLEAR_LINE}{day}", end="", file=sys.stderr, flush=True)

    return tell
