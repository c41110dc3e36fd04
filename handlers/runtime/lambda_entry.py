"""A job's Lambda function: one function per job, its name in SHIFTLOCK_JOB."""

import os
import time
from collections.abc import Mapping
from typing import Any, Protocol

from handlers.declaration.job import Job
from handlers.runtime.identity import parse_delivery
from handlers.runtime.log_link import log_link
from handlers.runtime.logs import LogObserver, open_log
from handlers.runtime.metrics import MetricsObserver
from handlers.runtime.report import DUPLICATES, QUIET, Report
from handlers.runtime.runner import Runner
from handlers.runtime.settings import read_settings
from handlers.runtime.stop import Stop
from handlers.schedule import SCHEDULE

# Lambda ends a function at its timeout without running any clean-up (Lambda developer guide, "Lambda execution
# environment lifecycle"), so the job is ended this many seconds earlier.
RESERVE = 10.0


class LambdaContext(Protocol):
    """The part of Lambda's context object that is used here."""

    aws_request_id: str

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda ends the function."""


class AttemptFailed(RuntimeError):
    """Raised so that Lambda counts the invocation as failed and sends it to the function's failure destination."""

    def __init__(self, report: Report) -> None:
        self.report = report
        error = f": {report.error}" if report.error else ""
        super().__init__(f"{report.job} {report.run_key} {report.result}, {report.because}{error}")


def handler(event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Run the function's job for `{"trigger": ..., "time": ...}`, or `{"trigger": ..., "run": ...}`; what came of it.

    Raises AttemptFailed when the job did not succeed, and the settings', delivery's and guard's errors as they are.
    """
    ends_at = time.monotonic() + context.get_remaining_time_in_millis() / 1000 - RESERVE
    job, runner = job_and_runner(context, ends_at)
    named = (event.get(name) for name in ("trigger", "time", "partition", "run"))
    report = runner.run(job, parse_delivery(*named))
    if report.result not in QUIET or (job.on_duplicate == "error" and report.result in DUPLICATES):
        raise AttemptFailed(report)
    return {
        "job": report.job,
        "run": report.run_key,
        "outcome": report.result,
        "because": report.because,
        "attempt": report.attempt,
        "result": report.value,
    }


def job_and_runner(context: LambdaContext, ends_at: float, *, waits: bool = True) -> tuple[Job, Runner]:
    """The function's job, and what runs it in this call. ends_at, waits: see `Runner`.

    Raises InvalidSettings, UnknownJob.
    """
    settings = read_settings()
    log = open_log()
    runner = Runner(
        settings=settings,
        observers=(MetricsObserver(settings.environment), LogObserver(log)),
        log=log,
        stop=_NEVER_STOPPED,
        compute=f"lambda:{context.aws_request_id}",
        log_link=log_link(os.environ),
        ends_at=ends_at,
        waits=waits,
        catalogue=SCHEDULE,
    )
    return SCHEDULE.find(os.environ.get("SHIFTLOCK_JOB", "")), runner


# Lambda tells a function nothing before it ends it; one for the whole life of the process, since it holds a pipe.
_NEVER_STOPPED = Stop()
