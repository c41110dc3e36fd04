"""`jobs runs` and `jobs show`, on ledgers that real runs have written."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from handlers.declaration.policy import Retry
from handlers.declaration.run_key import tick_key
from handlers.guard.children import settle
from handlers.guard.intervene import cancel
from handlers.guard.outbox import NewRun
from handlers.guard.park import park
from tests.guard.holders import claimed, guard_on, request
from tests.ops.command import Jobs
from tests.runtime.running import TICK, run, sample

YESTERDAY = TICK - timedelta(days=1)
ONCE = Retry(attempts=1)
WAITING = """
update shiftlock.job_runs set status = 'running', fence = nextval('shiftlock.fence'), holder = 'its children',
    lease_until = '2200-01-01 00:00Z', may_fail = 0, progress = '{"done": 5, "total": 10}' where id = %s
"""
TRIED = """
insert into shiftlock.job_attempts (run_id, attempt, fence, holder, compute, started_at, ended_at, outcome)
select %(id)s, number, nextval('shiftlock.fence'), 'somebody', 'test', clock_timestamp(), clock_timestamp(), 'lost'
from generate_series(1, %(times)s) as number
"""


def cells(line: str) -> list[str]:
    """The cells of one line of a table."""
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_runs_come_newest_first_with_all_that_matters(jobs: Jobs, database_url: str) -> None:
    run(sample("fail_twice"), database_url, at=YESTERDAY)
    run(sample("fail", retry=ONCE), database_url)
    *lines, left_out = jobs("runs").out.splitlines()
    header, failed, succeeded = map(cells, lines)
    assert header == ["id", "job", "run", "trigger", "status", "attempts", "started (UTC)", "took", "error"]
    coming = sample("succeed").schedule.next(datetime.now(UTC))
    assert coming is not None
    assert left_out == "1 planned ahead, not listed here: `jobs runs --status pending` has them"
    _, planned = map(cells, jobs("runs", "--status", "pending").out.splitlines())
    assert planned[1:7] == ["sample", tick_key(coming), "plan", "pending", "0", f"due {coming:%Y-%m-%d %H:%M:%S}"]
    assert failed[1:6] == ["sample", "2026-11-29T02:00Z", "rule", "failed", "1"]
    assert failed[-1] == "ValueError: the order has no price"
    assert succeeded[1:6] == ["sample", "2026-11-28T02:00Z", "rule", "succeeded", "3"]
    assert succeeded[-1] == "ConnectionError: attempt 2" or succeeded[-1] == "-"


def test_runs_are_chosen_by_job_status_and_number(jobs: Jobs, database_url: str) -> None:
    run(sample("succeed"), database_url, at=YESTERDAY)
    run(sample("fail", retry=ONCE), database_url)
    run(replace(sample("succeed"), name="other"), database_url)

    def chosen(*arguments: str) -> list[tuple[str, str]]:
        return [(record["job"], record["status"]) for record in json.loads(jobs("runs", *arguments, "--json").out)]

    assert chosen("other") == [("other", "succeeded")]
    assert chosen("other", "--status", "pending") == [("other", "pending")]
    assert chosen("--status", "succeeded") == [("other", "succeeded"), ("sample", "succeeded")]
    assert chosen("sample", "--status", "failed") == [("sample", "failed")]
    assert chosen("--last", "1") == [("other", "succeeded")]
    assert jobs("runs", "other", "--status", "failed").out == "no failed runs of other in the ledger\n"


def test_a_long_error_is_cut_in_the_list_and_whole_in_the_run(
    jobs: Jobs, database_url: str, database: psycopg.Connection
) -> None:
    run(sample("fail", retry=ONCE), database_url)
    words = "out of stock " * 40
    database.execute("update shiftlock.job_runs set error_msg = %s where attempt > 0", [words])
    [listed] = [line for line in jobs("runs").out.splitlines() if "failed" in line]
    assert listed.endswith("...")
    assert len(listed) < len(words)
    assert f"error     {words.strip()}\n" in jobs("show", "1").out


def test_a_run_by_hand_has_a_dash_for_its_tick(jobs: Jobs, database_url: str) -> None:
    report = run(sample("succeed"), database_url, at=None, trigger="manual")
    assert cells(jobs("runs").out.splitlines()[1])[1:4] == ["sample", "-", "manual"]
    assert f"key       {report.run_key}\n" in jobs("show", f"sample@{report.run_key}").out


@pytest.mark.parametrize(
    "name", ["1", "sample@2026-11-29T02:00Z", "sample@2026-11-29T02:00:00Z", "sample@2026-11-29T05:00+03:00"]
)
def test_a_run_is_found_by_its_id_and_by_its_tick_however_that_is_written(
    jobs: Jobs, database_url: str, name: str
) -> None:
    run(sample("succeed"), database_url)
    done = jobs("show", name)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("run       1\njob       sample\nstatus    succeeded\ntick      2026-11-29T02:00Z\n")
    assert json.loads(done.out.partition("result\n")[2]) == {"attempt": 1}


def test_a_run_is_shown_with_its_attempts_and_the_steps_that_each_has_done(
    jobs: Jobs, database_url: str, database: psycopg.Connection
) -> None:
    database.execute("create table effect (name text not null, attempt integer not null)")
    run(sample("two_steps_and_a_failure_between"), database_url)
    lines = jobs("show", "1").out.splitlines()
    assert "steps     2" in lines
    header, first, second = (cells(line) for line in lines[lines.index("") + 1 :][:3])
    assert header == ["attempt", "outcome", "started (UTC)", "took", "steps", "compute", "holder", "error"]
    assert (first[:2], first[4:6], first[-1]) == (
        ["1", "failed"],
        ["1", "test"],
        "ConnectionError: cut between the steps",
    )
    assert (second[:2], second[4:6], second[-1]) == (["2", "succeeded"], ["1", "test"], "-")


def test_a_run_that_goes_on_is_shown_with_its_holder_lease_and_progress(jobs: Jobs, database_url: str) -> None:
    with guard_on(database_url) as guard:
        held = claimed(guard, request(job="sample"))
        guard.renew(held, {"done": 7, "total": 100})
        shown = jobs("show", str(held.run_id)).out
        assert "status       running\n" in shown
        assert "holder       holder-1\n" in shown
        assert "lease until  " in shown
        assert "progress     7 of 100\n" in shown
        assert "result" not in shown
        [attempt] = json.loads(jobs("show", str(held.run_id), "--json").out)["attempts"]
        assert (attempt["outcome"], attempt["ended_at"]) == (None, None)
        assert cells(jobs("runs").out.splitlines()[1])[4:6] == ["running", "1"]


def test_a_parent_that_waits_has_neither_a_lease_nor_the_progress_of_its_own_work(
    jobs: Jobs, database: psycopg.Connection
) -> None:
    parent, child = (park(database, "sample", NewRun(key)) for key in ("all", "all/1"))
    database.execute("update shiftlock.job_runs set parent_id = %s where id = %s", (parent, child))
    database.execute(WAITING, (parent,))
    shown = jobs("show", str(parent)).out
    assert "\nuntil     its children have ended\n" in shown
    assert "lease until" not in shown
    cancel(database, child, "not wanted")
    settle(database, parent)
    ended = jobs("show", str(parent)).out
    for said in (shown, ended):
        assert "progress" not in said
    assert "\nstatus    failed\n" in ended
    assert "\nchildren  1 of 1 ended, 1 not well\n" in ended


def test_of_many_attempts_the_last_are_shown(jobs: Jobs, database: psycopg.Connection) -> None:
    run_id = park(database, "sample", NewRun("often"))
    database.execute(TRIED, {"id": run_id, "times": 23})
    lines = jobs("show", str(run_id)).out.splitlines()
    assert [cells(line)[0] for line in lines[-21:-1]] == [str(number) for number in range(4, 24)]
    assert lines[-1] == "3 earlier attempts, not listed here: --json has them"
    assert len(json.loads(jobs("show", str(run_id), "--json").out)["attempts"]) == 23


def test_machines_get_the_whole_run(jobs: Jobs, database_url: str) -> None:
    run(sample("fail_twice"), database_url)
    record = json.loads(jobs("show", "sample@2026-11-29T02:00Z", "--json").out)
    assert (record["status"], record["tick"], record["result"]) == ("succeeded", "2026-11-29T02:00:00Z", {"attempt": 3})
    assert [attempt["outcome"] for attempt in record["attempts"]] == ["failed", "failed", "succeeded"]
    assert record["attempts"][0]["error"] == "ConnectionError: attempt 1"
    assert record["finished_at"].endswith("Z")


def test_looking_at_the_ledger_cannot_change_it(database_url: str) -> None:
    from handlers.runtime.settings import DatabaseUrl, Settings
    from ops.reading import reading

    with (
        reading(Settings("test", DatabaseUrl(database_url))) as ledger,
        pytest.raises(psycopg.errors.ReadOnlySqlTransaction),
    ):
        ledger.execute("insert into shiftlock.jobs (name, lock_key) values ('sample', 1)")


def test_a_run_of_a_message_is_listed_by_its_key_and_shown_with_its_parent_and_children(
    jobs: Jobs, database: psycopg.Connection
) -> None:
    parent = park(database, "sample", NewRun("all"))
    children = [park(database, "sample", NewRun(f"all/{number}")) for number in range(3)]
    database.execute("update shiftlock.job_runs set parent_id = %s where id = any(%s)", (parent, children))
    cancel(database, children[0], "not wanted")
    assert [cells(line)[2] for line in jobs("runs").out.splitlines()[1:]] == ["all/2", "all/1", "all/0", "all"]
    assert "\nchildren  1 of 3 ended, 1 not well\n" in jobs("show", str(parent)).out
    assert f"\npart of  run {parent} (sample@all)\n" in jobs("show", str(children[1])).out
    family = json.loads(jobs("show", str(parent), "--json").out)["family"]
    assert [family[name] for name in ("parent", "children", "ended", "succeeded")] == [None, 3, 1, 0]
