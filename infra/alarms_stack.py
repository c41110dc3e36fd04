"""What watches the jobs of an environment: its alarms, and the dashboard to look at when one goes off.

A stack of its own, since a stack holds 500 resources. It knows queues, rules and metrics by their names alone.
"""

from aws_cdk import Environment as Place
from aws_cdk import Stack
from constructs import Construct

from handlers.declaration.catalogue import Catalogue
from infra.alarms import Alarms
from infra.composite_alarm import AnythingWrong
from infra.dashboard import dashboard
from infra.delivery_alarms import watch_dead_letters, watch_rules, watch_schedules
from infra.environment import Environment
from infra.job_alarms import watch_ends, watch_starts
from infra.jobs_stack import JobsStack
from infra.network import sends_messages
from infra.platform_alarms import watch_clock, watch_fences, watch_watchdog
from infra.queue_alarms import watch_outbox, watch_queue
from infra.recorder import stopped_tasks_rule
from infra.watchdog import watchdog_rule


class AlarmsStack(Stack):
    """The alarms of every job of the table, and of what starts them."""

    def __init__(self, scope: Construct, environment: Environment, catalogue: Catalogue, jobs: JobsStack) -> None:
        super().__init__(
            scope,
            environment.alarms_stack,
            env=Place(account=environment.account, region=environment.region),
            description=f"Shiftlock {environment.name}: alarms and dashboard",
        )
        # An alarm on what is not there yet would go off.
        self.add_stack_dependency(jobs)
        alarms = Alarms(self, environment)
        # In one place whatever starts the jobs: a change of scheduler leaves these alarms as they are.
        places = {job.name: Construct(self, job.name) for job in catalogue}
        for job in catalogue:
            watch_ends(places[job.name], alarms, job)
        if environment.scheduler == "clock":
            watch_clock(alarms)
            return
        for job in catalogue:
            watch_starts(places[job.name], alarms, job)
            if job.queue is not None:
                watch_queue(places[job.name], alarms, job, job.queue)
        watch_rules(
            alarms,
            [
                *(environment.name_of(job.name) for job in catalogue if job.scheduled and job.schedule.zone is None),
                watchdog_rule(environment),
                stopped_tasks_rule(environment),
            ],
        )
        watch_schedules(alarms)
        watch_dead_letters(alarms)
        watch_watchdog(alarms)
        if sends_messages(catalogue):
            watch_outbox(alarms)
        watch_fences(alarms)
        AnythingWrong(self, alarms)
        dashboard(self, environment, catalogue)
