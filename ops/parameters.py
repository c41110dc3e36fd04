"""Arguments and options of `jobs`, and how their values are read."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Literal

import typer

from ops.instant import read_instant
from ops.local.aws.breaks import How
from ops.simulate.faults import Chance
from ops.simulate.outages import Outage, read_day, read_outage

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


def day(given: str) -> datetime:
    """A date, or an ISO 8601 time with its zone, as aware UTC. Raises typer.BadParameter."""
    moment = read_day(given)
    if moment is None:
        raise typer.BadParameter(
            f"{given!r}: allowed is a date such as 2026-11-29, or a time such as 2026-11-29T02:00Z"
        )
    return moment


def outage(given: str) -> Outage:
    """An outage, daily or from one time to another. Raises typer.BadParameter."""
    read = read_outage(given)
    if read is None:
        raise typer.BadParameter(
            f"{given!r}: allowed is 02:00..05:00 for each day in UTC, or two dates or times such as "
            "2026-11-29T02:00Z..2026-11-29T05:00Z, the earlier first"
        )
    return read


def chance(given: str) -> float:
    """A probability. Raises typer.BadParameter."""
    text = str(given)  # a default comes as the number it is
    if re.fullmatch(r"[0-9]*\.?[0-9]+", text) and 0 <= float(text) <= 1:
        return float(text)
    raise typer.BadParameter(f"{text!r}: allowed is a number from 0 to 1, such as 0.05")


def chance_of(given: str) -> Chance:
    """A probability, for one job where its name comes before it. Raises typer.BadParameter."""
    name, _, text = given.rpartition(":")
    return Chance(name or None, chance(text))


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
Expression = Annotated[
    list[str],
    typer.Argument(
        metavar="EXPR", help="A unix crontab line such as '15 12 * * 0' or @daily, or an expression of EventBridge."
    ),
]
Zone = Annotated[str | None, typer.Option(metavar="ZONE", help="An IANA zone, instead of UTC.", show_default=False)]
Dst = Annotated[bool, typer.Option("--dst", help="The nights of the coming year whose clock change touches a job.")]
Load = Annotated[bool, typer.Option("--load", help="Starts in each minute of a day, and the most vCPU at once.")]
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
Breaking = Annotated[
    How,
    typer.Option(
        "--how",
        metavar="kill|oom|never-start|timeout",
        help="SIGKILL, too little memory, no start at all, or a process that freezes.",
    ),
]
Now = Annotated[bool, typer.Option("--now", help="Have the newest tick without a run started, within a minute.")]

SimulatedFrom = Annotated[datetime, typer.Option("--from", parser=day, metavar="DATE", help="The first day (or time).")]
SimulatedTo = Annotated[datetime, typer.Option("--to", parser=day, metavar="DATE", help="The day after the last.")]
SimulatedJob = Annotated[str | None, typer.Option("--job", metavar="JOB", help="This job alone.", show_default=False)]
OutageOption = Annotated[
    list[Outage] | None,
    typer.Option(
        "--outage",
        parser=outage,
        metavar="FROM..TO",
        help="Nothing works then: 02:00..05:00 each day in UTC, or from one date or time to another. May be repeated.",
        show_default=False,
    ),
]
Lost = Annotated[float, typer.Option(parser=chance, metavar="P", help="This part of the doorbells never rings.")]
Duplicate = Annotated[float, typer.Option(parser=chance, metavar="P", help="This part of the doorbells rings twice.")]
Fail = Annotated[
    list[Chance] | None,
    typer.Option(
        "--fail",
        parser=chance_of,
        metavar="[JOB:]P",
        help="This part of the attempts fails, of one job or of all. May be repeated.",
        show_default=False,
    ),
]
Die = Annotated[
    list[Chance] | None,
    typer.Option(
        "--die",
        parser=chance_of,
        metavar="[JOB:]P",
        help="This part of the attempts ends with the death of its process, half way. May be repeated.",
        show_default=False,
    ),
]
Takes = Annotated[
    float, typer.Option(parser=chance, metavar="PART", help="How much of its longest_run an attempt takes.")
]
ByClock = Annotated[
    bool, typer.Option("--clock", help="A scheduler of our own (`jobs serve`) starts the jobs, and no doorbell does.")
]
Seed = Annotated[int, typer.Option(metavar="N", help="The same seed gives the same faults.")]
Pages = Annotated[
    int,
    typer.Option(parser=up_to(100_000), metavar="N", help="How many calls of a person are listed."),
]
