"""What the card of a remote agent says of how callers show who they are, in the forms of 0.2, 0.3 and 1.0. Pure.

The schemes are those of OpenAPI, so they are told as `SecurityScheme` of `protocols.openapi`.

Source: A2A 1.0, section 4.5; A2A 0.3.0, section 5.5.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast, get_args

from ...core.json import Json, JsonObject
from .model import CredentialPlace, SecurityScheme
from .request import CredentialSlot

SCHEMES_MAX = 50
_NEW_KINDS: Mapping[str, str] = {
    "apiKeySecurityScheme": "apiKey",
    "httpAuthSecurityScheme": "http",
    "oauth2SecurityScheme": "oauth2",
    "openIdConnectSecurityScheme": "openIdConnect",
    "mtlsSecurityScheme": "mutualTLS",
}


def schemes_of(card: JsonObject) -> dict[str, SecurityScheme]:
    """The security schemes of a card by their names; those that are not understood are left out.

    >>> schemes_of({"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}})["key"].parameter
    'X-Key'
    >>> schemes_of({"securitySchemes": {"key": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}})["key"].kind
    'bearer'
    """
    listed, found = card.get("securitySchemes"), dict[str, SecurityScheme]()
    for name, said in list(listed.items())[:SCHEMES_MAX] if isinstance(listed, dict) else ():
        if isinstance(said, dict) and (scheme := _scheme(name, said)) is not None:
            found[name] = scheme
    return found


def _scheme(name: str, said: JsonObject) -> SecurityScheme | None:
    kind = _words(said, "type")
    for field, known in _NEW_KINDS.items():
        inner = said.get(field)
        if isinstance(inner, dict):
            kind, said = known, inner
    match kind:
        case "apiKey":
            where = _words(said, "in") or _words(said, "location")
            parameter = _words(said, "name")
            if where not in ("header", "query", "cookie") or where not in get_args(CredentialPlace) or not parameter:
                return None
            return SecurityScheme(name, "apiKey", cast(CredentialPlace, where), parameter)
        case "http":
            return SecurityScheme(name, _words(said, "scheme").lower() or "bearer")
        case "oauth2":
            flows = said.get("flows")
            return SecurityScheme(name, "oauth2", flows=flows if isinstance(flows, dict) else {})
        case "openIdConnect":
            return SecurityScheme(name, "openIdConnect", discovery=_words(said, "openIdConnectUrl"))
        case "mutualTLS":
            return SecurityScheme(name, "mutualTLS", "certificate")
        case _:
            return None


def needed_by(card: JsonObject) -> tuple[dict[str, tuple[str, ...]], ...]:
    """The alternatives; a caller needs one of them. Each has the names of schemes that go together, with their scopes.
    A card that names schemes and no requirement needs any one of them.

    >>> needed_by({"securityRequirements": [{"schemes": {"login": {"list": ["read"]}}}]})
    ({'login': ('read',)},)
    >>> needed_by({"security": [{"login": ["read"]}, {}]})
    ({'login': ('read',)}, {})
    """
    listed = card.get("securityRequirements") or card.get("security")
    if not isinstance(listed, list):
        return tuple({name: ()} for name in schemes_of(card))
    found: list[dict[str, tuple[str, ...]]] = []
    for each in listed[:SCHEMES_MAX]:
        inner = each.get("schemes", each) if isinstance(each, dict) else None
        if isinstance(inner, dict):
            found.append({name: _scopes(scopes) for name, scopes in inner.items()})
    return tuple(found)


def slots_of(schemes: Mapping[str, SecurityScheme], names: Mapping[str, object]) -> tuple[CredentialSlot, ...]:
    """The places of the credentials of some schemes."""
    return tuple(
        CredentialSlot(each.name, each.where, each.parameter, each.prefix) for each in (schemes[name] for name in names)
    )


def _scopes(said: Json) -> tuple[str, ...]:
    listed = said.get("list") if isinstance(said, dict) else said
    return tuple(each for each in listed if isinstance(each, str)) if isinstance(listed, list) else ()


def _words(found: JsonObject, name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""
