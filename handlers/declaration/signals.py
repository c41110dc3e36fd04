"""Names of metrics and their dimensions, shared by the code that emits them and the alarms that watch them."""

from enum import StrEnum

NAMESPACE = "Shiftlock"

# Each combination of dimension values is a metric of its own, and each is paid for (CloudWatch pricing, custom
# metrics): ids of runs go into the metadata of the log line instead.
SERVICE = "service"
ENVIRONMENT = "environment"
JOB = "job"
DIMENSIONS = (SERVICE, ENVIRONMENT, JOB)
SERVICE_NAME = "shiftlock"
# In the place of a job's name, for what these measure of themselves.
CLOCK = "clock"
WATCHDOG = "watchdog"


class Signal(StrEnum):
    """One metric; the value is its name in CloudWatch."""

    STARTED = "RunStarted"
    SUCCEEDED = "RunSucceeded"
    FAILED = "RunFailed"
    TIMED_OUT = "RunTimedOut"
    INTERRUPTED = "RunInterrupted"
    DURATION = "RunDuration"
    START_DELAY = "StartDelay"
    LATE = "RunLate"
    ATTEMPTS = "Attempts"
    DUPLICATE = "Duplicate"
    CONTENTION = "LockContention"
    REFUSED = "RunRefused"
    FENCED = "FencedWrite"
    UNRECORDED = "RunUnrecorded"
    HEARTBEAT = "Heartbeat"
    ITEMS_DONE = "ItemsDone"
    CLOCK_BEAT = "ClockBeat"
    LOST = "RunLost"
    START_FAILED = "StartFailed"
    SECONDS_LATE = "SecondsLate"
    WATCHDOG_BEAT = "WatchdogBeat"
    TIME_IN_QUEUE = "TimeInQueue"
    DEAD_LETTER = "DeadLetter"
    OUTBOX_AGE = "OutboxAge"
