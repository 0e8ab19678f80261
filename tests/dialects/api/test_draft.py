"""A reply in the making: what is told of it and what it becomes are the same."""

from __future__ import annotations

from actum.core.call import TextPart, ToolCall
from actum.core.event import CallDelta, CallSaid, ReasoningDelta, TextDelta
from actum.core.message import ReasoningPart, RefusalPart, Usage
from actum.dialects.api.draft import (
    BEFORE_ARGUMENTS,
    Draft,
    OpenCall,
    OpenWhole,
)


def test_a_text_goes_on_until_another_kind_a_signature_or_a_field_closes_it() -> None:
    draft = Draft()
    for text in ("a", "b"):
        draft.say(draft.run_of(TextPart), text)
    draft.say(draft.run_of(ReasoningPart), "c")
    draft.sign(draft.run_of(ReasoningPart), "s", "gemini")
    draft.say(draft.run_of(ReasoningPart), "d")
    assert draft.reply(Usage()).content == (
        TextPart("ab"),
        ReasoningPart("c", "s", by="gemini"),
        ReasoningPart("d"),
    )
    assert draft.take() == [
        TextDelta("a"),
        TextDelta("b"),
        ReasoningDelta("c"),
        ReasoningDelta("", "s", by="gemini"),
        ReasoningDelta("d"),
    ]
    assert draft.take() == []


def test_a_call_is_told_with_its_pieces_and_then_as_a_whole() -> None:
    draft = Draft()
    call = draft.begin_call(OpenCall, "a")
    draft.name_call(call, "f")
    draft.argue(call, '{"x"')
    draft.argue(call, ":1}")
    draft.say_calls(broke_off=True)
    said = ToolCall("a", "f", {"x": 1}, raw='{"x":1}')
    told = [CallDelta(0, "f", id="a"), CallDelta(0, "", '{"x"'), CallDelta(0, "", ":1}"), CallSaid(0, said)]
    assert draft.take() == told
    assert draft.reply(Usage()).calls == (said,)


def test_a_call_without_arguments_is_whole_only_where_the_answer_did_not_break_off() -> None:
    for broke_off in (False, True):
        draft = Draft()
        draft.name_call(draft.begin_call(OpenCall, ""), "f")
        draft.say_calls(broke_off=broke_off)
        (call,) = draft.reply(Usage()).calls
        assert (call.complete, call.repairs) == (not broke_off, (BEFORE_ARGUMENTS,) if broke_off else ())


def test_ids_are_made_where_they_are_missing_and_made_anew_where_they_are_not_unique() -> None:
    draft = Draft()
    calls = [draft.begin_call(OpenCall, wire_id, "item") for wire_id in ("a", "a", "")]
    draft.rename_call(calls[2], "a")
    assert [call.id for call in calls] == ["a", "call_1", "call_2"]


def test_what_has_no_noun_lies_at_its_place_and_nothing_at_all_is_left_out() -> None:
    draft = Draft()
    draft.begin_text(TextPart)
    draft.say(draft.begin_text(TextPart), "a")
    draft.parts.append(OpenWhole(None, {"type": "search"}))
    draft.begin_text(TextPart).fields = {"phase": "final"}
    draft.refuse("no")
    draft.count({"in": 1, "ads": 2, "none": None})
    draft.count({"in": 3})
    reply = draft.reply(Usage(), "items", "usage", {"in"})
    assert reply.content == (TextPart("a"), TextPart(""), RefusalPart("no"))
    places = {"alone": {"1": {"type": "search"}}, "beside": {"2": {"phase": "final"}}}
    assert reply.extras == {"items": places, "usage": {"ads": 2}}
    assert draft.usage["in"] == 3
