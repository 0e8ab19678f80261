"""No leaf of a body gets lost in silence: it is in what was written, or in the list of what was left out.

The corpus `tests/corpus/transcode` has of each API a full request, a full answer and the events of a full stream.
"""

from __future__ import annotations

import base64
import copy
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from actum.core.errors import ModelError, UsageError
from actum.core.json import Json, JsonObject, dumps
from actum.dialects import dialect
from actum.dialects.transcode.transcode import Kind, Transcoded, transcode
from tests.each import each
from tests.endurance import share

CORPUS = Path(__file__).parents[2] / "corpus/transcode"
APIS = ("openai_chat", "openai_responses", "anthropic_messages", "gemini_content")
TARGETS = (*APIS, "openai_functions")
KINDS: dict[str, Kind] = {"request": "request", "reply": "response", "events": "stream"}
FULL: dict[tuple[str, str], Json] = {
    (api, kind): msgspec.json.decode((CORPUS / f"{api}.{kind}.json").read_bytes())
    for api, kind in itertools.product(APIS, KINDS)
}
PAIRS = {
    f"{kind} of {source} to {target}": (source, target, kind)
    for source, target, kind in itertools.product(APIS, TARGETS, KINDS)
    if source != target
}
Path_ = tuple[str | int, ...]


def wire_of(body: Json, kind: str) -> bytes:
    if kind != "events":
        return msgspec.json.encode(body)
    assert isinstance(body, list)
    return b"".join([b"data: " + msgspec.json.encode(event) + b"\n\n" for event in body])


def leaves(value: Json, path: Path_ = ()) -> Iterator[tuple[Path_, Json]]:
    """The values that say something, with their places."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from leaves(inner, (*path, number))
    elif value not in (None, ""):
        yield path, value


def objects(value: Json, path: Path_ = ()) -> Iterator[Path_]:
    if isinstance(value, dict):
        yield path
    for step, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from objects(inner, (*path, step))


def at(body: Json, path: Path_) -> Json:
    for step in path:
        assert isinstance(body, dict | list)
        body = body[step]  # type: ignore[index]
    return body


def changed(body: Json, path: Path_, value: Json) -> Json:
    """The body with another value there; without a value there is none."""
    body = copy.deepcopy(body)
    place = at(body, path[:-1])
    assert isinstance(place, dict | list)
    if value is None:
        del place[path[-1]]  # type: ignore[arg-type]
    else:
        place[path[-1]] = value  # type: ignore[index]
    return body


def said(path: Path_) -> str:
    return "".join([f"[{step}]" if isinstance(step, int) else f".{step}" for step in path]).removeprefix(".")


def places(path: Path_, kind: str, body: Json) -> str:
    """The place as a loss says it: in a stream, in words of the message that the stream makes."""
    if kind != "events":
        return said(path)
    event, rest = at(body, path[:1]), path[1:]
    assert isinstance(event, dict)
    index, part = event.get("index", event.get("output_index")), event.get("content_index")
    first = rest[0] if rest else ""
    block = f"content[{index}]"
    item = f"output[{index}]"
    inside = item if part is None else f"{item}.content[{part}]"
    is_block = event.get("type") == "content_block_delta"
    summary = f"{item}.summary[{event.get('summary_index')}]"
    prefix = {
        "response": "",
        "message": "",
        "item": item,
        "content_block": block,
        "delta": block if is_block else "",
        "part": summary if "summary_index" in event else inside,
    }
    if first in prefix and not isinstance(event.get(str(first)), str):
        return ".".join(filter(None, [prefix[str(first)], said(rest[1:])]))
    if str(event.get("type")).startswith("response."):
        return f"{inside}.{said(rest)}".replace(".annotation.", ".annotations.")
    place = said(rest)
    for name in ("choices", "candidates"):
        choices = event.get(name)
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            place = place.replace(f"{name}[0]", f"{name}[{choices[0].get('index', 0)}]")
    return place


SCHEMA_OF_ANSWER = re.compile(r"response_format|text\.format|output_config\.format|generationConfig\.responseSchema")


def covered(place: str, found: Transcoded) -> bool:
    """A loss is about this place, or about all of what it stands in."""
    camel = re.sub(r"_([a-z])", lambda match: match[1].upper(), place)
    if SCHEMA_OF_ANSWER.match(place) and any(loss.where == "output_schema" for loss in found.lost):
        return True
    return any(
        where == loss.where or where.startswith((f"{loss.where}.", f"{loss.where}["))
        for loss in found.lost
        for where in (place, camel)
    )


def outcome(body: Json, source: str, target: str, kind: str) -> Transcoded | None:
    """None where the body is refused, which is not in silence."""
    try:
        return transcode(wire_of(body, kind), source, target, kind=KINDS[kind])
    except (UsageError, ModelError):
        return None


WIRE_ONLY = {
    "openai_chat": r"object|.*\bindex|.*\.role|.*\.type|usage\.total_tokens|stream_options\.include_usage",
    "openai_responses": r"object|.*\bid|.*\.role|.*\.type|type|.*status|usage\.total_tokens|store|background|.*detail",
    "anthropic_messages": r"type|.*\.type|role|.*\.role|index|.*media_type",
    "gemini_content": r".*\.role|.*\bindex|usageMetadata\.totalTokenCount|.*willContinue",
}
"""What serves the wire, or has the API's own default: it says nothing beyond that."""
ALSO_IN_STREAMS = {
    "openai_chat": r"|id|model|created|obfuscation|usage\..*",
    "openai_responses": r"|.*(_index|item_id|sequence_number|obfuscation)|.*\.(text|delta|refusal|arguments|input|name)"
    r"|.*\.(call_id|encrypted_content|result|output_format)|id|model|created_at|usage\..*",
    "anthropic_messages": r"|usage\..*",
    "gemini_content": r"|modelVersion|responseId|usageMetadata\..*",
}
"""What a stream says several times: without one of these it still says so elsewhere."""


ASSUMED = re.compile(
    r"messages\[\d\]\.tool_call_id|.*functionResponse\.id"  # the first call that has no answer
    r"|.*finish_reason|stop_reason|.*finishReason"  # an end like any other
    r"|.*output_format|tool_choice\.mode|.*responseMimeType|.*additionalProperties|.*format\.strict|.*schema\.strict"
    r"|tools.*\.type"
)
"""Where these are missing, the reader or the target assumes the very value that the corpus has."""


@each(PAIRS)
def test_without_a_leaf_what_is_written_or_the_list_is_another(source: str, target: str, kind: str) -> None:
    body = FULL[source, kind]
    whole = outcome(body, source, target, kind)
    assert whole is not None
    assert whole.error is None
    wire_only = re.compile(WIRE_ONLY[source] + (ALSO_IN_STREAMS[source] if kind == "events" else ""))
    silent = []
    for path, value in leaves(body):
        place = places(path, kind, body)
        if covered(place, whole) or wire_only.fullmatch(place) or ASSUMED.fullmatch(place):
            continue
        found = outcome(changed(body, path, None), source, target, kind)
        if found is not None and (found.wire, found.lost) == (whole.wire, whole.lost):
            silent.append(f"{place} ({said(path)}): {value!r}")
    assert silent == []


MARK = "mark-5d8f"
NUMBER = 918273645
NEW: list[Json] = [MARK, NUMBER, {"inner": [MARK]}, [{"deep": {"er": NUMBER}}]]
SUMMED = re.compile(r"usage\.\w+_tokens|usageMetadata\.\w+Count")


@settings(max_examples=share(150, 20))
@given(data=st.data())
def test_a_leaf_of_any_name_at_any_place_is_in_the_output_or_in_the_list(data: st.DataObject) -> None:
    source, target, kind = data.draw(st.sampled_from(sorted(PAIRS.values())))
    body = FULL[source, kind]
    places_for = sorted(objects(body), key=str)
    name = data.draw(st.sampled_from(["new_field", "x-new", "cache_control", "name", "detail", "metadata", "logprobs"]))
    value: Json = data.draw(st.sampled_from(NEW))
    path = (*data.draw(st.sampled_from(places_for)), name)
    parent = at(body, path[:-1])
    assert isinstance(parent, dict)
    if name not in parent:
        check(changed(body, path, value), source, target, kind, path)


@settings(max_examples=share(150, 20))
@given(data=st.data())
def test_a_leaf_of_any_value_is_in_the_output_or_in_the_list(data: st.DataObject) -> None:
    source, target, kind = data.draw(st.sampled_from(sorted(PAIRS.values())))
    body = FULL[source, kind]
    path, value = data.draw(st.sampled_from([leaf for leaf in leaves(body) if not isinstance(leaf[1], bool)]))
    place = places(path, kind, body)
    if SUMMED.fullmatch(place):
        return  # counts are told as sums and differences of each other: see the test above
    if not re.fullmatch(WIRE_ONLY[source] + (ALSO_IN_STREAMS[source] if kind == "events" else ""), place):
        check(changed(body, path, MARK if isinstance(value, str) else NUMBER), source, target, kind, path)


WRAPPED = re.compile(r"YWN0dW06[A-Za-z0-9+/]*={0,2}")
"""Signatures of thoughts of another API, which a client keeps and hands back (`signatures.carried`)."""


def check(body: Json, source: str, target: str, kind: str, path: Path_) -> None:
    found = outcome(body, source, target, kind)
    if found is None or found.error is not None:
        return
    place = places(path, kind, body)
    wrapped = [base64.b64decode(token).decode(errors="replace") for token in WRAPPED.findall(found.wire.decode())]
    written = found.wire.decode() + dumps([str(loss) for loss in found.lost]) + "".join(wrapped)
    as_file = base64.b64encode(MARK.encode()).decode() in written  # a text that was attached goes out as bytes
    assert as_file or MARK in written or str(NUMBER) in written or covered(place, found), place


@each({f"{kind} of {api}": (api, kind) for api, kind in FULL})
def test_to_the_same_api_every_byte_stays(api: str, kind: str) -> None:
    wire = wire_of(FULL[api, kind], kind).replace(b'":', b'" :  ').replace(b"data: ", b"data:")
    found = transcode(wire, api, api, kind=KINDS[kind])
    assert (found.wire, found.lost, found.error) == (wire, (), None)


# What the issue names, each as a case: the fact, the pair, and where it stands in the list.

USER: Json = {"role": "user", "content": "Hi"}
MARKED: Json = {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
_FOUND: Json = {"type": "function", "name": "found", "parameters": {"type": "object"}, "defer_loading": True}
_BY_CLIENT: JsonObject = {"call_id": "s1", "execution": "client", "status": "completed"}
SEARCHED: list[Json] = [
    {"type": "tool_search_call", "arguments": {"query": "x"}, **_BY_CLIENT},
    {"type": "tool_search_output", "tools": [_FOUND], **_BY_CLIENT},
]
"""A search of the Responses API that a client has carried out."""
REFERRED: list[Json] = [
    {"role": "assistant", "content": [{"type": "tool_use", "id": "s1", "name": "search", "input": {}}]},
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "s1", "content": [{"type": "tool_reference", "tool_name": "found"}]}
        ],
    },
]
"""A search of the Messages API that a client has carried out."""
CALLED: Json = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}],
}
ANSWER = {"role": "tool", "tool_call_id": "c1", "content": "sunny"}
NAMED: dict[str, tuple[str, str, str, Json, set[str]]] = {
    **{
        f"name of a tool message, to {target}": (
            "openai_chat",
            target,
            "request",
            {"model": "m", "max_tokens": 9, "messages": [USER, CALLED, {**ANSWER, "name": "lookup-7"}]},
            {"messages[2].name", *beside},
        )
        for target, beside in (
            ("openai_responses", ()),
            ("anthropic_messages", ()),
            ("gemini_content", ("model",)),
            ("openai_functions", ("messages[1].calls[0].id",)),
        )
    },
    "name of a tool message that is the name of its call": (
        "openai_chat",
        "anthropic_messages",
        "request",
        {"model": "m", "max_tokens": 9, "messages": [USER, CALLED, {**ANSWER, "name": "weather"}]},
        set(),
    ),
    "second choice of n=2": (
        "openai_chat",
        "anthropic_messages",
        "reply",
        {"choices": [{"message": {"content": "a"}}, {"index": 1, "message": {"content": "b"}}]},
        {"choices[1]"},
    ),
    "logprobs, service_tier, system_fingerprint": (
        "openai_chat",
        "openai_responses",
        "reply",
        {
            "choices": [{"message": {"content": "a"}, "logprobs": {"content": [1]}}],
            "service_tier": "flex",
            "system_fingerprint": "fp",
        },
        {"choices[0].logprobs", "service_tier", "system_fingerprint"},
    ),
    "each mark for the cache, with its ttl": (
        "anthropic_messages",
        "openai_chat",
        "request",
        {"max_tokens": 9, "system": [MARKED], "messages": [{"role": "user", "content": [MARKED, MARKED]}]},
        {f"{place}.cache_control" for place in ("system[0]", "messages[0].content[0]", "messages[0].content[1]")},
    ),
    "a refusal of the past": (
        "openai_chat",
        "anthropic_messages",
        "request",
        {"messages": [USER, {"role": "assistant", "refusal": "No."}, USER]},
        {"messages[1].refusal"},
    ),
    "hosted tools": (
        "openai_responses",
        "openai_chat",
        "request",
        {"input": "Hi", "tools": [{"type": "web_search"}, {"type": "mcp"}], "tool_choice": {"type": "web_search"}},
        {"tools[0]", "tools[1]", "tool_choice"},
    ),
    "the search of a client, which has loaded a tool": (
        "openai_responses",
        "openai_chat",
        "request",
        {
            "input": [USER, *SEARCHED],
            "tools": [{"type": "tool_search", "execution": "client", "parameters": {"type": "object"}}],
        },
        {"tools[0]", "input[2].tools[0].defer_loading"},
    ),
    "tools that are loaded later, and the search for them": (
        "anthropic_messages",
        "openai_responses",
        "request",
        {
            "max_tokens": 9,
            "messages": [USER, *REFERRED],
            "tools": [
                {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
                {"name": "found", "input_schema": {"type": "object", "properties": {}}, "defer_loading": True},
            ],
        },
        {"tools[0]", "tools[1].defer_loading", "messages[2].content[0].content[0]"},
    ),
    "a custom tool": (
        "openai_responses",
        "openai_chat",
        "request",
        {"input": "Hi", "tools": [{"type": "custom", "name": "sql", "format": {"type": "text"}}]},
        {"tools[0].type", "tools[0].format"},
    ),
    "an uploaded file": (
        "openai_responses",
        "anthropic_messages",
        "request",
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file-1"}]}]},
        {"input[0].content[0]"},
    ),
    "a stored item": (
        "openai_responses",
        "gemini_content",
        "request",
        {"input": [{"type": "item_reference", "id": "msg_1"}, USER]},
        {"input[0]"},
    ),
}


@each(NAMED)
def test_what_has_no_place_is_in_the_list(source: str, target: str, kind: str, body: Json, where: set[str]) -> None:
    found = outcome(body, source, target, kind)
    assert found is not None
    assert {loss.where for loss in found.lost} == where
    assert transcode(wire_of(body, kind), source, source, kind=KINDS[kind]).lost == ()


@each({name: (name,) for name in NAMED if "search" in name})
def test_tools_that_were_to_be_loaded_later_are_all_told_to_another_api(name: str) -> None:
    source, _, _, body, _ = NAMED[name]
    found = outcome(body, source, "openai_chat", "request")
    assert found is not None
    told = dialect("openai_chat").decode_request(found.wire)
    assert [tool.name for tool in told.tools] == ["found"]
    assert "found" in str(told.messages[-1])


@each({f"{kind} to {target}": (kind, target) for kind in ("reply", "events") for target in TARGETS[1:4]})
def test_a_call_of_a_custom_tool_is_a_call_with_one_text(kind: str, target: str) -> None:
    found = outcome(FULL["openai_chat", kind], "openai_chat", target, kind)
    assert found is not None
    call = dialect(target).decode(found.wire).calls[1]
    assert (call.id, call.name, call.arguments, call.complete) == ("call_2", "run_sql", {"input": "select 1"}, True)
    place = "message" if kind == "reply" else "delta"
    assert "custom" in [loss.what.strip('"') for loss in found.lost if place in loss.where]


@each({source: (source,) for source in APIS})
def test_what_a_stream_says_again_and_again_is_listed_once(source: str) -> None:
    body = FULL[source, "events"]
    assert isinstance(body, list)
    for target in APIS:
        if target != source:
            found = outcome(body, source, target, "events")
            assert found is not None
            unread = [loss.where for loss in found.lost if not loss.where.startswith("reply")]
            assert len(unread) == len(set(unread)) > 3
