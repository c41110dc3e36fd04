"""`Environment`: one place Shiftlock is deployed to, as a frozen record.

Building a record never raises: `environments.checked` looks at all of them and says everything that is wrong at once.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, get_args

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.load import VCPU_QUOTA
from handlers.declaration.placement import LAMBDA_CEILING
from infra.clock_size import clock_complaints
from infra.job_needs import SHARED_DEAD_LETTERS, internet_complaints, queue_complaints
from infra.surroundings import GivenDatabase, GivenNetwork, OwnDatabase, OwnNetwork

NAME = re.compile(r"[a-z][a-z0-9]{0,9}")
ACCOUNT = re.compile(r"[0-9]{12}")
REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]")
EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
TOPIC = re.compile(r"arn:[^:]+:sns:[^:]+:[0-9]{12}:\S+")

# "CloudWatch Logs API Reference", PutRetentionPolicy.
RETENTIONS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653)
# "Lambda quotas": a timeout is 900 s at most today; an account that gets more raises `lambda_ceiling` up to this.
HIGHEST_LAMBDA_CEILING = timedelta(seconds=1800)
VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
# What `variables` and the targets set themselves.
OWN_VARIABLES = frozenset(
    f"SHIFTLOCK_{name}"
    for name in (
        "ENVIRONMENT",
        "DATABASE_HOST",
        "DATABASE_PORT",
        "DATABASE_NAME",
        "DATABASE_USER",
        "DATABASE_URL",
        "LEASE_SECONDS",
        "QUEUES",
        "FILES",
        "JOB",
        "ROLE",
        "RUN",
        "TRIGGER",
        "EVENT_TIME",
        "PARTITION",
        "CHILDREN",
        "PREFIX",
    )
)
LONGEST_EXPORT = 3650  # days

# What starts the jobs.
#   eventbridge  a rule or a schedule for each, which starts a function or a task of its own
#   clock        an ECS service that runs `handlers.runtime.clock_entry`; the jobs are its child processes
Scheduler = Literal["eventbridge", "clock"]
MOST_CLOCKS = 10


@dataclass(frozen=True, slots=True)
class Environment:
    """Where and how large Shiftlock is deployed.

    account, region: None is where the credentials of the deploy point; synth needs neither.
    protected: stateful resources refuse deletion and are kept when the stack goes.
    log_days, export_days: how long logs, and files in exports/, are kept.
    alarm_topic: ARN of an SNS topic that exists, instead of one of our own.
    schedules_off: names of jobs that are deployed and never started by AWS here; their messages wait.
    vcpu_quota: how many vCPU of Fargate the account may run at once in the region; synth warns where jobs need more.
    scheduler: see `Scheduler`. clocks: how many copies of the clock run; the second is for the loss of a zone.
    clock_children: how many processes one copy has at most at once.
    settings: name and value of variables that jobs of ours read, such as where something is; none may be a secret.
    """

    name: str
    network: OwnNetwork | GivenNetwork
    database: OwnDatabase | GivenDatabase
    account: str | None = None
    region: str | None = None
    protected: bool = False
    log_days: int = 14
    export_days: int = 30
    alarm_email: str | None = None
    alarm_topic: str | None = None
    lambda_ceiling: timedelta = LAMBDA_CEILING
    schedules_off: frozenset[str] = frozenset()
    vcpu_quota: int = VCPU_QUOTA
    scheduler: Scheduler = "eventbridge"
    clocks: int = 1
    clock_children: int = 8
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def prefix(self) -> str:
        """What every name of this environment begins with, such as `shiftlock-dev`."""
        return f"shiftlock-{self.name}"

    @property
    def data_stack(self) -> str:
        """Name of the stack that holds network, database, files and queues."""
        return f"{self.prefix}-data"

    @property
    def migrate_stack(self) -> str:
        """Name of the stack that holds the migration task."""
        return f"{self.prefix}-migrate"

    @property
    def jobs_stack(self) -> str:
        """Name of the stack that holds the jobs."""
        return f"{self.prefix}-jobs"

    @property
    def alarms_stack(self) -> str:
        """Name of the stack that holds alarms and dashboard."""
        return f"{self.prefix}-alarms"

    @property
    def own_topic(self) -> str:
        """Name of the topic that alarms tell, where none is given."""
        return f"{self.prefix}-alarms"

    @property
    def dead_letters(self) -> str:
        """Name of the dead-letter queue."""
        return f"{self.prefix}-{SHARED_DEAD_LETTERS}"

    @property
    def clock(self) -> str:
        """Name of the service of clocks and of its task family; no job's, which has no underscore."""
        return f"{self.prefix}_clock"

    @property
    def clock_log(self) -> str:
        """Name of the log group of the clocks and of all jobs that they run."""
        return self.log_group("_clock")

    def name_of(self, job: str) -> str:
        """Name of a job's function, task family, rule or schedule."""
        return f"{self.prefix}-{job}"

    def platform_name(self, part: str) -> str:
        """Name of something of the platform itself; no job's, which has no underscore."""
        return f"{self.prefix}_{part}"

    def log_group(self, name: str) -> str:
        """The log group of a job, or of something else, whose name then begins with an underscore as no job's does."""
        return f"/shiftlock/{self.name}/{name}"

    def complaints(self, catalogue: Catalogue) -> Iterator[str]:
        """Yield `field value: what is allowed` for everything wrong with this environment."""
        if not NAME.fullmatch(self.name):
            yield f"name {self.name!r}: allowed is a lower-case word of at most 10 letters and digits"
        for name, value, pattern, allowed in (
            ("account", self.account, ACCOUNT, "None or 12 digits"),
            ("region", self.region, REGION, "None or a region such as eu-west-1"),
            ("alarm_email", self.alarm_email, EMAIL, "None or an e-mail address"),
            ("alarm_topic", self.alarm_topic, TOPIC, "None or the ARN of an SNS topic"),
        ):
            if value is not None and not pattern.fullmatch(value):
                yield f"{name} {value!r}: allowed is {allowed}"
        if self.alarm_topic is not None and self.alarm_email is not None:
            yield f"alarm_email {self.alarm_email!r}: allowed is None beside alarm_topic: subscribe it to that topic"
        if self.log_days not in RETENTIONS:
            yield f"log_days {self.log_days}: allowed is {', '.join(map(str, RETENTIONS))}"
        if not 1 <= self.export_days <= LONGEST_EXPORT:
            yield f"export_days {self.export_days}: allowed is 1 to {LONGEST_EXPORT}"
        if not timedelta(seconds=60) <= self.lambda_ceiling <= HIGHEST_LAMBDA_CEILING:
            yield f"lambda_ceiling {self.lambda_ceiling}: allowed is 1 minute to {HIGHEST_LAMBDA_CEILING}"
        if self.vcpu_quota < 1:
            yield f"vcpu_quota {self.vcpu_quota}: allowed is 1 or more, as the account's quotas for AWS Fargate say"
        if (
            isinstance(self.network, GivenNetwork)
            and isinstance(self.database, OwnDatabase)
            and len(set(self.network.zones)) < 2
        ):
            yield f"network.zones {self.network.zones!r}: allowed is two zones or more with a database of our own"
        for name in sorted(self.schedules_off - {job.name for job in catalogue}):
            yield f"schedules_off {name!r}: there is no such job"
        for name, _ in self.settings:
            if not VARIABLE.fullmatch(name) or name in OWN_VARIABLES:
                yield f"settings {name!r}: allowed is a name like SHIFTLOCK_POS_URL that Shiftlock itself does not use"
        yield from self._scheduler_complaints(catalogue)
        yield from internet_complaints(
            catalogue, self.network, by_clock=self.scheduler == "clock", lambda_ceiling=self.lambda_ceiling
        )
        if self.scheduler != "clock":
            yield from queue_complaints(catalogue, lambda_ceiling=self.lambda_ceiling)
        yield from self.network.complaints()
        yield from self.database.complaints()

    def _scheduler_complaints(self, catalogue: Catalogue) -> Iterator[str]:
        if self.scheduler not in get_args(Scheduler):
            yield f"scheduler {self.scheduler!r}: allowed is {', '.join(get_args(Scheduler))}"
        if not 1 <= self.clocks <= MOST_CLOCKS:
            yield f"clocks {self.clocks}: allowed is 1 to {MOST_CLOCKS}"
        if self.scheduler == "clock":
            yield from clock_complaints(catalogue, self.clock_children)
            for name in sorted(self.schedules_off):
                yield f"schedules_off {name!r}: allowed is none with scheduler 'clock', which runs the whole table"
