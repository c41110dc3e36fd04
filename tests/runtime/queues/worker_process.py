"""A real worker of the sample job, in shorter steps of time: `python -m tests.runtime.queues.worker_process note`."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import handlers.schedule
from handlers.declaration.catalogue import declare
from tests.runtime.queues.post import queued

BEAT = timedelta(seconds=0.25)


def main(function: str) -> int:
    """Be the worker of the sample job with this function."""
    job = queued(function, compute="fargate", stop_within=timedelta(seconds=60))
    handlers.schedule.SCHEDULE = declare(job)
    from handlers.runtime import worker_entry

    as_deployed = worker_entry.open_worker

    def quick(arguments: list[str], environ: Mapping[str, str]) -> worker_entry.Worker:
        return replace(as_deployed(arguments, environ), poll=1, beat=BEAT, jitter=lambda: 0.0)

    worker_entry.open_worker = quick
    return worker_entry.main([job.name])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
