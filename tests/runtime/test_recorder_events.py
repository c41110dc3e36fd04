"""What the recorder reads in Lambda's records of calls and in events of both kinds, and what it refuses."""

import pytest

from handlers.runtime.identity import Delivery
from handlers.runtime.recorder.event import findings, passed_on
from handlers.runtime.recorder.fields import LONGEST, UnreadableEvent
from handlers.runtime.recorder.findings import NotStarted, Over, Tried
from handlers.runtime.report import EXIT_CODES, Result
from tests.runtime.aws_events import PREFIX, REQUEST, TASK, call_record, dispatched, failed_call, stopped_task
from tests.runtime.reading import AT, over

CALLS = {
    "a timeout": ("Sandbox.Timedout", "RequestId: 1 Error: Task timed out after 330.00 seconds", "see what froze it"),
    "a kill": ("Runtime.ExitError", "RequestId: 1 Error: Runtime exited with error: signal: killed", "give the job"),
    "no memory": ("Runtime.OutOfMemory", "RequestId: 1 Error: Runtime exited", "give the job more memory"),
    "no module": ("Runtime.ImportModuleError", "Unable to import module 'handlers.runtime'", "deploy a bundle"),
    "no database": ("DatabaseUnavailable", "database shiftlock at db:5432 unavailable: timeout", "what the error says"),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_failed_call_is_told_with_its_error(case: str) -> None:
    kind, message, advice = CALLS[case]
    found = over(failed_call(kind, message))
    assert (found.job, found.compute, found.why) == ("sample", f"lambda:{REQUEST}", f"{kind}: {message}")
    assert found.advice.startswith(advice)
    assert found.tried == Tried(Delivery("rule", AT), ordered_at=AT)


def test_a_timeout_may_come_without_a_kind() -> None:
    record = call_record(
        answer={"errorMessage": "2026-11-29T02:05:07Z 1 Task timed out after 3.00 seconds"},
        payload={"trigger": "retry", "run": 42},
    )
    assert over(record) == Over(
        "sample",
        f"lambda:{REQUEST}",
        "2026-11-29T02:05:07Z 1 Task timed out after 3.00 seconds",
        "see what froze it: a job is ended 10 s before Lambda does that",
        Tried(Delivery("retry", None, run_id=42)),
        run_id=42,
    )


def test_a_failure_that_the_job_has_recorded_itself_was_no_failed_start() -> None:
    assert over(failed_call("AttemptFailed", "sample 2026-11-29T02:00Z failed, out of attempts")).tried is None


def test_of_a_persons_call_for_an_old_tick_nobody_knows_when_it_was_made() -> None:
    payload = {"trigger": "manual", "time": "2026-11-29T02:00:07Z"}
    assert over(failed_call("Boom", "bang", payload=payload)).tried == Tried(Delivery("manual", AT))


@pytest.mark.parametrize("answer", [None, {}])
def test_a_call_that_grew_too_old_was_never_made(answer: object) -> None:
    payload = {"trigger": "rule", "time": "2026-11-29T02:00:07Z"}
    found = over(call_record(answer=answer, payload=payload, condition="EventAgeExceeded"))
    assert found.why.startswith("EventAgeExceeded: Lambda had no room for it")
    assert found.advice.startswith("raise the account's concurrent executions")
    assert found.tried == Tried(Delivery("rule", AT), ordered_at=AT)


def test_a_call_that_failed_without_a_word_still_says_so() -> None:
    record = call_record(answer=None, payload={"trigger": "retry", "run": 42})
    assert over(record).why == "RetriesExhausted, without an error"


def test_of_a_dispatchers_answer_only_the_starts_that_failed_matter() -> None:
    failed = {"job": "sample", "run": 42, "attempt": 3, "reason": "RunTask: RESOURCE:CPU"}
    [found] = findings(dispatched(failed), PREFIX)
    assert isinstance(found, NotStarted)
    assert (found.job, found.why) == ("sample", "not started: RunTask: RESOURCE:CPU")
    assert (found.tried.delivery.run_id, found.tried.attempts) == (42, 3)
    assert findings(dispatched(), PREFIX) == ()


def test_a_foreign_text_is_one_line_of_sane_length_that_the_database_takes() -> None:
    found = over(failed_call("Runtime.ExitError", "first\nsecond\tthird\0fourth\ud800" + "x" * 5000))
    assert found.why.startswith("Runtime.ExitError: first second third fourth xxx")
    assert len(found.why) == LONGEST
    assert found.why.isprintable()
    assert found.why.encode()


OF_NOTHING: dict[str, str] = {"SHIFTLOCK_TRIGGER": "whim"}
UNREADABLE: dict[str, tuple[object, str]] = {
    "no object": ([1], r"the event is \[1\]: the recorder takes an object"),
    "something else": ({"Records": []}, "the recorder takes ends of ECS tasks, Lambda's records of failed calls"),
    "a task that runs": (stopped_task(lastStatus="RUNNING"), "lastStatus of the task is 'RUNNING': .* takes STOPPED"),
    "a task without a name": (stopped_task(taskArn=None), "taskArn is None: the recorder takes a text"),
    "a task without our container": (stopped_task(container="web"), f"task {TASK} of {PREFIX}-sample has no container"),
    "a task for no run": (stopped_task(exit_code=2, variables=OF_NOTHING), "trigger is 'whim': allowed is"),
    "a task with odd overrides": (stopped_task(overrides={"containerOverrides": "x"}), "takes a list of objects there"),
    "a task with other overrides": (stopped_task(overrides="x"), "overrides is 'x': the recorder takes an object"),
    "an event without detail": (
        {"source": "aws.ecs", "detail-type": "ECS Task State Change"},
        "detail is None: the recorder takes an object",
    ),
    "another function's failure": (
        call_record(answer=None, payload={}, function=f"{PREFIX}_watchdog"),
        f"the function {PREFIX}_watchdog is no job's of {PREFIX}",
    ),
    "another function's answer": (
        call_record(answer={}, payload={}, condition="Success"),
        f"and answers of {PREFIX}_dispatcher",
    ),
    "a call for no run": (failed_call("Boom", "bang", payload={"trigger": "whim"}), "trigger is 'whim'"),
    "a call without payload": (call_record(answer=None, payload=None), "requestPayload is None"),
    "no ARN": ({"requestContext": {"condition": "RetriesExhausted", "functionArn": "sample"}}, "a function's ARN"),
    "a start without a run": (
        dispatched({"job": "sample", "run": "42", "attempt": 0, "reason": "?"}),
        "run is '42': the recorder takes a whole number",
    ),
    "a dispatcher's answer of another kind": (
        call_record(answer=[], payload={}, condition="Success", function=f"{PREFIX}_dispatcher"),
        r"responsePayload is \[\]: the recorder takes an object",
    ),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_the_recorder_cannot_read_is_refused_in_one_line(case: str) -> None:
    event, message = UNREADABLE[case]
    with pytest.raises(UnreadableEvent, match=message) as caught:
        findings(event, PREFIX)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 2 * LONGEST


@pytest.mark.parametrize(
    ("named", "run_id"), [(42, 42), ("42", 42), (None, None), ("2026", 2026), ("-1", None), ("9" * 5000, None)]
)
def test_an_end_names_the_run_that_its_start_has_named_whether_or_not_that_has_recorded_itself(
    named: object, run_id: int | None
) -> None:
    call = failed_call("AttemptFailed", "sample failed", payload={"trigger": "retry", "run": named})
    assert over(call).run_id == run_id
    variables = {"SHIFTLOCK_TRIGGER": "retry", "SHIFTLOCK_RUN": str(named)}
    assert over(stopped_task(exit_code=EXIT_CODES[Result.UNKNOWN], variables=variables)).run_id == run_id


def test_what_the_watchdog_has_seen_comes_with_the_dispatchers_answer_and_with_nothing_else() -> None:
    seen = {"job": "sample", "run": 9}
    answer = {"started": [], "failed": [], "tell": [seen]}
    context = {"condition": "Success", "function": f"{PREFIX}_dispatcher"}
    assert passed_on(call_record(answer=answer, payload={}, **context)) == (seen,)
    assert passed_on(dispatched()) == ()
    assert passed_on(failed_call("AttemptFailed", "sample failed") | {"responsePayload": answer}) == ()
    assert passed_on(stopped_task(exit_code=1)) == ()
    with pytest.raises(UnreadableEvent, match="tell is 'a word'"):
        passed_on(call_record(answer={"tell": "a word"}, payload={}, **context))
