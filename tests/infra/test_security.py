"""Who may do what, and that docs/security.md says so."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from handlers.guard import roles
from infra import surroundings
from infra.packages import ROOT
from tests.infra.templates import Template, listed, statements

SECURITY = (ROOT / "docs" / "security.md").read_text()


def explained(header: str) -> set[str]:
    """The first cells of all tables in docs/security.md whose header begins with a word."""
    tables = re.findall(rf"^\| {header} \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", SECURITY, re.MULTILINE)
    return {row.split("|")[1].strip(" `") for table in tables for row in table.splitlines()}


def trusts(template: Template) -> list[Mapping[str, Any]]:
    """The trust statements of all roles."""
    return [
        statement
        for role in template.of("IAM::Role").values()
        for statement in role["AssumeRolePolicyDocument"]["Statement"]
    ]


def test_each_statement_is_explained_and_each_explanation_has_its_statement(stacks: Mapping[str, Template]) -> None:
    # Every policy is part of its role: none hides in a resource of its own, or in a managed policy.
    assert not any(template.of("IAM::Policy") or template.of("IAM::ManagedPolicy") for template in stacks.values())
    assert not any("ManagedPolicyArns" in role for each in stacks.values() for role in each.of("IAM::Role").values())
    used = {str(statement.get("Sid")) for template in stacks.values() for _, statement in statements(template)}
    assert used | {"InvokeFunction"} == explained("statement")


def test_the_statement_that_no_job_of_ours_needs_yet_exists(sixty: Template) -> None:
    assert "InvokeFunction" in {statement["Sid"] for _, statement in statements(sixty)}


def test_each_trust_is_explained(stacks: Mapping[str, Template]) -> None:
    used = {statement["Principal"]["Service"] for template in stacks.values() for statement in trusts(template)}
    assert used == explained("service")


def test_nothing_is_allowed_by_a_wildcard_action(stacks: Mapping[str, Template], sixty: Template) -> None:
    for template in [*stacks.values(), sixty]:
        for _, statement in statements(template):
            if statement["Effect"] == "Allow":
                assert not [action for action in listed(statement["Action"]) if "*" in action]


def test_only_two_statements_allow_anything_on_every_resource(stacks: Mapping[str, Template]) -> None:
    everywhere = {
        statement["Sid"]
        for template in stacks.values()
        for _, statement in statements(template)
        if statement["Effect"] == "Allow" and "*" in listed(statement["Resource"])
    }
    assert everywhere == {"AttachToNetwork", "LogInToEcr"}


def test_a_task_is_run_in_our_cluster_alone_and_with_any_revision(jobs_stacks: list[Template]) -> None:
    for template in jobs_stacks:
        for _, statement in statements(template):
            if statement.get("Sid") == "RunTask":
                assert [*statement["Condition"]["ArnEquals"]] == ["ecs:cluster"]
                without, with_any = (resource["Fn::Join"][1][-1] for resource in statement["Resource"])
                assert with_any == f"{without}:*"
            if statement.get("Sid") == "PassTaskRoles":
                assert statement["Condition"]["StringEquals"] == {"iam:PassedToService": "ecs-tasks.amazonaws.com"}
                assert len(statement["Resource"]) == 2


def logins(template: Template) -> dict[str, set[str]]:
    """The database users that each Sid allows to log in as, from the ends of the ARNs."""
    found: dict[str, set[str]] = {}
    for _, statement in statements(template):
        if statement["Action"] == "rds-db:connect":
            assert "*" not in json.dumps(statement["Resource"])
            [arn] = listed(statement["Resource"])
            found.setdefault(statement["Sid"], set()).add(arn["Fn::Join"][1][-1].rpartition("/")[2])
    return found


def told(template: Template) -> set[str]:
    """The database users that tasks and functions are told to log in as."""
    variables = [
        {each["Name"]: each["Value"] for each in task["ContainerDefinitions"][0]["Environment"]}
        for task in template.of("ECS::TaskDefinition").values()
    ]
    variables += [one.get("Environment", {}).get("Variables", {}) for one in template.of("Lambda::Function").values()]
    return {each["SHIFTLOCK_DATABASE_USER"] for each in variables if "SHIFTLOCK_DATABASE_USER" in each}


def test_each_part_may_log_in_as_the_one_user_it_is_told(stacks: Mapping[str, Template]) -> None:
    for name, template in stacks.items():
        if name.endswith("-jobs"):
            assert logins(template) == {"ConnectToDatabase": {"shiftlock_runner"}}
            assert told(template) == {"shiftlock_runner"}
        if name.endswith("-migrate"):
            assert logins(template) == {
                "ConnectAsMigrator": {"shiftlock_migrator"},
                "ConnectAsMaster": {"shiftlock_master"},
            }
            assert told(template) == {"shiftlock_migrator", "shiftlock_master"}


def test_each_role_may_log_in_as_one_user_at_most(stacks: Mapping[str, Template]) -> None:
    for template in stacks.values():
        holders = [role for role, each in statements(template) if each["Action"] == "rds-db:connect"]
        assert len(holders) == len(set(holders))


def test_the_users_of_a_given_database_are_those_it_names(others: Mapping[str, Template]) -> None:
    assert logins(others["shiftlock-given-jobs"]) == {"ConnectToDatabase": {"night_jobs"}}
    assert logins(others["shiftlock-given-migrate"]) == {"ConnectAsMigrator": {"shiftlock_migrator"}}
    assert told(others["shiftlock-given-jobs"]) == {"night_jobs"}


def test_deployment_and_ledger_mean_the_same_users() -> None:
    assert (surroundings.MIGRATOR, surroundings.RUNNER) == (roles.MIGRATOR, roles.RUNNER)


def test_nobody_comes_in_but_the_jobs_to_the_database_and_the_network_to_the_endpoints(
    stacks: Mapping[str, Template],
) -> None:
    for template in stacks.values():
        for ingress in template.of("EC2::SecurityGroupIngress").values():
            assert ingress["SourceSecurityGroupId"]["Fn::GetAtt"][0].startswith("NetworkJobs")
            assert (ingress["FromPort"], ingress["ToPort"]) == (5432, 5432)
        for group in template.of("EC2::SecurityGroup").values():
            for rule in group.get("SecurityGroupIngress", []):
                assert rule["CidrIp"].startswith("10.4")
                assert rule["FromPort"] == 443


def test_cdk_nag_looked_at_every_stack_and_each_exception_has_a_reason(outdir: Path) -> None:
    (report,) = json.loads((outdir / "validation-report.json").read_text())["pluginReports"]
    assert (report["pluginName"], report["conclusion"], report["violations"]) == ("AwsSolutions", "success", [])
    assert report["suppressedViolations"]
    assert all(len(each["reason"].split()) > 5 for each in report["suppressedViolations"])


def test_cdk_nag_stops_a_synth_that_breaks_a_rule(tmp_path: Path) -> None:
    from aws_cdk import Stack
    from aws_cdk import aws_sqs as sqs

    from infra.assembly import RulesBroken, app, finish

    scope = app({}, tmp_path / "cdk.out")
    sqs.Queue(Stack(scope, "careless"), "Queue")
    with pytest.raises(RulesBroken, match="acknowledge it where it arises"):
        finish(scope)
