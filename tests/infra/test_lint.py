"""cfn-lint on the templates: it knows the schemas that CDK's L1 constructs do not check."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from sysconfig import get_path

from tests.infra.conftest import WITH_NAT
from tests.infra.templates import Template


def test_cfn_lint_finds_nothing(stacks: Mapping[str, Template], others: Mapping[str, Template]) -> None:
    # Staging is prod in smaller numbers, and so is dev but for its network; behind a NAT gateway is prod, too.
    alike = ("shiftlock-staging-", *(f"shiftlock-dev-{part}" for part in ("alarms", "jobs", "migrate")))
    alike += (f"{WITH_NAT.prefix}-",)
    templates = [str(each.path) for name, each in {**stacks, **others}.items() if not name.startswith(alike)]
    assert len(templates) == 13
    command = [str(Path(get_path("scripts"), "cfn-lint")), *templates]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
