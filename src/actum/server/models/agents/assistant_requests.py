"""What requests of the Assistants API say.

The endpoints are in `assistants.py`, and how runs are told in `assistant_view.py`.
"""

from __future__ import annotations

import hashlib

import msgspec
from msgspec import Struct

from ....core.errors import ModelError, UnknownName, UsageError
from ....core.identity import Identity
from ....core.json import Json, JsonObject
from ....core.message import UserMessage
from ....core.model_settings import ModelSettings
from ....core.policy import Answer
from ....core.process.worker_thread import off_loop
from ....core.run.pending import Pending
from ....core.tool import Tool, ToolChoice
from ....dialects.api.openai_chat.dialect import OPENAI_CHAT
from ...api.records import Recorded
from .ids import read_approval_id, read_call_id
from .placing import may_approve
from .turn import asked_settings

_encode = msgspec.json.Encoder().encode
OBJECTS_MAX = 500
"""The most messages, parts, tools or outputs that a request may list."""
_NOT_HERE = ("file_search", "code_interpreter")


class WantedRun(Struct, frozen=True, kw_only=True):
    """A run that a client wants.

    Attributes:
        thread: the thread.
        agent: the name of the agent.
        body: the request.
        assistant: the assistant.
        tools: the client's own tools.
        tool_choice: whether and which tools the run must call.
        door: for the record; see `Started.door`.
        words: what is said, the question last.
    """

    thread: str
    agent: str
    body: JsonObject
    assistant: JsonObject
    tools: tuple[Tool, ...]
    tool_choice: ToolChoice
    door: JsonObject
    words: tuple[UserMessage, ...]


def given_outputs(body: JsonObject) -> dict[str, str]:
    """What a client submits, by the id of what was asked.

    Raises:
        UsageError: an output does not fit.
        UnknownName: an id is not ours.
    """
    found: dict[str, str] = {}
    for given in objects_in(body, "tool_outputs"):
        id_ = text_in(given, "tool_call_id")
        ref = read_call_id(id_) or read_approval_id(id_)
        if ref is None:
            raise UnknownName("There is no such call.")
        found[ref.ask_id] = text_in(given, "output")
    if not found:
        raise UsageError("tool_outputs: at least one output was expected")
    return found


def answers_of(recorded: Recorded, given: dict[str, str], who: Identity) -> dict[str, Answer]:
    """The answers that the outputs of a client are.

    Raises:
        UsageError: an output is missing, or the caller may not give it.
        UnknownName: the run did not ask for this.
    """
    waiting = {asked.id: asked.pending for asked in recorded.state.waiting()}
    if unknown := given.keys() - waiting.keys():
        raise UnknownName("There is no such call: {count} of these ids are not waited for.", count=len(unknown))
    if missing := waiting.keys() - given.keys():
        raise UsageError("tool_outputs: outputs of {count} more calls were expected", count=len(missing))
    return {id_: _answer(waiting[id_], text, who) for id_, text in given.items()}


def _answer(pending: Pending, text: str, who: Identity) -> Answer:
    if pending.kind in ("result", "answer"):
        return Answer("answer", text)
    verdict = text.strip().lower()
    if pending.kind == "approval" and verdict in ("approve", "deny"):
        if may_approve(pending, who, approve=verdict == "approve"):
            return who.vouched(Answer("approve" if verdict == "approve" else "deny"))
        raise UsageError("This key may not answer this approval: a person answers at /v1/approvals.")
    raise UsageError("tool_outputs: approve or deny was expected; all else is answered at /v1/approvals")


def message_text(body: JsonObject) -> tuple[str, str]:
    """The role and the text of a message.

    Raises:
        UsageError: it is no message.
        ModelError: it has files or pictures, which are not taken here.
    """
    role, content = body.get("role"), body.get("content")
    if role not in ("user", "assistant"):
        raise UsageError("role: user or assistant was expected")
    if body.get("attachments"):
        raise ModelError("attachments: files are not taken here", status=501)
    if isinstance(content, str) and content:
        return str(role), content
    if isinstance(content, list) and len(content) > OBJECTS_MAX:
        raise UsageError("content: at most {most} are taken in one request", most=OBJECTS_MAX)
    texts: list[str] = []
    for part in content if isinstance(content, list) else []:
        match part:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
            case _:
                raise ModelError("content: only text is taken here", status=501)
    if not texts:
        raise UsageError("content: a text was expected")
    return str(role), "\n".join(texts)


async def read_tools(tools: Json) -> tuple[Tool, ...]:
    """The client's own tools.

    Raises:
        UsageError: they are none.
    """
    if not tools:
        return ()
    said: Json = [{"role": "user", "content": "x"}]
    body = _encode({"model": "x", "messages": said, "tools": tools})
    return (await off_loop(len(body), OPENAI_CHAT.decode_request, body)).tools


def read_settings(wanted: WantedRun) -> ModelSettings | None:
    """How the model is to be asked."""

    def number(name: str) -> float | None:
        found = wanted.body.get(name)
        found = wanted.assistant.get(name) if found is None else found
        return float(found) if isinstance(found, int | float) else None

    most = wanted.body.get("max_completion_tokens")
    return asked_settings(
        temperature=number("temperature"),
        top_p=number("top_p"),
        max_tokens=most if isinstance(most, int) else None,
        parallel_calls=False if wanted.body.get("parallel_tool_calls") is False else None,
    )


def check_supported(body: JsonObject) -> None:
    """Refuse by name what is not here.

    Raises:
        ModelError: the request asks for it.
        UsageError: likewise.
    """
    for tool in objects_in(body, "tools"):
        if tool.get("type") in _NOT_HERE:
            raise ModelError("tools: {type} is not run here", status=501, type=tool["type"])
    if body.get("tool_resources"):
        raise ModelError("tool_resources: there are no files and no vector stores here", status=501)
    if body.get("response_format") not in (None, "auto", {"type": "text"}):
        raise UsageError("response_format: an agent answers in its own form")
    truncation = body.get("truncation_strategy")
    if isinstance(truncation, dict) and truncation.get("type") != "auto":
        raise UsageError("truncation_strategy: only auto is known here")
    if body.get("max_prompt_tokens") is not None:
        raise UsageError("max_prompt_tokens: the agent has limits of its own; leave it out")


def text_in(body: JsonObject, name: str) -> str:
    """A text among the fields; empty where there is none.

    Raises:
        UsageError: it is none.
    """
    found = body.get(name)
    if found is not None and not isinstance(found, str):
        raise UsageError("{name}: a text was expected", name=name)
    return found or ""


def texts_in(found: Json) -> list[str]:
    """The texts in a list."""
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def objects_in(body: JsonObject, name: str) -> list[JsonObject]:
    """The objects in a list among the fields.

    Raises:
        UsageError: it is no list of objects, or one of too many.
    """
    found = body.get(name)
    if found is None:
        return []
    if isinstance(found, list) and len(found) > OBJECTS_MAX:
        raise UsageError("{name}: at most {most} are taken in one request", name=name, most=OBJECTS_MAX)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise UsageError("{name}: a list of objects was expected", name=name)
    return [each for each in found if isinstance(each, dict)]


def digest_of(body: JsonObject) -> str:
    """Names a request, to know it again when it is repeated."""
    return hashlib.sha256(_encode(body)).hexdigest()
