"""Models that say of themselves that a person approves the effects of their calls: `Supervised`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

import pytest

from actum import Agent, Rule, Rules, tool
from actum.core.call import ToolCall
from actum.core.event import Delta
from actum.core.message import Reply
from actum.core.model import Request, is_supervised
from actum.core.policy import Answer
from actum.core.tool import Effects
from actum.dialects.base import TextDialect
from actum.dialects.catalog import text_dialect
from actum.models import open_model
from actum.models.prompted import Prompted
from actum.testing import ScriptedModel
from actum.toolsets.function.function import FunctionTool

QUESTION = 'Send Ada the message "hello"'


def messenger(effects: Iterable[Effects] | None) -> tuple[list[str], FunctionTool]:
    """A tool that sends, declared or not, and what was sent with it."""
    sent: list[str] = []

    def send_message(to: str, text: str) -> str:
        """Send a text message to a contact.

        Args:
            to: Name of the contact.
            text: The message.
        """
        sent.append(f"{to}: {text}")
        return "sent"

    return sent, tool(effects=effects)(send_message)


async def test_with_the_embedded_model_a_declared_effect_waits_for_a_person() -> None:
    declared: list[set[Effects]] = [{"send"}, {"read", "write"}, {"spend"}, {"destroy"}, {"execute"}]
    for effects in declared:
        sent, send = messenger(effects)
        agent = Agent("embedded", [send])
        result = await agent.run(QUESTION, run_id="run_1")
        assert (result.status, sent) == ("paused", []), effects
        (pending,) = result.pending
        done = await agent.resume("run_1", {pending.id: Answer("approve", by="ada")})
        assert (done.status, sent) == ("done", ["Ada: hello"]), effects


async def test_a_tool_that_only_reads_or_declares_nothing_runs() -> None:
    declared: list[set[Effects] | None] = [{"read"}, set(), None]
    for effects in declared:
        sent, send = messenger(effects)
        assert (await Agent("embedded", [send]).run(QUESTION)).status == "done"
        assert sent == ["Ada: hello"], effects


async def test_a_policy_that_was_given_decides_alone() -> None:
    for policy, status in ((Rules(), "done"), (Rules(Rule("allow")), "done"), (Rules(Rule("ask")), "paused")):
        sent, send = messenger({"send"})
        result = await Agent("embedded", [send], policy=policy).run(QUESTION)
        assert (result.status, len(sent)) == (status, status == "done")


async def test_other_models_call_what_they_were_given() -> None:
    sent, send = messenger({"send"})

    class Own:
        """A model of somebody's own, which knows nothing of `supervised`."""

        name = "own"

        async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
            return await script.reply(request, emit)

    script = ScriptedModel([ToolCall("call_1", "send_message", {"to": "Ada", "text": "hello"}), "Sent."])
    assert not is_supervised(Own())
    assert (await Agent(Own(), [send]).run(QUESTION)).status == "done"
    assert sent == ["Ada: hello"]


def test_a_model_around_a_model_passes_the_word_on() -> None:
    written: TextDialect = text_dialect("prompt_json")
    embedded = open_model("embedded")
    assert is_supervised(embedded)
    assert is_supervised(Prompted(embedded, written))
    assert is_supervised(Prompted(Prompted(embedded, written), written))
    assert not is_supervised(Prompted(ScriptedModel([]), written))
    assert not is_supervised(open_model("http://127.0.0.1:1/v1#m", environment={}))


async def test_functions_that_declare_nothing_are_named_in_the_log_once(caplog: pytest.LogCaptureFixture) -> None:
    @tool
    def strew(flowers: int) -> int:
        """Strew flowers."""
        return flowers

    with caplog.at_level(logging.INFO, logger="actum"):
        for _ in range(2):
            for _ in range(2):
                await Agent("embedded", [strew]).run("Strew 3 flowers")
        await Agent("embedded", [strew], policy=Rules()).run("Strew 3 flowers")
        await Agent(ScriptedModel(["Done."]), [strew]).run("Strew 3 flowers")
    assert [record.message.split(",")[0] for record in caplog.records if record.name == "actum"] == [
        "embedded calls strew without asking"
    ]
