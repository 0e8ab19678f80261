"""Puts together the arguments of a call that Gemini streams in pieces, each with its place (`partialArgs`). Pure.

Only Vertex AI does this, and only when it is asked to (`streamFunctionCallArguments`). A piece names its place by a
JSON path (RFC 9535) of names and indices; a text may come in several pieces.
"""

from __future__ import annotations

import re

from ....core.json import Json, JsonObject

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\[(?:'([^']*)'|"([^"]*)")\]""")
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")
INDEX_MAX = 10_000

Steps = tuple[str | int, ...]


class PartialArgs:
    """The arguments of one call, as they grow."""

    def __init__(self) -> None:
        self._found: dict[Steps, Json] = {}
        self._texts: dict[Steps, list[str]] = {}
        self._by_path: dict[str, list[str]] = {}

    def take(self, piece: JsonObject) -> bool:
        """Take a piece; whether it could be read."""
        path = piece.get("jsonPath")
        steps = _steps(path) if isinstance(path, str) else ()
        kind = next((name for name in _VALUES if name in piece), "")
        if not steps or not kind:
            return False
        value = None if kind == "nullValue" else piece[kind]
        if isinstance(value, str):
            self._texts.setdefault(steps, []).append(value)
            value = None
        self._found.setdefault(steps, value)
        return True

    def add_text(self, path: str, text: str) -> None:
        """Take a piece that is a text."""
        pieces = self._by_path.get(path)
        if pieces is None:
            self.take({"jsonPath": path, "stringValue": text})
            self._by_path[path] = self._texts.get(_steps(path), [])
        else:
            pieces.append(text)

    def whole(self) -> JsonObject:
        """The arguments so far."""
        root: JsonObject = {}
        for steps, value in self._found.items():
            pieces = self._texts.get(steps)
            _put(root, steps, value if pieces is None else "".join(pieces))
        return root


def _steps(path: str) -> Steps:
    """The names and indices of a path; empty for one that is not understood."""
    steps: list[str | int] = []
    at = 1 if path.startswith("$") else 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None or (step[2] and int(step[2]) > INDEX_MAX):
            return ()
        steps.append(int(step[2]) if step[2] else step[1] or step[3] or step[4] or "")
        at = step.end()
    return tuple(steps) if steps and isinstance(steps[0], str) else ()


def _put(root: JsonObject, steps: Steps, value: Json) -> None:
    place: Json = root
    for step, after in zip(steps, (*steps[1:], None), strict=True):
        inner: Json = value if after is None else [] if isinstance(after, int) else {}
        if isinstance(place, list) and isinstance(step, int):
            place.extend([None] * (step + 1 - len(place)))
            if after is None or not isinstance(place[step], list | dict):
                place[step] = inner
            place = place[step]
        elif isinstance(place, dict):
            if after is None or not isinstance(place.get(str(step)), list | dict):
                place[str(step)] = inner
            place = place[str(step)]
        else:
            return
