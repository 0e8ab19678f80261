"""What strangers may send, and what they are told: errors by their codes, versions, depth, cards, the old protocol."""

from __future__ import annotations

import json
from typing import Any

from a2a.types import a2a_pb2 as pb
from a2a.utils.signing import create_signature_verifier
from google.protobuf.json_format import ParseDict
from jwt import PyJWK

from actum.core.errors import ContextOverflow, ModelGarbled, ModelRejected, ModelUnavailable
from actum.core.model import Request
from actum.journal.memory import MemoryJournal
from actum.testing import ScriptedModel
from tests.server.api.application import answering

from .serving import NEW, a2a_server, error_of, spoken

SECRET = "in /srv/secret/place.py"


def broken(_: Request) -> str:
    raise RuntimeError(SECRET)


async def test_bad_requests_of_json_rpc_are_answered_by_the_table() -> None:
    async with a2a_server(answering("Hello.", "More."), journal=MemoryJournal()) as it:
        done = (await it.ask("SendMessage", spoken("Hi")))["result"]["task"]["id"]
        deep = "[" * 70 + "]" * 70
        raw: list[tuple[str, bytes, int]] = [
            ("no JSON", b"{", -32700),
            ("deep", b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"a":' + deep.encode() + b"}}", -32600),
            ("deep, and broken", b"[" * 100_000, -32600),
            ("a batch", b"[]", -32600),
            ("no version of JSON-RPC", b'{"id":1,"method":"GetTask"}', -32600),
            ("an id that is none", b'{"jsonrpc":"2.0","id":true,"method":"GetTask"}', -32600),
            ("params that are none", b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}', -32602),
        ]
        headers = {"authorization": "Bearer ann", "content-type": "application/json", **NEW}
        for name, body, code in raw:
            told = (await it.client.post(it.rpc, content=body, headers=headers)).json()
            assert error_of(told) == code, (name, told)
        asked: list[tuple[str, object, dict[str, str], int]] = [
            ("Nothing", {}, NEW, -32601),
            ("tasks/send", {}, NEW, -32601),
            ("GetTask", {}, NEW, -32602),
            ("GetTask", {"id": 5}, NEW, -32602),
            ("GetTask", {"id": "run_none"}, NEW, -32001),
            ("GetTask", {"id": "../x"}, NEW, -32001),
            ("GetTask", {"id": done, "historyLength": -1}, NEW, -32602),
            ("GetTask", {"id": done}, {}, -32009),
            ("GetTask", {"id": done}, {"a2a-version": "99.0"}, -32009),
            ("GetTask", {"id": done}, {"a2a-version": "x"}, -32009),
            ("CancelTask", {"id": done}, NEW, -32002),
            ("SubscribeToTask", {"id": done}, NEW, -32004),
            ("SendMessage", spoken("More", "m2", taskId=done), NEW, -32004),
            ("SendMessage", spoken("More", "m2", taskId="run_none"), NEW, -32001),
            ("SendMessage", {}, NEW, -32602),
            ("SendMessage", spoken("", parts=[]), NEW, -32602),
            ("SendMessage", spoken("", parts=[{"metadata": {}}]), NEW, -32602),
            ("SendMessage", spoken("", role="ROLE_AGENT"), NEW, -32602),
            ("SendMessage", spoken("", parts=[{"raw": "AA==", "mediaType": "image/png"}]), NEW, -32005),
            ("SendMessage", spoken("Hi", "x" * 300), NEW, -32602),
            ("ListTasks", {"pageSize": 0}, NEW, -32602),
            ("ListTasks", {"pageSize": 101}, NEW, -32602),
            ("ListTasks", {"pageToken": "run_none"}, NEW, -32602),
            ("CreateTaskPushNotificationConfig", {"taskId": done, "url": "https://a.example"}, NEW, -32003),
            ("message/send", {}, {}, -32602),
            ("message/send", {"message": {"parts": 5}}, {}, -32602),
            ("tasks/get", {"id": "run_none"}, {}, -32001),
            ("tasks/get", {"id": done}, {"a2a-version": "2.0"}, -32603),
        ]
        for method, params, sent, code in asked:
            told = await it.ask(method, params, headers=sent)
            assert error_of(told) == code, (method, params, told)
            assert told["id"] == 1
        odd = await it.client.post(it.rpc, content=b"x", headers={**headers, "content-type": "text/plain"})
        assert error_of(odd.json()) == -32005


OLD_WORDS = {"kind": "text", "text": "Hi"}
MISTAKES: list[tuple[str, dict[str, object], str]] = [
    ("SendMessage", {"parts": []}, "message.parts"),
    ("SendMessage", {"parts": 5}, "message.parts"),
    ("SendMessage", {"parts": [{"text": 5}]}, "message.parts.text"),
    ("SendMessage", {"parts": [{"text": "Hi"}, {"hologram": 1}]}, "message.parts[1]"),
    ("SendMessage", {"parts": [{"text": "Hi"}], "messageId": ""}, "message.message_id"),
    ("message/send", {"parts": []}, "message.parts"),
    ("message/send", {"parts": 5}, "params.message.parts"),
    ("message/send", {"parts": [OLD_WORDS, {"kind": "hologram"}]}, "params.message.parts[1]"),
    ("message/send", {"parts": [OLD_WORDS, {"kind": "file", "file": 7}]}, "params.message.parts[1]"),
    ("message/send", {"parts": [OLD_WORDS], "messageId": 7}, "params.message.messageId"),
    ("tasks/send", {"parts": []}, "message.parts"),
    ("tasks/send", {"parts": [{"type": "text", "text": "Hi"}, {"type": "hologram"}]}, "params.message.parts[1].type"),
]


async def test_a_message_that_can_not_be_read_is_refused_by_the_place_of_the_mistake() -> None:
    async with a2a_server(journal=MemoryJournal()) as it:
        for method, message, place in MISTAKES:
            is_new, path = method == "SendMessage", "/legacy" if method == "tasks/send" else ""
            said = {"messageId": "m1", "role": "ROLE_USER" if is_new else "user", **message}
            told = await it.ask(method, {"id": "t1", "message": said}, path=path, headers=NEW if is_new else {})
            assert told["error"]["message"].startswith(f"{place}:"), (method, message, told)


async def test_bad_requests_of_http_json_have_their_status() -> None:
    async with a2a_server(journal=MemoryJournal()) as it:
        at = f"{it.rpc}/rest"
        headers = {"authorization": "Bearer ann", **NEW}
        for method, path, body, sent, status in (
            ("GET", "/tasks/run_none", None, NEW, 404),
            ("GET", "/tasks/run_none", None, {}, 400),
            ("GET", "/tasks?pageSize=x", None, NEW, 400),
            ("POST", "/message:send", b"{", NEW, 400),
            ("POST", "/message:send", b"[" * 1000, NEW, 400),
            ("POST", "/message:send", b"{}", NEW, 400),
            ("POST", "/message:stream", b"{}", NEW, 400),
            ("POST", "/v1/message:send", b"{}", {}, 400),
            ("POST", "/tasks/run_none:cancel", b"", NEW, 404),
            ("GET", "/nothing", None, NEW, 404),
        ):
            answer = await it.client.request(
                method, at + path, content=body, headers={"authorization": "Bearer ann", **sent}
            )
            assert answer.status_code == status, (method, path, answer.text)
        told = await it.client.get(f"{at}/tasks", headers={**headers, "accept": "application/json"})
        assert (told.headers["content-type"], told.json()["totalSize"]) == ("application/json", 0)
        told = await it.client.get(f"{at}/tasks", headers=headers)
        assert told.headers["content-type"] == "application/a2a+json"


FAILURES: list[tuple[Exception, str]] = [
    (ModelUnavailable(SECRET), "The model's server did not answer."),
    (ModelRejected(SECRET), "The model's server refused the request."),
    (ModelGarbled(SECRET), "The model's answer could not be read."),
    (ContextOverflow(SECRET), "The conversation is too long for the model."),
    (RuntimeError(SECRET), "The task failed. Its operator finds out why by the id of the task."),
]


async def test_a_task_that_failed_says_why_as_far_as_strangers_may_know() -> None:
    errors = [error for error, _ in FAILURES]

    def fails(_: Request) -> str:
        raise errors.pop(0)

    async with a2a_server(ScriptedModel(fails), journal=MemoryJournal()) as it:
        for number, (_, words) in enumerate(FAILURES):
            status = (await it.ask("SendMessage", spoken("Hi", f"m{number}")))["result"]["task"]["status"]
            assert (status["state"], status["message"]["parts"][0]["text"]) == ("TASK_STATE_FAILED", words)


async def test_no_answer_contains_the_text_of_an_exception() -> None:
    async with a2a_server(ScriptedModel(broken), journal=MemoryJournal()) as it:
        for method, params, headers in (
            ("SendMessage", spoken("Hi"), NEW),
            ("SendStreamingMessage", spoken("Hi", "m2"), NEW),
            (
                "message/send",
                {
                    "message": {
                        "kind": "message",
                        "messageId": "m3",
                        "role": "user",
                        "parts": [{"kind": "text", "text": "Hi"}],
                    }
                },
                {},
            ),
        ):
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            answer = await it.client.post(it.rpc, json=body, headers={"authorization": "Bearer ann", **headers})
            for word in ("secret", "RuntimeError", "Traceback", ".py"):
                assert word not in answer.text, (method, answer.text)
            assert "failed" in answer.text.lower() or "error" in answer.text.lower(), answer.text


async def test_cards_have_every_form_and_a_signature_that_the_official_verifier_takes() -> None:
    async with a2a_server(journal=MemoryJournal(), public="https://agents.example.org") as it:
        root = f"{it.url}/.well-known"
        both = await it.client.get(f"{root}/agent-card.json")
        strict = await it.client.get(f"{root}/agent-card.json", headers=NEW)
        old = (await it.client.get(f"{root}/agent.json")).json()
        keys = (await it.client.get(f"{root}/jwks.json")).json()["keys"]
        assert "d" not in keys[0]
        verify = create_signature_verifier(lambda kid, jku: PyJWK(keys[0]), ["ES256"])
        for told in (both.json(), strict.json()):
            verify(ParseDict(told, pb.AgentCard(), ignore_unknown_fields=True))
            assert all(
                each["url"].startswith("https://agents.example.org/a2a/desk") for each in told["supportedInterfaces"]
            )
        ParseDict(strict.json(), pb.AgentCard())  # no field that 1.0 does not know
        assert both.json()["url"] == "https://agents.example.org/a2a/desk"
        assert "GRPC" not in both.text
        for field in (
            "name",
            "url",
            "version",
            "capabilities",
            "skills",
            "defaultInputModes",
            "defaultOutputModes",
            "description",
            "authentication",
        ):
            assert field in old, field
        assert old["url"] == "https://agents.example.org/a2a/desk/legacy"
        again = await it.client.get(f"{root}/agent-card.json", headers={"if-none-match": both.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        since = await it.client.get(
            f"{root}/agent-card.json", headers={"if-modified-since": both.headers["last-modified"]}
        )
        assert since.status_code == 304
        for no_date in ("soon", "Mon, 01 Jan 2026 00:00:00 99999999999999999999", "Mon, 99999999999 Jan 2026 00:00:00"):
            whole = await it.client.get(f"{root}/agent-card.json", headers={"if-modified-since": no_date})
            assert whole.status_code == 200
        assert strict.headers["etag"] != both.headers["etag"]
        extended = await it.ask("GetExtendedAgentCard", {})
        assert "pay" in [skill["name"] for skill in extended["result"]["skills"]]
        assert "pay" not in both.text


def old_message(text: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"type": "text", "text": text}]}


async def test_the_original_protocol_and_its_successors_share_an_address_and_a_conversation() -> None:
    async with a2a_server(answering("One.", "Two.", "Three.", "Four.", "Bob's."), journal=MemoryJournal()) as it:
        first = (
            await it.ask("tasks/send", {"id": "t1", "sessionId": "s1", "message": old_message("Hi")}, path="/legacy")
        )["result"]
        assert (first["id"], first["sessionId"], first["status"]["state"]) == ("t1", "s1", "completed")
        assert first["artifacts"][0]["parts"] == [{"type": "text", "text": "One."}]
        # `SendMessage` of 1.0 in the same conversation.
        task = (await it.ask("SendMessage", spoken("And?", contextId="s1")))["result"]["task"]
        assert task["contextId"] == "s1"
        listed = (await it.ask("ListTasks", {"contextId": "s1"}))["result"]
        assert listed["totalSize"] == 2
        # A message of 0.2 at the address of the old card, and a shared name in both forms.
        kind = {"kind": "message", "messageId": "q", "role": "user", "parts": [{"kind": "text", "text": "0.2"}]}
        newer = (await it.ask("message/send", {"message": kind}, path="/legacy", headers={}))["result"]
        assert (newer["kind"], newer["status"]["state"]) == ("task", "completed")
        told = (await it.ask("tasks/get", {"id": newer["id"]}, path="/legacy", headers={}))["result"]
        assert told["kind"] == "task"
        told = (await it.ask("tasks/get", {"id": "t1", "historyLength": 2}, path="/legacy"))["result"]
        assert "kind" not in told
        assert len(told["history"]) == 2
        # The client may use the id again: a new task in the same conversation.
        again = (await it.ask("tasks/send", {"id": "t1", "message": old_message("Again")}, path="/legacy"))["result"]
        assert (again["id"], again["sessionId"]) == ("t1", "s1")
        assert again["artifacts"][0]["parts"][0]["text"] == "Four."
        for method in ("tasks/get", "tasks/cancel", "tasks/resubscribe", "tasks/pushNotification/get"):
            assert error_of(await it.ask(method, {"id": "t1"}, who="bob", path="/legacy")) in (-32001, -32003), method
        assert error_of(await it.ask("tasks/cancel", {"id": "t1"}, path="/legacy")) == -32002
        assert error_of(await it.ask("tasks/send", {"id": ""}, path="/legacy")) == -32602
        bobs = (await it.ask("tasks/send", {"id": "t1", "message": old_message("Mine")}, who="bob", path="/legacy"))[
            "result"
        ]
        assert bobs["artifacts"][0]["parts"][0]["text"] == "Bob's."


async def test_a_stream_of_the_original_protocol_ends_with_its_final_event() -> None:
    async with a2a_server(answering("One."), journal=MemoryJournal()) as it:
        body = {
            "jsonrpc": "2.0",
            "id": "x",
            "method": "tasks/sendSubscribe",
            "params": {"id": "t1", "message": old_message("Hi")},
        }
        answer = await it.client.post(f"{it.rpc}/legacy", json=body, headers={"authorization": "Bearer ann"})
        events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
        assert {event["id"] for event in events} == {"x"}
        results = [event["result"] for event in events]
        assert [result["artifact"]["index"] for result in results if "artifact" in result] == [0]
        assert [result.get("final") for result in results if "status" in result][-1] is True
        assert results[-1]["status"]["timestamp"].endswith("Z")


async def test_http_json_of_0_3_sends_streams_gets_and_hears_of_errors() -> None:
    async with a2a_server(answering("One.", "Two."), journal=MemoryJournal()) as it:
        at, key = f"{it.rpc}/rest/v1", {"authorization": "Bearer ann"}
        body: dict[str, Any] = {"request": {"messageId": "m1", "role": "ROLE_USER", "content": [{"text": "Hi"}]}}
        body["configuration"] = {"blocking": True}
        sent = (await it.client.post(f"{at}/message:send", json=body, headers=key)).json()["task"]
        assert sent["status"]["state"] == "TASK_STATE_COMPLETED"
        body["request"]["messageId"] = "m2"
        stream = await it.client.post(f"{at}/message:stream", json=body, headers=key)
        events = [json.loads(line[6:]) for line in stream.text.splitlines() if line.startswith("data: ")]
        assert [next(iter(event)) for event in events] == [
            "task",
            "statusUpdate",
            "artifactUpdate",
            "statusUpdate",
        ]
        got = await it.client.get(f"{at}/tasks/{sent['id']}", headers=key)
        assert got.json()["id"] == sent["id"]
        for path, status in ((f"/tasks/{sent['id']}:subscribe", 400), ("/tasks/run_none", 404)):
            told = await it.client.get(at + path, headers=key)
            assert told.status_code == status, (path, told.text)
        assert (await it.client.get(f"{at}/card", headers=key)).json()["name"] == "desk"
