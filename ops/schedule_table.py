"""The schedule as a Markdown table, for the README: `python -m ops.schedule_table` puts today's into it."""

from pathlib import Path

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.job import Job
from handlers.declaration.placement import place
from handlers.schedule import SCHEDULE
from ops.wording import retries, size, span

README = Path(__file__).parent.parent / "README.md"
START = "<!-- schedule: kept true by tests/test_readme.py -->"
END = "<!-- /schedule -->"

HEADER = ("job", "schedule", "zone", "runs on", "why there", "longest run", "retries")


def schedule_table(catalogue: Catalogue) -> str:
    """One row per job, in the order of the table; lines end in a newline."""
    lines = [HEADER, ("---",) * len(HEADER), *(_cells(job) for job in catalogue)]
    return "".join(f"| {' | '.join(map(_escaped, line))} |\n" for line in lines)


def _cells(job: Job) -> tuple[str, ...]:
    placement = place(job)
    return (
        f"`{job.name}`",
        _starts(job),
        (job.schedule.zone or "UTC") if job.scheduled else "",
        f"{placement.compute.capitalize()}, {size(placement)}",
        placement.because,
        span(job.longest_run),
        retries(job.retry),
    )


def _starts(job: Job) -> str:
    """What starts it: ticks, messages, or both."""
    ticks = [f"`{job.schedule.expression}`"] if job.scheduled else []
    return ", ".join([*ticks, *(["messages"] if job.queue is not None else [])])


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")


def main() -> None:
    """Write the table of the job table as it is now into README.md, between its two marks."""
    text = README.read_text()
    before, after = text.partition(START)[0], text.partition(END)[2]
    README.write_text(f"{before}{START}\n{schedule_table(SCHEDULE)}{END}{after}")


if __name__ == "__main__":
    main()
