"""`ToolCall` and `ToolResult`: a model's call of a tool and the answer, and the parts that a result is made of.

Every dialect decodes calls to `ToolCall`, and every toolset answers with a `ToolResult`. Neither knows who made it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from .json import Json, JsonObject, dumps, equal
from .visible import on_one_line

Effect = Literal["none", "done", "unknown"]
"""What a failed call may have changed in the world: nothing (`none`), all that it should (`done`), or `unknown`."""

SourceKind = Literal["", "search", "page", "reference"]
"""What a call of one of the tools that read documents answers: passages that a search found, a page of a document, or
the reference of a quote. Empty for every other tool."""


class TextPart(Struct, frozen=True, tag="text"):
    """A piece of text."""

    text: str


class MediaPart(Struct, frozen=True, tag="media", omit_defaults=True):
    """An image, a sound, a film or a file: its bytes, or the address where they are.

    Attributes:
        media_type: MIME type, such as `image/png`; its first half says whether this is an image, a sound or a file.
        data: the bytes; empty when `url` says where they are.
        url: where the bytes are.
        name: a file name to show.
        handle: the short name (`att_1`) by which a model passes this media to a tool. The bytes themselves are never in
            JSON.
    """

    media_type: str
    data: bytes = b""
    url: str = ""
    name: str = ""
    handle: str = ""

    def describe(self) -> str:
        """One line for a model that can not see the bytes: `[att_1: image/png, plan.png, 1204 bytes]`."""
        where = self.url or f"{len(self.data)} bytes"
        told = (f"{self.handle or 'attachment'}: {self.media_type}", self.name, where)
        return on_one_line(f"[{', '.join(filter(None, told))}]")


class Problem(Struct, frozen=True, omit_defaults=True):
    """One thing that is wrong with the arguments of a call.

    Attributes:
        path: the place, as a JSON path of names and indices: `filters[0].age`; empty for the arguments as a whole.
        rule: the schema keyword that was broken: `required`, `type`, `enum`, ...
        expected: the value that would be right, in a few words.
        received: the value that came, shortened.
    """

    path: str
    rule: str
    expected: str
    received: str = ""


class Failure(Struct, frozen=True, omit_defaults=True):
    """Why a call has no result: a `CallError` as the journal keeps it and as the model is told.

    Attributes:
        code: the kind, one of `errors.CODES`.
        message: what the model is told; never a stack trace, a path or foreign text.
        effect: what may have changed in the world.
        retry_after: seconds to wait before it makes sense to try again.
        reference: the id under which the details are on record.
        problems: for `invalid_arguments`, each thing that is wrong.
        limit: which of our limits refused the call, if one did: `tool_calls`, `rate`, ...
    """

    code: str
    message: str
    effect: Effect = "none"
    retry_after: float | None = None
    reference: str = ""
    problems: tuple[Problem, ...] = ()
    limit: str = ""


# A long run keeps thousands of these structs. They are `gc=False`: they hold only JSON values and each other, and never
# an object that refers back to them. The garbage collector would look through all of them again and again, and find
# nothing.


class ToolCall(Struct, frozen=True, tag="tool_call", omit_defaults=True, gc=False):
    """A model's request to use a tool.

    Attributes:
        id: the model's id for this call. It is unique within one reply at best, so it is never used as a key here.
        name: the tool's name as the model wrote it.
        arguments: the decoded arguments.
        raw: the arguments as the source text that the model wrote; empty when they did not come as text.
        complete: False when the text ended or broke off inside the arguments. Such a call is refused and never run.
        repairs: what had to be mended to read the call, each as a short phrase.
        signature: an opaque token that Gemini wants back unchanged beside the call. It is sent to no other API.
        repeats: where the reply says this call again: the numbers of the repeats among all calls of the reply, from 1.

    >>> ToolCall(id="1", name="add", arguments={"a": 2, "b": 3}).arguments["a"]
    2
    """

    id: str
    name: str
    arguments: JsonObject
    raw: str = ""
    complete: bool = True
    repairs: tuple[str, ...] = ()
    signature: str = ""
    repeats: tuple[int, ...] = ()

    def arguments_text(self) -> str:
        """The arguments as JSON text: the source text where there is one."""
        return self.raw or dumps(self.arguments)


REPEATED = "the reply says this call again under the same id: taken as one call"
"""The repair of a call that a reply says more than once."""


def differ(one: ToolCall, other: ToolCall) -> bool:
    """Whether two calls with the same id are different calls, and not one call that is said twice.

    A call that broke off counts as a repeat of a whole call whose text begins in the same way.

    >>> differ(ToolCall("1", "add", {"a": 1}), ToolCall("1", "add", {"a": True}))
    True
    >>> differ(ToolCall("1", "add", {"a": 5}), ToolCall("1", "add", {"a": 5.0}))  # a server that writes numbers anew
    False
    """
    if one.name != other.name:
        return True
    if one.complete and other.complete:
        return not equal(one.arguments, other.arguments)
    whole, broken = (one, other) if one.complete else (other, one)
    return not whole.arguments_text().startswith(broken.raw.rstrip())


def repeats(calls: Sequence[ToolCall]) -> list[int]:
    """Which of the calls with the same id are repeats.

    Args:
        calls: all calls of a reply that came under this id, in order.

    Returns:
        The indices of the repeats; empty where any of the calls differs, because then the id names no call. A call that
            broke off and comes first is no repeat: it may have been told already, and is refused anyway.
    """
    one = next((place for place, call in enumerate(calls) if call.complete), 0)
    if any(differ(calls[one], call) for call in calls):
        return []
    return [place for place in range(1, len(calls)) if place != one]


TEXTLESS = frozenset({int, float, bool, type(None), type(UNSET)})
"""The types of structured values that hold no text."""


class ToolResult(Struct, frozen=True, tag="tool_result", omit_defaults=True, gc=False):
    """The result of a call: content for the model, a structured value, or a failure.

    Attributes:
        call_id: the `id` of the call that this answers.
        content: text and media for the model; empty when `structured` is the whole result. Of a failed call, the files
            that the tool made before it failed.
        structured: the value itself, as JSON; unset when there is none.
        error: set when the call failed.
        given: somebody put this result in the place of the tool's own, as in a branch of a run. No field of it is
            trusted.
        outside: it holds text that an outsider may have written; see `policy.outside`.
        labels: the labels of its fields, as in `core.tool.Tool`; see `policy.labels`.
        seen: the labels of values that a model below had seen when it wrote this.
        source_kind: that of the tool which was called, written by the call path alone: so the result of a tool of
            others, whatever the tool is called, is never taken for a page or a reference.
    """

    call_id: str
    content: tuple[TextPart | MediaPart, ...] = ()
    structured: Json | UnsetType = UNSET
    error: Failure | None = None
    given: bool = False
    outside: bool = False
    labels: dict[str, str] = {}
    seen: tuple[str, ...] = ()
    source_kind: SourceKind = ""

    @property
    def text(self) -> str:
        """The text that the model reads: the error's message and the files that were made before it, or the text parts
        with the media described, or the structured value as JSON.
        """
        if self.error is not None:
            return "\n".join((self.error.message, *(part.describe() for part in self.media)))
        if self.content:
            return "\n".join(part.text if isinstance(part, TextPart) else part.describe() for part in self.content)
        if self.structured is UNSET:
            return ""
        return self.structured if isinstance(self.structured, str) else dumps(self.structured)

    @property
    def media(self) -> tuple[MediaPart, ...]:
        """The media in the content."""
        return tuple([part for part in self.content if isinstance(part, MediaPart)])


def size_of(result: ToolResult) -> int:
    """The size of a result, in characters or bytes; `sys.maxsize` where a value can not be written as JSON."""
    size = 0 if result.error is None else len(result.error.message)
    for part in result.content:
        size += len(part.text) if isinstance(part, TextPart) else 0
    if type(result.structured) in TEXTLESS:
        return size
    if isinstance(result.structured, str):
        return size + len(result.structured)
    try:
        return size + len(msgspec.json.encode(result.structured))
    except (TypeError, ValueError, RecursionError):
        return sys.maxsize


def names_found(result: ToolResult) -> tuple[str, ...]:
    """The names of the tools that a call of `search_tools` found."""
    found = result.structured.get("tools") if isinstance(result.structured, dict) else None
    return tuple([name for name in found if isinstance(name, str)]) if isinstance(found, list) else ()
