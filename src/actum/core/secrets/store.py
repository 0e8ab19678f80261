"""What a store of secrets is, and which secrets a user may have.

A secret has a name and an owner. The owner is a user (a principal of a tenant), or everybody of a tenant: then the
principal of the owner is empty. A call on behalf of a user gets the user's own secret of a name, else the one that
everybody of the same tenant shares, else the one of the environment; never the secret of another user or tenant.

This file does no I/O. `storage.secret_file` keeps secrets in an encrypted file; `compose.secrets` puts together what a
program uses.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterator, Mapping
from typing import NoReturn, Protocol

from msgspec import Struct

from ..errors import UsageError
from ..user import User

VALUE_BYTES_MAX = 64 * 1024
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,127}", re.ASCII)


class SecretValue:
    """The value of a secret. Neither `repr` nor `str` shows the value, so that a log or a traceback can not.

    Args:
        text: the value.

    >>> SecretValue("hunter2")
    SecretValue([secret])
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The value itself, for the place that needs the value."""
        return self._text

    def __repr__(self) -> str:
        return "SecretValue([secret])"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SecretValue):
            return NotImplemented
        ours, theirs = (each._text.encode(errors="surrogatepass") for each in (self, other))
        return hmac.compare_digest(ours, theirs)

    __hash__ = None  # type: ignore[assignment]  # a set or a dict of values has no use

    def __reduce__(self) -> NoReturn:
        raise TypeError("the value of a secret is not pickled")


class SecretEntry(Struct, frozen=True):
    """What may be told of a secret: all but the value.

    Attributes:
        name: the name of the secret.
        owner: whose the secret is; shared by everybody of the tenant where the principal is empty.
        set_at: when the value was set, in seconds since 1970; 0 where nobody knows.
    """

    name: str
    owner: User
    set_at: float = 0.0


class SecretSource(Protocol):
    """Secrets that differ by user. `Agent(secrets=...)` takes a source, or a mapping that is the same for everybody."""

    def of(self, user: User) -> Mapping[str, str]:
        """The secrets that a call on behalf of this user may have, by their names. Looked up when one is asked for."""


class SecretStore(SecretSource, Protocol):
    """Keeps secrets."""

    def get(self, name: str, owner: User) -> SecretValue | None:
        """The value of exactly this owner's secret; None where this owner has no secret of this name.

        Raises:
            UsageError: the secrets can not be read.
        """

    def set(self, name: str, value: SecretValue, owner: User) -> None:
        """Keep a value, in place of the one that this owner had under this name.

        Raises:
            UsageError: the secrets can not be written; what was kept before is still kept.
        """

    def remove(self, name: str, owner: User) -> bool:
        """Forget a secret.

        Returns:
            False where this owner has no secret of this name.

        Raises:
            UsageError: the secrets can not be written.
        """

    def entries(self) -> list[SecretEntry]:
        """What there is, without the values.

        Raises:
            UsageError: the secrets can not be read.
        """


class ModelKeyStore(Protocol):
    """Keeps the keys of models that tenants have connected. They are no secrets for tools: no tool can name one."""

    def model_key(self, name: str, tenant: str) -> SecretValue | None:
        """A key of a tenant; None where the tenant has none of this name. Raises as `SecretStore.get`."""

    def set_model_key(self, name: str, value: SecretValue, tenant: str) -> None:
        """Keep a key, in place of the one of this name. Raises as `SecretStore.set`."""

    def remove_model_key(self, name: str, tenant: str) -> bool:
        """Forget a key; False where there is none. Raises as `SecretStore.remove`."""


class UserSecrets(Mapping[str, str]):
    """The secrets that one user may have: the user's own, then those that the tenant shares, then the fallback.

    Args:
        store: keeps the secrets of all users.
        user: the user on whose behalf a secret is looked up.
        fallback: used where the store has neither; such as the environment.
    """

    def __init__(self, store: SecretStore, user: User, fallback: Mapping[str, str] | None = None) -> None:
        self._store = store
        shared = User(user.tenant)
        self._owners = (user, shared) if user.principal else (shared,)
        self._fallback = fallback or {}

    def __getitem__(self, name: str) -> str:
        for owner in self._owners:
            if (value := self._store.get(name, owner)) is not None:
                return value.reveal()
        return self._fallback[name]

    def __iter__(self) -> Iterator[str]:
        own = [entry.name for entry in self._store.entries() if entry.owner in self._owners]
        return iter(dict.fromkeys([*own, *self._fallback]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        """Always true: code such as `secrets or {}` must not open the store."""
        return True

    def __repr__(self) -> str:
        return f"UserSecrets({self._owners[0]!r})"


def secrets_for(given: Mapping[str, str] | SecretSource, user: User) -> Mapping[str, str]:
    """The secrets that a user may have, of those that a program gave to its agent.

    Args:
        given: a source, or a mapping for everybody.
        user: the user on whose behalf a call is made.
    """
    return given if isinstance(given, Mapping) else given.of(user)


def checked_name(name: str) -> str:
    """A name that a secret may have: `${secret:NAME}` and `ACTUM_SECRET_NAME` can say it.

    Raises:
        UsageError: the name has other characters, or is too long.
    """
    if not _NAME.fullmatch(name):
        raise UsageError("the name of a secret has up to 128 letters, digits, `_`, `.` and `-`, as in crm_key")
    return name


def checked_value(value: SecretValue) -> SecretValue:
    """A value that can be kept. The message says nothing of the value.

    Raises:
        UsageError: the value is empty, too long, or not a text.
    """
    if fault := _fault(value.reveal()):
        raise UsageError("the value of a secret {fault}: nothing was kept", fault=fault)
    return value


def _fault(text: str) -> str:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return "is not a text"
    if not text or "\0" in text:
        return "is not a text" if text else "is empty"
    return "has more than 64 KiB" if size > VALUE_BYTES_MAX else ""
