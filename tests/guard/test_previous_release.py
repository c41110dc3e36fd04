"""Expand, then contract: the previous release's guard works on today's schema, and beside today's code."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from handlers.guard.answers import Claimed
from handlers.guard.lock import register
from handlers.guard.request import Ending
from handlers.guard.roles import RUNNER
from handlers.guard.steps import Steps
from tests.guard.holders import LEASE, TICK, ask, claimed, guard_on, request
from tests.guard.logins import login
from tests.guard.previous_release import previous_release
from tests.guard.statements import Statement

PREVIOUS = previous_release()
END_LEASE = "update shiftlock.job_runs set lease_until = clock_timestamp() - interval '1 second'"
ENDED = ("succeeded", "succeeded", {"invoices": 3})
OUTCOME = """
select run.status, attempt.outcome, run.result from shiftlock.job_runs as run
join shiftlock.job_attempts as attempt on attempt.run_id = run.id and attempt.attempt = run.attempt
where run.run_key = %s
"""


@pytest.fixture
def ledger(every_server_url: str) -> Iterator[psycopg.Connection]:
    """A job's session with a ledger that knows the job."""
    with login(every_server_url, RUNNER) as url, psycopg.connect(url, autocommit=True) as connection:
        register(connection, ["nightly"])
        yield connection


def old(connection: psycopg.Connection, name: str, **facts: Any) -> dict[str, Any] | None:
    """The first row of what the previous release's statement answers."""
    known = {
        "job": "nightly",
        "owner": "nightly",
        "run_key": "2026-11-29T02:00Z",
        "partition": None,
        "tick": TICK,
        "trigger": "rule",
        "payload": Jsonb({}),
        "own_lock_key": None,
        "holder": "the old code",
        "compute": "test",
        "row_only": False,
        "backend_pid": connection.info.backend_pid,
        "backend_start": None,
        "lease": LEASE,
        "progress": None,
        "error": None,
        "reason": "overlap",
    }
    cursor = connection.cursor(row_factory=dict_row).execute(PREVIOUS[name].text.encode(), known | facts)
    return cursor.fetchone() if cursor.description else {"rows": cursor.rowcount}


def old_claim(connection: psycopg.Connection, **facts: Any) -> dict[str, Any]:
    """A claim by the previous release, which must succeed."""
    row = old(connection, "CLAIM", **facts)
    assert row is not None
    assert row["run_id"] is not None
    return row


def old_end(connection: psycopg.Connection, run: dict[str, Any], **facts: Any) -> bool:
    """Whether the previous release's ending of a run was taken."""
    success = {
        "status": "succeeded",
        "outcome": "succeeded",
        "result": Jsonb({"invoices": 3}),
        "retry_in": timedelta(0),
        "infrastructure": 0,
        "next_key": "2026-11-30T02:00Z",
        "next_tick": TICK + timedelta(days=1),
    }
    row = old(connection, "FINISH", **run, **(success | facts))
    return row is not None and row["ours"]


@pytest.mark.parametrize("statement", PREVIOUS.values(), ids=lambda statement: statement.name)
def test_the_schema_still_has_all_that_each_statement_names(
    statement: Statement, every_database: psycopg.Connection
) -> None:
    statement.check(every_database)


def test_the_old_code_claims_renews_records_steps_and_finishes(ledger: psycopg.Connection) -> None:
    assert old(ledger, "INTRODUCE") is not None
    run = old_claim(ledger)
    mine = {"run_id": run["run_id"], "fence": run["fence"], "lock_key": run["lock_key"]}
    assert old(ledger, "HEARTBEAT", **mine, progress=Jsonb({"done": 1})) == {"cancel_reason": None}
    assert old(ledger, "REJOIN", **mine) is not None
    with ledger.transaction():
        assert old(ledger, "RECORD", **mine, keys=["invoice:1"], lease="30000") == {"rows": 1}
    assert old(ledger, "DONE", **mine, keys=["invoice:1", "invoice:2"]) == {"step_key": "invoice:1"}
    assert old_end(ledger, mine)
    assert ledger.execute(OUTCOME, ["2026-11-29T02:00Z"]).fetchone() == ENDED
    assert ask(ledger, "select status from shiftlock.job_runs where run_key = '2026-11-30T02:00Z'") == "pending"


def test_the_old_code_rescues_and_is_fenced(ledger: psycopg.Connection) -> None:
    run = old_claim(ledger)
    mine = {"run_id": run["run_id"], "fence": run["fence"], "lock_key": run["lock_key"]}
    ledger.execute(END_LEASE)
    lost = old(ledger, "RESCUE", **mine, on_lost="retry", lost_budget=5, error="no heartbeat")
    assert lost == {"status": "pending"}
    again = old_claim(ledger, holder="another")
    assert again["attempt"] == 2
    assert old(ledger, "HEARTBEAT", **mine) is None
    assert not old_end(ledger, mine)


def test_the_old_code_gives_way_skips_and_explains(ledger: psycopg.Connection) -> None:
    run = old_claim(ledger)
    later = {"run_key": "2026-11-30T02:00Z", "tick": TICK + timedelta(days=1)}
    refused = old(ledger, "CLAIM", **later)
    assert refused is not None
    assert refused["run_id"] is None
    why = old(ledger, "EXPLAIN", **later)
    assert why is not None
    assert (why["other_id"], why["other_leased"]) == (run["run_id"], True)
    assert old(ledger, "SKIP", **later) == {"rows": 1}
    assert old(ledger, "QUEUE", **{**later, "run_key": "another"}, other=run["run_id"]) == {"rows": 1}
    assert old(ledger, "NEXT_IN_LINE", lock_key=run["lock_key"]) is not None


def test_what_the_old_code_has_begun_the_new_code_rescues_and_finishes(ledger: psycopg.Connection) -> None:
    run = old_claim(ledger)
    ledger.execute(END_LEASE)
    with guard_on(ledger.info.dsn) as guard:
        # A session that goes on, as that of a frozen process would, keeps the lock until it is ended.
        ledger.execute("select pg_advisory_unlock_all()")
        taken = claimed(guard, request(holder="the new code"))
        assert (taken.run_id, taken.attempt) == (run["run_id"], 2)
        guard.finish(taken, Ending(outcome="succeeded", status="succeeded", result={"invoices": 3}))
    assert ledger.execute(OUTCOME, ["2026-11-29T02:00Z"]).fetchone() == ENDED


def test_what_the_new_code_has_begun_the_old_code_takes_over_and_finishes(ledger: psycopg.Connection) -> None:
    with guard_on(ledger.info.dsn) as guard:
        begun = claimed(guard, request())
        with Steps(ledger, begun, lease=LEASE).step("invoice:1"):
            pass
    ledger.execute(END_LEASE)
    facts = {"run_id": begun.run_id, "fence": begun.fence}
    assert old(ledger, "RESCUE", **facts, on_lost="retry", lost_budget=5, error="no heartbeat") == {"status": "pending"}
    run = old_claim(ledger)
    assert (run["run_id"], run["attempt"]) == (begun.run_id, 2)
    assert old(ledger, "DONE", **facts, keys=["invoice:1"]) == {"step_key": "invoice:1"}
    mine = {"run_id": run["run_id"], "fence": run["fence"], "lock_key": run["lock_key"]}
    assert old_end(ledger, mine)
    assert ledger.execute(OUTCOME, ["2026-11-29T02:00Z"]).fetchone() == ENDED


def test_a_run_that_the_old_code_planned_is_claimed_by_the_new(ledger: psycopg.Connection) -> None:
    run = old_claim(ledger)
    mine = {"run_id": run["run_id"], "fence": run["fence"], "lock_key": run["lock_key"]}
    assert old_end(ledger, mine, next_key="next", next_tick=TICK)
    with guard_on(ledger.info.dsn) as guard:
        assert isinstance(guard.claim(request("next")), Claimed)
