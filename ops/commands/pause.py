"""`jobs pause` and `jobs resume`: let no more ticks of a job start, and let them start again."""

from datetime import UTC, datetime

from handlers.declaration.job import Job
from handlers.guard import intervene
from handlers.guard.lock import register
from handlers.schedule import SCHEDULE
from ops.configured import needed
from ops.reading import changing
from ops.refused import Refused
from ops.wording import minute


def pause(name: str) -> None:
    """Pause the job and print what that means. Raises UnknownJob, Refused, and what opening the ledger raises."""
    job = SCHEDULE.find(name)
    with changing(needed()) as ledger:
        register(ledger, [job.name])
        if not intervene.pause(ledger, job.name):
            raise Refused(f"{name} is paused already; `jobs resume {name}` ends that")
    print(f"{name} is paused: {meanwhile(job)}")


def meanwhile(job: Job) -> str:
    """What becomes of the job's ticks and messages until it is resumed, and what ends the pause."""
    ticks = ["what is due ends skipped"] if job.scheduled else []
    messages = ["messages wait in the ledger and start after the pause"] if job.queue is not None else []
    said = "; ".join(ticks + messages) + ", and what runs goes on"
    by_hand = f"`jobs run {job.name}` starts it all the same, " if job.scheduled else ""
    return f"{said}; {by_hand}`jobs resume {job.name}` ends the pause"


def resume(name: str) -> None:
    """Resume the job and print when it is due next. Raises what `pause` does."""
    job = SCHEDULE.find(name)
    with changing(needed()) as ledger:
        if not intervene.resume(ledger, job.name):
            raise Refused(f"{name} is not paused; `jobs pause {name}` does that")
    tick = job.schedule.next(datetime.now(UTC))
    print(f"{name} is resumed" + ("" if tick is None else f": its next tick is {minute(tick)}"))
