"""The way to AWS from GitHub: the workflow does what docs/deploy.md says, and may do no more."""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # comes with cfn-lint

from infra.environments import ENVIRONMENTS, choose

ROOT = Path(__file__).parent.parent
DOCS = (ROOT / "docs" / "deploy.md").read_text()
WORKFLOW: Mapping[Any, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "deploy.yml").read_text())
TEXT = (ROOT / ".github" / "workflows" / "deploy.yml").read_text()
JOBS: Mapping[str, Mapping[str, Any]] = WORKFLOW["jobs"]
DEPLOYS = ("staging", "prod")
CREDENTIALS = "aws-actions/configure-aws-credentials@"
WHEN = True  # YAML's idea of the key `on`
SUBJECT = "token.actions.githubusercontent.com:sub"


def steps(job: str) -> list[Mapping[str, Any]]:
    return list(JOBS[job]["steps"])


def scripts() -> Iterator[str]:
    for job in JOBS:
        yield from (str(step["run"]) for step in steps(job) if "run" in step)


def policies() -> list[Mapping[str, Any]]:
    """Trust, deploy role, diff role: the policies of docs/deploy.md."""
    return [json.loads(block) for block in re.findall(r"```json\n(.*?)```", DOCS, re.DOTALL)]


def test_a_job_has_no_permission_that_it_does_not_name_and_names_the_fewest() -> None:
    assert WORKFLOW["permissions"] == {}
    assert {name: job["permissions"] for name, job in JOBS.items()} == {
        "diff": {"contents": "read", "id-token": "write", "pull-requests": "write"},
        "staging": {"contents": "read", "id-token": "write"},
        "prod": {"contents": "read", "id-token": "write"},
    }


def test_aws_is_reached_by_a_token_of_github_and_no_key_is_stored() -> None:
    assert "secrets." not in TEXT
    assert "aws-access-key-id" not in TEXT.lower()
    for job, role in {
        "diff": "${{ vars[matrix.role] }}",
        **dict.fromkeys(DEPLOYS, "${{ vars.AWS_DEPLOY_ROLE }}"),
    }.items():
        [given] = [step["with"] for step in steps(job) if step.get("uses", "").startswith(CREDENTIALS)]
        assert given == {"role-to-assume": role, "aws-region": "${{ vars.AWS_REGION }}"}


def test_each_action_is_pinned_by_its_commit_with_the_version_beside_it() -> None:
    used = re.findall(r"uses: (.*)", TEXT)
    assert len(used) == 3 * len(JOBS)
    for action in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)


def test_a_checkout_leaves_no_token_for_what_runs_after_it() -> None:
    for job in JOBS:
        [checkout] = [step for step in steps(job) if step.get("uses", "").startswith("actions/checkout@")]
        assert checkout["with"] == {"persist-credentials": False}


def test_pull_requests_of_this_repository_are_compared_and_only_pushes_to_main_deployed() -> None:
    assert WORKFLOW[WHEN] == {"pull_request": {"branches": ["main"]}, "push": {"branches": ["main"]}}
    assert JOBS["diff"]["if"] == (
        "github.event_name == 'pull_request' && github.event.pull_request.head.repo.full_name == github.repository"
    )
    assert JOBS["staging"]["if"] == "github.event_name == 'push'"
    # A job whose predecessor was left out is left out too.
    assert (JOBS["prod"]["needs"], "if" in JOBS["prod"]) == ("staging", False)


def test_each_deploy_is_in_a_github_environment_of_its_own_where_approval_is_asked() -> None:
    for name in DEPLOYS:
        assert JOBS[name]["environment"] == name
        assert choose(ENVIRONMENTS, name)
        assert steps(name)[-1]["run"] == f"make deploy ENV={name}"
    assert "environment" not in JOBS["diff"]
    assert "`prod` with required reviewers" in DOCS


def test_an_environment_has_one_deploy_at_a_time_and_none_is_cut_short() -> None:
    for name in DEPLOYS:
        assert JOBS[name]["concurrency"] == {"group": f"deploy-{name}", "cancel-in-progress": False}
    assert "${{ matrix.environment }}" in JOBS["diff"]["concurrency"]["group"]
    assert all(job["timeout-minutes"] <= 60 for job in JOBS.values())


def test_each_environment_that_is_deployed_is_compared_before() -> None:
    assert JOBS["diff"]["strategy"]["matrix"]["include"] == [
        {"environment": name, "role": f"AWS_{name.upper()}_DIFF_ROLE"} for name in DEPLOYS
    ]
    assert all(f"`AWS_{name.upper()}_DIFF_ROLE`" in DOCS for name in DEPLOYS)


def test_nothing_that_somebody_else_may_write_is_part_of_a_script() -> None:
    """An expression is put into a script as it is; a branch's name would be run."""
    assert not [script for script in scripts() if "${{" in script]


def test_each_make_target_that_it_calls_exists() -> None:
    targets = {target for script in scripts() for target in re.findall(r"^\s*make (\w+)", script, re.MULTILINE)}
    assert targets == {"diff", "deploy"}
    makefile = (ROOT / "Makefile").read_text()
    assert all(re.search(rf"^{target}:.*## ", makefile, re.MULTILINE) for target in targets)


def test_the_trust_is_for_one_environment_of_one_repository_by_equality() -> None:
    [statement] = policies()[0]["Statement"]
    assert statement["Action"] == "sts:AssumeRoleWithWebIdentity"
    assert statement["Condition"] == {
        "StringEquals": {
            "token.actions.githubusercontent.com:aud": "sts.amazonaws.com",
            SUBJECT: "repo:ORG/REPO:environment:prod",
        }
    }
    for subject in ("pull_request", *(f"environment:{name}" for name in DEPLOYS)):
        assert f"`repo:ORG/REPO:{subject}`" in DOCS


def test_the_roles_may_take_on_those_of_the_bootstrap_and_run_the_migration_and_no_more() -> None:
    _, deploy, diff = policies()
    allowed = {statement["Sid"]: statement for statement in deploy["Statement"]}
    assert {sid: statement["Action"] for sid, statement in allowed.items()} == {
        "DeployByTheBootstrapRoles": "sts:AssumeRole",
        "FindTheMigrationTask": "cloudformation:DescribeStacks",
        "RunTheMigrationTask": "ecs:RunTask",
        "SeeHowItEnds": "ecs:DescribeTasks",
        "PassItsRoles": "iam:PassRole",
    }
    [prod] = choose(ENVIRONMENTS, "prod")
    for sid in allowed.keys() - {"DeployByTheBootstrapRoles"}:
        assert "*" not in [allowed[sid]["Resource"]]
        assert prod.prefix in json.dumps(allowed[sid]["Resource"])
    [read] = diff["Statement"]
    assert read["Resource"].endswith(":role/cdk-hnb659fds-lookup-role-ACCOUNT-REGION")


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """A folder with a diff that has just been made, and a `gh` that writes down how it is called."""
    (tmp_path / "diff.txt").write_text("[~] AWS::Lambda::Function session-cleanup\n" + "x" * 100_000)
    gh = tmp_path / "gh"
    gh.write_text('#!/bin/sh\necho "$@" >> calls\n[ "$1 $2" = "api --paginate" ] && cat comments\nexit 0\n')
    gh.chmod(0o755)
    return tmp_path


def tell(folder: Path) -> list[str]:
    """Run the step as GitHub does; the calls of `gh`."""
    [step] = [step for step in steps("diff") if step.get("name") == "tell the pull request"]
    variables = {"PATH": f"{folder}:{os.environ['PATH']}", "ENVIRONMENT": "prod", "PULL_REQUEST": "7", "GH_REPO": "o/r"}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    subprocess.run(command, cwd=folder, env=variables, check=True, capture_output=True)
    return (folder / "calls").read_text().splitlines()


def test_the_first_diff_of_a_pull_request_is_a_new_comment(told: Path) -> None:
    (told / "comments").write_text("")
    assert tell(told)[-1] == "pr comment 7 --body-file comment.md"
    comment = (told / "comment.md").read_text()
    assert comment.startswith("<!-- make diff ENV=prod -->\n<details>")
    assert "[~] AWS::Lambda::Function session-cleanup" in comment
    assert comment.endswith("\n~~~~~~\n\n</details>\n")
    assert len(comment) < 65_536


def test_a_later_diff_is_written_over_the_one_before(told: Path) -> None:
    (told / "comments").write_text("41\n42\n")
    assert tell(told)[-1] == "api --silent --method PATCH repos/o/r/issues/comments/41 --field body=@comment.md"


def test_a_diff_that_came_to_nothing_is_told_too(told: Path) -> None:
    (told / "comments").write_text("")
    (told / "diff.txt").unlink()
    assert tell(told)[-1] == "pr comment 7 --body-file comment.md"
