"""The migration task and what its stack gives out."""

import json
from collections.abc import Mapping

import pytest

from infra.environments import ENVIRONMENTS
from tests.infra.templates import Template

STACKS = pytest.mark.parametrize("name", [environment.migrate_stack for environment in ENVIRONMENTS])


@STACKS
def test_the_outputs_are_all_that_it_takes_to_run_the_task(name: str, stacks: Mapping[str, Template]) -> None:
    template = stacks[name]
    outputs = {key: each["Value"] for key, each in json.loads(template.path.read_text())["Outputs"].items()}
    assert set(outputs) == {"Cluster", "Family", "Subnets", "SecurityGroup", "PublicIp", "LogGroup"}
    assert outputs["Family"] == template.only("ECS::TaskDefinition")["Family"]
    assert outputs["Cluster"] == {"Ref": next(iter(template.of("ECS::Cluster")))}
    assert outputs["PublicIp"] == ("ENABLED" if "-dev-" in name else "DISABLED")


@STACKS
def test_the_task_migrates_with_the_same_image_and_settings_as_jobs(name: str, stacks: Mapping[str, Template]) -> None:
    (container,) = stacks[name].only("ECS::TaskDefinition")["ContainerDefinitions"]
    assert container["Command"] == ["python", "-m", "handlers.runtime.migrate_entry"]
    job = next(iter(stacks[name.replace("-migrate", "-jobs")].of("ECS::TaskDefinition").values()))
    (other,) = job["ContainerDefinitions"]
    assert (container["Image"], container["Environment"]) == (other["Image"], other["Environment"])


@STACKS
def test_no_job_can_take_its_names(name: str, stacks: Mapping[str, Template]) -> None:
    template = stacks[name]
    assert "_" in template.only("ECS::TaskDefinition")["Family"]
    assert "/_" in template.only("Logs::LogGroup")["LogGroupName"]
