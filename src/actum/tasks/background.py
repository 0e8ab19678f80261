"""Tools whose calls by a model become tasks, and `task_status`, by which the model asks how its tasks stand.

    agent = Agent(model, [BackgroundTools(toolset, queue, runner)], journal=journal)

`background` of a tool says which calls: all (`True`), or those for which the model writes `execute_async: true`
(`"allowed"`). That argument is added to the schema that the model sees, and is taken off before the tool gets its
arguments. A tool that has an argument of that name keeps it: its calls become tasks only with `background=True`.

The call is judged like each other call, and again when the task makes it. The unique key of the task is the key of the
call, so that a run which goes on after an interruption finds its task again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ..core.call import ToolCall, ToolResult
from ..core.errors import TaskRefused, ToolError, UnknownName, UnknownTool
from ..core.interfaces import Context, Toolset
from ..core.json import JsonObject
from ..core.task import TaskLine, TaskOptions
from ..core.task_request import NO_DEFAULTS, TaskDefaults, TaskRequest
from ..core.tool import Tool
from ..journal.recording import RunState
from ..runs.runner import Runner
from .queue import TaskQueue

ASYNC = "execute_async"
STATUS = "task_status"
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
        "properties": {"task_id": {"type": "string", "description": "The id that the call was answered with."}},
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


class BackgroundTools:
    """A `Toolset` around another: calls of its tools that are declared so become tasks.

    Args:
        inner: has the tools.
        queue: accepts the tasks.
        runner: has the same tools, and is what other processes build again to make the calls.
        defaults: what the settings say of tasks that call a tool, by the tool's name.
    """

    def __init__(
        self, inner: Toolset, queue: TaskQueue, runner: Runner, defaults: Mapping[str, TaskDefaults] | None = None
    ) -> None:
        self._inner = inner
        self._queue = queue
        self._runner = runner
        self._defaults = defaults or {}

    @property
    def generation(self) -> int:
        """As of the tools inside."""
        return self._inner.generation

    async def list_tools(self) -> Sequence[Tool]:
        """The tools as a model is shown them, and `task_status` where one of them may become a task."""
        inner = await self._inner.list_tools()
        shown = [with_argument(tool) for tool in inner]
        if any(tool.background for tool in inner) and all(tool.name != STATUS for tool in inner):
            shown.append(STATUS_TOOL)
        return shown

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Make the call, or begin a task that makes it.

        Raises:
            CallError: the call can not be made, or the task can not be accepted.
        """
        tools = {tool.name: tool for tool in await self._inner.list_tools()}
        if call.name == STATUS and STATUS not in tools:
            return await self._status(call, context)
        tool = tools.get(call.name)
        if tool is None:
            raise UnknownTool(f"there is no tool {call.name!r}")
        plain, is_task = without_argument(tool, call)
        if not is_task:
            return await self._inner.execute(plain, context)
        wanted = TaskRequest(unique_key=f"{_KEY}{context.run_id} {context.key}")
        line = await self._accepted(plain, context, wanted.options(self._defaults.get(call.name, NO_DEFAULTS)))
        return _told(call, {"task_id": line.run_id, "state": line.state, "ask": f"{STATUS} tells how it stands"})

    async def _accepted(self, call: ToolCall, context: Context, options: TaskOptions) -> TaskLine:
        """Raises:
        ToolError: the task can not be accepted.
        """
        try:
            return await self._queue.accept_call(
                self._runner,
                ToolCall("call", call.name, call.arguments),
                options,
                by="client",
                principal=context.principal,
                tenant=context.tenant,
                roles=context.roles,
            )
        except TaskRefused as refused:
            raise ToolError(str(refused)) from None

    async def _status(self, call: ToolCall, context: Context) -> ToolResult:
        task_id = str(call.arguments.get("task_id", ""))
        try:
            view = await self._queue.look(task_id, tenant=context.tenant, principal=context.principal)
        except UnknownName:
            raise ToolError("there is no such task in this conversation") from None
        if not await self._is_of_conversation(view.line, context):
            raise ToolError("there is no such task in this conversation")
        told: JsonObject = {"task_id": task_id, "state": view.line.state, "attempts": len(view.attempts)}
        if view.progress is not None:
            told["progress"] = view.progress.value
        if view.result is not None:
            told["result"] = view.result.text if view.result.error is None else None
            if view.result.error is not None:
                told["error"] = view.result.error.message
        if view.waiting:
            told["waits_for"] = [each.message for each in view.waiting]
        return _told(call, told)

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
