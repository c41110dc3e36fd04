"""A message is read as it was written, or refused in one line."""

import json
import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from handlers.queues.fitting import MalformedMessage
from handlers.queues.message import ELSEWHERE, LONGEST_KEY, Message, group_of, of_run, read_message, sending_id

# What SQS takes in a message's body ("SendMessage", Amazon SQS API reference).
TAKEN = re.compile("[\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")
AT = datetime(2026, 11, 29, 2, 0, 0, 5, tzinfo=UTC)

words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=LONGEST_KEY)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(10**80), 10**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    leaves, lambda part: st.lists(part, max_size=4) | st.dictionaries(texts, part, max_size=4), max_leaves=8
)
payloads = st.dictionaries(texts, values, max_size=4)
whenever = st.datetimes(datetime(1970, 1, 2), datetime(9000, 1, 1), timezones=st.just(UTC))
messages = st.builds(
    Message,
    job=st.from_regex(r"[a-z][a-z0-9]{0,9}(-[a-z0-9]{1,9}){0,2}", fullmatch=True),
    key=words,
    payload=payloads,
    partition=st.none() | words,
    sent_at=whenever,
    trace=st.none() | words,
)


@given(messages)
@settings(max_examples=50, deadline=None)
def test_what_is_written_is_read_as_it_was_and_sqs_takes_every_character(message: Message) -> None:
    text = message.to_json()
    assert TAKEN.fullmatch(text)
    assert read_message(text) == message


@given(payloads)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_the_ledger_takes_a_payload_from_a_message_and_gives_it_to_one_unchanged(
    database: psycopg.Connection, payload: dict[str, Any]
) -> None:
    first = read_message(Message("a", "k", payload).to_json())
    (kept,) = database.execute("select %s::jsonb", [Jsonb(first.ledger_payload)]).fetchone() or (None,)
    again = read_message(of_run("a", "k", kept, None, trace=None).to_json())
    sent, rung = Jsonb(payload), Jsonb(again.ledger_payload)
    assert database.execute("select %s::jsonb = %s::jsonb", [sent, rung]).fetchone() == (True,)


@given(
    st.recursive(
        leaves | st.just("\0") | st.just("\udc80") | st.floats(),
        lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(), part, max_size=4),
    )
)
@settings(max_examples=50, deadline=None)
def test_whatever_it_is_given_as_json_it_reads_a_message_or_refuses_it_in_one_line(value: Any) -> None:
    facts = json.loads(Message("a", "k", {}, sent_at=AT).to_json())
    for name in facts:
        refused = None
        try:
            message = read_message(json.dumps(facts | {name: value}))
        except MalformedMessage as error:
            refused = str(error)
        if refused is None:
            assert read_message(message.to_json()) == message
        else:
            assert "\n" not in refused
            assert len(refused) < 400


def test_the_text_is_what_the_contract_says() -> None:
    message = Message("resize", "k", {"source": "uploads/x.jpg"}, "north", sent_at=AT, trace="Root=1-2")
    assert json.loads(message.to_json()) == {
        "type": "shiftlock.run/1",
        "job": "resize",
        "key": "k",
        "partition": "north",
        "payload": {"source": "uploads/x.jpg"},
        "sent": "2026-11-29T02:00:00.000005+00:00",
        "trace": "Root=1-2",
    }


def test_what_unicode_calls_no_characters_is_escaped_since_sqs_takes_none() -> None:
    message = Message("a", "k\ufffe", {"\uffff": ["\\\uffff\\\ufffe"]}, sent_at=AT)
    assert TAKEN.fullmatch(message.to_json())
    assert read_message(message.to_json()) == message


def test_a_payload_elsewhere_is_an_address_in_the_message_and_in_the_ledger() -> None:
    place = f"s3://files/payloads/resize/{'0' * 64}"
    message = Message("resize", "k", None, payload_at=place, sent_at=AT)
    assert read_message(message.to_json()) == message
    assert message.ledger_payload == {ELSEWHERE: place}
    assert of_run("resize", "k", message.ledger_payload, None, trace=None).payload_at == place


def test_a_time_of_any_zone_is_the_same_instant() -> None:
    message = Message("a", "k", {}, sent_at=AT.astimezone(timezone(timedelta(hours=3))))
    assert read_message(message.to_json()).sent_at == AT


NESTED: dict[str, Any] = {}
for _ in range(101):
    NESTED = {"a": NESTED}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"job": "No Job"}, "job is 'No Job': allowed is a job's name"),
        ({"job": "a" * 41}, "allowed is a job's name"),
        ({"key": ""}, "key is '': allowed is 1 to 512 characters"),
        ({"key": "k" * 513}, "513 characters: allowed is 1 to 512 characters"),
        ({"key": "a\nb"}, r"key is 'a\nb': allowed is text without control characters"),
        ({"key": "a\ud800"}, r"key is 'a\ud800': allowed is text without"),
        ({"partition": ""}, "partition is '': allowed is 1 to 512 characters"),
        ({"trace": "t" * 1025}, "trace is 'tttt"),
        ({"sent_at": datetime(2026, 11, 29)}, "sent is 2026-11-29T00:00:00: allowed is a time with zone"),
        ({"payload": [1]}, "payload is of type list: allowed is an object"),
        ({"payload": {"a": {"b": ["\0"]}}}, r"payload.a.b[0] is '\x00' with the character NUL"),
        ({"payload": {"a\0": 1}}, r"payload has the name 'a\x00' with the character NUL"),
        ({"payload": {"a": "\ud83d"}}, r"payload.a is '\ud83d' with a lone surrogate"),
        ({"payload": {"a": float("nan")}}, "payload.a is nan: allowed are finite numbers"),
        ({"payload": {"a": float("-inf")}}, "payload.a is -inf: allowed are finite numbers"),
        ({"payload": {"a": -(10**1000)}}, "payload.a is a number of more than 1,000 digits"),
        ({"payload": {"a": {1: 2}}}, "payload.a has the name 1: allowed is text"),
        ({"payload": {"at": AT}}, "payload.at is of type datetime: allowed is what JSON has"),
        ({"payload": {"a": b"x"}}, "payload.a is of type bytes: allowed is what JSON has"),
        ({"payload": NESTED}, "is more than 100 levels deep"),
        ({"payload": None}, "payload is null and payload_at 'None': allowed is s3://bucket/key"),
        ({"payload": None, "payload_at": "http://x"}, "payload_at 'http://x': allowed is s3://bucket/key"),
        ({"payload_at": "s3://b/k"}, "payload_at is 's3://b/k' beside a payload: allowed is one of the two"),
    ],
)
def test_what_cannot_be_sent_and_kept_is_refused_in_one_line(changes: dict[str, Any], said: str) -> None:
    facts: dict[str, Any] = {"job": "resize", "key": "k", "payload": {}, "sent_at": AT}
    message = Message(**(facts | changes))
    with pytest.raises(MalformedMessage) as refused:
        message.to_json()
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    ["", "hello", "[", "3", "null", "{}", "[" * 100_000, '{"a":' * 100_000, "9" * 5000, '{"type": "shiftlock.run/2"}'],
)
def test_what_is_no_message_at_all_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(MalformedMessage, match=r"^malformed message: .*: allowed is") as refused:
        read_message(text)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("sent", [None, 3, "yesterday", "2026-11-29T02:00:00", "0001-01-01T00:00:00+14:00"])
def test_a_message_says_when_it_was_sent(sent: object) -> None:
    facts = json.loads(Message("a", "k", {}, sent_at=AT).to_json())
    with pytest.raises(MalformedMessage, match=r"sent is .*: allowed is an ISO 8601 time with zone"):
        read_message(json.dumps(facts | {"sent": sent}))


def test_what_a_later_version_adds_is_passed_over() -> None:
    message = Message("a", "k", {}, sent_at=AT)
    assert read_message(json.dumps(json.loads(message.to_json()) | {"priority": 3})) == message


@pytest.mark.parametrize("partition", ["north", "riyadh-7", "a" * 128, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"])
def test_a_partition_that_sqs_takes_is_the_message_group(partition: str) -> None:
    assert group_of(Message("pull", "k", {}, partition)) == partition


@pytest.mark.parametrize("partition", ["الرياض", "a b", "a" * 129])
def test_another_partition_has_a_message_group_of_its_own_that_sqs_takes(partition: str) -> None:
    group = group_of(Message("pull", "k", {}, partition))
    assert re.fullmatch("[0-9a-f]{64}", group)
    assert group != group_of(Message("pull", "k", {}, partition + "x"))


def test_two_sendings_of_a_key_are_told_apart_and_one_sending_is_the_same() -> None:
    assert sending_id("k", "7") == sending_id("k", "7")
    assert len({sending_id("k"), sending_id("k", "7"), sending_id("k", "8"), sending_id("k7")}) == 4
