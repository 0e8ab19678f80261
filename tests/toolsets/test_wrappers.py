"""Wrappers change names, choice and words of a toolset, and leave all else to the toolset inside."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Self

import msgspec
import pytest

from actum import Agent, Context, Rule, Rules, Tool, ToolCall, ToolResult, tool
from actum.call.resolve import Catalog
from actum.core.call import MediaPart, TextPart
from actum.core.errors import BadTool, UnknownTool, UsageError
from actum.core.interfaces import ProbeResult, Toolset
from actum.core.run.record import Intended, Started
from actum.core.tool import Effects, innermost
from actum.journal.memory import MemoryJournal
from actum.policy.rules import CAREFUL
from actum.testing import ScriptedModel
from actum.toolsets import FunctionToolset, Wrapper
from actum.toolsets.wrappers import (
    ToolLabels,
    combined,
    filtered,
    label_problems,
    labelled,
    labels_of,
    prefixed,
    renamed,
)


def definition(name: str, **more: object) -> Tool:
    parameters = {"type": "object", "properties": {"to": {"type": "string"}}}
    return msgspec.convert({"type": "tool", "name": name, "parameters": parameters, **more}, Tool)


class Crm:
    """A foreign toolset whose tools can change, and that can be opened and closed."""

    def __init__(self, *tools: Tool) -> None:
        self.tools: Sequence[Tool] = tools
        self.generation = 0
        self.called: list[ToolCall] = []
        self.probed: list[str] = []
        self.life: list[str] = []

    async def list_tools(self) -> Sequence[Tool]:
        return self.tools

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        self.called.append(call)
        return ToolResult(call.id, (TextPart(f"{call.name} was called"),))

    async def probe(self, call: ToolCall, context: Context) -> ProbeResult:
        self.probed.append(call.name)
        return ProbeResult("done")

    async def __aenter__(self) -> Self:
        self.life.append("opened")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.life.append("closed")


def call(name: str, **arguments: str) -> ToolCall:
    return ToolCall(id="1", name=name, arguments={**arguments})


async def names(toolset: Toolset) -> list[str]:
    return [each.name for each in await toolset.list_tools()]


async def test_each_wrapper_shows_other_names_and_calls_the_toolset_by_its_own() -> None:
    crm = Crm(definition("get"), definition("put"), definition("drop"))
    for wrapped, shown, name, own in (
        (prefixed("crm_", crm), ["crm_get", "crm_put", "crm_drop"], "crm_put", "put"),
        (renamed({"fetch": "get", "get": "put"}, crm), ["fetch", "get", "drop"], "get", "put"),
        (filtered("*t", crm), ["get", "put"], "put", "put"),
        (filtered(["put", "drop"], crm), ["put", "drop"], "drop", "drop"),
        (filtered(lambda each: each.name != "get", crm), ["put", "drop"], "put", "put"),
        (combined(crm, Crm(definition("other"))), ["get", "put", "drop", "other"], "drop", "drop"),
        (prefixed("a_", renamed({"fetch": "get"}, filtered("get", crm))), ["a_fetch"], "a_fetch", "get"),
    ):
        crm.called.clear()
        assert await names(wrapped) == shown
        model = ScriptedModel([call(name, to="x"), "Done."])
        result = await Agent(model, [wrapped], policy=Rules(default="allow")).run("go")
        assert (result.text, [made.name for made in crm.called]) == ("Done.", [own])
        assert next(innermost(wrapped)) is crm


async def test_a_tool_that_was_filtered_out_can_not_be_called_even_by_its_toolsets_own_name() -> None:
    crm = Crm(definition("get"), definition("drop"))
    for wrapped, name in (
        (filtered("get", crm), "drop"),
        (prefixed("a_", crm), "drop"),
        (renamed({"x": "get"}, crm), "get"),
    ):
        model = ScriptedModel([call(name), "Done."])
        await Agent(model, [wrapped], policy=Rules(default="allow")).run("go")
        context = Context(run_id="r", call=call(name), key="k", attempt=1, principal="", deps=None, attachments={})
        with pytest.raises(UnknownTool, match=f"{name} is not there"):
            await wrapped.execute(call(name), context)
        assert crm.called == []


async def test_a_name_used_twice_is_an_error_that_names_the_wrapper_which_mends_it() -> None:
    one, other = Crm(definition("search")), Crm(definition("search"))
    with pytest.raises(BadTool, match=r"two tools are called 'search'.*prefixed\(.*renamed\(.*filtered\("):
        await Agent(ScriptedModel([]), [one, other]).list_tools()
    with pytest.raises(BadTool, match=r"combined.*'search'.*prefixed"):
        await combined(one, other).list_tools()
    with pytest.raises(BadTool, match="are both called 'a'"):
        await renamed({"a": "search"}, Crm(definition("a"), definition("search"))).list_tools()
    with pytest.raises(UsageError, match="two new names"):
        renamed({"a": "search", "b": "search"}, one)
    with pytest.raises(UsageError, match="give a prefix"):
        prefixed("", one)
    with pytest.raises(BadTool, match="use 1 to 128 letters"):
        await prefixed("no blanks ", one).list_tools()
    both = await Agent(ScriptedModel([]), [one, prefixed("b_", other)]).list_tools()
    assert [each.name for each in both] == ["search", "b_search"]


async def test_tools_that_change_are_noticed_through_a_wrapper_and_the_life_of_a_toolset_goes_on() -> None:
    crm = Crm(definition("get"))
    wrapped = prefixed("x_", combined(labelled({"*": ToolLabels(approval=True)}, crm)))
    agent = Agent(ScriptedModel(["a", "b"]), [wrapped])
    assert [each.name for each in await agent.list_tools()] == ["x_get"]
    crm.tools, crm.generation = (definition("get"), definition("new")), 1
    assert [each.name for each in await agent.list_tools()] == ["x_get", "x_new"]
    async with wrapped:  # type: ignore[attr-defined]  # wrappers can be opened; the protocol does not say so
        assert crm.life == ["opened"]
    assert crm.life == ["opened", "closed"]


async def test_a_policy_an_approval_and_the_record_know_the_name_that_is_shown() -> None:
    crm = Crm(definition("send", effects=["send"]))
    journal = MemoryJournal()
    model = ScriptedModel([call("crm_send", to="bob"), "Sent."])
    agent = Agent(
        model, [prefixed("crm_", crm)], policy=Rules(Rule("ask", tools="crm_*"), default="deny"), journal=journal
    )
    waiting = await agent.run("send", run_id="r")
    (pending,) = waiting.pending
    assert pending.call is not None
    assert pending.call.name == "crm_send"
    result = await agent.resume("r", {pending.id: "approve"})
    assert (result.text, [made.name for made in crm.called]) == ("Sent.", ["send"])
    intents = [entry.record for entry in await journal.read("r") if isinstance(entry.record, Intended)]
    assert [intent.tool for intent in intents] == ["crm_send"]


async def test_secret_and_file_arguments_go_through_a_wrapper() -> None:
    seen: list[str] = []

    @tool(effects={"write"})
    def login(password: str, ctx: Context) -> str:
        """Log in.

        Args:
            password: the password.
        """
        seen.append(str(password))
        seen.extend(ctx.attachments)
        return "in"

    journal = MemoryJournal()
    model = ScriptedModel([call("x_login", password="open-sesame-42"), "Done."])
    agent = Agent(model, [prefixed("x_", FunctionToolset([login]))], journal=journal)
    picture = MediaPart("image/png", data=b"png")
    result = await agent.run("log in", run_id="r", attachments=[picture])
    assert result.text == "Done."
    assert seen == ["open-sesame-42", "att_1"]
    assert not any(b"open-sesame" in entry.payload for entry in await journal.read("r"))


async def test_an_agent_in_a_wrapper_is_still_an_agent_as_a_tool() -> None:
    inner = Agent(ScriptedModel(["42"]), name="counter")
    outer = Agent(
        ScriptedModel([call("ask_counter", task="6*7?"), "It is 42."]), [prefixed("ask_", combined(inner.as_tool()))]
    )
    result = await outer.run("6*7?", run_id="r")
    assert result.text == "It is 42."
    children = [run for run in await outer.journal.runs() if run.parent == "r"]
    assert [run.agent for run in children] == ["counter"]
    for inside, ends in (((inner.as_tool(),), True), ((inner.as_tool(), Crm()), False)):
        assert prefixed("x_", combined(*inside)).ends_when_cancelled is ends  # type: ignore[attr-defined]  # as the path asks


async def test_a_doubtful_call_is_looked_up_by_the_toolset_inside() -> None:
    crm = Crm(definition("pay"))
    context = Context(run_id="r", call=call("x_pay"), key="k", attempt=1, principal="", deps=None, attachments={})
    found = await prefixed("x_", combined(crm)).probe(call("x_pay"), context)  # type: ignore[attr-defined]  # as the path does
    assert (found.status, crm.probed) == ("done", ["pay"])


READ: frozenset[Effects] = frozenset({"read"})
SEND: frozenset[Effects] = frozenset({"send"})
LABELS = {
    "*": ToolLabels(approval=True),
    "crm_*": ToolLabels(effects=READ, timeout_s=5.0),
    "crm_send": ToolLabels(effects=SEND, sinks=("to",), approval=False),
}


async def test_the_most_specific_pattern_that_sets_a_field_wins_whatever_the_order() -> None:
    for order in permutations(LABELS):
        labels = {pattern: LABELS[pattern] for pattern in order}
        sends, reads, other = (labels_of(name, labels) for name in ("crm_send", "crm_get", "other"))
        assert (sends.effects, sends.sinks, sends.timeout_s, sends.approval) == (SEND, ("to",), 5.0, False)
        assert (reads.effects, reads.sinks, reads.approval) == (READ, None, True)
        assert (other.effects, other.approval) == (None, True)


async def test_the_operators_word_decides_where_a_foreign_tools_own_word_does_not() -> None:
    for labels, asked in (({}, True), ({"get": ToolLabels(effects=READ)}, False)):
        crm = Crm(definition("get", foreign=True))
        model = ScriptedModel([call("get", to="x"), "Done."])
        agent = Agent(model, [labelled(labels, crm)], policy=CAREFUL)
        result = await agent.run("go")
        assert (result.status == "paused") is asked
        assert bool(crm.called) is not asked


def test_labels_never_take_more_away_than_they_say() -> None:
    own = definition("get", foreign=True, approval=True, trusted=["told_by_itself"])
    assert ToolLabels(approval=False).on(own).approval, "a tool's own wish to be asked about is not lifted"
    assert not ToolLabels(effects=READ).on(own).vouched, "its own trusted fields are not vouched for"
    vouched = ToolLabels(trusted=("balance",)).on(own)
    assert (vouched.trusted, vouched.vouched, vouched.foreign) == (("balance",), True, True)
    misspelt = ToolLabels(sinks=("recipient",)).on(own)
    assert misspelt.sinks is None, "() would say that no argument decides where something goes"
    assert ToolLabels(sinks=()).on(own).sinks == ()
    assert ToolLabels().on(own) is own
    assert ToolLabels(effects=READ).on(own).digest != own.digest, "it stands in the digest"


async def test_fields_that_the_operator_trusts_are_believed_of_a_foreign_tool() -> None:
    crm = Crm(definition("get", foreign=True, trusted=["own"]))
    assert (await Catalog.of([crm])).trusted("get") == ()
    assert (await Catalog.of([labelled({"get": ToolLabels(trusted=("balance",))}, crm)])).trusted("get") == ("balance",)


def test_what_can_not_be_meant_in_labels_is_told() -> None:
    tools = [definition("crm_get", foreign=True), definition("crm_send", foreign=True), definition("mine")]
    tools.append(definition("objects", result={"type": "object"}))
    read = ToolLabels(effects=READ)
    for labels, told in (
        ({}, [("crm_get", "nobody says"), ("crm_send", "nobody says")]),
        ({"crm_*": read}, []),
        ({"crm_*": read, "cmr_*": read}, [("cmr_*", "fits no tool")]),
        ({"crm_*": read, "crm_get": read, "crm_send": read}, [("crm_*", "has no effect")]),
        ({"*": read, "crm_*": ToolLabels(sinks=("recipient",))}, [("crm_*", "names the sink recipient")]),
        (
            {"crm_?et": read, "crm_g?t": ToolLabels(effects=frozenset())},
            [("crm_?et", "more specific"), ("crm_send", "nob")],
        ),
        ({"crm_*": read, "objects": ToolLabels(trusted=("",))}, [("objects", "about a text alone")]),
        ({"crm_*": read, "objects": ToolLabels(trusted=("*.id",))}, []),
    ):
        found = label_problems(tools, labels)
        assert [name for name, _ in found] == [name for name, _ in told], labels
        assert all(word in problem for (_, problem), (_, word) in zip(found, told, strict=True)), found


async def test_started_records_the_labelled_definitions() -> None:
    journal = MemoryJournal()
    digests = []
    for labels in ({}, {"get": ToolLabels(idempotent=True)}):
        agent = Agent(ScriptedModel(["Hi."]), [labelled(labels, Crm(definition("get")))], journal=journal)
        run = await agent.run("Hi")
        started = (await journal.read(run.run_id))[0].record
        assert isinstance(started, Started)
        digests.append(started.tools)
    assert digests[0] != digests[1]


class Loud(Wrapper):
    """Overrides what is done with a call, and nothing else."""

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        result = await super().execute(call, context)
        return ToolResult(result.call_id, (TextPart(result.text.upper()),))


class Vouched(Wrapper):
    """Overrides the list, and nothing else."""

    async def list_tools(self) -> Sequence[Tool]:
        tools = await super().list_tools()
        return [msgspec.structs.replace(each, effects=frozenset({"read"})) for each in tools if each.name != "drop"]


async def test_a_wrapper_of_ones_own_overrides_one_method_and_leaves_all_else_to_the_toolset_inside() -> None:
    crm = Crm(definition("get", foreign=True), definition("drop", foreign=True))
    async with Vouched(Loud(crm)) as toolset:
        agent = Agent(ScriptedModel([call("get"), call("drop"), "Done."]), [toolset])
        result = await agent.run("go")
    assert [each.text for _, each in result.calls[:1]] == ["GET WAS CALLED"]
    assert result.calls[1][1].error is not None  # it is not in the list
    assert [each.name for each in crm.called] == ["get"]
    assert crm.life == ["opened", "closed"]
    crm.generation = 7
    assert toolset.generation == 7
    assert await names(renamed({"fetch": "get"}, toolset)) == ["fetch"]
