"""Runs with every kind of fault leave nothing wrong, and the harness itself leaves nothing at all."""

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import psutil
import pytest

from tests.faults.plan import KINDS, OUTAGES, TOGETHER, Kind, Map, Plan, make_plan
from tests.faults.play import Played
from tests.faults.report import never_struck, report, violations
from tests.faults.run import is_proof
from tests.faults.series import Series, numbers, play_series
from tests.faults.takeover import LIMIT, takeover_seconds
from tests.faults.workers import ROOT
from tests.left_out import LeftOut
from tests.local.postgres_processes import PATIENCE, assert_end

# Few of each, and of the ones that strike in batches one batch.
FEW: dict[Kind, range] = {
    "kill": range(6),
    "freeze": range(4),
    "cut": range(4),
    "clock": range(2),
    "duplicates": range(1),
    "restart": range(3),
    "failover": range(3),
    "disk": range(3),
}
BOUNDARIES: Map = {"fresh": ("a#1:before", "a#1:sent"), "takeover": ("b#1:after",), "rejoin": ("c#1:sent",)}


def test_every_kind_of_fault_leaves_one_end_and_each_effect_once(tmp_path: Path, left_out: LeftOut) -> None:
    log = tmp_path / "workers.log"
    series = play_series(FEW, seed=2026, log=log, lanes=10, tell=lambda _: None)
    lines = "\n".join(report(series, seed=2026, seconds=0.0))
    assert violations(series.played) == 0, f"{lines}\n{log.read_text()[-4000:]}"
    first = Counter(one.plan.kind for one in series.played if one.plan.turn == 0)
    assert first == {kind: len(FEW[kind]) for kind in KINDS if kind not in series.left_out}, lines
    for kind, reason in series.left_out.items():
        left_out.add(f"faults of the kind {kind}", f"another machine: {reason}")
    assert {kind: missed for kind in KINDS if (missed := never_struck(kind, series.played))} == {}, lines
    assert sum(one.struck for one in series.played) >= 0.9 * first.total(), lines


def test_a_plan_is_decided_by_kind_seed_and_index_alone() -> None:
    for kind in KINDS:
        assert make_plan(kind, 7, 3, BOUNDARIES) == make_plan(kind, 7, 3, BOUNDARIES)
    plans = [[make_plan("freeze", seed, index, BOUNDARIES).wake for index in range(20)] for seed in (7, 8)]
    assert plans[0] != plans[1]


def test_every_boundary_is_struck_once_before_any_is_struck_twice() -> None:
    places = [(plan.scene, plan.boundary) for plan in (make_plan("kill", 7, index, BOUNDARIES) for index in range(8))]
    assert Counter(places) == {(scene, at): 2 for scene, boundaries in BOUNDARIES.items() for at in boundaries}


def test_an_outage_strikes_its_whole_batch_by_one_mechanism_and_the_next_batch_by_the_next() -> None:
    for kind, mechanisms in OUTAGES.items():
        plans = [make_plan(kind, 7, index, BOUNDARIES) for index in range(len(mechanisms) * TOGETHER)]
        assert Counter(plan.how for plan in plans) == dict.fromkeys(mechanisms, TOGETHER)
        assert len({plan.how for plan in plans[:TOGETHER]}) == 1


@pytest.mark.parametrize("index", [3, 12])
def test_one_run_can_be_played_again_alone_or_with_its_batch(index: int) -> None:
    assert numbers(1000, "kill", index) == {"kill": [index]}
    assert index in numbers(1000, "restart", index)["restart"]


def test_a_thousand_runs_hold_enough_kills_for_every_boundary() -> None:
    assert sum(len(indexes) for indexes in numbers(1000, None, None).values()) == 1000


def test_a_violation_is_reported_with_the_command_that_plays_it_again() -> None:
    plan = make_plan("kill", 7, 3, BOUNDARIES)
    played = _played(plan, complaints=("effect step:0 happened 2 times",))
    [line] = [line for line in _lines(played) if line.startswith("VIOLATION")]
    assert line.endswith(
        "effect step:0 happened 2 times; again: python -m tests.faults.run --kind kill --seed 7 --index 3"
    )
    assert violations([played]) == 1


def test_a_boundary_that_no_turn_has_struck_is_named_with_its_plan() -> None:
    plan = make_plan("kill", 7, 3, BOUNDARIES)
    missed = [_played(plan, struck=False), _played(plan.again(), struck=False)]
    assert never_struck("kill", missed) == {plan.place: ["kill-3"]}
    assert not is_proof(missed)
    lines = _lines(*missed)
    assert "kill: 1 of 4 statement boundaries planned, 0 struck, 1 never" in lines
    assert f"  never struck: {plan.place} (kill-3)" in lines


def test_a_boundary_that_was_struck_when_played_again_is_not_missed() -> None:
    plan = make_plan("kill", 7, 3, BOUNDARIES)
    assert plan.again().job != plan.job
    played = [_played(plan, struck=False), _played(plan.again())]
    assert never_struck("kill", played) == {}
    assert is_proof(played)


def test_the_report_counts_what_each_mechanism_of_a_kind_has_struck() -> None:
    plans = [make_plan("cut", 7, index, BOUNDARIES) for index in range(5)]
    lines = _lines(_played(plans[0], struck=False), *(_played(plan) for plan in plans[1:]))
    assert "cut: deaf 1 of 1, late 1 of 1, reset 1 of 2, silence 1 of 1" in lines


def test_a_kind_that_this_machine_cannot_play_is_reported_with_the_reason() -> None:
    series = Series((), BOUNDARIES, {"disk": "it has no disk"})
    assert "disk: LEFT OUT, it has no disk" in report(series, seed=7, seconds=1.0)


def test_a_harness_that_is_killed_or_told_to_end_takes_servers_and_frozen_workers_along() -> None:
    harnesses: dict[signal.Signals, subprocess.Popen[bytes]] = {}
    try:
        for how in (signal.SIGKILL, signal.SIGTERM):
            command = [sys.executable, "-m", "tests.faults.run", "--kind", "freeze", "--runs", "20", "--lanes", "4"]
            harnesses[how] = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        for how, harness in harnesses.items():
            seen = _until_frozen(psutil.Process(harness.pid))
            harness.send_signal(how)
            assert harness.wait(PATIENCE) == (-how if how == signal.SIGKILL else 128 + how)
            assert_end(seen)
    finally:
        for harness in harnesses.values():
            harness.kill()
            harness.wait()


def test_a_run_whose_holder_is_killed_goes_on_within_12_s_at_a_lease_of_10_s() -> None:
    assert takeover_seconds() < LIMIT


def _played(plan: Plan, *, struck: bool = True, complaints: tuple[str, ...] = ()) -> Played:
    return Played(plan, plan.how, struck, 1.5 if struck else None, complaints, Counter())


def _lines(*played: Played) -> list[str]:
    return list(report(Series(played, BOUNDARIES, {}), seed=7, seconds=1.0))


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
