"""`jobs cron`."""

import json

import pytest

from tests.ops.command import Jobs

FROM = ("--from", "2027-08-06T00:00Z")


def test_a_unix_line_is_shown_as_its_expression_with_ten_ticks_of_both_calendars(jobs_without_database: Jobs) -> None:
    done = jobs_without_database("cron", "15 12 * * 0", "--from", "2027-01-01T00:00Z")
    lines = done.out.splitlines()
    assert (done.code, done.err, len(lines)) == (0, "", 13)
    assert lines[:4] == [
        "cron(15 12 ? * 1 *)",
        "",
        "unix               EventBridge",
        "2027-01-03T12:15Z  2027-01-03T12:15Z",
    ]


def test_a_line_of_either_day_is_two_jobs_and_a_day_that_is_both_rings_twice(jobs_without_database: Jobs) -> None:
    done = jobs_without_database("cron", "0 0 13 * 5", *FROM)
    assert done.out.splitlines()[:3] == [
        "cron(0 0 13 * ? *)",
        "cron(0 0 ? * 6 *)",
        "two jobs, for EventBridge has no day that is one or the other; a day that is both rings twice",
    ]
    assert "2027-08-13T00:00Z  2027-08-13T00:00Z  twice\n" in done.out
    assert done.out.count("2027-08-13") == 2


def test_a_tick_that_only_one_calendar_has_is_marked(jobs_without_database: Jobs) -> None:
    done = jobs_without_database("cron", "30 2 * * *", "--zone", "Europe/Berlin", "--from", "2027-03-27T00:00Z")
    assert done.out.splitlines()[2:5] == [
        "tick               unix                 EventBridge",
        "2027-03-27T01:30Z  2027-03-27 02:30+01  2027-03-27 02:30+01",
        "2027-03-28T01:00Z  2027-03-28 03:00+02  -                    unix alone",
    ]
    hourly = jobs_without_database("cron", "0 0-23 * * *", "--zone", "Europe/Berlin", "--from", "2027-10-31T00:00Z")
    assert "2027-10-31T01:00Z  -                    2027-10-31 02:00+01  EventBridge alone" in hourly.out


@pytest.mark.parametrize("expression", ["0 2 ? * MON *", "cron(0 2 ? * MON *)"])
def test_an_expression_of_eventbridge_is_shown_with_its_ticks(jobs_without_database: Jobs, expression: str) -> None:
    done = jobs_without_database("cron", expression, *FROM)
    assert done.out.splitlines()[:4] == ["cron(0 2 ? * MON *)", "", "tick", "2027-08-09T02:00Z"]
    zoned = jobs_without_database("cron", expression, *FROM, "--zone", "Asia/Riyadh")
    assert zoned.out.splitlines()[2:4] == [
        "tick               local time, Asia/Riyadh",
        "2027-08-08T23:00Z  2027-08-09 02:00+03",
    ]


def test_machines_get_both_calendars_of_a_unix_line(jobs_without_database: Jobs) -> None:
    done = json.loads(jobs_without_database("cron", "0 0 13 * 5", *FROM, "--json").out)
    assert (done["unix"], done["zone"]) == ("0 0 13 * 5", "UTC")
    assert done["expressions"] == ["cron(0 0 13 * ? *)", "cron(0 0 ? * 6 *)"]
    assert len(done["ticks"]) == 10
    assert done["ticks"][1] == {
        "tick": "2027-08-13T00:00:00Z",
        "local_time": "2027-08-13T00:00:00+00:00",
        "eventbridge": ["cron(0 0 13 * ? *)", "cron(0 0 ? * 6 *)"],
        "unix": True,
    }
    plain = json.loads(jobs_without_database("cron", "0 2 * * ? *", *FROM, "--json").out)
    assert plain["unix"] is None
    assert "unix" not in plain["ticks"][0]


def test_that_no_tick_follows_is_said(jobs_without_database: Jobs) -> None:
    over = jobs_without_database("cron", "@daily", "--from", "9999-12-31T00:00Z", "--zone", "Asia/Tokyo")
    assert over.out == "cron(0 0 * * ? *)\n\nno tick follows\n"


def test_a_time_before_the_calendar_begins_with_it(jobs_without_database: Jobs) -> None:
    done = jobs_without_database("cron", "@yearly", "--from", "0001-01-01T00:00Z", "--zone", "Asia/Tokyo")
    assert done.out.splitlines()[3].startswith("1969-12-31T15:00Z  1970-01-01 00:00+09  1970-01-01 00:00+09")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["@reboot"], "'@reboot': no machine boots here; say when it is due, such as @daily"),
        (
            ["60 24 * * *"],
            "'60 24 * * *': minute '60': allowed is 0-59, with , - * /; hour '24': allowed is 0-23, with",
        ),
        (["0 0 */2 * 1"], "'0 0 */2 * 1': day-of-month '*/2' and day-of-week '1': unix runs on days that are both"),
        (["0 0 30 2 *"], "'0 0 30 2 ? *': never fires, since it has no date that exists"),
        (["0 2 * * ? 2020"], "'0 2 * * ? 2020': never fires, since its last tick was 2020-12-31T02:00Z"),
        (["cron(0 2 * * *)"], "'0 2 * * *': has 5 fields; allowed are six: "),
        (["0 2 * * * /usr/bin/backup"], "day-of-month '*' and day-of-week '*': exactly one of the two must be ?"),
        (["rate(5 minutes)"], "'rate(5 minutes)': allowed is cron; a rate counts from its deployment"),
        ([""], "'': has no fields; allowed are six: "),
        (["@daily", "--zone", "Berlin"], "zone 'Berlin': allowed is an IANA zone; did you mean Europe/Berlin?"),
        (["@daily", "--from", "now"], "Invalid value for '--from': 'now': allowed is a time with its zone"),
    ],
)
def test_bad_input_is_answered_in_one_line(jobs_without_database: Jobs, arguments: list[str], said: str) -> None:
    done = jobs_without_database("cron", *arguments)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith(f"jobs: {said}")


def test_a_line_with_its_command_is_told_to_come_alone(jobs_without_database: Jobs) -> None:
    done = jobs_without_database("cron", "0 2 * * * /usr/bin/backup")
    assert done.err.endswith("; if this is a line of a crontab, give '0 2 * * *' alone\n")


def test_a_line_that_was_not_quoted_is_told_to_be(jobs_without_database: Jobs) -> None:
    done = jobs_without_database("cron", "15", "12", "Makefile", "README.md", "0")
    assert (done.code, done.out) == (2, "")
    assert done.err == "jobs: 5 words were given: quote the line, as in `jobs cron '15 12 * * 0'`\n"
