"""Deploy an environment to AWS in the order that keeps it whole: `make deploy ENV=dev`, `make diff`, `make migrate`.

Database and network first, then the migrations, as a task of the new image; the jobs only when those have succeeded.
"""

import argparse
import subprocess
import sys

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from infra.environment import Environment
from infra.environments import ENVIRONMENTS, UnknownEnvironment, choose
from infra.node import node_command
from infra.packages import ROOT
from ops.migrate_task import MigrationFailed, MigrationTask, run_migrations

CDK = ROOT / "node_modules" / "aws-cdk" / "bin" / "cdk"


class CdkFailed(Exception):
    """The CDK's own command ended with an error that it has printed."""

    def __init__(self, command: str, code: int) -> None:
        super().__init__(f"cdk {command} exited with {code}, see above; nothing after it was done")


def main() -> int:
    """Do what the arguments say; 1 with one line on stderr when a step fails, and none after it."""
    parser = argparse.ArgumentParser(prog="make", description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("action", choices=["diff", "deploy", "migrate"])
    parser.add_argument("environment", nargs="?", metavar="ENV")
    given = parser.parse_args()
    try:
        if given.environment is None:
            raise UnknownEnvironment("", tuple(each.name for each in ENVIRONMENTS))
        [environment] = choose(ENVIRONMENTS, given.environment)
        if given.action == "diff":
            cdk("diff", environment)
        if given.action == "deploy":
            cdk("deploy", environment, environment.data_stack, environment.migrate_stack)
        if given.action in ("deploy", "migrate"):
            migrate(environment)
        if given.action == "deploy":
            cdk("deploy", environment, environment.jobs_stack, environment.alarms_stack, "--exclusively")
    except (CdkFailed, MigrationFailed, UnknownEnvironment) as error:
        print(f"make {given.action}: {error}", file=sys.stderr)
        return 1
    except (BotoCoreError, ClientError) as error:
        print(f"make {given.action}: AWS says: {error}", file=sys.stderr)
        return 1
    return 0


def cdk(command: str, environment: Environment, *arguments: str) -> None:
    """Run the CDK's command for the environment, with the Node.js of the Python packages. Raises CdkFailed."""
    program = [*node_command(str(CDK)), command, "-c", f"env={environment.name}", *arguments]
    code = subprocess.run(program, cwd=ROOT, check=False).returncode
    if code != 0:
        raise CdkFailed(command, code)


def migrate(environment: Environment) -> None:
    """Run the migration task of the deployed environment to its end. Raises MigrationFailed and botocore's errors."""
    stacks = boto3.client("cloudformation").describe_stacks(StackName=environment.migrate_stack)["Stacks"]
    outputs = {output["OutputKey"]: output["OutputValue"] for output in stacks[0].get("Outputs", ())}
    run_migrations(boto3.client("ecs"), MigrationTask.from_outputs(outputs))
    print(f"the ledger of {environment.name} is up to date")


if __name__ == "__main__":
    sys.exit(main())
