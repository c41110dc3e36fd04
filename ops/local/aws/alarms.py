"""Alarms on metric math: ministack refuses them, here they are stored and never evaluated."""

from collections.abc import Mapping
from typing import Any

from ops.local.aws.internals import provisioners

NOT_EVALUATED = "Shiftlock/Local/MetricMath"


def install() -> None:
    """Makes ministack keep an alarm with `Metrics` as an alarm on a metric that nobody emits."""
    original = provisioners._cw_metric_alarm_record

    def record(name: str, properties: Mapping[str, Any]) -> Any:
        return original(name, _without_math(properties))

    provisioners._cw_metric_alarm_record = record


def _without_math(properties: Mapping[str, Any]) -> dict[str, Any]:
    plain = dict(properties)
    if metrics := plain.pop("Metrics", None):
        periods = [metric["MetricStat"]["Period"] for metric in metrics if "MetricStat" in metric]
        plain |= {"Namespace": NOT_EVALUATED, "MetricName": "expression", "Period": max(map(int, periods), default=60)}
    return plain
