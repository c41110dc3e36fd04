"""Take one condition after the other out of the guard's statements and see that a test fails each time.

    python -m tests.mutations

A condition that nothing misses is either not needed or not tested. Works on a copy; prints a line for each, and exits
with 1 when one is missed by nobody.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
TESTS = (
    "tests/guard",
    "tests/runtime/test_runner.py",
    "tests/runtime/test_meeting_runs.py",
    "tests/runtime/test_fan_out.py",
)

# What makes a write somebody's own: the fence, the state it moves from, the wait for children, the end of the lease.
CONDITIONS = (
    r"fence = %\(fence\)s(?=[\s;)])",
    r"holder = %\(holder\)s(?=[\s;)])",
    r"lease_until <= clock_timestamp\(\)",
    r"run\.may_fail is not null|may_fail is null",
    r"(?<=where id = %\(run_id\)s and )status in \([^)]*\)",
)


@dataclass(frozen=True, slots=True)
class Mutation:
    """One condition at one place of one file."""

    file: Path
    start: int
    end: int

    def text(self, source: str) -> str:
        """The condition, with the statement it stands in."""
        names = re.findall(r"^([A-Z_]+) = f?\"\"\"", source[: self.start], re.MULTILINE)
        return f"{self.file.relative_to('handlers/guard')} {names[-1]}: {source[self.start : self.end]}"

    def applied(self, source: str) -> str:
        """The source with `true` in its place."""
        return source[: self.start] + "true" + source[self.end :]


def mutations() -> Iterator[Mutation]:
    """Every condition in every SQL constant of the guard."""
    for path in sorted((ROOT / "handlers/guard").glob("*.py")):
        source = path.read_text()
        for statement in re.finditer(r"^[A-Z_]+ = f?\"\"\"(.*?)\"\"\"", source, re.MULTILINE | re.DOTALL):
            for pattern in CONDITIONS:
                for found in re.finditer(pattern, statement[1]):
                    # An assignment is no condition.
                    before = statement[1][: found.start()]
                    if re.search(r"(where|and|on)\s*\(?\s*$", before):
                        offset = statement.start(1)
                        yield Mutation(path.relative_to(ROOT), offset + found.start(), offset + found.end())


def failures(copy: Path) -> list[str]:
    """The tests that fail in the copy, up to the first."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "4", "--no-header", *TESTS]
    result = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    return re.findall(r"^(?:FAILED|ERROR) (\S+)", result.stdout, re.MULTILINE)


def main() -> int:
    """Try them all."""
    missed = 0
    with TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("handlers", "infra", "ops", "tests", "pyproject.toml"):
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy / name)
        if failed := failures(copy):
            sys.stdout.write(f"the tests fail as it is, so nothing can be learnt: {failed[0]}\n")
            return 2
        for mutation in mutations():
            original = (ROOT / mutation.file).read_text()
            (copy / mutation.file).write_text(mutation.applied(original))
            failed = failures(copy)
            (copy / mutation.file).write_text(original)
            missed += not failed
            sys.stdout.write(f"{'caught by ' + failed[0] if failed else 'MISSED'}: {mutation.text(original)}\n")
            sys.stdout.flush()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
