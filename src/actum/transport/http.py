"""What all outgoing HTTP shares: its failures in words of ours, the certificates that are trusted, when to come back.

It knows nothing of models and tools, and opens no connection: `transport.connection_pool` does.

To import this takes longer than `import actum` may, because of httpx2: it is loaded by name, when a model needs it.
"""

from __future__ import annotations

import functools
import math
import socket
import ssl
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Literal, NamedTuple

import httpx2

CONNECT_S_MAX = 10.0

Kind = Literal[
    "ConnectError",
    "ConnectTimeout",
    "PoolTimeout",
    "ProxyError",
    "ReadError",
    "ReadTimeout",
    "WriteError",
    "WriteTimeout",
    "LocalProtocolError",
    "RemoteProtocolError",
]


class HttpFailure(Exception):
    """There is no answer, or not all of it.

    Args:
        message: what happened, in words of ours.
        sent: the request may have reached the other side.
        lasting: another try would end the same.
        silent: the whole time that the caller gave has passed without an answer.

    Attributes:
        status: the status of the answer whose body did not come whole; 0 where no answer began.
    """

    def __init__(self, message: str, *, sent: bool, lasting: bool = False, silent: bool = False) -> None:
        super().__init__(message)
        self.sent = sent
        self.lasting = lasting
        self.silent = silent
        self.status = 0


class AnswerTooLong(HttpFailure):
    """The body of an answer has more bytes than are read.

    Args:
        most: the most bytes that are read.
    """

    def __init__(self, most: int) -> None:
        super().__init__(f"its answer is longer than {most} bytes", sent=True, lasting=True)


NOT_HTTP = "its answer is not HTTP"
MALFORMED = "its answer is not well formed"
UNASKED = "it sent what nobody had asked for"


class WireFailure(Exception):
    """There is no answer on a connection, or not all of it.

    Args:
        kind: how httpx and httpx2 call this failure.
        message: what happened, in words of ours.
    """

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind: Kind = kind


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """When the other side wants to be asked again (RFC 9110 §10.2.3, and the milliseconds that OpenAI adds).

    Args:
        headers: of its answer.
        now: seconds since 1970, for a `Retry-After` that is a date.

    Returns:
        Seconds from now; None when it does not say.
    """
    value = headers.get("retry-after", "")
    try:
        if "retry-after-ms" in headers:
            seconds = float(headers["retry-after-ms"]) / 1000
        elif value[:1].isdigit():
            seconds = float(value)
        else:
            seconds = parsedate_to_datetime(value).timestamp() - now
    except (ValueError, OverflowError):  # a time zone that no number holds
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


@functools.cache
def certificates() -> ssl.SSLContext:
    """The certificates that are trusted: the system's, read once. Of the versions of HTTP, only 1.1 is offered."""
    context = httpx2.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


class _Failure(NamedTuple):
    """A row of the table of failures.

    Attributes:
        of: the class of the foreign error, or the kinds of a failure on a connection.
        message: our own message; empty where the failure's message is our own already.
        words: the error's text contains one of them; empty for any error of this kind.
        sent, lasting, silent: as of `HttpFailure`.
    """

    of: type[BaseException] | tuple[Kind, ...]
    message: str
    words: tuple[str, ...] = ()
    sent: bool = False
    lasting: bool = False
    silent: bool = False

    def fits(self, error: BaseException) -> bool:
        if isinstance(self.of, tuple):
            is_it = isinstance(error, WireFailure) and error.kind in self.of
        else:
            is_it = isinstance(error, self.of)
        said = str(error).lower().replace("_", " ") if self.words else ""
        return is_it and (not self.words or any(word in said for word in self.words))


_PLAIN_PORT = ("wrong version number", "record layer failure", "http request", "packet length too long")
"""What OpenSSL says, in the words of its versions, where the other side does not speak TLS."""

_FAILURES = (
    _Failure(("ProxyError",), ""),
    _Failure(ssl.SSLCertVerificationError, "its certificate is not trusted", lasting=True),
    _Failure(
        ssl.SSLError, "it does not speak TLS: is its address http:// and not https://?", _PLAIN_PORT, lasting=True
    ),
    _Failure(ssl.SSLError, "no TLS connection came about"),
    _Failure(socket.gaierror, "its name is not known: check the address, and the network"),
    _Failure(("ConnectTimeout",), "no connection came about in time: is it behind a firewall, or is the port wrong?"),
    _Failure(("PoolTimeout",), "no connection was free in time"),
    _Failure(ConnectionRefusedError, "it can not be reached: nothing listens at this port. Is the server started?"),
    _Failure(("ConnectError",), "it can not be reached"),
    _Failure(("LocalProtocolError",), "the request is not one that HTTP can carry", lasting=True),
    _Failure(
        ("RemoteProtocolError",),
        "its answer is not HTTP: is its address https:// and not http://?",
        (NOT_HTTP.lower(),),
        sent=True,
        lasting=True,
    ),
    _Failure(UnicodeError, "its address or a header has characters that HTTP can not carry", lasting=True),
    _Failure(ValueError, "its address is not well formed", lasting=True),
    _Failure(("ReadTimeout", "WriteTimeout"), "it did not answer in time", sent=True, silent=True),
    _Failure(Exception, "the connection was lost", sent=True),
)


def translated(error: Exception) -> HttpFailure:
    """A foreign error in words of ours: the first line of the table that fits it or its cause.

    Foreign words stay out: they may hold secrets.
    """
    chain: list[BaseException] = [error]
    for link in chain:  # which grows meanwhile
        inner = link.exceptions if isinstance(link, BaseExceptionGroup) else ()
        chain += [*inner, *filter(None, [link.__cause__ or link.__context__])]
    fits = next(line for line in _FAILURES if any(line.fits(link) for link in chain))
    return HttpFailure(fits.message or str(error), sent=fits.sent, lasting=fits.lasting, silent=fits.silent)
