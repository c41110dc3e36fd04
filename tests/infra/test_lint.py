"""cfn-lint on every template: it knows the schemas that CDK's L1 constructs do not check."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from sysconfig import get_path

from tests.infra.templates import Template


def test_cfn_lint_finds_nothing(stacks: Mapping[str, Template], others: Mapping[str, Template]) -> None:
    templates = [str(template.path) for template in (*stacks.values(), *others.values())]
    assert len(templates) == 24
    command = [str(Path(get_path("scripts"), "cfn-lint")), *templates]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
