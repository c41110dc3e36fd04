"""The databases that `conftest` gives to tests."""

import psycopg


def test_every_test_has_a_database_of_its_own(every_database: psycopg.Connection) -> None:
    every_database.execute("create table mine ()")
    assert every_database.execute("select count(*) from shiftlock.migrations").fetchone() != (0,)


def test_a_database_has_nothing_of_another_test(every_database: psycopg.Connection) -> None:
    assert every_database.execute("select to_regclass('public.mine')").fetchone() == (None,)
