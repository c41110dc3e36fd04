"""A job table with mistakes is refused when it is imported, with every mistake in one message."""

import subprocess
import sys
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import pytest

from handlers.declaration.catalogue import InvalidSchedule, UnknownJob, declare
from handlers.declaration.cron import cron, every
from handlers.declaration.duration import hours, minutes, seconds
from handlers.declaration.job import Job
from handlers.declaration.policy import CatchUp, Overlap, Retry

ROOT = Path(__file__).parents[2]


def job(name: str = "nightly", **changes: Any) -> Job:
    """A job without mistakes, but for the changes."""
    right: dict[str, Any] = {
        "target": "handlers.jobs.billing_run:run",
        "schedule": cron("0 2 * * ? *"),
        "longest_run": minutes(5),
    }
    return Job(name, **(right | changes))


@dataclass(frozen=True)
class Mistake:
    """A job with one mistake and the line that names it."""

    job: Job
    line: str

    def __str__(self) -> str:
        return self.line[:60]


MISTAKES = [
    Mistake(job(schedule=cron("60 2 * * ? *")), "nightly: schedule minute '60': allowed is 0-59, with , - * /"),
    Mistake(
        job(schedule=cron("0 2 ? * 0 *")),
        "nightly: schedule day-of-week '0': allowed is 1-7 or SUN-SAT (1 is SUN), with , - *, or alone ? L 6L 3#2",
    ),
    Mistake(
        job(schedule=cron("0 2 1 * MON *")),
        "nightly: schedule day-of-month '1' and day-of-week 'MON': exactly one of the two must be ?, "
        "and the other says the days",
    ),
    Mistake(
        job(schedule=cron("15 12 * * 0")),
        "nightly: schedule '15 12 * * 0': has 5 fields; allowed are six: "
        "minute hour day-of-month month day-of-week year; if this is unix cron, write '15 12 ? * 1 *'",
    ),
    Mistake(
        job(schedule=cron("rate(1 minutes)")),
        "nightly: schedule 'rate(1 minutes)': allowed is cron; a rate counts from its deployment, "
        "so use every(minutes=...) or every(hours=...)",
    ),
    Mistake(
        job(schedule=every(minutes=7)),
        "nightly: schedule 'every(minutes=7)': allowed is minutes that divide an hour (1 2 3 4 5 6 10 12 15 20 30 60) "
        "or hours that divide a day (1 2 3 4 6 8 12 24)",
    ),
    Mistake(
        job(schedule=cron("0 2 * * ? *", zone="Asia/Riyad")),
        "nightly: schedule zone 'Asia/Riyad': allowed is an IANA zone; did you mean Asia/Riyadh?",
    ),
    Mistake(
        job(schedule=cron("0 2 30 FEB ? *")),
        "nightly: schedule '0 2 30 FEB ? *': never fires, since it has no date that exists",
    ),
    Mistake(
        job(schedule=cron("0 2 * * ? 2020")),
        "nightly: schedule '0 2 * * ? 2020': never fires, since its last tick was 2020-12-31T02:00Z",
    ),
    Mistake(
        job("Nightly_Billing"),
        "Nightly_Billing: name 'Nightly_Billing': allowed is kebab-case like nightly-billing, at most 40 characters",
    ),
    Mistake(
        job("n" * 41),
        f"{'n' * 41}: name '{'n' * 41}': allowed is kebab-case like nightly-billing, at most 40 characters",
    ),
    Mistake(job(target="billing.run"), "nightly: target 'billing.run': allowed is package.module:function"),
    Mistake(
        job(target="handlers.jobs.biling:run"),
        "nightly: target 'handlers.jobs.biling:run': there is no module handlers.jobs.biling",
    ),
    Mistake(
        job(target="handlers.jobs.billing_run:main"),
        "nightly: target 'handlers.jobs.billing_run:main': handlers.jobs.billing_run has no function main",
    ),
    Mistake(
        job(target="handlers.declaration.duration:Span"),
        "nightly: target 'handlers.declaration.duration:Span': handlers.declaration.duration has no function Span",
    ),
    Mistake(job(memory=64), "nightly: memory 64: allowed is 128 to 122,880 MB"),
    Mistake(job(memory=200_000), "nightly: memory 200000: allowed is 128 to 122,880 MB"),
    Mistake(job(disk=300_000), "nightly: disk 300000: allowed is 512 to 204,800 MB"),
    Mistake(job(longest_run=hours(25)), "nightly: longest_run 1 day, 1:00:00: allowed is 1 second to 24 hours"),
    Mistake(job(longest_run=timedelta()), "nightly: longest_run 0:00:00: allowed is 1 second to 24 hours"),
    Mistake(job(start_within=hours(25)), "nightly: start_within 1 day, 1:00:00: allowed is 1 second to 24 hours"),
    Mistake(job(stop_within=seconds(111)), "nightly: stop_within 0:01:51: allowed is more than 0 and at most 0:01:50"),
    Mistake(job(compute="ec2"), "nightly: compute 'ec2': allowed is auto, lambda, fargate"),
    Mistake(
        job(compute="lambda", longest_run=minutes(45)),
        "nightly: compute 'lambda': longest_run 45 min + 30 s margin passes Lambda's 900 s; allowed is auto or fargate",
    ),
    Mistake(job(overlap="queue-up"), f"nightly: overlap 'queue-up': allowed is {', '.join(get_args(Overlap))}"),
    Mistake(job(on_lost="ignore"), "nightly: on_lost 'ignore': allowed is retry, hold"),
    Mistake(job(retry=Retry(attempts=0)), "nightly: retry.attempts 0: allowed is 1 to 20"),
    Mistake(job(retry=Retry(base=seconds(0))), "nightly: retry.base 0:00:00: allowed is more than 0 seconds"),
    Mistake(
        job(retry=Retry(base=minutes(10), cap=minutes(5))),
        "nightly: retry.cap 0:05:00: allowed is retry.base (0:10:00) or more",
    ),
    Mistake(
        job(retry=Retry(attempts=10, base=hours(1), cap=hours(12))),
        "nightly: retry.attempts 10: the waits between them may add up to 3 days, 3:00:00; "
        "allowed is 24 hours in all, so lower attempts or cap",
    ),
    Mistake(job(catch_up=CatchUp("last")), "nightly: catch_up.mode 'last': allowed is skip, latest, all"),  # type: ignore[arg-type]
    Mistake(
        job(catch_up=CatchUp(window=hours(200))),
        "nightly: catch_up.window 8 days, 8:00:00: allowed is more than 0 and at most 7 days, or None",
    ),
    Mistake(job(catch_up=CatchUp(at_most=0)), "nightly: catch_up.at_most 0: allowed is 1 to 1000"),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_each_mistake_is_one_line_that_names_job_field_value_and_what_is_allowed(mistake: Mistake) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        declare(mistake.job)
    assert str(refused.value).splitlines() == ["1 mistake in the job table:", f"  {mistake.line}"]


def test_a_job_without_mistakes_is_declared() -> None:
    assert list(declare(job())) == [job()]


def test_mistakes_in_two_jobs_are_told_at_once() -> None:
    with pytest.raises(InvalidSchedule) as refused:
        declare(job("one", memory=64), job("two"), job("three", schedule=cron("60 2 * * ? *")))
    assert str(refused.value).splitlines() == [
        "2 mistakes in the job table:",
        "  one: memory 64: allowed is 128 to 122,880 MB",
        "  three: schedule minute '60': allowed is 0-59, with , - * /",
    ]


def test_two_mistakes_in_one_job_are_told_at_once() -> None:
    with pytest.raises(InvalidSchedule) as refused:
        declare(job(schedule=cron("60 24 * * ? *"), longest_run=hours(25)))
    assert len(refused.value.complaints) == 3


def test_a_name_given_twice_is_refused_once() -> None:
    with pytest.raises(InvalidSchedule) as refused:
        declare(job("one"), job("two"), job("one"))
    assert refused.value.complaints == ("one: name 'one' is given 2 times: allowed is once",)


def test_a_target_that_is_not_python_is_refused_without_running_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half_written.py").write_text("def run(context:\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InvalidSchedule, match=r"half_written\.py is not Python source: .* line 1"):
        declare(job(target="half_written:run"))


@pytest.mark.parametrize("parameters", ["", "context, more", "*contexts"])
def test_a_target_must_take_the_context_alone(parameters: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "written.py").write_text(f"raise SystemExit('imported')\ndef run({parameters}): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InvalidSchedule, match="run must take one argument, the context"):
        declare(job(target="written:run"))


def test_an_unknown_job_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownJob, match=r"unknown job 'nightli': did you mean nightly\?"):
        declare(job()).find("nightli")


def test_the_table_loads_the_standard_library_and_nothing_that_jobs_need() -> None:
    """So synth, the tests and the smallest Lambda can all import it. tzdata is the standard library's own data."""
    script = (
        "import sys; before = set(sys.modules); import handlers.schedule; "
        "print(*(name for name in sys.modules if name not in before and not name.startswith('_sysconfigdata')))"
    )
    loaded = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    modules = loaded.stdout.split()
    assert "handlers.schedule" in modules
    assert {name.partition(".")[0] for name in modules} - sys.stdlib_module_names <= {"handlers", "tzdata"}
    assert not [name for name in modules if name.startswith(("handlers.jobs", "handlers.guard", "handlers.runtime"))]
