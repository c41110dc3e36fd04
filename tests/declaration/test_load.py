"""Starts per minute, and the vCPU of Fargate that a table takes at once."""

from datetime import UTC, datetime, timedelta
from typing import Any

from handlers.declaration.cron import Cron, cron, every
from handlers.declaration.duration import hours, minutes, seconds
from handlers.declaration.job import Job
from handlers.declaration.load import Peak, most_vcpu, peak, starts
from handlers.declaration.spread import offset

BEGIN = datetime(2027, 1, 1, tzinfo=UTC)
END = BEGIN + hours(24)
NIGHTLY = cron("0 2 * * ? *")


def job(name: str, schedule: Cron, longest_run: timedelta = minutes(1), **more: Any) -> Job:
    return Job(name, target="", schedule=schedule, longest_run=longest_run, **more)


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2027-01-01T{text}").replace(tzinfo=UTC)


def test_starts_are_told_by_the_minute_with_the_names_of_the_jobs() -> None:
    jobs = [job("a", NIGHTLY), job("b", cron("0 3 * * ? *", zone="Europe/Berlin")), job("c", every(hours=12))]
    assert starts(jobs, BEGIN, END) == {at("00:00"): ("c",), at("02:00"): ("a", "b"), at("12:00"): ("c",)}


def test_a_spread_job_is_counted_when_it_starts_even_for_a_tick_before_the_day() -> None:
    name = next(name for name in map(str, range(20)) if offset(name, minutes(15)) == minutes(9))
    found = starts([job(name, cron("55 23,2 * * ? *"), spread=minutes(15))], BEGIN, END)
    assert list(found) == [at("00:04"), at("03:04")]


def test_the_peak_is_the_first_minute_with_most_vcpu_and_names_who_runs() -> None:
    jobs = [
        job("a", cron("0 2 * * ? *"), hours(1), memory=8192),  # 1 vCPU
        job("b", cron("30 2 * * ? *"), hours(1), memory=4096),  # half of one
        job("c", cron("0 3 * * ? *"), hours(1), memory=4096),  # when a has ended
        job("short", cron("30 2 * * ? *"), memory=8192),  # on Lambda
    ]
    assert peak(jobs, BEGIN, END) == Peak(at("02:30"), 1.5, {"a": 1.0, "b": 0.5})
    assert most_vcpu(jobs) == 2.0


def test_a_run_takes_its_longest_run_to_the_minute() -> None:
    jobs = [job("a", NIGHTLY, minutes(30) + seconds(1)), job("b", cron("30 2 * * ? *"), hours(1))]
    assert peak(jobs, BEGIN, END) == Peak(at("02:30"), 0.5, {"a": 0.25, "b": 0.25})
    jobs[0] = job("a", NIGHTLY, minutes(30))
    assert peak(jobs, BEGIN, END) == Peak(at("02:00"), 0.25, {"a": 0.25})


def test_a_run_that_began_before_the_span_still_counts() -> None:
    jobs = [job("a", NIGHTLY, hours(23)), job("b", cron("30 0 * * ? *"), hours(2))]
    assert peak(jobs, BEGIN, at("01:00")) == Peak(at("00:30"), 0.5, {"a": 0.25, "b": 0.25})


def test_runs_of_one_job_go_on_beside_each_other_only_where_overlap_allows_it() -> None:
    assert peak([job("a", every(minutes=15), minutes(40))], BEGIN, END) == Peak(BEGIN, 0.25, {"a": 0.25})
    beside = job("a", every(minutes=15), minutes(40), overlap="allow")
    assert peak([beside], BEGIN, END) == Peak(BEGIN, 0.75, {"a": 0.75})
    assert most_vcpu([beside]) == 0.75


def test_what_runs_on_lambda_takes_no_quota_and_the_ceiling_of_the_environment_says_what_does() -> None:
    jobs = [job("a", NIGHTLY, minutes(20))]
    assert peak(jobs, BEGIN, END) == Peak(at("02:00"), 0.25, {"a": 0.25})
    assert peak(jobs, BEGIN, END, lambda_ceiling=seconds(1800)) is None
    assert most_vcpu(jobs, lambda_ceiling=seconds(1800)) == 0


def test_a_day_of_herds_is_read_in_one_pass() -> None:
    jobs = [job(f"job-{number}", every(minutes=1)) for number in range(3)]
    found = starts(jobs, BEGIN, END)
    assert (len(found), set(map(len, found.values()))) == (24 * 60, {3})
