"""Find the boundaries of each scene: a worker that comes to no harm says every one that it passes."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.faults.boundary import Boundary
from tests.faults.plan import SCENES, Map, Plan, Scene
from tests.faults.play import Place, Play
from tests.faults.workers import Workers, ended_by_trouble

# How many beats there are depends on the machine. These are certain: one while the job rests, and in a rejoin the one
# that finds the connection gone and the one over the new connection.
HEARTBEAT = "once.HEARTBEAT"
FIRST = 1_000_000  # index of the runs that find out; far from those of faults
SURE_BEATS = {"fresh": 1, "takeover": 1, "rejoin": 2}


def discover(workers: Workers, places: Sequence[Place]) -> Map:
    """The boundaries of all scenes; those of a rejoin are only the ones that `fresh` does not have.

    places: one for each scene. Raises RuntimeError when a run without a fault goes wrong.
    """
    with ThreadPoolExecutor(len(SCENES)) as pool, ended_by_trouble(workers):
        walks = pool.map(lambda scene, place: _walk(scene, workers, place), SCENES, places)
        found = dict(zip(SCENES, walks, strict=True))
    found["rejoin"] = [boundary for boundary in found["rejoin"] if boundary not in found["fresh"]]
    return found


def _walk(scene: Scene, workers: Workers, place: Place) -> list[str]:
    """The boundaries that the one comes to who would be the victim."""
    play = Play(Plan("kill", 0, FIRST + SCENES.index(scene), scene), place, workers, tell=True)
    played = play.run()
    if played.complaints:
        raise RuntimeError(f"a {scene} run without a fault went wrong: {'; '.join(played.complaints)}")
    return [boundary for boundary in play.crew.passed[play.victim] if _is_sure(Boundary.parse(boundary), scene)]


def _is_sure(boundary: Boundary, scene: Scene) -> bool:
    return boundary.statement != HEARTBEAT or boundary.nth <= SURE_BEATS[scene]
