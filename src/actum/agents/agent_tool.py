"""An agent as a tool of another: it takes a task in words and answers in words.

The child's run has an id made of the idempotency key of the call that starts it, so that a parent that is resumed finds
the child it had begun and goes on with it, instead of starting another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..core.call import TextPart, ToolCall, ToolResult
from ..core.errors import ToolError
from ..core.event import RunResult
from ..core.interfaces import Context, InputRequired
from ..core.json import JsonObject
from ..core.run.ids import child_id
from ..core.tool import Tool


class AgentLike(Protocol):
    """What an agent must be able to do to be a tool."""

    async def run_child(self, task: str, run_id: str, context: Context) -> RunResult:
        """Start the run of this id on behalf of a call, or go on with it with what was answered since."""


class AgentTool:
    """A toolset of one: hand a task to an agent.

    Args:
        agent: who does it.
        name: the tool's name.
        description: what the agent is good for, for the model that may call it.
        answers: what the agent says is the answer of the run that calls it.

    Attributes:
        agent: who does it.
        ends_when_cancelled: the call path need not close a call that goes on after it was cancelled: each call of the
            agent's own run is closed where needed, and then the run writes down how it ended.
    """

    generation = 0
    ends_when_cancelled = True

    def __init__(self, agent: AgentLike, name: str, description: str, *, answers: bool = False) -> None:
        self.agent = agent
        task: JsonObject = {"type": "string", "description": "What to do, with everything that must be known for it."}
        self.definition = Tool(
            name=name,
            description=description,
            parameters={
                "type": "object",
                "properties": {"task": task},
                "required": ["task"],
                "additionalProperties": False,
            },
            idempotent=True,
            answers=answers,
        )

    async def list_tools(self) -> Sequence[Tool]:
        return (self.definition,)

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Run the agent.

        Raises:
            Waiting: it waits for a person.
            ToolError: it did not come to an end; the message says why.
        """
        run_id = child_id(context.key)
        result = await self.agent.run_child(str(call.arguments["task"]), run_id, context)
        if result.status == "paused":
            raise InputRequired(result.pending[0], run_id)
        if result.status != "done":
            raise ToolError(f"{call.name} did not finish. {result.text}".rstrip(), reference=run_id)
        return ToolResult(call.id, (TextPart(result.text),))
