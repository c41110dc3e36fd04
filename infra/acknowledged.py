"""Findings of cdk-nag's AwsSolutions rules that we looked at and live with, each recorded where it arises."""

from aws_cdk import Acknowledgment, Stack, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, rule: str, reason: str) -> None:
    """Accept a finding such as `VPC7` on one construct, for a reason in one sentence."""
    Validations.of(construct).acknowledge(Acknowledgment(id=f"AwsSolutions::AwsSolutions-{rule}", reason=reason))


def acknowledge_wildcard(construct: IConstruct, resource: str, reason: str) -> None:
    """Accept that a role's policy names a resource by pattern. resource: the pattern, as the policy has it."""
    acknowledge(construct, f"IAM5[Resource::{_as_reported(Stack.of(construct).resolve(resource))}]", reason)


def _as_reported(value: object) -> str:
    """A resolved ARN as cdk-nag writes it: what is known only at deploy is its name, in angle brackets or without."""
    match value:
        case {"Fn::Join": [str(separator), [*parts]]}:
            return separator.join(_as_reported(part) for part in parts)
        case {"Ref": str(name)}:
            return f"<{name}>"
        case {"Fn::ImportValue": str(name)}:
            return name
        case _:
            return str(value)
