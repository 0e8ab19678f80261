"""The embedded model behind the seam that every model has."""

from __future__ import annotations

from datetime import date

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.call import MediaPart, TextPart, ToolCall
from actum.core.event import CallDelta, CallSaid, Delta, TextDelta
from actum.core.json import JsonObject
from actum.core.message import Reply, SystemMessage, Transcript, UserMessage
from actum.core.model import Model, Request
from actum.core.tool import AllowedTools, NamedTool, Tool
from actum_embedded import Embedded
from packages.embedded.tests.harness import (
    TODAY,
    Talk,
    calls_of,
    model,
    named,
    tools,
)
from tests.effort import effort
from tests.endurance import share

pytestmark = pytest.mark.row("L5")


def test_it_is_a_model_by_the_name_of_embedded() -> None:
    assert isinstance(Embedded(), Model)
    assert Embedded().name == "embedded"


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("hello", "Hello! Ask me something that one of the tools here can find out."),
        ("Thank you!", "You're welcome."),
        ("你好！", "您好！请问一个这里的工具能查到的问题。"),
        ("谢谢", "不客气。"),
    ],
)
async def test_courtesies_get_a_short_answer_in_their_language(said: str, answer: str) -> None:
    reply = await Talk(tools("desk")).say(said)
    assert (calls_of(reply), reply.text) == ([], answer)


@pytest.mark.parametrize("said", ["Who are you?", "Are you a language model?"])
async def test_it_says_that_it_is_no_language_model(said: str) -> None:
    assert "not a language model" in (await Talk(tools("desk")).say(said)).text


@pytest.mark.parametrize(
    ("said", "words"),
    [("Sing me a lullaby", ["not a language model", "calculate"]), ("给我唱首摇篮曲", ["不是语言模型", "calculate"])],
)
async def test_a_question_that_no_tool_fits_is_answered_honestly(said: str, words: list[str]) -> None:
    reply = await Talk(tools("everyday")).say(said)
    assert calls_of(reply) == []
    assert all(word in reply.text for word in words)


async def test_without_tools_it_says_so() -> None:
    assert "without tools" in (await Talk(()).say("What is the weather in Paris?")).text


@pytest.mark.parametrize(
    "messages", [(), (SystemMessage("Be kind."),), (UserMessage.of(""),), (UserMessage.of("？！"),)]
)
async def test_silence_is_answered(messages: tuple[SystemMessage | UserMessage, ...]) -> None:
    reply = await model().reply(Request(messages=messages, tools=tools("desk")))
    assert reply.text
    assert not reply.calls


async def test_told_to_call_nothing_it_calls_nothing() -> None:
    talk = Talk(tools("desk"))
    refused = await talk.say("What's the weather in Paris?", choice="none")
    assert calls_of(refused) == []
    assert "without calling a tool" in refused.text


async def test_told_to_call_nothing_it_still_tells_what_it_has() -> None:
    talk = Talk(tools("desk"))
    await talk.say("What's the weather in Paris?")
    last = talk.messages[-1]
    assert isinstance(last, Reply)
    talk.messages.append(UserMessage.of("thanks"))
    assert calls_of(await talk.go_on(choice="none")) == []


async def test_told_to_call_one_tool_it_calls_that_one() -> None:
    reply = await Talk(tools("desk")).say("What's the weather in Paris?", choice=NamedTool("news"))
    assert calls_of(reply) == [("news", {"city": "Paris"})]


async def test_told_to_call_it_calls_even_for_a_greeting_and_only_once() -> None:
    talk = Talk(tools("desk"))
    reply = await talk.say("hello", choice="required")
    assert len(reply.calls) == 1
    talk.messages.append(UserMessage.of("What time is it?"))
    assert calls_of(await talk.go_on(choice="required")) == [("get_current_time", {})]


async def test_told_to_call_it_makes_up_no_value() -> None:
    reply = await Talk(tools("desk")).say("What's the weather?", choice=NamedTool("weather"))
    assert calls_of(reply) == [("weather", {})]


async def test_only_allowed_tools_are_called() -> None:
    both = "weather and news for Paris"
    assert calls_of(await Talk(tools("desk")).say(both, choice=AllowedTools(("news",)))) == [
        ("news", {"city": "Paris"})
    ]
    assert calls_of(await Talk(tools("desk")).say(both, choice=AllowedTools(()))) == []


@pytest.mark.parametrize("said", ["What's the weather in Beijing, and the news?", "Who are you?"])
async def test_what_it_says_comes_in_pieces_that_make_up_the_whole(said: str) -> None:
    heard: list[Delta] = []
    request = Request(messages=Transcript([UserMessage.of(said)]), tools=tools("desk"))
    reply = await model().reply(request, heard.append)
    assert "".join(delta.text for delta in heard if isinstance(delta, TextDelta)) == reply.text
    assert [delta.call for delta in heard if isinstance(delta, CallSaid)] == list(reply.calls)
    for index, call in enumerate(reply.calls):
        pieces = [delta for delta in heard if isinstance(delta, CallDelta) and delta.index == index]
        assert pieces[0].name == call.name
        assert "".join(piece.arguments for piece in pieces) == call.arguments_text()
    assert len(heard) > 3


async def test_an_attachment_goes_where_a_handle_is_asked_for() -> None:
    describe = Tool(
        name="describe_picture",
        description="Describe a picture.",
        parameters={
            "type": "object",
            "properties": {
                "picture": {"type": "string", "description": "Pass the handle of an attachment, such as att_1."}
            },
            "required": ["picture"],
        },
    )
    said = UserMessage((TextPart("Describe this picture"), MediaPart("image/png", data=b"x", handle="att_3")))
    reply = await model().reply(Request(messages=[said], tools=(describe,)))
    assert calls_of(reply) == [("describe_picture", {"picture": "att_3"})]


HANDLE: JsonObject = {"type": "string", "description": "Pass the handle of an attachment, such as att_1."}
LISTED: JsonObject = {"type": "array", "items": {"type": "string"}, "description": "Names."}


@pytest.mark.parametrize("media_type", ["text/plain", "application/pdf", "image/png"])
@pytest.mark.parametrize("group", ["everyday", "desk", "errands", "zh", "office", "mixed"])
async def test_an_attachment_ends_no_answer_and_goes_nowhere_else(group: str, media_type: str) -> None:
    picture: JsonObject = {"type": "object", "properties": {"file": HANDLE, "names": LISTED}, "required": ["file"]}
    offered = (*tools(group), Tool(name="describe", description="Describe an attached file.", parameters=picture))
    for said in (
        "",
        "Summarize this",
        "总结一下",
        '"',
        "?",
        "What is the weather?",
        "查天气",
        "send it to Ada",
        "a" * 3000,
    ):
        parts = (TextPart(said), MediaPart(media_type, data=b"x", handle="att_1"))
        for content in (parts, parts[1:], (*parts, MediaPart("text/csv", handle="att_2"))):
            reply = await model().reply(Request(messages=[UserMessage(content)], tools=offered))
            elsewhere = [call for call in reply.calls if call.name != "describe" and "att_" in call.arguments_text()]
            assert reply.content
            assert elsewhere == [], said


async def test_a_nested_argument_is_built() -> None:
    book = Tool(
        name="book_trip",
        description="Book a trip.",
        parameters={
            "type": "object",
            "properties": {"trip": {"$ref": "#/$defs/Trip"}},
            "required": ["trip"],
            "$defs": {
                "Trip": {
                    "type": "object",
                    "properties": {
                        "origin": {"type": "string"},
                        "destination": {"type": "string"},
                        "day": {"anyOf": [{"type": "null"}, {"type": "string", "format": "date"}]},
                    },
                    "required": ["origin", "destination"],
                }
            },
        },
    )
    reply = await Talk((book,)).say("Book a trip from Oslo to Rome tomorrow")
    assert calls_of(reply) == [("book_trip", {"trip": {"origin": "Oslo", "destination": "Rome", "day": "2026-11-21"}})]


_PIECES = (
    'weather news 天气 in Beijing 北京 和 and , ， ? ？ 17 * ( ) : ： " “ ” tomorrow 下周一 一 百 点',
    "km miles to from 从 到 search note 搜索 the 的 什么 是 @ # $ https:// .py select",
    "from 3pm 2024-13-45 ' \x00 \n its 它 re convert 换算 and 呢 那 What",
)
_SAID = st.text(max_size=80) | st.lists(st.sampled_from(" ".join(_PIECES).split(" ")), max_size=25).map(" ".join)
_SCHEMAS = {tool.name: jsonschema_rs.validator_for(tool.parameters) for tool in tools("all")}


@given(_SAID)
async def test_whatever_is_said_it_answers_and_its_calls_fit_the_schema(said: str) -> None:
    reply = await Embedded(today=lambda: TODAY).reply(Request(messages=[UserMessage.of(said)], tools=tools("all")))
    assert reply.calls or reply.text
    for call in reply.calls:
        assert _SCHEMAS[call.name].is_valid(call.arguments), call


@given(_SAID, _SAID)
async def test_two_turns_of_anything_are_answered(first: str, second: str) -> None:
    talk = Talk(named("desk", "weather", "search", "news"))
    reply = await talk.say(first)
    for call in reply.calls:
        assert isinstance(call, ToolCall)
    assert (await talk.say(second)).content


@pytest.mark.no_cover
@pytest.mark.endurance("packages/embedded/src/actum_embedded")
@pytest.mark.parametrize(
    ("said", "longest"),
    [
        ("weather in Paris and ", share(10_000, 2_000)),  # these two are the most work for each letter
        ("北京和", share(10_000, 300)),  # from there to 2,000 letters the work grows with the square
        *((said, share(40_000, 4_000)) for said in ("1+", "(", "a.", "a/", "1,000,", "一百", '"', "@", "Ada ", " ")),
    ],
)
async def test_a_message_four_times_as_long_is_at_most_about_four_times_the_work(said: str, longest: int) -> None:
    calls = []
    for length in (longest // 4, longest):
        with effort() as spent:
            assert (await Talk(tools("all")).say(said * (length // len(said)) + "?")).content
        calls.append(spent.calls)
    assert calls[1] < 6 * calls[0]


@pytest.mark.parametrize("day", [date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 29)])
async def test_the_ends_of_the_calendar_do_no_harm(day: date) -> None:
    for said in (
        "weather in Paris tomorrow",
        "weather in Paris yesterday",
        "巴黎下下周一的天气",
        "days until Christmas",
    ):
        request = Request(messages=[UserMessage.of(said)], tools=tools("all"))
        assert (await Embedded(today=lambda: day).reply(request)).content
