"""Clients of AWS that make one try: our own tries are the ones that count, and know which answers are worth one."""

from typing import Any

from handlers.aws_clients import open_client


def one_try(service: str, *, connect: float, read: float, region: str | None = None) -> Any:
    """A client of boto3, which threads may share.

    connect, read: timeouts in seconds. region: None is that of the process's own settings.
    """
    once = {"total_max_attempts": 1}
    return open_client(service, region=region, connect_timeout=connect, read_timeout=read, retries=once)
