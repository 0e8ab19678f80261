"""Resources: what a client can read by its address: texts and bytes, what a function makes, the files of a folder.

Every reading is a call on the call path, of the tool `read_resource` with the address as its argument: judged by the
policy, limited, and on record.
"""

from __future__ import annotations

import asyncio
import contextlib
import mimetypes
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from urllib.parse import quote, unquote

from mcp.shared.uri_template import UriTemplate

from ...core.call import (
    MediaPart,
    TextPart,
    ToolCall,
    ToolResult,
)
from ...core.errors import ToolError, UsageError
from ...core.interfaces import Context, Journal
from ...core.json import (
    Json,
    JsonObject,
    dumps,
    whole_text,
)
from ...core.run.record import Started
from ...core.tool import Tool
from ...journal.recording import CallRef, RunState
from ...kinds import Unclear, open_under
from ...policy.labels import Label
from ...policy.record_mask import reader_mask
from ...protocols.mcp.content import ANY_TYPE
from ...runs.other_values import as_seen
from ...toolsets.function.function import FunctionTool
from ...toolsets.function.returned import result_of
from .prompts import Suggest

NOTHING = ToolResult("")
"""What is read where nothing is."""

READ = "read_resource"
FILES_MAX = 5_000
BYTES_MAX = 20_000_000


class Resource:
    """Something to read at one address, or at all addresses that fit a template.

    Args:
        uri: the address, or with `{names}` in it a template (RFC 6570) whose names are the function's parameters.
        content: a text, bytes, or a function that makes either, or media, or anything JSON; None where there is
            nothing at this address.
        name: what it is called; the address when it is left out.
        title, description: for people and for models.
        media_type: MIME type; by what `content` is when it is left out.
        suggest: for a name in the template, what could be meant by its beginning.

    >>> Resource("memo://today", "Nothing.").told()
    {'uri': 'memo://today', 'name': 'memo://today', 'mimeType': 'text/plain'}
    """

    def __init__(
        self,
        uri: str,
        content: str | bytes | Callable[..., object],
        *,
        name: str = "",
        title: str = "",
        description: str = "",
        media_type: str = "",
        suggest: Mapping[str, Suggest] | None = None,
    ) -> None:
        if "://" not in uri and not re.match(r"[a-z][a-z0-9+.-]*:", uri):
            raise UsageError("resource {uri!r}: give an address with a scheme, such as memo://today", uri=uri)
        self.uri = uri
        self.name = name or uri
        self.title = title
        self.description = description
        self.media_type = media_type or (ANY_TYPE if isinstance(content, bytes) else "text/plain")
        self.suggest = dict(suggest or {})
        self.template = UriTemplate.parse(uri) if "{" in uri else None
        self._content = content if isinstance(content, str | bytes) else None
        self._made = FunctionTool(content, name="read") if not isinstance(content, str | bytes) else None
        if self.template is not None and self._made is None:
            raise UsageError("resource {uri!r}: a template needs a function of the names in it", uri=uri)

    def told(self) -> JsonObject:
        """It, as a list tells it."""
        told: JsonObject = {"uriTemplate" if self.template is not None else "uri": self.uri, "name": self.name}
        for field, value in (("title", self.title), ("description", self.description), ("mimeType", self.media_type)):
            if value:
                told[field] = value
        return told

    def matches(self, uri: str) -> dict[str, str] | None:
        """The values of the names of its template at this address; None where it is not at it."""
        if self.template is None:
            return {} if uri == self.uri else None
        found = self.template.match(uri)
        return {name: str(value) for name, value in found.items()} if found is not None else None

    async def read(self, uri: str, values: Mapping[str, str], context: Context) -> ToolResult:
        """What is there."""
        if self._made is None:
            data = self._content.encode() if isinstance(self._content, str) else (self._content or b"")
            return ToolResult("", (MediaPart(self.media_type, data, uri),))
        call = ToolCall(id="", name=self._made.name, arguments=dict(values))
        value = await self._made.call(call, context)
        if value is None:
            return NOTHING
        result = result_of("", value)
        parts = [self._part(uri, part) for part in result.content] or [
            self._part(uri, TextPart(dumps(result.structured)))
        ]
        return ToolResult("", tuple(parts))

    def _part(self, uri: str, part: TextPart | MediaPart) -> MediaPart:
        if isinstance(part, TextPart):
            return MediaPart(self.media_type, part.text.encode("utf-8", "replace"), uri)
        return MediaPart(part.media_type, part.data, part.url or uri)


class Folder:
    """The files below a folder, each at `<name>://path`. Links are not followed out of it, nor are hidden files
    shown, or those whose names are no text.

    Args:
        name: the scheme of their addresses: small letters, digits, `+`, `-` and `.`.
        path: the folder.

    Raises:
        UsageError: no such name, or no such folder.
    """

    def __init__(self, name: str, path: str | os.PathLike[str]) -> None:
        self.name = name
        self.path = Path(path).resolve()
        if not re.fullmatch(r"[a-z][a-z0-9+.-]*", name):
            raise UsageError("folder {name!r}: a name of small letters and digits, which becomes a scheme", name=name)
        if not self.path.is_dir():
            raise UsageError("folder {name!r}: there is no folder {path!r}", name=name, path=os.fspath(path))

    def told(self) -> JsonObject:
        """It, as a template."""
        return {"uriTemplate": f"{self.name}:///{{+path}}", "name": self.name, "description": f"A file of {self.name}."}

    def files(self) -> list[JsonObject]:
        """The files as a list tells them, `FILES_MAX` at most."""
        return [
            {"uri": f"{self.name}:///{quote(path)}", "name": path, "mimeType": _media_type(path)}
            for path in islice(self._paths(), FILES_MAX)
        ]

    def _paths(self) -> Iterator[str]:
        for top, folders, files in os.walk(self.path):
            folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
            for file in sorted(file for file in files if not file.startswith(".")):
                path = Path(top) / file
                name = path.relative_to(self.path).as_posix()
                if whole_text(name) == name and (not path.is_symlink() or path.resolve().is_relative_to(self.path)):
                    yield name

    def matches(self, uri: str) -> str | None:
        """The path below the folder that an address names; None where it is another's."""
        head = f"{self.name}:///"
        return unquote(uri[len(head) :]) if uri.startswith(head) else None

    def read(self, path: str, uri: str) -> ToolResult:
        """The file; nothing where there is none, or it does not lie in the folder.

        Raises:
            ToolError: it is too large.
        """
        if not _is_plain(path):
            return NOTHING
        try:
            with open_under(self.path, path, "rb") as file:
                data: bytes = file.read(BYTES_MAX + 1)
        except (OSError, Unclear, ValueError):
            return NOTHING
        if len(data) > BYTES_MAX:
            raise ToolError("{uri!r} is larger than {most:,} bytes.", uri=uri[:200], most=BYTES_MAX)
        return ToolResult("", (MediaPart(_media_type(path, data), data, uri),))

    def stamp(self, path: str) -> tuple[int, int] | None:
        """When a file was changed last, and how large it is; None where there is none."""
        if not _is_plain(path):
            return None
        try:
            with open_under(self.path, path, "rb") as file:
                found = os.fstat(file.fileno())
        except (OSError, Unclear, ValueError):
            return None
        return found.st_mtime_ns, found.st_size

    def suggestions(self, begun: str) -> list[str]:
        """The paths that begin so."""
        return [path for path in self._paths() if path.startswith(begun)]


class Resources:
    """Resources as a toolset of one tool, so that they are read on the call path.

    Args:
        resources: single ones, templates and folders.
    """

    generation = 0

    def __init__(self, resources: Sequence[Resource | Folder]) -> None:
        self.all = tuple(resources)
        self.definition = Tool(
            name=READ,
            description="Read a resource by its address.",
            parameters={
                "type": "object",
                "properties": {"uri": {"type": "string"}},
                "required": ["uri"],
                "additionalProperties": False,
            },
            effects=frozenset({"read"}),
        )

    async def listed(self) -> list[JsonObject]:
        """All single ones."""
        found: list[JsonObject] = []
        for one in self.all:
            if isinstance(one, Folder):
                found += await asyncio.to_thread(one.files)
            elif one.template is None:
                found.append(one.told())
        return found

    async def names(self) -> list[Json]:
        """The addresses of all single ones, where there are folders: without those they do not change."""
        if not any(isinstance(one, Folder) for one in self.all):
            return []
        return [one["uri"] for one in await self.listed()]

    def stamp(self, uri: str) -> tuple[int, int] | None:
        """What tells whether a file has changed; None for what is no file."""
        for one in self.all:
            path = one.matches(uri) if isinstance(one, Folder) else None
            if isinstance(one, Folder) and path is not None:
                return one.stamp(path)
        return None

    def templates(self) -> list[JsonObject]:
        """All that stand for many."""
        return [one.told() for one in self.all if isinstance(one, Folder) or one.template is not None]

    def suggestions(self, template: str, name: str, begun: str) -> Sequence[str]:
        """What could be meant by the beginning of a value in the template that is written so."""
        for one in self.all:
            if one.told().get("uriTemplate") != template:
                continue
            if isinstance(one, Folder):
                return list(islice(one.suggestions(begun), FILES_MAX))
            return one.suggest[name](begun) if name in one.suggest else ()
        return ()

    async def list_tools(self) -> Sequence[Tool]:
        return (self.definition,)

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """What is at an address; nothing, where nothing is."""
        uri = str(call.arguments["uri"])
        for one in self.all:
            if isinstance(one, Folder):
                path = one.matches(uri)
                if path is not None:
                    return one.read(path, uri)
                continue
            values = one.matches(uri)
            if values is not None:
                return await one.read(uri, values, context)
        return NOTHING


def own_runs(journal: Journal, labels: Mapping[str, Label] | None = None) -> Resource:
    """The runs of a journal at `actum://runs/<id>`: the question, the calls, and their results.

    A run is shown only to its own user, without values with a label that the user may not read.

    Args:
        journal: the journal.
        labels: what the labels of values mean.
    """

    async def read_run(run_id: str, ctx: Context) -> object:
        entries = await journal.read(run_id, tenant=ctx.tenant)
        started = entries[0].record if entries else None
        if not isinstance(started, Started) or started.user != ctx.user:
            return None
        mask = reader_mask(labels or {}, ctx.principal, ctx.roles)
        recording = RunState(await as_seen(mask, journal, run_id, entries))
        calls: list[Json] = []
        for cause, asked in recording.calls.items():
            for index, call in enumerate(asked):
                known = recording.outcome(CallRef(cause, index))
                told: JsonObject = {"tool": call.name, "arguments": call.arguments}
                if known is not None:
                    told["failed" if known[0].error is not None else "result"] = known[0].text
                calls.append(told)
        status = recording.ended.status if recording.ended is not None else "running"
        return {"run_id": run_id, "agent": started.agent, "status": status, "calls": calls}

    return Resource(
        "actum://runs/{run_id}",
        read_run,
        name="runs",
        description="A run of yours: its calls and what they came to.",
        media_type="application/json",
    )


def _is_plain(path: str) -> bool:
    """No part of it is hidden or leads upwards."""
    return "\x00" not in path and not any(part.startswith(".") for part in path.split("/"))


def _media_type(path: str, data: bytes = b"\xff") -> str:
    """By its name; a file of unknown name that is text is text."""
    known = mimetypes.guess_type(path)[0]
    if known is None:
        with contextlib.suppress(UnicodeDecodeError):
            return "text/plain" if "\x00" not in data.decode() else ANY_TYPE
    return known or ANY_TYPE
