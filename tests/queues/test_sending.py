"""What SQS says to a batch, word by word, and what is done about it."""

import time
from string import ascii_lowercase
from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError

from handlers.queues.refusal import DENIED, GONE, OF_A_MESSAGE, PASSING
from handlers.queues.sending import Delivered, Letter, Pace, deliver
from tests.queues.post import BASE, Answers, Post

URL, FIFO_URL = f"{BASE}resize", f"{BASE}pull.fifo"


def letters(count: int, groups: str = "") -> list[Letter]:
    return [
        Letter(100 + n, f"body {n}", groups[n] if groups else None, f"s{n}" if groups else None) for n in range(count)
    ]


def taken(*places: int, failed: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    successful = [{"Id": str(place), "MessageId": "m", "MD5OfMessageBody": "x"} for place in places]
    return {"Successful": successful, "Failed": list(failed)}


def failure(place: int, *, by_sender: bool, code: str = "InternalError") -> dict[str, Any]:
    return {"Id": str(place), "SenderFault": by_sender, "Code": code, "Message": "no luck"}


def expect(answers: Answers, answer: dict[str, Any], *bodies: int) -> None:
    """The next call is for these letters and gets this answer."""
    entries = [{"Id": str(place), "MessageBody": f"body {n}"} for place, n in enumerate(bodies)]
    answers.stub.add_response("send_message_batch", answer, {"QueueUrl": URL, "Entries": entries})


def says(answers: Answers, code: str, *, status: int = 400) -> None:
    """The next call is refused as a whole."""
    answers.stub.add_client_error("send_message_batch", code, "no luck", http_status_code=status)


def sent_of(answers: Answers, count: int, attempts: int = 3) -> Delivered:
    return deliver(answers.sqs, URL, letters(count), answers.pace(attempts))


def test_what_was_not_taken_by_chance_is_sent_again_and_nothing_else(answers: Answers) -> None:
    expect(answers, taken(0, 2, failed=(failure(1, by_sender=False),)), 0, 1, 2)
    expect(answers, taken(0), 1)
    assert sent_of(answers, 3) == Delivered({100, 101, 102}, {})
    assert len(answers.waits) == 1
    assert answers.waits[0] <= 1.0


def test_what_is_the_senders_fault_is_never_sent_again(answers: Answers) -> None:
    expect(answers, taken(0, failed=(failure(1, by_sender=True, code="InvalidMessageContents"),)), 0, 1)
    delivered = sent_of(answers, 2)
    assert delivered.sent == {100}
    assert delivered.refused[101].reason == "InvalidMessageContents: no luck"
    assert answers.waits == []


def test_both_in_one_answer_are_told_apart(answers: Answers) -> None:
    expect(answers, taken(failed=(failure(0, by_sender=True), failure(1, by_sender=False))), 0, 1)
    expect(answers, taken(0), 1)
    delivered = sent_of(answers, 2)
    assert (delivered.sent, set(delivered.refused)) == ({101}, {100})


def test_a_message_that_the_answer_does_not_mention_is_sent_again(answers: Answers) -> None:
    expect(answers, taken(1), 0, 1)
    expect(answers, taken(0), 0)
    assert sent_of(answers, 2).sent == {100, 101}


def test_what_stays_refused_by_chance_is_given_up_after_the_last_try(answers: Answers) -> None:
    for _ in range(3):
        expect(answers, taken(failed=(failure(0, by_sender=False, code="RequestThrottled"),)), 0)
    delivered = sent_of(answers, 1)
    assert delivered.refused[100].reason == "RequestThrottled: no luck"
    assert len(answers.waits) == 2
    assert answers.waits[1] <= 2.0


@pytest.mark.parametrize("code", sorted(PASSING))
def test_a_call_that_is_refused_in_passing_is_made_again(answers: Answers, code: str) -> None:
    says(answers, code)
    expect(answers, taken(0, 1), 0, 1)
    assert sent_of(answers, 2).sent == {100, 101}


@pytest.mark.parametrize("code", ["InternalFailure", "ServiceUnavailable", "Something"])
def test_a_service_that_is_ill_is_called_again_whatever_it_says(answers: Answers, code: str) -> None:
    says(answers, code, status=503)
    expect(answers, taken(0), 0)
    assert sent_of(answers, 1).sent == {100}


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        *(
            (code, "gone", "deploy the environment, or see whether SHIFTLOCK_QUEUES is its own")
            for code in sorted(GONE)
        ),
        *((code, "denied", "a job may send to those in its sends=(...) alone") for code in sorted(DENIED)),
        ("ExpiredToken", "denied", "ExpiredToken: no luck"),
    ],
)
def test_a_queue_that_takes_nothing_from_us_is_not_asked_again(
    answers: Answers, code: str, kind: str, said: str
) -> None:
    says(answers, code)
    delivered = deliver(answers.sqs, FIFO_URL, letters(26, groups=ascii_lowercase), answers.pace())
    assert list(delivered.refused) == list(range(100, 110))
    assert delivered.refused[100].kind == kind
    assert said in delivered.refused[100].reason
    assert delivered.sent == set()
    assert answers.waits == []


@pytest.mark.parametrize("code", sorted(OF_A_MESSAGE))
def test_of_a_batch_that_is_refused_for_one_of_its_messages_all_others_are_sent(answers: Answers, code: str) -> None:
    says(answers, code)  # 0 1 2 3
    expect(answers, taken(0, 1), 0, 1)
    says(answers, code)  # 2 3
    says(answers, code)  # 2
    expect(answers, taken(0), 3)
    delivered = sent_of(answers, 4)
    assert delivered.sent == {100, 101, 103}
    assert delivered.refused[102].kind == "message"


def test_a_queue_for_smaller_messages_takes_those_that_fit(post: Post) -> None:
    post.sqs.set_queue_attributes(QueueUrl=URL, Attributes={"MaximumMessageSize": "1024"})
    mixed = [Letter(n, "x" * (2000 if n == 5 else 10)) for n in range(10)]
    delivered = deliver(post.sqs, URL, mixed, Pace())
    assert delivered.sent == set(range(10)) - {5}
    assert "InvalidParameterValue" in delivered.refused[5].reason


class Unreachable:
    """SQS at the other end of a line that is cut."""

    def __init__(self, error: Exception) -> None:
        self.calls, self._error = 0, error

    def send_message_batch(self, **_: Any) -> None:
        self.calls += 1
        raise self._error


@pytest.mark.parametrize(
    "error", [EndpointConnectionError(endpoint_url="https://sqs"), ConnectTimeoutError(endpoint_url="https://sqs")]
)
def test_while_there_is_no_way_to_sqs_no_more_than_one_batch_is_tried(answers: Answers, error: Exception) -> None:
    sqs = Unreachable(error)
    delivered = deliver(sqs, FIFO_URL, letters(26, groups=ascii_lowercase), answers.pace())
    assert sqs.calls == 3
    assert "https://sqs" in delivered.refused[100].reason
    assert list(delivered.refused) == list(range(100, 110))


def test_after_its_time_no_call_begins(answers: Answers) -> None:
    past = answers.pace(until=time.monotonic())
    assert deliver(answers.sqs, URL, letters(25), past) == Delivered()
    assert deliver(answers.sqs, FIFO_URL, letters(3, groups="abc"), past) == Delivered()


def test_there_is_no_wait_beyond_the_end_of_its_time(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handlers.queues.sending.random.random", lambda: 1.0)
    says(answers, "RequestThrottled")
    delivered = deliver(answers.sqs, URL, letters(1), answers.pace(until=time.monotonic() + 0.9))
    assert list(delivered.refused) == [100]
    assert answers.waits == []


class Recording:
    """A queue that takes everything but the bodies in `bad`, and notes what came when. atomic: see the test."""

    def __init__(self, *bad: str) -> None:
        self.bad, self.calls = bad, list[list[str]]()

    def send_message_batch(self, *, Entries: list[dict[str, Any]], **_: Any) -> dict[str, Any]:
        self.calls.append([entry["MessageBody"] for entry in Entries])
        bad = [place for place, entry in enumerate(Entries) if entry["MessageBody"] in self.bad]
        failed = tuple(failure(place, by_sender=True) for place in bad)
        return taken(*(place for place in range(len(Entries)) if place not in bad), failed=failed)


def test_behind_a_refused_message_nothing_of_its_group_is_sent_and_all_of_the_others() -> None:
    sqs = Recording("body 2")
    delivered = deliver(sqs, FIFO_URL, letters(9, groups="abababaca"), Pace())
    assert delivered.sent == {100, 101, 103, 105, 107}
    assert list(delivered.refused) == [102]


def test_a_batch_to_a_fifo_queue_has_one_message_of_a_group() -> None:
    sqs = Recording()
    groups = "aab" * 20
    deliver(sqs, FIFO_URL, letters(60, groups=groups), Pace())
    by_body = {f"body {n}": group for n, group in enumerate(groups)}
    assert all(len({by_body[body] for body in call}) == len(call) for call in sqs.calls)
    assert [body for call in sqs.calls for body in call if by_body[body] == "b"] == [
        f"body {n}" for n in range(2, 60, 3)
    ]


def test_a_large_message_waits_for_the_next_batch_and_is_not_lost() -> None:
    sqs = Recording()
    large = [Letter(n, f"{n}" + "x" * 400_000, f"g{n}", "s") for n in range(7)]
    assert deliver(sqs, FIFO_URL, large, Pace()).sent == set(range(7))
    assert [len(call) for call in sqs.calls] == [2, 2, 2, 1]
