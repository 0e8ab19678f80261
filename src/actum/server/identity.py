"""Who makes a request: a key that a client shows is checked, and the answer is a user with roles and scopes.

Every kind of token has a `Verifier`, and every verifier answers an `Identity`. `Authenticator` asks several verifiers
in order. This file has the keys that we hand out ourselves; tokens of an outside issuer are checked in `issuer`.

This file knows no protocol, no web server and no package of a protocol. A door, such as the MCP server, translates an
`Identity` into the form that its own package expects. The text of a token is never part of an `Identity`, so that no
code behind the door can show the token to another server.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets as random
from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

import msgspec
from msgspec import Struct

from ..core.clock import SystemClock
from ..core.errors import UsageError
from ..core.interfaces import Clock
from ..core.user import User

KEY_CHARS_MIN = 16
_KEY = re.compile(r"ak_([A-Za-z0-9-]{1,40})_([A-Za-z0-9_-]{43})")


SHARED = "shared"
"""The id of the key that everybody shares."""


class Identity(Struct, frozen=True, kw_only=True):
    """On whose behalf a client speaks.

    Attributes:
        principal: the user.
        roles: the roles of the user.
        key_id: the id of the key, or of the program, that made the request; never the text of a token. For the record.
        scopes: what the token allows.
        tenant: the tenant that the user belongs to; empty where there is only one tenant.
        issuer: who granted the token; empty for a key of our own. Two issuers may use one name for two users.
        speaks_for: `user` where the operator trusts the client to say only what its user said: then the arguments of
            its calls count as the user's words. Otherwise they count as the client's own, whose model may have chosen
            them.
    """

    principal: str = ""
    roles: tuple[str, ...] = ()
    key_id: str = ""
    scopes: tuple[str, ...] = ()
    tenant: str = ""
    issuer: str = ""
    speaks_for: Literal["", "user"] = ""

    @property
    def user(self) -> User:
        """The user, who is a principal of a tenant."""
        return User(self.tenant, self.principal)

    def without_scopes(self) -> Identity:
        """The same user and program, whatever this token allows.

        A renewed token may have other scopes. To recognise a client again, compare identities without their scopes.
        """
        return msgspec.structs.replace(self, scopes=()) if self.scopes else self


class Verifier(Protocol):
    """Checks one kind of token."""

    async def verify_token(self, token: str) -> Identity | None:
        """Check a token.

        Args:
            token: the text that the client showed.

        Returns:
            Whose token this is. None when the token is of another kind, or is not valid.
        """


class Key(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A key of our own, as a file keeps it. The text of the key can not be found out from this.

    Attributes:
        id: the name of the key, also on record.
        sha256: the hash of the key's text, in hexadecimal. The text has 256 random bits, so that a slow hash would
            make nothing safer.
        principal: the user whose calls the key makes; the id of the key when empty.
        roles: the roles of this user; without roles, no rule for a role fits.
        scopes: what the key allows; without scopes, nothing that a server wants a scope for.
        expires_at: seconds since 1970; 0 for never.
        speaks_for: as in `Identity`.
    """

    id: str
    sha256: str
    principal: str = ""
    roles: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    expires_at: float = 0.0
    speaks_for: Literal["", "user"] = ""


def new_key(
    id: str,
    *,
    principal: str = "",
    roles: Sequence[str] = (),
    scopes: Sequence[str] = (),
    speaks_for: Literal["", "user"] = "",
) -> tuple[str, Key]:
    """Make a new key.

    Args:
        id: letters, digits and hyphens, 40 at most.
        principal, roles, scopes, speaks_for: as in `Key`.

    Returns:
        The text of the key, to be shown once, and the `Key` to keep.

    Raises:
        UsageError: the id has other characters.
    """
    text = f"ak_{id}_{random.token_urlsafe(32)}"
    if not _KEY.fullmatch(text):
        raise UsageError(f"{id!r} is no id for a key: letters, digits and hyphens, 40 at most")
    return text, Key(
        id=id,
        sha256=_hash(text),
        principal=principal,
        roles=tuple(roles),
        scopes=tuple(scopes),
        speaks_for=speaks_for,
    )


class Keys:
    """The `Verifier` of keys of our own.

    Args:
        keys: the keys that are valid.
        clock: tells when a key expires.

    Raises:
        UsageError: two keys have the same id.
    """

    def __init__(self, keys: Iterable[Key], *, clock: Clock | None = None) -> None:
        known = list(keys)
        self._keys = {key.id: key for key in known}
        if len(self._keys) != len(known):
            raise UsageError("two keys have the same id")
        self._clock = clock or SystemClock()

    async def verify_token(self, token: str) -> Identity | None:
        """Whose key this is; None when the key is unknown or has expired."""
        found = _KEY.fullmatch(token)
        if found is None:
            return None
        key = self._keys.get(found[1])
        same = hmac.compare_digest(_hash(token), key.sha256 if key else "0" * 64)  # compared even where there is none
        if key is None or not same or 0 < key.expires_at <= self._clock.now():
            return None
        return Identity(
            principal=key.principal or key.id,
            roles=key.roles,
            key_id=key.id,
            scopes=key.scopes,
            speaks_for=key.speaks_for,
        )


class SharedKey:
    """One key for everybody who may come in: the `Verifier` of a small set-up.

    Args:
        key: the text of the key.
        principal: the user on whose behalf whoever shows the key is served.
        speaks_for: as in `Identity`.

    Raises:
        UsageError: the key is too short to keep anybody out.
    """

    def __init__(self, key: str, principal: str, speaks_for: Literal["", "user"] = "") -> None:
        if len(key) < KEY_CHARS_MIN:
            raise UsageError(f"the key has {len(key)} characters, and needs {KEY_CHARS_MIN}: `openssl rand -hex 32`")
        self._hash = _hash(key)
        self._identity = Identity(principal=principal, key_id=SHARED, speaks_for=speaks_for)

    async def verify_token(self, token: str) -> Identity | None:
        """The one user; None when the token is not the key."""
        return self._identity if hmac.compare_digest(_hash(token), self._hash) else None


class Authenticator:
    """Accepts several kinds of token at one door. The first verifier that knows a token decides.

    Args:
        verifiers: in the order in which they are asked.
    """

    def __init__(self, verifiers: Sequence[Verifier]) -> None:
        self._verifiers = tuple(verifiers)

    async def verify_token(self, token: str) -> Identity | None:
        """Whose token this is; None when no verifier knows the token."""
        for verifier in self._verifiers:
            identity = await verifier.verify_token(token)
            if identity is not None:
                return identity
        return None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
