"""Names that a provider refuses go out under a stand-in and come back."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.call import ToolCall, ToolResult
from actum.core.event import CallDelta, CallSaid
from actum.core.message import Message, Reply, ToolMessage, Transcript, UserMessage
from actum.core.model import Request
from actum.core.tool import NAME, AllowedTools, NamedTool, Tool, ToolChoice
from actum.dialects.api.openai_chat.dialect import OpenAiChat
from actum.dialects.tool_names import MOONSHOT_NAME, OPENAI_NAME, ToolNames, names_of, stand_in

PATTERNS = [
    OPENAI_NAME,
    MOONSHOT_NAME,
    "[a-zA-Z0-9_-]{1,128}",  # Anthropic
    "[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}",  # Gemini
]
WEATHER = Tool(name="查天气", description="某城市的天气。")
USERS = Tool(name="crm.find_user")
NEWS = Tool(name="get_news")
names_of_tools = st.from_regex(NAME, fullmatch=True)


@pytest.mark.no_cover
@pytest.mark.row("S3")
@given(st.sampled_from(PATTERNS), st.sets(names_of_tools, max_size=6))
def test_any_set_of_names_goes_out_fitting_and_comes_back(pattern: str, said: set[str]) -> None:
    names = ToolNames(pattern, [Tool(name=name) for name in said])
    wires = {name: names.wire(name) for name in said}
    assert len(set(wires.values())) == len(said)
    for name, wire in wires.items():
        assert re.fullmatch(pattern, wire)
        assert names.back(wire) == name
        assert wire == name or not re.fullmatch(pattern, name)


@given(st.lists(names_of_tools, min_size=1, max_size=4, unique=True))
def test_names_depend_on_nothing_but_the_set(said: list[str]) -> None:
    tools = [Tool(name=name) for name in said]
    there, back = ToolNames(OPENAI_NAME, tools), ToolNames(OPENAI_NAME, tools[::-1])
    assert [there.wire(name) for name in said] == [back.wire(name) for name in said]
    assert [ToolNames(OPENAI_NAME).wire(name) for name in said] == [there.wire(name) for name in said]


def test_a_stand_in_tells_what_can_be_read_of_the_name() -> None:
    assert re.fullmatch("crm_find_user_[0-9a-f]{8}", stand_in("crm.find_user"))
    assert re.fullmatch("tool_[0-9a-f]{8}", stand_in("查天气"))
    assert re.fullmatch("tool_2_plus_[0-9a-f]{8}", stand_in("2.plus"))
    assert re.fullmatch("x{55}_[0-9a-f]{8}", stand_in("x" * 128))


def test_a_stand_in_that_another_tool_is_called_by_is_not_taken() -> None:
    tools = [WEATHER, Tool(name=stand_in("查天气")), Tool(name=stand_in("查天气", 1))]
    names = ToolNames(OPENAI_NAME, tools)
    wires = [names.wire(tool.name) for tool in tools]
    assert wires == [stand_in("查天气", 2), tools[1].name, tools[2].name]
    assert [names.back(wire) for wire in wires] == [tool.name for tool in tools]


def test_without_a_pattern_every_name_stays() -> None:
    names = names_of((WEATHER, USERS), "")
    assert [names.wire(name) for name in ("查天气", "crm.find_user")] == ["查天气", "crm.find_user"]
    assert names.back(stand_in("查天气")) == stand_in("查天气")


# In the Chat Completions API, in both its forms.

TOOLS = (WEATHER, USERS, NEWS)
WIRES = [stand_in("查天气"), stand_in("crm.find_user"), "get_news"]
CHAT = OpenAiChat(name_pattern=OPENAI_NAME)
FUNCTIONS = OpenAiChat(name="openai_functions", functions=True, name_pattern=OPENAI_NAME)
SAID: list[Message] = [
    UserMessage.of("?"),
    Reply((ToolCall("a", "查天气", {}), ToolCall("b", "no.such", {}))),
    ToolMessage("查天气", ToolResult("a", structured=1)),
    ToolMessage("no.such", ToolResult("b", structured=2)),
]


def written(dialect: OpenAiChat, choice: ToolChoice = "auto", messages: list[Message] | Transcript = SAID) -> str:
    return dialect.encode_request(Request(messages=messages, tools=TOOLS, tool_choice=choice)).decode()


@pytest.mark.row("S3")
@pytest.mark.row("S4")
@pytest.mark.parametrize("dialect", [CHAT, FUNCTIONS])
@pytest.mark.parametrize("choice", ["auto", NamedTool("查天气"), AllowedTools(("查天气", "crm.find_user"), "required")])
def test_a_request_says_no_name_that_is_refused(dialect: OpenAiChat, choice: ToolChoice) -> None:
    body = msgspec.json.decode(written(dialect, choice))

    def names_in(value: object) -> list[str]:
        if isinstance(value, list):
            return [name for item in value for name in names_in(item)]
        if not isinstance(value, dict):
            return []
        own = [value["name"]] if isinstance(value.get("name"), str) else []
        return own + [name for item in value.values() for name in names_in(item)]

    said = names_in(body)
    assert set(said) <= {*WIRES, stand_in("no.such")}
    assert {WIRES[0], stand_in("no.such")} <= set(said)


def test_the_model_can_read_the_name_that_it_does_not_call() -> None:
    assert '"description":"查天气: 某城市的天气。"' in written(CHAT)


def test_a_transcript_keeps_a_stand_in_while_tools_come_and_go() -> None:
    transcript = Transcript(SAID[:2])
    alone = CHAT.encode_request(Request(messages=transcript))
    transcript.extend(SAID[2:])
    assert WIRES[0].encode() in alone
    assert written(CHAT, messages=transcript) == written(CHAT)


@pytest.mark.row("S3")
@pytest.mark.parametrize("streamed", [False, True])
def test_a_call_comes_back_under_its_own_name(streamed: bool) -> None:
    reply = Reply(tuple([ToolCall(f"call_{n}", wire, {}, raw="{}") for n, wire in enumerate(WIRES)]))
    wire = CHAT.encoder().close(reply) if streamed else CHAT.encode_reply(reply)
    assert [call.name for call in CHAT.decode(wire, tools=TOOLS).calls] == [tool.name for tool in TOOLS]
    decoder = CHAT.decoder(tools=TOOLS)
    deltas = [*decoder.feed(wire), *decoder.close()]
    assert [delta.name for delta in deltas if isinstance(delta, CallDelta) and delta.name] == [t.name for t in TOOLS]
    assert [delta.call for delta in deltas if isinstance(delta, CallSaid)] == list(decoder.reply.calls)


@pytest.mark.parametrize(
    ("pieces", "told"),
    [
        ([WIRES[0]], ["查天气"]),
        ([WIRES[0][:7], WIRES[0][7:]], ["查天气"]),
        (["tool_", "box"], ["tool_box"]),
        (["tool_"], ["tool_"]),
        (["get_", "news"], ["get_", "news"]),
    ],
)
def test_a_name_in_pieces_is_told_once_it_is_certain(pieces: list[str], told: list[str]) -> None:
    decoder = CHAT.decoder(tools=TOOLS)
    event = 'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"%s"}}]}}]}\n\n'
    last = (
        'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}\n\ndata: [DONE]\n\n'
    )
    deltas = [delta for piece in pieces for delta in decoder.feed(event % piece)]
    deltas += [*decoder.feed(last), *decoder.close()]
    assert [delta.name for delta in deltas if isinstance(delta, CallDelta) and delta.name] == told
    assert [call.name for call in decoder.reply.calls] == ["".join(told)]


def test_a_name_without_arguments_is_told_before_the_call_is() -> None:
    decoder = CHAT.decoder(tools=TOOLS)
    decoder.feed(
        'data: {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"tool"}}]},"finish_reason":"x"}]}\n\n'
    )
    assert decoder.close() == [CallDelta(0, "tool"), CallSaid(0, ToolCall("a", "tool", {}))]
