"""The grammar of what a model may answer: asked letter by letter, and by models of random weights."""

from __future__ import annotations

from collections.abc import Iterator

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actum.core.call import ToolCall, ToolResult
from actum.core.errors import UsageError
from actum.core.json import Json, JsonObject
from actum.core.message import Message, Reply, SystemMessage, ToolMessage, UserMessage
from actum.core.model import Request
from actum.core.tool import AllowedTools, NamedTool, Tool, ToolChoice
from actum.dialects import dialect, names
from actum.dialects.base import TextDialect
from actum.dialects.grammar.grammar import (
    Grammar,
    constrains,
    conversation,
    grammar_of,
)
from actum.dialects.grammar.narrowed import bounded
from actum.dialects.loose import Loose
from actum.models.constrained import Vocabulary, generate

from ...models.random_model import (
    END,
    MARKS,
    RandomModel,
    vocabulary_of,
)

ADD = Tool(
    name="add",
    parameters={
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": ["number", "null"]}, "exact": {"type": "boolean"}},
        "required": ["a", "exact"],
    },
)
WEATHER = Tool(
    name="get_weather",
    parameters={
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 1, "maxLength": 20},
            "unit": {"enum": ["c", "f"]},
            "note": {"anyOf": [{"type": "string", "maxLength": 20}, {"type": "null"}]},
            "days": {"type": "integer", "minimum": 1, "maximum": 9},
        },
        "required": ["city"],
        "additionalProperties": False,
    },
)
ORDER = Tool(
    name="order-food.v2",
    parameters={
        "type": "object",
        "properties": {
            "dishes": {"type": "array", "items": {"$ref": "#/$defs/dish"}, "minItems": 1, "maxItems": 3},
            "table": {"$ref": "#/$defs/table"},
        },
        "required": ["dishes", "table"],
        "$defs": {
            "table": {"type": "string", "pattern": "^[a-z]{2,4}$"},
            "dish": {
                "type": "object",
                "properties": {"name": {"type": "string", "maxLength": 9}, "count": {"type": "integer"}},
                "required": ["name", "count"],
            },
        },
    },
)
PING = Tool(name="ping")
TOOLS = (ADD, WEATHER, ORDER, PING)
BYTES = vocabulary_of()
SPECIAL = vocabulary_of(MARKS)


def text_or_api(name: str) -> TextDialect:
    return dialect(name)  # type: ignore[return-value]  # it is asked whether it is one


TEXT_DIALECTS = [name for name in names() if constrains(text_or_api(name))]


def text_dialect(name: str) -> TextDialect:
    found = dialect(name)
    assert not hasattr(found, "decode_error")
    return found


def asked(choice: ToolChoice = "auto", *, tools: tuple[Tool, ...] = TOOLS, parallel: bool | None = None) -> Request:
    return Request(
        messages=[UserMessage.of("What is the weather in Oslo?")],
        tools=tools,
        tool_choice=choice,
        parallel_calls=parallel,
    )


def grammar(
    name: str,
    request: Request,
    *,
    vocabulary: Vocabulary = BYTES,
    copies: list[str] | None = None,
    thinking: bool = False,
) -> Grammar:
    return grammar_of(
        text_dialect(name),
        request,
        refuses=vocabulary.refuses,
        special=vocabulary.special,
        copies=copies,
        thinking=thinking,
    )


def takes(found: Grammar, text: str, vocabulary: Vocabulary = BYTES) -> bool:
    """A model may say this, and then nothing more."""
    matcher = vocabulary.matcher(found.source)
    return all(matcher.consume_token(byte) for byte in text.encode()) and matcher.is_accepting()


def said(found: Grammar, vocabulary: Vocabulary, count: int, *, tokens: int = 12_000) -> Iterator[Reply]:
    """What models of random weights say, those replies that came to their end."""
    for seed in range(count):
        model = RandomModel(vocabulary.size, seed=seed, wishes={vocabulary.special[END]: 4.0})
        out = list(generate(model.next_logits, vocabulary, [], grammar=found.source, max_tokens=tokens, seed=seed))
        assert len(out) < tokens
        yield found.dialect.decode(b"".join(map(vocabulary.bytes_of, out)), tools=TOOLS)


def check(call: ToolCall, tools: tuple[Tool, ...] = TOOLS) -> None:
    (tool,) = [tool for tool in tools if tool.name == call.name]
    assert call.complete
    jsonschema_rs.validator_for(tool.parameters).validate(call.arguments)


@pytest.mark.no_cover
@pytest.mark.row("S7")
@pytest.mark.parametrize("name", TEXT_DIALECTS)
@pytest.mark.parametrize("vocabulary", [BYTES, SPECIAL], ids=["bytes", "marks"])
def test_random_weights_make_valid_calls_in_every_format(name: str, vocabulary: Vocabulary) -> None:
    found = grammar(name, asked("required"), vocabulary=vocabulary)
    assert found.loose == ()
    for reply in said(found, vocabulary, 6):
        assert reply.calls
        for call in reply.calls:
            check(call)
            assert call.repairs == ()


@pytest.mark.parametrize("name", TEXT_DIALECTS)
def test_what_a_dialect_writes_its_own_grammar_takes(name: str) -> None:
    calls = [
        ToolCall("0", "get_weather", {"city": "Oslo 北京", "unit": "c", "days": 2}),
        ToolCall("1", "add", {"a": -3, "b": 0.5, "exact": True}),
        ToolCall("2", "ping", {}),
    ]
    written = text_dialect(name).encode_reply(Reply.of(calls=calls))
    found = grammar(name, asked("required"))
    ending = "<|call|>" if name == "harmony" else ""  # there it ends the answer, and is no part of it
    assert takes(found, written.removesuffix(ending))
    assert [call.arguments for call in found.dialect.decode(written, tools=TOOLS).calls] == [c.arguments for c in calls]


@pytest.mark.parametrize("name", TEXT_DIALECTS)
def test_no_tool_no_call(name: str) -> None:
    written = text_dialect(name).encode_reply(Reply.of(calls=[ToolCall("0", "ping", {})]))
    for choice in ("none", AllowedTools(())):
        found = grammar(name, asked(choice))
        assert not takes(found, written)
        for reply in said(found, BYTES, 2):
            assert reply.calls == ()


@pytest.mark.row("S7")
@pytest.mark.parametrize(
    ("choice", "allowed", "must"),
    [
        ("auto", {"add", "get_weather", "order-food.v2", "ping"}, False),
        (NamedTool("add"), {"add"}, True),
        (AllowedTools(("add", "ping"), "required"), {"add", "ping"}, True),
        (AllowedTools(("ping",), "auto"), {"ping"}, False),
    ],
)
@pytest.mark.parametrize("name", ["hermes", "prompt_json", "llama_pythonic", "harmony", "react", "glm4_5"])
def test_the_tool_choice_is_kept(name: str, choice: ToolChoice, allowed: set[str], must: bool) -> None:
    found = grammar(name, asked(choice))
    dialect_ = text_dialect(name)
    arguments: dict[str, JsonObject] = {"add": {"a": 1, "exact": False}, "get_weather": {"city": "Oslo"}, "ping": {}}
    for tool, value in arguments.items():
        call = ToolCall("0", tool, value)
        written = dialect_.encode_reply(Reply.of(calls=[call])).removesuffix("<|call|>")
        assert takes(found, written) == (tool in allowed)
    assert takes(found, dialect_.encode_reply(Reply.of("It rains.")).removesuffix("<|return|>")) == (not must)


@pytest.mark.parametrize("name", TEXT_DIALECTS)
def test_one_call_where_calls_are_not_parallel(name: str) -> None:
    calls = [ToolCall(str(number), "ping", {}) for number in range(2)]
    one, two = (text_dialect(name).encode_reply(Reply.of(calls=calls[:count])) for count in (1, 2))
    found = grammar(name, asked("required", parallel=False))
    assert takes(found, one.removesuffix("<|call|>"))
    assert not takes(found, two.removesuffix("<|call|>"))


def test_a_choice_of_a_tool_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="no tool fly"):
        grammar("hermes", asked(NamedTool("fly")))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hermes", "<tool_call>\n{}"),
        ("hermes", 'I call <tool_call>\n{"name": "fly", "arguments": {}}\n</tool_call>'),
        ("hermes", '<tool_call>\n{"name": "add", "arguments": {"a": "1", "exact": true}}\n</tool_call>'),
        ("hermes", '<tool_call>\n{"name": "add",   "arguments": {"a": 1, "exact": true}}\n</tool_call>'),
        ("hermes", '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'),
        ("prompt_json", 'So: {"tool": "fly", "params": {}}'),
        ("prompt_json", '{"name": "add", "arguments": {}}'),
        ("prompt_json", "{'x': 1, 'action' : 'add'"),
        ("prompt_json", 'Look: {"add": {"a": "1"}}'),
        ("llama_pythonic", "Look: [fly(a=1)]"),
        ("llama3_json", '{"function": "fly", "parameters": {}}'),
        ("functionary", "<function=fly>{}</function>"),
        ("react", "Thought: I go.\nAction: fly\nAction Input: {}"),
        ("react", "Answer: Fine.\nAction: fly"),
        ("harmony", "<|channel|>final<|message|>Fine.<|channel|>commentary to=functions.fly"),
        ("qwen3_coder", "<tool_call>\n<function=add>\n<parameter=a>\none\n</parameter>\n</function>\n</tool_call>"),
    ],
)
def test_what_is_no_valid_call_can_not_be_said(name: str, text: str) -> None:
    assert not takes(grammar(name, asked()), text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hermes", 'A package has a {"name": "x", "arguments": 1} and <tags>.'),
        ("prompt_json", "Sets are written {1, 2}, lists [1, 2]; the name: Ada."),
        ("llama_pythonic", "See [the page](http://x.y) and a[0] (or not)."),
        ("react", "Answer: Lists:\n1. one\n2. two"),
    ],
)
def test_plain_text_stays_free(name: str, text: str) -> None:
    found = grammar(name, asked())
    assert takes(found, text)
    assert found.dialect.decode(text, tools=TOOLS).calls == ()


def test_text_may_stand_before_a_call_where_the_model_chooses() -> None:
    for name, head in (("hermes", "I look. "), ("prompt_json", "I look.\n"), ("llama_pythonic", "I look: ")):
        written = text_dialect(name).encode_reply(Reply.of(calls=[ToolCall("1", "ping", {})]))
        found = grammar(name, asked())
        assert takes(found, head + written)
        assert found.dialect.decode(head + written, tools=TOOLS).calls[0].name == "ping"


def test_a_call_in_json_without_its_mark_is_text_where_the_format_has_marks() -> None:
    found = grammar("hermes", asked())
    reply = found.dialect.decode('{"name": "fly", "arguments": {"to": "the moon"}}', tools=TOOLS)
    assert reply.calls == ()
    assert "the moon" in reply.text


def test_reasoning_stands_where_the_format_has_it() -> None:
    call = '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>'
    assert takes(grammar("hermes", asked()), "<think>\nHm.\n</think>\n\n" + call)
    assert takes(grammar("hermes", asked("required"), thinking=True), "Hm.\n</think>\n\n" + call)
    assert not takes(grammar("hermes", asked("required")), "Hm.\n</think>\n\n" + call)


def test_a_mark_of_the_vocabulary_is_said_as_its_token() -> None:
    found = grammar("hermes", asked("required"), vocabulary=SPECIAL)
    matcher = SPECIAL.matcher(found.source)
    assert not takes(found, "<tool_call>", SPECIAL)
    assert matcher.consume_token(SPECIAL.special["<tool_call>"])


def test_a_call_may_come_first_where_the_model_chooses() -> None:
    for name, mark in (("hermes", "<tool_call>"), ("mistral", "[TOOL_CALLS]")):
        found = grammar(name, asked(), vocabulary=SPECIAL)
        for text in ("", "Well: "):
            matcher = SPECIAL.matcher(found.source)
            assert matcher.consume_tokens([*text.encode(), SPECIAL.special[mark]])
            assert not matcher.is_accepting()


def test_where_all_tools_together_are_too_much_each_is_some_object() -> None:
    def refuses(source: str) -> str:
        return "too large" if source.count('"integer"') > 2 else BYTES.refuses(source)

    found = grammar_of(text_dialect("hermes"), asked("required"), refuses=refuses)
    assert [(one.tool, one.kept, one.why) for one in found.loose] == [
        (tool.name, "object", "too large") for tool in TOOLS
    ]
    with pytest.raises(UsageError, match="no grammar"):
        grammar_of(text_dialect("hermes"), asked("required"), refuses=lambda source: "never")


def test_an_answer_fits_the_output_schema() -> None:
    request = Request(
        messages=[], tools=(PING,), output_schema={"type": "object", "properties": {"n": {"type": "integer"}}}
    )
    found = grammar("hermes", request)
    assert takes(found, '{"n": 1}')
    assert takes(found, '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>')
    assert not takes(found, "It is 1.")
    (loose,) = grammar("prompt_json", request).loose
    assert loose.tool == ""


# What the engine does not take.

REFUSED: list[tuple[JsonObject, str, str]] = [
    ({"not": {"const": "x"}}, "lenient", "not"),
    ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, "lenient", "uniqueItems"),
    ({"type": "string", "format": "password"}, "lenient", "password"),
    ({"type": "string", "pattern": "^(?=a)"}, "object", "look-around"),
    ({"$ref": "https://example.com/schema"}, "object", "example.com"),
]


@pytest.mark.row("S7")
@pytest.mark.parametrize(("schema", "kept", "word"), REFUSED)
@pytest.mark.parametrize("name", ["hermes", "lfm2"])
def test_what_the_engine_refuses_is_reported_for_that_tool_alone(
    name: str, schema: JsonObject, kept: str, word: str
) -> None:
    bad = Tool(name="bad", parameters={"type": "object", "properties": {"x": schema}, "required": ["x"]})
    found = grammar(name, asked("required", tools=(bad, ADD)))
    (loose,) = found.loose
    assert (loose.tool, loose.kept) == ("bad", kept)
    assert word in loose.why
    refused = text_dialect(name).encode_reply(Reply.of(calls=[ToolCall("1", "add", {"a": "x", "exact": True})]))
    assert not takes(found, refused)
    for reply in said(found, BYTES, 2):
        assert {call.name for call in reply.calls} <= {"bad", "add"}


def test_what_a_tag_can_not_say_is_reported() -> None:
    tool = Tool(name="f", parameters={"type": "object", "properties": {"a": {"type": "integer"}}, "minProperties": 1})
    assert grammar("qwen3_coder", asked(tools=(tool,))).loose == (Loose("f", "lenient", "left out: minProperties"),)


# Copies.

SOURCES = ['I live in Oslo, and say "hello".', "我住在北京。\nIt is cold"]


@pytest.mark.row("S7")
@pytest.mark.parametrize("name", ["hermes", "qwen3_coder", "lfm2", "harmony", "prompt_json"])
def test_strings_are_only_what_was_said(name: str) -> None:
    found = grammar(name, asked("required"), copies=SOURCES)
    for city, fits in (("Oslo", True), ("live in Oslo", True), ('say "hello"', True), ("北京", True), ("Paris", False)):
        call = ToolCall("0", "get_weather", {"city": city, "unit": "c"})
        written = text_dialect(name).encode_reply(Reply.of(calls=[call])).removesuffix("<|call|>")
        assert takes(found, written) == fits, city
    for reply in said(found, BYTES, 4):
        for call in reply.calls:
            check(call)
            if call.name == "get_weather":
                assert any(str(call.arguments["city"]) in source for source in SOURCES)
                assert call.arguments.get("unit", "c") in ("c", "f")


@pytest.mark.parametrize("city", ["", " Oslo", "slo", "Oslo. 我", "Osl"])
def test_a_copy_is_whole_words_of_one_text(city: str) -> None:
    found = grammar("hermes", asked("required"), copies=SOURCES)
    call = ToolCall("1", "get_weather", {"city": city})
    assert not takes(found, text_dialect("hermes").encode_reply(Reply.of(calls=[call])))


def test_where_nothing_was_said_a_copy_is_empty() -> None:
    found = grammar("hermes", asked("required", tools=(WEATHER,)), copies=[])
    assert takes(found, '<tool_call>\n{"name": "get_weather", "arguments": {"city": ""}}\n</tool_call>')
    assert {"minLength, maxLength", "maxLength, minLength"} & {
        one.why.removeprefix("left out: ") for one in found.loose
    }


def test_a_conversation_is_what_users_and_tools_said() -> None:
    messages: list[Message] = [
        SystemMessage("Be kind."),
        UserMessage.of("Oslo?"),
        Reply.of("Bergen!"),
        ToolMessage("f", ToolResult("1", structured={"town": "Moss"})),
    ]
    assert conversation(messages) == ["Oslo?", '{"town":"Moss"}']


# Schemas of any kind.

_LEAVES: list[JsonObject] = [
    {"type": "integer"},
    {"type": "integer", "minimum": -5, "maximum": 5},
    {"type": "number", "minimum": 0},
    {"type": "boolean"},
    {"type": "null"},
    {"type": "string", "maxLength": 6},
    {"type": "string", "minLength": 2, "maxLength": 4},
    {"type": "string", "pattern": "^[a-c]{1,3}$"},
    {"enum": ["red", "green", 'a "b"']},
    {"enum": [1, "one", None]},
    {"const": "fixed"},
    {"type": ["integer", "null"]},
    {"anyOf": [{"type": "string", "maxLength": 5}, {"type": "integer"}]},
    {"type": "string", "format": "date"},
    {"type": "string", "pattern": "^\\d{3}-[\\w]{2}$"},
    {"type": "string", "pattern": "^/a/b$"},
    {"anyOf": [{"type": "string", "maxLength": 5}, {"type": "array", "items": {"type": "boolean"}, "maxItems": 2}]},
    {"oneOf": [{"type": "integer"}, {"type": "null"}]},
    {"allOf": [{"type": "integer", "minimum": 2}, {"maximum": 5}]},
    {"enum": [[1], {"a": 1}, "x"]},
    {"type": "object", "additionalProperties": {"type": "integer"}},
    {"type": "array", "prefixItems": [{"type": "integer"}], "items": False},
]
SCHEMAS: st.SearchStrategy[JsonObject] = st.recursive(
    st.sampled_from(_LEAVES),
    lambda inner: st.one_of(
        inner.map(lambda item: {"type": "array", "items": item, "maxItems": 2}),
        st.dictionaries(st.sampled_from(["a", "b c", "名"]), inner, max_size=2).map(
            lambda found: {"type": "object", "properties": {**found}, "required": sorted(found)[:1]}
        ),
    ),
    max_leaves=4,
)


@pytest.mark.row("S7")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    properties=st.dictionaries(st.sampled_from(["a", "größe", "x-y", "x{value}", 'b "c"']), SCHEMAS, max_size=3),
    required=st.booleans(),
    name=st.sampled_from(["hermes", "qwen3_coder", "lfm2", "deepseek_v3_2", "kimi_k2"]),
)
def test_calls_fit_schemas_of_any_kind(properties: dict[str, JsonObject], required: bool, name: str) -> None:
    listed: list[Json] = [*properties] if required else []
    tool = Tool(name="f", parameters={"type": "object", "properties": {**properties}, "required": listed})
    found = grammar(name, asked("required", tools=(tool,)))
    for reply in said_of(found, tool):
        assert reply.calls
        for call in reply.calls:
            check(call, (tool,))


def said_of(found: Grammar, tool: Tool) -> Iterator[Reply]:
    for seed in range(2):
        model = RandomModel(BYTES.size, seed=seed)
        out = generate(model.next_logits, BYTES, [], grammar=found.source, max_tokens=6000, seed=seed)
        text = b"".join(map(BYTES.bytes_of, out))
        assert takes(found, text.decode())
        yield found.dialect.decode(text, tools=(tool,))


def test_what_fits_a_bounded_schema_fits_the_schema() -> None:
    schema = bounded({"type": "object", "properties": {"a": {"type": "number"}, "b": {"items": {"minimum": 3}}}})
    assert schema["additionalProperties"] is False
    assert schema["properties"] == {
        "a": {"type": "number", "minimum": -(10**18), "maximum": 10**18},
        "b": {
            "items": {"minimum": 3, "maximum": 10**18},
            "minimum": -(10**18),
            "maximum": 10**18,
        },
    }
    united: JsonObject = {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}
    assert "additionalProperties" not in str(bounded(united))


def test_a_format_without_a_grammar_says_so() -> None:
    with pytest.raises(UsageError, match="gemma4"):
        grammar_of(text_or_api("gemma4"), Request(messages=()), refuses=lambda source: "")


def test_a_tool_whose_name_a_format_can_not_say_is_left_out() -> None:
    odd = Tool(name="2fa")
    found = grammar("lfm2", asked("required", tools=(odd, PING)))
    assert [(one.tool, one.kept) for one in found.loose] == [("2fa", "none")]
    assert takes(found, "<|tool_call_start|>[ping()]<|tool_call_end|>")
    with pytest.raises(UsageError, match="lfm2"):
        grammar("lfm2", asked("required", tools=(odd,)))
    assert grammar("hermes", asked("required", tools=(odd,))).loose == ()
