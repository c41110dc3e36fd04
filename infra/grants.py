"""What the role of a job may do, and nothing else: a statement for each thing that its entry in the table names."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from aws_cdk import aws_iam as iam
from constructs import Construct

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.job import Job
from infra.acknowledged import acknowledge_wildcard
from infra.environment import Environment
from infra.files import PAYLOADS, Files
from infra.job_queue import dead_letters_name, queue_arn, queue_name


def file_grants(jobs: Iterable[Job], files: Files) -> Iterator[iam.PolicyStatement]:
    """Yield leave to read and write the folders of these jobs, and to read what is too large for their messages."""
    folders = _folders(jobs)
    if folders.reads:
        yield iam.PolicyStatement(sid="ReadFiles", actions=["s3:GetObject"], resources=_in(folders.reads, files))
    if folders.writes:
        yield iam.PolicyStatement(
            sid="WriteFiles",
            # Parts of an upload are put as well; what is not to be completed is dropped.
            actions=["s3:AbortMultipartUpload", "s3:PutObject"],
            resources=_in(folders.writes, files),
        )
    if folders.payloads:
        yield iam.PolicyStatement(sid="ReadPayloads", actions=["s3:GetObject"], resources=_in(folders.payloads, files))


def queue_grants(
    scope: Construct, job: Job, catalogue: Catalogue, environment: Environment
) -> Iterator[iam.PolicyStatement]:
    """Yield leave to take the job's messages, to bury them, and to send to the queues that it names and to its own."""
    receivers = {job.name, *job.sends}
    yield from send_grants(scope, Catalogue(tuple(each for each in catalogue if each.name in receivers)), environment)
    if job.queue is None:
        return
    yield iam.PolicyStatement(
        sid="TakeMessages",
        actions=[
            "sqs:ChangeMessageVisibility",
            "sqs:DeleteMessage",
            "sqs:GetQueueAttributes",
            "sqs:ReceiveMessage",
        ],
        resources=[queue_arn(scope, queue_name(environment, job))],
    )
    yield iam.PolicyStatement(
        sid="BuryMessages",
        actions=["sqs:SendMessage"],
        resources=[queue_arn(scope, dead_letters_name(environment, job))],
    )


def send_grants(scope: Construct, catalogue: Catalogue, environment: Environment) -> Iterator[iam.PolicyStatement]:
    """Yield leave to send to the queues of these jobs, if any has one."""
    queues = [queue_arn(scope, queue_name(environment, job)) for job in catalogue if job.queue is not None]
    if queues:
        yield iam.PolicyStatement(sid="SendMessages", actions=["sqs:SendMessage"], resources=queues)


def acknowledge_folders(role: iam.Role, jobs: Iterable[Job], files: Files) -> None:
    """Accept that the role names files by their folders."""
    folders = _folders(jobs)
    for folder in sorted({*folders.reads, *folders.writes, *folders.payloads}):
        acknowledge_wildcard(
            role, files.folder(folder), "Files of one folder of one bucket, whose names come with the work."
        )


@dataclass(frozen=True, slots=True)
class _Folders:
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    payloads: tuple[str, ...]


def _folders(jobs: Iterable[Job]) -> _Folders:
    """The folders of all these jobs, each once."""
    found = tuple(jobs)
    return _Folders(
        tuple(sorted({folder for job in found for folder in job.reads})),
        tuple(sorted({folder for job in found for folder in job.writes})),
        tuple(sorted(f"{PAYLOADS}{job.name}/" for job in found if job.queue is not None)),
    )


def _in(folders: tuple[str, ...], files: Files) -> list[str]:
    return [files.folder(folder) for folder in folders]
