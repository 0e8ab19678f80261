"""Answers of model APIs as files, `tests/corpus/<dialect>/<case>.wire` beside `<case>.json`, and the ways to feed them.

A case says where its expectation comes from (`source`), and whether its bytes were made by hand after that (`made`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
from hypothesis import strategies as st
from msgspec import Struct, structs

from actum.core.call import REPEATED, ToolCall
from actum.core.event import CallDelta, CallSaid, Delta, ReasoningDelta, TextDelta
from actum.core.json import Json, JsonObject
from actum.core.message import ReasoningPart, Reply
from actum.dialects.base import ApiDialect
from actum.protocols.sse import SseReader
from tests.each import each_path
from tests.endurance import places_to_cut

CORPUS = Path(__file__).parents[1] / "corpus"


class Case(Struct, frozen=True, forbid_unknown_fields=True):
    """What an answer says.

    Attributes:
        source: the documentation or type of the official SDK that says so.
        reply: what is to be read.
        made: the bytes were made by hand, in the form that the source shows.
    """

    source: str
    reply: Reply
    made: bool = False


def paths_of(dialect: str, part: str = "") -> list[Path]:
    """The wires of a dialect whose names hold this part."""
    return sorted(path for path in (CORPUS / dialect).glob("*.wire") if part in path.stem)


def cases(dialect: str) -> Callable[[Callable[[Path], None]], Callable[[], None]]:
    """One test of all cases of a dialect."""
    return each_path(paths_of(dialect))


def case_of(path: Path) -> Case:
    return msgspec.json.decode(path.with_suffix(".json").read_bytes(), type=Case)


def events_of(path: Path) -> list[bytes]:
    """The data of its events that are JSON; none of an answer that came whole."""
    reader = SseReader()
    events = [event.data for event in (*reader.feed(path.read_bytes()), *reader.close())]
    return [data.replace(b"\n", b" ") for data in events if data.startswith(b"{") and data.endswith(b"}")]


def read(dialect: ApiDialect, chunks: Sequence[bytes | str]) -> tuple[list[Delta], Reply, bool]:
    """The deltas, the reply, and whether it came to its end."""
    decoder = dialect.decoder()
    deltas = [delta for chunk in chunks for delta in decoder.feed(chunk)] + decoder.close()
    return deltas, decoder.reply, decoder.ended


def cut(wire: bytes, places: Sequence[int]) -> list[bytes]:
    edges = [0, *sorted(places), len(wire)]
    return [wire[begin:end] for begin, end in pairwise(edges)]


def check_every_cut(dialect: ApiDialect, path: Path) -> None:
    """The answer reads as it should: whole, in two pieces, in small ones, and as text."""
    wire, reply = path.read_bytes(), case_of(path).reply
    whole = read(dialect, [wire])
    assert dialect.decode(wire) == whole[1] == reply, path.stem
    for place in places_to_cut(len(wire)):
        assert read(dialect, cut(wire, [place])) == whole, (path.stem, place)
    for size in (1, 2, 3, 7):
        assert read(dialect, [wire[n : n + size] for n in range(0, len(wire), size)]) == whole, (path.stem, size)
    assert read(dialect, [wire.decode("utf-8", "ignore")])[1] == reply, path.stem


def check_events(dialect: ApiDialect, path: Path) -> None:
    """The events tell what the reply holds, in the order of its calls."""
    deltas, reply, _ = read(dialect, [path.read_bytes()])
    said = {delta.index: delta.call for delta in deltas if isinstance(delta, CallSaid)}
    assert [said[index] for index in sorted(said)] == [_as_told(call) for call in reply.calls]
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == reply.text
    thoughts = [delta for delta in deltas if isinstance(delta, ReasoningDelta)]
    assert "".join(delta.text for delta in thoughts) == reply.reasoning
    signatures = [part.signature for part in reply.content if isinstance(part, ReasoningPart) and part.signature]
    assert [delta.signature for delta in thoughts if delta.signature] == signatures
    for index, call in said.items():
        pieces = [delta for delta in deltas if isinstance(delta, CallDelta) and delta.index == index]
        assert "".join(piece.name for piece in pieces) == call.name
        assert "".join(piece.arguments for piece in pieces) in (call.raw, call.arguments_text())
        assert pieces[0].id == call.id


def _as_told(call: ToolCall) -> ToolCall:
    """A call as its event tells it, before anybody can know that the reply says it again."""
    repairs = tuple(repair for repair in call.repairs if repair != REPEATED)
    return structs.replace(call, repairs=repairs, repeats=())


VALUES: list[JsonObject] = [
    {},
    {"city": "北京"},
    {"a": 2, "b": [3, None, {"c": '}{"\\'}], "": 0.5},
    {"text": "\n\t\u0000\x7f🌤", "empty": {}, "n": 12345678901234567890123},
]
text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
calls = st.lists(st.tuples(st.sampled_from(["get_weather", "查天气"]), st.sampled_from(VALUES)), max_size=3).map(
    lambda said: [
        ToolCall(f"id_{number}", name, values, raw=msgspec.json.encode(values).decode())
        for number, (name, values) in enumerate(said)
    ]
)


def any_json(names: Sequence[str]) -> st.SearchStrategy[Json]:
    """Any value, with objects that have these names."""
    return st.recursive(
        st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False) | st.text(max_size=3),
        lambda child: st.lists(child, max_size=3) | st.dictionaries(st.sampled_from(names), child, max_size=4),
    )
