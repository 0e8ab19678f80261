"""What an operator says of outgoing calls: the table `[egress]` of `actum.toml`, read once, and what was refused.

Functions of values: nothing here opens a connection or looks a name up. `transport.guard` asks these rules of each
address, and `transport.connection_pool` connects.

A rule is written `host`, `scheme://host`, `host:port` or `scheme://host:port`. `*.example.com` is every name below
`example.com`, without `example.com` itself. What a rule leaves out is read narrowly where the rule opens something,
and widely where it closes something:

| list | no scheme | no port | a name |
|---|---|---|---|
| `allow`, `private` | https | the port of the scheme | exactly this name |
| `deny` | every scheme | every port | this name and all names below it |
"""

from __future__ import annotations

import base64
import ipaddress
import logging
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from ..core.clock import SystemClock
from ..core.interfaces import Clock
from ..schema import canonical
from ..schema.canonical import Unclear

REFUSALS_MAX = 100
_RULE = re.compile(
    r"(?:([a-z]+)://)?(\[[0-9A-Fa-f:.]+\]|[^\[\]/:@?#]+)(/[0-9]+)?(?::([0-9]{1,5}|\*))?/?", re.IGNORECASE
)

log = logging.getLogger("actum.egress")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Destination(NamedTuple):
    """Where a request goes: the scheme, the host as `canonical.host_name` writes it, and the port."""

    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """Host and port as they stand in an address; the port only where it is not the port of the scheme."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if canonical.PORTS.get(self.scheme) == self.port else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"


class AddressRule(NamedTuple):
    """One entry of a list.

    Attributes:
        scheme: `http` or `https`; empty for both.
        host: a name or an IP address; empty for every host.
        below: the names below `host` fit.
        itself: `host` fits.
        port: None for every port.
        network: the IP addresses of this network fit, instead of a host.
    """

    scheme: str
    host: str
    below: bool
    itself: bool
    port: int | None
    network: Network | None = None

    def fits(self, to: Destination) -> bool:
        """Whether a destination is meant by this rule, by its words alone."""
        if (self.scheme and self.scheme != to.scheme) or (self.port is not None and self.port != to.port):
            return False
        if self.network is not None:
            number = ip_of(to.host)
            return number is not None and self.holds(number)
        is_it = self.itself and (not self.host or to.host == self.host)
        return is_it or (self.below and to.host.endswith(f".{self.host}"))

    def holds(self, number: Address) -> bool:
        """Whether an IP address is meant by this rule, whatever name led there."""
        if self.network is not None:
            return number in self.network
        return self.itself and ip_of(self.host) == number


class BothRules(NamedTuple):
    """What two rules mean together: the destinations that fit both.

    Attributes:
        first, second: the rules.
    """

    first: Fitting
    second: Fitting

    def fits(self, to: Destination) -> bool:
        """See `AddressRule`."""
        return self.first.fits(to) and self.second.fits(to)

    def holds(self, number: Address) -> bool:
        """See `AddressRule`."""
        return self.first.holds(number) and self.second.holds(number)


Fitting = AddressRule | BothRules
"""An entry of a list, as the guard asks it."""


class _Lists(NamedTuple):
    """The lists of rules, read."""

    allow: Sequence[Fitting]
    deny: Sequence[Fitting]
    private: Sequence[Fitting]


_OPEN = AddressRule("https", "", below=False, itself=True, port=None)
"""What an empty `allow` lets through, of the open internet."""


class EgressRules(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[egress]` of the settings.

    Attributes:
        allow: where tools may go, such as `api.example.com` or `*.example.com:8443`; empty for the whole open internet
            over https. Plain http needs its scheme: `http://old.example.com`.
        deny: where tools never go, whatever else is set: names, IP addresses, or networks such as `203.0.113.0/24`.
        private: addresses of this machine or of a private network that may be reached, such as
            `http://intranet.corp:8080` or `http://localhost:9000`.
        proxy: the address of the proxy for all that goes out, such as `http://proxy.corp:3128`; a name and password in
            the address are used and never shown. Addresses in `private` and on this machine are reached directly.

    Raises:
        ValueError: an entry can not be read.
    """

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    proxy: str = ""

    def __post_init__(self) -> None:
        for text in self.allow:
            _opening(text, "allow")
        for text in self.private:
            _opening(text, "private")
        for text in self.deny:
            _closing(text)
        if self.proxy:
            proxy_of(self.proxy)

    def __repr__(self) -> str:
        lists = f"allow={self.allow!r}, deny={self.deny!r}, private={self.private!r}"
        return f"EgressRules({lists}, proxy={self.shown_proxy!r})"

    @property
    def shown_proxy(self) -> str:
        """The proxy without a name and password; empty for none."""
        return str(proxy_of(self.proxy).at) if self.proxy else ""


class Proxy(NamedTuple):
    """A proxy that a person named.

    Attributes:
        at: where the proxy listens.
        authorization: the value of the header `Proxy-Authorization`; empty for none.
    """

    at: Destination
    authorization: str

    def __repr__(self) -> str:
        return f"Proxy({self.at})"


class RefusedAddress(Struct, frozen=True):
    """An address that was refused.

    Attributes:
        when: seconds since 1970, of the last time.
        where: scheme, host and port, without path and query, which may hold secrets.
        why: the reason.
        times: how often.
    """

    when: float
    where: str
    why: str
    times: int = 1


class Egress:
    """The rules of one program for all outgoing calls of tools, and the last addresses that were refused.

    Args:
        rules: what the operator set, when the program began.
        now: tells what the operator has set by now. What that closes is closed at once; what it opens stays closed.
            None where it can not change.
        clock: time.

    Attributes:
        rules: what the operator set, when the program began.
        proxy: the proxy; None for none.
    """

    def __init__(
        self,
        rules: EgressRules | None = None,
        *,
        now: Callable[[], EgressRules] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.rules = rules or EgressRules()
        self.proxy = proxy_of(self.rules.proxy) if self.rules.proxy else None
        self._now = now
        self._latest = self.rules
        self._first = self._lists = _lists(self.rules)
        self._clock = clock or SystemClock()
        self._refused: OrderedDict[tuple[str, str], RefusedAddress] = OrderedDict()

    @property
    def allow(self) -> Sequence[Fitting]:
        """Where tools may go; empty for the whole open internet over https."""
        return self._narrowed().allow

    @property
    def deny(self) -> Sequence[Fitting]:
        """Where tools never go."""
        return self._narrowed().deny

    @property
    def private(self) -> Sequence[Fitting]:
        """The addresses inside that may be reached."""
        return self._narrowed().private

    def _narrowed(self) -> _Lists:
        latest = self._now() if self._now is not None else self.rules
        if latest is not self._latest:
            now = _lists(latest)
            is_named = self._first.allow or now.allow
            self._lists = _Lists(
                allow=_both(self._first.allow or (_OPEN,), now.allow or (_OPEN,)) if is_named else (),
                deny=(*self._first.deny, *now.deny),
                private=_both(self._first.private, now.private),
            )
            self._latest = latest
        return self._lists

    @property
    def refused(self) -> tuple[RefusedAddress, ...]:
        """The last addresses that were refused, the oldest first."""
        return tuple(self._refused.values())

    def note(self, where: str, why: str) -> None:
        """Keep that an address was refused. The first refusal is also written to the log `actum.egress`.

        Args:
            where: scheme, host and port.
            why: the reason.
        """
        before = self._refused.pop((where, why), None)
        if before is None:
            log.warning("refused %s: %s", where, why)
        self._refused[where, why] = RefusedAddress(self._clock.now(), where, why, before.times + 1 if before else 1)
        if len(self._refused) > REFUSALS_MAX:
            self._refused.popitem(last=False)


def _lists(rules: EgressRules) -> _Lists:
    return _Lists(
        allow=tuple(_opening(text, "allow") for text in rules.allow),
        deny=tuple(_closing(text) for text in rules.deny),
        private=tuple(_opening(text, "private") for text in rules.private),
    )


def _both(first: Sequence[Fitting], second: Sequence[Fitting]) -> tuple[BothRules, ...]:
    """Rules for the destinations that both lists open: one rule for each pair."""
    return tuple(BothRules(one, other) for one in first for other in second)


def proxy_of(text: str) -> Proxy:
    """The proxy that a setting names.

    Raises:
        ValueError: the setting is no address of a proxy. The message does not repeat the setting, which may hold a
            password.
    """
    wrong = ValueError("proxy: an address such as http://proxy.corp:3128 was expected")
    try:
        parts = urlsplit(text)
        host, port = canonical.host_name(parts.hostname or ""), parts.port or 80
    except ValueError:
        raise wrong from None
    if parts.scheme == "https" or parts.scheme.startswith("socks"):
        raise ValueError(
            f"proxy: {parts.scheme}:// was named, and a proxy is spoken to by plain http:// alone, without SOCKS and "
            "without TLS. Name an address such as http://proxy.corp:3128"
        )
    if parts.scheme != "http" or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise wrong
    pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    shown = f"Basic {base64.b64encode(pair.encode()).decode()}" if parts.username else ""
    return Proxy(Destination("http", host, port), shown)


def ip_of(host: str) -> Address | None:
    """The IP address that a host is; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def opening_rule(text: str) -> AddressRule:
    """What an entry of `allow` opens.

    Raises:
        ValueError: the entry can not be read.
    """
    return _opening(text, "allow")


def _opening(text: str, which: str) -> AddressRule:
    """An entry of a list that opens something."""
    scheme, host, network, port = _parts(text, which)
    if network:
        raise ValueError(f"{which}: {text!r} is a network; only `deny` takes networks. Name the hosts")
    below, name = _name(host, text, which)
    if which == "private" and not name:
        raise ValueError("private: '*' would open every private address. Name the hosts")
    scheme = scheme or "https"
    return AddressRule(scheme, name, below, not below, None if port == "*" else int(port or canonical.PORTS[scheme]))


def _closing(text: str) -> AddressRule:
    """An entry of the list that closes something."""
    scheme, host, network, port = _parts(text, "deny")
    number = None if not port or port == "*" else int(port)
    if network:
        try:
            return AddressRule(
                scheme, "", False, False, number, ipaddress.ip_network(host.strip("[]") + network, strict=False)
            )
        except ValueError:
            raise ValueError(f"deny: {text!r} is no network") from None
    below, name = _name(host, text, "deny")
    return AddressRule(scheme, name, True, not below, number)


def _parts(text: str, which: str) -> tuple[str, str, str, str]:
    """Scheme, host, the length of a network, and port of an entry, as they are written."""
    found = _RULE.fullmatch(text)
    scheme = (found[1] or "").lower() if found else ""
    if found is None or scheme not in ("", "http", "https") or int((found[4] or "0").replace("*", "0")) > 65535:
        shown = text.rpartition("@")[2][:80]  # a password would stand before the @
        raise ValueError(f"{which}: {shown!r} was expected to be a host such as api.example.com:8443, without a path")
    return scheme, found[2], found[3] or "", found[4] or ""


def _name(host: str, text: str, which: str) -> tuple[bool, str]:
    """Whether the names below are meant, and the name; an empty name for every host."""
    if host == "*":
        return False, ""
    below = host.startswith("*.")
    try:
        name = canonical.host_name(host[2:] if below else host.strip("[]"))
    except Unclear as unclear:
        raise ValueError(f"{which}: {text!r}: {unclear} was expected") from None
    if "*" in name or (below and ip_of(name) is not None):
        raise ValueError(f"{which}: {text!r}: a * stands only at the beginning, as in *.example.com")
    return below, name
