from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from actum.core.call import TextPart, ToolCall, ToolResult
from actum.core.event import CallDelta, CallSaid, TextDelta, ThoughtEnded
from actum.core.json import Json, parse_object
from actum.core.message import Message, Reply, SystemMessage, ToolMessage, UserMessage
from actum.core.model import Request
from actum.core.tool import Tool
from actum.dialects.text.formats.rows import FORMATS
from actum.dialects.text.invented_results import result_marks, turn_marks
from actum.dialects.text.tagged.dialect import TaggedText
from actum.dialects.text.tagged.pythonic_call import PythonicCall
from tests.dialects.text_corpus import (
    CORPUS,
    cuts,
    expected_of,
    ids_of,
    output_of,
    pieces_of,
    read_in,
    summary,
    thinks,
    tools_of,
)
from tests.each import each, each_path
from tests.effort import effort
from tests.endurance import places_to_cut, share, some

DIALECTS = {name: TaggedText(form) for name, form in FORMATS.items()}
TOOLS = {name: tools_of(name) for name in FORMATS}
CASES = [path for name in sorted(FORMATS) for path in sorted((CORPUS / name).glob("*.txt"))]
each_case = each_path(CASES)
each_dialect = each({name: (name,) for name in sorted(FORMATS)})
per_dialect = pytest.mark.parametrize("name", sorted(FORMATS))
"""A test item of each dialect, for what takes long: two workers share it."""


THINKING = {name: structs.replace(dialect, thinking=True) for name, dialect in DIALECTS.items()}


def dialect_of(path: Path) -> TaggedText:
    return (THINKING if thinks(path) else DIALECTS)[path.parent.name]


def chunks(text: str, size: int) -> Iterable[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


@pytest.mark.row("S6")
@each_case
def test_each_output_is_read_as_its_source_says(path: Path) -> None:
    name = path.parent.name
    reply = dialect_of(path).decode(output_of(path), tools=TOOLS[name])
    assert summary(reply) == expected_of(path)
    for known, call in zip(ids_of(path), reply.calls, strict=True):
        assert known in (None, call.id)


@pytest.mark.no_cover
@pytest.mark.row("S6")
@pytest.mark.endurance("src/actum/dialects", "tests/corpus")
@per_dialect
def test_a_streamed_output_is_the_same_in_every_cut(name: str) -> None:
    for path in sorted((CORPUS / name).glob("*.txt")):
        text, dialect, tools = output_of(path), dialect_of(path), TOOLS[name]
        whole = read_in([text], dialect, tools)
        assert whole[0] == dialect.decode(text, tools=tools), path.stem
        for cut in places_to_cut(len(text)):
            assert read_in([text[:cut], text[cut:]], dialect, tools) == whole, (path.stem, cut)
        for size in (1, 2, 3, 7):
            assert read_in(chunks(text, size), dialect, tools) == whole, (path.stem, size)


@each_case
def test_the_fragments_of_a_call_are_its_arguments(path: Path) -> None:
    dialect, tools = dialect_of(path), TOOLS[path.parent.name]
    decoder = dialect.decoder(tools=tools)
    deltas = [delta for piece in chunks(output_of(path), 5) for delta in decoder.feed(piece)] + decoder.close()
    if ThoughtEnded() in deltas:  # indexes begin anew
        deltas = deltas[deltas.index(ThoughtEnded()) :]
    for said in [delta for delta in deltas if isinstance(delta, CallSaid)]:
        pieces = [delta for delta in deltas if isinstance(delta, CallDelta) and delta.index == said.index]
        assert pieces[0].name == said.call.name
        assert pieces[0].id in ("", said.call.id)
        assert not any(piece.name or piece.id for piece in pieces[1:])
        if said.call.complete and not said.call.repairs:
            assert parse_object("".join(piece.arguments for piece in pieces))[0] == said.call.arguments


@each_dialect
def test_a_corpus_says_where_each_case_comes_from(name: str) -> None:
    cases = [json.loads(path.read_text("utf-8")) for path in (CORPUS / name).glob("*.json") if path.stem != "tools"]
    assert len(cases) >= 8
    assert all(case["source"] for case in cases)


# What is written is read back.

TYPES = ("null", "integer", "number", "boolean", "object", "array", "string")
TYPED = Tool(name="typed", parameters={"type": "object", "properties": {kind: {"type": kind} for kind in TYPES}})
REST = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
MARKED = st.lists(
    st.sampled_from(
        [
            *("<tool_call>", "</tool_call>", "<function=", "</function", "<parameter=x", "</parameter", "<arg_value>"),
            *("[TOOL_CALLS]", "[ARGS]", "<|python_tag|>", "<|tool_call_end|>", "<｜tool▁call▁end｜>", "<think>", "```"),
            *('"', "'", "\\", "{", "}", "[", "]", "(", ")", ",", "\n", "\t", " ", "a", "文", "😀", "</s>", "\u2028"),
        ]
    ),
    max_size=6,
).map("".join)
STRINGS = REST | MARKED
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | STRINGS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STRINGS, inner, max_size=3),
    max_leaves=8,
)
BY_TYPE: dict[str, st.SearchStrategy[Json]] = {
    "null": st.none(),
    "integer": st.integers(-(10**30), 10**30),
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
    "object": st.dictionaries(STRINGS, VALUES, max_size=3),
    "array": st.lists(VALUES, max_size=3),
    "string": STRINGS,
}
TYPED_CALLS = st.lists(
    st.builds(
        lambda arguments: ToolCall(id="", name="typed", arguments=arguments),
        st.fixed_dictionaries({}, optional=BY_TYPE),
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.no_cover
@per_dialect
@settings(max_examples=share(40, 10))
@given(said=TYPED_CALLS, places=cuts)
def test_a_written_reply_is_read_back_in_any_cut(name: str, said: list[ToolCall], places: list[int]) -> None:
    dialect = DIALECTS[name]
    written = dialect.encode_reply(Reply.of("I look.", said, reasoning="Hm.\n\nYes."))
    reply, _ = read_in(pieces_of(written, places), dialect, [TYPED])
    assert [(call.name, call.arguments, call.complete, call.repairs) for call in reply.calls] == [
        (call.name, call.arguments, True, ()) for call in said
    ]
    assert (reply.text, reply.reasoning) == ("I look.", "Hm.\n\nYes.")


FRAGMENTS = {
    name: st.lists(
        st.sampled_from(
            [
                *(*form.opens, *form.closes, *form.drops, *form.think, *form.call, *form.section, form.between),
                *('{"name": "get_time", "arguments": {', '"name": ', '"get_weather"', ', "arguments": ', '{"city": "a'),
                *("get_weather", "functions.get_time:0", "<｜tool▁sep｜>", "[ARGS]", "[CALL_ID]x", "```json\n", "```"),
                *(
                    "<function=get_weather>",
                    "<parameter=city>",
                    "</parameter>",
                    "</function>",
                    "<arg_key>",
                    "</arg_key>",
                ),
                *("<arg_value>", "</arg_value>", "city", "<|tool_call_argument_begin|>", "[get_time(", "city='a", "))"),
                *(
                    "call:get_weather{",
                    "city:",
                    '<|"|>',
                    "<escape>",
                    "get_time\n",
                    "all\n",
                    "Action:",
                    '{"get_time": {',
                ),
                *("<co>", "<co: 0>", "</co: 0:[1]>", "<co", "directly_answer"),
                *("<think>", "</think>", "`</think>", "Observation: ", "\nResult", "**Output", "\nTool result (x): "),
                *result_marks(form.result),
                *form.results,
                *turn_marks(form.chat)[:2],
                *("{", "}", "[", "]", '"', "'", ",", "=", ":", "(", ")", " ", "\n", "\\", "<", "a", "1", "文", "'''"),
            ]
        ),
        max_size=16,
    ).map("".join)
    for name, form in FORMATS.items()
}


@pytest.mark.no_cover
@per_dialect
@settings(max_examples=share(80, 20))
@given(data=st.data())
def test_any_text_reads_the_same_in_any_cut(name: str, data: st.DataObject) -> None:
    text = data.draw(FRAGMENTS[name])
    dialect, tools = DIALECTS[name], TOOLS[name]
    whole = read_in([text], dialect, tools)
    assert read_in(text, dialect, tools) == whole
    assert read_in(pieces_of(text, data.draw(cuts)), dialect, tools) == whole


@pytest.mark.no_cover
@per_dialect
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_text_without_marks_comes_back_as_it_is(name: str, text: str) -> None:
    prose = re.sub(r"[<\[{]", "", text)
    assert DIALECTS[name].decode(prose).text == prose.strip()


@each_dialect
def test_a_call_that_broke_off_is_read_back_as_such(name: str) -> None:
    dialect, tools = DIALECTS[name], TOOLS[name]
    path = CORPUS / name / BROKEN.get(name, "truncated.txt")
    (broken,) = (call for call in dialect.decode(output_of(path), tools=tools).calls if not call.complete)
    reply = dialect.decode(dialect.encode_reply(Reply.of("I look.", [broken])), tools=tools)
    (again,) = reply.calls
    assert (again.name, again.raw.strip(), again.complete) == (broken.name, broken.raw.strip(), False)
    assert reply.text == "I look."


BROKEN = {
    "hermes": "truncated_in_string.txt",
    "qwen3_coder": "truncated_in_value.txt",
    "glm4_5": "truncated_in_value.txt",
    "llama_pythonic": "truncated_in_string.txt",
}


# What is told, and when.


@per_dialect
def test_arguments_are_told_as_they_come(name: str) -> None:
    dialect, tools = DIALECTS[name], TOOLS[name]
    call = ToolCall(id="", name="write_file", arguments={"path": "a", "content": "x" * 5000})
    decoder = dialect.decoder(tools=tools)
    told = 0
    for place, char in enumerate(dialect.encode_reply(Reply.of(calls=[call])), start=1):
        told += sum(len(delta.arguments) for delta in decoder.feed(char) if isinstance(delta, CallDelta))
        if place == 4000 and not isinstance(FORMATS[name].bodies[0], PythonicCall):  # it tells a value at its end
            assert told > 3500
    decoder.close()
    assert decoder.reply.calls[0].arguments == call.arguments


@each_dialect
def test_a_name_is_told_before_the_arguments_end(name: str) -> None:
    dialect, tools = DIALECTS[name], TOOLS[name]
    call = ToolCall(id="", name="write_file", arguments={"path": "a", "content": "x" * 100})
    decoder = dialect.decoder(tools=tools)
    text = dialect.encode_reply(Reply.of(calls=[call]))
    deltas = decoder.feed(text[: text.index("x" * 100) + 60])
    assert [delta.name for delta in deltas if isinstance(delta, CallDelta)][:1] == ["write_file"]
    assert not any(isinstance(delta, CallSaid) for delta in deltas)


@each_dialect
def test_prose_is_told_as_soon_as_it_is_certain(name: str) -> None:
    for text in ("Hello.\nHow are you?", "x {y} (1) z, a = b"):
        decoder = DIALECTS[name].decoder(tools=TOOLS[name])
        assert "".join(delta.text for delta in decoder.feed(text) if isinstance(delta, TextDelta)) == text


@each_dialect
def test_bytes_may_be_cut_inside_a_character(name: str) -> None:
    dialect = DIALECTS[name]
    call = ToolCall(id="", name="get_weather", arguments={"city": "北京😀"})
    text = dialect.encode_reply(Reply.of("好。", [call]))
    pieces = [bytes([byte]) for byte in text.encode()]
    assert read_in(pieces, dialect, TOOLS[name]) == read_in([text], dialect, TOOLS[name])


@each_dialect
def test_half_a_surrogate_pair_raises_nothing(name: str) -> None:
    text = DIALECTS[name].encode_reply(
        Reply.of("a\ud800", [ToolCall(id="", name="write_file", arguments={"path": "B"})])
    )
    reply = DIALECTS[name].decode(text.replace("B", "\udfff"), tools=TOOLS[name])
    assert reply.text == "a\ufffd"
    assert reply.calls[0].arguments == {"path": "\ufffd"}


@each_dialect
def test_reasoning_that_the_prompt_opened_is_reasoning(name: str) -> None:
    dialect = structs.replace(DIALECTS[name], thinking=True)
    reply = dialect.decode(f"Hm.{FORMATS[name].think[1]}\nHello.")
    assert (reply.reasoning, reply.text) == ("Hm.", "Hello.")
    assert dialect.decode(dialect.encode_reply(reply)) == reply


@each_dialect
def test_no_mark_of_a_row_is_the_beginning_of_another(name: str) -> None:
    form = FORMATS[name]
    marks = {*form.opens, *form.closes, *form.drops, *form.think}
    assert not [(a, b) for a in marks for b in marks if a != b and b.startswith(a)]


# What stands behind a call, and around a passage.


@pytest.mark.parametrize(
    ("behind", "repairs"),
    [
        ("\n</tool_call>\nOk.", ()),
        ("\nOk.", ("closing mark missing",)),
        ("", ("closing mark missing",)),
        ("<|im_end|>", ("closing mark missing",)),
        ("}}\n</tool_call>", ("ignored '}}' behind the call",)),
    ],
)
def test_what_is_wrong_behind_a_call_is_on_record(behind: str, repairs: tuple[str, ...]) -> None:
    text = '<tool_call>\n{"name": "get_time", "arguments": {}}' + behind
    whole = read_in([text], DIALECTS["hermes"], TOOLS["hermes"])
    assert whole[0].calls[0].repairs == repairs
    assert read_in(text, DIALECTS["hermes"], TOOLS["hermes"]) == whole


def test_a_call_is_told_when_its_closing_mark_was_seen() -> None:
    decoder = DIALECTS["hermes"].decoder(tools=TOOLS["hermes"])
    assert not any(
        isinstance(delta, CallSaid)
        for delta in decoder.feed('<tool_call>\n{"name": "get_time", "arguments": {}}\n</tool_call')
    )
    assert [type(delta) for delta in decoder.feed(">")] == [CallSaid]


def test_a_call_that_broke_off_is_not_said_to_be_mended() -> None:
    (call,) = DIALECTS["hermes"].decode('<tool_call>\n{"name": "get_time", "arguments": {"a').calls
    assert (call.complete, call.repairs) == (False, ())


@pytest.mark.parametrize("name", ["command_r", "command_r_plus"])
def test_citations_are_taken_out_of_the_text_and_kept_beside_it(name: str) -> None:
    text = "The capital is <co>Paris</co: 0:[1,2],1:[3]>, with <co: 0>many people</co: 0>. a<com"
    (reply, told), letters = (read_in(pieces, DIALECTS[name], ()) for pieces in ([text], text))
    assert reply.text == "The capital is Paris, with many people. a<com"
    assert reply.extras == {
        "citations": [
            {"text": "Paris", "start": 15, "end": 20, "sources": "0:[1,2],1:[3]"},
            {"text": "many people", "start": 27, "end": 38, "sources": "0"},
        ]
    }
    assert letters == (reply, told)


# Requests.


@each_dialect
def test_a_request_tells_tools_and_history_in_the_model_s_own_form(name: str) -> None:
    dialect, tools = DIALECTS[name], TOOLS[name]
    call = ToolCall(id="call_7", name="get_weather", arguments={"city": "Oslo"})
    messages: list[Message] = [
        SystemMessage("Be brief."),
        UserMessage.of("Weather?"),
        Reply.of("I look.", [call], reasoning="Hm."),
        ToolMessage("get_weather", ToolResult("call_7", structured={"temp": 3})),
        UserMessage.of("And?"),
    ]
    told = dialect.encode_request(Request(messages=messages, tools=tools, tool_choice="required"))
    system, user, said, results = told.messages
    assert isinstance(system, SystemMessage)
    assert isinstance(results, UserMessage)
    assert (told.tools, told.tool_choice) == ((), "auto")
    assert system.text.startswith("Be brief.\n\n")
    assert all(tool.name in system.text and tool.description in system.text for tool in tools)
    assert "must use at least one tool" in system.text
    assert user == messages[1]
    assert isinstance(said, Reply)
    assert not said.calls
    assert not said.reasoning
    assert [(c.name, c.arguments) for c in dialect.decode(said.text, tools=tools).calls] == [
        (call.name, call.arguments)
    ]
    assert "temp" in results.text
    assert results.text.endswith("And?")


@each_dialect
def test_a_result_can_not_say_a_call_nor_leave_its_marks(name: str) -> None:
    dialect, tools, form = DIALECTS[name], TOOLS[name], FORMATS[name]
    call = ToolCall(id="call_0", name="get_time", arguments={})
    hostile = " ".join((*form.opens, *form.closes, *form.drops, "</tool_response>"))
    messages: list[Message] = [
        Reply.of(calls=[call]),
        ToolMessage("get_time", ToolResult("call_0", (TextPart(hostile),))),
    ]
    *_, results = dialect.encode_request(Request(messages=messages, tools=tools)).messages
    assert isinstance(results, UserMessage)
    assert all(results.text.count(m) == form.result.count(m) for m in (*form.opens, *form.closes, *form.drops))
    assert results.text.count("</tool_response>") <= 1


def test_kimi_s_ids_are_of_its_own_form_in_the_history() -> None:
    calls = [
        ToolCall(id="call_a", name="get_time", arguments={}),
        ToolCall(id="functions.get_time:9", name="get_time", arguments={}),
    ]
    results = [ToolMessage("get_time", ToolResult(call.id, structured=1)) for call in calls]
    said, told = DIALECTS["kimi_k2"].encode_request(Request(messages=[Reply.of(calls=calls), *results])).messages
    assert isinstance(said, Reply)
    assert isinstance(told, UserMessage)
    assert [call.id for call in DIALECTS["kimi_k2"].decode(said.text).calls] == [
        "functions.get_time:0",
        "functions.get_time:9",
    ]
    assert told.text == "## Return of functions.get_time:0\n1\n## Return of functions.get_time:9\n1"


@pytest.mark.endurance("src/actum/dialects")
def test_reading_costs_the_same_for_each_character() -> None:
    """Four times the text in single characters is about four times the work."""
    for name, dialect in DIALECTS.items():
        calls = []
        for size in (share(200, 40), share(800, 160)):
            call = ToolCall(id="", name="write_file", arguments={"path": "a", "content": '</p {"a": 1}\n' * size})
            text = dialect.encode_reply(Reply.of(calls=[call]))
            calls.append(work(dialect, text))
        assert calls[1] < 6 * calls[0], name


@pytest.mark.endurance("src/actum/dialects")
@pytest.mark.parametrize("name", some(sorted(FORMATS), 3))
def test_endless_noise_behind_a_call_is_read_in_time(name: str) -> None:
    call = ToolCall(id="", name="get_time", arguments={})
    text = DIALECTS[name].encode_reply(Reply.of(calls=[call]))
    for junk in (" ", ";", "}", "<", "</parameter> ", "<tool_call>", "[", "`", '{"name": ', "\\n</", "[f(a="):
        calls = [
            work(DIALECTS[name], text + junk * (length // len(junk)))
            for length in (share(1_000, 150), share(10_000, 1_500))
        ]
        assert calls[1] < 15 * calls[0], junk


@pytest.mark.endurance("src/actum/dialects")
@pytest.mark.parametrize("junk", [":", ",", '"', "{", "[", "a:", "<|", "<escape", '<|"|>', " "])
def test_endless_noise_inside_a_call_with_bare_keys_is_read_in_time(junk: str) -> None:
    for name in ("gemma4", "functiongemma"):
        opening = FORMATS[name].opens[0]
        for beginning in ("{", "{x:", "{x:[", '{x:<|"|>', "{x:<escape>"):
            said = f"{opening}call:f{beginning}"
            calls = [
                work(DIALECTS[name], said + junk * (length // len(junk)))
                for length in (share(1_000, 150), share(10_000, 1_500))
            ]
            assert calls[1] < 15 * calls[0], (name, beginning)


def work(dialect: TaggedText, text: str) -> int:
    decoder = dialect.decoder()
    with effort() as spent:
        for char in text:
            decoder.feed(char)
        decoder.close()
    return spent.calls


def test_what_is_filled_in_is_not_filled_in_itself() -> None:
    tricky = ToolCall(id="{name}", name="write_file", arguments={"{value}": "{key}", "path": "{name}{arguments}"})
    result = ToolMessage("write_file", ToolResult("{name}", (TextPart("{name} {text} {json}"),)))
    for name, dialect in DIALECTS.items():
        said, told = dialect.encode_request(Request(messages=[Reply.of(calls=[tricky]), result])).messages
        assert isinstance(said, Reply)
        assert isinstance(told, UserMessage)
        assert dialect.decode(said.text).calls[0].arguments == tricky.arguments, name
        assert "{name} {text} {json}" in told.text, name


def test_a_decoder_for_many_tools_is_made_at_once() -> None:
    tools = [Tool(name=f"tool_number_{number}") for number in range(300)]
    for name, dialect in DIALECTS.items():
        with effort() as spent:
            dialect.decoder(tools=tools)
        assert spent.calls < 50 * len(tools), name


# Python calls that a quote without escape cut in two, and others with two meanings.

SHELL = Tool(
    name="bash",
    parameters={"type": "object", "properties": {"command": {"type": "string"}, "cwd": {"type": "string"}}},
)
TWO_MEANINGS = (
    "bash(command='rm -rf /tmp/x && echo 'a, b', 'c')",
    "bash(command='echo 'a', cwd='b')",
    "bash(command='echo $(date +'%Y') done')",
    "bash(command='a' + 'b')",
    "bash(command='ls', 'x')",
    "bash('ls', 'x', 'y')",
    "bash('ls', command='rm')",
    "bash(command='ls', command='rm')",
    "bash(**{'command': 'ls', 'command': 'rm'})",
    "bash(**everything)",
    "bash(command=ls cwd=b)",
    "bash(command='ls') && rm -rf x",
    "bash(command='ls'), 'c')",
)
ONE_MEANING = {
    "bash('ls', cwd='b')": {"command": "ls", "cwd": "b"},
    "bash(command='ls', command='ls')": {"command": "ls"},
    "bash(command='echo 'a' b')": {"command": "echo 'a' b"},
    "bash(command='don't stop')": {"command": "don't stop"},
    "bash(command='ls',)": {"command": "ls"},
}


@pytest.mark.row("S6", "C1")
@pytest.mark.endurance("src/actum/dialects")
def test_a_python_call_with_two_meanings_is_never_complete_and_prose_behind_the_list_stays_prose() -> None:
    for name, (opening, closing) in {
        "lfm2": ("<|tool_call_start|>[", "]<|tool_call_end|>"),
        "llama_pythonic": ("[", "]"),
        "olmo3": ("<function_calls>", "</function_calls>"),
    }.items():
        for call in (*TWO_MEANINGS, *ONE_MEANING):
            if name == "llama_pythonic" and re.match(r"bash\((?:'|\*\*e)", call):
                continue  # without a mark, a list of such calls is prose
            between = "\n" if name == "olmo3" else ", "
            text = f"Well. {opening}bash(cwd='first'){between}{call}{closing}"
            whole = read_in([text], DIALECTS[name], [SHELL])
            first, second = whole[0].calls
            assert first.arguments == {"cwd": "first"}, (name, call)
            assert second.complete is (call in ONE_MEANING), (name, call)
            assert second.arguments == ONE_MEANING.get(call, {}), (name, call)
            for cut in places_to_cut(len(text)):
                assert read_in([text[:cut], text[cut:]], DIALECTS[name], [SHELL]) == whole, (name, call, cut)
        prose = DIALECTS[name].decode(f"{opening}bash(command='ls'){closing} I listed it.", tools=[SHELL])
        assert prose.text == "I listed it."
        assert [call.complete for call in prose.calls] == [True]
