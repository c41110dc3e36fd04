"""Instants as tests write them."""

from datetime import UTC, datetime


def utc(text: str) -> datetime:
    """An instant from its ISO text without a zone."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
