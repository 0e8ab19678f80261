"""The identity of a request in the form of the MCP SDK, and back.

The application checks keys and tokens and knows nothing of MCP (`server/web_application.py`). The SDK, which keeps the
sessions of old clients, wants a user of its own kind: this is the one place where an `Identity` becomes such a user.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.types import ASGIApp, Receive, Scope, Send

from ...core.identity import Identity
from ..route_group import identity_of as identity_in

_IDENTITY = "identity"
_USERS_KEPT = 1_000
_OF_TENANT = "\0"
"""A subject that begins so is made of a tenant and a principal."""


def access_token(identity: Identity) -> AccessToken:
    """An identity in the form of the SDK, without the text of the token.

    The SDK tells the owners of sessions apart by client, issuer and subject. Two tenants may have a user of one name.
    """
    subject = identity.principal
    if identity.tenant or subject.startswith(_OF_TENANT):
        subject = _OF_TENANT + msgspec.json.encode((identity.tenant, identity.principal)).decode()
    return AccessToken(
        token="",
        client_id=identity.key_id,
        scopes=list(identity.scopes),
        expires_at=None,  # the verifier has checked when the token ends, by our clock
        subject=subject,
        claims={_IDENTITY: identity} | ({"iss": identity.issuer} if identity.issuer else {}),
    )


def identity_of(access: AccessToken) -> Identity:
    """The identity for which a request with this token is served."""
    found = (access.claims or {}).get(_IDENTITY)
    return found if isinstance(found, Identity) else Identity()


class AsSdkUser:
    """An ASGI app that finds who makes the request in the form of the SDK.

    Args:
        app: the app.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = AuthContextMiddleware(app)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["user"] = _user(identity_in(scope))
        await self._app(scope, receive, send)


@lru_cache(_USERS_KEPT)
def _user(identity: Identity) -> AuthenticatedUser:
    return AuthenticatedUser(access_token(identity))
