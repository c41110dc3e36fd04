"""A service grows with its queue, shrinks when that is at rest, and keeps as many tasks as it is to have."""

import signal
from collections.abc import Sequence
from typing import Any

import psutil
import pytest

from ops.local.aws.scaling import SECONDS_AT_REST, Target, wanted
from tests.local.aws.cloud import Cloud

pytest_plugins = ("tests.local.aws.fixtures",)

TARGET = Target("cluster", "service", least=0, most=4)


@pytest.mark.parametrize(
    ("desired", "visible", "in_flight", "at_rest", "want"),
    [
        (0, 0, 0, 60.0, 0),
        (0, 1, 0, 0.0, 1),
        (0, 9, 0, 0.0, 4),
        (1, 2, 1, 0.0, 3),
        (3, 1, 0, 0.0, 3),
        (3, 0, 1, 0.0, 3),
        (3, 0, 0, SECONDS_AT_REST - 0.1, 3),
        (3, 0, 0, SECONDS_AT_REST, 0),
    ],
)
def test_a_service_grows_at_once_and_shrinks_only_when_its_queue_has_been_at_rest(
    desired: int, visible: int, in_flight: int, at_rest: float, want: int
) -> None:
    assert wanted(TARGET, desired, visible=visible, in_flight=in_flight, at_rest=at_rest) == want


def test_workers_come_with_the_messages_are_replaced_when_they_die_and_go_when_all_is_done(cloud: Cloud) -> None:
    sqs = cloud.aws.client("sqs")
    queue = sqs.get_queue_url(QueueName="work")["QueueUrl"]
    sqs.send_message_batch(QueueUrl=queue, Entries=[{"Id": str(number), "MessageBody": "{}"} for number in range(5)])
    working = [worker(cloud), worker(cloud)]
    assert tasks(cloud) == 2
    cloud.aws.settle()  # which waits for no task of a service
    psutil.Process(working[0]).send_signal(signal.SIGKILL)
    working.append(worker(cloud))
    assert tasks(cloud) == 2
    sqs.purge_queue(QueueUrl=queue)
    assert [cloud.listener.wait(lambda report: "signal" in report)["signal"] for _ in range(2)] == [15, 15]
    assert tasks(cloud) == 0


def worker(cloud: Cloud) -> int:
    """The process id of the next worker that has started."""
    report: dict[str, Any] = cloud.listener.wait(
        lambda report: report.get("environment", {}).get("SAY") == "working" and "pid" in report
    )
    return int(report["pid"])


def tasks(cloud: Cloud) -> int:
    """How many tasks the service has that are to go on."""
    found: Sequence[str] = cloud.aws.client("ecs").list_tasks(cluster="sample", serviceName="sample-worker")["taskArns"]
    return len(found)
