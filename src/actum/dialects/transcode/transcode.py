"""One API's words in another's: requests, answers and streams, from any dialect to any. Pure.

    bytes ──decode with the source──▶ Request or Reply ──encode with the target──▶ bytes, and a list of what was lost

A stream is passed on as it comes, in any cut: each piece is decoded and encoded once, and nothing waits but what the
target can only say whole. What a target can not say is in the list and not in silence; see `losses` for how it is
found. Fields of the provider's own are carried where the target is the same API, or has a field of the same meaning
(`shared_fields`).

A stream in a dialect of text may prove to be a thought when a mark comes that closes it (`ThoughtEnded`). No call is
sent as long as that can happen. Text is sent at once, and text that was a thought stays text: it is among the losses.

Limits: bodies only. What stands in an address or a header (the model and the wish for a stream at Gemini, versions,
keys) is for who sends them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct, structs

from ...core.errors import (
    ModelError,
    ModelGarbled,
    ModelUnavailable,
    UsageError,
)
from ...core.event import (
    CallDelta,
    CallSaid,
    Delta,
    TextDelta,
    ThoughtEnded,
)
from ...core.json import JsonObject, JsonProblem, dumps
from ...core.message import Reply
from ...core.tool import Tool
from ..api.model_errors import read_json
from ..api.shared_fields import moved
from ..api.signatures import claimed
from ..api.unread import unread
from ..base import (
    ApiDialect,
    Decoder,
    Encoder,
    TextDialect,
)
from ..catalog import dialect
from ..losses import (
    Loss,
    of_reply,
    of_request,
    shortened,
)
from ..tool_names import names_of

Kind = Literal["request", "response", "stream"]

ALIASES = {
    "anthropic": "anthropic_messages",
    "functions": "openai_functions",
    "gemini": "gemini_content",
    "openai": "openai_chat",
    "responses": "openai_responses",
}
"""Short names of the API dialects."""

_REQUEST_FIELDS = frozenset({"messages", "input", "contents"})
_BLANK = b"\xef\xbb\xbf \t\r\n"


class Transcoded(Struct, frozen=True):
    """What was said, in the target's words.

    Attributes:
        wire: a body, or an event stream.
        kind: what it is.
        lost: what the target was not told, or not as it was.
        error: that the source says there is no answer, or its stream broke off; `wire` then says so too.
    """

    wire: bytes
    kind: Kind
    lost: tuple[Loss, ...] = ()
    error: ModelError | None = None


def transcode(
    wire: bytes | str,
    source: str | ApiDialect | TextDialect,
    target: str | ApiDialect | TextDialect,
    *,
    kind: Kind | Literal["auto"] = "auto",
    tools: Sequence[Tool] = (),
    model: str = "",
) -> Transcoded:
    """Say in one API what was said in another: a request, an answer, or a recorded stream. For one that comes in
    pieces there is `Transcoder`.

    Args:
        wire: the body. Where the source is a dialect of text, what the model wrote.
        source: the dialect that it is in: a name of `actum.dialects.names()`, a short one (`openai`, `responses`,
            `anthropic`, `gemini`), or a dialect.
        target: the dialect that it is wanted in, likewise.
        kind: `request`, `response` or `stream`; `auto` finds out.
        tools: of the request that an answer is to: their names come back as the client knows them, and a dialect of
            text needs their schemas.
        model: a model's name to write in place of the source's.

    Returns:
        The body in the target's words, and what was lost on the way.

    Raises:
        UsageError: it is no request of the source, or the pair can not say this kind.
        ModelGarbled: it is no answer of the source.

    >>> asked = b'{"model": "m", "max_tokens": 9, "top_k": 5, "messages": [{"role": "user", "content": "Hi"}]}'
    >>> found = transcode(asked, "anthropic", "openai")
    >>> found.wire
    b'{"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":9}'
    >>> print(*found.lost)
    top_k: 5: openai_chat has no field of this meaning
    """
    data = wire.encode("utf-8", "replace") if isinstance(wire, str) else wire
    spoken, written = find(source), find(target)
    if kind == "auto":
        kind = kind_of(data, spoken)
    if kind == "request":
        return _request(data, _api(spoken, "a request"), _api(written, "a request"), model)
    if kind == "stream":
        transcoder = Transcoder(spoken, written, tools=tools, model=model)
        told = transcoder.feed(data) + transcoder.close()
        return Transcoded(told, "stream", transcoder.lost, transcoder.error)
    return _response(data, spoken, written, tools, model)


class Transcoder:
    r"""Passes a stream on in another API's words, piece by piece.

    Args:
        source, target, tools, model: see `transcode`. The target is an API.

    Attributes:
        lost: what the target was not told; whole after `close`.
        error: that the source said there is no answer, or broke off; the target was told of it.

    Raises:
        UsageError: the target is a dialect of text, which has no stream of its own.

    >>> transcoder = Transcoder("anthropic", "openai")
    >>> piece = b'data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}'
    >>> transcoder.feed(piece), b'"content":"Hi"' in transcoder.feed(b"\n\n")
    (b'', True)
    """

    def __init__(
        self,
        source: str | ApiDialect | TextDialect,
        target: str | ApiDialect | TextDialect,
        *,
        tools: Sequence[Tool] = (),
        model: str = "",
    ) -> None:
        self.lost: tuple[Loss, ...] = ()
        self.error: ModelError | None = None
        self._source, self._target = find(source), _api(find(target), "a stream")
        self._decoder: Decoder = self._source.decoder(tools=tools)
        self._encoder: Encoder | None = None
        self._model = model
        self._by_events = isinstance(self._source, ApiDialect)
        self._unsettled = not self._by_events
        self._held: list[Delta] = []
        self._sent: list[str] = []
        self._thought = ""

    def feed(self, chunk: bytes | str) -> bytes:
        """Take the next piece, and return what can be said by now; nothing after an error."""
        told = []
        for piece in _events(chunk) if self._by_events else [chunk]:
            if self.error is not None:
                break
            try:
                told.append(self._say(self._decoder.feed(piece)))
            except ModelError as error:
                told.append(self._fail(error))
        return b"".join(told)

    def close(self) -> bytes:
        """The stream is at its end: return the rest."""
        if self.error is not None:
            return b""
        try:
            deltas = self._decoder.close()
        except ModelError as error:
            return self._fail(error)
        if not getattr(self._decoder, "ended", True):  # a text has no other end than this
            whole = [delta for delta in deltas if not isinstance(delta, CallSaid) or delta.call.complete]
            return self._say(whole) + self._fail(ModelUnavailable("the answer broke off"))
        said = _named(self._decoder.reply, self._model)
        written = _without_extras(said, self._source, self._target)
        told = self._say(deltas) + self._begun().close(written)
        lost = _lost_of_reply(said, self._target.decode(self._target.encode_reply(written)), self._target)
        if self._thought:
            lost.append(Loss("reasoning", shortened(self._thought), _SENT_AS_TEXT))
        self.lost = tuple(lost)
        return told

    def _say(self, deltas: Sequence[Delta]) -> bytes:
        if not self._unsettled:
            return b"".join([self._begun().feed(delta) for delta in deltas])
        told = [self._say_unsettled(delta) for delta in deltas]
        if getattr(self._decoder, "settled", True):
            held, self._held, self._unsettled = self._held, [], False
            told.append(self._say(held))
        return b"".join(told)

    def _say_unsettled(self, delta: Delta) -> bytes:
        """A piece of a text that may prove to be a thought: from the first call on, all waits."""
        if isinstance(delta, ThoughtEnded):
            self._held, self._thought = [], "".join(self._sent)
            return self._begun().feed(TextDelta("\n\n")) if self._thought else b""
        if self._held or isinstance(delta, CallDelta | CallSaid):
            self._held.append(delta)
            return b""
        if isinstance(delta, TextDelta):
            self._sent.append(delta.text)
        return self._begun().feed(delta)

    def _fail(self, error: ModelError) -> bytes:
        self.error = error
        return self._begun().fail(error)

    def _begun(self) -> Encoder:
        """The encoder, which has to know the id and the model of the answer: its first event tells them."""
        if self._encoder is None:
            head = _named(self._decoder.reply, self._model)
            known = {"id_": head.id, "model": head.model}
            self._encoder = self._target.encoder(**{name: value for name, value in known.items() if value})
        return self._encoder


_SENT_AS_TEXT = "it was sent as text before the mark came that makes reasoning of it"


def kind_of(wire: bytes, source: ApiDialect | TextDialect) -> Kind:
    """Whether these are a request, an answer or a stream of one, by how they begin and which fields they have.

    The beginning is enough to tell a stream from what is none.

    Raises:
        UsageError: there is nothing.
    """
    begin = wire.lstrip(_BLANK)[:1]
    if not begin:
        raise UsageError("there is nothing to read")
    if not isinstance(source, ApiDialect):
        return "response"
    if begin != b"{":
        return "stream"
    try:
        body = read_json(wire)
    except JsonProblem:
        return "response"  # whose reader says what is wrong
    return "request" if isinstance(body, dict) and not _REQUEST_FIELDS.isdisjoint(body) else "response"


def _request(wire: bytes, source: ApiDialect, target: ApiDialect, model: str) -> Transcoded:
    request = source.decode_request(wire)
    api, lost = target.name, list(unread(wire, _api_name(source), _api_name(target)))
    extras, left = request.extras, JsonObject()
    if _api_name(source) != _api_name(target):
        extras, left = moved(extras, _api_name(source), _api_name(target))
    lost += [Loss(path, shortened(dumps(value)), f"{api} has no field of this meaning") for path, value in left.items()]
    request = structs.replace(request, extras=extras, model=model or request.model)
    written = target.encode_request(request)
    names = names_of(request.tools, getattr(target, "name_pattern", ""))
    lost += of_request(request, target.decode_request(written), api, names)
    return Transcoded(written, "request", tuple(lost))


def _response(
    wire: bytes,
    source: ApiDialect | TextDialect,
    target: ApiDialect | TextDialect,
    tools: Sequence[Tool],
    model: str,
) -> Transcoded:
    try:
        said = _named(source.decode(wire, tools=tools), model)
    except ModelGarbled:
        raise
    except ModelError as error:  # the body tells of one
        return Transcoded(_api(target, "an error").encode_error(error).body, "response", (), error)
    encoded = target.encode_reply(_without_extras(said, source, target))
    written = encoded.encode() if isinstance(encoded, str) else encoded
    lost = _lost_of_reply(said, target.decode(written, tools=tools), target)
    return Transcoded(written, "response", tuple(lost))


def _lost_of_reply(said: Reply, heard: Reply, target: ApiDialect | TextDialect) -> list[Loss]:
    """What a client of the target is not told; a signature that it can hand back counts as told."""
    return of_reply(said, claimed(heard), target.name)


def _named(reply: Reply, model: str) -> Reply:
    return structs.replace(reply, model=model) if model else reply


def _without_extras(reply: Reply, source: ApiDialect | TextDialect, target: ApiDialect | TextDialect) -> Reply:
    """The reply without fields that only another API knows."""
    return reply if _api_name(source) == _api_name(target) else structs.replace(reply, extras={})


def find(name: str | ApiDialect | TextDialect) -> ApiDialect | TextDialect:
    """The dialect of a name, which may be short.

    Raises:
        UnknownName: there is none.
    """
    return dialect(ALIASES.get(name, name)) if isinstance(name, str) else name


def _api(found: ApiDialect | TextDialect, what: str) -> ApiDialect:
    if isinstance(found, ApiDialect):
        return found
    raise UsageError(
        f"{found.name} is a way to write calls in text and has no form for {what}: only answers are said in it or read "
        f"from it. dialect({found.name!r}).encode_request makes a request for a model that writes so"
    )


def _api_name(found: ApiDialect | TextDialect) -> str:
    """The name of the API; it had two forms in its time."""
    return "openai_chat" if found.name == "openai_functions" else found.name


def _events(chunk: bytes | str) -> list[bytes]:
    """The chunk in pieces of at most one event, so that what came before an error is told."""
    data = chunk.encode("utf-8", "replace") if isinstance(chunk, str) else chunk
    if b"\r" in data:
        return data.splitlines(keepends=True)
    *events, rest = data.split(b"\n\n")
    return [*[event + b"\n\n" for event in events], rest]
