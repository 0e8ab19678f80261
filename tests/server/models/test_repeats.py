"""One request, one run: whatever a client repeats, by itself or with an `Idempotency-Key`, and whoever hangs up."""

from __future__ import annotations

import asyncio

import httpx2

from actum import tool
from actum.core.call import ToolCall
from actum.core.clock import SystemClock
from actum.core.message import Reply
from tests.patience import HANGS_S
from tests.server.models.desk import Desk, desk, until
from tests.server.models.test_agents import openai_of

PAYS = Reply.of(calls=[ToolCall("call_0", "pay", {"euros": 20})])
ASK = {"model": "desk", "messages": [{"role": "user", "content": "Pay."}]}


class Till:
    """A tool with a side effect that can be held up, and how often it happened."""

    def __init__(self) -> None:
        self.paid: list[int] = []
        self.begun, self.gate = asyncio.Event(), asyncio.Event()
        self.pay = tool(name="pay", effects={"spend"})(self._pay)

    async def _pay(self, euros: int) -> str:
        """Pay."""
        self.begun.set()
        await self.gate.wait()
        self.paid.append(euros)
        return f"paid {euros}"


async def post(
    server: Desk, body: object, key: str = "ann", path: str = "/v1/chat/completions", **headers: str
) -> httpx2.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with httpx2.AsyncClient(base_url=server.url, timeout=HANGS_S) as client:
        return await client.post(path, json=body, headers={"authorization": f"Bearer {server.keys[key]}", **named})


async def test_the_same_idempotency_key_is_one_run_and_another_body_is_refused() -> None:
    till = Till()
    till.gate.set()
    async with desk([PAYS, "Done.", PAYS, "Done."], [till.pay]) as server:
        answers = await asyncio.gather(*(post(server, ASK, idempotency_key="k1") for _ in range(3)))
        answers += [await post(server, ASK, idempotency_key="k1")]
        assert {answer.json()["choices"][0]["message"]["content"] for answer in answers} == {"Done."}
        assert till.paid == [20]
        other = await post(server, {**ASK, "temperature": 0.5}, idempotency_key="k1")
        assert (other.status_code, other.headers["x-should-retry"]) == (409, "false")
        await post(server, ASK, key="bob", idempotency_key="k1")
        assert till.paid == [20, 20]  # the key of another caller is another key


async def test_an_official_client_that_repeats_by_itself_joins_the_run_that_it_began() -> None:
    till = Till()
    async with (
        desk([PAYS, "Done.", PAYS, "Done."], [till.pay]) as server,
        openai_of(server, timeout=2.0, max_retries=99) as client,
    ):
        task = asyncio.create_task(client.chat.completions.create(**ASK))
        await till.begun.wait()
        await SystemClock().sleep(2.2)  # the client's own limit, after which the client repeats
        till.gate.set()
        assert (await task).choices[0].message.content == "Done."
        assert (till.paid, len(await server.journal.runs())) == ([20], 1)
        again = await post(server, ASK, x_stainless_retry_count="0")  # a new request of the same words is a new run
        assert (again.status_code, till.paid) == (200, [20, 20])
        await post(server, ASK, key="bob", x_stainless_retry_count="1")
        assert len(await server.journal.runs()) == 3  # nobody joins the run of another


async def test_two_requests_that_go_on_with_one_run_the_second_is_refused() -> None:
    till = Till()
    where = {"type": "function", "function": {"name": "where", "parameters": {"type": "object", "properties": {}}}}
    script: list[str | Reply] = [Reply.of(calls=[ToolCall("1", "where", {})]), PAYS, "Done."]
    async with desk(script, [till.pay]) as server:
        first = (await post(server, {**ASK, "tools": [where]})).json()["choices"][0]["message"]
        result = {"role": "tool", "tool_call_id": first["tool_calls"][0]["id"], "content": "here"}
        body = {**ASK, "tools": [where], "messages": [*ASK["messages"], first, result]}
        going = asyncio.create_task(post(server, body))
        await till.begun.wait()
        second = await post(server, body)
        assert (second.status_code, second.headers["x-should-retry"]) == (409, "false")
        joined = asyncio.create_task(post(server, body, x_stainless_retry_count="1"))
        await SystemClock().sleep(0.1)
        till.gate.set()
        for answer in (await going, await joined):
            assert answer.json()["choices"][0]["message"]["content"] == "Done."
        assert till.paid == [20]


async def test_a_client_that_hangs_up_ends_the_run_only_where_its_key_says_so() -> None:
    for hang_up in ("", "end"):
        for stream in (True, False):
            till = Till()
            async with desk([PAYS, "Done."], [till.pay], hang_up=hang_up) as server:
                task = asyncio.create_task(post(server, {**ASK, "stream": stream}))
                await till.begun.wait()
                task.cancel()
                await asyncio.wait([task])
                if not hang_up:
                    await SystemClock().sleep(0.1)
                    till.gate.set()

                async def is_over(server: Desk = server) -> bool:
                    return (await server.journal.runs())[0].status != "running"

                await until(is_over)
                status = (await server.journal.runs())[0].status
                assert (status, till.paid) == (("stopped", []) if hang_up else ("done", [20])), (hang_up, stream)
