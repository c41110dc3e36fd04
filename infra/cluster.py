"""An ECS cluster for tasks that come and go."""

from aws_cdk import aws_ecs as ecs
from constructs import Construct

from infra.acknowledged import acknowledge


def cluster(scope: Construct, name: str) -> ecs.CfnCluster:
    """A cluster without Container Insights.

    Those report each task as custom metrics at $0.30 a month ("Amazon CloudWatch pricing"). What is asked of a job,
    whether it ran and how long, its own metrics and the ledger say without them.
    """
    made = ecs.CfnCluster(
        scope,
        "Cluster",
        cluster_name=name,
        cluster_settings=[ecs.CfnCluster.ClusterSettingsProperty(name="containerInsights", value="disabled")],
    )
    acknowledge(made, "ECS4", "Metrics are per job and come with the log; those per task would cost and add nothing.")
    return made
