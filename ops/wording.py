"""How spans, times and places are written for people, the same in every command, the README and the live table."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from handlers.declaration.job import Job
from handlers.declaration.placement import Placement
from handlers.declaration.policy import Retry
from handlers.declaration.spread import offset

CPU_UNITS = 1024  # of Fargate, per vCPU


def span(length: timedelta) -> str:
    """At most two units, the second only where it counts: `21 ms`, `1.4 s`, `3 min 20 s`, `45 min`, `2 d 3 h`."""
    seconds = length.total_seconds()
    if 0 < seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95 and round(seconds, 1) != round(seconds):
        return f"{seconds:.1f} s"
    left = round(seconds)
    for size, unit, smaller_size, smaller in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if left >= size:
            rest = left % size // smaller_size
            return f"{left // size} {unit}" + (f" {rest} {smaller}" if rest else "")
    return f"{left} s"


def minute(moment: datetime) -> str:
    """A tick as run keys and the command line have it: `2026-11-29T02:00Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%MZ")


def second(moment: datetime) -> str:
    """A time in UTC to the second: `2026-11-29 02:00:03`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def wall(moment: datetime, zone: str) -> str:
    """What clocks in an IANA zone show, with their distance from UTC: `2026-11-29 05:00+03`, `...+05:30`."""
    return moment.astimezone(ZoneInfo(zone)).isoformat(" ", "minutes").removesuffix(":00")


def iso(moment: datetime, zone: str | None) -> str:
    """ISO 8601 in an IANA zone, None for UTC: `2026-11-29T05:00:00+03:00`."""
    return moment.astimezone(ZoneInfo(zone) if zone else UTC).isoformat()


def size(placement: Placement) -> str:
    """What a place gives to a job: `256 MB`, `0.25 vCPU 1024 MB`."""
    cpu = "" if placement.cpu is None else f"{placement.cpu / CPU_UNITS:g} vCPU "
    return f"{cpu}{placement.memory} MB"


def retries(retry: Retry) -> str:
    """How often a job is tried, and the longest wait between: `5 attempts, at most 5 min apart`."""
    if retry.attempts == 1:
        return "1 attempt"
    return f"{retry.attempts} attempts, at most {span(retry.longest_wait(retry.attempts - 1))} apart"


def when(job: Job) -> str:
    """What starts the job: its schedule's expression, messages, or both."""
    if not job.scheduled:
        return "by message"
    return job.schedule.expression + ("" if job.queue is None else ", and by message")


def later(job: Job) -> str:
    """How long after its tick a job with a spread is started: `4 min later`, or `up to 10 min later` in a zone."""
    if job.schedule.zone is None:
        return f"{offset(job.name, job.spread) // timedelta(minutes=1)} min later"
    return f"up to {span(job.spread)} later"


def one_line(text: str, at_most: int | None = None) -> str:
    """Text from elsewhere on one line, without what could steer a terminal, and cut where it is too long."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if at_most is None or len(line) <= at_most else line[: at_most - 3] + "..."
