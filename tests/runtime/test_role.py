"""The image's own command, `python -m handlers.runtime`: the role decides what it is."""

import subprocess
import sys

import pytest

from infra.packages import ROOT
from tests.runtime.sandbox import environment

ALLOWED = "allowed is clock without an argument, or no role and a job's name"


def run(*arguments: str, **variables: str) -> tuple[int, str]:
    """Exit code and stderr of the command without a database."""
    done = subprocess.run(
        [sys.executable, "-m", "handlers.runtime", *arguments],
        cwd=ROOT,
        env=environment(None, **variables),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("variables", "arguments", "said"),
    [
        ({"SHIFTLOCK_ROLE": "clock"}, [], "clock_entry: bad settings: SHIFTLOCK_DATABASE_HOST is not set"),
        ({}, ["billing-run"], "task_entry: bad settings: SHIFTLOCK_DATABASE_HOST is not set"),
        ({}, ["biling-run"], "task_entry: unknown job 'biling-run': did you mean billing-run?"),
        ({}, [], "task_entry: unknown job ''"),
        ({"SHIFTLOCK_ROLE": "watch"}, [], f"handlers.runtime: SHIFTLOCK_ROLE is 'watch': {ALLOWED}"),
        (
            {"SHIFTLOCK_ROLE": "clock"},
            ["billing-run"],
            f"handlers.runtime: SHIFTLOCK_ROLE is 'clock' and the argument 'billing-run': {ALLOWED}",
        ),
    ],
)
def test_a_role_is_the_clock_and_none_is_the_job_of_the_argument(
    variables: dict[str, str], arguments: list[str], said: str
) -> None:
    code, err = run(*arguments, **variables)
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith(said)


def test_the_image_starts_with_it() -> None:
    assert (ROOT / "Dockerfile").read_text().splitlines()[-1] == 'CMD ["python", "-m", "handlers.runtime"]'
