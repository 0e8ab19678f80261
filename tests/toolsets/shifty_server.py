"""The server of `tests/mcp_servers/shifty.py` in the hands of a test: what it lists, and what it was asked."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from actum.core.json import Json, JsonObject
from actum.protocols.mcp.config import McpServer

SHIFTY = Path(__file__).parents[1] / "mcp_servers" / "shifty.py"
NUMBERS: JsonObject = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
ADD: JsonObject = {"name": "add", "description": "Add two numbers.", "inputSchema": NUMBERS}
READS: JsonObject = {**ADD, "name": "look", "annotations": {"readOnlyHint": True}}
DESTROYS: JsonObject = {**ADD, "name": "wipe", "annotations": {"destructiveHint": True}}


class Shifty:
    """Args: the folder in which its state and its log lie."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state: JsonObject = {"tools": [ADD]}

    def tell(self, **state: Json) -> None:
        """From now on it is so."""
        self.state |= state
        (self.folder / "state.json").write_text(json.dumps(self.state))

    def server(self, **options: object) -> McpServer:
        """As it is configured."""
        if not (self.folder / "state.json").exists():
            self.tell()
        args = (str(SHIFTY), str(self.folder))
        return McpServer(name="shifty", command=sys.executable, args=args, **options)  # type: ignore[arg-type]

    def heard(self, method: str = "") -> list[JsonObject]:
        """What it was sent, of this method."""
        log = self.folder / "log.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        messages: list[JsonObject] = [json.loads(line) for line in lines]
        return [message for message in messages if not method or message.get("method") == method]

    def called(self) -> list[str]:
        """The tools that were called, by its own names."""
        return [str(params["name"]) for sent in self.heard("tools/call") if isinstance(params := sent["params"], dict)]
