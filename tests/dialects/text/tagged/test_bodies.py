"""How a call is written inside a model's mark-up: each way, read in pieces and written, without a dialect around it."""

from __future__ import annotations

import re

import pytest

from actum.core.call import ToolCall
from actum.core.event import CallDelta
from actum.core.json import JsonObject
from actum.core.message import Reply
from actum.core.tool import Tool
from actum.dialects.text.marks import CallHead, Marks
from actum.dialects.text.speech import Speech
from actum.dialects.text.tagged.bodies import Body, BodySetting, JsonCall, NamedCall, ToUser, fill
from actum.dialects.text.toolbox import Toolbox
from tests.each import each

CITY: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}}}
BOX = Toolbox([Tool(name="weather", parameters=CITY), Tool(name="ping", parameters={"type": "object"})])
CLOSE = "</call>"
NAMED = NamedCall(
    head=CallHead(re.compile(r"(?P<name>[\w.]+):(?P<id>\d*)>")),
    form="{name}:{id}>{arguments}",
    own_id=r"\d+",
    made_id="{index}",
)
JSON = JsonCall()
WITH_ID = JsonCall(name_key="tool", arguments_key="parameters", id_key="call")
OSLO = ToolCall("7", "weather", {"city": "Oslo"})


class Read:
    """What a body made of a text, fed in two pieces."""

    def __init__(self, body: Body, text: str, cut: int | None = None, *, whole: bool = True) -> None:
        self._speech = Speech()
        marks = Marks([CLOSE])
        head = body.head.match.match(text)
        assert head is not None, text
        self.reader = body.reader(head, BodySetting(self._speech, BOX, marks, marks, tagged=True))
        self.at = head.end()
        for end in (head.end() if cut is None else max(cut, head.end()), len(text)):
            self.at = self.reader.feed(text[:end], self.at, closing=end == len(text))
        self.ended = self.reader.ended
        if whole and not self.ended:
            self.reader.stop(whole=False)
        self.reply: Reply = self._speech.reply
        self.told = "".join(delta.arguments for delta in self._speech.take() if isinstance(delta, CallDelta))

    @property
    def call(self) -> ToolCall:
        (call,) = self.reply.calls
        return call


WRITTEN: dict[str, tuple[Body, str]] = {
    "JSON": (JSON, '{"name": "weather", "arguments": {"city": "Oslo"}}'),
    "JSON with other keys": (WITH_ID, '{"call": "7", "tool": "weather", "parameters": {"city": "Oslo"}}'),
    "a name, then JSON": (NAMED, 'weather:7>{"city": "Oslo"}'),
}


@each(WRITTEN)
def test_a_call_is_the_same_wherever_the_text_is_cut(body: Body, text: str) -> None:
    for cut in range(len(text) + 1):
        read = Read(body, text + CLOSE, cut)
        assert (read.call.name, read.call.arguments, read.call.complete) == ("weather", {"city": "Oslo"}, True), cut
        assert read.at == len(text), f"{cut}: the mark behind the call is not the call's"


@each({name: (body,) for name, (body, _) in WRITTEN.items()})
def test_what_is_written_is_read_again(body: Body) -> None:
    for call in (OSLO, ToolCall("8", "weather", {"city": f'a {CLOSE} "quoted" \\ {{}}'}), ToolCall("9", "ping", {})):
        read = Read(body, body.write(call, 0)).call
        assert (read.name, read.arguments, read.complete) == (call.name, call.arguments, True), call


WITH_A_HOLE: dict[str, tuple[Body, str]] = {
    "JSON": (JSON, '{"name": "weather", "arguments": {"city": "%s"}}'),
    "a name, then JSON": (NAMED, 'weather:>{"city": "%s"}'),
}


@each(WITH_A_HOLE)
def test_a_mark_inside_a_string_is_data(body: Body, form: str) -> None:
    said = f"a {CLOSE} b"
    text = form % said
    for cut in range(len(text)):
        assert Read(body, text, cut).call.arguments == {"city": said}, cut


def test_a_mark_outside_of_a_string_ends_a_call_that_lacks_its_brackets() -> None:
    read = Read(NAMED, f'weather:>{{"city": "Oslo"{CLOSE}')
    assert (read.call.arguments, read.call.complete, bool(read.call.repairs)) == ({"city": "Oslo"}, True, True)


def test_a_call_that_the_input_ends_in_is_not_complete_and_keeps_what_was_written() -> None:
    for text in ('weather:>{"city": "Os', 'weather:>{"city": ', "weather:>"):
        read = Read(NAMED, text)
        assert (read.ended, read.call.complete, read.call.arguments) == (False, False, {}), text
        assert read.call.raw == text.removeprefix("weather:>")
    read = Read(JSON, '{"name": "weather", "arguments": {"city": "Os')
    assert (read.call.complete, read.call.arguments) == (False, {})


def test_the_json_that_is_told_while_a_call_is_read_is_its_arguments() -> None:
    for text in ('weather:>{"city": "Oslo"}', 'weather:> {"city" : "Oslo"} '):
        assert Read(NAMED, text).told.replace(" ", "") == '{"city":"Oslo"}'


def test_a_name_is_found_in_another_spelling_and_one_that_is_unknown_stays_as_it_was_said() -> None:
    assert Read(NAMED, 'functions.Weather:>{"city": "Oslo"}').call.name == "weather"
    assert Read(NAMED, "unheard.of:>{}").call.name == "unheard.of"


def test_an_id_in_the_models_own_form_is_kept_and_another_is_made_by_number() -> None:
    assert NAMED.write(OSLO, 3) == 'weather:7>{"city":"Oslo"}'
    assert NAMED.write(ToolCall("call_x", "weather", {}), 3) == "weather:3>{}"


def test_a_call_that_was_not_complete_is_written_as_it_was() -> None:
    broken = ToolCall("7", "weather", {}, raw='{"city": "Os', complete=False)
    assert NAMED.write(broken, 0) == 'weather:7>{"city": "Os'
    assert JSON.write(broken, 0) == '{"name":"weather","arguments":{"city": "Os'


def test_a_blank_is_filled_in_once_whatever_it_is_filled_with() -> None:
    assert fill("{name}({id}){other}", name="{id}", id="{name}") == "{id}({name}){other}"


def test_text_to_the_user_is_no_call_and_is_never_written() -> None:
    body = ToUser(CallHead(re.compile("all>")))
    read = Read(body, "all>Hello.")
    assert (read.ended, read.at, read.reply.calls, body.bare(BOX)) == (True, len("all>"), (), None)
    with pytest.raises(NotImplementedError):
        body.write(OSLO, 0)
