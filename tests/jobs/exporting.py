"""The weekly export on a test's database, to a test's bucket."""

from datetime import UTC, datetime, timedelta

from aws_lambda_powertools.logging import Logger

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.cron import cron
from handlers.declaration.job import Job
from handlers.declaration.policy import Retry
from handlers.runtime.identity import Delivery
from handlers.runtime.report import Report
from handlers.runtime.runner import Runner
from handlers.runtime.settings import DatabaseUrl, Settings
from handlers.runtime.stop import Stop

BUCKET = "shiftlock-dev-files"
TICK = datetime(2026, 11, 30, 5, tzinfo=UTC)
FOLDER = "exports/2026-11-30"
MANIFEST = f"{FOLDER}/manifest.json"
ONCE = Retry(attempts=1, base=timedelta(milliseconds=1), cap=timedelta(milliseconds=1))


def export(url: str, at: datetime = TICK, *, stop: Stop | None = None) -> Report:
    """The report of the run for a tick, of one attempt by the real runner."""
    job = Job(
        "weekly-export",
        target="handlers.jobs.weekly_export:run",
        schedule=cron("0 5 ? * MON *"),
        longest_run=timedelta(minutes=5),
        compute="fargate",
        writes=("exports/",),
        retry=ONCE,
    )
    runner = Runner(
        settings=Settings("dev", DatabaseUrl(url), files=BUCKET),
        observers=(),
        log=Logger(service="shiftlock"),
        compute="test",
        stop=stop or Stop(),
        catalogue=Catalogue((job,)),
    )
    return runner.run(job, Delivery("rule", at))
