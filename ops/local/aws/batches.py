"""A batch of messages as a function gets it from its queue, and what of it is left by the function's answer.

Source: Lambda Developer Guide, "Using Lambda with Amazon SQS", example event, and "Handling errors for an SQS event
source", success and failure conditions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Json = Mapping[str, Any]


def delivered(messages: Sequence[Json], source: str, region: str) -> dict[str, Any]:
    """The event for what ReceiveMessage has answered; `source` is the queue's ARN."""
    return {
        "Records": [
            {
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "attributes": message.get("Attributes", {}),
                "messageAttributes": {
                    name: {key[0].lower() + key[1:]: value for key, value in attribute.items()}
                    for name, attribute in message.get("MessageAttributes", {}).items()
                },
                "md5OfBody": message["MD5OfBody"],
                "eventSource": "aws:sqs",
                "eventSourceARN": source,
                "awsRegion": region,
            }
            for message in messages
        ]
    }


def left_over(result: Json, messages: Sequence[Json], *, partial: bool) -> set[str]:
    """The ids of the messages that stay in the queue, hidden for as long as the queue or the function has said.

    result: of the invocation. partial: the mapping reads which items failed; else a call fails or succeeds as a whole,
    as it does when its answer names a message that is none of the batch.
    """
    everything = {message["MessageId"] for message in messages}
    if result.get("error"):
        return everything
    body = result.get("body")
    if not partial or body is None:
        return set()
    if not isinstance(body, Mapping):
        return everything
    items = body.get("batchItemFailures") or []
    try:
        failed = {item["itemIdentifier"] for item in items}
    except (KeyError, TypeError):
        return everything
    return failed if failed <= everything else everything
