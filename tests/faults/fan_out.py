"""One parent, thousands of children, workers killed and messages doubled: `python -m tests.faults.fan_out`.

The stacks of dev in a local AWS, as they are synthesised: inventory-sync sends out one run of inventory-pull for each
restaurant, and workers on Fargate take them from the queue. Exits with 1 when an effect is missing or came twice.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import psycopg

from handlers.schedule import SCHEDULE
from infra.environments import ENVIRONMENTS, choose
from ops.local.aws.deploy import deploy
from ops.local.aws.server import LocalAws
from ops.local.aws.settings import Settings
from ops.local.platform.load import load
from ops.local.pos.server import PosServer, menus
from ops.local.postgres import server
from ops.local.synth import synthesised
from ops.migrate_task import MigrationTask, run_migrations
from tests.faults.fan_out_chaos import Chaos
from tests.faults.fan_out_check import AUDIT, findings

PARENT, CHILD = "inventory-sync", "inventory-pull"
# Every fact of the POS follows from the time: one that stands still says what the stock must be at the end.
STANDSTILL = datetime(2026, 11, 29, 12, 0, tzinfo=UTC).timestamp()
LOOK_EVERY = 1.0  # seconds

# Some are not yet or no longer customers, and no child is sent out for them.
ALL_OPEN = "update platform.restaurants set opened_on = '2020-01-01', closed_on = null"
PROGRESS = """
select parent.status, count(child.id), count(child.id) filter (where child.status = 'succeeded'),
       count(child.id) filter (where child.status = 'failed')
from shiftlock.job_runs as parent left join shiftlock.job_runs as child on child.parent_id = parent.id
where parent.job_name = %(parent)s and parent.run_key = %(key)s group by parent.id
"""


@dataclass(frozen=True, slots=True)
class Stage:
    """What the play needs: the deployed environment, its database, and the POS."""

    aws: LocalAws
    ledger: psycopg.Connection
    pos: PosServer


@contextmanager
def stage(folder: Path, restaurants: int) -> Iterator[Stage]:
    """The environment with so many restaurants, without a day of orders, and with effects that are counted."""
    [dev] = choose(ENVIRONMENTS, "dev")
    synthesised("dev", folder / "cdk.out")
    with ExitStack() as running:
        url = running.enter_context(server(None, fast=True))
        load(url, date(2026, 11, 28), days=0, restaurants=restaurants, orders_per_day=60)
        pos = running.enter_context(PosServer(menus(restaurants), clock=lambda: STANDSTILL))
        running.enter_context(pos.serving())
        injected = {"SHIFTLOCK_DATABASE_URL": url, "SHIFTLOCK_POS_URL": pos.url}
        aws = running.enter_context(LocalAws(Settings(folder / "aws", injected=injected, grace=1.0)))
        ledger = running.enter_context(psycopg.connect(url, autocommit=True))
        outputs = deploy(aws, folder / "cdk.out", [dev.data_stack, dev.migrate_stack])
        run_migrations(aws.client("ecs"), MigrationTask.from_outputs(outputs[dev.migrate_stack]), between_looks=0.05)
        ledger.execute(AUDIT)
        ledger.execute(ALL_OPEN)
        deploy(aws, folder / "cdk.out", [dev.jobs_stack])
        yield Stage(aws, ledger, pos)


def play(on: Stage, chaos: Chaos, *, limit: float) -> tuple[str, list[str]]:
    """Ring the parent and wait for its end, in the middle of all that goes wrong; its key, and what is wrong then."""
    tick = SCHEDULE.find(PARENT).schedule.previous(datetime.now(UTC))
    assert tick is not None
    key = f"{tick:%Y-%m-%dT%H:%MZ}"
    on.aws.fire(f"shiftlock-dev-{PARENT}", at=tick)
    began = time.monotonic()
    with chaos.going_on():
        while True:
            row = on.ledger.execute(PROGRESS, {"parent": PARENT, "key": key}).fetchone()
            if row is not None and row[0] not in ("pending", "running"):
                break
            if time.monotonic() - began > limit:
                return key, [f"{PARENT} has not ended within {limit:.0f} s: {row}"]
            if row is not None:
                _say(f"{time.monotonic() - began:5.0f} s  {row[2]} of {row[1]} done, {chaos.told}")
            time.sleep(LOOK_EVERY)  # it is a report, and waits for nobody
    return key, findings(on.ledger, on.pos, parent=PARENT, key=key)


def main(arguments: list[str]) -> int:
    """Play what the arguments say, print the report, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.fan_out", description=__doc__.partition("\n")[0])
    parser.add_argument("--children", type=int, default=5000)
    parser.add_argument("--twice", type=float, default=0.2, help="the share of messages that come a second time")
    parser.add_argument("--kill-every", type=float, default=3.0, help="seconds between two kills of a worker, 0: never")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds until it has failed")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    wanted = parser.parse_args(arguments)
    _say(f"seed {wanted.seed}")
    with tempfile.TemporaryDirectory() as folder, stage(Path(folder), wanted.children) as on:
        chaos = Chaos(on.aws, on.ledger.info.dsn, seed=wanted.seed, twice=wanted.twice, kill_every=wanted.kill_every)
        began = time.monotonic()
        key, wrong = play(on, chaos, limit=wanted.limit)
        _say(f"{PARENT} {key} over after {time.monotonic() - began:.0f} s: {chaos.told}")
        for line in wrong:
            _say(f"wrong: {line}")
        if wrong:
            _say(
                "\n".join(f"{path.name}:\n{path.read_text()[-2000:]}" for path in (Path(folder) / "aws/logs").glob("*"))
            )
    _say("every effect happened once" if not wrong else f"{len(wrong)} things are wrong")
    return int(bool(wrong))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
