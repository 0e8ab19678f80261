"""The protocol of April 2025: what the specification shows is read, and what is written fits the published schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import get_args

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.json import Json, JsonObject
from actum.protocols.a2a import legacy
from actum.protocols.a2a.model import (
    A2AArtifact,
    A2AArtifactUpdate,
    A2ABytes,
    A2AData,
    A2ALink,
    A2AMessage,
    A2APart,
    A2APushTarget,
    A2AState,
    A2AStatus,
    A2AStatusUpdate,
    A2ATask,
    A2AText,
)

CORPUS = Path(__file__).parents[2] / "corpus" / "a2a"
SCHEMA = json.loads((CORPUS / "schema-0.1.json").read_text())
SAID = [json.loads(line) for line in (CORPUS / "specification-0.1.jsonl").read_text().splitlines()]


def fits(definition: str, value: Json) -> None:
    """Fail where a value is not what the schema of April 2025 calls so."""
    jsonschema_rs.validate(SCHEMA | {"$ref": f"#/$defs/{definition}"}, value)


# Values that the old protocol can say: what is lost on the way is looked at by its own test.
_words = st.text(max_size=12)
_metadata: st.SearchStrategy[JsonObject] = st.dictionaries(_words, st.integers(0, 9), max_size=2)
_parts: st.SearchStrategy[A2APart] = st.one_of(
    st.builds(A2AText, text=_words, metadata=_metadata),
    st.builds(A2ABytes, data=st.binary(max_size=9), name=_words, media_type=_words, metadata=_metadata),
    st.builds(A2ALink, url=_words, name=_words, media_type=_words, metadata=_metadata),
    st.builds(A2AData, data=st.dictionaries(_words, st.none() | st.booleans() | _words), metadata=_metadata),
)
_several = st.lists(_parts, max_size=3).map(tuple)
_messages = st.builds(A2AMessage, role=st.sampled_from(["user", "agent"]), parts=_several, metadata=_metadata)
_states = st.sampled_from([state for state in get_args(A2AState) if state not in ("auth-required", "rejected")])
_times = st.none() | st.integers(0, 4_000_000_000_000).map(lambda ms: ms / 1000)
_status = st.builds(A2AStatus, state=_states, message=st.none() | _messages, at=_times)


@st.composite
def _tasks(draw: st.DrawFn) -> A2ATask:
    artifacts = [
        A2AArtifact(id=str(number), parts=draw(_several), name=draw(_words), description=draw(_words))
        for number in range(draw(st.integers(0, 3)))
    ]
    return A2ATask(
        id="t1",
        context_id=draw(_words),
        status=draw(_status),
        artifacts=tuple(artifacts),
        history=tuple(draw(st.lists(_messages, max_size=3))),
        metadata=draw(_metadata),
    )


def test_every_message_of_the_specification_is_read() -> None:
    read = {"request": 0, "task": 0, "event": 0}
    for said in SAID:
        if "method" in said:
            asked = legacy.decode_request(said)
            assert asked.task_id == said["params"]["id"]
            assert legacy.decode_request(legacy.encode_request(asked, said["id"])) == asked
            read["request"] += 1
        elif "final" in said["result"] or "artifact" in said["result"]:
            assert legacy.decode_event(said["result"]).task_id == said["result"]["id"]
            read["event"] += 1
        else:
            assert legacy.decode_task(said["result"]).status.state == said["result"]["status"]["state"]
            read["task"] += 1
    assert min(read.values()) >= 4, read


@given(_tasks())
def test_a_task_fits_the_schema_and_comes_back(task: A2ATask) -> None:
    written = legacy.encode_task(task, task_id="mine")
    fits("SendTaskResponse", legacy.encode_result(1, written))
    back = legacy.decode_task(json.loads(json.dumps(written)))
    assert back.status.at == pytest.approx(task.status.at, abs=0.001) if task.status.at is not None else True
    assert (back.id, back.context_id, back.status.message) == ("mine", task.context_id, task.status.message)
    assert (back.artifacts, back.history, back.metadata) == (task.artifacts, task.history, task.metadata)


@given(_messages, _words, st.none() | st.integers(0, 9), st.booleans())
def test_a_request_fits_the_schema_and_comes_back(
    message: A2AMessage, session: str, length: int | None, streams: bool
) -> None:
    target = A2APushTarget(url="https://a.example/x", token="t", schemes=("Bearer",), credentials="c")
    asked: list[legacy.LegacyRequest] = [
        legacy.LegacySend(
            task_id="t1", message=message, session_id=session, streams=streams, push=target, history_length=length
        ),
        legacy.LegacyGet(task_id="t1", history_length=length),
        legacy.LegacyCancel(task_id="t1"),
        legacy.LegacyResubscribe(task_id="t1"),
        legacy.LegacySetPush(task_id="t1", push=target),
        legacy.LegacyGetPush(task_id="t1"),
    ]
    for request in asked:
        written = legacy.encode_request(request, "r1")
        if not (isinstance(request, legacy.LegacySend) and streams):  # which the schema leaves out
            fits("A2ARequest", written)
        assert legacy.decode_request(json.loads(json.dumps(written))) == request


def test_a_stream_numbers_its_artifacts_and_ends_with_a_final_event() -> None:
    writer = legacy.LegacyEventWriter("mine", known=["earlier"])

    def piece(artifact: str, *, append: bool = False, last: bool = False) -> A2AArtifactUpdate:
        made = A2AArtifact(id=artifact, parts=(A2AText(text="x"),))
        return A2AArtifactUpdate(task_id="t1", context_id="c1", artifact=made, append=append, last_chunk=last)

    def status(state: A2AState) -> A2AStatusUpdate:
        return A2AStatusUpdate(task_id="t1", context_id="c1", status=A2AStatus(state=state, at=0.0))

    told: list[JsonObject] = []
    for event in (
        status("working"),
        piece("a"),
        piece("earlier"),
        piece("a", append=True, last=True),
        status("rejected"),
        status("working"),
    ):
        told += writer.encode(event)
    for each in told:
        fits("SendTaskStreamingResponse", legacy.encode_result(1, each))
        assert each["id"] == "mine"
    read = [legacy.decode_event(each, "c1") for each in told]
    pieces = [event for event in read if isinstance(event, A2AArtifactUpdate)]
    assert [(each.artifact.id, each.append, each.last_chunk) for each in pieces] == [
        ("1", False, False),
        ("0", False, False),
        ("1", True, True),
    ]
    assert [each["status"]["state"] for each in told if "status" in each] == ["working", "failed"]  # type: ignore[index, call-overload]
    assert [each.get("final") for each in told if "status" in each] == [False, True]
    assert writer.is_over, "nothing is told after the final event"


@pytest.mark.parametrize("state", get_args(A2AState))
def test_a_stream_is_over_when_the_client_has_nothing_to_wait_for(state: A2AState) -> None:
    writer = legacy.LegacyEventWriter("t1")
    (event,) = writer.encode(A2ATask(id="t1", context_id="c1", status=A2AStatus(state=state)))
    assert event["final"] is (state not in ("submitted", "working", "unknown"))


def test_a_message_without_a_task_becomes_a_completed_task() -> None:
    told = legacy.LegacyEventWriter("t1").encode(A2AMessage(role="agent", parts=(A2AText(text="hello"),), id="m1"))
    artifact, status = [legacy.decode_event(each) for each in told]
    assert isinstance(artifact, A2AArtifactUpdate)
    assert artifact.artifact.parts == (A2AText(text="hello"),)
    assert isinstance(status, A2AStatusUpdate)
    assert status.status.state == "completed"


def test_what_programs_in_use_send_is_read() -> None:
    """`kind` in place of `type`, null in place of nothing, times without a zone."""
    asked = legacy.decode_request(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tasks/send",
            "params": {
                "id": "t1",
                "sessionId": None,
                "metadata": None,
                "pushNotification": None,
                "message": {
                    "role": "user",
                    "metadata": None,
                    "parts": [{"kind": "text", "text": "hi", "metadata": None}, {"kind": "data", "data": [1]}],
                },
            },
        }
    )
    assert isinstance(asked, legacy.LegacySend)
    assert asked.message.parts == (A2AText(text="hi"), A2AData(data=[1]))
    task = legacy.decode_task(
        {"id": "t1", "sessionId": None, "status": {"state": "working", "timestamp": "1970-01-01T00:00:01.5"}}
    )
    assert task.status.at == 1.5


def test_what_the_old_protocol_can_not_say_is_said_as_near_as_it_can() -> None:
    parts: tuple[A2APart, ...] = (A2AData(data=[1, 2]), A2AText(text="a", name="a.md", media_type="text/markdown"))
    task = A2ATask(
        id="t1",
        context_id="c1",
        status=A2AStatus(state="auth-required"),
        artifacts=(A2AArtifact(id="x", parts=parts, extensions=("https://e.example",)),),
    )
    written = legacy.encode_task(task, task_id="t1")
    fits("Task", written)
    back = legacy.decode_task(written)
    assert back.status.state == "input-required"
    assert back.artifacts[0].parts == (A2AData(data={"value": [1, 2]}), A2AText(text="a"))


def test_the_history_is_as_long_as_it_was_asked_for() -> None:
    said = tuple(A2AMessage(role="user", parts=(A2AText(text=str(number)),)) for number in range(3))
    task = A2ATask(id="t1", context_id="", status=A2AStatus(state="working"), history=said)
    for length, told in ((None, "012"), (0, ""), (1, "2"), (3, "012"), (9, "012")):
        history = legacy.decode_task(legacy.encode_task(task, task_id="t1", history_length=length)).history
        texts = [part.text for message in history for part in message.parts if isinstance(part, A2AText)]
        assert "".join(texts) == told, length


def test_credentials_of_a_push_address_are_not_told_again() -> None:
    target = A2APushTarget(url="https://a.example", token="t", schemes=("Bearer",), credentials="hidden")
    written = legacy.encode_push("t1", target)
    fits("TaskPushNotificationConfig", written)
    assert "hidden" not in json.dumps(written)


_MESSAGE: JsonObject = {"role": "user", "parts": [{"type": "text", "text": "hi"}]}
_FILE: JsonObject = {"type": "file", "file": {"bytes": "%%%"}}
_BOTH: JsonObject = {"type": "file", "file": {"bytes": "aGk=", "uri": "https://a.example"}}


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ([], legacy.INVALID_REQUEST, "the request"),
        ({"method": "tasks/get", "jsonrpc": "1.0"}, legacy.INVALID_REQUEST, ".jsonrpc"),
        ({"method": 3}, legacy.INVALID_REQUEST, ".method"),
        ({"method": "message/send", "params": {}}, legacy.UNKNOWN_METHOD, "tasks/sendSubscribe"),
        ({"method": "tasks/get"}, legacy.INVALID_PARAMS, "`id`"),
        ({"method": "tasks/get", "params": {"id": 3}}, legacy.INVALID_PARAMS, "params.id"),
        ({"method": "tasks/get", "params": {"id": ""}}, legacy.INVALID_PARAMS, "params.id"),
        ({"method": "tasks/get", "params": {"id": "t", "historyLength": -1}}, legacy.INVALID_PARAMS, "historyLength"),
        ({"method": "tasks/send", "params": {"id": "t"}}, legacy.INVALID_PARAMS, "`message`"),
        ({"method": "tasks/send", "params": {"id": "t", "message": {"role": "tool"}}}, legacy.INVALID_PARAMS, ".role"),
        *(
            (
                {"method": "tasks/send", "params": {"id": "t", "message": _MESSAGE | {"parts": [part]}}},
                legacy.INVALID_PARAMS,
                "parts[0]",
            )
            for part in (3, {}, {"type": "video"}, {"type": "text"}, _FILE, _BOTH, {"type": "file", "file": {}})
        ),
    ],
)
def test_what_is_no_request_is_refused_with_its_place(body: Json, code: int, words: str) -> None:
    with pytest.raises(legacy.LegacyError) as refused:
        legacy.decode_request(body)
    assert refused.value.code == code
    assert words.removeprefix("params") in str(refused.value)


@given(st.recursive(st.none() | st.integers() | _words, lambda inner: st.lists(inner) | st.dictionaries(_words, inner)))
def test_nothing_but_its_own_error_comes_out_of_a_reader(value: Json) -> None:
    readers: list[Callable[[Json], object]] = [
        legacy.decode_request,
        legacy.decode_task,
        legacy.decode_event,
        legacy.request_id,
    ]
    params: JsonObject = {"id": "t", "message": value, "pushNotificationConfig": value}
    bodies: list[Json] = [value, {"method": "tasks/send", "params": params}, {"id": "t", "artifact": value}]
    for reader in readers:
        for body in bodies:
            with suppress(legacy.LegacyError):
                reader(body)
