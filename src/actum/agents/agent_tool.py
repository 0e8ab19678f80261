"""An agent as a tool of another: it takes a task in words, with attachments, and answers in words, or with a value.

The child's run has an id made of the idempotency key of the call that starts it, so that a parent that is resumed finds
the child it had begun and goes on with it, instead of starting another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from msgspec import UNSET, structs

from ..core.call import MediaPart, TextPart, ToolCall, ToolResult
from ..core.errors import ToolError
from ..core.event import RunResult
from ..core.interfaces import Context, InputRequired, Toolset
from ..core.json import Json
from ..core.message import Message, Reply, ToolMessage, Transcript, UserMessage
from ..core.model import Model
from ..core.run.ids import child_id
from ..core.tool import TASK_PARAMETERS, Tool, innermost
from ..policy.labels import Label, refused
from ..policy.record_mask import RecordMask, model_mask
from ..runs.other_values import know_others
from ..runs.wording import Phrases
from .alternation import in_turns
from .output import as_json


class AgentLike(Protocol):
    """What an agent must be able to do to be a tool."""

    async def run_child(
        self, said: UserMessage, run_id: str, context: Context, history: Sequence[Message] = ()
    ) -> RunResult:
        """Start the run of this id on behalf of a call, or go on with it with what was answered since."""


@runtime_checkable
class TellsTools(Protocol):
    """An agent that tells its tools."""

    async def all_tools(self) -> Sequence[Tool]:
        """Its own tools, and those of the agents that are tools of it."""


class HasLabels(Protocol):
    """What declares labels."""

    labels: Mapping[str, Label]


@runtime_checkable
class AsksModel(Protocol):
    """An agent that asks one model."""

    model: Model

    @property
    def runner(self) -> HasLabels:
        """What carries its runs out."""


@runtime_checkable
class TellsMemory(Protocol):
    """An agent that tells whether it has a memory of its users."""

    @property
    def remembers_users(self) -> bool: ...


def leads_to_memory(toolset: Toolset) -> bool:
    """Whether a toolset has an agent in it that has a memory of its users."""
    agents = [each.agent for each in innermost(toolset) if isinstance(each, AgentTool)]
    return any(isinstance(agent, TellsMemory) and agent.remembers_users for agent in agents)


class AgentTool:
    """A toolset of one: hand a task to an agent.

    Args:
        agent: who does it.
        name: the tool's name.
        description: what the agent is good for, for the model that may call it.
        answers: what the agent says is the answer of the run that calls it.
        history: the agent is told the conversation so far, beside its task.

    Attributes:
        agent: who does it.
        ends_when_cancelled: the call path need not close a call that goes on after it was cancelled: each call of the
            agent's own run is closed where needed, and then the run writes down how it ended.
    """

    generation = 0
    ends_when_cancelled = True

    def __init__(
        self, agent: AgentLike, name: str, description: str, *, answers: bool = False, history: bool = False
    ) -> None:
        self.agent = agent
        self._history = history
        self.definition = Tool(
            name=name,
            description=description,
            parameters=TASK_PARAMETERS,
            idempotent=True,
            answers=answers,
        )

    async def list_tools(self) -> Sequence[Tool]:
        return (self.definition,)

    @property
    def is_safe_by_itself(self) -> bool:
        """Each call of the agent's run is judged, also by the defence of the run that calls the agent."""
        return isinstance(self.agent, TellsTools)

    async def tools_below(self) -> Sequence[Tool]:
        """The tools of the agent, and of the agents below it, for a mandate that holds for them too."""
        return await self.agent.all_tools() if isinstance(self.agent, TellsTools) else ()

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Run the agent.

        Raises:
            InputRequired: it waits for a person.
            ToolError: it did not come to an end, it may not be told a value, or there is no such attachment; the
                message says why.
        """
        run_id = child_id(context.key)
        handed = _attachments(call.arguments.get("attachments"), context)
        said = UserMessage((TextPart(str(call.arguments["task"])), *handed), "agent")
        history = _said_so_far(context.heard, said) if self._history else ()
        mask = await self._mask(context)
        said, history = mask.message(said), [*map(mask.message, history)]
        self._check_not_refused(mask, call)
        result = await self.agent.run_child(said, run_id, context, history)
        if result.status == "paused":
            raise InputRequired(result.pending[0], run_id)
        if result.status != "done":
            raise ToolError(f"{call.name} did not finish. {result.text}".rstrip(), reference=run_id)
        output = result.output
        structured = as_json(output) if type(output) is not str or output != result.text else UNSET
        last = result.messages[-1] if result.messages else None
        labels = last.result.labels if isinstance(last, ToolMessage) else {}  # what a tool gave is the answer
        media = _media_of(result.messages[-1:])
        return ToolResult(call.id, (TextPart(result.text), *media), structured=structured, labels=labels)

    async def _mask(self, context: Context) -> RecordMask:
        """What hides values of the run above that the model of the agent may not be told."""
        above, agent, journal = context.ancestors, self.agent, context.journal
        if not isinstance(agent, AsksModel) or journal is None:
            return model_mask({}, "")
        mask = model_mask(agent.runner.labels, agent.model.name)
        if mask.hides_any or (above and above[-1].labels_seen()):
            entries = await journal.read(context.run_id)
            mask.know_run(entries)
            await know_others(mask, journal, context.run_id, entries)
        return mask

    def _check_not_refused(self, mask: RecordMask, call: ToolCall) -> None:
        """Check that no label of a value that the agent would have been told says that the request fails.

        Raises:
            ToolError: a label says so.
        """
        if isinstance(self.agent, AsksModel) and (name := refused(self.agent.runner.labels, mask.replaced)):
            raise ToolError(
                "{call} was not asked: the model {model} may not be told a value with the label {name!r}.",
                call=call.name,
                model=self.agent.model.name,
                name=name,
            )


def _attachments(handles: Json, context: Context) -> list[MediaPart]:
    """The attachments of these handles.

    Raises:
        ToolError: there is no such attachment.
    """
    named = [str(handle) for handle in handles] if isinstance(handles, list) else []
    for handle in named:
        if handle not in context.attachments:
            raise ToolError(
                "There is no attachment {handle!r}; there are: {known}.",
                handle=handle[:100],
                known=", ".join(context.attachments) or "none",
            )
    return [context.attachments[handle] for handle in dict.fromkeys(named)]


def _media_of(messages: Sequence[Message]) -> list[MediaPart]:
    """The media of an answer, without the handles that the run below gave them."""
    found: list[MediaPart] = []
    for message in messages:
        content: Sequence[object] = message.result.content if isinstance(message, ToolMessage) else ()
        content = message.content if isinstance(message, Reply) else content
        found += [structs.replace(part, handle="") for part in content if isinstance(part, MediaPart)]
    return found


def _said_so_far(heard: Sequence[Message], task: UserMessage) -> Sequence[Message]:
    """What user and model said in a conversation: no instructions, no calls, no results, and no secret values.

    Args:
        heard: the conversation.
        task: what is said next.
    """
    said: list[Message] = []
    for message in heard.shown if isinstance(heard, Transcript) else heard:
        if isinstance(message, UserMessage):
            said.append(message)
        elif isinstance(message, Reply) and message.text.strip():
            said.append(Reply.of(message.text))
    return in_turns([*said, task], Phrases.for_text(task.text).noted)[:-1]
