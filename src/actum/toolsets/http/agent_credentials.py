"""`AgentCredentials`: the credentials of the requests to one remote agent, as its approved card wants them.

The card says which schemes there are and where their credentials go; the settings say which secret or client belongs to
which scheme. Each user and tenant has secrets, tokens and log-ins of its own. They leave for the configured origin
alone, and for the token endpoint of the card that a person approved.

Not covered: mutual TLS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from ...core.errors import ToolError, Unavailable
from ...core.interfaces import Clock, Context
from ...core.language.sentence import names_or_none
from ...protocols.a2a.card import RemoteCard
from ...protocols.a2a.remote_agent import AgentClient, RemoteAgent
from ...protocols.oauth_metadata import BadMetadata, IssuerMetadata, read_issuer
from ...protocols.openapi.card_security import needed_by, schemes_of, slots_of
from ...protocols.openapi.model import ApiDocument, SecurityScheme
from ...protocols.openapi.request import BuiltRequest
from ...protocols.openapi.setup import ApiSetup, Credential, OAuthCredential, SecretCredential
from ...storage.tokens import TokenStore
from ...transport.fetcher import Fetcher
from ...transport.guard import is_safe, origin
from ...transport.http import HttpFailure
from .credentials import ApiCredentials

LOGIN = ("actum", "a2a", "login")


class Shown(NamedTuple):
    """What shows to an agent who asks: headers, and fields of the query; and the secrets in them."""

    headers: Mapping[str, str] = {}
    query: Mapping[str, str] = {}
    secrets: tuple[str, ...] = ()


class AgentCredentials:
    """What shows to a remote agent who asks.

    Args:
        agent: names the secrets and clients.
        fetcher: reaches token endpoints and issuers.
        clock: for the end of tokens.
        logins: what users were granted who logged in; None where nobody can have logged in.
    """

    def __init__(self, agent: RemoteAgent, fetcher: Fetcher, clock: Clock, logins: TokenStore | None = None) -> None:
        self._agent = agent
        self._fetcher = fetcher
        self._clock = clock
        self._logins = logins
        self._known: tuple[ApiSetup, ApiCredentials] | None = None
        self._setup: tuple[RemoteCard, ApiSetup] | None = None

    async def of_call(self, card: RemoteCard, context: Context) -> Shown:
        """The credentials of a call's own user.

        Raises:
            LoginNeeded: the user has to log in.
            ToolError: a secret is missing, or nothing that the settings name is what the card wants.
            Unavailable: a token endpoint can not be reached now.
        """
        if not self._agent.credentials:
            return Shown()
        if self._setup is None or self._setup[0] is not card:
            self._setup = (card, await self.setup(card))
        setup = self._setup[1]
        schemes = schemes_of(card.raw)
        usable = [each for each in needed_by(card.raw) if all(name in setup.credentials for name in each)]
        if not usable:
            wanted = names_or_none(schemes)
            raise ToolError(
                "No credentials of {called} fit its card. The card names the schemes: {wanted}. A "
                "person sets them up under [a2a.{called}.credentials].",
                called=self._agent.called,
                wanted=wanted,
            )
        if self._known is None or self._known[0] != setup:
            made = ApiCredentials(setup, self._fetcher, clock=self._clock, logins=self._logins, login=LOGIN)
            self._known = (setup, made)
        request = self._request(schemes, usable)
        dressed, secrets, _ = await self._known[1].dress(request, context)
        query = dict(parse_qsl(urlsplit(dressed.url).query)) if dressed.url != request.url else {}
        return Shown(dict(dressed.headers), query, secrets)

    def refuse(self, card: RemoteCard, context: Context, shown: Shown) -> bool:
        """Let go of the tokens that the agent did not take. Whether there were any, so that new ones may help."""
        if self._known is None or self._setup is None or not shown.secrets:
            return False
        setup, credentials = self._known
        usable = [each for each in needed_by(card.raw) if all(name in setup.credentials for name in each)]
        return credentials.forget(self._request(schemes_of(card.raw), usable), context, shown.secrets)

    def _request(
        self, schemes: Mapping[str, SecurityScheme], usable: Sequence[Mapping[str, tuple[str, ...]]]
    ) -> BuiltRequest:
        slots = tuple(slots_of(schemes, each) for each in usable)
        return BuiltRequest("POST", self._agent.url, credentials=slots)

    async def setup(self, card: RemoteCard) -> ApiSetup:
        """What the settings and the approved card say together.

        Raises:
            ToolError: the card has no scheme of a name in the settings, or the scheme can not be used.
            Unavailable: an issuer can not be reached now.
        """
        schemes, found = schemes_of(card.raw), dict[str, Credential]()
        scopes = {name: said for each in needed_by(card.raw) for name, said in each.items()}
        for name, said in self._agent.credentials.items():
            if name not in schemes:
                continue
            if isinstance(said, str):
                found[name] = SecretCredential(said)
            else:
                found[name] = await self._oauth(schemes[name], said, scopes.get(name, ()))
        scheme, host, port = origin(self._agent.url)
        return ApiSetup(
            name=self._agent.called,
            source=self._agent.url,
            api=ApiDocument(title=card.name, version="", address=self._agent.url, schemes=schemes),
            origins=(f"{scheme}://{host}:{port}",),
            credentials=found,
        )

    async def _oauth(self, scheme: SecurityScheme, client: AgentClient, scopes: tuple[str, ...]) -> OAuthCredential:
        asked = client.scopes or scopes
        program, person = scheme.flows.get("clientCredentials"), scheme.flows.get("authorizationCode")
        page, endpoint = "", ""
        if scheme.kind == "openIdConnect":
            issuer = await self._issuer(scheme.discovery)
            page, endpoint = issuer.authorization_endpoint, issuer.token_endpoint
            asked = tuple(dict.fromkeys(["openid", *asked]))
        elif isinstance(program, dict) and not client.login:
            endpoint = str(program.get("tokenUrl", ""))
        elif isinstance(person, dict):
            page, endpoint = str(person.get("authorizationUrl", "")), str(person.get("tokenUrl", ""))
        if not is_safe(endpoint) or (page and not is_safe(page)):
            raise ToolError(
                "The security scheme {scheme!r} of {called} has no flow that can be used: client "
                "credentials, or a log-in by authorization code, with https:// addresses.",
                scheme=scheme.name,
                called=self._agent.called,
            )
        return OAuthCredential(endpoint, client.client_id, client.client_secret, scopes=asked, login_url=page)

    async def _issuer(self, address: str) -> IssuerMetadata:
        if not is_safe(address):
            return IssuerMetadata()
        try:
            answer = await self._fetcher.get(address)
        except HttpFailure as failure:
            raise Unavailable(
                "The issuer of {called} gave no answer: {why}.", called=self._agent.called, why=failure
            ) from None
        try:
            return read_issuer(answer.body) if answer.status == 200 else IssuerMetadata()
        except BadMetadata:
            return IssuerMetadata()
