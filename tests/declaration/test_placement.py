"""Lambda or Fargate, how large, and why."""

from dataclasses import replace
from datetime import timedelta

import pytest

from handlers.declaration.cron import every
from handlers.declaration.duration import hours, minutes, seconds
from handlers.declaration.job import Compute, Job
from handlers.declaration.placement import FARGATE_SIZES, Placement, place, placement_complaints

SMALL = Job("small", target="handlers.jobs.billing_run:run", schedule=every(minutes=5), longest_run=minutes(5))


def test_a_job_within_all_limits_runs_on_lambda() -> None:
    assert place(SMALL) == Placement("lambda", 256, None, 512, "longest_run 5 min + 30 s margin fits Lambda's 900 s")


@pytest.mark.parametrize(
    ("job", "because"),
    [
        (replace(SMALL, longest_run=minutes(45)), "longest_run 45 min + 30 s margin passes Lambda's 900 s"),
        (replace(SMALL, longest_run=seconds(870.5)), "longest_run 870.5 s + 30 s margin passes Lambda's 900 s"),
        (replace(SMALL, memory=10_241), "memory 10,241 MB passes Lambda's 10,240 MB"),
        (replace(SMALL, disk=10_241), "disk 10,241 MB passes Lambda's 10,240 MB"),
        (replace(SMALL, compute="fargate"), "the job asks for Fargate"),
        (replace(SMALL, compute="fargate", longest_run=hours(2)), "the job asks for Fargate"),
    ],
)
def test_a_job_past_a_limit_of_lambda_runs_on_fargate_and_says_which(job: Job, because: str) -> None:
    placement = place(job)
    assert (placement.compute, placement.because) == ("fargate", because)


@pytest.mark.parametrize(
    "job",
    [
        replace(SMALL, longest_run=seconds(870)),
        replace(SMALL, memory=10_240),
        replace(SMALL, memory=128),
        replace(SMALL, disk=10_240),
        replace(SMALL, compute="lambda"),
    ],
)
def test_a_job_at_a_limit_of_lambda_still_runs_there_as_large_as_it_asks(job: Job) -> None:
    placement = place(job)
    assert (placement.compute, placement.memory, placement.disk) == ("lambda", job.memory, job.disk)


def test_an_environment_with_a_longer_lambda_keeps_longer_jobs_on_it() -> None:
    job = replace(SMALL, longest_run=minutes(20))
    assert place(job).compute == "fargate"
    assert place(job, lambda_ceiling=seconds(1800)) == Placement(
        "lambda", 256, None, 512, "longest_run 20 min + 30 s margin fits Lambda's 1,800 s"
    )


@pytest.mark.parametrize(
    ("memory", "cpu", "given"),
    [
        (128, 256, 512),
        (512, 256, 512),
        (513, 256, 1024),
        (2048, 256, 2048),
        (2049, 512, 3072),
        (4097, 1024, 5120),
        (8193, 2048, 9216),
        (16_384, 2048, 16_384),
        (16_385, 4096, 17_408),
        (30_721, 8192, 32_768),
        (61_441, 16_384, 65_536),
        (122_880, 16_384, 122_880),
    ],
)
def test_a_task_gets_the_smallest_size_that_holds_its_memory(memory: int, cpu: int, given: int) -> None:
    placement = place(replace(SMALL, memory=memory, compute="fargate"))
    assert (placement.cpu, placement.memory) == (cpu, given)


@pytest.mark.parametrize(
    ("cpu", "lowest", "highest", "count"),
    [
        (256, 512, 2048, 3),
        (512, 1024, 4096, 4),
        (1024, 2048, 8192, 7),
        (2048, 4096, 16_384, 13),
        (4096, 8192, 30_720, 23),
        (8192, 16_384, 61_440, 12),
        (16_384, 32_768, 122_880, 12),
    ],
)
def test_fargate_has_these_sizes(cpu: int, lowest: int, highest: int, count: int) -> None:
    sizes = dict(FARGATE_SIZES)[cpu]
    assert (sizes[0], sizes[-1], len(sizes)) == (lowest, highest, count)


@pytest.mark.parametrize(("asked", "given"), [(512, 20_480), (20_480, 20_480), (20_481, 20_481), (204_800, 204_800)])
def test_a_task_gets_the_20_gib_of_disk_that_come_with_it_or_what_it_asks_above(asked: int, given: int) -> None:
    assert place(replace(SMALL, disk=asked, compute="fargate")).disk == given


@pytest.mark.parametrize(
    ("job", "complaint"),
    [
        (replace(SMALL, memory=127), "memory 127: allowed is 128 to 122,880 MB"),
        (replace(SMALL, memory=122_881), "memory 122881: allowed is 128 to 122,880 MB"),
        (replace(SMALL, disk=511), "disk 511: allowed is 512 to 204,800 MB"),
        (replace(SMALL, disk=204_801), "disk 204801: allowed is 512 to 204,800 MB"),
        (
            replace(SMALL, compute="lambda", longest_run=minutes(15)),
            "compute 'lambda': longest_run 15 min + 30 s margin passes Lambda's 900 s; allowed is auto or fargate",
        ),
        (
            replace(SMALL, compute="lambda", memory=10_241),
            "compute 'lambda': memory 10,241 MB passes Lambda's 10,240 MB; allowed is auto or fargate",
        ),
        (
            replace(SMALL, compute="lambda", disk=10_241),
            "compute 'lambda': disk 10,241 MB passes Lambda's 10,240 MB; allowed is auto or fargate",
        ),
    ],
)
def test_limits_that_no_place_can_hold_are_refused(job: Job, complaint: str) -> None:
    assert tuple(placement_complaints(job)) == (complaint,)


@pytest.mark.parametrize("compute", ["auto", "lambda", "fargate"])
@pytest.mark.parametrize("longest_run", [seconds(1), minutes(14), minutes(15), hours(24)])
@pytest.mark.parametrize("memory", [128, 10_240, 10_241, 122_880])
def test_a_job_without_complaints_has_a_place_that_holds_it(
    compute: Compute, longest_run: timedelta, memory: int
) -> None:
    job = replace(SMALL, compute=compute, longest_run=longest_run, memory=memory)
    if not tuple(placement_complaints(job)):
        placement = place(job)
        assert placement.memory >= job.memory
        assert placement.disk >= job.disk
        assert compute in ("auto", placement.compute)
