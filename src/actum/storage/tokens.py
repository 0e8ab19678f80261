"""What servers granted: tokens, and the ids under which actum is registered, per user and issuer.

Where there is a key they are kept in the encrypted file of secrets (`secret_file`), as entries that no tool can ask
for. Where there is no key they are kept in a file of their own in plain text. This file belongs to one person (mode
0600) and is replaced whole, so a reader never sees half of it. Once there is a key, the content of the plain file is
taken over, and the plain file is overwritten and deleted.

A token is secret: it goes to the server that it was granted for and to the issuer that granted it, never to a journal,
a log or a model, and `repr` does not show it. Reads are not cached: another process may have refreshed a token
meanwhile.

Limits: a user who can read the person's files can read the plain file, and copies of it that a backup, or a file system
that does not write in place, has kept. On Windows the mode is not kept by the system, and two processes do not exclude
each other (see `claim_file`).
"""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from ..core.clock import SystemClock
from ..core.errors import UsageError
from ..core.interfaces import Clock
from ..core.language.sentence import Sentence
from ..core.secrets.private_paths import keep_private
from ..core.secrets.store import SecretValue
from ..core.user import User
from .claim_file import ClaimFile
from .secret_file import Place, SecretFile
from .whole_file import replace

TURN_S_MAX = 30.0
_POLL_S = 0.02


class Registration(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How an issuer knows this program.

    Attributes:
        issuer: who registered it.
        user: for whom; empty where there is but one.
        tenant: the tenant of the user.
        client_id: its name there.
        client_secret: its password there; empty for a public client.
        method: how it shows the secret: `none`, `client_secret_basic` or `client_secret_post`.
        redirect_uri: where the browser comes back to.
        scope: what may be asked for, by words with blanks between them.
        expires_at: seconds since 1970 at which the secret ends; 0 for never.
    """

    issuer: str
    user: str = ""
    tenant: str = ""
    client_id: str
    client_secret: str = ""
    method: str = "none"
    redirect_uri: str = ""
    scope: str = ""
    expires_at: float = 0.0

    @property
    def owner(self) -> User:
        """For whom."""
        return User(self.tenant, self.user)

    def __repr__(self) -> str:
        return f"Registration(issuer={self.issuer!r}, user={self.user!r}, client_id={self.client_id!r})"


class Granted(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a user may do at a server.

    Attributes:
        server: the server, by its address.
        resource: the name for which the token was asked (RFC 8707): the server's own, or of what it is a part of.
        user: whose it is.
        tenant: the tenant of the user.
        issuer: who granted it.
        token_endpoint: where the issuer said that it is refreshed.
        revocation_endpoint: where it can be given back; empty when the issuer did not say.
        client_id: who asked for it.
        method: how that one shows its secret, as in `Registration`.
        access_token, refresh_token: the secrets; the second may be empty.
        scope: what was granted, by words with blanks between them.
        expires_at: seconds since 1970; 0 when the issuer did not say.
    """

    server: str
    resource: str
    user: str = ""
    tenant: str = ""
    issuer: str
    token_endpoint: str
    revocation_endpoint: str = ""
    client_id: str
    method: str = "none"
    access_token: str
    refresh_token: str = ""
    scope: str = ""
    expires_at: float = 0.0

    @property
    def owner(self) -> User:
        """Whose it is."""
        return User(self.tenant, self.user)

    def __repr__(self) -> str:
        return f"Granted(server={self.server!r}, user={self.user!r}, issuer={self.issuer!r}, scope={self.scope!r})"


Kept = TypeVar("Kept", Granted, Registration)


class _Document(Struct, frozen=True, kw_only=True):
    version: int = 1
    registrations: tuple[Registration, ...] = ()
    granted: tuple[Granted, ...] = ()


class TokenStore:
    """Where tokens are kept.

    Args:
        path: the plain file; its folder is made when the first token comes.
        clock: for the wait between processes.
        vault: the encrypted file that is used instead, as soon as there is a key to the vault.
        warns: warn when a token is written to the plain file, as the person may not know.
    """

    def __init__(
        self, path: Path, *, clock: Clock | None = None, vault: SecretFile | None = None, warns: bool = False
    ) -> None:
        keep_private(path)
        self.path = path
        self._clock = clock or SystemClock()
        self._vault = vault
        self._warns = warns

    def granted(self, user: User, server: str) -> Granted | None:
        """What a user was granted for a server, or None.

        Raises:
            UsageError: the file can not be read.
        """
        vault = self._usable_vault(writes=False)
        if vault is not None:
            return _decoded(vault.read("granted", user, server), Granted)
        return next((one for one in self._read().granted if (one.owner, one.server) == (user, server)), None)

    def registration(self, user: User, issuer: str) -> Registration | None:
        """How an issuer knows this program, or None.

        Raises:
            UsageError: the file can not be read.
        """
        vault = self._usable_vault(writes=False)
        if vault is not None:
            return _decoded(vault.read("registration", user, issuer), Registration)
        known = self._read().registrations
        return next((one for one in known if (one.owner, one.issuer) == (user, issuer)), None)

    def keep(self, one: Granted | Registration) -> None:
        """Write down what was granted or registered, in place of what stood there for the same user.

        Raises:
            UsageError: the file can not be written.
        """
        vault = self._usable_vault(writes=True)
        if vault is not None:
            vault.write([_place(one)], [_encoded(one)])
            return
        with self._changing() as document:
            self._write(_without(document, one, adding=True))
        if self._warns:
            warnings.warn(f"logins are kept in plain text in {self.path}: {PLAIN_ADVICE}", stacklevel=2)

    def drop(self, one: Granted | Registration) -> None:
        """Forget it. What another process wrote there meanwhile stays.

        Raises:
            UsageError: the file can not be written.
        """
        vault = self._usable_vault(writes=True)
        if vault is not None:
            vault.erase(*_place(one), only=_encoded(one))
            return
        with self._changing() as document:
            if one in (*document.granted, *document.registrations):
                self._write(_without(document, one, adding=False))

    @property
    def is_plain(self) -> bool:
        """Whether there are tokens in plain text now."""
        return self.path.exists()

    def _usable_vault(self, *, writes: bool) -> SecretFile | None:
        """The vault, after plain tokens were taken over; None where there is no key to the vault.

        The key is only looked for where something is to be read or written, since a keyring may be slow.
        """
        vault = self._vault
        if vault is None:
            return None
        is_plain = self.is_plain or self._taken_path.exists()
        if not (writes or is_plain or vault.path.exists()):
            return vault  # which is empty, and opens without a key
        if not vault.has_key(make=writes or is_plain):
            return None
        if is_plain:
            self._take_over(vault)
        return vault

    def _take_over(self, vault: SecretFile) -> None:
        """Move the tokens of the plain file into the vault, and delete the plain file.

        A process that was killed in the middle of this leaves the plain file, or `_taken_path`, whose tokens are in the
        vault. A token from the plain file replaces the vault's: a process with a key takes over first, so the plain
        file was written later.
        """
        with self._changing() as document:
            kept: list[Granted | Registration] = [*document.granted, *document.registrations]
            if kept:
                vault.write([_place(one) for one in kept], [_encoded(one) for one in kept])
                if any(vault.read(*_place(one)) != _encoded(one) for one in kept):
                    raise UsageError(
                        "the tokens in {path} could not be taken over: they are as they were", path=self.path
                    )
            if self.path.exists():
                self.path.resolve().replace(self._taken_path)  # a reader sees the whole file, or none
                self.path.unlink(missing_ok=True)  # a link to the file
            _shred(self._taken_path)

    @property
    def _taken_path(self) -> Path:
        return self.path.with_name(f".{self.path.name}.taken")

    @contextlib.asynccontextmanager
    async def turn(self, user: User, server: str) -> AsyncIterator[None]:
        """Be alone with this user's grant for a server, across processes: a refresh token may be good for one use.

        Raises:
            UsageError: the lock can not be had: it can not be made, or another process held it for half a minute.
        """
        claims, turn = self._claims(), f"turn {msgspec.json.encode((*user, server)).decode()}"
        try:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                async with self._clock.timeout(TURN_S_MAX):
                    while not claims.take(turn):
                        await self._clock.sleep(_POLL_S)
            except TimeoutError:
                raise UsageError("another process holds the tokens in {path}", path=self.path) from None
            except OSError as error:
                raise self._unkept(error) from None
            yield
        finally:
            claims.close()

    def _read(self) -> _Document:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=_Document)
        except FileNotFoundError:
            return _Document()
        except (OSError, ValueError) as error:  # a ValidationError of msgspec names the place, never the value
            kind = type(error).__name__
            raise UsageError(
                "the tokens in {path} can not be read ({kind}): move it away, log in anew", path=self.path, kind=kind
            ) from None

    @contextlib.contextmanager
    def _changing(self) -> Iterator[_Document]:
        claims = self._claims()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            while not claims.take("file"):  # held by another process for one read and one write
                time.sleep(_POLL_S)
            yield self._read()
        except OSError as error:
            raise self._unkept(error) from None
        finally:
            claims.close()

    def _claims(self) -> ClaimFile:
        """Locks of their own each time: those of one object do not exclude each other."""
        return ClaimFile(self.path.with_name(f".{self.path.name}.lock"))

    def _unkept(self, error: OSError) -> UsageError:
        return UsageError("tokens can not be kept in {path}: {why}", path=self.path, why=error.strerror)

    def _write(self, document: _Document) -> None:
        replace(self.path, msgspec.json.format(msgspec.json.encode(document), indent=1))


PLAIN_ADVICE = Sentence(
    "set ACTUM_SECRETS_KEY_FILE, or pip install 'actum[keyring]' on a desktop, to have them encrypted"
)


def _place(one: Granted | Registration) -> Place:
    if isinstance(one, Granted):
        return "granted", one.owner, one.server
    return "registration", one.owner, one.issuer


def _encoded(one: Granted | Registration) -> SecretValue:
    return SecretValue(msgspec.json.encode(one).decode())


def _decoded(value: SecretValue | None, kind: type[Kept]) -> Kept | None:
    return None if value is None else msgspec.json.decode(value.reveal(), type=kind)


def _shred(path: Path) -> None:
    """Overwrite a file, and delete it."""
    with contextlib.suppress(FileNotFoundError):
        with path.open("r+b") as file:
            file.write(bytes(path.stat().st_size))
            file.flush()
            os.fsync(file.fileno())
        path.unlink()


def _without(document: _Document, one: Granted | Registration, *, adding: bool) -> _Document:
    """The document with `one` in the place of what it replaces, or with that place empty."""
    if isinstance(one, Granted):
        kept = [other for other in document.granted if (other.owner, other.server) != (one.owner, one.server)]
        return msgspec.structs.replace(document, granted=(*kept, one) if adding else tuple(kept))
    known = [other for other in document.registrations if (other.owner, other.issuer) != (one.owner, one.issuer)]
    return msgspec.structs.replace(document, registrations=(*known, one) if adding else tuple(known))
