"""Ollama's own API for going on with a text (`/api/generate`, `raw`) as a dialect: past the template of the server.

The prompt is written as in `openai_completions`; a streamed answer is a line of JSON for each piece. Pure.

Limits: as there. Served, the prompt comes in as one message of the user; what `options` hold beyond the fields of a
`Request` are its extras.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from ...core.call import TextPart
from ...core.errors import ActumError, ModelError, ModelGarbled
from ...core.event import Delta, TextDelta
from ...core.json import JsonObject, JsonProblem
from ...core.message import Reply, Usage, UserMessage
from ...core.model import Request
from ...core.tool import Tool
from ..chat_marks import PLAIN, ChatMarks
from ..error_answer import ErrorAnswer, error_answer, ollama_error
from ..reply_text import spoken
from .cut_short import cut_short
from .model_errors import error_of_field, error_of_status, read_json
from .openai_completions import prompt_of, stops_of
from .openai_fields import as_, maybe, maybe_number, read_body
from .token_count import count

_READ = frozenset({"stop", "num_predict", "temperature", "top_p", "seed"})
_encode = msgspec.json.Encoder().encode


class OllamaGenerate(Struct, frozen=True, kw_only=True):
    """See `base.ApiDialect` for the methods.

    Attributes:
        marks: how turns are written in the prompt.
    """

    marks: ChatMarks = PLAIN

    @property
    def name(self) -> str:
        """`ollama_generate`."""
        return "ollama_generate"

    def encode_request(self, request: Request) -> bytes:
        """The body of the HTTP request. Extras are further `options` of Ollama.

        Raises:
            UsageError: the request has tools, which this API has no place for.
        """
        options: JsonObject = {"stop": list(stops_of(request, self.marks))}
        said: JsonObject = {
            "num_predict": request.max_tokens,
            "temperature": request.temperature,
            "top_p": request.top_p,
            "seed": request.seed,
        }
        options |= {name: value for name, value in said.items() if value is not None}
        prompt = prompt_of(request, self.marks)
        head: JsonObject = {"model": request.model, "prompt": prompt, "raw": True, "stream": request.stream}
        return _encode(head | {"options": options | request.extras})

    def decode_request(self, wire: bytes) -> Request:
        """What a client asks: its prompt as a message of the user."""
        body = read_body(wire)
        options = maybe(dict, body, "options") or {}
        stop = maybe(list, options, "stop") or []
        stream = maybe(bool, body, "stream")
        return Request(
            messages=[UserMessage.of(as_(str, body.get("prompt"), "prompt"))],
            stop=tuple([as_(str, text, "options.stop") for text in stop]),
            max_tokens=maybe(int, options, "num_predict"),
            temperature=maybe_number(options, "temperature"),
            top_p=maybe_number(options, "top_p"),
            seed=maybe(int, options, "seed"),
            model=maybe(str, body, "model") or "",
            stream=stream is not False,
            extras={key: options[key] for key in options if key not in _READ},
        )

    def decode(self, wire: bytes | str, *, tools: Sequence[Tool] = ()) -> Reply:
        """An answer that is all there, in one line or several."""
        decoder = self.decoder(tools=tools)
        decoder.feed(wire)
        decoder.close()
        return decoder.reply

    def decoder(self, *, tools: Sequence[Tool] = ()) -> GenerateDecoder:
        """A reader of an answer in pieces."""
        return GenerateDecoder()

    def decode_error(self, status: int, retry_after: float | None, wire: bytes) -> ModelError:
        """The error that an answer with a failing HTTP status means."""
        return error_of_status(status, retry_after, wire)

    def encode_error(self, error: ActumError) -> ErrorAnswer:
        """What a client is answered when there is no reply."""
        return error_answer(error, ollama_error(error))

    def encode_reply(self, reply: Reply) -> bytes:
        """The body of a whole answer."""
        return _encode(_last(reply, spoken(reply, refusal=True)))

    def encoder(self, *, id_: str = "", model: str = "") -> GenerateEncoder:
        """A writer of a streamed answer; this API has no ids."""
        return GenerateEncoder(model)


class GenerateDecoder:
    """Reads one answer, line by line; see `base.ApiDecoder`."""

    def __init__(self) -> None:
        self.ended = False
        self._understood = False
        self._line: list[bytes] = []
        self._pieces: list[str] = []
        self._reply = Reply()

    def feed(self, chunk: bytes | str) -> list[Delta]:
        """Take the next piece.

        Raises:
            ModelError: the stream tells of an error, or is not of this API.
        """
        *lines, rest = (chunk.encode("utf-8", "replace") if isinstance(chunk, str) else chunk).split(b"\n")
        deltas: list[Delta] = []
        for line in lines:
            deltas += self._read(b"".join((*self._line, line)))
            self._line = []
        self._line.append(rest)
        return deltas

    def close(self) -> list[Delta]:
        """The input is at its end.

        Raises:
            ModelGarbled: what came is not an answer of this API.
        """
        rest, self._line = b"".join(self._line), []
        deltas = self._read(rest, may_be_torn=self._understood)
        if not self._understood:
            raise ModelGarbled("the endpoint's answer is none of Ollama's")
        return deltas

    @property
    def reply(self) -> Reply:
        """All that was said so far."""
        text = "".join(self._pieces)
        return msgspec.structs.replace(self._reply, content=(TextPart(text),) if text else ())

    def _read(self, line: bytes, *, may_be_torn: bool = False) -> list[Delta]:
        if not line.strip():
            return []
        try:
            piece = read_json(line)
        except JsonProblem:
            if may_be_torn:
                return []
            raise ModelGarbled("the endpoint's answer is no JSON, or broke off") from None
        if not isinstance(piece, dict):
            return []
        if error := piece.get("error"):
            raise error_of_field(error)
        text = piece.get("response")
        if not isinstance(text, str):
            return []
        self._understood = True
        if piece.get("done"):
            self.ended = True
            usage = Usage(count(piece.get("prompt_eval_count")), count(piece.get("eval_count")))
            reason, model = piece.get("done_reason"), piece.get("model")
            self._reply = Reply((), str(reason or ""), usage, str(model or ""))
        if not text:
            return []
        self._pieces.append(text)
        return [TextDelta(text)]


class GenerateEncoder:
    """Writes an answer line by line; see `base.Encoder`. Only its text can be said here."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._began = False

    def feed(self, delta: Delta) -> bytes:
        """The line for this piece; nothing where it is not text."""
        if not isinstance(delta, TextDelta) or not delta.text:
            return b""
        self._began = True
        return _encode({"model": self._model, "response": delta.text, "done": False}) + b"\n"

    def close(self, reply: Reply) -> bytes:
        """The last line, with the whole text if none was told in pieces."""
        return _encode(_last(reply, "" if self._began else spoken(reply, refusal=True))) + b"\n"

    def fail(self, error: ActumError) -> bytes:
        """The line that ends a stream whose answer did not come to its own end."""
        return _encode(ollama_error(error)) + b"\n"


def _last(reply: Reply, text: str) -> JsonObject:
    return {
        "model": reply.model,
        "response": text,
        "done": True,
        "done_reason": "length" if cut_short(reply) else "stop",
        "prompt_eval_count": reply.usage.input_tokens,
        "eval_count": reply.usage.output_tokens,
    }


OLLAMA_GENERATE = OllamaGenerate()
