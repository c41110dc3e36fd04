"""Which tests run in one process of several: those that share what takes long to make."""

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

# A platform that was up before; a synthesis of all stacks; an environment deployed into a local AWS; a local AWS.
SHARING = (
    "tests/end_to_end/test_make_run.py",
    "tests/infra/",
    "tests/end_to_end/",
    "tests/local/",
    "tests/runtime/queues/",
)


class BySharing(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives the tests of such a place to one process, and each other test to whichever is free."""

    def _split_scope(self, nodeid: str) -> str:
        return next((place for place in SHARING if nodeid.startswith(place)), nodeid)
