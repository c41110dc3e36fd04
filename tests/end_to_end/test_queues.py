"""What the deployed templates make of messages: functions and workers, dead letters, runs that wait for others."""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from ops import configured
from ops.cli import call
from ops.local.deployed import ENDPOINT, LOCK
from ops.local.file_lock import only_one
from tests.end_to_end.acts import PREFIX, attempts, fire, watch
from tests.end_to_end.conftest import RESTAURANTS, Deployed

pytestmark = pytest.mark.usefixtures("nothing_under_way")

WORKER = f"{PREFIX}-inventory-pull_worker"
CHILDREN = """
select child.status, count(*), count(distinct child.partition), max(child.attempt)
from shiftlock.job_runs as child join shiftlock.job_runs as run on run.id = child.parent_id
where run.job_name = %s and run.run_key = %s group by child.status
"""
RESULT = "select result from shiftlock.job_runs where job_name = %s and run_key = %s"

Queue = Callable[..., str]


@pytest.fixture
def queue(
    deployed: Deployed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Queue]:
    """`jobs queue` beside the local AWS, as beside that of `make run`; what it prints."""
    (tmp_path / ENDPOINT).write_text(deployed.aws.endpoint)
    (tmp_path / "database-url").write_text(deployed.url)
    monkeypatch.setattr(configured, "LOCAL_URL", tmp_path / "database-url")

    def command(*arguments: str) -> str:
        capsys.readouterr()
        code = call(["queue", *arguments])
        out, err = capsys.readouterr()
        assert (code, err) == (0, ""), out + err
        return out

    with only_one(tmp_path / LOCK):
        yield command


@pytest.fixture
def worker_changes(deployed: Deployed) -> Iterator[Callable[[], dict[str, Any]]]:
    """What ECS says of the workers' tasks, one change after the other."""
    sqs, events = deployed.aws.client("sqs"), deployed.aws.client("events")
    url = sqs.create_queue(QueueName="worker-changes")["QueueUrl"]
    pattern = {"source": ["aws.ecs"], "detail": {"group": [f"service:{WORKER}"]}}
    events.put_rule(Name="worker-changes", EventPattern=json.dumps(pattern))
    arn = f"arn:aws:sqs:{deployed.aws.region}:{deployed.aws.account}:worker-changes"
    events.put_targets(Rule="worker-changes", Targets=[{"Id": "queue", "Arn": arn}])

    def change() -> dict[str, Any]:
        [message] = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"]
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        detail: dict[str, Any] = json.loads(message["Body"])["detail"]
        return detail

    yield change
    events.remove_targets(Rule="worker-changes", Ids=["queue"])
    events.delete_rule(Name="worker-changes")


def test_a_message_is_worked_on_by_the_function_and_a_second_one_of_its_key_is_not(deployed: Deployed) -> None:
    upload(deployed, "uploads/red.png")
    for _ in range(2):
        deployed.publisher.publish("image-resize", {"source": "uploads/red.png", "widths": [16]}, key="red")
    assert deployed.await_end("image-resize", "red") == "succeeded"
    deployed.aws.settle()
    assert attempts(deployed, "image-resize", "red") == [("succeeded", "lambda", "")]
    [(result,)] = deployed.ledger.execute(RESULT, ("image-resize", "red"))
    made = deployed.aws.client("s3").list_objects_v2(Bucket=deployed.bucket, Prefix="images/")["Contents"]
    assert [file["Key"] for file in made] == [image["key"] for image in result["images"]]


def test_a_message_that_fails_for_good_is_a_dead_letter_with_its_reason_and_is_redriven(
    deployed: Deployed, queue: Queue
) -> None:
    deployed.publisher.publish("image-resize", {"source": "uploads/late.png", "widths": [16]}, key="late")
    assert deployed.await_end("image-resize", "late") == "failed"
    deployed.aws.settle()
    [letter] = json.loads(queue("peek", "image-resize", "--dead", "--json"))
    assert letter["key"] == "late"
    assert "uploads/late.png" in letter["attributes"]["Reason"]
    assert json.loads(queue("show", "image-resize", "--json"))[0]["dead_letters"] == 1
    upload(deployed, "uploads/late.png")
    assert queue("redrive", "image-resize").endswith("1 sent anew, 0 left\n")
    assert deployed.await_end("image-resize", "late", beyond="pending") == "succeeded"
    deployed.aws.settle()
    assert [outcome for outcome, *_ in attempts(deployed, "image-resize", "late")] == ["failed", "succeeded"]
    assert json.loads(queue("show", "image-resize", "--json"))[0]["dead_letters"] == 0


def test_a_run_ends_with_the_last_of_its_children_whose_workers_come_with_them_and_go(
    deployed: Deployed, queue: Queue, worker_changes: Callable[[], dict[str, Any]]
) -> None:
    tick = "2026-11-28T12:00Z"
    fire(deployed, "inventory-sync", tick)
    worker = worker_changes()
    assert (worker["desiredStatus"], worker["lastStatus"]) == ("RUNNING", "RUNNING")
    assert deployed.await_end("inventory-sync", tick) == "succeeded"
    [(status, children, partitions, most_attempts)] = deployed.ledger.execute(CHILDREN, ("inventory-sync", tick))
    assert (status, partitions, most_attempts) == ("succeeded", children, 1)
    assert RESTAURANTS * 0.8 < children <= RESTAURANTS  # the others have left the platform
    [(result,)] = deployed.ledger.execute(RESULT, ("inventory-sync", tick))
    assert result == {"restaurants": children, "children": children, "succeeded": children, "failed": 0}
    while (change := worker_changes())["desiredStatus"] == "RUNNING" or change["taskArn"] != worker["taskArn"]:
        pass  # of another
    service = deployed.aws.client("ecs").describe_services(cluster=PREFIX, services=[WORKER])["services"][0]
    assert service["desiredCount"] == 0
    shown = json.loads(queue("show", "inventory-pull", "--json"))[0]
    assert (shown["waiting"], shown["in_flight"], shown["dead_letters"]) == (0, 0, 0)


def test_what_a_killed_worker_held_is_rung_for_again_and_done_by_the_next(deployed: Deployed) -> None:
    deployed.aws.breaks.order(WORKER, "kill")
    deployed.publisher.publish("inventory-pull", {"restaurant": 1}, key="held", partition="restaurant-1")
    assert deployed.await_end("inventory-pull", "held") == "pending"
    watch(deployed)
    assert deployed.await_end("inventory-pull", "held") == "succeeded"
    first, second = attempts(deployed, "inventory-pull", "held")
    assert first[:2] == ("lost", "fargate")
    assert "exit code 137" in first[2]
    assert second == ("succeeded", "fargate", "")


def upload(deployed: Deployed, key: str) -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (64, 48), "red").save(buffer, "PNG")
    deployed.aws.client("s3").put_object(
        Bucket=deployed.bucket, Key=key, Body=buffer.getvalue(), ContentType="image/png"
    )
