"""Two stores of idempotency records behind one face: ours, and the one Powertools documents, as the oracle."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import psycopg
from aws_lambda_powertools.utilities.idempotency import BasePersistenceLayer, DynamoDBPersistenceLayer
from mypy_boto3_dynamodb import DynamoDBClient

from handlers.powertools.idempotency import PostgresPersistenceLayer

ELAPSE = "update shiftlock.idempotency_records set live_until = live_until - make_interval(secs => %s)"
TABLE = "idempotency"
TIMES = {"expiration": 1, "in_progress_expiration": 1000}


class Store(Protocol):
    """Where records are kept."""

    def layer(self) -> BasePersistenceLayer:
        """A new persistence layer, as each sandbox of a function has one."""

    def elapse(self, seconds: float) -> None:
        """Let time pass for all records."""

    def statuses(self) -> list[str]:
        """The status of each record, sorted."""

    def forget(self) -> None:
        """Delete all records."""

    def destroy(self) -> None:
        """Take the table away."""


@dataclass(frozen=True, slots=True)
class PostgresStore:
    """A migrated database."""

    url: str
    database: psycopg.Connection

    def layer(self) -> PostgresPersistenceLayer:
        return PostgresPersistenceLayer(self.url)

    def elapse(self, seconds: float) -> None:
        self.database.execute(ELAPSE, (seconds,))

    def statuses(self) -> list[str]:
        return sorted(status for (status,) in self.database.execute("select status from shiftlock.idempotency_records"))

    def forget(self) -> None:
        self.database.execute("delete from shiftlock.idempotency_records")

    def destroy(self) -> None:
        self.database.execute("drop table shiftlock.idempotency_records")


@dataclass(frozen=True, slots=True)
class DynamoStore:
    """A table as Powertools' documentation makes it."""

    client: DynamoDBClient

    def create(self) -> None:
        self.client.create_table(
            TableName=TABLE,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )

    def layer(self) -> DynamoDBPersistenceLayer:
        return DynamoDBPersistenceLayer(table_name=TABLE, boto3_client=self.client)

    def elapse(self, seconds: float) -> None:
        for item in self.client.scan(TableName=TABLE)["Items"]:
            for name, unit in TIMES.items():
                if name in item:
                    item[name] = {"N": str(int(item[name]["N"]) - int(seconds * unit))}
            self.client.put_item(TableName=TABLE, Item=item)

    def statuses(self) -> list[str]:
        return sorted(item["status"]["S"] for item in self.client.scan(TableName=TABLE)["Items"])

    def forget(self) -> None:
        for item in self.client.scan(TableName=TABLE)["Items"]:
            self.client.delete_item(TableName=TABLE, Key={"id": item["id"]})

    def destroy(self) -> None:
        with suppress(self.client.exceptions.ResourceNotFoundException):
            self.client.delete_table(TableName=TABLE)
