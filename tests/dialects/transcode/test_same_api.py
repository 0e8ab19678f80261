"""A body that goes to its own API stays as it is, byte for byte, but for the field that was to be changed."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.errors import ModelUnavailable, UsageError
from actum.core.json import Json
from actum.dialects.transcode.one_field import TRIES_MAX, with_field
from actum.dialects.transcode.transcode import Transcoder, transcode
from tests.dialects.api_corpus import CORPUS
from tests.each import each
from tests.endurance import share

ODD = (
    b'\n{ "messages" : [ {"role":"user","content":"\\u0041 \\"model\\": \\"a\\"","model":"a"} ],'
    b'\n "seed":1.0,  "model" :\t"a", "x":1e5 }\n'
)


def test_one_field_is_changed_and_no_other_byte() -> None:
    found = transcode(ODD, "openai", "openai", model="gpt-5")
    assert found.wire == ODD.replace(b'"model" :\t"a"', b'"model" :\t"gpt-5"')
    assert (found.kind, found.lost) == ("request", ())
    assert transcode(ODD, "openai", "openai", model="a").wire == ODD
    assert transcode(ODD, "openai", "openai").wire == ODD


@pytest.mark.parametrize(
    ("body", "path", "insert", "written"),
    [
        (b'{"a":{"b":1},"b":1}', ["a", "b"], False, b'{"a":{"b":2},"b":1}'),
        (b'{"a":{}}', ["a", "b"], False, b'{"a":{}}'),
        (b'{"a":{}}', ["a", "b"], True, b'{"a":{"b":2}}'),
        (b"{ }", ["a", "b"], True, b'{"a":{"b":2} }'),
        (b' {"x":1}', ["a"], True, b' {"a":2,"x":1}'),
        (b'{"a":1,"a":3}', ["a"], False, b'{"a":1,"a":2}'),
        (b'{"\\u0061": 1, "b":1.0}', ["a"], False, b'{"a":2,"b":1.0}'),
        (b'{"a":[1]}', ["a", "b"], True, b'{"a":[1]}'),
        (b"[1]", ["a"], True, b"[1]"),
        (b"{", ["a"], True, b"{"),
    ],
)
def test_a_field_is_found_wherever_it_is(body: bytes, path: list[str], insert: bool, written: bytes) -> None:
    assert with_field(body, path, 2, insert=insert) == written


def test_a_body_full_of_places_that_look_like_the_field_is_not_read_again_and_again() -> None:
    inner = b",".join([b'{"model":"a"}'] * (TRIES_MAX + 1))
    written = with_field(b'{"x":[' + inner + b'], "model":"a"}', ["model"], "b")
    assert written == b'{"x":[' + inner + b'],"model":"b"}'


bodies = st.dictionaries(
    st.sampled_from(["a", "b", "model", 'quo"te']),
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5) | st.just('{"model":1}'),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "model"]), inner, max_size=2),
        max_leaves=5,
    ),
)


@given(body=bodies, name=st.sampled_from(["a", "model", 'quo"te', "new"]), indent=st.sampled_from([0, 2]))
def test_the_changed_body_reads_as_it_should(body: dict[str, Json], name: str, indent: int) -> None:
    wire = msgspec.json.format(msgspec.json.encode(body), indent=indent)
    assert msgspec.json.decode(with_field(wire, [name], 5, insert=True)) == {**body, name: 5}


@pytest.mark.parametrize("api", ["openai", "responses", "anthropic", "gemini"])
def test_what_only_the_api_knows_goes_through_to_it(api: str) -> None:
    wire = b'{"tools": [{"type": "mcp"}], "input": [{"type": "item_reference", "id": "m"}], "messages": [5]}'
    assert transcode(wire, api, api, kind="request").wire == wire
    waiting = b'{"id": "r", "object": "response", "status": "queued", "output": []}'
    assert transcode(waiting, api, api, kind="response").wire == waiting
    with pytest.raises(UsageError, match="no JSON"):
        transcode(b"{", api, api, kind="request")


STREAMS = {
    f"{path.parent.name} {path.stem}": (path.parent.name, path.read_bytes())
    for api in ("openai_chat", "openai_responses", "anthropic_messages", "gemini_content")
    for path in sorted((CORPUS / api).glob("stream_*.wire"))
}


@pytest.mark.endurance("src/actum/dialects")
@each(STREAMS)
def test_a_stream_goes_through_byte_for_byte_in_any_cut_or_says_that_it_broke_off(api: str, wire: bytes) -> None:
    whole = transcode(wire, api, api, kind="stream")
    if str(whole.error) != "the answer broke off":
        assert whole.wire == wire
    else:  # in place of a torn event stands one that says it
        told = whole.wire.rstrip(b"\n").rpartition(b"data: ")[0].removesuffix(b"event: error\n")
        assert wire.startswith(told)
        assert transcode(whole.wire, api, api, kind="stream").wire == whole.wire
    for place in range(0, len(wire) + 1, share(11, 29)):
        transcoder = Transcoder(api, api)
        told_on = transcoder.feed(wire[:place]) + transcoder.feed(wire[place:]) + transcoder.close()
        assert told_on == whole.wire
        assert str(transcoder.error) == str(whole.error)


def test_an_event_goes_out_as_soon_as_it_is_whole() -> None:
    transcoder = Transcoder("openai", "openai", model="b")
    event = b'data: {"id":"x", "model":"a","choices":[{"index":0,"delta":{"content":"Hi"}}]}'
    assert transcoder.feed(event) == b""
    assert transcoder.feed(b"\n\nda") == event.replace(b'"a"', b'"b"') + b"\n\n"
    assert b"broke off" in transcoder.close()
    assert isinstance(transcoder.error, ModelUnavailable)


@pytest.mark.parametrize(
    ("api", "event"),
    [
        ("openai", b'{"model": "a", "choices": []}'),
        ("responses", b'{"type": "response.created", "response": {"id": "r", "model": "a"}}'),
        ("anthropic", b'{"type": "message_start", "message": {"model": "a", "content": []}}'),
        ("gemini", b'{"modelVersion": "a", "candidates": []}'),
    ],
)
def test_the_model_is_renamed_in_each_event(api: str, event: bytes) -> None:
    told = Transcoder(api, api, model="b").feed(b"event: e\r\ndata: " + event + b"\r\n\r\n")
    assert told == b"event: e\r\ndata: " + event.replace(b'"a"', b'"b"') + b"\r\n\r\n"
