"""What has no noun stays where it stood."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actum.core.call import TextPart
from actum.core.json import Json, JsonObject
from actum.core.message import Reply, ReplyPart
from actum.dialects.api.block_extras import (
    Block,
    alone,
    gather,
    weave,
)
from tests.dialects import api_corpus


def write(part: ReplyPart) -> Block | None:
    return {"text": part.text} if isinstance(part, TextPart) else None


@given(st.lists(st.sampled_from([(True, {}), (True, {"mark": 1}), (False, {"type": "odd", "n": 2})]), max_size=8))
def test_blocks_come_back_in_order_with_what_stood_beside_them(shape: list[tuple[bool, JsonObject]]) -> None:
    blocks = [(TextPart(str(n)) if known else None, rest) for n, (known, rest) in enumerate(shape)]
    parts, rest = gather(blocks)
    reply = Reply(parts, extras={"key": rest} if rest else {})
    assert weave(reply, "key", write) == [rest | ({"text": part.text} if part else {}) for part, rest in blocks]
    assert alone(reply, "key") == [rest for part, rest in blocks if part is None]
    assert weave(reply, "of another API", write) == [
        {"text": part.text} for part in parts if isinstance(part, TextPart)
    ]


def test_what_is_left_out_does_not_move_the_rest() -> None:
    parts, rest = gather([(TextPart(""), {"lost": 1}), (None, {"type": "odd"}), (TextPart("b"), {"mark": 1})])
    reply = Reply(parts, extras={"key": rest})
    written = weave(reply, "key", lambda part: write(part) if isinstance(part, TextPart) and part.text else None)
    assert written == [{"type": "odd"}, {"mark": 1, "text": "b"}]


@given(api_corpus.any_json(("alone", "beside", "0", "1", "x")))
def test_extras_of_any_shape_do_no_harm(value: Json) -> None:
    written = weave(Reply((TextPart("a"),), extras={"key": value}), "key", write)
    assert [block for block in written if block.get("text") == "a"]
