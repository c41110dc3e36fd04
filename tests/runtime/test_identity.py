"""Which run an event means."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.declaration.cron import Cron, cron
from handlers.declaration.job import Job
from handlers.runtime.identity import (
    Delivery,
    Identity,
    MalformedDelivery,
    Trigger,
    identify,
    identify_by_minute,
    parse_delivery,
)

NIGHTLY = cron("0 2 * * ? *")
RIYADH = cron("0 2 * * ? *", zone="Asia/Riyadh")
LONDON = cron("30 1 * * ? *", zone="Europe/London")
QUARTERS = cron("0/15 * * * ? *")
MINUTES = cron("* * * * ? *")


def job(schedule: Cron) -> Job:
    return Job(
        "sample", target="tests.runtime.sample_jobs:succeed", schedule=schedule, longest_run=timedelta(minutes=1)
    )


def key(schedule: Cron, time: str, trigger: Trigger = "rule") -> str:
    return identify(job(schedule), parse_delivery(trigger, time)).run_key


@pytest.mark.parametrize(
    ("schedule", "event", "tick"),
    [
        pytest.param(NIGHTLY, "2026-11-29T02:00:00Z", "2026-11-29T02:00Z", id="on time"),
        pytest.param(NIGHTLY, "2026-11-29T02:00:41.5Z", "2026-11-29T02:00Z", id="within its minute"),
        pytest.param(NIGHTLY, "2026-11-29T01:59:57Z", "2026-11-29T02:00Z", id="3 seconds early"),
        pytest.param(
            NIGHTLY, "2026-11-29T01:58:59Z", "2026-11-28T02:00Z", id="more than a minute early: the one before"
        ),
        pytest.param(NIGHTLY, "2026-11-29T09:12:00Z", "2026-11-29T02:00Z", id="hours late"),
        pytest.param(NIGHTLY, "2026-11-30T01:58:00Z", "2026-11-29T02:00Z", id="almost a day late"),
        pytest.param(QUARTERS, "2026-11-29T02:14:58Z", "2026-11-29T02:15Z", id="early for the next quarter"),
        pytest.param(QUARTERS, "2026-11-29T02:13:59Z", "2026-11-29T02:00Z", id="late for the last quarter"),
        pytest.param(MINUTES, "2026-11-29T02:00:00Z", "2026-11-29T02:00Z", id="a tick every minute, on time"),
        pytest.param(MINUTES, "2026-11-29T02:00:57Z", "2026-11-29T02:00Z", id="a tick every minute, within its own"),
        pytest.param(RIYADH, "2026-11-28T23:00:00Z", "2026-11-28T23:00Z", id="a zone's 02:00 by UTC"),
        pytest.param(RIYADH, "2026-11-29T02:00:00+03:00", "2026-11-28T23:00Z", id="an event with an offset"),
        pytest.param(LONDON, "2026-07-01T00:30:00Z", "2026-07-01T00:30Z", id="summer time"),
        pytest.param(
            LONDON, "2026-10-25T01:30:00Z", "2026-10-25T00:30Z", id="the repeated hour means its first showing"
        ),
    ],
)
def test_an_event_means_the_latest_tick_at_its_own_time(schedule: Cron, event: str, tick: str) -> None:
    assert key(schedule, event) == tick


def test_an_event_that_no_tick_explains_may_mean_its_own_minute() -> None:
    event = parse_delivery("rule", "2026-11-29T02:10:07Z")
    assert identify_by_minute(job(cron("0 3 * * ? *")), event) == Identity(
        "2026-11-29T02:10Z", datetime(2026, 11, 29, 2, 10, tzinfo=UTC)
    )


@pytest.mark.parametrize("event", ["2026-11-29T02:00:41Z", "2026-11-29T01:59:57Z"])
def test_an_event_of_a_tick_means_nothing_else(event: str) -> None:
    assert identify_by_minute(job(NIGHTLY), parse_delivery("rule", event)) is None
    assert identify_by_minute(job(NIGHTLY), parse_delivery("manual", "2026-11-29T02:10:00Z")) is None


def test_a_spread_event_means_the_tick_that_it_was_spread_from() -> None:
    spread = replace(job(NIGHTLY), spread=timedelta(minutes=10))
    event = parse_delivery("rule", "2026-11-29T02:10:00Z")
    assert identify_by_minute(spread, event) is None
    assert identify(spread, event).run_key == "2026-11-29T02:00Z"


def test_the_id_of_a_run_stands_for_time_and_payload() -> None:
    assert parse_delivery("retry", None, run="1042") == Delivery("retry", None, run_id=1042)


@pytest.mark.parametrize("run", ["", "-1", "1.5", "x", str(2**63), "\u0661", True])
def test_the_id_of_a_run_is_a_number(run: object) -> None:
    with pytest.raises(MalformedDelivery, match=r"run is .*: allowed is the id of a run"):
        parse_delivery("retry", None, run=run)


def test_a_second_firing_with_another_id_and_trigger_means_the_same_run() -> None:
    first = {"id": "7bf73129", "trigger": "rule", "time": "2026-11-29T02:00:00Z"}
    second = {"id": "c2ab4ea0", "trigger": "schedule", "time": "2026-11-29T02:00:33Z"}
    identities = {identify(job(NIGHTLY), parse_delivery(event["trigger"], event["time"])) for event in (first, second)}
    assert identities == {Identity("2026-11-29T02:00Z", datetime(2026, 11, 29, 2, tzinfo=UTC))}


@given(st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1)), st.integers(-60, 839))
def test_every_second_from_a_minute_before_a_tick_to_a_minute_before_the_next_means_that_tick(
    moment: datetime, seconds: int
) -> None:
    tick = moment.replace(minute=moment.minute // 15 * 15, second=0, microsecond=0, tzinfo=UTC)
    assert identify(job(QUARTERS), Delivery("rule", tick + timedelta(seconds=seconds))).tick == tick


def test_a_schedule_with_no_tick_yet_gives_one_run_per_minute_named() -> None:
    later = cron("0 2 1 1 ? 2099")
    assert key(later, "2026-11-29T02:00:05Z") == key(later, "2026-11-29T02:00:55Z") == "2026-11-29T02:00Z"
    assert key(later, "2026-11-29T02:01:00Z") == "2026-11-29T02:01Z"


def test_a_person_without_a_time_gets_a_new_run_each_time() -> None:
    runs = [identify(job(NIGHTLY), parse_delivery("manual", None)) for _ in range(2)]
    assert runs[0].run_key != runs[1].run_key
    assert [run.tick for run in runs] == [None, None]


def test_a_person_with_a_time_gets_the_run_of_that_tick() -> None:
    assert key(NIGHTLY, "2026-11-29T02:00:00Z", "manual") == key(NIGHTLY, "2026-11-29T02:00:00Z")


TIME_COMPLAINT = "time is {}: allowed is an ISO 8601 time with zone, such as 2026-11-29T02:00:00Z"
TRIGGER_COMPLAINT = "trigger is {}: allowed is rule, schedule, clock, catch-up, retry, queue, manual"


@pytest.mark.parametrize(
    ("trigger", "time", "complaint"),
    [
        ("rule", "2026-11-29T02:00:00", TIME_COMPLAINT),
        ("rule", "2026-11-29", TIME_COMPLAINT),
        ("rule", "tomorrow", TIME_COMPLAINT),
        ("rule", "<aws.scheduler.scheduled-time>", TIME_COMPLAINT),
        ("rule", "", TIME_COMPLAINT),
        ("rule", None, TIME_COMPLAINT),
        ("schedule", 1796004000, TIME_COMPLAINT),
        ("manual", ["2026-11-29T02:00:00Z"], TIME_COMPLAINT),
        ("rule", "0001-01-01T00:00:00+14:00", TIME_COMPLAINT),
        ("rule", "9999-12-31T23:59:59Z", TIME_COMPLAINT),
        ("cron", "2026-11-29T02:00:00Z", TRIGGER_COMPLAINT),
        (None, "2026-11-29T02:00:00Z", TRIGGER_COMPLAINT),
        ({"a": 1}, "2026-11-29T02:00:00Z", TRIGGER_COMPLAINT),
    ],
)
def test_a_malformed_delivery_is_refused_in_one_line_that_shows_what_was_given(
    trigger: Any, time: Any, complaint: str
) -> None:
    with pytest.raises(MalformedDelivery) as caught:
        parse_delivery(trigger, time)
    assert str(caught.value) == complaint.format(repr(time if complaint is TIME_COMPLAINT else trigger))


@pytest.mark.parametrize(
    ("time", "run_key"),
    [("1969-12-31T23:00:30Z", "1969-12-31T23:00Z"), ("9998-12-31T23:59:59-14:00", "2199-12-31T02:00Z")],
)
def test_a_time_that_no_schedule_reaches_still_names_one_run(time: str, run_key: str) -> None:
    assert key(NIGHTLY, time) == run_key
