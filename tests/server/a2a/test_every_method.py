"""Every method of 1.0 on every binding by the official client, and every method of April 2025."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from a2a.client import ClientConfig, create_client
from a2a.client.client import Client, ClientCallContext
from a2a.types import a2a_pb2 as pb

from actum import Agent, Context, tool
from actum.compose.tables.serve import A2ATable
from actum.journal.memory import MemoryJournal
from actum.storage.sqlite import SQLiteJournal
from tests.patience import HANGS_S
from tests.peers.programs import free_port
from tests.server.api.application import answering
from tests.server.api.test_runs import calls

from .serving import NEW, A2AServer, a2a_server, error_of, said, spoken
from .test_push import receiving
from .test_tasks import Speaking
from .test_wire import old_message

ANN = ClientCallContext(service_parameters={"authorization": "Bearer ann"})
AT_ONCE = pb.SendMessageConfiguration(return_immediately=True)


async def begun(client: Client, id_: str) -> pb.Task:
    """A task whose tool waits."""
    request = said("Wait", id_)
    request.configuration.CopyFrom(AT_ONCE)
    (found,) = [each async for each in client.send_message(request, context=ANN)]
    return found.task


@pytest.mark.row("P3")
@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON", "GRPC"])
async def test_every_method_of_1_0_is_answered_on_every_binding(binding: str, tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path / "journal.db")
    model = answering("Hello.", "Streamed.", calls("slow"), calls("slow"), "Opened.")
    table = A2ATable(grpc=f"127.0.0.1:{free_port()}", list_grpc=True)
    async with (
        receiving() as (_, news),
        a2a_server(model, journal=journal, table=table, private=[news]) as it,
        httpx.AsyncClient(timeout=HANGS_S) as http,
    ):

        async def opened(*, streaming: bool) -> Client:
            config = ClientConfig(
                httpx_client=http,
                streaming=streaming,
                supported_protocol_bindings=[binding],
                grpc_channel_factory=grpc.aio.insecure_channel,
            )
            return await create_client(it.url, client_config=config)

        asks, listens = await opened(streaming=False), await opened(streaming=True)
        (first,) = [each async for each in asks.send_message(said("Hi"), context=ANN)]
        assert first.task.artifacts[0].parts[0].text == "Hello."
        events = [each async for each in listens.send_message(said("Stream", "m2"), context=ANN)]
        assert events[-1].status_update.status.state == pb.TASK_STATE_COMPLETED
        got = await asks.get_task(pb.GetTaskRequest(id=first.task.id), context=ANN)
        assert got.artifacts[0].parts[0].text == "Hello."
        page = await asks.list_tasks(pb.ListTasksRequest(), context=ANN)
        assert page.total_size == 2

        stopped = await begun(asks, "m3")
        await it.bank.entered.wait()
        cancelled = await asks.cancel_task(pb.CancelTaskRequest(id=stopped.id), context=ANN)
        assert cancelled.status.state == pb.TASK_STATE_CANCELED
        it.bank.entered.clear()
        watched = await begun(asks, "m4")
        await it.bank.entered.wait()
        heard = []
        async for each in listens.subscribe(pb.SubscribeToTaskRequest(id=watched.id), context=ANN):
            heard.append(each.WhichOneof("payload"))
            it.bank.is_open.set()
        assert (heard[0], heard[-1]) == ("task", "status_update")

        target = pb.TaskPushNotificationConfig(task_id=first.task.id, id="p1", url=f"{news}/news", token="t")
        made = await asks.create_task_push_notification_config(target, context=ANN)
        assert made.url == target.url
        one = await asks.get_task_push_notification_config(
            pb.GetTaskPushNotificationConfigRequest(task_id=first.task.id, id="p1"), context=ANN
        )
        assert one.id == "p1"
        every = pb.ListTaskPushNotificationConfigsRequest(task_id=first.task.id)
        assert len((await asks.list_task_push_notification_configs(every, context=ANN)).configs) == 1
        await asks.delete_task_push_notification_config(
            pb.DeleteTaskPushNotificationConfigRequest(task_id=first.task.id, id="p1"), context=ANN
        )
        assert len((await asks.list_task_push_notification_configs(every, context=ANN)).configs) == 0
        extended = await asks.get_extended_agent_card(pb.GetExtendedAgentCardRequest(), context=ANN)
        assert "pay" in [skill.name for skill in extended.skills]
        await asks.close()
        await listens.close()
    await journal.close()


async def old_events(it: A2AServer, method: str, params: object) -> AsyncGenerator[dict[str, Any], None]:
    """The events of a stream of the original protocol."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {"authorization": "Bearer ann"}
    async with it.client.stream("POST", f"{it.rpc}/legacy", json=body, headers=headers) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                yield json.loads(line[6:])["result"]


async def test_a_task_of_the_original_protocol_is_heard_again_and_its_news_are_pushed(tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path / "journal.db")
    async with (
        receiving() as (receiver, news),
        a2a_server(answering(calls("slow"), "Opened."), journal=journal, private=[news]) as it,
    ):
        sending = asyncio.create_task(
            it.ask("tasks/send", {"id": "t1", "message": old_message("Wait")}, path="/legacy", headers={})
        )
        await it.bank.entered.wait()
        target = {"url": f"{news}/news", "token": "t0k3n"}
        params = {"id": "t1", "pushNotificationConfig": target}
        told = await it.ask("tasks/pushNotification/set", params, path="/legacy", headers={})
        assert told["result"]["pushNotificationConfig"]["url"] == target["url"], told
        told = await it.ask("tasks/pushNotification/get", {"id": "t1"}, path="/legacy", headers={})
        assert (told["result"]["id"], told["result"]["pushNotificationConfig"]["url"]) == ("t1", target["url"])
        bobs = await it.ask("tasks/pushNotification/get", {"id": "t1"}, who="bob", path="/legacy", headers={})
        assert error_of(bobs) == -32001
        hearing = old_events(it, "tasks/resubscribe", {"id": "t1"})
        heard = [await anext(hearing)]
        working = (await it.ask("tasks/get", {"id": "t1"}, path="/legacy", headers={}))["result"]
        assert working["status"]["state"] == "working"
        it.bank.is_open.set()
        sent = (await sending)["result"]
        assert (sent["id"], sent["status"]["state"]) == ("t1", "completed")
        heard += [each async for each in hearing]
        assert heard[-1]["final"] is True
        assert heard[-1]["status"]["state"] == "completed"
        pushed = await receiver.until("completed")
        assert pushed[-1]["id"] == "t1"
        assert receiver.got[-1][0]["x-a2a-notification-token"] == "t0k3n"
    await journal.close()


async def test_a_stream_of_the_original_protocol_appends_its_chunks_and_reads_kind_and_type() -> None:
    for mark in ("type", "kind"):
        async with a2a_server(Speaking(["One two three."]), journal=MemoryJournal()) as it:
            message = {"role": "user", "parts": [{mark: "text", "text": "Count"}]}
            params = {"id": "t1", "message": message}
            events = [each async for each in old_events(it, "tasks/sendSubscribe", params)]
            chunks = [each["artifact"] for each in events if "artifact" in each]
            assert "".join(chunk["parts"][0]["text"] for chunk in chunks) == "One two three.", mark
            assert len(chunks) > 1
            assert {chunk["index"] for chunk in chunks} == {0}
            assert [bool(chunk.get("append")) for chunk in chunks] == [False] + [True] * (len(chunks) - 1)
            assert [bool(chunk.get("lastChunk")) for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
            assert [bool(each.get("final")) for each in events if "status" in each][-1] is True


async def test_a_message_that_comes_again_after_the_end_gets_the_old_task_where_the_settings_say_so() -> None:
    for repeats, is_same in (("new", False), ("same", True)):
        table = A2ATable(repeats=repeats)  # type: ignore[arg-type]
        async with a2a_server(answering("One.", "Two.", "Three."), journal=MemoryJournal(), table=table) as it:
            first = (await it.ask("SendMessage", spoken("Hi")))["result"]["task"]
            again = (await it.ask("SendMessage", spoken("Hi")))["result"]["task"]
            assert (first["id"] == again["id"]) == is_same, repeats
            other = (await it.ask("SendMessage", spoken("Hello")))["result"]["task"]
            assert other["id"] not in (first["id"], again["id"]), "other content is a new message"


async def test_a_log_in_is_auth_required_with_its_page_and_the_next_message_goes_on() -> None:
    journal, page = MemoryJournal(), "https://login.example.org/start"

    @tool(effects=["read"])
    async def mail(ctx: Context) -> str:
        """Read the mail."""
        answer = await ctx.elicit("Log in to read your mail.", url=page)
        return f"logged in: {answer.action}"

    for said_, action in (("done", "accept"), ("deny", "decline")):
        agent = Agent(answering(calls("mail"), "Read."), [mail], name="post", journal=journal)
        async with a2a_server(journal=journal, agents=[agent]) as it:
            headers = {"authorization": "Bearer ann", "a2a-version": "1.0"}

            async def ask(text: str, id_: str, **more: object) -> Any:  # noqa: ANN401  # JSON
                body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": spoken(text, id_, **more)}
                answer = await it.client.post(f"{it.url}/a2a/post", json=body, headers=headers)  # noqa: B023
                return answer.json()["result"]["task"]

            waits = await ask("My mail", "m1")
            assert waits["status"]["state"] == "TASK_STATE_AUTH_REQUIRED", waits
            assert page in json.dumps(waits["status"]["message"])
            done = await ask(said_, "m2", taskId=waits["id"])
            assert done["status"]["state"] == "TASK_STATE_COMPLETED", done
            assert f"logged in: {action}" in str([each.record for each in await journal.read(done["id"])])


async def test_the_door_wants_the_scheme_that_each_form_of_the_card_names() -> None:
    async with a2a_server(journal=MemoryJournal()) as it:
        root = f"{it.url}/.well-known"
        for headers in ({}, NEW):
            card = (await it.client.get(f"{root}/agent-card.json", headers=headers)).json()
            assert list(card["securitySchemes"]) == ["bearer"], headers
            assert card["securityRequirements"] == [{"schemes": {"bearer": {}}}], headers
        assert (await it.client.get(f"{root}/agent.json")).json()["authentication"]["schemes"] == ["bearer"]
        for path in ("", "/legacy", "/rest/message:send", "/rest/message:stream", "/rest/v1/message:send"):
            for shown in ({}, {"authorization": "Bearer nobody"}, {"x-api-key": "ann"}):
                sent = {"content-type": "application/json", **NEW, **shown}
                answer = await it.client.post(f"{it.rpc}{path}", content=b"{}", headers=sent)
                assert answer.status_code == 401, (path, shown, answer.text)


async def test_a_huge_body_is_refused_before_it_is_parsed() -> None:
    async with a2a_server(journal=MemoryJournal()) as it:
        huge = b'{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"x":"' + b"x" * 64_000_000 + b'"}}'
        for path in ("", "/legacy", "/rest/message:send", "/rest/message:stream"):
            headers = {"authorization": "Bearer ann", "a2a-version": "1.0", "content-type": "application/json"}
            answer = await it.client.post(f"{it.rpc}{path}", content=huge, headers=headers)
            assert answer.status_code == 413, (path, answer.status_code, answer.text[:200])
