"""A request to a model API, read once: who asks, for which model, with which body.

The body is read only for the name of the model and the wish for a stream. Code that needs more uses `fields` or
`request`, which are read when they are first used.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct, structs
from starlette.requests import Request as HttpRequest

from ...core.errors import UsageError
from ...core.identity import Identity
from ...core.json import JsonObject
from ...core.model import Request
from ...core.process.worker_thread import off_loop
from ...dialects.api.openai_chat.dialect import OPENAI_FUNCTIONS
from ...dialects.api.openai_chat.request import is_of_2023
from ...dialects.api.openai_fields import read_body
from ...dialects.api.raw_json import NOT_DECODED
from ...dialects.base import ApiDialect
from ...dialects.transcode.set_aside import set_aside
from ..route_group import identity_of
from .surface import CHAT, COUNT_CONTENT, Surface


class _Head(Struct):
    """What every body may say; msgspec skips all else without building it."""

    model: str = ""
    stream: bool | None = None


_read_head = msgspec.json.Decoder(_Head).decode


class ModelRequest:
    """One request for a model.

    Args:
        surface: the API that was asked.
        http: the request. A key was taken out of its headers and its address by the application.
        body: the bytes of the body.
        model: the name of the model, as the client wrote it.
        stream: whether the client wants the answer in pieces.

    Attributes:
        surface, http, body, model, stream: as above.
        identity: who asks.
    """

    def __init__(self, surface: Surface, http: HttpRequest, body: bytes, model: str, *, stream: bool) -> None:
        self.surface = surface
        self.http = http
        self.body = body
        self.model = model
        self.stream = stream
        self.identity: Identity = identity_of(http.scope)
        self._read = body
        self._fields: JsonObject | None = None
        self._request: Request | None = None
        self._portable: Request | None = None

    def header(self, name: str) -> str:
        """The value of a header; empty where the request has none.

        Args:
            name: of the header, in small letters.
        """
        return self.http.headers.get(name, "")

    @property
    def fields(self) -> JsonObject:
        """The body as JSON.

        Raises:
            UsageError: it is no JSON object; the message says where it ends to be one.
        """
        if self._fields is None:
            self._fields = read_body(self._read)
        return self._fields

    def saying(self, fields: JsonObject) -> ModelRequest:
        """The same request, read as if its body had these fields. `body` stays what the client sent."""
        said = ModelRequest(self.surface, self.http, self.body, self.model, stream=self.stream)
        said._read, said._fields = msgspec.json.encode(fields), fields
        return said

    @property
    def dialect(self) -> ApiDialect:
        """The dialect of the answer: a client that speaks Chat Completions as of 2023 is answered so."""
        is_old = self.surface is CHAT and b"function" in self.body and is_of_2023(self.fields)
        return OPENAI_FUNCTIONS if is_old else self.surface.dialect

    @property
    def request(self) -> Request:
        """What the client asks, as every model is asked, with the name of the model and the wish for a stream.

        Raises:
            UsageError: the body is no request of this API; the message says where.
        """
        if self._request is None:
            body = self._read
            if self.surface is COUNT_CONTENT and isinstance(whole := self.fields.get("generateContentRequest"), dict):
                body = msgspec.json.encode(whole)  # the other way to ask Google's API for a count
            self._request = self._decoded(body)
        return self._request

    @property
    def portable(self) -> Request:
        """What a model behind another API is asked: the request without what only its own API knows, such as a tool of
        another kind or an uploaded file; see `set_aside`.

        Raises:
            UsageError: as for `request`.
        """
        if self._portable is None:
            try:
                self._portable = self.request
            except UsageError:  # rare: there is something to set aside, or a mistake
                aside = set_aside(self._read, self.fields, self.surface.dialect.name)
                self._portable = self._decoded(aside.wire)
        return self._portable

    def _decoded(self, body: bytes) -> Request:
        return structs.replace(self.surface.dialect.decode_request(body), model=self.model, stream=self.stream)


async def read_request(surface: Surface, http: HttpRequest) -> ModelRequest:
    """Read a request.

    Args:
        surface: the API that was asked.
        http: the request, whose body is not read yet.

    Raises:
        UsageError: the body is no JSON object, or names no model.
    """
    body = await http.body()
    return await off_loop(len(body), _read, surface, http, body)


def _read(surface: Surface, http: HttpRequest, body: bytes) -> ModelRequest:
    body = _with_one_meaning(body)
    try:
        head = _read_head(body)
    except NOT_DECODED:  # rare: the slow reader says what is wrong, and where
        head = _slow_head(read_body(body))
    named = str(http.path_params["model"]) if surface.model_in == "address" else head.model
    if not named:
        raise UsageError("model: the name of a model is missing")
    if surface.stream == "always" and http.query_params.get("alt") != "sse":
        raise UsageError("alt: this server streams server-sent events only: ask with ?alt=sse")
    stream = surface.stream == "always" or (surface.stream == "body" and head.stream is True)
    return ModelRequest(surface, http, body, named, stream=stream)


def _with_one_meaning(body: bytes) -> bytes:
    """A body that no reader takes for one with another model, or with another wish for a stream.

    Of a name that stands twice in an object, this server takes the last and an upstream may take the first.
    """
    if body.count(b'"model"') < 2 and body.count(b'"stream"') < 2 and _ESCAPED_LETTER.search(body) is None:
        return body
    try:
        return msgspec.json.encode(_read_fields(body))
    except NOT_DECODED:
        return body  # the code that reads it says what is wrong


_read_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_ESCAPED_LETTER = re.compile(rb"\\u00[67]")


def _slow_head(fields: JsonObject) -> _Head:
    model, stream = fields.get("model", ""), fields.get("stream")
    if not isinstance(model, str):
        raise UsageError("model: a text was expected")
    if not (stream is None or isinstance(stream, bool)):
        raise UsageError("stream: true or false was expected")
    return _Head(model, stream)
