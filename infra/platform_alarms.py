"""What wakes somebody because the platform itself does not do its part."""

from handlers.declaration.signals import CLOCK, WATCHDOG, Signal
from infra.alarms import Alarms
from infra.metric import signal_of, signal_of_all_jobs

# A clock makes a pass each minute, and a task that ends is replaced within two.
CLOCK_PERIOD, CLOCK_PERIODS = 60, 5
# The watchdog makes one each minute too. A database that restarts or fails over is back within ten.
WATCHDOG_PERIOD, WATCHDOG_PERIODS = 300, 3


def watch_clock(alarms: Alarms) -> None:
    """Alarm when no clock has made a pass for some minutes; also in a new environment, until one has."""
    environment = alarms.environment
    alarms.add(
        alarms,
        "NoClockBeat",
        "no-clock-pass",
        f"No clock of {environment.name} has looked at the ledger for {CLOCK_PERIODS} minutes: no job starts. What is "
        f"missed meanwhile is caught up as each job declares. See the events of the service {environment.clock} and "
        f"the log {environment.clock_log}, and check the database with `jobs doctor`.",
        signal_of(environment, Signal.CLOCK_BEAT, CLOCK),
        below=True,
        period=CLOCK_PERIOD,
        periods=CLOCK_PERIODS,
    )


def watch_watchdog(alarms: Alarms) -> None:
    """Alarm when the watchdog has made no pass for a quarter of an hour; also in a new environment, until it has.

    It is the dead man's switch of all others: what is never sent, no other alarm sees.
    """
    environment = alarms.environment
    alarms.add(
        alarms,
        "NoWatchdogBeat",
        "no-watchdog-pass",
        f"The watchdog of {environment.name} has not looked at the ledger for "
        f"{WATCHDOG_PERIOD * WATCHDOG_PERIODS // 60} minutes: nothing is caught up, retried or rescued, and nobody is "
        f"told of late runs. See the log {environment.log_group('_watchdog')} and the queue "
        f"{environment.dead_letters}, and check the database with `jobs doctor`.",
        signal_of(environment, Signal.WATCHDOG_BEAT, WATCHDOG),
        below=True,
        period=WATCHDOG_PERIOD,
        periods=WATCHDOG_PERIODS,
    )


def watch_fences(alarms: Alarms) -> None:
    """Alarm on attempts that came back after their run had been taken over, whatever the job."""
    alarms.add(
        alarms,
        "FencedWrites",
        "fenced-writes",
        f"A process of {alarms.environment.name} wanted to record its end after another attempt had taken over its "
        "run. Nothing was recorded twice, but the process was frozen or cut off for a whole lease, and what it did "
        "outside the database it may have done late. See which job in the dashboard, and which attempt is `fenced` "
        "with `jobs show RUN`.",
        signal_of_all_jobs(alarms.environment, Signal.FENCED),
    )
