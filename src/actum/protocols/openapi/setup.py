"""What a person set up of an API: its operations as they were approved, where requests go, which credentials they take.

Plain data, without any value of a secret: credentials are named, and looked up at the moment of sending.
"""

from __future__ import annotations

import hashlib
import re

import msgspec
from msgspec import Struct

from ...core.call import Problem
from ...core.errors import InvalidArguments
from ...core.json import Json, JsonObject
from ...core.tool import Tool
from ..bound_text.header import filled_header
from ..bound_text.part import NoPlace
from .model import ApiDocument, ApiOperation

_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_encoder = msgspec.json.Encoder(order="sorted")


class SecretCredential(Struct, frozen=True, tag="secret"):
    """A credential that is kept as a secret: a key, a token, or `user:password` for the scheme `basic`.

    Attributes:
        secret: the name of the secret.
    """

    secret: str


class OAuthCredential(Struct, frozen=True, tag="oauth", omit_defaults=True):
    """An access token that is asked for at an OAuth 2.0 token endpoint (RFC 6749).

    Attributes:
        token_url: the token endpoint, as a person confirmed it.
        client_id: the name of this program at the endpoint.
        client_secret: the name of the secret that holds its password there; empty for a public client.
        refresh_token: the name of the secret that holds a refresh token. Empty for the grant `client_credentials`.
        scopes: what is asked for.
        login_url: the page at which each user logs in, as a person confirmed it (authorization code). Empty where no
            user does.
        revoke_url: where a token is given back when a user logs out (RFC 7009), as a person confirmed it. Empty where
            the issuer names none.
    """

    token_url: str
    client_id: str
    client_secret: str = ""
    refresh_token: str = ""
    scopes: tuple[str, ...] = ()
    login_url: str = ""
    revoke_url: str = ""


Credential = SecretCredential | OAuthCredential


class ApiSetup(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An API as a person set it up.

    Attributes:
        name: what it is called here.
        source: the file or the address of the document; empty for an endpoint that was described by hand.
        digest: SHA-256 of the document's bytes; tells whether it has changed.
        etag: of the answer that brought the document.
        api: the operations that were chosen.
        only: how they were chosen, so that a newer document is read in the same way.
        server: the base address that the person chose instead of those of the document; empty for those.
        origins: where requests may go, each as `https://host:port`. No request leaves for another origin.
        credentials: by the name of the security scheme.
        idempotency_header: the header in which the API takes an idempotency key; empty where it takes none.
        templates: for an endpoint: the arguments of its request, in which `{name}` stands for an argument of the tool.
        picks: for an endpoint: a JMESPath expression that picks the part of the answer that a model sees.
        results: the schemas of answers, as `reading.result_schemas` gives them.
        search: the model is not told of each operation, but finds operations by searching.
        sinks: a person accepted the proposal which arguments say where something goes.
        whole: the whole schema of the arguments, for operations whose tool has a shortened one.
        approved: by tool, the digest of the operation that a person has seen; others are held.
    """

    name: str
    source: str = ""
    digest: str = ""
    etag: str = ""
    api: ApiDocument
    only: tuple[str, ...] = ()
    server: str = ""
    origins: tuple[str, ...] = ()
    credentials: dict[str, Credential] = {}
    idempotency_header: str = ""
    templates: dict[str, JsonObject] = {}
    picks: dict[str, str] = {}
    results: JsonObject = {}
    search: bool = False
    sinks: bool = False
    whole: dict[str, JsonObject] = {}
    approved: dict[str, str] = {}

    def login_place(self, scheme: str, credential: OAuthCredential) -> str:
        """The name under which the log-ins of users for a scheme are kept. An API that is added again under the same
        name, with other servers or another endpoint, does not get the log-ins of the one before.
        """
        bound = _encoder.encode([credential.login_url, credential.token_url, credential.client_id, self.origins])
        return f"api:{self.name}:{scheme}:{hashlib.sha256(bound).hexdigest()[:32]}"

    def address_of(self, operation: ApiOperation) -> str:
        """The base address of an operation's requests.

        Raises:
            BadDocument: a variable of the address has no value.
        """
        return self.server or (operation.servers[0].address() if operation.servers else "")

    def held(self) -> tuple[str, ...]:
        """The tools that are new or have changed since a person looked."""
        return tuple(
            each.tool.name for each in self.api.operations if self.approved.get(each.tool.name) != self.digest_of(each)
        )

    def digest_of(self, operation: ApiOperation) -> str:
        """SHA-256 of all that decides what a call of an operation does, hexadecimal."""
        schemes = {each.scheme: self.api.schemes.get(each.scheme) for needed in operation.security for each in needed}
        shown = msgspec.structs.replace(operation, pointer="", responses=())
        name = operation.tool.name
        parts = [shown, schemes, self.server, self.templates.get(name), self.picks.get(name), self.whole.get(name)]
        return hashlib.sha256(_encoder.encode(_all_fields(parts))).hexdigest()

    def definition_of(self, operation: ApiOperation) -> JsonObject:
        """What a person looks at before an operation is a tool: all that a model is told of it, and where it goes."""
        tool = operation.tool
        return {
            "request": f"{operation.method} {self.address_of(operation)}{operation.path}",
            "does": tool.description,
            "takes": self.whole.get(tool.name, tool.parameters),
        }

    def approving(self) -> ApiSetup:
        """The same, after a person has looked at all of its operations."""
        return msgspec.structs.replace(
            self, approved={each.tool.name: self.digest_of(each) for each in self.api.operations}
        )


def _all_fields(value: object) -> object:
    """A value with every field of its structs: which of them are left out as usual is not the same after a file."""
    if isinstance(value, Tool):  # nothing in it is a struct, and its schema may be large
        return {name: getattr(value, name) for name in value.__struct_fields__}
    if isinstance(value, Struct):
        return {name: _all_fields(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {key: _all_fields(item) for key, item in value.items()}
    return [_all_fields(item) for item in value] if isinstance(value, list | tuple) else value


def tool_of(setup: ApiSetup, operation: ApiOperation) -> Tool:
    """An operation as a model is offered it. Where the API takes an idempotency key, a repeated call does no harm.
    Arguments that may say where something goes are declared only where a person accepted them, and never to be none:
    without the declaration an approval covers the same arguments alone.
    """
    tool = operation.tool
    sinks = operation.proposed_sinks if setup.sinks and operation.proposed_sinks else tool.sinks
    keyed = bool(setup.idempotency_header) and not tool.repeatable
    if keyed or sinks != tool.sinks:
        return msgspec.structs.replace(tool, idempotent=tool.idempotent or keyed, sinks=sinks)
    return tool


def filled(template: Json, arguments: JsonObject) -> Json:
    """A template with the arguments in it. A text that is one `{name}` becomes the argument itself.

    >>> filled({"q": "{city}", "note": "for {city}", "days": 3, "unit": "{unit}"}, {"city": "Oslo"})
    {'q': 'Oslo', 'note': 'for Oslo', 'days': 3}
    """
    match template:
        case dict():
            found = {key: filled(value, arguments) for key, value in template.items()}
            return {key: value for key, value in found.items() if value is not None}
        case list():
            return [value for value in (filled(item, arguments) for item in template) if value is not None]
        case str() if whole := _PLACE.fullmatch(template):
            return arguments.get(whole[1])
        case str():
            return _PLACE.sub(lambda found: _text(arguments.get(found[1])), template)
        case _:
            return template


def filled_request(operation: ApiOperation, template: JsonObject, arguments: JsonObject) -> JsonObject:
    """The arguments of an endpoint's request, each value bound at its place. A parameter of the path or the query, and
    a text of the body, is one value, which `build_request` writes; a header has places inside.

    Raises:
        InvalidArguments: a value can not stand at its place, naming the argument.
    """
    found = filled(template, arguments)
    assert isinstance(found, dict)
    for plan in operation.parameters:
        words = template.get(plan.argument)
        if plan.where != "header" or not isinstance(words, str) or argument_of(words):
            continue
        try:
            found[plan.argument] = filled_header(plan.name, words, _PLACE, lambda name: _text(arguments.get(name)))
        except NoPlace as problem:
            problem_of = Problem(_PLACE.findall(words)[0], "pattern", str(problem).removeprefix("expected "))
            raise InvalidArguments([problem_of]) from None
    return found


def argument_of(template: Json) -> str:
    """The argument that alone fills a template; empty where it has other text, or no argument.

    >>> argument_of("{page}"), argument_of("page {page}")
    ('page', '')
    """
    found = _PLACE.fullmatch(template) if isinstance(template, str) else None
    return found[1] if found else ""


def _text(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
