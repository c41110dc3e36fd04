"""AWS::Scheduler::Schedule with all its properties: ministack's own handler drops the zone."""

from collections.abc import Callable, Mapping
from typing import Any

from ops.local.aws.internals import provisioners, scheduler


def install() -> None:
    """Has CloudFormation create and update schedules through the Scheduler's own API functions."""
    provisioners._RESOURCE_HANDLERS["AWS::Scheduler::Schedule"].update(create=_create, update=_update)


def _create(logical_id: str, properties: Mapping[str, Any], stack: str) -> tuple[str, dict[str, str]]:
    name = properties.get("Name") or provisioners._physical_name(stack, logical_id, max_len=64)
    return _stored(name, properties, scheduler._create_schedule)


def _update(physical_id: str, old: Any, new: Mapping[str, Any], stack: str) -> tuple[str, dict[str, str]]:
    name = new.get("Name") or physical_id
    return _stored(name, new, scheduler._update_schedule if name == physical_id else scheduler._create_schedule)


def _stored(name: str, properties: Mapping[str, Any], store: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    status, _, body = store(name, properties)
    if status >= 400:
        raise ValueError(body.decode())
    return name, {"Arn": scheduler._schedule_arn(properties.get("GroupName", "default"), name)}
