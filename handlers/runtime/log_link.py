"""Where a person reads what an attempt has printed: the page of its log stream in the CloudWatch console."""

from collections.abc import Mapping
from urllib.parse import quote

# The container of a job's task, which is also the prefix of its stream (infra/task_definition.py).
CONTAINER = "job"


def log_link(environ: Mapping[str, str]) -> str | None:
    """The page for this process, None where its output goes elsewhere.

    Lambda names group and stream itself ("Defined runtime environment variables"). ECS names the stream of a task by
    prefix, container and task ("Send Amazon ECS logs to CloudWatch", awslogs-stream-prefix), and we its group.
    """
    region = environ.get("AWS_REGION")
    group, stream = environ.get("AWS_LAMBDA_LOG_GROUP_NAME"), environ.get("AWS_LAMBDA_LOG_STREAM_NAME")
    if task := task_id(environ):
        group, stream = environ.get("SHIFTLOCK_LOG_GROUP"), f"{CONTAINER}/{CONTAINER}/{task}"
    if not (region and group and stream):
        return None
    page = f"log-groups/log-group/{_in_fragment(group)}/log-events/{_in_fragment(stream)}"
    return f"https://{region}.console.aws.amazon.com/cloudwatch/home?region={region}#logsV2:{page}"


def task_id(environ: Mapping[str, str]) -> str | None:
    """The id of the ECS task that this process belongs to.

    The address that ECS gives each container ends in the task's id and the container's ("Amazon ECS task metadata
    endpoint version 4").
    """
    address = environ.get("ECS_CONTAINER_METADATA_URI_V4")
    return address.rpartition("/")[2].partition("-")[0] if address else None


def _in_fragment(name: str) -> str:
    """The console reads names that are quoted twice, with $ for %."""
    return quote(quote(name, safe=""), safe="").replace("%", "$")
