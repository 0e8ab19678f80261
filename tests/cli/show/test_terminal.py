"""What every shown text goes through, and what a trace makes of events."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.cli.show.terminal import (
    Terminal,
    said,
    shorten,
)
from actum.cli.show.trace import Trace
from actum.core.call import ToolCall, ToolResult
from actum.core.event import CallFinished, CallStarted, MemoryKept, ReplyFinished, RunStarted, TextDelta, ThoughtEnded
from actum.core.message import Reply
from actum.core.visible import visible


@given(st.text())
def test_a_cleaned_text_has_nothing_that_a_terminal_obeys_but_tab_and_line_feed(text: str) -> None:
    shown = visible(text)
    assert not any((ord(char) < 32 and char not in "\t\n") or 127 <= ord(char) < 160 for char in shown)
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "Zs"])))
def test_what_is_harmless_is_left_as_it_is(text: str) -> None:
    assert visible(text) == text


@given(st.binary())
def test_words_from_the_command_line_become_unicode(raw: bytes) -> None:
    said(raw.decode("utf-8", "surrogateescape")).encode("utf-8")


def test_what_is_cut_says_how_much_there_was() -> None:
    assert shorten("a" * 2000, 10) == "aaaaaaaaaa … (2,000 characters)"
    assert shorten("a\n" * 9, 100) == "a\na\na\na\na\na … (18 characters)"
    assert shorten("short", 10) == "short"


async def test_calls_that_end_in_another_order_are_shown_as_they_were_said(capsys: pytest.CaptureFixture[str]) -> None:
    trace = Trace(Terminal(), verbose=True)
    calls = [ToolCall(id=name, name=name, arguments={}) for name in "abc"]
    trace.show(RunStarted("run_1"))
    trace.show(ReplyFinished(Reply.of(calls=calls), 0.1))
    for call in calls:
        trace.show(CallStarted(call))
    for index in (2, 0):
        trace.show(CallFinished(calls[index], ToolResult(calls[index].id, structured=index), 0.1))
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines() if "call  " in line] == ["a"]
    trace.show(CallFinished(calls[1], ToolResult("b", structured=1), 0.1))
    trace.close()
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines() if "call  " in line] == ["b", "c"]


async def test_an_answer_that_proves_to_be_a_thought_is_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    trace = Trace(Terminal(), verbose=False, streaming=True)
    for event in (TextDelta("Maybe."), ThoughtEnded(), TextDelta("Hello."), ReplyFinished(Reply.of("Hello."), 0.1)):
        trace.show(event)
    trace.close()
    thought, word, answer = capsys.readouterr().out.splitlines()
    assert (thought, answer) == ("Maybe.", "Hello.")
    assert "the text above was the model's reasoning" in word


async def test_calls_of_one_id_are_all_shown(capsys: pytest.CaptureFixture[str]) -> None:
    trace = Trace(Terminal(), verbose=True)
    calls = [ToolCall(id="same", name=name, arguments={}) for name in "ab"]
    trace.show(ReplyFinished(Reply.of(calls=calls), 0.1))
    for call in calls:
        trace.show(CallFinished(call, ToolResult("same", structured=1), 0.1))
    trace.close()
    assert capsys.readouterr().out.count("    call  ") == 2


async def test_a_call_that_never_ends_does_not_hide_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    trace = Trace(Terminal(), verbose=True)
    calls = [ToolCall(id=name, name=name, arguments={}) for name in "ab"]
    trace.show(ReplyFinished(Reply.of(calls=calls), 0.1))
    trace.show(CallFinished(calls[1], ToolResult("b", structured=1), 0.1))
    trace.close()
    assert "    call  b" in capsys.readouterr().out


def test_a_person_sees_what_is_remembered_without_signs_that_a_terminal_obeys(
    capsys: pytest.CaptureFixture[str],
) -> None:
    trace = Trace(Terminal(), verbose=False)
    trace.show(MemoryKept("mem_1", "I eat\x1b[2J no nuts", "fact", "desk"))
    trace.close()
    told = capsys.readouterr().err
    assert told.startswith('Remembered: "I eat')
    assert "(mem_1)" in told
    assert "\x1b[2J" not in told
