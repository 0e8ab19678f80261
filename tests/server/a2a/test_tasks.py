"""Tasks over runs: the official client, follow-ups, repeats, streams, lists, and who sees what."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from a2a.types import a2a_pb2 as pb

from actum.core.event import Delta, TextDelta
from actum.core.message import Reply
from actum.core.model import Request
from actum.journal.memory import MemoryJournal
from actum.storage.sqlite import SQLiteJournal
from actum.testing import ScriptedModel
from tests.server.api.application import answering
from tests.server.api.test_runs import calls

from .serving import NEW, A2AServer, a2a_server, error_of, said, spoken


class Speaking(ScriptedModel):
    """Says its text word by word."""

    pause_s = 0.05  # pieces that come together are told together

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        reply = await super().reply(request)
        for word in reply.text.split(" "):
            assert emit is not None
            emit(TextDelta(word if reply.text.startswith(word) else f" {word}"))
            await asyncio.sleep(self.pause_s)
        return reply


async def streamed(it: A2AServer, method: str, params: object, **headers: str) -> AsyncGenerator[dict[str, Any], None]:
    """The events of a stream."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    sent = {"authorization": "Bearer ann", **NEW, **headers}
    async with it.client.stream("POST", it.rpc, json=body, headers=sent) as answer:
        id_ = -1
        async for line in answer.aiter_lines():
            if line.startswith("id: "):
                id_ = int(line[4:])
            if line.startswith("data: "):
                told = json.loads(line[6:])
                yield {"id": id_, **told.get("result", told)}
                id_ = -1


@pytest.mark.row("P3")
@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_the_official_client_sends_answers_streams_gets_and_lists(binding: str) -> None:
    model = answering("Hello.", calls("pay", to="bob", amount=3), "Paid.", "Streamed.")
    async with a2a_server(model, journal=MemoryJournal()) as it:
        client = await it.sdk(binding, who="root")
        (first,) = [each async for each in client.send_message(said("Hi"))]
        assert first.task.status.state == pb.TASK_STATE_COMPLETED
        assert first.task.artifacts[0].parts[0].text == "Hello."
        (asked,) = [each async for each in client.send_message(said("Pay bob", "m2", context=first.task.context_id))]
        assert asked.task.status.state == pb.TASK_STATE_INPUT_REQUIRED
        assert asked.task.context_id == first.task.context_id
        assert "pay" in asked.task.status.message.parts[0].text
        # The context is inferred from the task, and stays the same.
        (paid,) = [each async for each in client.send_message(said("approve", "m3", task=asked.task.id))]
        assert (paid.task.status.state, paid.task.context_id) == (pb.TASK_STATE_COMPLETED, first.task.context_id)
        assert paid.task.history[0].message_id == "m2"
        assert it.bank.calls == ["pay"]
        listening = await it.sdk(binding, who="root", streaming=True)
        events = [each async for each in listening.send_message(said("Stream", "m4"))]
        assert [each.WhichOneof("payload") for each in events] == [
            "task",
            "status_update",
            "artifact_update",
            "status_update",
        ]
        got = await client.get_task(pb.GetTaskRequest(id=paid.task.id, history_length=1))
        assert (len(got.history), got.artifacts[0].parts[0].text) == (1, "Paid.")
        page = await client.list_tasks(pb.ListTasksRequest(page_size=2))
        assert (len(page.tasks), page.total_size, page.tasks[0].id) == (2, 3, events[0].task.id)
        rest = await client.list_tasks(pb.ListTasksRequest(page_size=2, page_token=page.next_page_token))
        assert ([task.id for task in rest.tasks], rest.next_page_token) == ([first.task.id], "")


async def test_tasks_that_can_not_be_read_end_no_list_of_tasks(tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path / "journal.db")
    async with a2a_server(answering(*["Hello."] * 5), journal=journal) as it:
        ids = [(await it.ask("SendMessage", spoken("Hi", f"m{n}")))["result"]["task"]["id"] for n in range(5)]
        with contextlib.closing(sqlite3.connect(tmp_path / "journal.db", isolation_level=None)) as database:
            for damaged in (ids[4], *ids[1:3]):
                database.execute("UPDATE entries SET payload = 'x' WHERE run_id = ? AND number = 0", (damaged,))
        seen, token = [], ""
        for _ in range(9):
            told = (await it.ask("ListTasks", {"pageSize": 1, "pageToken": token}))["result"]
            seen += [task["id"] for task in told["tasks"]]
            token = told["nextPageToken"]
            if not token:
                break
        assert seen == [ids[3], ids[0]]


async def test_words_arrive_as_chunks_that_together_are_the_answer() -> None:
    slow, fast = "One two three four five six seven.", "One " + " ".join(f"w{number}" for number in range(200))
    for text, pause_s in ((slow, Speaking.pause_s), (fast, 0.0)):
        model = Speaking([calls("add", a=1, b=1), text])
        model.pause_s = pause_s
        async with a2a_server(model, journal=MemoryJournal()) as it:
            events = [each async for each in streamed(it, "SendStreamingMessage", spoken("Count"))]
            chunks = [each["artifactUpdate"] for each in events if "artifactUpdate" in each]
            assert len(chunks) > 2
            assert "".join(each["artifact"]["parts"][0]["text"] for each in chunks) == text
            assert [each.get("append", False) for each in chunks] == [False] + [True] * (len(chunks) - 1)
            assert [each.get("lastChunk", False) for each in chunks] == [False] * (len(chunks) - 1) + [True]


async def test_a_repeated_message_joins_its_task_while_it_is_worked_on_and_begins_anew_after_it() -> None:
    model = answering(calls("slow"), "Opened.", "Other.", "Again.")
    async with a2a_server(model, journal=MemoryJournal()) as it:
        params = spoken("Wait")
        now = {**params, "configuration": {"returnImmediately": True}}
        first = (await it.ask("SendMessage", now))["result"]["task"]
        assert first["status"]["state"] == "TASK_STATE_WORKING"
        await it.bank.entered.wait()
        other = (await it.ask("SendMessage", {**spoken("Another"), "configuration": {"returnImmediately": True}}))[
            "result"
        ]
        assert other["task"]["id"] != first["id"], "the same id with other content is a new message"
        assert (await it.ask("SendMessage", now))["result"]["task"]["id"] == first["id"]
        joined = streamed(it, "SendStreamingMessage", params)
        assert (await anext(joined))["task"]["id"] == first["id"]
        it.bank.is_open.set()
        (*_, done) = [each async for each in joined]
        assert done["statusUpdate"]["taskId"] == first["id"]
        assert done["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
        assert it.bank.calls == ["slow"]
        again = (await it.ask("SendMessage", params))["result"]["task"]
        assert again["id"] != first["id"]
        bobs = await it.ask("SendMessage", params, who="bob")
        assert "error" in bobs or bobs["result"]["task"]["id"] not in (first["id"], again["id"])


async def test_another_callers_task_does_not_exist(tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path / "journal.db")
    async with a2a_server(answering("Hello.", "Later."), journal=journal) as it:
        task = (await it.ask("SendMessage", spoken("Hi")))["result"]["task"]
        for who in ("bob", "north", "root"):
            for method, params in (
                ("GetTask", {"id": task["id"]}),
                ("CancelTask", {"id": task["id"]}),
                ("SubscribeToTask", {"id": task["id"]}),
                ("SendMessage", spoken("More", taskId=task["id"])),
                ("GetTaskPushNotificationConfig", {"taskId": task["id"], "id": "x"}),
                ("CreateTaskPushNotificationConfig", {"taskId": task["id"], "url": "https://example.org/"}),
            ):
                told = await it.ask(method, params, who=who)
                if who == "root":  # another key of ann
                    assert "result" in told or error_of(told) != -32603, (method, told)
                else:
                    assert error_of(told) == -32001, (who, method, told)
            listed = (await it.ask("ListTasks", {}, who=who))["result"]
            assert listed["totalSize"] == (1 if who == "root" else 0)
    await journal.close()


@pytest.mark.parametrize("place", ["here", "another process"])
async def test_a_cancel_reaches_the_tool_and_holds(place: str, tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path / "journal.db")
    second = SQLiteJournal(tmp_path / "journal.db")
    async with (
        a2a_server(answering(calls("slow"), "Opened."), journal=journal) as it,
        a2a_server(answering("Not asked."), journal=second) as other,
    ):
        task = (await it.ask("SendMessage", {**spoken("Wait"), "configuration": {"returnImmediately": True}}))[
            "result"
        ]["task"]
        await it.bank.entered.wait()
        asked = it if place == "here" else other
        both = await asyncio.gather(*(each.ask("CancelTask", {"id": task["id"]}) for each in (asked, it)))
        states = [told["result"]["status"]["state"] for told in both if "result" in told]
        assert set(states) == {"TASK_STATE_CANCELED"}, both
        assert all(error_of(told) == -32002 for told in both if "error" in told), both
        it.bank.is_open.set()
        for each in (it, other):
            got = (await each.ask("GetTask", {"id": task["id"]}))["result"]
            assert got["status"]["state"] == "TASK_STATE_CANCELED"
        assert error_of(await other.ask("CancelTask", {"id": task["id"]})) == -32002
    await journal.close()
    await second.close()


async def test_another_process_serves_the_stream_from_the_last_event(tmp_path: Path) -> None:
    journal, second = SQLiteJournal(tmp_path / "journal.db"), SQLiteJournal(tmp_path / "journal.db")
    async with (
        a2a_server(answering(calls("slow"), "Opened."), journal=journal) as it,
        a2a_server(answering("Not asked."), journal=second) as other,
    ):
        begun = streamed(it, "SendStreamingMessage", spoken("Wait"))
        first = await anext(begun)
        await it.bank.entered.wait()
        await begun.aclose()  # the client hangs up, and the task goes on
        heard: list[dict[str, Any]] = []
        has_begun = asyncio.Event()

        async def hear(**headers: str) -> None:
            async for each in streamed(other, "SubscribeToTask", {"id": first["task"]["id"]}, **headers):
                heard.append(each)
                has_begun.set()

        hearing = asyncio.create_task(hear())
        behind = asyncio.create_task(hear(**{"last-event-id": str(first["id"])}))
        await has_begun.wait()
        began = asyncio.get_running_loop().time()
        it.bank.is_open.set()
        await asyncio.gather(hearing, behind)
        assert asyncio.get_running_loop().time() - began < 2.0
        kinds = sorted(next(key for key in each if key != "id") for each in heard)
        assert kinds.count("task") == 1, "who names the last event is told what came behind it"
        assert [each["statusUpdate"]["status"]["state"] for each in heard if "statusUpdate" in each] == [
            "TASK_STATE_COMPLETED"
        ] * 2
        assert error_of(await it.ask("SubscribeToTask", {"id": first["task"]["id"]})) == -32004
    await journal.close()
    await second.close()


async def test_a_form_is_filled_in_by_data_or_by_the_text_of_its_one_field() -> None:
    model = answering(calls("ask"), "Thanks.", calls("ask"), "No then.")
    async with a2a_server(model, journal=MemoryJournal()) as it:
        task = (await it.ask("SendMessage", spoken("Ask me")))["result"]["task"]
        assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        told = await it.ask("SendMessage", spoken("", "m2", taskId=task["id"], parts=[{"data": {"nome": 1}}]))
        assert error_of(told) == -32602
        done = (await it.ask("SendMessage", spoken("Ann", "m3", taskId=task["id"])))["result"]["task"]
        assert done["status"]["state"] == "TASK_STATE_COMPLETED"
        asked = (await it.ask("SendMessage", spoken("Ask again", "m4")))["result"]["task"]
        denied = (await it.ask("SendMessage", spoken("decline", "m5", taskId=asked["id"])))["result"]["task"]
        assert denied["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_many_streams_at_once_on_sqlite_all_come_to_their_end(tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path / "journal.db")
    async with a2a_server(ScriptedModel(lambda _: "Hello."), journal=journal) as it:
        params = [spoken("Hi", f"m{number}") for number in range(64)]
        told = await asyncio.gather(*(it.ask_stream("SendStreamingMessage", each) for each in params))
        assert [text for text in told if "TASK_STATE_COMPLETED" not in text] == []
    await journal.close()


async def test_an_agent_that_waits_for_this_task_or_stands_too_deep_is_not_asked() -> None:
    async with a2a_server(ScriptedModel(lambda _: "Hello."), journal=MemoryJournal()) as it:
        trace = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
        for tracestate, code in (("actum=d:8;l:0", -32004), ("actum=d:1;l:3", 0), ("nonsense", 0)):
            told = await it.ask(
                "SendMessage", spoken("Hi", tracestate), headers={**NEW, **trace, "tracestate": tracestate}
            )
            assert ("error" in told) == bool(code), (tracestate, told)
            if code:
                assert error_of(told) == code


async def test_an_approval_needs_a_key_that_may_approve() -> None:
    async with a2a_server(answering(calls("pay", to="bob", amount=3), "Paid."), journal=MemoryJournal()) as it:
        task = (await it.ask("SendMessage", spoken("Pay")))["result"]["task"]
        answer = spoken("approve", "m2", taskId=task["id"])
        assert error_of(await it.ask("SendMessage", answer)) == -32004
        assert it.bank.calls == []
        got = (await it.ask("GetTask", {"id": task["id"]}))["result"]
        assert got["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        assert error_of(await it.ask("SendMessage", spoken("maybe", "m3", taskId=task["id"]), who="root")) == -32602
        done = (await it.ask("SendMessage", answer, who="root"))["result"]["task"]
        assert done["status"]["state"] == "TASK_STATE_COMPLETED"
