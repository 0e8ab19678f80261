"""What a caller has to pass at every port of a server: failed keys are slowed down, and the number of requests that
each caller has under way is limited.

The application asks the `Admission` for HTTP. A route group that also answers at a port of its own, such as gRPC, is an
`OwnPort`: the application hands the same `Admission` to this group, so that both ports count together.

This file loads a web framework: import it only where a server is to run.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, Protocol, runtime_checkable

from msgspec import Struct

from ..core.errors import ActumError
from ..core.identity import Identity
from .attempts import Attempts
from .open_streams import OpenStreams
from .places import Places
from .verifier import Verifier


class AdmissionLimits(Struct, frozen=True, kw_only=True):
    """What holds for callers now.

    Attributes:
        requests_max: how many requests may be under way together.
        requests_per_caller_max: how many requests one caller may have under way.
        scopes: every key needs these scopes.
    """

    requests_max: int = 1_000
    requests_per_caller_max: int = 100
    scopes: Sequence[str] = ()


class TooManyRequests(ActumError):
    """No more requests may be under way now.

    Attributes:
        whose: the limit of this `caller`, or of `all` callers together, is reached.
    """

    def __init__(self, whose: Literal["caller", "all"]) -> None:
        super().__init__("too many requests are under way")
        self.whose = whose


class Admission:
    """Checks keys, and counts the requests that are under way.

    Args:
        attempts: slows down those whose tries fail; None to let everybody try as fast as they can.
        streams: ends what somebody reads soon after the reader's key has ended; None to let it go on.
        places: the requests that are under way.
        limits: what holds now.
    """

    def __init__(
        self,
        attempts: Attempts | None = None,
        streams: OpenStreams | None = None,
        places: Places | None = None,
        limits: Callable[[], AdmissionLimits] = AdmissionLimits,
    ) -> None:
        self._attempts = attempts
        self.streams = streams
        self._places = places or Places()
        self._limits = limits

    @property
    def scopes(self) -> Sequence[str]:
        """Every key needs these scopes."""
        return self._limits().scopes

    async def check(self, verifier: Verifier, address: str, token: str) -> Identity | None:
        """Whose token this is; None when it is not valid.

        Raises:
            TooManyAttempts: too many tries have failed, and the token was not looked at.
            JournalError: nobody can tell now whether the token is valid.
        """
        if self._attempts is None:
            return await verifier.verify_token(token)
        return await self._attempts.check(verifier, address, token)

    @contextmanager
    def place(self, caller: Hashable) -> Iterator[None]:
        """A block in which a request of a caller is under way.

        Raises:
            TooManyRequests: no more requests may be under way.
        """
        limits = self._limits()
        full = self._places.take(caller, limits.requests_per_caller_max, limits.requests_max)
        if full:
            raise TooManyRequests(full)
        try:
            yield
        finally:
            self._places.leave(caller)


@runtime_checkable
class OwnPort(Protocol):
    """A door that also answers at a port of its own, where the application can not look at requests."""

    def take_admission(self, admission: Admission) -> None:
        """Look at callers by this. The application calls it once, before the door is opened.

        Args:
            admission: of the application.
        """
