"""Agent cards: what an agent tells of itself, in the form of 1.0, of 0.3 beside it, and of April 2025.

Clients of 0.3 read the card of 1.0 and refuse one without their fields, so the card has both unless the operator, or a
request with `A2A-Version: 1.0`, wants the fields of 1.0 alone. Each form is signed over what its readers know.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from email.utils import formatdate, parsedate_to_datetime
from typing import Literal
from urllib.parse import quote

import msgspec
from a2a.compat.v0_3.conversions import to_compat_agent_card
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from ...agents.agent import Agent
from ...core.json import Json, JsonObject
from ...core.tool import Tool
from ...protocols.oauth_metadata import openid_place
from ..verifier import Verifier, wants_token
from .service import OUTPUT_MODES
from .signing import CardKey, canonical

CardForm = Literal["both", "strict", "original"]
"""The fields of 1.0 and 0.3; those of 1.0 alone; or those of April 2025, which 0.2 reads too."""

JWKS = "/.well-known/jwks.json"
MODES = ("text/plain", "application/json")


class CardSettings(Struct, frozen=True, kw_only=True):
    """What the operator says of the cards.

    Attributes:
        version: of the agents.
        provider, provider_url: who offers the agents; both or neither.
        documentation: the address of a documentation.
        icon: the address of a picture.
        input_modes: media types that the agents take beside text and JSON.
        is_strict: the card has the fields of 1.0 alone.
        grpc: the address of gRPC, as clients write it; empty where the card does not list it.
        issuer: whose tokens are taken beside keys; empty for none.
        pushes: whether news are pushed.
    """

    version: str = "1.0.0"
    provider: str = ""
    provider_url: str = ""
    documentation: str = ""
    icon: str = ""
    input_modes: tuple[str, ...] = ()
    is_strict: bool = False
    grpc: str = ""
    issuer: str = ""
    pushes: bool = False


class Cards:
    """The cards of a server.

    Args:
        settings: what the operator says.
        made_at: when the cards were made, in seconds since 1970: at the start of the server.
        verifier: checks the key that each request has to show; None where no key is ever wanted.
    """

    def __init__(self, settings: CardSettings, made_at: float, verifier: Verifier | None = None) -> None:
        self._settings = settings
        self._verifier = verifier
        self._made_at = int(made_at)
        self._known: dict[tuple[str, str, CardForm, bool], JsonObject] = {}

    async def wants_keys(self) -> bool:
        """Whether callers show keys now. Only then there is a card for callers who have shown who they are.

        Raises:
            JournalError: nobody can tell now.
        """
        return await wants_token(self._verifier)

    @property
    def lists_grpc(self) -> bool:
        """Whether the cards have an address of gRPC."""
        return bool(self._settings.grpc)

    def card(
        self, agent: Agent[object], name: str, base: str, tools: Sequence[Tool] = (), *, wants_keys: bool
    ) -> pb.AgentCard:
        """The card of an agent, without signatures.

        Args:
            agent: the agent.
            name: its name in addresses.
            base: the address of the server as clients write it; empty where only the address of gRPC is known.
            tools: those that the card names; none on the card for everybody.
            wants_keys: whether callers show keys now.
        """
        settings = self._settings
        description = agent.description or f"The agent {name}."
        card = pb.AgentCard(
            name=name,
            description=description,
            version=settings.version,
            documentation_url=settings.documentation,
            icon_url=settings.icon,
            supported_interfaces=self._interfaces(name, base),
            capabilities=pb.AgentCapabilities(
                streaming=True, push_notifications=settings.pushes, extended_agent_card=wants_keys
            ),
            default_input_modes=[*MODES, *settings.input_modes],
            default_output_modes=OUTPUT_MODES if agent.output_schema is None else ["application/json"],
            skills=[
                pb.AgentSkill(id=name, name=name, description=description, tags=["agent"]),
                *(
                    pb.AgentSkill(
                        id=f"{name}.{tool.name}",
                        name=tool.name,
                        description=tool.description or tool.name,
                        tags=["tool"],
                    )
                    for tool in tools
                ),
            ],
        )
        if settings.provider:
            card.provider.CopyFrom(pb.AgentProvider(organization=settings.provider, url=settings.provider_url or base))
        if wants_keys:
            self._secure(card)
        return card

    def _interfaces(self, name: str, base: str) -> list[pb.AgentInterface]:
        rpc = f"{base}/a2a/{quote(name, safe='')}"
        rest = f"{rpc}/rest"
        listed = [("JSONRPC", rpc, "1.0"), ("HTTP+JSON", rest, "1.0")] if base else []
        if self._settings.grpc:
            listed.append(("GRPC", self._settings.grpc, "1.0"))
        if base:
            listed += [("JSONRPC", rpc, "0.3"), ("HTTP+JSON", rest, "0.3")]
        return [
            pb.AgentInterface(url=url, protocol_binding=binding, protocol_version=version)
            for binding, url, version in listed
        ]

    def _secure(self, card: pb.AgentCard) -> None:
        bearer = pb.HTTPAuthSecurityScheme(scheme="bearer", description="A key of this server, or a token.")
        card.security_schemes["bearer"].CopyFrom(pb.SecurityScheme(http_auth_security_scheme=bearer))
        card.security_requirements.append(pb.SecurityRequirement(schemes={"bearer": pb.StringList()}))
        if self._settings.issuer:
            oidc = pb.OpenIdConnectSecurityScheme(open_id_connect_url=openid_place(self._settings.issuer))
            card.security_schemes["oidc"].CopyFrom(pb.SecurityScheme(open_id_connect_security_scheme=oidc))
            card.security_requirements.append(pb.SecurityRequirement(schemes={"oidc": pb.StringList()}))

    def told(
        self, agent: Agent[object], name: str, base: str, form: CardForm, key: CardKey, *, wants_keys: bool
    ) -> JsonObject:
        """A card as it is sent, signed.

        Args:
            agent, name, base, wants_keys: as for `card`.
            form: which fields it has.
            key: signs it.
        """
        known = (name, base, form, wants_keys)
        if known not in self._known:
            if len(self._known) > 1_000:  # addresses that strangers made up, where any name is let in
                self._known.clear()
            self._known[known] = signed_card(self.card(agent, name, base, wants_keys=wants_keys), form, key, base)
        return self._known[known]

    def form_for(self, request: Request) -> CardForm:
        """The form of the card that a request wants."""
        wants_new = request.headers.get("a2a-version", "").strip().startswith("1")
        return "strict" if self._settings.is_strict or wants_new else "both"

    def answer(self, request: Request, card: JsonObject, *, made_at: float | None = None) -> Response:
        """The answer to a request for a card: whole, or that the client has it already.

        Args:
            request: the request.
            card: the card.
            made_at: when the card of one tenant was made, in seconds since 1970; None for a card that is for everybody.
        """
        made, whose = (self._made_at, "public") if made_at is None else (int(made_at), "private")
        unsigned = {name: value for name, value in card.items() if name != "signatures"}
        etag = f'W/"{hashlib.sha256(canonical(unsigned)).hexdigest()[:32]}"'
        headers = {
            "etag": etag,
            "last-modified": formatdate(made, usegmt=True),
            "cache-control": f"{whose}, max-age={300 if made_at is None else 0}, must-revalidate",
            "vary": "A2A-Version",
        }
        if _has_it(request, etag, made):
            return Response(status_code=304, headers=headers)
        return Response(msgspec.json.encode(card), media_type="application/json", headers=headers)


def signed_card(card: pb.AgentCard, form: CardForm, key: CardKey, base: str) -> JsonObject:
    """A card in one of its forms, with a signature for each kind of reader."""
    jku = f"{base}{JWKS}"
    if form == "strict":
        for interface in list(card.supported_interfaces):
            if interface.protocol_version != "1.0":
                card.supported_interfaces.remove(interface)
    new: JsonObject = MessageToDict(card)
    if form == "strict":
        return new | {"signatures": [key.sign_card(new, jku)]}
    old: JsonObject = to_compat_agent_card(card).model_dump(mode="json", by_alias=True, exclude_none=True)
    if form == "original":
        whole = original_card(old, base)
        return whole | {"signatures": [key.sign_card(whole, jku)]}
    merged = merged_cards(new, old)
    return merged | {"signatures": [key.sign_card(each, jku) for each in (new, old, merged)]}


def original_card(old: JsonObject, base: str) -> JsonObject:
    """The card of April 2025, of the card of 0.3: with all fields that it or 0.2 requires. Its `url` answers the
    original methods and those of 0.2.
    """
    url = str(old["url"]) + "/legacy"
    kept = {name: value for name, value in old.items() if name not in ("additionalInterfaces", "signatures")}
    capabilities = old.get("capabilities")
    told: JsonObject = {"stateTransitionHistory": False, **(capabilities if isinstance(capabilities, dict) else {})}
    schemes: list[Json] = ["bearer"] if old.get("securitySchemes") else []
    if schemes:
        kept["authentication"] = {"schemes": schemes}
    skills = old.get("skills")
    return kept | {
        "url": url,
        "protocolVersion": "0.2.6",
        "preferredTransport": "JSONRPC",
        "capabilities": told,
        "skills": skills if isinstance(skills, list) else [],
    }


def merged_cards(new: Mapping[str, Json], old: Mapping[str, Json]) -> JsonObject:
    """The fields of 1.0, and beside them those of 0.3."""
    merged: JsonObject = dict(new)
    for name, value in old.items():
        known = merged.get(name)
        if name not in merged:
            merged[name] = value
        elif isinstance(known, dict) and isinstance(value, dict):
            merged[name] = merged_cards(known, value)
    return merged


def _has_it(request: Request, etag: str, made_at: int) -> bool:
    """Whether the client has the card, by its tag or else by its time."""
    tags = request.headers.get("if-none-match")
    if tags is not None:
        return tags.strip() == "*" or etag.removeprefix("W/") in [
            tag.strip().removeprefix("W/") for tag in tags.split(",")
        ]
    since = request.headers.get("if-modified-since", "")
    try:
        return bool(since) and parsedate_to_datetime(since).timestamp() >= made_at
    except (ValueError, OverflowError):  # a time zone that no number holds
        return False
