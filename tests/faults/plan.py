"""What happens in a run: decided by kind, seed and index alone, so that any run can be played again."""

import random
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["kill", "freeze", "cut", "clock", "duplicates", "restart", "failover", "disk"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# What goes on when the fault strikes: the first delivery; the delivery that takes over from a dead one; the delivery
# whose guard has lost its connection and joins its run again.
Scene = Literal["fresh", "takeover", "rejoin"]
SCENES: tuple[Scene, ...] = get_args(Scene)
# The boundaries of each scene, in the order in which a worker comes to them.
Map = Mapping[Scene, Sequence[str]]

COPIES = 50
WRONG_CLOCKS = (-3600.0, -90.0, 90.0, 3600.0)  # seconds

Cut = Literal["reset", "silence", "deaf", "late"]
CUTS: tuple[Cut, ...] = get_args(Cut)


@dataclass(frozen=True, slots=True)
class Plan:
    """One run and its fault.

    boundary: where the victim gets `signal` from itself; moment: seconds after its start when it gets it from outside.
    wake: seconds after which a frozen victim goes on, or a cut has its end; None for after the end of the run.
    skews: how wrong the clocks of the first and the later deliveries are, in seconds. copies: deliveries at once.
    cut: what becomes of the connections. dwell, weight: see job.payload.
    """

    kind: Kind
    seed: int
    index: int
    scene: Scene = "fresh"
    boundary: str | None = None
    moment: float | None = None
    signal: int = 0
    wake: float | None = None
    skews: tuple[float, float] = (0.0, 0.0)
    copies: int = 1
    cut: Cut | None = None
    dwell: float = 0.9
    weight: int = 1

    @property
    def job(self) -> str:
        """The name of the job that the run is of."""
        return f"{self.kind}-{self.index}"

    @property
    def replay(self) -> str:
        """The command that plays it again."""
        return f"python -m tests.faults.run --kind {self.kind} --seed {self.seed} --index {self.index}"

    @property
    def place(self) -> str:
        """Where the fault strikes, in words."""
        return f"{self.scene} {self.boundary}" if self.boundary else self.scene


def make_plan(kind: Kind, seed: int, index: int, boundaries: Map) -> Plan:
    """The plan with this number."""
    chance = random.Random(f"{seed} {kind} {index}")  # noqa: S311  # repeatable on purpose
    match kind:
        case "kill":
            scene, boundary = _in_turn(boundaries, seed, index)
            return Plan(kind, seed, index, scene, boundary, signal=signal.SIGKILL)
        case "freeze":
            wake = chance.choice([None, chance.uniform(0.8, 2.5)])
            if index % 4 == 3:
                return Plan(kind, seed, index, moment=chance.uniform(0.0, 1.2), signal=signal.SIGSTOP, wake=wake)
            scene, boundary = _in_turn(boundaries, seed, index - index // 4)
            return Plan(kind, seed, index, scene, boundary, signal=signal.SIGSTOP, wake=wake)
        case "cut":
            boundary = chance.choice(boundaries["fresh"])
            cut = CUTS[index % len(CUTS)]
            wake = chance.choice([None, chance.uniform(0.8, 2.5)])
            return Plan(kind, seed, index, boundary=boundary, signal=signal.SIGSTOP, cut=cut, wake=wake)
        case "clock":
            boundary = chance.choice(boundaries["fresh"])
            skews = chance.choice(WRONG_CLOCKS), chance.choice([0.0, *WRONG_CLOCKS])
            return Plan(kind, seed, index, boundary=boundary, signal=signal.SIGKILL, skews=skews)
        case "duplicates":
            moment = chance.uniform(0.1, 0.8) if index % 2 else None
            return Plan(kind, seed, index, boundary="connect#1:before", moment=moment, copies=COPIES)
    return Plan(kind, seed, index, dwell=1.5, weight=200 if kind == "disk" else 1)


def _in_turn(boundaries: Map, seed: int, turn: int) -> tuple[Scene, str]:
    """Each boundary of each scene once, in an order of the seed's, then all over again."""
    places = everywhere(boundaries)
    random.Random(seed).shuffle(places)  # noqa: S311  # repeatable on purpose
    return places[turn % len(places)]


def everywhere(boundaries: Map) -> list[tuple[Scene, str]]:
    """All boundaries with their scenes."""
    return [(scene, boundary) for scene in SCENES for boundary in boundaries[scene]]
