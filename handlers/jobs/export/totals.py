"""Rows and sums of a table: as the database counts them, and as they are in what was written."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from handlers.jobs.export.money import amount

if TYPE_CHECKING:
    from datetime import datetime

    import psycopg

    from handlers.jobs.export.tables import Table


class NotAsCounted(Exception):
    """The files do not hold what the database counts."""

    def __init__(self, table: str, written: Totals, counted: Totals) -> None:
        super().__init__(
            f"{table}: {written} in the files, {counted} in the database, and therefore no manifest: "
            "see that each item and restaurant of an order is there, and how the columns are read"
        )


@dataclass(slots=True)
class Totals:
    """rows: how many. sums: by currency and column of money; amounts of two currencies are never added."""

    rows: int = 0
    sums: dict[str, dict[str, Decimal]] = field(default_factory=dict)

    def __str__(self) -> str:
        sums = ", ".join(f"{name} {each} {currency}" for currency, of in self.sums.items() for name, each in of.items())
        return f"{self.rows} rows ({sums or 'no sums'})"

    def add(self, batch: Any, table: Table) -> None:
        """Count the rows of an Arrow table too."""
        self.rows += batch.num_rows
        grouped = batch.group_by("currency", use_threads=False).aggregate([(name, "sum") for name in table.money])
        for row in grouped.to_pylist():
            sums = self.sums.setdefault(row["currency"], dict.fromkeys(table.money, Decimal(0)))
            for name in table.money:
                sums[name] += row[f"{name}_sum"]


def counted(connection: psycopg.Connection, table: Table, since: datetime, until: datetime) -> Totals:
    """What the database has of a table."""
    totals = Totals()
    for currency, rows, *sums in connection.execute(table.totals, {"since": since, "until": until}):
        totals.rows += rows
        totals.sums[currency] = {
            name: amount(int(each), currency) for name, each in zip(table.money, sums, strict=True)
        }
    return totals


def check(table: Table, written: Totals, counted: Totals) -> None:
    """Raise NotAsCounted unless both are the same."""
    if written != counted:
        raise NotAsCounted(table.name, written, counted)
