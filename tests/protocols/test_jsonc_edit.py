"""A member of somebody's JSON with comments is set or taken out, and all else stays to the byte."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.errors import UsageError
from actum.core.json import Json
from actum.protocols.jsonc import plain_json
from actum.protocols.jsonc_edit import with_member, without_member

pytestmark = pytest.mark.row("D4")
ZED = """// Zed
{
  "theme": "One", // dark
  /* servers */
  "context_servers": {
    "mine": { "command": "x", "args": ["//", "/*"] }, // keep
  },
}
"""


def read(text: str) -> Json:
    value: Json = json.loads(plain_json(text))
    return value


def test_an_entry_is_put_in_changed_and_taken_out_and_comments_stay() -> None:
    put = with_member(ZED, "context_servers", "actum", {"command": "a", "args": []})
    assert [line for line in put.splitlines() if "actum" not in line][:6] == ZED.splitlines()[:6]
    assert all(comment in put for comment in ("// Zed", "// dark", "/* servers */", "// keep"))
    assert read(put) == {
        "theme": "One",
        "context_servers": {"mine": {"command": "x", "args": ["//", "/*"]}, "actum": {"command": "a", "args": []}},
    }
    changed = with_member(put, "context_servers", "actum", {"command": "b"})
    assert changed.replace('{\n      "command": "b"\n    }', "X") == put.replace(
        '{\n      "command": "a",\n      "args": []\n    }', "X"
    )
    assert read(without_member(changed, "context_servers", "actum")) == read(ZED)
    assert without_member(ZED, "context_servers", "other") == without_member(ZED, "other", "mine") == ZED
    assert with_member(ZED.replace("\n", "\r\n"), "servers", "a", 1).count("\n") == ZED.count("\n") + 3
    assert "\n" not in with_member(ZED.replace("\n", "\r\n"), "servers", "a", 1).replace("\r\n", "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1,\n "b" 2}', "line 2 column 6"),
        ("[]", "no object"),
        ('{"mcpServers": [], "x": 1}', "'mcpServers' is no object"),
        ('{"mcpServers": {}, "mcpServers": {}}', "'mcpServers' is there twice"),
        ('{"a": /* never', "no JSON"),
        ("{" * 100_000, "no JSON"),
    ],
)
def test_what_is_no_such_document_is_refused_with_its_place(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        with_member(text, "mcpServers", "a", 1)


NAMES = st.sampled_from(["a", "b", "mcpServers", 'x"y', "键", "//", ""])
VALUES = st.recursive(
    st.none() | st.integers(-9, 9) | st.sampled_from(["", "/* no */", '"', "\\", "}"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=6,
)
GAPS = st.sampled_from(["", " ", "\n", "\n  ", " // a, {b}\n", "/* } */", "\t"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """An object with comments, odd blanks and trailing commas, whose member `mcpServers` is an object, if any."""

    def written(value: Json) -> str:
        def gap() -> str:
            return draw(GAPS)

        if isinstance(value, dict):
            inside = ",".join(
                f"{gap()}{json.dumps(key)}{gap()}:{gap()}{written(each)}{gap()}" for key, each in value.items()
            )
            return "{" + inside + (draw(st.sampled_from(["", ","])) if inside else "") + gap() + "}"
        if isinstance(value, list):
            return "[" + ",".join(gap() + written(each) + gap() for each in value) + "]"
        return json.dumps(value)

    document: dict[str, Json] = draw(st.dictionaries(NAMES, VALUES, max_size=3))
    if "mcpServers" in document:
        document["mcpServers"] = {**draw(st.dictionaries(NAMES, VALUES, max_size=3))}
    return draw(GAPS) + written({**document}) + draw(GAPS)


@given(documents(), NAMES, VALUES)
def test_of_any_document_only_the_member_changes(text: str, name: str, value: Json) -> None:
    before = read(text)
    assert isinstance(before, dict)
    inside = before.get("mcpServers", {})
    assert isinstance(inside, dict)
    put = with_member(text, "mcpServers", name, value)
    assert read(put) == {**before, "mcpServers": {**inside, name: value}}
    gone = without_member(put, "mcpServers", name)
    assert read(gone) == {**before, "mcpServers": {key: each for key, each in inside.items() if key != name}}
    assert with_member(gone, "mcpServers", name, value) or True
    for comment in (" // a, {b}\n", "/* } */"):
        assert put.count(comment.strip()) >= text.count(comment.strip()) - (name in inside) * text.count(
            comment.strip()
        )
