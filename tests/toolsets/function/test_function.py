"""Python functions as tools."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Generator, Iterator

import pytest

from actum.core.attachment import Image
from actum.core.call import MediaPart, TextPart, ToolCall, ToolResult
from actum.core.errors import BadTool, InvalidArguments, ToolError, UnknownTool
from actum.core.interfaces import Context, Toolset
from actum.core.json import Json, JsonObject
from actum.schema.signature import ToolWarning
from actum.toolsets.function.function import (
    FunctionTool,
    FunctionToolset,
    methods_of,
    tool,
)
from tests.effort import effort
from tests.patience import HANGS_S

pytestmark = pytest.mark.row("T1")


async def run(
    function: Callable[..., object] | FunctionTool,
    arguments: JsonObject | None = None,
    *,
    attachments: dict[str, MediaPart] | None = None,
    progress: Callable[[Context, Json], None] | None = None,
) -> ToolResult:
    """What comes of a call, as the call path makes it."""
    tools = FunctionToolset([function])
    call = ToolCall("c1", tools.tools[0].name, arguments or {})
    context = Context(
        run_id="r",
        call=call,
        key="key",
        attempt=1,
        principal="ann",
        deps={"db": 1},
        attachments=attachments or {},
        progress=progress,
    )
    return await tools.execute(call, context)


# The decorator. -------------------------------------------------------------------------------------------------------


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def test_a_decorated_function_is_still_the_function() -> None:
    assert add(2, b=3) == 5
    assert (add.__name__, add.__doc__, add.__module__) == ("add", "Add two numbers.", __name__)
    assert list(inspect.signature(add).parameters) == ["a", "b"]
    assert repr(add) == "<tool add>"


def test_a_decorated_function_is_a_tool() -> None:
    assert (add.name, add.description, list(add.parameters)) == (
        "add",
        "Add two numbers.",
        ["type", "properties", "required", "additionalProperties"],
    )
    assert add.definition.result == {"type": "integer"}
    assert add.definition.effects is None


def test_what_the_decorator_is_told_stands_in_the_definition() -> None:
    @tool(
        name="pay",
        description="Pay.",
        effects={"write", "spend"},
        idempotent=True,
        approval=True,
        sequential=True,
        polled=True,
        timeout_s=2.5,
        title="Payment",
    )
    def function(amount: int) -> None: ...

    made = function.definition
    assert (made.name, made.description) == ("pay", "Pay.")
    assert made.effects == frozenset({"write", "spend"})
    assert (made.idempotent, made.approval, made.sequential, made.polled) == (True, True, True, True)
    assert (made.timeout_s, made.title) == (2.5, "Payment")


def test_an_effect_that_there_is_not_is_refused_with_those_there_are() -> None:
    with pytest.raises(BadTool, match=r"tool 'f': there is no effect 'writes'; there are read, write, send"):

        @tool(effects={"writes"})  # type: ignore[arg-type]
        def f() -> None: ...


@pytest.mark.parametrize(
    ("option", "value"),
    [("approval", "always"), ("idempotent", 1), ("timeout_s", "5"), ("title", None), ("trusted", [1]), ("polled", int)],
)
def test_an_option_of_another_type_is_refused_since_no_journal_could_read_the_tool_again(
    option: str, value: object
) -> None:
    with pytest.raises(BadTool, match=r"tool 'f': an option can not be meant so: "):
        tool(name="f", **{option: value})(lambda: None)  # type: ignore[call-overload]


def test_a_parameter_without_a_type_is_warned_of_where_the_function_stands() -> None:
    with pytest.warns(ToolWarning, match=r"parameter 'a' of tool 'f' has no type: write `a: str`") as caught:

        @tool
        def f(a, b: int): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202

    assert [(warning.filename, len(caught)) for warning in caught] == [(__file__, 1)]


def test_an_object_without_types_is_warned_of_too() -> None:
    class Greeter:
        def __call__(self, name):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN204
            """Greet."""

    with pytest.warns(ToolWarning, match="parameter 'name' of tool 'Greeter' has no type"):
        FunctionToolset([Greeter()])


def test_the_attributes_of_a_function_do_not_hide_those_of_the_tool() -> None:
    def f() -> None:
        """Do nothing at all."""

    f.warnings = f.definition = "mine"  # type: ignore[attr-defined]
    assert tool(f).warnings == ()
    assert tool(f).definition.name == "f"


def test_a_missing_description_stands_in_the_warnings_and_bothers_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        @tool
        def f(a: int) -> None:
            """Do nothing at all."""

    assert [text.split(":")[0] for text in f.warnings] == ["parameter 'a' of tool 'f' has no description"]


# Running. -------------------------------------------------------------------------------------------------------------


async def test_async_functions_run_in_the_loop_and_plain_ones_in_a_thread() -> None:
    def where() -> bool:
        """Tell."""
        return threading.current_thread() is threading.main_thread()

    async def here() -> bool:
        """Tell."""
        return threading.current_thread() is threading.main_thread()

    assert (await run(where)).structured is False
    assert (await run(here)).structured is True
    assert await run(add, {"a": 2}) == ToolResult("c1", structured=3)


async def test_whatever_can_be_called_can_be_a_tool() -> None:
    class Greeter:
        async def __call__(self, name: str) -> str:
            """Greet."""
            return f"Hello {name}"

    @functools.wraps(add)
    def wrapped(*args: int, **kwargs: int) -> object:
        return add(*args, **kwargs)

    async def later(n: int) -> int:
        """Wait."""
        return n

    def gives_what_to_await(n: int) -> object:
        """Wait."""
        return later(n)

    assert (await run(Greeter(), {"name": "Ann"})).text == "Hello Ann"
    assert (await run(functools.partial(add, b=5), {"a": 2})).structured == 7
    assert (await run(functools.partial(later, n=5))).structured == 5
    assert (await run(wrapped, {"a": 2, "b": 2})).structured == 4
    assert (await run(gives_what_to_await, {"n": 3})).structured == 3


async def test_the_context_and_the_callers_variables_reach_the_function() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("here")

    def look(ctx: Context) -> list[object]:
        """Look."""
        return [ctx.principal, ctx.key, ctx.deps, variable.get()]

    assert (await run(look)).structured == ["ann", "key", {"db": 1}, "here"]


async def test_an_attachment_goes_in_and_media_come_out() -> None:
    def turn(plan: Image) -> list[object]:
        """Turn."""
        return ["turned", Image(plan.data[::-1], name=plan.name)]

    attached = {"att_1": MediaPart("image/png", data=b"abc", name="p.png", handle="att_1")}
    result = await run(turn, {"plan": "att_1"}, attachments=attached)
    assert result.content == (TextPart("turned"), MediaPart("image/png", data=b"cba", name="p.png"))
    with pytest.raises(InvalidArguments, match="att_1"):
        await run(turn, {"plan": "att_2"}, attachments=attached)


async def test_sixty_four_plain_functions_run_at_the_same_time() -> None:
    together = threading.Barrier(64)

    def wait() -> int:
        """Wait for all others."""
        return together.wait(HANGS_S)

    results = await asyncio.gather(*(run(wait) for _ in range(64)))
    assert sorted(result.text for result in results) == sorted(str(n) for n in range(64))


async def test_a_plain_function_that_is_given_up_holds_its_thread_until_it_returns() -> None:
    started, gate, ended = threading.Event(), threading.Event(), threading.Event()

    def slow() -> None:
        """Be slow."""
        started.set()
        gate.wait(HANGS_S)
        ended.set()

    task = asyncio.create_task(run(slow))
    await asyncio.to_thread(started.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not ended.is_set()
    gate.set()
    assert await asyncio.to_thread(ended.wait, 30)


# Generators. ----------------------------------------------------------------------------------------------------------


def steps(n: int) -> Iterator[object]:
    """Count."""
    for i in range(n):
        yield f"step {i}"


def steps_and_a_result(n: int) -> Generator[object, None, object]:
    """Count."""
    yield from steps(n)
    return {"counted": n}


async def async_steps(n: int) -> AsyncIterator[object]:
    """Count."""
    for i in range(n):
        yield f"step {i}"


@pytest.mark.parametrize(
    ("function", "result"),
    [(steps, "step 2"), (async_steps, "step 2"), (steps_and_a_result, '{"counted":3}')],
)
async def test_a_generator_tells_what_it_yields_and_its_last_word_is_the_result(
    function: Callable[..., object], result: str
) -> None:
    told: list[Json] = []

    def progress(context: Context, value: Json) -> None:
        assert threading.current_thread() is threading.main_thread()
        told.append(value)

    assert (await run(function, {"n": 3}, progress=progress)).text == result
    assert told == ["step 0", "step 1", "step 2"]


@pytest.mark.parametrize("function", [steps, async_steps])
async def test_a_generator_that_yields_nothing_is_done(function: Callable[..., object]) -> None:
    assert (await run(function, {"n": 0})).text == "Done."


async def test_progress_is_told_at_once_and_not_with_the_next_step() -> None:
    told, gate = asyncio.Event(), threading.Event()

    def slow() -> Iterator[str]:
        """Be slow."""
        yield "begun"
        gate.wait(HANGS_S)
        yield "ended"

    task = asyncio.create_task(run(slow, progress=lambda call, value: told.set()))
    await asyncio.wait_for(told.wait(), HANGS_S)
    gate.set()
    assert (await task).text == "ended"


async def test_a_generator_that_is_cancelled_stops_at_its_next_step_and_cleans_up() -> None:
    told, gate, closed = asyncio.Event(), threading.Event(), threading.Event()

    def endless() -> Iterator[int]:
        """Go on."""
        try:
            while True:
                yield 1
                gate.wait(HANGS_S)
        finally:
            closed.set()

    task = asyncio.create_task(run(endless, progress=lambda call, value: told.set()))
    await asyncio.wait_for(told.wait(), HANGS_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.set()
    assert await asyncio.to_thread(closed.wait, 30)


async def test_media_can_be_yielded() -> None:
    async def draw() -> AsyncIterator[object]:
        """Draw."""
        yield "drawing"
        yield Image(b"p")

    told: list[Json] = []
    result = await run(draw, progress=lambda call, value: told.append(value))
    assert result.content == (MediaPart("image/png", data=b"p"),)
    assert told == ["drawing", "[attachment: image/png, 1 bytes]"]


# Failing. -------------------------------------------------------------------------------------------------------------


class Broken(Exception): ...


@pytest.mark.parametrize(
    "error", [ToolError("There is no such city."), Broken("inside"), TimeoutError(), KeyError("a")]
)
async def test_an_exception_passes_through_as_it_is(error: Exception) -> None:
    def plain() -> None:
        """Fail."""
        raise error

    async def later() -> None:
        """Fail."""
        raise error

    def generator() -> Iterator[int]:
        """Fail."""
        yield 1
        raise error

    for function in (plain, later, generator):
        with pytest.raises(type(error)) as caught:
            await run(function)
        assert caught.value is error


async def test_a_tool_that_exits_does_not_end_the_program() -> None:
    def plain() -> None:
        """Exit."""
        raise SystemExit(2)

    async def later() -> None:
        """Exit."""
        raise SystemExit(2)

    for function in (plain, later):
        with pytest.raises(RuntimeError, match=r"sys\.exit"):
            await run(function)


# Methods. -------------------------------------------------------------------------------------------------------------


class Desk:
    """A desk with both kinds of methods."""

    def __init__(self, number: int) -> None:
        self.number = number

    @tool
    def ring(self, times: int) -> int:
        """Ring."""
        return self.number * times

    @tool(name="wait_here")
    async def wait(self) -> int:
        """Wait."""
        return self.number

    @tool
    @staticmethod
    def double(n: int) -> int:
        """Double."""
        return 2 * n

    @classmethod
    @tool
    def kind(cls) -> str:
        """Tell the kind."""
        return cls.__name__

    @tool
    @classmethod
    def other(cls, n: int) -> str:
        """Tell it otherwise."""
        return cls.__name__ * n

    def undecorated(self) -> None: ...


class Plain:
    def __init__(self, by: int) -> None:
        self.by = by

    def more(self, n: int) -> int:
        """Add."""
        return n + self.by

    @staticmethod
    def twice(n: int) -> int:
        """Double."""
        return 2 * n

    @property
    def size(self) -> int:
        raise AssertionError("a property is not looked at")

    def _hidden(self) -> None: ...


class Child(Plain):
    def less(self, n: int) -> int:
        """Subtract."""
        return n - self.by


async def test_the_decorated_methods_of_an_object_are_a_toolset() -> None:
    tools = methods_of(Desk(3))
    assert isinstance(tools, Toolset)
    assert [each.name for each in tools.tools] == ["ring", "wait_here", "double", "kind", "other"]
    arguments: list[JsonObject] = [{"times": 2}, {}, {"n": 4}, {}, {"n": 2}]
    results = [await run(each, given) for each, given in zip(tools.tools, arguments, strict=True)]
    assert [result.text for result in results] == ["6", "3", "8", "Desk", "DeskDesk"]


async def test_without_decorated_methods_all_public_ones_are_tools_in_the_order_in_which_they_were_written() -> None:
    tools = methods_of(Child(10))
    assert [each.name for each in tools.tools] == ["more", "twice", "less"]
    assert (await run(tools.tools[0], {"n": 1})).structured == 11


def test_a_method_that_is_a_tool_can_be_called_as_a_method() -> None:
    desk = Desk(3)
    assert (desk.ring(2), desk.double(2), Desk.double(2), desk.other(2)) == (6, 4, 4, "DeskDesk")
    assert Desk.kind() == "Desk"  # type: ignore[call-arg]  # a classmethod of a tool is beyond mypy
    assert desk.ring.__doc__ == "Ring."
    assert list(inspect.signature(desk.ring).parameters) == ["times"]


def test_a_method_without_its_object_is_refused() -> None:
    for method in (Desk.ring, Plain.more):
        with pytest.raises(BadTool, match="is a method: take it from an object"):
            FunctionToolset([method])


def test_an_object_without_methods_is_refused() -> None:
    with pytest.raises(BadTool, match="object has no public methods"):
        methods_of(object())


# The toolset. ---------------------------------------------------------------------------------------------------------


async def test_a_toolset_lists_its_tools_in_order_and_never_changes() -> None:
    tools = FunctionToolset([add, steps])
    assert [each.name for each in await tools.list_tools()] == ["add", "steps"]
    assert tools.generation == tools.generation
    assert isinstance(tools, Toolset)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(BadTool, match="two tools are called 'add': give one of them another `name`"):
        FunctionToolset([add, tool(name="add")(steps)])


async def test_a_name_that_is_not_there_is_an_unknown_tool() -> None:
    context = Context(
        run_id="r",
        call=ToolCall("1", "x", {}),
        key="",
        attempt=1,
        principal="",
        deps=None,
        attachments={},
        progress=None,
    )
    with pytest.raises(UnknownTool, match="no tool called 'x'"):
        await FunctionToolset([add]).execute(ToolCall("1", "x", {}), context)


async def test_an_async_tool_of_plain_types_is_called_with_little_ado() -> None:
    async def join(a: int, b: str) -> str:
        """Join."""
        return b * a

    tools = FunctionToolset([join])
    call = ToolCall("1", "join", {"a": 2, "b": "x"})
    context = Context(run_id="r", call=call, key="", attempt=1, principal="", deps=None, attachments={}, progress=None)
    await tools.execute(call, context)
    with effort() as spent:
        await tools.execute(call, context)
    assert spent.calls <= 20
