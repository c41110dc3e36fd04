"""What an alarm is on, as CloudFormation wants it."""

from typing import Any

from aws_cdk import aws_cloudwatch as cloudwatch

from infra.metric import Expression, Metric


def watched(of: Metric | Expression, period: int) -> dict[str, Any]:
    """The properties of an alarm that say what it is on. period: seconds."""
    of_alarm = cloudwatch.CfnAlarm
    if isinstance(of, Metric):
        return {
            "namespace": of.namespace,
            "metric_name": of.name,
            "dimensions": _dimensions(of),
            "statistic": of.statistic,
            "period": period,
        }
    result = of_alarm.MetricDataQueryProperty(
        id="result", expression=of.text, period=None if of.metrics else period, return_data=True
    )
    parts = [
        of_alarm.MetricDataQueryProperty(
            id=name,
            metric_stat=of_alarm.MetricStatProperty(
                metric=of_alarm.MetricProperty(
                    namespace=metric.namespace, metric_name=metric.name, dimensions=_dimensions(metric)
                ),
                period=period,
                stat=metric.statistic,
            ),
            return_data=False,
        )
        for name, metric in of.metrics.items()
    ]
    return {"metrics": [result, *parts]}


def _dimensions(metric: Metric) -> list[cloudwatch.CfnAlarm.DimensionProperty]:
    return [cloudwatch.CfnAlarm.DimensionProperty(name=name, value=value) for name, value in metric.dimensions.items()]
