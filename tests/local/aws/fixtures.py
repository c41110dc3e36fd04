"""The sample app, synthesised once and deployed once for each test process."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from infra.node import use_bundled_node
from ops.local.aws.deploy import deploy
from ops.local.aws.server import LocalAws
from ops.local.aws.settings import Settings
from tests.local.aws.cloud import DATABASE, STACKS, Cloud
from tests.local.aws.listener import Listener

_minutes = count(1)


@pytest.fixture(scope="session")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the sample's cloud assembly."""
    folder = tmp_path_factory.mktemp("assembly")
    use_bundled_node()
    # The CDK's own validation of a template takes far longer than the synthesis.
    environment = {**os.environ, "CDK_VALIDATION": "false"}
    subprocess.run([sys.executable, "-m", "tests.local.aws.sample_app", folder], env=environment, check=True)
    return folder


@pytest.fixture(scope="session")
def cloud(assembly: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """The sample, deployed."""
    listener = Listener()
    injected = {"TEST_PORT": str(listener.port), "INJECTED": "by the parent", "NAME": "by the parent"}
    settings = Settings(tmp_path_factory.mktemp("aws"), injected=injected, database=DATABASE, grace=1.0)
    with LocalAws(settings) as aws:
        yield Cloud(aws, settings, deploy(aws, assembly, STACKS), listener)
    listener.close()


@pytest.fixture
def tick() -> datetime:
    """A scheduled time that no other test uses."""
    return datetime(2026, 11, 29, tzinfo=UTC) + timedelta(minutes=next(_minutes))
