"""Log in to RDS with a token that is signed here: no secret is stored and no service is called.

Signed with the standard library, because importing an AWS SDK for one HMAC would double the cold start of a short
Lambda. A test compares the result with the SDK's own.

Sources: RDS user guide, "IAM database authentication"; IAM user guide, "Create a signed AWS API request"; ECS
developer guide, "Task IAM role".
"""

import hmac
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import quote, urlencode
from urllib.request import urlopen

from handlers.runtime.settings import IamDatabase

TOKEN_SECONDS = 900
# The address of the ECS agent's credentials, the same in every task.
TASK_CREDENTIALS = "http://169.254.170.2"
EMPTY_BODY = sha256(b"").hexdigest()


class NoCredentials(RuntimeError):
    """Neither the environment nor the task gives AWS credentials; `reason` is what the task's agent said instead."""

    def __init__(self, reason: str = "") -> None:
        self.reason = reason
        said = f" ({reason})" if reason else ""
        super().__init__(
            f"no AWS credentials to sign the database token with{said}: "
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the task a role"
        )


@dataclass(frozen=True, slots=True)
class Credentials:
    """An AWS key pair, with the session token of a role."""

    key_id: str
    secret: str
    session_token: str | None


def credentials(environ: Mapping[str, str] = os.environ) -> Credentials:
    """From the variables that Lambda sets, else from the task's role on ECS. Raises NoCredentials."""
    if "AWS_ACCESS_KEY_ID" in environ and "AWS_SECRET_ACCESS_KEY" in environ:
        return Credentials(
            environ["AWS_ACCESS_KEY_ID"], environ["AWS_SECRET_ACCESS_KEY"], environ.get("AWS_SESSION_TOKEN")
        )
    path = environ.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
    if path is None:
        raise NoCredentials
    try:
        with urlopen(TASK_CREDENTIALS + path, timeout=5) as answer:  # noqa: S310  # the scheme is in the constant
            given = json.load(answer)
    except OSError as error:
        raise NoCredentials(f"{TASK_CREDENTIALS}{path}: {error}") from error
    return Credentials(given["AccessKeyId"], given["SecretAccessKey"], given["Token"])


def sign_token(database: IamDatabase, keys: Credentials, now: datetime) -> str:
    """The password for `database.user`, good for 15 minutes from `now` (aware UTC) on."""
    moment, day = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ"), now.astimezone(UTC).strftime("%Y%m%d")
    scope = f"{day}/{database.region}/rds-db/aws4_request"
    host = f"{database.host}:{database.port}"
    query = {
        "Action": "connect",
        "DBUser": database.user,
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": f"{keys.key_id}/{scope}",
        "X-Amz-Date": moment,
        "X-Amz-Expires": str(TOKEN_SECONDS),
        "X-Amz-SignedHeaders": "host",
    }
    if keys.session_token:
        query["X-Amz-Security-Token"] = keys.session_token
    canonical_query = urlencode(sorted(query.items()), quote_via=quote, safe="-_.~")
    request = f"GET\n/\n{canonical_query}\nhost:{host}\n\nhost\n{EMPTY_BODY}"
    to_sign = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{sha256(request.encode()).hexdigest()}"
    key = f"AWS4{keys.secret}".encode()
    for part in (day, database.region, "rds-db", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
    return f"{host}/?{canonical_query}&X-Amz-Signature={signature}"
