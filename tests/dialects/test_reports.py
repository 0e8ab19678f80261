"""Public bug reports of other products, reduced to their smallest inputs: how each of them reads here.

`corpus/reports/README.md` says where each kind comes from and how to add a case.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from actum.core.call import REPEATED, ToolCall
from actum.core.event import CallDelta, CallSaid
from actum.core.message import Usage
from actum.dialects import dialect
from actum.dialects.api.draft import Draft, OpenCall
from actum.dialects.base import ApiDialect
from tests.dialects.api_corpus import CORPUS, case_of, check_events, check_every_cut
from tests.dialects.text_corpus import expected_of, output_of, pieces_of, read_in, summary, tools_of
from tests.each import each_path
from tests.endurance import places_to_cut

WIRES = sorted((CORPUS / "reports").glob("*/*.wire"))
TEXTS = sorted((CORPUS / "reports").glob("*/*.txt"))


def api_of(path: Path) -> ApiDialect:
    """The API in which an answer is."""
    found = dialect(path.parent.name)
    assert isinstance(found, ApiDialect)
    return found


@pytest.mark.endurance("src/actum/dialects", "tests/corpus")
@pytest.mark.no_cover
@pytest.mark.row("S3", "S5")
@each_path(WIRES)
def test_an_answer_of_a_report_reads_as_it_should_in_any_pieces(path: Path) -> None:
    assert case_of(path).source
    check_every_cut(api_of(path), path)


@each_path(WIRES)
def test_the_events_of_a_report_tell_what_its_reply_holds(path: Path) -> None:
    check_events(api_of(path), path)


@each_path(WIRES)
def test_a_reply_that_was_joined_is_written_and_read_again_without_a_repeat(path: Path) -> None:
    api, reply = api_of(path), case_of(path).reply
    for read in (api.decode(api.encode_reply(reply)), api.decode(api.encoder().close(reply))):
        assert [(call.name, call.arguments, call.repairs) for call in read.calls] == [
            (call.name, call.arguments, ()) for call in reply.calls
        ]


@pytest.mark.endurance("src/actum/dialects", "tests/corpus")
@each_path(TEXTS)
def test_a_text_of_a_report_reads_as_it_should_in_any_pieces(path: Path) -> None:
    found, text, tools = dialect(path.parent.name), output_of(path), tools_of("reports")
    assert not isinstance(found, ApiDialect)
    whole = read_in([text], found, tools)
    assert summary(whole[0]) == expected_of(path)
    assert json.loads(path.with_suffix(".json").read_text("utf-8"))["source"]
    for cut in places_to_cut(len(text)):
        assert read_in(pieces_of(text, [cut]), found, tools) == whole, cut
    assert read_in(list(text), found, tools) == whole


# A call that came before waits, with all events behind it, until it is known what it is.


def said(draft: Draft, wire_id: str, arguments: str, *, name: str = "f") -> OpenCall:
    call = draft.begin_call(OpenCall, wire_id)
    draft.name_call(call, name, arguments)
    call.pieces.append(arguments)
    draft.say_call(call, call.settle(broke_off=False))
    return call


def test_a_call_that_differs_from_the_first_with_its_id_is_told_at_once() -> None:
    draft = Draft()
    said(draft, "a", "{}")
    assert len(draft.take()) == 2
    call = draft.begin_call(OpenCall, "a")
    draft.name_call(call, "f")
    draft.argue(call, '{"x":1}')
    assert draft.take() == [], "it may be the first again"
    draft.say_call(call, call.settle(broke_off=False))
    assert [type(delta) for delta in draft.take()] == [CallDelta, CallDelta, CallSaid]
    said(draft, "a", "{}")
    assert len(draft.take()) == 2, "this id names nothing in this reply"
    draft.join_repeats()
    assert len(draft.reply(Usage()).calls) == 3


def test_the_calls_behind_a_repeat_are_numbered_as_if_it_had_never_come() -> None:
    draft = Draft()
    for wire_id in ("a", "a", "b", "a", "b", ""):
        said(draft, wire_id, "{}")
    draft.join_repeats()
    assert [delta.index for delta in draft.take() if isinstance(delta, CallSaid)] == [0, 1, 2]
    assert [(call.id, call.repairs) for call in draft.reply(Usage()).calls] == [
        ("a", (REPEATED,)),
        ("b", (REPEATED,)),
        ("call_5", ()),
    ]


BROKEN = '{"x":'
WHOLE = '{"x":1}'


@pytest.mark.parametrize(
    ("texts", "kept"),
    [
        ([WHOLE, BROKEN], [WHOLE]),
        ([WHOLE, BROKEN, WHOLE], [WHOLE]),
        ([BROKEN, WHOLE, WHOLE], [BROKEN, WHOLE]),
        ([BROKEN, BROKEN], [BROKEN]),
        ([WHOLE, '{"y":', WHOLE], [WHOLE, '{"y":', WHOLE]),
    ],
)
def test_a_repeat_that_broke_off_is_none_and_a_broken_first_call_stays_refused(
    texts: list[str], kept: list[str]
) -> None:
    draft = Draft()
    for text in texts:
        said(draft, "a", text)
    draft.join_repeats()
    calls: tuple[ToolCall, ...] = draft.reply(Usage()).calls
    assert [call.raw for call in calls] == kept


def test_very_many_repeats_are_joined_without_comparing_each_call_with_each() -> None:
    compared = 0

    class Counted(OpenCall):
        __slots__ = ()
        __hash__ = OpenCall.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return self is other

    draft = Draft()
    for number in range(2_000):
        call = draft.begin_call(Counted, f"id_{number % 2}")
        draft.name_call(call, "f")
        draft.say_call(call, call.settle(broke_off=False))
    draft.join_repeats()
    assert len(draft.reply(Usage()).calls) == 2
    assert compared < 2_000
