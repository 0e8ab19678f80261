"""Who sent a webhook: checks of the forms in which senders sign.

    standard   Standard Webhooks 1.0: `webhook-id`, `webhook-timestamp`, `webhook-signature`
    github     `x-hub-signature-256`, HMAC-SHA256 of the body in hexadecimal; says nothing of the time
    stripe     `stripe-signature: t=...,v1=...`, HMAC-SHA256 of time and body
    token      `authorization: Bearer ...`, or `x-webhook-token`; says nothing of the body

Sources: github.com/standard-webhooks/standard-webhooks, "spec/standard-webhooks.md"; docs.github.com, "Validating
webhook deliveries"; docs.stripe.com, "Verify webhook signatures manually". Pure.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Mapping, Sequence

from ..core.stored.webhook import key_of
from .settings import SignatureForm


class BadSignature(Exception):
    """A webhook does not come from who it should come from. The message says why, and holds nothing of the secret."""


SIGNATURES_MAX = 32
"""The most signatures of one request that are looked at: a sender signs twice while the secret is being changed."""


def check_signature(
    form: SignatureForm,
    secrets: Sequence[str],
    headers: Mapping[str, str],
    body: bytes,
    *,
    now: float,
    max_age_s: float,
) -> None:
    """Check who sent a webhook. Compares in a time that does not depend on where two texts differ.

    Args:
        form: the form of the signature.
        secrets: what both sides know; while the secret is being changed, there are two.
        headers: of the request, by lower-case names.
        body: as it came.
        now: seconds since 1970.
        max_age_s: so old a signature may be, or so far ahead of our clock.

    Raises:
        BadSignature: it comes from somebody else, or is too old.
    """
    match form:
        case "standard":
            time = _time(headers.get("webhook-timestamp", ""), now, max_age_s)
            said = f"{headers.get('webhook-id', '')}.{time}.".encode() + body
            wanted = [hmac.digest(key_of(secret), said, "sha256") for secret in secrets]
            given = headers.get("webhook-signature", "").split(" ")[:SIGNATURES_MAX]
            found = [_decoded(each.removeprefix("v1,")) for each in given if each.startswith("v1,")]
        case "github":
            wanted = [hmac.digest(secret.encode(), body, "sha256") for secret in secrets]
            found = [_unhexed(headers.get("x-hub-signature-256", "").removeprefix("sha256="))]
        case "stripe":
            parts = [part.strip().partition("=") for part in headers.get("stripe-signature", "").split(",")]
            times = [value for name, _, value in parts if name == "t"]
            time = _time(times[0] if len(times) == 1 else "", now, max_age_s)
            said = time.encode() + b"." + body
            wanted = [hmac.digest(secret.encode(), said, "sha256") for secret in secrets]
            found = [_unhexed(value) for name, _, value in parts if name == "v1"][:SIGNATURES_MAX]
        case _:  # "token"
            shown = bearer_of(headers.get("authorization", "")) or headers.get("x-webhook-token", "")
            wanted, found = [secret.encode() for secret in secrets], [shown.encode()]
    fits = [each != b"" and hmac.compare_digest(each, right) for each in found for right in wanted]
    if not any(fits):
        raise BadSignature(f"the {'token' if form == 'token' else 'signature'} is missing or does not fit")


def bearer_of(authorization: str) -> str:
    """The token behind `Bearer`; empty where there is none.

    >>> bearer_of("Bearer abc"), bearer_of("Basic abc")
    ('abc', '')
    """
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _time(text: str, now: float, max_age_s: float) -> str:
    """The time of a signature as it was written.

    Raises:
        BadSignature: there is none, or it is too old.
    """
    if not text.isascii() or not text.isdecimal() or len(text) > 12:
        raise BadSignature("the signature does not say when it was made")
    if abs(now - int(text)) > max_age_s:
        raise BadSignature(f"the signature is more than {max_age_s:.0f} seconds old, or a clock is wrong")
    return text


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _unhexed(text: str) -> bytes:
    try:
        return bytes.fromhex(text) if text.isascii() else b""
    except ValueError:
        return b""
