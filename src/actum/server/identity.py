"""Who makes a request: a key that a client shows is checked, and the answer is a user with roles and scopes.

Every kind of token has a `Verifier`, and every verifier answers an `Identity`. `Authenticator` asks several verifiers
in order. This file has keys that are given as a list; keys that a database keeps are checked in `stored_keys`, and
tokens of an outside issuer in `issuer`.

This file knows no protocol, no web server and no package of a protocol. A door, such as the MCP server, translates an
`Identity` into the form that its own package expects. The text of a token is never part of an `Identity`, so that no
code behind the door can show the token to another server.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import msgspec
from msgspec import Struct

from ..core.approver import Voter, voter
from ..core.clock import SystemClock
from ..core.errors import UsageError
from ..core.interfaces import Answer, Clock
from ..core.key import Key, hash_of, id_of
from ..core.user import User

KEY_CHARS_MIN = 16
_NO_HASH = "0" * 64

LetsIn: TypeAlias = "Callable[[Identity, str], bool]"
"""Whether a caller may use the agent of a name."""
Usable = Literal["tool", "model", "agent"]
"""What a key can be made for."""
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
            them. At the models door, words of the role `user` are the user's, unless this is `program`: then the client
            is a program, and the words are the client's own.
        hang_up: what becomes of a run when the client hangs up that asked for it at the models door: it goes on, or
            `end`.
        tools, models, agents: patterns of the names that the user may use with this key, such as `crm_*`; all names
            when empty. What an agent does on the way is the agent's affair: its own tools are not looked up here.
    """

    principal: str = ""
    roles: tuple[str, ...] = ()
    key_id: str = ""
    scopes: tuple[str, ...] = ()
    tenant: str = ""
    issuer: str = ""
    speaks_for: Literal["", "user", "program"] = ""
    hang_up: Literal["", "end"] = ""
    tools: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()

    def may_use(self, kind: Usable, name: str) -> bool:
        """Whether this key may use a tool, a model or an agent, as far as that is not the policy's to say.

        Args:
            kind: what it is.
            name: the name of it. Capital and small letters are different letters.

        >>> Identity(tools=("crm_*",)).may_use("tool", "crm_find"), Identity().may_use("tool", "pay")
        (True, True)
        """
        patterns = self.tools if kind == "tool" else self.models if kind == "model" else self.agents
        return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)

    @property
    def user(self) -> User:
        """The user, who is a principal of a tenant."""
        return User(self.tenant, self.principal)

    def vouched(self, answer: Answer) -> Answer:
        """An answer of this user to something that waits: who gives it, of which tenant, and with which roles."""
        return msgspec.structs.replace(
            answer, by=self.principal or answer.by, tenant=self.tenant, roles=self.roles, claimed=""
        )

    def voter(self, run_tenant: str) -> Voter:
        """This user, as rules about the approvers of a run see the user.

        Args:
            run_tenant: the tenant of the run.
        """
        return voter(self.principal or "user", tenant=self.tenant, roles=self.roles, run_tenant=run_tenant)

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
    return await verifier.is_wanted() if isinstance(verifier, WantedLater) else verifier is not None


def identity_of_key(key: Key) -> Identity:
    """On whose behalf a client speaks that has shown this key."""
    return Identity(
        principal=key.principal or key.id,
        roles=key.roles,
        key_id=key.id,
        scopes=key.scopes,
        tenant=key.tenant,
        speaks_for=key.speaks_for,
        hang_up=key.hang_up,
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
    """One key for everybody who may come in: the `Verifier` of a small set-up.

    Args:
        key: the text of the key.
        principal: the user on whose behalf whoever shows the key is served.
        speaks_for: as in `Identity`.
        scopes: what the key allows.

    Raises:
        UsageError: the key is too short to keep anybody out.
    """

    def __init__(
        self, key: str, principal: str, speaks_for: Literal["", "user"] = "", scopes: Sequence[str] = ()
    ) -> None:
        if len(key) < KEY_CHARS_MIN:
            raise UsageError(f"the key has {len(key)} characters, and needs {KEY_CHARS_MIN}: `openssl rand -hex 32`")
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
