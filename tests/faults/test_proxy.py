"""The proxy breaks connections the way networks do."""

import psycopg
import pytest

from handlers.guard.bounded import BoundedConnection
from tests.faults.proxy import Proxy

BRIEF = 0.3  # seconds
INSERT = "insert into arrived default values"
COUNT = "select count(*) from arrived"


@pytest.fixture
def arrived(database: psycopg.Connection) -> psycopg.Connection:
    database.execute("create table arrived (id integer generated always as identity)")
    return database


def test_a_reset_is_seen_at_once_and_the_next_connection_works(database_url: str) -> None:
    with Proxy(database_url) as proxy, psycopg.connect(proxy.through(database_url), autocommit=True) as connection:
        proxy.cut("reset")
        with pytest.raises(psycopg.OperationalError):
            connection.execute("select 1")
        with psycopg.connect(proxy.through(database_url)) as another:
            assert another.execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize(("how", "arrivals"), [("silence", 0), ("deaf", 1), ("late", 1)])
def test_what_is_sent_into_a_cut_arrives_never_or_unanswered_or_late(
    database_url: str, arrived: psycopg.Connection, how: str, arrivals: int
) -> None:
    with Proxy(database_url) as proxy:
        connection = BoundedConnection.connect(proxy.through(database_url), autocommit=True).within(BRIEF)
        end = proxy.cut(how)  # type: ignore[arg-type]  # one of the three above
        with pytest.raises(psycopg.OperationalError, match="no answer"):
            connection.execute(INSERT)
        before = arrived.execute(COUNT).fetchone()
        assert before == (1 if how == "deaf" else 0,)
        end()
        arrived.execute("select pg_sleep(0.2)")
        assert arrived.execute(COUNT).fetchone() == (arrivals,)
