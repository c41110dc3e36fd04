"""What must hold after any fault: pure functions from the facts to complaints, none when all is well."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from tests.faults.facts import Facts, Move, Run

ENDED = frozenset({"succeeded", "failed", "skipped", "cancelled"})
# The moves of docs/states.md that need no person. None is a row that did not exist before.
LEGAL = frozenset(
    {
        (None, "pending"),
        (None, "running"),
        (None, "skipped"),
        ("pending", "running"),
        ("pending", "skipped"),
        ("pending", "failed"),
        ("running", "succeeded"),
        ("running", "failed"),
        ("running", "pending"),
        ("running", "unknown"),
    }
)


def complaints(facts: Facts, *, run_key: str, next_key: str, effects: frozenset[str]) -> list[str]:
    """Everything that is wrong with the run `run_key`, which should have had these effects and planned `next_key`."""
    mine = [run for run in facts.runs if run.run_key == run_key]
    if len(mine) != 1:
        return [f"the tick has {len(mine)} rows and not one"]
    return [
        *_end(mine[0]),
        *moves(facts, run_key),
        *_attempts(facts, mine[0]),
        *_result(facts, mine[0]),
        *_effects(facts, effects),
        *_steps(facts, effects),
        *_next_tick(facts, run_key, next_key),
        *_left_behind(facts),
    ]


def _end(run: Run) -> Iterator[str]:
    if run.status not in ENDED:
        yield f"the run has not ended: it is {run.status}"
    elif run.status != "succeeded":
        yield f"the run ended {run.status}, though its job does nothing wrong: {run.error_msg}"


def moves(facts: Facts, run_key: str) -> Iterator[str]:
    """What is wrong with the changes of state of all runs, of which `run_key` must have some."""
    for key in {move.run_key for move in facts.moves}:
        mine = [move for move in facts.moves if move.run_key == key]
        for move in mine:
            if move.old in ENDED:
                yield f"run {key} was written to after its end: {_shown(move)}"
            elif (move.old, move.new) not in LEGAL:
                yield f"run {key} made an illegal move: {_shown(move)}"
            elif move.new == "running" and (move.new_fence or 0) <= (move.old_fence or 0):
                yield f"run {key} was claimed under a fence that is not higher: {_shown(move)}"
            elif move.new != "running" and move.old is not None and move.new_fence != move.old_fence:
                yield f"run {key} changed its fence without a claim: {_shown(move)}"
        for before, after in pairwise(mine):
            if (before.new, before.new_fence) != (after.old, after.old_fence):
                yield f"run {key} changed unseen between {_shown(before)} and {_shown(after)}"
    if not any(move.run_key == run_key for move in facts.moves):
        yield "the run has a row and no move was noted"


def _attempts(facts: Facts, run: Run) -> Iterator[str]:
    numbers = [attempt.attempt for attempt in facts.attempts]
    if numbers != list(range(1, run.attempt + 1)):
        yield f"the attempts are {numbers} and should be 1 to {run.attempt}"
    for attempt in facts.attempts:
        if attempt.outcome is None:
            yield f"attempt {attempt.attempt} has no outcome"
    fences = [attempt.fence for attempt in facts.attempts]
    if any(later <= earlier for earlier, later in pairwise(fences)):
        yield f"the fences of the attempts do not grow: {fences}"
    if fences and run.fence != fences[-1]:
        yield f"the run ended under fence {run.fence}, and its last attempt has {fences[-1]}"
    claims = [move.new_fence for move in facts.moves if move.run_key == run.run_key and move.new == "running"]
    if claims != fences:
        yield f"the run was claimed under the fences {claims}, and its attempts have {fences}"


def _result(facts: Facts, run: Run) -> Iterator[str]:
    succeeded = [attempt for attempt in facts.attempts if attempt.outcome == "succeeded"]
    if len(succeeded) != (run.status == "succeeded"):
        yield f"the run is {run.status} and {len(succeeded)} of its attempts succeeded"
    for attempt in succeeded:
        if run.result != {"attempt": attempt.attempt, "pid": attempt.pid}:
            yield f"the result {run.result} is not that of attempt {attempt.attempt} in process {attempt.pid}"
        if attempt.attempt != run.attempt:
            yield f"attempt {attempt.attempt} succeeded and was not the last"


def _effects(facts: Facts, expected: frozenset[str]) -> Iterator[str]:
    times = Counter(effect.name for effect in facts.effects)
    for name in sorted(expected | times.keys()):
        if times[name] != (name in expected):
            yield f"effect {name} happened {times[name]} times"
    if facts.total != len(expected):
        yield f"the effects add up to {facts.total} and should to {len(expected)}"


def _steps(facts: Facts, expected: frozenset[str]) -> Iterator[str]:
    recorded = {step.step_key: step.fence for step in facts.steps}
    if recorded.keys() != expected:
        yield f"the steps on record differ from those expected by {sorted(recorded.keys() ^ expected)}"
    holders = {(attempt.attempt, attempt.pid): attempt.fence for attempt in facts.attempts}
    for effect in facts.effects:
        fence = holders.get((effect.attempt, effect.pid))
        if fence is None:
            yield f"effect {effect.name} is of attempt {effect.attempt} in process {effect.pid}, which never was one"
        elif recorded.get(effect.name, fence) != fence:
            yield f"effect {effect.name} has fence {fence} and is recorded under {recorded[effect.name]}"


def _next_tick(facts: Facts, run_key: str, next_key: str) -> Iterator[str]:
    others = [(run.run_key, run.status, run.attempt) for run in facts.runs if run.run_key != run_key]
    if others != [(next_key, "pending", 0)]:
        yield f"beside the run there should be its next tick alone, and there is {others}"
    # A holder plans it in the statement that ends its attempt; one that holds nothing any more must not.
    ends = {move.written for move in facts.moves if move.run_key == run_key and move.old == "running"}
    for move in facts.moves:
        if move.run_key == next_key and move.written not in ends:
            yield "the next tick was planned by somebody who did not end an attempt"


def _left_behind(facts: Facts) -> Iterator[str]:
    if facts.locks:
        yield f"{facts.locks} advisory locks are left"
    for session in facts.sessions:
        yield f"a session is left: {session}"


def _shown(move: Move) -> str:
    return f"{move.old} (fence {move.old_fence}) to {move.new} (fence {move.new_fence})"
