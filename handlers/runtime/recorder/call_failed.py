"""What Lambda's record of a failed call says. Source: Lambda developer guide, "Capturing records of Lambda asynchronous
invocations", and "Troubleshoot execution issues in Lambda" for the errors.
"""

from collections.abc import Mapping

from handlers.runtime.identity import MalformedDelivery, parse_delivery
from handlers.runtime.recorder.fields import Json, UnreadableEvent, one_line, part, run_named, text
from handlers.runtime.recorder.findings import Over, Tried

# A job's own function raises this once the ledger has noted all there is to note.
ANSWERED = "AttemptFailed"

# The first whose words occur in kind and text of the error.
ADVICE: Mapping[str, str] = {
    "Task timed out": "see what froze it: a job is ended 10 s before Lambda does that",
    "signal: killed": "give the job more memory in handlers/schedule.py",
    "OutOfMemory": "give the job more memory in handlers/schedule.py",
    "MemoryError": "give the job more memory in handlers/schedule.py",
    "ImportModuleError": "deploy a bundle that can be imported",
    "HandlerNotFound": "deploy a bundle that has the handler",
    "UserCodeSyntaxError": "deploy a bundle that this Python can read",
    "EventAgeExceeded": "raise the account's concurrent executions, or spread the starts",
}
AS_IT_SAYS = "what the error says; the function's log has more"


def call_failed(record: Json, prefix: str) -> Over:
    """The end of a call of a job's function. prefix: see `task_stopped`. Raises UnreadableEvent."""
    context = part(record, "requestContext")
    function = function_of(context)
    if not function.startswith(f"{prefix}-"):
        raise UnreadableEvent(f"the function {function} is no job's of {prefix}: its failures belong elsewhere")
    kind, why = _cause(context, record.get("responsePayload"))
    called_with = part(record, "requestPayload")
    return Over(
        job=function.removeprefix(f"{prefix}-"),
        compute=f"lambda:{text(context, 'requestId')}",
        why=why,
        advice=next((advice for words, advice in ADVICE.items() if words in why), AS_IT_SAYS),
        tried=None if kind == ANSWERED else _tried(called_with),
        run_id=run_named(called_with.get("run")),
    )


def function_of(context: Json) -> str:
    """The name in `functionArn`, which ends with it or with a qualifier after it. Raises UnreadableEvent."""
    pieces = text(context, "functionArn").split(":")
    if len(pieces) < 7:
        raise UnreadableEvent(f"functionArn is {one_line(context['functionArn'])}: the recorder takes a function's ARN")
    return pieces[6]


def _cause(context: Json, answer: object) -> tuple[str, str]:
    """The kind of the error, and all of it in one line."""
    condition = text(context, "condition")
    if condition == "EventAgeExceeded":
        return condition, f"{condition}: Lambda had no room for it before the event was too old"
    told = answer if isinstance(answer, Mapping) else {"errorMessage": answer}
    kind, message = (str(told.get(name) or "") for name in ("errorType", "errorMessage"))
    return kind, one_line(": ".join(filter(None, (kind, message))) or f"{condition}, without an error")


def _tried(event: Json) -> Tried:
    try:
        delivery = parse_delivery(*(event.get(name) for name in ("trigger", "time", "partition", "run")))
    except MalformedDelivery as error:
        raise UnreadableEvent(f"a call that failed had been made for nothing of ours: {error}") from error
    attempts = event.get("attempt")
    # A bell was rung at its own time; when a person called for an old tick, the record does not say.
    return Tried(
        delivery,
        attempts=attempts if isinstance(attempts, int) else None,
        ordered_at=None if delivery.trigger == "manual" else delivery.at,
    )
