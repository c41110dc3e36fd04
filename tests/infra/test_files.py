"""The bucket of files: who can see it, and how long it keeps what."""

from collections.abc import Mapping
from typing import Any

import pytest

from handlers.queues import payloads
from infra import files
from infra.environments import ENVIRONMENTS
from tests.infra.templates import Template

BY_ENVIRONMENT = pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda environment: environment.name)


def bucket(template: Template) -> tuple[str, Mapping[str, Any]]:
    """Logical id and resource of the one bucket."""
    ((logical_id, resource),) = (
        (key, each) for key, each in template.resources.items() if each["Type"] == "AWS::S3::Bucket"
    )
    return logical_id, resource


@BY_ENVIRONMENT
def test_it_is_private_and_encrypted_and_refuses_what_comes_without_tls(
    environment: Any, stacks: Mapping[str, Template]
) -> None:
    template = stacks[environment.data_stack]
    logical_id, resource = bucket(template)
    properties = resource["Properties"]
    assert set(properties["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(properties["PublicAccessBlockConfiguration"]) == 4
    assert properties["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    (encryption,) = properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    assert "BucketName" not in properties
    policy = template.only("S3::BucketPolicy")
    assert policy["Bucket"] == {"Ref": logical_id}
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Action"]) == ("Deny", "s3:*")
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert len(statement["Resource"]) == 2


@BY_ENVIRONMENT
def test_what_nobody_needs_any_more_goes_by_itself(environment: Any, stacks: Mapping[str, Template]) -> None:
    _, resource = bucket(stacks[environment.data_stack])
    rules = {rule["Id"]: rule for rule in resource["Properties"]["LifecycleConfiguration"]["Rules"]}
    assert rules["Leftovers"]["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 2}
    assert "Prefix" not in rules["Leftovers"]
    assert "ExpirationInDays" not in rules["Leftovers"]
    # A message lives 14 days, and its payload longer.
    assert (rules["Payloads"]["Prefix"], rules["Payloads"]["ExpirationInDays"]) == ("payloads/", 15)
    assert (rules["Exports"]["Prefix"], rules["Exports"]["ExpirationInDays"]) == ("exports/", environment.export_days)
    assert {rule["Status"] for rule in rules.values()} == {"Enabled"}


@BY_ENVIRONMENT
def test_prod_alone_keeps_the_bucket_and_for_a_month_what_was_overwritten(
    environment: Any, stacks: Mapping[str, Template]
) -> None:
    _, resource = bucket(stacks[environment.data_stack])
    properties, (leftovers, *_) = resource["Properties"], resource["Properties"]["LifecycleConfiguration"]["Rules"]
    if environment.protected:
        assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")
        assert properties["VersioningConfiguration"] == {"Status": "Enabled"}
        assert leftovers["NoncurrentVersionExpiration"] == {"NoncurrentDays": 30}
        assert leftovers["ExpiredObjectDeleteMarker"] is True
    else:
        assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Delete", "Delete")
        assert "VersioningConfiguration" not in properties


def test_deployment_and_sender_mean_the_same_folder_of_payloads() -> None:
    assert files.PAYLOADS == payloads.FOLDER
    assert payloads.folder_of("some-job") == f"{files.PAYLOADS}some-job/"
