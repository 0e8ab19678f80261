"""The guard of all outgoing calls of tools: which addresses may be reached, and at which IP address exactly.

An address must be https and must lead to the open internet after its name was looked up. The connection goes to the
very IP address that was looked at, so that a name can not lead elsewhere the second time. What the operator wrote into
`[egress]` holds for everybody: `deny` closes, `allow` leaves open only the addresses that it lists, `private` opens
addresses inside.

An address that a person set up (the `own` server, and who else is said to be `named`) may be private, and plain http
at its own scheme, host and port. Where the own server runs on this machine, plain http to this machine is let through
too. Nobody may reach link-local addresses and the other places where clouds keep their secrets, nor multicast.

Through a proxy the guard looks no name up: the proxy does. Then the rules by host are all that holds.

Limit: a public address that forwards to a private one can not be seen from here.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from ..schema import address_space, canonical
from ..schema.canonical import Unclear
from .egress import Address, Destination, Egress, Proxy, ip_of
from .host_lookup import look_up
from .http import HttpFailure, translated

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_NEVER_NAMES = frozenset(
    {
        "instance-data",
        "instance-data.ec2.internal",
        "metadata.goog",
        "metadata.google.internal",
        "metadata.tencentyun.com",
    }
)
"""The names under which clouds keep the secrets of their machines. A proxy would look them up where nobody sees it."""
_KEPT_CHARS_MAX = 512
"""Addresses up to this length are kept once they are read: reading one costs a tenth of a request."""

KNOWN_S = 5.0
"""How long somebody who publishes an address waits for its name; a call looks again."""

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""Looks up a name: the IP addresses that it leads to."""


class AddressRefused(HttpFailure):
    """The address is not one that may be reached. Nothing was sent."""

    def __init__(self, message: str) -> None:
        super().__init__(message, sent=False, lasting=True)


class Guard:
    """Says of an address whether it may be reached, and where exactly.

    Args:
        own: the address of the server that a person set up, on whose word the others come; empty for none.
        named: other addresses that a person set up.
        resolve: looks names up; the system's resolver by default.
        egress: the operator's rules; none by default. What is refused is kept there.

    Attributes:
        egress: the operator's rules.
    """

    def __init__(
        self,
        own: str = "",
        *,
        named: Iterable[str] = (),
        resolve: Resolve | None = None,
        egress: Egress | None = None,
    ) -> None:
        self.egress = egress or Egress()
        self._resolve = resolve or look_up
        people = [to for to in map(_named_by_person, (own, *named)) if to is not None]
        self._named_hosts = frozenset(each.host for each in people)
        self._named = frozenset(people)
        self._here = bool(own) and is_here(own)

    async def check(self, url: str) -> list[str]:
        """The IP addresses to which a connection may be made for this address; none where a proxy connects.

        Raises:
            AddressRefused: the address may not be reached.
            HttpFailure: the name is not known.
        """
        to = self.judge(url)
        return [] if self.proxy(to) else await self.look_up(to)

    async def is_known(self, url: str) -> bool:
        """Whether the name of an address is known now. A name that is not known within `KNOWN_S` may be known later.
        Through a proxy every name counts as known.

        Raises:
            AddressRefused: the address may not be reached.
        """
        try:
            async with asyncio.timeout(KNOWN_S):
                await self.check(url)
        except AddressRefused:
            raise
        except (HttpFailure, TimeoutError):
            return False
        return True

    def judge(self, url: str) -> Destination:
        """Where an address leads by its words alone. No name is looked up.

        Raises:
            AddressRefused: the address may not be reached.
        """
        to = _destination(url)
        why = self._why_not(to)
        if why:
            self.egress.note(str(to), why)
            raise AddressRefused(why)
        return to

    def destination(self, url: str) -> Destination:
        """Where an address leads, whether it may be reached or not.

        Raises:
            AddressRefused: the address is not well formed.
        """
        return _destination(url)

    def proxy(self, to: Destination) -> Proxy | None:
        """The proxy for a destination; None where the connection is made directly: without a proxy, to this machine,
        to a private IP address, and to what the operator opened as `private`.
        """
        literal = ip_of(to.host)
        is_inside = to.host in _LOOPBACK_NAMES or (literal is not None and not canonical.is_public(to.host))
        return None if is_inside or self._is_opened(to) else self.egress.proxy

    async def addresses_of(self, proxy: Proxy) -> list[str]:
        """The IP addresses of the proxy, which may be private: a person named the proxy.

        Raises:
            OSError: the name is not known.
        """
        return [proxy.at.host] if ip_of(proxy.at.host) else await self._resolve(proxy.at.host, proxy.at.port)

    async def look_up(self, to: Destination) -> list[str]:
        """The IP addresses of a destination that was judged, each looked at.

        Raises:
            AddressRefused: one of the IP addresses may not be reached.
            HttpFailure: the name is not known.
        """
        try:
            found = [to.host] if ip_of(to.host) else await self._resolve(to.host, to.port)
        except OSError as error:
            raise translated(error) from None
        if not found:
            raise HttpFailure("its name is not known", sent=False)
        numbers = {address: ip_of(address) for address in found}
        closed = [number for number in numbers.values() if number is None or self._is_closed(number, to)]
        # A name of the own network often has a link-local address beside the one that is meant. A name of a stranger
        # that leads to one address inside is not to be trusted with the others.
        is_own = self._is_opened(to) or to.host in self._named_hosts
        if closed and (not is_own or len(closed) == len(numbers)):
            why = f"{to.host} leads to an address that is not one of the open internet"
            self.egress.note(str(to), why)
            raise AddressRefused(f"{why}{self._hint(closed[0])}")
        return [address for address, number in numbers.items() if number not in closed]

    def _why_not(self, to: Destination) -> str:
        """Why a destination may not be reached, by its words; empty where it may."""
        here, opened, number = self._is_here(to), self._is_opened(to), ip_of(to.host)
        inner = [to._replace(host=str(each)) for each in address_space.carried(number)] if number else []
        if to.host.rstrip(".") in _NEVER_NAMES or (number is not None and address_space.is_never(number)):
            return "its address is one that is never reached"
        if any(rule.fits(each) for rule in self.egress.deny for each in (to, *inner)):
            return f"{to} is denied by [egress] in the settings"
        if to.scheme not in ("http", "https"):
            return "its address does not begin with https://"
        is_allowed = any(rule.fits(to) for rule in self.egress.allow)
        if self.egress.allow and not (is_allowed or opened):
            return f"{to} is not allowed: `allow` of [egress] in the settings does not name this address"
        if to.scheme == "http" and not (here or opened or is_allowed or to in self._named):
            return "its address does not begin with https://"
        if not (here or opened or to.host in self._named_hosts or canonical.is_public(to.host)):
            return "its address is not one of the open internet"
        return ""

    def _is_here(self, to: Destination) -> bool:
        """The own server and the destination are on this machine."""
        return self._here and to.host in _LOOPBACK_NAMES

    def _is_opened(self, to: Destination) -> bool:
        """The operator opened a private address."""
        return any(rule.fits(to) for rule in self.egress.private)

    def _is_closed(self, number: Address, to: Destination) -> bool:
        """Whether an IP address may not be reached for a destination."""
        if self._is_closed_for_all(number):
            return True
        number = address_space.plain(number)
        if address_space.is_loopback(number):
            by_word = _is_loopback_name(to.host) or ip_of(to.host) is not None
            return not (self._is_here(to) or (by_word and (self._is_opened(to) or to in self._named)))
        if _is_loopback_name(to.host):
            return True
        return not (address_space.is_public(number) or self._is_opened(to) or to.host in self._named_hosts)

    def _is_closed_for_all(self, number: Address) -> bool:
        """Whether an IP address, or one that it carries, is never reached or denied, whatever else is set."""
        every = (address_space.plain(number), *address_space.carried(number))
        if address_space.is_never(number) or any(map(address_space.is_loopback, every[1:])):
            return True
        return any(rule.holds(each) for rule in self.egress.deny for each in every)

    def _hint(self, number: Address | None) -> str:
        if number is not None and address_space.is_loopback(number):
            return ": name this machine localhost to reach it"
        return ""


def _is_loopback_name(host: str) -> bool:
    return host in _LOOPBACK_NAMES or host.endswith(".localhost")


def _named_by_person(address: str) -> Destination | None:
    """The destination of an address that a person set up, which may hold a user and password; None for no address that
    can be read: a request to such an address is refused later.
    """
    try:
        parts = urlsplit(address)
        return _destination(urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])))
    except (ValueError, AddressRefused):
        return None


def _destination(url: str) -> Destination:
    """Scheme, host and port of an address.

    Raises:
        AddressRefused: the address is not well formed.
    """
    return _kept_destination(url) if len(url) <= _KEPT_CHARS_MAX else _kept_destination.__wrapped__(url)


@functools.lru_cache(maxsize=1024)
def _kept_destination(url: str) -> Destination:
    try:
        parts, host = canonical.split(canonical.url(url))
        if not host:
            raise Unclear("an address with a host")
        return Destination(parts.scheme, host, parts.port or canonical.PORTS.get(parts.scheme, 0))
    except Unclear as unclear:
        raise AddressRefused(f"its address is not well formed: {unclear} was expected") from None


class SafeLink(NamedTuple):
    """An address that a person may be sent to.

    Attributes:
        url: in full, in its one plain form.
        host: whose it is, in ASCII.
        words: what to tell the person before it is opened, a line each; the full address is the first.
    """

    url: str
    host: str
    words: tuple[str, ...]


def check_link(url: str, *, local: bool = False) -> SafeLink:
    """What a person has to know of a link before deciding to open it. Nothing is fetched.

    Args:
        url: as a server gave it.
        local: the server runs on this machine, so its link may lead to this machine, and by plain http.

    Raises:
        AddressRefused: it is no web address, hides a user name, is not encrypted, or leads into a private network.

    >>> check_link("https://xn--ggle-55da.com/login").words[1]
    'The site is xn--ggle-55da.com, which a browser may show as gооgle.com: letters of other alphabets look alike.'
    """
    try:
        plain = canonical.url(url)
    except Unclear as unclear:
        raise AddressRefused(f"the link is not well formed: {unclear} was expected") from None
    parts, host = canonical.split(plain)
    here = local and host in _LOOPBACK_NAMES
    if parts.scheme != "https" and not (here and parts.scheme == "http"):
        raise AddressRefused("the link does not begin with https://")
    if not here and not canonical.is_public(host):
        raise AddressRefused("the link leads to this machine or into a private network")
    shown = _unicode(host)
    site = f"The site is {host}."
    if shown != host:
        site = f"The site is {host}, which a browser may show as {shown}: letters of other alphabets look alike."
    return SafeLink(plain, host, (plain, site))


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of an address, the port of its scheme where none is said."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    return scheme, (parts.hostname or "").lower(), parts.port or canonical.PORTS.get(scheme)


def is_here(url: str) -> bool:
    """Whether an address is by its own words one of this machine."""
    to = _named_by_person(url)
    return to is not None and to.host in _LOOPBACK_NAMES


def is_safe(url: object) -> bool:
    """Whether a credential may be sent to an address: encrypted, or on this machine."""
    return isinstance(url, str) and (url.startswith("https://") or is_here(url))


def _unicode(host: str) -> str:
    """A host as a browser may show it."""
    try:
        return host.encode().decode("idna")
    except UnicodeError:
        return host
