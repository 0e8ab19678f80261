"""A mandate out of what somebody says: read and checked, and how a model is asked for one. Pure.

A model is asked apart from its run. It is told the developer's instructions, the user's words, and of the tools that
may change something the names, parameters and, of tools that are not foreign, descriptions. It is told no result, no
earlier reply and no foreign description, so that nobody but the user and the developer can ask for anything. What is no
mandate is an empty one: then everything is a question.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct, structs

from ..core.errors import UsageError
from ..core.json import Json, JsonObject, dumps, parse
from ..core.message import Message, SystemMessage, UserMessage
from ..core.model import Request
from ..core.run.mandate import MandatedCall
from ..core.tool import Tool

CALLS_MAX = 200
BYTES_MAX = 65_536
DEPTH_MAX = 16
TITLE = "Mandate"
"""The title of the schema by which a model knows that it is asked for a mandate."""


class Mandate(Struct, frozen=True):
    """What a user's request empowers an agent to do.

    Attributes:
        calls: the calls that the request calls for.
    """

    calls: tuple[MandatedCall, ...] = ()

    @classmethod
    def of(cls, said: Mandate | Json | bytes) -> Mandate:
        """A mandate out of a value: `{"calls": [{"tool": "send_mail", "arguments": {"to": "ada@example.com"}}]}`.

        Args:
            said: the value, or its JSON, or a mandate.

        Raises:
            UsageError: the value is none: it has other fields, a key twice, a number that JSON can not hold, over
                `CALLS_MAX` calls, `BYTES_MAX` bytes, or is nested more than `DEPTH_MAX` deep.

        >>> Mandate.of({"calls": [{"tool": "send_mail"}]}).calls[0].arguments
        {}
        """
        try:
            text = said if isinstance(said, str | bytes) else _json(said)
            if len(text.encode() if isinstance(text, str) else text) > BYTES_MAX:
                raise UsageError("a mandate has at most {most} bytes", most=BYTES_MAX)
            found = msgspec.convert(parse(text)[0], _Written)
            depth = max([_depth(call.arguments) for call in found.calls], default=0)
        except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
            raise UsageError("this is no mandate: {why}", why=str(error)[:200]) from None
        if len(found.calls) > CALLS_MAX:
            raise UsageError("a mandate has at most {most} calls", most=CALLS_MAX)
        if depth > DEPTH_MAX:
            raise UsageError("the arguments of a mandate are nested at most {most} deep", most=DEPTH_MAX)
        return cls(tuple([MandatedCall(call.tool, call.arguments) for call in found.calls]))

    def checked(self, tools: Mapping[str, Tool]) -> Mandate:
        """The mandate, whose tools and arguments there are.

        Args:
            tools: the tools of the run by their names.

        Raises:
            UsageError: there is no such tool, or the tool has no such parameter.
        """
        for call in self.calls:
            tool = tools.get(call.tool)
            if tool is None:
                raise UsageError("the mandate names {tool!r}, and there is no such tool", tool=call.tool[:64])
            if other := sorted(call.arguments.keys() - tool.property_schemas().keys()):
                raise UsageError(
                    "the mandate names {name!r}, which is no parameter of {tool}", name=other[0][:64], tool=call.tool
                )
        return self


def _json(said: Mandate | Json) -> str:
    """The JSON of a value that Python code gives.

    Raises:
        TypeError, ValueError: JSON can not hold the value, as `NaN` and infinity.
    """
    plain = {"calls": list(map(structs.asdict, said.calls))} if isinstance(said, Mandate) else said
    return json.dumps(plain, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


class _WrittenCall(Struct, forbid_unknown_fields=True):
    tool: str
    arguments: JsonObject = {}


class _Written(Struct, forbid_unknown_fields=True):
    calls: list[_WrittenCall]


def _depth(value: Json) -> int:
    """How deep a value is nested; looked at level by level, since a value may be thousands deep."""
    level: list[Json] = [value]
    for depth in range(DEPTH_MAX + 2):
        level = [
            item
            for each in level
            if isinstance(each, dict | list)
            for item in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return depth
    return DEPTH_MAX + 1


_ASKS = """You write down what a user's request empowers an agent to do. You are given the agent's instructions, all
that the user has said, and the tools that may change something.

Answer with JSON alone: {"calls": [{"tool": ..., "arguments": {...}}]}.
- Name each tool that the user's words call for, and no other tool. Name none where the words call for none.
- Of the arguments write those that the user's words fix, as the tool takes them: a receiver, a day as 2025-01-31, an
  amount. Leave out an argument whose value has to be found out first, and every text that is still to be written.
- Where the user wants the same done several times, write a call for each."""


def is_asked(tool: Tool) -> bool:
    """Whether a model is told of a tool when it is asked for a mandate: the tool may change something."""
    return not tool.reads_only


def request_for(heard: Sequence[Message], instructions: Mapping[str, str], tools: Sequence[Tool]) -> Request:
    """What a model is asked for a mandate.

    Args:
        heard: the conversation. Only the words of the developer and of the user are told.
        instructions: as for `OriginIndex`.
        tools: of the run, and of the agents below.
    """
    rules = [instructions.get(each.text, each.text) for each in heard if isinstance(each, SystemMessage)]
    words = [each.text for each in heard if isinstance(each, UserMessage) and each.source == "user"]
    told: JsonObject = {
        "instructions": list(rules),
        "user_said": list(words),
        "tools": [_told(tool) for tool in tools if is_asked(tool)],
    }
    return Request(messages=(SystemMessage(_ASKS), UserMessage.of(dumps(told))), output_schema=_schema(tools), tools=())


def _told(tool: Tool) -> Json:
    described = {} if tool.foreign or tool.from_client else {"description": tool.description}
    parameters: JsonObject = {name: _shape(schema) for name, schema in tool.property_schemas().items()}
    return {"tool": tool.name, **described, "parameters": parameters if not tool.foreign else list(parameters)}


def _shape(schema: JsonObject) -> Json:
    """What a parameter takes, in the developer's own words."""
    return {name: schema[name] for name in ("type", "format", "enum", "items", "description") if name in schema}


def _schema(tools: Sequence[Tool]) -> JsonObject:
    names: list[Json] = [tool.name for tool in tools if is_asked(tool)]
    call: JsonObject = {
        "type": "object",
        "properties": {"tool": {"type": "string", "enum": names}, "arguments": {"type": "object"}},
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }
    return {
        "title": TITLE,
        "type": "object",
        "properties": {"calls": {"type": "array", "items": call, "maxItems": CALLS_MAX}},
        "required": ["calls"],
        "additionalProperties": False,
    }


def answered(text: str) -> str:
    """The JSON in a model's answer, which may stand between marks of a code block."""
    return text[text.find("{") : text.rfind("}") + 1]
