"""The Anthropic Messages API as a dialect. Pure.

    Request ──encode_request──▶ bytes ──▶ endpoint ──▶ bytes ──decode / decoder──▶ Reply
    Request ◀──decode_request── bytes ◀── client  ◀── bytes ◀──encode_reply / encoder── Reply

The messages of a `Transcript` and a tuple of tools are encoded once, however often a request with them is. Where the
work is done: `anthropic.messages`, `anthropic.request`, `anthropic.decoder`, `anthropic.encoder`. The wire is that of
the types in the official SDK, version 2.11, and of API version 2026-10-21, which differs from 2023-06-01 in what a
request may hold: no `temperature` or `top_p`, no documents in a reply.

Thoughts go back with their signatures, blocks of Anthropic's own tools as they came. What the API can not say: a choice
among some of the tools (only these are then sent), sounds and films (described in words), a reply's own media.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import msgspec
from msgspec import Struct

from ....core.errors import ActumError, ModelError
from ....core.message import (
    Message,
    Reply,
    SystemMessage,
    Transcript,
)
from ....core.model import Request
from ....core.tool import AllowedTools, NamedTool, Tool
from ...base import ApiDecoder
from ...error_answer import ErrorAnswer, anthropic_error, error_answer
from ...loose import Loose
from ...tool_names import ToolNames, names_of
from ...tools_once import OncePerTools
from ..answer_reader import AnswerReader, read_whole
from ..model_errors import error_of_status
from ..native_search import NativeSearch, key_of, native_search
from ..request_extras import put_in
from ..schema_subset import (
    ANTHROPIC_STRICT,
    held_answer,
    loosened,
    narrowed,
    strictly,
)
from ..tool_schema import ANTHROPIC_KEY, shaped, with_own_keys
from ..turns import joined
from .decoder import MessagesAnswer
from .encoder import DEFAULT_ID, MessagesEncoder, encode_reply
from .messages import MessageWriter
from .request import decode_request

ANTHROPIC_NAME = "[a-zA-Z0-9_-]{1,64}"
MAX_TOKENS = 8192
"""The limit of an answer's length where none is asked for: this API wants one. Every Claude since 3.5 says as much."""

_encode = msgspec.json.Encoder().encode


class AnthropicMessages(Struct, frozen=True, kw_only=True):
    """See `base.ApiDialect` for the methods.

    Attributes:
        name: of the dialect.
        name_pattern: regular expression that the endpoint wants tools' names to fit; empty where it takes any.
        max_tokens: the limit of an answer's length where the request has none.
        sampling: `temperature` and `top_p` are sent. Anthropic itself refuses both since API version 2026-10-21;
            servers that speak its API take them.
        strict: the API holds the model to the schemas of all tools, narrowed to what it can hold it to (see `loose`);
            else to those of tools that are strict.
        tool_search: the model takes tools that are loaded where a search found them (`native_search`).
        system_in_place: later instructions stand where they were said, which Claude Opus 4.8 and later take.
    """

    name: str = "anthropic_messages"
    name_pattern: str = ANTHROPIC_NAME
    max_tokens: int = MAX_TOKENS
    sampling: bool = True
    strict: bool = False
    system_in_place: bool = False
    tool_search: bool = False

    def encode_request(self, request: Request) -> bytes:
        """The body of the HTTP request.

        A field in `request.extras` takes the place of one of ours; `output_config` and `tools` are put together with
        ours.
        """
        names, search = names_of(request.tools, self.name_pattern), native_search(request, is_native=self.tool_search)
        body: dict[str, object] = {
            "model": request.model,
            "max_tokens": self.max_tokens if request.max_tokens is None else request.max_tokens,
        }
        if system := _instructions(request.messages):
            body["system"] = system
        body["messages"] = self._messages(request.messages, names, search)
        if request.tools:
            body |= self._tool_fields(request, names, search)
        if self.sampling:
            sampling = {"temperature": request.temperature, "top_p": request.top_p}
            body |= {name: value for name, value in sampling.items() if value is not None}
        if stop := [text for text in request.stop if text.strip()]:  # the API refuses blank ones
            body["stop_sequences"] = stop
        schema = None if request.output_schema is None else held_answer(request.output_schema, ANTHROPIC_STRICT)
        if schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        put_in(body, request.extras, _JOINED)
        if request.stream:
            body["stream"] = True
        return _encode(body)

    def unsaid(self, request: Request) -> tuple[str, ...]:
        """The settings of the request that this API has no field for."""
        names = ("seed",) if self.sampling else ("temperature", "top_p", "seed")
        return tuple(name for name in names if getattr(request, name) is not None)

    def decode_request(self, wire: bytes) -> Request:
        """What a client asks."""
        return decode_request(wire)

    def decode(self, wire: bytes | str, *, tools: Sequence[Tool] = ()) -> Reply:
        """An answer that is all there; a recorded event stream will do as well."""
        return read_whole(self.decoder(tools=tools), wire)

    def decoder(self, *, tools: Sequence[Tool] = ()) -> ApiDecoder:
        """A reader of an answer in pieces; a body that is no event stream will do as well."""
        return with_own_keys(AnswerReader(MessagesAnswer(names_of(tools, self.name_pattern))), tools, ANTHROPIC_KEY)

    def loose(self, tools: Sequence[Tool]) -> tuple[Loose, ...]:
        """The tools that go out without `strict`, because the API can not be told what they take."""
        return loosened(tools, ANTHROPIC_STRICT) if self.strict else ()

    def decode_error(self, status: int, retry_after: float | None, wire: bytes) -> ModelError:
        """The error that an answer with a failing HTTP status means."""
        return error_of_status(status, retry_after, wire)

    def encode_error(self, error: ActumError) -> ErrorAnswer:
        """What a client is answered when there is no reply."""
        return error_answer(error, anthropic_error(error))

    def encode_reply(self, reply: Reply) -> bytes:
        """The body of a whole answer."""
        return encode_reply(reply)

    def encoder(self, *, id_: str = DEFAULT_ID, model: str = "", input_tokens: int = 0) -> MessagesEncoder:
        """A writer of a streamed answer; see `MessagesEncoder` for what it has to be told."""
        return MessagesEncoder(id_=id_, model=model, input_tokens=input_tokens)

    def _messages(self, messages: Sequence[Message], names: ToolNames, search: NativeSearch | None) -> msgspec.Raw:
        write = MessageWriter(names, system_in_place=self.system_in_place, search=search)
        if isinstance(messages, Transcript):
            pieces = messages.render(
                f"{self.name} {self.system_in_place} {self.name_pattern}{names.key}{key_of(search)}", write
            )
        else:
            pieces = [write(message) for message in messages]
        return joined(pieces)

    def _tool_fields(self, request: Request, names: ToolNames, search: NativeSearch | None) -> dict[str, object]:
        """The API can not be told to choose among some of the tools, so it is shown only these."""
        tools, choice = request.tools, request.tool_choice
        if isinstance(choice, AllowedTools):
            tools = tuple([tool for tool in tools if tool.name in choice.names]) or tools
            choice = choice.mode if choice.names else "none"
        encoded = _strict_tools if self.strict else _plain_tools
        fields: dict[str, object] = {
            "tools": encoded(tools, (self.name_pattern, search.names if search is not None else ()))
        }
        chosen: dict[str, object] = {"type": _CHOICES.get(choice, "tool") if isinstance(choice, str) else "tool"}
        if isinstance(choice, NamedTool):
            chosen["name"] = names.wire(choice.name)
        if request.parallel_calls is not None and choice != "none":
            chosen["disable_parallel_tool_use"] = not request.parallel_calls
        return fields if chosen == {"type": "auto"} else fields | {"tool_choice": chosen}


_JOINED = frozenset({"output_config", "tools"})
_CHOICES = {"auto": "auto", "none": "none", "required": "any"}


def _instructions(messages: Sequence[Message]) -> object:
    """Those at the beginning: text, or a block each."""
    said = [message.text for message in takewhile(_is_instruction, messages) if isinstance(message, SystemMessage)]
    texts = [text for text in said if text.strip()]
    return texts[0] if len(texts) == 1 else [{"type": "text", "text": text} for text in texts]


def _is_instruction(message: Message) -> bool:
    return isinstance(message, SystemMessage)


def _encode_tools(tools: tuple[Tool, ...], pattern: str, deferred: tuple[str, ...], *, strict: bool) -> msgspec.Raw:
    names, items = names_of(tools, pattern), []
    for tool in tools:
        name = names.wire(tool.name)
        words = tool.description if name == tool.name else f"{tool.name}: {tool.description}"
        item: dict[str, object] = {"name": name, "description": words} if words else {"name": name}
        told = shaped(tool, ANTHROPIC_KEY)
        held = strictly(told, ANTHROPIC_STRICT) if strict and strictly(tool, ANTHROPIC_STRICT) is not None else None
        if held is None and tool.strict:
            held = narrowed(told.parameters, ANTHROPIC_STRICT)
        schema = told.parameters if held is None else held
        later = {"defer_loading": True} if tool.name in deferred else {}
        items.append(item | {"input_schema": schema} | ({} if held is None else {"strict": True}) | later)
    return msgspec.Raw(_encode(items))


_Told = tuple[str, tuple[str, ...]]
"""The pattern of names, and which tools are loaded where they were found."""
_plain_tools = OncePerTools[_Told, msgspec.Raw](lambda tools, told: _encode_tools(tools, *told, strict=False))
_strict_tools = OncePerTools[_Told, msgspec.Raw](lambda tools, told: _encode_tools(tools, *told, strict=True))

ANTHROPIC_MESSAGES = AnthropicMessages()

ANTHROPIC = AnthropicMessages(sampling=False)
"""As Anthropic itself speaks it."""
