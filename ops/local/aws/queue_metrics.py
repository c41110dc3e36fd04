"""How old the oldest message of each queue is, as SQS tells CloudWatch; ministack has no metrics of queues.

Source: Amazon SQS Developer Guide, "Available CloudWatch metrics for Amazon SQS".
"""

import logging
import threading
import time
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from ops.local.aws.clients import client
from ops.local.aws.internals import sqs

logger = logging.getLogger("shiftlock.local.queues")

SECONDS_BETWEEN_LOOKS = 5.0  # SQS looks once a minute


class QueueMetrics:
    """The metrics of all queues of one local AWS."""

    def __init__(self, endpoint: str, region: str) -> None:
        self._endpoint = endpoint
        self._region = region
        self._told: set[str] = set()

    def install(self) -> None:
        """Tells CloudWatch from now on."""
        threading.Thread(target=self._tell_for_ever, name="queue-metrics", daemon=True).start()

    def _tell_for_ever(self) -> None:
        while True:
            time.sleep(SECONDS_BETWEEN_LOOKS)  # metrics are told by the clock
            try:
                self.tell(time.time())
            except (BotoCoreError, ClientError) as error:
                logger.warning("metrics of queues are lost: %s", error)

    def tell(self, now: float) -> None:
        """Tells of each queue that has messages, and once of each that has none any more; `now` is a Unix time."""
        ages = {queue["name"]: _oldest(queue["messages"], now) for queue in list(sqs._queues._data.values())}
        for name, age in ages.items():
            if age is None and name not in self._told:
                continue
            (self._told.discard if age is None else self._told.add)(name)
            client("cloudwatch", self._endpoint, self._region).put_metric_data(
                Namespace="AWS/SQS",
                MetricData=[
                    {
                        "MetricName": "ApproximateAgeOfOldestMessage",
                        "Dimensions": [{"Name": "QueueName", "Value": name}],
                        "Value": age or 0.0,
                        "Unit": "Seconds",
                    }
                ],
            )


def _oldest(messages: list[dict[str, Any]], now: float) -> float | None:
    return max((now - float(message["sent_at"]) for message in list(messages)), default=None)
