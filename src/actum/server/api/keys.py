"""`/v1/keys`: the keys of a server's clients: list, make, revoke.

A new key lets somebody use the server. So this needs the scope `admin`, a caller can not give a key more rights than
the caller has, and a server that wants no keys changes none over HTTP. A key belongs to the tenant of the caller who
makes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from ...core.errors import UnknownName, UsageError
from ...core.identity import Identity
from ...core.stored.key import Key
from ...features.command import AnswerText, Command, CommandFlag, CommandOption, FoundBy, ListColumn
from ...features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ...features.refusal import Refusal, not_found
from ..keys import make_key, revoke_key
from ..scopes import SCOPES, needs_key
from .examples import ASKED_AT
from .fields import ListPart, Moment, Name

if TYPE_CHECKING:
    from .api import Api  # agents and workflows, which the completion of a command needs none of

Names = Annotated[tuple[Name, ...], Meta(max_length=100)]


class KeyBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key that is to be made.

    Attributes:
        id: the name of the key: letters, digits and hyphens, 40 at most. A name is never used for a second key.
        user: whose calls the key makes; the name of the key where it is left out.
        roles: the roles of the user.
        scopes: what the key allows, of the scopes that this server knows; nothing that a server wants a scope for where
            it is left out.
        tools, models, agents: patterns of the names that the key may use, such as `crm_*`; all names where it is left
            out.
        expires_at: when the key ends, in seconds since 1970; 0 for never.
        speaks_for: `user` where the client says only what its user said, so that rules take its values as the user's;
            `program` where its words are its own.
        hang_up: `end` where a run that was asked for at a model API ends when the client hangs up.
        personal: one person alone has the key, whose memory works at the model APIs, at A2A and at MCP, too.
    """

    id: Name
    user: Name = ""
    roles: Names = ()
    scopes: Names = ()
    tools: Names = ()
    models: Names = ()
    agents: Names = ()
    expires_at: Moment = 0.0
    speaks_for: Literal["", "user", "program"] = ""
    hang_up: Literal["", "end"] = ""
    personal: bool = False


class KeyInfo(Struct, frozen=True, kw_only=True):
    """A key. Its text can not be found out any more.

    Attributes:
        id: the name of the key.
        state: `valid`, `ended` by its time, `revoked`, or `damaged`: it can not be read, and opens no door.
        user: whose calls the key makes.
        tenant: the tenant that the user belongs to.
        roles: the roles of the user.
        scopes: what the key allows.
        tools, models, agents: patterns of the names that the key may use; all names where there are none.
        expires_at: when the key ends, in seconds since 1970; null for never.
        speaks_for, hang_up, personal: as in `KeyBody`.
        made_at: when the key was made, in seconds since 1970.
        made_by: who made the key.
        revoked_at: when the key was revoked; null where it was not.
        revoked_by: who revoked the key.
    """

    id: str
    state: Literal["valid", "ended", "revoked", "damaged"]
    user: str
    tenant: str
    roles: tuple[str, ...]
    scopes: tuple[str, ...]
    tools: tuple[str, ...]
    models: tuple[str, ...]
    agents: tuple[str, ...]
    expires_at: float | None
    speaks_for: Literal["", "user", "program"]
    hang_up: Literal["", "end"]
    personal: bool
    made_at: float
    made_by: str
    revoked_at: float | None
    revoked_by: str


class KeyPage(ListPart[KeyInfo], frozen=True, kw_only=True):
    """The keys.

    Attributes:
        items: the keys, the oldest first.
        next: always null: all keys are told.
    """


class KeyAdded(KeyInfo, frozen=True, kw_only=True):
    """A key that was just made.

    Attributes:
        key: the text of the key, which a client shows as `Authorization: Bearer KEY`. It is told this once.
        is_first: whether this is the first key of the journal: within a second its servers want a key of everybody.
    """

    key: str
    is_first: bool


class KeyRevoked(Struct, frozen=True, kw_only=True):
    """A key that no server of the journal accepts any more.

    Attributes:
        id: the name of the key.
        state: always `revoked`.
        before: whether the key had been revoked before.
        is_any_left: whether another key is valid.
    """

    id: str
    state: Literal["revoked"] = "revoked"
    before: bool
    is_any_left: bool


async def list_keys(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """The keys of the caller's tenant, the oldest first, also those that were revoked."""
    now = api.clock.now()
    return ApiReply(KeyPage(items=tuple(key_info(key, now) for key in await _keys(api, asked.tenant)), next=None))


async def add_key(api: Api, asked: ApiRequest[None, KeyBody]) -> ApiReply:
    """Make a key for the caller's tenant."""
    who, body = asked.who, asked.body
    if not asked.by_operator:
        needs_key(who, "keys")
        _check_given(who, body, await api.journal.keys.find(who.key_id) if who.key_id else None)
    is_first = not await api.journal.keys.all()
    try:
        made = await make_key(
            api.journal,
            body.id,
            by=who.principal,
            by_key=who.key_id,
            user=body.user,
            roles=body.roles,
            tenant=who.tenant,
            scopes=body.scopes,
            tools=body.tools,
            models=body.models,
            agents=body.agents,
            expires_at=body.expires_at,
            speaks_for=body.speaks_for,
            hang_up=body.hang_up,
            personal=body.personal,
            known=(*SCOPES, *api.features.scopes),
            clock=api.clock,
        )
    except UsageError as error:
        is_taken = await api.journal.keys.find(body.id) is not None
        raise Refusal(409 if is_taken else 422, "taken" if is_taken else "invalid", error) from None
    told = key_info(made.key, api.clock.now())
    whole = {name: getattr(told, name) for name in told.__struct_fields__}
    return ApiReply(KeyAdded(key=made.text, is_first=is_first, **whole), 201, is_told_once=True)


async def delete_key(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """Revoke a key of the caller's tenant."""
    who, name = asked.who, asked.names["id"]
    if not asked.by_operator:
        needs_key(who, "keys")
    if not any(key.id == name for key in await _keys(api, asked.tenant)):
        raise not_found("key")
    try:
        is_new = await revoke_key(
            api.journal, name, by=who.principal, by_key=who.key_id, tenant=who.tenant, clock=api.clock
        )
    except UnknownName:
        raise not_found("key") from None
    now = api.clock.now()
    is_any_left = any(key.is_valid(now) for key in await _keys(api, asked.tenant))
    return ApiReply(KeyRevoked(id=name, before=not is_new, is_any_left=is_any_left))


async def _keys(api: Api, tenant: str | None) -> list[Key]:
    """The keys of a tenant; None for those of all."""
    return [key for key in await api.journal.keys.all() if tenant in (None, key.tenant)]


def key_info(key: Key, now: float) -> KeyInfo:
    """A key, as an administrator is told of it.

    Args:
        key: the key.
        now: in seconds since 1970.
    """
    return KeyInfo(
        id=key.id,
        state=key.state(now),
        user=key.principal or key.id,
        tenant=key.tenant,
        roles=key.roles,
        scopes=key.scopes,
        tools=key.tools,
        models=key.models,
        agents=key.agents,
        expires_at=key.expires_at or None,
        speaks_for=key.speaks_for,
        hang_up=key.hang_up,
        personal=key.personal,
        made_at=key.made_at,
        made_by=key.made_by,
        revoked_at=key.revoked_at if key.was_revoked else None,
        revoked_by=key.revoked_by if key.was_revoked else "",
    )


def _check_given(who: Identity, body: KeyBody, own: Key | None) -> None:
    """Check that a caller gives a key no more rights than the caller has. A caller who may make keys has the scope
    `admin`, and so each scope.

    Raises:
        Refusal: the key would have more.
    """
    more = [f"the role {role!r}" for role in body.roles if role not in who.roles]
    if body.speaks_for == "user" and who.speaks_for != "user":
        more.append("that it speaks for its user")
    if own is not None and own.tenant == who.tenant and own.expires_at:
        more += ["that it is valid for longer"] if not 0 < body.expires_at <= own.expires_at else []
    named = (("tools", who.tools, body.tools), ("models", who.models, body.models), ("agents", who.agents, body.agents))
    for what, wider, given in named:
        if wider and not given:
            more.append(f"all {what}")
        more += [f"the {what} {each!r}" for each in given if wider and not any(_is_within(each, one) for one in wider)]
    if more:
        raise Refusal(403, "more", "You can not give a key what your own does not have: {more}.", more=", ".join(more))


def _is_within(pattern: str, wider: str) -> bool:
    """Whether every name that fits a pattern fits a wider one, as far as that is easily seen: a `*` within is taken for
    a letter, which only a `*` of the wider pattern takes up.

    >>> _is_within("crm_a*", "crm_*"), _is_within("crm_*", "crm_a*"), _is_within("a?", "a?"), _is_within("?", "[ab]")
    (True, False, True, False)
    """
    is_plain = not any(sign in pattern for sign in "?[") and ("*" not in pattern or not any(s in wider for s in "?["))
    return pattern == wider or (is_plain and fnmatchcase(pattern, wider))


def _told_of_added(added: KeyAdded, names: Mapping[str, str]) -> list[AnswerText]:
    first = (
        "This is the first key of this journal: within a second its servers want a key of every request, also "
        "from this machine. That stays so when all keys are revoked."
    )
    return [
        *([AnswerText(first, is_note=True)] if added.is_first else []),
        AnswerText("Clients show this key as `Authorization: Bearer KEY`. It is not shown again:", is_note=True),
        AnswerText(added.key),
    ]


def _told_of_revoked(revoked: KeyRevoked, names: Mapping[str, str]) -> list[AnswerText]:
    text = "The key {name} had been revoked before." if revoked.before else "The key {name} is revoked."
    none = "No key is valid any more: servers let nobody in by a key until `actum keys add NAME` has made one."
    told = [AnswerText(text, values={"name": revoked.id}, is_note=True)]
    return told if revoked.is_any_left else [*told, AnswerText(none, is_note=True)]


def _may_use(key: KeyInfo) -> str:
    named = {"tools": key.tools, "models": key.models, "agents": key.agents}
    return "; ".join(f"{what} {' '.join(patterns)}" for what, patterns in named.items() if patterns)


def _patterns(name: str) -> CommandOption:
    noun = name.capitalize()
    text = f"{noun} that it may use{', such as ' + repr('crm_*') if name == 'tools' else ''}; may be repeated."
    return CommandOption(names=(f"--{name[:-1]}",), metavar="PATTERN", help=f"{text} Default: all.")


_NAME = CommandOption(metavar="NAME", help="The name of the key.")
_ADD = Command(
    words=("keys", "add"),
    help=(
        "Make a key, and show it. It is shown this once: only a hash of it is kept.\n\n"
        "For instance: actum keys add ci --user ann --role clerk --scope tools --tool 'crm_*' --expires 30d"
    ),
    arguments=("id",),
    options={
        "id": _NAME,
        "user": CommandOption(metavar="NAME", help="Whose calls the key makes. Default: the name of the key."),
        "roles": CommandOption(names=("--role",), metavar="NAME", help="A role of the user; may be repeated."),
        "scopes": CommandOption(
            names=("--scope",), metavar="NAME", help="What the key allows, such as tools; may be repeated."
        ),
        "tools": _patterns("tools"),
        "models": _patterns("models"),
        "agents": _patterns("agents"),
        "expires_at": CommandOption(
            names=("--expires",), form="end", help="When it ends: 30d, 12h, 2027-01-31. Default: never."
        ),
        "speaks_for": CommandOption(
            flags=(
                CommandFlag(
                    "--speaks-for-user",
                    "user",
                    "Trust whoever has the key to say only what its user said, so that rules take its values as the "
                    "user's. Never for a client whose model chooses the values.",
                ),
                CommandFlag(
                    "--program",
                    "program",
                    "The client is a program: at the model APIs, what it sends as the user's words counts as its own.",
                ),
            )
        ),
        "hang_up": CommandOption(
            flags=(
                CommandFlag(
                    "--end-on-hang-up",
                    "end",
                    "A run that was asked for at a model API ends when the client hangs up. Default: it goes on.",
                ),
            )
        ),
        "personal": CommandOption(
            help="One person alone has the key: what is remembered of the person works at the model APIs, too."
        ),
    },
    show=_told_of_added,
)
_LIST = Command(
    words=("keys", "list"),
    help="List the keys, the oldest first, also those that were revoked.",
    columns=(
        ListColumn("name", "id"),
        ListColumn("state", "state", "word"),
        ListColumn("user", "user"),
        ListColumn("tenant", "tenant"),
        ListColumn("scopes", "scopes"),
        ListColumn("may use", made_of=_may_use),
        ListColumn("until", "expires_at", "minute"),
    ),
    empty="There are no keys yet. Try: actum keys add ci",
)
_REVOKE = Command(
    words=("keys", "revoke"),
    help="Revoke a key: no server of this journal accepts it any more, within a second. This can not be undone.",
    options={"id": _NAME},
    found_by=FoundBy(operation="listKeys", about=("user", "state"), noun="key", is_whole=True),
    show=_told_of_revoked,
)
_KEY = {
    "id": "ci",
    "state": "valid",
    "user": "ann",
    "tenant": "",
    "roles": ["clerk"],
    "scopes": ["tools"],
    "tools": ["crm_*"],
    "models": [],
    "agents": [],
    "expires_at": ASKED_AT + 2_592_000,
    "speaks_for": "",
    "hang_up": "",
    "personal": False,
    "made_at": ASKED_AT,
    "made_by": "root",
    "revoked_at": None,
    "revoked_by": "",
}
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="listKeys",
        method="get",
        path="/v1/keys",
        tag="keys",
        summary="List the keys of your tenant, the oldest first, also those that were revoked.",
        scopes=("admin",),
        replies={200: AnswerKind(means="The keys.", body=KeyPage, example={"items": [_KEY], "next": None})},
        handler=list_keys,
        command=_LIST,
    ),
    Operation(
        id="addKey",
        method="post",
        path="/v1/keys",
        tag="keys",
        summary="Make a key. Its text is told this once.",
        description=(
            "403 with the code `more`: nobody gives a key more than they have. 403 with the code `needs_key`: this "
            "server wants no key of anybody. 409: the name was used before, here or in another tenant. 422 for a scope "
            "that this server does not know, with the list of those that it knows."
        ),
        scopes=("admin",),
        body=KeyBody,
        example={"id": "ci", "user": "ann", "roles": ["clerk"], "scopes": ["tools"], "tools": ["crm_*"]},
        replies={
            201: AnswerKind(
                means="The key, with its text.", body=KeyAdded, example=_KEY | {"key": "ak_ci_FHZy", "is_first": False}
            )
        },
        errors=(409,),
        handler=add_key,
        command=_ADD,
    ),
    Operation(
        id="deleteKey",
        method="delete",
        path="/v1/keys/{id}",
        tag="keys",
        summary="Revoke a key: no server of this journal accepts it any more, within a second.",
        description="403 with the code `needs_key`: this server wants no key of anybody.",
        scopes=("admin",),
        names={"id": "The name of a key."},
        replies={
            200: AnswerKind(
                means="The key is revoked.",
                body=KeyRevoked,
                example={"id": "ci", "state": "revoked", "before": False, "is_any_left": True},
            )
        },
        handler=delete_key,
        command=_REVOKE,
    ),
)
