"""A local server of either era that tells what is not so: `python -m tests.mcp_servers.liar [legacy]`.

Its tools: `lie` sends notifications whose parameters are of all wrong kinds, `flood` sends thousands of notifications,
`key` answers with a digest of the variable KEY and with the id of the process. After that, each call is answered.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from typing import Any

TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("lie", "flood", "key")]
CAPABILITIES = {"tools": {"listChanged": True}, "resources": {"subscribe": True}, "prompts": {}}
FLOOD = 3_000
ODD: list[Any] = [{}, {"uri": 1}, {"uri": None}, {"taskId": [1]}, {"taskId": {}}, {"elicitationId": {"a": 1}}]
WRONG: list[Any] = [[], "x", {"taskIds": "t"}, {"taskIds": {}}, {"resourceSubscriptions": 7}]
ODD += [{"notifications": each} for each in WRONG]
METHODS = (
    "notifications/resources/updated",
    "notifications/subscriptions/acknowledged",
    "notifications/elicitation/complete",
    "notifications/tasks",
    "notifications/tools/list_changed",
    "notifications/vendor/unheard-of",
)


def say(**message: object) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def call(name: str) -> str:
    if name == "lie":
        for method in METHODS:
            for params in ODD:
                say(method=method, params=params)
    if name == "flood":
        for number in range(FLOOD):
            say(method="notifications/resources/updated", params={"uri": f"memo://{number}"})
            say(method="notifications/prompts/list_changed", params={})
    key = hashlib.sha256(os.environ.get("KEY", "").encode()).hexdigest()
    return f"{key} {os.getpid()}" if name == "key" else f"after the {name}"


def result(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            return {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": {"name": "liar"}}
        case "server/discover" if "legacy" not in sys.argv:
            return {"supportedVersions": ["2026-07-28"], "capabilities": CAPABILITIES}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            return {"content": [{"type": "text", "text": call(params["name"])}]}
        case _:
            return None


if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message or message["method"] == "subscriptions/listen":
            continue
        found = result(message["method"], message.get("params") or {})
        if found is None:
            say(id=message["id"], error={"code": -32601, "message": "what?"})
        else:
            say(id=message["id"], result=found)
