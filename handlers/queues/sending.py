"""Send many messages to one queue: in batches, with what SQS has not taken tried again where that may help."""

import random
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from handlers.declaration.duration import seconds
from handlers.declaration.policy import Retry
from handlers.queues.address import FIFO
from handlers.queues.refusal import UNMENTIONED, Refusal, of_call, of_entry

# "Amazon SQS message quotas": of one call, and of one message.
MOST_IN_BATCH = 10
LARGEST_BATCH = 2**20
# The SDK holds ten connections, and SQS answers in ten milliseconds or so.
CALLS_AT_ONCE = 8
TRIES = Retry(attempts=4, base=seconds(0.2), cap=seconds(5))


@dataclass(frozen=True, slots=True)
class Letter:
    """A message as it is posted. number: the sender's own, unique in one sending. group, sending: for a FIFO queue, see
    `group_of` and `sending_id`. delay: seconds; 0 is the queue's own delay.
    """

    number: int
    body: str
    group: str | None = None
    sending: str | None = None
    delay: int = 0

    @property
    def size(self) -> int:
        """Bytes, as SQS counts them."""
        return len(self.body.encode())

    def entry(self, place: int) -> dict[str, Any]:
        """The entry of SendMessageBatch; its answer names it by its place."""
        entry: dict[str, Any] = {"Id": str(place), "MessageBody": self.body}
        if self.delay:
            entry["DelaySeconds"] = self.delay
        if self.group is not None:
            entry |= {"MessageGroupId": self.group, "MessageDeduplicationId": self.sending}
        return entry


@dataclass(frozen=True, slots=True)
class Pace:
    """How much trouble is taken. until: on the monotonic clock, no call begins after it. sleep: waits seconds."""

    tries: Retry = TRIES
    until: float | None = None
    sleep: Callable[[float], object] = time.sleep


@dataclass(slots=True)
class Delivered:
    """What SQS has (`sent`) and what it has refused, by the letters' numbers; a letter in neither was not tried.

    A queue that is out of reach, or takes nothing from us, ends the sending.
    """

    sent: set[int] = field(default_factory=set)
    refused: dict[int, Refusal] = field(default_factory=dict)


def deliver(sqs: Any, url: str, letters: Sequence[Letter], pace: Pace) -> Delivered:
    """Send the letters. Raises nothing of SQS's: what it says is in the answer.

    To a FIFO queue one batch goes after the other, and once a letter of a group was refused none behind it is sent.
    """
    courier = _Courier(sqs, url, pace)
    if url.endswith(FIFO):
        courier.in_order(letters)
    else:
        courier.at_once(letters)
    return courier.done


class _Courier:
    def __init__(self, sqs: Any, url: str, pace: Pace) -> None:
        self._sqs, self._url, self._pace = sqs, url, pace
        self._halted = False
        self.done = Delivered()

    def at_once(self, letters: Sequence[Letter]) -> None:
        batches = list(_in_batches(letters))
        if len(batches) <= 1:
            for batch in batches:
                self._batch(batch)
            return
        with ThreadPoolExecutor(min(CALLS_AT_ONCE, len(batches))) as pool:
            list(pool.map(self._batch, batches))

    def in_order(self, letters: Sequence[Letter]) -> None:
        """One letter of a group in a batch: a batch may be taken in parts, and order holds within a group alone."""
        by_group: dict[str | None, deque[Letter]] = {}
        for letter in letters:
            by_group.setdefault(letter.group, deque()).append(letter)
        lines = deque(by_group.values())
        while lines and not self._over():
            taken = list(islice(lines, MOST_IN_BATCH))
            batch = next(_in_batches([line[0] for line in taken]))
            for _ in batch:
                lines.popleft()
            self._batch(batch)
            for letter, line in zip(batch, taken, strict=False):
                line.popleft()
                if line and letter.number in self.done.sent:
                    lines.append(line)

    def _batch(self, letters: Sequence[Letter]) -> None:
        if self._over():
            return
        for tried in range(1, self._pace.tries.attempts + 1):
            refused = self._call(letters)
            self.done.sent.update(letter.number for letter in letters if letter.number not in refused)
            self.done.refused.update(refused)
            letters = [letter for letter in letters if letter.number in refused]
            again = [letter for letter in letters if refused[letter.number].kind == "passing"]
            if not again or tried == self._pace.tries.attempts or not self._waits(tried):
                self._halted |= any(refused[letter.number].whole for letter in letters)
                return
            letters = again
            for letter in letters:
                del self.done.refused[letter.number]

    def _call(self, letters: Sequence[Letter]) -> dict[int, Refusal]:
        """Send one batch; what was refused. Of a batch that is refused for one of its letters, each half is sent."""
        from botocore.exceptions import BotoCoreError, ClientError  # here: it is there as soon as a client is

        entries = [letter.entry(place) for place, letter in enumerate(letters)]
        try:
            answer = self._sqs.send_message_batch(QueueUrl=self._url, Entries=entries)
        except (ClientError, BotoCoreError) as error:
            refusal = of_call(error, self._url)
            if refusal.kind == "message" and len(letters) > 1:
                half = len(letters) // 2
                return self._call(letters[:half]) | self._call(letters[half:])
            return {letter.number: refusal for letter in letters}
        taken = {int(entry["Id"]) for entry in answer.get("Successful", ())}
        failed = {int(entry["Id"]): of_entry(entry) for entry in answer.get("Failed", ())}
        return {
            letter.number: failed.get(place, UNMENTIONED) for place, letter in enumerate(letters) if place not in taken
        }

    def _over(self) -> bool:
        return self._halted or (self._pace.until is not None and time.monotonic() >= self._pace.until)

    def _waits(self, tried: int) -> bool:
        """Wait before another try; False when there is no time for one."""
        wait = self._pace.tries.longest_wait(tried).total_seconds() * random.random()  # noqa: S311  # spreads load
        if self._pace.until is not None and time.monotonic() + wait >= self._pace.until:
            return False
        self._pace.sleep(wait)
        return True


def _in_batches(letters: Sequence[Letter]) -> Iterator[list[Letter]]:
    """The letters in their order, as few to a batch as SQS takes."""
    batch: list[Letter] = []
    size = 0
    for letter in letters:
        if batch and (len(batch) == MOST_IN_BATCH or size + letter.size > LARGEST_BATCH):
            yield batch
            batch, size = [], 0
        batch.append(letter)
        size += letter.size
    if batch:
        yield batch
