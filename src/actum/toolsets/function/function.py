"""Python functions as tools: `@tool`, and the toolset they live in.

`schema.signature` says what a model sees of a function and makes its arguments, `returned` makes its result, `threads`
runs what would block. This module puts them together. An exception of a function's own passes through it untouched,
since the call path is the one place that handles it.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import threading
import typing
import warnings
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, Generic, Self, overload

import msgspec
from msgspec import structs
from typing_extensions import ParamSpec, TypeVar

from ...core.call import ToolCall, ToolResult
from ...core.errors import BadTool, UnknownTool
from ...core.interfaces import Context, ProbeResult
from ...core.json import JsonObject
from ...core.process.daemon_threads import in_thread
from ...core.process.loop_mailbox import LoopMailbox
from ...core.tool import Background, Effects, Tool
from ...schema.signature import ToolWarning, describe
from .returned import progress_of, result_of

P = ParamSpec("P", default=...)
R = TypeVar("R", default=Any)


class FunctionTool(Generic[P, R]):
    """A function that is a tool, and still the function: calling it calls the function. Made by `tool`.

    Attributes:
        definition: what a model and a policy need to know of it.
        warnings: what a model is not told and should be, each with what to write; `actum tools lint` shows them.
    """

    definition: Tool
    warnings: tuple[str, ...]
    __name__: str

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        description: str | None = None,
        effects: Iterable[Effects] | None = None,
        idempotent: bool = False,
        approval: bool = False,
        sinks: Iterable[str] | None = None,
        trusted: Iterable[str] = (),
        sequential: bool = False,
        polled: bool = False,
        answers: bool = False,
        knowledge: bool = False,
        background: Background = False,
        timeout_s: float | None = None,
        title: str = "",
        version: str = "",
        outside: bool | None = None,
        named_by: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        inner: Callable[..., R] = function.__func__ if isinstance(function, staticmethod | classmethod) else function
        self._function = function
        self._receiver = not isinstance(function, staticmethod) and _has_receiver(inner)
        self._signature = describe(inner, name=name, description=description, receiver=self._receiver)
        self._runs = _way_to_run(inner)
        self._look: FunctionTool | None = None
        self.warnings = self._signature.warnings
        self.definition = Tool(
            name=self._signature.name,
            description=self._signature.description,
            parameters=self._signature.parameters,
            result=self._signature.result,
            effects=None if effects is None else _effects(effects, self._signature.name),
            idempotent=idempotent,
            approval=approval,
            sinks=None if sinks is None else _sinks(sinks, self._signature.parameters, self._signature.name),
            trusted=(trusted,) if isinstance(trusted, str) else tuple(trusted),
            sequential=sequential,
            polled=polled,
            answers=answers,
            knowledge=knowledge,
            background=background,
            timeout_s=timeout_s,
            title=title,
            version=version,
            outside=outside,
            named_by=dict(named_by or {}),
            labels=dict(labels or {}),
        )
        _check(self.definition)
        functools.update_wrapper(self, inner, updated=())
        _warn(inner, self._signature.untyped)

    @property
    def name(self) -> str:
        """What a model calls it."""
        return self.definition.name

    @property
    def description(self) -> str:
        """What a model is told of it."""
        return self.definition.description

    @property
    def parameters(self) -> JsonObject:
        """JSON Schema of its arguments."""
        return self.definition.parameters

    @property
    def bound(self) -> bool:
        """It can be used as it is. A method has to be taken from its object first: `desk.book`, not `Desk.book`."""
        return not self._receiver

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself, as if it were no tool."""
        return self._function(*args, **kwargs)

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> FunctionTool[..., R]: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> FunctionTool[..., R]:
        """The tool of one object, when the function is a method."""
        if not self._receiver or (instance is None and not isinstance(self._function, classmethod)):
            return self
        bound: FunctionTool[..., R] = copy.copy(self)
        bound._function = self._function.__get__(instance, owner)
        bound._receiver = False
        if self._look is not None and self._look._receiver:
            bound._look = self._look.__get__(instance, owner)
        functools.update_wrapper(bound, bound._function, updated=())
        return bound

    def probe(self, look: Callable[..., object]) -> Callable[..., object]:
        """Make a function the probe of this tool: it looks, changing nothing, whether a call happened.

        It is asked when the program was interrupted during a call, or a call failed without a word of what it did. It
        takes those of the tool's parameters that it names, and a `Context`, whose `key` the call was made with. It says
        False: it did not happen; None: nobody can tell; True: it did; anything else: it did, and this is its result.

        >>> paid: dict[str, int] = {}
        >>> @tool(effects={"spend"})
        ... def pay(amount: int, ctx: Context) -> str:
        ...     paid[ctx.key] = amount
        ...     return f"paid {amount}"
        >>> @pay.probe
        ... def was_paid(ctx: Context) -> bool:
        ...     return ctx.key in paid
        >>> pay.definition.probed
        True
        """
        self._look = FunctionTool(look, name=self.name, description="Looks whether a call happened.")
        self.definition = structs.replace(self.definition, probed=True)
        return look

    async def look(self, call: ToolCall, context: Context) -> ProbeResult:
        """Ask the probe; see `Probing`."""
        if self._look is None:
            return ProbeResult("unknown")
        named = {
            name: value for name, value in call.arguments.items() if name in self._look.definition.property_schemas()
        }
        came = await self._look.call(structs.replace(call, arguments=named), context)
        match came:
            case None | False:
                return ProbeResult("unknown" if came is None else "not_done")
            case ProbeResult():
                return came
            case _:
                return ProbeResult("done", None if came is True else result_of(call.id, came))

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Call the function with the arguments of a call.

        A coroutine function is awaited. A plain one runs in a thread, where it can't be stopped: when the call times
        out, its outcome is unknown and its thread is taken until it returns. What a generator yields is told as
        progress, at once; its result is what it returns, else what it yielded last. A plain generator that is
        cancelled stops at its next `yield`.

        Raises:
            CallError: raised by the function itself, or its arguments or its result do not fit their types.
            Exception: whatever else the function raised.
        """
        return result_of(call.id, await self.call(call, context))

    async def call(self, call: ToolCall, context: Context) -> object:
        """What the function returned; see `execute`."""
        arguments = self._signature.bind(call.arguments, context)
        function: Callable[..., Any] = self._function
        try:
            return await (function(**arguments) if self._runs is None else self._runs(function, arguments, context))
        except SystemExit as error:  # a script's way to end; it must not end the program that called it
            raise RuntimeError("the tool called sys.exit") from error

    def __repr__(self) -> str:
        return f"<tool {self.name}>"


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    effects: Iterable[Effects] | None = None,
    idempotent: bool = False,
    approval: bool = False,
    sinks: Iterable[str] | None = None,
    trusted: Iterable[str] = (),
    sequential: bool = False,
    polled: bool = False,
    answers: bool = False,
    knowledge: bool = False,
    background: Background = False,
    timeout_s: float | None = None,
    title: str = "",
    version: str = "",
    outside: bool | None = None,
    named_by: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a function a tool: its name, description and JSON Schema come out of signature, annotations and docstring.

    A parameter without a type is warned of at once (`ToolWarning`), since a model can only guess what to pass; what a
    description lacks is listed in `.warnings` and shown by `actum tools lint`; a small tool may do without.

    Args:
        function: sync or async, a plain function, a method or a generator. A parameter annotated `Context` gets the
            context of the call; one annotated `Image`, `Audio`, `Video` or `File` gets an attachment.
        name: what a model calls it, when not the function's name.
        description: what a model is told, when not the docstring.
        effects: what using it does: `read`, `write`, `send`, `spend`, `destroy`, `execute`; an empty set is as `read`.
        idempotent: doing it twice with the same arguments is as good as once.
        approval: every use waits for a person's approval.
        sinks: parameters that say where something goes or who gets it; an empty list says that none does. An approval
            for a whole run covers later calls with the same sinks; where nothing is declared, with the same arguments.
        trusted: fields of the result that nobody else could have written; see `core.tool.Tool`.
        sequential: must not run beside other calls of the same turn.
        polled: is meant to be asked again and again.
        answers: the result of a call is the answer of the run, and the model is not asked again.
        knowledge: it is a source of knowledge, which a `knowledge` node of a workflow asks by its parameter `query`.
        background: calls by a model become tasks: always (True), or where the model asks for it (`"allowed"`).
        timeout_s: seconds one attempt may take.
        title: a name for people.
        version: of the function's code, as in `version="2"`. An approval that was given for another version does not
            hold: a person is asked again.
        outside: results may hold text that an outsider wrote, such as a mail or a page; see `core.tool.Tool`.
        named_by: which field of a record in the result names the record: `{"id": "title"}`; see `core.tool.Tool`.
        labels: the labels of fields of the result: `{"salary": "personal"}`; see `core.tool.Tool`.

    Raises:
        BadTool: a model could not be told of it; the message says what to write instead.

    >>> @tool
    ... def add(a: int, b: int) -> int:
    ...     '''Add two numbers.'''
    ...     return a + b
    >>> add(2, 3), add.name, add.parameters["required"]
    (5, 'add', ['a', 'b'])
    """
    if function is None:
        return lambda later: FunctionTool(later, **options)
    return FunctionTool(function, **options)


def _check(definition: Tool) -> None:
    """A journal keeps the definition, and has to be able to read it again.

    Raises:
        BadTool: an option is of another type than it takes, such as `approval="always"`.
    """
    try:
        msgspec.json.decode(definition.definition, type=Tool)
    except (msgspec.ValidationError, TypeError) as error:
        raise BadTool("tool {name!r}: an option can not be meant so: {why}", name=definition.name, why=error) from None


class FunctionToolset:
    """A toolset of Python functions.

    Args:
        functions: tools made by `tool`, and plain functions, which become tools by themselves.

    Raises:
        BadTool: one that can't be a tool, or two of one name.
    """

    def __init__(self, functions: Iterable[Callable[..., object] | FunctionTool]) -> None:
        self.tools = tuple(f if isinstance(f, FunctionTool) else FunctionTool(f) for f in functions)
        self._by_name: dict[str, FunctionTool] = {}
        for each in self.tools:
            if not each.bound:
                raise BadTool(
                    "tool {each!r} is a method: take it from an object, or use `methods_of(object)`", each=each.name
                )
            if each.name in self._by_name:
                raise BadTool("two tools are called {each!r}: give one of them another `name`", each=each.name)
            self._by_name[each.name] = each

    @property
    def generation(self) -> int:
        """Its tools are always the same."""
        return 0

    async def list_tools(self) -> Sequence[Tool]:
        """The definitions, in the order in which the functions were given."""
        return tuple([each.definition for each in self.tools])

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Call the function of this name; see `FunctionTool.execute`."""
        found = self._by_name.get(call.name)
        if found is None:
            raise UnknownTool("There is no tool called {call!r}.", call=call.name[:64])
        return await found.execute(call, context)

    async def probe(self, call: ToolCall, context: Context) -> ProbeResult:
        """Ask the probe of the function of this name."""
        found = self._by_name.get(call.name)
        return ProbeResult("unknown") if found is None else await found.look(call, context)


def methods_of(thing: object) -> FunctionToolset:
    """The methods of an object as tools: those that are decorated with `tool` if any is, else all public ones.

    Raises:
        BadTool: it has none, or one that can't be a tool.
    """
    kind = type(thing)
    names = dict.fromkeys(name for owner in reversed(kind.__mro__[:-1]) for name in vars(owner) if name[0] != "_")
    members = {name: inspect.getattr_static(thing, name) for name in names}
    marked = [name for name, member in members.items() if isinstance(_bare(member), FunctionTool)]
    public = [name for name, member in members.items() if inspect.isroutine(_bare(member))]
    found = [getattr(thing, name) for name in marked or public]
    if not found:
        raise BadTool("{kind} has no public methods that could be tools", kind=kind.__name__)
    return FunctionToolset(found)


def _bare(member: object) -> object:
    """The function under `@staticmethod` or `@classmethod`."""
    return member.__func__ if isinstance(member, staticmethod | classmethod) else member


def _has_receiver(function: Callable[..., object]) -> bool:
    """Whether it was written in a class and waits for `self` or `cls`: a function in a class has not been bound yet."""
    if not inspect.isfunction(function):
        return False
    owner = function.__qualname__.rpartition(".")[0]
    first = next(iter(inspect.signature(function).parameters), "")
    return bool(owner) and not owner.endswith("<locals>") and first in ("self", "cls")


def _effects(effects: Iterable[Effects], name: str) -> frozenset[Effects]:
    known: tuple[Effects, ...] = typing.get_args(Effects)
    asked = [effects] if isinstance(effects, str) else list(effects)
    for effect in asked:
        if effect not in known:
            raise BadTool(
                "tool {name!r}: there is no effect {kind!r}; there are {known}",
                name=name,
                kind=effect,
                known=", ".join(known),
            )
    return frozenset(effect for effect in known if effect in asked)


def _sinks(sinks: Iterable[str], parameters: JsonObject, name: str) -> tuple[str, ...]:
    named = (sinks,) if isinstance(sinks, str) else tuple(sinks)
    known = parameters.get("properties")
    for sink in named:
        if not isinstance(known, dict) or sink not in known:
            raise BadTool("tool {name!r}: sinks= names {sink!r}, which is none of its parameters", name=name, sink=sink)
    return named


def _warn(function: Callable[..., object], messages: Iterable[str]) -> None:
    """Warn at the line where the function is written."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    for message in messages:
        if code is None:
            warnings.warn(message, ToolWarning, stacklevel=4)
        else:
            warnings.warn_explicit(message, ToolWarning, code.co_filename, code.co_firstlineno)


# Ways to run a function that is not simply awaited. -------------------------------------------------------------------

_Run = Callable[[Callable[..., Any], typing.Mapping[str, object], Context], typing.Awaitable[object]]


def _way_to_run(function: Callable[..., object]) -> _Run | None:
    """How to run a function of this kind; None when calling it gives what to await."""
    plain = inspect.isroutine(function) or isinstance(function, functools.partial | type)
    call = function if plain else type(function).__call__
    for fits, way in _WAYS:
        if fits(call):
            return way
    return _run_in_thread


async def _run_in_thread(function: Callable[..., Any], arguments: typing.Mapping[str, object], _: Context) -> object:
    value = await in_thread(functools.partial(function, **arguments))
    return await value if inspect.isawaitable(value) else value


async def _run_generator(
    function: Callable[..., Generator[object, None, object]], arguments: typing.Mapping[str, object], context: Context
) -> object:
    told, cancelled = LoopMailbox(context.progress), threading.Event()

    def drain() -> object:
        with contextlib.closing(function(**arguments)) as values:
            value: object = None
            while not cancelled.is_set():
                try:
                    value = next(values)
                except StopIteration as end:
                    return value if end.value is None else end.value
                told.tell(progress_of(value))
            return None

    try:
        return await in_thread(drain)
    finally:
        cancelled.set()


async def _run_async_generator(
    function: Callable[..., AsyncGenerator[object, None]], arguments: typing.Mapping[str, object], context: Context
) -> object:
    value: object = None
    async with contextlib.aclosing(function(**arguments)) as values:
        async for value in values:
            context.progress(progress_of(value))
    return value


_WAYS: tuple[tuple[Callable[[object], bool], _Run | None], ...] = (
    (inspect.iscoroutinefunction, None),
    (inspect.isasyncgenfunction, _run_async_generator),
    (inspect.isgeneratorfunction, _run_generator),
)
