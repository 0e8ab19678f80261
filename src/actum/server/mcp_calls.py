"""Calls that an MCP client makes, as runs: each on the one call path, on record, and gone on with when it had to wait.

The model of such a run only says what the client said, so that nothing here is a second path to a tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import msgspec
from mcp.shared.exceptions import MCPError
from msgspec import Struct

from ..agents.agent import Agent
from ..call.approve import fit, pending_of
from ..call.recording import Recording
from ..core.call import ToolCall, ToolResult
from ..core.errors import CallError, UsageError
from ..core.event import Delta, Event, Pending, RunResult
from ..core.interfaces import Answer, Request
from ..core.json import Json, JsonObject
from ..core.message import Reply, UserMessage
from ..core.record import Verdict, new_id
from .mcp_client import McpClient
from .mcp_wire import WANTED, answer_of, question_of

Emit = Callable[[Event], None]

INVALID_PARAMS = -32602
MISSING_CAPABILITY = -32021


class Who(Struct, frozen=True, kw_only=True):
    """On whose behalf a client speaks.

    Attributes:
        principal: the user.
        roles: that the user has.
        key_id: the id of the key or token that was shown, never its text.
    """

    principal: str = ""
    roles: tuple[str, ...] = ()
    key_id: str = ""


class Said(Struct, frozen=True):
    """A call in the words of its run's question."""

    tool: str
    arguments: JsonObject


class Spoken:
    """A `Model` that says the call which its question holds, and is done when that has its result."""

    name = "mcp"

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        last = request.messages[-1]
        if not isinstance(last, UserMessage):
            return Reply()
        said = msgspec.json.decode(last.text, type=Said)
        return Reply((ToolCall(id="call", name=said.tool, arguments=said.arguments),))


class NotYet(Struct, frozen=True):
    """What a call waits for, and its client can be asked.

    Attributes:
        run_id: the run that waits.
        questions: the requests that the client is to answer, by id.
    """

    run_id: str
    questions: JsonObject

    def told(self) -> JsonObject:
        """As the result of a request, which the client sends again with the answers."""
        return {"resultType": "input_required", "inputRequests": self.questions, "requestState": self.run_id}


async def begin(
    agent: Agent, tool: str, arguments: JsonObject, client: McpClient, who: Who, run_id: str, emit: Emit
) -> RunResult:
    """Make a call."""
    question = msgspec.json.encode(Said(tool, arguments)).decode()
    return await agent.run(
        question,
        run_id=run_id,
        principal=who.principal,
        roles=who.roles,
        key_id=who.key_id,
        approver=client,
        peer=client,
        emit=emit,
    )


async def go_on(
    agent: Agent, run_id: str, responses: Json, client: McpClient, who: Who, emit: Emit | None = None
) -> RunResult:
    """Go on with a call that waited, with what its client answered; what fits nothing that was asked is left alone.

    Raises:
        MCPError: there is no such call of theirs.
    """
    entries = await agent.journal.read(run_id)
    recording = Recording(entries)
    if not entries or recording.beginning().principal != who.principal:
        raise MCPError(INVALID_PARAMS, "This call is not known any more: make it anew.")
    answers = answers_of(recording, responses if isinstance(responses, dict) else {}, who)
    return await agent.resume(run_id, answers, approver=client, peer=client, emit=emit)


def answers_of(recording: Recording, responses: Mapping[str, Json], who: Who) -> dict[str, Answer]:
    """What a client answered, as far as it was asked for that and it fits."""
    waiting = {asked.name or asked.id: pending_of(asked) for asked in recording.waiting()}
    found: dict[str, Answer] = {}
    for key, response in responses.items():
        pending = waiting.get(key)
        if pending is None or not isinstance(response, dict) or pending.kind not in WANTED:
            continue
        try:
            verdict, given = answer_of(pending, response)
            answer = Answer(cast(Verdict, verdict), by=who.principal or "client", arguments=given)
            fit(pending, answer)
        except (UsageError, ValueError):
            continue  # it is asked again
        found[pending.id] = answer
    return found


def outcome_of(result: RunResult, client: McpClient) -> ToolResult | NotYet:
    """What a call came to, or what it waits for.

    Raises:
        MCPError: it needs what this client did not declare.
    """
    if result.status != "paused":
        if result.calls:
            return result.calls[-1][1]
        return ToolResult("call", error=CallError(result.text or "The call was stopped.").failure())
    if client.is_modern:
        askable = [pending for pending in result.pending if client.can_be_asked(pending)]
        missing = [pending for pending in result.pending if pending not in askable and pending.kind != "approval"]
        if missing and not askable:
            raise lacking(missing)
        if askable:
            return NotYet(result.run_id, asked_of(askable))
    waits = result.pending[0]
    word = (
        f"This call waits for a person's approval ({waits.id}); it was not made. Once it is approved, it is made by "
        f"`actum resume {result.run_id}`."
    )
    return ToolResult("call", error=CallError(word).failure())


def lacking(missing: Sequence[Pending]) -> MCPError:
    """The error that tells a client which capability it would have needed to declare."""
    wanted: JsonObject = {}
    for pending in missing:
        name = WANTED.get(pending.kind, "elicitation")
        wanted[name] = {"url": {}} if pending.url else {}
    return MCPError(MISSING_CAPABILITY, "Missing required client capability", {"requiredCapabilities": wanted})


def asked_of(askable: Sequence[Pending]) -> JsonObject:
    """The requests that put these questions to a client, by what each is called."""
    requests: JsonObject = {}
    for pending in askable:
        method, params = question_of(pending)
        requests[pending.name or pending.id] = {"method": method, "params": params}
    return requests


def new_call() -> str:
    """The id of the run of a new call."""
    return new_id("mcp")
