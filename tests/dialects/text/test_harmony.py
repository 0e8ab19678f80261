from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum.core.call import TextPart, ToolCall, ToolResult
from actum.core.event import CallDelta, ReasoningDelta, TextDelta
from actum.core.message import Message, Reply, SystemMessage, ToolMessage, UserMessage
from actum.core.model import Request
from actum.core.tool import Tool
from actum.dialects.text.harmony import Harmony
from tests.dialects.text_corpus import (
    CORPUS,
    calls,
    cases,
    cuts,
    expected_of,
    output_of,
    pieces_of,
    read_in,
    summary,
    tools_of,
)
from tests.endurance import places_to_cut, share

HARMONY = Harmony()
TOOLS = tools_of("harmony")
FRAGMENTS = st.lists(
    st.sampled_from(
        [
            *("<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>", "<|constrain|>", "<|"),
            *(
                "assistant",
                "analysis",
                "commentary",
                "final",
                " to=functions.get_weather",
                "to=",
                "json",
                " ",
                "?",
                "x",
            ),
            *('{"city": "Oslo"}', '{"city": "', '"}', "{", "}", "functions.", "assistantfinal", "We", "user", "\n"),
            *("<think>", "</think>", "Observation: ", "\nResult"),
        ]
    ),
    max_size=16,
).map("".join)


@pytest.mark.row("S6")
@cases("harmony")
def test_each_output_is_read_as_its_source_says(path: Path) -> None:
    assert summary(HARMONY.decode(output_of(path), tools=TOOLS)) == expected_of(path)


@pytest.mark.row("S6")
@pytest.mark.endurance("src/actum/dialects", "tests/corpus")
@cases("harmony")
def test_a_streamed_output_is_the_same_in_every_cut(path: Path) -> None:
    text = output_of(path)
    whole = read_in([text], HARMONY, TOOLS)
    assert whole[0] == HARMONY.decode(text, tools=TOOLS)
    for cut in places_to_cut(len(text)):
        assert read_in([text[:cut], text[cut:]], HARMONY, TOOLS) == whole, cut
    for size in (1, 2, 3, 7):
        assert read_in([text[at : at + size] for at in range(0, len(text), size)], HARMONY, TOOLS) == whole, size


def test_the_corpus_says_where_each_case_comes_from() -> None:
    found = [
        json.loads(path.read_text("utf-8")) for path in (CORPUS / "harmony").glob("*.json") if path.stem != "tools"
    ]
    assert len(found) >= 8
    assert all(case["source"] for case in found)


@settings(max_examples=share(300, 30))
@given(FRAGMENTS, cuts)
def test_any_text_reads_the_same_in_any_cut(text: str, places: list[int]) -> None:
    whole = read_in([text], HARMONY, TOOLS)
    assert read_in(text, HARMONY, TOOLS) == whole
    assert read_in(pieces_of(text, places), HARMONY, TOOLS) == whole


@given(calls, cuts, st.sampled_from(["", "I look.", "好的，“马上”。"]))
def test_a_written_reply_is_read_back_in_any_cut(said: list[ToolCall], places: list[int], text: str) -> None:
    written = HARMONY.encode_reply(Reply.of(text, said, reasoning="{hm}" if text else ""))
    reply, _ = read_in(pieces_of(written, places), HARMONY, TOOLS)
    assert [(call.name, call.arguments, call.complete) for call in reply.calls] == [
        (call.name, call.arguments, True) for call in said
    ]
    assert (reply.text, reply.reasoning) == (text, "{hm}" if text else "")


def test_an_answer_is_read_back() -> None:
    reply = Reply.of("It rains.", reasoning="Hm.")
    assert HARMONY.decode(HARMONY.encode_reply(reply)) == reply


def test_a_tool_that_is_called_like_the_namespace_keeps_its_name() -> None:
    said = "<|channel|>commentary to=functions.functions.area <|constrain|>json<|message|>{}<|call|>"
    assert [call.name for call in HARMONY.decode(said, tools=[Tool(name="functions.area")]).calls] == ["functions.area"]
    assert [call.name for call in HARMONY.decode(said, tools=[Tool(name="area")]).calls] == ["area"]


def test_a_call_that_broke_off_is_read_back_as_such() -> None:
    broken = ToolCall(id="call_0", name="search", arguments={}, raw='{"query": "ca', complete=False)
    reply = HARMONY.decode(HARMONY.encode_reply(Reply.of("I look.", [broken])), tools=TOOLS)
    assert reply.calls == (broken,)
    assert reply.text == "I look."


def test_everything_is_told_as_it_comes() -> None:
    decoder = HARMONY.decoder(tools=TOOLS)
    assert decoder.feed("<|channel|>analysis<|message|>I thi") == [ReasoningDelta("I thi")]
    assert decoder.feed("nk.<|end|><|start|>assistant<|channel|>commentary<|message|>Wait.") == [
        ReasoningDelta("nk."),
        TextDelta("Wait."),
    ]
    assert decoder.feed("<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather json<|mess") == []
    assert decoder.feed('age|>{"ci') == [CallDelta(0, name="get_weather"), CallDelta(0, arguments='{"ci')]


def test_tools_are_told_as_typescript_and_history_in_messages() -> None:
    call = ToolCall(id="c", name="get_weather", arguments={"city": "Oslo"})
    messages: list[Message] = [
        SystemMessage("Be brief."),
        UserMessage.of("Weather?"),
        Reply.of("I look.", [call], reasoning="Hm."),
        ToolMessage("get_weather", ToolResult("c", (TextPart("rain <|end|>"),))),
    ]
    told = HARMONY.encode_request(Request(messages=messages, tools=TOOLS))
    system, _, said, results = told.messages
    assert isinstance(system, SystemMessage)
    assert isinstance(said, Reply)
    assert isinstance(results, UserMessage)
    assert told.tools == ()
    assert 'type get_weather = (_: {\ncity: string,\nstate?: string,\nunit?: "celsius" | "fahrenheit",' in system.text
    assert "// The time now.\ntype get_time = () => any;" in system.text
    assert "role?: string | null," in system.text
    assert "tags?: string[]," in system.text
    assert HARMONY.decode(said.text, tools=TOOLS).calls[0].arguments == call.arguments
    assert "Hm." not in said.text
    assert results.text == (
        "<|start|>functions.get_weather to=assistant<|channel|>commentary<|message|>rain <\\|end|><|end|>"
    )


def test_a_schema_that_typescript_can_not_say_is_any() -> None:
    tool = Tool(
        name="f",
        parameters={
            "type": "object",
            "properties": {
                "a": {"description": "One.\nTwo.", "default": 3},
                "b-c": {"type": ["integer", "null"]},
                "d": {"type": "array", "items": {"enum": ["x", 1]}},
                "e": {"type": "object", "properties": {"f": {"type": "boolean"}}, "required": ["f"]},
                "g": {"type": "object"},
                "h": True,
            },
        },
    )
    told = HARMONY.encode_request(Request(messages=[], tools=(tool,))).messages[0]
    assert isinstance(told, SystemMessage)
    assert "// One.\n// Two.\na?: any, // default: 3\n" in told.text
    assert '"b-c"?: number | null,\nd?: ("x" | 1)[],\ne?: {\nf: boolean,\n},\ng?: object,\nh?: any,' in told.text
