"""The recorder's Lambda function: what AWS says of dead processes and failed starts goes into the ledger.

ECS forgets why a task stopped within an hour, and a Lambda that is ended at its timeout says nothing itself.
"""

import os
from collections.abc import Mapping, Sequence
from datetime import timedelta

from aws_lambda_powertools.logging import Logger

from handlers.declaration.signals import Signal
from handlers.guard.session import open_session
from handlers.runtime.database import connection_strings
from handlers.runtime.logs import open_log
from handlers.runtime.metrics import count_loss
from handlers.runtime.recorder.ended import ended_badly
from handlers.runtime.recorder.event import findings, passed_on
from handlers.runtime.recorder.findings import Finding
from handlers.runtime.recorder.record import Recorded, record
from handlers.runtime.settings import InvalidSettings, read_settings
from handlers.runtime.tell import entry, within_reach
from handlers.schedule import SCHEDULE

SESSION = timedelta(seconds=50)
SIGNALS = {"lost": Signal.LOST, "start_failed": Signal.START_FAILED}
# What follows from the state that the run is in now.
NEXT = {
    "pending": "the watchdog starts it again",
    "failed": "then `jobs retry {run}`",
    "unknown": "find out what it did, then `jobs resolve {run} --as ...`",
    "cancelled": "it ends here: somebody had asked for that",
}


def handler(event: object, context: object) -> dict[str, list[Mapping[str, object]]]:
    """Record what the event says, which may come again: `{"recorded": [...], "tell": [...]}`.

    recorded: empty where there was nothing new. tell: the runs that have ended with it, failed or unknown, and those
    that the watchdog has seen end so: Lambda hands them to the notifier.

    Raises UnreadableEvent for an event that the recorder has no rule for, and the settings' and the database's errors:
    Lambda counts the invocation as failed, and its record goes to the dead-letter queue with the reason.
    """
    settings = read_settings()
    log = open_log()
    found = findings(event, prefix_of(os.environ))
    tell: list[Mapping[str, object]] = [*passed_on(event)]
    recorded: list[Recorded] = []
    if found:
        session = open_session(connection_strings(settings.database), lease=SESSION, name="shiftlock recorder")
        with session.connection as connection:
            for finding in found:
                if new := record(connection, SCHEDULE, finding):
                    recorded.append(new)
                    count_loss(settings.environment, new.job, SIGNALS[new.outcome], new.status)
                    log_record(log, finding, new)
                else:
                    log.info("nothing to record", extra={"job": finding.job, "because": finding.why})
            tell += map(entry, ended_badly(connection, found, [new.run_id for new in recorded]))
    else:
        log.debug("an event of no job")
    return answer(recorded, within_reach(tell, log))


def log_record(log: Logger, finding: Finding, new: Recorded) -> None:
    """Write for a person what was recorded, why, and what to do."""
    facts = {"job": new.job, "run_id": new.run_id, "run_status": new.status, "because": finding.why}
    do = f"{finding.advice}; {NEXT[new.status].format(run=new.run_id)}"
    log.warning(new.outcome, extra={**facts, "do": do})


def answer(recorded: Sequence[Recorded], tell: Sequence[Mapping[str, object]]) -> dict[str, list[Mapping[str, object]]]:
    """What the function returns, as JSON has it."""
    return {
        "recorded": [
            {"job": one.job, "run": one.run_id, "outcome": one.outcome, "status": one.status} for one in recorded
        ],
        "tell": list(tell),
    }


def prefix_of(environ: Mapping[str, str]) -> str:
    """What the names of this environment's functions and task families begin with. Raises InvalidSettings."""
    prefix = environ.get("SHIFTLOCK_PREFIX")
    if not prefix:
        raise InvalidSettings(("SHIFTLOCK_PREFIX is not set: the deploy gives it, such as shiftlock-dev",))
    return prefix
