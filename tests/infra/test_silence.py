"""After how long a job counts as silent."""

from dataclasses import replace
from datetime import timedelta

import pytest

from handlers.declaration.cron import Cron, cron, every
from handlers.declaration.duration import hours, minutes
from handlers.declaration.job import Job
from infra.silence import Window, longest_gap, silence_window


@pytest.mark.parametrize(
    ("schedule", "gap"),
    [
        (every(minutes=15), minutes(15)),
        (cron("0 2 * * ? *"), hours(24)),
        (cron("0/5 8-18 ? * MON-FRI *"), timedelta(days=2, hours=13, minutes=5)),
        (cron("0 2,14,17 * * ? *"), hours(12)),
        (cron("0 2 1-20 * ? *"), timedelta(days=12)),
        (cron("0 2 * 1-6 ? *"), timedelta(days=185)),
        (cron("30 2 * * ? *", zone="Europe/Berlin"), hours(47)),
        (cron("0 2 * * ? 2026-2027"), None),
    ],
)
def test_the_longest_gap_is_the_longest_of_a_whole_year(schedule: Cron, gap: timedelta | None) -> None:
    assert longest_gap(schedule) == gap


@pytest.mark.parametrize(
    ("schedule", "window"),
    [
        (every(minutes=15), Window(minutes(5), 6)),
        (every(hours=6), Window(minutes(5), 75)),
        (cron("0 2 * * ? *"), Window(hours(1), 26)),
        (cron("0 2 * * ? *", zone="Asia/Riyadh"), Window(hours(1), 27)),
        (cron("0 2 ? * MON *"), None),
    ],
)
def test_the_window_covers_gap_late_start_and_run_and_no_more_than_cloudwatch_can_see(
    schedule: Cron, window: Window | None
) -> None:
    job = Job("some-job", target="", schedule=schedule, start_within=minutes(5), longest_run=minutes(5))
    assert silence_window(job) == window


def test_a_spread_start_is_given_its_time() -> None:
    job = Job("some-job", target="", schedule=every(minutes=15), longest_run=minutes(5), start_within=minutes(5))
    assert silence_window(replace(job, spread=minutes(10))) == Window(minutes(5), 8)
