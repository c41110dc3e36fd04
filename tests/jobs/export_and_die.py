"""Export until so many rows are written, and die of it, as by a kill from outside.

python -m tests.jobs.export_and_die URL ROWS
"""

import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from benchmarks.export_process import BUCKET, JOB, TICK
from handlers.declaration.catalogue import Catalogue
from handlers.jobs import weekly_export
from handlers.runtime.context import Context
from handlers.runtime.identity import Delivery
from handlers.runtime.logs import open_log
from handlers.runtime.runner import Runner
from handlers.runtime.settings import DatabaseUrl, Settings
from handlers.runtime.stop import Stop


def run(context: Context) -> Mapping[str, object]:
    """The job, killed once it notes that progress."""
    note = context.progress

    def note_or_die(done: int, total: int | None = None) -> None:
        if done >= int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        note(done, total)

    context.progress = note_or_die  # type: ignore[method-assign]
    return weekly_export.run(context)


if __name__ == "__main__":
    job = replace(JOB, target="tests.jobs.export_and_die:run")
    settings = Settings("dev", DatabaseUrl(sys.argv[1]), timedelta(seconds=1), files=BUCKET)
    Runner(settings, observers=(), log=open_log(), stop=Stop(), compute="test", catalogue=Catalogue((job,))).run(
        job, Delivery("rule", TICK)
    )
