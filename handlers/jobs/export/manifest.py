"""manifest.json: what a finished export consists of. It is written last."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from handlers.jobs.export.tables import SCHEMA_VERSION, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handlers.jobs.export.files import File
    from handlers.jobs.export.totals import Totals

NAME = "manifest.json"
CONTENT_TYPE = "application/json"
TYPE = "shiftlock.export/1"


@dataclass(frozen=True, slots=True)
class Manifest:
    """run: job and run key. Times are aware; since is in the range and until is not, read_at is the snapshot's."""

    run: str
    since: datetime
    until: datetime
    read_at: datetime
    files: tuple[File, ...]
    tables: Mapping[str, tuple[Table, Totals]]

    def to_json(self) -> bytes:
        """The same for the same export. Amounts are texts: a JSON number is a float to many readers."""
        document = {
            "type": TYPE,
            "schema_version": SCHEMA_VERSION,
            "run": self.run,
            "range": {"column": "orders.placed_at", "since": _text(self.since), "until": _text(self.until)},
            "read_at": _text(self.read_at),
            "files": [
                {
                    "key": file.key,
                    "table": file.table,
                    "format": file.format,
                    "content_type": file.content_type,
                    "bytes": file.size,
                    "sha256": file.sha256,
                    "rows": file.rows,
                }
                for file in self.files
            ],
            "tables": {name: _described(table, totals) for name, (table, totals) in self.tables.items()},
        }
        return json.dumps(document, indent=2).encode()


def _described(table: Table, totals: Totals) -> dict[str, Any]:
    return {
        "rows": totals.rows,
        "columns": {name: str(kind) for name, kind in table.columns},
        "sums": {
            currency: {name: str(amount) for name, amount in sums.items()}
            for currency, sums in sorted(totals.sums.items())
        },
    }


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
