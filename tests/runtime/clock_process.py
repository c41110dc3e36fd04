"""The real clock and its real children, over a job table of the tests' own: `python -m tests.runtime.clock_process`.

With a job's name as its argument it is a child.
"""

import sys

import handlers.schedule
from handlers.declaration.catalogue import declare
from handlers.declaration.cron import cron
from handlers.declaration.duration import hours, minutes, seconds
from handlers.declaration.job import Job
from handlers.declaration.policy import CatchUp, Retry

# A time that no test meets: what is due comes from rows that the tests write.
FAR_OFF = cron("0 0 1 1 ? 2099")
ALL = CatchUp("all", window=None, at_most=100)


def job(name: str, target: str, **facts: object) -> Job:
    """A job that runs when a test says so."""
    given = {"schedule": FAR_OFF, "longest_run": hours(1), "catch_up": ALL, "stop_within": seconds(60), **facts}
    return Job(name, target=f"tests.runtime.sample_jobs:{target}", **given)  # type: ignore[arg-type]


TABLE = declare(
    job("quick", "succeed"),
    job("patient", "wait_until_told_to_stop"),
    job("deaf", "never_come_back", longest_run=minutes(1)),
    job("unlucky", "fail_twice", retry=Retry(attempts=3, base=seconds(1), cap=seconds(1))),
    job("stuck", "stop_the_process_once"),
)


def main() -> int:
    """Be the clock, or the child that the argument names."""
    handlers.schedule.SCHEDULE = TABLE
    if len(sys.argv) > 1:
        from handlers.runtime import task_entry

        return task_entry.main(sys.argv[1:])
    from handlers.runtime import clock_entry

    return clock_entry.main(command=lambda job: [sys.executable, "-m", "tests.runtime.clock_process", job.name])


if __name__ == "__main__":
    sys.exit(main())
