"""The dispatcher's Lambda function: carries out what the watchdog has returned, from outside the database's network."""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import boto3
from botocore.config import Config

from handlers.runtime.dispatch import Dispatcher, Place
from handlers.runtime.logs import open_log
from handlers.schedule import SCHEDULE

# Calls at once: a start takes a tenth of a second, and ECS lets an account make twenty a second.
AT_ONCE = 10


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Carry out the orders in `event["responsePayload"]`, the watchdog's; what came of each.

    Its `tell` is for the notifier and goes on with the answer, by way of the recorder.

    Raises KeyError for an event that is no record of the watchdog: it ends in the dead-letter queue.
    """
    orders = event["responsePayload"]
    dispatcher = Dispatcher(SCHEDULE, place_of(os.environ), _client("lambda"), _client("ecs"))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        starts = list(pool.map(dispatcher.start, orders["starts"]))
        stops = list(pool.map(dispatcher.stop, orders["stops"]))
    answer = {
        "started": [start for start in starts if "reason" not in start],
        "failed": [start for start in starts if "reason" in start],
        "stopped": [stop for stop in stops if "reason" not in stop],
        "not_stopped": [stop for stop in stops if "reason" in stop],
    }
    log = open_log()
    for outcome, found in answer.items():
        for one in found:
            (log.error if "reason" in one else log.info)(outcome, extra=one)
    return answer | {"tell": orders.get("tell", [])}


def place_of(environ: Mapping[str, str]) -> Place:
    """The place of the jobs, from the function's variables. Raises KeyError."""
    return Place(
        prefix=environ["SHIFTLOCK_PREFIX"],
        cluster=environ["SHIFTLOCK_CLUSTER"],
        subnets=tuple(environ["SHIFTLOCK_SUBNETS"].split(",")),
        security_group=environ["SHIFTLOCK_SECURITY_GROUP"],
        public_ip=environ["SHIFTLOCK_PUBLIC_IP"],
        lambda_ceiling=timedelta(seconds=int(environ["SHIFTLOCK_LAMBDA_CEILING"])),
    )


def _client(service: str) -> Any:
    # Our own tries are the ones that count, and know which answers are worth one.
    config = Config(connect_timeout=3, read_timeout=10, retries={"total_max_attempts": 1})
    return boto3.client(service, config=config)  # type: ignore[call-overload]
