"""Runs with every kind of fault leave nothing wrong, and the harness itself leaves nothing at all."""

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import psutil
import pytest

from tests.faults.plan import KINDS, Kind, Map, make_plan
from tests.faults.play import Played
from tests.faults.report import report, violations
from tests.faults.series import numbers, play_series
from tests.faults.takeover import LIMIT, takeover_seconds
from tests.faults.workers import ROOT
from tests.local.postgres_processes import assert_end

# Few of each, and of the ones that strike in batches one batch.
FEW: dict[Kind, range] = {
    "kill": range(14),
    "freeze": range(10),
    "cut": range(8),
    "clock": range(4),
    "duplicates": range(1),
    "restart": range(4),
    "failover": range(4),
    "disk": range(4),
}
BOUNDARIES: Map = {"fresh": ("a#1:before", "a#1:sent"), "takeover": ("b#1:after",), "rejoin": ("c#1:sent",)}


def test_every_kind_of_fault_leaves_one_end_and_each_effect_once(tmp_path: Path) -> None:
    log = tmp_path / "workers.log"
    series = play_series(FEW, seed=2026, log=log, lanes=10, tell=lambda _: None)
    lines = "\n".join(report(series.played, series.boundaries, seed=2026, seconds=0.0))
    assert violations(series.played) == 0, f"{lines}\n{log.read_text()[-4000:]}"
    assert Counter(one.plan.kind for one in series.played) == {kind: len(FEW[kind]) for kind in KINDS}
    struck = sum(one.struck for one in series.played)
    assert struck >= 0.8 * len(series.played), lines


def test_a_plan_is_decided_by_kind_seed_and_index_alone() -> None:
    for kind in KINDS:
        assert make_plan(kind, 7, 3, BOUNDARIES) == make_plan(kind, 7, 3, BOUNDARIES)
    plans = [[make_plan("freeze", seed, index, BOUNDARIES).wake for index in range(20)] for seed in (7, 8)]
    assert plans[0] != plans[1]


def test_every_boundary_is_struck_once_before_any_is_struck_twice() -> None:
    places = [(plan.scene, plan.boundary) for plan in (make_plan("kill", 7, index, BOUNDARIES) for index in range(8))]
    assert Counter(places) == {(scene, at): 2 for scene, boundaries in BOUNDARIES.items() for at in boundaries}


@pytest.mark.parametrize("index", [3, 12])
def test_one_run_can_be_played_again_alone_or_with_its_batch(index: int) -> None:
    assert numbers(1000, "kill", index) == {"kill": [index]}
    assert index in numbers(1000, "restart", index)["restart"]


def test_a_thousand_runs_hold_enough_kills_for_every_boundary() -> None:
    assert sum(len(indexes) for indexes in numbers(1000, None, None).values()) == 1000


def test_a_violation_is_reported_with_the_command_that_plays_it_again() -> None:
    plan = make_plan("kill", 7, 3, BOUNDARIES)
    played = [Played(plan, struck=True, recovery=1.5, complaints=("effect step:0 happened 2 times",), said=Counter())]
    [line] = [line for line in report(played, BOUNDARIES, seed=7, seconds=1.0) if line.startswith("VIOLATION")]
    assert line.endswith(
        "effect step:0 happened 2 times; again: python -m tests.faults.run --kind kill --seed 7 --index 3"
    )
    assert violations(played) == 1


def test_a_harness_that_is_killed_takes_servers_and_frozen_workers_along() -> None:
    harness = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.run", "--kind", "freeze", "--runs", "20", "--lanes", "4"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
    )
    try:
        seen = _until_frozen(psutil.Process(harness.pid))
    finally:
        harness.send_signal(signal.SIGKILL)
        harness.wait()
    assert_end(seen)


def test_a_run_whose_holder_is_killed_goes_on_within_12_s_at_a_lease_of_10_s() -> None:
    assert takeover_seconds() < LIMIT


def _until_frozen(harness: psutil.Process) -> list[psutil.Process]:
    """All processes below the harness, at a moment when one of them is frozen."""
    while harness.is_running():
        below = harness.children(recursive=True)
        for process in below:
            try:
                if process.status() == psutil.STATUS_STOPPED:
                    return below
            except psutil.NoSuchProcess:
                continue
    raise AssertionError("the harness ended by itself")
