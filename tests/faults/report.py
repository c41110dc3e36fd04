"""What a series of runs has shown, by kind of fault."""

from collections.abc import Iterator, Sequence
from statistics import median

from tests.faults.plan import KINDS, Map, everywhere
from tests.faults.play import Played


def report(played: Sequence[Played], boundaries: Map, *, seed: int, seconds: float) -> Iterator[str]:
    """The lines of the report. Recovery is from the fault to the recorded end of the run."""
    yield f"{'fault':<12}{'runs':>6}{'struck':>8}{'violations':>12}{'recovery: median':>20}{'max':>8}"
    for kind in KINDS:
        mine = [one for one in played if one.plan.kind == kind]
        if mine:
            yield _row(kind, mine)
    yield _row("all", played)
    for kind in ("kill", "freeze"):
        yield from _coverage(kind, played, boundaries)
    for one in played:
        if not one.struck:
            yield f"not struck: {one.plan.job} at {one.plan.place} was through before"
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


def _row(name: str, played: Sequence[Played]) -> str:
    times = [one.recovery for one in played if one.recovery is not None] or [0.0]
    struck = sum(one.struck for one in played)
    return f"{name:<12}{len(played):>6}{struck:>8}{violations(played):>12}{median(times):>18.2f} s{max(times):>6.2f} s"


def _coverage(kind: str, played: Sequence[Played], boundaries: Map) -> Iterator[str]:
    if not any(one.plan.kind == kind for one in played):
        return
    hit = {(one.plan.scene, one.plan.boundary) for one in played if one.plan.kind == kind and one.struck}
    every = everywhere(boundaries)
    missing = [f"{scene} {boundary}" for scene, boundary in every if (scene, boundary) not in hit]
    yield f"{kind}: {len(every) - len(missing)} of {len(every)} statement boundaries hit"
    if len(missing) <= 40:
        yield from (f"  not hit: {place}" for place in missing)
