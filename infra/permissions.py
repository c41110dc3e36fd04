"""IAM statements that more than one role holds. Each is explained, by its Sid, in docs/security.md."""

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

# Seconds for which delivery of a start is tried. The default of a day (six hours for Lambda) would start a job long
# after the ledger has given its tick to somebody else.
DELIVERY_AGE = 3600
# Besides the first: enough to pass over a throttled call, few enough that a broken one is known at once.
DELIVERY_RETRIES = 3


def write_logs(group: logs.ILogGroup) -> iam.PolicyStatement:
    """Leave to write to one log group."""
    return iam.PolicyStatement(
        sid="WriteLogs", actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[group.log_group_arn]
    )


def network_statements(scope: Construct, function: str) -> list[iam.PolicyStatement]:
    """Leave for the Lambda service to attach `function` to the VPC, and a bar against its code doing the same.

    Lambda checks these actions against `*` before it knows subnet or interface ("Giving Lambda functions access to
    resources in an Amazon VPC", required IAM permissions, which also has the bar).
    """
    actions = [
        "ec2:AssignPrivateIpAddresses",
        "ec2:CreateNetworkInterface",
        "ec2:DeleteNetworkInterface",
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeSubnets",
        "ec2:UnassignPrivateIpAddresses",
    ]
    arn = Stack.of(scope).format_arn(
        service="lambda", resource="function", resource_name=function, arn_format=ArnFormat.COLON_RESOURCE_NAME
    )
    return [
        iam.PolicyStatement(sid="AttachToNetwork", actions=actions, resources=["*"]),
        iam.PolicyStatement(
            sid="NotByTheCode",
            effect=iam.Effect.DENY,
            actions=actions,
            resources=["*"],
            conditions={"ArnEquals": {"lambda:SourceFunctionArn": arn}},
        ),
    ]
