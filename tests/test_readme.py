"""What README.md promises is so."""

import re
import subprocess
from pathlib import Path

import pytest

from handlers.declaration.catalogue import declare
from handlers.runtime.report import EXIT_BAD_INPUT, EXIT_CODES, EXIT_SCHEMA_TOO_OLD
from handlers.schedule import SCHEDULE
from ops.schedule_table import END, START, schedule_table

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
COMMANDS = sorted(set(re.findall(r"^(make \w+|\.venv/bin/jobs \w+)", README, re.MULTILINE)))


def test_its_table_is_the_schedule() -> None:
    shown = README.partition(START)[2].partition(END)[0]
    assert shown.strip() == schedule_table(SCHEDULE).strip()


def test_its_exit_codes_are_the_runtimes() -> None:
    rows = re.findall(r"^\| (?:`(\w+)` )?\| (\d+) \|", README, re.MULTILINE)
    named = {name: int(code) for name, code in rows if name}
    assert named == {result.value: code for result, code in EXIT_CODES.items()}
    assert {int(code) for name, code in rows if not name} == {EXIT_BAD_INPUT, EXIT_SCHEMA_TOO_OLD}


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.startswith("make")])
def test_each_make_target_it_names_exists(command: str) -> None:
    target = command.removeprefix("make ")
    assert re.search(rf"^{target}:.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.startswith(".venv")])
def test_each_jobs_command_it_names_exists(command: str) -> None:
    shown = subprocess.run([*command.split(), "--help"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr


def test_its_job_table_entry_is_a_job_that_can_be_declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, entry = re.findall(r"^   ```python\n(.*?)^   ```", README, re.MULTILINE | re.DOTALL)
    (tmp_path / "readme_job.py").write_text(re.sub("^   ", "", source, flags=re.MULTILINE))
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, object] = {}
    exec("from handlers.schedule import *", names)  # noqa: S102  # the README's own words, run as the table would
    job = eval(f"({entry.replace('handlers.jobs.restock', 'readme_job')})", names)  # noqa: S307
    assert declare(*job).jobs[0].name == "restock"


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`?((?:handlers|infra|docs|tests)/[\w/]+\.\w+)", README))))
def test_each_file_it_names_exists(path: str) -> None:
    assert (ROOT / path).exists() or path == "handlers/jobs/restock.py"
