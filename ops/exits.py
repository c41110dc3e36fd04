"""Which errors are answers, with their exit codes; anything else is a mistake in the code and keeps its traceback."""

from dataclasses import dataclass

import psycopg

from handlers.declaration.catalogue import InvalidSchedule, UnknownJob
from handlers.guard.errors import DatabaseUnavailable, LockKeyCollision, SchemaTooOld
from handlers.guard.errors import one_line as first_line
from handlers.runtime.iam_token import NoCredentials
from handlers.runtime.report import EXIT_BAD_INPUT, EXIT_CODES, EXIT_SCHEMA_TOO_OLD, Result
from handlers.runtime.settings import InvalidSettings
from ops.configured import remedy
from ops.refused import Refused
from ops.wording import one_line


@dataclass(frozen=True, slots=True)
class Refusal:
    """What to say, and what to exit with."""

    text: str
    exit_code: int


def refusal(error: Exception) -> Refusal | None:
    """The answer that an error stands for; None when it is none."""
    match error:
        case InvalidSchedule():
            return Refusal(str(error), EXIT_BAD_INPUT)  # one line for each mistake in the table
        case Refused() | UnknownJob() | InvalidSettings() | NoCredentials() | LockKeyCollision():
            return Refusal(one_line(str(error)), EXIT_BAD_INPUT)
        case SchemaTooOld():
            return Refusal(one_line(str(error)), EXIT_SCHEMA_TOO_OLD)
        case DatabaseUnavailable():
            return Refusal(f"{one_line(str(error))}; {remedy()}", EXIT_CODES[Result.UNAVAILABLE])
        case psycopg.OperationalError():
            return Refusal(f"the database broke off: {one_line(first_line(error))}", EXIT_CODES[Result.UNAVAILABLE])
        case psycopg.Error():
            return Refusal(f"the database refused: {one_line(first_line(error))}", EXIT_CODES[Result.FAILED])
        case OSError():
            where = "" if error.filename is None else f" ({error.filename})"
            return Refusal(f"{error.strerror or error}{where}; nothing more is shown", EXIT_CODES[Result.FAILED])
    return None
