"""`jobs doctor`: whether database and ledger are as jobs need them, and what is stuck."""

import time
from collections.abc import Iterator
from datetime import timedelta

import psycopg
from rich.text import Text

from handlers.guard.connection import open_connection
from handlers.guard.errors import DatabaseUnavailable
from handlers.guard.errors import one_line as first_line
from handlers.runtime.database import connection_strings
from handlers.runtime.settings import Settings
from handlers.schedule import SCHEDULE
from ops.as_json import print_json
from ops.check_ledger import lock_keys, paused, registered, roles, schema
from ops.check_server import check_server, sessions
from ops.check_stuck import check_stuck
from ops.configured import needed, remedy
from ops.facts import Facts
from ops.finding import Finding
from ops.reading import LOOK_ONLY
from ops.table import open_console
from ops.wording import one_line


def doctor(*, as_json: bool) -> int:
    """Print one finding per check; 1 if any is a problem, else 0. Raises InvalidSettings, Refused, NoCredentials."""
    findings = list(examine(needed()))
    if as_json:
        print_json([_record(finding) for finding in findings])
    else:
        open_console().print(Facts({finding.check: _text(finding) for finding in findings}))
    return 0 if all(finding.ok for finding in findings) else 1


def examine(settings: Settings) -> Iterator[Finding]:
    """Yield what is found, as far as one can get: what needs the ledger is left out where there is none."""
    began = time.monotonic()
    try:
        connection = open_connection(connection_strings(settings.database), name="shiftlock doctor", settings=LOOK_ONLY)
    except DatabaseUnavailable as error:
        yield Finding("database", one_line(str(error)), remedy())
        return
    took = timedelta(seconds=time.monotonic() - began)
    try:
        with connection:
            yield from check_server(connection, took)
            yield (of_schema := schema(connection))
            if of_schema.ok:
                yield sessions(settings)
                yield registered(connection, SCHEDULE)
                yield paused(connection)
                yield lock_keys(connection)
                yield roles(connection)
                yield from check_stuck(connection, SCHEDULE)
    except psycopg.OperationalError as error:
        yield Finding("answer", f"the database broke off: {one_line(first_line(error))}", remedy())
    except psycopg.Error as error:
        yield Finding("rights", one_line(first_line(error)), "use the role that `jobs migrate` and the jobs use")


def _text(finding: Finding) -> Text:
    state = ("ok       ", "green") if finding.ok else ("problem  ", "bold red")
    return Text.assemble(state, finding.found, *([] if finding.ok else [f"; {finding.remedy}"]))


def _record(finding: Finding) -> dict[str, object]:
    return {"check": finding.check, "ok": finding.ok, "found": finding.found, "what_to_do": finding.remedy}
