"""A job as a process of its own: `python -m handlers.runtime.task_entry billing-run`, on Fargate or a laptop.

The exit code says what came of it: see `report.EXIT_CODES` and the README.
"""

import os
import signal
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from types import FrameType

from handlers.declaration.catalogue import UnknownJob
from handlers.guard.errors import DatabaseUnavailable, GuardError, SchemaTooOld
from handlers.runtime.iam_token import NoCredentials
from handlers.runtime.identity import MalformedDelivery, parse_delivery
from handlers.runtime.log_link import log_link, task_id
from handlers.runtime.logs import LogObserver, open_log
from handlers.runtime.metrics import MetricsObserver
from handlers.runtime.report import EXIT_BAD_INPUT, EXIT_CODES, EXIT_SCHEMA_TOO_OLD, Report, Result
from handlers.runtime.runner import Runner
from handlers.runtime.settings import InvalidSettings, read_settings
from handlers.runtime.stop import Stop
from handlers.schedule import SCHEDULE


def main(arguments: list[str], environ: Mapping[str, str] = os.environ) -> int:
    """Run the named job for the delivery that the environment describes, and return the exit code."""
    try:
        return run(arguments, environ).exit_code
    except (InvalidSettings, UnknownJob, MalformedDelivery, NoCredentials) as error:
        print(f"task_entry: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except SchemaTooOld as error:
        print(f"task_entry: {error}", file=sys.stderr)
        return EXIT_SCHEMA_TOO_OLD
    except (DatabaseUnavailable, GuardError) as error:
        print(f"task_entry: {error}", file=sys.stderr)
        return EXIT_CODES[Result.UNAVAILABLE]


def run(arguments: list[str], environ: Mapping[str, str]) -> Report:
    """The same, with errors raised and the report given."""
    if len(arguments) != 1:
        raise UnknownJob(" ".join(arguments), tuple(job.name for job in SCHEDULE))
    job = SCHEDULE.find(arguments[0])
    # A task started by hand, with neither variable, is for the latest tick.
    delivery = parse_delivery(
        environ.get("SHIFTLOCK_TRIGGER", "manual"),
        environ.get("SHIFTLOCK_EVENT_TIME", datetime.now(UTC).isoformat()),
        environ.get("SHIFTLOCK_PARTITION"),
        environ.get("SHIFTLOCK_RUN"),
    )
    runner = runner_of(environ)
    if lifeline := environ.get("SHIFTLOCK_LIFELINE"):  # of a clock: its children end in good order when it dies
        runner.stop.request_at_end_of(int(lifeline))
    return runner.run(job, delivery)


def runner_of(environ: Mapping[str, str], *, waits: bool = True) -> Runner:
    """What runs jobs in this process until a signal stops it. waits: see `Runner`.

    The main thread must call this. Raises InvalidSettings.
    """
    settings = read_settings(environ)
    log = open_log()
    return Runner(
        settings=settings,
        observers=(MetricsObserver(settings.environment), LogObserver(log)),
        log=log,
        stop=stop_on_signal(),
        compute=compute_of(environ),
        log_link=log_link(environ),
        waits=waits,
        catalogue=SCHEDULE,
    )


def compute_of(environ: Mapping[str, str]) -> str:
    """`fargate:TASK` in a task, `process:PID` elsewhere."""
    task = task_id(environ)
    return f"process:{os.getpid()}" if task is None else f"fargate:{task}"


def stop_on_signal() -> Stop:
    """A stop that SIGTERM and SIGINT ask for; the main thread must call this."""
    stop = Stop()

    def ask(number: int, frame: FrameType | None) -> None:
        stop.request()

    signal.signal(signal.SIGTERM, ask)
    signal.signal(signal.SIGINT, ask)
    return stop


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
