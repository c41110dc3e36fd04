"""What the dispatcher's answer says: which starts AWS did not take."""

from handlers.runtime.identity import Delivery
from handlers.runtime.recorder.fields import Json, number, one_line, parts, text
from handlers.runtime.recorder.findings import NotStarted, Tried

ADVICE = "what the reason says; the dispatcher has tried it more than once where that could help"


def starts_refused(answer: Json) -> tuple[NotStarted, ...]:
    """The starts that failed, of `{"failed": [{"job", "run", "attempt", "reason"}], ...}`. Raises UnreadableEvent."""
    return tuple(
        NotStarted(
            job=text(failed, "job"),
            why=one_line(f"not started: {text(failed, 'reason')}"),
            advice=ADVICE,
            tried=Tried(Delivery("retry", None, run_id=number(failed, "run")), attempts=number(failed, "attempt")),
        )
        for failed in parts(answer, "failed")
    )
