"""`jobs queue redrive`: dead letters are sent anew."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

from handlers.guard.intervene import CannotIntervene
from ops.letters import Letter, taken
from ops.queue_place import asking_aws, job_with_queue, queue_place
from ops.reading import changing
from ops.redrive import Plan, carry_out, plan
from ops.wording import one_line

AGAIN = Plan("leave", "another letter of its key has just been sent anew")


def redrive(name: str, *, key: str | None, count: int | None, dry_run: bool, environment: str | None) -> int:
    """Send the dead letters of a job to its queue and print what became of each; 1 if one has to stay.

    Only what had become a dead letter before, and each key once: a message that fails again at once is the next
    redrive's. key: only that of this run. count: at most so many. dry_run: say what would be done, and do nothing.
    Raises UnknownJob, Refused, and what opening the ledger raises.
    """
    job, place = job_with_queue(name), queue_place(environment)
    began, sent = datetime.now(UTC), set[str]()
    done = left = 0
    with asking_aws(), changing(place.ledger()) as ledger:
        urls = place.url(job), place.url(job, dead=True)
        sqs = place.client("sqs")
        with taken(sqs, urls[1], until=began) as letters:
            for letter in islice(_with_key(letters, key), count):
                planned = AGAIN if letter.key in sent else plan(ledger, job, letter)
                if planned.deed != "leave" and not dry_run:
                    try:
                        carry_out(ledger, sqs, job, letter, planned, urls)
                    except CannotIntervene as error:
                        planned = Plan("leave", str(error))
                print(f"{_named(letter)} {_says(planned, dry_run=dry_run)}")
                done += planned.deed != "leave"
                left += planned.deed == "leave"
                if planned.message is not None and planned.deed != "leave":
                    sent.add(planned.message.key)
    if not done and not left:
        print(f"no dead letter of {name}{'' if key is None else f' has the key {key}'}")
        return 0
    print(f"{done} {'would be ' if dry_run else ''}sent anew, {left} left")
    return 1 if left else 0


def _with_key(letters: Iterator[Letter], key: str | None) -> Iterator[Letter]:
    return (letter for letter in letters if key is None or letter.key == key)


def _named(letter: Letter) -> str:
    return letter.key or f"message {letter.id}"


def _says(planned: Plan, *, dry_run: bool) -> str:
    because = one_line(planned.because)
    if planned.deed == "leave":
        return f"{'would be' if dry_run else 'is'} left: {because}"
    return f"{'would be' if dry_run else 'is'} sent anew: {because}"
