"""The words in which the text dialects tell a model about tools, rules and results, in English and in Chinese.

The reader is a model, often a small one. So: short sentences, one rule a line, the form shown and not described.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from ...core.json import Json, JsonObject, dumps
from ...core.message import Message, UserMessage
from ...core.model import Request
from ...core.tool import AllowedTools, NamedTool, Tool

Language = Literal["en", "zh"]

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]")
_KANA = re.compile(r"[\u3041-\u30ff]")


class DialectPhrases(Struct, frozen=True, kw_only=True):
    """All phrases that both dialects share, in one language. Words in braces are filled in."""

    colon: str
    comma: str
    required: str
    one_of: str
    default: str
    list_of: str
    either: str
    no_parameters: str
    parameters: str
    schema: str
    choice_none: str
    choice_required: str
    choice_named: str
    choice_allowed: str
    one_call: str
    output: str


WORDING: dict[Language, DialectPhrases] = {
    "en": DialectPhrases(
        colon=": ",
        comma=", ",
        required="required",
        one_of="one of {values}",
        default="default {value}",
        list_of="list of {kind}",
        either=" or ",
        no_parameters="No parameters.",
        parameters="Parameters:",
        schema="Parameters, as JSON Schema: {schema}",
        choice_none="Do not use a tool this time. Answer with what you know.",
        choice_required="This time you must use at least one tool before you answer.",
        choice_named="This time you must use the tool {name}.",
        choice_allowed="This time use only these tools: {names}.",
        one_call="Use one tool at a time: one call in a reply.",
        output="Give your final answer as JSON alone that fits this JSON Schema: {schema}",
    ),
    "zh": DialectPhrases(
        colon="：",
        comma="，",
        required="必填",
        one_of="可选值：{values}",
        default="默认 {value}",
        list_of="{kind} 列表",
        either=" 或 ",
        no_parameters="没有参数。",
        parameters="参数：",
        schema="参数（JSON Schema）：{schema}",
        choice_none="这一次不要使用工具，直接回答。",
        choice_required="这一次必须先使用至少一个工具，再回答。",
        choice_named="这一次必须使用工具 {name}。",
        choice_allowed="这一次只能使用这些工具：{names}。",
        one_call="每次回复最多调用一个工具。",
        output="最终的回答只输出 JSON，并符合这个 JSON Schema：{schema}",
    ),
}


def has_han(text: str) -> bool:
    """It is Chinese: Han characters, and no Japanese kana among them."""
    return _HAN.search(text) is not None and _KANA.search(text) is None


def language_of(messages: Iterable[Message]) -> Language:
    """Chinese when the first message of the user is."""
    first = next((message for message in messages if isinstance(message, UserMessage)), None)
    return "zh" if first is not None and has_han(first.text) else "en"


def describe_tools(tools: Sequence[Tool], language: Language) -> str:
    """Each tool with its name, what it does, and its parameters."""
    return "\n\n".join(_describe_tool(tool, WORDING[language]) for tool in tools)


def describe_wishes(request: Request, language: Language) -> list[str]:
    """What a request asks beyond its tools, a sentence each: tool choice, one call at a time, form of the answer."""
    words = WORDING[language]
    said = []
    match request.tool_choice:
        case "none":
            said.append(words.choice_none)
        case "required":
            said.append(words.choice_required)
        case NamedTool(name):
            said.append(words.choice_named.format(name=name))
        case AllowedTools(names, mode):
            said.append(words.choice_allowed.format(names=", ".join(names)))
            if mode == "required":
                said.append(words.choice_required)
        case "auto":
            pass
    if request.parallel_calls is False and request.tool_choice != "none":
        said.append(words.one_call)
    if (schema := request.untold_schema) is not None:
        said.append(words.output.format(schema=dumps(schema)))
    return said


def _describe_tool(tool: Tool, words: DialectPhrases) -> str:
    lines = [tool.name + (words.colon + " ".join(tool.description.split()) if tool.description else "")]
    schemas = tool.property_schemas()
    if not schemas:
        lines.append(words.no_parameters)
    elif all(_is_flat(schema) for schema in schemas.values()):
        lines.append(words.parameters)
        lines += [_describe_parameter(name, schema, name in tool.required(), words) for name, schema in schemas.items()]
    else:
        lines.append(words.schema.format(schema=dumps(tool.parameters)))
    return "\n".join(lines)


def _describe_parameter(name: str, schema: JsonObject, required: bool, words: DialectPhrases) -> str:
    """`- city (string, required): Name of the city`."""
    facts = [kind for kind in [_kind(schema, words)] if kind]
    if required:
        facts.append(words.required)
    values = schema.get("enum")
    if isinstance(values, list):
        facts.append(words.one_of.format(values=words.comma.join(dumps(value) for value in values)))
    if schema.get("default") is not None:
        facts.append(words.default.format(value=dumps(schema["default"])))
    description = schema.get("description")
    tail = words.colon + " ".join(description.split()) if isinstance(description, str) and description else ""
    opening, closing = ("（", "）") if words.colon == "：" else (" (", ")")
    return f"- {name}{opening}{words.comma.join(facts)}{closing}{tail}" if facts else f"- {name}{tail}"


def _is_flat(schema: Json) -> bool:
    """It can be told in a line: no object with named parts, no reference."""
    if not isinstance(schema, dict):
        return True
    if any(key in schema for key in ("$ref", "properties", "allOf", "additionalProperties", "patternProperties")):
        return False
    unions = [option for key in ("anyOf", "oneOf") if isinstance(found := schema.get(key), list) for option in found]
    return all(_is_flat(part) for part in (*unions, schema.get("items")))


def _kind(schema: JsonObject, words: DialectPhrases) -> str:
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        if isinstance(options, list):
            kinds = [_kind(option, words) for option in options if isinstance(option, dict)]
            return words.either.join(dict.fromkeys(filter(None, kinds)))
    kind, items = schema.get("type"), schema.get("items")
    if isinstance(kind, list):
        return words.either.join(str(name) for name in kind)
    if kind == "array" and isinstance(items, dict) and _kind(items, words):
        return words.list_of.format(kind=_kind(items, words))
    form = schema.get("format")
    return f"{kind} {form}" if isinstance(kind, str) and isinstance(form, str) else str(kind or "")
