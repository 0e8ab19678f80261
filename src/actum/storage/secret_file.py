"""A file of secrets, encrypted. What it holds is worth nothing without the key, which lies elsewhere; see `secret_key`.

How a value is kept:

- The file has a random data key. The data key is encrypted with the key of the outside. While a rekey goes on there are
  two keys of the outside, and the file holds the data key twice, so that either key opens the file.
- Each value is encrypted with AES-256-GCM, with a key of its own that is made of the data key and 32 random bytes, so
  that no two values ever share a key and a nonce. What the value is, its name, its owner and the time are bound to it
  (associated data): the value of one entry put in the place of another does not decrypt. Its length is rounded up.
- A seal (HMAC-SHA256) covers the whole file, so that nothing is added, removed or exchanged without the key.
- The file counts its changes, and `NAME.count` beside it says the count that was seen last. An older copy of the file
  in its place is an error.

A file that is damaged, older, or of another key is never written over. The file is replaced whole under a lock: a full
disk or a killed process leaves what was there, and two processes lose nothing of each other's.

Limits: a user who can write to the folder can put an older file there together with an older count. Names, owners and
times are in the file in plain text. A user who has the key, or controls the running process, has the values.
"""

from __future__ import annotations

import contextlib
import hmac
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace as changed

from ..core.clock import SystemClock
from ..core.errors import UsageError
from ..core.interfaces import Clock
from ..core.secrets.private_paths import keep_private
from ..core.secrets.store import SecretEntry, SecretValue, UserSecrets, checked_name
from ..core.user import User
from .secret_key import KEY_FILE_VARIABLE, KEY_VARIABLE, KeyProvider, SecretKey
from .whole_file import alone_with, replace

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

Kind = Literal["secret", "granted", "registration", "model"]
"""What an entry is. A secret is for tools; what servers granted is for logins alone, and the key of a model for its
address alone, whatever a tool asks for."""

VERSION = 1
SLOTS_MAX = 2
_PADDED_TO = 256
_NONCE_BYTES = 12
_SALT_BYTES = 32
_LENGTH_BYTES = 4
_DATA_KEY = b"actum secrets: data key"


Place: TypeAlias = tuple[Kind, User, str]
"""Which entry: what it is, whose it is, and its name."""


class _Sealed(Struct, frozen=True):
    """Bytes that are encrypted: `key` made of another key and `salt`."""

    salt: bytes
    nonce: bytes
    data: bytes


class _Entry(Struct, frozen=True, kw_only=True):
    kind: Kind
    tenant: str
    principal: str
    name: str
    set_at: float
    value: _Sealed

    @property
    def owner(self) -> User:
        return User(self.tenant, self.principal)

    @property
    def bound(self) -> bytes:
        """What can not be changed without the key."""
        return msgspec.json.encode([VERSION, self.kind, self.tenant, self.principal, self.name, self.set_at])

    @property
    def place(self) -> Place:
        return self.kind, self.owner, self.name

    def is_at(self, place: Place) -> bool:
        return self.place == place


class _Document(Struct, frozen=True, kw_only=True):
    version: int = VERSION
    count: int = 0
    keys: tuple[_Sealed, ...] = ()
    entries: tuple[_Entry, ...] = ()
    seal: bytes = b""


class _DataKey:
    """The key of the file itself. `repr` does not show the key."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        self._data = data

    def reveal(self) -> bytes:
        return self._data


class _Opened(Struct, frozen=True):
    """The file, and what opens it: `slot` is the place of the key in `document.keys`."""

    document: _Document
    key: _DataKey
    slot: int

    def with_entries(self, entries: Sequence[_Entry]) -> _Opened:
        return changed(self, document=changed(self.document, entries=tuple(entries)))


class SecretFile:
    """Secrets in an encrypted file: a `SecretStore`.

    Args:
        path: the file; made, with its folder, when the first secret is set.
        keys: finds the key.
        clock: the time.

    Attributes:
        path, keys: as given.
    """

    def __init__(self, path: Path, keys: KeyProvider, *, clock: Clock | None = None) -> None:
        keep_private(path)
        self.path = path
        self.keys = keys
        self._clock = clock or SystemClock()
        self._seen = 0

    def __repr__(self) -> str:
        return f"SecretFile({str(self.path)!r})"

    # As a store of secrets --------------------------------------------------------------------------------------------

    def of(self, user: User) -> Mapping[str, str]:
        """The secrets that a call on behalf of this user may have."""
        return UserSecrets(self, user)

    def get(self, name: str, owner: User) -> SecretValue | None:
        """The value of this owner's secret; None where there is none.

        Raises:
            UsageError: the file can not be read, or its key is missing.
        """
        return self.read("secret", owner, name)

    def set(self, name: str, value: SecretValue, owner: User) -> None:
        """Keep a value.

        Raises:
            UsageError: the file can not be written, or there is no key.
            Busy: another process writes to the file, for ten seconds.
        """
        self.write([("secret", owner, checked_name(name))], [value])

    def remove(self, name: str, owner: User) -> bool:
        """Forget a secret; False where there is none. Errors as for `set`."""
        return self.erase("secret", owner, name)

    def entries(self) -> list[SecretEntry]:
        """The names, owners and times of all secrets, by owner and name.

        Raises:
            UsageError: the file can not be read, or its key is missing.
        """
        opened = self._open()
        found = [entry for entry in opened.document.entries if entry.kind == "secret"] if opened else []
        return sorted(
            (SecretEntry(entry.name, entry.owner, entry.set_at) for entry in found),
            key=lambda entry: (entry.owner, entry.name),
        )

    # As a store of the keys of models ---------------------------------------------------------------------------------

    def model_key(self, name: str, tenant: str) -> SecretValue | None:
        """A key of a model that a tenant has connected; None where there is none. Errors as for `get`."""
        return self.read("model", User(tenant), name)

    def set_model_key(self, name: str, value: SecretValue, tenant: str) -> None:
        """Keep the key of a model. Errors as for `set`."""
        self.write([("model", User(tenant), name)], [value])

    def remove_model_key(self, name: str, tenant: str) -> bool:
        """Forget the key of a model; False where there is none. Errors as for `set`."""
        return self.erase("model", User(tenant), name)

    # As a store of anything secret ------------------------------------------------------------------------------------

    def has_key(self, *, make: bool = False) -> bool:
        """Whether there is a key for the file.

        Args:
            make: make a key where one can be made and kept.

        Raises:
            UsageError: there should be a key, and it can not be had.
        """
        return self.keys.find(make=make) is not None

    def check(self) -> str:
        """See to it that a secret can be set.

        Returns:
            Where the key comes from.

        Raises:
            UsageError: there is no key, or the file can not be read with the key.
        """
        self._open()
        return self._key(make=True).source

    def read(self, kind: Kind, owner: User, name: str) -> SecretValue | None:
        """The value of an entry; None where there is none. Errors as for `get`."""
        opened = self._open()
        if opened is None:
            return None
        entry = next((each for each in opened.document.entries if each.is_at((kind, owner, name))), None)
        return None if entry is None else self._value(entry, opened.key)

    def write(self, places: Sequence[Place], values: Sequence[SecretValue]) -> None:
        """Keep values, all or none of them. Errors as for `set`."""

        def written(opened: _Opened) -> _Opened:
            kept = [each for each in opened.document.entries if not any(each.is_at(place) for place in places)]
            now = self._clock.now()
            added = [_entry(place, now, value, opened.key) for place, value in zip(places, values, strict=True)]
            return opened.with_entries([*kept, *added])

        self._change(written)

    def erase(self, kind: Kind, owner: User, name: str, *, only: SecretValue | None = None) -> bool:
        """Forget an entry; False where there is none. Errors as for `set`.

        Args:
            kind, owner, name: the entry.
            only: leave the entry where it holds another value.
        """
        gone: list[_Entry] = []

        def without(opened: _Opened) -> _Opened:
            here = [entry for entry in opened.document.entries if entry.is_at((kind, owner, name))]
            gone.extend([entry for entry in here if only is None or only == self._value(entry, opened.key)])
            return opened.with_entries([each for each in opened.document.entries if each not in gone])

        if self._open() is not None:  # else there is no file, and none is made
            self._change(without)
        return bool(gone)

    # Another key ------------------------------------------------------------------------------------------------------

    def add_key(self, new: SecretKey) -> None:
        """Let a second key open the file, beside the one that opens it now.

        Raises:
            UsageError: there are two already, or the file can not be written.
        """

        def with_key(opened: _Opened) -> _Opened:
            if len(opened.document.keys) >= SLOTS_MAX:
                raise UsageError(
                    "two keys open {path} already: end that rekey first, with --finish by the new "
                    "key or --cancel by the old one",
                    path=self.path,
                )
            if _unlocked_by(new, opened.document) is not None:
                raise UsageError("the new key is the one that opens {path} now: make another one", path=self.path)
            keys = (*opened.document.keys, _slot(opened.key, new))
            return changed(opened, document=changed(opened.document, keys=keys))

        self._change(with_key)

    def finish_rekey(self) -> int:
        """Let only the key that is found now open the file, and encrypt all values anew.

        Returns:
            How many entries there are.

        Raises:
            UsageError: the key that is found now is the older one of two, or the file can not be written.
        """
        return self._only_own_key(newest=True)

    def cancel_rekey(self) -> int:
        """Drop the newer one of two keys, by the older one. All values are encrypted anew.

        Raises:
            UsageError: the key that is found now is the newer one, or the file can not be written.
        """
        return self._only_own_key(newest=False)

    def _only_own_key(self, *, newest: bool) -> int:
        counts: list[int] = []

        def anew(opened: _Opened) -> _Opened:
            slots = len(opened.document.keys)
            if slots > 1 and (opened.slot == slots - 1) != newest:
                right, other = ("new", "old") if newest else ("old", "new")
                raise UsageError(
                    "this is the {other} key of {path}: do this with the {right} key",
                    other=other,
                    path=self.path,
                    right=right,
                )
            if slots == 1 and not newest:
                raise UsageError("one key opens {path}: there is no rekey to cancel", path=self.path)
            key = _DataKey(os.urandom(_SALT_BYTES))
            entries = [
                _entry(each.place, each.set_at, self._value(each, opened.key), key) for each in opened.document.entries
            ]
            counts.append(len(entries))
            own = _slot(key, self._key(make=False))
            return _Opened(changed(opened.document, keys=(own,), entries=tuple(entries)), key, 0)

        self._change(anew)
        return counts[0]

    # Reading ----------------------------------------------------------------------------------------------------------

    def _open(self) -> _Opened | None:
        """The file as it is now; None where there is no file yet. No key is looked for then.

        Raises:
            UsageError: the file is damaged, older than it was, of another key, or its key is missing.
        """
        seen = max(self._seen, self._count_seen())  # before the file: it only grows, and the file is written first
        try:
            document = msgspec.json.decode(self.path.read_bytes(), type=_Document)
        except FileNotFoundError:
            if seen:
                raise UsageError(
                    "{path} is gone, and it held secrets: put it back, or delete {count} to begin anew",
                    path=self.path,
                    count=self._count_path,
                ) from None
            return None
        except OSError as error:
            raise UsageError("{path} can not be read: {why}", path=self.path, why=error.strerror) from None
        except ValueError:
            raise self._damaged("it is not whole") from None
        if document.version != VERSION:
            raise UsageError("{path} was written by another version of actum: nothing was changed", path=self.path)
        opened = self._unlocked(document)
        if not hmac.compare_digest(_seal_of(document, opened.key), document.seal):
            raise self._damaged("it was changed by something else")
        if document.count < seen:
            raise UsageError(
                "{path} is older than it was: somebody put an old copy there. Put the newest one "
                "back, or delete {count} if the old one is meant. Nothing was changed",
                path=self.path,
                count=self._count_path,
            )
        self._seen = document.count
        return opened

    def _unlocked(self, document: _Document) -> _Opened:
        key = self._key(make=False)
        found = _unlocked_by(key, document)
        if found is None and self.keys.forget():  # another process may have put a new key in the keyring
            key = self._key(make=False)
            found = _unlocked_by(key, document)
        if found is None:
            raise UsageError(
                "the key of {source} does not open {path}: it is another key, or the file is "
                "damaged. Nothing was changed",
                source=key.source,
                path=self.path,
            )
        return found

    def _key(self, *, make: bool) -> SecretKey:
        key = self.keys.find(make=make)
        if key is None:
            raise UsageError(
                "there is no key for the secrets in {path}: no system keyring answers, and neither "
                "{variable} nor {file} is set",
                path=self.path,
                variable=KEY_VARIABLE,
                file=KEY_FILE_VARIABLE,
            )
        return key

    def _value(self, entry: _Entry, key: _DataKey) -> SecretValue:
        padded = _decrypted(entry.value, key.reveal(), entry.bound)
        if padded is None:
            raise self._damaged("an entry is not what it was")
        length = int.from_bytes(padded[:_LENGTH_BYTES], "big")
        return SecretValue(padded[_LENGTH_BYTES : _LENGTH_BYTES + length].decode())

    def _damaged(self, why: str) -> UsageError:
        return UsageError(
            "{path} is damaged ({what}): put back a copy of it. Nothing was changed", path=self.path, what=why
        )

    # Writing ----------------------------------------------------------------------------------------------------------

    def _change(self, change: Callable[[_Opened], _Opened]) -> None:
        with alone_with(self.path):
            before = self._open() or self._begun()
            after = change(before)
            if after is before or after.document == before.document:
                return
            document = changed(after.document, count=before.document.count + 1)
            document = changed(document, seal=_seal_of(document, after.key))
            try:
                replace(self.path, msgspec.json.format(msgspec.json.encode(document), indent=1))
            except OSError as error:
                raise UsageError(
                    "{path} can not be written: {why}. Nothing was changed", path=self.path, why=error.strerror
                ) from None
            self._seen = document.count
            with contextlib.suppress(OSError):  # an older count than the file's is no harm
                replace(self._count_path, str(document.count).encode())

    def _begun(self) -> _Opened:
        """A file that holds nothing yet."""
        key = _DataKey(os.urandom(_SALT_BYTES))
        return _Opened(_Document(keys=(_slot(key, self._key(make=True)),)), key, 0)

    @property
    def _count_path(self) -> Path:
        return self.path.with_name(f"{self.path.name}.count")

    def _count_seen(self) -> int:
        """The count that any process saw last."""
        try:
            return int(self._count_path.read_bytes())
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise UsageError("{path} can not be read: {why}", path=self._count_path, why=error.strerror) from None
        except ValueError:
            raise UsageError(
                "{count_path} is damaged: delete it if {path} is the newest copy",
                count_path=self._count_path,
                path=self.path,
            ) from None


def _entry(place: Place, set_at: float, value: SecretValue, key: _DataKey) -> _Entry:
    kind, owner, name = place
    entry = _Entry(
        kind=kind,
        tenant=owner.tenant,
        principal=owner.principal,
        name=name,
        set_at=set_at,
        value=_Sealed(b"", b"", b""),
    )
    return changed(entry, value=_encrypted(_padded(value.reveal().encode()), key.reveal(), entry.bound))


def _slot(key: _DataKey, outside: SecretKey) -> _Sealed:
    return _encrypted(key.reveal(), outside.reveal(), _DATA_KEY)


def _unlocked_by(outside: SecretKey, document: _Document) -> _Opened | None:
    """The file, opened; None where the key is none of those that open the file."""
    for number, slot in enumerate(document.keys):
        if (data := _decrypted(slot, outside.reveal(), _DATA_KEY)) is not None:
            return _Opened(document, _DataKey(data), number)
    return None


def _seal_of(document: _Document, key: _DataKey) -> bytes:
    """What covers the whole file but the seal itself."""
    return hmac.digest(_derived(key.reveal(), b"seal"), msgspec.json.encode(changed(document, seal=b"")), "sha256")


def _padded(value: bytes) -> bytes:
    """A value whose length is not told by the length of what is encrypted."""
    whole = len(value).to_bytes(_LENGTH_BYTES, "big") + value
    return whole + bytes(-len(whole) % _PADDED_TO)


def _encrypted(plain: bytes, key: bytes, bound: bytes) -> _Sealed:
    salt, nonce = os.urandom(_SALT_BYTES), os.urandom(_NONCE_BYTES)
    return _Sealed(salt, nonce, _cipher()(_derived(key, salt)).encrypt(nonce, plain, bound))


def _decrypted(sealed: _Sealed, key: bytes, bound: bytes) -> bytes | None:
    """What was encrypted; None where it was changed, or with another key."""
    cipher = _cipher()
    try:
        return cipher(_derived(key, sealed.salt)).decrypt(sealed.nonce, sealed.data, bound)
    except Exception:  # noqa: BLE001  # InvalidTag, or a length that can not be; the caller is told that it is wrong
        return None


def _derived(key: bytes, purpose: bytes) -> bytes:
    return hmac.digest(key, b"actum secrets: " + purpose, "sha256")


def _cipher() -> type[AESGCM]:
    """AES-GCM.

    Raises:
        UsageError: the extra is not installed.
    """
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # optional
    except ImportError:
        raise UsageError("encrypted secrets need an extra: pip install 'actum[secrets]'") from None
    return AESGCM
