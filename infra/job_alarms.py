"""What wakes somebody because of one job: it failed, is silent, late, lost, or cannot be started."""

from datetime import timedelta

from constructs import Construct

from handlers.declaration.job import Job
from handlers.declaration.signals import Signal
from infra.alarms import Alarms
from infra.metric import Expression, signal_of
from infra.silence import silence_window

# Two starts that come to nothing are tried again and seldom mean more than a crowded zone.
STARTS_IN_VAIN, WITHIN = 3, 3600


def watch_ends(scope: Construct, alarms: Alarms, job: Job) -> None:
    """Alarm on failed runs of a job and, where a window can be watched and it is not off here, on its silence."""
    environment = alarms.environment
    alarms.add(
        scope,
        "Failed",
        f"{job.name}-failed",
        f"A run of {job.name} failed for good in {environment.name}, or nobody knows whether it did. See which and "
        f"why with `jobs runs {job.name}`, put it right, then start it again with `jobs retry RUN`.",
        signal_of(environment, Signal.FAILED, job.name),
    )
    window = silence_window(job) if job.scheduled else None
    if window is None or job.name in environment.schedules_off:
        return
    starts = (
        f"the log {environment.clock_log}"
        if environment.scheduler == "clock"
        else f"the queue {environment.dead_letters} and at the stopped tasks of the cluster"
    )
    alarms.add(
        scope,
        "Silent",
        f"{job.name}-silent",
        f"No run of {job.name} has succeeded in {environment.name} for {window.length}, and it is due more often; "
        f"in a new environment none has yet. Look into {starts}, and whether it starts at all with "
        f"`jobs runs {job.name}`.",
        signal_of(environment, Signal.SUCCEEDED, job.name),
        below=True,
        period=int(window.period.total_seconds()),
        periods=window.periods,
    )


def watch_starts(scope: Construct, alarms: Alarms, job: Job) -> None:
    """Alarm on runs of a job that start late after their ticks or not at all, and on processes of it that die."""
    environment = alarms.environment
    if job.scheduled and job.name not in environment.schedules_off:
        late_after = int(job.late_after.total_seconds())
        alarms.add(
            scope,
            "Late",
            f"{job.name}-late",
            f"A run of {job.name} in {environment.name} started more than {_words(job.late_after)} after its tick, or "
            "is due for longer than that and has not started. The watchdog starts what is due; see what holds it up "
            f"with `jobs runs {job.name}`.",
            # A sum of series passes over the one that has no data, which `or` would not.
            Expression(
                f"SUM([late, waiting > {late_after}])",
                {
                    "late": signal_of(environment, Signal.LATE, job.name),
                    "waiting": signal_of(environment, Signal.SECONDS_LATE, job.name, "Maximum"),
                },
            ),
        )
    alarms.add(
        scope,
        "Lost",
        f"{job.name}-lost",
        f"A process of {job.name} in {environment.name} ended without a word: killed, out of memory, or frozen for "
        "longer than its lease. The run goes on by itself, unless the job holds lost runs for a person; see the "
        f"exit code and the reason with `jobs runs {job.name}`, then `jobs show RUN`.",
        signal_of(environment, Signal.LOST, job.name),
    )
    alarms.add(
        scope,
        "CannotStart",
        f"{job.name}-cannot-start",
        f"{STARTS_IN_VAIN} starts of {job.name} in {environment.name} came to nothing within an hour, such as for "
        "want of capacity, image or network. Each is tried again after a longer wait, until the run fails and the "
        f"alarm on that goes off; see the reason of each with `jobs runs {job.name}`, then `jobs show RUN`.",
        signal_of(environment, Signal.START_FAILED, job.name),
        threshold=STARTS_IN_VAIN,
        period=WITHIN,
    )


def _words(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    return f"{seconds} s" if seconds < 120 else f"{seconds / 60:g} min"
