"""`make run`: the whole platform on this machine, started in order and stopped in reverse.

PostgreSQL from a wheel, a restaurant platform's data, the synthesised stacks deployed into a local AWS; then the
schedules ring by themselves. Database and data stay in .data between runs.
"""

import argparse
import signal
import sys
import time
from collections.abc import Container, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType
from zoneinfo import ZoneInfo

import psycopg
from botocore.exceptions import BotoCoreError, ClientError

from handlers.guard.errors import one_line
from handlers.pos.address import VARIABLE as POS_URL
from handlers.queues.errors import NotPublished
from handlers.queues.publish import Publisher
from handlers.schedule import SCHEDULE
from ops.local.aws.deploy import deploy
from ops.local.aws.errors import LocalAwsError
from ops.local.aws.server import LocalAws
from ops.local.aws.settings import Settings
from ops.local.deployed import AWS, ENDPOINT, ENVIRONMENT, FOLDER, LOCK, SERVICE
from ops.local.file_lock import Taken, only_one
from ops.local.platform.begin import OtherDataset
from ops.local.platform.load import DAYS, ORDERS_PER_DAY, RESTAURANTS, load
from ops.local.platform.workers import LoadFailed
from ops.local.pos.server import pos
from ops.local.postgres import LocalPostgresError, server
from ops.local.progress import Step, step
from ops.local.queues import Queues
from ops.local.service_env import written
from ops.local.settled import standings
from ops.local.synth import SynthFailed, synthesised
from ops.local.uploads import JOB, put, send, uploads
from ops.local.watch import Stuck, watch, watch_until_settled
from ops.migrate_task import MigrationFailed, MigrationTask, run_migrations
from ops.queue_place import QueuePlace

# Where the platform keeps its books: its last whole day is the newest that a job can ask for.
BOOKS = ZoneInfo("Asia/Riyadh")

# A queue of the local AWS is new with each start: what was in it, the watchdog rings for again.
MESSAGES_ARE_GONE = """
update shiftlock.job_runs set message_until = null where message_until is not null and finished_at is null
"""

EXPECTED = (
    BotoCoreError,
    ClientError,
    LoadFailed,
    LocalAwsError,
    LocalPostgresError,
    MigrationFailed,
    NotPublished,
    OSError,
    OtherDataset,
    Stuck,
    SynthFailed,
    Taken,
    psycopg.Error,
)


def main() -> int:
    """Run until Ctrl-C, or until every job has succeeded with `--until settled`; 1 and one line on stderr if not."""
    parser = argparse.ArgumentParser(prog="make run", description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--until", choices=["settled"], help="end once every job has one succeeded run")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where database and logs are kept")
    parser.add_argument("--days", type=int, default=DAYS, help="days of orders")
    parser.add_argument("--restaurants", type=int, default=RESTAURANTS)
    parser.add_argument("--orders-per-day", type=int, default=ORDERS_PER_DAY, help="of all restaurants together")
    given = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    try:
        given.folder.mkdir(parents=True, exist_ok=True)
        with only_one(given.folder / LOCK), ExitStack() as running:
            _up_and_watch(running, given)
    except KeyboardInterrupt:
        print(f"\nstopped: everything that was started has ended; the data is kept in {given.folder}")
        return 130 if given.until else 0
    except EXPECTED as error:
        print(f"make run: {one_line(error)}", file=sys.stderr)
        return 1
    return 0


def _end(number: int, frame: FrameType | None) -> None:
    # Once is enough: a second Ctrl-C must not cut the stopping short.
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def _up_and_watch(running: ExitStack, given: argparse.Namespace) -> None:
    began, folder = time.monotonic(), given.folder.resolve()
    print(f"Shiftlock on this machine, as {ENVIRONMENT.name}")
    with step("PostgreSQL"):
        url = running.enter_context(server(folder / "postgres"))
    with step("restaurant data") as current:
        current.note = _load_data(url, current, given)
    with step("bundle and synthesis") as current:
        assembly = folder / "cdk.out"
        current.note = "" if synthesised(ENVIRONMENT.name, assembly) else "unchanged"
    with step("local AWS, and a POS"):
        injected = {"SHIFTLOCK_DATABASE_URL": url, POS_URL: running.enter_context(pos(given.restaurants))}
        aws = running.enter_context(LocalAws(Settings(folder / AWS, injected=injected)))
        (folder / ENDPOINT).write_text(aws.endpoint + "\n")
    with step("deploy of network and data"):
        data = deploy(aws, assembly, [ENVIRONMENT.data_stack])[ENVIRONMENT.data_stack]
    with step("migrations, as a task"):
        outputs = deploy(aws, assembly, [ENVIRONMENT.migrate_stack])[ENVIRONMENT.migrate_stack]
        run_migrations(aws.client("ecs"), MigrationTask.from_outputs(outputs), between_looks=0.1)
    with step("deploy of the jobs"):
        deploy(aws, assembly, [ENVIRONMENT.jobs_stack, ENVIRONMENT.alarms_stack])
    (folder / "database-url").write_text(url + "\n")
    ledger = running.enter_context(psycopg.connect(url, autocommit=True))
    ledger.execute(MESSAGES_ARE_GONE)
    done = {standing.job for standing in standings(ledger) if standing.succeeded}
    _fire_what_never_ran(aws, done)
    _upload(aws, data, done)
    queues_and_files = {"SHIFTLOCK_QUEUES": data["QueuesOfJobs"], "SHIFTLOCK_FILES": data["FilesOfJobs"]}
    read = running.enter_context(written(folder / SERVICE, {**aws.environment, **queues_and_files}))
    print(f"services publish here after: {read}")
    print(f"up after {time.monotonic() - began:.1f} s; logs are in {folder / AWS / 'logs'}")
    queues = Queues(QueuePlace(ENVIRONMENT, aws.endpoint))
    if given.until == "settled":
        watch_until_settled(ledger, queues)
    else:
        watch(ledger, queues)


def _load_data(url: str, current: Step, given: argparse.Namespace) -> str:
    loaded = load(
        url,
        datetime.now(BOOKS).date() - timedelta(days=1),
        days=given.days,
        restaurants=given.restaurants,
        orders_per_day=given.orders_per_day,
        on_progress=lambda name, done, total: current.say(f"{name} {done} of {total}"),
    )
    return f"{len(loaded.days)} days added" if loaded.days else "complete"


def _fire_what_never_ran(aws: LocalAws, done: Container[str]) -> None:
    """Ring the latest tick of each job that has never succeeded, through its real rule or schedule."""
    now = datetime.now(UTC)
    for job in SCHEDULE:
        tick = job.schedule.previous(now)
        if job.name not in done and tick is not None:
            with step(f"ring {job.name}") as current:
                started = aws.fire(f"{ENVIRONMENT.prefix}-{job.name}", at=tick)
                current.note = f"{tick:%Y-%m-%d %H:%M} UTC -> {started[0].split(':')[2]}"


def _upload(aws: LocalAws, outputs: Mapping[str, str], done: Container[str]) -> None:
    """Fill the bucket, which is new with each start, and have the images resized that never were."""
    with step("uploads") as current:
        files, bucket = list(uploads()), outputs["FilesOfJobs"]
        put(aws.client("s3"), bucket, files)
        current.note = f"{len(files)} images in {bucket}"
        if JOB not in done:
            publisher = Publisher(outputs["QueuesOfJobs"], SCHEDULE, sqs=aws.client("sqs"))
            current.note += f"; {send(publisher, files)} messages to {JOB}"


if __name__ == "__main__":
    sys.exit(main())
