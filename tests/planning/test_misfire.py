"""What becomes of due runs: the catch-up policies, one by one."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from handlers.declaration.duration import hours, minutes, seconds
from handlers.declaration.policy import CatchUp
from handlers.planning.misfire import CATCHING_UP, Due, Skip, Start, Verdict, judge

NOW = datetime(2026, 11, 29, 12, 0, 30, tzinfo=UTC)
MINUTE = minutes(1)
NUMBERS = count(1)


def missed(age: timedelta, *, held_by: str | None = None) -> Due:
    """A planned tick of that age, which nobody has touched."""
    at = NOW - age
    return Due(next(NUMBERS), f"{at:%H:%M}", at, at, lock_key=7, fresh=True, trigger="plan", held_by=held_by)


def owed(trigger: str = "rule", *, attempts: int = 1, lock_key: int = 7, held_by: str | None = None) -> Due:
    """A run that is due again."""
    number = next(NUMBERS)
    return Due(
        number, str(number), NOW, NOW, lock_key, fresh=False, trigger=trigger, attempts=attempts, held_by=held_by
    )


def after_an_outage_of(length: timedelta) -> list[Due]:
    """The ticks of an every-minute job, the oldest first; the newest is 30 s old."""
    return [missed(seconds(30) + n * MINUTE) for n in reversed(range(length // MINUTE))]


def judged(
    policy: CatchUp,
    due: list[Due],
    *,
    on_time: timedelta = MINUTE,
    rings: bool = True,
    paused: bool = False,
    started: datetime | None = None,
) -> list[Verdict]:
    return judge(policy, due, now=NOW, on_time=on_time, rings=rings, paused=paused, started=started)


def played(policy: CatchUp, due: list[Due]) -> tuple[int, Counter[str]]:
    """How many ticks run when each is judged again after each run, and how many are skipped for which reason."""
    runs, skips, left = 0, Counter[str](), list(due)
    while verdicts := judged(policy, left):
        for verdict in verdicts:
            left.remove(verdict.due)
            runs += isinstance(verdict, Start)
            skips.update([verdict.reason] if isinstance(verdict, Skip) else [])
    assert not left
    return runs, skips


@pytest.mark.parametrize(
    ("policy", "runs", "skips"),
    [
        (CatchUp("latest", window=seconds(200)), 1, {"window": 109, "superseded": 2}),
        (CatchUp("all", window=seconds(200)), 3, {"window": 109}),
        (CatchUp("all", window=None, at_most=10), 10, {"cap": 102}),
        (CatchUp("latest", window=None), 1, {"superseded": 111}),
        (CatchUp("skip"), 1, {"too_late": 111}),
        (CatchUp("all", window=minutes(5), at_most=2), 2, {"window": 107, "cap": 3}),
    ],
    ids=str,
)
def test_after_112_minutes_an_every_minute_job_makes_up_for_what_its_policy_says(
    policy: CatchUp, runs: int, skips: dict[str, int]
) -> None:
    assert played(policy, after_an_outage_of(minutes(112))) == (runs, skips)


def test_a_process_that_slept_for_78_minutes_has_one_next_run_with_skip() -> None:
    verdicts = judged(CatchUp("skip"), after_an_outage_of(minutes(78)))
    starts = [verdict for verdict in verdicts if isinstance(verdict, Start)]
    assert [(start.due.due_at, start.trigger) for start in starts] == [(NOW - seconds(30), "clock")]


def test_the_newest_are_kept_and_run_from_the_oldest_on_one_at_a_time() -> None:
    due = [missed(hours(n)) for n in (5, 4, 3, 2, 1)]
    first = judged(CatchUp("all", window=None, at_most=3), due)
    assert [(verdict.due.due_at, type(verdict)) for verdict in first] == [
        (NOW - hours(5), Skip),
        (NOW - hours(4), Skip),
        (NOW - hours(3), Start),
    ]


def test_a_thousand_missed_ticks_start_one_by_one_and_behind_the_tick_of_now() -> None:
    due = after_an_outage_of(minutes(1001))
    [only] = judged(CatchUp("all", window=None, at_most=1000), due[1:])
    assert isinstance(only, Start)
    assert (only.trigger, only.due) == ("clock", due[-1])


def test_a_tick_beside_a_running_catch_up_waits_for_it_and_goes_next() -> None:
    now, old = missed(seconds(10), held_by=CATCHING_UP), missed(hours(1), held_by=CATCHING_UP)
    policy = CatchUp("all", window=None)
    assert judged(policy, [old, now]) == []
    now, old = missed(seconds(10)), missed(hours(1))
    assert judged(policy, [old, now]) == [Start(now, "clock", "it is due")]


def test_a_tick_beside_a_regular_run_is_for_the_overlap_policy_to_decide() -> None:
    now, old = missed(seconds(10), held_by="rule"), missed(hours(1), held_by="rule")
    assert judged(CatchUp("all", window=None), [old, now]) == [Start(now, "clock", "it is due")]


def test_with_latest_a_newer_tick_that_ran_makes_up_for_the_ones_before_it() -> None:
    [verdict] = judged(CatchUp("latest", window=None), [missed(hours(2))], started=NOW - hours(1))
    assert isinstance(verdict, Skip)
    assert verdict.reason == "superseded"
    [verdict] = judged(CatchUp("latest", window=None), [missed(hours(2))], started=NOW - hours(3))
    assert isinstance(verdict, Start)


@pytest.mark.parametrize("policy", [CatchUp("latest", window=None), CatchUp("all", window=None, at_most=1)])
def test_a_tick_that_somebody_else_is_still_to_ring_makes_up_for_nothing(policy: CatchUp) -> None:
    old, coming = missed(minutes(11)), missed(minutes(2))
    verdicts = judged(policy, [old, coming], on_time=minutes(10), rings=False)
    assert verdicts == [Start(old, CATCHING_UP, "it was missed")]


def test_what_was_called_is_left_alone_and_nothing_of_its_lock_is_started_beside_it() -> None:
    called, now = replace(missed(minutes(2)), called=True), missed(seconds(10))
    for policy in (CatchUp("skip"), CatchUp("latest"), CatchUp("all", at_most=1)):
        assert judged(policy, [called, now]) == []
        assert judged(policy, [called], paused=True) == []


def test_of_a_job_whose_runs_may_overlap_misfires_still_run_one_at_a_time() -> None:
    old, now = missed(hours(1)), missed(seconds(10))
    running = [replace(one, catching_up=True) for one in (old, now)]
    assert judged(CatchUp("all", window=None), [running[0]]) == []
    assert judged(CatchUp("all", window=None), running) == [Start(running[1], "clock", "it is due")]


def test_no_misfire_is_started_before_all_of_them_are_known() -> None:
    due = [missed(hours(2)), missed(hours(1)), missed(seconds(10))]
    verdicts = judge(CatchUp("all", window=None), due[:2], now=NOW, on_time=MINUTE, rings=True, complete=False)
    assert verdicts == []
    verdicts = judge(CatchUp("all", window=None), due, now=NOW, on_time=MINUTE, rings=True, complete=False)
    assert verdicts == [Start(due[2], "clock", "it is due")]


def test_what_a_person_wants_keeps_its_trigger_in_every_attempt_so_that_a_paused_job_runs_it() -> None:
    again, other = owed("manual", attempts=1), owed("manual", attempts=0)
    [start] = judged(CatchUp("all"), [again, other], paused=True)
    assert isinstance(start, Start)
    assert start.trigger == "manual"


def test_what_somebody_else_rings_is_left_to_that_while_it_is_on_time() -> None:
    late, on_time = missed(minutes(10)), missed(minutes(9))
    verdicts = judged(CatchUp("all"), [late, on_time], on_time=minutes(10), rings=False)
    assert verdicts == [Start(late, CATCHING_UP, "it was missed")]


def test_a_paused_job_has_its_due_ticks_skipped_and_nothing_started_but_what_a_person_wants() -> None:
    tick, again, by_hand = missed(seconds(5)), owed(), owed("manual", attempts=0)
    verdicts = judged(CatchUp("all"), [tick, again, by_hand], paused=True)
    assert [(verdict.due, type(verdict)) for verdict in verdicts] == [(tick, Skip), (by_hand, Start)]


def test_a_spread_tick_is_started_at_its_own_minute_and_not_before() -> None:
    tick = missed(minutes(3))
    early = judge(CatchUp("skip"), [tick], now=NOW, on_time=minutes(5), rings=True, delay=minutes(4))
    assert early == []
    later = judge(CatchUp("skip"), [tick], now=NOW + MINUTE, on_time=minutes(5), rings=True, delay=minutes(4))
    assert later == [Start(tick, "clock", "it is due")]


def test_what_is_owed_is_never_judged_as_missed_and_waits_for_its_lock() -> None:
    again, waiting, part = owed(), owed(held_by="rule", lock_key=8), owed(lock_key=9, attempts=0)
    planned = owed("plan", lock_key=10, attempts=0)
    verdicts = judged(CatchUp("skip"), [again, waiting, part, planned])
    assert [(verdict.due, verdict.trigger) for verdict in verdicts if isinstance(verdict, Start)] == [
        (again, "retry"),
        (part, "rule"),
        (planned, "retry"),
    ]
    assert len(verdicts) == 3
