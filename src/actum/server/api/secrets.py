"""`/v1/secrets`: the secrets that tools may ask for by name. A value can be set and never read.

Setting and removing a secret is put on record by the name of the secret. Setting is on record before it is done, so
that none is missing there; a secret is removed first, so that a journal that fails keeps no secret alive. A secret
belongs to the tenant of the caller who sets it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Literal, ParamSpec, TypeVar

from msgspec import Meta, Struct

from ...core.errors import ActumError, UsageError
from ...core.json import JsonObject
from ...core.run.ids import new_id
from ...core.secrets.store import SecretEntry, SecretStore, SecretValue, checked_name, checked_value
from ...core.user import User
from ...features.command import AnswerText, Command, CommandOption, ListColumn
from ...features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ...features.refusal import Refusal, not_found
from ...runs.administration import put_on_record
from ..scopes import needs_key
from .examples import ASKED_AT
from .fields import ListPart, Name

if TYPE_CHECKING:
    from .api import Api  # agents and workflows, which the completion of a command needs none of

log = logging.getLogger("actum.api")
P = ParamSpec("P")
T = TypeVar("T")


class SecretBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A secret that is to be set.

    Attributes:
        value: the value, 64 KiB at most. It is never answered.
        user: whose secret it is; everybody of the tenant shares it where it is left out.
    """

    value: Annotated[str, Meta(max_length=70_000)]
    user: Name = ""

    def __repr__(self) -> str:
        return f"SecretBody(user={self.user!r})"


class SecretQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Whose secret is meant.

    Attributes:
        user: whose secret it is; that which everybody of the tenant shares where it is left out.
    """

    user: Name = ""


class SecretInfo(Struct, frozen=True, kw_only=True):
    """A secret, without its value.

    Attributes:
        name: the name of the secret.
        user: whose secret it is; empty where everybody of the tenant shares it.
        tenant: the tenant that the secret belongs to.
        set_at: when it was set, in seconds since 1970; null where nobody knows.
        kept_in: the encrypted `file`; or the `environment` of the server, whose variables are the operator's.
    """

    name: str
    user: str
    tenant: str
    set_at: float | None
    kept_in: Literal["file", "environment"]


class SecretPage(ListPart[SecretInfo], frozen=True, kw_only=True):
    """The secrets.

    Attributes:
        items: the secrets, without their values.
        next: always null: all secrets are told.
    """


async def list_secrets(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """The secrets of the caller's tenant, without their values."""
    kept, tenant = api.secrets, asked.tenant
    entries = await in_store(asked, kept.store.entries) if kept.store is not None else []
    found = [secret_info(each, "file") for each in entries if tenant in (None, each.owner.tenant)]
    if not tenant:
        found += [secret_info(each, "environment") for each in kept.variables]
    return ApiReply(SecretPage(items=tuple(found), next=None))


async def set_secret(api: Api, asked: ApiRequest[None, SecretBody]) -> ApiReply:
    """Set a secret of the caller's tenant."""
    who, name, owner = asked.who, asked.names["name"], User(asked.who.tenant, asked.body.user)
    store = _store(api, asked)
    value = SecretValue(asked.body.value)
    try:
        checked_name(name)
        checked_value(value)
    except UsageError as error:
        raise Refusal(422, "invalid", error) from None
    told = _told(name, owner)
    await put_on_record(
        api.journal, "secrets.set", told, principal=who.principal, key_id=who.key_id, tenant=owner.tenant
    )
    await in_store(asked, store.set, name, value, owner)
    return ApiReply(secret_info(SecretEntry(name, owner, api.clock.now()), "file"))


async def delete_secret(api: Api, asked: ApiRequest[SecretQuery, None]) -> ApiReply:
    """Remove a secret of the caller's tenant."""
    who, name, owner = asked.who, asked.names["name"], User(asked.who.tenant, asked.query.user)
    store = _store(api, asked)
    if not await in_store(asked, store.remove, name, owner):
        if asked.by_operator:
            raise ActumError(
                "there is no secret {name} of this owner: `actum secrets list` tells which there are", name=name
            )
        raise not_found("secret")
    told_of = _told(name, owner)
    await put_on_record(
        api.journal, "secrets.rm", told_of, principal=who.principal, key_id=who.key_id, tenant=owner.tenant
    )
    return ApiReply(None, 204)


def _store(api: Api, asked: ApiRequest[object, object]) -> SecretStore:
    """What keeps the secrets, for a caller who may change them.

    Raises:
        Refusal: no secret can be changed here.
    """
    if not asked.by_operator:
        needs_key(asked.who, "secrets")
    if api.secrets.store is None:
        raise Refusal(409, "no_secrets", "This server has no place for secrets.")
    return api.secrets.store


async def in_store(asked: ApiRequest[object, object], act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What a store does, in a thread of its own: the keyring of a machine may take its time.

    Raises:
        Refusal: the store can not be read or written. Why is in the log: the words name files.
        UsageError: the same, to the operator.
    """
    try:
        return await asyncio.to_thread(act, *args, **kwargs)
    except UsageError as error:
        if asked.by_operator:
            raise
        reference = new_id("err")
        log.error("%s: %s", reference, error)
        raise Refusal(
            503, "secrets", "The secrets can not be read or written now.", reference=reference, retry_after=5.0
        ) from None


def secret_info(entry: SecretEntry, kept_in: Literal["file", "environment"]) -> SecretInfo:
    """A secret, as an administrator is told of it."""
    owner = entry.owner
    return SecretInfo(
        name=entry.name, user=owner.principal, tenant=owner.tenant, set_at=entry.set_at or None, kept_in=kept_in
    )


def _told(name: str, owner: User) -> JsonObject:
    told: JsonObject = {"name": name, "user": owner.principal, "tenant": owner.tenant}
    return {key: value for key, value in told.items() if value or key == "name"}


def _removed(answer: None, names: Mapping[str, str]) -> list[AnswerText]:
    return [AnswerText("The secret {name} is removed.", values=names, is_note=True)]


_LIST = Command(
    words=("secrets", "list"),
    help="List the secrets: names, owners, when each was set. Values are never shown.",
    columns=(
        ListColumn("name", "name"),
        ListColumn("user", "user", empty="(shared)"),
        ListColumn("tenant", "tenant"),
        ListColumn("set", "set_at", "moment"),
        ListColumn("kept in", "kept_in", "word"),
    ),
    empty="There are no secrets yet. Try: actum secrets set crm_key",
)
_REMOVE = Command(
    words=("secrets", "rm"),
    help="Remove a secret. A variable of the environment can not be removed here.",
    options={
        "name": CommandOption(help="The name of the secret."),
        "user": CommandOption(metavar="NAME", help="Whose secret it is. Default: everybody shares it."),
    },
    show=_removed,
)
_SECRET = {"name": "crm_key", "user": "", "tenant": "", "set_at": ASKED_AT, "kept_in": "file"}
_NAME = {"name": "The name of a secret."}
_NEEDS_KEY = "403 with the code `needs_key`: this server wants no key of anybody."
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="listSecrets",
        method="get",
        path="/v1/secrets",
        tag="secrets",
        summary="List the secrets of your tenant, without their values.",
        scopes=("admin",),
        replies={200: AnswerKind(means="The secrets.", body=SecretPage, example={"items": [_SECRET], "next": None})},
        handler=list_secrets,
        command=_LIST,
    ),
    Operation(
        id="setSecret",
        method="put",
        path="/v1/secrets/{name}",
        tag="secrets",
        summary="Set a secret. Its value is never answered.",
        description=_NEEDS_KEY,
        scopes=("admin",),
        names=_NAME,
        body=SecretBody,
        example={"value": "..."},
        replies={200: AnswerKind(means="The secret is set.", body=SecretInfo, example=_SECRET)},
        errors=(409,),
        handler=set_secret,
    ),
    Operation(
        id="deleteSecret",
        method="delete",
        path="/v1/secrets/{name}",
        tag="secrets",
        summary="Remove a secret.",
        description=_NEEDS_KEY,
        scopes=("admin",),
        names=_NAME,
        query=SecretQuery,
        replies={204: AnswerKind(means="The secret is removed.")},
        errors=(409,),
        handler=delete_secret,
        command=_REMOVE,
    ),
)
