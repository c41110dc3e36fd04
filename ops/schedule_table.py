"""The schedule as a Markdown table, for the README."""

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.job import Job
from handlers.declaration.placement import place
from ops.wording import retries, size, span

HEADER = ("job", "schedule", "zone", "runs on", "why there", "longest run", "retries")


def schedule_table(catalogue: Catalogue) -> str:
    """One row per job, in the order of the table; lines end in a newline."""
    lines = [HEADER, ("---",) * len(HEADER), *(_cells(job) for job in catalogue)]
    return "".join(f"| {' | '.join(map(_escaped, line))} |\n" for line in lines)


def _cells(job: Job) -> tuple[str, ...]:
    placement = place(job)
    return (
        f"`{job.name}`",
        f"`{job.schedule.expression}`",
        job.schedule.zone or "UTC",
        f"{placement.compute.capitalize()}, {size(placement)}",
        placement.because,
        span(job.longest_run),
        retries(job.retry),
    )


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")
