"""Where the ledger says that a person reads what an attempt has printed."""

import psycopg

from handlers.runtime.log_link import CONTAINER, log_link
from tests.guard.holders import ask, claimed, guard_on, request

ON_LAMBDA = {
    "AWS_REGION": "eu-west-1",
    "AWS_LAMBDA_LOG_GROUP_NAME": "/shiftlock/dev/session-cleanup",
    "AWS_LAMBDA_LOG_STREAM_NAME": "2026/11/29/[$LATEST]abc",
}
IN_A_TASK = {
    "AWS_REGION": "eu-west-1",
    "SHIFTLOCK_LOG_GROUP": "/shiftlock/dev/billing-run",
    "ECS_CONTAINER_METADATA_URI_V4": "http://169.254.170.2/v4/0123456789abcdef-3456",
}
PAGES = "https://eu-west-1.console.aws.amazon.com/cloudwatch/home?region=eu-west-1#logsV2:log-groups/log-group"


def test_a_call_has_the_stream_that_lambda_names() -> None:
    stream = "2026$252F11$252F29$252F$255B$2524LATEST$255Dabc"
    assert log_link(ON_LAMBDA) == f"{PAGES}/$252Fshiftlock$252Fdev$252Fsession-cleanup/log-events/{stream}"


def test_a_task_has_the_stream_of_its_container() -> None:
    stream = f"{CONTAINER}$252F{CONTAINER}$252F0123456789abcdef"
    assert log_link(IN_A_TASK) == f"{PAGES}/$252Fshiftlock$252Fdev$252Fbilling-run/log-events/{stream}"


def test_a_process_on_a_laptop_has_none() -> None:
    assert log_link({"AWS_REGION": "eu-west-1"}) is None
    assert log_link({**IN_A_TASK, "SHIFTLOCK_LOG_GROUP": ""}) is None


def test_the_ledger_keeps_it_with_the_attempt(database_url: str, database: psycopg.Connection) -> None:
    with guard_on(database_url) as guard:
        claimed(guard, request(log_link="https://example.com/log"))
    assert ask(database, "select log_link from shiftlock.job_attempts") == "https://example.com/log"
