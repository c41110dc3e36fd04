"""The crontab: every job of the platform, on one page."""

from handlers.declaration.catalogue import declare
from handlers.declaration.cron import cron, every
from handlers.declaration.duration import hours, minutes, seconds
from handlers.declaration.job import Job
from handlers.declaration.policy import CatchUp, Retry
from handlers.declaration.queue import Queue

SCHEDULE = declare(
    Job(
        "billing-run",
        description="Invoices every restaurant for the day before.",
        target="handlers.jobs.billing_run:run",
        schedule=cron("0 2 * * ? *", zone="Asia/Riyadh"),
        longest_run=minutes(45),
        memory=1024,
        start_within=minutes(10),
        catch_up=CatchUp("all", window=hours(6)),
        retry=Retry(attempts=5, base=seconds(1), cap=minutes(5)),
    ),
    Job(
        "report-aggregation",
        description="Writes the daily report of every restaurant.",
        target="handlers.jobs.report_aggregation:run",
        schedule=cron("30 3 * * ? *"),
        longest_run=minutes(30),
        memory=2048,
        catch_up=CatchUp("latest", window=hours(12)),
    ),
    Job(
        "session-cleanup",
        description="Deletes sessions that ended more than a week ago, in small batches.",
        target="handlers.jobs.session_cleanup:run",
        schedule=every(minutes=15),
        longest_run=minutes(5),
        memory=256,
        start_within=minutes(5),
        catch_up=CatchUp("skip"),
    ),
    Job(
        "inventory-sync",
        description="Has the stock of every restaurant brought up to what its POS counts.",
        target="handlers.jobs.inventory_sync:run",
        schedule=every(hours=1),
        longest_run=minutes(5),
        memory=256,
        catch_up=CatchUp("latest", window=hours(1)),
        sends=("inventory-pull",),
    ),
    Job(
        "inventory-pull",
        description="Brings the stock of one restaurant up to what its POS counts.",
        target="handlers.jobs.inventory_pull:run",
        queue=Queue(concurrency=4),
        longest_run=minutes(5),
        memory=512,
        compute="fargate",
        internet=True,
        retry=Retry(attempts=5, base=seconds(2), cap=minutes(5)),
    ),
    Job(
        "image-resize",
        description="Makes smaller images of an uploaded one.",
        target="handlers.jobs.image_resize:run",
        queue=Queue(concurrency=10, batch=1),
        longest_run=minutes(2),
        memory=2048,
        retry=Retry(attempts=4, base=seconds(5), cap=minutes(2)),
        reads=("uploads/",),
        writes=("images/",),
    ),
    Job(
        "weekly-export",
        description="Exports the orders of the last seven days as Parquet and CSV.",
        target="handlers.jobs.weekly_export:run",
        schedule=cron("0 5 ? * MON *", zone="Asia/Riyadh"),
        longest_run=hours(1),
        memory=1024,
        compute="fargate",
        catch_up=CatchUp("latest", window=hours(48)),
        writes=("exports/",),
    ),
)
