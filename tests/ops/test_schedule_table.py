"""The Markdown table of a schedule."""

from handlers.declaration.catalogue import declare
from handlers.declaration.cron import cron
from handlers.declaration.duration import minutes, seconds
from handlers.declaration.job import Job
from handlers.declaration.policy import Retry
from handlers.schedule import SCHEDULE
from ops.schedule_table import schedule_table


def test_the_table_says_of_each_job_when_where_why_and_how_long() -> None:
    catalogue = declare(
        Job(
            "long",
            target="tests.runtime.sample_jobs:succeed",
            schedule=cron("0 2 * * ? *", zone="Asia/Riyadh"),
            longest_run=minutes(45),
            memory=1024,
            retry=Retry(attempts=5, base=seconds(1), cap=minutes(5)),
        ),
        Job(
            "short",
            target="tests.runtime.sample_jobs:succeed",
            schedule=cron("0/15 * * * ? *"),
            longest_run=minutes(5),
            retry=Retry(attempts=1),
        ),
    )
    header, rule, long, short = schedule_table(catalogue).splitlines()
    assert header == "| job | schedule | zone | runs on | why there | longest run | retries |"
    assert rule == "| --- | --- | --- | --- | --- | --- | --- |"
    assert long.startswith("| `long` | `0 2 * * ? *` | Asia/Riyadh | Fargate, 0.25 vCPU 1024 MB | longest_run 45 min")
    assert long.endswith("| 45 min | 5 attempts, at most 8 s apart |")
    assert short.startswith("| `short` | `0/15 * * * ? *` | UTC | Lambda, 256 MB | ")
    assert short.endswith("| 5 min | 1 attempt |")


def test_every_job_of_the_schedule_has_its_row_in_the_same_order() -> None:
    rows = schedule_table(SCHEDULE).splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == [job.name for job in SCHEDULE]
