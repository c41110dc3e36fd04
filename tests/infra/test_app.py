"""`python app.py`, as a person or the CDK command line starts it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from infra.node import use_bundled_node
from infra.packages import ROOT
from tests.infra.app_process import run


def test_it_needs_no_account_no_network_no_docker_and_no_environment(outdir: Path) -> None:
    """The templates that all these tests look at are made so."""
    assert {path.name for path in outdir.glob("*.template.json")} == {
        f"shiftlock-{environment}-{part}.template.json"
        for environment in ("dev", "staging", "prod")
        for part in ("alarms", "data", "jobs", "migrate")
    }


@pytest.mark.usefixtures("bundled")
def test_with_an_environment_in_the_context_it_makes_that_one_alone(tmp_path: Path) -> None:
    done = run("-c", "env=dev", "-c", "platform=host", "--output", str(tmp_path / "out"), CDK_VALIDATION="false")
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in (tmp_path / "out").glob("*.template.json")} == {
        "shiftlock-dev-alarms.template.json",
        "shiftlock-dev-data.template.json",
        "shiftlock-dev-jobs.template.json",
        "shiftlock-dev-migrate.template.json",
    }


@pytest.mark.usefixtures("bundled")
@pytest.mark.parametrize(
    ("context", "complaint"),
    [
        ("env=test", "unknown environment 'test': known are dev, staging, prod"),
        ("platform=sparc", "unknown platform 'sparc': known are arm64, host"),
        ("platform=host", "platform host is for the local AWS and not for prod: leave it out, or add -c env=dev"),
    ],
)
def test_a_context_that_means_nothing_is_refused_in_one_line(context: str, complaint: str, tmp_path: Path) -> None:
    done = run("-c", context, "--output", str(tmp_path / "out"))
    assert (done.returncode, done.stderr) == (1, f"{complaint}\n")


def test_synth_loads_nothing_that_only_a_running_job_needs() -> None:
    code = (
        "import sys; from infra.node import use_bundled_node; use_bundled_node(); import app, infra.assembly; "
        "print(*sorted({'psycopg', 'boto3', 'botocore', 'aws_lambda_powertools'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_node_comes_from_the_python_packages_unless_one_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JSII_NODE", "/somewhere/node")
    use_bundled_node()
    assert os.environ["JSII_NODE"] == "/somewhere/node"
    monkeypatch.delenv("JSII_NODE")
    use_bundled_node()
    version = subprocess.run([os.environ["JSII_NODE"], "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.startswith("v24.")


def test_npm_comes_along_for_the_cdk_command_line() -> None:
    command = [sys.executable, "-m", "infra.node", "npm", "--version"]
    done = subprocess.run(command, cwd=ROOT, env={"PATH": "/nowhere"}, capture_output=True, text=True, check=True)
    assert int(done.stdout.split(".")[0]) >= 11
    assert done.stderr == ""
