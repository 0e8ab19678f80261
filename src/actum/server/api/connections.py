"""`/v1/connections`: the models that a tenant has connected. A key comes in and never goes out.

The key is kept first and the row is written behind it, so that a process that is killed between the two leaves a key
that no connection uses, and never a connection that uses another key than was meant. The key of an address is kept
under that address: a connection that is moved to another address has no key there. A key is removed before its row.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING, Annotated, ParamSpec, TypeVar
from urllib.parse import urlsplit

from msgspec import Meta, Struct, structs

from ...core.errors import UsageError
from ...core.identity import Identity
from ...core.json import JsonObject
from ...core.secrets.store import ModelKeyStore, SecretValue
from ...core.stores import Transaction
from ...features.connections import CONNECTIONS, ModelConnection
from ...features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ...features.refusal import Refusal, not_found
from ...models.catalog import PROVIDERS
from ...runs.administration import put_on_record
from ...transport.http import HttpFailure
from ..scopes import needs_key
from .connected import Outcome, TenantModels, key_name
from .fields import NO_CONTROL, ListPart
from .secrets import in_store

if TYPE_CHECKING:
    from .api import Api  # agents and workflows, which the completion of a command needs none of

P = ParamSpec("P")
T = TypeVar("T")

CONNECTIONS_MAX = 100
"""The most connections of a tenant: each request of the tenant may look through them."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_KEY = re.compile(r"[\x21-\x7e]+", re.ASCII)
"""What can stand in a header."""


class ConnectionBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model that is to be connected, or tested.

    Attributes:
        provider: where the model is: the prefix of a provider, such as `openai` or `ollama`.
        url: the address of the model in place of a provider, up to and including the version, such as
            `https://models.example.org/v1`.
        model: the name of the model there.
        key: the key of the model. It is never answered. Where it is left out, the key that was given before for the
            same address counts, and for a provider else the secret of the tenant that is named as the provider's
            variable, such as `OPENAI_API_KEY`.
        default: whether the agent `assistant` asks this model.
    """

    provider: Annotated[str, Meta(max_length=50, pattern=NO_CONTROL)] = ""
    url: Annotated[str, Meta(max_length=2000, pattern=NO_CONTROL)] = ""
    model: Annotated[str, Meta(min_length=1, max_length=200, pattern=NO_CONTROL)]
    key: Annotated[str, Meta(max_length=10_000)] = ""
    default: bool = False

    def __repr__(self) -> str:
        return f"ConnectionBody(provider={self.provider!r}, url={self.url!r}, model={self.model!r})"


class ConnectionInfo(Struct, frozen=True, kw_only=True):
    """A connected model, without its key.

    Attributes:
        name: the name of the connection, which is also the name of the model at `/v1/models`.
        provider: the prefix of the provider; empty for a model at an address of its own.
        url: where the model is asked.
        model: the name of the model there.
        default: whether the agent `assistant` asks this model.
    """

    name: str
    provider: str
    url: str
    model: str
    default: bool


class ProviderInfo(Struct, frozen=True, kw_only=True):
    """A provider that a connection may name.

    Attributes:
        name: its prefix, such as `openai`.
        wants_key: whether it answers nobody without a key.
    """

    name: str
    wants_key: bool


class FoundModel(Struct, frozen=True, kw_only=True):
    """A model that a server on this machine lists.

    Attributes:
        provider: the kind of server, such as `ollama`.
        model: the name of the model there.
    """

    provider: str
    model: str


class ConnectionPage(ListPart[ConnectionInfo], frozen=True, kw_only=True):
    """The connected models.

    Attributes:
        items: the connections, by name.
        next: always null: all connections are told.
        providers: the providers that a connection may name.
        local: the models that answer on this machine now; told to the person who started the studio, in the session
            that began with it.
    """

    providers: tuple[ProviderInfo, ...]
    local: tuple[FoundModel, ...] = ()


class ConnectionTested(Struct, frozen=True, kw_only=True):
    """What came of asking a model once.

    Attributes:
        outcome: `ok`; `key_refused`, also where a key is wanted and none was given; `unknown_model`; or `unreachable`
            where the address gave no answer of a model.
    """

    outcome: Outcome


async def list_connections(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """The models that the caller's tenant has connected, by name."""
    connections = _of(api)
    rows = await connections.rows(asked.who.tenant)
    found = await connections.local() if _is_own(api, asked.who) else ()
    return ApiReply(
        ConnectionPage(
            items=tuple(map(connection_info, rows)),
            next=None,
            providers=tuple(ProviderInfo(name=name, wants_key=row.key_needed) for name, row in PROVIDERS.items()),
            local=tuple(FoundModel(provider=provider, model=model) for provider, model in found),
        )
    )


async def set_connection(api: Api, asked: ApiRequest[None, ConnectionBody]) -> ApiReply:
    """Connect a model, in the place of the one of this name."""
    who, tenant, body = asked.who, asked.who.tenant, asked.body
    needs_key(who, "connections")
    connections, keys = _of(api), api.secrets.model_keys
    row = await _checked(api, asked, asked.names["name"])
    if row.name in connections.taken or row.name in await api.agent_names(who):
        raise Refusal(409, "taken", "Another model, or an agent, has this name here.")
    if body.key and keys is None:
        raise Refusal(409, "no_secrets", "This server has no place for secrets.")
    wants = bool(row.provider) and PROVIDERS[row.provider].key_needed and not body.key
    if wants and not await _safely(connections.key, tenant, row):
        raise Refusal(422, "invalid", "This provider wants a key: give the key of the model.")
    before = await connections.rows(tenant)
    told: JsonObject = {"name": row.name, "provider": row.provider, "url": row.url, "model": row.model}
    told |= {"default": bool(row.is_default), "with_key": bool(body.key)}
    await put_on_record(api.journal, "connections.set", told, principal=who.principal, key_id=who.key_id, tenant=tenant)
    if body.key and keys is not None:
        await in_store(asked, keys.set_model_key, key_name(row), SecretValue(body.key), tenant)

    def write(rows: Transaction) -> bool:
        others = [each for each in rows.find(CONNECTIONS) if each.name != row.name]
        if len(others) >= CONNECTIONS_MAX:
            return False
        for each in others if row.is_default else ():
            if each.is_default:
                rows.put(CONNECTIONS, structs.replace(each, is_default=0))
        rows.put(CONNECTIONS, row)
        return True

    if not await api.stores.transact(tenant, write):
        raise Refusal(409, "too_many", "A tenant has {most} connections at most.", most=CONNECTIONS_MAX)
    unused = {key_name(each) for each in before if each.name == row.name} - {key_name(row)}
    unused -= {key_name(each) for each in before if each.name != row.name}
    await _forget(asked, keys, unused)
    return ApiReply(connection_info(row))


async def delete_connection(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """Remove a model of the caller's tenant, with its key."""
    who, name, tenant = asked.who, asked.names["name"], asked.who.tenant
    needs_key(who, "connections")
    rows = await _of(api).rows(tenant)
    row = next((each for each in rows if each.name == name), None)
    if row is None:
        raise not_found("connection")
    unused = {key_name(row)} - {key_name(each) for each in rows if each is not row}
    await _forget(asked, api.secrets.model_keys, unused)
    await api.stores.delete(tenant, CONNECTIONS, {"name": name})
    await put_on_record(
        api.journal, "connections.rm", {"name": name}, principal=who.principal, key_id=who.key_id, tenant=tenant
    )
    return ApiReply(None, 204)


async def try_connection(api: Api, asked: ApiRequest[None, ConnectionBody]) -> ApiReply:
    """Ask a model once, and keep nothing."""
    needs_key(asked.who, "connections")
    row = await _checked(api, asked, "test")
    outcome = await _safely(_of(api).test, asked.who.tenant, row, asked.body.key)
    return ApiReply(ConnectionTested(outcome=outcome))


def connection_info(row: ModelConnection) -> ConnectionInfo:
    """A connection, as an administrator is told of it."""
    return ConnectionInfo(
        name=row.name, provider=row.provider, url=row.url, model=row.model, default=bool(row.is_default)
    )


def _of(api: Api) -> TenantModels:
    """The connections of the server.

    Raises:
        Refusal: nobody can connect a model here.
    """
    if api.connections is None:
        raise Refusal(409, "no_connections", "No model can be connected to this server.")
    return api.connections


async def _checked(api: Api, asked: ApiRequest[None, ConnectionBody], name: str) -> ModelConnection:
    """The connection that a body describes.

    Raises:
        Refusal: it can be none, or its address may not be reached from here.
    """
    body, connections = asked.body, _of(api)
    is_own = _is_own(api, asked.who)
    if not _NAME.fullmatch(name):
        raise Refusal(422, "invalid", "The name of a connection has up to 100 letters, digits, `.`, `_` and `-`.")
    if body.key and not _KEY.fullmatch(body.key):
        raise Refusal(422, "invalid", "The key holds a blank, or a letter that no key has.")
    if any(part in ("", ".", "..") for part in body.model.split("/")):
        raise Refusal(422, "invalid", "A model can not be called so.")
    if bool(body.provider) == bool(body.url):
        raise Refusal(422, "invalid", "Give either `provider` or `url`.")
    if body.provider:
        if body.provider not in PROVIDERS:
            known = ", ".join(PROVIDERS)
            raise Refusal(422, "invalid", "There is no such provider: there are {known}.", known=known)
        url, is_operators = connections.provider_url(asked.who.tenant, body.provider)
    else:
        url, is_operators = body.url.rstrip("/"), False
        if not _is_address(url):
            raise Refusal(422, "invalid", "`url` begins with https:// and has no password, no query and no `#`.")
    row = ModelConnection(
        name=name,
        provider=body.provider,
        url=url,
        model=body.model,
        is_default=int(body.default),
        is_local=int(is_own or is_operators),
    )
    try:
        await connections.check(row)
    except HttpFailure as failure:
        raise Refusal(422, "address", "This address may not be reached from here: {why}.", why=failure) from None
    return row


def _is_own(api: Api, who: Identity) -> bool:
    """Whether a request is made in the session of the person who started the studio."""
    return api.browsers is not None and api.browsers.is_of_this_machine(who)


def _is_address(url: str) -> bool:
    """Whether a text is the address of an endpoint: no place in it can hold a secret."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  # raises an error where the port is no number
    except ValueError:
        return False
    is_web = parts.scheme in ("https", "http") and bool(parts.hostname)
    return is_web and not any(sign in url for sign in "@?#\\ ")


async def _safely(act: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
    """What connections do, whose errors name no files.

    Raises:
        Refusal: it can not be done now.
    """
    try:
        return await act(*args, **kwargs)
    except UsageError as error:
        raise Refusal(503, "secrets", "{why}.", why=error, retry_after=5.0) from None


async def _forget(asked: ApiRequest[object, object], keys: ModelKeyStore | None, names: Collection[str]) -> None:
    """Remove keys that no connection uses any more."""
    if keys is not None:
        for name in names:
            await in_store(asked, keys.remove_model_key, name, asked.who.tenant)


_CONNECTION = {
    "name": "openai",
    "provider": "openai",
    "url": "https://api.openai.com/v1",
    "model": "gpt-5",
    "default": True,
}
_BODY: JsonObject = {"provider": "openai", "model": "gpt-5", "key": "...", "default": True}
_NAMES = {"name": "The name of a connection."}
_NEEDS_KEY = "403 with the code `needs_key`: this server wants no key of anybody."
_ADDRESS = (
    " 422 with the code `address`: the address may not be reached. Addresses of the local network are for the person "
    "who started the studio, in the session that began with it."
)
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="listConnections",
        method="get",
        path="/v1/connections",
        tag="connections",
        summary="List the models that your tenant has connected.",
        scopes=("admin",),
        replies={
            200: AnswerKind(
                means="The connections.",
                body=ConnectionPage,
                example={
                    "items": [_CONNECTION],
                    "next": None,
                    "providers": [{"name": "openai", "wants_key": True}],
                    "local": [{"provider": "ollama", "model": "qwen3:8b"}],
                },
            )
        },
        errors=(409,),
        handler=list_connections,
    ),
    Operation(
        id="testConnection",
        method="post",
        path="/v1/connections/test",
        tag="connections",
        summary="Ask a model once. Nothing is kept.",
        description=_NEEDS_KEY + _ADDRESS,
        scopes=("admin",),
        body=ConnectionBody,
        example=_BODY,
        replies={200: AnswerKind(means="What came of it.", body=ConnectionTested, example={"outcome": "ok"})},
        errors=(409,),
        handler=try_connection,
    ),
    Operation(
        id="setConnection",
        method="put",
        path="/v1/connections/{name}",
        tag="connections",
        summary="Connect a model. It counts from the next request. Its key is never answered.",
        description=_NEEDS_KEY + _ADDRESS + " 409 with the code `taken`: another model, or an agent, has the name.",
        scopes=("admin",),
        names=_NAMES,
        body=ConnectionBody,
        example=_BODY,
        replies={200: AnswerKind(means="The model is connected.", body=ConnectionInfo, example=_CONNECTION)},
        errors=(409,),
        handler=set_connection,
    ),
    Operation(
        id="deleteConnection",
        method="delete",
        path="/v1/connections/{name}",
        tag="connections",
        summary="Remove a connected model, with its key.",
        description=_NEEDS_KEY,
        scopes=("admin",),
        names=_NAMES,
        replies={204: AnswerKind(means="The connection is removed.")},
        errors=(409,),
        handler=delete_connection,
    ),
)
