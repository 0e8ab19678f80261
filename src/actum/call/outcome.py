"""What comes of running a tool's own code: its result, held to what it promised, or what its exception means to us.

The words of a foreign exception stay out of it: they may hold paths and secrets.
"""

from __future__ import annotations

import copy
import marshal
import socket
import traceback

import msgspec
from msgspec import UNSET

from ..core.call import TextPart, ToolCall, ToolResult
from ..core.errors import CallError, CallTimeout, InvalidResult, ResourceLimit, ToolBug, Unavailable
from ..core.interfaces import InputRequired
from ..core.json import Json, JsonObject, dumps
from ..core.run.ids import new_id
from ..core.secrets.given import GIVEN
from ..core.told_value import to_json, unfit
from .http_failure import http_failure
from .plan import Plan

WAS_DONE = "This call was made; what it returned is not known."

_PLAIN = frozenset({str, int, float, bool, type(None)})


def copy_arguments(arguments: JsonObject) -> JsonObject:
    """A copy for the tool to do with as it likes: what is on record and what another attempt gets stays as it is."""
    copied = dict(arguments)
    for name, value in arguments.items():
        if type(value) not in _PLAIN:
            copied[name] = _copied(value)
    return copied


def _copied(value: Json) -> Json:
    """As `copy.deepcopy`, for the types of JSON: two calls of C, whatever the value holds.

    Version 2 of `marshal` writes an object twice that is there twice, so that the copy has two.
    """
    try:
        copied: Json = marshal.loads(marshal.dumps(value, 2))
    except ValueError:  # another type, such as a subclass of `str`, or nested deeper than `marshal` goes
        return copy.deepcopy(value)
    return copied


def checked(result: ToolResult, plan: Plan) -> ToolResult:
    """The result of this call, as the tool's own schema of results has it.

    Raises:
        InvalidResult: it is none.
    """
    if not isinstance(result, ToolResult):
        raise InvalidResult("The tool returned something that is no result: {to_json}", to_json=dumps(to_json(result)))
    if result.call_id != plan.said.id:
        result = msgspec.structs.replace(result, call_id=plan.said.id)
    schema = plan.bound.result
    if schema is not None and result.structured is not UNSET and result.error is None:
        problems = schema.problems(result.structured)
        if problems:
            raise unfit(problems[0], result)
    return result


def with_note(result: ToolResult, call: ToolCall) -> ToolResult:
    """The model hears with which arguments a person had its call made."""
    if result.error is not None:
        return result
    note = TextPart(f"A person changed the arguments of this call before it was made: {dumps(call.arguments)}")
    content = result.content or (TextPart(result.text),)
    return msgspec.structs.replace(result, content=(note, *content))


def translate(bug: BaseException) -> CallError:
    """What an exception of a tool's code means to us. Its own words stay out: they may hold paths and secrets."""
    reference = new_id("ref")
    known = http_failure(bug, reference)
    if known is not None:
        return known
    match bug:
        case (
            ConnectionRefusedError() | socket.gaierror()
        ):  # this one connection; what the tool did before, nobody knows
            return Unavailable("The tool's service can not be reached.", reference=reference, effect="unknown")
        case ConnectionError():
            return CallTimeout("The connection was lost; it may have happened all the same.", reference=reference)
        case MemoryError():
            return ResourceLimit("The tool ran out of memory.", reference=reference)
        case _:
            return ToolBug(
                "The tool failed by an internal error (reference {mark}).", reference=reference, mark=reference
            )


def raise_waiting(bug: Exception) -> None:
    """A tool may ask in a task group, which tells what the tool waits for among whatever else failed there.

    Raises:
        InputRequired: the tool waits.
    """
    found: Exception | None = bug.subgroup(InputRequired) if isinstance(bug, ExceptionGroup) else None
    while isinstance(found, ExceptionGroup):
        found = found.exceptions[0]
    if found is not None:
        raise found from None


def where(bug: BaseException) -> str:
    """The exception's class and the innermost line of code, without its message; without secrets, which a class may be
    called by.
    """
    frames = traceback.extract_tb(bug.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno} in {frames[-1].name}" if frames else ""
    return GIVEN.without(f"{type(bug).__name__}{place}")
