"""What the product relies on of a bucket, as S3 has it: the local one must do the same."""

import urllib.request
from itertools import count
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.local.aws.cloud import Cloud

pytest_plugins = ("tests.local.aws.fixtures",)

PART = 5 * 1024 * 1024  # the least that S3 takes for a part that is not the last
_numbers = count(1)


@pytest.fixture
def bucket(cloud: Cloud) -> str:
    name = f"files-{next(_numbers)}"
    cloud.aws.client("s3").create_bucket(Bucket=name)
    return name


def test_an_object_that_is_not_there_is_told_by_each_call_as_on_s3(cloud: Cloud, bucket: str) -> None:
    s3 = cloud.aws.client("s3")
    for call, code in ((s3.head_object, "404"), (s3.get_object, "NoSuchKey")):
        with pytest.raises(ClientError) as refused:
            call(Bucket=bucket, Key="none")
        assert refused.value.response["Error"]["Code"] == code


def test_a_head_tells_size_type_and_metadata(cloud: Cloud, bucket: str) -> None:
    s3 = cloud.aws.client("s3")
    s3.put_object(Bucket=bucket, Key="a/b.txt", Body=b"four", ContentType="text/plain", Metadata={"of": "test"})
    head = s3.head_object(Bucket=bucket, Key="a/b.txt")
    assert (head["ContentLength"], head["ContentType"], head["Metadata"]) == (4, "text/plain", {"of": "test"})


def test_an_upload_in_parts_is_there_when_it_is_completed_and_not_before(cloud: Cloud, bucket: str) -> None:
    s3 = cloud.aws.client("s3")
    upload = s3.create_multipart_upload(Bucket=bucket, Key="export")["UploadId"]
    parts = [upload_part(s3, bucket, upload, number, body) for number, body in ((1, b"x" * PART), (2, b"end"))]
    with pytest.raises(ClientError):
        s3.head_object(Bucket=bucket, Key="export")
    s3.complete_multipart_upload(Bucket=bucket, Key="export", UploadId=upload, MultipartUpload={"Parts": parts})
    assert s3.head_object(Bucket=bucket, Key="export")["ContentLength"] == PART + 3
    ranged = s3.get_object(Bucket=bucket, Key="export", Range=f"bytes={PART - 1}-{PART + 2}")["Body"].read()
    assert ranged == b"xend"


def test_an_upload_that_is_aborted_leaves_nothing(cloud: Cloud, bucket: str) -> None:
    s3 = cloud.aws.client("s3")
    upload = s3.create_multipart_upload(Bucket=bucket, Key="export")["UploadId"]
    upload_part(s3, bucket, upload, 1, b"x")
    s3.abort_multipart_upload(Bucket=bucket, Key="export", UploadId=upload)
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)
    assert "Contents" not in s3.list_objects_v2(Bucket=bucket)


def test_a_presigned_link_gives_the_object_to_who_has_no_credentials(cloud: Cloud, bucket: str) -> None:
    s3 = cloud.aws.client("s3")
    s3.put_object(Bucket=bucket, Key="a file", Body=b"content")
    link = s3.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "a file"}, ExpiresIn=60)
    with urllib.request.urlopen(link) as answer:  # noqa: S310 - an address of the local AWS
        assert answer.read() == b"content"


def test_a_list_is_in_order_of_keys_and_of_one_folder(cloud: Cloud, bucket: str) -> None:
    s3 = cloud.aws.client("s3")
    for key in ("b/2", "a/1", "b/1"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"")
    assert [entry["Key"] for entry in s3.list_objects_v2(Bucket=bucket, Prefix="b/")["Contents"]] == ["b/1", "b/2"]


def upload_part(s3: Any, bucket: str, upload: str, number: int, body: bytes) -> dict[str, object]:
    answer = s3.upload_part(Bucket=bucket, Key="export", UploadId=upload, PartNumber=number, Body=body)
    return {"PartNumber": number, "ETag": answer["ETag"]}
