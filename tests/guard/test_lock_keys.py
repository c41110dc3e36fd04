"""Lock keys are registered once, however many claimants of a new job come at the same time."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import psycopg

from handlers.guard.lock import lock_key, register

CLAIMANTS = 8
JOBS = tuple(f"new-job-{number}" for number in range(100))


def test_a_new_job_that_many_register_at_once_is_registered_by_one_and_no_error_to_the_others(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    together = Barrier(CLAIMANTS)

    def register_all(_: int) -> int:
        new = 0
        with psycopg.connect(every_server_url, autocommit=True) as connection:
            for job in JOBS:
                together.wait(60)
                new += register(connection, [job])
        return new

    with ThreadPoolExecutor(CLAIMANTS) as pool:
        assert sum(pool.map(register_all, range(CLAIMANTS))) == len(JOBS)
    stored = every_database.execute("select name, lock_key from shiftlock.jobs").fetchall()
    assert sorted(stored) == sorted((job, lock_key(job)) for job in JOBS)
