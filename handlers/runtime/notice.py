"""The message that a person gets of a run that has ended badly: a pure function of what the recorder tells."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from handlers.runtime.recorder.fields import one_line

# "Amazon SNS API reference", Publish: Subject is less than 100 characters long. ASCII, as mail has it unencoded.
LONGEST_SUBJECT = 99

FAILED = """\
When it can succeed now:
  jobs retry {run}"""
UNKNOWN = """\
Nobody knows what it has done, and it is not started again by itself. Find that out, then one of:
  jobs resolve {run} --as succeeded
  jobs resolve {run} --as failed
  jobs resolve {run} --as retry"""
TEXT = """\
{job} {became} in {environment}.

{when}
Run: {run}
Reason: {error}
Attempts: {attempts}
Log of the last attempt: {log}

See what it did:
  jobs show {run}
{act}
"""


@dataclass(frozen=True, slots=True)
class Notice:
    """One message. subject: one line of printable ASCII, at most LONGEST_SUBJECT characters."""

    subject: str
    text: str


def notice(environment: str, told: Mapping[str, Any]) -> Notice:
    """The message of one entry of `tell`. Raises KeyError, ValueError for what is none."""
    unknown = told["status"] == "unknown"
    tick = None if told["tick"] is None else datetime.fromisoformat(told["tick"])
    named = f"{tick:%Y-%m-%d %H:%M} UTC" if tick else one_line(told["run_key"])
    text = TEXT.format(
        job=told["job"],
        became="has an unknown end" if unknown else "failed",
        environment=environment,
        when=f"{'Tick' if tick else 'Key'}: {named}",
        run=told["run"],
        error=told["error"] or "none was recorded",
        attempts=told["attempts"],
        log=told["log_link"] or "none, it left no link",
        act=(UNKNOWN if unknown else FAILED).format(run=told["run"]),
    )
    return Notice(_subject(f"Shiftlock {environment}: {told['job']} {told['status']}, {named}"), text)


def _subject(text: str) -> str:
    """The text as a subject: whatever is no printable ASCII is a question mark."""
    plain = "".join(letter if letter.isascii() and letter.isprintable() else "?" for letter in text)
    return plain if len(plain) <= LONGEST_SUBJECT else plain[: LONGEST_SUBJECT - 3] + "..."
