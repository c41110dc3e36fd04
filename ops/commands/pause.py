"""`jobs pause` and `jobs resume`: let no more ticks of a job start, and let them start again."""

from datetime import UTC, datetime

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
    print(
        f"{name} is paused: what is due ends skipped, and what runs goes on; "
        f"`jobs run {name}` starts it all the same, `jobs resume {name}` ends the pause"
    )


def resume(name: str) -> None:
    """Resume the job and print when it is due next. Raises what `pause` does."""
    job = SCHEDULE.find(name)
    with changing(needed()) as ledger:
        if not intervene.resume(ledger, job.name):
            raise Refused(f"{name} is not paused; `jobs pause {name}` does that")
    tick = job.schedule.next(datetime.now(UTC))
    print(f"{name} is resumed" + ("" if tick is None else f": its next tick is {minute(tick)}"))
