"""Arguments and options of `jobs`, and how their values are read."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Literal

import typer

from ops.instant import read_instant

Status = Literal["pending", "running", "succeeded", "failed", "unknown", "skipped", "cancelled"]
Verdict = Literal["succeeded", "failed", "retry"]


def instant(given: str) -> datetime:
    """An ISO 8601 time with its zone, as aware UTC. Raises typer.BadParameter."""
    moment = read_instant(given)
    if moment is None:
        raise typer.BadParameter(f"{given!r}: allowed is a time with its zone, such as 2026-11-29T02:00Z")
    return moment


def up_to(most: int) -> Callable[[str], int]:
    """A reader of whole numbers from 1 to `most`; it raises typer.BadParameter."""

    def read(given: str) -> int:
        text = str(given)  # a default comes as the number it is
        if text.isascii() and text.isdecimal() and 1 <= int(text) <= most:
            return int(text)
        raise typer.BadParameter(f"{text!r}: allowed is a whole number from 1 to {most}")

    return read


JobName = Annotated[str, typer.Argument(metavar="JOB", help="The job's name, as in `jobs list`.")]
MaybeJobName = Annotated[str | None, typer.Argument(metavar="JOB", help="This job alone.", show_default=False)]
RunName = Annotated[
    str, typer.Argument(metavar="RUN", help="A run's id, or JOB@TICK such as billing-run@2026-11-28T23:00Z.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Count = Annotated[int, typer.Option(parser=up_to(1000), metavar="N", help="How many ticks.")]
From = Annotated[
    datetime | None,
    typer.Option(
        "--from", parser=instant, metavar="TIME", help="From this time on, instead of now.", show_default=False
    ),
]
Tick = Annotated[
    datetime | None,
    typer.Option(
        parser=instant, metavar="TIME", help="A tick such as 2026-11-29T02:00Z; the latest without.", show_default=False
    ),
]
Partition = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The part of the job, such as one restaurant.", show_default=False),
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Show the job's log and metrics, on stderr.")]
Last = Annotated[int, typer.Option(parser=up_to(10_000), metavar="N", help="How many runs, the newest first.")]
MaybeStatus = Annotated[
    Status | None, typer.Option(metavar="STATUS", help="Only runs in this state.", show_default=False)
]
Reason = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Why; the ledger keeps it as the run's error.", show_default=False)
]
As = Annotated[Verdict, typer.Option("--as", metavar="succeeded|failed|retry", help="What is to be made of it.")]
Note = Annotated[
    str | None, typer.Option(metavar="TEXT", help="How you know; the ledger keeps it.", show_default=False)
]
