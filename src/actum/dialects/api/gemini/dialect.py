"""The Gemini API (`generateContent`) as a dialect. Pure.

    Request ──encode_request──▶ bytes ──▶ endpoint ──▶ bytes ──decode / decoder──▶ Reply
    Request ◀──decode_request── bytes ◀── client  ◀── bytes ◀──encode_reply / encoder── Reply

The messages of a `Transcript` and a tuple of tools are encoded once, however often a request with them is. Where the
work is done: `gemini.messages`, `gemini.request`, `gemini.decoder`, `gemini.encoder`,
`schema_subset`. The wire is that of the types in the official SDK, version 3.4. The model's name and the wish for a
stream stand in the address, not in the body: an endpoint's path and a server's route carry them.

Schemas go out as the API's `Schema`, a part of JSON Schema: what it has no word for (bounds that exclude, constants
that are no strings, patterns of names, formats of its own choosing) is said in the description, references are put in
place, and one inside itself becomes any object. What the API can not say: whether to call in parallel.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import msgspec
from msgspec import Struct

from ....core.errors import ActumError, ModelError
from ....core.json import JsonProblem
from ....core.message import (
    Message,
    Reply,
    SystemMessage,
    Transcript,
)
from ....core.model import Request
from ....core.tool import AllowedTools, NamedTool, Tool
from ...base import ApiDecoder
from ...error_answer import ErrorAnswer, error_answer, gemini_error
from ...tool_names import ToolNames, names_of
from ...tools_once import OncePerTools
from ..answer_reader import AnswerReader, read_whole
from ..model_errors import error_of_status, read_json
from ..request_extras import put_in
from ..schema_subset import GEMINI, narrowed
from ..tool_schema import GEMINI_KEY, shaped, with_own_keys
from ..turns import joined
from .decoder import ContentAnswer, retry_delay
from .encoder import ContentEncoder, encode_reply
from .messages import ContentWriter
from .request import decode_request

STOPS_MAX = 5
"""The most stop texts that the API takes; the code that reads the answer must find the others."""

GEMINI_NAME = "[a-zA-Z_][a-zA-Z0-9_.-]{0,62}"

_encode = msgspec.json.Encoder().encode


class GeminiContent(Struct, frozen=True, kw_only=True):
    """See `base.ApiDialect` for the methods.

    Attributes:
        name: of the dialect.
        name_pattern: regular expression that the endpoint wants tools' names to fit; empty where it takes any.
        strict: the API holds the model to the tools' schemas also where it may choose (mode `VALIDATED`).
        schema_beside_tools: a schema of the answer is sent beside tools too, which Gemini 3 takes and older refuse.
    """

    name: str = "gemini_content"
    name_pattern: str = GEMINI_NAME
    strict: bool = False
    schema_beside_tools: bool = False

    def encode_request(self, request: Request) -> bytes:
        """The body of the HTTP request.

        A field in `request.extras` takes the place of one of ours; `generationConfig`, `toolConfig` and `tools` are
        put together with ours.
        """
        names = names_of(request.tools, self.name_pattern)
        instructions = [_part(message) for message in takewhile(_is_instruction, request.messages)]
        body: dict[str, object] = {"systemInstruction": {"parts": instructions}} if instructions else {}
        body |= {"contents": self._contents(request.messages, names)}
        if request.tools:
            body |= self._tool_fields(request, names)
        if options := self._options(request):
            body["generationConfig"] = options
        put_in(body, request.extras, _JOINED)
        return _encode(body)

    def unsaid(self, request: Request) -> tuple[str, ...]:
        """The settings of the request that this API has no field for."""
        return (f"stop (only {STOPS_MAX} texts)",) if len(request.stop) > STOPS_MAX else ()

    def decode_request(self, wire: bytes) -> Request:
        """What a client asks, but for the model and whether to stream."""
        return decode_request(wire)

    def decode(self, wire: bytes | str, *, tools: Sequence[Tool] = ()) -> Reply:
        """An answer that is all there; a recorded event stream will do as well."""
        return read_whole(self.decoder(tools=tools), wire)

    def decoder(self, *, tools: Sequence[Tool] = ()) -> ApiDecoder:
        """A reader of an answer in pieces; a body that is no event stream will do as well."""
        reader = AnswerReader(ContentAnswer(names_of(tools, self.name_pattern)))
        return with_own_keys(reader, tools, GEMINI_KEY)

    def decode_error(self, status: int, retry_after: float | None, wire: bytes) -> ModelError:
        """The error that an answer with a failing HTTP status means. This API says in the body when to come back."""
        if retry_after is None:
            try:
                retry_after = retry_delay(read_json(wire))
            except JsonProblem:
                retry_after = None
        return error_of_status(status, retry_after, wire)

    def encode_error(self, error: ActumError) -> ErrorAnswer:
        """What a client is answered when there is no reply."""
        return error_answer(error, gemini_error(error))

    def encode_reply(self, reply: Reply) -> bytes:
        """The body of a whole answer."""
        return encode_reply(reply)

    def encoder(self, *, id_: str = "", model: str = "") -> ContentEncoder:
        """A writer of a streamed answer; see `ContentEncoder` for what it has to be told."""
        return ContentEncoder(id_=id_, model=model)

    def _contents(self, messages: Sequence[Message], names: ToolNames) -> msgspec.Raw:
        write = ContentWriter(names)
        if isinstance(messages, Transcript):
            pieces = messages.render(f"{self.name} {self.name_pattern}{names.key}", write)
        else:
            pieces = [write(message) for message in messages]
        return joined(pieces)

    def _tool_fields(self, request: Request, names: ToolNames) -> dict[str, object]:
        fields: dict[str, object] = {
            "tools": [{"functionDeclarations": _encoded_tools(request.tools, self.name_pattern)}]
        }
        calling: dict[str, object] = {}
        match request.tool_choice:
            case "auto":
                calling = {"mode": "VALIDATED"} if self.strict else {}
            case "none" | "required" as word:
                calling = {"mode": "NONE" if word == "none" else "ANY"}
            case NamedTool(name):
                calling = {"mode": "ANY", "allowedFunctionNames": [names.wire(name)]}
            case AllowedTools(()):
                calling = {"mode": "NONE"}
            case AllowedTools(allowed, mode):
                allowed_names = [names.wire(name) for name in allowed]
                calling = {"mode": "ANY" if mode == "required" else "VALIDATED", "allowedFunctionNames": allowed_names}
        return fields | {"toolConfig": {"functionCallingConfig": calling}} if calling else fields

    def _options(self, request: Request) -> dict[str, object]:
        options: dict[str, object] = {
            "temperature": request.temperature,
            "topP": request.top_p,
            "seed": request.seed,
            "maxOutputTokens": request.max_tokens,
            "stopSequences": list(request.stop[:STOPS_MAX]) or None,
        }
        if request.output_schema is not None and (self.schema_beside_tools or not request.tools):
            schema = narrowed(request.output_schema, GEMINI)
            options |= {"responseMimeType": "application/json", "responseSchema": schema}
        return {name: value for name, value in options.items() if value is not None}


_JOINED = frozenset({"generationConfig", "toolConfig", "tools"})


def _is_instruction(message: Message) -> bool:
    return isinstance(message, SystemMessage)


def _part(message: Message) -> dict[str, str]:
    return {"text": message.text if isinstance(message, SystemMessage) else ""}


def _declaration(tool: Tool, names: ToolNames) -> dict[str, object]:
    name = names.wire(tool.name)
    words = tool.description if name == tool.name else f"{tool.name}: {tool.description}"
    item: dict[str, object] = {"name": name, "description": words} if words else {"name": name}
    schema = narrowed(shaped(tool, GEMINI_KEY).parameters, GEMINI)
    return item | {"parameters": {"type": "object", **schema}} if schema.get("properties") else item


_encoded_tools = OncePerTools[str, msgspec.Raw](
    lambda tools, pattern: msgspec.Raw(_encode([_declaration(tool, names_of(tools, pattern)) for tool in tools]))
)

GEMINI_CONTENT = GeminiContent()

GEMINI_API = GeminiContent(schema_beside_tools=True)
"""As Google itself speaks it. Models before Gemini 3 refuse a schema beside tools; an endpoint then asks without it."""
