"""Environments: what they refuse, and what the choices come to."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from handlers.schedule import SCHEDULE
from infra.environment import Environment
from infra.environments import ENVIRONMENTS, InvalidEnvironments, UnknownEnvironment, checked, choose
from infra.surroundings import GivenDatabase, GivenNetwork, OwnDatabase, OwnNetwork
from tests.infra.conftest import WITH_NAT
from tests.infra.templates import Template, statements

GOOD = Environment("good", network=OwnNetwork(), database=OwnDatabase())
NETWORK = GivenNetwork(
    "vpc-0a1b2c3d", ("eu-west-1a", "eu-west-1b"), ("subnet-0a1b2c3d", "subnet-1a2b3c4d"), "sg-0a1b2c3d"
)
DATABASE = GivenDatabase("db.example.com", "db-ABC")


def test_our_environments_are_in_order() -> None:
    assert checked(ENVIRONMENTS, SCHEDULE) == ENVIRONMENTS


@pytest.mark.parametrize(
    ("environment", "complaint"),
    [
        (replace(GOOD, name="Prod!"), "name 'Prod!'"),
        (replace(GOOD, account="12"), "account '12'"),
        (replace(GOOD, region="Frankfurt"), "region 'Frankfurt'"),
        (replace(GOOD, alarm_email="me"), "alarm_email 'me'"),
        (replace(GOOD, alarm_topic="topic"), "alarm_topic 'topic'"),
        (replace(GOOD, alarm_email="a@b.cd", alarm_topic="arn:aws:sns:eu-west-1:111122223333:t"), "alarm_email"),
        (replace(GOOD, log_days=2), "log_days 2"),
        (replace(GOOD, export_days=0), "export_days 0"),
        (replace(GOOD, settings=(("pos-url", "https://pos"),)), "settings 'pos-url'"),
        (replace(GOOD, settings=(("SHIFTLOCK_QUEUES", "https://mine"),)), "settings 'SHIFTLOCK_QUEUES'"),
        (replace(GOOD, lambda_ceiling=timedelta(hours=1)), "lambda_ceiling 1:00:00"),
        (replace(GOOD, schedules_off=frozenset({"no-such-job"})), "schedules_off 'no-such-job'"),
        (replace(GOOD, vcpu_quota=0), "vcpu_quota 0"),
        (replace(GOOD, network=OwnNetwork("10.0.0.0/28")), "network.cidr '10.0.0.0/28'"),
        (replace(GOOD, network=OwnNetwork("ten")), "network.cidr 'ten'"),
        (replace(GOOD, network=OwnNetwork(egress="carrier pigeon")), "network.egress 'carrier pigeon'"),  # type: ignore[arg-type]
        (replace(GOOD, network=replace(NETWORK, vpc="1")), "network.vpc '1'"),
        (replace(GOOD, network=replace(NETWORK, subnets=("1",))), "network.subnets"),
        (replace(GOOD, network=replace(NETWORK, zones=("eu-west-1a",))), "network.zones"),
        (replace(GOOD, network=replace(NETWORK, zones=("eu-west-1a", "eu-west-1a"))), "two zones or more"),
        (replace(GOOD, network=replace(NETWORK, security_group="1")), "network.security_group '1'"),
        (replace(GOOD, database=OwnDatabase(instance="t4g.micro")), "database.instance 't4g.micro'"),
        (replace(GOOD, database=OwnDatabase(storage=5)), "database.storage 5"),
        (replace(GOOD, database=OwnDatabase(backup_days=36)), "database.backup_days 36"),
        (replace(GOOD, database=replace(DATABASE, host="postgres://x")), "database.host 'postgres://x'"),
        (replace(GOOD, database=replace(DATABASE, resource_id="mydb")), "database.resource_id 'mydb'"),
        (replace(GOOD, database=replace(DATABASE, port=0)), "database.port 0"),
        (replace(GOOD, database=replace(DATABASE, user="one", migrator="one")), "database.migrator 'one'"),
        (replace(GOOD, database=replace(DATABASE, security_group="1")), "database.security_group '1'"),
    ],
)
def test_a_value_that_cannot_be_deployed_is_refused_with_what_is_allowed(
    environment: Environment, complaint: str
) -> None:
    with pytest.raises(InvalidEnvironments) as refused:
        checked((environment,), SCHEDULE)
    assert any(complaint in each and ("allowed" in each or "no such" in each) for each in refused.value.complaints)


def test_all_complaints_of_all_environments_come_at_once() -> None:
    wrong = (replace(GOOD, log_days=2, account="1"), replace(GOOD, name="good", region="here"))
    with pytest.raises(InvalidEnvironments) as refused:
        checked(wrong, SCHEDULE)
    assert len(refused.value.complaints) == 4
    assert str(refused.value).startswith("4 mistakes in the environments:")


def test_one_environment_is_chosen_by_name_and_all_without_one() -> None:
    assert [each.name for each in choose(ENVIRONMENTS, "dev")] == ["dev"]
    assert choose(ENVIRONMENTS, None) == ENVIRONMENTS


def test_an_unknown_environment_is_refused_with_those_there_are() -> None:
    with pytest.raises(UnknownEnvironment, match="unknown environment 'test': known are dev, staging, prod"):
        choose(ENVIRONMENTS, "test")


def test_what_is_given_is_used_and_not_made_again(others: Mapping[str, Template]) -> None:
    data, jobs, alarms = (others[f"shiftlock-given-{part}"] for part in ("data", "jobs", "alarms"))
    kinds = {resource["Type"] for resource in data.resources.values()}
    assert {kind for kind in kinds if not kind.startswith(("AWS::SQS::", "AWS::S3::"))} == {
        "AWS::EC2::SecurityGroupIngress"
    }
    ingress = data.only("EC2::SecurityGroupIngress")
    assert (ingress["GroupId"], ingress["SourceSecurityGroupId"]) == ("sg-0d3c2b1a", "sg-0a1b2c3d")
    in_network = [each for each in jobs.of("Lambda::Function").values() if "VpcConfig" in each]
    assert len(in_network) == 5
    for function in in_network:
        assert function["VpcConfig"] == {
            "SubnetIds": ["subnet-0a1b2c3d", "subnet-1a2b3c4d"],
            "SecurityGroupIds": ["sg-0a1b2c3d"],
        }
        assert function["Environment"]["Variables"]["SHIFTLOCK_DATABASE_HOST"] == "ledger.example.com"
    arns = [each["Resource"] for _, each in statements(jobs) if each.get("Sid") == "ConnectToDatabase"]
    assert {arn["Fn::Join"][1][-1] for arn in arns} == {":dbuser:cluster-ABC123/night_jobs"}
    assert not alarms.of("SNS::Topic")
    topics = [alarm["AlarmActions"] for alarm in alarms.of("CloudWatch::Alarm").values()]
    assert topics
    assert all(topic == ["arn:aws:sns:eu-west-1:111122223333:night"] for topic in topics)


def test_zones_are_chosen_at_deploy_and_never_looked_up(
    stacks: Mapping[str, Template], others: Mapping[str, Template]
) -> None:
    templates = (*stacks.values(), others["shiftlock-nat-data"])
    zones = [subnet["AvailabilityZone"] for each in templates for subnet in each.of("EC2::Subnet").values()]
    assert zones
    assert all(zone["Fn::Select"][1]["Fn::GetAZs"] in ("", {"Ref": "AWS::Region"}) for zone in zones)


def test_with_nat_tasks_run_in_private_subnets_and_keep_the_place_of_the_database(
    others: Mapping[str, Template], stacks: Mapping[str, Template]
) -> None:
    data = others["shiftlock-nat-data"]
    assert len(data.of("EC2::NatGateway")) == 1
    private = stacks["shiftlock-prod-data"].only("RDS::DBSubnetGroup")["SubnetIds"]
    assert data.only("RDS::DBSubnetGroup")["SubnetIds"] == private


def test_a_schedule_that_is_off_is_deployed_but_never_fires_and_is_not_missed(others: Mapping[str, Template]) -> None:
    jobs = others["shiftlock-nat-jobs"]
    off = {rule["Name"] for rule in jobs.of("Events::Rule").values() if rule["State"] == "DISABLED"}
    assert len(off) == 2
    watched = names(others["shiftlock-nat-alarms"])
    for alarm in ("silent", "late"):
        missed = {each.removesuffix(f"-{alarm}") for each in watched if each.endswith(f"-{alarm}")}
        assert missed
        assert not missed & off
    (watchdog,) = (each for each in jobs.of("Lambda::Function").values() if "watchdog" in each["Handler"])
    assert watchdog["Environment"]["Variables"]["SHIFTLOCK_SCHEDULES_OFF"] == ",".join(sorted(WITH_NAT.schedules_off))


def names(template: Template) -> list[str]:
    """The names of all alarms."""
    return [alarm["AlarmName"] for alarm in template.of("CloudWatch::Alarm").values()]


def test_an_address_is_told_of_alarms_when_given(others: Mapping[str, Template]) -> None:
    subscription = others["shiftlock-nat-alarms"].only("SNS::Subscription")
    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", "night@example.com")


def test_an_environments_own_settings_reach_every_job(others: Mapping[str, Template]) -> None:
    template, ((name, value),) = others[WITH_NAT.jobs_stack], WITH_NAT.settings
    functions = [each["Environment"]["Variables"] for each in template.of("Lambda::Function").values()]
    assert {each.get(name) for each in functions if "SHIFTLOCK_JOB" in each} == {value}
    assert {each.get(name) for each in functions if "SHIFTLOCK_CLUSTER" in each} == {None}
    for task in template.of("ECS::TaskDefinition").values():
        (container,) = task["ContainerDefinitions"]
        assert {"Name": name, "Value": value} in container["Environment"]
