"""`declare`: turn the job table into a catalogue, or refuse it with every complaint in one message."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from handlers.declaration.job import Job
from handlers.declaration.placement import placement_complaints
from handlers.declaration.queue_limits import queue_complaints


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
    complaints = (
        *(f"{job.name}: {text}" for job in jobs for text in _complaints(job)),
        *_repeated_names(jobs),
        *_unknown_receivers(jobs),
    )
    if complaints:
        raise InvalidSchedule(complaints)
    return Catalogue(jobs)


def _complaints(job: Job) -> Iterator[str]:
    wrong = [*job.complaints(), *placement_complaints(job)]
    yield from wrong or queue_complaints(job)


def _repeated_names(jobs: tuple[Job, ...]) -> tuple[str, ...]:
    names = [job.name for job in jobs]
    repeated = sorted({name for name in names if names.count(name) > 1})
    return tuple(f"{name}: name {name!r} is given {names.count(name)} times: allowed is once" for name in repeated)


def _unknown_receivers(jobs: tuple[Job, ...]) -> Iterator[str]:
    known = {job.name for job in jobs if job.queue is not None}
    allowed = ", ".join(sorted(known)) or "none yet"
    for job in jobs:
        for name in job.sends:
            if name not in known:
                yield f"{job.name}: sends {name!r}: allowed is the name of a job with a queue, {allowed}"
