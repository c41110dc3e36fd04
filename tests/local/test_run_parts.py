"""What `make run` is made of beside its servers: when all is settled, its uploads, and the queues in a line."""

import io
import re
import subprocess
from pathlib import Path

import psycopg
import pytest
from PIL import Image

from handlers.guard.outbox import NewRun
from handlers.guard.park import park
from infra.packages import ROOT
from ops.local.deployed import ENVIRONMENT
from ops.local.queues import Queues, in_words
from ops.local.run import MESSAGES_ARE_GONE
from ops.local.service_env import written
from ops.local.settled import Standing, judge, standings
from ops.local.uploads import uploads
from ops.queue_place import QueuePlace

JOBS = ("one", "two")


@pytest.mark.parametrize(
    ("second", "state"),
    [
        (Standing("two", succeeded=True, newest="failed", error="it broke"), "settled"),
        (Standing("two", succeeded=False, newest="pending", error=None), "waiting"),
        (Standing("two", succeeded=False, newest="failed", error="it broke"), "stuck"),
        (Standing("two", succeeded=False, newest="failed", error="it broke", goes_on=True), "waiting"),
    ],
)
def test_a_job_of_which_one_run_has_failed_is_stuck_only_if_no_other_goes_on(second: Standing, state: str) -> None:
    first = Standing("one", succeeded=True, newest="succeeded", error=None)
    assert judge(JOBS, [first, second]).state == state


def test_a_run_that_waits_for_its_message_goes_on_and_a_plan_does_not(database: psycopg.Connection) -> None:
    park(database, "two", NewRun("key"))
    park(database, "one", NewRun("key"))
    database.execute("update shiftlock.job_runs set trigger = 'plan' where job_name = 'one'")
    assert {standing.job: standing.goes_on for standing in standings(database)} == {"one": False, "two": True}


def test_what_was_in_the_queues_of_a_former_start_is_rung_for_again(database: psycopg.Connection) -> None:
    park(database, "two", NewRun("key"))
    database.execute("update shiftlock.job_runs set message_until = clock_timestamp() + interval '4 days'")
    database.execute(MESSAGES_ARE_GONE)
    assert database.execute("select message_until from shiftlock.job_runs").fetchall() == [(None,)]


def test_uploads_are_images_and_the_same_each_time() -> None:
    files = list(uploads())
    assert files == list(uploads())
    assert len({file.message_key for file in files}) == len(files) == 3
    for file in files:
        with Image.open(io.BytesIO(file.data)) as image:
            assert f"image/{(image.format or '').lower()}" == file.content_type


def test_the_message_that_the_readme_sends_is_about_an_image_that_is_there() -> None:
    [source] = re.findall(r"jobs queue send \S+ '\{\"source\": \"(\S+)\"\}'", (ROOT / "README.md").read_text())
    assert source in {file.key for file in uploads()}


def test_what_a_service_needs_is_a_file_for_a_shell_that_goes_with_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "data" / "env"
    path.parent.mkdir()
    with written(path, {"SHIFTLOCK_QUEUES": "http://127.0.0.1/it's $HERE-"}) as command:
        assert command == ". data/env"
        said = subprocess.run(
            ["sh", "-c", f"{command}; printenv SHIFTLOCK_QUEUES"], capture_output=True, text=True, check=True
        )
        assert said.stdout == "http://127.0.0.1/it's $HERE-\n"
    assert not path.exists()


@pytest.mark.parametrize(
    ("depth", "dead", "said"),
    [
        ((0, 0, 0), 0, "empty"),
        ((120, 4, 3), 0, "123 wait, 4 in flight"),
        ((0, 0, 0), 2, "2 dead letters"),
    ],
)
def test_a_queue_is_told_in_few_words(depth: tuple[int, int, int], dead: int, said: str) -> None:
    assert in_words(depth, dead) == said


def test_queues_that_cannot_be_asked_do_not_end_the_table() -> None:
    line = Queues(QueuePlace(ENVIRONMENT, "http://127.0.0.1:9")).line()
    assert line == 'queues: Could not connect to the endpoint URL: "http://127.0.0.1:9/"'
