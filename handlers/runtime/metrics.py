"""Metrics as EMF lines on stdout: CloudWatch Logs turns them into metrics, from Lambda and from Fargate alike."""

import json
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from handlers.declaration.signals import CLOCK, ENVIRONMENT, JOB, NAMESPACE, SERVICE_NAME, WATCHDOG, Signal
from handlers.guard.answers import AlreadyDone, Busy, Exhausted, Overlap
from handlers.guard.children import Settled, Waiting
from handlers.runtime.observer import Beat, Ended, Refused, RunEvent, Started, Unrecorded

Measure = tuple[Signal, MetricUnit, float]

_OUTCOME_SIGNALS = {
    "timed_out": Signal.TIMED_OUT,
    "interrupted": Signal.INTERRUPTED,
}


class MetricsObserver:
    """Writes the measures of each event as one line, at once: what is held back is lost when the process is killed."""

    def __init__(self, environment: str) -> None:
        self._environment = environment
        # The heartbeat's thread writes too, and one line must not end up inside another.
        self._writing = threading.Lock()

    def __call__(self, event: RunEvent) -> None:
        """Write the event's measures."""
        run = event.run
        facts = {"run_key": run.run_key, "run_id": run.run_id, "attempt": run.attempt}
        with self._writing:
            _write(self._environment, run.job, measures(event), facts)


def count_pass(environment: str) -> None:
    """Say that a clock has made its pass: no word of it means that nothing starts any more."""
    _write(environment, CLOCK, [(Signal.CLOCK_BEAT, MetricUnit.Count, 1)], {})


def count_watch(environment: str, *, late: Mapping[str, float], lost: Sequence[tuple[str, str]]) -> None:
    """Say that the watchdog has made its pass, and what it saw.

    late: seconds for which the oldest due run of each job has not been started. lost: job and new state of each run
    that was lost.
    """
    _write(environment, WATCHDOG, [(Signal.WATCHDOG_BEAT, MetricUnit.Count, 1)], {})
    for job, seconds in late.items():
        _write(environment, job, [(Signal.SECONDS_LATE, MetricUnit.Seconds, seconds)], {})
    for job, status in lost:
        count_loss(environment, job, Signal.LOST, status)


def count_settled(environment: str, job: str, status: str) -> None:
    """Count the end of a run that has waited for its children, for which no process speaks."""
    signal = {"succeeded": Signal.SUCCEEDED, "failed": Signal.FAILED}.get(status)
    if signal is not None:
        _write(environment, job, [(signal, MetricUnit.Count, 1)], {})


def count_parents(environment: str, settled: Iterable[Settled], waiting: Iterable[Waiting]) -> None:
    """Count the runs that have ended with their children, and say how far the others are: no process does."""
    for ended in settled:
        count_settled(environment, ended.job, ended.status)
    for one in waiting:
        beat: list[Measure] = [(Signal.HEARTBEAT, MetricUnit.Count, 1), (Signal.ITEMS_DONE, MetricUnit.Count, one.done)]
        _write(environment, one.job, beat, {})


def count_outbox(environment: str, oldest_age: float) -> None:
    """Say for how many seconds the oldest message has been waiting to be sent."""
    _write(environment, WATCHDOG, [(Signal.OUTBOX_AGE, MetricUnit.Seconds, oldest_age)], {})


def count_message(environment: str, job: str, signal: Signal, value: float = 1) -> None:
    """Count something of a message: how long (seconds) it has been in its queue, or that it is a dead letter."""
    unit = MetricUnit.Seconds if signal is Signal.TIME_IN_QUEUE else MetricUnit.Count
    _write(environment, job, [(signal, unit, value)], {})


def count_loss(environment: str, job: str, signal: Signal, status: str) -> None:
    """Count a loss that nobody else can tell of, and what it made of the run."""
    measured: list[Measure] = [(signal, MetricUnit.Count, 1)]
    if status in ("failed", "unknown"):
        measured.append((Signal.FAILED, MetricUnit.Count, 1))
    _write(environment, job, measured, {})


def _write(environment: str, job: str, measured: Iterable[Measure], facts: Mapping[str, object]) -> None:
    metrics = EphemeralMetrics(namespace=NAMESPACE, service=SERVICE_NAME)
    metrics.add_dimension(ENVIRONMENT, environment)
    metrics.add_dimension(JOB, job)
    for name, fact in facts.items():
        metrics.add_metadata(name, fact)
    for signal, unit, value in measured:
        metrics.add_metric(signal, unit, value)
    line = json.dumps(metrics.serialize_metric_set(), separators=(",", ":"))
    # One write for the line with its end, which print makes two: a log line of another thread would get in between,
    # and CloudWatch takes neither then.
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def measures(event: RunEvent) -> Iterator[Measure]:
    """The measures of one event, at least one each."""
    match event:
        case Started(run=run, delay=delay, late=late):
            yield Signal.STARTED, MetricUnit.Count, 1
            yield Signal.ATTEMPTS, MetricUnit.Count, run.attempt
            yield Signal.START_DELAY, MetricUnit.Seconds, delay
            if late:
                yield Signal.LATE, MetricUnit.Count, 1
        case Beat(done=done):
            yield Signal.HEARTBEAT, MetricUnit.Count, 1
            yield Signal.ITEMS_DONE, MetricUnit.Count, done
        case Ended(outcome=outcome, status=status, seconds=seconds):
            yield Signal.DURATION, MetricUnit.Seconds, seconds
            if outcome in _OUTCOME_SIGNALS:
                yield _OUTCOME_SIGNALS[outcome], MetricUnit.Count, 1
            if status == "succeeded":
                yield Signal.SUCCEEDED, MetricUnit.Count, 1
            if status in ("failed", "unknown"):
                yield Signal.FAILED, MetricUnit.Count, 1
        case Refused(answer=AlreadyDone()):
            yield Signal.DUPLICATE, MetricUnit.Count, 1
        case Refused(answer=Busy()):
            yield Signal.DUPLICATE, MetricUnit.Count, 1
            yield Signal.CONTENTION, MetricUnit.Count, 1
        case Refused(answer=Overlap()):
            yield Signal.CONTENTION, MetricUnit.Count, 1
        case Refused(answer=Exhausted()):
            yield Signal.FAILED, MetricUnit.Count, 1
        case Refused():
            yield Signal.REFUSED, MetricUnit.Count, 1
        case Unrecorded(fenced=True):
            yield Signal.FENCED, MetricUnit.Count, 1
        case Unrecorded():
            yield Signal.UNRECORDED, MetricUnit.Count, 1
