"""Why SQS has not taken a message, and whether another try may go better."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from botocore.exceptions import BotoCoreError, ClientError

# gone, denied: the queue, and with it every message to it. message: this one, whenever it is sent. passing: another
# try may go better.
Kind = Literal["gone", "denied", "message", "passing"]

# "SendMessageBatch" and "Common errors", Amazon SQS API reference. Which of two names an error has depends on the
# protocol of the SDK.
GONE = frozenset({"QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"})
DENIED = frozenset({"AccessDenied", "AccessDeniedException", "KmsAccessDenied", "KMS.AccessDeniedException"})
# Said of a whole batch, though one message of it is to blame.
OF_A_MESSAGE = frozenset(
    {
        "BatchRequestTooLong",
        "AWS.SimpleQueueService.BatchRequestTooLong",
        "InvalidMessageContents",
        "InvalidParameterValue",
        "InvalidParameterValueException",
    }
)
PASSING = frozenset(
    {
        "Throttling",
        "ThrottlingException",
        "RequestThrottled",
        "KmsThrottled",
        "KMS.ThrottlingException",
        "OverLimit",
        "RequestTimeout",
    }
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """kind: see `Kind`. reason: one line. whole: it was said of the call and would be said of the next one, too."""

    kind: Kind
    reason: str
    whole: bool = False


UNMENTIONED = Refusal("passing", "SQS says neither that it has the message nor that it has not")


def of_entry(failed: Mapping[str, Any]) -> Refusal:
    """What SQS has said to one message of a batch (BatchResultErrorEntry, Amazon SQS API reference)."""
    reason = f"{failed.get('Code')}: {failed.get('Message') or 'no message'}"
    return Refusal("message" if failed.get("SenderFault") else "passing", reason)


def of_call(error: "ClientError | BotoCoreError", url: str) -> Refusal:
    """What SQS, or the way to it, has said to a whole call."""
    from botocore.exceptions import ClientError  # here: what only reads messages needs no SDK

    if not isinstance(error, ClientError):
        return Refusal("passing", f"{url}: {error}", whole=True)
    told: Mapping[str, Any] = error.response.get("Error", {})
    code, status = told.get("Code", "Unknown"), error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    said = f"{url}: {code}: {told.get('Message') or 'no message'}"
    if code in GONE:
        return Refusal(
            "gone", f"{said}; deploy the environment, or see whether SHIFTLOCK_QUEUES is its own", whole=True
        )
    if code in DENIED:
        return Refusal("denied", f"{said}; a job may send to those in its sends=(...) alone", whole=True)
    if code in PASSING or status >= 500:
        return Refusal("passing", said, whole=True)
    if code in OF_A_MESSAGE:
        return Refusal("message", said)
    # A key that has expired, say: nothing that this process sends will be taken.
    return Refusal("denied", said, whole=True)
