"""One export in a process that has imported what a task of it imports, and no more.

python -m benchmarks.export_process DATABASE_URL
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.cron import cron
from handlers.declaration.duration import hours
from handlers.declaration.job import Job
from handlers.runtime.identity import Delivery
from handlers.runtime.logs import open_log
from handlers.runtime.report import Result
from handlers.runtime.runner import Runner
from handlers.runtime.settings import DatabaseUrl, Settings
from handlers.runtime.stop import Stop

BUCKET = "shiftlock-benchmark-files"
TICK = datetime(2026, 11, 30, 5, tzinfo=UTC)
JOB = Job(
    "weekly-export",
    target="handlers.jobs.weekly_export:run",
    schedule=cron("0 5 ? * MON *"),
    longest_run=hours(1),
    compute="fargate",
    writes=("exports/",),
)


def main() -> int:
    """Run the job; print the most memory that this process has held and what the job returned."""
    url = sys.argv[1]
    runner = Runner(
        settings=Settings("dev", DatabaseUrl(url), files=BUCKET),
        observers=(),
        log=open_log(),
        stop=Stop(),
        compute="benchmark",
        catalogue=Catalogue((JOB,)),
    )
    report = runner.run(JOB, Delivery("rule", TICK))
    if report.result is not Result.SUCCEEDED:
        sys.stderr.write(f"{report.result}: {report.error or report.because}\n")
        return 1
    print(json.dumps([peak(), report.value]))
    return 0


def peak() -> int:
    """The most memory that this process has held, bytes.

    Not getrusage: what it says of a new process begins with the memory of the one that started it (Linux, execve).
    """
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    sys.exit(main())
