"""Output for machines."""

import json
from datetime import UTC, datetime


def print_json(value: object) -> None:
    """Print one JSON document: times as ISO 8601 in UTC, spans in seconds where a field's name says so."""
    print(json.dumps(value, indent=2, ensure_ascii=False, default=_plain))


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    raise TypeError(f"{type(value).__name__} has no JSON form here")
