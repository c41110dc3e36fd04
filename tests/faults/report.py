"""What a series of runs has shown, by kind of fault."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from statistics import median

from tests.faults.plan import KINDS, Kind, everywhere
from tests.faults.play import Played
from tests.faults.series import Series


def report(series: Series, *, seed: int, seconds: float) -> Iterator[str]:
    """The lines of the report. Recovery is from the fault to the recorded end of the run."""
    played = series.played
    yield f"{'fault':<12}{'runs':>6}{'again':>7}{'struck':>8}{'violations':>12}{'recovery: median':>20}{'max':>8}"
    for kind in KINDS:
        mine = of_kind(kind, played)
        if mine:
            yield _row(kind, mine)
    yield _row("all", played)
    for kind in KINDS:
        if mine := of_kind(kind, played):
            yield f"{kind}: {_mechanisms(mine)}"
    for kind, reason in series.left_out.items():
        yield f"{kind}: LEFT OUT, {reason}"
    for kind in KINDS:
        yield from _coverage(kind, series)
    for one in played:
        yield from violation_lines(one)
    yield f"seed {seed}, {seconds:.0f} s"


def violation_lines(one: Played) -> Iterator[str]:
    """What is wrong after this run, each with the command that plays it again."""
    for complaint in one.complaints:
        yield f"VIOLATION {one.plan.job} at {one.plan.place}: {complaint}; again: {one.plan.replay}"


def violations(played: Sequence[Played]) -> int:
    """How many runs have left something wrong behind."""
    return sum(bool(one.complaints) for one in played)


def of_kind(kind: Kind, played: Sequence[Played]) -> list[Played]:
    """Those of this kind alone."""
    return [one for one in played if one.plan.kind == kind]


def never_struck(kind: Kind, played: Sequence[Played]) -> dict[str, list[str]]:
    """The places that faults of this kind were planned for and never struck at, each with the names of its plans."""
    missed: defaultdict[str, list[str]] = defaultdict(list)
    struck = {one.plan.place for one in of_kind(kind, played) if one.struck}
    for one in of_kind(kind, played):
        if one.plan.boundary is not None and one.plan.turn == 0 and one.plan.place not in struck:
            missed[one.plan.place].append(one.plan.name)
    return missed


def _row(name: str, played: Sequence[Played]) -> str:
    times = [one.recovery for one in played if one.recovery is not None] or [0.0]
    again = sum(one.plan.turn > 0 for one in played)
    struck = sum(one.struck for one in played)
    return (
        f"{name:<12}{len(played) - again:>6}{again:>7}{struck:>8}{violations(played):>12}"
        f"{median(times):>18.2f} s{max(times):>6.2f} s"
    )


def _mechanisms(played: Sequence[Played]) -> str:
    """How many runs each mechanism has struck, of those it was planned for."""
    planned = Counter(one.how for one in played if one.plan.turn == 0)
    struck = Counter(one.how for one in played if one.struck)
    return ", ".join(f"{how} {struck[how]} of {planned[how]}" for how in sorted(planned))


def _coverage(kind: Kind, series: Series) -> Iterator[str]:
    mine = of_kind(kind, series.played)
    planned = {one.plan.place for one in mine if one.plan.boundary is not None}
    missed = never_struck(kind, series.played)
    if planned:
        every = len(everywhere(series.boundaries))
        yield (
            f"{kind}: {len(planned)} of {every} statement boundaries planned, {len(planned) - len(missed)} struck, "
            f"{len(missed)} never"
        )
    for place, names in missed.items():
        yield f"  never struck: {place} ({', '.join(names)})"
    reached = {one.plan.name for one in mine if one.struck}
    for one in mine:
        if one.plan.boundary is None and one.plan.turn == 0 and one.plan.name not in reached:
            yield f"  not struck: {one.plan.name} was through before"
