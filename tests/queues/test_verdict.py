"""What becomes of a message, for every result that a start may have."""

from datetime import timedelta

import pytest

from handlers.declaration.duration import hours, minutes, seconds
from handlers.queues.verdict import LATEST, LONGEST_WAIT, SOONEST, Verdict, verdict
from handlers.runtime.report import Result

# By the run's state, where that is what decides.
BY_STATUS = {Result.ALREADY_DONE, Result.FAILED, Result.TIMED_OUT, Result.RETRY_LATER, Result.INTERRUPTED}
EXPECTED = {
    Result.SUCCEEDED: "delete",
    Result.CANCELLED: "delete",
    Result.FENCED: "delete",
    Result.UNKNOWN: "delete",
    Result.HELD: "delete",
    Result.EXHAUSTED: "dead",
    Result.OTHER_PAYLOAD: "dead",
    Result.BUSY: "park",
    Result.OVERLAP: "park",
    Result.QUEUED: "park",
    Result.PAUSED: "park",
    Result.NOT_DUE: "park",
    Result.UNAVAILABLE: "later",
}


def of(result: str, status: str | None = None, retry_in: timedelta | None = None) -> Verdict:
    return verdict(result, status=status, retry_in=retry_in, because="it is so", jitter=0.5)


@pytest.mark.parametrize("result", sorted(set(Result) - BY_STATUS))
def test_a_result_that_says_it_all_decides_alone(result: Result) -> None:
    decided = of(result)
    assert (decided.deed, decided.because) == (EXPECTED[result], "it is so")


@pytest.mark.parametrize("status", ["succeeded", "skipped", "cancelled", "unknown"])
@pytest.mark.parametrize("result", sorted(BY_STATUS))
def test_a_run_that_has_ended_needs_its_message_no_more(result: Result, status: str) -> None:
    assert of(result, status).deed == "delete"


@pytest.mark.parametrize("result", sorted(BY_STATUS))
def test_a_run_that_has_failed_for_good_is_a_dead_letter(result: Result) -> None:
    assert of(result, "failed").deed == "dead"


def test_a_run_that_waits_for_its_children_needs_no_message() -> None:
    assert of("whatever that is called", "running").deed == "delete"


def test_a_run_that_is_to_be_tried_again_is_rung_for_by_the_same_message_then() -> None:
    assert of(Result.RETRY_LATER, "pending", minutes(3)) == Verdict("later", "it is so", minutes(3))
    assert of(Result.INTERRUPTED, "pending") == Verdict("later", "it is so", timedelta())


def test_a_wait_longer_than_sqs_hides_a_message_is_left_to_the_ledger() -> None:
    assert of(Result.RETRY_LATER, "pending", LONGEST_WAIT).deed == "later"
    assert of(Result.RETRY_LATER, "pending", LONGEST_WAIT + seconds(1)).deed == "park"
    assert hours(12) > LONGEST_WAIT


@pytest.mark.parametrize("result", ["unavailable", "failed", "something new"])
def test_without_the_ledgers_word_the_message_comes_again_soon_and_not_with_all_others(result: str) -> None:
    waits = [verdict(result, status=None, retry_in=None, because="", jitter=jitter).wait for jitter in (0.0, 1.0)]
    assert waits == [SOONEST, LATEST]


def test_what_has_become_of_a_run_that_another_holder_took_over_is_that_holders_to_say() -> None:
    assert of(Result.FENCED, "failed").deed == "delete"
