"""What servers granted: tokens, and the ids under which actum is registered, per user and issuer, in one file.

The file belongs to one person (mode 0600) and is replaced whole, so a reader never sees half of it. What stands in it
is secret: it goes to the server that it was granted for and to the issuer that granted it, never to a journal, a log or
a model, and `repr` does not show it. Reads are not cached: another process may have refreshed a token meanwhile.

Limits: the file is not encrypted; whoever can read the person's files can read it. On Windows the mode is not kept by
the system, and two processes do not exclude each other (see `claim_file`).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from ..core.clock import SystemClock
from ..core.errors import UsageError
from ..core.interfaces import Clock
from .claim_file import ClaimFile
from .whole_file import replace

TURN_S_MAX = 30.0
_POLL_S = 0.02


class Registration(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How an issuer knows this program.

    Attributes:
        issuer: who registered it.
        user: for whom; empty where there is but one.
        client_id: its name there.
        client_secret: its password there; empty for a public client.
        method: how it shows the secret: `none`, `client_secret_basic` or `client_secret_post`.
        redirect_uri: where the browser comes back to.
        scope: what may be asked for, by words with blanks between them.
        expires_at: seconds since 1970 at which the secret ends; 0 for never.
    """

    issuer: str
    user: str = ""
    client_id: str
    client_secret: str = ""
    method: str = "none"
    redirect_uri: str = ""
    scope: str = ""
    expires_at: float = 0.0

    def __repr__(self) -> str:
        return f"Registration(issuer={self.issuer!r}, user={self.user!r}, client_id={self.client_id!r})"


class Granted(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a user may do at a server.

    Attributes:
        server: the server, by its address.
        resource: the name for which the token was asked (RFC 8707): the server's own, or of what it is a part of.
        user: whose it is.
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
    issuer: str
    token_endpoint: str
    revocation_endpoint: str = ""
    client_id: str
    method: str = "none"
    access_token: str
    refresh_token: str = ""
    scope: str = ""
    expires_at: float = 0.0

    def __repr__(self) -> str:
        return f"Granted(server={self.server!r}, user={self.user!r}, issuer={self.issuer!r}, scope={self.scope!r})"


class _Document(Struct, frozen=True, kw_only=True):
    version: int = 1
    registrations: tuple[Registration, ...] = ()
    granted: tuple[Granted, ...] = ()


class TokenStore:
    """The file of tokens.

    Args:
        path: where; its folder is made when the first token comes.
        clock: for the wait between processes.
    """

    def __init__(self, path: Path, *, clock: Clock | None = None) -> None:
        self.path = path
        self._clock = clock or SystemClock()

    def granted(self, user: str, server: str) -> Granted | None:
        """What a user was granted for a server, or None.

        Raises:
            UsageError: the file can not be read.
        """
        return next((one for one in self._read().granted if (one.user, one.server) == (user, server)), None)

    def registration(self, user: str, issuer: str) -> Registration | None:
        """How an issuer knows this program, or None.

        Raises:
            UsageError: the file can not be read.
        """
        known = self._read().registrations
        return next((one for one in known if (one.user, one.issuer) == (user, issuer)), None)

    def keep(self, one: Granted | Registration) -> None:
        """Write down what was granted or registered, in place of what stood there for the same user.

        Raises:
            UsageError: the file can not be written.
        """
        with self._changing() as document:
            self._write(_without(document, one, adding=True))

    def drop(self, one: Granted | Registration) -> None:
        """Forget it. What another process wrote there meanwhile stays.

        Raises:
            UsageError: the file can not be written.
        """
        with self._changing() as document:
            if one in (*document.granted, *document.registrations):
                self._write(_without(document, one, adding=False))

    @contextlib.asynccontextmanager
    async def turn(self, user: str, server: str) -> AsyncIterator[None]:
        """Be alone with this user's grant for a server, across processes: a refresh token may be good for one use.

        Raises:
            UsageError: the lock can not be had: it can not be made, or another process held it for half a minute.
        """
        claims = self._claims()
        try:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                async with self._clock.timeout(TURN_S_MAX):
                    while not claims.take(f"turn {user} {server}"):
                        await self._clock.sleep(_POLL_S)
            except TimeoutError:
                raise UsageError(f"another process holds the tokens in {self.path}") from None
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
            raise UsageError(f"the tokens in {self.path} can not be read ({kind}): move it away, log in anew") from None

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
        return UsageError(f"tokens can not be kept in {self.path}: {error.strerror}")

    def _write(self, document: _Document) -> None:
        replace(self.path, msgspec.json.format(msgspec.json.encode(document), indent=1))


def _without(document: _Document, one: Granted | Registration, *, adding: bool) -> _Document:
    """The document with `one` in the place of what it replaces, or with that place empty."""
    if isinstance(one, Granted):
        kept = [other for other in document.granted if (other.user, other.server) != (one.user, one.server)]
        return msgspec.structs.replace(document, granted=(*kept, one) if adding else tuple(kept))
    known = [other for other in document.registrations if (other.user, other.issuer) != (one.user, one.issuer)]
    return msgspec.structs.replace(document, registrations=(*known, one) if adding else tuple(known))
