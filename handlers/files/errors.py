"""What can go wrong with a file in the bucket, each as one line that says what, where and what to do."""


class FileError(Exception):
    """Base of every error that the bucket raises."""


class NoSuchFile(FileError):
    """There is no object of that key."""

    def __init__(self, bucket: str, key: str) -> None:
        self.bucket, self.key = bucket, key
        super().__init__(f"there is no s3://{bucket}/{key}: upload it first, or give the key of a file that is there")


class NoSuchBucket(FileError):
    """There is no bucket of that name."""

    def __init__(self, bucket: str) -> None:
        self.bucket = bucket
        super().__init__(f"there is no bucket {bucket}: see that SHIFTLOCK_FILES names the environment's")


class TooLarge(FileError):
    """The object has more bytes than the reader takes, or the writer may write."""

    def __init__(self, bucket: str, key: str, size: int, limit: int) -> None:
        self.bucket, self.key, self.size, self.limit = bucket, key, size, limit
        super().__init__(f"s3://{bucket}/{key} has {size:,} bytes: allowed are at most {limit:,}")


class AccessDenied(FileError):
    """The credentials lack a grant. `grant` is the IAM action that is missing."""

    def __init__(self, bucket: str, key: str, grant: str) -> None:
        self.bucket, self.key, self.grant = bucket, key, grant
        # "GetObject", Amazon S3 API reference: without s3:ListBucket the answer is 403 and not 404.
        or_missing = " (or it is not there, which S3 tells only with s3:ListBucket)" if grant == "s3:GetObject" else ""
        super().__init__(f"access to s3://{bucket}/{key} denied{or_missing}: the role needs {grant} on it")


class BadCredentials(FileError):
    """There are no AWS credentials, or they are expired or not valid."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"no AWS credentials that S3 takes: {reason}; give the process a role, or renew its keys")


class Unreachable(FileError):
    """S3 gave no answer, broke off, or asks to come back later. Another attempt may do better."""

    def __init__(self, bucket: str, reason: str) -> None:
        self.bucket = bucket
        super().__init__(f"bucket {bucket} unreachable: {reason}; try again later")


class UploadGone(FileError):
    """The multipart upload was aborted, or ended by somebody else, while it was being written."""

    def __init__(self, bucket: str, key: str) -> None:
        self.bucket, self.key = bucket, key
        super().__init__(f"the upload to s3://{bucket}/{key} is gone, aborted or ended elsewhere: write the file again")


class Refused(FileError):
    """S3 refused for another reason; `code` is its own word for it."""

    def __init__(self, bucket: str, key: str, action: str, code: str, said: str) -> None:
        self.bucket, self.key, self.action, self.code = bucket, key, action, code
        super().__init__(f"{action} of s3://{bucket}/{key} refused with {code}: {said}")
