"""JSON that is nested deeply is refused at every door, in the form of the door's own errors, and nothing breaks."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import BaseRoute, Mount, Route

from tests.endurance import some

from .test_matrix import OF_MCP, Served, served

DEPTHS = (150, 900, 20_000)
BODIES = {
    "list": "@[",
    "unknown": '{"model": "desk", "x": @[}',
    "objects": '{"model": "desk", "x": @{}',
    "question": '{"question": @[, "arguments": @{}',
    "chat": '{"model": "desk", "messages": [{"role": "user", "content": @[}]}',
    "extra": '{"model": "desk", "messages": [{"role": "user", "content": "Hi"}], "metadata": @{}',
    "schema": '{"model": "desk", "messages": [{"role": "user", "content": "Hi"}], "tools": [{"type": "function", '
    '"function": {"name": "f", "parameters": @{}}]}',
    "responses": '{"model": "desk", "input": [{"type": "function_call_output", "call_id": "c", "output": @[}]}',
    "gemini": '{"contents": [{"role": "user", "parts": [{"functionCall": {"name": "f", "args": @{}}]}]}',
    "rpc": '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": @{}}',
    "a2a": '{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": {"messageId": "m", "role": '
    '"ROLE_USER", "parts": [{"data": @{}]}}}',
    "call": '{"arguments": {"a": @[, "b": 1}}',
}
"""Bodies by what they look like; `@[` and `@{` stand for something that is nested deeply."""


def nested(body: str, depth: int) -> bytes:
    deep = body.replace("@[", "[" * depth + "]" * depth)
    return deep.replace("@{", '{"a":' * depth + "1" + "}" * depth).encode()


def taking_bodies(routes: Sequence[BaseRoute]) -> Iterator[tuple[str, str]]:
    """Method and path of all that may take a body."""
    for route in routes:
        assert isinstance(route, Route | Mount), route
        path = re.sub("{agent[^}]*}", "desk", route.path)
        path = re.sub("{name[^}]*}", "hello" if "workflows" in path else "add", path)
        path = re.sub("{model[^}]*}", "desk", path)
        path = re.sub("{[^}]*}", "nowhere", path)
        for method in sorted(
            ((isinstance(route, Route) and route.methods) or {"POST"}) & {"POST", "PUT", "PATCH", "DELETE"}
        ):
            yield method, "/messages/" if path == "/messages" else path


async def asked(it: Served, method: str, path: str, body: bytes) -> tuple[int, str]:
    headers = {"authorization": f"Bearer {it.keys['north']}", "content-type": "application/json", "a2a-version": "1.0"}
    if path == "/mcp":
        headers |= {**OF_MCP, "mcp-method": "tools/call", "mcp-name": "add"}
    answer = await it.client.request(method, path, content=body, headers=headers)
    return answer.status_code, answer.text


@pytest.mark.endurance("src/actum/server", "src/actum/core/json.py")
@pytest.mark.parametrize("depth", DEPTHS)
async def test_json_that_is_nested_deeply_never_breaks_a_door(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, depth: int
) -> None:
    wrong: list[str] = []
    async with served(tmp_path) as it:
        await it.add_keys()
        for method, path in dict.fromkeys(taking_bodies(it.routes)):
            for name in [*BODIES] if depth == DEPTHS[-1] else some([*BODIES], 4):
                status, text = await asked(it, method, path, nested(BODIES[name], depth))
                if (status >= 500 and status != 501) or "Traceback" in text:
                    wrong.append(f"{method} {path} {name}: {status} {text[:100]}")
    wrong += [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert wrong == []


FORMS: dict[str, tuple[str, ...]] = {
    "/v1/chat/completions": ("error", "type"),
    "/v1/completions": ("error", "type"),
    "/v1/embeddings": ("error", "type"),
    "/v1/responses": ("error", "type"),
    "/v1/assistants": ("error", "type"),
    "/v1/threads": ("error", "type"),
    "/v1/conversations": ("error", "type"),
    "/v1/messages": ("request_id",),
    "/v1/messages/count_tokens": ("request_id",),
    "/v1beta/models/desk:generateContent": ("error", "status"),
    "/v1/models/desk:generateContent": ("error", "status"),
    "/v1beta/models/desk:streamGenerateContent?alt=sse": ("error", "status"),
    "/v1/tools/add/call": ("detail",),
    "/v1/runs": ("detail",),
    "/a2a/desk/rest/message:send": ("error", "status"),
    "/mcp": ("jsonrpc",),
}
"""Where in the answer a field stands that only the errors of this API have."""


@pytest.mark.parametrize("path", FORMS)
async def test_json_that_is_nested_a_thousand_deep_is_a_400_in_the_form_of_its_api(tmp_path: Path, path: str) -> None:
    async with served(tmp_path) as it:
        await it.add_keys()
        for name, body in BODIES.items():
            status, text = await asked(it, "POST", path, nested(body, 1_000))
            told: Any = json.loads(text)
            for step in FORMS[path]:
                told = told[step]
            assert (status, bool(told)) == (400, True), (name, text)
