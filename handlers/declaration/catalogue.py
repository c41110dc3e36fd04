"""`declare`: turn the job table into a catalogue, or refuse it with every complaint in one message."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from handlers.declaration.job import Job
from handlers.declaration.placement import placement_complaints
from handlers.declaration.queue_limits import queue_complaints
from handlers.declaration.shape import shown, wrong_types


class InvalidSchedule(ValueError):
    """The job table has mistakes; the message names job, field, value and what is allowed, one line each."""

    def __init__(self, complaints: tuple[str, ...]) -> None:
        self.complaints = complaints
        noun = "mistake" if len(complaints) == 1 else "mistakes"
        super().__init__(
            f"{len(complaints)} {noun} in the job table:\n" + "\n".join(f"  {text}" for text in complaints)
        )


class UnknownJob(LookupError):
    """No job has this name; the message names the nearest one."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.name = name
        nearest = get_close_matches(name, known, n=1)
        hint = f"did you mean {nearest[0]}?" if nearest else f"known are {', '.join(sorted(known))}"
        super().__init__(f"unknown job {name!r}: {hint}")


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All declared jobs, in the order of the table."""

    jobs: tuple[Job, ...]

    def __iter__(self) -> Iterator[Job]:
        return iter(self.jobs)

    def __len__(self) -> int:
        return len(self.jobs)

    def find(self, name: str) -> Job:
        """The job of this name. Raises UnknownJob."""
        for job in self.jobs:
            if job.name == name:
                return job
        raise UnknownJob(name, tuple(job.name for job in self.jobs))


def declare(*jobs: Job) -> Catalogue:
    """The catalogue of these jobs. Raises InvalidSchedule with the complaints of all of them."""
    mistyped = {place: wrong for place, job in enumerate(jobs) if (wrong := _mistyped(job, place))}
    typed = tuple(job for place, job in enumerate(jobs) if place not in mistyped)
    named = tuple(job for job in jobs if isinstance(job, Job) and isinstance(job.name, str))
    complaints = (
        *(text for place, job in enumerate(jobs) for text in mistyped.get(place) or _complaints(job)),
        *_repeated_names(named),
        *_unknown_receivers(typed, {job.name for job in named if job.queue is not None}),
    )
    if complaints:
        raise InvalidSchedule(complaints)
    return Catalogue(jobs)


def _mistyped(job: object, place: int) -> tuple[str, ...]:
    """What of this entry is of a type that no check of values could bear."""
    if not isinstance(job, Job):
        return (f"entry {place + 1} of the table {shown(job)}: allowed is Job(...)",)
    name = job.name if isinstance(job.name, str) else shown(job.name)
    return tuple(f"{name}: {text}" for text in wrong_types(job))


def _complaints(job: Job) -> Iterator[str]:
    wrong = [*job.complaints(), *placement_complaints(job)]
    yield from (f"{job.name}: {text}" for text in wrong or queue_complaints(job))


def _repeated_names(jobs: tuple[Job, ...]) -> tuple[str, ...]:
    names = [job.name for job in jobs]
    repeated = sorted({name for name in names if names.count(name) > 1})
    return tuple(f"{name}: name {name!r} is given {names.count(name)} times: allowed is once" for name in repeated)


def _unknown_receivers(jobs: tuple[Job, ...], known: set[str]) -> Iterator[str]:
    allowed = ", ".join(sorted(known)) or "none yet"
    for job in jobs:
        for name in job.sends:
            if name not in known:
                yield f"{job.name}: sends {name!r}: allowed is the name of a job with a queue, {allowed}"
