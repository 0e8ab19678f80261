"""An `Operation`: what a caller can ask for, by a path and a method, and what is answered.

An operation is a value. The server makes routes and the document of the API from operations. Nothing here knows a web
framework or a database.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from ..core.identity import Identity
from ..core.interfaces import Clock, Journal
from ..core.json import JsonObject
from ..core.language.translation import Language
from ..core.stores import Stores
from .command import AnswerText, Command

Body = TypeVar("Body", covariant=True)
Query = TypeVar("Query", covariant=True)

Method = Literal["get", "post", "put", "patch", "delete"]


class ApiRequest(Generic[Query, Body]):
    """A request that was read and checked.

    Attributes:
        operation: the id of the operation.
        who: the caller.
        names: the values in the path, by the names of the path's parameters.
        query: the query parameters.
        body: the body.
        key: the `Idempotency-Key`; empty where the request has none.
        last_event: the number of the last event that the client has; -1 where it has none.
        everywhere: the operator of this machine asks on the command line and names no tenant: a handler may look over
            the things of all tenants. No request of a client says this.
        by_operator: the operator of this machine asks on the command line. No request of a client says this.
        to_find: the list is read only to find what a person names, and is shown to nobody.
        sender: the address of the client, as far as proxies are believed; empty where nobody knows it.
        origin: the origin of the server as the client writes it, such as `http://127.0.0.1:8000`.
        language: in which a person reads what a check tells.
    """

    __slots__ = (
        "body",
        "by_operator",
        "everywhere",
        "key",
        "language",
        "last_event",
        "names",
        "operation",
        "origin",
        "query",
        "sender",
        "to_find",
        "who",
    )

    def __init__(
        self,
        operation: str,
        who: Identity,
        names: Mapping[str, str],
        query: Query,
        body: Body,
        *,
        key: str = "",
        last_event: int = -1,
        everywhere: bool = False,
        by_operator: bool = False,
        to_find: bool = False,
        sender: str = "",
        origin: str = "",
        language: Language = "en",
    ) -> None:
        self.operation = operation
        self.who = who
        self.names = names
        self.query = query
        self.body = body
        self.key = key
        self.last_event = last_event
        self.everywhere = everywhere
        self.by_operator = by_operator or everywhere
        self.to_find = to_find
        self.sender = sender
        self.origin = origin
        self.language = language

    @property
    def tenant(self) -> str | None:
        """Whose things are looked over: those of the caller's tenant; None for those of all tenants."""
        return None if self.everywhere else self.who.tenant


class ApiFile(Struct, frozen=True):
    """A body that is a file, which a browser keeps and does not open.

    Attributes:
        name: the name of the file.
        media_type: what the file is.
        content: its bytes.
    """

    name: str
    media_type: str
    content: bytes


class ApiReply(Struct, frozen=True):
    """What a request is answered.

    Attributes:
        body: the body; None where there is none.
        status: the HTTP status.
        location: where what was made is found; empty where nothing was made.
        is_told_once: nothing on the way to the client may keep the answer, such as one with the text of a key.
        cookie: a value of `Set-Cookie`; empty for none.
        told: what a person at the command line is told beside the body, which the body does not say.
    """

    body: Struct | JsonObject | None
    status: int = 200
    location: str = ""
    is_told_once: bool = False
    cookie: str = ""
    told: tuple[AnswerText, ...] = ()


class StreamEvent(Struct, frozen=True):
    """One event of an answer that is a stream.

    Attributes:
        id: a client that comes again sends the id of the last event that it has; empty for an event that nobody can go
            on behind.
        name: the type of the event.
        data: the body of the event.
    """

    id: str
    name: str
    data: Struct


Events: TypeAlias = AsyncIterator[StreamEvent]
"""An answer that is a stream: the events as they come."""


SettingsOf = TypeVar("SettingsOf", bound=Struct)


class Application(Protocol):
    """What every handler gets from the program that runs it, such as a server or a command."""

    @property
    def journal(self) -> Journal:
        """The journal."""

    @property
    def stores(self) -> Stores:
        """The tables of features, beside the journal."""

    @property
    def clock(self) -> Clock:
        """The time."""

    def settings(self, kind: type[SettingsOf]) -> SettingsOf:
        """What is set for the feature that declares its settings by this type.

        Raises:
            UsageError: no such feature is on.
        """


Handler = Callable[..., Awaitable[ApiReply | Events]]
"""`async (app, request) -> ApiReply`: takes an `Application` and an `ApiRequest` with the types of the operation."""


class AnswerKind(Struct, frozen=True, kw_only=True):
    """One kind of answer of an operation.

    Attributes:
        means: what the answer means.
        body: its type, `str` for a file; None for an answer without a body.
        others: other types that the body may have.
        example: a body.
        media_type: of the body.
        file_type: the media type of a file that may come instead; empty for none.
        has_location: whether the header `Location` names what was made.
    """

    means: str
    body: object = None
    others: tuple[type[Struct], ...] = ()
    example: object = None
    media_type: str = "application/json"
    file_type: str = ""
    has_location: bool = False


class Operation(Struct, frozen=True, kw_only=True):
    """One operation.

    Attributes:
        id: the name of the operation; programs that are generated from the document call it so.
        method, path: the method and the path of the operation.
        tag: the group of the operation; of a feature, its name.
        summary: what it does, in a line.
        description: what a caller should know beyond that.
        scopes: the scopes that let a caller use the operation; one of them is enough.
        query, body: the types of the query parameters and of the body; None for none.
        body_is_optional: whether an empty body means the defaults.
        names: what each parameter of the path means.
        takes_key: whether it starts something, and takes an `Idempotency-Key`.
        takes_last_event: whether it takes a `Last-Event-ID`.
        file_bytes: how many bytes the files in its body may have together, beside the rest of the body; 0 for no files.
        example: a body.
        replies: what it answers when nothing is wrong, by status.
        errors: the statuses of the errors that are its own, beside those that follow from what it takes.
        links: operations that go on with what is answered: the status, the name of the operation's path parameter, and
            the place of the value in the body.
        handler: the function that answers.
        is_open: whether no key is needed.
        is_recorded: whether the handler itself puts on record what it changes. For others of a feature that is done.
        command: how the operation is typed on the command line; None for not at all.
        more_commands: further commands of the operation, such as `deny` beside `approve`.
    """

    id: str
    method: Method
    path: str
    summary: str
    tag: str = ""
    description: str = ""
    scopes: tuple[str, ...] = ()
    query: type[Struct] | None = None
    body: type[Struct] | None = None
    body_is_optional: bool = False
    names: Mapping[str, str] = {}
    takes_key: bool = False
    takes_last_event: bool = False
    file_bytes: int = 0
    example: JsonObject | None = None
    replies: Mapping[int, AnswerKind]
    errors: tuple[int, ...] = ()
    links: Mapping[str, tuple[int, str, str]] = {}
    handler: Handler
    is_open: bool = False
    is_recorded: bool = False
    command: Command | None = None
    more_commands: tuple[Command, ...] = ()

    @property
    def commands(self) -> tuple[Command, ...]:
        """All commands of the operation."""
        return (*((self.command,) if self.command is not None else ()), *self.more_commands)
