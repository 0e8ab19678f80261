"""Every dialect says calls of every kind and reads them back, by itself and one after another.

The benchmark `python -m bench --only gold` asks the same of some thousand calls of others.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from actum.core.call import ToolCall
from actum.core.json import Json, JsonObject
from actum.core.message import Reply
from actum.core.tool import Tool
from actum.dialects import dialect, names
from actum.dialects.base import Decoder
from bench.gold import ONE_CALL, Carry, through, through_pieces
from tests.each import each
from tests.endurance import places_to_cut


def tool(name: str, **kinds: Json) -> Tool:
    properties: JsonObject = {key: {"type": kind} if isinstance(kind, str) else kind for key, kind in kinds.items()}
    return Tool(name=name, parameters={"type": "object", "properties": properties})


TOOLS = (
    tool("geometry.area", base="number", height="integer", unit="string"),
    tool("functions.intersect", first="string", second="string"),
    tool("post", zip="string", flag="string", nothing="string", version="string", note="string"),
    tool("count", parcels="integer", weight="number", sure="boolean", until={"type": ["string", "null"]}),
    tool("travel", stops={"type": "array", "items": {"type": "object"}}, wishes="object", tags={"type": "array"}),
    tool("ping"),
    tool("查天气", 城市="string"),
)

SAID: dict[str, list[tuple[str, JsonObject]]] = {
    "a dot in the name": [("geometry.area", {"base": 2.5, "height": -4, "unit": "m²"})],
    "a name like a namespace": [("functions.intersect", {"first": "3x + 2", "second": "2x < 3"})],
    "text that looks like something else": [
        ("post", {"zip": "02134", "flag": "true", "nothing": "null", "version": "3.10", "note": ""})
    ],
    "numbers": [("count", {"parcels": 12345678901234567890, "weight": 1.0, "sure": False, "until": None})],
    "nested": [
        (
            "travel",
            {
                "stops": [{"city": "São Paulo", "nights": 2, "rooms": [1, 2.5]}, {"city": "O'Fallon", "nights": 0}],
                "wishes": {"window": True, "meal": None, "quote": 'say "}" twice'},
                "tags": ["a, b", "[c]"],
            },
        )
    ],
    "no arguments": [("ping", {})],
    "another alphabet": [("查天气", {"城市": "北京"})],
    "several calls": [
        ("ping", {}),
        ("post", {"note": "one\ntwo"}),
        ("post", {"note": "one\ntwo"}),
        ("geometry.area", {"base": 0.1, "height": 3}),
    ],
}


def carried(way: Sequence[str], said: Sequence[tuple[str, JsonObject]], carry: Carry) -> list[tuple[str, str]]:
    """Names and arguments at the end of the way; `repr` tells 1 from 1.0 and from True."""
    reply = Reply.of(calls=[ToolCall(f"call_{n}", name, arguments) for n, (name, arguments) in enumerate(said)])
    for name in way:
        reply = carry(dialect(name), reply, TOOLS)
        assert all(call.complete and not call.repairs for call in reply.calls)
    return [(call.name, repr(call.arguments)) for call in reply.calls]


def content(said: Sequence[tuple[str, JsonObject]]) -> list[tuple[str, str]]:
    return [(name, repr(arguments)) for name, arguments in said]


@pytest.mark.row("S6")
@each({f"{name} {carry.__name__}": (name, carry) for name in names() for carry in (through, through_pieces)})
def test_each_dialect_reads_what_it_wrote_to_the_type(name: str, carry: Carry) -> None:
    for said in SAID.values():
        sayable = said[:1] if name in ONE_CALL else said
        assert carried([name], said, carry) == content(sayable), sayable


@pytest.mark.row("S6")
@each({f"{kind} {carry.__name__}": (kind, carry) for kind in SAID for carry in (through, through_pieces)})
def test_calls_go_around_through_all_dialects_and_come_back(kind: str, carry: Carry) -> None:
    said = SAID[kind]
    way = [name for name in names() if len(said) == 1 or name not in ONE_CALL]
    assert carried([*way, way[0]], said, carry) == content(said)


# A call with two meanings is never run: no reader may choose between them.

PAY = tool("pay", first="string", second="string")


@pytest.mark.no_cover
@pytest.mark.row("S6", "C1")
@pytest.mark.endurance("src/actum/dialects")
@each({name: (name,) for name in names()})
def test_a_parameter_with_two_values_makes_no_complete_call_in_any_dialect(name: str) -> None:
    """Whole, and cut anywhere. The same value twice has one meaning."""
    talk = dialect(name)
    for second, complete in (("bb", False), ("aa", True)):
        said = Reply((ToolCall("1", "pay", {"first": "aa", "second": second}),))
        wire = talk.encode_reply(said)
        wire = wire.replace("second", "first") if isinstance(wire, str) else wire.replace(b"second", b"first")
        whole = talk.decode(wire, tools=(PAY,))
        (call,) = whole.calls
        assert (call.name, call.complete) == ("pay", complete), call
        assert call.arguments == ({"first": "aa"} if complete else {})
        assert "given twice" in call.repairs[-1]
        for cut in places_to_cut(len(wire)) if isinstance(wire, str) else ():
            decoder: Decoder = talk.decoder(tools=(PAY,))
            for piece in (wire[:cut], wire[cut:]):
                decoder.feed(piece)
            decoder.close()
            assert decoder.reply == whole, cut
