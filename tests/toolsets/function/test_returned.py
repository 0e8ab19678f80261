"""What a function returns, as a result."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import enum
import pathlib
import typing
import uuid
from decimal import Decimal

import msgspec
import pytest
from pydantic import BaseModel

from actum.core.attachment import Audio, File, Image
from actum.core.call import MediaPart, TextPart, ToolResult
from actum.core.errors import InvalidResult
from actum.core.json import Json
from actum.toolsets.function.returned import progress_of, result_of, to_json

pytestmark = pytest.mark.row("T1")


@dataclasses.dataclass
class Point:
    x: float
    at: datetime.date | None = None


class Book(BaseModel):
    title: str
    price: Decimal
    published: datetime.date


class Span(msgspec.Struct):
    start: int


class Colour(enum.StrEnum):
    RED = "red"


class Array:
    """As numpy's behaves."""

    def tolist(self) -> list[int]:
        return [1, 2]


class Name(str):
    __slots__ = ()


class Pair(typing.NamedTuple):
    key: str
    value: int


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, 5),
        (True, True),
        (2.5, 2.5),
        (2**100, 2**100),
        ([], []),
        (["a", "b"], ["a", "b"]),
        ({"a": {"b": [1, None]}}, {"a": {"b": [1, None]}}),
        ((1, [(2,)]), [1, [[2]]]),
        ((None, (2,)), [None, [2]]),
        ({1: "a", uuid.UUID(int=1): "b"}, {"1": "a", "00000000-0000-0000-0000-000000000001": "b"}),
        (Point(1.5, datetime.date(2026, 11, 20)), {"x": 1.5, "at": "2026-11-20"}),
        ([Point(1.0)], [{"x": 1.0, "at": None}]),
        (
            Book(title="T", price=Decimal("2.50"), published=datetime.date(2026, 1, 2)),
            {"title": "T", "price": "2.50", "published": "2026-01-02"},
        ),
        (
            {"book": [Book(title="T", price=Decimal(1), published=datetime.date(2026, 1, 2))]},
            {"book": [{"title": "T", "price": "1", "published": "2026-01-02"}]},
        ),
        (Span(3), {"start": 3}),
        (Pair("k", 1), ["k", 1]),
        (Colour.RED, "red"),
        ([Name("n")], ["n"]),
        (datetime.datetime(2026, 11, 20, 14, 30, tzinfo=datetime.UTC), "2026-11-20T14:30:00Z"),
        (datetime.timedelta(minutes=90), "PT5400S"),
        (Decimal("2.50"), "2.50"),
        ({3}, [3]),
        (frozenset({"a"}), ["a"]),
        (collections.deque([1]), [1]),
        (collections.ChainMap({"a": 1}), {"a": 1}),
        (range(3), [0, 1, 2]),
        (pathlib.PurePosixPath("/a/b"), "/a/b"),
        (Array(), [1, 2]),
    ],
)
def test_what_has_a_value_in_json_is_a_structured_result(value: object, expected: Json) -> None:
    assert result_of("1", value) == ToolResult("1", structured=expected)


def test_text_is_text_and_nothing_is_done() -> None:
    assert result_of("1", "It rains.") == ToolResult("1", (TextPart("It rains."),))
    assert result_of("1", "") == ToolResult("1", (TextPart(""),))
    assert result_of("1", None) == ToolResult("1", (TextPart("Done."),), structured=None)


def test_media_become_parts_alone_and_among_text() -> None:
    picture, sound = MediaPart("image/png", data=b"p"), MediaPart("audio/wav", data=b"s", name="s.wav")
    assert result_of("1", Image(b"p")) == ToolResult("1", (picture,))
    assert result_of("1", picture) == ToolResult("1", (picture,))
    assert result_of("1", ["Here:", Image(b"p"), {"n": 1}, Audio(b"s", name="s.wav"), TextPart("x")]) == ToolResult(
        "1", (TextPart("Here:"), picture, TextPart('{"n":1}'), sound, TextPart("x"))
    )
    assert result_of("1", (Image(b"p"), "x")).content == (picture, TextPart("x"))


def test_a_result_goes_through_under_the_id_of_the_call() -> None:
    assert result_of("1", ToolResult("", (TextPart("x"),), structured=5)) == ToolResult(
        "1", (TextPart("x"),), structured=5
    )


class Cyclic:
    def __init__(self) -> None:
        self.items: list[object] = [self]


def cycle() -> list[object]:
    items: list[object] = []
    items.append(items)
    return items


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (float("nan"), "nan"),
        ([None, {"a": float("-inf")}], "-inf"),
        (object(), "object"),
        ([object()], "object"),
        (lambda: 1, "function"),
        (iter([1]), "list_iterator"),
        (1j, "complex"),
        ({(1, 2): 3}, "dict"),
        (cycle(), "list"),
        (Cyclic(), "Cyclic"),
        (b"bytes", "File"),
        ({"picture": File(b"x")}, "alone"),
        (Book, "ModelMetaclass"),
    ],
)
def test_what_is_no_value_is_an_invalid_result_that_says_what_it_was(value: object, told: str) -> None:
    with pytest.raises(InvalidResult, match=told):
        result_of("1", value)


def test_half_a_surrogate_pair_is_replaced_everywhere() -> None:
    assert result_of("1", "a\ud83d").text == "a\ufffd"
    assert to_json({"\ud83d": ["\ude00", None, "😀"]}) == {"\ufffd": ["\ufffd", None, "😀"]}
    assert result_of("1", [Image(b"p"), "\ud83d"]).content[1] == TextPart("\ufffd")


def test_progress_is_json_and_media_are_described() -> None:
    assert progress_of("half") == "half"
    assert progress_of(0.5) == 0.5
    assert progress_of(None) is None
    assert progress_of(Image(b"pp")) == "[attachment: image/png, 2 bytes]"
