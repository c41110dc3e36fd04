"""Composition root of the deployment: from environments, job table and bundle to a CDK app."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

from aws_cdk import App, Tags, Validations
from cdk_nag import AwsSolutionsChecks

from handlers.declaration.catalogue import Catalogue
from handlers.schedule import SCHEDULE
from infra.alarms_stack import AlarmsStack
from infra.bundle import Bundle, ensure
from infra.data_stack import DataStack
from infra.environment import Environment
from infra.environments import ENVIRONMENTS, checked, choose
from infra.errors import InfraError
from infra.jobs_stack import JobsStack
from infra.migrate_stack import MigrateStack
from infra.packages import ROOT, Platform
from infra.warnings import warn


class UnknownPlatform(InfraError):
    """The context names a platform no bundle can be built for."""

    def __init__(self, platform: str) -> None:
        super().__init__(f"unknown platform {platform!r}: known are {', '.join(get_args(Platform))}")


class RulesBroken(InfraError):
    """A template breaks rules; they are on stderr already."""

    def __init__(self, outdir: str) -> None:
        super().__init__(
            f"the stacks break rules, see above and in {outdir}/validation-report.json: "
            "put it right, or acknowledge it where it arises, with the reason"
        )


class HostBundle(InfraError):
    """Code built for this machine is about to reach an environment that matters."""

    def __init__(self, environment: str) -> None:
        super().__init__(
            f"platform host is for the local AWS and not for {environment}: leave it out, or add -c env=dev"
        )


def app(context: Mapping[str, str], outdir: Path | None = None) -> App:
    """A CDK app with the context of cdk.json under `context`: the CLI adds it too, other callers would forget it."""
    flags: Mapping[str, object] = json.loads((ROOT / "cdk.json").read_text())["context"]
    return App(context={**flags, **context}, outdir=None if outdir is None else str(outdir), analytics_reporting=False)


def bundle_of(scope: App) -> Bundle:
    """The bundle for context `platform`, arm64 by default. Raises UnknownPlatform, BundleFailed."""
    given = scope.node.try_get_context("platform") or "arm64"
    for platform in get_args(Platform):
        if given == platform:
            return ensure(platform)
    raise UnknownPlatform(given)


def populate(
    scope: App,
    environments: tuple[Environment, ...],
    catalogue: Catalogue,
    bundle: Bundle,
    *,
    now: datetime | None = None,
) -> None:
    """Add the four stacks of each environment, or only of the one that context `env` names.

    now: from when on the jobs are looked at for warnings (aware); None is the clock. No template depends on it.

    Raises InvalidEnvironments, UnknownEnvironment, HostBundle.
    """
    chosen = choose(checked(environments, catalogue), scope.node.try_get_context("env"))
    for environment in chosen:
        if environment.protected and bundle.platform == "host":
            raise HostBundle(environment.name)
    for environment in chosen:
        data = DataStack(scope, environment, catalogue)
        migrate = MigrateStack(scope, environment, data, bundle)
        jobs = JobsStack(scope, environment, catalogue, data, bundle)
        warn(jobs, environment, catalogue, now or datetime.now(UTC))
        alarms = AlarmsStack(scope, environment, catalogue, jobs)
        for stack in (data, migrate, jobs, alarms):
            Tags.of(stack).add("service", "shiftlock")
            Tags.of(stack).add("environment", environment.name)


def synthesise(context: Mapping[str, str], outdir: Path | None) -> None:
    """Write the cloud assembly of our environments and job table. outdir: None leaves it to CDK_OUTDIR.

    Raises InfraError.
    """
    scope = app(context, outdir)
    populate(scope, ENVIRONMENTS, SCHEDULE, bundle_of(scope))
    finish(scope)


def finish(scope: App) -> None:
    """Write the cloud assembly. Raises RulesBroken for what AwsSolutions finds and we have not acknowledged."""
    Validations.of(scope).add_plugins(AwsSolutionsChecks(scope))
    try:
        scope.synth()
    except RuntimeError as error:
        if str(error).startswith("ValidationFailed"):
            raise RulesBroken(scope.outdir) from error
        raise
