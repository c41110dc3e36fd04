"""The notifier's Lambda function: one message of each run that ended failed or unknown, from outside the network.

What the recorder returns, Lambda hands to it: the recorder is in the database's network, which may have no way out.
"""

import os
from collections.abc import Mapping
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from handlers.runtime.logs import open_log
from handlers.runtime.notice import notice


class NotTold(RuntimeError):
    """Messages that the topic did not take; Lambda counts the invocation as failed, and calls again."""

    def __init__(self, topic: str, failed: Mapping[int, str]) -> None:
        runs = ", ".join(f"run {run} ({why})" for run, why in failed.items())
        super().__init__(f"{topic} was not told of {runs}: see that it exists and lets the notifier publish")


def handler(event: Mapping[str, Any], context: object) -> dict[str, list[int]]:
    """Publish a message for each entry of `event["responsePayload"]["tell"]`, the recorder's; `{"told": [run, ...]}`.

    Raises KeyError for an event that is no record of the recorder, and NotTold once all have been tried. One that is
    called again repeats what it has said: better told twice than never.
    """
    told = event["responsePayload"]["tell"]
    if not told:
        return {"told": []}
    topic, environment, log = os.environ["SHIFTLOCK_TOPIC"], os.environ["SHIFTLOCK_ENVIRONMENT"], open_log()
    # Tries within a second or so; Lambda waits minutes for the next.
    client = boto3.client("sns", config=Config(connect_timeout=3, read_timeout=5, retries={"total_max_attempts": 3}))
    failed: dict[int, str] = {}
    for one in told:
        said = notice(environment, one)
        try:
            client.publish(TopicArn=topic, Subject=said.subject, Message=said.text)
        except (BotoCoreError, ClientError) as error:
            failed[one["run"]] = str(error)
            continue
        log.info("told", extra={"job": one["job"], "run_id": one["run"], "run_status": one["status"]})
    if failed:
        raise NotTold(topic, failed)
    return {"told": [one["run"] for one in told]}
