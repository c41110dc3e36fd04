"""The network the jobs run in: a VPC of our own, or one that exists."""

from collections.abc import Mapping

from aws_cdk import Fn, RemovalPolicy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from handlers.declaration.catalogue import Catalogue
from infra.acknowledged import acknowledge, acknowledge_wildcard
from infra.environment import Environment
from infra.permissions import write_logs
from infra.surroundings import GivenNetwork, OwnNetwork

# RDS asks for two; each more would cost its endpoints.
ZONES = 2
INTERFACE_ENDPOINTS = {
    "EcrApi": ec2.InterfaceVpcEndpointAwsService.ECR,
    "EcrImages": ec2.InterfaceVpcEndpointAwsService.ECR_DOCKER,
    "Logs": ec2.InterfaceVpcEndpointAwsService.CLOUDWATCH_LOGS,
}
# Functions that work on messages answer for each of them, and the watchdog sends what the outbox holds.
QUEUE_ENDPOINTS = {"Queues": ec2.InterfaceVpcEndpointAwsService.SQS}


class Network(Construct):
    """The jobs' VPC and security group (`jobs`), and where in it things go.

    private: ids of the subnets of functions and of the database. tasks: ids of those of Fargate tasks, which have a
    public address if `public_ip`.
    """

    vpc: ec2.IVpc
    jobs: ec2.ISecurityGroup
    private: list[str]
    tasks: list[str]
    public_ip: bool

    def __init__(self, scope: Construct, environment: Environment, catalogue: Catalogue) -> None:
        super().__init__(scope, "Network")
        match environment.network:
            case GivenNetwork() as given:
                self._use(given)
            case OwnNetwork() as own:
                self._build(own, environment, catalogue)

    def _use(self, given: GivenNetwork) -> None:
        self.vpc = ec2.Vpc.from_vpc_attributes(
            self,
            "Vpc",
            vpc_id=given.vpc,
            availability_zones=list(given.zones),
        )
        self.private = self.tasks = list(given.subnets)
        self.public_ip = given.public_ip
        self.jobs = ec2.SecurityGroup.from_security_group_id(self, "Jobs", given.security_group, mutable=False)

    def _build(self, own: OwnNetwork, environment: Environment, catalogue: Catalogue) -> None:
        private = ec2.SubnetType.PRIVATE_WITH_EGRESS if own.egress == "nat" else ec2.SubnetType.PRIVATE_ISOLATED
        # Private subnets come first and keep their name whatever the egress: the database never has to move.
        subnets = [ec2.SubnetConfiguration(name="Private", subnet_type=private, cidr_mask=24)]
        if own.egress != "endpoints":
            subnets.append(
                ec2.SubnetConfiguration(
                    name="Public", subnet_type=ec2.SubnetType.PUBLIC, cidr_mask=24, map_public_ip_on_launch=False
                )
            )
        self.vpc = vpc = ec2.Vpc(
            self,
            "Vpc",
            vpc_name=environment.prefix,
            ip_addresses=ec2.IpAddresses.cidr(own.cidr),
            # Left to CloudFormation: with a region set, CDK would look the zones up in the account.
            availability_zones=[Fn.select(place, Fn.get_azs()) for place in range(ZONES)],
            nat_gateways=1 if own.egress == "nat" else 0,
            subnet_configuration=subnets,
            # Costs nothing, and image layers come from S3.
            gateway_endpoints={"S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)},
        )
        self.public_ip = own.egress == "public"
        inside = vpc.private_subnets if own.egress == "nat" else vpc.isolated_subnets
        self.private = [subnet.subnet_id for subnet in inside]
        self.tasks = [subnet.subnet_id for subnet in vpc.public_subnets] if self.public_ip else self.private
        self.jobs = ec2.SecurityGroup(
            self, "Jobs", vpc=vpc, description="Shiftlock jobs: nothing comes in", allow_all_outbound=False
        )
        # Images, logs and APIs. Without a route to the internet it reaches the endpoints alone.
        self.jobs.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.HTTPS, "HTTPS: image, logs, APIs")
        queues = QUEUE_ENDPOINTS if environment.scheduler != "clock" and sends_messages(catalogue) else {}
        if own.egress == "endpoints":
            self._add_endpoints(vpc, inside, own.cidr, INTERFACE_ENDPOINTS | queues)
        elif own.egress == "public" and queues:
            # In one zone: it is the cheapest network, and the other zone reaches it too.
            self._add_endpoints(vpc, inside[:1], own.cidr, queues)
        if own.flow_logs:
            self._add_flow_logs(vpc, environment)
        else:
            acknowledge(
                vpc,
                "VPC7",
                "Jobs call the database and AWS alone, and nothing comes in: flow logs are kept in prod only.",
            )

    def _add_endpoints(
        self,
        vpc: ec2.Vpc,
        subnets: list[ec2.ISubnet],
        cidr: str,
        services: Mapping[str, ec2.InterfaceVpcEndpointAwsService],
    ) -> None:
        endpoints = ec2.SecurityGroup(
            self, "Endpoints", vpc=vpc, description="Interface endpoints of Shiftlock", allow_all_outbound=False
        )
        endpoints.add_ingress_rule(ec2.Peer.ipv4(cidr), ec2.Port.HTTPS, "HTTPS from the network")
        for name, service in services.items():
            vpc.add_interface_endpoint(
                name,
                service=service,
                subnets=ec2.SubnetSelection(subnets=subnets),
                security_groups=[endpoints],
                open=False,
            )

    def _add_flow_logs(self, vpc: ec2.Vpc, environment: Environment) -> None:
        group = logs.LogGroup(
            self,
            "FlowLog",
            log_group_name=environment.log_group("_rejected-traffic"),
            retention=logs.RetentionDays.THREE_MONTHS,
            removal_policy=RemovalPolicy.DESTROY,
        )
        role = iam.Role(
            self,
            "FlowLogRole",
            assumed_by=iam.ServicePrincipal(
                "vpc-flow-logs.amazonaws.com",
                conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}},
            ),
            description="What VPC flow logs may do",
            inline_policies={"write": iam.PolicyDocument(statements=[write_logs(group)])},
        )
        acknowledge_wildcard(role, group.log_group_arn, "The streams of one log group, one for each interface.")
        ec2.CfnFlowLog(
            self,
            "Flow",
            resource_type="VPC",
            resource_id=vpc.vpc_id,
            traffic_type="REJECT",
            log_destination_type="cloud-watch-logs",
            log_group_name=group.log_group_name,
            deliver_logs_permission_arn=role.role_arn,
        )


def sends_messages(catalogue: Catalogue) -> bool:
    """Whether any job of the table is sent messages; none can send to another without that."""
    return any(job.queue is not None for job in catalogue)
