"""One API's words in another's: requests, answers and streams, from any dialect to any. Pure.

    bytes ──decode with the source──▶ Request or Reply ──encode with the target──▶ bytes, and a list of what was lost

A stream is passed on as it comes, in any cut: nothing waits but what the target can only say whole. What a target can
not say is in the list and not in silence. There are two accounts. `unread` finds the parts of the source that no code
reads. `losses` finds what was read, but is missing when the target's bytes are read back. Fields that two APIs share
are carried (`shared_fields`).

Where source and target are the same, nothing is decoded and encoded: the body goes through byte for byte (`same_api`).

A stream in a dialect of text may prove to be a thought when a mark comes that closes it (`ThoughtEnded`). No call is
sent as long as that can happen. Text is sent at once, and text that was a thought stays text: it is among the losses.

Limits: bodies only. The address and the headers (the model and the wish for a stream at Gemini, versions, keys) are
left to the code that sends the body.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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
from ...core.json import Json, JsonObject, JsonProblem, dumps
from ...core.message import Message, Reply
from ...core.model import Request
from ...core.tool import Tool
from ...protocols.sse import SseReader
from ..api.model_errors import read_json
from ..api.openai_chat.dialect import OpenAiChat
from ..api.openai_fields import check_choice, read_body
from ..api.openai_responses.dialect import OpenAiResponses
from ..api.shared_fields import moved
from ..api.signatures import claimed
from ..api.unread import UnreadOfStream, unread_of_reply, unread_of_request
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
from .one_field import with_field
from .same_api import SameApiStream, answer_to_same, is_object, request_to_same
from .set_aside import set_aside

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
        repeats: what an answer of the Responses API repeats of its request; see `encoder.repeated`.

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
        repeats: JsonObject | None = None,
    ) -> None:
        self.lost: tuple[Loss, ...] = ()
        self.error: ModelError | None = None
        self._source, self._target = find(source), _api(find(target), "a stream")
        self._same: SameApiStream | None = None
        if self._source == self._target:
            self._same = SameApiStream(self._target, _api_name(self._target), model)
        self._decoder: Decoder = self._source.decoder(tools=tools)
        self._encoder: Encoder | None = None
        self._heard = self._target.decoder(tools=tools)
        self._account = _StreamAccount(self._source, self._target)
        self._model = model
        self._repeats = repeats
        self._by_events = isinstance(self._source, ApiDialect)
        self._unsettled = not self._by_events
        self._held: list[Delta] = []
        self._sent: list[str] = []
        self._thought = ""

    def feed(self, chunk: bytes | str) -> bytes:
        """Take the next piece, and return what can be said by now. After an error there is nothing more to say; only a
        stream that stays in its API is passed on to its end."""
        if self._same is not None:
            told_on = self._same.feed(_bytes(chunk))
            self.error = self._same.error
            return told_on
        told = []
        for piece in _events(chunk) if self._by_events else [chunk]:
            if self.error is not None:
                break
            self._account.read(piece)
            try:
                told.append(self._say(self._decoder.feed(piece)))
            except ModelError as error:
                told.append(self._fail(error))
        return b"".join(told)

    def close(self) -> bytes:
        """The stream is at its end: return the rest."""
        if self._same is not None:
            told_on = self._same.close()
            self.error = self._same.error
            return told_on
        told = b"" if self.error is not None else self._close()
        self.lost = (*self._account.close(), *self.lost)
        return told

    def _close(self) -> bytes:
        try:
            deltas = self._decoder.close()
        except ModelError as error:
            return self._fail(error)
        if not getattr(self._decoder, "ended", True):  # a text has no other end than this
            whole = [delta for delta in deltas if not isinstance(delta, CallSaid) or delta.call.complete]
            return self._say(whole) + self._fail(ModelUnavailable("the answer broke off"))
        said = _named(self._decoder.reply, self._model)
        written = _without_extras(said, self._source, self._target)
        told = self._say(deltas) + self._tell(self._begun().close(written))
        self._heard.close()
        lost = of_reply(written, claimed(self._heard.reply), self._target.name)
        if self._thought:
            lost.append(Loss("reasoning", shortened(self._thought), _SENT_AS_TEXT))
        self.lost = tuple(lost)
        return told

    def _tell(self, wire: bytes) -> bytes:
        """Say something, and hear what a client of the target makes of it."""
        self._account.tell(wire)
        self._heard.feed(wire)
        return wire

    def _say(self, deltas: Sequence[Delta]) -> bytes:
        if not self._unsettled:
            return b"".join([self._tell(self._begun().feed(delta)) for delta in deltas])
        told = [self._say_unsettled(delta) for delta in deltas]
        if getattr(self._decoder, "settled", True):
            held, self._held, self._unsettled = self._held, [], False
            told.append(self._say(held))
        return b"".join(told)

    def _say_unsettled(self, delta: Delta) -> bytes:
        """A piece of a text that may prove to be a thought: from the first call on, all waits."""
        if isinstance(delta, ThoughtEnded):
            self._held, self._thought = [], "".join(self._sent)
            return self._tell(self._begun().feed(TextDelta("\n\n"))) if self._thought else b""
        if self._held or isinstance(delta, CallDelta | CallSaid):
            self._held.append(delta)
            return b""
        if isinstance(delta, TextDelta):
            self._sent.append(delta.text)
        return self._tell(self._begun().feed(delta))

    def _fail(self, error: ModelError) -> bytes:
        self.error = error
        return self._begun().fail(error)

    def _begun(self) -> Encoder:
        """The encoder, which has to know the id and the model of the answer: its first event tells them."""
        if self._encoder is None:
            self._encoder = self._new_encoder(_named(self._decoder.reply, self._model))
        return self._encoder

    def _new_encoder(self, head: Reply) -> Encoder:
        known = {name: value for name, value in (("id_", head.id), ("model", head.model)) if value}
        match self._target:
            case OpenAiChat() as target:
                return target.encoder(**known, created=self._account.take_time(), include_usage=True)
            case OpenAiResponses() as target:
                return target.encoder(**known, created=self._account.take_time(), fields=self._repeats)
            case target:
                return target.encoder(**known)


class _StreamAccount:
    """Keeps account of the parts of a stream that no code reads.

    Args:
        source, target: the dialects; where they share their API, parts that are in the target's stream as well are no
            loss.
    """

    def __init__(self, source: ApiDialect | TextDialect, target: ApiDialect) -> None:
        self._time_at = ""
        self._sources = _EventsOf(source) if isinstance(source, ApiDialect) else None
        self._targets = _EventsOf(target) if _api_name(source) == _api_name(target) else None

    def read(self, piece: bytes | str) -> None:
        """A piece of the source's stream."""
        if self._sources is not None:
            self._sources.feed(_bytes(piece))

    def tell(self, wire: bytes) -> None:
        """A piece of the target's stream."""
        if self._targets is not None:
            self._targets.feed(wire)

    def close(self) -> list[Loss]:
        """Both streams are at their end: what was lost."""
        lost = self._sources.close() if self._sources is not None else []
        there = {loss.where for loss in self._targets.close()} if self._targets is not None else set()
        return [loss for loss in lost if loss.where not in there and loss.where != self._time_at]

    def take_time(self) -> int:
        """When the answer was made, in seconds since 1970, for a target that can say so; 0 where that is not known."""
        if self._sources is None or not self._sources.time:
            return 0
        self._time_at = _TIME[self._sources.api]
        return self._sources.time


class _EventsOf:
    """The events of one stream, or the whole answer that came in its place.

    Attributes:
        api: name of the API.
        time: when the answer was made, in whole seconds since 1970; 0 as long as that is not known.
    """

    def __init__(self, dialect: ApiDialect) -> None:
        self.api = _api_name(dialect)
        self.time = 0
        self._unread = UnreadOfStream(self.api)
        self._reader = SseReader()
        self._began = False
        self._body: list[bytes] | None = None

    def feed(self, piece: bytes) -> None:
        if not self._began and (begin := piece.lstrip(_BLANK)):
            self._began = True
            self._body = [] if begin.startswith((b"{", b"[")) else None
        if self._body is not None:
            self._body.append(piece)
        else:
            for event in self._reader.feed(piece):
                said = self._unread.read_event(event.data)
                if not self.time and self.api in _TIME:
                    head = said.get("response", said)
                    made = head.get(_TIME[self.api]) if isinstance(head, dict) else None
                    self.time = made if isinstance(made, int) else 0

    def close(self) -> list[Loss]:
        for event in self._reader.close():
            self._unread.read_event(event.data)
        if self._body is not None:
            self._unread.read_body(b"".join(self._body))
        return self._unread.lost


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
    if source == target:
        return _request_to_same(wire, target, model)
    api, (there, here) = target.name, (_api_name(source), _api_name(target))
    body = read_body(wire)
    aside = set_aside(wire, body, there)
    request = source.decode_request(aside.wire)
    check_choice(request)
    if there == here:
        left: list[Loss] = []
    else:
        request, left = _for_another(request, body, there, here)
    request = structs.replace(request, model=model or request.model)
    written, carried = _with_form_of_answer(target.encode_request(request), body, there, here)
    names = names_of(request.tools, getattr(target, "name_pattern", ""))
    unread = _unread_of_request(body, there, here, written, (*aside.paths, *carried))
    lost = [*aside.lost, *unread, *left, *of_request(request, target.decode_request(written), api, names)]
    return Transcoded(written, "request", tuple(lost))


def _request_to_same(wire: bytes, target: ApiDialect, model: str) -> Transcoded:
    read_body(wire)  # or it is refused
    api = _api_name(target)
    written = request_to_same(wire, api, model)
    is_unsaid = model and api == "gemini_content"
    lost = (Loss("model", dumps(model), f"{target.name} has the model in its address"),) if is_unsaid else ()
    return Transcoded(written, "request", lost)


def _for_another(request: Request, body: JsonObject, source: str, target: str) -> tuple[Request, list[Loss]]:
    """The request with the further fields that another API has as well, and those that stay behind."""
    extras = request.extras
    if "cache_control" not in body:  # marks inside of the request are gathered there; each of them is told of by itself
        extras = {name: value for name, value in extras.items() if name != "cache_control"}
    extras, left = moved(extras, source, target)
    messages: list[Message] = [
        structs.replace(message, extras={}) if isinstance(message, Reply) else message for message in request.messages
    ]
    lost = [
        Loss(path, shortened(dumps(value)), f"{target} has no field of this meaning") for path, value in left.items()
    ]
    return structs.replace(request, extras=extras, messages=messages), lost


def _unread_of_request(
    body: JsonObject, source: str, target: str, written: bytes, accounted: Sequence[str]
) -> list[Loss]:
    """The parts of a request that no code read, without the places that another account covers."""
    lost = unread_of_request(body, source)
    if source == target:
        there = {loss.where for loss in unread_of_request(read_body(written), target)}
        lost = [loss for loss in lost if loss.where not in there]
    known = frozenset(accounted)
    return [loss for loss in lost if known.isdisjoint(_around(loss.where))]


def _around(path: str) -> Iterator[str]:
    """The place, and all places that enclose it."""
    yield path
    for end in re.finditer(r"[.\[]", path):
        yield path[: end.start()]


_FORM_OF_ANSWER = {"openai_chat": ("response_format", "json_schema"), "openai_responses": ("text", "format")}
"""Where a schema for the answer stands together with its name."""

_ALWAYS_STRICT = frozenset({"anthropic_messages", "gemini_content"})
"""Hold the model to the schema of an answer without being asked to."""


def _with_form_of_answer(written: bytes, body: JsonObject, source: str, target: str) -> tuple[bytes, list[str]]:
    """The body with what the source says of the schema of the answer (its name, whether it is strict), and the places
    in the source where that stands."""
    path, there = _FORM_OF_ANSWER.get(source, ()), _FORM_OF_ANSWER.get(target, ())
    form: Json = body
    for name in path:
        form = form.get(name) if isinstance(form, dict) else None
    carried: list[str] = []
    if not path or not isinstance(form, dict) or not isinstance(form.get("schema"), dict):
        return written, carried
    for name in ("name", "description", "strict"):
        value = form.get(name)
        if value is not None and (there or (name == "strict" and value is True and target in _ALWAYS_STRICT)):
            written = with_field(written, (*there, name), value, insert=True) if there else written
            carried.append(".".join((*path, name)))
    return written, carried


def _response(
    wire: bytes,
    source: ApiDialect | TextDialect,
    target: ApiDialect | TextDialect,
    tools: Sequence[Tool],
    model: str,
) -> Transcoded:
    there, here = _api_name(source), _api_name(target)
    if source == target:
        return _response_to_same(wire, source, tools, model)
    unread = unread_of_reply(wire, there)
    try:
        said = _named(source.decode(wire, tools=tools), model)
    except ModelGarbled:
        raise
    except ModelError as error:  # the body tells of one
        return Transcoded(_api(target, "an error").encode_error(error).body, "response", tuple(unread), error)
    plain = _without_extras(said, source, target)
    encoded = target.encode_reply(plain)
    written = encoded.encode() if isinstance(encoded, str) else encoded
    if there == here:
        kept = {loss.where for loss in unread_of_reply(written, here)}
        unread = [loss for loss in unread if loss.where not in kept]
    written, carried = _with_time(written, wire, there, here)
    lost = [loss for loss in unread if loss.where not in carried]
    lost += of_reply(plain, claimed(target.decode(written, tools=tools)), target.name)
    return Transcoded(written, "response", tuple(lost))


def _response_to_same(wire: bytes, dialect: ApiDialect | TextDialect, tools: Sequence[Tool], model: str) -> Transcoded:
    """The answer as it is. An answer that can not be read, such as one that is still waited for, is passed on too."""
    error: ModelError | None = None
    try:
        dialect.decode(wire, tools=tools)
    except ModelError as problem:
        if isinstance(problem, ModelGarbled) and not is_object(wire):
            raise
        error = problem
    return Transcoded(answer_to_same(wire, _api_name(dialect), model), "response", (), error)


_TIME = {"openai_chat": "created", "openai_responses": "created_at"}
"""Where an answer tells when it was made, in seconds since 1970."""


def _with_time(written: bytes, wire: bytes, source: str, target: str) -> tuple[bytes, list[str]]:
    """The answer with the time of the source's, and the place where that stands."""
    there, here = _TIME.get(source), _TIME.get(target)
    body = read_json(wire) if there and here else None
    made = body.get(there) if isinstance(body, dict) and there else None
    if not here or not there or not isinstance(made, int | float):
        return written, []
    return with_field(written, [here], made, insert=True), [there]


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
        "{found} is a way to write calls in text and has no form for {what}: only answers are said "
        "in it or read from it. dialect({found!r}).encode_request makes a request for a model that "
        "writes so",
        found=found.name,
        what=what,
    )


def _api_name(found: ApiDialect | TextDialect) -> str:
    """The name of the API; it had two forms in its time."""
    return "openai_chat" if found.name == "openai_functions" else found.name


def _bytes(chunk: bytes | str) -> bytes:
    return chunk.encode("utf-8", "replace") if isinstance(chunk, str) else chunk


def _events(chunk: bytes | str) -> list[bytes]:
    """The chunk in pieces of at most one event, so that what came before an error is told."""
    data = _bytes(chunk)
    if b"\r" in data:
        return data.splitlines(keepends=True)
    *events, rest = data.split(b"\n\n")
    return [*[event + b"\n\n" for event in events], rest]
