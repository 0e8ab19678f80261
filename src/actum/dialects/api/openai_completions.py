"""The OpenAI Completions API (`/v1/completions`) as a dialect: a text goes in, what the model goes on with comes out.

Base models, vLLM, llama.cpp and SGLang speak it. The conversation is written as one text in the marks of a family's
chat template (`chat_marks`), and the turn ends at their stop texts. Tools are no part of this API: a text dialect
around it says them in the prompt, as `models.open_model` puts them together.

Limits: no media (described in words), no forced tool choice. Served, the prompt comes in as one message of the user.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from ...core.call import TextPart
from ...core.errors import ActumError, ModelError, UsageError
from ...core.event import Delta, TextDelta
from ...core.json import JsonObject, dumps
from ...core.message import (
    Message,
    Reply,
    SystemMessage,
    Usage,
    UserMessage,
)
from ...core.model import Request
from ...core.tool import Tool
from ...protocols.sse import sse
from ..chat_marks import PLAIN, ChatMarks
from ..error_answer import ErrorAnswer, error_answer, openai_error
from ..reply_text import spoken
from .answer_reader import AnswerReader, read_whole
from .cut_short import cut_short
from .draft import Draft
from .model_errors import error_of_field, error_of_status, read_json
from .openai_fields import as_, maybe, maybe_number, read_body
from .raw_json import as_text
from .token_count import count

MAX_TOKENS = 2048
"""Asked for where the request says nothing: servers of this API stop after 16 tokens by themselves."""

_encode = msgspec.json.Encoder().encode


class OpenAiCompletions(Struct, frozen=True, kw_only=True):
    """See `base.ApiDialect` for the methods.

    Attributes:
        marks: how turns are written in the prompt.
    """

    marks: ChatMarks = PLAIN

    @property
    def name(self) -> str:
        """`openai_completions`."""
        return "openai_completions"

    @property
    def max_tokens(self) -> int:
        """The limit of an answer's length where the request has none."""
        return MAX_TOKENS

    def encode_request(self, request: Request) -> bytes:
        """The body of the HTTP request. A field in `request.extras` takes the place of one of ours.

        Raises:
            UsageError: the request has tools, which this API has no place for.
        """
        body: dict[str, object] = {
            "model": request.model,
            "prompt": prompt_of(request, self.marks),
            "max_tokens": request.max_tokens or MAX_TOKENS,
            "stop": list(stops_of(request, self.marks)),
        }
        options = {"temperature": request.temperature, "top_p": request.top_p, "seed": request.seed}
        body |= {name: value for name, value in options.items() if value is not None}
        body |= request.extras
        if request.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return _encode(body)

    def decode_request(self, wire: bytes) -> Request:
        """What a client asks: its prompt as a message of the user."""
        body = read_body(wire)
        prompt = body.get("prompt")
        if isinstance(prompt, list) and len(prompt) == 1:
            prompt = prompt[0]
        stop = body.get("stop") or []
        return Request(
            messages=[UserMessage.of(as_(str, prompt, "prompt"))],
            stop=tuple([as_(str, text, "stop") for text in (stop if isinstance(stop, list) else [stop])]),
            max_tokens=maybe(int, body, "max_tokens"),
            temperature=maybe_number(body, "temperature"),
            top_p=maybe_number(body, "top_p"),
            seed=maybe(int, body, "seed"),
            model=maybe(str, body, "model") or "",
            stream=maybe(bool, body, "stream") or False,
            extras={key: value for key, value in body.items() if key not in _KNOWN},
        )

    def decode(self, wire: bytes | str, *, tools: Sequence[Tool] = ()) -> Reply:
        """An answer that is all there; a recorded event stream will do as well."""
        return read_whole(self.decoder(tools=tools), wire)

    def decoder(self, *, tools: Sequence[Tool] = ()) -> AnswerReader:
        """A reader of an answer in pieces; a body that is no event stream will do as well."""
        return AnswerReader(CompletionsAnswer())

    def decode_error(self, status: int, retry_after: float | None, wire: bytes) -> ModelError:
        """The error that an answer with a failing HTTP status means."""
        return error_of_status(status, retry_after, wire)

    def encode_error(self, error: ActumError) -> ErrorAnswer:
        """What a client is answered when there is no reply."""
        return error_answer(error, {"error": openai_error(error)})

    def encode_reply(self, reply: Reply, *, created: int = 0) -> bytes:
        """The body of a whole answer; `created` in seconds since 1970."""
        head = _head(reply.id or DEFAULT_ID, reply.model, created)
        return _encode(head | {"choices": [_choice(_text(reply), reply)], "usage": _usage(reply.usage)})

    def encoder(self, *, id_: str = "", model: str = "", created: int = 0) -> CompletionsEncoder:
        """A writer of a streamed answer."""
        return CompletionsEncoder(_head(id_ or DEFAULT_ID, model, created))


DEFAULT_ID = "cmpl-actum"
_KNOWN = frozenset(
    {"prompt", "stop", "max_tokens", "temperature", "top_p", "seed", "model", "stream", "stream_options"}
)


class CompletionsAnswer:
    """One answer; see `Answer`. The first choice counts, others are passed over."""

    KIND = "a completion"

    def __init__(self) -> None:
        self.draft = Draft()

    @property
    def reply(self) -> Reply:
        """All that was said so far."""
        usage = self.draft.usage
        return self.draft.reply(Usage(count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))))

    def read_event(self, data: bytes) -> None:
        """Take an event."""
        chunk = read_json(data)
        if not isinstance(chunk, dict):
            return
        if error := chunk.get("error"):
            raise error_of_field(error)
        choices = chunk.get("choices")
        if isinstance(choices, list):
            self.draft.understood = True
            self.draft.learn(chunk.get("id"), chunk.get("model"))
            self.draft.count(chunk.get("usage"))
            self._read_choice(next((item for item in choices if isinstance(item, dict) and not item.get("index")), {}))

    def read_body(self, body: bytes) -> None:
        """Take a whole answer."""
        self.read_event(body)
        self.draft.ended = True

    def finish(self) -> None:
        """Nothing more will come; there are no calls to tell."""

    def _read_choice(self, choice: JsonObject) -> None:
        if reason := as_text(choice.get("finish_reason")):
            self.draft.finish_reason, self.draft.ended = reason, True
        if text := as_text(choice.get("text")):
            self.draft.say(self.draft.run_of(TextPart), text)


class CompletionsEncoder:
    """Writes an answer as events; see `base.Encoder`. Only its text can be said here."""

    def __init__(self, head: JsonObject) -> None:
        self._head = head
        self._began = False

    def feed(self, delta: Delta) -> bytes:
        """The event for this piece; nothing where it is not text."""
        if not isinstance(delta, TextDelta) or not delta.text:
            return b""
        self._began = True
        return self._event(_choice(delta.text))

    def close(self, reply: Reply) -> bytes:
        """The end of the stream, with the whole text if none was told in pieces."""
        events = [self._event(_choice("" if self._began else _text(reply), reply))]
        events.append(sse(_encode(self._head | {"choices": [], "usage": _usage(reply.usage)})))
        return b"".join([*events, sse(b"[DONE]")])

    def fail(self, error: ActumError) -> bytes:
        """The event that ends a stream whose answer did not come to its own end."""
        return sse(_encode({"error": openai_error(error)}))

    def _event(self, choice: JsonObject) -> bytes:
        return sse(_encode(self._head | {"choices": [choice]}))


def prompt_of(request: Request, marks: ChatMarks) -> str:
    """The conversation as one text.

    Raises:
        UsageError: the request has tools.
    """
    if request.tools:
        raise UsageError("a completions endpoint takes no tools: name a text dialect, such as prompt_json")
    messages: list[Message] = list(request.messages)
    if (schema := request.untold_schema) is not None:
        told = f"Answer with JSON that fits this schema, and nothing else: {dumps(schema)}"
        messages.insert(0, SystemMessage(told))
    return marks.render(messages)


def stops_of(request: Request, marks: ChatMarks) -> tuple[str, ...]:
    """The texts at which the model is to stop: those of the request, and where its turn ends."""
    return tuple(dict.fromkeys((*request.stop, *marks.stops)))


def _head(id_: str, model: str, created: int) -> JsonObject:
    return {"id": id_, "object": "text_completion", "created": created, "model": model}


def _choice(text: str, ended: Reply | None = None) -> JsonObject:
    reason = None if ended is None else cut_short(ended) or "stop"
    return {"text": text, "index": 0, "logprobs": None, "finish_reason": reason}


def _text(reply: Reply) -> str:
    return spoken(reply, refusal=True)


def _usage(usage: Usage) -> JsonObject:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
    }


OPENAI_COMPLETIONS = OpenAiCompletions()
