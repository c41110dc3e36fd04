"""What the ledger comes to hold, on a virtual clock."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from handlers.declaration.cron import cron, every
from handlers.declaration.duration import hours, minutes, seconds
from handlers.declaration.job import Job
from handlers.declaration.policy import CatchUp, Retry
from handlers.schedule import SCHEDULE
from ops.simulate.faults import Faults
from ops.simulate.play import play
from ops.simulate.scenario import Scenario
from tests.ops.simulate.scenes import START, caught_up, down, ends, job, scenario

MINUTE = minutes(1)
WATCHDOG = seconds(5)  # into each minute comes its pass
OUTAGE = down(START + 10 * MINUTE, minutes(112))


def test_in_a_quiet_week_every_tick_of_the_schedule_succeeds_once_and_in_time(server_url: str) -> None:
    quiet = Scenario(catalogue=SCHEDULE, start=START, end=START + timedelta(days=2))
    played = play(quiet, server_url)
    assert [(run.job, run.tick) for run in played.runs] == sorted(
        ((each.name, tick) for each in SCHEDULE for tick in each.schedule.between(quiet.start, quiet.end)),
        key=lambda run: (run[1], run[0]),
    )
    assert {(run.status, run.attempts, run.started_at) for run in played.runs} == {
        ("succeeded", 1, run.tick) for run in played.runs
    }


@pytest.mark.parametrize(
    ("policy", "ended", "made_up"),
    [
        (CatchUp("latest", window=seconds(200)), {"skipped: window": 109, "skipped: superseded": 3}, 0),
        (CatchUp("all", window=seconds(200)), {"skipped: window": 109}, 3),
        (CatchUp("all", window=None, at_most=10), {"skipped: cap": 102}, 10),
        (CatchUp("skip"), {"skipped: too_late": 112}, 0),
    ],
    ids=["latest", "all", "cap", "skip"],
)
def test_of_112_missed_minutes_each_has_a_row_with_the_reason_that_its_policy_gives(
    server_url: str, policy: CatchUp, ended: dict[str, int], made_up: int
) -> None:
    played = play(scenario(job(catch_up=policy), lasting=hours(3), outages=OUTAGE), server_url)
    assert ends(played) == Counter({"succeeded": 180 - sum(ended.values()), **ended})
    assert len(caught_up(played)) == made_up
    assert caught_up(played) == sorted(caught_up(played))


def test_a_job_that_is_due_seldom_makes_up_for_its_latest_tick(server_url: str) -> None:
    hourly = job(schedule=every(hours=1), start_within=minutes(10), catch_up=CatchUp("latest", window=hours(12)))
    start = datetime(2026, 3, 2, tzinfo=UTC)
    out = down(start + minutes(90), minutes(200))  # ticks at 2, 3 and 4 o'clock are missed; it ends at 4:50
    played = play(scenario(hourly, start=start, lasting=hours(8), outages=out), server_url)
    assert ends(played) == Counter({"succeeded": 6, "skipped: superseded": 2})
    assert caught_up(played) == [start + hours(4)]
    [run] = [run for run in played.runs if run.trigger == "catch-up"]
    assert run.started_at == start + minutes(290) + WATCHDOG


def test_a_tick_whose_bell_is_lost_is_made_up_for_once_start_within_is_over(server_url: str) -> None:
    quarterly = job(schedule=every(minutes=15), start_within=minutes(5), catch_up=CatchUp("all", window=hours(1)))
    played = play(scenario(quarterly, lasting=hours(6), faults=Faults(seed=3, lost=0.3)), server_url)
    made_up = [run for run in played.runs if run.trigger == "catch-up"]
    assert ends(played) == Counter({"succeeded": 24})
    assert len(made_up) == played.unheard["tick"] > 0
    assert {run.started_at - run.tick for run in made_up if run.started_at} == {minutes(5) + WATCHDOG}


def test_bells_that_ring_twice_change_nothing(server_url: str) -> None:
    slow = job(schedule=every(minutes=5), longest_run=minutes(10))  # some find the run going on, some ended
    once = play(scenario(slow, lasting=hours(4)), server_url)
    twice = play(scenario(slow, lasting=hours(4), faults=Faults(duplicate=1)), server_url)
    assert twice.doubled["tick"] == 48
    assert twice.runs == once.runs


def test_a_process_that_dies_costs_its_run_a_lease_and_an_attempt_and_nothing_else(server_url: str) -> None:
    deadly = scenario(job(schedule=every(minutes=15)), lasting=hours(12), faults=Faults(die={"tick": 0.3}))
    played = play(deadly, server_url)
    lost = [run for run in played.runs if run.lost]
    assert ends(played) == Counter({"succeeded": 48})
    assert len(lost) > 5
    assert all(run.attempts == 1 + run.lost for run in played.runs)
    # A lease after the death, the pass of the minute after, and a second of work.
    assert {run.ended_at - run.tick for run in lost if run.lost == 1 and run.ended_at} == {
        MINUTE + WATCHDOG + seconds(1)
    }


def test_a_job_that_must_not_be_repeated_waits_for_a_person_once_its_process_has_died(server_url: str) -> None:
    held = job(schedule=every(hours=1), on_lost="hold")
    played = play(scenario(held, lasting=hours(3), faults=Faults(die={"tick": 1})), server_url)
    assert ends(played) == Counter({"unknown": 3})


def test_an_outage_ends_what_runs_and_the_first_pass_after_it_takes_that_up_again(server_url: str) -> None:
    daily = job(schedule=cron("0 9 * * ? *"), longest_run=hours(2))
    played = play(scenario(daily, lasting=hours(4), outages=down(START + minutes(65), minutes(30))), server_url)
    [run] = played.runs
    assert (run.status, run.attempts, run.lost) == ("succeeded", 2, 1)
    assert run.ended_at == START + minutes(65 + 30 + 12) + WATCHDOG


@pytest.mark.parametrize(
    ("overlap", "ended"),
    [
        ("skip", {"succeeded": 5, "skipped: overlap": 5}),
        ("queue", {"succeeded": 6, "running": 1, "pending": 1, "skipped: overlap": 2}),
        ("allow", {"succeeded": 9, "running": 1}),
    ],
)
def test_ticks_that_meet_the_run_before_follow_the_overlap_policy(
    server_url: str, overlap: str, ended: dict[str, int]
) -> None:
    slow = job(longest_run=seconds(900), overlap=overlap)  # 90 s
    played = play(scenario(slow, lasting=minutes(10)), server_url)
    assert ends(played) == Counter(ended)


def test_a_newer_tick_ends_the_run_before_it_at_its_next_heartbeat(server_url: str) -> None:
    slow = job(longest_run=seconds(900), overlap="replace")
    played = play(scenario(slow, lasting=minutes(10)), server_url)
    first, second, *_ = played.runs
    assert (first.status, first.ended_at) == ("cancelled", START + seconds(70))
    assert second.started_at is not None
    assert second.started_at - START == seconds(70)


def test_a_retry_that_is_near_stays_in_the_process_and_one_that_is_far_is_left_to_the_ledger(server_url: str) -> None:
    def took(retry: Retry) -> list[timedelta]:
        hourly = job(schedule=every(hours=4), retry=retry)
        played = play(scenario(hourly, lasting=hours(24), faults=Faults(fail={"tick": 0.5})), server_url)
        return [run.ended_at - run.tick for run in played.runs if run.attempts == 2 and run.ended_at]

    near = took(Retry(attempts=3, base=seconds(1), cap=seconds(1)))
    far = took(Retry(attempts=3, base=hours(1), cap=hours(1)))
    assert near
    assert all(seconds(2) <= time <= seconds(3) for time in near)
    # By a pass.
    assert [time % MINUTE for time in far] == [WATCHDOG + seconds(1)] * len(far) != []


def test_a_local_time_that_a_clock_change_leaves_out_has_a_row_that_says_so(server_url: str) -> None:
    nightly = job(schedule=cron("30 2 * * ? *", zone="Europe/Berlin"))
    start = datetime(2025, 3, 29, tzinfo=UTC)
    played = play(scenario(nightly, start=start, lasting=timedelta(days=3)), server_url)
    assert [(run.run_key, run.status, run.skip_reason) for run in played.runs] == [
        ("2025-03-29T01:30Z", "succeeded", None),
        ("2025-03-30T02:30 Europe/Berlin", "skipped", "dst"),
        ("2025-03-31T00:30Z", "succeeded", None),
    ]


@pytest.mark.parametrize(("day", "ticks"), [("2025-03-09", 23), ("2025-11-02", 25), ("2025-11-03", 24)])
def test_an_hourly_job_has_as_many_runs_as_the_day_has_hours(server_url: str, day: str, ticks: int) -> None:
    hourly = job(schedule=cron("0 * * * ? *", zone="America/New_York"))
    midnight = datetime.fromisoformat(f"{day}T00:00:00").replace(tzinfo=ZoneInfo("America/New_York"))
    start, end = midnight.astimezone(UTC), (midnight + timedelta(days=1)).astimezone(UTC)
    played = play(scenario(hourly, start=start, lasting=end - start), server_url)
    assert ends(played) == Counter({"succeeded": ticks})


def test_with_a_clock_of_our_own_no_bell_is_needed_and_nothing_is_late(server_url: str) -> None:
    jobs = (job(), job("hourly", schedule=every(hours=1)))
    played = play(scenario(*jobs, lasting=hours(3), clock=True, faults=Faults(lost=1)), server_url)
    assert ends(played) == Counter({"succeeded": 180})
    assert ends(played, "hourly") == Counter({"succeeded": 3})
    assert {(run.trigger, run.started_at == run.tick) for run in played.runs} == {("clock", True)}


def test_a_clock_of_our_own_makes_up_for_what_it_slept_through(server_url: str) -> None:
    slept = scenario(
        job(catch_up=CatchUp("all", window=None, at_most=10)), lasting=hours(3), clock=True, outages=OUTAGE
    )
    played = play(slept, server_url)
    # The tick that is due when it wakes up counts too.
    assert ends(played) == Counter({"succeeded": 180 - 103, "skipped: cap": 103})
    assert len(caught_up(played)) == 9


def test_a_job_that_is_spread_starts_within_its_spread_and_keeps_its_tick(server_url: str) -> None:
    jobs: list[Job] = [
        job("ruled", schedule=cron("0 * * * ? *"), spread=minutes(15)),
        job("zoned", schedule=cron("0 * * * ? *", zone="Asia/Tokyo"), spread=minutes(15)),
    ]
    played = play(scenario(*jobs, lasting=hours(12)), server_url)
    delays = {
        name: {run.started_at - run.tick for run in played.runs if run.job == name and run.started_at}
        for name in ("ruled", "zoned")
    }
    assert ends(played, "ruled") == ends(played, "zoned") == Counter({"succeeded": 12})
    assert len(delays["ruled"]) == 1
    assert len(delays["zoned"]) > 3
    assert max(delays["ruled"] | delays["zoned"]) <= minutes(15)
