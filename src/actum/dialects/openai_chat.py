"""The OpenAI Chat Completions API as a dialect, in its form of today and in that of 2023 (`functions`). Pure.

    Request ──encode_request──▶ bytes ──▶ endpoint ──▶ bytes ──decode / decoder──▶ Reply
    Request ◀──decode_request── bytes ◀── client  ◀── bytes ◀──encode_reply / encoder── Reply

The messages of a `Transcript` and a tuple of tools are encoded once, however often a request with them is. Where the
work is done: `openai_chat_messages`, `openai_chat_request`, `openai_chat_decoder`, `openai_chat_encoder`.

Limits: tool names go out as they are, although OpenAI itself takes only letters, digits, `_` and `-`, at most 64. Media
in a tool's result are described in words. The reasoning of past replies is sent back only where `reasoning_field` says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from ..core.errors import ModelError, ModelGarbled
from ..core.interfaces import AllowedTools, NamedTool, Request
from ..core.json import JsonObject
from ..core.message import Message, Reply, Transcript
from ..core.tool import Tool
from .openai_chat_decoder import ChatDecoder
from .openai_chat_encoder import ChatEncoder, encode_reply
from .openai_chat_error import error_of_status
from .openai_chat_messages import FunctionWriter, ToolWriter
from .openai_chat_request import decode_request

TUPLES_MAX = 32
"""So many different tuples of tools are kept encoded."""

_encode = msgspec.json.Encoder().encode


class OpenAiChat(Struct, frozen=True, kw_only=True):
    """See `base.ApiDialect` for the methods.

    Attributes:
        name: of the dialect.
        functions: speak the form of 2023.
        max_tokens_field: how the endpoint calls the limit of an answer's length.
        reasoning_field: the field in which the endpoint wants its reasoning back beside past calls; empty for none.
    """

    name: str = "openai_chat"
    functions: bool = False
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    reasoning_field: str = ""

    def encode_request(self, request: Request) -> bytes:
        """The body of the HTTP request. A field in `request.extras` takes the place of one of ours."""
        body: dict[str, object] = {"model": request.model, "messages": self._messages(request.messages)}
        if request.tools:
            body |= (_function_fields if self.functions else _tool_fields)(request)
        options = {
            "temperature": request.temperature,
            self.max_tokens_field: request.max_tokens,
            "stop": list(request.stop) or None,
        }
        body |= {name: value for name, value in options.items() if value is not None}
        if request.output_schema is not None:
            schema: JsonObject = {"name": "answer", "schema": request.output_schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        body |= request.extras
        if request.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return _encode(body)

    def decode_request(self, wire: bytes) -> Request:
        """What a client asks, in either form."""
        return decode_request(wire)

    def decode(self, wire: bytes | str, *, tools: Sequence[Tool] = ()) -> Reply:
        """An answer that is all there; a recorded event stream will do as well."""
        if not wire.strip():
            raise ModelGarbled("the endpoint's answer is empty")
        decoder = ChatDecoder()
        decoder.feed(wire)
        decoder.close()
        return decoder.reply

    def decoder(self, *, tools: Sequence[Tool] = ()) -> ChatDecoder:
        """A reader of an answer in pieces; a body that is no event stream will do as well."""
        return ChatDecoder()

    def decode_error(self, status: int, retry_after: float | None, wire: bytes) -> ModelError:
        """The error that an answer with a failing HTTP status means."""
        return error_of_status(status, retry_after, wire)

    def encode_reply(self, reply: Reply, *, created: int = 0) -> bytes:
        """The body of a whole answer; `created` in seconds since 1970."""
        return encode_reply(reply, functions=self.functions, created=created)

    def encoder(
        self, *, id_: str = "chatcmpl-actum", model: str = "", created: int = 0, include_usage: bool = True
    ) -> ChatEncoder:
        """A writer of a streamed answer; see `ChatEncoder` for what it has to be told."""
        return ChatEncoder(functions=self.functions, id_=id_, model=model, created=created, include_usage=include_usage)

    def _messages(self, messages: Sequence[Message]) -> msgspec.Raw:
        write: Callable[[Message], bytes] = FunctionWriter() if self.functions else ToolWriter(self.reasoning_field)
        if isinstance(messages, Transcript):
            pieces = messages.render(f"{self.name} {self.reasoning_field}", write)
        else:
            pieces = [write(message) for message in messages]
        return msgspec.Raw(b"[%s]" % b",".join(pieces))


class _Kept:
    """Remembers what was made of a tuple of tools, by the tuple itself: asking thousands at each step is slow."""

    def __init__(self, make: Callable[[tuple[Tool, ...]], bytes]) -> None:
        self._make = make
        self._kept: dict[int, tuple[tuple[Tool, ...], msgspec.Raw]] = {}

    def __call__(self, tools: tuple[Tool, ...]) -> msgspec.Raw:
        known = self._kept.get(id(tools))
        if known is None:  # the tuple is held with its encoding, so its id is not given to another
            known = self._kept[id(tools)] = (tools, msgspec.Raw(self._make(tools)))
            if len(self._kept) > TUPLES_MAX:
                self._kept.pop(next(iter(self._kept)), None)
        return known[1]


def _function(tool: Tool) -> JsonObject:
    described: JsonObject = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "parameters": tool.parameters}


_encoded_tools = _Kept(lambda tools: _encode([{"type": "function", "function": _function(tool)} for tool in tools]))
_encoded_functions = _Kept(lambda tools: _encode([_function(tool) for tool in tools]))


def _tool_fields(request: Request) -> dict[str, object]:
    fields: dict[str, object] = {"tools": _encoded_tools(request.tools)}
    match request.tool_choice:
        case "auto":
            pass
        case "none" | "required" as word:
            fields["tool_choice"] = word
        case NamedTool(name):
            fields["tool_choice"] = _named(name)
        case AllowedTools(names, mode):
            allowed: JsonObject = {"mode": mode, "tools": [_named(name) for name in names]}
            fields["tool_choice"] = {"type": "allowed_tools", "allowed_tools": allowed}
    if request.parallel_calls is not None:
        fields["parallel_tool_calls"] = request.parallel_calls
    return fields


def _named(name: str) -> JsonObject:
    return {"type": "function", "function": {"name": name}}


def _function_fields(request: Request) -> dict[str, object]:
    """The form of 2023 can demand one function by its name, and nothing else."""
    tools, choice = request.tools, request.tool_choice
    if isinstance(choice, AllowedTools):
        tools = tuple([tool for tool in tools if tool.name in choice.names])
        choice = choice.mode
    if choice == "required" and len(tools) == 1:
        choice = NamedTool(tools[0].name)
    fields: dict[str, object] = {"functions": _encoded_functions(tools)}
    if isinstance(choice, NamedTool):
        fields["function_call"] = {"name": choice.name}
    elif choice == "none":
        fields["function_call"] = "none"
    return fields


OPENAI_CHAT = OpenAiChat()
OPENAI_FUNCTIONS = OpenAiChat(name="openai_functions", functions=True)
