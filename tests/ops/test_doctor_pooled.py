"""`jobs doctor` and the commands that change a run, through a real transaction pooler."""

from collections.abc import Iterator

import pytest

from ops.local.postgres import server
from tests.guard.holders import claimed, guard_on, request
from tests.guard.pgbouncer import pgbouncer
from tests.ops.command import by_process


@pytest.fixture(scope="module")
def pooled_url() -> Iterator[str]:
    """The way to a migrated database through PgBouncer, which reaches it by TCP alone."""
    with server(None, fast=True, tcp=True) as url, pgbouncer(url) as pooled:
        assert by_process(pooled, "migrate").code == 0
        yield pooled


def test_a_pooler_in_between_is_said_with_what_it_means_and_is_no_problem(pooled_url: str) -> None:
    done = by_process(pooled_url, "doctor")
    assert (done.code, done.err) == (0, "")
    [sessions] = [line for line in done.out.splitlines() if line.startswith("sessions")]
    assert "ok       a transaction pooler stands in between: runs are guarded by their rows alone" in sessions


def test_a_run_is_cancelled_through_a_pooler_too(pooled_url: str) -> None:
    with guard_on(pooled_url) as guard:
        run = claimed(guard, request())
        assert "is asked to end" in by_process(pooled_url, "cancel", "1", "--reason", "wrong prices").out
        assert guard.renew(run, None) == "wrong prices"
