"""The ledger's PostgreSQL: an RDS instance of our own, or one that exists."""

from aws_cdk import Aws, CfnDeletionPolicy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_rds as rds
from constructs import Construct

from infra.acknowledged import acknowledge
from infra.environment import Environment
from infra.network import Network
from infra.surroundings import MIGRATOR, RUNNER, GivenDatabase, OwnDatabase

POSTGRES = "18"
PORT = 5432
MASTER_USER = "shiftlock_master"


class Database(Construct):
    """Where the database is (host, port, name), and who logs in to it: jobs (user), migrations (migrator), and on a new
    server of our own its master user, who makes the others (master; None where somebody else has made them)."""

    master: str | None = None

    def __init__(self, scope: Construct, environment: Environment, network: Network) -> None:
        super().__init__(scope, "Database")
        match environment.database:
            case GivenDatabase() as given:
                self._use(given, network)
            case OwnDatabase() as own:
                self._build(own, environment, network)

    def _use(self, given: GivenDatabase, network: Network) -> None:
        self.host, self.port, self.name = given.host, str(given.port), given.name
        self.user, self.migrator = given.user, given.migrator
        self._resource_id = given.resource_id
        if given.security_group is not None:
            group = ec2.SecurityGroup.from_security_group_id(self, "Group", given.security_group)
            network.jobs.connections.allow_to(group, ec2.Port.tcp(given.port), "PostgreSQL")

    def connect_statement(self) -> iam.PolicyStatement:
        """Leave to log in as the jobs' user, with a signed token for a password."""
        return self._connect("ConnectToDatabase", self.user)

    def migrate_statement(self) -> iam.PolicyStatement:
        """Leave to log in as the user who owns the ledger."""
        return self._connect("ConnectAsMigrator", self.migrator)

    def master_statement(self, master: str) -> iam.PolicyStatement:
        """Leave to log in as the user who makes the others."""
        return self._connect("ConnectAsMaster", master)

    def _build(self, own: OwnDatabase, environment: Environment, network: Network) -> None:
        group = ec2.SecurityGroup(
            self, "Group", vpc=network.vpc, description="Shiftlock database: jobs come in", allow_all_outbound=False
        )
        network.jobs.connections.allow_to(group, ec2.Port.tcp(PORT), "PostgreSQL")
        subnets = rds.CfnDBSubnetGroup(
            self,
            "Subnets",
            db_subnet_group_description="Private subnets of Shiftlock",
            subnet_ids=network.private,
        )
        parameters = rds.CfnDBParameterGroup(
            self,
            "Parameters",
            family=f"postgres{POSTGRES}",
            description="Shiftlock: TLS only",
            parameters={"rds.force_ssl": "1"},
        )
        # L1: a master user without any password, which the L2 does not offer.
        instance = rds.CfnDBInstance(
            self,
            "Instance",
            engine="postgres",
            engine_version=POSTGRES,
            db_instance_class=own.instance,
            db_name=own.name,
            port=str(PORT),
            master_username=MASTER_USER,
            master_user_authentication_type="iam-db-auth",
            enable_iam_database_authentication=True,
            storage_type="gp3",
            allocated_storage=str(own.storage),
            # A ledger that cannot write stops every job: let the disk grow by itself.
            max_allocated_storage=own.storage * 5,
            storage_encrypted=True,
            multi_az=own.multi_az,
            publicly_accessible=False,
            backup_retention_period=own.backup_days,
            delete_automated_backups=not environment.protected,
            deletion_protection=environment.protected,
            copy_tags_to_snapshot=True,
            auto_minor_version_upgrade=True,
            db_subnet_group_name=subnets.ref,
            db_parameter_group_name=parameters.ref,
            vpc_security_groups=[group.security_group_id],
        )
        kept = CfnDeletionPolicy.RETAIN if environment.protected else CfnDeletionPolicy.DELETE
        instance.cfn_options.deletion_policy = instance.cfn_options.update_replace_policy = kept
        self._acknowledge(instance, own, environment)
        self.host, self.port = instance.attr_endpoint_address, instance.attr_endpoint_port
        self.name, self.user, self.migrator, self.master = own.name, RUNNER, MIGRATOR, MASTER_USER
        self._resource_id = instance.attr_dbi_resource_id

    def _acknowledge(self, instance: rds.CfnDBInstance, own: OwnDatabase, environment: Environment) -> None:
        acknowledge(
            instance,
            "RDS11",
            "5432 is open to the jobs' security group alone: another port would hide nothing from anybody.",
        )
        if not own.multi_az:
            acknowledge(
                instance,
                "RDS3",
                "No standby outside prod: the ledger starts again after a restore and catches up.",
            )
        if not environment.protected:
            acknowledge(instance, "RDS10", "Only prod is protected: others are there to be thrown away.")

    def _connect(self, sid: str, user: str) -> iam.PolicyStatement:
        stack = Stack.of(self)
        arn = f"arn:{Aws.PARTITION}:rds-db:{stack.region}:{stack.account}:dbuser:{self._resource_id}/{user}"
        return iam.PolicyStatement(sid=sid, actions=["rds-db:connect"], resources=[arn])
