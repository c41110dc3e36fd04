"""The bucket of files of an environment: what jobs read and write, and payloads too large for a message."""

from aws_cdk import Aws, Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.acknowledged import acknowledge
from infra.environment import Environment

PAYLOADS, EXPORTS = "payloads/", "exports/"
# A message waits 14 days at most, in its queue and among the dead letters together.
PAYLOAD_DAYS = 15
# A run ends within a day; parts of an upload that nobody completed are paid for and seen nowhere.
UPLOAD_DAYS = 2
# For which prod keeps what was overwritten or deleted: long enough to notice a job that did it by mistake.
UNDO_DAYS = 30


class Files(Construct):
    """The bucket: `bucket` is its name in its own stack, `name` in others.

    CloudFormation makes the name up, since names are the world's: a foreseeable one may be taken. Only prod keeps old
    versions: a job that is retried writes its files again, and each copy is paid for.
    """

    def __init__(self, scope: Construct, environment: Environment) -> None:
        super().__init__(scope, "Files")
        undo = Duration.days(UNDO_DAYS) if environment.protected else None
        bucket = s3.Bucket(
            self,
            "Bucket",
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            versioned=environment.protected,
            removal_policy=RemovalPolicy.RETAIN if environment.protected else RemovalPolicy.DESTROY,
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="Leftovers",
                    abort_incomplete_multipart_upload_after=Duration.days(UPLOAD_DAYS),
                    noncurrent_version_expiration=undo,
                    # Of files whose last version is gone.
                    expired_object_delete_marker=environment.protected or None,
                ),
                s3.LifecycleRule(id="Payloads", prefix=PAYLOADS, expiration=Duration.days(PAYLOAD_DAYS)),
                s3.LifecycleRule(id="Exports", prefix=EXPORTS, expiration=Duration.days(environment.export_days)),
            ],
        )
        bucket.add_to_resource_policy(
            iam.PolicyStatement(
                sid="TlsOnly",
                effect=iam.Effect.DENY,
                principals=[iam.AnyPrincipal()],
                actions=["s3:*"],
                resources=[bucket.bucket_arn, bucket.arn_for_objects("*")],
                conditions={"Bool": {"aws:SecureTransport": "false"}},
            )
        )
        acknowledge(
            bucket,
            "S1",
            "Only roles of jobs reach it, each its own folders: CloudTrail data events say who, where that is asked.",
        )
        self.bucket: str = bucket.bucket_name
        self.name: str = Stack.of(self).export_value(bucket.bucket_name)

    def folder(self, path: str) -> str:
        """ARN pattern of all files in a folder, given as `uploads/`."""
        return f"arn:{Aws.PARTITION}:s3:::{self.name}/{path}*"
