"""What is told of a tool, and what a client's answer means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum import Tool, ToolCall
from actum.core.errors import UsageError
from actum.core.identity import Identity
from actum.core.json import JsonObject
from actum.core.run.pending import Pending
from actum.server.mcp.wire import (
    definition_of,
    question_of,
    served_name,
    told_by_client,
)
from tests.effort import effort

PAY = ToolCall(id="1", name="pay", arguments={"to": "Ada", "amount": 5})


@given(st.text(min_size=1, max_size=128))
def test_a_served_name_is_one_that_the_protocol_knows_and_no_other_tools(name: str) -> None:
    served = served_name(name)
    assert 0 < len(served) <= 128
    assert served.isascii()
    assert all(letter.isalnum() or letter in "_.-" for letter in served)
    assert served_name(name + "中") != served


def test_a_schema_is_told_as_it_is() -> None:
    schema: JsonObject = {"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"$anchor": "y"}}, "if": {}}
    assert definition_of(Tool(name="t", parameters=schema), any_value=True)["inputSchema"] == {
        "type": "object",
        **schema,
    }


def test_an_approval_shows_the_whole_call() -> None:
    method, params = question_of(Pending("ask", "approval", "sends money.", PAY))
    assert method == "elicitation/create"
    assert params["message"] == 'pay sends money.\n  to = "Ada"\n  amount = 5'


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        ({"action": "accept", "content": {"approve": True}}, "approve"),
        ({"action": "accept", "content": {"approve": "true"}}, "deny"),
        ({"action": "accept"}, "deny"),
        ({"action": "decline"}, "deny"),
        ({"action": "cancel"}, "deny"),
        ({}, "deny"),
    ],
)
def test_only_a_yes_approves(result: JsonObject, verdict: str) -> None:
    assert told_by_client(Pending("ask", "approval", "", PAY), result, Identity(principal="ada")).verdict == verdict


@pytest.mark.parametrize(
    ("kind", "result"),
    [
        ("elicitation", {"action": "maybe"}),
        ("elicitation", {"action": "accept", "content": {"name": 5}}),
        ("elicitation", {}),
        ("roots", {"roots": "everywhere"}),
        ("roots", {"roots": ["file:///"]}),
        ("sampling", {"role": "user"}),
    ],
)
def test_what_does_not_answer_the_question_is_refused(kind: str, result: JsonObject) -> None:
    form: JsonObject = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    pending = Pending("ask", kind, "", PAY, schema=form if kind == "elicitation" else None)  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        told_by_client(pending, result, Identity(principal="ada"))


@pytest.mark.parametrize(
    ("kind", "result"),
    [
        ("roots", {"roots": [{"uri": "file:///a"}] * 20_000}),
        ("sampling", {"role": "assistant", "content": [{"type": "text", "text": "x"}] * 20_000}),
        ("sampling", {"role": "assistant", "content": [{"a": [[]]}] * 20_000}),
    ],
)
def test_a_long_answer_of_a_client_is_refused_before_it_is_read(kind: str, result: JsonObject) -> None:
    pending = Pending("ask", kind, "", PAY)  # type: ignore[arg-type]
    with effort() as spent, pytest.raises(UsageError, match="at most"):
        told_by_client(pending, result, Identity(principal="ada"))
    assert spent.calls < 1_000


def test_an_approval_counts_only_from_whom_may_give_it() -> None:
    pending = Pending("ask", "approval", "", PAY, approvers=("boss",))
    with pytest.raises(UsageError, match="boss may"):
        told_by_client(pending, {"action": "accept", "content": {"approve": True}}, Identity(principal="eve"))
