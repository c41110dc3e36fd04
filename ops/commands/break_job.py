"""`jobs break`: the next start of a job on the local AWS of `make run` fails, once, and its recovery can be seen."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from handlers.declaration.duration import minutes
from handlers.declaration.job import Job
from handlers.declaration.placement import place
from handlers.declaration.run_key import tick_key
from handlers.runtime.recorder.task_stopped import WORKER
from handlers.schedule import SCHEDULE
from ops import configured
from ops.local.aws.breaks import Breaks, How
from ops.local.aws.settings import Settings
from ops.local.deployed import AWS, ENVIRONMENT, LOCK
from ops.local.file_lock import held
from ops.refused import Refused
from ops.wording import minute

KILLED = "gets SIGKILL once it has claimed its run"
HAPPENS: dict[tuple[How, str], str] = {
    ("kill", "fargate"): f"{KILLED}: exit code 137",
    ("kill", "lambda"): f"{KILLED}: Runtime.ExitError",
    ("oom", "fargate"): f"{KILLED}, and ECS says OutOfMemoryError",
    ("oom", "lambda"): f"{KILLED}: Runtime.ExitError, which is all that Lambda says of too little memory",
    ("never-start", "fargate"): "never starts: ResourceInitializationError",
    ("never-start", "lambda"): "never starts: Runtime.ImportModuleError",
    ("timeout", "fargate"): "freezes once it has claimed its run",
    ("timeout", "lambda"): "freezes once it has claimed its run",
}
LOST = "the recorder takes the run from it at once, and the watchdog starts it again within a minute"
FROZEN = "its lease ends, and the watchdog's next pass takes the run from it and starts it again; "
FOLLOWS: dict[tuple[How, str], str] = {
    ("kill", "fargate"): LOST,
    ("kill", "lambda"): LOST,
    ("oom", "fargate"): LOST,
    ("oom", "lambda"): LOST,
    **dict.fromkeys(
        (("never-start", "fargate"), ("never-start", "lambda")),
        "the recorder writes that down as start_failed, which uses up no attempt, and the watchdog starts it again "
        "after a wait of up to 30 s",
    ),
    ("timeout", "fargate"): f"{FROZEN}the frozen task is stopped",
    ("timeout", "lambda"): f"{FROZEN}the frozen function is ended at its timeout",
}
# A job that only messages start: a worker's end is recorded like a task's, a batch of messages is nobody's to record.
RUNG_AGAIN = "its lease ends, and the watchdog's next pass takes the run from it and rings for it again; "
FOLLOWS_OF_MESSAGES: dict[tuple[How, str], str] = {
    ("kill", "fargate"): LOST,
    ("oom", "fargate"): LOST,
    ("never-start", "fargate"): "the service starts another in some seconds",
    ("timeout", "fargate"): f"{RUNG_AGAIN}the worker stays frozen until its service ends",
    **dict.fromkeys(
        (("kill", "lambda"), ("oom", "lambda"), ("timeout", "lambda")),
        f"{RUNG_AGAIN}the rest of its batch comes back when the queue shows it again",
    ),
    ("never-start", "lambda"): "its batch comes back when the queue shows it again",
}

MINUTE = minutes(1)
# How far back a tick without a run is looked for.
MOST_TICKS = 1000

KNOWN = "select run_key from shiftlock.job_runs where job_name = %(job)s and run_key = any(%(keys)s)"

# Owed, and no tick that was missed: the watchdog starts it whatever the job's catch-up policy is.
MAKE_DUE = """
insert into shiftlock.job_runs (job_name, run_key, lock_key, tick, trigger, status, next_run)
select name, %(key)s, lock_key, %(tick)s, 'manual', 'pending', clock_timestamp() from shiftlock.jobs
where name = %(job)s
on conflict (job_name, run_key) do nothing
returning id
"""


def break_job(name: str, *, how: How, now: bool) -> None:
    """Order the failure and print what will happen. now: have the newest tick without a run started, too.

    Raises UnknownJob, Refused where no local AWS runs, and what opening the ledger raises.
    """
    job = SCHEDULE.find(name)
    breaks = running_breaks(configured.LOCAL_URL.parent)
    compute = place(job, lambda_ceiling=ENVIRONMENT.lambda_ceiling).compute
    if now and not job.scheduled:
        raise Refused(
            f"--now: {name} has no ticks; leave it out, and `jobs queue send {name} JSON --key KEY` starts it, or "
            f"`jobs queue redrive {name}` where it has dead letters"
        )
    by_worker = not job.scheduled and compute == "fargate"
    breaks.order(ENVIRONMENT.name_of(name) + (WORKER if by_worker else ""), how)
    follows = (FOLLOWS if job.scheduled else FOLLOWS_OF_MESSAGES)[how, compute]
    print(f"the next start of {name} {HAPPENS[how, compute]}; then {follows}")
    if not job.scheduled:
        print(
            f"a message starts it; `jobs queue show {name}` says whether one waits, and `jobs queue send {name} JSON "
            "--key KEY` sends one"
        )
    elif now:
        run, tick = make_due(job)
        print(f"run {run} for {minute(tick)} is due: the watchdog starts it within a minute")
    elif (coming := job.schedule.next(datetime.now(UTC))) is not None:
        print(f"its next tick is {minute(coming)}; `jobs break {name} --how {how} --now` has an older one started")
    print(f"the table of `make run` shows it, and `jobs show RUN` its attempts; `jobs runs {name}` lists the runs")


def running_breaks(data: Path) -> Breaks:
    """Where the orders for the local AWS go that runs over this folder of data. Raises Refused when none does."""
    breaks = Breaks(Settings(data / AWS).breaks)
    if not (breaks.folder.is_dir() and held(data / LOCK)):
        raise Refused("no local AWS is running, and jobs are broken nowhere else: start one with `make run`")
    return breaks


def make_due(job: Job) -> tuple[int, datetime]:
    """Have the newest tick without a run started; the run's id and the tick. Raises Refused when there is none."""
    # Only here: a refusal needs no database driver.
    from handlers.runtime.settings import read_settings
    from ops.reading import changing

    url = configured.LOCAL_URL.read_text().strip()
    ticks = {tick_key(tick): tick for tick in islice(_back(job), MOST_TICKS)}
    with changing(read_settings({"SHIFTLOCK_ENVIRONMENT": "local", configured.URL: url})) as ledger:
        known = {key for (key,) in ledger.execute(KNOWN, {"job": job.name, "keys": list(ticks)})}
        for key, tick in ticks.items():
            if key not in known:
                row = ledger.execute(MAKE_DUE, {"job": job.name, "key": key, "tick": tick}).fetchone()
                if row is not None:
                    return int(row[0]), tick
    raise Refused(f"{job.name} has a run for each of its last {len(ticks)} ticks: wait for the next")


def _back(job: Job) -> Iterator[datetime]:
    """The ticks that are over, the newest first."""
    tick = job.schedule.previous(datetime.now(UTC))
    while tick is not None:
        yield tick
        tick = job.schedule.previous(tick - MINUTE)
