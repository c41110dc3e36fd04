"""Jobs that an environment has no place for, and networks that lead where jobs go."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.cron import cron
from handlers.declaration.duration import minutes, seconds
from handlers.declaration.job import Job
from handlers.declaration.queue import Queue
from infra.environment import Environment
from infra.environments import InvalidEnvironments, checked
from infra.surroundings import Egress, OwnDatabase, OwnNetwork
from tests.infra.conftest import ALL_GIVEN
from tests.infra.templates import Template, read

GOOD = Environment("good", network=OwnNetwork(), database=OwnDatabase())


def job(name: str, **facts: Any) -> Job:
    return Job(name, target="a.b:c", **{"longest_run": minutes(1), "queue": Queue(), **facts})


def complaints(environment: Environment, *jobs: Job) -> tuple[str, ...]:
    try:
        checked((environment,), Catalogue(jobs))
    except InvalidEnvironments as refused:
        return refused.complaints
    return ()


def network(egress: Any, **more: Any) -> Environment:
    return replace(GOOD, network=OwnNetwork(egress=egress), **more)


FUNCTION = job("calls-out", internet=True)
TASK = job("calls-far", internet=True, compute="fargate")


@pytest.mark.parametrize(
    ("environment", "jobs", "refused"),
    [
        (network("nat"), (FUNCTION, TASK), ()),
        (network("public"), (TASK,), ()),
        (network("public"), (FUNCTION, TASK), ("calls-out",)),
        (network("endpoints"), (TASK,), ("calls-far",)),
        (network("endpoints"), (FUNCTION, TASK), ("calls-out", "calls-far")),
        (network("endpoints"), (job("stays-in"),), ()),
        (replace(ALL_GIVEN, alarm_topic=None), (FUNCTION, TASK), ()),
        # All jobs are processes of one task there.
        (network("public", scheduler="clock"), (FUNCTION, TASK), ()),
        (network("endpoints", scheduler="clock"), (FUNCTION,), ("calls-out",)),
        # By its ceiling this job is on Fargate in one environment and on Lambda in another.
        (network("public", lambda_ceiling=seconds(60)), (FUNCTION,), ()),
    ],
)
def test_a_job_that_calls_the_internet_is_refused_where_nothing_leads_there(
    environment: Environment, jobs: tuple[Job, ...], refused: tuple[str, ...]
) -> None:
    found = complaints(environment, *jobs)
    if not refused:
        assert found == ()
        return
    (text,) = found
    assert text.startswith(f"{environment.name}: network.egress ")
    assert "allowed is nat" in text
    assert text.endswith(f"call the internet: {', '.join(refused)}")


@pytest.mark.parametrize(
    ("ceiling", "given", "complaint"),
    [
        (
            timedelta(minutes=30),
            job("alone", longest_run=minutes(20), queue=Queue(concurrency=1)),
            "good: queue.concurrency 1 of alone: allowed is 2 or more with lambda_ceiling 0:30:00, by which it runs "
            "on Lambda",
        ),
        (
            timedelta(minutes=30),
            job("long-batch", longest_run=minutes(14), queue=Queue(visibility=minutes(100))),
            "good: queue.visibility 1:40:00 of long-batch: allowed is 3:00:00 or more with lambda_ceiling 0:30:00",
        ),
        (
            timedelta(minutes=15),
            job("dead-letters"),
            "good: job 'dead-letters': allowed with a queue is any other name: the shared dead-letter queue has this "
            "one",
        ),
    ],
)
def test_a_queue_that_the_environment_cannot_make_is_refused_with_what_is_allowed(
    ceiling: timedelta, given: Job, complaint: str
) -> None:
    assert complaints(replace(GOOD, lambda_ceiling=ceiling), given) == (complaint,)
    assert complaints(replace(GOOD, lambda_ceiling=ceiling, scheduler="clock"), given) == ()


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> Mapping[tuple[str, bool], Template]:
    """The stacks of data by egress, and whether a job has a queue."""
    from infra.assembly import app
    from infra.data_stack import DataStack

    scope = app({}, tmp_path_factory.mktemp("networks") / "cdk.out")
    stacks = {}
    egresses: tuple[Egress, ...] = ("public", "nat", "endpoints")
    for egress in egresses:
        for queue in (None, Queue()):
            name = f"{egress[:9]}{'q' if queue else ''}"
            environment = Environment(name, network=OwnNetwork(egress=egress), database=OwnDatabase())
            one = job("one", queue=queue, schedule=cron("0 2 * * ? *"))
            stacks[egress, queue is not None] = DataStack(scope, environment, Catalogue((one,))).stack_name
    scope.synth()
    made = read(Path(scope.outdir))
    return {key: made[name] for key, name in stacks.items()}


def endpoints(template: Template) -> dict[str, int]:
    """In how many zones each interface endpoint is, by the service's name."""
    return {
        str(each["ServiceName"]["Fn::Join"][1][-1]).removeprefix("."): len(each["SubnetIds"])
        for each in template.of("EC2::VPCEndpoint").values()
        if each["VpcEndpointType"] == "Interface"
    }


def test_a_network_leads_to_queues_by_an_endpoint_unless_it_leads_everywhere(
    networks: Mapping[tuple[str, bool], Template],
) -> None:
    of_tasks = {"ecr.api": 2, "ecr.dkr": 2, "logs": 2}
    assert {key: endpoints(template) for key, template in networks.items()} == {
        ("public", False): {},
        ("public", True): {"sqs": 1},
        ("nat", False): {},
        ("nat", True): {},
        ("endpoints", False): of_tasks,
        ("endpoints", True): of_tasks | {"sqs": 2},
    }


def test_a_queue_that_comes_later_moves_no_subnet(networks: Mapping[tuple[str, bool], Template]) -> None:
    for egress in ("public", "nat", "endpoints"):
        before, after = networks[egress, False], networks[egress, True]
        assert before.of("EC2::Subnet").keys() == after.of("EC2::Subnet").keys()
        assert before.of("RDS::DBSubnetGroup") == after.of("RDS::DBSubnetGroup")
