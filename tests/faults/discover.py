"""Find the boundaries of each scene: a worker that comes to no harm says every one that it passes."""

from tests.faults.boundary import Boundary
from tests.faults.plan import SCENES, Map, Plan, Scene
from tests.faults.play import Place, Play
from tests.faults.workers import Workers

# How many beats there are depends on the machine. These are certain: one while the job rests, and in a rejoin the one
# that finds the connection gone and the one over the new connection.
HEARTBEAT = "once.HEARTBEAT"
FIRST = 1_000_000  # index of the runs that find out; far from those of faults
SURE_BEATS = {"fresh": 1, "takeover": 1, "rejoin": 2}


def discover(workers: Workers, place: Place) -> Map:
    """The boundaries of all scenes; those of a rejoin are only the ones that `fresh` does not have.

    Raises RuntimeError when a run without a fault goes wrong.
    """
    found: dict[Scene, list[str]] = {}
    for index, scene in enumerate(SCENES):
        play = Play(Plan("kill", 0, FIRST + index, scene), place, workers, tell=True)
        played = play.run()
        if played.complaints:
            raise RuntimeError(f"a {scene} run without a fault went wrong: {'; '.join(played.complaints)}")
        sure = [boundary for boundary in play.crew.passed if _is_sure(Boundary.parse(boundary), scene)]
        found[scene] = sure if scene != "rejoin" else [boundary for boundary in sure if boundary not in found["fresh"]]
    return found


def _is_sure(boundary: Boundary, scene: Scene) -> bool:
    return boundary.statement != HEARTBEAT or boundary.nth <= SURE_BEATS[scene]
