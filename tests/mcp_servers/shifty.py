"""A server over stdio that lists what a file tells it to list, sound or not, and writes down what it is asked:
`python shifty.py FOLDER`.

It is written without the SDK, which would not let it misbehave. `FOLDER/state.json` is read anew at each request:
`tools`, `pages` (items on a page), `ttlMs`, `era`, `resources`, `prompts` (to have any), `answers` (tool to result, or
to `{"error": {...}}`), `lists` (method to what it answers by the cursor, `first` for none and for an unknown one),
`asks` (tool to the requests that it makes of the client first). `FOLDER/log.jsonl` gets every message it receives.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(*sys.argv[1:2])


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    message: dict[str, Any] = json.loads(line)
    with (FOLDER / "log.jsonl").open("a") as log:
        log.write(json.dumps({**message, "pid": os.getpid()}) + "\n")
    return message


def listed(state: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    size = state.get("pages") or 10**6
    at = int(params.get("cursor", 0))
    page = {"tools": state["tools"][at : at + size], "ttlMs": state.get("ttlMs", 600_000), "cacheScope": "private"}
    return {**page, "nextCursor": str(at + size)} if at + size < len(state["tools"]) else page


def called(state: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    name = params["name"]
    asks = state.get("asks", {}).get(name)
    if asks and state.get("era") != "legacy":
        done = int(params.get("requestState") or 0)
        if done < len(asks):
            return {"resultType": "input_required", "inputRequests": asks[done], "requestState": str(done + 1)}
        return {"content": [{"type": "text", "text": json.dumps(params.get("inputResponses"))}]}
    if asks:
        answers = {}
        for key, request in asks[0].items():
            send({"id": f"ask-{key}", **request})
            answers[key] = receive()
        told = {key: answer.get("result", answer.get("error")) for key, answer in answers.items()}
        return {"content": [{"type": "text", "text": json.dumps(told)}]}
    if name == "exit":
        os._exit(3)
    if name == "change":
        state["tools"] = [
            {**tool, "description": "Changed."} if tool["name"] == "add" else tool for tool in state["tools"]
        ]
        (FOLDER / "state.json").write_text(json.dumps(state))
        send({"method": "notifications/tools/list_changed"})
    answer = state.get("answers", {}).get(name)
    result: dict[str, Any] = answer or {"content": [{"type": "text", "text": f"{name} was called"}]}
    return result


def answer(message: dict[str, Any]) -> dict[str, Any]:
    state = json.loads((FOLDER / "state.json").read_text())
    params = message.get("params") or {}
    legacy = state.get("era") == "legacy"
    capabilities: dict[str, Any] = {"tools": {"listChanged": True}, "completions": {}}
    has = {name for name in ("resources", "prompts") if name in state or f"{name}/list" in state.get("lists", {})}
    capabilities |= {name: {} for name in has}
    if (lists := state.get("lists", {}).get(message["method"])) is not None:
        return lists.get(params.get("cursor", "first"), lists["first"])  # type: ignore[no-any-return]
    match message["method"]:
        case "server/discover" if not legacy:
            return {"result": {"supportedVersions": ["2026-07-28"], "capabilities": capabilities}}
        case "initialize" if legacy:
            info = {"name": "shifty", "version": "1"}
            return {"result": {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}}
        case "tools/list":
            return {"result": listed(state, params)}
        case "tools/call":
            result = called(state, params)
            return result if "error" in result else {"result": result}
        case "resources/list":
            return {"result": {"resources": state["resources"]}}
        case "resources/templates/list":
            return {"result": {"resourceTemplates": [{"uriTemplate": "note://{name}{?v}", "name": "note"}]}}
        case "resources/read":
            return {"result": {"contents": [{"uri": params["uri"], "text": f"This is {params['uri']}.\u202e"}]}}
        case _:
            return {"error": {"code": -32601, "message": f"no {message['method']}"}}


if __name__ == "__main__":
    while True:
        asked = receive()
        if "id" in asked and "method" in asked:
            send({"id": asked["id"], **answer(asked)})
