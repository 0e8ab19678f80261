"""`/v1/agents`: the agents that a caller may ask, by name: those of the settings, published ones, and workflows. And
`POST /v1/agents/{name}/try`: the draft of an agent is tried before it is published.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from msgspec import Meta, Struct, structs

from ...agents.declared import AGENT, read_agent
from ...core.errors import UsageError
from ...core.identity import Identity
from ...core.stored.definitions import number_of_text
from ...features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ...features.refusal import Refusal
from ...journal.lists import read_cursor, write_cursor
from ..scopes import allows, wants
from .api import Api
from .definitions.bodies import Number, VersionQuery
from .definitions.operations import TRY_TOLD, draft_to_try
from .fields import Cursor, Limit, ListPart, SessionId
from .published import AGENTS
from .records import cursors
from .runs.operations import REPLY_BEGUN, asked_by, begun
from .runs.views import told_model


class AgentsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which agents, by name.

    Attributes:
        query: words that the name or the description has, in any order; empty for all agents.
        drafts: whether agents that have a draft and no publication are listed, too; for callers with the scope `build`.
        limit: the most items of this part of the list.
        cursor: `next` of the part before.
    """

    query: Annotated[str, Meta(max_length=200)] = ""
    drafts: bool = False
    limit: Limit = 100
    cursor: Cursor = ""


class AgentInfo(Struct, frozen=True, kw_only=True):
    """An agent that the caller may ask.

    Attributes:
        name: what `POST /v1/runs` calls the agent.
        description: what the agent is good for; may be empty.
        model: the name of its model; empty for what was published. Its address is for administrators.
        version: of what was published the number of the publication in use; 0 for any other agent.
    """

    name: str
    description: str
    model: str
    version: int


class AgentDetails(AgentInfo, frozen=True, kw_only=True):
    """An agent, with what was published.

    Attributes:
        definition: the text that was published, for callers with the scope `build`; null for any other agent.
    """

    definition: str | None


class AgentPage(ListPart[AgentInfo], frozen=True, kw_only=True):
    """A part of the list of agents."""


class TryAgentBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question to the draft of an agent.

    Attributes:
        question: what the user says.
        revision: the revision of the draft that the caller has looked at; null for whatever the draft is now.
        session: the conversation that the question belongs to, by an id that the caller chooses; empty for a question
            that stands alone.
    """

    question: Annotated[str, Meta(min_length=1)]
    revision: Number | None = None
    session: SessionId = ""


async def list_agents(api: Api, asked: ApiRequest[AgentsQuery, None]) -> ApiReply:
    """The agents that a caller may ask, by name. None is built for the list that was not built before."""
    with cursors():
        behind = read_cursor(asked.query.cursor, str) if asked.query.cursor else ""
    who, query = asked.who, asked.query
    known = frozenset(await api.agent_names(who))
    drafted = await _drafted(api, who) if query.drafts else []
    words = query.query.casefold().split()
    items: list[AgentInfo] = []
    for name in sorted(name for name in {*known, *drafted} if name > behind):
        info = await _info(api, who, name) if name in known else _draft_info(name)
        told = f"{info.name} {info.description}".casefold()
        if all(word in told for word in words):
            items.append(info)
        if len(items) > query.limit:  # no more is looked at than the page takes
            return ApiReply(AgentPage(items=tuple(items[:-1]), next=write_cursor(items[-2].name)))
    return ApiReply(AgentPage(items=tuple(items), next=None))


async def _drafted(api: Api, who: Identity) -> list[str]:
    """The agents that have a draft and no publication.

    Raises:
        Refusal: the caller may see no drafts.
    """
    if not allows(who, AGENTS.builders):
        raise wants("build", "to see drafts")
    lines = await api.journal.definitions.names(AGENT, tenant=who.tenant)
    return [line.name for line in lines if not line.published and who.may_use("agent", line.name)]


def _draft_info(name: str) -> AgentInfo:
    return AgentInfo(name=name, description="", model="", version=0)


async def get_agent(api: Api, asked: ApiRequest[VersionQuery, None]) -> ApiReply:
    """An agent that a caller may ask: the one in use, or another publication of the caller's tenant."""
    who, name, number = asked.who, asked.names["name"], asked.query.version
    is_builder = allows(who, AGENTS.builders)
    if number and not (is_builder and who.may_use("agent", name)):
        raise wants("build", "to see other versions")
    is_known = name in await api.agent_names(who)
    text = await _published(api, who, name, number) if is_builder else None
    if not (is_known and (text is not None or not number)):
        raise Refusal(404, "unknown_agent", "There is no agent of this name that this key may use.")
    info = structs.asdict(await _info(api, who, name))
    if number and text is not None:
        info |= {"version": number, "description": read_agent(text).description}
    return ApiReply(AgentDetails(**info, definition=text))


async def _published(api: Api, who: Identity, name: str, number: int) -> str | None:
    """The text of a published agent, of the one in use for 0; None where there is none."""
    with suppress(UsageError):  # an agent of the settings may have a name that no publication can have
        found = await api.journal.definitions.published(AGENT, name, number or None, tenant=who.tenant)
        return found.text if found is not None else None
    return None


async def try_agent(api: Api, asked: ApiRequest[None, TryAgentBody]) -> ApiReply:
    """Have the draft of an agent answer a question."""
    who, body = asked.who, asked.body
    draft = await draft_to_try(AGENTS, api, asked, body.revision)
    agent = await api.published.agent_of_draft(who.tenant, draft.name, number_of_text(draft.digest))
    start = api.start(asked)
    await api.begin(
        start,
        lambda emit: agent.run(
            asked_by(who, body.question),
            conversation=body.session,
            principal=who.principal,
            tenant=who.tenant,
            roles=who.roles,
            key_id=who.key_id,
            run_id=start.run_id,
            request=start.request,
            trace=start.trace,
            emit=emit,
            memory=False,
        ),
    )
    return await begun(api, start.run_id, who)


async def _info(api: Api, who: Identity, name: str) -> AgentInfo:
    if name in api.agents.names:
        agent = api.agents.get(name)
        is_workflow = name in api.workflows.names
        connected = "" if is_workflow else await api.connected_name(who.tenant, agent)
        model = "" if is_workflow else told_model(connected or agent.model.name, who)
        return AgentInfo(name=name, description=agent.description, model=model, version=0)
    line = (await api.published.agents(who.tenant))[name]
    return AgentInfo(name=name, description=line.description, model="", version=line.publication.number)


_AGENT = {"name": "desk", "description": "Answers questions about orders.", "model": "openai:gpt-5", "version": 0}
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="listAgents",
        method="get",
        path="/v1/agents",
        tag="agents",
        summary="List or search the agents that you may ask, by name.",
        scopes=("runs", "build"),
        query=AgentsQuery,
        replies={200: AnswerKind(means="The agents.", body=AgentPage, example={"items": [_AGENT], "next": None})},
        handler=list_agents,
    ),
    Operation(
        id="getAgent",
        method="get",
        path="/v1/agents/{name}",
        tag="agents",
        summary="Get an agent that you may ask, or that you have published.",
        scopes=("runs", "build"),
        names={"name": "The name of an agent."},
        query=VersionQuery,
        replies={200: AnswerKind(means="The agent.", body=AgentDetails, example=_AGENT | {"definition": None})},
        handler=get_agent,
    ),
    Operation(
        id="tryAgentDraft",
        method="post",
        path="/v1/agents/{name}/try",
        tag="agents",
        summary="Try the draft of an agent with a question.",
        description=TRY_TOLD,
        scopes=AGENTS.builders,
        names={"name": "The name of an agent."},
        body=TryAgentBody,
        takes_key=True,
        example={"revision": 3, "question": "What is 2 and 3?"},
        replies={202: REPLY_BEGUN},
        errors=(409,),
        handler=try_agent,
        is_recorded=True,
    ),
)
