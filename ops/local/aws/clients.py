"""boto3 clients that speak to a local AWS and to nothing else."""

from functools import cache
from threading import Lock
from typing import Any

import boto3
from botocore.config import Config

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
# A local answer is final: a retry would only repeat what a job did.
_CONFIG = Config(retries={"max_attempts": 1}, connect_timeout=5, read_timeout=60)
_creating = Lock()


def client(service: str, endpoint: str, region: str) -> Any:
    """The client of a service at a local endpoint; the same one each time."""
    # Creating a client is not thread-safe, using one is: boto3, Low-level clients, "Multithreading".
    with _creating:
        return _client(service, endpoint, region)


@cache
def _client(service: str, endpoint: str, region: str) -> Any:
    return _session().client(service, region_name=region, endpoint_url=endpoint, config=_CONFIG)


@cache
def _session() -> Any:
    # One for all: a session reads the endpoints of all of AWS, which takes longer than most that is asked of a client.
    return boto3.session.Session(
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
    )
