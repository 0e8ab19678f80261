"""What a model is told of a function: the schema a careful person would write by hand; and how arguments come back."""

import dataclasses
import datetime
import enum
import functools
import pathlib
import subprocess
import sys
import typing
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple

import pytest
import typing_extensions
from pydantic import BaseModel, Field, field_validator

from actum.core.attachment import Audio, File, Image
from actum.core.call import MediaPart, Problem, ToolCall
from actum.core.errors import BadTool, InvalidArguments
from actum.core.interfaces import Context
from actum.core.json import Json, JsonObject
from actum.schema.schema import compile_schema
from actum.schema.signature import describe

pytestmark = pytest.mark.row("T1")


def context(attachments: dict[str, MediaPart] | None = None) -> Context:
    call = ToolCall("1", "f", {})
    return Context(
        run_id="r", call=call, key="", attempt=1, principal="", deps=None, attachments=attachments or {}, progress=None
    )


def bind(
    function: Callable[..., object], arguments: JsonObject, attachments: dict[str, MediaPart] | None = None
) -> object:
    """What the function gets for arguments that its schema allows."""
    signature = describe(function)
    assert not compile_schema(signature.parameters, where="f").check(arguments).problems
    return signature.bind(arguments, context(attachments))


# By hand. -------------------------------------------------------------------------------------------------------------


class Unit(enum.Enum):
    CELSIUS = "celsius"
    FAHRENHEIT = "fahrenheit"


class Address(BaseModel):
    """Where somebody lives."""

    street: str = Field(description="Street and number")
    zip: str = Field(pattern=r"^\d{5}$")
    title: str | None = None


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


class Options(typing.TypedDict, total=False):
    depth: typing.Required[int]
    follow: bool


class Span(typing_extensions.TypedDict):
    start: datetime.date


class Pair(NamedTuple):
    key: str
    value: int = 0


class Node(BaseModel):
    name: str
    children: list["Node"] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


def weather(city: str, days: int = 1, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Look up the weather.

    Args:
        city: The city's name,
            in its own language.
        days: How many days ahead.
    """
    return f"{city}{days}{unit}"


def book(
    name: str, when: datetime.datetime, *, day: datetime.date | None = None, price: Decimal, ids: set[uuid.UUID]
) -> None:
    """Book a table.

    Parameters
    ----------
    name : str
        On whose name.
    when : datetime
        At what time.
    """


def move(unit: Unit, to: Point, home: Address, path: pathlib.Path = pathlib.Path("/tmp")) -> None:
    """Move.

    :param unit: Which scale.
    :param to: The goal.
    """


def search(
    words: list[str],
    limit: Annotated[int, Field(ge=1, le=50, description="At most so many")] = 10,
    near: Annotated[str, "A place"] = "",
    filters: dict[str, list[int]] | None = None,
    options: Options | None = None,
) -> list[str]:
    """Search."""
    return words


def draw(tree: Node, spans: list[Span], pair: Pair, pet: Annotated[Cat | Dog, Field(discriminator="kind")]) -> None:
    """Draw."""


def compare(first: Point, second: Point, ctx: Context, scale: float | None = None) -> bool:
    """Compare two points."""
    return first == second


def anything(value, other: Any = None, wrong: int = None, odd: float = float("nan"), **more: int) -> None:  # type: ignore[no-untyped-def, assignment] # noqa: ANN001, ANN401, RUF013
    """Take anything."""


def 天气(城市: str) -> str:  # noqa: N802, N803  # any language will do
    """查询天气。

    Args:
        城市: 城市名
    """
    return 城市


def show(plan: Image, notes: list[File], voice: Audio | None = None) -> None:
    """Show it.

    Args:
        plan: The plan.
    """


def nothing() -> None:
    """Do nothing."""


POINT: JsonObject = {
    "type": "object",
    "properties": {"x": {"type": "number"}, "y": {"type": "number", "default": 0.0}},
    "required": ["x"],
}
HANDLE = "Pass the handle of an attachment, such as att_1."

BY_HAND: dict[Callable[..., object], JsonObject] = {
    weather: {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "The city's name, in its own language."},
            "days": {"type": "integer", "description": "How many days ahead.", "default": 1},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
        },
        "required": ["city"],
        "additionalProperties": False,
    },
    book: {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "On whose name."},
            "when": {"type": "string", "format": "date-time", "description": "At what time."},
            "day": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "default": None},
            "price": {"anyOf": [{"type": "number"}, {"type": "string"}]},
            "ids": {"type": "array", "items": {"type": "string", "format": "uuid"}, "uniqueItems": True},
        },
        "required": ["name", "when", "price", "ids"],
        "additionalProperties": False,
    },
    move: {
        "type": "object",
        "properties": {
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "description": "Which scale."},
            "to": {**POINT, "description": "The goal."},
            "home": {
                "type": "object",
                "description": "Where somebody lives.",
                "properties": {
                    "street": {"type": "string", "description": "Street and number"},
                    "zip": {"type": "string", "pattern": r"^\d{5}$"},
                    "title": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
                },
                "required": ["street", "zip"],
            },
            "path": {"type": "string", "format": "path", "default": "/tmp"},
        },
        "required": ["unit", "to", "home"],
        "additionalProperties": False,
    },
    search: {
        "type": "object",
        "properties": {
            "words": {"type": "array", "items": {"type": "string"}},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50, "description": "At most so many", "default": 10},
            "near": {"type": "string", "description": "A place", "default": ""},
            "filters": {
                "anyOf": [
                    {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}},
                    {"type": "null"},
                ],
                "default": None,
            },
            "options": {
                "anyOf": [
                    {
                        "type": "object",
                        "properties": {"depth": {"type": "integer"}, "follow": {"type": "boolean"}},
                        "required": ["depth"],
                    },
                    {"type": "null"},
                ],
                "default": None,
            },
        },
        "required": ["words"],
        "additionalProperties": False,
    },
    draw: {
        "type": "object",
        "properties": {
            "tree": {"$ref": "#/$defs/Node"},
            "spans": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"start": {"type": "string", "format": "date"}},
                    "required": ["start"],
                },
            },
            "pair": {
                "type": "array",
                "prefixItems": [{"type": "string"}, {"type": "integer", "default": 0}],
                "minItems": 1,
                "maxItems": 2,
            },
            "pet": {
                "oneOf": [
                    {
                        "type": "object",
                        "properties": {"kind": {"type": "string", "const": "cat"}, "lives": {"type": "integer"}},
                        "required": ["kind", "lives"],
                    },
                    {
                        "type": "object",
                        "properties": {"kind": {"type": "string", "const": "dog"}, "name": {"type": "string"}},
                        "required": ["kind", "name"],
                    },
                ]
            },
        },
        "required": ["tree", "spans", "pair", "pet"],
        "additionalProperties": False,
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}, "default": []},
                },
                "required": ["name"],
            }
        },
    },
    compare: {
        "type": "object",
        "properties": {
            "first": {"$ref": "#/$defs/Point"},
            "second": {"$ref": "#/$defs/Point"},
            "scale": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
        },
        "required": ["first", "second"],
        "additionalProperties": False,
        "$defs": {"Point": POINT},
    },
    anything: {
        "type": "object",
        "properties": {
            "value": {},
            "other": {"default": None},
            "wrong": {"type": "integer"},
            "odd": {"type": "number"},
        },
        "required": ["value"],
        "additionalProperties": {"type": "integer"},
    },
    天气: {
        "type": "object",
        "properties": {"城市": {"type": "string", "description": "城市名"}},
        "required": ["城市"],
        "additionalProperties": False,
    },
    show: {
        "type": "object",
        "properties": {
            "plan": {"type": "string", "description": f"The plan. {HANDLE}"},
            "notes": {"type": "array", "items": {"type": "string"}, "description": HANDLE},
            "voice": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": HANDLE, "default": None},
        },
        "required": ["plan", "notes"],
        "additionalProperties": False,
    },
    nothing: {"type": "object", "properties": {}, "additionalProperties": False},
}


@pytest.mark.parametrize("function", BY_HAND, ids=lambda function: function.__name__)
def test_the_schema_is_what_a_careful_person_would_write_by_hand(function: Callable[..., object]) -> None:
    assert describe(function).parameters == BY_HAND[function]


@pytest.mark.parametrize("function", BY_HAND, ids=lambda function: function.__name__)
def test_every_schema_that_is_made_compiles(function: Callable[..., object]) -> None:
    compile_schema(describe(function).parameters, where="f")


def test_types_and_descriptions_stand_first_and_defaults_last() -> None:
    days = describe(weather).parameters["properties"]["days"]  # type: ignore[index, call-overload]
    assert list(days) == ["type", "description", "default"]  # type: ignore[arg-type]


# Name, description, result. -------------------------------------------------------------------------------------------


def test_name_and_description_come_from_the_function_unless_they_are_said() -> None:
    assert (describe(weather).name, describe(weather).description) == ("weather", "Look up the weather.")
    said = describe(weather, name="get_weather", description="")
    assert (said.name, said.description) == ("get_weather", "")


def test_the_whole_text_of_a_docstring_is_the_description_and_its_sections_are_not() -> None:
    def plain() -> None:
        """Do it.

        Use it when: it has to be done.
        """

    def sectioned(a: int) -> int:
        """Do it.

        Use it when it has to be done.

        Args:
            a: what
        Returns:
            a number
        Raises:
            ValueError: never
        """
        return a

    assert describe(plain).description == "Do it.\n\nUse it when: it has to be done."
    assert describe(sectioned).description == "Do it.\n\nUse it when it has to be done."


def test_a_structured_result_has_a_schema_and_text_has_none() -> None:
    assert describe(compare).result == {"type": "boolean"}
    assert describe(weather).result is None
    assert describe(nothing).result is None

    def where() -> list[Point]:
        """Tell."""
        return []

    assert describe(where).result == {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"x": {"type": "number"}, "y": {"type": "number", "default": 0.0}},
            "required": ["x"],
        },
    }


def test_a_generator_has_no_result_schema_and_pydantic_is_not_asked() -> None:
    def count() -> Iterator[int]:
        """Count."""
        yield 1

    async def count_later() -> AsyncIterator[dict[str, int]]:
        """Count."""
        yield {"n": 1}

    assert describe(count).result is None
    assert describe(count_later).result is None


def test_defaults_stand_in_the_schema_where_json_can_say_them() -> None:
    def f(
        a: list[int] = [1, 2],  # noqa: B006
        b: object = (1, 2),
        c: Unit = Unit.FAHRENHEIT,
        d: object = object(),
        e: datetime.date = datetime.date(2026, 11, 20),
        g: Point = Point(1.0),  # noqa: B008
        h: Unit = "celsius",  # type: ignore[assignment]
    ) -> None:
        """Do."""

    properties = describe(f).parameters["properties"]
    assert isinstance(properties, dict)
    defaults = {
        name: part["default"] for name, part in properties.items() if isinstance(part, dict) and "default" in part
    }
    assert defaults == {
        "a": [1, 2],
        "b": [1, 2],
        "c": "fahrenheit",
        "e": "2026-11-20",
        "g": {"x": 1.0, "y": 0.0},
        "h": "celsius",
    }


# What can be a function. ----------------------------------------------------------------------------------------------


class Desk:
    def __init__(self, number: int) -> None:
        self.number = number

    def ring(self, times: int) -> int:
        """Ring the bell."""
        return self.number * times

    def __call__(self, guest: str) -> str:
        """Call a guest."""
        return guest


def test_methods_partials_and_objects_that_can_be_called_are_described() -> None:
    assert list(describe(Desk(1).ring).parameters["properties"]) == ["times"]  # type: ignore[arg-type]
    assert list(describe(Desk.ring, receiver=True).parameters["properties"]) == ["times"]  # type: ignore[arg-type]
    assert describe(Desk(1), name="desk").description == "Call a guest."
    assert describe(Desk(1)).name == "Desk"
    partial = describe(functools.partial(weather, days=2))
    assert partial.name == "weather"
    assert partial.parameters["required"] == ["city"]


def test_a_decorated_function_is_described_as_it_was_written() -> None:
    @functools.wraps(weather)
    def timed(*args: object, **kwargs: object) -> object:
        return None

    assert describe(timed).parameters == describe(weather).parameters


def _star(*values: int) -> None: ...
def _slash(a: int, /) -> None: ...
def _field(a: int = Field(default=3)) -> None: ...
def _callback(a: Callable[[int], int]) -> None: ...
def _socket(a: subprocess.Popen[bytes]) -> None: ...
def _unknown(a: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821
def _broken(a: "Unit.KELVIN") -> None: ...  # type: ignore[name-defined]


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (_star, r"\*values has no name for a value: write `values: list\[\.\.\.\]`"),
        (_slash, r"'a' can't be given by name: leave out the `/`"),
        (_field, r"'a' has Field\(\.\.\.\) for its default: write `a: Annotated\[type, Field\(\.\.\.\)\]`"),
        (_callback, r"a: the type .* can't be said in JSON"),
        (_socket, r"a: the type .*Popen.* can't be said in JSON"),
        (_unknown, r"the annotation 'Nowhere' is not known at run time"),
        (_broken, r"an annotation can't be read"),
        (type("Odd", (), {"__call__": dict.fromkeys, "__name__": "odd"})(), r"no signature"),
    ],
)
def test_what_a_model_could_not_call_is_refused_with_what_to_write(function: Callable[..., object], told: str) -> None:
    with pytest.raises(BadTool, match=rf"^tool '\w+': .*{told}") as caught:
        describe(function)
    assert "\n" not in str(caught.value)
    assert "http" not in str(caught.value)


# What a model is not told. --------------------------------------------------------------------------------------------


def test_what_a_description_lacks_is_said_with_what_to_write() -> None:
    def half(a: int, b, c: str) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
        """
        Args:
            a: a number
            d: long gone
        """

    signature = describe(half)
    assert [text.split(":")[0] for text in signature.warnings] == [
        "tool 'half' has no description",
        "parameter 'b' of tool 'half' has no description",
        "parameter 'c' of tool 'half' has no description",
        "parameter 'b' of tool 'half' has no type",
        "the docstring of tool 'half' tells of 'd', which is no parameter",
    ]
    assert all("write" in text or "mend" in text for text in signature.warnings)
    assert signature.untyped == ("parameter 'b' of tool 'half' has no type: write `b: str`, or what else it is",)
    assert describe(天气).warnings == ()


def test_a_summary_over_two_lines_stays_one_paragraph() -> None:
    def wrapped(a: int) -> None:
        """Look up a very long thing in a very large book, and
        say where it stands.

        It is slow.

        Args:
            a: the number of the thing
        """

    assert describe(wrapped).description == (
        "Look up a very long thing in a very large book, and\nsay where it stands.\n\nIt is slow."
    )


def test_a_description_of_a_word_or_two_says_too_little() -> None:
    def tool_of(text: str) -> tuple[str, ...]:
        def f() -> None: ...

        f.__doc__ = text
        return describe(f).warnings

    for poor in ("Do.", "TODO", "do it", "Does stuff!", "做"):
        (warning,) = tool_of(poor)
        assert warning.startswith(f"the description of tool 'f' says too little, {poor!r}: write a sentence"), poor
    for enough in ("Add two numbers.", "查询一个城市的天气。", "ค้นหาเมือง", "Send the mail"):
        assert tool_of(enough) == (), enough


def test_describing_a_plain_function_loads_neither_pydantic_nor_a_docstring_parser() -> None:
    code = """
import sys
from actum.schema.signature import describe
def add(a: int, b: list[str] | None = None) -> dict[str, int]:
    '''Add: two numbers.'''
assert describe(add).result
print([name for name in ("pydantic", "docstring_parser", "griffe") if name in sys.modules])
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


# Arguments on their way to the function. ------------------------------------------------------------------------------


def test_plain_arguments_go_through_as_the_same_object() -> None:
    arguments: JsonObject = {"city": "Paris", "days": 2}
    assert describe(weather).bind(arguments, context()) is arguments


def test_arguments_become_what_the_annotations_say() -> None:
    when = "2026-11-20T14:30:00"
    assert bind(book, {"name": "Ann", "when": when, "price": "2.50", "ids": [str(uuid.UUID(int=7))]}) == {
        "name": "Ann",
        "when": datetime.datetime(2026, 11, 20, 14, 30),  # noqa: DTZ001
        "price": Decimal("2.50"),
        "ids": {uuid.UUID(int=7)},
    }
    home: Json = {"street": "A 1", "zip": "02134"}
    assert bind(move, {"unit": "celsius", "to": {"x": 1}, "home": home, "path": "/a"}) == {
        "unit": Unit.CELSIUS,
        "to": Point(1.0),
        "home": Address(street="A 1", zip="02134"),
        "path": pathlib.Path("/a"),
    }
    tree: Json = {"name": "a", "children": [{"name": "b"}]}
    pet: Json = {"kind": "dog", "name": "Rex"}
    assert bind(draw, {"tree": tree, "spans": [{"start": "2026-11-20"}], "pair": ["k"], "pet": pet}) == {
        "tree": Node(name="a", children=[Node(name="b")]),
        "spans": [{"start": datetime.date(2026, 11, 20)}],
        "pair": Pair("k"),
        "pet": Dog(kind="dog", name="Rex"),
    }


def test_defaults_are_left_to_the_function() -> None:
    assert bind(search, {"words": []}) == {"words": []}


def test_a_whole_number_written_as_a_float_arrives_as_an_int() -> None:
    arguments: JsonObject = {"city": "Paris", "days": 2.0}
    bound = describe(weather).bind(arguments, context())
    assert repr(bound["days"]) == "2"
    assert repr(arguments["days"]) == "2.0"


def test_the_context_is_given_and_can_not_be_passed_by_a_model() -> None:
    given = context()
    bound = describe(compare).bind({"first": {"x": 1}, "second": {"x": 2}}, given)
    assert bound["ctx"] is given
    assert compile_schema(describe(compare).parameters, where="f").check({"ctx": {}}).problems

    def open_end(ctx: Context | None = None, **rest: float) -> None:
        """Take all."""

    assert describe(open_end).bind({"ctx": 1, "a": 1}, given) == {"ctx": given, "a": 1}


def test_further_keyword_arguments_are_read_by_their_type() -> None:
    def measure(**sizes: Point) -> None:
        """Measure."""

    assert bind(measure, {"a": {"x": 1}}) == {"a": Point(1.0)}


class Even(BaseModel):
    n: int
    tags: dict[str, list[int | Point]] = {}

    @field_validator("n")
    @classmethod
    def check(cls, n: int) -> int:
        if n % 2:
            raise ValueError("secret of the tool")
        return n


def test_what_the_type_refuses_though_the_schema_allows_it_is_told_without_foreign_text() -> None:
    def take(e: Even) -> None:
        """Take."""

    with pytest.raises(InvalidArguments) as caught:
        describe(take).bind({"e": {"n": 3}}, context())
    assert caught.value.problems == (Problem("e.n", "value_error", "a value that the tool accepts", "3 (integer)"),)
    with pytest.raises(InvalidArguments) as caught:
        describe(take).bind({"e": {"n": 2, "tags": {"a": [{"x": "?"}]}}}, context())
    assert {problem.path for problem in caught.value.problems} == {"e.tags.a[0]", "e.tags.a[0].x"}
    assert "pydantic" not in caught.value.message
    assert "http" not in caught.value.message


def test_attachments_are_filled_in_by_their_handles() -> None:
    attached = {"att_1": MediaPart("image/png", data=b"p", name="p.png"), "att_2": MediaPart("audio/wav", data=b"w")}
    signature = describe(show)
    bound = signature.bind({"plan": "att_1", "notes": ["att_1", "att_2"], "voice": "att_2"}, context(attached))
    assert {name: type(value) for name, value in bound.items()} == {"plan": Image, "notes": list, "voice": Audio}
    assert repr(bound["notes"]) == (
        "[File(1 bytes, media_type='image/png', name='p.png'), File(1 bytes, media_type='audio/wav', name='')]"
    )
    assert signature.bind({"plan": "att_1", "notes": [], "voice": None}, context(attached))["voice"] is None


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            {"plan": "att_9"},
            Problem("plan", "attachment", "the handle of an attached image: att_1", '"att_9" (string)'),
        ),
        (
            {"plan": "att_2"},
            Problem("plan", "attachment", "the handle of an attached image: att_1", '"att_2" (string)'),
        ),
        (
            {"notes": ["x"]},
            Problem("notes", "attachment", "the handle of an attached file: att_1, att_2", '"x" (string)'),
        ),
    ],
)
def test_a_wrong_handle_is_told_with_the_handles_there_are(arguments: JsonObject, problem: Problem) -> None:
    attached = {"att_1": MediaPart("image/png"), "att_2": MediaPart("audio/wav")}
    with pytest.raises(InvalidArguments) as caught:
        describe(show).bind(arguments, context(attached))
    assert caught.value.problems == (problem,)


def test_annotations_written_as_text_are_understood() -> None:
    def late(a: "int | None", b: "list['Point']", c: list["Unit"]) -> "dict[str, int]":
        """Come late."""
        return {}

    signature = describe(late)
    assert signature.parameters["properties"]["a"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}  # type: ignore[index, call-overload]
    assert signature.result == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert bind(late, {"a": None, "b": [{"x": 1}], "c": ["celsius"]}) == {
        "a": None,
        "b": [Point(1.0)],
        "c": [Unit.CELSIUS],
    }
