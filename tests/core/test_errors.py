"""The tree of errors: each kind carries its facts, and reaches the journal as it is."""

from __future__ import annotations

import copy

import msgspec
import pytest

from actum.core.call import Failure, Problem
from actum.core.errors import CODES, CallError, InvalidArguments, ModelError, Retry, ToolError, UsageError
from actum.toolsets.mcp.error import McpError

pytestmark = pytest.mark.row("C2")

FACTS = {
    "unknown_tool": ("none", Retry.BY_MODEL),
    "invalid_arguments": ("none", Retry.BY_MODEL),
    "permission_denied": ("none", Retry.NEVER),
    "approval_denied": ("none", Retry.NEVER),
    "approval_expired": ("none", Retry.NEVER),
    "budget_exceeded": ("none", Retry.NEVER),
    "loop_detected": ("none", Retry.NEVER),
    "rate_limited": ("none", Retry.AUTOMATIC),
    "unavailable": ("none", Retry.AUTOMATIC),
    "timeout": ("unknown", Retry.AUTOMATIC),
    "in_doubt": ("unknown", Retry.NEVER),
    "tool_error": ("none", Retry.BY_MODEL),
    "tool_bug": ("unknown", Retry.NEVER),
    "invalid_result": ("done", Retry.NEVER),
    "resource_limit": ("unknown", Retry.NEVER),
    "cancelled": ("unknown", Retry.NEVER),
}


def test_every_kind_says_what_may_have_happened_and_who_may_try_again() -> None:
    assert {code: (kind.effect, kind.retry) for code, kind in CODES.items()} == FACTS


@pytest.mark.parametrize("code", FACTS)
def test_every_kind_comes_back_from_the_journal_as_it_was(code: str) -> None:
    kind = CODES[code]
    error = (
        InvalidArguments([Problem("a", "type", "integer")]) if kind is InvalidArguments else kind("why", reference="r")
    )
    failure = error.failure()
    assert msgspec.json.decode(msgspec.json.encode(failure), type=Failure) == failure
    assert (failure.code, failure.effect) == (code, FACTS[code][0])


def test_a_copy_has_the_facts_of_its_error_whatever_its_class_is_made_of() -> None:
    for error in (
        InvalidArguments([Problem("a", "type", "integer")]),
        McpError(-32603, "no such table", {"a": 1}),
        ModelError("no", status=503),
        UsageError("there is no agent {name!r}", name="crm"),
        *(kind("why", reference="r") for kind in CODES.values() if kind is not InvalidArguments),
    ):
        other = copy.copy(error)
        assert (type(other), other.args, vars(other)) == (type(error), error.args, vars(error))


def test_wrong_arguments_are_told_line_by_line_and_missing_ones_are_to_be_asked_for() -> None:
    problems = [Problem("city", "required", "a city"), Problem("n", "type", "integer", '"x" (string)')]
    told = InvalidArguments(problems).message.splitlines()
    assert told == [
        "Invalid arguments. city: required: expected a city",
        'n: type: expected integer, received "x" (string)',
        "If you do not know a required value, ask the user for it; do not guess.",
    ]


def test_an_effect_that_is_known_better_is_kept() -> None:
    assert CallError.effect == "none"
    assert CODES["timeout"]("x", effect="none").failure().effect == "none"


def test_of_a_long_text_in_a_sentence_the_beginning_is_told() -> None:
    long = "a\u200b" * 1_000_000
    for error in (UsageError("no {a!r} in {b}", a=long, b=UsageError("no {c}", c=long)), ToolError("{a}", a=long)):
        assert len(str(error)) < 200_000
        assert "(2000000 characters)" in str(error)
