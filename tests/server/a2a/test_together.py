"""Agents that call each other, two tasks of one context, and where the key that signs news is said to be."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest

from actum import Agent, Context, tool
from actum.journal.memory import MemoryJournal
from actum.storage.sqlite import SQLiteJournal
from tests.patience import HANGS_S
from tests.server.api.application import answering
from tests.server.api.test_runs import calls

from .serving import NEW, a2a_server, error_of, spoken
from .test_grpc_limits import Held
from .test_push import receiving


@pytest.mark.row("A5", "P3")
async def test_an_agent_that_is_called_back_while_it_waits_is_refused_and_another_agent_is_not() -> None:
    heard: dict[str, dict[str, Any]] = {}
    place: list[str] = []

    @tool(effects=["read"])
    async def ask_others(ctx: Context) -> str:
        """Ask this agent itself, and another one, as a remote agent would."""
        assert ctx.budget is not None
        headers = {
            "authorization": "Bearer ann",
            **NEW,
            "traceparent": ctx.traceparent,
            "tracestate": ctx.budget.way_down().tracestate,
        }
        async with httpx.AsyncClient(timeout=HANGS_S) as client:
            for name in ("chain", "desk"):
                params = spoken("And you?", f"from-{name}")
                body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
                heard[name] = (await client.post(f"{place[0]}/a2a/{name}", json=body, headers=headers)).json()
        return "asked"

    journal = MemoryJournal()
    chain = Agent(answering(calls("ask_others"), "Done."), [ask_others], name="chain", journal=journal)
    async with a2a_server(answering("Hello."), journal=journal, agents=[chain]) as it:
        place.append(it.url)
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": spoken("Ask them.")}
        answer = await it.client.post(
            f"{it.url}/a2a/chain", json=body, headers={"authorization": "Bearer ann", **NEW}, timeout=HANGS_S
        )
        task = answer.json()["result"]["task"]
        assert task["status"]["state"] == "TASK_STATE_COMPLETED", task
        assert error_of(heard["chain"]) == -32004
        assert "waits for this very task" in heard["chain"]["error"]["message"]
        assert heard["desk"]["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_a_second_task_of_a_context_is_refused_as_long_as_the_first_is_worked_on() -> None:
    model = Held()
    async with a2a_server(model, journal=MemoryJournal()) as it:
        first = asyncio.create_task(it.ask("SendMessage", spoken("One", "m1", contextId="talk")))
        await model.began.wait()
        refused = await it.ask("SendMessage", spoken("Two", "m2", contextId="talk"))
        assert error_of(refused) == -32004
        assert "Try again" in refused["error"]["message"]
        model.go_on.set()
        one = (await first)["result"]["task"]
        two = (await it.ask("SendMessage", spoken("Two", "m2", contextId="talk")))["result"]["task"]
        assert (one["contextId"], two["contextId"], one["id"] != two["id"]) == ("talk", "talk", True)


@pytest.mark.parametrize("public", ["", "https://desk.example.org"])
async def test_pushed_news_name_the_address_of_their_key_only_where_the_settings_say_it(
    public: str, tmp_path: Path
) -> None:
    journal = SQLiteJournal(tmp_path / "journal.db")
    async with (
        receiving() as (receiver, url),
        a2a_server(answering("Hello."), journal=journal, private=[url], public=public) as it,
    ):
        params = {**spoken("Hi"), "configuration": {"taskPushNotificationConfig": {"url": f"{url}/news"}}}
        told = await it.ask("SendMessage", params)
        assert "result" in told, told
        await receiver.until("TASK_STATE_COMPLETED")
        header = jwt.get_unverified_header(receiver.got[-1][0]["x-a2a-notification-signature"])
        assert header.get("jku") == (f"{public}/.well-known/jwks.json" if public else None)
    await journal.close()
