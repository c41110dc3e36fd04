"""The contract with ministack: raising its version must fail here, not in somebody's evening."""

import re
from pathlib import Path

import pytest

from ops.local.aws import internals

PACKAGE = Path(internals.__file__).parent
USE = re.compile(r"\b(ecs|ecs_metadata|eventbridge|lambda_runtime|lambda_svc|provisioners|scheduler|sqs)\.(\w+)")


def test_each_private_name_is_what_the_package_takes_it_to_be() -> None:
    assert list(internals.breaches()) == []


def test_each_name_that_is_used_is_in_the_contract_and_the_other_way_round() -> None:
    sources = (path.read_text() for path in PACKAGE.glob("*.py") if path.name != "internals.py")
    used = {use for source in sources for use in USE.findall(source)}
    listed = {(module.__name__.rpartition(".")[2], name) for module, name in internals.CONTRACT}
    assert used == listed


def test_a_name_that_is_gone_or_has_other_parameters_is_a_breach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(internals.ecs, "_sanitize")
    monkeypatch.setattr(internals.ecs, "_run_task", lambda data, extra: None)
    changed, gone = internals.breaches()
    assert changed == "ministack.services.ecs._run_task: expected (data), found (data, extra)"
    assert gone == "ministack.services.ecs._sanitize: expected (obj), found (NoneType)"
