"""`jobs break` as the local AWS carries it out: once, on the next start that claims a run."""

import json
import logging
from pathlib import Path

import pytest

from ops.local.aws.assembly import zip_folder
from ops.local.aws.breaks import Breaks
from tests.local.aws.cloud import Cloud, message
from tests.local.aws.tasks import container_of, end_of, run_task

pytest_plugins = ("tests.local.aws.fixtures",)

# What a job says once it has claimed its run.
CLAIMED = '{"RunStarted": [1.0]}'


@pytest.fixture
def breaks(tmp_path: Path) -> Breaks:
    breaks = Breaks(tmp_path / "breaks")
    breaks.open()
    return breaks


def test_an_order_is_carried_out_by_one_of_all_that_see_it(breaks: Breaks) -> None:
    breaks.order("job", "kill")
    assert breaks.ordered("job") == "kill"
    assert [breaks.take("job"), breaks.take("job")] == [True, False]
    assert breaks.ordered("job") is None


def test_the_newest_order_counts(breaks: Breaks) -> None:
    breaks.order("job", "kill")
    breaks.order("job", "timeout")
    assert breaks.ordered("job") == "timeout"
    assert [path.name for path in breaks.folder.iterdir()] == ["job"]


def test_an_order_that_nobody_can_carry_out_is_dropped(breaks: Breaks, caplog: pytest.LogCaptureFixture) -> None:
    (breaks.folder / "job").write_text("explode")
    with caplog.at_level(logging.ERROR):
        assert breaks.ordered("job") is None
    assert "the order to break job by 'explode' is dropped: allowed is kill, oom, never-start, timeout" in caplog.text
    assert list(breaks.folder.iterdir()) == []


def test_a_server_begins_without_the_orders_of_the_one_before(breaks: Breaks) -> None:
    breaks.order("job", "kill")
    breaks.open()
    assert breaks.ordered("job") is None
    breaks.close()
    assert not breaks.folder.exists()


@pytest.mark.parametrize(
    ("how", "reason"), [("kill", None), ("oom", "OutOfMemoryError: Container killed due to memory usage")]
)
def test_a_task_is_killed_once_when_it_has_claimed_its_run(cloud: Cloud, how: str, reason: str | None) -> None:
    cloud.aws.breaks.order("sample-task", how)  # type: ignore[arg-type]  # one of those it takes
    ended = end_of(cloud, run_task(cloud, SAY="nothing of a run"))
    assert container_of(ended)["exitCode"] == 0
    ended = end_of(cloud, run_task(cloud, SAY=CLAIMED))
    assert ended["stopCode"] == "EssentialContainerExited"
    assert container_of(ended)["exitCode"] == 137
    assert container_of(ended).get("reason") == reason
    ended = end_of(cloud, run_task(cloud, SAY=CLAIMED))
    assert container_of(ended)["exitCode"] == 0


def test_a_task_that_is_to_never_start_has_no_process(cloud: Cloud) -> None:
    cloud.aws.breaks.order("sample-task", "never-start")
    ended = end_of(cloud, run_task(cloud))
    assert (ended["stopCode"], ended.get("startedAt")) == ("TaskFailedToStart", None)
    assert ended["stoppedReason"].startswith("ResourceInitializationError: ")
    assert "exitCode" not in container_of(ended)
    assert container_of(end_of(cloud, run_task(cloud)))["exitCode"] == 0


@pytest.mark.parametrize(
    ("how", "kind", "error"),
    [
        ("kill", "Runtime.ExitError", "Runtime exited with error: signal: killed"),
        ("oom", "Runtime.ExitError", "Runtime exited with error: signal: killed"),
        ("never-start", "Runtime.ImportModuleError", "broken by `jobs break`"),
    ],
)
def test_a_function_fails_once_as_it_was_ordered_to(cloud: Cloud, how: str, kind: str, error: str) -> None:
    client = cloud.aws.client("lambda")
    cloud.aws.breaks.order("worker", how)  # type: ignore[arg-type]  # one of those it takes
    client.invoke(FunctionName="worker", InvocationType="Event", Payload=json.dumps({"say": CLAIMED, "time": how}))
    record = json.loads(message(cloud, "letters")["Body"])
    assert record["requestPayload"]["time"] == how
    assert record["responsePayload"]["errorType"] == kind
    assert error in record["responsePayload"]["errorMessage"]
    answer = client.invoke(FunctionName="worker", Payload=json.dumps({"say": CLAIMED, "time": how}))
    assert json.loads(answer["Payload"].read()) == {"answer": how}


def test_a_frozen_function_is_ended_at_its_timeout(cloud: Cloud) -> None:
    client = cloud.aws.client("lambda")
    client.create_function(
        FunctionName="freezing",
        Runtime="python3.13",
        Role=f"arn:aws:iam::{cloud.aws.account}:role/any",
        Handler="package.entry.handler",
        Timeout=1,
        Environment={"Variables": {"NAME": "freezing"}},
        Code={"ZipFile": zip_folder(Path(__file__).parent / "aws" / "function")},
    )
    cloud.aws.breaks.order("freezing", "timeout")
    answer = client.invoke(FunctionName="freezing", Payload=json.dumps({"say": CLAIMED}))
    assert answer["FunctionError"]
    assert json.loads(answer["Payload"].read())["errorType"] == "Sandbox.Timedout"
    answer = client.invoke(FunctionName="freezing", Payload=json.dumps({"say": CLAIMED, "time": "thawed"}))
    assert json.loads(answer["Payload"].read()) == {"answer": "thawed"}
