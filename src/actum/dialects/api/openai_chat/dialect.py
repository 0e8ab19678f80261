"""The OpenAI Chat Completions API as a dialect, in its form of today and in that of 2023 (`functions`). Pure.

    Request ──encode_request──▶ bytes ──▶ endpoint ──▶ bytes ──decode / decoder──▶ Reply
    Request ◀──decode_request── bytes ◀── client  ◀── bytes ◀──encode_reply / encoder── Reply

The messages of a `Transcript` and a tuple of tools are encoded once, however often a request with them is. Where the
work is done: `openai_chat.messages`, `openai_chat.request`, `openai_chat.decoder`, `openai_chat.encoder`.

Limits: media in a tool's result are described in words. Of the reasoning of past replies only what stood beside calls
is sent back, and only to who said it (`openai_chat.beside`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec
from msgspec import Struct, structs

from ....core.errors import ActumError, ModelError
from ....core.json import Json, JsonObject
from ....core.message import Message, Reply, Transcript
from ....core.model import Request
from ....core.tool import AllowedTools, NamedTool, Tool
from ...base import ApiDecoder
from ...error_answer import ErrorAnswer, error_answer, openai_error
from ...loose import Loose
from ...tool_names import ToolNames, names_of
from ...tools_once import OncePerTools
from ..answer_reader import AnswerReader, read_whole
from ..model_errors import error_of_status
from ..schema_subset import OPENAI_STRICT, loosened, openai_answer, strictly, with_left_out
from ..tool_schema import shaped
from .beside import THOUGHT_FIELDS
from .decoder import ChatAnswer
from .encoder import ChatEncoder, encode_reply
from .messages import FunctionWriter, ToolWriter
from .request import decode_request

_encode = msgspec.json.Encoder().encode


class OpenAiChat(Struct, frozen=True, kw_only=True):
    """See `base.ApiDialect` for the methods.

    Attributes:
        name: of the dialect.
        functions: speak the form of 2023.
        max_tokens_field: how the endpoint calls the limit of an answer's length.
        reasoning_field: the field that the endpoint wants beside past calls, also where nobody knows who said them;
            empty for none.
        returned: the fields that go back beside past calls to the endpoint and the model that said them; see `beside`.
        at: the endpoint and the model that are asked, in a word; empty where nobody knows.
        name_pattern: regular expression that the endpoint's tool names must fit; others go out under stand-ins. Empty
            where it takes any name, as local servers do.
        strict: the endpoint holds the model to the tools' schemas, as far as it can be asked to (`loose`).
    """

    name: str = "openai_chat"
    functions: bool = False
    strict: bool = False
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    reasoning_field: str = ""
    returned: tuple[str, ...] = THOUGHT_FIELDS
    at: str = ""
    name_pattern: str = ""

    def encode_request(self, request: Request) -> bytes:
        """The body of the HTTP request. A field in `request.extras` takes the place of one of ours."""
        names = names_of(request.tools, self.name_pattern)
        body: dict[str, object] = {"model": request.model, "messages": self._messages(request.messages, names)}
        if request.tools:
            body |= (_function_fields if self.functions else self._tool_fields)(request, names, self.name_pattern)
        options = {
            "temperature": request.temperature,
            "top_p": request.top_p,
            "seed": request.seed,
            self.max_tokens_field: request.max_tokens,
            "stop": list(request.stop) or None,
        }
        body |= {name: value for name, value in options.items() if value is not None}
        if request.output_schema is not None:
            schema = openai_answer(request.output_schema, strict=self.strict)
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        body |= request.extras
        if request.stream:
            body |= {"stream": True, "stream_options": self._stream_options(request.extras.get("stream_options"))}
            if not body["stream_options"]:
                del body["stream_options"]
        return _encode(body)

    def decode_request(self, wire: bytes) -> Request:
        """What a client asks, in either form."""
        return decode_request(wire)

    def decode(self, wire: bytes | str, *, tools: Sequence[Tool] = ()) -> Reply:
        """An answer that is all there; a recorded event stream will do as well."""
        return read_whole(self.decoder(tools=tools), wire)

    def decoder(self, *, tools: Sequence[Tool] = ()) -> ApiDecoder:
        """A reader of an answer in pieces; a body that is no event stream will do as well."""
        decoder = AnswerReader(ChatAnswer(names_of(tools, self.name_pattern), self.at, self.returned))
        return with_left_out(decoder, tools) if self.strict else decoder

    def loose(self, tools: Sequence[Tool]) -> tuple[Loose, ...]:
        """The tools that go out without `strict`, because the API can not be told what they take."""
        return loosened(tools, OPENAI_STRICT) if self.strict else ()

    def decode_error(self, status: int, retry_after: float | None, wire: bytes) -> ModelError:
        """The error that an answer with a failing HTTP status means."""
        return error_of_status(status, retry_after, wire)

    def encode_error(self, error: ActumError) -> ErrorAnswer:
        """What a client is answered when there is no reply."""
        return error_answer(error, {"error": openai_error(error)})

    def encode_reply(self, reply: Reply, *, created: int = 0) -> bytes:
        """The body of a whole answer; `created` in seconds since 1970."""
        return encode_reply(reply, functions=self.functions, created=created)

    def encoder(
        self, *, id_: str = "chatcmpl-actum", model: str = "", created: int = 0, include_usage: bool = True
    ) -> ChatEncoder:
        """A writer of a streamed answer; see `ChatEncoder` for what it has to be told."""
        return ChatEncoder(functions=self.functions, id_=id_, model=model, created=created, include_usage=include_usage)

    def _tool_fields(self, request: Request, names: ToolNames, pattern: str) -> dict[str, object]:
        encoded = _strict_tools if self.strict else _encoded_tools
        return {"tools": encoded(request.tools, pattern), **_choice_fields(request, names)}

    def _stream_options(self, asked: Json) -> JsonObject:
        """With the usage at the end of the stream, which nobody could ask for in 2023."""
        more = asked if isinstance(asked, dict) else {}
        if self.functions:
            return {name: value for name, value in more.items() if name != "include_usage"}
        return {**more, "include_usage": True}

    def _messages(self, messages: Sequence[Message], names: ToolNames) -> msgspec.Raw:
        write: Callable[[Message], bytes]
        write = (
            FunctionWriter(names) if self.functions else ToolWriter(names, self.reasoning_field, self.at, self.returned)
        )
        if isinstance(messages, Transcript):
            kept = f"{self.reasoning_field} {self.at} {' '.join(self.returned)}"
            pieces = messages.render(f"{self.name} {kept} {self.name_pattern}{names.key}", write)
        else:
            pieces = [write(message) for message in messages]
        return msgspec.Raw(b"[%s]" % b",".join(pieces))


def _function(tool: Tool, names: ToolNames, *, strict: bool = False) -> JsonObject:
    name, words = names.told(tool)
    described: JsonObject = {"description": words} if words else {}
    held = strictly(tool, OPENAI_STRICT) if strict else None
    is_strict: JsonObject = {"strict": True} if held is not None or tool.strict else {}
    return {"name": name, **described, "parameters": shaped(tool).parameters if held is None else held, **is_strict}


def _encode_functions(tools: tuple[Tool, ...], names: ToolNames) -> msgspec.Raw:
    """As in 2023, when nobody could be strict."""
    return msgspec.Raw(_encode([_function(structs.replace(tool, strict=False), names) for tool in tools]))


def _encode_tools(tools: tuple[Tool, ...], pattern: str, *, strict: bool) -> msgspec.Raw:
    names = names_of(tools, pattern)
    functions = [_function(tool, names, strict=strict) for tool in tools]
    return msgspec.Raw(_encode([{"type": "function", "function": function} for function in functions]))


_encoded_tools = OncePerTools[str, msgspec.Raw](lambda tools, pattern: _encode_tools(tools, pattern, strict=False))
_strict_tools = OncePerTools[str, msgspec.Raw](lambda tools, pattern: _encode_tools(tools, pattern, strict=True))
_encoded_functions = OncePerTools[str, msgspec.Raw](
    lambda tools, pattern: _encode_functions(tools, names_of(tools, pattern))
)


def _choice_fields(request: Request, names: ToolNames) -> dict[str, object]:
    fields: dict[str, object] = {}
    match request.tool_choice:
        case "auto":
            pass
        case "none" | "required" as word:
            fields["tool_choice"] = word
        case NamedTool(name):
            fields["tool_choice"] = _named(names.wire(name))
        case AllowedTools(allowed, mode):
            chosen: JsonObject = {"mode": mode, "tools": [_named(names.wire(name)) for name in allowed]}
            fields["tool_choice"] = {"type": "allowed_tools", "allowed_tools": chosen}
    if request.parallel_calls is not None:
        fields["parallel_tool_calls"] = request.parallel_calls
    return fields


def _named(name: str) -> JsonObject:
    return {"type": "function", "function": {"name": name}}


def _function_fields(request: Request, names: ToolNames, pattern: str) -> dict[str, object]:
    """The form of 2023 can demand one function by its name, and nothing else."""
    tools, choice = request.tools, request.tool_choice
    fields: dict[str, object] = {}
    if isinstance(choice, AllowedTools):
        tools = tuple([tool for tool in tools if tool.name in choice.names]) or tools
        choice = choice.mode if choice.names else "none"
        fields["functions"] = _encode_functions(tools, names)
    else:
        fields["functions"] = _encoded_functions(tools, pattern)
    if choice == "required" and len(tools) == 1:
        choice = NamedTool(tools[0].name)
    if isinstance(choice, NamedTool):
        fields["function_call"] = {"name": names.wire(choice.name)}
    elif choice == "none":
        fields["function_call"] = "none"
    return fields


OPENAI_CHAT = OpenAiChat()
OPENAI_FUNCTIONS = OpenAiChat(name="openai_functions", functions=True)
