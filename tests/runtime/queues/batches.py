"""Lambda's side of a batch, and what the function has said of it to SQS and CloudWatch."""

import json
from datetime import timedelta
from typing import Any

import pytest

from handlers.runtime.inbox import Heard, Inbox, Received
from handlers.runtime.queue_entry import handler
from tests.runtime.lambda_calls import LambdaCall

Answer = dict[str, Any]
HIDDEN = "handlers.runtime.inbox.Inbox.hide"


def call(records: list[dict[str, Any]], seconds: float = 900.0) -> Answer:
    """The function's answer to a batch, with so much time for it."""
    answer: Answer = handler({"Records": records}, LambdaCall("request", seconds=seconds))
    return answer


def hidden_for(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """By key, the seconds that messages were hidden for from now on."""
    said: dict[str, list[int]] = {}
    real = Inbox.hide

    def note(inbox: Inbox, received: Received, wait: timedelta) -> Heard:
        key = json.loads(received.body)["key"]
        said.setdefault(key, []).append(round(wait.total_seconds()))
        return real(inbox, received, wait)

    monkeypatch.setattr(HIDDEN, note)
    return said


def measured(capsys: pytest.CaptureFixture[str], *names: str) -> list[list[float]]:
    """The values of these metrics since the last look."""
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [[line[name][0] for line in lines if name in line] for name in names]
