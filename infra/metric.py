"""What alarms and the dashboard look at: one metric, or an expression over several."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from handlers.declaration.signals import ENVIRONMENT, JOB, NAMESPACE, SERVICE, SERVICE_NAME, Signal
from infra.environment import Environment

Statistic = Literal["Sum", "Maximum", "Average"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of CloudWatch, each period of which is brought down to one number by the statistic."""

    namespace: str
    name: str
    dimensions: Mapping[str, str]
    statistic: Statistic = "Sum"


@dataclass(frozen=True, slots=True)
class Expression:
    """Metric math over metrics by the names it calls them, at most ten for an alarm; or, without any, a query."""

    text: str
    metrics: Mapping[str, Metric] = field(default_factory=dict)


def signal_of(environment: Environment, signal: Signal, job: str, statistic: Statistic = "Sum") -> Metric:
    """A metric of ours, of one job or of what stands in the place of a job's name."""
    dimensions = {SERVICE: SERVICE_NAME, ENVIRONMENT: environment.name, JOB: job}
    return Metric(NAMESPACE, signal.value, dimensions, statistic)


def signal_of_all_jobs(environment: Environment, signal: Signal) -> Expression:
    """The sum of a metric of ours over all jobs ("CloudWatch Metrics Insights query components and syntax")."""
    return Expression(
        f'SELECT SUM({signal.value}) FROM SCHEMA("{NAMESPACE}", {ENVIRONMENT}, {JOB}, {SERVICE}) '  # noqa: S608 - ours
        f"WHERE {ENVIRONMENT} = '{environment.name}'"
    )
