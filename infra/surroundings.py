"""Where an environment lives: a network and a database, each our own or one that exists.

Building a record never raises: `environments.checked` says everything that is wrong at once.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Literal, get_args

# How a Fargate task reaches its image and its log group, and functions the queues, which all lie outside the network.
# For the rest Lambda needs none of them: its image and logs do not go through the VPC, and a database token is signed
# on the spot.
#   public     the task has a public address for as long as it runs ($0.005 an hour), and the security group lets
#              nothing in; nothing to pay while no job runs, but with queues for an endpoint of SQS in one zone ($7.30 a
#              month). Only tasks reach the internet
#   nat        one NAT gateway ($37 a month with its address, and $0.045 per GB); jobs may call anything on the internet
#   endpoints  ECR and logs, with queues also SQS, inside the network ($44 a month in two zones, with queues $58); no
#              route to the internet at all
# An interface endpoint is $0.01 per zone and hour; that of S3 costs nothing, and is in all three.
# (us-east-1, "Amazon VPC pricing" and "AWS PrivateLink pricing", 2026)
Egress = Literal["public", "nat", "endpoints"]

VPC, SUBNET, SECURITY_GROUP = (re.compile(rf"{kind}-[0-9a-f]{{8,17}}") for kind in ("vpc", "subnet", "sg"))
# The users of the database (handlers/guard/roles.py, which synth does not load): whoever migrates the ledger owns it.
MIGRATOR, RUNNER = "shiftlock_migrator", "shiftlock_runner"


@dataclass(frozen=True, slots=True)
class OwnNetwork:
    """A VPC of our own in two zones."""

    cidr: str = "10.40.0.0/16"
    egress: Egress = "public"
    flow_logs: bool = False

    def complaints(self) -> Iterator[str]:
        """Yield `field value: what is allowed` for each impossible value."""
        try:
            wide_enough = 16 <= IPv4Network(self.cidr).prefixlen <= 22
        except ValueError:
            wide_enough = False
        if not wide_enough:
            yield f"network.cidr {self.cidr!r}: allowed is an IPv4 block of /16 to /22 such as 10.40.0.0/16"
        if self.egress not in get_args(Egress):
            yield f"network.egress {self.egress!r}: allowed is {', '.join(get_args(Egress))}"


@dataclass(frozen=True, slots=True)
class GivenNetwork:
    """A VPC that exists.

    Its subnets must reach ECR, CloudWatch Logs and S3 if any job, or a clock, runs on Fargate, SQS if any has a queue,
    S3 if any reads or writes files, and the internet if any says so.

    zones and subnets: in the same order. security_group: what jobs run in; it must reach the database.
    """

    vpc: str
    zones: tuple[str, ...]
    subnets: tuple[str, ...]
    security_group: str
    public_ip: bool = False

    def complaints(self) -> Iterator[str]:
        """Yield `field value: what is allowed` for each impossible value."""
        if not VPC.fullmatch(self.vpc):
            yield f"network.vpc {self.vpc!r}: allowed is the id of a VPC, vpc-..."
        if not self.subnets or not all(map(SUBNET.fullmatch, self.subnets)):
            yield f"network.subnets {self.subnets!r}: allowed is one or more ids, subnet-..."
        if len(self.zones) != len(self.subnets):
            yield f"network.zones {self.zones!r}: allowed is the zone of each of the {len(self.subnets)} subnets"
        if not SECURITY_GROUP.fullmatch(self.security_group):
            yield f"network.security_group {self.security_group!r}: allowed is the id of a security group, sg-..."


@dataclass(frozen=True, slots=True)
class OwnDatabase:
    """An RDS PostgreSQL instance of our own. storage: GB; backup_days: 0 keeps no backups."""

    instance: str = "db.t4g.micro"
    storage: int = 20
    multi_az: bool = False
    backup_days: int = 1
    name: str = "shiftlock"

    def complaints(self) -> Iterator[str]:
        """Yield `field value: what is allowed` for each impossible value."""
        if not self.instance.startswith("db."):
            yield f"database.instance {self.instance!r}: allowed is an RDS instance class such as db.t4g.micro"
        if not 20 <= self.storage <= 65_536:
            yield f"database.storage {self.storage}: allowed is 20 to 65536 GB"
        if not 0 <= self.backup_days <= 35:
            yield f"database.backup_days {self.backup_days}: allowed is 0 to 35"


@dataclass(frozen=True, slots=True)
class GivenDatabase:
    """A PostgreSQL that exists, on RDS or Aurora with IAM authentication.

    resource_id: `db-...` or `cluster-...`, the name IAM knows it by. user, migrator: who the jobs and who the
    migrations log in as. security_group: when given, it is opened to the jobs; else somebody else has to.
    """

    host: str
    resource_id: str
    port: int = 5432
    name: str = "shiftlock"
    user: str = RUNNER
    migrator: str = MIGRATOR
    security_group: str | None = None

    def complaints(self) -> Iterator[str]:
        """Yield `field value: what is allowed` for each impossible value."""
        if not self.host or "/" in self.host or ":" in self.host:
            yield f"database.host {self.host!r}: allowed is a host name without scheme and port"
        if not re.fullmatch(r"(db|cluster)-[A-Z0-9]+", self.resource_id):
            yield f"database.resource_id {self.resource_id!r}: allowed is a resource id, db-... or cluster-..."
        if not 1 <= self.port <= 65_535:
            yield f"database.port {self.port}: allowed is 1 to 65535"
        if self.migrator == self.user:
            yield f"database.migrator {self.migrator!r}: allowed is another than the user of the jobs"
        if self.security_group is not None and not SECURITY_GROUP.fullmatch(self.security_group):
            yield f"database.security_group {self.security_group!r}: allowed is None or an id, sg-..."
