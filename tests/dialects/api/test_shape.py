"""What a shape does not name is left over, under its place."""

from __future__ import annotations

import pytest

from actum.core.json import Json
from actum.dialects.api.shape import ANY_OTHER, Choices, Fields, Kinds, Shape, Words, by_field, leftovers, only, whole

TEXT = Fields({"type": whole, "text": whole})


@pytest.mark.parametrize(
    ("value", "shape", "paths"),
    [
        ({"a": 1, "b": 2, "c": None, "d": [], "e": ""}, Fields({"a": whole}), ["b"]),
        ({"a": 0, "b": False}, Fields({}), ["a", "b"]),
        ({"a": 0, "b": 1}, Fields({ANY_OTHER: only(0)}), ["b"]),
        ({"a": True}, Fields({"a": only(1)}), ["a"]),
        ({"a": "text"}, Fields({"a": Fields({})}), ["a"]),
        (
            [{"type": "text", "text": "x", "more": 1}, {"type": "new"}],
            Kinds(by_field("type"), {"text": TEXT}),
            ["[0].more", "[1]"],
        ),
        ({"a": "text"}, Fields({"a": Words(TEXT)}), []),
        ({"a": [{"b": {"c": 1}}]}, Fields({"a": Fields({"b": Fields({})})}), ["a[0].b.c"]),
        (
            {"a": [{"index": 3}, {"index": 0, "x": 1}]},
            Fields({"a": Choices(Fields({"index": whole}))}),
            ["a[3]", "a[0].x"],
        ),
    ],
)
def test_what_is_not_named_is_left_over(value: Json, shape: Shape, paths: list[str]) -> None:
    assert [leftover.path for leftover in leftovers(value, shape)] == paths
