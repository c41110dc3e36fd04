"""Logs as JSON lines, each with job, run, attempt and tick."""

from aws_lambda_powertools.logging import Logger

from handlers.declaration.signals import SERVICE_NAME
from handlers.guard.answers import AlreadyDone, Busy, Exhausted, Held, Overlap
from handlers.runtime.observer import Beat, Ended, Refused, RunEvent, RunFacts, Started, Unrecorded
from handlers.runtime.report import describe


def open_log() -> Logger:
    """The process's logger; its level comes from POWERTOOLS_LOG_LEVEL, INFO without it."""
    # Where in the code a line comes from is noise here: each message is written in one place.
    return Logger(service=SERVICE_NAME, location=None)


class LogObserver:
    """Writes what a person would look for. A "no" of the ledger is no warning: it is how duplicates end."""

    def __init__(self, log: Logger) -> None:
        self._log = log

    def __call__(self, event: RunEvent) -> None:
        """Write the event, at the level a person should see it."""
        match event:
            case Started(run=run, delay=delay, late=late):
                self._log.append_keys(**_keys(run))
                self._log.info("started", extra={"start_delay": round(delay, 3), **({"late": True} if late else {})})
            case Beat(done=done, total=total):
                self._log.debug("alive", extra={"done": done, "total": total})
            case Ended(outcome="succeeded", seconds=seconds):
                self._log.info("succeeded", extra={"seconds": round(seconds, 3)})
            case Ended(outcome="interrupted" as outcome, because=because, seconds=seconds):
                self._log.warning(outcome, extra={"because": because, "seconds": round(seconds, 3)})
            case Ended(outcome=outcome, status=status, because=because, error=error):
                # The traceback is what the job's author needs, whatever becomes of the run.
                write = self._log.error if status in ("failed", "unknown") else self._log.warning
                write(outcome, exc_info=error, extra={"because": because, "run_status": status})
            case Refused(run=run, answer=AlreadyDone() | Busy() | Overlap() as answer):
                self._log.append_keys(**_keys(run))
                self._log.debug("not run here", extra={"because": describe(answer)})
            case Refused(run=run, answer=Held() | Exhausted() as answer):
                self._log.append_keys(**_keys(run))
                self._log.error("cannot run", extra={"because": describe(answer)})
            case Refused(run=run, answer=answer):
                self._log.append_keys(**_keys(run))
                self._log.info("not run", extra={"because": describe(answer)})
            case Unrecorded(fenced=True, reason=reason):
                self._log.error("fenced: nothing was recorded", extra={"because": reason})
            case Unrecorded(reason=reason):
                self._log.error("the end of the attempt could not be recorded", extra={"because": reason})


def _keys(run: RunFacts) -> dict[str, object]:
    tick = None if run.tick is None else run.tick.isoformat()
    return {"job": run.job, "run_key": run.run_key, "run_id": run.run_id, "attempt": run.attempt, "tick": tick}
