"""`jobs queue send`: one message to a job, as a service would publish it."""

import json
from typing import Any

from handlers.queues.address import FIFO, NoQueue
from handlers.queues.errors import NotPublished
from handlers.queues.fitting import MalformedMessage
from handlers.queues.payloads import PayloadTooLarge
from handlers.queues.publish import Publisher
from handlers.schedule import SCHEDULE
from ops.queue_place import asking_aws, job_with_queue, queue_place
from ops.refused import Refused


def send(name: str, text: str, *, key: str, partition: str | None, environment: str | None) -> None:
    """Publish the message of this payload (JSON) and print where its run will be. Raises UnknownJob, Refused."""
    job, place, payload = job_with_queue(name), queue_place(environment), read_payload(text)
    with asking_aws():
        base = place.url(job).removesuffix(FIFO).removesuffix(job.name)
        try:
            Publisher(base, SCHEDULE, sqs=place.client("sqs")).publish(job.name, payload, key=key, partition=partition)
        except (NotPublished, NoQueue, MalformedMessage, PayloadTooLarge) as error:
            raise Refused(str(error)) from error
    print(f"{key} is sent to {name}: `jobs show {name}@{key}` has its run once that has begun")


def read_payload(text: str) -> dict[str, Any]:
    """The payload of a message. Raises Refused for what is no JSON object."""
    allowed = """allowed is an object such as '{"order": 42}'"""
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused(f"JSON: {text[:60]!r} is none ({error}): {allowed}") from error
    if not isinstance(payload, dict):
        raise Refused(f"JSON: {text[:60]!r} is no object: {allowed}")
    return payload
