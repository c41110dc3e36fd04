"""The processes of a clock, one by one."""

import signal
import sys
from datetime import UTC, datetime

from handlers.planning.misfire import Due, Start
from handlers.runtime.children import Children
from tests.runtime.running import sample

NOW = datetime(2026, 11, 29, 2, 0, tzinfo=UTC)
WAITS = [sys.executable, "-c", "import signal; signal.pause()"]


def test_a_child_is_known_by_its_process_and_its_run_together() -> None:
    """Process numbers are given out again, such as in a container that has been started anew under its old name."""
    children = Children({}, 2, lambda job: WAITS)
    due = Due(77, "2026-11-29T02:00Z", NOW, NOW, 1, fresh=True, trigger="plan")
    pid = children.start(sample("succeed"), Start(due, "clock", "it is due"))
    try:
        assert children.room == 1
        assert children.has(pid, 77)
        assert not children.has(pid, 12)
        assert not children.has(pid + 1, 77)
    finally:
        children.signal(signal.SIGKILL)
        while not (ended := children.reap()):
            assert len(children) == 1
        children.close()
    assert [(child.run_id, code) for child, code in ended] == [(77, -signal.SIGKILL)]
    assert not children.has(pid, 77)
