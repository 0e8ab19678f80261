"""Keys of our own: the form in which a key is kept, and what a place that keeps keys has to do.

A key is a text that a client shows with each request. The text is shown to a person once, when the key is made. Only a
hash of the text is kept, so that nobody can find out the text from the place where the keys are kept.

This file knows no database, no server and no protocol.
"""

from __future__ import annotations

import hashlib
import os
import re
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

from ..errors import UsageError

_KEY = re.compile(r"ak_([A-Za-z0-9-]{1,40})_([A-Za-z0-9_-]{43})")

RESERVED = frozenset({"local", "shared"})
"""What the record and the settings call a program without a key, and one with the key that everybody shares."""


CLOCK = "clock"
"""The value of `Key.revoked_by` where nobody revoked the key, but the key was found to have expired."""


class Key(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A key of our own, as it is kept. The text of the key can not be found out from this.

    Attributes:
        id: the name of the key, also on record. An id is never used for a second key, not even when the first key was
            revoked.
        sha256: the hash of the key's text, in hexadecimal. The text has 256 random bits, so that a slow hash would
            make nothing safer.
        principal: the user whose calls the key makes; the id of the key when empty.
        roles: the roles of this user; without roles, no rule for a role fits.
        scopes: what the key allows; without scopes, nothing that a server wants a scope for.
        tenant: the tenant that the user belongs to.
        tools, models, agents: patterns of the names that the key may use, such as `crm_*`; all names when empty.
        expires_at: seconds since 1970; 0 for never.
        speaks_for, hang_up, personal: as in `core.identity.Identity`.
        made_at, made_by: when the key was made, in seconds since 1970, and by whom.
        revoked_at, revoked_by: when the key was revoked, and by whom; 0 while the key was not revoked. A key that was
            seen to have ended is revoked by `CLOCK`, so that it stays ended when the clock goes back.
    """

    id: str
    sha256: str
    principal: str = ""
    roles: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    tenant: str = ""
    tools: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    expires_at: float = 0.0
    speaks_for: Literal["", "user", "program"] = ""
    hang_up: Literal["", "end"] = ""
    personal: bool = False
    made_at: float = 0.0
    made_by: str = ""
    revoked_at: float = 0.0
    revoked_by: str = ""

    def is_valid(self, now: float) -> bool:
        """Whether the key may be used now: it was not revoked and has not ended."""
        return bool(self.sha256) and not self.revoked_at and not 0 < self.expires_at <= now

    @property
    def was_revoked(self) -> bool:
        """Whether somebody has revoked the key, which a key that has ended by itself was not."""
        return bool(self.revoked_at) and not (self.revoked_by == CLOCK and 0 < self.expires_at <= self.revoked_at)

    def state(self, now: float) -> Literal["valid", "ended", "revoked", "damaged"]:
        """How the key stands, in a word. `damaged`: its row in the database can not be read, and opens no door."""
        if self.was_revoked:
            return "revoked"
        return "damaged" if not self.sha256 else "valid" if self.is_valid(now) else "ended"


def new_key(
    id: str,
    *,
    principal: str = "",
    roles: Sequence[str] = (),
    scopes: Sequence[str] = (),
    tenant: str = "",
    tools: Sequence[str] = (),
    models: Sequence[str] = (),
    agents: Sequence[str] = (),
    expires_at: float = 0.0,
    speaks_for: Literal["", "user", "program"] = "",
    hang_up: Literal["", "end"] = "",
    personal: bool = False,
    made_at: float = 0.0,
    made_by: str = "",
) -> tuple[str, Key]:
    """Make a new key.

    Args:
        id: letters, digits and hyphens, 40 at most.
        principal, roles, scopes, tenant, tools, models, agents, expires_at, speaks_for, hang_up, personal,
            made_at, made_by: as in `Key`.

    Returns:
        The text of the key, to be shown once, and the `Key` to keep.

    Raises:
        UsageError: the id has other characters, or is one of `RESERVED`.
    """
    text = f"ak_{id}_{urlsafe_b64encode(os.urandom(32)).rstrip(b'=').decode()}"
    if id in RESERVED:
        raise UsageError(
            "a key can not be named {id!r}: the record says so of programs that showed no key of their own", id=id
        )
    if not _KEY.fullmatch(text):
        raise UsageError("{name!r} is no name for a key: letters, digits and hyphens, 40 at most", name=id)
    return text, Key(
        id=id,
        sha256=hash_of(text),
        principal=principal,
        roles=tuple(roles),
        scopes=tuple(scopes),
        tenant=tenant,
        tools=tuple(tools),
        models=tuple(models),
        agents=tuple(agents),
        expires_at=expires_at,
        speaks_for=speaks_for,
        hang_up=hang_up,
        personal=personal,
        made_at=made_at,
        made_by=made_by,
    )


def id_of(text: str) -> str:
    """The id of the key that a text claims to be; empty where the text is no key of ours.

    Nothing says that there is such a key, or that the text is right.
    """
    found = _KEY.fullmatch(text)
    return found[1] if found is not None else ""


def hash_of(text: str) -> str:
    """The hash of a key's text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def id_taken(key: Key) -> str:
    """The error message for making a second key with the id of this key."""
    stands = "was revoked" if key.was_revoked else "is there"
    return (
        f"a key named {key.id!r} {stands}, and a name is never used for a second key, since the record names keys: "
        "choose another name"
    )


def id_unknown(id: str) -> str:
    """What is said where there was never a key of this id."""
    return f"there is no key named {id!r}: `actum keys list` shows them"


class KeyStore(Protocol):
    """A place that keeps keys, and that several processes may share."""

    async def add(self, key: Key) -> None:
        """Keep a new key.

        Raises:
            UsageError: there is, or was, a key of this id.
            JournalError: the key could not be written.
        """

    async def revoke(self, id: str, *, at: float, by: str) -> bool:
        """Revoke a key. When this returns, the key is dead in this process, and within a second in every other.

        Args:
            id: of the key.
            at: now, in seconds since 1970.
            by: who revokes the key.

        Returns:
            False where the key had been revoked before.

        Raises:
            UnknownName: there was never a key of this id.
            JournalError: this could not be written.
        """

    async def all(self) -> list[Key]:
        """All keys that were ever made, those that were revoked or have ended as well, the oldest first.

        Raises:
            JournalError: the keys can not be read.
        """

    async def find(self, id: str) -> Key | None:
        """The key of this id; None when there is no such key.

        Raises:
            JournalError: the key can not be read.
        """

    def changes(self, age_s: float = 0.0) -> int | None:
        """A number that is another number as soon as a key was added or revoked, whichever process did so.

        Reading it is cheap, so code that checks a key reads this number first. None while it is unknown whether the
        number is the latest; then ask with `find`.

        Args:
            age_s: a number that was read within these seconds will do, which is cheaper still. What was added or
                revoked by this very object always counts at once.

        Raises:
            JournalError: the store of the keys is gone, so that no key can be checked.
        """
