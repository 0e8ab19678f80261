"""Who makes a request: a key that a client shows is checked, and the answer is an `Identity`.

Every kind of token has a `Verifier`, and every verifier answers an `Identity`. `Authenticator` asks several verifiers
in order. This file has keys that are given as a list; keys that a database keeps are checked in `stored_keys`, and
tokens of an outside issuer in `issuer`.

This file knows no protocol, no web server and no package of a protocol. A door, such as the MCP server, translates an
`Identity` into the form that its own package expects. The text of a token is never part of an `Identity`, so that no
code behind the door can show the token to another server.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal, Protocol, TypeGuard, runtime_checkable

from ..core.clock import SystemClock
from ..core.errors import UsageError
from ..core.identity import Identity
from ..core.interfaces import Clock
from ..core.stored.key import Key, hash_of, id_of

KEY_CHARS_MIN = 16
_NO_HASH = "0" * 64

SHARED = "shared"
"""The id of the key that everybody shares."""


class Verifier(Protocol):
    """Checks one kind of token."""

    async def verify_token(self, token: str) -> Identity | None:
        """Check a token.

        Args:
            token: the text that the client showed.

        Returns:
            Whose token this is. None when the token is of another kind, or is not valid.
        """


@runtime_checkable
class WantedLater(Protocol):
    """A `Verifier` whose tokens are wanted only from some moment on, such as the making of the first key."""

    async def is_wanted(self) -> bool:
        """Whether each request has to show a token now. Once this is True, it stays True.

        Raises:
            JournalError: nobody can tell now.
        """


async def wants_token(verifier: Verifier | None) -> bool:
    """Whether each request has to show a token now.

    Args:
        verifier: of the server; None where no token is ever wanted.

    Raises:
        JournalError: nobody can tell now.
    """
    return await verifier.is_wanted() if _is_later(verifier) else verifier is not None


def _is_later(verifier: Verifier | None) -> TypeGuard[WantedLater]:
    return _is_kind_later(type(verifier))  # type: ignore[arg-type]  # a class can be hashed


@cache
def _is_kind_later(kind: type) -> bool:
    """Each request asks this, and to look through the methods of a class takes longer than to check a key."""
    return issubclass(kind, WantedLater)


def identity_of_key(key: Key) -> Identity:
    """The identity of a client that has shown this key."""
    return Identity(
        principal=key.principal or key.id,
        roles=key.roles,
        key_id=key.id,
        scopes=key.scopes,
        tenant=key.tenant,
        speaks_for=key.speaks_for,
        hang_up=key.hang_up,
        personal=key.personal,
        tools=key.tools,
        models=key.models,
        agents=key.agents,
    )


def is_text_of(text: str, key: Key | None) -> bool:
    """Whether a text is the text of a key. Takes the same time where there is no such key."""
    return hmac.compare_digest(hash_of(text).encode(), (key.sha256 if key else _NO_HASH).encode()) and key is not None


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
        key_id = id_of(token)
        if not key_id:
            return None
        key = self._keys.get(key_id)
        if not is_text_of(token, key) or key is None or not key.is_valid(self._clock.now()):
            return None
        return identity_of_key(key)


class SharedKey:
    """One key for all clients: the `Verifier` of a small set-up.

    Args:
        key: the text of the key.
        principal: the user on whose behalf clients with the key are served.
        speaks_for: as in `Identity`.
        scopes: what the key allows.

    Raises:
        UsageError: the key is too short to keep anybody out.
    """

    def __init__(
        self, key: str, principal: str, speaks_for: Literal["", "user"] = "", scopes: Sequence[str] = ()
    ) -> None:
        if len(key) < KEY_CHARS_MIN:
            raise UsageError(
                "the key has {length} characters, and needs {least}: `openssl rand -hex 32`",
                length=len(key),
                least=KEY_CHARS_MIN,
            )
        self._hash = hash_of(key)
        self._identity = Identity(principal=principal, key_id=SHARED, speaks_for=speaks_for, scopes=tuple(scopes))

    async def verify_token(self, token: str) -> Identity | None:
        """The one user; None when the token is not the key."""
        return self._identity if hmac.compare_digest(hash_of(token), self._hash) else None


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
