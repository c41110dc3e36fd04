"""The stores that tests of the layer run against."""

from collections.abc import Callable, Iterator

import boto3
import psycopg
import pytest
from moto import mock_aws
from mypy_boto3_dynamodb import DynamoDBClient

from tests.databases import Server, Template, found_servers
from tests.powertools.stores import DynamoStore, PostgresStore, Store


@pytest.fixture
def postgres(every_server_url: str) -> Iterator[PostgresStore]:
    """Our store, on every server in turn."""
    with psycopg.connect(every_server_url, autocommit=True) as connection:
        yield PostgresStore(every_server_url, connection)


@pytest.fixture(scope="module")
def dynamodb_client() -> Iterator[DynamoDBClient]:
    """A DynamoDB in this process."""
    with mock_aws():  # which also gives credentials
        yield boto3.client("dynamodb", "eu-west-1")


@pytest.fixture
def dynamodb(dynamodb_client: DynamoDBClient) -> Iterator[DynamoStore]:
    """The oracle, with an empty table."""
    store = DynamoStore(dynamodb_client)
    store.create()
    yield store
    store.destroy()


@pytest.fixture(params=[*found_servers(), None], ids=lambda server: server.name if server else "dynamodb")
def store(request: pytest.FixtureRequest, template_on: Callable[[Server], Template]) -> Iterator[Store]:
    """Each store in turn: what is tested with it holds for ours as for the documented one."""
    if request.param is None:
        yield request.getfixturevalue("dynamodb")
        return
    with template_on(request.param).clone() as url, psycopg.connect(url, autocommit=True) as connection:
        yield PostgresStore(url, connection)
