"""A server of the era with a handshake that ends itself at any request before it, as some in the wild do."""

from __future__ import annotations

import json
import sys

FIRST = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "shy", "version": "1"}}

for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": FIRST}), flush=True)
    elif message["method"] == "tools/list":
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": []}}), flush=True)
    elif "id" in message:
        sys.exit("expected initialize")
