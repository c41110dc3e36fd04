"""The database token against the SDK's own, and where the keys that sign it come from."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from ssl import create_default_context
from threading import Thread

import boto3
import pytest
from psycopg.conninfo import conninfo_to_dict

from handlers.runtime import database, iam_token
from handlers.runtime.database import connection_strings
from handlers.runtime.iam_token import Credentials, NoCredentials, credentials, sign_token
from handlers.runtime.settings import DatabaseUrl, IamDatabase

NOW = datetime(2026, 11, 28, 23, 0, 7, tzinfo=UTC)
WRITER = "shiftlock.cluster-c0ffee.me-central-1.rds.amazonaws.com"
DATABASE = IamDatabase(WRITER, 5432, "shiftlock", "job", "me-central-1")
LONG_KEY = Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", None)
ROLE_KEY = Credentials("ASIAIOSFODNN7EXAMPLE", "secret/with+signs=", "IQoJb3JpZ2lu//X2VjE+Jz/8=&tail ~")
IN_ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "secret"}


def sdk_token(target: IamDatabase, keys: Credentials) -> str:
    client = boto3.client(
        "rds",
        region_name=target.region,
        aws_access_key_id=keys.key_id,
        aws_secret_access_key=keys.secret,
        aws_session_token=keys.session_token,
    )
    return client.generate_db_auth_token(target.host, target.port, target.user)


def parts(token: str) -> tuple[str, list[str]]:
    """Address and parameters: their order is free, since both sides sort them before they sign."""
    address, _, query = token.partition("?")
    return address, sorted(query.split("&"))


@pytest.mark.parametrize("keys", [LONG_KEY, ROLE_KEY], ids=["long-term key", "role"])
@pytest.mark.parametrize(
    "target",
    [
        DATABASE,
        IamDatabase("shiftlock.c0ffee.eu-west-2.rds.amazonaws.com", 6543, "other", "billing_run", "eu-west-2"),
        IamDatabase("10.0.3.7", 1, "shiftlock", "Über user+/=&@~é", "us-gov-east-1"),
    ],
    ids=["cluster", "instance", "odd user"],
)
def test_a_token_is_the_sdks_own(target: IamDatabase, keys: Credentials, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: NOW.replace(tzinfo=None))
    assert parts(sign_token(target, keys, NOW)) == parts(sdk_token(target, keys))


def test_a_token_is_dated_in_utc_whatever_zone_the_clock_is_in() -> None:
    riyadh = NOW.astimezone(timezone(timedelta(hours=3)))  # there it is already the 29th
    assert sign_token(DATABASE, LONG_KEY, riyadh) == sign_token(DATABASE, LONG_KEY, NOW)


def test_lambda_gives_keys_in_the_environment() -> None:
    assert credentials(IN_ENVIRONMENT) == Credentials("AKIA", "secret", None)
    assert credentials({**IN_ENVIRONMENT, "AWS_SESSION_TOKEN": "t"}) == Credentials("AKIA", "secret", "t")


class Agent(BaseHTTPRequestHandler):
    """Answers as the ECS agent does: the keys of the role under one path, an error under any other."""

    def do_GET(self) -> None:
        """Answer one request."""
        known = self.path == "/v2/credentials/abc"
        answer = {"AccessKeyId": "ASIA", "SecretAccessKey": "s", "Token": "t"} if known else {"code": "InvalidId"}
        body = json.dumps(answer).encode()
        self.send_response(200 if known else 400)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""


@contextmanager
def agent() -> Iterator[str]:
    """The address of an agent that answers one request."""
    with HTTPServer(("127.0.0.1", 0), Agent) as server:
        server.timeout = 30
        thread = Thread(target=server.handle_request)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        thread.join()


def test_a_task_gets_the_keys_of_its_role_from_the_ecs_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    with agent() as address:
        monkeypatch.setattr(iam_token, "TASK_CREDENTIALS", address)
        keys = credentials({"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/credentials/abc"})
    assert keys == Credentials("ASIA", "s", "t")


def test_an_agent_that_refuses_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with agent() as address:
        monkeypatch.setattr(iam_token, "TASK_CREDENTIALS", address)
        with pytest.raises(NoCredentials, match=r"^no AWS credentials .*HTTP Error 400"):
            credentials({"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/credentials/other"})


def test_an_agent_that_is_not_there_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iam_token, "TASK_CREDENTIALS", "http://127.0.0.1:1")
    with pytest.raises(NoCredentials, match=r"^no AWS credentials .*refused") as caught:
        credentials({"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/credentials/abc"})
    assert "\n" not in str(caught.value)


def test_no_keys_anywhere_is_an_error_that_says_what_to_set() -> None:
    with pytest.raises(NoCredentials, match="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the task a role"):
        credentials({"AWS_ACCESS_KEY_ID": "half a pair"})


def test_a_connection_to_aws_verifies_the_server_against_the_shipped_roots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "credentials", lambda: LONG_KEY)
    facts = conninfo_to_dict(connection_strings(DATABASE)())
    assert facts["sslmode"] == "verify-full"
    roots = create_default_context(cafile=str(facts["sslrootcert"])).get_ca_certs()
    assert any("RDS me-central-1" in str(root["subject"]) for root in roots)
    assert (facts["host"], facts["port"], facts["dbname"], facts["user"]) == (WRITER, "5432", "shiftlock", "job")


def test_each_connection_has_a_token_of_its_own_signed_with_the_keys_of_the_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rotated = iter([LONG_KEY, ROLE_KEY])
    monkeypatch.setattr(database, "credentials", lambda: next(rotated))
    connect = connection_strings(DATABASE)
    tokens = [str(conninfo_to_dict(connect())["password"]) for _ in range(2)]
    assert [key.key_id in token for key, token in zip((LONG_KEY, ROLE_KEY), tokens, strict=True)] == [True, True]


def test_a_url_is_used_as_it_is() -> None:
    assert connection_strings(DatabaseUrl("postgresql://localhost/shiftlock"))() == "postgresql://localhost/shiftlock"
