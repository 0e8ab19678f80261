"""Tools whose calls by a model become tasks, and `task_status`, by which the model asks how its tasks stand.

    runner = in_background(Runner(tools, name="desk", journal=journal), queue)

`background` of a tool says which calls: all (`True`), or those for which the model writes `execute_async: true`
(`"allowed"`). That argument is added to the schema that the model sees, and is taken off before the tool gets its
arguments. A tool that has an argument of that name keeps it: its calls become tasks only with `background=True`.

The call is judged like each other call, and again when the task makes the call. The task's run is told what the asking
run knew (`HandedOver`): where each argument came from, and that a person approved the call, who is then not asked a
second time. Policies of agents above the asking run judge the call once, when the model asks for it.

The unique key of the task is the key of the call, so that a run which goes on after an interruption finds its task
again, and nobody has to be asked whether the task was begun. Where the journal is in memory there are no tasks: calls
are then made at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from ..core.call import ToolCall, ToolResult
from ..core.errors import TaskRefused, ToolError, UnknownName, UnknownTool
from ..core.interfaces import Context, Journal, ProbeResult, Probing, ReservedTools, Toolset
from ..core.json import JsonObject
from ..core.policy import Facts
from ..core.run.handed_over import GivenApproval, HandedOver
from ..core.run.record import Entry, InputRequested, Intended
from ..core.run.task import TaskLine
from ..core.run.task_request import NO_DEFAULTS, TaskDefaults, TaskRequest
from ..core.tool import Tool
from ..journal.grant import APPROVED_FOR_RUN
from ..journal.recording import CallRef, RunState
from ..memory.tools import goes_without_memory
from ..policy.labels import as_field
from ..policy.origins import origins_to_hand_over
from ..runs.options import RunOptions
from ..runs.runner import Runner
from .queue import TaskQueue

ASYNC = "execute_async"
STATUS = "task_status"
WAIT_MAX_S = 30
"""Seconds that a model can wait for the end of a task before it is told how the task stands."""
_KEY = "call of "
_ASYNC_SCHEMA: JsonObject = {
    "type": "boolean",
    "description": f"true: do not wait; the answer is a task_id, and {STATUS} tells how the task stands.",
}
STATUS_TOOL = Tool(
    name=STATUS,
    description="Tell how a task stands that an earlier call of this conversation began: its state, progress, result.",
    parameters={
        "type": "object",
        "properties": {
            "task_id": {"type": "string", "description": "The id that the call was answered with."},
            "wait_s": {
                "type": "number",
                "minimum": 0,
                "maximum": WAIT_MAX_S,
                "description": "Wait up to so many seconds for the end of the task.",
            },
        },
        "required": ["task_id"],
        "additionalProperties": False,
    },
    effects=frozenset({"read"}),
    polled=True,
)


def with_argument(tool: Tool) -> Tool:
    """The tool as a model is shown it: with the argument `execute_async`, where the model may ask for a task."""
    if tool.background != "allowed" or ASYNC in tool.property_schemas():
        return tool
    properties = {**tool.property_schemas(), ASYNC: _ASYNC_SCHEMA}
    return replace(tool, parameters={**tool.parameters, "properties": dict(properties)}, strict=False)


def _as_shown(tool: Tool) -> Tool:
    """The tool as a run is shown it. Whether an interrupted call became a task, the list of tasks tells."""
    return replace(with_argument(tool), probed=True) if tool.background else tool


def without_argument(tool: Tool, call: ToolCall) -> tuple[ToolCall, bool]:
    """A call as the tool takes it, and whether it is to become a task.

    Args:
        tool: as its own toolset defines it.
        call: as the model wrote it.
    """
    if tool.background is True:
        return call, True
    if tool.background != "allowed" or ASYNC in tool.property_schemas() or ASYNC not in call.arguments:
        return call, False
    arguments = {name: value for name, value in call.arguments.items() if name != ASYNC}
    return replace(call, arguments=arguments), call.arguments[ASYNC] is True


Defaults = Callable[[str], TaskDefaults]
"""What the settings say of tasks that call a tool, by the tool's name."""


def in_background(runner: Runner, queue: TaskQueue, defaults: Defaults = lambda _: NO_DEFAULTS) -> Runner:
    """The same runner, for runs of a model: calls of its tools that are declared so become tasks.

    Args:
        runner: has the tools. Other processes have to be able to build a runner of this name with the same tools: a
            task is a run of this runner.
        queue: accepts the tasks.
        defaults: what the settings say of tasks that call a tool.
    """
    wrapped = [BackgroundTools(inner, queue, runner, defaults) for inner in runner.toolsets]
    return runner.with_tools([*wrapped, TaskStatus(wrapped, queue, runner), *runner.definitions])


class BackgroundTools:
    """A `Toolset` around another: calls of its tools that are declared so become tasks.

    Args:
        inner: has the tools.
        queue: accepts the tasks.
        runner: has the same tools, and is what other processes build again to make the calls.
        defaults: what the settings say of tasks that call a tool.
    """

    def __init__(
        self, inner: Toolset, queue: TaskQueue, runner: Runner, defaults: Defaults = lambda _: NO_DEFAULTS
    ) -> None:
        self.inside = (inner,)
        self._inner = inner
        self._queue = queue
        self._runner = runner
        self._defaults = defaults
        self._tools: Mapping[str, Tool] = {}

    @property
    def generation(self) -> int:
        """As of the tools inside."""
        return self._inner.generation

    @property
    def ends_when_cancelled(self) -> bool:
        """As of the tools inside; see `AgentTool`."""
        return bool(getattr(self._inner, "ends_when_cancelled", False))

    async def list_tools(self) -> Sequence[Tool]:
        """The tools as a model is shown them."""
        inner = await self._inner.list_tools()
        self._tools = {tool.name: tool for tool in inner}
        return [_as_shown(tool) for tool in inner]

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Make the call, or begin a task that makes the call.

        Raises:
            CallError: the call can not be made, or the task can not be accepted.
        """
        tool = await self._own(call.name)
        plain, is_task = without_argument(tool, call)
        if not is_task or not self._queue.takes_tasks:
            if plain is not call:
                context.call = plain
            return await self._inner.execute(plain, context)
        line = await self._accepted(plain, tool, context)
        return _told(call, {"task_id": line.run_id, "state": line.state, "ask": f"{STATUS} tells how it stands"})

    async def hidden_from(self, journal: Journal, facts: Facts) -> frozenset[str]:
        """As of the tools inside; see `ReservedTools`."""
        inner = self._inner
        return await inner.hidden_from(journal, facts) if isinstance(inner, ReservedTools) else frozenset()

    async def probe(self, call: ToolCall, context: Context) -> ProbeResult:
        """Whether an interrupted call became a task: the list of tasks tells. Of other calls the toolset inside tells;
        see `Probing`."""
        plain, is_task = without_argument(await self._own(call.name), call)
        if is_task and self._queue.takes_tasks:
            line = await self._queue.keyed(_key_of(context), tenant=context.tenant, principal=context.principal)
            if line is None:
                return ProbeResult("not_done")
            return ProbeResult("done", _told(call, {"task_id": line.run_id, "state": line.state}))
        tool = self._tools[call.name]
        if not tool.probed or not isinstance(self._inner, Probing):
            return ProbeResult("unknown")
        return await self._inner.probe(plain, context)

    async def _own(self, name: str) -> Tool:
        if name not in self._tools:
            await self.list_tools()  # a process that goes on with a run may not have listed the tools yet
        if name not in self._tools:
            raise UnknownTool("{name} is not there any more.", name=name)
        return self._tools[name]

    async def _accepted(self, call: ToolCall, tool: Tool, context: Context) -> TaskLine:
        """Raises:
        ToolError: the task can not be accepted.
        """
        journal = context.journal
        try:
            return await self._queue.accept_call(
                self._runner,
                ToolCall("call", call.name, call.arguments),
                TaskRequest(unique_key=_key_of(context)).options(self._defaults(call.name)),
                RunOptions(
                    principal=context.principal,
                    tenant=context.tenant,
                    roles=context.roles,
                    key_id=context.key_id,
                    memory=journal is None or not await goes_without_memory(journal, context.run_id),
                ),
                handed=await _handed_over(call, tool, context),
            )
        except TaskRefused as refused:
            raise ToolError(str(refused)) from None


def _key_of(context: Context) -> str:
    """The unique key of the task that a call becomes."""
    return f"{_KEY}{context.run_id} {context.key}"


async def _handed_over(call: ToolCall, tool: Tool, context: Context) -> HandedOver:
    """What the run whose model asked for a call knows of the call.

    Args:
        call: without the argument `execute_async`.
        tool: as the run of the task is shown the tool.
        context: of the call in the run of the model.
    """
    own_run = context.ancestors[-1]
    values, names = origins_to_hand_over(call.arguments, own_run.facts().origins)
    entries = await context.journal.read(context.run_id) if context.journal is not None else ()
    asked = _approval(entries, context.key)
    approval = None
    if asked is not None:
        pending = asked.pending
        approval = GivenApproval(asked.id, asked.rule, pending.all_quorums, tool.digest, pending.expires)
    return HandedOver(context.run_id, values, names, approval)


def _approval(entries: Sequence[Entry], key: str) -> InputRequested | None:
    """The question by which a person approved the call of this key that is being made; None where nobody was asked."""
    records = (entry.record for entry in reversed(entries))
    intended = next((each for each in records if isinstance(each, Intended) and each.key == key), None)
    if intended is None:
        return None
    state = RunState(entries)
    if intended.rule.startswith(APPROVED_FOR_RUN):
        return state.question(intended.rule.removeprefix(APPROVED_FOR_RUN))
    asked = state.asked(CallRef(intended.cause, intended.index))
    answer = state.answers.get(asked.id) if asked is not None else None
    if asked is None or answer is None or asked.kind != "approval" or answer.verdict != "approve":
        return None
    return asked


class TaskStatus:
    """A `Toolset` with the tool `task_status`, where a tool may become a task and none is called so.

    Args:
        beside: the tools that may become tasks.
        queue: knows the tasks.
        runner: writes to the journal of the queue.
    """

    def __init__(self, beside: Sequence[BackgroundTools], queue: TaskQueue, runner: Runner) -> None:
        self._beside = beside
        self._queue = queue
        self._runner = runner

    @property
    def generation(self) -> int:
        """Changes with the tools beside this tool."""
        return sum(each.generation for each in self._beside)

    async def list_tools(self) -> Sequence[Tool]:
        """The tool, where it is of use."""
        tools = [tool for each in self._beside for tool in await each.list_tools()]
        is_wanted = any(tool.background for tool in tools) and all(tool.name != STATUS for tool in tools)
        return [STATUS_TOOL] if is_wanted else []

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Tell how a task stands.

        Raises:
            ToolError: there is no such task in this conversation.
        """
        task_id = str(call.arguments.get("task_id", ""))
        try:
            view = await self._queue.look(task_id, tenant=context.tenant, principal=context.principal)
        except UnknownName:
            raise ToolError("there is no such task in this conversation") from None
        if not await self._is_of_conversation(view.line, context):
            raise ToolError("there is no such task in this conversation")
        if isinstance(wait_s := call.arguments.get("wait_s"), int | float) and wait_s > 0:
            view = await self._queue.wait(
                task_id, min(wait_s, WAIT_MAX_S), tenant=context.tenant, principal=context.principal
            )
        told: JsonObject = {"task_id": task_id, "state": view.line.state, "attempts": len(view.attempts)}
        labels: dict[str, str] = {}
        result = view.result
        if view.progress is not None and result is None:
            told["progress"] = view.progress.value
        if result is not None and result.error is None:
            told["result"], labels = as_field(result, "result")
        elif result is not None and result.error is not None:
            told |= {"result": None, "error": result.error.message}
            labels = dict.fromkeys(["error"], result.labels[""]) if "" in result.labels else {}
        if view.waiting:
            told["waits_for"] = [each.message for each in view.waiting]
        is_own = view.progress is None and (result is None or not result.outside)
        seen = result.seen if result is not None else ()
        return replace(_told(call, told), outside=not is_own, labels=labels, seen=seen)

    async def _is_of_conversation(self, line: TaskLine, context: Context) -> bool:
        """Whether a task was begun by a call of the run that asks, or of another run of its conversation."""
        key = line.options.unique_key
        if not key.startswith(_KEY):
            return False
        begun_by = key.removeprefix(_KEY).partition(" ")[0]
        if begun_by == context.run_id:
            return True
        journal = self._runner.journal
        entries = await journal.read(begun_by, tenant=context.tenant)
        if not entries:
            return False
        started = RunState(entries[:1]).started
        own = RunState((await journal.read(context.run_id, tenant=context.tenant))[:1]).started
        return (
            started is not None
            and own is not None
            and started.conversation != ""
            and (started.conversation, started.user) == (own.conversation, own.user)
        )


def _told(call: ToolCall, value: JsonObject) -> ToolResult:
    return ToolResult(call.id, structured=value)
