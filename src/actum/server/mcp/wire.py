"""What an MCP server says: definitions, results and questions as raw messages of the protocol. Pure.

Source: Model Context Protocol 2026-07-28 and 2025-11-25 (server/tools, client/elicitation, client/sampling).
"""

from __future__ import annotations

import hashlib
import re

import msgspec

from ...call.asking.inbox import check_person, fit
from ...core.call import ToolResult
from ...core.errors import UsageError
from ...core.identity import Identity
from ...core.json import Json, JsonObject, dumps
from ...core.model import Request
from ...core.policy import Answer
from ...core.run.pending import Pending
from ...core.tool import Tool
from ...policy.record_mask import RecordMask
from ...protocols.mcp.content import answer_of
from ...protocols.mcp.sampling import params_of, reply_of

MAX_TOKENS = 1024
"""Asked of a client's model where the tool says no number: the protocol wants one."""
ROOTS_MAX = 1_000
"""The most directories that a client may name."""

_SERVED = re.compile(r"[A-Za-z0-9_.-]{1,128}")


def served_name(name: str) -> str:
    """What a tool is called in the protocol, which knows Latin letters only.

    >>> served_name("add"), served_name("天气")
    ('add', 'tool_4d94732547')
    """
    if _SERVED.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    readable = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_")[:100] or "tool"
    return f"{readable}_{digest}"


def definition_of(tool: Tool, *, any_value: bool) -> JsonObject:
    """A tool as `tools/list` tells it; hints only where its effects are declared.

    Args:
        any_value: this version lets a structured result be any value, not only an object.
    """
    told: JsonObject = {"name": served_name(tool.name), "inputSchema": {"type": "object", **tool.parameters}}
    if tool.title or served_name(tool.name) != tool.name:
        told["title"] = tool.title or tool.name
    if tool.description:
        told["description"] = tool.description
    if tool.result is not None and (any_value or tool.result.get("type") == "object"):
        told["outputSchema"] = tool.result
    if tool.effects is not None:
        hints: JsonObject = {"readOnlyHint": tool.reads_only}
        if not tool.reads_only:
            hints["destructiveHint"] = bool(tool.effects & {"destroy", "spend", "execute"})
            hints["idempotentHint"] = tool.idempotent
        hints["openWorldHint"] = tool.foreign or bool(tool.effects & {"send", "spend", "execute"})
        told["annotations"] = hints
    return told


def definition_as_seen(definition: JsonObject, tool: Tool, mask: RecordMask) -> JsonObject:
    """A tool as `tools/list` tells it to a caller: without the schema of results in which values are hidden from the
    caller, since what takes the place of a value need not fit, and clients refuse such a result.
    """
    if "outputSchema" not in definition or not mask.hides(tool.labels_believed.values()):
        return definition
    return {name: value for name, value in definition.items() if name != "outputSchema"}


_MEMORY_OFF: JsonObject = {"actum": {"memory": "off"}}


def call_result(result: ToolResult, *, any_value: bool, is_without_memory: bool = False) -> JsonObject:
    """The result of `tools/call`, in text too where it is a structured value.

    Args:
        any_value: as above.
        is_without_memory: an agent has answered that has a memory of its users, and does without it here.
    """
    told = answer_of(result)
    if is_without_memory:
        told["_meta"] = _MEMORY_OFF
    value = result.structured
    if (value is None and result.content) or not (any_value or isinstance(value, dict)):
        told.pop("structuredContent", None)
    return told


# Asked of the client --------------------------------------------------------------------------------------------------

WANTED = {"elicitation": "elicitation", "approval": "elicitation", "sampling": "sampling", "roots": "roots"}
"""The capability of a client that each kind of question needs."""

_YES: JsonObject = {
    "type": "object",
    "properties": {"approve": {"type": "boolean", "title": "Approve this call?", "default": False}},
    "required": ["approve"],
}


def question_of(pending: Pending) -> tuple[str, JsonObject]:
    """The request that puts a question to a client: its method and params."""
    if pending.kind == "sampling":
        return "sampling/createMessage", params_of(msgspec.convert(pending.request or {}, Request), MAX_TOKENS)
    if pending.kind == "roots":
        return "roots/list", {}
    if pending.url:
        asked: JsonObject = {"mode": "url", "message": pending.message, "url": pending.url}
        return "elicitation/create", {**asked, "elicitationId": pending.id}
    if pending.kind == "approval":
        return "elicitation/create", {"mode": "form", "message": _call_in_words(pending), "requestedSchema": _YES}
    return "elicitation/create", {
        "mode": "form",
        "message": pending.message,
        "requestedSchema": pending.schema or {"type": "object", "properties": {}},
    }


def _call_in_words(pending: Pending) -> str:
    call = pending.call
    arguments = [f"  {name} = {dumps(value)}" for name, value in call.arguments.items()] if call is not None else []
    return "\n".join([f"{call.name if call is not None else 'A call'} {pending.message}".rstrip(), *arguments])


def told_by_client(pending: Pending, result: JsonObject, who: Identity) -> Answer:
    """What a client answered: for a form what was filled in, for a model a `Reply` as JSON, for roots their addresses.

    Raises:
        UsageError: it is not what was asked for.
    """
    action, content, by = result.get("action"), result.get("content"), "client"
    given: JsonObject = content if isinstance(content, dict) else {}
    match pending.kind:
        case "sampling":
            answer = Answer("answer", by=by, arguments=msgspec.to_builtins(reply_of(result)))
        case "roots":
            answer = Answer("answer", by=by, arguments={"roots": _roots(result.get("roots"))})
        case "approval":
            yes = action == "accept" and given.get("approve") is True
            answer = Answer("approve" if yes else "deny", by=by)
        case _ if action == "accept":
            answer = Answer("answer", by=by, arguments=given)
        case _ if action in ("decline", "cancel"):
            answer = Answer("deny" if action == "decline" else "cancel", by=by)
        case _:
            raise UsageError("action: 'accept', 'decline' or 'cancel' was expected")
    answer = who.vouched(answer)
    fit(pending, answer)
    check_person(pending, answer, who.voter(who.tenant))  # runs of a client are of the client's tenant
    return answer


def _roots(said: Json) -> list[Json]:
    if isinstance(said, list) and len(said) > ROOTS_MAX:
        raise UsageError("roots: at most {most}", most=ROOTS_MAX)
    if not isinstance(said, list) or not all(isinstance(root, dict) for root in said):
        raise UsageError("roots: a list was expected")
    found = [root.get("uri") for root in said if isinstance(root, dict)]
    return [uri for uri in found if isinstance(uri, str)]
