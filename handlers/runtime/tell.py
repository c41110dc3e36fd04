"""What the notifier is told of a run that has ended badly, as JSON has it."""

from collections.abc import Mapping, Sequence

from aws_lambda_powertools.logging import Logger

from handlers.guard.bad_end import BadEnd
from handlers.runtime.recorder.fields import one_line

Entry = dict[str, object]

# By one event. Where more runs fail at once it is one trouble, and Lambda hands on 256 KB at most ("Lambda quotas"), in
# which each entry of the watchdog stands three times: a record holds what its function was called with, too.
MOST_TOLD = 30


def entry(end: BadEnd) -> Entry:
    """The run's facts; the error in one line."""
    return {
        "job": end.job,
        "run": end.run_id,
        "run_key": end.run_key,
        "tick": None if end.tick is None else end.tick.isoformat(),
        "status": end.status,
        "attempts": end.attempts,
        "error": None if end.error is None else one_line(end.error),
        "log_link": end.log_link,
    }


def within_reach(tell: Sequence[Mapping[str, object]], log: Logger) -> list[Mapping[str, object]]:
    """The first MOST_TOLD; how many are left out is in the log."""
    if len(tell) > MOST_TOLD:
        log.warning("not every run is told of", extra={"left_out": len(tell) - MOST_TOLD, "do": "look at `jobs runs`"})
    return list(tell[:MOST_TOLD])
