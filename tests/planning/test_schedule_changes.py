"""Passes over a ledger whose jobs have changed: another schedule, none, paused, or gone from the table."""

import psycopg

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.cron import Cron, cron, every
from handlers.declaration.duration import minutes
from handlers.declaration.policy import CatchUp
from handlers.declaration.run_key import tick_key
from handlers.guard.request import Ending
from handlers.planning.rows import UNSEEN
from handlers.planning.sweep import Pass, sweep
from tests.guard.holders import ask, claimed, guard_on, request
from tests.planning.passes import AGO, OTHER, look, table

STATES = """
select tick, status, skip_reason from shiftlock.job_runs where job_name = 'nightly' order by tick, run_key
"""


def test_a_changed_schedule_supersedes_what_was_planned_and_comes_back_with_it(database: psycopg.Connection) -> None:
    even, odd = cron("0/2 * * * ? *"), cron("1/2 * * * ? *")
    look(database, table(even))
    made = look(database, table(odd))
    assert {skip.reason for _, skip in made.skipped} == {"superseded"}
    states = {tick.minute % 2: (status, reason) for tick, status, reason in database.execute(STATES)}
    assert states == {0: ("skipped", "superseded"), 1: ("pending", None)}
    look(database, table(even))
    states = {tick.minute % 2: (status, reason) for tick, status, reason in database.execute(STATES)}
    assert states == {0: ("pending", None), 1: ("skipped", "superseded")}


def test_ticks_that_both_schedules_have_stay_planned(database: psycopg.Connection) -> None:
    look(database, table(every(minutes=1)))
    look(database, table(every(minutes=5)))
    pending = "select tick from shiftlock.job_runs where status = 'pending'"
    kept = [tick for (tick,) in database.execute(pending)]
    assert len(kept) >= 12
    assert all(tick.minute % 5 == 0 for tick in kept)


def test_what_was_due_before_a_change_stays_due(database: psycopg.Connection) -> None:
    old = every(minutes=1)
    look(database, table(old))
    database.execute("delete from shiftlock.job_runs")
    database.execute(AGO, [minutes(5)])
    made = look(database, table(cron("0 0 1 1 ? *"), catch_up=CatchUp("all")))
    assert made.planned == 5
    [(job, start)] = made.starts
    assert (job.name, start.due.run_key) == ("nightly", tick_key(start.due.due_at))


def test_the_schedule_is_not_taken_for_changed_by_its_spelling(database: psycopg.Connection) -> None:
    look(database, table(Cron("0/2  *  * * ? *", "Europe/Berlin")))
    assert look(database, table(Cron("0/2  *  * * ? *", "Europe/Berlin"))).planned == 0


def test_a_job_that_has_left_the_table_leaves_nothing_planned(database: psycopg.Connection) -> None:
    look(database, table())
    assert look(database, OTHER).skipped == ()  # a table of another version may be at work beside this one
    database.execute("update shiftlock.jobs set seen_at = seen_at - %s", [UNSEEN])
    made = look(database, OTHER)
    assert {(job, skip.reason) for job, skip in made.skipped} == {("nightly", "superseded")}
    look(database, OTHER)
    assert (
        ask(database, "select count(*) from shiftlock.job_runs where job_name = 'nightly' and status = 'pending'") == 0
    )
    assert ask(database, "select planned_until is null from shiftlock.jobs where name = 'nightly'") is True
    look(database, table())
    assert ask(
        database, "select count(*) > 59 from shiftlock.job_runs where job_name = 'nightly' and status = 'pending'"
    )


def test_a_paused_job_leaves_a_row_for_each_tick_that_it_does_not_run(database: psycopg.Connection) -> None:
    look(database, table())
    database.execute("update shiftlock.jobs set paused_at = clock_timestamp()")
    database.execute("delete from shiftlock.job_runs")
    database.execute(AGO, [minutes(4)])
    made = look(database, table(catch_up=CatchUp("all", window=None)))
    assert made.starts == ()
    assert [skip.reason for _, skip in made.skipped] == ["paused"] * 4
    database.execute("update shiftlock.jobs set paused_at = null")
    assert ask(database, "select count(*) > 59 from shiftlock.job_runs where status = 'pending'") is True


def test_a_job_without_a_schedule_here_has_nothing_planned_and_its_manual_runs_go_on(
    database_url: str, database: psycopg.Connection
) -> None:
    def without(jobs: Catalogue) -> Pass:
        return sweep(database, jobs, on_time=lambda job: minutes(1), rings=True, lost_budget=5, off={"nightly"})

    look(database, table())
    made = without(table())
    assert {skip.reason for _, skip in made.skipped} == {"superseded"}
    with guard_on(database_url) as guard:
        again = Ending(outcome="failed", status="pending", next_key="next", next_tick=made.at + minutes(1))
        guard.finish(claimed(guard, request("by hand", trigger="manual")), again)
    made = without(table())
    assert [start.due.run_key for _, start in made.starts] == ["by hand"]
    assert [skip.due.run_key for _, skip in made.skipped] == ["next"]
    assert ask(database, "select count(*) from shiftlock.job_runs where status = 'pending'") == 1


def test_a_tick_of_the_old_schedule_that_a_process_plans_after_the_change_is_superseded_when_due(
    database_url: str, database: psycopg.Connection
) -> None:
    look(database, table(cron("0 0/2 * * ? *")))
    with guard_on(database_url) as guard:
        run = claimed(guard, request())
        look(database, table(cron("0 0 1 1 ? *")))
        odd = look(database, table(cron("0 0 1 1 ? *"))).at
        guard.finish(run, Ending(outcome="succeeded", status="succeeded", next_key="odd", next_tick=odd))
    made = look(database, table(cron("0 0 1 1 ? *"), catch_up=CatchUp("all", window=None)))
    assert [(skip.due.run_key, skip.reason) for _, skip in made.skipped] == [("odd", "superseded")]
    assert made.starts == ()


def test_what_a_job_had_due_long_before_it_came_back_is_not_missed(database: psycopg.Connection) -> None:
    jobs = table(catch_up=CatchUp("all", window=None))
    look(database, jobs)
    database.execute("delete from shiftlock.job_runs")
    database.execute("update shiftlock.jobs set schedule = null, planned_until = null, scheduled_since = null")
    database.execute(
        "insert into shiftlock.job_runs (job_name, run_key, lock_key, tick, trigger, status, next_run) "
        "select name, 'old', lock_key, at, 'plan', 'pending', at from shiftlock.jobs, "
        "lateral (select clock_timestamp() - interval '50 days' as at) as ago"
    )
    made = look(database, jobs)
    assert [(skip.due.run_key, skip.reason) for _, skip in made.skipped] == [("old", "superseded")]
    assert made.starts == ()
