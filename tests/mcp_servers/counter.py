"""A server over stdio that keeps state, as a browser or a shell does: `python counter.py FOLDER [legacy]`.

Tools: `count` (how often it was called, and by which process it is counted), `visit` and `page` (a page that stays
open), `hold` (answers when `FOLDER/go` is there or when it is cancelled, and tells progress), `ask` (asks the user for
a name, and answers with what they said), `die`. Each start leaves a line in `FOLDER/starts`.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any, TypeAlias

FOLDER = Path(*sys.argv[1:2])
LEGACY = "legacy" in sys.argv
TOOLS = ("count", "visit", "page", "hold", "ask", "die")
TEXT = {"type": "object", "properties": {"url": {"type": "string"}}}

speaking = threading.Lock()
Id: TypeAlias = int | str | None

cancelled: set[Id] = set()
asked: dict[str, Id] = {}


def send(message: dict[str, Any]) -> None:
    with speaking:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def answer(number: Id, words: object) -> None:
    send({"id": number, "result": {"content": [{"type": "text", "text": str(words)}]}})


def hold(number: Id, token: Id) -> None:
    """Wait for the file `go`, or to be cancelled."""
    send(
        {"method": "notifications/progress", "params": {"progressToken": token, "progress": 1, "message": f"{number}"}}
    )
    waited = threading.Event()
    while not (FOLDER / "go").exists():
        if number in cancelled:
            return
        waited.wait(0.01)
    answer(number, f"held by {os.getpid()}")


class State:
    count = 0
    page = "no page is open"


def call(number: Id, params: dict[str, Any]) -> None:
    match params["name"]:
        case "count":
            State.count += 1
            answer(number, f"{State.count} {os.getpid()}")
        case "visit":
            State.page = params["arguments"]["url"]
            answer(number, f"opened {State.page}")
        case "page":
            answer(number, State.page)
        case "hold":
            token = params.get("_meta", {}).get("progressToken")
            threading.Thread(target=hold, args=(number, token), daemon=True).start()
        case "ask":
            asked[f"ask-{number}"] = number
            form = {"type": "object", "properties": {"name": {"type": "string"}}}
            params = {"message": "Your name?", "requestedSchema": form}
            send({"id": f"ask-{number}", "method": "elicitation/create", "params": params})
        case "die":
            os._exit(3)
        case _:
            send({"id": number, "error": {"code": -32602, "message": "no such tool"}})


def serve(message: dict[str, Any]) -> None:
    number, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "counter", "version": "1"}}
    match method:
        case None:
            answer(asked.pop(str(number)), json.dumps(message.get("result", message.get("error"))))
        case "initialize" if LEGACY:
            send({"id": number, "result": {"protocolVersion": "2025-11-25", **about}})
        case "server/discover" if not LEGACY:
            send({"id": number, "result": {"supportedVersions": ["2026-07-28"], **about}})
        case "tools/list":
            send({"id": number, "result": {"tools": [{"name": name, "inputSchema": TEXT} for name in TOOLS]}})
        case "tools/call":
            call(number, params)
        case "notifications/cancelled":
            cancelled.add(params["requestId"])
        case _:
            if number is not None:
                send({"id": number, "error": {"code": -32601, "message": f"no {method}"}})


if __name__ == "__main__":
    with (FOLDER / "starts").open("a") as starts:
        starts.write(f"{os.getpid()}\n")
    for line in sys.stdin:
        serve(json.loads(line))
