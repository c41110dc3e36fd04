"""What a cold start loads: every module more is paid for by each new Lambda environment and each task."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]

# jmespath and the bare package of botocore come with Powertools; the rest is what psycopg's wheel is made of.
NEEDED = {"aws_lambda_powertools", "jmespath", "botocore", "psycopg", "psycopg_binary", "typing_extensions"}
OF_THE_WHEEL = ("cython_runtime", "_cython")
OF_PYTHON = "_sysconfigdata"  # named after the platform, so not in sys.stdlib_module_names
# 349 on Python 3.11, most of them the standard library's. More is a decision: measure the cold start, then raise it.
MOST_MODULES = 380

LOADED_BY = """
import json, sys
before = set(sys.modules)
{statement}
print(json.dumps(sorted(set(sys.modules) - before)))
"""
EVERY_DECLARATION = """
import pkgutil, handlers.schedule, handlers.declaration
for module in pkgutil.iter_modules(handlers.declaration.__path__, "handlers.declaration."):
    __import__(module.name)
"""


@cache
def loaded_by(statement: str) -> frozenset[str]:
    """The modules that a fresh interpreter loads for a statement."""
    source = LOADED_BY.format(statement=statement)
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=120
    )
    return frozenset(json.loads(done.stdout))


def from_elsewhere(modules: frozenset[str]) -> set[str]:
    """The top-level packages that are neither ours nor the standard library's."""
    packages = {module.partition(".")[0] for module in modules} - sys.stdlib_module_names - {"handlers"}
    return {package for package in packages if not package.startswith(OF_PYTHON)}


ENTRIES = ["import handlers.runtime.lambda_entry", "import handlers.runtime.task_entry"]


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_loads_no_package_but_those_it_needs(entry: str) -> None:
    extra = from_elsewhere(loaded_by(entry)) - NEEDED
    assert {package for package in extra if not package.startswith(OF_THE_WHEEL)} == set()


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_loads_no_job_no_sdk_and_nothing_of_the_other_sides(entry: str) -> None:
    unwanted = ("handlers.jobs", "boto3", "botocore.", "infra", "ops", "aws_cdk", "typer", "rich")
    assert [module for module in loaded_by(entry) if module.startswith(unwanted)] == []


def test_a_lambdas_cold_start_loads_few_modules() -> None:
    assert len(loaded_by(ENTRIES[0])) <= MOST_MODULES


def test_the_job_table_and_its_language_need_the_standard_library_alone() -> None:
    modules = loaded_by(EVERY_DECLARATION)
    assert "handlers.declaration.placement" in modules
    assert from_elsewhere(modules) == set()
    ours = {module for module in modules if module.startswith("handlers")}
    assert {module for module in ours if not module.startswith("handlers.declaration")} == {
        "handlers",
        "handlers.schedule",
    }
