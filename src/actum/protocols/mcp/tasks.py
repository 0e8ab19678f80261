"""MCP's tasks: a `tools/call` that is answered with a handle, to be asked after. What they look like on the wire. Pure.

Source: the MCP extension `io.modelcontextprotocol/tasks` (SEP-2663), for protocol 2026-07-28.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

from ...core.json import JsonObject

EXTENSION = "io.modelcontextprotocol/tasks"

TaskStatus = Literal["working", "input_required", "completed", "failed", "cancelled"]

OVER: frozenset[str] = frozenset({"completed", "failed", "cancelled"})
"""The states a task does not leave."""


def only_as_task(definition: JsonObject, capabilities: JsonObject) -> bool:
    """Whether a tool of a server with a handshake has to be called as a task (2025-11-25, Tasks).

    Args:
        definition: of the tool.
        capabilities: of its server, which has to offer that.

    >>> only_as_task({"execution": {"taskSupport": "required"}}, {"tasks": {"requests": {"tools": {"call": {}}}}})
    True
    """
    execution, offered = definition.get("execution"), capabilities
    for name in ("tasks", "requests", "tools", "call"):
        found = offered.get(name)
        if not isinstance(found, dict):
            return False
        offered = found
    return isinstance(execution, dict) and execution.get("taskSupport") == "required"


class Task(Struct, frozen=True, kw_only=True):
    """A task as its client sees it.

    Attributes:
        id: what it is asked after by.
        status: how far it is.
        created, updated: seconds since 1970.
        message: about its state, for people.
        ttl_ms: how long after its creation it can be asked after, in milliseconds; None for ever.
        poll_ms: how often it is worth asking, in milliseconds.
        result: of a completed one, what the call came to, a failed tool's own word included.
        error: of a failed one, the protocol's error.
        inputs: of one that waits for its client, what it asks for, by key.
    """

    id: str
    status: TaskStatus
    created: float
    updated: float
    message: str = ""
    ttl_ms: int | None = None
    poll_ms: int = 1000
    result: JsonObject | None = None
    error: JsonObject | None = None
    inputs: JsonObject | None = None

    def handle(self) -> JsonObject:
        """The answer to the call that created it.

        >>> Task(id="t", status="working", created=0, updated=0).handle()["resultType"]
        'task'
        """
        return {"resultType": "task", **self._basics()}

    def detailed(self) -> JsonObject:
        """The answer to `tasks/get`, less its `resultType`; also what a notification tells."""
        told = self._basics()
        for name, value in (("result", self.result), ("error", self.error), ("inputRequests", self.inputs)):
            if value is not None:
                told[name] = value
        return told

    def _basics(self) -> JsonObject:
        told: JsonObject = {
            "taskId": self.id,
            "status": self.status,
            "createdAt": _iso(self.created),
            "lastUpdatedAt": _iso(self.updated),
            "ttlMs": self.ttl_ms,
            "pollIntervalMs": self.poll_ms,
        }
        if self.message:
            told["statusMessage"] = self.message
        return told


def _iso(seconds: float) -> str:
    when = datetime.fromtimestamp(seconds, UTC)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
