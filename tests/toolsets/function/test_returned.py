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
from actum.core.json import Json
from actum.core.told_value import to_json
from actum.toolsets.function.returned import progress_of, result_of

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


class Broken(BaseModel):
    x: object

    def model_dump(self, **options: object) -> dict[str, object]:
        raise ValueError("/srv/private")


@dataclasses.dataclass
class Node:
    name: str
    next: object = None


def ring() -> Node:
    node = Node("a")
    node.next = node
    return node


GONE = "[a {}: JSON can't hold it]"
LOCK = GONE.format("object")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (float("nan"), "NaN"),
        ([None, {"a": float("-inf"), "b": 1.5}, float("inf")], [None, {"a": "-Infinity", "b": 1.5}, "Infinity"]),
        (Point(float("nan")), {"x": "NaN", "at": None}),
        (object(), LOCK),
        ({"paid": 12, "by": object()}, {"paid": 12, "by": LOCK}),
        ([Node("a", object()), {3}], [{"name": "a", "next": LOCK}, [3]]),
        (lambda: 1, GONE.format("function")),
        ([1j, Book], [GONE.format("complex"), GONE.format("ModelMetaclass")]),
        ({(1, 2): 3, "a": 4}, {"[1,2]": 3, "a": 4}),
        ({object(): 1, object.__new__(object): 2}, {LOCK: 1, f"{LOCK} (2)": 2}),
        ([7, cycle()], [7, [GONE.format("list")]]),
        ([7, Cyclic()], [7, GONE.format("Cyclic")]),
        (ring(), {"name": "a", "next": GONE.format("Node")}),
        ({"ok": 1, "model": Broken(x=object())}, {"ok": 1, "model": {"x": LOCK}}),
        (
            {"at": datetime.date(2026, 1, 2), "bytes": b"x", "lock": object()},
            {"at": "2026-01-02", "bytes": "eA==", "lock": LOCK},
        ),
        ({"n": 1, "picture": File(b"x")}, {"n": 1, "picture": f"[{File(b'x')}: a file stands alone or in a list]"}),
    ],
)
def test_what_json_can_hold_is_kept_and_the_rest_is_marked_in_its_place(value: object, expected: Json) -> None:
    assert result_of("1", value) == ToolResult("1", structured=expected)
    assert progress_of(value) == expected


def test_bare_bytes_are_a_file() -> None:
    whole = MediaPart("application/octet-stream", data=b"bytes")
    assert result_of("1", b"bytes") == ToolResult("1", (whole,))
    assert result_of("1", ["Here:", bytearray(b"bytes"), Image(b"p")]).content == (
        TextPart("Here:"),
        whole,
        MediaPart("image/png", data=b"p"),
    )


def test_half_a_surrogate_pair_is_replaced_everywhere() -> None:
    assert result_of("1", "a\ud83d").text == "a\ufffd"
    assert to_json({"\ud83d": ["\ude00", None, "😀"]}) == {"\ufffd": ["\ufffd", None, "😀"]}
    assert result_of("1", [Image(b"p"), "\ud83d"]).content[1] == TextPart("\ufffd")


def test_progress_is_json_and_media_are_described() -> None:
    assert progress_of("half") == "half"
    assert progress_of(0.5) == 0.5
    assert progress_of(None) is None
    assert progress_of(Image(b"pp")) == "[attachment: image/png, 2 bytes]"
