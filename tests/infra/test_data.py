"""What must outlive every deploy."""

from collections.abc import Mapping

import pytest

from tests.infra.templates import Template

# Renaming one of these replaces it: the database with all runs in it, the subnets it stands in, files, messages. If a
# change here is meant, it needs a plan for the data, not a new list.
FROZEN = {
    "EC2::VPC": {"NetworkVpc7FB7348F"},
    "S3::Bucket": {"FilesBucket7C17EE2E"},
    "SQS::Queue": {
        "QueuesimageresizeDeadLetters086FE2E6",
        "QueuesimageresizeQueueE9B32161",
        "QueuesinventorypullDeadLetters7A5F12EF",
        "QueuesinventorypullQueue953B9BEC",
    },
    "RDS::DBInstance": {"DatabaseInstance02E622FB"},
    "RDS::DBParameterGroup": {"DatabaseParametersF882294D"},
    "RDS::DBSubnetGroup": {"DatabaseSubnets56F17B9A"},
}
PRIVATE_SUBNETS = {"NetworkVpcPrivateSubnet1Subnet6DD86AE6", "NetworkVpcPrivateSubnet2Subnet1BDBE877"}


@pytest.mark.parametrize("environment", ["dev", "staging", "prod"])
def test_logical_ids_of_what_holds_data_never_change(environment: str, stacks: Mapping[str, Template]) -> None:
    template = stacks[f"shiftlock-{environment}-data"]
    assert {kind: set(template.of(kind)) for kind in FROZEN} == FROZEN
    assert set(template.of("EC2::Subnet")) >= PRIVATE_SUBNETS
    subnets = template.only("RDS::DBSubnetGroup")["SubnetIds"]
    assert {subnet["Ref"] for subnet in subnets} == PRIVATE_SUBNETS


def test_the_database_of_prod_is_kept_and_protected_and_has_a_standby(stacks: Mapping[str, Template]) -> None:
    template = stacks["shiftlock-prod-data"]
    (instance,) = (each for each in template.resources.values() if each["Type"] == "AWS::RDS::DBInstance")
    assert (instance["DeletionPolicy"], instance["UpdateReplacePolicy"]) == ("Retain", "Retain")
    properties = instance["Properties"]
    assert properties["DeletionProtection"] is True
    assert properties["DeleteAutomatedBackups"] is False
    assert properties["MultiAZ"] is True
    assert properties["BackupRetentionPeriod"] == 35


@pytest.mark.parametrize("environment", ["dev", "staging", "prod"])
def test_the_database_forces_tls_knows_no_password_and_is_private(
    environment: str, stacks: Mapping[str, Template]
) -> None:
    template = stacks[f"shiftlock-{environment}-data"]
    instance = template.only("RDS::DBInstance")
    assert template.only("RDS::DBParameterGroup")["Parameters"] == {"rds.force_ssl": "1"}
    assert instance["EnableIAMDatabaseAuthentication"] is True
    assert instance["MasterUserAuthenticationType"] == "iam-db-auth"
    assert not {"ManageMasterUserPassword", "MasterUserPassword"} & set(instance)
    assert instance["StorageEncrypted"] is True
    assert instance["PubliclyAccessible"] is False


def test_jobs_hold_on_to_the_data_stack_by_imports(stacks: Mapping[str, Template]) -> None:
    text = stacks["shiftlock-prod-jobs"].path.read_text()
    assert "Fn::ImportValue" in text
    assert "Fn::GetStackOutput" not in text


def test_the_network_of_prod_has_one_way_out_and_nothing_of_ours_has_an_address_to_come_in_by(
    stacks: Mapping[str, Template],
) -> None:
    data, jobs = stacks["shiftlock-prod-data"], stacks["shiftlock-prod-jobs"]
    assert len(data.of("EC2::NatGateway")) == 1
    assert not any(subnet["MapPublicIpOnLaunch"] for subnet in data.of("EC2::Subnet").values())
    for service in jobs.of("ECS::Service").values():
        assert service["NetworkConfiguration"]["AwsvpcConfiguration"]["AssignPublicIp"] == "DISABLED"
    assert [endpoint["VpcEndpointType"] for endpoint in data.of("EC2::VPCEndpoint").values()] == ["Gateway"]


def test_the_network_of_dev_costs_one_endpoint_in_one_zone_while_no_job_runs(stacks: Mapping[str, Template]) -> None:
    template = stacks["shiftlock-dev-data"]
    assert not template.of("EC2::NatGateway")
    found = {endpoint["VpcEndpointType"]: endpoint for endpoint in template.of("EC2::VPCEndpoint").values()}
    assert found.keys() == {"Gateway", "Interface"}
    assert len(found["Interface"]["SubnetIds"]) == 1
    assert ".sqs" in str(found["Interface"]["ServiceName"])
    assert found["Interface"]["PrivateDnsEnabled"] is True
