"""`jobs queue redrive`: each letter is sent anew once, and none is lost on the way."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.duration import minutes
from handlers.declaration.job import Job
from handlers.declaration.queue import Queue
from handlers.guard.outbox import NewRun
from handlers.guard.park import park
from ops.letters import taken
from tests.ops.queues import JOB, OTHER, Queues, message

pytest_plugins = ("tests.ops.queue_fixtures",)

BEGUN = """
update shiftlock.job_runs set status = 'running', attempt = 3, fence = nextval('shiftlock.fence'), holder = 'somebody',
    lease_until = clock_timestamp() + interval '1 minute' where id = %s
"""
END = """
update shiftlock.job_runs set status = %(status)s, error_msg = 'it broke', holder = null, lease_until = null,
    finished_at = case when %(status)s <> 'unknown' then clock_timestamp() end
where id = %(id)s
"""
RUNS = "select run_key, status, message_until > clock_timestamp() from shiftlock.job_runs order by run_key"


@pytest.fixture
def letter(queues: Queues, database: psycopg.Connection) -> Callable[[str, str], int]:
    """A dead letter whose run has this status in the ledger; the run's id."""

    def make(key: str, status: str) -> int:
        run_id = park(database, JOB, NewRun(key))
        database.execute(BEGUN, (run_id,))
        if status != "running":
            database.execute(END, {"status": status, "id": run_id})
        queues.bury(key, run=run_id)
        return run_id

    return make


def test_a_failed_run_is_due_again_and_has_a_message(
    queues: Queues, letter: Callable[[str, str], int], database: psycopg.Connection
) -> None:
    run_id = letter("cake", "failed")
    done = queues("redrive", JOB)
    assert (done.code, done.out) == (0, f"cake is sent anew: run {run_id} has failed\n1 sent anew, 0 left\n")
    assert (queues.keys(), queues.bodies(dead=True)) == (["cake"], [])
    assert database.execute(RUNS).fetchall() == [("cake", "pending", True)]


def test_a_letter_without_a_run_is_sent_anew(queues: Queues) -> None:
    queues.bury("cake")
    assert queues("redrive", JOB).out.startswith("cake is sent anew: the ledger has no run of it\n")
    assert (queues.keys(), queues.bodies(dead=True)) == (["cake"], [])


@pytest.mark.parametrize(
    ("status", "instead"),
    [
        ("succeeded", "what has succeeded stays so"),
        ("running", "`jobs cancel {id}` asks it to end"),
        ("unknown", "`jobs resolve {id}` says what became of it"),
        ("cancelled", "`jobs retry {id}` has it run after all"),
    ],
)
def test_a_letter_whose_run_is_otherwise_stays_with_what_to_do(
    queues: Queues, letter: Callable[[str, str], int], status: str, instead: str
) -> None:
    run_id = letter("cake", status)
    done = queues("redrive", JOB)
    assert (done.code, done.out.splitlines()[0]) == (
        1,
        f"cake is left: run {run_id} is {status}: {instead.format(id=run_id)}",
    )
    assert (queues.keys(), queues.keys(dead=True)) == ([], ["cake"])


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("no message", "malformed message: 'no message' is no JSON"),
        (message("cake").replace(JOB, OTHER), f"malformed message: job is '{OTHER}': allowed is '{JOB}'"),
    ],
)
def test_a_malformed_letter_stays_and_does_not_keep_the_others(
    queues: Queues, letter: Callable[[str, str], int], body: str, why: str
) -> None:
    queues.send(body, dead=True)
    letter("sound", "failed")
    done = queues("redrive", JOB)
    assert (done.code, done.out.splitlines()[-1]) == (1, "1 sent anew, 1 left")
    assert f" is left: {why}" in done.out
    assert (queues.keys(), queues.bodies(dead=True)) == (["sound"], [body])


def test_what_was_cut_short_is_finished_by_the_next_one(
    queues: Queues, letter: Callable[[str, str], int], database: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    letter("cake", "failed")
    with monkeypatch.context() as broken:
        broken.setattr("ops.redrive.sending_id", _killed)
        with pytest.raises(Killed):
            queues("redrive", JOB)
    assert (queues.keys(), queues.keys(dead=True)) == ([], ["cake"])
    assert database.execute(RUNS).fetchall() == [("cake", "pending", None)]
    assert queues("redrive", JOB).out.startswith("cake is sent anew: run 1 is due already\n")
    assert (queues.keys(), queues.keys(dead=True)) == (["cake"], [])


def test_a_dry_run_changes_nothing(
    queues: Queues, letter: Callable[[str, str], int], database: psycopg.Connection
) -> None:
    run_id = letter("cake", "failed")
    done = queues("redrive", JOB, "--dry-run")
    assert done.out == f"cake would be sent anew: run {run_id} has failed\n1 would be sent anew, 0 left\n"
    assert (queues.keys(), queues.keys(dead=True)) == ([], ["cake"])
    assert database.execute(RUNS).fetchall() == [("cake", "failed", None)]


def test_one_letter_or_a_few_can_be_asked_for(queues: Queues, letter: Callable[[str, str], int]) -> None:
    for number in range(4):
        letter(f"key-{number}", "failed")
    queues("redrive", JOB, "--key", "key-2")
    assert queues.keys() == ["key-2"]
    assert queues("redrive", JOB, "--count", "2").out.splitlines()[-1] == "2 sent anew, 0 left"
    assert len(queues.keys(dead=True)) == 1
    assert queues("redrive", JOB, "--key", "none").out == f"no dead letter of {JOB} has the key none\n"


def test_a_message_that_fails_again_at_once_is_left_for_the_next_redrive(
    queues: Queues, letter: Callable[[str, str], int], database: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    letter("cake", "failed")

    def fails_again(*_: object, **__: object) -> None:
        database.execute(END, {"status": "failed", "id": 1})
        queues.bury("cake")

    monkeypatch.setattr("ops.redrive.expect_message", fails_again)
    done = queues("redrive", JOB)
    assert (done.code, done.out) == (0, "cake is sent anew: run 1 has failed\n1 sent anew, 0 left\n")
    assert queues.keys(dead=True) == ["cake"]
    assert queues("redrive", JOB).out.splitlines()[-1] == "1 sent anew, 0 left"


@pytest.mark.parametrize(("option", "would"), [((), "is"), (("--dry-run",), "would be")])
def test_of_two_letters_with_one_key_one_is_sent_anew(queues: Queues, option: tuple[str, ...], would: str) -> None:
    queues.bury("cake")
    queues.bury("cake")
    done = queues("redrive", JOB, *option)
    assert done.code == 1
    assert done.out.splitlines()[1] == f"cake {would} left: another letter of its key has just been sent anew"


def test_what_others_send_for_ever_does_not_keep_the_letters_coming(queues: Queues) -> None:
    queues.bury("old")
    began = datetime.now(UTC)
    url = queues.url(dead=True)

    class Refilled:
        """A queue into which another letter is put whenever somebody looks."""

        def receive_message(self, **options: Any) -> Any:
            answer = queues.sqs.receive_message(**options)
            queues.bury("new")
            return answer

        change_message_visibility_batch = queues.sqs.change_message_visibility_batch

    with taken(Refilled(), url, until=began) as letters:
        assert [letter.key for letter in letters] == ["old"]


def test_in_a_fifo_queue_a_letter_is_sent_anew_in_its_group_and_once(
    queues: Queues, monkeypatch: pytest.MonkeyPatch, database: psycopg.Connection
) -> None:
    job = Job(JOB, target="a.b:run", queue=Queue(fifo=True), longest_run=minutes(1))
    monkeypatch.setattr("ops.queue_place.SCHEDULE", Catalogue((job,)))
    for kind in ("", "_dead-letters"):
        queues.sqs.create_queue(QueueName=f"shiftlock-dev-{JOB}{kind}.fifo", Attributes={"FifoQueue": "true"})
    body = message("cake", partition="oven 7")
    ordered: dict[str, Any] = {"MessageGroupId": "oven", "MessageDeduplicationId": "1"}
    queues.sqs.send_message(QueueUrl=queues.url(dead=True, fifo=True), MessageBody=body, **ordered)
    assert queues("redrive", JOB).out.splitlines()[-1] == "1 sent anew, 0 left"
    assert (queues.bodies(fifo=True), queues.bodies(dead=True, fifo=True)) == ([body], [])


class Killed(Exception):
    """What nothing catches."""


def _killed(*_: object) -> str:
    raise Killed
