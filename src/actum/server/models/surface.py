"""The APIs that are served, a row each: the path, and what each API says outside of the body of a request.

A body is read by the dialect of the row. All else differs by API: where the name of the model stands, where the wish
for a stream stands, in which header the key comes, which headers name a version or an account, whether a comment may
stand in a stream. `models/endpoint.py` has the same table for the other direction (`WIRES`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from ...core.json import JsonObject
from ...dialects.api.anthropic.dialect import ANTHROPIC_MESSAGES
from ...dialects.api.gemini.dialect import GEMINI_CONTENT
from ...dialects.api.openai_chat.dialect import OPENAI_CHAT
from ...dialects.api.openai_completions import OPENAI_COMPLETIONS
from ...dialects.api.openai_responses.dialect import OPENAI_RESPONSES
from ...dialects.base import ApiDialect
from ..paths import OtherPath

Does = Literal["answer", "count_tokens", "embed"]
"""What a surface is asked for."""
Vendor = Literal["openai", "anthropic", "gemini"]
"""Whose API this is: errors and lists of models are written in the vendor's form."""


class Surface(Struct, frozen=True, kw_only=True):
    """One path of one API.

    Attributes:
        name: the name of the surface on record.
        vendor: whose API this is.
        paths: where the API is served; `{model:path}` stands for the name of a model, which may hold slashes.
        upstream_path: where an upstream of the same API answers, below its address with the version.
        dialect: reads the body, and writes answers, streams and errors.
        does: what the surface is asked for.
        model_in: where the name of the model stands.
        stream: where the wish for a stream stands: in the field `stream` of the body, or the path itself means `always`
            or `never`.
        forwarded: the headers of a client that an upstream of the same API is sent, such as the version of the API.
        comments: whether a comment may stand in a stream. A comment ends `google-genai` 3.4 in a parse error.
    """

    name: str
    vendor: Vendor
    paths: tuple[str, ...]
    upstream_path: str
    dialect: ApiDialect
    does: Does = "answer"
    model_in: Literal["body", "address"] = "body"
    stream: Literal["body", "always", "never"] = "body"
    forwarded: tuple[str, ...] = ()
    comments: bool = True


_ANTHROPIC_HEADERS = ("anthropic-version", "anthropic-beta")

CHAT = Surface(
    name="chat",
    vendor="openai",
    paths=(OtherPath.CHAT,),
    upstream_path="/chat/completions",
    dialect=OPENAI_CHAT,
)
COMPLETIONS = Surface(
    name="completions",
    vendor="openai",
    paths=(OtherPath.COMPLETIONS,),
    upstream_path="/completions",
    dialect=OPENAI_COMPLETIONS,
)
RESPONSES = Surface(
    name="responses",
    vendor="openai",
    paths=(OtherPath.RESPONSES,),
    upstream_path="/responses",
    dialect=OPENAI_RESPONSES,
    forwarded=("openai-beta",),
)
MESSAGES = Surface(
    name="messages",
    vendor="anthropic",
    paths=(OtherPath.MESSAGES,),
    upstream_path="/messages",
    dialect=ANTHROPIC_MESSAGES,
    forwarded=_ANTHROPIC_HEADERS,
)
COUNT_TOKENS = Surface(
    name="count_tokens",
    vendor="anthropic",
    paths=(f"{OtherPath.MESSAGES}/count_tokens",),
    upstream_path="/messages/count_tokens",
    dialect=ANTHROPIC_MESSAGES,
    does="count_tokens",
    stream="never",
    forwarded=_ANTHROPIC_HEADERS,
)
COUNT_INPUT = Surface(
    name="count_input",
    vendor="openai",
    paths=(f"{OtherPath.RESPONSES}/input_tokens",),
    upstream_path="/responses/input_tokens",
    dialect=OPENAI_RESPONSES,
    does="count_tokens",
    stream="never",
    forwarded=("openai-beta",),
)
EMBEDDINGS = Surface(
    name="embeddings",
    vendor="openai",
    paths=(OtherPath.EMBEDDINGS,),
    upstream_path="/embeddings",
    dialect=OPENAI_CHAT,
    does="embed",
    stream="never",
)
GENERATE = Surface(
    name="generate",
    vendor="gemini",
    paths=("/v1beta/models/{model:path}:generateContent", f"{OtherPath.MODELS}/{{model:path}}:generateContent"),
    upstream_path="/models/{model}:generateContent",
    dialect=GEMINI_CONTENT,
    model_in="address",
    stream="never",
    comments=False,
)
STREAM_GENERATE = Surface(
    name="stream_generate",
    vendor="gemini",
    paths=(
        "/v1beta/models/{model:path}:streamGenerateContent",
        f"{OtherPath.MODELS}/{{model:path}}:streamGenerateContent",
    ),
    upstream_path="/models/{model}:streamGenerateContent?alt=sse",
    dialect=GEMINI_CONTENT,
    model_in="address",
    stream="always",
    comments=False,
)
COUNT_CONTENT = Surface(
    name="count_content",
    vendor="gemini",
    paths=("/v1beta/models/{model:path}:countTokens", f"{OtherPath.MODELS}/{{model:path}}:countTokens"),
    upstream_path="/models/{model}:countTokens",
    dialect=GEMINI_CONTENT,
    does="count_tokens",
    model_in="address",
    stream="never",
    comments=False,
)

SURFACES = (
    CHAT,
    COMPLETIONS,
    RESPONSES,
    MESSAGES,
    COUNT_TOKENS,
    COUNT_INPUT,
    EMBEDDINGS,
    GENERATE,
    STREAM_GENERATE,
    COUNT_CONTENT,
)
"""All surfaces that a model's name is sent to with a body."""

KEY_HEADERS = ("x-api-key", "x-goog-api-key")
"""Where clients show a key, beside `Authorization: Bearer`: those of Anthropic, and those of Google."""
KEY_QUERY = "key"
"""Where old clients of Google show a key: a field of the address, which must never be logged."""

ERROR_DIALECTS: dict[Vendor, ApiDialect] = {
    "openai": OPENAI_CHAT,
    "anthropic": ANTHROPIC_MESSAGES,
    "gemini": GEMINI_CONTENT,
}
"""Whose dialect writes an error in the form of a vendor."""

_BY_PATH: dict[str, Vendor] = {path: surface.vendor for surface in SURFACES for path in surface.paths}


_GEMINI_ENDS = tuple(path.rpartition("}")[2] for path, vendor in _BY_PATH.items() if vendor == "gemini")
_VENDORS_BY_HEADER: dict[bytes, Vendor] = {b"anthropic-version": "anthropic", b"x-goog-api-client": "gemini"}
"""Headers that the clients of a vendor send with every request."""


def token_count(vendor: Vendor, tokens: int) -> JsonObject:
    """How many tokens a request has, in the form of a vendor's API.

    Args:
        vendor: whose client asks.
        tokens: how many there are.
    """
    match vendor:
        case "gemini":
            return {"totalTokens": tokens}
        case "anthropic":
            return {"input_tokens": tokens}
        case "openai":
            return {"object": "response.input_tokens", "input_tokens": tokens}


def vendor_of(path: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> Vendor:
    """Whose client asks at a path, so that an error can be told in the form that the client knows.

    Args:
        path: of the request.
        headers: of the request, with names in small letters. They tell apart who asks for `/v1/models`.

    >>> vendor_of("/v1/messages"), vendor_of("/v1beta/models/gemini-3:generateContent"), vendor_of("/v1/models")
    ('anthropic', 'gemini', 'openai')
    """
    known = _BY_PATH.get(path)
    if known is not None:
        return known
    if path.startswith("/v1beta/") or path.endswith(_GEMINI_ENDS):
        return "gemini"
    if path.startswith(OtherPath.MESSAGES):
        return "anthropic"
    return next((_VENDORS_BY_HEADER[name] for name, _ in headers if name in _VENDORS_BY_HEADER), "openai")
