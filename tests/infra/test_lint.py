"""cfn-lint on the templates: it knows the schemas that CDK's L1 constructs do not check."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from sysconfig import get_path

from tests.infra.templates import Template


def test_cfn_lint_finds_nothing(stacks: Mapping[str, Template], others: Mapping[str, Template]) -> None:
    # Staging is prod in smaller numbers.
    ours = [template for name, template in stacks.items() if not name.startswith("shiftlock-staging-")]
    templates = [str(template.path) for template in (*ours, *others.values())]
    assert len(templates) == 20
    command = [str(Path(get_path("scripts"), "cfn-lint")), *templates]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
