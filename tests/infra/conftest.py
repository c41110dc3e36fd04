"""One synthesis for all tests that look at templates."""

from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.cron import cron, every
from handlers.declaration.duration import minutes
from handlers.declaration.job import LONGEST_NAME, Job
from handlers.declaration.queue import Queue
from handlers.schedule import SCHEDULE
from infra.bundle import ensure
from infra.environment import Environment
from infra.environments import ENVIRONMENTS
from infra.node import use_bundled_node
from infra.surroundings import GivenDatabase, GivenNetwork, OwnDatabase, OwnNetwork
from tests.infra.app_process import OFFLINE, run
from tests.infra.templates import Template, read, synthesise

use_bundled_node()

WITH_NAT = Environment(
    "nat",
    network=OwnNetwork("10.50.0.0/20", egress="nat"),
    database=OwnDatabase(),
    account="111122223333",
    region="eu-west-1",
    alarm_email="night@example.com",
    settings=(("SHIFTLOCK_POS_URL", "https://pos.example"),),
    schedules_off=frozenset(f"job-0{number}-".ljust(LONGEST_NAME, "x") for number in (0, 4, 5)),
)
ALL_GIVEN = Environment(
    "given",
    network=GivenNetwork(
        "vpc-0a1b2c3d", ("eu-west-1a", "eu-west-1b"), ("subnet-0a1b2c3d", "subnet-1a2b3c4d"), "sg-0a1b2c3d"
    ),
    database=GivenDatabase("ledger.example.com", "cluster-ABC123", user="night_jobs", security_group="sg-0d3c2b1a"),
    alarm_topic="arn:aws:sns:eu-west-1:111122223333:night",
)
BY_CLOCK = Environment(
    "clocked",
    network=OwnNetwork("10.51.0.0/20", egress="endpoints"),
    database=OwnDatabase(),
    scheduler="clock",
    clocks=2,
    clock_children=3,
)


@pytest.fixture(scope="session")
def bundled() -> None:
    """Both bundles are built: nothing after that needs the network."""
    ensure("arm64")
    ensure("host")


@pytest.fixture(scope="session")
def outdir(bundled: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cloud assembly of all our environments, from `python app.py` without any network."""
    folder = tmp_path_factory.mktemp("assembly") / "cdk.out"
    done = run("--output", str(folder), **OFFLINE)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.fixture(scope="session")
def stacks(outdir: Path) -> Mapping[str, Template]:
    """Our stacks by name."""
    return read(outdir)


@pytest.fixture(scope="session")
def jobs_stacks(stacks: Mapping[str, Template]) -> list[Template]:
    """The stack of jobs of each environment."""
    return [stacks[environment.jobs_stack] for environment in ENVIRONMENTS]


@pytest.fixture(params=["dev", "staging", "prod"])
def template(request: pytest.FixtureRequest, stacks: Mapping[str, Template]) -> Template:
    """The stack of jobs of each environment."""
    return stacks[f"shiftlock-{request.param}-jobs"]


@pytest.fixture(scope="session")
def data_stacks(stacks: Mapping[str, Template]) -> list[Template]:
    """The stack of what outlives deploys of each environment."""
    return [stacks[environment.data_stack] for environment in ENVIRONMENTS]


@pytest.fixture(scope="session")
def alarms_stacks(stacks: Mapping[str, Template]) -> list[Template]:
    """The stack of alarms of each environment."""
    return [stacks[environment.alarms_stack] for environment in ENVIRONMENTS]


@pytest.fixture(scope="session")
def stacks_of_sixty(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Template]:
    """The stacks of sixty jobs of all kinds, each with the longest name there may be."""
    folder = tmp_path_factory.mktemp("sixty") / "cdk.out"
    # Without cdk-nag, which has nothing to say here that it does not say of one job of each kind.
    return synthesise(folder, ENVIRONMENTS, Catalogue(jobs_of_all_kinds(60)), {"env": "staging"}, rules=False)


@pytest.fixture(scope="session")
def sixty(stacks_of_sixty: Mapping[str, Template]) -> Template:
    """The stack of sixty jobs."""
    return stacks_of_sixty["shiftlock-staging-jobs"]


@pytest.fixture(scope="session")
def data_of_sixty(stacks_of_sixty: Mapping[str, Template]) -> Template:
    """The stack of the queues of sixty jobs."""
    return stacks_of_sixty["shiftlock-staging-data"]


@pytest.fixture(scope="session")
def alarms_of_sixty(stacks_of_sixty: Mapping[str, Template]) -> Template:
    """The stack of the alarms of sixty jobs."""
    return stacks_of_sixty["shiftlock-staging-alarms"]


@pytest.fixture(scope="session")
def others(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Template]:
    """Stacks by name of what our own environments do not use: a job of each kind with NAT, with all given, by clock."""
    folder = tmp_path_factory.mktemp("others") / "cdk.out"
    return synthesise(folder, (WITH_NAT, ALL_GIVEN, BY_CLOCK), Catalogue(jobs_of_all_kinds(6)))


def jobs_of_all_kinds(count: int) -> tuple[Job, ...]:
    """Jobs for Lambda and Fargate, in UTC and in a zone, with messages on either, in turn."""
    kinds: tuple[dict[str, Any], ...] = (
        {"schedule": every(minutes=5), "longest_run": minutes(2)},
        {"schedule": cron("0 1 * * ? *"), "longest_run": minutes(90)},
        {"schedule": cron("0 2 * * ? *", zone="Asia/Riyadh"), "longest_run": minutes(3)},
        {"schedule": cron("0 3 1 * ? *", zone="Europe/Berlin"), "longest_run": minutes(90)},
        {
            "schedule": every(hours=1),
            "queue": Queue(concurrency=5, batch=4),
            "longest_run": minutes(2),
            "reads": ("in/",),
            "writes": ("out/",),
        },
        {"queue": Queue(fifo=True, delay=minutes(1)), "longest_run": minutes(90), "writes": ("out/",)},
    )
    target = SCHEDULE.jobs[0].target
    return tuple(
        Job(f"job-{number:02}-".ljust(LONGEST_NAME, "x"), target=target, **kind)
        for number, kind in zip(range(count), cycle(kinds), strict=False)
    )
