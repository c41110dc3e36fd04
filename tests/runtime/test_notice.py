"""The message of a run that has ended badly, as a person reads it."""

from typing import Any

import pytest

from handlers.runtime.notice import LONGEST_SUBJECT, notice
from handlers.runtime.recorder.fields import one_line

LINK = "https://eu-central-1.console.aws.amazon.com/cloudwatch/home?region=eu-central-1#logsV2:page"
FAILED: dict[str, Any] = {
    "job": "billing-run",
    "run": 41,
    "run_key": "2026-11-26T23:00Z",
    "tick": "2026-11-26T23:00:00+00:00",
    "status": "failed",
    "attempts": 5,
    "error": "RuntimeError: no rates for {SAR}",
    "log_link": LINK,
}


def test_a_failed_run_is_told_in_words_that_end_with_the_command_to_act() -> None:
    said = notice("prod", FAILED)
    assert said.subject == "Shiftlock prod: billing-run failed, 2026-11-26 23:00 UTC"
    assert said.text == (
        "billing-run failed in prod.\n"
        "\n"
        "Tick: 2026-11-26 23:00 UTC\n"
        "Run: 41\n"
        "Reason: RuntimeError: no rates for {SAR}\n"
        "Attempts: 5\n"
        f"Log of the last attempt: {LINK}\n"
        "\n"
        "See what it did:\n"
        "  jobs show 41\n"
        "When it can succeed now:\n"
        "  jobs retry 41\n"
    )


def test_an_unknown_end_asks_for_a_persons_decision_and_for_no_retry() -> None:
    said = notice("prod", FAILED | {"status": "unknown"})
    assert said.subject == "Shiftlock prod: billing-run unknown, 2026-11-26 23:00 UTC"
    assert said.text.startswith("billing-run has an unknown end in prod.\n")
    resolves = [line for line in said.text.splitlines() if line.startswith("  jobs ")][1:]
    assert resolves == [f"  jobs resolve 41 --as {verdict}" for verdict in ("succeeded", "failed", "retry")]
    assert "jobs retry" not in said.text


def test_a_run_without_tick_reason_or_log_is_told_by_its_key() -> None:
    text = notice("dev", FAILED | {"run_key": "by hand", "tick": None, "error": None, "log_link": None}).text
    assert "\nKey: by hand\n" in text
    assert "\nReason: none was recorded\n" in text
    assert "\nLog of the last attempt: none, it left no link\n" in text


@pytest.mark.parametrize("key", ["k" * 500, "Größe\n\t\x00", "by hand\n  jobs retry 1", "مطعم"])
def test_a_subject_is_one_line_of_ascii_that_sns_takes_whatever_the_key(key: str) -> None:
    said = notice("staging123", FAILED | {"job": "j" * 40, "run_key": key, "tick": None})
    assert said.subject.startswith(f"Shiftlock staging123: {'j' * 40} failed, ")
    assert said.subject.isascii()
    assert said.subject.isprintable()
    assert len(said.subject) <= LONGEST_SUBJECT
    assert f"\nKey: {one_line(key)}\n" in said.text


def test_what_is_no_entry_is_refused() -> None:
    with pytest.raises(KeyError):
        notice("dev", {"job": "billing-run"})
