"""`Job`: one declared piece of work, as a frozen record.

Building a record never raises: `catalogue.declare` checks the whole table and says all that is wrong at once.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, get_args

from handlers.declaration.cron import Cron
from handlers.declaration.duration import hours, minutes, seconds
from handlers.declaration.never import NEVER, Never
from handlers.declaration.policy import CatchUp, OnDuplicate, OnLost, Overlap, Retry
from handlers.declaration.queue import Queue
from handlers.declaration.spread import spread_complaints
from handlers.declaration.target import target_complaints

Compute = Literal["auto", "lambda", "fargate"]

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
LONGEST_NAME = 40
PREFIX = re.compile(r"[a-z0-9][a-z0-9-]*(/[a-z0-9-]+)*/")
LONGEST_RUN = hours(24)
# ECS lets a container take at most 120 s between SIGTERM and SIGKILL on Fargate (task definition, stopTimeout);
# the rest is for recording the interruption.
LONGEST_STOP = seconds(110)


@dataclass(frozen=True, slots=True)
class Job:
    """A declared piece of work.

    name: kebab-case, unique, at most 40 characters; it becomes part of AWS resource names.
    target: `package.module:function`, called with one `Context`.
    schedule: when it is due; without a zone in UTC. A job with a queue needs none.
    queue: its messages start it too.
    longest_run: an attempt is ended after this long.
    memory, disk: MB. compute: `auto` lets the limits decide.
    spread: AWS starts a run up to so many whole minutes after its tick, so that jobs due at one minute do not start at
    once; the tick keeps its time. See `spread`.
    start_within: a run that starts later than this after its tick and its spread counts as late.
    stop_within: how long a job that is told to stop has to reach a safe point.
    catch_up, overlap, retry, on_lost, on_duplicate: see `policy`.
    sends: names of the jobs that it sends messages to. reads, writes: folders of the environment's bucket, such as
    `uploads/`. internet: it calls something outside of AWS. Nothing else is allowed to it.
    """

    name: str
    target: str = field(kw_only=True)
    schedule: Cron = field(default=NEVER, kw_only=True)
    queue: Queue | None = field(default=None, kw_only=True)
    longest_run: timedelta = field(kw_only=True)
    description: str = field(default="", kw_only=True)
    memory: int = field(default=256, kw_only=True)
    disk: int = field(default=512, kw_only=True)
    compute: Compute = field(default="auto", kw_only=True)
    spread: timedelta = field(default=timedelta(), kw_only=True)
    start_within: timedelta = field(default=minutes(10), kw_only=True)
    stop_within: timedelta = field(default=seconds(100), kw_only=True)
    catch_up: CatchUp = field(default=CatchUp(), kw_only=True)
    overlap: Overlap = field(default="skip", kw_only=True)
    retry: Retry = field(default=Retry(), kw_only=True)
    on_lost: OnLost = field(default="retry", kw_only=True)
    on_duplicate: OnDuplicate = field(default="skip", kw_only=True)
    sends: tuple[str, ...] = field(default=(), kw_only=True)
    reads: tuple[str, ...] = field(default=(), kw_only=True)
    writes: tuple[str, ...] = field(default=(), kw_only=True)
    internet: bool = field(default=False, kw_only=True)

    @property
    def scheduled(self) -> bool:
        """Whether it has a schedule at all."""
        return not isinstance(self.schedule, Never)

    @property
    def late_after(self) -> timedelta:
        """How long after its tick a run that has not started counts as late."""
        return self.spread + self.start_within

    def complaints(self) -> Iterator[str]:
        """Yield `field value: what is allowed` for everything wrong with this job alone."""
        if not NAME.fullmatch(self.name) or len(self.name) > LONGEST_NAME:
            yield f"name {self.name!r}: allowed is kebab-case like nightly-billing, at most {LONGEST_NAME} characters"
        yield from target_complaints(self.target)
        wrong_schedule = tuple(f"schedule {text}" for text in self.schedule.complaints())
        if self.scheduled:
            yield from wrong_schedule or spread_complaints(self.schedule, self.spread)
        elif self.queue is None:
            yield "schedule None: allowed is a schedule such as cron('0 2 * * ? *'), or a queue, or both"
        elif self.spread:
            yield f"spread {self.spread}: allowed is 0 without a schedule"
        if not seconds(1) <= self.longest_run <= LONGEST_RUN:
            yield f"longest_run {self.longest_run}: allowed is 1 second to 24 hours"
        if not seconds(1) <= self.start_within <= hours(24):
            yield f"start_within {self.start_within}: allowed is 1 second to 24 hours"
        if not timedelta() < self.stop_within <= LONGEST_STOP:
            yield f"stop_within {self.stop_within}: allowed is more than 0 and at most {LONGEST_STOP}"
        for name, value, allowed in (
            ("compute", self.compute, get_args(Compute)),
            ("overlap", self.overlap, get_args(Overlap)),
            ("on_lost", self.on_lost, get_args(OnLost)),
            ("on_duplicate", self.on_duplicate, get_args(OnDuplicate)),
        ):
            if value not in allowed:
                yield f"{name} {value!r}: allowed is {', '.join(allowed)}"
        for name, folders in (("reads", self.reads), ("writes", self.writes)):
            for folder in folders:
                if not PREFIX.fullmatch(folder):
                    yield f"{name} {folder!r}: allowed is a folder of lower-case words such as uploads/"
        yield from self.catch_up.complaints()
        yield from self.retry.complaints()
        if self.queue is not None:
            yield from self.queue.complaints()
