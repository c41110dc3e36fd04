"""Passes over a real ledger: rows ahead, catch-up, rescue, what goes first, and several schedulers at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import psycopg
import pytest

from handlers.declaration.catalogue import Catalogue, declare
from handlers.declaration.cron import cron, every
from handlers.declaration.duration import hours, minutes
from handlers.declaration.job import Job
from handlers.declaration.policy import CatchUp
from handlers.declaration.queue import Queue
from handlers.declaration.run_key import tick_key
from handlers.guard.lock import lock_key
from handlers.guard.request import Ending
from handlers.planning import carry_out
from handlers.planning.due import MOST_DUE
from tests.guard.holders import ask, claimed, guard_on, request
from tests.planning.passes import AGO, MINUTELY, OTHER, TARGET, after_an_outage_of, look, table

# More than a pass judges in one partition, and a late one in another.
MESSAGES = """
insert into shiftlock.job_runs (job_name, run_key, lock_key, trigger, status, next_run)
select 'nightly', 'loud ' || n, %(loud)s, 'queue', 'pending', now() - interval '2 hours' + n * interval '1 ms'
from generate_series(1, %(most)s + 100) as n
union all select 'nightly', 'quiet', %(quiet)s, 'queue', 'pending', now() - interval '1 hour'
"""
COUNTS = "select status, skip_reason, count(*) from shiftlock.job_runs group by 1, 2 order by 1, 2"


def test_the_ticks_of_the_coming_hour_are_rows(database: psycopg.Connection) -> None:
    made = look(database, table())
    coming = {tick_key(made.at + n * minutes(1)) for n in range(1, 61)}
    assert coming <= {key for (key,) in database.execute("select run_key from shiftlock.job_runs")}
    assert made.planned == ask(database, "select count(*) from shiftlock.job_runs where status = 'pending'")
    again = look(database, table())
    assert (again.planned, again.skipped, again.starts) == (0, (), ())


def test_a_new_job_has_missed_nothing(database: psycopg.Connection) -> None:
    made = look(database, table(catch_up=CatchUp("all", window=None)))
    assert made.skipped == ()
    assert ask(database, "select count(*) from shiftlock.job_runs where tick <= clock_timestamp()") == 0


def test_every_tick_of_an_outage_is_a_row_and_what_is_dropped_has_its_reason(database: psycopg.Connection) -> None:
    made = after_an_outage_of(minutes(112), database, table(catch_up=CatchUp("all", window=None, at_most=10)))
    found = {tuple(row[:2]): row[2] for row in database.execute(COUNTS)}
    assert found["skipped", "cap"] == 102
    assert ask(database, "select count(*) from shiftlock.job_runs where status = 'pending' and next_run <= now()") == 10
    assert len(made.starts) == 1
    assert {skip.reason for _, skip in made.skipped} == {"cap"}


def test_a_run_whose_lease_has_ended_is_due_again_in_the_same_pass(
    database_url: str, database: psycopg.Connection
) -> None:
    jobs = table(cron("0 2 * * ? *"))
    look(database, jobs)
    with guard_on(database_url) as guard:
        run = claimed(guard, request())
        database.execute("update shiftlock.job_runs set lease_until = clock_timestamp() where status = 'running'")
        made = look(database, jobs)
    assert [(lost.run_id, lost.status, lost.holder) for lost in made.lost] == [(run.run_id, "pending", "holder-1")]
    [(_, start)] = made.starts
    assert (start.due.run_id, start.trigger) == (run.run_id, "retry")


def test_a_lost_run_of_a_job_that_has_left_the_table_waits_for_a_person(
    database_url: str, database: psycopg.Connection
) -> None:
    with guard_on(database_url) as guard:
        claimed(guard, request())
        database.execute("update shiftlock.job_runs set lease_until = clock_timestamp() where status = 'running'")
        assert [lost.status for lost in look(database, OTHER).lost] == ["unknown"]


def test_a_tick_that_meets_a_run_catching_up_waits_and_is_next(database_url: str, database: psycopg.Connection) -> None:
    with guard_on(database_url) as first, guard_on(database_url) as second:
        old = claimed(first, request("old", trigger="catch-up"))
        second.claim(request("now"))
        assert ask(database, "select status from shiftlock.job_runs where run_key = 'now'") == "pending"
        first.finish(old, Ending(outcome="succeeded", status="succeeded"))
        waiting = first.next_in_line(old.lock_key)
        assert waiting is not None
        assert waiting.run_key == "now"


def test_of_many_schedulers_one_calls_a_run(database_url: str, database: psycopg.Connection) -> None:
    made = after_an_outage_of(minutes(3), database, table(catch_up=CatchUp("all", window=None)))
    run_ids = [start.due.run_id for _, start in made.starts]

    def call(_: int) -> set[int]:
        with psycopg.connect(database_url, autocommit=True) as own:
            return carry_out.call(own, run_ids)

    with ThreadPoolExecutor(8) as pool:
        calls = list(pool.map(call, range(8)))
    assert sorted(map(len, calls)) == [0] * 7 + [1]
    database.execute("update shiftlock.job_runs set called_at = called_at - %s", [carry_out.CALL_AGAIN])
    assert carry_out.call(database, run_ids) == set(run_ids)


@pytest.mark.parametrize("change", [lambda: table(every(minutes=1)), lambda: table(cron("0/3 * * * ? *"))])
def test_schedulers_that_make_their_passes_at_once_leave_each_tick_one_row(
    database_url: str, database: psycopg.Connection, change: Callable[[], Catalogue]
) -> None:
    look(database, table(every(minutes=2)))
    database.execute("delete from shiftlock.job_runs")
    database.execute(AGO, [hours(30)])

    changed = change()  # Python 3.11 cannot read source in several threads at once (python/cpython#106905)

    def own_pass(_: int) -> datetime:
        with psycopg.connect(database_url, autocommit=True) as own:
            return look(own, changed).at

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(own_pass, range(6)))
    assert (
        ask(database, "select count(*) from (select tick from shiftlock.job_runs group by 1 having count(*) > 1) d")
        == 0
    )
    assert ask(database, "select count(*) >= 900 from shiftlock.job_runs where tick <= clock_timestamp()") is True
    assert ask(database, "select count(*) from shiftlock.job_runs where status = 'pending' and tick <= now()") == 1


def test_ten_thousand_due_rows_are_judged_in_some_passes_and_hold_up_nothing_that_is_due_now(
    database: psycopg.Connection,
) -> None:
    jobs = declare(*table(catch_up=CatchUp("all", window=None, at_most=100)), *OTHER)
    look(database, jobs)
    database.execute("delete from shiftlock.job_runs where job_name = 'nightly'")
    database.execute("update shiftlock.job_runs set next_run = clock_timestamp() where job_name = 'other'")
    database.execute("update shiftlock.jobs set planned_until = clock_timestamp() - interval '10000 minutes'")
    passes = [look(database, jobs)]
    assert {job.name for job, _ in passes[0].starts} == {"nightly", "other"}
    while passes[-1].more or passes[-1].planned:
        passes.append(look(database, jobs))
    assert 5 <= len(passes) <= 15
    due = "select count(*) from shiftlock.job_runs where status = 'pending' and tick <= %s and job_name = 'nightly'"
    assert ask(database, due, passes[-1].at) == 100  # a minute may have begun since
    assert ask(database, "select count(*) >= 9900 from shiftlock.job_runs where skip_reason = 'cap'") is True


def test_of_more_messages_than_a_pass_judges_each_partition_has_its_first_started_and_missed_ticks_are_made_up_for(
    database: psycopg.Connection,
) -> None:
    jobs = table(hourly := every(hours=1), queue=Queue(), catch_up=CatchUp("latest"))
    look(database, jobs)
    facts = {"most": MOST_DUE, "loud": lock_key("nightly/loud"), "quiet": lock_key("nightly/quiet")}
    database.execute(MESSAGES, facts)
    database.execute(AGO, [hours(3)])
    missed = look(database, jobs, rings=False)
    keys = sorted(start.due.run_key for _, start in missed.starts)
    assert keys == [tick_key(hourly.previous(missed.at) or missed.at), "loud 1", "quiet"]


def test_a_row_that_somebody_has_locked_holds_up_no_other(database_url: str, database: psycopg.Connection) -> None:
    jobs = declare(*table(catch_up=CatchUp("all", window=None)), *OTHER)
    look(database, jobs)
    database.execute(
        "update shiftlock.job_runs set tick = now() - interval '5 s', next_run = now() - interval '5 s' "
        "where id in (select min(id) from shiftlock.job_runs group by job_name)"
    )
    database.execute("set statement_timeout = '5s'")
    with psycopg.connect(database_url) as other, guard_on(database_url) as guard:
        lost = claimed(guard, request("lost", trigger="manual"))
        database.execute("update shiftlock.job_runs set lease_until = clock_timestamp() where id = %s", [lost.run_id])
        other.execute("select from shiftlock.job_runs where job_name = 'nightly' for update")
        made = look(database, jobs)
        assert {job.name for job, _ in made.starts} >= {"other"}
        runs = [start.due.run_id for _, start in made.starts]
        called = carry_out.call(database, runs)
        names = {start.due.run_id: job.name for job, start in made.starts}
        assert {names[run] for run in called} == {"other"}


def test_what_is_on_time_goes_before_what_other_jobs_have_missed(database: psycopg.Connection) -> None:
    each = {"target": TARGET, "longest_run": minutes(1), "catch_up": CatchUp("all", window=None)}
    late = [Job(f"late-{n}", schedule=cron("0 0 1 1 ? *"), **each) for n in range(3)]  # type: ignore[arg-type]
    jobs = declare(*late, Job("now", schedule=MINUTELY, **each))  # type: ignore[arg-type]
    look(database, jobs)
    database.execute("delete from shiftlock.job_runs")
    database.execute(
        "insert into shiftlock.job_runs (job_name, run_key, lock_key, tick, trigger, status, next_run) "
        "select name, 'due', lock_key, at, 'plan', 'pending', at from shiftlock.jobs, "
        "lateral (select date_trunc('minute', clock_timestamp()) - interval '1 h' * (name <> 'now')::int as at) as ago"
    )
    database.execute("update shiftlock.jobs set scheduled_since = clock_timestamp() + interval '1 h'")
    names = [job.name for job, _ in look(database, jobs).starts]
    assert names == ["now", "late-0", "late-1", "late-2"]


def test_what_was_sent_to_one_job_goes_behind_what_another_has_to_try_again(database: psycopg.Connection) -> None:
    jobs = declare(*table(queue=Queue()), *OTHER)
    look(database, jobs)
    database.execute("delete from shiftlock.job_runs")
    database.execute(MESSAGES, {"most": 1, "loud": lock_key("nightly/loud"), "quiet": lock_key("nightly/quiet")})
    database.execute(
        "insert into shiftlock.job_runs (job_name, run_key, lock_key, trigger, status, attempt) "
        "select name, 'tried', lock_key, 'plan', 'pending', 1 from shiftlock.jobs where name = 'other'"
    )
    assert [start.due.run_key for _, start in look(database, jobs).starts] == ["tried", "loud 1", "quiet"]


def test_an_empty_table_has_nothing_to_do(database: psycopg.Connection) -> None:
    made = look(database, declare())
    assert (made.planned, made.starts, made.skipped) == (0, (), ())


@pytest.mark.parametrize(
    ("policy", "most"), [(CatchUp("all", window=None, at_most=3), 3), (CatchUp("latest", None), 1)]
)
def test_an_outage_of_many_portions_is_made_up_for_as_one(
    database_url: str, database: psycopg.Connection, policy: CatchUp, most: int
) -> None:
    jobs = table(catch_up=policy)
    made = after_an_outage_of(minutes(5000), database, jobs)
    ran = []
    with guard_on(database_url) as guard:
        for _ in range(12):
            for _, start in made.starts:
                run = request(start.due.run_key, tick=start.due.tick, trigger=start.trigger)
                guard.finish(claimed(guard, run), Ending(outcome="succeeded", status="succeeded"))
                ran.append((start.due.due_at, start.trigger))
            made = look(database, jobs)
    made_up = [at for at, trigger in ran if trigger == "catch-up"]
    assert len(made_up) <= most
    assert made_up == sorted(made_up)
    assert len(ran) <= most + 2  # and the tick of now; a minute may have passed meanwhile
    assert ask(database, "select count(*) <= 1 from shiftlock.job_runs where status = 'pending' and tick <= now()")


def test_a_call_of_a_time_to_come_counts_for_nothing_once_the_clock_was_set_back(database: psycopg.Connection) -> None:
    made = after_an_outage_of(minutes(3), database, table(catch_up=CatchUp("all", window=None)))
    run_ids = [start.due.run_id for _, start in made.starts]
    assert carry_out.call(database, run_ids) == set(run_ids)
    database.execute("update shiftlock.job_runs set called_at = called_at + interval '1 hour'")
    assert [
        start.due.run_id for _, start in look(database, table(catch_up=CatchUp("all", window=None))).starts
    ] == run_ids
    assert carry_out.call(database, run_ids) == set(run_ids)
