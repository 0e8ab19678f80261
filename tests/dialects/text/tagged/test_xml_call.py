"""What a tag may say beside its value: types, wrappers around all arguments, sections."""

from __future__ import annotations

from actum.core.json import JsonObject
from actum.core.tool import Tool
from actum.dialects.catalog import text_dialect

DSML = "｜DSML｜ "
CITY: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
SPEAKS: JsonObject = {"type": "object", "properties": {"arguments": {"type": "object"}}}


def read(parameters: str, schema: JsonObject = CITY) -> tuple[JsonObject, bool, tuple[str, ...]]:
    text = f'<{DSML}calls>\n<{DSML}invoke name="f">\n{parameters}</{DSML}invoke>\n</{DSML}calls>'
    (call,) = text_dialect("deepseek_v4_1").decode(text, tools=[Tool(name="f", parameters=schema)]).calls
    return call.arguments, call.complete, call.repairs


def parameter(key: str, value: str, *, string: bool) -> str:
    return f'<{DSML}parameter name="{key}" string="{str(string).lower()}">{value}</{DSML}parameter>\n'


def test_null_is_null_where_the_tag_says_that_the_value_is_no_string() -> None:
    assert read(parameter("city", "null", string=False))[0] == {"city": None}
    assert read(parameter("city", "null", string=True))[0] == {"city": "null"}
    assert read(parameter("days", "null", string=False))[0] == {"days": None}
    assert read(parameter("other", "null", string=False))[0] == {"other": None}


def test_a_wrapper_around_all_arguments_is_opened_and_put_on_record() -> None:
    for name in ("arguments", "input"):
        arguments, complete, repairs = read(parameter(name, '{"city": "Oslo", "days": 3}', string=False))
        assert (arguments, complete) == ({"city": "Oslo", "days": 3}, True)
        assert repairs == (f"took the arguments out of {name!r}",)


def test_a_parameter_of_the_tool_is_no_wrapper() -> None:
    assert read(parameter("arguments", '{"a": 1}', string=False), SPEAKS) == ({"arguments": {"a": 1}}, True, ())


def test_a_wrapper_that_holds_no_object_is_a_parameter_that_the_tool_lacks() -> None:
    assert read(parameter("input", "Oslo", string=True))[0] == {"input": "Oslo"}


def test_a_wrapper_that_says_a_parameter_twice_makes_no_complete_call() -> None:
    twice = parameter("city", "Oslo", string=True) + parameter("arguments", '{"city": "Rome"}', string=False)
    arguments, complete, _ = read(twice)
    assert (arguments, complete) == ({}, False)
