"""Deploys stacks of a CDK cloud assembly to a local AWS, without the CDK's own tool."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from ops.local.aws.assembly import FileAsset, StackAssets, stack_assets
from ops.local.aws.errors import LocalDeployError
from ops.local.aws.server import LocalAws

SECONDS_TO_DEPLOY = 300.0
SECONDS_BETWEEN_LOOKS = 0.1  # CloudFormation tells nobody that a stack has settled; it has to be asked
CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]
# Every template of the CDK asks for this parameter before anything else is made.
BOOTSTRAP_PARAMETER = "/cdk-bootstrap/hnb659fds/version"
BOOTSTRAP_VERSION = "30"


def deploy(aws: LocalAws, assembly: Path, stacks: Sequence[str]) -> dict[str, dict[str, str]]:
    """Creates or updates stacks in the given order; answers the outputs of each by stack name.

    Unchanged assets are not sent again and an unchanged stack is left alone. Tasks of a container asset run from the
    asset's folder in the assembly, so keep it. Raises LocalDeployError with each failed resource's reason.
    """
    aws.client("ssm").put_parameter(Name=BOOTSTRAP_PARAMETER, Value=BOOTSTRAP_VERSION, Type="String", Overwrite=True)
    outputs = {}
    for stack in stacks:
        assets = stack_assets(assembly, stack, aws.account, aws.region)
        for file in assets.files:
            _upload(aws, file)
        aws.use_images(assets.images)
        outputs[stack] = _apply(aws, stack, assets)
    return outputs


def _upload(aws: LocalAws, file: FileAsset) -> None:
    s3 = aws.client("s3")
    try:
        s3.head_object(Bucket=file.bucket, Key=file.key)
        return  # keys are hashes of the content
    except ClientError:
        pass  # not there yet
    s3.create_bucket(Bucket=file.bucket, **_location(aws.region))
    s3.put_object(Bucket=file.bucket, Key=file.key, Body=file.content())


def _location(region: str) -> dict[str, object]:
    # S3 API Reference, CreateBucket: us-east-1 must not be named.
    return {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}


def _apply(aws: LocalAws, stack: str, assets: StackAssets) -> dict[str, str]:
    cloudformation = aws.client("cloudformation")
    request = {
        "StackName": stack,
        "TemplateURL": f"{aws.endpoint}/{assets.template.bucket}/{assets.template.key}",
        "Capabilities": CAPABILITIES,
    }
    before = _described(cloudformation, stack)
    if before and before["StackStatus"] in ("ROLLBACK_COMPLETE", "CREATE_FAILED", "ROLLBACK_FAILED"):
        cloudformation.delete_stack(StackName=stack)
        _settled(cloudformation, stack)
        before = None
    try:
        if before:
            cloudformation.update_stack(**request)
        else:
            cloudformation.create_stack(**request)
    except ClientError as error:
        if "No updates are to be performed" not in str(error):
            raise LocalDeployError(stack, "refused", [str(error)]) from error
    after = _settled(cloudformation, stack)
    if after["StackStatus"] not in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
        raise LocalDeployError(stack, after["StackStatus"], _reasons(cloudformation, stack, after))
    return {output["OutputKey"]: output["OutputValue"] for output in after.get("Outputs", ())}


def _described(cloudformation: Any, stack: str) -> Mapping[str, Any] | None:
    try:
        found: Mapping[str, Any] = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise
    return None if found["StackStatus"] == "DELETE_COMPLETE" else found


def _settled(cloudformation: Any, stack: str) -> Mapping[str, Any]:
    deadline = time.monotonic() + SECONDS_TO_DEPLOY
    while time.monotonic() < deadline:
        described = _described(cloudformation, stack)
        if described is None:
            return {"StackStatus": "DELETE_COMPLETE"}
        if not described["StackStatus"].endswith("_IN_PROGRESS"):
            return described
        time.sleep(SECONDS_BETWEEN_LOOKS)  # a stack tells nobody that it has settled
    raise LocalDeployError(stack, "unfinished", [f"not settled within {SECONDS_TO_DEPLOY:.0f} s"])


def _reasons(cloudformation: Any, stack: str, described: Mapping[str, Any]) -> list[str]:
    events = cloudformation.describe_stack_events(StackName=stack)["StackEvents"]
    failed = [
        f"{event['LogicalResourceId']} ({event['ResourceType']}): {event.get('ResourceStatusReason', 'no reason')}"
        for event in reversed(events)
        if event["ResourceStatus"].endswith("_FAILED")
    ]
    return failed or [described.get("StackStatusReason", "no reason")]
