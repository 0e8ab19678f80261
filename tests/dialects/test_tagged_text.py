from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from actum.core.event import CallDelta, CallSaid
from actum.core.json import parse_object
from actum.dialects.tagged_formats import FORMATS, tagged
from tests.dialects.text_corpus import CORPUS, expected_of, ids_of, output_of, read_in, summary, tools_of

DIALECTS = {name: tagged(name) for name in FORMATS}
TOOLS = {name: tools_of(name) for name in FORMATS}
CASES = [path for name in sorted(FORMATS) for path in sorted((CORPUS / name).glob("*.txt"))]
each_case = pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}-{path.stem}")
each_dialect = pytest.mark.parametrize("name", sorted(FORMATS))


def chunks(text: str, size: int) -> Iterable[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


@pytest.mark.row("S6")
@each_case
def test_each_output_is_read_as_its_source_says(path: Path) -> None:
    name = path.parent.name
    reply = DIALECTS[name].decode(output_of(path), tools=TOOLS[name])
    assert summary(reply) == expected_of(path)
    for given, call in zip(ids_of(path), reply.calls, strict=True):
        assert given in (None, call.id)


@pytest.mark.row("S6")
@each_case
def test_a_streamed_output_is_the_same_in_every_cut(path: Path) -> None:
    text, dialect, tools = output_of(path), DIALECTS[path.parent.name], TOOLS[path.parent.name]
    whole = read_in([text], dialect, tools)
    assert whole[0] == dialect.decode(text, tools=tools)
    for cut in range(len(text) + 1):
        assert read_in([text[:cut], text[cut:]], dialect, tools) == whole, cut
    for size in (1, 2, 3, 7):
        assert read_in(chunks(text, size), dialect, tools) == whole, size


@each_case
def test_the_fragments_of_a_call_are_its_arguments(path: Path) -> None:
    dialect, tools = DIALECTS[path.parent.name], TOOLS[path.parent.name]
    decoder = dialect.decoder(tools=tools)
    deltas = [delta for piece in chunks(output_of(path), 5) for delta in decoder.feed(piece)] + decoder.close()
    for said in [delta for delta in deltas if isinstance(delta, CallSaid)]:
        pieces = [delta for delta in deltas if isinstance(delta, CallDelta) and delta.index == said.index]
        assert pieces[0].name == said.call.name
        assert pieces[0].id in ("", said.call.id)
        assert not any(piece.name or piece.id for piece in pieces[1:])
        if said.call.complete and not said.call.repairs:
            assert parse_object("".join(piece.arguments for piece in pieces))[0] == said.call.arguments


@each_dialect
def test_a_corpus_says_where_each_case_comes_from(name: str) -> None:
    cases = [json.loads(path.read_text("utf-8")) for path in (CORPUS / name).glob("*.json") if path.stem != "tools"]
    assert len(cases) >= 8
    assert all(case["source"] for case in cases)
