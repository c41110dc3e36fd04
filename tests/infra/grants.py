"""Read what a role may do with queues and files: shared by tests."""

from typing import Any

# What a job may do because its entry in the table says so.
OF_WORK = {"ReadFiles", "WriteFiles", "ReadPayloads", "SendMessages", "TakeMessages", "BuryMessages"}


def queue_of(arn: Any) -> str:
    """The name of a queue, from an ARN that names it."""
    return _end(arn).rpartition(":")[2]


def folder_of(arn: Any) -> str:
    """The folder that an ARN pattern of files is about."""
    end = _end(arn)
    assert end.startswith("/")
    assert end.endswith("/*")
    return end[1:-1]


def _end(arn: Any) -> str:
    return arn if isinstance(arn, str) else str(arn["Fn::Join"][1][-1])
