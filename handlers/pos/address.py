"""Where the POS is: one address for the environment, from SHIFTLOCK_POS_URL."""

import os
from collections.abc import Mapping
from ipaddress import ip_address

import httpx

from handlers.pos.errors import BadAddress

VARIABLE = "SHIFTLOCK_POS_URL"
ALLOWED = "allowed is such as https://api.pos.example/eu, or http on a loopback address"
LAST_PORT = 65535


def base_url(environ: Mapping[str, str] = os.environ) -> httpx.URL:
    """The address before `/v1/...`. Raises BadAddress.

    It holds no credentials: environment variables are shown in consoles, templates and crash reports. What the POS
    wants to see of us goes to `Pos` as `auth`.
    """
    given = environ.get(VARIABLE, "")
    if not given:
        raise BadAddress(f"{VARIABLE} is not set: {ALLOWED}")
    try:
        url = httpx.URL(given)
    except httpx.InvalidURL as error:
        raise BadAddress(f"{VARIABLE} is no URL: {ALLOWED}") from error
    if url.userinfo or url.query or url.fragment:
        # Not repeated: where a password or a key should not be, one may be.
        raise BadAddress(f"{VARIABLE} is more than an address: {ALLOWED}, without user, password, ? and #")
    secure_enough = url.scheme == "https" or (url.scheme == "http" and is_loopback(url))
    if not url.host or not secure_enough or (url.port is not None and not 1 <= url.port <= LAST_PORT):
        raise BadAddress(f"{VARIABLE} is {given!r}: {ALLOWED}")
    return url


def is_loopback(url: httpx.URL) -> bool:
    """Whether it leads to this machine and no further."""
    try:
        return ip_address(url.host).is_loopback
    except ValueError:
        return url.host == "localhost"
