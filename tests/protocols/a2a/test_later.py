"""JSON of A2A 0.2, 0.3 and 1.0: read in every form that servers send, written in exactly one."""

from __future__ import annotations

import pytest

from actum.core.json import Json, JsonObject
from actum.protocols.a2a.card import UnreadableCard, card_digest, read_card
from actum.protocols.a2a.later import LaterVersion, UnreadableAnswer, decode_event, decode_message, encode_message
from actum.protocols.a2a.model import A2ABytes, A2AData, A2ALink, A2AMessage, A2AStatusUpdate, A2ATask, A2AText

MESSAGE = A2AMessage(
    role="user",
    id="m",
    task_id="t",
    context_id="c",
    metadata={"skill": "s"},
    parts=(
        A2AText(text="Hi"),
        A2ABytes(data=b"\xff\x00", name="f", media_type="image/png"),
        A2ALink(url="https://a.example/f", name="f"),
        A2AData(data={"x": [1]}),
    ),
)


def test_what_is_written_is_read_again_in_both_forms() -> None:
    versions: tuple[LaterVersion, ...] = ("1.0", "0.3")
    for version in versions:
        assert decode_message(encode_message(MESSAGE, version)) == MESSAGE, version
    assert "kind" not in encode_message(MESSAGE, "1.0")


def test_the_differences_of_servers_are_let_pass() -> None:
    task: JsonObject = {"id": "t", "contextId": "c", "status": {"state": "working"}}
    cases: dict[str, tuple[Json, type]] = {
        "1.0 task": ({"task": task}, A2ATask),
        "0.3 task": ({"kind": "task", **task}, A2ATask),
        "1.0 with kind inside": ({"task": {**task, "kind": "task"}}, A2ATask),
        "a time without a zone": (
            {
                "statusUpdate": {
                    "taskId": "t",
                    "status": {"state": "TASK_STATE_WORKING", "timestamp": "2026-01-01T00:00:00"},
                }
            },
            A2AStatusUpdate,
        ),
        "null in place of nothing": (
            {
                "kind": "status-update",
                "taskId": "t",
                "contextId": "c",
                "final": True,
                "status": {"state": "completed", "message": None, "timestamp": None},
                "metadata": None,
            },
            A2AStatusUpdate,
        ),
        "a message by its kind": (
            {"kind": "message", "role": "agent", "parts": [], "messageId": "m"},
            A2AMessage,
        ),
        "an unknown state": ({"task": {"id": "t", "status": {"state": "dreaming"}}}, A2ATask),
    }
    for case, (value, kind) in cases.items():
        assert isinstance(decode_event(value), kind), case


def test_what_is_no_event_is_refused_and_never_another_error() -> None:
    bad: list[Json] = [
        None,
        [],
        "x",
        7,
        {},
        {"task": {}},
        {"task": {"id": 7}},
        {"kind": "task"},
        {"kind": []},
        {"kind": 7},
    ]
    bad += [{"task": {"id": "t"}}, {"message": {"parts": [7]}}, {"artifactUpdate": {"taskId": "t"}}]
    bad += [{"message": {"parts": [{"raw": "é"}]}}, {"message": {"parts": [{}]}}]
    for value in bad:
        with pytest.raises(UnreadableAnswer):
            decode_event(value)


def test_a_card_of_any_version_says_how_its_agent_is_spoken_to() -> None:
    rpc: JsonObject = {"url": "https://a.example/r", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    rest: JsonObject = {"url": "https://a.example/h", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.2"}
    grpc: JsonObject = {"url": "https://a.example/g", "protocolBinding": "GRPC", "protocolVersion": "1.0"}
    cases: dict[str, tuple[Json, list[tuple[str, str]]]] = {
        "1.0": (
            {"name": "a", "supportedInterfaces": [grpc, rest, rpc]},
            [("GRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "1.0")],
        ),
        "both": ({"name": "a", "url": "https://a.example/o", "supportedInterfaces": [rpc]}, [("JSONRPC", "1.0")]),
        "of those of 1.0 none is known": (
            {"name": "a", "url": "https://a.example/o", "supportedInterfaces": [{**rpc, "protocolBinding": "CARRIER"}]},
            [("JSONRPC", "0.2-or-older")],
        ),
        "0.3": ({"name": "a", "url": "https://a.example/", "protocolVersion": "0.3.0"}, [("JSONRPC", "0.3")]),
        "April 2025": ({"name": "a", "url": "https://a.example/"}, [("JSONRPC", "0.2-or-older")]),
    }
    for case, (raw, ways) in cases.items():
        assert [(each.binding, each.dialect) for each in read_card(raw).interfaces] == ways, case
    unfit: list[Json] = [
        None,
        [],
        {},
        {"name": 7},
        {"name": "a"},
        {"name": "a", "supportedInterfaces": [7, {}, grpc | {"protocolVersion": "0.3"}]},
    ]
    for raw in unfit:
        with pytest.raises(UnreadableCard):
            read_card(raw)
    assert card_digest({"a": 1, "signatures": [1]}) == card_digest({"signatures": [2], "a": 1})
