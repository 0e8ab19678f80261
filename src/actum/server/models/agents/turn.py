"""What a request to an agent says, read out of the body of any model API. Pure.

A client sends the whole conversation each time. Its end is what is new: words, results of calls that the client made,
approvals. All before that is what the client says was said; how much of it is believed is decided by `placing`.

Items that only tell what the server did (`mcp_call`, `mcp_tool_use`, `mcp_tool_result`, ...) are taken out: what they
say is on record, and what a client writes into them counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import msgspec
from msgspec import Struct, structs

from ....core.errors import UsageError
from ....core.json import Json, JsonObject, dumps
from ....core.message import Message, Reply, SystemMessage, ToolMessage, UserMessage
from ....core.model import Request
from ....core.model_settings import ModelSettings
from ....core.tool import Tool, ToolChoice
from ....dialects.api.openai_fields import camel
from ....dialects.losses import WHAT_CHARS_MAX, Loss
from ..request import ModelRequest
from ..surface import CHAT, COMPLETIONS, MESSAGES, RESPONSES, Surface
from .ids import is_named_run, read_approval_id, read_item_id, read_server_call_id

_LOGPROBS = "an agent has no probabilities of tokens"
_ONE_ANSWER = "an agent gives one answer"
_TEXT_ALONE = "an agent answers with text"
_REFUSED: dict[str, dict[str, str]] = {
    "chat": {
        **dict.fromkeys(("logprobs", "top_logprobs"), _LOGPROBS),
        **dict.fromkeys(("audio", "modalities"), _TEXT_ALONE),
        "n": _ONE_ANSWER,
    },
    "completions": {
        "logprobs": _LOGPROBS,
        **dict.fromkeys(("n", "best_of"), _ONE_ANSWER),
        "echo": "an agent does not repeat the prompt",
        "suffix": "an agent fills no gap",
    },
    "responses": {
        **dict.fromkeys(("top_logprobs", "include.message.output_text.logprobs"), _LOGPROBS),
        **dict.fromkeys(("audio", "modalities"), _TEXT_ALONE),
        "prompt": "prompts that OpenAI keeps are not known here",
    },
    "messages": {"mcp_servers": "an agent has its own tools"},
    "gemini": {
        **dict.fromkeys(("generationConfig.responseLogprobs", "generationConfig.logprobs"), _LOGPROBS),
        "generationConfig.candidateCount": _ONE_ANSWER,
        **dict.fromkeys(("generationConfig.responseModalities", "generationConfig.speechConfig"), _TEXT_ALONE),
        "cachedContent": "what Google keeps of a conversation is not known here",
    },
}
"""The wishes that are refused, by the API and the field."""
_LABELS = frozenset(
    {"cache_control", "labels", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "user"}
)
"""Fields for the provider's books: no answer depends on them."""
_HEEDED = {
    CHAT: frozenset({"stream_options"}),
    COMPLETIONS: frozenset({"stream_options"}),
    RESPONSES: frozenset({"background", "conversation", "metadata", "previous_response_id", "store"}),
    MESSAGES: frozenset[str](),
}
"""Fields that an agent heeds."""
_WITHIN = frozenset({"generationConfig", "output_config", "text"})
"""Fields whose own fields are wishes."""
_NO_WISHES: tuple[Json, ...] = (
    None,
    False,
    "",
    "auto",
    "default",
    "disabled",
    [],
    {},
    {"type": "text"},
    ["text"],
    ["TEXT"],
)
"""Values that ask for what every answer has."""
ANY_OBJECT: JsonObject = {"type": "object"}
"""The schema of an answer that may be any JSON object."""
_ANY_OBJECT_WISHES: tuple[tuple[str, Json], ...] = (
    ("response_format", {"type": "json_object"}),
    ("text.format", {"type": "json_object"}),
    ("generationConfig.responseMimeType", "application/json"),
)
"""How a client wishes for such an answer."""


def lost_wishes(surface: Surface, extras: JsonObject) -> list[Loss]:
    """What of a request an agent does not heed.

    Args:
        surface: the API that was asked.
        extras: the fields of the request that are no part of `Request`, and those that were read elsewhere.

    Raises:
        UsageError: a program would look in the answer for what is not there.
    """
    refused = _REFUSED["gemini" if surface.vendor == "gemini" else surface.name]
    heeded, found = _HEEDED.get(surface, frozenset()), list[Loss]()
    for where, value in _wishes_of(surface, extras):
        if where in refused:
            raise UsageError("{where}: {why}: leave it out", where=where, why=refused[where])
        if where not in heeded and where not in _LABELS and (where, value) not in _ANY_OBJECT_WISHES:
            found.append(Loss(where, dumps(value)[:WHAT_CHARS_MAX], "an agent does not heed this"))
    return found


def _wishes_of(surface: Surface, extras: JsonObject) -> Iterator[tuple[str, Json]]:
    return _wishes(camel(extras) if surface.vendor == "gemini" else extras)


def _wishes(fields: JsonObject) -> Iterator[tuple[str, Json]]:
    for name, value in fields.items():
        if name in _WITHIN and isinstance(value, dict):
            yield from (
                (f"{name}.{inner}", wish)
                for inner, wish in _wishes(camel(value) if name == "generationConfig" else value)
            )
        elif name == "include" and isinstance(value, list):
            yield from ((f"include.{each}", True) for each in value)
        elif name == "metadata" and isinstance(value, dict):
            if value.keys() - {"actum_run"}:
                yield name, value
        elif not _is_none(name, value):
            yield name, value


def _is_none(name: str, value: Json) -> bool:
    """Whether a value asks for nothing: 0 of most things, one answer."""
    if name in ("n", "best_of", "candidateCount"):
        return value in (None, 0, 1)
    if isinstance(value, bool) or name == "logprobs":
        return value is None or value is False
    return value == 0 or value in _NO_WISHES


RUN_HEADER = "x-actum-run"
"""The header that names the run: in every answer, and in a request that goes on with the run."""

_TOLD_ITEMS = frozenset({"mcp_call", "mcp_approval_request", "mcp_list_tools", "reasoning"})
_TOLD_BLOCKS = frozenset({"mcp_tool_use", "mcp_tool_result", "thinking", "redacted_thinking"})
_encode = msgspec.json.Encoder().encode

METADATA_BYTES_MAX = 16 * 1024
PIECES_MAX = 5_000
"""The most messages, and parts of messages, that one request may tell an agent."""


class ApprovalGiven(Struct, frozen=True):
    """A client's word on a call that waits for a person.

    Attributes:
        id: of the approval, as the client was told it.
        approve: yes or no.
        reason: why.
    """

    id: str
    approve: bool
    reason: str = ""


class AskedTurn(Struct, frozen=True, kw_only=True):
    """What one request says.

    Attributes:
        history: what was said before, by the word of the client; it ends with a reply, or is empty.
        words: what is new and said by the user, or by the client with the word of a system or a developer.
        results: results of calls that the client made.
        approvals: the client's words on calls that wait for a person.
        run: the run that the request names, by the header, by `metadata`, or by what comes back of the last answer.
        is_named: the request names the run by the header or by `metadata`.
        previous: the id of the answer that this request follows, at the Responses API.
        conversation: the id of the conversation, at the Responses API.
        tools: the client's own tools.
        settings: how the model is to be asked.
        answer_schema: JSON Schema that the answer has to fit.
        lost: what the request wishes and an agent does not heed.
    """

    history: tuple[Message, ...] = ()
    words: tuple[UserMessage | SystemMessage, ...] = ()
    results: tuple[ToolMessage, ...] = ()
    approvals: tuple[ApprovalGiven, ...] = ()
    run: str = ""
    is_named: bool = False
    previous: str = ""
    conversation: str = ""
    tools: tuple[Tool, ...] = ()
    settings: ModelSettings | None = None
    tool_choice: ToolChoice | None = None
    answer_schema: JsonObject | None = None
    lost: tuple[Loss, ...] = ()

    @property
    def says_nothing(self) -> bool:
        """Nothing is new: the client asks how its run stands."""
        return not any(isinstance(word, UserMessage) for word in self.words) and not self.results


def read_turn(asked: ModelRequest) -> AskedTurn:
    """What a request says.

    Raises:
        UsageError: it asks for something that an agent does not do, or is no request of its API.
    """
    fields = asked.fields
    check_size(fields)
    request = asked.request
    _check(request)
    lost = tuple(lost_wishes(asked.surface, request.extras))
    approvals: tuple[ApprovalGiven, ...] = ()
    told: list[str] = []
    if asked.surface is RESPONSES:
        approvals, told, kept = _without_told_items(fields)
        if kept is not None:
            request = _read_anew(asked, {**fields, "input": kept})
    elif asked.surface is MESSAGES:
        told, kept = _without_told_blocks(fields)
        if kept is not None:
            request = _read_anew(asked, {**fields, "messages": kept})
    before, after = _parted(request.messages)
    results = tuple([said for said in after if isinstance(said, ToolMessage)])
    lost += tuple(
        [
            Loss(
                f"the result of {said.name}",
                part.describe()[:WHAT_CHARS_MAX],
                "an agent reads results of a client as text",
            )
            for said in results
            for part in said.result.media
        ]
    )
    previous, named = fields.get("previous_response_id"), _named_run(asked, fields)
    return AskedTurn(
        history=tuple(before),
        words=tuple([said for said in after if isinstance(said, UserMessage | SystemMessage)]),
        results=results,
        approvals=approvals,
        run=named or next((run for run in reversed(told) if run), ""),
        is_named=bool(named),
        previous=previous if asked.surface is RESPONSES and isinstance(previous, str) else "",
        conversation=_conversation(fields) if asked.surface is RESPONSES else "",
        tools=request.tools,
        settings=_settings(request),
        tool_choice=None if request.tool_choice == "auto" else request.tool_choice,
        answer_schema=_answer_schema(asked.surface, request),
        lost=lost,
    )


def check_size(fields: JsonObject) -> None:
    """Refuse a conversation of very many pieces before the pieces are looked at.

    Raises:
        UsageError: it has more than `PIECES_MAX` messages and parts of messages.
    """
    for field, inner in (("messages", "content"), ("input", "content"), ("contents", "parts")):
        said = fields.get(field)
        if not isinstance(said, list):
            continue
        pieces = len(said)
        for message in said if pieces <= PIECES_MAX else ():
            parts = message.get(inner) if isinstance(message, dict) else None
            pieces += len(parts) if isinstance(parts, list) else 0
        if pieces > PIECES_MAX:
            raise UsageError(
                "{field}: an agent is told at most {most} messages and parts of messages at once",
                field=field,
                most=PIECES_MAX,
            )


def _check(request: Request) -> None:
    """Refuse by name what an agent does not do.

    Raises:
        UsageError: the request asks for it.
    """
    schema = request.output_schema
    if schema is not None and schema.get("type") != "object":
        raise UsageError("the schema of the answer: an agent answers with an object, so `type` has to be `object`")
    others = request.extras.get("tools")
    hosted = [tool for tool in others if isinstance(tool, dict)] if isinstance(others, list) else []
    kinds = sorted({str(tool.get("type") or next(iter(tool), "")) for tool in hosted})
    kinds = [
        kind for kind in kinds if not kind.startswith("tool_search_tool")
    ]  # all tools are told: nothing is missing
    if kinds:
        raise UsageError("tools: an agent has its own tools, and {kinds} is not run here", kinds=", ".join(kinds))


def _answer_schema(surface: Surface, request: Request) -> JsonObject | None:
    """The schema of the answer. A client that wants any JSON object reads the answer as one."""
    if request.output_schema is None and any(
        wish in _ANY_OBJECT_WISHES for wish in _wishes_of(surface, request.extras)
    ):
        return ANY_OBJECT
    return request.output_schema


def _settings(request: Request) -> ModelSettings | None:
    return asked_settings(
        temperature=request.temperature,
        max_tokens=request.max_tokens,
        top_p=request.top_p,
        seed=request.seed,
        stop=tuple(text for text in request.stop if text),
        parallel_calls=request.parallel_calls,
    )


def asked_settings(
    *,
    temperature: float | None = None,
    max_tokens: int | None = None,
    top_p: float | None = None,
    seed: int | None = None,
    stop: Sequence[str] = (),
    parallel_calls: bool | None = None,
) -> ModelSettings | None:
    """How a client asks the model; None where it leaves that to the agent.

    Raises:
        UsageError: a value can not be. The words are for a client of an API, which knows no `ModelSettings`.
    """
    try:
        made = ModelSettings(
            temperature=temperature,
            max_tokens=max_tokens,
            top_p=top_p,
            seed=seed,
            stop=stop,
            parallel_calls=parallel_calls,
        )
    except UsageError as error:
        said = error.sentence.values
        raise UsageError(
            "{name}: give {wanted}, not {value!r}", name=said["name"], wanted=said["wanted"], value=said["value"]
        ) from None
    return made if made != ModelSettings() else None


def _parted(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """What was said up to the last reply, and what is new.

    Instructions at the beginning are part of the history, also where there is no reply.
    """
    last = max((at for at, said in enumerate(messages) if isinstance(said, Reply)), default=-1)
    return list(messages[: last + 1]), list(messages[last + 1 :])


def _named_run(asked: ModelRequest, fields: JsonObject) -> str:
    metadata = fields.get("metadata")
    if metadata is not None and len(_encode(metadata)) > METADATA_BYTES_MAX:  # it is on record, and told in each answer
        raise UsageError(
            "metadata: at most {most} bytes of JSON are kept, and 16 pairs of 64 and 512 characters need less",
            most=METADATA_BYTES_MAX,
        )
    said = asked.header(RUN_HEADER) or (metadata.get("actum_run") if isinstance(metadata, dict) else "")
    return said if isinstance(said, str) and is_named_run(said) else ""


def _conversation(fields: JsonObject) -> str:
    match fields.get("conversation"):
        case str(id_) | {"id": str(id_)}:
            return id_
        case None:
            return ""
        case _:
            raise UsageError("conversation: the id of a conversation was expected")


def _read_anew(asked: ModelRequest, fields: JsonObject) -> Request:
    """The request without what only tells of the server."""
    return structs.replace(asked.surface.dialect.decode_request(_encode(fields)), model=asked.model)


# What comes back of our answers -------------------------------------------------------------------------------------


def _without_told_items(fields: JsonObject) -> tuple[tuple[ApprovalGiven, ...], list[str], list[Json] | None]:
    """The approvals among the items of `input`, the runs that items name, and the other items."""
    given = fields.get("input")
    if not isinstance(given, list):
        return (), [], None
    approvals: list[ApprovalGiven] = []
    runs: list[str] = []
    kept: list[Json] = []
    for number, item in enumerate(given):
        match item:
            case {"type": "mcp_approval_response", "approval_request_id": str(id_), "approve": bool(approve)}:
                approvals.append(ApprovalGiven(id_, approve, _field(item, "reason")))
                runs.append(ref.run_id if (ref := read_approval_id(id_)) is not None else "")
            case {"type": "mcp_approval_response"}:
                raise UsageError("input[{number}]: approval_request_id and approve were expected", number=number)
            case {"type": str(kind)} if kind in _TOLD_ITEMS:
                runs.append(_run_of(_field(item, "id")))
            case _:
                if _field(item, "role") == "assistant":
                    runs.append(_run_of(_field(item, "id")))
                kept.append(item)
    return tuple(approvals), runs, kept


def _without_told_blocks(fields: JsonObject) -> tuple[list[str], list[Json] | None]:
    """The runs that blocks of assistant messages name, and the messages without these blocks."""
    runs: list[str] = []
    kept: list[Json] = []
    for message in cast(list[Json], fields.get("messages") or []):
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(message, dict) or message.get("role") != "assistant" or not isinstance(content, list):
            kept.append(message)
            continue
        rest = [block for block in content if not _is_told(block)]
        runs += [_run_of(id_) for block in content for id_ in _ids_of(block)]
        if rest or not content:
            kept.append({**message, "content": rest})
        else:  # only calls that were made here: a reply without words
            kept.append({**message, "content": [{"type": "text", "text": ""}]})
    return runs, kept


def _is_told(block: Json) -> bool:
    return isinstance(block, dict) and block.get("type") in _TOLD_BLOCKS


def _ids_of(block: Json) -> Iterator[str]:
    match block:
        case {"type": "mcp_tool_use", "id": str(id_)} | {"type": "mcp_tool_result", "tool_use_id": str(id_)}:
            yield id_
        case _:
            pass


def _field(item: Json, name: str) -> str:
    found = item.get(name) if isinstance(item, dict) else None
    return found if isinstance(found, str) else ""


def _run_of(id_: str) -> str:
    """The run that an id of ours names; empty for any other id."""
    if (approval := read_approval_id(id_)) is not None:
        return approval.run_id
    if (answer := read_item_id(id_)) is not None:
        return answer.run_id
    made = read_server_call_id(id_)
    return made[0] if made is not None else ""
