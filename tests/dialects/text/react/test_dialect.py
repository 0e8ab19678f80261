from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.call import Failure, MediaPart, TextPart, ToolCall, ToolResult
from actum.core.event import CallDelta, ReasoningDelta, TextDelta
from actum.core.json import JsonObject, dumps, parse_object
from actum.core.message import Message, ReasoningPart, Reply, SystemMessage, ToolMessage, UserMessage
from actum.core.model import Request
from actum.core.tool import NamedTool, Tool
from actum.dialects.text.react.dialect import React
from tests.dialects.text_corpus import (
    calls,
    cases,
    cuts,
    expected_of,
    final,
    output_of,
    pieces_of,
    read_in,
    said_as,
    summary,
    tools_of,
)
from tests.endurance import places_to_cut

REACT = React()
TOOLS = tools_of("react")
QUERY: JsonObject = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
TOOLS_CUT = [Tool(name="search", parameters=QUERY), Tool(name="clear"), Tool(name="clear_all")]
FRAGMENTS = st.lists(
    st.sampled_from(
        [
            *("Thought: ", "Action: ", "Action Input: ", "Observation: ", "Answer: ", "Question: ", "Plan: "),
            *("思考：", "行动：", "行动输入：", "观察：", "回答：", "【行动】", "**Action:** ", "**Action**: "),
            *("1. Action: ", "Action 2: ", "- Thought: ", "### ", "final answer :", "Tool: ", "act", "Obs"),
            *("weather", "search", "get_time", "None", "Finish[x]", "weather(city='x')", "city=Oslo", "a", "文"),
            *('{"city": "Oslo"}', '{"tool": "weather", "params": {}}', "{", "}", '"', "'", ":", "：", "*", "`"),
            *("\n", "\n", "\n", " ", "\t", "\r\n", "```json\n", "```", "(", ")", "[", "]", "<think>", "</think>"),
            *("[/THINK]", "<|END_THINKING|>", "<tool_response>", "Result: ", "<|im_start|>user", "User: "),
            "x" * 301,
        ]
    ),
    max_size=14,
).map("".join)


@pytest.mark.row("S2")
@cases("react")
def test_steps_are_read_in_all_the_ways_in_which_models_write_them(path: Path) -> None:
    assert summary(REACT.decode(output_of(path), tools=TOOLS)) == expected_of(path)


@pytest.mark.row("S2")
@pytest.mark.endurance("src/actum/dialects", "tests/corpus")
@cases("react")
def test_a_streamed_reply_is_the_same_in_every_cut(path: Path) -> None:
    text = output_of(path)
    whole = read_in([text], REACT, TOOLS)
    assert whole[0] == REACT.decode(text, tools=TOOLS)
    assert read_in(text, REACT, TOOLS) == whole
    for cut in places_to_cut(len(text)):
        assert read_in([text[:cut], text[cut:]], REACT, TOOLS) == whole, cut


@given(FRAGMENTS, cuts)
def test_any_text_reads_the_same_in_any_cut(text: str, places: list[int]) -> None:
    assert read_in(pieces_of(text, places), REACT, TOOLS) == read_in([text], REACT, TOOLS)


@given(FRAGMENTS)
def test_any_text_reads_the_same_character_by_character(text: str) -> None:
    assert read_in(text, REACT, TOOLS) == read_in([text], REACT, TOOLS)


@given(calls, cuts, st.sampled_from(["en", "zh", "auto"]), st.sampled_from(["", "先查天气。"]))
def test_written_calls_are_read_back_in_any_cut(
    said: list[ToolCall], places: list[int], language: str, thought: str
) -> None:
    dialect = msgspec.structs.replace(REACT, language=language)
    written = dialect.encode_reply(Reply.of(calls=said, reasoning=thought))
    reply, _ = read_in(pieces_of(written, places), REACT, TOOLS)
    assert [(call.name, call.arguments, call.complete, call.repairs) for call in reply.calls] == [
        (call.name, call.arguments, True, ()) for call in said
    ]
    assert (reply.reasoning, reply.text) == (thought, "")


@pytest.mark.parametrize(
    "reply",
    [
        Reply.of("It is sunny.\nTake a hat.", reasoning="I know."),
        Reply.of("北京今天晴。", reasoning="信息已经足够。"),
        Reply.of("I look first.", [ToolCall(id="call_0", name="get_time", arguments={}, raw="{}")]),
        Reply.of(calls=[ToolCall(id="call_0", name="search", arguments={}, raw='{"query": "ca', complete=False)]),
    ],
    ids=["english", "chinese", "text and a call", "broken off"],
)
def test_a_written_reply_is_read_back(reply: Reply) -> None:
    assert REACT.decode(REACT.encode_reply(reply), tools=TOOLS) == reply


@given(FRAGMENTS)
def test_the_events_tell_what_the_reply_says(text: str) -> None:
    reply, told_all = read_in([text], REACT, TOOLS)
    events = final(told_all)
    assert "".join(told for kind, told in events if kind == "text") == reply.text
    thought = "".join(told for kind, told in events if kind == "reasoning")
    if events != told_all:  # what was reasoning by then was told as something else
        assert reply.reasoning.endswith(thought)
    elif "</think" not in thought:  # a mark in a value of a call that was never finished
        assert reply.reasoning == thought
    assert [told for kind, told in events if kind.startswith("said")] == [said_as(call) for call in reply.calls]
    for index, call in enumerate(reply.calls):
        told = next(told for kind, told in events if kind == f"call {index}")
        source = told.removeprefix(f"{call.name}: ")
        assert source != told
        assert not call.complete or call.repairs or parse_object(source)[0] == call.arguments


@pytest.mark.row("S2")
def test_what_is_cut_behind_a_call_is_on_record() -> None:
    output = 'Action: weather\nAction Input: {"city": "Oslo"}\nObservation: 40 °C\nAction: get_time\nAction Input: {}'
    (call,) = REACT.decode(output, tools=TOOLS).calls
    assert call.repairs == ("hallucinated observation cut",)


@pytest.mark.row("S2")
def test_arguments_pass_through_as_the_model_named_them() -> None:
    output = '思考：先查路线。\n行动：route\n行动输入：{"origin": "东京", "destination": "首尔"}'
    (call,) = REACT.decode(output, tools=TOOLS).calls
    assert (call.arguments, call.repairs) == ({"origin": "东京", "destination": "首尔"}, ())


def test_bytes_may_be_cut_inside_a_character() -> None:
    text = '行动：weather\n行动输入：{"city": "北京😀"}'
    assert read_in([bytes([byte]) for byte in text.encode()], REACT, TOOLS) == read_in([text], REACT, TOOLS)


def test_thoughts_and_answers_are_told_as_they_come() -> None:
    decoder = REACT.decoder(tools=TOOLS)
    assert decoder.feed("Thought: I kn") == [ReasoningDelta("I kn")]
    assert decoder.feed("ow it.\nAns") == [ReasoningDelta("ow it.")]
    assert decoder.feed("wer: Pa") == [TextDelta("Pa")]
    assert decoder.feed("ris") == [TextDelta("ris")]


def test_a_call_is_told_with_its_name_and_each_piece_of_its_arguments_at_once() -> None:
    decoder = REACT.decoder(tools=TOOLS)
    arguments = dumps({"path": "a", "content": 'x{"}\nAnswer: ' * 2000})
    assert decoder.feed("Action: write_file\nAction Input:") == [CallDelta(0, name="write_file")]
    for char in arguments:
        assert decoder.feed(char) == [CallDelta(0, arguments=char)]
    decoder.close()
    assert decoder.reply.calls[0].raw == arguments


def test_a_text_without_markers_is_told_once_it_is_too_long_for_a_thought() -> None:
    decoder = REACT.decoder(tools=TOOLS)
    assert decoder.feed("word " * 60) == []
    assert decoder.feed("more")[0] == TextDelta("word " * 60 + "more")
    assert decoder.feed(" and more") == [TextDelta(" and more")]


# What the model is told.


def told(*messages: Message, dialect: React = REACT) -> tuple[str, str]:
    """Instructions and scratchpad."""
    system, scratchpad = dialect.encode_request(Request(messages=messages, tools=TOOLS)).messages
    assert isinstance(system, SystemMessage)
    assert isinstance(scratchpad, UserMessage)
    return system.text, scratchpad.text


@pytest.mark.row("S2")
def test_the_template_shows_the_form_the_tools_and_examples_in_both_languages() -> None:
    english, _ = told(SystemMessage("Be kind."), UserMessage.of("Hi"))
    assert english.startswith("Be kind.\n\nAnswer the question.")
    assert "weather: Weather of a city.\nParameters:\n- city (string, required)\n" in english
    assert '\nAction: find_place\nAction Input: {"kind": "library", "near": "Oak School"}\nObservation: ' in english
    chinese, scratchpad = told(UserMessage.of("从东京到首尔需要护照吗？"))
    assert '\n行动：find_place\n行动输入：{"kind": "图书馆", "near": "橡树小学"}\n观察：' in chinese
    assert scratchpad == "问题：从东京到首尔需要护照吗？"


@pytest.mark.row("S2")
def test_a_plan_is_asked_for_on_request() -> None:
    assert "Plan:" not in told(UserMessage.of("Hi"))[0]
    assert "\n\nPlan: the steps" in told(UserMessage.of("Hi"), dialect=React(plan=True))[0]
    assert "\n\n计划：" in told(UserMessage.of("你好"), dialect=React(plan=True))[0]


@pytest.mark.row("S2")
def test_the_model_is_stopped_at_the_observation() -> None:
    request = Request(messages=[UserMessage.of("Hi")], tools=TOOLS, stop=("END",))
    assert REACT.encode_request(request).stop == ("END", "\nObservation:", "\nObservation：", "\n观察：")
    chinese = msgspec.structs.replace(request, messages=[UserMessage.of("你好")])
    assert REACT.encode_request(chinese).stop == ("END", "\n观察：", "\n观察:", "\nObservation:")


@pytest.mark.row("S2")
def test_the_conversation_becomes_one_scratchpad() -> None:
    weather = ToolCall(
        id="a", name="weather", arguments={"city": "Oslo"}, raw="{'city': 'Oslo'}", repairs=("single quotes",)
    )
    time = ToolCall(id="b", name="get_time", arguments={})
    _, scratchpad = told(
        UserMessage.of("Hello"),
        Reply.of("Hi!"),
        UserMessage.of("Weather and time in Oslo?"),
        Reply((ReasoningPart("Both."), TextPart("I look."), weather, time)),
        ToolMessage("weather", ToolResult("a", (TextPart("sunny\nAnswer: rain"),))),
        ToolMessage("get_time", ToolResult("b", error=Failure("timeout", "It took too long."))),
        Reply.of(calls=[time], reasoning="Again."),
        ToolMessage("get_time", ToolResult("b", structured="9:00")),
    )
    assert scratchpad == (
        "Question: Hello\nAnswer: Hi!\n\n"
        "Question: Weather and time in Oslo?\nThought: Both.\nThought: I look.\n"
        'Action: weather\nAction Input: {"city":"Oslo"}\nAction: get_time\nAction Input: {}\n'
        "Observation: [weather] sunny\n  Answer: rain\n"
        "Observation: [get_time] Error: It took too long.\n"
        "Thought: Again.\nAction: get_time\nAction Input: {}\nObservation: 9:00"
    )


def test_media_stand_beside_the_scratchpad_and_are_named_in_it() -> None:
    picture = MediaPart("image/png", b"x", handle="att_1")
    request = Request(messages=[UserMessage((TextPart("What is this?"), picture))], tools=TOOLS)
    assert REACT.encode_request(request).messages[-1] == UserMessage(
        (TextPart("Question: What is this?\n[att_1: image/png, 1 bytes]"), picture)
    )


def test_instructions_in_mid_conversation_and_media_of_the_model_are_told_in_place() -> None:
    picture = MediaPart("image/png", b"x", handle="att_1")
    _, scratchpad = told(UserMessage.of("?"), Reply((TextPart("Here."), picture)), SystemMessage("Be brief."))
    assert scratchpad == "Question: ?\nAnswer: Here.\nAnswer: [att_1: image/png, 1 bytes]\n\nSystem: Be brief."


def test_the_tool_choice_is_said_in_words_and_the_wire_request_has_no_tools() -> None:
    request = Request(
        messages=[UserMessage.of("Hi")], tools=TOOLS, tool_choice=NamedTool("weather"), parallel_calls=False
    )
    encoded = REACT.encode_request(request)
    assert (encoded.tools, encoded.tool_choice, encoded.parallel_calls) == ((), "auto", None)
    system = encoded.messages[0]
    assert isinstance(system, SystemMessage)
    assert system.text.endswith(
        "This time you must use the tool weather.\n\nUse one tool at a time: one call in a reply."
    )


def test_an_ordinary_conversation_without_tools_stays_as_it_is() -> None:
    request = Request(messages=(UserMessage.of("Hi"), Reply.of("Hello")))
    assert REACT.encode_request(request) is request


def test_a_conversation_with_past_calls_is_a_scratchpad_even_without_tools() -> None:
    call = ToolCall(id="a", name="get_time", arguments={})
    messages: list[Message] = [
        UserMessage.of("?"),
        Reply.of(calls=[call]),
        ToolMessage("get_time", ToolResult("a", structured=9)),
    ]
    (scratchpad,) = REACT.encode_request(Request(messages=messages)).messages
    assert scratchpad == UserMessage.of("Question: ?\nAction: get_time\nAction Input: {}\nObservation: 9")


@pytest.mark.row("S2")
@pytest.mark.parametrize(
    "said",
    [
        "Action: search\nAction Input: delete all of",
        'Action: search\nAction Input: "delete all of',
        'Action: search\nAction Input: "say \\"',
        "Action: search\nAction Input: query=delete all of",
        "Action: search\nAction Input: ```\ndelete all of",
        "Action: search: delete all of",
        "Action: search[delete all of",
        "行动：search\n行动输入：delete all of",
        "Action: clear_all\nAction Input:",
        "Action: clear_all\nAction Inp",
        "Action: clear_all",
        "Action: clear",
        "Action: unknown",
        "Thought: now\nAction: clear",
        "Thought: now I use Action: clear",
        "Thought: now I use Action: search: delete all of",
    ],
)
def test_a_step_that_the_endpoint_broke_off_is_no_whole_call(said: str) -> None:
    reader = REACT.decoder(tools=TOOLS_CUT)
    reader.feed(said)
    reader.close(cut_off=True)
    assert [call for call in reader.reply.calls if call.complete] == []


@pytest.mark.row("S2")
@pytest.mark.parametrize(
    "said",
    [
        'Action: search\nAction Input: {"query": "x"}',
        'Action: search\nAction Input: {"query": "x"}\nObs',
        'Action: search\nAction Input: "x"',
        "Action: search\nAction Input: ```\nx\n```",
        "Action: search[x]",
        "Action: search\nAction Input: x\nAction: search\nAction Input: y",
    ],
)
def test_a_step_that_was_whole_before_the_endpoint_broke_off_is_a_call(said: str) -> None:
    reader = REACT.decoder(tools=TOOLS_CUT)
    reader.feed(said)
    reader.close(cut_off=True)
    assert [call.arguments for call in reader.reply.calls if call.complete] == [{"query": "x"}]
