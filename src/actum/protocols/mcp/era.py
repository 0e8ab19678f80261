"""What one era of the Model Context Protocol says, in the words of the other: results, errors and capabilities that a
gateway passes on. Pure.

What both know passes untouched, and so does what neither knows. A hop's own business (who it is, how far a request is,
which version it speaks) is not passed on.

Source: Model Context Protocol 2025-11-25 and 2026-07-28 (basic/index, server/utilities/caching, changelog).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from ...core.json import Json, JsonObject, dumps
from .tasks import EXTENSION as TASKS

OURS = "io.modelcontextprotocol/"
LOG_LEVEL = f"{OURS}logLevel"
SERVER_INFO = f"{OURS}serverInfo"
NOT_FOUND = {"legacy": -32002, "modern": -32602}
"""What is said of a resource that is not there."""

_MODERN_ONLY = ("resultType", "ttlMs", "cacheScope")
_HOP = ("progressToken",)
_HERE = ("_meta", "inputResponses", "requestState", "task")
_ASKABLE = ("elicitation", "sampling", "roots", "experimental", "extensions")


def contained(declared: JsonObject) -> JsonObject:
    """The capabilities of a client that are declared on its behalf: what it declared, and nothing else.

    Tasks are left out: they are declared for a call that may become one, see `with_tasks`.

    >>> contained({"sampling": {}, "tasks": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
    {'sampling': {}}
    """
    kept = {name: declared[name] for name in _ASKABLE if isinstance(declared.get(name), dict)}
    extensions = kept.get("extensions")
    if isinstance(extensions, dict):
        others = {name: value for name, value in extensions.items() if name != TASKS}
        kept = {name: value for name, value in kept.items() if name != "extensions"}
        if others:
            kept["extensions"] = others
    return kept


def with_tasks(capabilities: JsonObject) -> JsonObject:
    """These capabilities of a client, and that it knows tasks.

    >>> with_tasks({"roots": {}})
    {'roots': {}, 'extensions': {'io.modelcontextprotocol/tasks': {}}}
    """
    declared = capabilities.get("extensions")
    return {**capabilities, "extensions": {**(declared if isinstance(declared, dict) else {}), TASKS: {}}}


def offers_tasks(capabilities: JsonObject) -> bool:
    """Whether a server says that it may answer a call with a task.

    >>> offers_tasks({"extensions": {"io.modelcontextprotocol/tasks": {}}})
    True
    """
    extensions = capabilities.get("extensions")
    return isinstance(extensions, dict) and TASKS in extensions


def passed_on(params: JsonObject, log_level: str = "", traceparent: str = "", tracestate: str = "") -> JsonObject:
    """The parameters of a request as they go to the server behind: all but what concerns this hop alone.

    Args:
        log_level: from which on the client wants to hear what the server logs; empty for not at all.
        traceparent: of the call here, in the client's trace; empty to leave the client's own.
        tracestate: beside it.

    >>> passed_on({"name": "a", "_meta": {"progressToken": 1, "traceparent": "00-1-2-00"}})
    {'name': 'a', '_meta': {'traceparent': '00-1-2-00'}}
    """
    kept = {name: value for name, value in params.items() if name not in _HERE}
    given = params.get("_meta")
    meta = {
        name: value
        for name, value in (given.items() if isinstance(given, dict) else ())
        if name not in _HOP and not name.startswith(OURS)
    }
    if log_level:
        meta[LOG_LEVEL] = log_level
    if traceparent:
        meta |= {"traceparent": traceparent, "tracestate": tracestate}
        if not tracestate:
            del meta["tracestate"]  # the client's own goes with the client's own traceparent
    if meta:
        kept["_meta"] = meta
    return kept


def result_for(method: str, result: JsonObject, *, modern: bool) -> JsonObject:
    """A server's result, as a client of either era reads it.

    >>> result_for("tools/call", {"resultType": "complete", "content": []}, modern=False)
    {'content': []}
    """
    told = {name: value for name, value in result.items() if name != "_meta"}
    given = result.get("_meta")
    meta = {name: value for name, value in (given.items() if isinstance(given, dict) else ()) if name != SERVER_INFO}
    if meta:
        told["_meta"] = meta
    if modern:
        return told
    for name in _MODERN_ONLY:
        told.pop(name, None)
    return _with_object(told) if method == "tools/call" else told


def definition_for(definition: JsonObject, name: str, *, modern: bool) -> JsonObject:
    """A tool's definition under another name. One whose results are no objects has no schema for them in the older era.
    A gateway does not take calls as tasks of that era: where a tool wants that, it sees to it itself.

    >>> definition_for({"name": "a", "outputSchema": {"type": "array"}}, "x_a", modern=False)
    {'name': 'x_a'}
    """
    told = {**definition, "name": name}
    execution = told.get("execution")
    if isinstance(execution, dict) and "taskSupport" in execution:
        told["execution"] = {name: value for name, value in execution.items() if name != "taskSupport"}
    schema = told.get("outputSchema")
    if not modern and isinstance(schema, dict) and schema.get("type") != "object":
        del told["outputSchema"]
    return told


def error_code_for(code: int, method: str, *, modern: bool) -> int:
    """The code of a server's error, as a client of either era knows it."""
    if method == "resources/read" and modern and code == NOT_FOUND["legacy"]:
        return NOT_FOUND["modern"]
    return code


def offered(capabilities: Iterable[tuple[JsonObject, bool]], *, modern: bool, grows: bool = False) -> JsonObject:
    """What a gateway offers to a client: what any of its servers does, as far as it is passed on.

    Args:
        capabilities: of each server, and whether it is of the newer era.
        modern: whether the client is.
        grows: whether there are servers that were not reached yet, whose offers come later.

    What changes of tools is told in any case, since a person may approve some. That prompts and resources change is
    told where their servers tell it.
    """
    told: JsonObject = {}
    extensions: JsonObject = {}
    for found, newer in capabilities:
        for name in ("tools", "prompts", "resources"):
            said, known = found.get(name), told.get(name)
            if isinstance(said, dict):
                own = known if isinstance(known, dict) else {}
                tells = name == "tools" or grows or said.get("listChanged") is True
                told[name] = {**own, "listChanged": True} if tells else own
                if name == "resources" and said.get("subscribe") is True:
                    told[name] = {**own, **cast(JsonObject, told[name]), "subscribe": True}
        more = found.get("extensions")
        for name in ("completions", "experimental"):
            if isinstance(found.get(name), dict):
                told[name] = found[name]
        if isinstance(found.get("logging"), dict) or (newer and not modern):
            told["logging"] = {}
        extensions |= more if isinstance(more, dict) else {}
    if not modern:
        extensions.pop(TASKS, None)
    if extensions:
        told["extensions"] = extensions
    return told


def _with_object(result: JsonObject) -> JsonObject:
    """With a structured result that the older era allows, which knows objects alone; any other is told as text."""
    value: Json = result.get("structuredContent", {})
    if isinstance(value, dict):
        return result
    told = {name: each for name, each in result.items() if name != "structuredContent"}
    if not told.get("content"):
        told["content"] = [{"type": "text", "text": value if isinstance(value, str) else dumps(value)}]
    return told
