"""A log-in that is under way, kept by the browser that began it: in a cookie, which no other browser has.

The cookie holds random text, the time and the page to return to. `state`, `nonce` and the verifier of PKCE are made of
the cookie and of a secret that the server's processes share. So a thief of the cookie learns none of the three, nobody
can change what the cookie says, and nothing is stored for the many who begin a log-in and never end it.

Each log-in has a cookie of its own, so that two tabs do not disturb each other.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from .cookies import cookie_name
from .same_site import own_path

PENDING_S = 600.0
"""Seconds that a person may take at the issuer."""
PENDING_MAX = 8
"""The most log-ins that may be under way in one browser; beyond that the oldest are dropped."""
PENDING = "actum-login-"
_VALUE = re.compile(r"([A-Za-z0-9_-]{43})\.([0-9]{1,12})\.([A-Za-z0-9_-]{0,1400})")


class StartedLogin(NamedTuple):
    """One log-in under way.

    Attributes:
        value: of its cookie.
        began_at: in seconds since 1970.
        return_to: the path to which the browser goes in the end; empty for the page that says who is logged in.
    """

    value: str
    began_at: int
    return_to: str

    @property
    def tag(self) -> str:
        """Ends the name of the cookie."""
        return self.value[:8]


class Proofs(NamedTuple):
    """The values by which a log-in is recognised when the browser returns.

    Attributes:
        state: comes back with the browser.
        nonce: comes back in the ID token.
        verifier: shows to the issuer that the client which brings the code also began the log-in (PKCE).
    """

    state: str
    nonce: str
    verifier: str

    @property
    def challenge(self) -> str:
        """The hash of the verifier, which the issuer is told first."""
        return _base64(hashlib.sha256(self.verifier.encode()).digest())


def begin(now: float, return_to: str) -> StartedLogin:
    """A new log-in.

    Args:
        now: the time.
        return_to: as in `StartedLogin`; checked before.
    """
    at = int(now)
    return StartedLogin(f"{_base64(os.urandom(32))}.{at}.{_base64(return_to.encode())}", at, return_to)


def proofs(pending: StartedLogin, secret: bytes, purpose: str) -> Proofs:
    """What this log-in is known by again.

    Args:
        pending: the log-in.
        secret: of the server's processes.
        purpose: the issuer, the client and the address that the browser comes back to: with another one, nothing fits.
    """
    made = (
        _base64(hmac.digest(secret, "\0".join((each, purpose, pending.value)).encode(), "sha256"))
        for each in ("state", "nonce", "verifier")
    )
    return Proofs(*made)


def pending_in(cookies: Mapping[str, str], *, now: float, is_https: bool) -> dict[str, StartedLogin]:
    """The log-ins of a browser that are under way, by the names of their cookies, the oldest first.

    Args:
        cookies: of the request.
        now: the time.
        is_https: whether browsers reach the server over https.
    """
    prefix, found = cookie_name(PENDING, is_https=is_https), {}
    for name, value in cookies.items():
        parts = _VALUE.fullmatch(value) if name.startswith(prefix) else None
        if parts is None:
            continue
        at, told = int(parts[2]), parts[3]
        try:
            return_to = base64.urlsafe_b64decode(told + "=" * (-len(told) % 4)).decode()
        except ValueError:
            continue
        if at - 60 <= now < at + PENDING_S and (not return_to or own_path(return_to)):
            found[name] = StartedLogin(value, at, return_to)
    return dict(sorted(found.items(), key=lambda each: each[1].began_at))


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
