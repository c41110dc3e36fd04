"""Call a job's function and say how that ended."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from typing import Any

import psycopg

from handlers.guard.errors import Fenced
from handlers.runtime.context import Context
from handlers.runtime.retry import AttemptOutcome, Fatal, TryLater
from handlers.runtime.supervisor import Interruption, Reason

JobFunction = Callable[[Context], Mapping[str, Any] | None]

_OUTCOMES: dict[Reason, AttemptOutcome] = {
    "deadline": "timed_out",
    "stop": "interrupted",
    "lease": "lost",
    "cancel": "cancelled",
}


@dataclass(frozen=True, slots=True)
class Performed:
    """How the job's function ended, after so many seconds; error is its own error, whatever failed after it."""

    outcome: AttemptOutcome
    seconds: float
    value: Mapping[str, Any] | None = None
    error: BaseException | None = None

    @property
    def fatal(self) -> bool:
        """Whether the job said that another attempt is of no use."""
        return isinstance(self.error, Fatal)

    @property
    def asked_wait(self) -> timedelta:
        """How long the job has asked to be left alone before another attempt."""
        return self.error.wait if isinstance(self.error, TryLater) else timedelta()


def perform(target: str, context: Context) -> Performed:
    """Import and call `package.module:function`; its value must be JSON. Raises nothing of the job's."""
    began = time.monotonic()
    try:
        module, _, function = target.partition(":")
        run: JobFunction = getattr(import_module(module), function)
        value = run(context)
        json.dumps(value)
    except Interruption as interruption:
        return interrupted(interruption, time.monotonic() - began)
    except Fenced as error:
        return Performed("lost", time.monotonic() - began, error=error)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever a job raises is its result
        return Performed("failed", time.monotonic() - began, error=error)
    else:
        return Performed("succeeded", time.monotonic() - began, value)
    finally:
        _close(context)


def interrupted(interruption: Interruption, seconds: float) -> Performed:
    """The end of a job that its supervisor has interrupted."""
    return Performed(_OUTCOMES[interruption.reason], seconds, error=interruption)


def _close(context: Context) -> None:
    """Close the job's connection; a broken one is no news after the job's own error."""
    try:
        context.close()
    except psycopg.Error as error:
        context.log.debug("the job's connection did not close cleanly", extra={"error": str(error)})
