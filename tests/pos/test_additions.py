"""What was loaded by an earlier release."""

import psycopg

from tests.jobs.inventory import load_platform


def test_data_of_an_earlier_release_gets_the_tables_that_have_come_since_and_stays_as_it_is(
    database_url: str, database: psycopg.Connection
) -> None:
    load_platform(database_url)
    database.execute("drop table platform.pos_sync; drop sequence platform.pos_revision")
    database.execute("update platform.stock set on_hand = 7 where id = 101")
    load_platform(database_url)
    database.execute("insert into platform.pos_sync (restaurant_id, cursor) values (1, 'c1')")
    load_platform(database_url)
    assert database.execute("select restaurant_id, cursor from platform.pos_sync").fetchall() == [(1, "c1")]
    assert database.execute("select on_hand from platform.stock where id = 101").fetchone() == (7,)
