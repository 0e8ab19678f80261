"""`WorkflowTool`: a workflow as a tool, for agents, for other workflows and for the doors of a server."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Protocol, cast

from ..core.call import TextPart, ToolCall, ToolResult
from ..core.errors import Busy, ToolError, Unavailable, WorkflowFailed
from ..core.event import RunResult
from ..core.interfaces import Context, InputRequired
from ..core.json import JsonObject, dumps
from ..core.provenance import Source
from ..core.run.ids import child_id
from ..core.tool import Effects, Tool
from ..policy.labels import refused
from ..policy.record_mask import RecordMask, model_mask
from ..runs.other_values import know_others
from ..runs.runner import Runner
from .definition.graph import Definition, nodes_in
from .definition.tool_names import tool_names

NODE_EFFECTS: Mapping[str, Effects] = {"code": "execute", "http": "send"}
"""The effects of nodes that call no tool of the program."""


class CalledWorkflow(Protocol):
    """A workflow, as a tool needs it."""

    @property
    def definition(self) -> Definition:
        """The graph."""

    @property
    def version(self) -> int:
        """The number under which the graph was published; 0 where it was not."""

    @property
    def runner(self) -> Runner:
        """Knows the tools of the nodes."""

    async def run_child(
        self, inputs: JsonObject, run_id: str, context: Context, *, given_by: Source, answers: bool
    ) -> RunResult[JsonObject]:
        """See `Workflow.run_child`."""


class OpensWorkflow(Protocol):
    """Opens a workflow for a call."""

    def __call__(self, run_id: str, context: Context) -> Awaitable[CalledWorkflow]:
        """Open the workflow.

        Args:
            run_id: the run that the call begins, or goes on with: a run goes on with what it began with.
            context: of the call.

        Raises:
            UsageError: the workflow can not be opened.
        """


class WorkflowTool:
    """A toolset of one: run a workflow.

    Args:
        workflow: the workflow.
        name: the tool's name.
        description: what the workflow is good for.
        given_by: where the arguments of the calls come from.
        answers, opened: as for `Workflow.as_tool`.

    Attributes:
        workflow: the workflow.
    """

    generation = 0
    ends_when_cancelled = True

    def __init__(
        self,
        workflow: CalledWorkflow,
        name: str,
        description: str,
        given_by: Source = "agent",
        *,
        answers: bool = False,
        opened: OpensWorkflow | None = None,
    ) -> None:
        self._given_by = given_by
        self._answers = answers
        self._opened = opened
        self.workflow = workflow
        self._name = name
        self._description = description

    async def list_tools(self) -> Sequence[Tool]:
        """The tool: its effects are those of all tools that the nodes name, and unknown where one of them is."""
        catalog = await self.workflow.runner.catalog()
        effects: set[Effects] | None = set()
        for node in nodes_in(self.workflow.definition.graph):
            for name in tool_names(node.settings):
                bound = catalog.get(name)
                known = bound.tool.effects if bound is not None else None
                effects = None if known is None or effects is None else effects | known
            if node.type.name in NODE_EFFECTS and effects is not None:
                effects.add(NODE_EFFECTS[node.type.name])
        schema = self.workflow.definition.inputs or {"type": "object", "properties": {}}
        return (
            Tool(
                name=self._name,
                description=self._description,
                parameters=schema,
                effects=None if effects is None else frozenset(effects or {"read"}),
                from_client=bool(self.workflow.version),
                idempotent=True,
            ),
        )

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Run the workflow.

        Raises:
            InputRequired: it waits for a person.
            ToolError: it did not come to an end.
        """
        run_id = child_id(context.key)
        try:
            workflow = self.workflow if self._opened is None else await self._opened(run_id, context)
            result = await workflow.run_child(
                call.arguments, run_id, context, given_by=self._given_by, answers=self._answers
            )
        except Busy as busy:
            raise Unavailable("{why}. Nothing was done.", why=busy) from None
        except WorkflowFailed as failure:
            why = (await self._mask(run_id, context)).text(failure.told)
            raise ToolError("{call} failed: {why}", reference=run_id, call=call.name, why=why) from None
        if result.status == "paused":
            raise InputRequired(result.pending[0], run_id)
        mask = await self._mask(run_id, context)
        output, text = cast("JsonObject", mask.value(result.output)), mask.text(result.text)
        if result.status != "done":
            raise ToolError(f"{call.name} did not finish. {text}".rstrip(), reference=run_id)
        if name := refused(self.workflow.runner.labels, mask.replaced):
            raise ToolError(
                "{call} is done, and the model may not be told what it gave: a value has the label {name!r}.",
                call=call.name,
                name=name,
            )
        told = dumps(output)
        if text in (told, dumps(result.output)):
            return ToolResult(call.id, structured=output)
        said = (TextPart(text), *([TextPart(told)] if output else ()))
        return ToolResult(call.id, said, structured=output)

    async def _mask(self, run_id: str, context: Context) -> RecordMask:
        """What hides values of the run of the workflow that the model of the run above may not be told."""
        above, journal = context.ancestors[-1] if context.ancestors else None, context.journal
        is_told = above is not None and above.mandates is not None and self._given_by == "agent"
        if above is None or not is_told or journal is None:  # no model is told the answer
            return model_mask({}, "")
        mask = RecordMask(lambda label: not above.shows(label, ""))
        if mask.hides(context.labels_seen):
            entries = await journal.read(run_id)
            mask.know_run(entries)
            await know_others(mask, journal, run_id, entries)
        return mask
