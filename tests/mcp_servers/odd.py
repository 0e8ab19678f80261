"""A server that does what servers should not, by hand on its pipes: `python -m tests.mcp_servers.odd [WORD ...]`.

Words: `legacy` and `modern` for what it speaks (both where neither is said), `mute` for one that answers nothing,
`stubborn` for one that ends on no polite word, `slow` for one that is slow to start, `circle` for pages without end.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

Message = dict[str, Any]
Id = int | str | None

WORDS = frozenset(sys.argv[1:])
INFO = {"name": "odd", "version": "1"}
early: list[Message] = []
asked: dict[str, Callable[[Message], None]] = {}


def say(message: Message) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(number: Id, words: str, **more: object) -> None:
    say({"id": number, "result": {"content": [{"type": "text", "text": words}], **more}})


def ask(number: Id, method: str, params: Message) -> None:
    """Ask the client something, and answer its request with what it said."""
    name = f"ask-{number}"
    asked[name] = lambda said: text(number, json.dumps(said.get("result", said.get("error"))))
    say({"id": name, "method": method, "params": params})


def call(number: Id, name: str, params: Message) -> None:  # noqa: C901 - one line an oddity
    match name:
        case "echo":
            text(number, json.dumps(params), ownField={"kept": True})
        case "list":
            say({"id": number, "result": [1]})
        case "own":
            say({"id": number, "error": {"code": -32000, "message": "my own\u202e words", "data": {"a": 1}}})
        case "noise":
            sys.stdout.write("a banner of mine\n\n{\n[]\n")
            text(number, "after the noise")
        case "batch":
            answer: Message = {"jsonrpc": "2.0", "id": number, "result": {"content": []}}
            sys.stdout.write(json.dumps([{"jsonrpc": "2.0", "method": "notifications/x"}, answer]) + "\n")
            sys.stdout.flush()
        case "huge":
            text(number, "x" * 34_000_000)
        case "huge and nameless":
            sys.stdout.write('{"jsonrpc":"2.0","result":{"text":"' + "x" * 34_000_000 + f'"}},"id":{number}}}\n')
            sys.stdout.flush()
        case "lines":
            sys.stdout.buffer.write(bytes.fromhex(params["arguments"]["lines"]).replace(b"ID", str(number).encode()))
            sys.stdout.flush()
        case "die":
            sys.stderr.write("I am dying of it\n")
            sys.stderr.flush()
            os._exit(3)
        case "family":
            child = subprocess.Popen([sys.executable, "-c", "import time; print(1, flush=True); time.sleep(600)"])
            text(number, f"{os.getpid()} {child.pid}")
        case "orphan":
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            os._exit(4)
        case "environment":
            text(number, json.dumps(dict(os.environ)))
        case "ask":
            arguments = params["arguments"]
            ask(number, arguments["method"], arguments.get("params", {}))
        case "steps":
            token = params["_meta"]["progressToken"]
            for step in (1, 2):
                say({"method": "notifications/progress", "params": {"progressToken": token, "progress": step}})
            text(number, "done")
        case "two things":
            if "inputResponses" in params:
                text(number, json.dumps({"id": number, **params}))
            else:
                wanted = {
                    "name": {"method": "elicitation/create", "params": {"message": "Your name?"}},
                    "where": {"method": "roots/list"},
                }
                say(
                    {
                        "id": number,
                        "result": {
                            "resultType": "input_required",
                            "inputRequests": wanted,
                            "requestState": "s\u00e9\n1",
                        },
                    }
                )
        case "for ever":
            say({"id": number, "result": {"resultType": "input_required", "requestState": "on"}})
        case "silence":
            say({"method": "notifications/message", "params": {"level": "info", "data": "I say nothing"}})
        case _:
            say({"id": number, "error": {"code": -32602, "message": f"no {name}"}})


def listed(number: Id, cursor: str | None) -> None:
    pages: dict[str | None, dict[str, Any]] = {
        None: {"tools": [{"name": "one", "inputSchema": {}, "extra": 1}, "no tool"], "nextCursor": "empty"},
        "empty": {"tools": [], "nextCursor": "last"},
        "last": {"tools": [{"name": "two"}], **({"nextCursor": "empty"} if "circle" in WORDS else {})},
    }
    say({"id": number, "result": pages[cursor]})


def is_passed_over(message: Message) -> bool:
    """Whether it goes without an answer of the usual kind: the first two of a server that is slow to start do."""
    if "slow" in WORDS and len(early) < 2:
        early.append(message)
        if message["method"] == "initialize":
            refused = {"code": -32022, "message": "Unsupported", "data": {"supported": ["2026-07-28"]}}
            say({"id": message["id"], "error": refused})
        else:
            sys.stderr.write("asked\n")
            sys.stderr.flush()
        return True
    return "mute" in WORDS


def serve(message: Message) -> None:
    number, method, params = message.get("id"), message.get("method"), message.get("params", {})
    match method:
        case None:
            asked.pop(number)(message)  # type: ignore[arg-type]
        case "server/discover" if WORDS & {"modern"} or not WORDS & {"legacy"}:
            about = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "instructions": "Be kind."}
            say({"id": number, "result": {**about, "_meta": {"io.modelcontextprotocol/serverInfo": INFO}}})
        case "initialize" if not WORDS & {"modern"}:
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": INFO}
            say({"id": number, "result": result})
        case "tools/list":
            listed(number, params.get("cursor"))
        case "tools/call":
            call(number, params["name"], params)
        case "subscriptions/listen":
            about = {"io.modelcontextprotocol/subscriptionId": str(number)}
            say({"method": "notifications/tools/list_changed", "params": {"_meta": about}})
        case "resources/subscribe":
            say({"id": number, "result": {}})
            say({"method": "notifications/resources/updated", "params": params})
        case "notifications/cancelled":
            sys.stderr.write(f"cancelled {params['requestId']}\n")
            sys.stderr.flush()
        case _:
            if number is not None:
                say({"id": number, "error": {"code": -32601, "message": "what?"}})


if __name__ == "__main__":
    if "stubborn" in WORDS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        if not is_passed_over(message := json.loads(line)):
            serve(message)
    if "stubborn" in WORDS:
        signal.pause()
        signal.pause()
