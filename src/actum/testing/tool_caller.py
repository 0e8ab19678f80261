"""`TestModel`: a model that needs no script. It calls the tools that only read, and answers with what came back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from ..core.call import ToolCall
from ..core.errors import UsageError
from ..core.event import Delta
from ..core.json import JsonObject, dumps
from ..core.message import Reply, ToolMessage, UserMessage
from ..core.model import Request
from ..core.run.plan import UPDATE_PLAN
from ..core.tool import Tool, is_demand, named_tools
from .example_values import ValueStyle, value_of
from .fakes import tell

READS = frozenset({"read"})


class TestModel:
    """A `Model` that calls each tool once which declares to read only, with arguments made from its schema, and then
    answers with what came back, or with a value of the output type. No I/O, and no script.

    A tool that declares other effects, or none, is called only where it is named: a test never sends a mail because
    somebody added a tool. The answer says which tools were left out.

    Args:
        call: names of further tools to call.
        arguments: arguments by the name of a tool, in the place of made ones. Such a tool is called, too.
        text: the answer, in the place of what came back.
        style: which values are made: `usual`; `smallest`, the least that a schema allows; `odd`, such as break careless
            code.
        seed: another seed makes other values; the same seed makes the same ones.
        name: its name in records.

    Attributes:
        requests: what it was asked, in order.

    Raises:
        UsageError: by `reply`: the run has no tool of a name in `call` or `arguments`, or must call a tool that may not
            be called.
        NoExample: by `reply`: no value fits the schema of a tool, which is named, or of the answer.

    >>> from actum import Agent, tool
    >>> @tool(effects={"read"})
    ... def find(city: str) -> str:
    ...     return f"{city} is a city."
    >>> Agent(TestModel(), tools=[find]).run_sync("Find Oslo.").text
    'find: city is a city.'
    """

    __test__ = False  # pytest collects classes of this name
    tells_usage = True

    def __init__(
        self,
        *,
        call: Sequence[str] = (),
        arguments: Mapping[str, JsonObject] | None = None,
        text: str = "",
        style: ValueStyle = "usual",
        seed: int = 0,
        name: str = "test",
    ) -> None:
        self.name = name
        self.requests: list[Request] = []
        self._arguments = dict(arguments or {})
        self._named = (*call, *self._arguments)
        self._text, self._style, self._seed = text, style, seed

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        self.requests.append(request)
        calls = [] if _is_answered(request) else self._calls(request)
        reply = Reply.of(calls=calls) if calls else Reply.of(self._answer(request))
        tell(reply, emit)
        return reply

    def _calls(self, request: Request) -> list[ToolCall]:
        has = {tool.name for tool in request.tools}
        missing = [name for name in self._named if name not in has]
        if missing:
            raise UsageError(
                "TestModel is to call {name!r}, and the run has no such tool. It has: {tools}",
                name=missing[0],
                tools=", ".join(sorted(has)) or "none",
            )
        choice = request.tool_choice
        among: Collection[str] = () if choice == "none" else named_tools(choice) or has
        wanted = [tool for tool in request.tools if tool.name in among and self._may_call(tool)]
        if is_demand(choice) and not wanted:
            raise UsageError(
                "the run must call one of {tools}, and none of them declares to read only: TestModel(call=[...])",
                tools=", ".join(sorted(among)),
            )
        return [ToolCall(f"call_{number}", tool.name, self._made(tool)) for number, tool in enumerate(wanted, 1)]

    def _may_call(self, tool: Tool) -> bool:
        is_reading = tool.effects is not None and tool.effects <= READS and tool.name != UPDATE_PLAN
        return is_reading or tool.name in self._named

    def _made(self, tool: Tool) -> JsonObject:
        given = self._arguments.get(tool.name)
        if given is not None:
            return given
        where = f"the tool {tool.name!r}"
        value = value_of(tool.parameters, style=self._style, seed=self._seed, where=where)
        return value if isinstance(value, dict) else {}

    def _answer(self, request: Request) -> str:
        if request.output_schema is not None:
            return dumps(value_of(request.output_schema, style=self._style, seed=self._seed, where="the answer"))
        if self._text:
            return self._text
        came = [f"{each.name}: {each.result.text}" for each in _of_this_run(request) if isinstance(each, ToolMessage)]
        left = sorted(tool.name for tool in request.tools if not self._may_call(tool))
        if left:
            came.append(f"Not called, since they may do more than read: {', '.join(left)}.")
        return "\n".join(came) or "There was no tool to call."


def _is_answered(request: Request) -> bool:
    """Whether tools have answered since the user's last words."""
    return any(isinstance(each, ToolMessage) for each in _of_this_run(request))


def _of_this_run(request: Request) -> list[object]:
    """What was said since the user's last words."""
    said = [number for number, each in enumerate(request.messages) if isinstance(each, UserMessage)]
    return list(request.messages[said[-1] + 1 :]) if said else []
