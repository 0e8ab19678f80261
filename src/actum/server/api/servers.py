"""`GET /v1/servers/{name}/offers`: what a server offers now, beside what a person approved when it was published.

A tool that is another one by now is not called, and a new one is not there, before somebody has published the server
anew. Here a person sees which tools these are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ...core.definition import BadText
from ...features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ...features.refusal import not_found
from ...toolsets.declared.server import SERVER, ServerCard, read_server_card
from .definitions.operations import publisher_of
from .definitions.refusing import bad_definition
from .published import SERVERS

if TYPE_CHECKING:
    from .api import Api  # agents and workflows, which nothing here uses


class ServerOffer(Struct, frozen=True, kw_only=True):
    """A tool of a server.

    Attributes:
        tool: what the server calls the tool; here it is called `NAME_TOOL`.
        description: what the tool does, in the words of the server.
        state: `same` as it was published; `new` or `changed`, so that it is not called before somebody has published
            the server anew; `gone` from the server.
    """

    tool: str
    description: str
    state: Literal["same", "new", "changed", "gone"]


class ServerOffers(Struct, frozen=True, kw_only=True):
    """What a server offers.

    Attributes:
        version: the number of the publication in use; 0 where none is, and all is new.
        items: the tools, those first that a person has not approved.
    """

    version: int
    items: tuple[ServerOffer, ...]


async def list_offers(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """What a server offers now, by its draft."""
    who, name, definitions = asked.who, asked.names["name"], api.journal.definitions
    publisher = await publisher_of(SERVERS, api, who, name)
    draft = await definitions.draft(SERVER, name, tenant=who.tenant)
    if draft is None:
        raise not_found("draft")
    try:
        read = await publisher.check(name, draft.text)
    except BadText as bad:
        raise bad_definition(bad) from None
    line = await definitions.line_in_use(SERVER, name, tenant=who.tenant)
    now, approved = read_server_card(read.about), read_server_card(line.about) if line is not None else None
    items = _offers(now or ServerCard(), approved or ServerCard())
    return ApiReply(ServerOffers(version=line.number if line is not None else 0, items=tuple(items)))


def _offers(now: ServerCard, approved: ServerCard) -> list[ServerOffer]:
    """The tools of a server as they are now and as they were published."""
    found = [
        ServerOffer(tool=tool.name, description=tool.description, state=_state(tool.name, now, approved))
        for tool in now.tools
    ]
    found += [
        ServerOffer(tool=tool.name, description=tool.description, state="gone")
        for tool in approved.tools
        if tool.name not in now.digests
    ]
    return sorted(found, key=lambda each: (each.state == "same", each.tool))


def _state(tool: str, now: ServerCard, approved: ServerCard) -> Literal["same", "new", "changed"]:
    if tool not in approved.digests:
        return "new"
    return "same" if now.digests.get(tool) == approved.digests[tool] else "changed"


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="listServerOffers",
        method="get",
        path="/v1/servers/{name}/offers",
        tag="servers",
        summary="List what a server offers now, beside what was approved when it was published.",
        description=(
            "The server is asked for its tools, and no tool is called. 422 with the code `definition`: the server can "
            "not be reached, or something is wrong with the draft."
        ),
        scopes=SERVERS.builders,
        names={"name": "The name of a server."},
        replies={
            200: AnswerKind(
                means="The tools.",
                body=ServerOffers,
                example={
                    "version": 2,
                    "items": [{"tool": "find_customer", "description": "Finds a customer.", "state": "changed"}],
                },
            )
        },
        errors=(422,),
        handler=list_offers,
    ),
)
