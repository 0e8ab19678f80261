"""Takes out of a request what means something only to the API that it was written for, before it is read for another.

Such are tools that the API hosts (web search, MCP servers), files that were uploaded to it, and items that it has
stored. Each is in the list of losses. Where something would be missing in the conversation, a few words take its place.
A custom tool, which takes free text, becomes a function with one text, `input`, as calls of it do. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...core.json import Json, JsonObject, dumps
from ..api.openai_fields import camel
from ..api.openai_responses.items import reference_of
from ..losses import Loss, shortened
from .one_field import with_field

_HOSTED = "only the API that it was written for has this tool"
_UPLOADED = "an uploaded file is known only to the API that keeps it; it is named in words"
_STORED = "a stored item is known only to the API that keeps it"
_CUSTOM = "it is offered as a function with one text, `input`"
_NO_CHOICE = "it is about a tool that was left out"
_CHOICES = (None, "function", "custom", "tool", "allowed_tools", "auto", "none", "required", "any")
"""The types of a choice that are not about a tool of the API itself; some clients say `tool`, as Anthropic does."""
_LEVELS = 4
"""Content may stand in content: blocks in the answer to a call."""


class SetAside(NamedTuple):
    """A request without what only its own API knows.

    Attributes:
        wire: the body.
        lost: what was taken out, or made something else.
        paths: the places in the source's body that `lost` accounts for.
    """

    wire: bytes
    lost: tuple[Loss, ...] = ()
    paths: tuple[str, ...] = ()


def set_aside(wire: bytes, body: JsonObject, api: str) -> SetAside:
    """Take out what only the API knows.

    Args:
        wire: the request.
        body: the same, read.
        api: name of the dialect that it is in.
    """
    found = _Found(api)
    changed = found.changes(body)
    for name, value in changed.items():
        wire = with_field(wire, [name], value)
    return SetAside(wire, tuple(found.lost), tuple(found.paths))


class _Found:
    """What was found in one request."""

    def __init__(self, api: str) -> None:
        self.lost: list[Loss] = []
        self.paths: list[str] = []
        self._api = api
        self._left_out: set[str] = set()

    def changes(self, body: JsonObject) -> JsonObject:
        """The fields of the body that have to be changed, with what they are then."""
        changed: JsonObject = {}
        tools = body.get("tools")
        if isinstance(tools, list):
            changed["tools"] = [tool for number, item in enumerate(tools) for tool in self._tool(item, number)]
        if "tool_choice" in body:
            changed["tool_choice"] = self._choice(body["tool_choice"])
        field = "input" if self._api == "openai_responses" else "messages"
        messages = body.get(field)
        if isinstance(messages, list):
            changed[field] = [
                self._without_files(item, f"{field}[{number}]", _LEVELS)
                for number, item in enumerate(messages)
                if not self._is_stored(item, f"{field}[{number}]")
            ]
        return {name: value for name, value in changed.items() if value != body[name]}

    def _lose(self, path: str, value: Json, why: str, *, about: str = "") -> None:
        self.lost.append(Loss(path, shortened(dumps(value)), why))
        self.paths.append(about or path)

    # Tools.

    def _tool(self, item: Json, number: int) -> list[Json]:
        """The tool as it can be read; nothing of one that the API hosts."""
        path = f"tools[{number}]"
        if not isinstance(item, dict):
            return [item]
        if self._api == "gemini_content":
            return self._gemini_tool(item, path)
        kind = item.get("type")
        if kind is None or kind == "function" or (kind == "custom" and self._api == "anthropic_messages"):
            return [item]
        if kind == "custom":
            return [self._as_function(item, path)]
        self._left_out.add(str(item.get("name")))
        self._lose(path, item, _HOSTED)
        return []

    def _gemini_tool(self, item: JsonObject, path: str) -> list[Json]:
        named = camel(item)
        for name, value in named.items():
            if name != "functionDeclarations":
                self._lose(f"{path}.{name}", {name: value}, _HOSTED)
        if named.keys() <= {"functionDeclarations"}:
            return [item]
        return [{"functionDeclarations": named["functionDeclarations"]}] if "functionDeclarations" in named else []

    def _as_function(self, item: JsonObject, path: str) -> JsonObject:
        inner = item.get("custom")
        said, place = (inner, f"{path}.custom") if isinstance(inner, dict) else (item, path)
        self._lose(f"{path}.type", "custom", _CUSTOM, about=path)
        for name, value in said.items():
            if name not in ("type", "name", "description") and value not in (None, "", [], {}):
                self._lose(f"{place}.{name}", value, _CUSTOM)
        for name, value in item.items() if said is not item else ():
            if name not in ("type", "custom") and value not in (None, "", [], {}):
                self._lose(f"{path}.{name}", value, _CUSTOM)
        schema: JsonObject = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
        known: JsonObject = {name: said[name] for name in ("name", "description") if name in said}
        return {"type": "function", **known, "parameters": schema}

    def _choice(self, choice: Json) -> Json:
        """The choice as it can be read; null where it is about a tool that was left out."""
        if not isinstance(choice, dict):
            return choice
        kind = choice.get("type")
        if self._api == "anthropic_messages":
            is_left_out = kind == "tool" and choice.get("name") in self._left_out
        else:
            is_left_out = kind not in _CHOICES
        if is_left_out:
            self._lose("tool_choice", choice, _NO_CHOICE)
            return None
        inner = choice.get("custom")
        if kind == "custom" and isinstance(inner, dict):
            return {"type": "function", "name": inner.get("name")}
        return self._allowed(choice) if kind == "allowed_tools" else choice

    def _allowed(self, choice: JsonObject) -> JsonObject:
        """A choice among tools, without those that were left out."""
        inner = choice.get("allowed_tools")
        said, place = (inner, "tool_choice.allowed_tools") if isinstance(inner, dict) else (choice, "tool_choice")
        tools = said.get("tools")
        if not isinstance(tools, list):
            return choice
        kept: list[Json] = []
        for number, tool in enumerate(tools):
            kind = tool.get("type") if isinstance(tool, dict) else None
            custom = tool.get("custom") if isinstance(tool, dict) else None
            if kind not in (None, "function", "custom"):
                self._lose(f"{place}.tools[{number}]", tool, _NO_CHOICE)
            elif isinstance(custom, dict):
                kept.append({"type": "function", "name": custom.get("name")})
            else:
                kept.append(tool)
        changed: JsonObject = {**said, "tools": kept}
        return changed if said is choice else {**choice, "allowed_tools": changed}

    # Conversations.

    def _is_stored(self, item: Json, path: str) -> bool:
        """Whether the item is only named by its id."""
        is_stored = self._api == "openai_responses" and bool(reference_of(item))
        if is_stored:
            self._lose(path, item, _STORED)
        return is_stored

    def _without_files(self, item: Json, path: str, levels: int) -> Json:
        """The message, or the block, with words in place of the files that were uploaded."""
        if not isinstance(item, dict) or not levels:
            return item
        changed: JsonObject = {}
        for name in ("content", "output"):
            parts = item.get(name)
            if isinstance(parts, list):
                changed[name] = [
                    self._part(part, f"{path}.{name}[{number}]", levels) for number, part in enumerate(parts)
                ]
        return {**item, **changed}

    def _part(self, part: Json, path: str, levels: int) -> Json:
        uploaded = _UPLOADED_IN.get(self._api)
        file = uploaded(part) if uploaded is not None and isinstance(part, dict) else ""
        if not file:
            return self._without_files(part, path, levels - 1)
        self._lose(path, part, _UPLOADED)
        kind = "input_text" if self._api == "openai_responses" else "text"
        return {"type": kind, "text": f"[attachment: the uploaded file {file}, which can not be read here]"}


def _file_of_chat(part: JsonObject) -> str:
    file = part.get("file")
    if part.get("type") != "file" or not isinstance(file, dict) or file.get("file_data"):
        return ""
    return str(file.get("file_id") or "")


def _file_of_responses(part: JsonObject) -> str:
    has_its_own = any(part.get(name) for name in ("image_url", "file_data", "file_url"))
    return (
        "" if has_its_own or part.get("type") not in ("input_image", "input_file") else str(part.get("file_id") or "")
    )


def _file_of_anthropic(part: JsonObject) -> str:
    source = part.get("source")
    holder = part if part.get("type") == "container_upload" else source
    if not isinstance(holder, dict) or (holder is source and source.get("type") != "file"):
        return ""
    return str(holder.get("file_id") or "")


_UPLOADED_IN: dict[str, Callable[[JsonObject], str]] = {
    "openai_chat": _file_of_chat,
    "openai_responses": _file_of_responses,
    "anthropic_messages": _file_of_anthropic,
}
"""The id of the uploaded file that a part is; empty where it is something else."""
