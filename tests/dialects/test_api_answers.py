"""What holds for an answer of every model API alike: any cut, events and reply, what is no answer, and errors.

What one API alone does is in the tests of that API.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum.core.errors import ContextOverflow, ModelError, ModelGarbled, ModelRejected, ModelUnavailable
from actum.dialects import dialect
from actum.dialects.base import ApiDialect
from tests.dialects.api_corpus import case_of, check_events, check_every_cut, cut, events_of, paths_of, read
from tests.each import each
from tests.endurance import share

APIS: dict[str, ApiDialect] = {
    name: dialect(name) for name in ("openai_chat", "openai_responses", "anthropic_messages", "gemini_content")
}
CASES = [(name, path) for name in APIS for path in paths_of(name)]
every_case = each({f"{name}-{path.stem}": (name, path) for name, path in CASES})


@pytest.mark.endurance("src/actum/dialects", "tests/corpus")
@pytest.mark.no_cover
@pytest.mark.row("S3", "S5")
@pytest.mark.parametrize("api", APIS)
def test_an_answer_reads_as_it_should_whole_and_in_any_pieces(api: str) -> None:
    for path in paths_of(api):
        check_every_cut(APIS[api], path)


@pytest.mark.no_cover
@settings(max_examples=share(600, 60))
@given(st.sampled_from(CASES), st.lists(st.integers(0, 9000), max_size=9))
def test_an_answer_reads_the_same_in_any_number_of_pieces(case: tuple[str, Path], places: list[int]) -> None:
    api, wire = APIS[case[0]], case[1].read_bytes()
    assert read(api, cut(wire, [place % (len(wire) + 1) for place in places])) == read(api, [wire])


@every_case
def test_the_events_tell_what_the_reply_holds(api: str, path: Path) -> None:
    check_events(APIS[api], path)


@every_case
def test_whether_an_answer_broke_off_is_known(api: str, path: Path) -> None:
    broke_off = path.stem.endswith("_cut") or "_cut_" in path.stem
    assert read(APIS[api], [path.read_bytes()])[2] is not broke_off


@every_case
def test_a_case_says_where_it_comes_from(api: str, path: Path) -> None:
    assert case_of(path).source


# Each decoder reads the most common events in a way of their own.

CHECKED = {
    "openai_chat": "choices",
    "openai_responses": "type",
    "anthropic_messages": "type",
    "gemini_content": "candidates",
}
"""A field that makes an event uncommon where it says something odd first; the last word counts."""


@each({f"{name}-{path.stem}": (name, path) for name, path in CASES if events_of(path)})
def test_uncommon_events_read_like_common_ones(api: str, path: Path) -> None:
    events = events_of(path)
    common = b"".join(b"data: %s\n\n" % event for event in events)
    uncommon = common.replace(b"data: {", b'data: {"%s": 5, ' % CHECKED[api].encode())
    assert read(APIS[api], [uncommon]) == read(APIS[api], [common])


# Arguments in pieces that each look like their end.

LONG = {
    "openai_chat": (
        '{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f"}}]}}]}',
        '{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"%s"}}]}}]}',
    ),
    "openai_responses": (
        '{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","name":"f"}}',
        '{"type":"response.function_call_arguments.delta","output_index":0,"delta":"%s"}',
    ),
    "anthropic_messages": (
        '{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f"}}',
        '{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"%s"}}',
    ),
}


@pytest.mark.parametrize("size", [1, 16])
@pytest.mark.parametrize("api", LONG)
def test_long_arguments_in_pieces_that_each_look_like_their_end_are_read(api: str, size: int) -> None:
    said = "0123456789abcde}" * 4_000
    begin, piece = LONG[api]
    pieces = ['{\\"a\\":\\"', *[said[n : n + size] for n in range(0, len(said), size)], '\\"}']
    _, reply, _ = read(APIS[api], [f"data: {event}\n\n" for event in (begin, *[piece % text for text in pieces])])
    assert reply.calls[0].arguments == {"a": said}


# What is no answer, and what an error means.

Row = tuple[bytes, type[ModelError], str]
NO_ANSWER: list[Row] = [
    (b"", ModelGarbled, "empty"),
    (b" \n", ModelGarbled, "empty"),
    (b"<html>Bad gateway</html>", ModelGarbled, "neither"),
    (b"{}", ModelGarbled, "neither"),
    (b"data: [1]\n\n", ModelGarbled, "form of its API"),
    (b"data: oops\n\n", ModelGarbled, "no JSON"),
]
NO_ANSWER_OF: dict[str, list[Row]] = {
    "openai_chat": [
        (b'{"choices": []}', ModelGarbled, "neither"),
        (b'{"choices": 5}', ModelGarbled, "form of its API"),
        (b'{"choices": [5]}', ModelGarbled, "form of its API"),
        (b'{"choices": [{"message": {"content": "Hel', ModelGarbled, "broke off"),
        (b'{"error": {"message": "no", "code": 400}}', ModelRejected, "no"),
        (b'{"object": "error", "message": "too long", "code": 400}', ModelRejected, "too long"),
        (b'data: {"error": {"message": "Overloaded", "type": "server_error"}}\n\n', ModelUnavailable, "Overloaded"),
        (b'data: {"error": {"message": "slow", "type": "rate_limit_error"}}\n\n', ModelUnavailable, "slow"),
        (
            b'data: {"error": {"message": "bad", "type": "invalid_request_error"}, "choices": []}\n\n',
            ModelRejected,
            "bad",
        ),
        (b'data: {"error": "worker died"}\n\n', ModelUnavailable, "worker died"),
    ],
    "openai_responses": [
        (b'{"object": "chat.completion", "choices": []}', ModelGarbled, "neither"),
        (b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n', ModelGarbled, "neither"),
        (b'{"output": [{"type": "mess', ModelGarbled, "broke off"),
        (b'data: {"type": "response.completed"}\n\n', ModelGarbled, "no response"),
        (b'{"object": "response", "status": "queued", "output": []}', ModelGarbled, "background"),
        (b'{"object": "response", "status": "cancelled", "output": []}', ModelUnavailable, "cancelled"),
        (b'{"error": {"message": "no", "code": 400}}', ModelRejected, "no"),
        (
            b'{"object":"response","status":"failed","error":{"code":"server_error","message":"oh"},"output":[]}',
            ModelUnavailable,
            "oh",
        ),
        (
            b'data: {"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"bad"}}}\n\n',
            ModelRejected,
            "bad",
        ),
        (b'data: {"type":"response.failed","response":{"status":"failed"}}\n\n', ModelUnavailable, "why"),
        (
            b'data: {"type":"error","code":"rate_limit_exceeded","message":"slow","param":null}\n\n',
            ModelUnavailable,
            "slow",
        ),
        (b'data: {"type":"error","error":{"type":"invalid_request_error","message":"bad"}}\n\n', ModelRejected, "bad"),
        (b'data: {"error": "worker died"}\n\n', ModelUnavailable, "worker died"),
    ],
    "anthropic_messages": [
        (b'{"content": [5]}', ModelGarbled, "form of its API"),
        (b"[1]", ModelGarbled, "form of its API"),
        (b'{"content": [{"type": "text", "text": "Hel', ModelGarbled, "broke off"),
        (
            b'data: {"type":"content_block_delta","index":3,"delta":{"type":"signature_delta","signature":"s"}}\n\n',
            ModelGarbled,
            "never began",
        ),
        (b'{"type":"error","error":{"type":"invalid_request_error","message":"no"}}', ModelRejected, "no"),
        (
            b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
            ModelUnavailable,
            "529.*Overloaded",
        ),
        (
            b'event: error\ndata: {"type":"error","error":{"type":"rate_limit_error","message":"slow"}}\n\n',
            ModelUnavailable,
            "slow",
        ),
        (b'data: {"type":"error","error":{"type":"authentication_error","message":"k"}}\n\n', ModelRejected, "key"),
        (b'data: {"type":"error","error":"odd"}\n\n', ModelUnavailable, "odd"),
    ],
    "gemini_content": [
        (b"[]", ModelGarbled, "neither"),
        (b"[1]", ModelGarbled, "form of its API"),
        (b'{"candidates": [5]}', ModelGarbled, "form of its API"),
        (b'{"candidates": [{"content": {"parts": [{"text": "Hel', ModelGarbled, "broke off"),
        (b'{"error":{"code":400,"message":"bad schema","status":"INVALID_ARGUMENT"}}', ModelRejected, "bad schema"),
        (b'[{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}]', ModelUnavailable, "overloaded"),
        (b'data: {"error":{"code":429,"message":"quota"}}\n\n', ModelUnavailable, "quota"),
        (b'data: {"error":"odd"}\n\n', ModelUnavailable, "odd"),
    ],
}


@pytest.mark.parametrize(
    ("api", "wire", "kind", "message"), [(api, *row) for api in APIS for row in NO_ANSWER + NO_ANSWER_OF[api]]
)
def test_what_is_no_answer_is_an_error_of_its_kind(api: str, wire: bytes, kind: type[ModelError], message: str) -> None:
    with pytest.raises(kind, match=message):
        APIS[api].decode(wire)


SECRETS = ("sk-abc", "sk-ant", "AIza")
RETRY_INFO = (
    b'{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED","details":['
    b'{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}'
)
STATUS: dict[str, list[tuple[int, bytes, type[ModelError], str]]] = {
    "openai_chat": [
        (
            401,
            b'{"error":{"message":"Incorrect API key provided: sk-abcdefgh12345678.","code":"x"}}',
            ModelRejected,
            "key",
        ),
        (403, b'{"error":"country"}', ModelRejected, "country"),
        (404, b'{"error":{"message":"The model does not exist"}}', ModelRejected, "does not exist"),
        (400, b'{"object":"error","message":"tools need a flag","code":400}', ModelRejected, "tools need a flag"),
        (422, b'{"detail":[{"loc":["body","tools"],"msg":"extra"}]}', ModelRejected, "extra"),
        (429, b'{"error":{"message":"slow down"}}', ModelUnavailable, "slow down"),
        (408, b"", ModelUnavailable, "408"),
        (500, b"<html>oops</html>", ModelUnavailable, "500"),
        (503, b"null", ModelUnavailable, "503"),
        (302, b"", ModelGarbled, "302"),
        (204, b"", ModelGarbled, "address"),
    ],
    "anthropic_messages": [
        (
            400,
            b'{"type":"error","error":{"type":"invalid_request_error","message":"too many"}}',
            ModelRejected,
            "too many",
        ),
        (401, b'{"type":"error","error":{"message":"invalid x-api-key sk-ant-api03-abcdefgh"}}', ModelRejected, "key"),
        (403, b'{"type":"error","error":{"type":"permission_error","message":"no"}}', ModelRejected, "allow"),
        (404, b'{"type":"error","error":{"type":"not_found_error","message":"model: x"}}', ModelRejected, "model: x"),
        (413, b'{"type":"error","error":{"type":"request_too_large","message":"32 MB"}}', ContextOverflow, "too long"),
        (429, b'{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}', ModelUnavailable, "slow"),
        (500, b"<html>oops</html>", ModelUnavailable, "500"),
        (503, b"", ModelUnavailable, "503"),
        (
            529,
            b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
            ModelUnavailable,
            "overl",
        ),
    ],
    "gemini_content": [
        (400, b'{"error":{"code":400,"message":"API key not valid: AIzaSyA1234567890bcd"}}', ModelRejected, "[key]"),
        (403, b'{"error":{"message":"PERMISSION_DENIED"}}', ModelRejected, "PERMISSION_DENIED"),
        (404, b'{"error":{"message":"models/x is not found"}}', ModelRejected, "models/x"),
        (413, b"", ContextOverflow, "too long"),
        (429, RETRY_INFO, ModelUnavailable, "slow down"),
        (500, b"<html>oops</html>", ModelUnavailable, "500"),
        (503, b'[{"error":{"message":"overloaded"}}]', ModelUnavailable, "overloaded"),
    ],
}


@pytest.mark.parametrize(
    ("api", "status", "wire", "kind", "message"), [(api, *row) for api, rows in STATUS.items() for row in rows]
)
def test_a_failing_status_is_an_error_of_its_kind(
    api: str, status: int, wire: bytes, kind: type[ModelError], message: str
) -> None:
    error = APIS[api].decode_error(status, 7.0, wire)
    assert type(error) is kind
    assert message in str(error)
    assert (error.status, error.retry_after) == (status, 7.0)
    assert not any(secret in str(error) for secret in SECRETS)
