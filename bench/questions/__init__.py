"""An own set of everyday questions, Chinese and English, each with the calls that answer it, and the judge of answers.

It knows nothing of the model that is measured: the model gets a question, some tools and the present moment, and the
judge gets the calls and the text that came. Files: `questions.jsonl` (frozen; its first line gives the moment),
`tools.json` (30 tools; the everyday tools of actum come on top). `README.md` tells what it measures and what it is not.

How an expectation is written: `arguments` lists for each parameter the values that are right. Beside plain values:

    {"$absent": true}                       the parameter may as well be left out
    {"$has": [...], "$lacks": [...]}        free text with all of these words in it, and none of those
    {"$result": 391}                        an expression with this result
    an object or a list of objects          whose every value is again such a list

A parameter that is not listed must be left out; giving a default is the same as leaving the parameter out.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from itertools import permutations, product
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Meta, Struct

from actum.core.call import ToolCall
from actum.core.errors import ToolError
from actum.core.json import Json, JsonObject
from actum.core.tool import Tool
from actum.schema.schema import compile_schema
from actum.toolsets.everyday import everyday_tools
from actum.toolsets.everyday.calculator import calculate

Language = Literal["zh", "en"]
Choices = dict[str, Annotated[list[Json], Meta(min_length=1)]]
"""For each parameter the values that are right."""

HERE = Path(__file__).parent
ABSENT: JsonObject = {"$absent": True}


class ExpectedCall(Struct, frozen=True, forbid_unknown_fields=True):
    """A call that has to be made."""

    name: str
    arguments: Choices


class Question(Struct, frozen=True, forbid_unknown_fields=True):
    """A question and what a careful person would do about it.

    Attributes:
        id: language and number: `zh-017`.
        language: of the question.
        question: as a person types it.
        tools: the names of the tools that are offered.
        calls: the calls that have to be made, in any order. None together with no `ask`: nothing is to be called.
        ask: required parameters that the question leaves open, each with words by which a text asks for it. No call
            may be made, and the text must ask for one of them.
    """

    id: str
    language: Language
    question: str
    tools: tuple[str, ...]
    calls: tuple[ExpectedCall, ...] = ()
    ask: dict[str, tuple[str, ...]] = {}


class Moment(Struct, frozen=True, forbid_unknown_fields=True):
    """When all questions are asked: the same wall clock for all, in the time zone of each language."""

    now: datetime
    zones: dict[Language, str]


class Verdict(Struct, frozen=True):
    """Whether an answer is right, and if not, why."""

    ok: bool
    why: str = ""


def load() -> tuple[Question, ...]:
    """The questions, in the order of the file.

    Raises:
        ValueError: the set is not consistent; the message has a line for each problem.
    """
    questions = tuple(msgspec.json.decode(line, type=Question) for line in _lines()[1:])
    if problems := [problem for question in questions for problem in problems_of(question)]:
        raise ValueError("\n".join(problems))
    return questions


@cache
def tools() -> dict[str, Tool]:
    """All tools that questions may offer, by name: the 30 of `tools.json` and the everyday tools."""
    own = msgspec.json.decode((HERE / "tools.json").read_bytes(), type=list[Tool])
    return {tool.name: tool for tool in (*own, *(each.definition for each in everyday_tools()))}


def now(language: Language) -> datetime:
    """The moment at which the questions of a language are asked, with its time zone."""
    moment = msgspec.json.decode(_lines()[0], type=Moment)
    return moment.now.replace(tzinfo=ZoneInfo(moment.zones[language]))


def judge(question: Question, calls: Sequence[ToolCall], text: str) -> Verdict:
    """Whether these calls, or this text without a call, are what the question asks for.

    Args:
        question: of this set.
        calls: what the model wants called, in any order.
        text: what it said; looked at only where it should have asked back.
    """
    if len(calls) != len(question.calls):
        told = ", ".join(call.name for call in calls) or "none"
        return Verdict(False, f"{len(question.calls)} calls were expected, {len(calls)} came: {told}")
    if question.ask:
        asked = any(_plain(word) in _plain(text) for word in _asking_words(question.ask))
        return Verdict(asked, "" if asked else f"it does not ask for {' or '.join(question.ask)}: {text[:80]!r}")
    faults = [[_fault(expected, call) for call in calls] for expected in question.calls]
    if any(not any(faults[i][j] for i, j in enumerate(order)) for order in permutations(range(len(calls)))):
        return Verdict(True)
    return Verdict(
        False, "; ".join(min(row, key=_is_another_tool) for row in faults if all(row)) or "a call came twice"
    )


def _asking_words(ask: dict[str, tuple[str, ...]]) -> Iterator[str]:
    for name, words in ask.items():
        yield from (name, name.replace("_", " "), *words)


def _is_another_tool(fault: str) -> bool:
    return fault.startswith("not ")


def _fault(expected: ExpectedCall, call: ToolCall) -> str:
    """What is wrong with a call; empty when it is the expected one."""
    if call.name != expected.name:
        return f"not {expected.name} but {call.name}"
    return _fault_of_object(call.arguments, expected.arguments, tools()[call.name].parameters)


def _fault_of_object(came: JsonObject, choices: Choices, schema: JsonObject) -> str:
    properties = _properties(schema)
    came = {name: each["default"] for name, each in properties.items() if "default" in each} | came
    for name, choice in choices.items():
        if name not in came and ABSENT not in choice:
            return f"{name} is missing"
        if name in came and not any(_fits(came[name], value, properties[name]) for value in choice):
            return f"{name} is {_told(came[name])}, not {' or '.join(map(_told, choice))}"
    for name, value in came.items():
        if name not in choices and (name not in properties or not _fits(value, ABSENT, properties[name])):
            return f"{name} was not asked for: {_told(value)}"
    return ""


def _fits(came: Json, wanted: Json, schema: JsonObject) -> bool:
    match wanted:
        case {"$absent": True}:
            return came == schema.get("default", ABSENT)
        case {"$has": list(words), "$lacks": list(others)}:
            text = _plain(came) if isinstance(came, str) else ""
            return all(_plain(str(word)) in text for word in words) and not any(_plain(str(o)) in text for o in others)
        case {"$result": number}:
            return _result(came) == number
        case dict():
            return isinstance(came, dict) and not _fault_of_object(came, _choices(wanted), schema)
        case list():
            return isinstance(came, list) and _fits_list(came, wanted, schema)
        case str():
            return isinstance(came, str) and (_plain(came) == _plain(wanted) or _moment(came, wanted, schema))
        case _:
            return isinstance(came, bool) == isinstance(wanted, bool) and came == wanted


def _fits_list(came: list[Json], wanted: list[Json], schema: JsonObject) -> bool:
    """In the same order, or in any where the schema says that no item comes twice."""
    items = schema.get("items")
    inner = items if isinstance(items, dict) else {}
    orders = permutations(came) if schema.get("uniqueItems") is True else iter([tuple(came)])
    if len(came) != len(wanted):
        return False
    return any(all(_fits(c, w, inner) for c, w in zip(order, wanted, strict=True)) for order in orders)


def _moment(came: str, wanted: str, schema: JsonObject) -> bool:
    """Two ways to write the same date and time; a time zone is not asked for anywhere and so not right."""
    if schema.get("format") != "date-time":
        return False
    try:
        return datetime.fromisoformat(came) == datetime.fromisoformat(wanted)
    except ValueError:
        return False


def _result(expression: Json) -> object:
    try:
        return calculate(expression)["result"] if isinstance(expression, str) else None
    except ToolError:
        return None


def _plain(text: str) -> str:
    """Text without what does not matter: case, width, white space, punctuation at its ends."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(folded.split()).strip(".,;:!?'\"。、「」《》“”‘’")


# What the file says, looked at before it is used. -------------------------------------------------------------------


@cache
def _lines() -> tuple[bytes, ...]:
    return tuple((HERE / "questions.jsonl").read_bytes().splitlines())


def problems_of(question: Question) -> Iterator[str]:
    """What a careful reader would complain of: tools that are not there, expectations that no schema allows."""
    offered = {name: tools()[name] for name in question.tools if name in tools()}
    yield from (f"{question.id}: there is no tool {name}" for name in question.tools if name not in offered)
    required = {name for tool in offered.values() for name in tool.required()}
    yield from (f"{question.id}: nothing requires {name}" for name in question.ask if name not in required)
    if question.calls and question.ask:
        yield f"{question.id}: either calls or a question back"
    for call in question.calls:
        if call.name not in offered:
            yield f"{question.id}: {call.name} is not offered"
            continue
        schema = compile_schema(offered[call.name].parameters, where=call.name)
        names = offered[call.name].property_schemas()
        for arguments in right_arguments(call.arguments):
            told = [f"{problem.path}: {problem.expected}" for problem in schema.check(arguments, coerce=False).problems]
            told += [f"{name} is no parameter" for name in arguments if name not in names]
            yield from (f"{question.id}: {call.name}: {each}" for each in told)


def right_arguments(choices: Choices) -> Iterator[JsonObject]:
    """Arguments that the judge lets pass: each choice of each parameter once, with the first choice of the others."""
    first = {name: next(_values(choice[0])) for name, choice in choices.items() if choice[0] != ABSENT}
    yield first
    for name, choice in choices.items():
        yield from (first | {name: value} for each in choice if each != ABSENT for value in _values(each))
        if ABSENT in choice:
            yield {key: value for key, value in first.items() if key != name}


def _values(choice: Json) -> Iterator[Json]:
    """Values that this choice lets pass: one for each way in which it can be read."""
    match choice:
        case {"$has": list(words), "$lacks": list()}:
            yield " ".join(map(str, words))
        case {"$result": number}:
            yield str(number)
        case dict():
            yield from right_arguments(_choices(choice))
        case list():
            yield from map(list, product(*map(_values, choice)))
        case _:
            yield choice


def _choices(value: JsonObject) -> Choices:
    return {name: _list(choice) for name, choice in value.items()}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _properties(schema: JsonObject) -> dict[str, JsonObject]:
    found = schema.get("properties")
    return {name: each for name, each in found.items() if isinstance(each, dict)} if isinstance(found, dict) else {}


def _told(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
