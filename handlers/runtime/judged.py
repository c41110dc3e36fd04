"""What is to become of a message after a look at it, within what SQS itself does with messages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from handlers.declaration.duration import minutes, seconds
from handlers.queues.message import Message
from handlers.queues.verdict import Verdict
from handlers.runtime.report import Report

# How long a message waits that nothing can be done with now: longer each time, since SQS counts how often it is taken.
SHORTEST_WAIT = seconds(15)
LONGEST_WAIT = minutes(15)

NO_TIME = Verdict("later", "too little time is left for it here")


@dataclass(frozen=True, slots=True)
class Judged:
    """What a start has come to. message: None when it says no run. report: None when no run was asked for.

    may_park: the ledger may have the run without a message. ledger_out: the ledger did not answer, nor would it another
    message.
    """

    verdict: Verdict
    message: Message | None = None
    report: Report | None = None
    may_park: bool = True
    ledger_out: bool = False

    def without_message(self) -> Judged:
        """The same once the ledger alone has the run: there is nothing to be shown again."""
        over = Verdict("delete", self.verdict.because)
        return replace(self, verdict=over) if self.verdict.deed in ("later", "park") else self


def in_its_place(wanted: Verdict, *, fifo: bool, taken: int, most: int) -> Verdict:
    """The verdict, with an eye on what SQS does by itself. taken: how often the message was, this time included. most:
    how often it may be before SQS makes it a dead letter.

    In a FIFO queue a message that is parked would let the ones after it pass: it keeps its place for as long as SQS
    lets it.
    """
    if wanted.deed == "later" and taken >= most:
        return Verdict("park", f"{wanted.because}; taken once more it would be a dead letter")
    if wanted.deed == "park" and fifo and taken < most:
        return Verdict("later", wanted.because, longer_each_time(taken))
    return wanted


def longer_each_time(taken: int) -> timedelta:
    """How long to wait with a message that was taken so often."""
    factor: int = 2 ** min(taken - 1, 10)  # no timedelta holds a large power
    return min(SHORTEST_WAIT * factor, LONGEST_WAIT)
