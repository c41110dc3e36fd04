"""Services that grow and shrink with their queues, as Application Auto Scaling would have them.

ministack keeps a service's tasks at its desired count once somebody changes that, and knows no scaling. Which queue
belongs to which service is read from the template: an alarm on a queue's metrics has a scaling policy as its action,
and the policy has a target. The steps of a policy are not played: there is a task for each message, up to the target's
maximum, and its minimum when the queues have been at rest for a while. A service that leaves its count to others begins
with none, where ECS begins with one: nobody is to wait for a worker's end who had nothing for it to do.
"""

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from ops.local.aws.clients import client
from ops.local.aws.internals import provisioners
from ops.local.aws.settings import ACCOUNT

logger = logging.getLogger("shiftlock.local.scaling")

Json = Mapping[str, Any]

SECONDS_BETWEEN_LOOKS = 0.5  # a queue tells nobody how full it is; CloudWatch looks once a minute
SECONDS_AT_REST = 3.0
# A task that ends by itself is replaced; one that cannot live is not to keep the machine busy.
SECONDS_BETWEEN_REPLACEMENTS = 5.0


@dataclass(slots=True)
class Target:
    """A service that scales between `least` and `most` tasks by its queues."""

    cluster: str
    service: str
    least: int
    most: int
    queues: set[str] = field(default_factory=set)
    busy_at: float = 0.0
    replaced_at: float = 0.0


def wanted(target: Target, desired: int, *, visible: int, in_flight: int, at_rest: float) -> int:
    """How many tasks a service is to have, of which it has `desired`; `at_rest` is in seconds."""
    if visible:
        return max(desired, min(target.most, visible + in_flight))
    return target.least if at_rest >= SECONDS_AT_REST else desired


class Scaling:
    """The scalable targets of one local AWS."""

    def __init__(self, endpoint: str, region: str) -> None:
        self._endpoint = endpoint
        self._region = region
        self._targets: dict[str, Target] = {}
        self._policies: dict[str, str] = {}

    def install(self) -> None:
        """Reads targets, policies and alarms from templates from now on, and scales what they name."""
        handlers = provisioners._RESOURCE_HANDLERS
        handlers["AWS::ApplicationAutoScaling::ScalableTarget"] = _handlers(self._target, self._forget)
        handlers["AWS::ApplicationAutoScaling::ScalingPolicy"] = _handlers(self._policy, self._forget)
        service = handlers["AWS::ECS::Service"]
        create = service["create"]
        service["create"] = lambda name, properties, stack: create(name, {"DesiredCount": 0, **properties}, stack)
        record = provisioners._cw_metric_alarm_record

        def record_and_read(name: str, properties: Json) -> Any:
            self._alarm(properties)
            return record(name, properties)

        provisioners._cw_metric_alarm_record = record_and_read
        threading.Thread(target=self._scale_for_ever, name="scaling", daemon=True).start()

    def _target(self, properties: Json) -> tuple[str, dict[str, str]]:
        # Application Auto Scaling API Reference, RegisterScalableTarget: `service/my-cluster/my-service`.
        resource = str(properties["ResourceId"])
        _, cluster, service = resource.split("/")
        queues = self._targets[resource].queues if resource in self._targets else set()
        least, most = int(properties["MinCapacity"]), int(properties["MaxCapacity"])
        self._targets[resource] = Target(cluster, service, least, most, queues)
        name = f"{resource}|{properties['ScalableDimension']}|{properties['ServiceNamespace']}"
        return name, {"Id": name}

    def _policy(self, properties: Json) -> tuple[str, dict[str, str]]:
        resource = str(properties.get("ScalingTargetId") or properties["ResourceId"]).partition("|")[0]
        name = properties["PolicyName"]
        arn = f"arn:aws:autoscaling:{self._region}:{ACCOUNT}:scalingPolicy:{uuid.uuid4()}:policyName/{name}"
        self._policies[arn] = resource
        return arn, {"Id": arn, "Arn": arn}

    def _alarm(self, properties: Json) -> None:
        for action in properties.get("AlarmActions") or ():
            target = self._targets.get(self._policies.get(str(action), ""))
            if target is not None:
                target.queues.update(_queues_in(properties))

    def _forget(self, physical_id: str) -> None:
        self._targets.pop(physical_id.partition("|")[0], None)
        self._policies.pop(physical_id, None)

    def _scale_for_ever(self) -> None:
        while True:
            time.sleep(SECONDS_BETWEEN_LOOKS)  # a queue tells nobody how full it is
            for target in list(self._targets.values()):
                try:
                    self._scale(target, time.monotonic())
                except (BotoCoreError, ClientError, ValueError) as error:
                    logger.warning("%s is not scaled: %s", target.service, error)

    def _scale(self, target: Target, now: float) -> None:
        services = self._client("ecs")
        here = {"cluster": target.cluster, "service": target.service}
        [service] = services.describe_services(cluster=target.cluster, services=[target.service])["services"]
        desired = int(service["desiredCount"])
        depths = [self._depth(queue) for queue in target.queues]
        visible, in_flight = sum(depth[0] for depth in depths), sum(depth[1] for depth in depths)
        if visible or in_flight:
            target.busy_at = now
        want = wanted(target, desired, visible=visible, in_flight=in_flight, at_rest=now - target.busy_at)
        running = len(services.list_tasks(cluster=target.cluster, serviceName=target.service)["taskArns"])
        if want != desired:
            services.update_service(**here, desiredCount=want)
        elif running < desired and now - target.replaced_at >= SECONDS_BETWEEN_REPLACEMENTS:
            target.replaced_at = now
            services.update_service(**here, desiredCount=desired)

    def _depth(self, queue: str) -> tuple[int, int]:
        """How many messages are visible and how many in flight."""
        queues = self._client("sqs")
        url = queues.get_queue_url(QueueName=queue)["QueueUrl"]
        kinds = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = queues.get_queue_attributes(QueueUrl=url, AttributeNames=kinds)["Attributes"]
        return int(found[kinds[0]]), int(found[kinds[1]])

    def _client(self, service: str) -> Any:
        return client(service, self._endpoint, self._region)


def _queues_in(value: Any) -> Iterator[str]:
    """The names of queues in the dimensions of an alarm, of whichever form."""
    if isinstance(value, Mapping):
        if value.get("Name") == "QueueName":
            yield str(value["Value"])
        for inner in value.values():
            yield from _queues_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _queues_in(inner)


def _handlers(
    make: Callable[[Json], tuple[str, dict[str, str]]], forget: Callable[[str], None]
) -> dict[str, Callable[..., Any]]:
    def create(logical_id: str, properties: Json, stack: str) -> tuple[str, dict[str, str]]:
        return make(properties)

    def update(physical_id: str, old: Any, new: Json, stack: str) -> tuple[str, dict[str, str]]:
        return make(new)

    def delete(physical_id: str, properties: Any) -> None:
        forget(physical_id)

    return {"create": create, "update": update, "delete": delete}
