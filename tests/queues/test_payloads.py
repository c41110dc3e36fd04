"""A payload in S3 is read as it was put there, or said to be unreadable in one line."""

import json
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError
from botocore.stub import Stubber

from handlers.queues import payloads
from handlers.queues.payloads import FINAL, PayloadTooLarge, PayloadUnreadable, fetch, keep
from tests.queues.post import FILES, REGION, Post

PAYLOAD = {"b": [1, "ق"], "a": {"x": None}}


def kept(post: Post, payload: dict[str, Any] = PAYLOAD) -> str:
    return keep(payload, job="resize", bucket=FILES, s3=post.s3)


def read(post: Post, place: str, job: str = "resize") -> dict[str, Any]:
    return fetch(place, job=job, bucket=FILES, s3=post.s3)


def key_of(place: str) -> str:
    return place.removeprefix(f"s3://{FILES}/")


def test_a_payload_is_read_as_it_was(post: Post) -> None:
    assert read(post, kept(post)) == PAYLOAD


def test_the_same_payload_is_kept_once_whatever_the_order_of_its_names(post: Post) -> None:
    places = {kept(post), kept(post), kept(post, dict(reversed(PAYLOAD.items()))), kept(post, {"a": 1})}
    assert len(places) == 2
    assert post.s3.list_objects_v2(Bucket=FILES, Prefix="payloads/resize/")["KeyCount"] == 2


def test_a_payload_beyond_its_bound_is_not_kept(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payloads, "LARGEST", 10)
    with pytest.raises(PayloadTooLarge, match="a payload for resize is of 29 bytes: allowed are 10"):
        kept(post)
    assert "Contents" not in post.s3.list_objects_v2(Bucket=FILES)


@pytest.mark.parametrize(
    "place",
    [
        "s3://other/payloads/resize/0",
        f"s3://{FILES}/payloads/pull/0",
        f"s3://{FILES}/uploads/secret.json",
        f"s3://{FILES}/payloads/resize/../pull/0",
        "",
    ],
)
def test_no_other_address_than_one_of_the_jobs_own_payloads_is_looked_at(place: str) -> None:
    with pytest.raises(PayloadUnreadable, match=f"allowed is an address in s3://{FILES}/payloads/resize/") as refused:
        fetch(place, job="resize", bucket=FILES, s3=object())
    assert not refused.value.passing


def test_a_payload_that_somebody_has_changed_is_not_used(post: Post) -> None:
    place = kept(post)
    post.s3.put_object(Bucket=FILES, Key=key_of(place), Body=json.dumps(PAYLOAD | {"a": 2}).encode())
    with pytest.raises(PayloadUnreadable, match="its hash is another") as refused:
        read(post, place)
    assert not refused.value.passing


def test_an_object_too_large_to_be_a_payload_is_not_read(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    place = kept(post)
    monkeypatch.setattr(payloads, "LARGEST", 10)
    with pytest.raises(PayloadUnreadable, match="it has 29 bytes: allowed are 10"):
        read(post, place)


def test_a_payload_that_is_gone_is_gone_for_good(post: Post) -> None:
    place = kept(post)
    post.s3.delete_object(Bucket=FILES, Key=key_of(place))
    with pytest.raises(PayloadUnreadable, match="NoSuchKey") as refused:
        read(post, place)
    assert not refused.value.passing
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("code", [*sorted(FINAL), "SlowDown", "InternalError"])
def test_whether_another_try_may_find_it_is_told_from_what_s3_says(code: str) -> None:
    config = Config(region_name=REGION, retries={"total_max_attempts": 1})
    s3 = boto3.client("s3", config=config, aws_access_key_id="x", aws_secret_access_key="x")  # noqa: S106
    with Stubber(s3) as stub:
        stub.add_client_error("get_object", code, "no luck")
        with pytest.raises(PayloadUnreadable, match=f"{code}: no luck") as refused:
            fetch(f"s3://{FILES}/payloads/resize/0", job="resize", bucket=FILES, s3=s3)
    assert refused.value.passing == (code not in FINAL)


def test_without_a_way_to_s3_another_try_may_find_it() -> None:
    class Unreachable:
        def get_object(self, **_: Any) -> None:
            raise EndpointConnectionError(endpoint_url="https://s3")

    with pytest.raises(PayloadUnreadable, match="https://s3") as refused:
        fetch(f"s3://{FILES}/payloads/resize/0", job="resize", bucket=FILES, s3=Unreachable())
    assert refused.value.passing
