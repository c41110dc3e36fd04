"""Hands a payload to the resource with a given ARN, through that resource's own public API.

Going through the API, and not through ministack's functions, has botocore check each request against AWS's own model:
a container override with a wrong name fails here as it would there.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from ops.local.aws.clients import client


class Undeliverable(Exception):
    """The target did not accept the payload; the message is the service's own."""


class Courier:
    """Delivers to the functions, clusters, queues and topics of one local AWS."""

    def __init__(self, endpoint: str, region: str) -> None:
        self._endpoint = endpoint
        self._region = region

    def deliver(self, arn: str, payload: str, attributes: Mapping[str, str] | None = None) -> None:
        """Invokes a function asynchronously, or sends a message with string attributes to a queue or topic.

        Raises Undeliverable when the service refuses, or has no such resource.
        """
        try:
            self._send(arn, payload, attributes or {})
        except (BotoCoreError, ClientError) as error:
            raise Undeliverable(f"{arn}: {error}") from error

    def run_task(self, cluster: str, parameters: Mapping[str, Any], payload: str, started_by: str) -> Sequence[str]:
        """Runs the tasks of an `EcsParameters` target, payload being the overrides; answers the ARNs of the tasks.

        Raises Undeliverable when the request is refused or a task cannot be placed.
        """
        network = parameters.get("NetworkConfiguration", {})
        vpc = network.get("AwsVpcConfiguration") or network.get("awsvpcConfiguration") or {}
        try:
            answer = self._client("ecs").run_task(
                cluster=cluster,
                taskDefinition=parameters["TaskDefinitionArn"],
                count=int(parameters.get("TaskCount", 1)),
                launchType=parameters.get("LaunchType", "FARGATE"),
                overrides=json.loads(payload or "{}"),
                # ECS cuts the name of the starter: RunTask, startedBy, up to 128 letters, EventBridge's own 36.
                startedBy=started_by[:36],
                **({"networkConfiguration": {"awsvpcConfiguration": _camel(vpc)}} if vpc else {}),
            )
        except (BotoCoreError, ClientError, ValueError) as error:
            raise Undeliverable(f"{parameters['TaskDefinitionArn']}: {error}") from error
        if answer["failures"]:
            raise Undeliverable(f"{parameters['TaskDefinitionArn']}: {answer['failures']}")
        return [task["taskArn"] for task in answer["tasks"]]

    def _send(self, arn: str, payload: str, attributes: Mapping[str, str]) -> None:
        service, name = arn.split(":")[2], arn.split(":")[-1]
        typed = {key: {"DataType": "String", "StringValue": value} for key, value in attributes.items() if value}
        if service == "lambda":
            self._client("lambda").invoke(FunctionName=arn, InvocationType="Event", Payload=payload)
        elif service == "sqs":
            url = self._client("sqs").get_queue_url(QueueName=name)["QueueUrl"]
            self._client("sqs").send_message(QueueUrl=url, MessageBody=payload, MessageAttributes=typed)
        elif service == "sns":
            self._client("sns").publish(TopicArn=arn, Message=payload, MessageAttributes=typed)
        else:
            raise Undeliverable(f"{arn}: the local AWS delivers to lambda, sqs and sns, not to {service}")

    def _client(self, service: str) -> Any:
        return client(service, self._endpoint, self._region)


def _camel(value: Any) -> Any:
    """CloudFormation's names in the spelling of the ECS API: Subnets becomes subnets."""
    if isinstance(value, dict):
        return {key[0].lower() + key[1:]: _camel(inner) for key, inner in value.items()}
    return [_camel(inner) for inner in value] if isinstance(value, list) else value
