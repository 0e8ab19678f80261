"""Calls of tools as callers are told of them: what was asked for, and why there is no result.

The words of an error that ended a run are for the operator alone, and so is the place in a tool's code where an error
happened.
"""

from __future__ import annotations

from msgspec import UNSET, Struct

from ...core.call import Effect, Failure, Problem, ToolCall, ToolResult
from ...core.json import Json, JsonObject
from ...core.language.error_words import problem_words
from ...core.language.sentence import Sentence
from ...features.refusal import Refusal
from ...runs.caller_access import ACCESS_REVOKED

FAILED = "The run failed. The operator of the server finds the cause in the record of the run."


class SaidCall(Struct, frozen=True, kw_only=True):
    """A call that was asked for.

    Attributes:
        tool: the name of the tool.
        arguments: the arguments; secret values are shown as `[secret]`.
    """

    tool: str
    arguments: JsonObject


class CallFailure(Struct, frozen=True, kw_only=True):
    """Why a call has no result.

    Attributes:
        code: the kind of the error: `tool_error`, `timeout`, `approval_denied`, ...
        message: what went wrong, fit for a model.
        effect: what the call may have changed in the world: nothing (`none`), its whole effect (`done`), or nobody
            knows (`unknown`).
        retry_after: seconds after which another try makes sense; null where there is no such time.
        reference: the id under which the record has the details; empty where there are none.
        problems: for arguments, each thing that is wrong.
    """

    code: str
    message: str
    effect: Effect
    retry_after: float | None = None
    reference: str = ""
    problems: tuple[Problem, ...] = ()


def call_failure(error: Failure | None) -> CallFailure | None:
    """Why a call failed."""
    if error is None:
        return None
    return CallFailure(
        code=error.code,
        message=error.message,
        effect=error.effect,
        retry_after=error.retry_after,
        reference=error.reference,
        problems=error.problems,
    )


def call_value(result: ToolResult) -> Json:
    """What a call came to as one value; None where it failed."""
    if result.error is not None:
        return None
    return result.text if result.structured is UNSET else result.structured


def said_calls(calls: tuple[ToolCall, ...]) -> tuple[SaidCall, ...]:
    """Calls that were asked for."""
    return tuple(SaidCall(tool=call.name, arguments=call.arguments) for call in calls)


def call_refusal(error: Failure, run_id: str) -> Refusal | None:
    """The refusal where a call was not made because of the request; None where the error is the call's outcome."""
    match error.code:
        case "permission_denied":
            return Refusal(403, error.code, error.message, run=run_id, effect=error.effect)
        case "invalid_arguments":
            why = problem_words(error.problems) if error.problems else error.message
            told = Sentence("The arguments do not fit: {why}", why=why)
            return Refusal(422, error.code, told, problems=error.problems, run=run_id, effect=error.effect)
        case "rate_limited" if error.limit:  # a limit of ours; the limit of a tool's service is an outcome
            wait_s = error.retry_after or 1.0
            return Refusal(429, error.code, error.message, run=run_id, effect=error.effect, retry_after=wait_s)
        case _:
            return None


_NOT_MADE = {"": "cancelled", "cancelled": "cancelled", ACCESS_REVOKED: "permission_denied"}
"""The code of a call that was not made, by the reason of its run; of any other reason, a limit is used up."""


def not_made(reason: str, text: str) -> Failure:
    """The error of a call that has no outcome, because its run was stopped."""
    code = _NOT_MADE.get(reason, "budget_exceeded")
    return Failure(code, text or "The call was stopped.", "unknown" if code == "cancelled" else "none")
