"""Behind a transaction pooler: it is noticed, and the row alone keeps runs apart. With a real PgBouncer."""

import signal
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import psutil
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from handlers.guard.answers import AlreadyDone, Busy, Claimed, Overlap
from handlers.guard.connection import open_connection, refuses_settings, work_session
from handlers.guard.errors import DatabaseUnavailable
from handlers.guard.request import Ending
from tests.guard.holders import END_LEASE, ask, claimed, guard_on, request
from tests.guard.pgbouncer import pgbouncer
from tests.runtime.running import FORK

SUCCESS = Ending(outcome="succeeded", status="succeeded")
SESSION_LOCKS = """
select count(*) from pg_locks join pg_database on pg_database.oid = pg_locks.database
where locktype = 'advisory' and datname = current_database()
"""
POOLED = "select count(*) from pg_stat_activity where datname = current_database() and application_name = 'test guard'"
# Two attempts of one lock key that were open at the same time.
AT_ONCE = """
select count(*) from shiftlock.job_attempts one join shiftlock.job_attempts other on one.fence < other.fence
where tstzrange(one.started_at, one.ended_at) && tstzrange(other.started_at, other.ended_at)
"""
ENDS = "select run_key, status, attempt from shiftlock.job_runs order by run_key"
CLAIMANTS = 20
RUNS = tuple(f"run {number}" for number in range(6))


def test_the_pooler_of_these_tests_frees_a_session_lock_for_somebody_who_never_took_it(tcp_url: str) -> None:
    """Which is why the guard must take none here."""
    with (
        pgbouncer(tcp_url, default_pool_size=1) as url,
        psycopg.connect(url, autocommit=True) as one,
        psycopg.connect(url, autocommit=True) as other,
    ):
        one.execute("select pg_advisory_lock(1)")
        assert other.execute("select pg_advisory_unlock(1)").fetchone() == (True,)
        assert one.execute("select pg_advisory_unlock(1)").fetchone() == (False,)


@pytest.mark.parametrize("settings", ["refused", "ignored"])
@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_a_pooler_is_noticed_whether_it_refuses_our_settings_or_ignores_them(
    tcp_url: str, mode: str, settings: str
) -> None:
    ignored = "options" if settings == "ignored" else ""
    with pgbouncer(tcp_url, pool_mode=mode, ignore_startup_parameters=ignored) as url, guard_on(url) as guard:
        assert guard.row_only
        session, _ = guard._usable(None)
        assert (session.backend_pid, session.backend_start) == (None, None)
        assert session.connection.prepare_threshold is None


def test_a_pooler_is_noticed_by_its_process_ids_though_the_database_has_our_setting_by_itself(
    tcp_url: str, tcp_database: psycopg.Connection
) -> None:
    name = sql.Identifier(tcp_database.info.dbname)
    tcp_database.execute(sql.SQL("alter database {name} set idle_session_timeout = '30s'").format(name=name))
    with pgbouncer(tcp_url, ignore_startup_parameters="options") as url, guard_on(url) as guard:
        assert guard.row_only


@pytest.mark.parametrize(
    "reason",
    [
        "FATAL:  unsupported startup parameter: options",
        "FATAL:  unsupported startup parameter in options: idle_session_timeout",
        "FATAL:  Feature not supported: RDS Proxy currently doesn\N{RIGHT SINGLE QUOTATION MARK}t support "
        "command-line options.",
    ],
)
def test_the_refusals_of_pgbouncer_and_rds_proxy_are_known(reason: str) -> None:
    assert refuses_settings(reason)


@pytest.mark.parametrize(
    "reason", ['FATAL:  database "options" does not exist', "FATAL:  password authentication failed"]
)
def test_another_reason_to_be_turned_away_is_no_sign_of_a_pooler(reason: str) -> None:
    assert not refuses_settings(reason)


def test_a_pooler_that_cannot_reach_the_database_is_reported_as_a_database_out_of_reach(tcp_url: str) -> None:
    with (
        pgbouncer(tcp_url) as url,
        pytest.raises(DatabaseUnavailable, match=r"^database nosuch at 127\.0\.0\.1:\d+ unavailable: "),
        guard_on(make_conninfo(url, dbname="nosuch")),
    ):
        pass


@pytest.mark.parametrize("lease", [1, 1.8, 2.0005, 30, 90, 600, 5400], ids="{}s".format)
@pytest.mark.parametrize("options", ["", "-c idle_session_timeout=7s -c work_mem=3MB"], ids=["", "own options"])
def test_a_direct_connection_is_not_taken_for_a_pooled_one(every_server_url: str, lease: float, options: str) -> None:
    url = make_conninfo(every_server_url, options=options)
    with guard_on(url, lease=timedelta(seconds=lease)) as guard:
        assert not guard.row_only


def test_a_direct_connection_over_tcp_is_not_taken_for_a_pooled_one(tcp_url: str) -> None:
    with guard_on(make_conninfo(tcp_url, options="-c statement_timeout=9s")) as guard:
        assert not guard.row_only


def test_of_many_claimants_of_many_runs_each_run_has_one_and_no_two_are_at_work_at_once(
    pooled_url: str, tcp_database: psycopg.Connection
) -> None:
    """Each claims all six: what has run five times psycopg would have prepared by now."""
    together = Barrier(CLAIMANTS)

    def work(number: int) -> tuple[list[str], list[int]]:
        won: list[str] = []
        seen: list[int] = []
        with guard_on(pooled_url) as guard:
            assert guard.row_only
            together.wait(60)
            todo = [*RUNS[number % len(RUNS) :], *RUNS[: number % len(RUNS)]]
            while todo:
                match guard.claim(request(todo[0], tick=None, trigger="manual", holder=f"holder {number}")):
                    case Claimed() as mine:
                        with psycopg.connect(tcp_database.info.dsn, autocommit=True) as direct:
                            seen.append(int(str(ask(direct, SESSION_LOCKS))))
                        guard.renew(mine, None)
                        guard.finish(mine, SUCCESS)
                        won.append(todo.pop(0))
                    case AlreadyDone():
                        todo.pop(0)
                    case answer:
                        assert isinstance(answer, Busy | Overlap), answer
        return won, seen

    with ThreadPoolExecutor(CLAIMANTS) as pool:
        results = list(pool.map(work, range(CLAIMANTS)))
        assert 1 < int(str(ask(tcp_database, POOLED))) <= 5
    assert sorted(run for won, _ in results for run in won) == list(RUNS)
    assert [locks for _, seen in results for locks in seen] == [0] * len(RUNS)
    assert tcp_database.execute(ENDS).fetchall() == [(run, "succeeded", 1) for run in RUNS]
    assert ask(tcp_database, AT_ONCE) == 0
    assert ask(tcp_database, SESSION_LOCKS) == 0


def test_a_direct_and_a_pooled_claimant_keep_out_of_each_others_way(tcp_url: str, pooled_url: str) -> None:
    with guard_on(tcp_url) as direct, guard_on(pooled_url) as pooled:
        mine = claimed(direct, request("first"))
        assert isinstance(pooled.claim(request("second", tick=None, trigger="manual")), Overlap)
        direct.finish(mine, SUCCESS)
        mine = claimed(pooled, request("second", tick=None, trigger="manual"))
        assert isinstance(direct.claim(request("third", tick=None, trigger="manual")), Overlap)
        answer = direct.claim(request("second", tick=None, trigger="manual"))
        assert isinstance(answer, Busy)
        assert answer.alive  # nobody can tell, and the lease has not ended
        pooled.finish(mine, SUCCESS)
        claimed(direct, request("third", tick=None, trigger="manual"))


def test_a_takeover_ends_no_session_of_the_pool_though_it_goes_by_the_ghosts_name(
    tcp_url: str, tcp_database: psycopg.Connection
) -> None:
    with pgbouncer(tcp_url, default_pool_size=2) as url, guard_on(url) as ghost, guard_on(tcp_url) as successor:
        lost = claimed(ghost, request())
        name = work_session("nightly", lost.run_id, lost.fence)
        with (
            open_connection(lambda: url, name=name, settings={}, pooled=True) as work,
            psycopg.connect(url) as innocent,
            psycopg.connect(url) as another,
        ):
            with work.transaction():
                ask(work, "select 1")
            # Both sessions of the pool are lent out, so one of them is the one that the ghost's job has used.
            names = {ask(client, "select current_setting('application_name')") for client in (innocent, another)}
            assert name in names
            tcp_database.execute(END_LEASE)
            assert claimed(successor, request(holder="holder-2")).attempt == 2
            assert [ask(client, "select 1") for client in (innocent, another)] == [1, 1]


def test_the_pooler_of_these_tests_dies_with_its_process(tcp_url: str) -> None:
    def body() -> None:
        with pgbouncer(tcp_url):
            for child in psutil.Process().children():
                writer.send(child.pid)
            signal.pause()

    reader, writer = FORK.Pipe(duplex=False)
    process = FORK.Process(target=body)
    process.start()
    pooler = psutil.Process(reader.recv())
    assert pooler.name() == "pgbouncer"
    process.kill()
    process.join()
    assert psutil.wait_procs([pooler], timeout=30)[1] == []
