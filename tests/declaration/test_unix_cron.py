"""What a unix crontab line is for EventBridge, and which lines have no single expression there."""

import random
from datetime import UTC, datetime
from itertools import islice

import pytest

from handlers.declaration.catalogue import InvalidSchedule, declare
from handlers.declaration.cron import Cron, cron, unix
from handlers.declaration.duration import minutes
from handlers.declaration.job import Job
from handlers.declaration.unix_cron import NICKNAMES, from_unix
from ops.unix_calendar import read_crontab

START = datetime(2027, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "aws"),
    [
        ("15 12 * * 0", "cron(15 12 ? * 1 *)"),
        ("15 12 * * 7", "cron(15 12 ? * 1 *)"),
        ("15 12 * * sun", "cron(15 12 ? * 1 *)"),
        ("0 0 * * 5-7", "cron(0 0 ? * 1,6-7 *)"),
        ("0 0 * * 0-7", "cron(0 0 * * ? *)"),
        ("0 0 * * 1-5", "cron(0 0 ? * 2-6 *)"),
        ("0 0 * * 6-1", "cron(0 0 ? * 1-2,7 *)"),
        ("0 0 * * Sat-Mon", "cron(0 0 ? * 1-2,7 *)"),
        ("0 0 * * 5-2/2", "cron(0 0 ? * 1,3,6 *)"),  # FRI SUN TUE: Sunday has two numbers and is one day
        ("0 0 * * */2", "cron(0 0 ? * 1,3,5,7 *)"),
        ("0 0 * * 1-7/2", "cron(0 0 ? * 1-2,4,6 *)"),
        ("0 22-2 * * *", "cron(0 22-2 * * ? *)"),
        ("*/5 8-18/2 1,15 JAN-mar *", "cron(*/5 8-18/2 1,15 JAN-MAR ? *)"),
        ("0 0 28-2 * *", "cron(0 0 28-2 * ? *)"),
        ("0 0 1-31 * 5", "cron(0 0 * * ? *)"),  # either is every day
        ("0 0 13 * 0-6", "cron(0 0 * * ? *)"),
        ("0 0 */1 * 5", "cron(0 0 ? * 6 *)"),  # both is each Friday
        ("0 0 */2 * 0-6", "cron(0 0 */2 * ? *)"),
        ("0 2 ? * 1", "cron(0 2 ? * 2 *)"),
        ("@yearly", "cron(0 0 1 1 ? *)"),
        ("@annually", "cron(0 0 1 1 ? *)"),
        ("@monthly", "cron(0 0 1 * ? *)"),
        ("@weekly", "cron(0 0 ? * 1 *)"),
        (" @Daily ", "cron(0 0 * * ? *)"),
        ("@midnight", "cron(0 0 * * ? *)"),
        ("@hourly", "cron(0 * * * ? *)"),
    ],
)
def test_a_line_becomes_the_expression_that_fires_when_it_does(line: str, aws: str) -> None:
    schedule = unix(line, zone="Europe/Berlin")
    assert schedule.complaints() == ()
    assert (schedule.aws, schedule.zone) == (aws, "Europe/Berlin")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("0 0 13 * 5", "fires on either day and takes two jobs: '0 0 13 * ? *' and '0 0 ? * 6 *'"),
        (
            "0 0 */2 * 1",
            "day-of-month '*/2' and day-of-week '1': unix runs on days that are both, since one of them begins with *, "
            "and EventBridge cannot say that: restrict one, and let the job look at the other",
        ),
        ("@reboot", "no machine boots here; say when it is due, such as @daily"),
        ("@fortnightly", f"allowed is {', '.join(NICKNAMES)}"),
        ("60 0 * * *", "minute '60': allowed is 0-59, with , - * /"),
        ("0 0 L * *", "day-of-month 'L': allowed is 1-31, with , - * /"),
        ("0 0 * * 8", "day-of-week '8': allowed is 0-7 or SUN-SAT (0 is SUN), with , - * /"),
        ("? 0 * * *", "minute '?': allowed is 0-59, with , - * /"),
        ("5/15 0 * * *", "minute '5/15': allowed before / is * or a range, such as 5-59/15"),
        ("0 0 * *", "has 4 fields; a unix crontab line has five: minute hour day-of-month month day-of-week"),
        ("", "has 0 fields; a unix crontab line has five: minute hour day-of-month month day-of-week"),
    ],
)
def test_a_line_that_is_no_single_expression_is_refused_with_the_reason(line: str, complaint: str) -> None:
    assert unix(line).complaints() == (f"{f'unix({line})'!r}: {complaint}",)


def test_all_mistakes_of_a_line_are_named_at_once() -> None:
    assert len(unix("60 24 32 13 8").complaints()) == 5


def test_the_job_table_refuses_it_by_the_name_of_the_job() -> None:
    friday = Job("unlucky", target="handlers.jobs.billing_run:run", schedule=unix("0 0 13 * 5"), longest_run=minutes(1))
    with pytest.raises(InvalidSchedule, match=r"unlucky: schedule 'unix\(0 0 13 \* 5\)': .*'0 0 13 \* \? \*' and '0 0"):
        declare(friday)


def test_a_date_that_never_comes_is_refused_as_for_every_expression() -> None:
    assert unix("0 0 30 2 *").complaints() == ("'0 0 30 2 ? *': never fires, since it has no date that exists",)


def test_the_call_in_quotes_is_answered_with_what_it_means() -> None:
    assert cron("unix(0 2 * * 1)").complaints() == (
        "'unix(0 2 * * 1)': allowed is '0 2 ? * 2 *', which is the same for EventBridge",
    )


def written(rng: random.Random, low: int, high: int) -> str:
    """A field of one form of crontab(5), or a range that wraps."""
    first, second, step = rng.randint(low, high), rng.randint(low, high), rng.randint(1, max(2, (high - low) // 2))
    forms = ("*", "*", f"{first}", f"{first},{second}", f"{first}-{second}", f"*/{step}", f"{first}-{second}/{step}")
    return rng.choice(forms)


def line(rng: random.Random) -> str:
    """Five fields."""
    return " ".join(written(rng, *bounds) for bounds in ((0, 59), (0, 23), (1, 28), (1, 12), (0, 6)))


@pytest.mark.parametrize("seed", range(8))
def test_expressions_fire_together_when_a_calendar_of_their_own_says_that_unix_runs(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - nothing here is a secret
    compared = 0
    while compared < 40:
        given = line(rng)
        schedules = [Cron(expression) for expression in from_unix(given).expressions]
        if not schedules:
            continue
        fired = {
            tick for each in schedules for tick in islice(each.between(START, datetime.max.replace(tzinfo=UTC)), 6)
        }
        assert sorted(fired)[:6] == list(islice(read_crontab(given).runs(START, UTC), 6)), given
        compared += 1
