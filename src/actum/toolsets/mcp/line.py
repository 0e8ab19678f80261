"""A line of a local MCP server as messages, however damaged the line is. Pure.

A damaged answer is an error for the request that it names. Where it names none, it is an error for all requests that
wait, since one of them waits for it. What is no answer is somebody's log, and disturbs nobody.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import suppress

import msgspec
from mcp_types import INTERNAL_ERROR, PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter

from ...core.json import Json, JsonObject, JsonProblem, dumps, parse

HEAD_CHARS = 256 * 1024
"""The most characters of a line that is not JSON which are searched to find out what it is."""
_MARK = "\ufeff"
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?$)|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)


def messages(line: bytes, waiting: Collection[int | str] = (), *, is_whole: bool = True) -> list[JSONRPCMessage]:
    """What a line says. Bytes that are no UTF-8, halves of surrogate pairs and a byte order mark are mended.

    Args:
        line: without its end.
        waiting: the requests that have no answer yet.
        is_whole: False for the beginning of a line that is too long.

    Raises:
        ValueError: it says nothing that anybody waits for.

    >>> messages(b'{"jsonrpc": "2.0", "id": 3, "result": [1]}')[0].id
    3
    """
    if is_whole:
        with suppress(ValueError):
            return _for_somebody(jsonrpc_message_adapter.validate_json(line, by_name=False), waiting)
    text = line.decode("utf-8", "replace").removeprefix(_MARK)
    if not is_whole:
        return _damaged(_fields(text), waiting, "too long")
    try:
        value, _ = parse(text, keep_last=True)
    except JsonProblem:
        return _damaged(_fields(text), waiting, "no JSON")
    if isinstance(value, list):  # a batch, as 2025-03-26 has it
        found: list[JSONRPCMessage] = []
        for item in value:
            with suppress(ValueError):  # one message of the batch that is none costs no other
                found += messages(dumps(item).encode(), waiting)
        return found
    if not isinstance(value, dict):
        raise ValueError("no message")
    number = value.get("id")
    if isinstance(number, float) and number.is_integer():
        value["id"] = int(number)
    if "jsonrpc" in value and value.get("error") is not None and not {"method", "result"} & value.keys():
        value["error"] = _sound_error(value["error"])
    with suppress(ValueError):
        return _for_somebody(jsonrpc_message_adapter.validate_python(value, by_name=False), waiting)
    return _damaged(value, waiting, "no message")


def _sound_error(said: Json) -> JsonObject:
    """An error with a number and a message, whatever the server says in its place."""
    error: JsonObject = said if isinstance(said, dict) else {"message": said}
    code, message = error.get("code"), error.get("message")
    words = message if isinstance(message, str) and message else dumps(said)
    if isinstance(code, float) and code.is_integer():
        code = int(code)
    if not isinstance(code, int) or isinstance(code, bool):
        code, words = INTERNAL_ERROR, words if code is None else f"{code}: {words}"
    return {**error, "code": code, "message": words}


def _for_somebody(message: JSONRPCMessage, waiting: Collection[int | str]) -> list[JSONRPCMessage]:
    """An error without an id is one for all that wait."""
    if isinstance(message, JSONRPCError) and message.id is None:
        return [JSONRPCError(jsonrpc="2.0", id=each, error=message.error) for each in waiting]
    return [message]


def _damaged(fields: Mapping[str, Json], waiting: Collection[int | str], fault: str) -> list[JSONRPCMessage]:
    """The errors that an answer stands for that can't be read.

    Raises:
        ValueError: it is no answer.
    """
    error, number = fields.get("error"), fields.get("id")
    is_protocol = "jsonrpc" in fields
    is_answer = "result" in fields or (is_protocol if isinstance(error, str) else error is not None)
    if "method" in fields or not (is_protocol or is_answer):
        raise ValueError(fault)
    if isinstance(number, int | str) and not isinstance(number, bool):
        return [_malformed(number, fault)]
    if is_protocol and is_answer:
        return [_malformed(each, fault) for each in waiting]
    raise ValueError(fault)


def _malformed(request: int | str, fault: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=PARSE_ERROR, message=f"malformed: {fault}"))


def _fields(text: str) -> dict[str, Json]:
    """The fields of an object that is no JSON, as far as they can be made out; of an object or a list inside, nothing.

    >>> _fields('{"jsonrpc": "2.0", "result": {"id": 5, "a": NaN,}, "id": 7, "x": oops')
    {'jsonrpc': '2.0', 'result': {}, 'id': 7, 'x': None}
    """
    found: dict[str, Json] = {}
    depth, before, name = 0, "", ""
    for match in _TOKEN.finditer(text, 0, HEAD_CHARS):
        token = match[0]
        if not depth and token != "{":
            break  # it begins as a log does
        if depth == 1 and before == ":" and name:
            found.setdefault(name, _value(token))
        depth += (token in "{[") - (token in "}]")
        if depth == 1 and token == ":":
            said = _value(before)
            name = said if isinstance(said, str) else ""
        before = token
    return found


def _value(token: str) -> Json:
    if token in "{[":
        return {}
    try:
        value: Json = msgspec.json.decode(token.encode("utf-8", "replace"))
    except msgspec.DecodeError:
        return None
    return value
