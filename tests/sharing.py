"""Which tests run in one process of several: those that share what takes long to make, and those that mostly wait."""

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

# A platform that was up before; a synthesis of all stacks; an environment deployed into a local AWS; a local AWS.
SHARING = (
    "tests/end_to_end/test_make_run.py",
    "tests/infra/",
    "tests/end_to_end/",
    "tests/local/",
    "tests/runtime/queues/",
)
# For leases that end and servers that notice: side by side they would leave the machine idle for half a minute.
WAITING = (
    "tests/faults/test_series.py::test_a_run_whose_holder_is_killed",
    "tests/guard/test_ghosts.py",
    "tests/guard/test_lease.py",
    "tests/guard/test_pooled_runs.py",
    "tests/guard/test_vanished.py",
)


class BySharing(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives the tests of such a place to one process, and each other test to whichever is free."""

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(WAITING):
            return "waiting"
        return next((place for place in SHARING if nodeid.startswith(place)), nodeid)
