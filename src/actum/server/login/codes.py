"""Codes with which a person of this machine begins a session of a browser: `actum studio` prints one.

A code says for whom it is, ends after ten minutes and counts once. A person who can read the journal can make one: the
code is sealed with the secret that all processes of a journal share, so that no process has to tell another of it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os

import msgspec
from msgspec import Struct

from ...core.stored.session import SessionStore

CODE_S = 600.0
CODE_CHARS_MAX = 2000
_USE = b"code of a session\0"


class CodeFor(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """For whom a code is.

    Attributes:
        principal: the user.
        tenant: the tenant of the user.
        ends_at: the code counts no more, in seconds since 1970.
        once: makes each code another one.
    """

    principal: str
    tenant: str = ""
    ends_at: float
    once: str


async def make_code(store: SessionStore, principal: str, *, now: float, tenant: str = "") -> str:
    """A new code.

    Args:
        store: of the journal whose servers take the code.
        principal, tenant: for whom it is.
        now: the time, in seconds since 1970.

    Raises:
        JournalError: the secret of the journal can not be read.
    """
    made = CodeFor(principal=principal, tenant=tenant, ends_at=now + CODE_S, once=os.urandom(16).hex())
    said = msgspec.json.encode(made)
    return f"{_text(said)}.{_text(_seal(await store.secret(), said))}"


async def use_code(store: SessionStore, text: str, *, now: float) -> CodeFor | None:
    """For whom a code is, which is used up by this.

    Args:
        store: of the journal.
        text: the code.
        now: the time, in seconds since 1970.

    Returns:
        None where it is no code, has ended or was used, in whatever process.

    Raises:
        JournalError: nobody can tell now.
    """
    said, _, seal = text.partition(".")
    if len(text) > CODE_CHARS_MAX or not text.isascii():
        return None
    try:
        body, shown = _bytes(said), _bytes(seal)
        if not hmac.compare_digest(shown, _seal(await store.secret(), body)):
            return None
        found = msgspec.json.decode(body, type=CodeFor)
    except (ValueError, RecursionError):  # the errors of msgspec are ValueErrors
        return None
    if found.ends_at <= now or not await store.use_once(f"code {found.once}", now=now, ends_at=found.ends_at + 60):
        return None
    return found


def _seal(secret: bytes, said: bytes) -> bytes:
    return hmac.digest(secret, _USE + said, hashlib.sha256)


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
