"""Which addresses of the POS may be called."""

import pytest

from handlers.pos.address import VARIABLE, base_url
from handlers.pos.errors import BadAddress


@pytest.mark.parametrize(
    "given",
    [
        "https://api.pos.example/eu",
        "https://api.pos.example:8443",
        "http://127.0.0.1:8080",
        "http://[::1]:80",
        "http://localhost:9",
    ],
)
def test_https_to_anywhere_and_plain_http_to_this_machine_are_allowed(given: str) -> None:
    assert str(base_url({VARIABLE: given})).rstrip("/") == given.removesuffix(":80")


@pytest.mark.parametrize(
    "given",
    [
        "http://api.pos.example",
        "http://10.0.0.1",
        "http://127.0.0.1.evil.example",
        "http://localhost.evil.example",
        "ftp://127.0.0.1",
        "api.pos.example",
        "https://",
        "https://pos.example:70000",
        "https://pos.example:0",
        "https://pos.example/\n",
    ],
)
def test_everything_else_is_refused_in_one_line_that_says_what_is_allowed(given: str) -> None:
    with pytest.raises(BadAddress, match=rf"^{VARIABLE} is .*allowed is such as https://") as refused:
        base_url({VARIABLE: given})
    assert "\n" not in str(refused.value)


def test_a_missing_address_is_said_to_be_missing() -> None:
    with pytest.raises(BadAddress, match=f"^{VARIABLE} is not set"):
        base_url({})


@pytest.mark.parametrize(
    "given", ["https://till:hunter2@pos.example", "https://pos.example/?key=hunter2", "https://pos.example/#hunter2"]
)
def test_what_may_be_a_secret_is_refused_and_not_repeated(given: str) -> None:
    with pytest.raises(BadAddress, match="without user, password") as refused:
        base_url({VARIABLE: given})
    assert "hunter2" not in str(refused.value)
