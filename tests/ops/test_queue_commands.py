"""`jobs queue show`, `peek` and `purge`."""

import io
import json
from pathlib import Path

import psycopg
import pytest

from handlers.guard.outbox import NewRun
from handlers.guard.park import park
from handlers.queues.message import read_message
from ops.local.deployed import ENDPOINT, ENVIRONMENT, LOCK
from ops.local.file_lock import only_one
from ops.queue_place import QueuePlace
from tests.ops.command import Jobs
from tests.ops.queues import JOB, OTHER, Queues, message

pytest_plugins = ("tests.ops.queue_fixtures",)

STATUS = "select run_key, status, error_msg from shiftlock.job_runs order by run_key"
HELD = """
update shiftlock.job_runs set status = 'running', fence = nextval('shiftlock.fence'), holder = 'somebody',
    lease_until = clock_timestamp(), may_fail = 0 where run_key = %s
"""
EMPTIED = "its queue was emptied with `jobs queue purge`"


def test_show_counts_what_waits_is_under_way_is_delayed_and_is_dead(queues: Queues) -> None:
    for key in "abc":
        queues.send(message(key))
    queues.sqs.receive_message(QueueUrl=queues.url(), MaxNumberOfMessages=1)
    queues.send(message("d"), DelaySeconds=60)
    queues.bury("e")
    shown = {each["job"]: each for each in json.loads(queues("show", "--json").out)}
    assert list(shown) == [OTHER, JOB]
    assert shown[JOB] == {
        "job": JOB,
        "queue": f"shiftlock-dev-{JOB}",
        "waiting": 2,
        "in_flight": 1,
        "delayed": 1,
        "oldest_seconds": None,
        "dead_letters": 1,
    }
    assert queues("show", JOB).out.splitlines()[1].split() == [JOB, "2", "-", "1", "1", "1", f"shiftlock-dev-{JOB}"]


def test_queue_alone_shows(queues: Queues) -> None:
    done = queues.jobs("queue")
    assert (done.code, done.err) == (2, NOT_RUNNING)
    assert queues().out == queues("show").out
    done = queues.jobs("queue", "--env", "dev", "peek", JOB)
    assert (done.code, done.err) == (
        2,
        "jobs: --env dev: allowed is after the command: `jobs queue peek ... --env dev`\n",
    )


def test_a_queue_that_is_not_deployed_does_not_hide_the_others(queues: Queues, tmp_path: Path) -> None:
    queues.send(message("cake"))
    queues.sqs.delete_queue(QueueUrl=queues.url(job=OTHER))
    _, missing, there, said = queues("show").out.splitlines()
    assert missing.split() == [OTHER, *"-----", f"shiftlock-dev-{OTHER}"]
    assert there.split()[:2] == [JOB, "1"]
    assert said == f"no queue yet of {OTHER}: deploy dev first"
    assert json.loads(queues("show", "--json").out)[0]["waiting"] is None
    assert QueuePlace(ENVIRONMENT, "http://127.0.0.1:9").remedy == "restart `make run` to deploy it"


def test_a_message_is_sent_as_a_service_would_publish_it(queues: Queues) -> None:
    done = queues("send", JOB, '{"source": "uploads/cake.jpg"}', "--key", "cake-1", "--partition", "7")
    assert (done.code, done.out) == (
        0,
        f"cake-1 is sent to {JOB}: `jobs show {JOB}@cake-1` has its run once that has begun\n",
    )
    sent = read_message(queues.bodies()[0])
    assert (sent.key, sent.payload, sent.partition) == ("cake-1", {"source": "uploads/cake.jpg"}, "7")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([JOB, "{", "--key", "1"], "JSON: '{' is none (Expecting property name enclosed in double quotes"),
        ([JOB, "[1]", "--key", "1"], """JSON: '[1]' is no object: allowed is an object such as '{"order": 42}'"""),
        ([JOB, '{"n": NaN}', "--key", "1"], "malformed message: payload.n is "),
        ([JOB, "{}", "--key", ""], "malformed message: key is '': allowed is 1 to 512 characters"),
        ([JOB, "{}"], "Missing option '--key'"),
        (["billing-run", "{}", "--key", "1"], f"billing-run has no queue: allowed is {OTHER}, {JOB}"),
    ],
)
def test_what_is_no_message_is_refused_in_one_line(queues: Queues, arguments: list[str], said: str) -> None:
    done = queues("send", *arguments)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith(f"jobs: {said}")
    assert queues.bodies() == []


def test_peek_shows_messages_with_the_reason_and_leaves_them_where_they_are(queues: Queues) -> None:
    queues.bury("cake", reason="ValueError: no such image", run=12)
    title, line = queues("peek", JOB, "--dead").out.splitlines()
    assert title.split()[0] == "key"
    assert line.startswith("cake")
    assert line.endswith('  12   ValueError: no such image; {"source": "uploads/cake.jpg"}')
    assert queues.keys(dead=True) == ["cake"]
    [record] = json.loads(queues("peek", JOB, "--dead", "--json").out)
    assert record["attributes"] == {"Reason": "ValueError: no such image", "Job": JOB, "Run": "12"}
    assert (record["key"], record["payload"]) == ("cake", {"source": "uploads/cake.jpg"})


def test_peek_shows_as_many_as_asked_for_and_those_that_say_no_run_with_what_is_wrong(queues: Queues) -> None:
    queues.send("no message")
    for number in range(3):
        queues.send(message(f"key-{number}"))
    first = queues("peek", JOB, "--count", "1").out.splitlines()[1]
    assert first.startswith("message ")
    assert first.endswith(
        "malformed message: 'no message' is no JSON (Expecting value: line 1 column 1 (char 0)): "
        "allowed is the text of a message"
    )
    assert len(queues("peek", JOB).out.splitlines()) == 5
    assert len(queues.bodies()) == 4


def test_peek_says_so_where_there_is_nothing(queues: Queues) -> None:
    assert queues("peek", JOB).out == f"no message of {JOB} is visible; `jobs queue show {JOB}` counts them\n"


def test_purge_empties_the_queue_and_cancels_the_runs_that_waited_for_it(
    queues: Queues, database: psycopg.Connection
) -> None:
    queues.send(message("published"))
    for key in ("parked", "other"):
        park(database, JOB, NewRun(key))
    park(database, OTHER, NewRun("elsewhere"))
    database.execute(HELD, ("other",))
    done = queues("purge", JOB, "--yes")
    assert done.out == f"about 1 messages of {JOB} are deleted; 1 runs that waited are cancelled\n"
    assert queues.bodies() == []
    assert database.execute(STATUS).fetchall() == [
        ("elsewhere", "pending", None),
        ("other", "running", None),
        ("parked", "cancelled", EMPTIED),
    ]


def test_a_parent_whose_last_children_are_purged_ends_with_them(queues: Queues, database: psycopg.Connection) -> None:
    parent = park(database, OTHER, NewRun("parent"))
    park(database, JOB, NewRun("child"))
    database.execute("update shiftlock.job_runs set parent_id = %s where run_key = 'child'", (parent,))
    database.execute(HELD, ("parent",))
    queues("purge", JOB, "--yes")
    assert database.execute(STATUS).fetchall()[1] == ("parent", "failed", "1 of 1 children have not succeeded")


def test_purge_of_dead_letters_leaves_the_queue_and_the_ledger(queues: Queues, database: psycopg.Connection) -> None:
    queues.bury("dead")
    queues.send(message("alive"))
    park(database, JOB, NewRun("alive"))
    done = queues("purge", JOB, "--dead", "--yes")
    assert done.out == (
        f"about 1 dead letters of {JOB} are deleted; their runs stay failed, and `jobs retry RUN` has one tried again\n"
    )
    assert (queues.bodies(dead=True), queues.keys()) == ([], ["alive"])
    assert database.execute(STATUS).fetchall() == [("alive", "pending", None)]


@pytest.mark.parametrize(("typed", "code", "left"), [(f"{JOB}\n", 0, 0), ("yes\n", 2, 1), ("", 2, 1)])
def test_purge_goes_on_when_the_name_is_typed(
    queues: Queues, monkeypatch: pytest.MonkeyPatch, typed: str, code: int, left: int
) -> None:
    queues.send(message("one"))
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    done = queues("purge", JOB)
    assert (done.code, len(queues.bodies())) == (code, left)
    assert done.err.startswith(f"about 1 messages of {JOB} in dev will be deleted, and nobody can bring them back")
    if code:
        assert done.err.endswith("jobs: nothing is deleted: allowed is the job's name, or --yes\n")


NOT_RUNNING = "jobs: no local AWS is running: start one with `make run`, or give --env NAME for one on AWS\n"


def test_without_a_local_aws_or_an_environment_it_is_refused(jobs_without_database: Jobs, tmp_path: Path) -> None:
    for arguments in (("show",), ("peek", JOB), ("redrive", JOB), ("purge", JOB, "--yes")):
        done = jobs_without_database("queue", *arguments)
        assert (done.code, done.out, done.err) == (2, "", NOT_RUNNING)
    # One that was killed has left its address and its lock behind, and holds the lock no more.
    (tmp_path / ENDPOINT).write_text("http://127.0.0.1:9\n")
    (tmp_path / LOCK).touch()
    assert jobs_without_database("queue", "show").err == NOT_RUNNING


def test_a_local_aws_that_does_not_answer_is_named(jobs_without_database: Jobs, tmp_path: Path) -> None:
    (tmp_path / ENDPOINT).write_text("http://127.0.0.1:9\n")
    with only_one(tmp_path / LOCK):
        done = jobs_without_database("queue", "show")
    assert (done.code, done.err) == (
        2,
        'jobs: AWS says: Could not connect to the endpoint URL: "http://127.0.0.1:9/"\n',
    )


def test_what_is_not_there_is_refused_with_what_to_do(queues: Queues) -> None:
    assert queues("show", "image-resise").err == "jobs: unknown job 'image-resise': did you mean image-resize?\n"
    assert queues("peek", "billing-run").err == (f"jobs: billing-run has no queue: allowed is {OTHER}, {JOB}\n")
    queues.sqs.delete_queue(QueueUrl=queues.url(dead=True))
    assert queues("peek", JOB, "--dead").err == (
        f"jobs: there is no queue shiftlock-dev-{JOB}_dead-letters here: deploy dev first\n"
    )
    done = queues.jobs("queue", "show", "--env", "nowhere")
    assert (done.code, done.out) == (2, "")
    assert "nowhere" in done.err


def test_the_ledger_of_another_environment_is_not_touched(
    queues: Queues, monkeypatch: pytest.MonkeyPatch, database: psycopg.Connection
) -> None:
    park(database, JOB, NewRun("parked"))
    monkeypatch.setenv("SHIFTLOCK_ENVIRONMENT", "prod")
    done = queues("purge", JOB, "--yes")
    assert (done.code, done.err) == (
        2,
        "jobs: --env dev: SHIFTLOCK_ENVIRONMENT is 'prod', so the ledger is another's: set both alike\n",
    )
    monkeypatch.delenv("SHIFTLOCK_ENVIRONMENT")
    monkeypatch.delenv("SHIFTLOCK_DATABASE_URL")
    done = queues("purge", JOB, "--yes")
    assert done.err.startswith("jobs: --env dev: no ledger of it is named: set SHIFTLOCK_DATABASE_URL")
    assert database.execute(STATUS).fetchall() == [("parked", "pending", None)]
