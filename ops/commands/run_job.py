"""`jobs run`: one run in this process, through the runner that also serves Lambda and Fargate."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from datetime import UTC, datetime, timedelta

from handlers.declaration.job import Job
from handlers.guard.errors import one_line as first_line
from handlers.runtime.identity import Delivery
from handlers.runtime.logs import LogObserver, open_log
from handlers.runtime.metrics import MetricsObserver
from handlers.runtime.observer import Beat, Ended, Observer, RunEvent, Started
from handlers.runtime.report import Report, Result
from handlers.runtime.runner import Runner
from handlers.runtime.task_entry import stop_on_signal
from handlers.schedule import SCHEDULE
from ops.configured import needed
from ops.refused import Refused
from ops.wording import minute, one_line, span

# What is further ahead is a mistake in the year, and a job that looks back from there finds all there is.
FURTHEST = timedelta(days=31)


def run_job(name: str, *, tick: datetime | None, partition: str | None, verbose: bool) -> int:
    """Run the job for a tick, the latest without one; print what came of it and return the exit code of a task.

    Raises UnknownJob, Refused, and what the settings, the runner and the database raise.
    """
    job = SCHEDULE.find(name)
    if not job.scheduled:
        raise Refused(f"{name} takes its work from messages: `jobs queue send {name} JSON --key KEY` sends one")
    if tick is None:
        tick = job.schedule.previous(datetime.now(UTC))
    else:
        check_tick(job, tick, datetime.now(UTC))
    settings = needed()
    with _job_output(verbose=verbose):
        log = open_log()
        observers: tuple[Observer, ...] = (MetricsObserver(settings.environment), LogObserver(log), tell)
        report = Runner(settings=settings, observers=observers, log=log, stop=stop_on_signal(), compute="jobs run").run(
            job, Delivery("manual", tick, partition=partition)
        )
    print(outcome(report) + instead(report))
    return report.exit_code


def check_tick(job: Job, tick: datetime, now: datetime) -> None:
    """Refuse a time at which the job is not due, with the nearest ones before and after, and one far ahead. Raises
    Refused."""
    before, after = job.schedule.previous(tick), job.schedule.next(tick)
    if before == tick:
        if tick - now > FURTHEST:
            raise Refused(f"{minute(tick)} is {span(tick - now)} ahead: allowed is a tick of the next {span(FURTHEST)}")
        return
    nearest = " and ".join(
        f"{minute(each)} {side}" for each, side in ((before, "before"), (after, "after")) if each is not None
    )
    raise Refused(f"{tick.isoformat().replace('+00:00', 'Z')} is no tick of {job.name}: the nearest are {nearest}")


def outcome(report: Report) -> str:
    """What came of it, on one line."""
    which = [f"run {report.run_id}"] if report.run_id else []
    which += [f"attempt {report.attempt}"] if report.attempt else []
    came_to, because = report.result.replace("_", " "), report.because
    if report.result is Result.SUCCEEDED and report.status == "running":
        came_to, because = "running", "it waits for its children"
    text = f"{report.job} {report.run_key} {came_to}: {because}"
    text += f" ({', '.join(which)})" if which else ""
    text += f": {one_line(report.error)}" if report.error else ""
    return text + (f": {json.dumps(report.value, ensure_ascii=False)}" if report.value is not None else "")


def instead(report: Report) -> str:
    """What to do about a run that has ended otherwise than well before."""
    ended = report.result is Result.ALREADY_DONE and "has succeeded" not in report.because
    return f"; `jobs retry {report.run_id}` has it run again" if ended else ""


def tell(event: RunEvent) -> None:
    """Say on stderr how far the run is, for as long as it goes on."""
    if (news := _news(event)) is not None:
        with suppress(OSError):  # that nobody listens any more must not end the run
            print(f"{event.run.job} {event.run.run_key}: {news}", file=sys.stderr)


def _news(event: RunEvent) -> str | None:
    match event:
        case Started(run=run):
            return f"attempt {run.attempt} of run {run.run_id} has started"
        case Beat(done=done, total=total) if done:
            return f"{done} done" if total is None else f"{done} of {total} done"
        case Ended(run=run, outcome=ended, seconds=seconds, error=error):
            why = "" if error is None else f": {one_line(f'{type(error).__name__}: {first_line(error)}')}"
            return f"attempt {run.attempt} {ended} after {span(timedelta(seconds=seconds))}{why}"
    return None


@contextmanager
def _job_output(*, verbose: bool) -> Iterator[None]:
    """Keep what job, log and metrics print on stdout away from the answer: on stderr, or nowhere."""
    with open(os.devnull, "w") as nowhere, redirect_stdout(sys.stderr if verbose else nowhere):
        yield
