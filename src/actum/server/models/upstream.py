"""Upstreams: where requests for a model are passed on to, and in which order.

A route has one or more upstreams. Without weights the first is asked, and the next where the first gives no answer.
With weights each user is given one of the weighted upstreams to begin with, always the same, as an A/B test needs it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from urllib.parse import quote, urlsplit

from ...core.budget import Price
from ...core.errors import UsageError
from ...core.model_settings import check_headers
from ...core.stored.passed import ALL_TROUBLE, Trouble
from ...core.user import User
from ...dialects.base import ApiDialect
from ...models.catalog import SILENCE_S, ModelPlace
from ...models.endpoint import CHAT as CHAT_WIRE
from ...models.endpoint import WIRES
from ...models.returned_thoughts import spoken_at
from ...transport.connection import Headers
from ...transport.http import HttpFailure
from ...transport.open_route import check_proxy
from ...transport.upstream_client import UpstreamClient, UpstreamTarget
from .surface import SURFACES, Surface

AS_ASKED = "*"
"""In the place of a model's name: the name that the client asked for."""

_SPOKEN = {
    "openai_chat": ("chat", "completions", "embeddings"),
    "openai_functions": ("chat", "completions", "embeddings"),
    "openai_responses": ("responses", "embeddings"),
    "anthropic_messages": ("messages", "count_tokens"),
    "gemini_content": ("generate", "stream_generate", "count_content"),
}
"""The surfaces that an upstream of an API takes as they come."""
_ALL_AT_OPENAI = ("responses", "count_input")
"""OpenAI itself takes these as well, whichever of its APIs the settings name."""
_BY_NAME = {surface.name: surface for surface in SURFACES}


class ModelUpstream:
    """One place where a model answers.

    Args:
        name: the name in the settings and on record.
        place: where the model is, and how it is spoken to.
        weight: how many users begin here, beside the others with a weight; 0 for none.
        timeout_s: the longest silence in seconds.
        headers: further headers of each request.
        prices: what models cost, by the name of the upstream or of the model.
        client: sends the requests; None for the client that the upstreams of the settings share.
        trace: the upstream is sent a `traceparent`.

    Attributes:
        name, place, weight, timeout_s, client, trace: as above.
        surfaces: the names of the surfaces that are passed on byte for byte.

    Raises:
        UsageError: the address is none, or a header can not be sent.
    """

    def __init__(
        self,
        name: str,
        place: ModelPlace,
        *,
        weight: float = 0.0,
        timeout_s: float = SILENCE_S,
        headers: Mapping[str, str] | None = None,
        prices: Mapping[str, Price] | None = None,
        client: UpstreamClient | None = None,
        trace: bool = False,
    ) -> None:
        self.name, self.place, self.weight, self.client, self.trace = name, place, weight, client, trace
        self.timeout_s, self._prices = timeout_s, dict(prices or {})
        api = place.dialect.name
        spoken = _SPOKEN.get(api, ())
        at_openai = _ALL_AT_OPENAI if place.provider == "openai" else ()
        self.surfaces: Collection[str] = {*spoken, *at_openai}
        check_headers(headers or {})
        wire = WIRES.get(api, CHAT_WIRE)
        ours = {"content-type": "application/json", "accept-encoding": "identity", "user-agent": "actum"}
        sent = {**ours, **wire.headers, **{key.lower(): value for key, value in (headers or {}).items()}}
        if place.key:
            sent[wire.key_header] = wire.key_form.replace("{key}", place.key)
        self._headers = sent
        self._wire = wire
        self._plain = _encoded(sent)
        self._address = _address_in_words(place.url)
        check_proxy(place.url)
        self._targets: dict[tuple[str, str], UpstreamTarget] = {}
        self.target("chat" if "chat" in self.surfaces else next(iter(self.surfaces), ""), "any", stream=False)

    def __repr__(self) -> str:
        return f"ModelUpstream({self.name!r})"

    def model(self, asked: str) -> str:
        """The name of the model here."""
        return asked if self.place.model == AS_ASKED else self.place.model

    def price(self, asked: str) -> Price | None:
        """What the model costs that is asked here; None where that is not known."""
        model = self.model(asked)
        return self._prices.get(self.name.replace(AS_ASKED, model)) or self._prices.get(model)

    def dialect(self, asked: str) -> ApiDialect:
        """How the model that is asked here is spoken to."""
        return spoken_at(self.place.dialect, self.place.url, self.model(asked))

    def takes(self, surface: Surface) -> bool:
        """Whether a request to a surface is passed on byte for byte."""
        return surface.name in self.surfaces

    def target(self, surface: str, model: str, *, stream: bool) -> UpstreamTarget:
        """Where a request goes.

        Args:
            surface: the name of a surface that is passed on byte for byte; empty for the one that is translated to.
            model: the name of the model here.
            stream: whether the answer is to come in pieces.

        Raises:
            UsageError: the name would lead to another place of the upstream.
        """
        wire, named = self._wire, quote(model.removeprefix("models/"), safe="/@")
        if any(part in ("", ".", "..") for part in named.split("/")):  # a client may have chosen the name
            raise UsageError("a model can not be called {model!r}", model=model[:200])
        if surface:
            path = _BY_NAME[surface].upstream_path
        else:
            path = wire.stream_path if stream and wire.stream_path else wire.path
        known = self._targets.get((path, named if "{model}" in path else ""))
        if known is None:
            try:
                known = UpstreamTarget(self.place.url.rstrip("/") + path.replace("{model}", named))
            except HttpFailure:
                raise UsageError("an upstream has no address that requests can go to") from None
            if len(self._targets) < 100:  # a client chooses the name of the model
                self._targets[path, named if "{model}" in path else ""] = known
        return known

    def without_address(self, said: bytes) -> bytes:
        """What the upstream says of an error, without the place where it is reached."""
        return self._address.sub(b"[upstream]", said)

    def headers(self, forwarded: Mapping[str, str]) -> Headers:
        """The headers of a request.

        Args:
            forwarded: headers of the client that this upstream is sent as well; never a key.
        """
        if not forwarded:
            return self._plain
        key = self._wire.key_header
        return _encoded({**self._headers, **{name: value for name, value in forwarded.items() if name != key}})


class ModelRoute:
    """Where the requests for one model go.

    Args:
        upstreams: in order.
        fallback: the kinds of trouble after which the next upstream is asked.
        keeps_bodies: the bodies of requests and answers are kept on record.

    Attributes:
        upstreams, fallback, keeps_bodies: as above.

    Raises:
        UsageError: there is no upstream, or a weight is below 0.
    """

    def __init__(
        self,
        upstreams: Sequence[ModelUpstream],
        *,
        fallback: Collection[Trouble] = ALL_TROUBLE,
        keeps_bodies: bool = False,
    ) -> None:
        if not upstreams:
            raise UsageError("a model needs at least one upstream")
        if any(each.weight < 0 for each in upstreams):
            raise UsageError("a weight is 0 or more")
        self.upstreams = tuple(upstreams)
        self.fallback = frozenset(fallback)
        self.keeps_bodies = keeps_bodies
        self._weighted = [each for each in self.upstreams if each.weight > 0]
        self._sum = sum(each.weight for each in self._weighted)

    def order(self, name: str, user: User) -> Sequence[ModelUpstream]:
        """The upstreams in the order in which they are asked for a user: always the same for the same user.

        Args:
            name: of the model in the settings; with another name, users are divided in another way.
            user: the user on whose behalf the request is made.
        """
        if not self._weighted:
            return self.upstreams
        said = "\0".join((name, user.tenant, user.principal)).encode("utf-8", "surrogatepass")
        at = int.from_bytes(hashlib.sha256(said).digest()[:8]) / 2**64 * self._sum
        first = self._weighted[-1]
        for each in self._weighted:
            at -= each.weight
            if at < 0:
                first = each
                break
        return (first, *(each for each in self.upstreams if each is not first))


def _address_in_words(url: str) -> re.Pattern[bytes]:
    """Finds the host of an address in a text, with the scheme and the port that stand around it."""
    host = re.escape(urlsplit(url).hostname or url).encode()
    return re.compile(rb"(?i)(?:\b[a-z]+:(?:\\?/){2})?(?<![\w.-])\[?" + host + rb"\]?(?![\w-]|\.\w)(?::\d+)?")


def _encoded(headers: Mapping[str, str]) -> Headers:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
