"""The OpenAI Responses API as a dialect. Pure.

    Request ──encode_request──▶ bytes ──▶ endpoint ──▶ bytes ──decode / decoder──▶ Reply
    Request ◀──decode_request── bytes ◀── client  ◀── bytes ◀──encode_reply / encoder── Reply

The messages of a `Transcript` and a tuple of tools are encoded once, however often a request with them is. Where the
work is done: `openai_responses.messages`, `_request`, `_decoder`, `_encoder`; `_items` is for what we have no noun for.

The whole conversation goes out each time, with the model's own reasoning in its place. A program that would rather have
the endpoint remember it sends `previous_response_id` in `extras`, and only the new messages.

Limits: this API has no stop texts, so those of a request are not sent; sound and film are described in words. Tools go
out with `strict: false` unless they or the dialect ask for it, because the API would otherwise make every optional
parameter a required one.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from ....core.errors import ActumError, ModelError
from ....core.json import Json, JsonObject
from ....core.message import (
    Message,
    Reply,
    SystemMessage,
    Transcript,
)
from ....core.model import Request
from ....core.tool import AllowedTools, NamedTool, Tool
from ...base import ApiDecoder
from ...error_answer import ErrorAnswer, error_answer, openai_error
from ...loose import Loose
from ...tool_names import ToolNames, names_of
from ...tools_once import OncePerTools
from ..answer_reader import AnswerReader, read_whole
from ..model_errors import error_of_status
from ..native_search import NativeSearch, key_of, native_search
from ..schema_subset import OPENAI_STRICT, loosened, openai_answer, strictly, with_left_out
from ..tool_schema import shaped
from .decoder import ResponsesAnswer
from .encoder import DEFAULT_ID, ResponsesEncoder, encode_reply
from .messages import ItemWriter
from .request import decode_request

_encode = msgspec.json.Encoder().encode


class OpenAiResponses(Struct, frozen=True, kw_only=True):
    """See `base.ApiDialect` for the methods.

    Attributes:
        name: of the dialect.
        name_pattern: regular expression that the endpoint's tool names must fit; others go out under stand-ins. Empty
            where it takes any name, as local servers do.
        strict: the endpoint holds the model to the tools' schemas, as far as it can be asked to (`loose`).
        tool_search: the model takes tools that are loaded where a search found them (`native_search`).
    """

    name: str = "openai_responses"
    name_pattern: str = ""
    strict: bool = False
    tool_search: bool = False

    def encode_request(self, request: Request) -> bytes:
        """The body of the HTTP request. A field in `request.extras` takes the place of one of ours."""
        names, search = names_of(request.tools, self.name_pattern), native_search(request, is_native=self.tool_search)
        body: dict[str, object] = {"model": request.model, **self._conversation(request, names, search)}
        if request.tools:
            encoded = _strict_tools if self.strict else _encoded_tools
            told = (self.name_pattern, search.name, search.names) if search is not None else (self.name_pattern, "", ())
            body |= {"tools": encoded(request.tools, told), **_choice_fields(request, names)}
        options = {
            "temperature": request.temperature,
            "top_p": request.top_p,
            "max_output_tokens": request.max_tokens,
        }
        body |= {name: value for name, value in options.items() if value is not None}
        body |= request.extras
        if request.output_schema is not None:
            text = request.extras.get("text")
            form = {"type": "json_schema", **openai_answer(request.output_schema, strict=self.strict)}
            body["text"] = {"format": form, **(text if isinstance(text, dict) else {})}
        if request.stream:
            body["stream"] = True
        return _encode(body)

    def unsaid(self, request: Request) -> tuple[str, ...]:
        """The settings of the request that this API has no field for."""
        return tuple(name for name in ("seed", "stop") if getattr(request, name) not in (None, ()))

    def decode_request(self, wire: bytes) -> Request:
        """What a client asks."""
        return decode_request(wire)

    def decode(self, wire: bytes | str, *, tools: Sequence[Tool] = ()) -> Reply:
        """An answer that is all there; a recorded event stream will do as well."""
        return read_whole(self.decoder(tools=tools), wire)

    def decoder(self, *, tools: Sequence[Tool] = ()) -> ApiDecoder:
        """A reader of an answer in pieces; a body that is no event stream will do as well."""
        decoder = AnswerReader(ResponsesAnswer(names_of(tools, self.name_pattern)))
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
        return encode_reply(reply, created=created)

    def encoder(
        self, *, id_: str = DEFAULT_ID, model: str = "", created: int = 0, fields: JsonObject | None = None
    ) -> ResponsesEncoder:
        """A writer of a streamed answer; see `ResponsesEncoder` for what it has to be told."""
        return ResponsesEncoder(id_=id_, model=model, created=created, fields=fields)

    def _conversation(self, request: Request, names: ToolNames, search: NativeSearch | None) -> dict[str, object]:
        """The first instructions have a field of their own; they are not part of what the endpoint remembers."""
        messages = request.messages
        is_stored = request.extras.get("store") is not False
        loaded: dict[str, JsonObject] = {}
        if search is not None:
            strict = self.strict
            loaded = {name: _function(tool, names, strict=strict) | _LATER for name, tool in search.found.items()}
        write = ItemWriter(names, is_stored=is_stored, search=search.name if search is not None else "", loaded=loaded)
        pieces = self._pieces(messages, write, f"{is_stored}{names.key}{key_of(search)}")
        first = messages[0] if messages else None
        fields: dict[str, object] = {}
        if isinstance(first, SystemMessage):
            fields["instructions"] = first.text
            pieces = pieces[1:]
        return fields | {"input": msgspec.Raw(b"[%s]" % b",".join(filter(None, pieces)))}

    def _pieces(self, messages: Sequence[Message], write: ItemWriter, way: str) -> list[bytes]:
        if isinstance(messages, Transcript):
            return messages.render(f"{self.name} {self.name_pattern} {way}", write)
        return [write(message) for message in messages]


def _function(tool: Tool, names: ToolNames, *, strict: bool) -> JsonObject:
    name, words = names.told(tool)
    described: JsonObject = {"description": words} if words else {}
    held = strictly(tool, OPENAI_STRICT) if strict else None
    parameters, is_strict = (shaped(tool).parameters, tool.strict) if held is None else (held, True)
    return {"type": "function", "name": name, **described, "parameters": parameters, "strict": is_strict}


_LATER: JsonObject = {"defer_loading": True}


def _search_tool(tool: Tool) -> JsonObject:
    return {
        "type": "tool_search",
        "execution": "client",
        "description": tool.description,
        "parameters": shaped(tool).parameters,
    }


def _encode_tools(
    tools: tuple[Tool, ...], pattern: str, search: str, found: tuple[str, ...], *, strict: bool
) -> msgspec.Raw:
    names = names_of(tools, pattern)
    told = [
        _search_tool(tool) if tool.name == search else _function(tool, names, strict=strict)
        for tool in tools
        if tool.name not in found
    ]
    return msgspec.Raw(_encode(told))


_Told = tuple[str, str, tuple[str, ...]]
"""The pattern of names, the tool that is the API's own search, and which tools are told where they were found."""
_encoded_tools = OncePerTools[_Told, msgspec.Raw](lambda tools, told: _encode_tools(tools, *told, strict=False))
_strict_tools = OncePerTools[_Told, msgspec.Raw](lambda tools, told: _encode_tools(tools, *told, strict=True))


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
            chosen: list[Json] = [_named(names.wire(name)) for name in allowed]
            fields["tool_choice"] = {"type": "allowed_tools", "mode": mode, "tools": chosen}
    if request.parallel_calls is not None:
        fields["parallel_tool_calls"] = request.parallel_calls
    return fields


def _named(name: str) -> JsonObject:
    return {"type": "function", "name": name}


OPENAI_RESPONSES = OpenAiResponses()
