"""A server with a handshake that logs all the time, whether a request is under way or not. It has no prompts that
change.
"""

from __future__ import annotations

import json
import sys
import threading

LOCK = threading.Lock()


def write(message: dict[str, object]) -> None:
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def talk(over: threading.Event) -> None:
    while not over.wait(0.02):
        for level in ("debug", "warning"):
            params = {"level": level, "logger": "talker", "data": {"heard": level}, "x-more": 1}
            write({"method": "notifications/message", "params": params})


def main() -> None:
    over = threading.Event()
    for line in sys.stdin:
        asked = json.loads(line)
        if asked.get("method") == "notifications/initialized":
            threading.Thread(target=talk, args=(over,), daemon=True).start()
        if "id" not in asked:
            continue
        match asked["method"]:
            case "initialize":
                offers: dict[str, object] = {"tools": {}, "prompts": {}, "logging": {}}
                info = {"name": "talker", "version": "1"}
                result = {"protocolVersion": "2025-11-25", "capabilities": offers, "serverInfo": info}
            case "tools/list":
                result = {"tools": []}
            case "prompts/list":
                result = {"prompts": []}
            case other:
                write({"id": asked["id"], "error": {"code": -32601, "message": other}})
                continue
        write({"id": asked["id"], "result": result})
    over.set()


if __name__ == "__main__":
    main()
