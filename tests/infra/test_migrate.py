"""The migration task, the one that makes a new database's users, and what their stack gives out."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from infra.environments import ENVIRONMENTS
from tests.infra.templates import Template

OF_WORK = {"SHIFTLOCK_FILES", "SHIFTLOCK_QUEUES"}
STACKS = pytest.mark.parametrize("name", [environment.migrate_stack for environment in ENVIRONMENTS])


def tasks(template: Template) -> dict[str, Mapping[str, Any]]:
    """The one container of each task, by the last word of its family."""
    return {
        task["Family"].rpartition("_")[2]: task["ContainerDefinitions"][0]
        for task in template.of("ECS::TaskDefinition").values()
    }


def variables(container: Mapping[str, Any]) -> dict[str, Any]:
    return {each["Name"]: each["Value"] for each in container["Environment"]}


@STACKS
def test_the_outputs_are_all_that_it_takes_to_run_the_tasks(name: str, stacks: Mapping[str, Template]) -> None:
    template = stacks[name]
    outputs = {key: each["Value"] for key, each in json.loads(template.path.read_text())["Outputs"].items()}
    assert set(outputs) == {"Cluster", "Family", "UsersFamily", "Subnets", "SecurityGroup", "PublicIp", "LogGroup"}
    families = {task["Family"] for task in template.of("ECS::TaskDefinition").values()}
    assert {outputs["Family"], outputs["UsersFamily"]} == families
    assert outputs["Cluster"] == {"Ref": next(iter(template.of("ECS::Cluster")))}
    assert outputs["PublicIp"] == ("ENABLED" if "-dev-" in name else "DISABLED")


def log_group(container: Mapping[str, Any]) -> object:
    return container["LogConfiguration"]["Options"]["awslogs-group"]


@STACKS
def test_the_tasks_have_the_image_and_settings_of_jobs_and_other_users(
    name: str, stacks: Mapping[str, Template]
) -> None:
    job = next(iter(stacks[name.replace("-migrate", "-jobs")].of("ECS::TaskDefinition").values()))
    (other,) = job["ContainerDefinitions"]
    for task, (entry, user) in {
        "migrate": ("migrate_entry", "shiftlock_migrator"),
        "users": ("users_entry", "shiftlock_master"),
    }.items():
        container = tasks(stacks[name])[task]
        assert container["Command"] == ["python", "-m", f"handlers.runtime.{entry}"]
        assert container["Image"] == other["Image"]
        own = {"SHIFTLOCK_DATABASE_USER": user, "SHIFTLOCK_LOG_GROUP": log_group(container)}
        # Neither files nor queues are its business.
        alike = {name: value for name, value in variables(other).items() if name not in OF_WORK}
        assert variables(container) == {**alike, **own}
        assert variables(other)["SHIFTLOCK_LOG_GROUP"] == log_group(other)


@STACKS
def test_no_job_can_take_their_names(name: str, stacks: Mapping[str, Template]) -> None:
    template = stacks[name]
    assert all("_" in task["Family"] for task in template.of("ECS::TaskDefinition").values())
    assert "/_" in template.only("Logs::LogGroup")["LogGroupName"]


def test_a_given_database_has_its_users_already(others: Mapping[str, Template]) -> None:
    template = others["shiftlock-given-migrate"]
    assert set(tasks(template)) == {"migrate"}
    assert "UsersFamily" not in json.loads(template.path.read_text())["Outputs"]
