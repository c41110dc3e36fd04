"""The alarms of templates, and the metrics that they look at."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from handlers.declaration.job import Job
from infra.silence import silence_window
from tests.infra.templates import Template

# Metrics Insights, the one query there is: a metric of ours over all jobs of the environment.
QUERY = re.compile(r"SELECT SUM\((\w+)\) FROM SCHEMA\(\"(\w+)\", (\w+), (\w+), (\w+)\) WHERE environment = '(\w+)'")


def ways(job: Job) -> set[str]:
    """The ways in which a job can go wrong that an alarm can see."""
    of_ticks = {"late", *(() if silence_window(job) is None else ("silent",))} if job.scheduled else set()
    of_messages = {"dead", "waiting", "failing"} if job.queue is not None else set()
    return {"failed", "lost", "cannot-start"} | of_ticks | of_messages


def metrics(alarm: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The metrics an alarm looks at, each with namespace, name, dimensions and period."""
    if "MetricName" in alarm:
        yield alarm
    for entry in alarm.get("Metrics", []):
        if "MetricStat" in entry:
            yield {**entry["MetricStat"]["Metric"], "Period": entry["MetricStat"]["Period"]}
        elif query := QUERY.fullmatch(entry["Expression"]):
            name, namespace, *dimensions, _ = query.groups()
            yield {
                "Namespace": namespace,
                "MetricName": name,
                "Dimensions": [{"Name": each} for each in dimensions],
                "Period": entry["Period"],
            }


def every_alarm(templates: list[Template]) -> Iterator[Mapping[str, Any]]:
    """All alarms of all environments, without those on other alarms."""
    for template in templates:
        yield from template.of("CloudWatch::Alarm").values()


def by_name(template: Template) -> dict[str, Mapping[str, Any]]:
    """The alarms of an environment by name, without its prefix."""
    prefix = template.name.removesuffix("alarms")
    return {alarm["AlarmName"].removeprefix(prefix): alarm for alarm in every_alarm([template])}
