"""Clients of AWS, all of one session: it reads the endpoints of every service, once for all of its clients."""

from functools import cache
from threading import Lock
from typing import Any

_opening = Lock()


def open_client(service: str, *, region: str | None = None, **config: Any) -> Any:
    """A client of boto3, which threads may share.

    region: None is that of the process's own settings. config: what botocore's Config takes.
    """
    from botocore.config import Config

    with _opening:  # to use a client is thread-safe, to create one is not: boto3, Low-level clients, "Multithreading"
        return _session().client(service, region_name=region, config=Config(**config))


@cache
def _session() -> Any:
    from boto3.session import Session  # a third of a second that only who calls AWS pays for

    return Session()
