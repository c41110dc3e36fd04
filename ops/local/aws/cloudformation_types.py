"""Resource types that ministack refuses a whole template for, though nothing local depends on them.

They deploy as names only: no address is allocated, no traffic filtered, no composite alarm evaluated.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ops.local.aws.internals import provisioners
from ops.local.aws.settings import ACCOUNT


@dataclass(frozen=True, slots=True)
class Placeholder:
    """How a resource that is not there looks to the rest of its template.

    `prefix` starts its physical id unless the property called `named_by` gives one; the values of `attributes`, what
    Fn::GetAtt finds, may hold {id}, {region} and {account}.
    """

    prefix: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    named_by: str | None = None


PLACEHOLDERS = {
    "AWS::Budgets::Budget": Placeholder("budget"),
    "AWS::CloudWatch::AnomalyDetector": Placeholder("detector", {"Id": "{id}"}),
    "AWS::CloudWatch::CompositeAlarm": Placeholder(
        "composite", {"Arn": "arn:aws:cloudwatch:{region}:{account}:alarm:{id}"}, named_by="AlarmName"
    ),
    "AWS::EC2::EIP": Placeholder("eipalloc", {"AllocationId": "{id}", "PublicIp": "198.51.100.7"}),
    "AWS::EC2::FlowLog": Placeholder("fl", {"Id": "{id}"}),
    "AWS::EC2::NatGateway": Placeholder("nat", {"NatGatewayId": "{id}"}),
    "AWS::EC2::NetworkAcl": Placeholder("acl", {"Id": "{id}"}),
    "AWS::EC2::NetworkAclEntry": Placeholder("acle", {"Id": "{id}"}),
    "AWS::EC2::SecurityGroupEgress": Placeholder("sgr", {"Id": "{id}"}),
    "AWS::EC2::SecurityGroupIngress": Placeholder("sgr", {"Id": "{id}"}),
    "AWS::EC2::SubnetNetworkAclAssociation": Placeholder("aclassoc", {"AssociationId": "{id}"}),
    "AWS::ECS::ClusterCapacityProviderAssociations": Placeholder("providers", named_by="Cluster"),
    "AWS::Logs::QueryDefinition": Placeholder("query", {"QueryDefinitionId": "{id}"}),
    "AWS::SecretsManager::RotationSchedule": Placeholder("rotation", {"Id": "{id}"}),
}


def install(region: str) -> None:
    """Registers the placeholder of each type that ministack does not have."""
    for resource_type, placeholder in PLACEHOLDERS.items():
        provisioners._RESOURCE_HANDLERS.setdefault(resource_type, _handlers(placeholder, region))


def _handlers(placeholder: Placeholder, region: str) -> dict[str, Callable[..., Any]]:
    def described(physical_id: str) -> tuple[str, dict[str, str]]:
        values = {"id": physical_id, "region": region, "account": ACCOUNT}
        return physical_id, {name: text.format(**values) for name, text in placeholder.attributes.items()}

    def create(logical_id: str, properties: Mapping[str, Any], stack: str) -> tuple[str, dict[str, str]]:
        given = properties.get(placeholder.named_by) if placeholder.named_by else None
        return described(str(given) if given else f"{placeholder.prefix}-{uuid.uuid4().hex[:17]}")

    def update(physical_id: str, old: Any, new: Any, stack: str) -> tuple[str, dict[str, str]]:
        return described(physical_id)

    def delete(physical_id: str, properties: Any) -> None:
        """Nothing was made, so nothing is left."""

    return {"create": create, "update": update, "delete": delete}
