"""Clients of AWS that make one try: our own tries are the ones that count, and know which answers are worth one."""

from typing import Any


def open_client(service: str, *, connect: float, read: float, region: str | None = None) -> Any:
    """A client of boto3, which threads may share.

    connect, read: timeouts in seconds. region: None is that of the process's own settings.
    """
    from boto3.session import Session  # a third of a second that only who sends pays for
    from botocore.config import Config

    config = Config(connect_timeout=connect, read_timeout=read, retries={"total_max_attempts": 1})
    # A session of its own: boto3's default one must not open two clients at once.
    return Session().client(service, config=config, region_name=region)  # type: ignore[call-overload]
