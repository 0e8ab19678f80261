"""The identity of a request in the form of the MCP SDK, and back.

`identity` and `issuer` check tokens and know nothing of MCP. The SDK wants an `AccessToken` of its own:
`Server.streamable_http_app(auth=settings(...), token_verifier=SdkVerifier(...))`. With that the SDK answers 401 and 403
and publishes the metadata of RFC 9728. `ChallengedScopes` around such an application adds which scopes are wanted.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...core.json import dumps
from ..identity import Identity, Verifier


class SdkVerifier:
    """A `Verifier` as the `TokenVerifier` of the SDK.

    Args:
        verifier: checks the tokens.
    """

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier

    async def verify_token(self, token: str) -> AccessToken | None:
        """What the SDK is to know of a token; None when the token is not valid."""
        identity = await self._verifier.verify_token(token)
        return None if identity is None else access_token(identity)


def access_token(identity: Identity) -> AccessToken:
    """An identity in the form of the SDK, without the text of the token.

    The SDK tells the owners of sessions apart by client, issuer and subject. Two tenants may have users of one name, so
    the subject is made of tenant and principal.
    """
    claims: dict[str, object] = {
        "roles": identity.roles,
        "key_id": identity.key_id,
        "principal": identity.principal,
        "tenant": identity.tenant,
        "speaks_for": identity.speaks_for,
    }
    return AccessToken(
        token="",
        client_id=identity.key_id,
        scopes=list(identity.scopes),
        expires_at=None,  # the verifier has checked when the token ends, by our clock
        subject=_subject(identity),
        claims=claims | ({"iss": identity.issuer} if identity.issuer else {}),
    )


def _subject(identity: Identity) -> str:
    """A name that no two users share: the principal itself where there are no tenants."""
    if not identity.tenant and not identity.principal.startswith("\0"):
        return identity.principal
    return "\0" + dumps([identity.tenant, identity.principal])


def identity_of(access: AccessToken) -> Identity:
    """On whose behalf a request with this token is served."""
    claims = access.claims or {}
    return Identity(
        principal=str(claims.get("principal", access.subject or "")),
        roles=tuple(claims.get("roles", ())),
        key_id=str(claims.get("key_id", "")),
        scopes=tuple(access.scopes),
        tenant=str(claims.get("tenant", "")),
        issuer=str(claims.get("iss", "")),
        speaks_for="user" if claims.get("speaks_for") == "user" else "",
    )


def settings(resource: str, *, issuer: str = "", scopes: Sequence[str] = ()) -> AuthSettings:
    """What the SDK's server needs to know beside a verifier.

    Args:
        resource: this server's own address, as clients write it.
        issuer: who grants tokens for it; empty where only our own keys hold: then no metadata is published.
        scopes: that every request needs.
    """
    said = {  # as text: a URL object of pydantic would end an issuer with a slash that it does not have
        "issuer_url": issuer or resource,
        "resource_server_url": resource if issuer else None,
        "required_scopes": list(scopes),
        "validate_token_resource": False,  # the verifiers do, for lists of audiences too
    }
    return AuthSettings.model_validate(said)


class ChallengedScopes:
    """An ASGI app whose refusals say which scopes are wanted (RFC 6750 §3), as MCP asks of servers.

    Args:
        app: the SDK's, which says the rest.
        scopes: that every request needs.
    """

    def __init__(self, app: ASGIApp, scopes: Sequence[str]) -> None:
        self._app = app
        self._scopes = " ".join(scopes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def told(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in (401, 403) and self._scopes:
                headers = MutableHeaders(raw=message["headers"])
                challenge = headers.get("www-authenticate", "")
                if challenge.startswith("Bearer ") and "scope=" not in challenge:
                    headers["www-authenticate"] = f'{challenge}, scope="{self._scopes}"'
            await send(message)

        await self._app(scope, receive, told)
