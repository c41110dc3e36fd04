"""Runs with a fault each, and what they have left: `python -m tests.faults.run --runs 1000`.

Exits with 1 when anything is wrong, or a boundary that a kill was planned for was never reached. Every violation comes
with the command that plays its run again.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.faults.outages import SITES
from tests.faults.plan import KINDS
from tests.faults.play import Played
from tests.faults.report import never_struck, report, violation_lines, violations
from tests.faults.series import LANES, numbers, play_series
from tests.faults.takeover import LIMIT, takeover_seconds


def main(arguments: list[str]) -> int:
    """Play what the arguments say, print the report, and return the exit code."""
    wanted = _arguments(arguments)
    signal.signal(signal.SIGTERM, _leave)
    descriptor, name = tempfile.mkstemp(prefix=f"shiftlock-faults-{wanted.seed}-", suffix=".log")
    os.close(descriptor)
    log = Path(name)
    _say(f"seed {wanted.seed}; what workers print goes to {log}")
    began = time.monotonic()
    done: list[Played] = []

    def tell(one: Played) -> None:
        done.append(one)
        for line in violation_lines(one):
            _say(line)
        if len(done) % 50 == 0:
            _say(f"{time.monotonic() - began:6.0f} s {len(done)} runs, {violations(done)} violations")

    chosen = numbers(wanted.runs, wanted.kind, wanted.index)
    singles = sum(len(indexes) for kind, indexes in chosen.items() if kind not in SITES)
    lanes = max(1, min(wanted.lanes, singles))
    series = play_series(chosen, seed=wanted.seed, log=log, lanes=lanes, tell=tell)
    for line in report(series, seed=wanted.seed, seconds=time.monotonic() - began):
        _say(line)
    if not is_proof(series.played):
        return 1
    if wanted.kind is not None:
        return 0
    seconds = takeover_seconds()
    _say(f"from kill -9 to the new attempt, lease 10 s, a delivery every second: {seconds:.1f} s (limit {LIMIT:.0f} s)")
    return int(seconds >= LIMIT)


def is_proof(played: Sequence[Played]) -> bool:
    """Whether nothing went wrong, and every boundary that a kill was planned for was reached."""
    return not violations(played) and not never_struck("kill", played)


def _leave(*_: object) -> None:
    """Unwind, so that workers and servers end with this process."""
    signal.signal(signal.SIGTERM, lambda *_: None)  # being told once is enough
    sys.exit(128 + signal.SIGTERM)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.run", description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000, help="how many runs, each with a fault")
    parser.add_argument(
        "--seed", type=int, default=time.time_ns() % 1_000_000, help="chooses all that is left to chance"
    )
    parser.add_argument("--kind", choices=KINDS, help="faults of this kind alone")
    parser.add_argument("--index", type=int, help="with --kind: this run alone (of a batch, the whole batch)")
    parser.add_argument("--lanes", type=int, default=LANES, help="runs beside each other")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
