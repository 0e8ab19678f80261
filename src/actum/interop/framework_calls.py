"""Calls that another framework makes: each takes the call path of actum, as a run of its own on record.

Knows no framework: `langchain.py` and `llamaindex.py` say its errors and results in the words of theirs.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TypedDict, Unpack

from ..core.call import ToolCall, ToolResult
from ..core.errors import ToolError
from ..core.interfaces import Journal
from ..core.json import JsonObject
from ..core.policy import Policy
from ..core.secrets.store import SecretSource
from ..core.tool import Tool
from ..runs.given_tools import Toolish
from ..runs.options import RunOptions
from ..runs.runner import Runner

NAME = "interop"
"""The name on record, in the place of an agent's."""


class CallOptions(TypedDict, total=False):
    """How the calls of a framework are made.

    Attributes:
        principal, tenant, roles: the user on whose behalf calls are made, as for `Agent.run`.
        journal, policy, secrets: as for `Agent`.
    """

    principal: str
    tenant: str
    roles: Sequence[str]
    journal: Journal | str | Path | None
    policy: Policy | None
    secrets: Mapping[str, str] | SecretSource | None


class FrameworkCalls:
    """Makes calls with certain tools on behalf of one user.

    Args:
        tools: an agent, a toolset or a function, or a list as for `Agent(tools=...)`.
        options: see `CallOptions`.

    Raises:
        BadTool: two tools of one name, or a bad schema.
    """

    def __init__(self, tools: Toolish | Sequence[Toolish], **options: Unpack[CallOptions]) -> None:
        self._runner = Runner(
            tools if isinstance(tools, Sequence) else [tools],
            name=NAME,
            policy=options.get("policy"),
            journal=options.get("journal"),
            secrets=options.get("secrets"),
        )
        self._options = RunOptions(
            principal=options.get("principal", ""),
            tenant=options.get("tenant", ""),
            roles=options.get("roles", ()),
        ).checked()

    def list_tools(self) -> Sequence[Tool]:
        """The definitions of the tools. The caller waits for servers that are asked, also where an event loop runs."""
        with ThreadPoolExecutor(1) as thread:
            context = contextvars.copy_context()
            return thread.submit(context.run, lambda: asyncio.run(self._runner.list_tools())).result()

    async def call(self, name: str, arguments: JsonObject) -> ToolResult:
        """Make a call.

        Raises:
            CallError: the call has no result. The message, which is fit for a model, names the run, and the question
                where the call waits for a person.
        """
        result = await self._runner.call([ToolCall("call_1", name, arguments)], self._options, by="client")
        if result.pending:
            asked = ", ".join(f"{pending.kind} {pending.id}" for pending in result.pending)
            raise ToolError(f"{result.text} (run {result.run_id}, {asked})")
        answer = result.calls[0][1] if result.calls else None
        if answer is None or answer.error is not None:
            why = result.text if answer is None or answer.error is None else answer.text
            raise ToolError(f"{why} (run {result.run_id})")
        return answer

    def call_and_wait(self, name: str, arguments: JsonObject) -> ToolResult:
        """Make a call for a caller that can't await it; see `call`. All such calls share one event loop."""
        made = asyncio.run_coroutine_threadsafe(self.call(name, arguments), self._loop)
        try:
            return made.result()
        finally:
            made.cancel()  # does nothing to a call that is over

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, name="actum interop", daemon=True).start()
        return loop
