"""What the end of an ECS task says. Source: Amazon ECS developer guide, "Amazon ECS task state change events", and
"Amazon ECS stopped tasks error messages" for the reasons.
"""

from collections.abc import Mapping

from handlers.runtime.identity import Delivery, MalformedDelivery, parse_delivery
from handlers.runtime.log_link import CONTAINER
from handlers.runtime.recorder.fields import Json, UnreadableEvent, instant, one_line, part, parts, run_named, text
from handlers.runtime.recorder.findings import Over, Tried
from handlers.runtime.report import EXIT_CODES, Result

# A process that exits like this has asked the ledger, which has noted all there is to note. Not so with the codes that
# a process also has when it dies before it asks: 1 of Python, 143 of a SIGTERM.
ANSWERED = frozenset(EXIT_CODES.values()) - {
    EXIT_CODES[result] for result in (Result.FAILED, Result.INTERRUPTED, Result.UNAVAILABLE)
}

# The first whose words occur, in whatever case, among the stop code and the reasons.
ADVICE: Mapping[str, str] = {
    "cannotpull": "see that the image is in its repository, and that the execution role may pull it",
    "resourceinitializationerror": "see that the task's subnets have a way to ECR and CloudWatch Logs, and what the "
    "execution role may do",
    "outofmemory": "give the job more memory in handlers/schedule.py",
    "spotinterruption": "nothing: AWS took its spare capacity back",
    "terminationnotice": "nothing: AWS replaced the machine",
    "userinitiated": "nothing, if its stop was meant; `jobs cancel RUN` ends a run for good",
    "capacity": "nothing, unless it goes on: AWS had no capacity left",
    "resource:": "nothing, unless it goes on: AWS had no capacity left",
}
# The end of the name of the tasks that take messages, one run after the other; no job's has an underscore.
WORKER = "_worker"
IN_THE_LOG = "read the end of the task's log"


def task_stopped(detail: Json, prefix: str) -> Over | None:
    """The end of a job's task; None where the task is no job's, such as one that migrates.

    prefix: what the names of this environment begin with. Raises UnreadableEvent.
    """
    if detail.get("lastStatus") != "STOPPED":
        raise UnreadableEvent(
            f"lastStatus of the task is {one_line(repr(detail.get('lastStatus')))}: the recorder takes STOPPED"
        )
    family = text(detail, "taskDefinitionArn").rpartition("/")[2].partition(":")[0]
    task = text(detail, "taskArn").rpartition("/")[2]
    if not family.startswith(f"{prefix}-"):
        return None
    # What others do, such as an agent that AWS adds, decides nothing.
    container = next((one for one in parts(detail, "containers") if one.get("name") == CONTAINER), None)
    if container is None:
        raise UnreadableEvent(f"task {task} of {family} has no container {CONTAINER!r}: only that one's end decides")
    code, given = container.get("exitCode"), _given(detail)
    why, advice = _cause(detail, container)
    job, compute = family.removeprefix(f"{prefix}-"), f"fargate:{task}"
    if job.endswith(WORKER):
        # It was started for no run: whatever it held when it died is lost, and is rung for again.
        return Over(job=job.removesuffix(WORKER), compute=compute, why=why, advice=advice, tried=None, worker=True)
    return Over(
        job=job,
        compute=compute,
        why=why,
        advice=advice,
        tried=None if code in ANSWERED else Tried(_delivery(detail, given), ordered_at=instant(detail, "createdAt")),
        run_id=run_named(given.get("SHIFTLOCK_RUN")),
    )


def _cause(detail: Json, container: Json) -> tuple[str, str]:
    """Why the task is over, in one line, and what to do."""
    code, stop_code = container.get("exitCode"), str(detail.get("stopCode") or "")
    told = (str(reason) for reason in (detail.get("stoppedReason"), container.get("reason")) if reason)
    reasons = list(dict.fromkeys(told))  # of a task that never started both say the same
    if code is not None:
        what = f"exit code {code}"
    elif stop_code == "TaskFailedToStart" or not detail.get("startedAt"):
        what = "never started"
    else:
        what = "ended without an exit code"
    said = f"{stop_code} {' '.join(reasons)}".lower()
    advice = next((advice for words, advice in ADVICE.items() if words in said), IN_THE_LOG)
    head = f"{what}, {stop_code}" if stop_code else what
    return one_line(f"{head}: {'; '.join(reasons)}" if reasons else head), advice


def _given(detail: Json) -> Json:
    """The variables that the job's container was started with."""
    overrides = part(detail, "overrides") if detail.get("overrides") is not None else {}
    return {
        str(variable.get("name")): variable.get("value")
        for container in parts(overrides, "containerOverrides")
        if container.get("name") == CONTAINER
        for variable in parts(container, "environment")
    }


def _delivery(detail: Json, given: Json) -> Delivery:
    """What the task was started for, as `task_entry` reads it: without variables, by hand for the latest tick."""
    try:
        return parse_delivery(
            given.get("SHIFTLOCK_TRIGGER", "manual"),
            given.get("SHIFTLOCK_EVENT_TIME", detail.get("createdAt")),
            given.get("SHIFTLOCK_PARTITION"),
            given.get("SHIFTLOCK_RUN"),
        )
    except MalformedDelivery as error:
        raise UnreadableEvent(f"a task that stopped had been started for nothing of ours: {error}") from error
