"""What becomes of runs that are due: started, left to wait, or skipped with the reason. Pure functions.

A tick is on time while it is younger than `on_time`; after that it is a misfire, which the job's catch-up policy
judges. Of a job's misfires one is started at a time, so that a thousand of them never run at once.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from handlers.declaration.policy import CatchUp

SkipReason = Literal["window", "cap", "paused", "superseded", "too_late"]

CATCHING_UP = "catch-up"  # the trigger of a misfire's run


@dataclass(frozen=True, slots=True)
class Due:
    """A pending run whose time has come.

    fresh: a planned tick that nobody has touched, due at its tick; else it is owed: a retry, a run that waits its turn,
    or one that a person wants. attempts: those it has had. held_by: the trigger of the run that has its lock key now.
    catching_up: a misfire of the job is running. called: a process is being started for it.
    """

    run_id: int
    run_key: str
    due_at: datetime
    tick: datetime | None
    lock_key: int
    fresh: bool
    trigger: str
    attempts: int = 0
    held_by: str | None = None
    catching_up: bool = False
    called: bool = False


@dataclass(frozen=True, slots=True)
class Start:
    """Start it, with this trigger."""

    due: Due
    trigger: str
    because: str


@dataclass(frozen=True, slots=True)
class Skip:
    """It ends skipped."""

    due: Due
    reason: SkipReason
    because: str


Verdict = Start | Skip


def judge(
    policy: CatchUp,
    due: Sequence[Due],
    *,
    now: datetime,
    on_time: timedelta,
    rings: bool,
    delay: timedelta = timedelta(),
    paused: bool = False,
    started: datetime | None = None,
    complete: bool = True,
) -> list[Verdict]:
    """The verdicts on a job's due runs; one without a verdict waits, such as one that was called.

    rings: this scheduler starts what is on time, `delay` after its tick, and does not wait for somebody else's bell.
    paused: only what a person asked for is started. started: the job's newest tick that has had an attempt. complete:
    these are all of them; else no misfire is started yet, since a better one may follow.
    """
    fresh = sorted((one for one in due if one.fresh), key=lambda one: one.due_at)
    owed = [one for one in due if not one.fresh]
    if paused:
        skips = (Skip(one, "paused", "the job is paused") for one in fresh if not one.called)
        return [*skips, *_free(due, _starts([one for one in owed if one.trigger == "manual"]))]
    missed = [one for one in fresh if now - one.due_at >= on_time]
    # A tick that somebody else is to ring may never be rung: it makes up for nothing.
    counted = fresh if rings else missed
    dropped = [skip for skip in _dropped(policy, counted, missed, now=now, started=started) if not skip.due.called]
    gone = {skip.due.run_id for skip in dropped}
    starts = [
        # On time first, so that what was missed never holds it up.
        *(Start(one, "clock", "it is due") for one in fresh[len(missed) :] if rings and now - one.due_at >= delay),
        *_starts(owed),
        *[Start(one, CATCHING_UP, "it was missed") for one in missed if complete and one.run_id not in gone][:1],
    ]
    return [*dropped, *_free(due, starts)]


def _dropped(
    policy: CatchUp, fresh: Sequence[Due], missed: Sequence[Due], *, now: datetime, started: datetime | None
) -> Iterator[Skip]:
    """The misfires that are not made up for. `fresh` and `missed` go from the oldest to the newest."""
    if policy.mode == "skip":
        yield from (Skip(one, "too_late", f"{_age(one, now)} late, and catch_up is skip") for one in missed)
        return
    kept = list(missed)
    if policy.window is not None:
        too_old = [one for one in missed if now - one.due_at > policy.window]
        kept = kept[len(too_old) :]
        yield from (
            Skip(one, "window", f"{_age(one, now)} late, past the window of {policy.window}") for one in too_old
        )
    if policy.mode == "latest":
        newest = max((one.due_at for one in fresh), default=None)
        if started is not None and (newest is None or started > newest):
            newest = started
        yield from (
            Skip(one, "superseded", f"the tick of {newest:%Y-%m-%dT%H:%MZ} makes up for it")
            for one in kept
            if newest is not None and one.due_at < newest
        )
        return
    # The newest are worth most. What is on time counts, but is never dropped.
    too_many = max(0, len(kept) + len(fresh) - len(missed) - policy.at_most)
    yield from (
        Skip(one, "cap", f"{policy.at_most} newer ticks are due, and no more are caught up") for one in kept[:too_many]
    )


def _starts(owed: Sequence[Due]) -> Iterator[Start]:
    for one in owed:
        # What a person wants stays so in every attempt: a paused job runs it.
        again = one.trigger == "plan" or (one.attempts > 0 and one.trigger != "manual")
        yield Start(one, "retry" if again else one.trigger, "its wait is over")


def _free(due: Sequence[Due], starts: Iterable[Start]) -> Iterator[Start]:
    """Those that find their lock free, one for each lock key, and one misfire at a time of a job whose runs overlap.

    A tick on time is started beside a regular run too: what comes of it is the job's overlap policy. Beside a misfire
    it waits.
    """
    taken = {one.lock_key for one in due if one.called}
    for start in starts:
        beside_regular = start.trigger == "clock" and start.due.held_by != CATCHING_UP
        free = start.due.held_by is None and not (start.trigger == CATCHING_UP and start.due.catching_up)
        if start.due.lock_key not in taken and (free or beside_regular):
            taken.add(start.due.lock_key)
            yield start


def _age(due: Due, now: datetime) -> timedelta:
    return timedelta(seconds=round((now - due.due_at).total_seconds()))
