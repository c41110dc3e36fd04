"""Which of the events that the recorder takes this one is."""

from collections.abc import Mapping

from handlers.runtime.recorder.call_failed import call_failed, function_of
from handlers.runtime.recorder.dispatch_answer import starts_refused
from handlers.runtime.recorder.fields import Json, UnreadableEvent, one_line, part, parts
from handlers.runtime.recorder.findings import Finding
from handlers.runtime.recorder.task_stopped import task_stopped

# "Capturing records of Lambda asynchronous invocations".
FAILED = ("RetriesExhausted", "EventAgeExceeded")


def findings(event: object, prefix: str) -> tuple[Finding, ...]:
    """What the event says of the runs of this environment, whose names begin with `prefix`.

    The end of an ECS task, Lambda's record of a failed call, or its record of what the dispatcher has answered. Raises
    UnreadableEvent for anything else.
    """
    if not isinstance(event, Mapping):
        raise UnreadableEvent(f"the event is {one_line(repr(event))}: the recorder takes an object")
    if event.get("source") == "aws.ecs" and event.get("detail-type") == "ECS Task State Change":
        over = task_stopped(part(event, "detail"), prefix)
        return () if over is None else (over,)
    context = event.get("requestContext")
    if isinstance(context, Mapping):
        if context.get("condition") in FAILED:
            return (call_failed(event, prefix),)
        if context.get("condition") == "Success" and function_of(context) == f"{prefix}_dispatcher":
            return starts_refused(part(event, "responsePayload"))
    raise UnreadableEvent(
        f"the event is {one_line(repr(dict(event)))}: the recorder takes ends of ECS tasks, Lambda's records of failed "
        f"calls, and answers of {prefix}_dispatcher"
    )


def passed_on(event: object) -> tuple[Json, ...]:
    """The bad ends that the watchdog has seen, which come with the dispatcher's answer; event: one of `findings`.

    Raises UnreadableEvent.
    """
    context = event.get("requestContext") if isinstance(event, Mapping) else None
    if not isinstance(event, Mapping) or not isinstance(context, Mapping) or context.get("condition") != "Success":
        return ()
    return tuple(parts(part(event, "responsePayload"), "tell"))
