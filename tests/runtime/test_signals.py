"""What a process writes to stdout: metrics that CloudWatch accepts and alarms rely on, logs that name the run."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handlers.declaration.signals import CLOCK, DIMENSIONS, NAMESPACE, SERVICE_NAME, WATCHDOG, Signal
from tests.databases import Server, Template, found_servers
from tests.runtime.every_path import SHOUTS

REPOSITORY = Path(__file__).parents[2]
Line = dict[str, Any]

# Their tick is of the past, so that each first attempt is late.
ATTEMPT = {
    Signal.STARTED,
    Signal.ATTEMPTS,
    Signal.START_DELAY,
    Signal.LATE,
    Signal.HEARTBEAT,
    Signal.ITEMS_DONE,
    Signal.DURATION,
}
SIGNALS = {
    CLOCK: {Signal.CLOCK_BEAT},
    WATCHDOG: {Signal.WATCHDOG_BEAT, Signal.OUTBOX_AGE},
    "by-message": {Signal.TIME_IN_QUEUE, Signal.DEAD_LETTER},
    "parent": {Signal.SUCCEEDED},
    "parent-at-work": {Signal.HEARTBEAT, Signal.ITEMS_DONE},
    "waiting": {Signal.SECONDS_LATE},
    "lost": {Signal.LOST},
    "lost-for-good": {Signal.LOST, Signal.FAILED},
    "never-started": {Signal.START_FAILED},
    "succeeded": ATTEMPT | {Signal.SUCCEEDED, Signal.DUPLICATE},
    "own-words": ATTEMPT | {Signal.SUCCEEDED},
    "failed": ATTEMPT | {Signal.FAILED},
    "retried": ATTEMPT | {Signal.REFUSED},
    "timed-out": ATTEMPT | {Signal.TIMED_OUT, Signal.FAILED},
    "held": ATTEMPT | {Signal.TIMED_OUT, Signal.FAILED, Signal.REFUSED},
    "interrupted": ATTEMPT | {Signal.INTERRUPTED},
    "busy": {Signal.DUPLICATE, Signal.CONTENTION},
    "paused": {Signal.REFUSED},
    "exhausted": {Signal.FAILED},
    "fenced": ATTEMPT | {Signal.FENCED},
    "unrecorded": ATTEMPT | {Signal.SUCCEEDED, Signal.UNRECORDED},
}
LOGS = {
    "succeeded": ["INFO started", "INFO succeeded", "DEBUG not run here"],
    "own-words": ["INFO started", "INFO half way", "INFO succeeded"],
    "failed": ["INFO started", "ERROR failed"],
    "retried": ["INFO started", "WARNING failed", "INFO not run"],
    "timed-out": ["INFO started", "ERROR timed_out"],
    "held": ["INFO started", "ERROR timed_out", "ERROR cannot run"],
    "interrupted": ["INFO started", "WARNING interrupted"],
    "busy": ["DEBUG not run here", "DEBUG not run here"],
    "paused": ["INFO not run"],
    "exhausted": ["ERROR cannot run"],
    "fenced": ["INFO started", "WARNING lost", "ERROR fenced: nothing was recorded"],
    "unrecorded": ["INFO started", "INFO succeeded", "ERROR the end of the attempt could not be recorded"],
}
# "Embedded metric format specification" in the CloudWatch user guide, as far as it concerns one line.
UNITS = {"Count", "Seconds"}
LONGEST_NAME = 1024


@pytest.fixture(scope="module")
def output(template_on: Callable[[Server], Template]) -> list[str]:
    """The lines of one process that goes through every way."""
    with template_on(found_servers()[0]).clone() as url:
        done = subprocess.run(
            [sys.executable, "-m", "tests.runtime.every_path", url],
            env={**os.environ, "POWERTOOLS_LOG_LEVEL": "DEBUG"},
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def metrics(output: list[str]) -> list[Line]:
    return [line for line in map(json.loads, output) if "_aws" in line]


@pytest.fixture(scope="module")
def logs(output: list[str]) -> list[Line]:
    return [line for line in map(json.loads, output) if "_aws" not in line]


def names(line: Line) -> set[str]:
    return {metric["Name"] for metric in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]}


def of(lines: list[Line], job: str) -> list[Line]:
    return [line for line in lines if line["job"] == job]


def test_lines_of_two_threads_never_run_into_each_other(metrics: list[Line], logs: list[Line]) -> None:
    beats = [line for line in of(logs, "shouting") if line["message"] == "alive"]
    assert sorted(line["done"] for line in beats) == sorted([*range(SHOUTS)] * 2)
    done = [line[Signal.ITEMS_DONE][0] for line in of(metrics, "shouting") if Signal.ITEMS_DONE in line]
    assert sorted(done) == sorted([*range(SHOUTS)] * 2)


def test_every_signal_that_an_alarm_may_watch_is_emitted_and_no_other(metrics: list[Line]) -> None:
    assert set().union(*map(names, metrics)) == {signal.value for signal in Signal}


@pytest.mark.parametrize("job", SIGNALS)
def test_each_way_a_start_can_go_has_its_signals(metrics: list[Line], job: str) -> None:
    assert set().union(*map(names, of(metrics, job))) == SIGNALS[job]


def test_every_metric_line_is_what_cloudwatch_takes(metrics: list[Line]) -> None:
    for line in metrics:
        [directive] = line["_aws"]["CloudWatchMetrics"]
        assert isinstance(line["_aws"]["Timestamp"], int)
        assert directive["Namespace"] == NAMESPACE
        assert directive["Metrics"], line
        for metric in directive["Metrics"]:
            assert metric["Unit"] in UNITS
            assert len(metric["Name"]) <= LONGEST_NAME
            [value] = line[metric["Name"]]
            assert isinstance(value, float)
            assert value >= 0


def test_a_metric_has_exactly_the_three_dimensions_and_ids_of_runs_are_none(metrics: list[Line]) -> None:
    for line in metrics:
        [dimensions] = line["_aws"]["CloudWatchMetrics"][0]["Dimensions"]
        assert sorted(dimensions) == sorted(DIMENSIONS)
        assert (line["service"], line["environment"]) == (SERVICE_NAME, "test")
        if "run_id" in line:  # not what schedulers say of themselves, or of a run that has no process
            assert {"run_key", "run_id", "attempt"} <= line.keys() - set(dimensions) - names(line)


def test_an_attempt_is_announced_with_a_heartbeat_before_its_end(metrics: list[Line]) -> None:
    order = [name for line in of(metrics, "succeeded") for name in sorted(names(line))]
    assert order.index(Signal.HEARTBEAT) < order.index(Signal.SUCCEEDED)


@pytest.mark.parametrize("job", LOGS)
def test_each_way_a_start_can_go_has_its_log_lines(logs: list[Line], job: str) -> None:
    lines = [line for line in of(logs, job) if line["message"] != "alive"]
    assert [f"{line['level']} {line['message']}" for line in lines] == LOGS[job]


def test_every_log_line_names_job_run_attempt_and_tick(logs: list[Line]) -> None:
    for line in logs:
        assert line["service"] == SERVICE_NAME
        assert line["job"] in {*LOGS, "shouting"}
        assert line["run_key"].startswith("2026-11-")
        assert (line["attempt"] > 0) == (line["run_id"] > 0), line
        assert line["tick"].endswith("T02:00:00+00:00")


def test_a_line_of_the_jobs_own_carries_the_run_and_its_extras(logs: list[Line]) -> None:
    [line] = [line for line in logs if line["message"] == "half way"]
    assert (line["job"], line["attempt"], line["colour"]) == ("own-words", 1, "blue")


def test_a_failure_is_logged_with_the_jobs_own_traceback(logs: list[Line]) -> None:
    [line] = [line for line in of(logs, "failed") if line["level"] == "ERROR"]
    assert "sample_jobs.py" in line["exception"]
    assert "ValueError: the order has no price" in line["exception"]


@pytest.mark.parametrize("job", ["succeeded", "busy"])
def test_a_duplicate_writes_nothing_above_debug(logs: list[Line], job: str) -> None:
    duplicates = [line for line in of(logs, job) if line["run_id"] == 0]
    assert {line["level"] for line in duplicates} == {"DEBUG"}
