"""What happens in a run: decided by kind, seed and index alone, so that any run can be played again."""

import random
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, get_args

Kind = Literal["kill", "freeze", "cut", "clock", "duplicates", "restart", "failover", "disk"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# What goes on when the fault strikes: the first delivery; the delivery that takes over from a dead one; the delivery
# whose guard has lost its connection and joins its run again.
Scene = Literal["fresh", "takeover", "rejoin"]
SCENES: tuple[Scene, ...] = get_args(Scene)
# The boundaries of each scene, in the order in which a worker comes to them.
Map = Mapping[Scene, Sequence[str]]

COPIES = 50
TOGETHER = 10  # runs that one outage strikes
WRONG_CLOCKS = (-3600.0, -90.0, 90.0, 3600.0)  # seconds

Cut = Literal["reset", "silence", "deaf", "late"]
CUTS: tuple[Cut, ...] = get_args(Cut)
# How a server ends that is started again on its data, or recovers by itself.
RESTARTS = ("immediate shutdown", "postmaster killed", "backend killed")
# What fills the disk; see disk.
DISKS = ("a full tmpfs", "growth refused")
# How a standby takes over: whether the last commits are lost, and whether it gets the address before it is promoted.
FAILOVERS: Mapping[str, tuple[bool, bool]] = {
    "nothing lost": (False, False),
    "last commits lost": (True, False),
    "nothing lost, address first": (False, True),
    "last commits lost, address first": (True, True),
}
OUTAGES: Mapping[Kind, Sequence[str]] = {"restart": RESTARTS, "failover": tuple(FAILOVERS), "disk": DISKS}


@dataclass(frozen=True, slots=True)
class Plan:
    """One run and its fault.

    boundary: where the victim gets `signal` from itself; moment: seconds after its start when it gets it from outside.
    wake: seconds after which a frozen victim goes on, or a cut has its end; None for after the end of the run.
    skews: how wrong the clocks of the first and the later deliveries are, in seconds. copies: deliveries at once.
    cut: what becomes of the connections. outage: what becomes of the server. dwell, weight: see job.payload.
    turn: how often it has been played before without being struck.
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
    outage: str | None = None
    dwell: float = 0.9
    weight: int = 1
    turn: int = 0

    def again(self) -> Self:
        """The same, for another run: in this one the victim was through before it could be struck."""
        return replace(self, turn=self.turn + 1)

    @property
    def name(self) -> str:
        """Kind and index."""
        return f"{self.kind}-{self.index}"

    @property
    def job(self) -> str:
        """The name of the job that the run is of."""
        return self.name if self.turn == 0 else f"{self.name}-again-{self.turn}"

    @property
    def replay(self) -> str:
        """The command that plays it again."""
        return f"python -m tests.faults.run --kind {self.kind} --seed {self.seed} --index {self.index}"

    @property
    def place(self) -> str:
        """Where the fault strikes, in words."""
        return f"{self.scene} {self.boundary}" if self.boundary else self.scene

    @property
    def how(self) -> str:
        """Which of the mechanisms of its kind is at work, as far as the plan decides it."""
        match self.kind:
            case "kill":
                return self.scene
            case "freeze":
                return "until after the run" if self.wake is None else "woken during the run"
            case "clock":
                return f"{self.skews[0]:+.0f} s"
            case "duplicates":
                return "undisturbed" if self.moment is None else "holder killed"
        return self.cut or self.outage or ""


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
    outages = OUTAGES[kind]
    outage = outages[(seed + index // TOGETHER) % len(outages)]
    return Plan(kind, seed, index, outage=outage, dwell=1.5, weight=200 if kind == "disk" else 1)


def _in_turn(boundaries: Map, seed: int, turn: int) -> tuple[Scene, str]:
    """Each boundary of each scene once, in an order of the seed's, then all over again."""
    places = everywhere(boundaries)
    random.Random(seed).shuffle(places)  # noqa: S311  # repeatable on purpose
    return places[turn % len(places)]


def everywhere(boundaries: Map) -> list[tuple[Scene, str]]:
    """All boundaries with their scenes."""
    return [(scene, boundary) for scene in SCENES for boundary in boundaries[scene]]
