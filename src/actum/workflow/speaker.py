"""A workflow as somebody to talk to: the model of an agent that stands for a workflow.

Doors that know agents only, such as the APIs of models and A2A, are served a workflow through an agent whose model is
`WorkflowModel`: it makes one call of the workflow out of the user's message, and the answer out of what the workflow
said, or else gave. It asks nobody and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from msgspec import UNSET

from ..agents.agent import Agent
from ..agents.identity import Naming
from ..call.limits.limits import Limits
from ..core.call import Problem, TextPart, ToolCall
from ..core.errors import InvalidArguments, WorkflowFailed
from ..core.event import Delta, TextDelta
from ..core.json import Json, JsonObject, JsonProblem, dumps, parse
from ..core.message import Message, Reply, ToolMessage, UserMessage
from ..core.model import Request
from ..core.policy import Policy
from .conversation import SPEAKER
from .workflow import Workflow
from .workflow_tool import OpensWorkflow

CALL = "workflow"


def speaking_agent(
    workflow: Workflow,
    *,
    description: str,
    policy: Policy | None = None,
    limits: Limits | None = None,
    opened: OpensWorkflow | None = None,
) -> Agent[object]:
    """An agent that stands for a workflow: its conversation is the workflow's.

    The call of the workflow itself asks nobody: the policy judges each call that the workflow makes. Rules of the
    policy that speak of the workflow by its name hold.

    Args:
        workflow: the workflow.
        description: what the workflow is good for.
        policy: who may call what.
        limits: of the agent's own runs.
        opened: as for `Workflow.as_tool`.
    """
    made: Agent[str] = Agent(
        WorkflowModel(workflow),
        [workflow.as_tool(description=description, given_by="client", answers=True, opened=opened)],
        name=workflow.name,
        policy=policy,
        limits=limits,
        journal=workflow.journal,
    )
    named = made.known_as(Naming(name=workflow.name, description=description))
    if workflow.version:
        named = named.with_runner(named.runner.with_uses(workflow.own_uses))
    return cast("Agent[object]", named)


class WorkflowModel:
    """A model that does what a workflow does.

    Args:
        workflow: the workflow, which the agent has as its only tool.

    Attributes:
        name: what the model is called on record.
    """

    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self.name = f"{SPEAKER}{workflow.name}"

    def inputs_of(self, text: str) -> JsonObject:
        """What a message gives the workflow: the text, where the workflow has one input and this input is a text; else
        the text has to be a JSON object with the inputs.

        Args:
            text: the message.

        Raises:
            InvalidArguments: the message does not fit; each problem says which input it is about.
        """
        inputs = self._inputs(text)
        self._workflow.check_inputs(inputs)
        return inputs

    def _inputs(self, text: str) -> JsonObject:
        properties = self._workflow.definition.inputs.get("properties", {})
        names = list(properties) if isinstance(properties, dict) else []
        if not names:
            return {}
        only = properties[names[0]] if isinstance(properties, dict) and len(names) == 1 else None
        if isinstance(only, dict) and only.get("type") == "string":
            return {names[0]: text}
        try:
            value, _ = parse(text)
        except JsonProblem:
            value = None
        if isinstance(value, dict):
            return value
        wanted = f"a JSON object with the inputs of the workflow {self._workflow.name}: {', '.join(names)}"
        raise InvalidArguments((Problem("", "type", wanted),))

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        """The call of the workflow, or the answer.

        Raises:
            InvalidArguments: the message does not fit.
            WorkflowFailed: the workflow did not come to its end.
        """
        latest = _latest(request)
        if isinstance(latest, UserMessage):
            return Reply.of(calls=[ToolCall(CALL, self._workflow.name, self.inputs_of(latest.text))])
        if latest is None:
            raise InvalidArguments((Problem("", "type", "a message"),))
        result = latest.result
        if result.error is not None:
            raise WorkflowFailed(result.error.code, result.error.message)
        said = next((part.text for part in result.content if isinstance(part, TextPart)), "")
        text = said or _answer(result.text if result.structured is UNSET else result.structured)
        if emit is not None:
            emit(TextDelta(text))
        return Reply.of(text)


def _latest(request: Request) -> UserMessage | ToolMessage | None:
    """The last thing that the user said or that the workflow gave."""
    found: Message
    for found in reversed(request.messages):
        if isinstance(found, UserMessage | ToolMessage):
            return found
    return None


def _answer(outputs: Json) -> str:
    """The outputs as a text: the one output itself, where there is one and it is a text."""
    if isinstance(outputs, dict) and len(outputs) == 1 and isinstance(only := next(iter(outputs.values())), str):
        return only
    return outputs if isinstance(outputs, str) else dumps(outputs)
