"""From a call to a plan: resolve, validate, decide.

Pure; what it can not let through it raises as the `CallError` it is.
"""

from __future__ import annotations

import hashlib
from typing import Literal

import msgspec
from msgspec import Struct

from ..core.call import Problem, ToolCall
from ..core.errors import InvalidArguments, PermissionDenied
from ..core.interfaces import Decision, Policy
from ..core.json import JsonObject
from .recording import Place
from .resolve import Bound, Catalog


class Terms(Struct, frozen=True, kw_only=True):
    """By what a call is judged.

    Attributes:
        policy: who may call what.
        principal: on whose behalf the run acts.
        root: id of the run that started it all, for idempotency keys.
        coerce: whether arguments that nearly fit are mended.
        extra: what becomes of arguments that the tool does not know.
        done_elsewhere: tools that the run from which this one branched off has used since: their calls may do again
            what was done.
    """

    policy: Policy
    principal: str = ""
    root: str = ""
    coerce: bool = True
    extra: Literal["refuse", "drop"] = "refuse"
    done_elsewhere: frozenset[str] = frozenset()


class Plan(Struct, frozen=True):
    """A call that may be made, if only a person has to agree.

    Attributes:
        bound: the tool.
        said: the call as the model said it.
        call: the call with the arguments that the tool gets.
        repairs: what was mended, by the dialect or the schema.
        decision: what the policy said.
        key: the idempotency key.
        edited: the arguments are a person's.
    """

    bound: Bound
    said: ToolCall
    call: ToolCall
    repairs: tuple[str, ...]
    decision: Decision
    key: str
    edited: bool = False


def decide(call: ToolCall, place: Place, catalog: Catalog, terms: Terms) -> Plan:
    """Judge one call.

    Raises:
        UnknownTool: nothing has this name.
        InvalidArguments: they are not complete, or do not fit the schema.
        PermissionDenied: the policy refuses.
    """
    bound, said = catalog.resolve(call.name), call
    if not call.complete:
        raise InvalidArguments([_incomplete(call)])
    checked = bound.schema.check(call.arguments, coerce=terms.coerce, extra=terms.extra)
    if checked.problems:
        raise InvalidArguments(checked.problems)
    if checked.arguments is not call.arguments:
        call = msgspec.structs.replace(call, arguments=checked.arguments, raw="")
    decision = terms.policy.decide(bound.tool, call, terms.principal)
    if decision.verdict not in ("allow", "ask"):  # what is no verdict lets nothing through
        denied = PermissionDenied(f"This is not permitted. {decision.reason}".rstrip())
        denied.rule = decision.rule
        raise denied
    if decision.verdict == "allow" and call.name in terms.done_elsewhere and not bound.tool.reads_only:
        decision = Decision("ask", "branch", "The run that this one branched off from used this tool after that point.")
    return Plan(bound, said, call, call.repairs + checked.repairs, decision, idempotency_key(terms.root, place, call))


def idempotency_key(root: str, place: Place, call: ToolCall) -> str:
    """The same for every attempt at one call, and for no other: two payments that were meant twice differ in their
    place.
    """
    return hashlib.sha256(_sorted.encode((root, place.reply, place.index, call.name, call.arguments))).hexdigest()


def same_arguments(left: JsonObject, right: JsonObject) -> bool:
    """Equal as JSON: `1`, `1.0` and `true` are three different things."""
    return _sorted.encode(left) == _sorted.encode(right)


def _incomplete(call: ToolCall) -> Problem:
    why = next((repair for repair in reversed(call.repairs)), "the text ended too early")
    return Problem("", "complete", f"one complete JSON object ({why})", call.raw[-60:])


_sorted = msgspec.json.Encoder(order="sorted")
