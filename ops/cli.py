"""`jobs`: look at the schedule and the ledger, run a job, end or repeat a run, migrate.

What a command works with is imported when it is called: `jobs --help` must not wait for a database driver, and a
mistake in the job table must be an answer, not a traceback.
"""

import os
import sys
from collections.abc import Sequence

import typer

from ops.parameters import (
    As,
    AsJson,
    Breaking,
    ByClock,
    Count,
    Die,
    Dst,
    Duplicate,
    Expression,
    Fail,
    From,
    JobName,
    Last,
    Load,
    Lost,
    MaybeJobName,
    MaybeStatus,
    Note,
    Now,
    OutageOption,
    Pages,
    Partition,
    Reason,
    RunName,
    Seed,
    SimulatedFrom,
    SimulatedJob,
    SimulatedTo,
    Takes,
    Tick,
    Verbose,
    Zone,
)
from ops.queue_cli import app as queue_app
from ops.usage import in_one_line

app = typer.Typer(
    name="jobs",
    help="Shiftlock's jobs: what is due, what ran, and what became of it.",
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(queue_app)


@app.command("list")
def list_jobs(*, dst: Dst = False, load: Load = False, start: From = None, as_json: AsJson = False) -> None:
    """The schedule, and how each job went last; or what clock changes or a busy minute do to it."""
    from ops.commands.list_jobs import list_jobs

    list_jobs(dst=dst, load=load, start=start, as_json=as_json)


@app.command("next")
def next_ticks(job: MaybeJobName = None, *, count: Count = 5, start: From = None, as_json: AsJson = False) -> None:
    """The coming ticks, in the order of time."""
    from ops.commands.next_ticks import next_ticks

    next_ticks(job, count=count, start=start, as_json=as_json)


@app.command("cron")
def show_cron(expression: Expression, *, zone: Zone = None, start: From = None, as_json: AsJson = False) -> None:
    """What a unix crontab line is to EventBridge, with the coming ticks of both side by side."""
    from ops.commands.cron import show_cron

    show_cron(expression, zone=zone, start=start, as_json=as_json)


@app.command("run")
def run_job(job: JobName, *, tick: Tick = None, partition: Partition = None, verbose: Verbose = False) -> int:
    """Run a job here and now. Exits with 0 when it succeeded, else with the code of its outcome in the README."""
    from ops.commands.run_job import run_job

    return run_job(job, tick=tick, partition=partition, verbose=verbose)


@app.command("runs")
def runs(job: MaybeJobName = None, *, last: Last = 20, status: MaybeStatus = None, as_json: AsJson = False) -> None:
    """The newest runs in the ledger; planned ones with --status pending."""
    from ops.commands.runs import list_runs

    list_runs(job, last=last, status=status, as_json=as_json)


@app.command("show")
def show(run: RunName, *, as_json: AsJson = False) -> None:
    """One run, with its attempts, its progress and its result."""
    from ops.commands.show import show_run

    show_run(run, as_json=as_json)


@app.command("cancel")
def cancel(run: RunName, *, reason: Reason = None) -> None:
    """End a run: at once if it is pending; one that is running hears of it with its next heartbeat."""
    from ops.commands.cancel import cancel_run

    cancel_run(run, reason=reason)


@app.command("resolve")
def resolve(run: RunName, *, verdict: As, note: Note = None) -> None:
    """Say what became of an unknown run, or have it tried again."""
    from ops.commands.resolve import resolve_run

    resolve_run(run, verdict=verdict, note=note)


@app.command("retry")
def retry(run: RunName) -> None:
    """Let a run that failed, was skipped or was cancelled be due again, for one more attempt."""
    from ops.commands.retry import retry_run

    retry_run(run)


@app.command("pause")
def pause_job(job: JobName) -> None:
    """Let no more ticks of a job start; each ends skipped, with that reason."""
    from ops.commands.pause import pause

    pause(job)


@app.command("resume")
def resume_job(job: JobName) -> None:
    """Let the ticks of a paused job start again."""
    from ops.commands.pause import resume

    resume(job)


@app.command("break")
def break_job(job: JobName, *, how: Breaking, now: Now = False) -> None:
    """Let the next start of a job fail, once, on the local AWS of a running `make run`."""
    from ops.commands.break_job import break_job

    break_job(job, how=how, now=now)


@app.command("doctor")
def doctor(*, as_json: AsJson = False) -> int:
    """Check the database, the ledger and what is stuck there. Exits with 1 when there is a problem."""
    from ops.commands.doctor import doctor

    return doctor(as_json=as_json)


@app.command("simulate")
def simulate(
    *,
    start: SimulatedFrom,
    end: SimulatedTo,
    outage: OutageOption = None,
    lost: Lost = 0.0,
    duplicate: Duplicate = 0.0,
    fail: Fail = None,
    die: Die = None,
    takes: Takes = 0.1,
    clock: ByClock = False,
    seed: Seed = 1,
    job: SimulatedJob = None,
    pages: Pages = 20,
    as_json: AsJson = False,
) -> None:
    """What the ledger would come to hold, on a virtual clock: what ran, what did not, and when somebody is called."""
    from ops.commands.simulate import simulate

    simulate(
        start=start,
        end=end,
        given=outage or [],
        lost=lost,
        duplicate=duplicate,
        fail=fail or [],
        die=die or [],
        takes=takes,
        clock=clock,
        seed=seed,
        job=job,
        most_pages=pages,
        as_json=as_json,
    )


@app.command("migrate")
def migrate() -> None:
    """Update the ledger's schema and register the jobs. Safe to repeat, and safe twice at once."""
    from ops.commands.migrate import migrate_ledger

    migrate_ledger()


@app.command("serve")
def serve() -> int:
    """Start every job when it is due, from this process and without EventBridge. Ctrl-C stops it."""
    from ops.commands.serve import serve

    return serve()


def main() -> None:
    """The console script."""
    sys.exit(call(sys.argv[1:]))


def call(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; every refusal is one line on stderr."""
    try:
        code: int = app(arguments or ["--help"], prog_name="jobs", standalone_mode=False) or 0
        sys.stdout.flush()  # while a full disk can still be answered
    except typer.TyperException as error:
        print(f"jobs: {in_one_line(error)}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        _discard_output()
        return 1
    except Exception as error:
        from ops.exits import refusal

        if (no := refusal(error)) is None:
            raise
        print(f"jobs: {no.text}", file=sys.stderr)
        if isinstance(error, OSError):
            _discard_output()
        return no.exit_code
    return code


def _discard_output() -> None:
    """Let what is still buffered for stdout go nowhere: the interpreter would fail over it again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
