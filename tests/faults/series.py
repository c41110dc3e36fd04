"""A series of runs: single ones in lanes beside each other, each lane with a database of its own, and batches."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby, zip_longest
from pathlib import Path
from queue import Empty, SimpleQueue

from ops.local.postgres import server
from tests.faults.discover import discover
from tests.faults.job import Calendar
from tests.faults.outages import CONNECTIONS, SITES, CannotStrike, play_batch
from tests.faults.plan import KINDS, SCENES, TOGETHER, Kind, Map, Plan, make_plan
from tests.faults.play import Place, Play, Played
from tests.faults.proxy import Proxy
from tests.faults.stage import make_stages
from tests.faults.workers import ended_by_trouble, open_workers
from tests.local.postgres_processes import data_folder

LANES = 20
TURNS = 5  # that a plan gets until its victim is struck
# Of a thousand runs. Kills come first: their number is that of the boundaries, and some.
SHARES: dict[Kind, int] = {
    "kill": 330,
    "freeze": 310,
    "cut": 110,
    "clock": 50,
    "duplicates": 20,
    "restart": 70,
    "failover": 60,
    "disk": 50,
}


@dataclass(frozen=True, slots=True)
class Series:
    """What was played, the boundaries that the plans chose from, and the kinds left out, each with the reason."""

    played: tuple[Played, ...]
    boundaries: Map
    left_out: Mapping[Kind, str]


def numbers(runs: int, kind: Kind | None, index: int | None) -> dict[Kind, Sequence[int]]:
    """The indexes to play of each kind: a share of each, all of one kind, or one alone (with its batch)."""
    if kind is None:
        return {each: range(max(1, round(runs * SHARES[each] / sum(SHARES.values())))) for each in KINDS}
    if index is None:
        return {kind: range(runs)}
    if kind in SITES:
        first = index // TOGETHER * TOGETHER
        return {kind: range(first, first + TOGETHER)}
    return {kind: [index]}


def play_series(
    wanted: Mapping[Kind, Sequence[int]], *, seed: int, log: Path, lanes: int = LANES, tell: Callable[[Played], object]
) -> Series:
    """Play these runs; `tell` hears of each as it ends. What workers print goes to `log`."""
    calendar = Calendar.around(datetime.now(UTC))
    with ExitStack() as stack:
        url = stack.enter_context(server(None, fast=True, settings=CONNECTIONS | {"max_connections": "1000"}))
        room = _room(data_folder(url).parent)
        workers = stack.enter_context(open_workers(stack.enter_context(log.open("wb"))))
        ways = [_lane(stack, stage, calendar) for stage in make_stages(url, max(lanes, len(SCENES)))]
        boundaries = discover(workers, [directly for directly, _ in ways[: len(SCENES)]])
        plans = {
            kind: [make_plan(kind, seed, index, boundaries) for index in indexes] for kind, indexes in wanted.items()
        }
        singles: SimpleQueue[Plan] = SimpleQueue()
        for plan in _mixed([plans[kind] for kind in plans if kind not in SITES]):
            singles.put(plan)
        played: list[Played] = []
        left_out: dict[Kind, str] = {}

        def note(one: Played) -> None:
            played.append(one)
            tell(one)

        def lane(way: tuple[Place, Place]) -> None:
            for plan in _taken(singles):
                one = Play(plan, way[plan.cut is not None], workers).run()
                note(one)
                if not one.struck and plan.turn + 1 < TURNS:
                    singles.put(plan.again())  # last, when fewer are beside it and it is quicker at its boundary

        def outages(kind: Kind) -> None:
            try:
                for _, batch in groupby(plans[kind], lambda plan: plan.index // TOGETHER):
                    for one in play_batch(list(batch), workers, calendar, room):
                        note(one)
            except CannotStrike as error:
                left_out[kind] = str(error)

        with ThreadPoolExecutor(lanes + len(SITES)) as pool, ended_by_trouble(workers):
            at_work = [pool.submit(lane, way) for way in ways[:lanes]]
            at_work += [pool.submit(outages, kind) for kind in plans if kind in SITES]
            for one in at_work:
                one.result()
    return Series(tuple(played), boundaries, left_out)


def _room(base: Path) -> Path:
    """A folder below that of the throwaway server, which is deleted with it also when this process is killed."""
    base.chmod(0o711)  # other servers in it may be another user's
    room = base / "outages"
    room.mkdir()
    room.chmod(0o711)
    return room


def _lane(stack: ExitStack, stage: str, calendar: Calendar) -> tuple[Place, Place]:
    """A stage reached directly, and reached by way of a proxy that can be cut."""
    proxy = stack.enter_context(Proxy(stage))
    return Place(stage, stage, calendar), Place(stage, proxy.through(stage), calendar, proxy.cut)


def _mixed(kinds: Sequence[Sequence[Plan]]) -> Iterator[Plan]:
    """Of each kind in turn, so that no kind meets another load than the rest."""
    for row in zip_longest(*kinds):
        yield from (plan for plan in row if plan is not None)


def _taken(plans: SimpleQueue[Plan]) -> Iterator[Plan]:
    while True:
        try:
            yield plans.get_nowait()
        except Empty:
            return
