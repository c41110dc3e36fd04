"""`jobs queue peek`: what is in a queue, without taking it out."""

import json
from itertools import islice
from typing import Any

from handlers.queues.fitting import MalformedMessage
from ops.as_json import print_json
from ops.letters import Letter, taken
from ops.queue_place import asking_aws, job_with_queue, queue_place
from ops.table import Cell, Table, open_console
from ops.wording import one_line, second

TITLES = ("key", "sent (UTC)", "taken", "run", "message")
FOLDS = (("run", "taken"), ("sent (UTC)", "key"))
LONGEST = 500


def peek(name: str, *, dead: bool, count: int, environment: str | None, as_json: bool) -> None:
    """Print up to `count` messages that are visible, and give them back. Raises UnknownJob, Refused."""
    job, place = job_with_queue(name), queue_place(environment)
    with asking_aws(), taken(place.client("sqs"), place.url(job, dead=dead)) as letters:
        found = list(islice(letters, count))
    if as_json:
        print_json([_record(letter) for letter in found])
    elif found:
        rows = [_cells(letter) for letter in found]
        open_console().print(Table(TITLES, rows, folds=FOLDS, right=frozenset({"taken"}), note="message"))
    else:
        print(f"no {'dead letter' if dead else 'message'} of {name} is visible; `jobs queue show {name}` counts them")


def _cells(letter: Letter) -> list[Cell]:
    return [
        letter.key or f"message {letter.id}",
        second(letter.sent_at),
        str(letter.receives),
        letter.said.get("Run"),
        one_line("; ".join(_said(letter)), LONGEST),
    ]


def _said(letter: Letter) -> list[str]:
    """Why it is a dead letter, if it is one, and what it is about."""
    reason = letter.said.get("Reason")
    try:
        message = letter.read()
    except MalformedMessage as error:
        return [reason or str(error)]
    about = json.dumps(message.ledger_payload, ensure_ascii=False)
    return ([] if reason is None else [reason]) + [about]


def _record(letter: Letter) -> dict[str, Any]:
    try:
        message, wrong = letter.read(), None
    except MalformedMessage as error:
        message, wrong = None, str(error)
    return {
        "message_id": letter.id,
        "key": message and message.key,
        "partition": message and message.partition,
        "payload": message and message.ledger_payload,
        "malformed": wrong,
        "sent": letter.sent_at,
        "receives": letter.receives,
        "attributes": letter.said,
    }
