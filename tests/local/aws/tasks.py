"""Tasks of the sample app: started, and heard of by the events of their changes."""

from typing import Any

from tests.local.aws.cloud import Cloud


def run_task(cloud: Cloud, family: str = "sample-task", **environment: str) -> str:
    pairs = [{"name": name, "value": value} for name, value in environment.items()]
    answer = cloud.aws.client("ecs").run_task(
        cluster="sample",
        taskDefinition=family,
        overrides={"containerOverrides": [{"name": "job", "environment": pairs}]},
    )
    arn: str = answer["tasks"][0]["taskArn"]
    return arn


def change_of(cloud: Cloud, arn: str, status: str) -> dict[str, Any]:
    def wanted(report: dict[str, Any]) -> bool:
        detail = report.get("event", {}).get("detail", {})
        return bool(detail.get("taskArn") == arn and detail["lastStatus"] == status)

    detail: dict[str, Any] = cloud.listener.wait(wanted)["event"]["detail"]
    return detail


def end_of(cloud: Cloud, arn: str) -> dict[str, Any]:
    return change_of(cloud, arn, "STOPPED")


def container_of(task: dict[str, Any]) -> dict[str, Any]:
    (container,) = task["containers"]
    return dict(container)
