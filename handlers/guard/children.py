"""A run that waits for the runs it has sent out: it stays `running`, held by them, and the last one ends it.

No process waits. Whoever ends a child looks whether it was the last; should it die in between, the watchdog looks.
"""

from dataclasses import dataclass

import psycopg

OPEN = "('pending', 'running', 'unknown')"

# Found in the index however many children there are: each of them asks this at its end.
ANY_OPEN = f"""
select exists (select from shiftlock.job_runs where parent_id = %(parent)s and status in {OPEN})
"""  # noqa: S608 - of constants

# Why a run has ended that nobody has meant but with its parent.
WITH_PARENT = "its parent was cancelled"

# The part of a statement, behind its part `ended` (id, status), that ends what a cancelled run has sent out, and what
# that has: in one with the end itself, since afterwards nobody would look. `offset 0` has each looked up in the index,
# however many children the planner thinks a run has.
ALONG = f"""
below as (
    select child.id from ended cross join lateral (
        select id from shiftlock.job_runs where parent_id = ended.id and status in ('pending', 'running') offset 0
    ) as child where ended.status = 'cancelled'
    union all
    select child.id from below cross join lateral (
        select id from shiftlock.job_runs where parent_id = below.id and status in ('pending', 'running') offset 0
    ) as child
), along as (
    update shiftlock.job_runs set
        cancel_reason = '{WITH_PARENT}',
        status = case when status = 'pending' then 'cancelled' else status end,
        finished_at = case when status = 'pending' then clock_timestamp() end
    where id in (select id from below) and status in ('pending', 'running') and cancel_reason is null
)"""  # noqa: S608 - of constants

# Of two last children each sees the other's end, or comes before it: one of them at least sees that none is open, and
# of two that see it one gets the row.
SETTLE = f"""
with recursive child as (
    select count(*) as total, count(*) filter (where status = 'succeeded') as succeeded,
           count(*) filter (where status in {OPEN}) as open
    from shiftlock.job_runs where parent_id = %(parent)s
), verdict as (
    select *, total - open - succeeded as failed,
           total - open - succeeded > floor(run.may_fail * total + 1e-9) as too_many
    from child, (select may_fail from shiftlock.job_runs where id = %(parent)s) as run
), ended as (
    update shiftlock.job_runs as run set
        status = case when run.cancel_reason is not null then 'cancelled' when too_many then 'failed'
                      else 'succeeded' end,
        error_msg = case when run.cancel_reason is null and too_many
                         then format('%%s of %%s children have not succeeded', failed, total) end,
        result = coalesce(run.result, '{{}}') || jsonb_build_object(
            'children', total, 'succeeded', succeeded, 'failed', failed),
        progress = jsonb_build_object('done', total - open, 'total', total),
        finished_at = clock_timestamp(), holder = null, lease_until = null, may_fail = null,
        untold = run.cancel_reason is null and too_many and run.parent_id is null
    from verdict
    where run.id = %(parent)s and run.status = 'running' and run.may_fail is not null
      and (open = 0 or too_many or run.cancel_reason is not null)
    returning run.id, run.job_name, run.run_key, run.status, run.parent_id
), {ALONG}
select id, job_name, run_key, status, parent_id from ended
"""  # noqa: S608 - of constants

# Those that can end come first: a hundred that wait for long hold up none of them, and take turns to be looked at.
WAITING = f"""
select id from shiftlock.job_runs as run where may_fail is not null and status = 'running'
order by cancel_reason is null and exists (
    select from shiftlock.job_runs where parent_id = run.id and status in {OPEN}
), random() limit 100
"""  # noqa: S608 - of constants

PROGRESS = f"""
update shiftlock.job_runs as run set progress = jsonb_build_object('done', child.done, 'total', child.total)
from (
    select count(*) as total, count(*) filter (where status not in {OPEN}) as done
    from shiftlock.job_runs where parent_id = %(parent)s
) as child
where run.id = %(parent)s and run.status = 'running' and run.may_fail is not null
returning run.job_name, child.done, child.total
"""  # noqa: S608 - of constants


@dataclass(frozen=True, slots=True)
class Settled:
    """A parent that has ended with its children, in `status`."""

    run_id: int
    job: str
    run_key: str
    status: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """A parent that goes on: `done` of its `total` children have ended."""

    job: str
    done: int
    total: int


def settle(connection: psycopg.Connection, parent: int, *, failed: bool = False) -> list[Settled]:
    """End the parent if its last child has ended or more have failed than may, and its own parent with it.

    failed: a child has just not succeeded, so that this may be the one too many.
    """
    settled = []
    wanted: int | None = parent
    while wanted is not None:
        facts = {"parent": wanted}
        if not failed and connection.execute(ANY_OPEN, facts).fetchone() == (True,):
            break
        row = connection.execute(SETTLE, facts).fetchone()
        if row is None:
            break
        run_id, job, run_key, status, wanted = row
        settled.append(Settled(run_id, job, run_key, status))
        failed = status != "succeeded"
    return settled


def settle_all(connection: psycopg.Connection) -> tuple[list[Settled], list[Waiting]]:
    """Look at each parent that waits, at most 100: those that have ended now, and how far the others are."""
    settled: list[Settled] = []
    waiting = []
    for (parent,) in connection.execute(WAITING).fetchall():
        ended = settle(connection, parent, failed=True)
        settled += ended
        if not ended:
            waiting += [Waiting(*row) for row in connection.execute(PROGRESS, {"parent": parent})]
    return settled, waiting
