"""One light for a whole environment: whether any of its alarms is on."""

from collections.abc import Iterator, Mapping, Sequence

from aws_cdk import CfnResource
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra.alarms import Alarms
from infra.environment import Environment

# "Amazon CloudWatch API Reference", PutCompositeAlarm: underlying alarms of a rule, and its length.
ALARMS_OF_A_RULE = 100
LONGEST_RULE = 10_240


class AnythingWrong(Construct):
    """The alarm over all alarms made so far.

    It tells nobody: each alarm below it has. It is there to be looked at, and for a pager that is to ring once. More
    alarms than one rule can name are brought together in rules of their own first.
    """

    def __init__(self, scope: Construct, alarms: Alarms) -> None:
        super().__init__(scope, "AnythingWrong")
        self._environment = alarms.environment
        below: Mapping[str, CfnResource] = alarms.made
        parts = [*_parts([*below])]
        if len(parts) > 1:
            numbered = {f"-{number}": part for number, part in enumerate(parts, start=1)}
            below = {
                f"{anything_wrong(self._environment)}{suffix}": self._alarm(
                    suffix, {name: below[name] for name in part}
                )
                for suffix, part in numbered.items()
            }
        self._alarm("", below)

    def _alarm(self, suffix: str, below: Mapping[str, CfnResource]) -> CfnResource:
        environment = self._environment
        made = cloudwatch.CfnCompositeAlarm(
            self,
            f"Alarm{suffix}",
            alarm_name=f"{anything_wrong(environment)}{suffix}",
            alarm_rule=_rule([*below]),
            alarm_description=(
                f"One or more alarms of {environment.name} are on, and each says what to do. See which in the "
                f"dashboard {environment.prefix}, and what ledger and database say with `jobs doctor`."
            ),
        )
        for alarm in below.values():
            made.add_resource_dependency(alarm)
        return made


def anything_wrong(environment: Environment) -> str:
    """Name of the alarm."""
    return f"{environment.prefix}-anything-wrong"


def _parts(names: Sequence[str]) -> Iterator[list[str]]:
    """The names in as few lists as rules can hold, in their order."""
    part: list[str] = []
    for name in names:
        if len(part) == ALARMS_OF_A_RULE or len(_rule([*part, name])) > LONGEST_RULE:
            yield part
            part = []
        part.append(name)
    yield part


def _rule(names: Sequence[str]) -> str:
    return " OR ".join(f'ALARM("{name}")' for name in names)
