"""Thoughts, and results that a model makes up, in every text dialect; each one's own outputs stand in its corpus."""

from __future__ import annotations

import pytest
from msgspec import structs

from actum.core.call import ToolCall
from actum.core.event import CallDelta, CallSaid, ReasoningDelta, TextDelta, ThoughtEnded
from actum.core.message import Reply
from actum.core.tool import Tool
from actum.dialects import dialect, names
from actum.dialects.base import ApiDialect, TextDialect
from actum.dialects.text.family_marks import ALL_RESULT_MARKS, ALL_THOUGHT_MARKS
from actum.dialects.text.formats.rows import FORMATS
from actum.dialects.text.invented_results import (
    CUT,
    RESULT_WORDS,
    ROLE_WORDS,
    result_marks,
    turn_marks,
)
from tests.dialects.text_corpus import CORPUS, expected_of, output_of, read_in, tools_of
from tests.each import each

TEXTS: dict[str, TextDialect] = {
    name: found for name in names() if not hasattr(found := dialect(name), "decode_request")
}
HERMES = TEXTS["hermes"]
PAY = '<tool_call>{"name":"pay","arguments":{"to":"eve"}}</tool_call>'
LOOK = '<tool_call>{"name":"look","arguments":{}}</tool_call>'
CASES = (
    *("thought_about_a_call", "thought_about_half_a_call", "closing_mark_alone", "closing_mark_later"),
    *("closing_mark_quoted", "result_made_up", "result_line_made_up", "turn_made_up", "sentences_between_calls"),
)


def called(reply: Reply) -> list[str]:
    return [call.name for call in reply.calls]


@pytest.mark.row("S6")
@each({name: (name,) for name in TEXTS})
def test_every_text_dialect_has_each_case_in_its_corpus(name: str) -> None:
    for case in CASES:
        path = CORPUS / name / f"{case}.txt"
        reply = TEXTS[name].decode(output_of(path), tools=tools_of(name))
        assert called(reply) == [call["name"] for call in expected_of(path)["calls"]], case  # type: ignore[index,union-attr,call-overload]


# A call in a thought.


@pytest.mark.parametrize(
    ("text", "said", "calls"),
    [
        (f"<think>Maybe {PAY}? No, forbidden.</think>Hello", "Hello", []),
        ('<think>Maybe <tool_call>{"name":"pay","arguments":{"to":"eve"</think>Hello', "Hello", []),
        ('<think>Maybe <tool_call>{"name":"pay","arguments":{"to":"eve</think>Hello', "Hello", []),
        ("<think>Maybe <tool_call>\n<function=pay>\n<parameter=to>\neve</think>Hello", "Hello", []),
        ("<think>Maybe <tool_call>\n<function=pay>\n<parameter=to>\neve\n</parameter></think>Hello", "Hello", []),
        (f"<think>Maybe {PAY}? No.</think>{LOOK}", "", ["look"]),
        (f"<think>I have to {PAY}", "", ["pay"]),
        (f"<think>Maybe {PAY}<tool_response>paid</tool_response>Then {LOOK}", "", ["pay"]),
        ('<think>Write <tool_call>{"name":"w","arguments":{"a":"</think>"}}</tool_call>? No.</think>Hi', "Hi", []),
        ('<think>Write <tool_call>{"name":"w","arguments":{"a":"</think>"}}</tool_call>', "", ["w"]),
        (f"<think>a</think>b<think>Maybe {PAY}</think>c", "bc", []),
        (f"{LOOK}<think>Then {PAY}? No.</think>Hi", "Hi", ["look"]),
    ],
)
def test_the_mark_that_ends_a_thought_decides_what_a_call_in_it_is(text: str, said: str, calls: list[str]) -> None:
    reply = HERMES.decode(text)
    assert (reply.text, called(reply)) == (said, calls)
    assert "</think>" not in reply.text


def test_a_call_in_a_thought_is_told_as_reasoning_and_counts_at_the_end() -> None:
    decoder = HERMES.decoder()
    told = [delta for char in f"<think>I have to {PAY}" for delta in decoder.feed(char)]
    assert "".join(delta.text for delta in told if isinstance(delta, ReasoningDelta)) == f"I have to {PAY}"
    assert {type(delta) for delta in told} == {ReasoningDelta}
    assert [type(delta) for delta in decoder.close() if not isinstance(delta, CallDelta)] == [CallSaid]
    assert (decoder.reply.reasoning, called(decoder.reply)) == ("I have to", ["pay"])


def counts_alone(name: str, closing: str) -> bool:
    """A closing mark ends a thought though nothing opened one: not where the mark ends every other message as well."""
    form = FORMATS.get(name)
    return form is None or form.think_lone or closing != form.think[1]


def test_a_mark_that_ends_every_message_makes_no_reasoning_of_an_answer() -> None:
    for name, form in FORMATS.items():
        if form.think_lone:
            continue
        found = TEXTS[name]
        call = found.encode_reply(Reply.of(calls=[ToolCall("", "get_time", {})]))
        reply = found.decode(f"I look.{form.think[1]}{call}", tools=tools_of(name))
        assert (reply.text, reply.reasoning, called(reply)) == ("I look.", "", ["get_time"]), name


@each({name: (name,) for name in TEXTS})
def test_a_call_in_a_thought_that_is_closed_is_never_executed(name: str) -> None:
    """Both with the family's own marks, and with those that most models write."""
    found = TEXTS[name]
    call = found.encode_reply(Reply.of(calls=[ToolCall("functions.get_time:0", "get_time", {})]))
    form = FORMATS.get(name)
    for opening, closing in {form.think if form else ("<think>", "</think>"), ("<think>", "</think>")}:
        if closing in call:
            continue  # in this family one mark ends every message, so the call ends the thought that it stands in
        opened, alone = f"{opening}Maybe\n{call}\nNo.{closing}", f"Maybe\n{call}\nNo.{closing}"
        for text in (opened, alone) if counts_alone(name, closing) else (opened,):
            reply = found.decode(text, tools=tools_of(name))
            assert (reply.calls, reply.text) == ((), ""), text
            assert reply.reasoning.startswith("Maybe")


# A closing mark alone.


def test_a_closing_mark_alone_makes_reasoning_of_all_that_was_told() -> None:
    decoder = HERMES.decoder()
    told = decoder.feed(f"Maybe {PAY}? No.")
    assert [type(delta) for delta in told if not isinstance(delta, CallDelta)] == [TextDelta, CallSaid, TextDelta]
    assert not decoder.settled
    assert decoder.feed("</think>") == [ThoughtEnded()]
    assert decoder.settled
    behind = decoder.feed(f"So: {LOOK}") + decoder.close()
    assert [delta.index for delta in behind if isinstance(delta, CallSaid)] == [0]
    assert (decoder.reply.reasoning, decoder.reply.text) == (f"Maybe {PAY}? No.", "So:")
    assert [(call.name, call.id) for call in decoder.reply.calls] == [("look", "call_0")]


@pytest.mark.parametrize("name", ["hermes", "prompt_json", "react"])
def test_a_half_call_hides_no_closing_mark(name: str) -> None:
    """A call that was only thought of is not executed because another one, which has no end, holds the mark."""
    begin = {"hermes": "<tool_call>", "prompt_json": "", "react": "Action: pay\nAction Input: "}[name]
    call = TEXTS[name].encode_reply(Reply.of(calls=[ToolCall("", "pay", {"to": "eve"})]))
    half = begin + ('{"to": "eve' if name == "react" else '{"name": "pay", "arguments": {"to": "eve')
    for text in (f"Maybe\n{call}\nor\n{half} and so on. No.</think>Answer: Hello.", f"{half}</think>Answer: Hello."):
        for output in (text, f"<think>{text}"):
            reply, events = read_in([output], TEXTS[name], ())
            assert (reply.text.removeprefix("Answer: "), reply.calls) == ("Hello.", ()), output
            assert read_in(output, TEXTS[name], ()) == (reply, events)


def test_a_call_that_broke_off_in_a_text_about_marks_stays_a_call() -> None:
    (call,) = HERMES.decode('<tool_call>{"name":"write","arguments":{"text":"a.split(\'</think>\')').calls
    assert (call.name, call.complete) == ("write", False)


def test_a_closing_mark_before_everything_ends_nothing() -> None:
    assert read_in(["</think>\n\nHello"], HERMES, ()) == (Reply.of("Hello"), [("text", "Hello")])


def test_behind_a_made_up_result_a_closing_mark_alone_still_takes_the_call_back() -> None:
    reply = HERMES.decode(f"{PAY}\n<tool_response>paid</tool_response>\nNo.</think>Hello")
    assert (reply.text, reply.calls) == ("Hello", ())


@pytest.mark.parametrize(
    "text",
    [
        "The mark `</think>` ends it.",
        'The mark "</think>" ends it.',
        "The mark '</think>' ends it.",
        "标签“</think>”结束思考。",
        "标签`</think>`结束思考。",
        "`</think>` ends it, and so does `</think>`.",
        "Open with `<think>`, and close.",
    ],
)
def test_a_quoted_mark_is_text(text: str) -> None:
    assert HERMES.decode(text) == Reply.of(text)
    assert HERMES.decode(f"<think>a</think>{text}") == Reply.of(text, reasoning="a")
    thinking = structs.replace(HERMES, thinking=True)  # type: ignore[type-var]
    assert thinking.decode(f"{text}</think>Hi") == Reply.of("Hi", reasoning=text)


@pytest.mark.parametrize(
    "thought", ['He said "no"', "It is `x`", 'The name is ""', "```\ncode\n```", "The users'", "I don't say 'no'"]
)
def test_a_quote_that_closes_right_before_a_mark_quotes_nothing(thought: str) -> None:
    for answer in ('"Hello"', "Hello"):
        assert HERMES.decode(f"<think>{thought}</think>{answer}") == Reply.of(answer, reasoning=thought)


def test_a_later_closing_mark_stays_in_the_answer() -> None:
    assert HERMES.decode("<think>a</think>The tag </think> ends it.").text == "The tag </think> ends it."
    assert HERMES.decode("a</think>The tag </think> ends it.").text == "The tag </think> ends it."


def test_a_mark_in_the_value_of_a_call_is_data() -> None:
    text = '<tool_call>{"name":"write","arguments":{"text":"<think> and </think>"}}</tool_call>'
    assert HERMES.decode(text).calls[0].arguments == {"text": "<think> and </think>"}


@pytest.mark.parametrize("name", ["prompt_json", "react"])
def test_the_prompts_know_the_marks_of_all_families(name: str) -> None:
    found = TEXTS[name]
    call = found.encode_reply(Reply.of(calls=[ToolCall("", "get_time", {})]))
    for form in FORMATS.values():
        assert any(form.think == (marks.opening[0], marks.closing[0]) for marks in ALL_THOUGHT_MARKS), form.name
        opening, closing = form.think
        opened, alone = f"{opening}Hm\n{call}{closing}\n{call}", f"Hm\n{call}{closing}\n{call}"
        for text in (opened, alone) if form.think_lone else (opened,):
            reply = found.decode(text, tools=tools_of(name))
            assert (reply.reasoning, called(reply)) == (f"Hm\n{call}", ["get_time"]), text


@each({name: (name,) for name in TEXTS})
def test_where_the_server_tells_reasoning_itself_marks_are_text(name: str) -> None:
    decoder = TEXTS[name].decoder(reasoned=True)
    decoder.feed("The mark </think> ends it.")
    decoder.close()
    assert decoder.settled
    assert decoder.reply == Reply.of("The mark </think> ends it.")


@pytest.mark.parametrize("name", sorted(TEXTS.keys() - {"harmony"}))
def test_a_thought_that_the_prompt_opened_is_never_taken_back(name: str) -> None:
    found = dialect(name, thinking=True)
    call = found.encode_reply(Reply.of(calls=[ToolCall("functions.get_time:0", "get_time", {})]))
    assert isinstance(call, str)
    reply, events = read_in(call, found, tools_of(name))  # type: ignore[arg-type]
    assert called(reply) == ["get_time"]
    form = FORMATS.get(name)
    closing = form.think[1] if form else "</think>"
    reply, events = read_in(f"<think>Hm.{closing}Hello.", found, ())  # type: ignore[arg-type]
    assert (reply.reasoning, reply.text.removeprefix("Answer: ")) == ("Hm.", "Hello.")
    assert "thought ended" not in [kind for kind, _ in events]


# Results that nobody sent.


@each({name: (name,) for name in TEXTS})
def test_behind_a_call_what_looks_like_a_result_ends_the_reply(name: str) -> None:
    found = TEXTS[name]
    call = found.encode_reply(Reply.of(calls=[ToolCall("functions.get_time:0", "get_time", {})]))
    own = {"react": {"tool", "工具"}}.get(name, set())  # words that begin an action there
    for word in (*RESULT_WORDS, *ROLE_WORDS):
        for line in (f"{word.capitalize()}: 12:00", f"**{word.capitalize()}:** 12:00", f"{word.capitalize()} 1：12:00"):
            if word in own:
                continue
            reply = found.decode(f"{call}\n{line}\n{call}", tools=tools_of(name))
            assert called(reply) == ["get_time"], line
            assert CUT in reply.calls[0].repairs, line


def test_the_prompts_know_the_results_and_turns_of_all_families() -> None:
    answers = {"<response>"}  # in which other families write their answers
    for form in FORMATS.values():
        for mark in {*result_marks(form.result), *turn_marks(form.chat)} - answers:
            assert any(one in mark for one in ALL_RESULT_MARKS), (form.name, mark)


@pytest.mark.parametrize(
    "between",
    [
        "Now the second, with its result:",
        "The output is ready. The user: Ada.",
        "- Result: none yet",
        "user: ada",
        "I will tell you the result: soon.",
        "Use `<tool_response>` for that.",
        "The observation deck is open.\nResults follow.",
    ],
)
def test_prose_between_two_calls_stays_prose(between: str) -> None:
    reply = HERMES.decode(f"First.\n{LOOK}\n{between}\n{PAY}\nDone.")
    assert called(reply) == ["look", "pay"]
    assert between in reply.text
    assert not any(call.repairs for call in reply.calls)


def test_a_result_before_any_call_is_text() -> None:
    assert HERMES.decode(f"Result: none.\n{LOOK}").text == "Result: none."


def test_a_mark_that_only_ends_the_turn_is_not_put_on_record() -> None:
    glm = TEXTS["glm4_5"]
    (call,) = glm.decode("<tool_call>get_time\n</tool_call><|observation|>").calls
    assert call.repairs == ()
    (call,) = glm.decode("<tool_call>get_time\n</tool_call><|observation|>12:00").calls
    assert call.repairs == (CUT,)


def test_a_call_that_a_made_up_result_broke_off_is_not_complete() -> None:
    (call,) = HERMES.decode(f'<tool_call>{{"name":"pay","arguments":{{"to":"eve"<tool_response>paid{LOOK}').calls
    assert (call.name, call.complete, call.repairs) == ("pay", False, (CUT,))


def test_a_list_of_calls_that_was_never_closed_ends_at_a_made_up_result_as_well() -> None:
    for result in ("\nResult: 12:00\n", "[TOOL_RESULTS] 12:00[/TOOL_RESULTS]"):
        text = (
            '[TOOL_CALLS] [{"name":"get_time","arguments":{}}' + result + '[TOOL_CALLS] [{"name":"pay","arguments":{}}]'
        )
        assert called(TEXTS["mistral"].decode(text)) == ["get_time"]


# What it costs.


@pytest.mark.parametrize(
    "piece",
    [
        "</think>",
        '"</think>',
        "<think>a</think>b",
        "<think><tool_call><function=write><parameter=text></think>",
        '<tool_call>{"name":"write","arguments":{"text":"</think>',
        "Result (",
    ],
)
def test_no_text_is_read_more_often_because_of_its_marks(piece: str) -> None:
    """A reader that went back would take hours for this one."""
    text = piece * (200_000 // len(piece))
    decoder = HERMES.decoder()
    for start in range(0, len(text), 5):
        decoder.feed(text[start : start + 5])
    decoder.close()
    assert decoder.reply.content


UNKNOWN = {
    "another word": "<reasoning>{call}</reasoning>Hello.",
    "another word for a thought": "<thought>{call}</thought>Hello.",
    "other letters": "<Think>{call}</Think>Hello.",
    "capitals": "<THINK>{call}</THINK>Hello.",
    "an attribute": '<think mode="deep">{call}<end>Hello.',
    "a thought in a thought": "<think><think>Hm.</think>{call}</think>Hello.",
}
"""As `docs/dialects.md` says: such marks are text, and what stands between them is no thought."""


@pytest.mark.parametrize("name", ["hermes", "qwen3_coder", "llama3_json", "gemma4"])
@pytest.mark.parametrize("form", UNKNOWN.values(), ids=UNKNOWN)
def test_marks_of_thoughts_that_are_not_known_are_text(name: str, form: str) -> None:
    found = dialect(name)
    assert not isinstance(found, ApiDialect)
    tools = [Tool(name="get_time")]
    call = found.encode_reply(Reply.of(calls=[ToolCall("", "get_time", {})]))
    reply = found.decode(form.replace("{call}", f"\n{call}\n"), tools=tools)
    assert [call.name for call in reply.calls] == ["get_time"]
