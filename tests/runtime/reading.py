"""Read an event as the recorder does: shared by the tests of what it finds."""

from datetime import UTC, datetime
from typing import Any

from handlers.runtime.recorder.event import findings
from handlers.runtime.recorder.findings import Over
from tests.runtime.aws_events import PREFIX

AT = datetime(2026, 11, 29, 2, 0, 7, tzinfo=UTC)


def over(event: dict[str, Any]) -> Over:
    """The one finding of an event that says that something is over."""
    [found] = findings(event, PREFIX)
    assert isinstance(found, Over)
    return found
