"""An address that an API names in an answer, as the call of one of its tools: the next page, or how a job went. Pure.

Nothing is followed by itself, and an address is asked only by a tool that a person approved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from ...core.json import JsonObject
from .model import ApiOperation, BadDocument
from .setup import ApiSetup

VALUE_CHARS_MAX = 2000
"""A longer value is not told to a model."""


class AskedBy(NamedTuple):
    """The tool and the arguments by which an address is asked."""

    tool: str
    arguments: JsonObject


def asked_by(setup: ApiSetup, operations: Iterable[ApiOperation], address: str) -> AskedBy | None:
    """The call that sends GET to an address; None where no tool does.

    Args:
        setup: the API, for its base address.
        operations: the tools there are. One with more fixed words in its path goes first.
        address: absolute, at a server of this API.
    """
    parts = urlsplit(address)
    query = parse_qsl(parts.query, keep_blank_values=True)
    found: list[tuple[int, AskedBy]] = []
    for operation in operations:
        if operation.method != "GET" or operation.body is not None or operation.tool.name in setup.templates:
            continue
        try:
            base = urlsplit(setup.address_of(operation))
        except BadDocument:
            continue
        in_path = _pattern(base.path.rstrip("/") + operation.path.partition("#")[0]).fullmatch(parts.path)
        if (base.scheme, base.netloc) == (parts.scheme, parts.netloc) and in_path:
            arguments = _arguments(operation, list(in_path.groups()), query)
            if arguments is not None:
                found.append((-operation.path.count("{"), AskedBy(operation.tool.name, arguments)))
    return max(found, key=lambda each: each[0])[1] if found else None


@lru_cache(maxsize=4096)
def _pattern(path: str) -> re.Pattern[str]:
    return re.compile("".join("([^/]+)" if part[:1] == "{" else re.escape(part) for part in _pieces(path)))


def _pieces(path: str) -> list[str]:
    return re.split(r"(\{[^{}]+\})", path)


def _arguments(operation: ApiOperation, in_path: list[str], query: list[tuple[str, str]]) -> JsonObject | None:
    """The arguments that say this path and query; None where the operation can not say them."""
    names = [part[1:-1] for part in _pieces(operation.path.partition("#")[0]) if part[:1] == "{"]
    said = dict(zip(names, in_path, strict=True))
    arguments: JsonObject = {}
    rest = dict(query)
    for plan in operation.parameters:
        if plan.where == "path" and plan.style == "simple" and not plan.media_type:
            arguments[plan.argument] = unquote(said[plan.name])
        elif plan.where == "query" and plan.name in rest:
            arguments[plan.argument] = rest.pop(plan.name)
        elif plan.required:
            return None
    is_short = all(len(str(value)) <= VALUE_CHARS_MAX for value in arguments.values())
    return arguments if is_short and not rest and len(query) == len(dict(query)) else None
