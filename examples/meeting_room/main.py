"""Books a meeting room by A2A: in the methods of 1.0 and in those of April 2025, by plain HTTP, to be seen."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.local_services.serving import serving
from examples.meeting_room.agent import room_agent
from examples.watch import heading

BOOK, GREEN, WAIT, MOON = "A room for six people, please.", "Green", "I wait for a room.", "A room on the moon."
Told = dict[str, Any]


class News:
    """Takes the news that the agent pushes: the states in them, and whether each was signed and had our token."""

    def __init__(self) -> None:
        self.states: list[str] = []
        self.is_signed = True
        self._came = asyncio.Condition()
        self._loop = asyncio.get_running_loop()

    def app(self) -> Starlette:
        """Where the news are taken."""

        async def take(request: Request) -> Response:
            told: Told = json.loads(await request.body())
            headers = request.headers
            signed = "x-a2a-notification-signature" in headers and headers["x-a2a-notification-token"] == "our-token"
            asyncio.run_coroutine_threadsafe(self._note(told, signed=signed), self._loop)
            return Response()

        return Starlette(routes=[Route("/news", take, methods=["POST"])])

    async def _note(self, told: Told, *, signed: bool) -> None:
        async with self._came:
            self.states += states_in(told)
            self.is_signed = self.is_signed and signed
            self._came.notify_all()

    async def until(self, state: str) -> None:
        """Wait until news tell of this state."""
        async with self._came:
            await self._came.wait_for(lambda: state in self.states)


class Caller:
    """Speaks A2A, one method at a time.

    Args:
        client: sends requests.
        url: the address of the agent.
        version: `1.0`, or `2025-04` for the original methods.
    """

    def __init__(self, client: httpx2.AsyncClient, url: str, version: str) -> None:
        self._client, self._is_new = client, version == "1.0"
        self._url = f"{url}/a2a/rooms" + ("" if self._is_new else "/legacy")
        self._headers = {"a2a-version": "1.0"} if self._is_new else {}

    async def ask(self, method: str, params: Told) -> Told:
        """What a method answers; `error` stands in it where it failed."""
        answer = await self._client.post(self._url, json=self._body(method, params), headers=self._headers)
        told: Told = answer.json()
        result: Told = told.get("result", told)
        return result

    async def stream(self, method: str, params: Told) -> AsyncIterator[Told]:
        """What a method tells, one event after the other."""
        body = self._body(method, params)
        async with self._client.stream("POST", self._url, json=body, headers=self._headers) as answer:
            async for line in answer.aiter_lines():
                if line.startswith("data:"):
                    yield json.loads(line[5:])["result"]

    @staticmethod
    def _body(method: str, params: Told) -> Told:
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def states_in(told: Told) -> list[str]:
    """The state in what a method of any version told, in one spelling."""
    found = told.get("task") or told.get("statusUpdate") or told
    state = found.get("status", {}).get("state", "") if isinstance(found, dict) else ""
    return [state.removeprefix("TASK_STATE_").lower().replace("_", "-")] if state else []


def text_in(task: Told) -> str:
    """The text of the first result of a task."""
    return str(task["artifacts"][0]["parts"][0]["text"])


def said(text: str, id_: str, **more: str) -> Told:
    """A message of 1.0."""
    return {"message": {"messageId": id_, "role": "ROLE_USER", "parts": [{"text": text}], **more}}


async def in_new_methods(caller: Caller, news: News, receiver: str) -> dict[str, list[str]]:
    """The whole life of a task, and two tasks that end otherwise, in the methods of 1.0."""
    seen: dict[str, list[str]] = {"booked": []}
    params = said(BOOK, "m1")
    params["configuration"] = {"taskPushNotificationConfig": {"url": f"{receiver}/news", "token": "our-token"}}
    task = ""
    async for event in caller.stream("SendStreamingMessage", params):
        task = task or event["task"]["id"]
        seen["booked"] += states_in(event)
    waiting = (await caller.ask("GetTask", {"id": task}))["status"]["message"]["parts"][0]["text"]
    print(f"the agent asks: {waiting}")

    # Somebody else listens to the same task, from another connection, while the answer goes in.
    subscription = caller.stream("SubscribeToTask", {"id": task})
    resubscribed = states_in(await anext(subscription))
    done = (await caller.ask("SendMessage", said(GREEN, "m2", taskId=task)))["task"]
    async for event in subscription:
        resubscribed += states_in(event)
    seen["booked"] += states_in(done)
    seen["resubscribed"] = resubscribed
    print(text_in(done))
    await news.until("completed")
    seen["pushed"] = list(dict.fromkeys(news.states))

    failed = (await caller.ask("SendMessage", said(MOON, "m3")))["task"]
    seen["failed"] = states_in(failed)
    begun = (await caller.ask("SendMessage", said(WAIT, "m4") | {"configuration": {"returnImmediately": True}}))["task"]
    seen["canceled"] = states_in(begun) + states_in(await caller.ask("CancelTask", {"id": begun["id"]}))
    again = await caller.ask("CancelTask", {"id": begun["id"]})
    print(f"cancelled twice: {again['error']['code']}")
    return seen


def old(text: str, task: str) -> Told:
    """A message of April 2025, whose clients make the ids of tasks."""
    return {"id": task, "message": {"role": "user", "parts": [{"type": "text", "text": text}]}}


async def in_original_methods(caller: Caller) -> dict[str, list[str]]:
    """The same in the methods of April 2025."""
    seen: dict[str, list[str]] = {"booked": []}
    async for event in caller.stream("tasks/sendSubscribe", old(BOOK, "booking")):
        seen["booked"] += states_in(event)
    done = await caller.ask("tasks/send", old(GREEN, "booking"))
    seen["booked"] += states_in(done)
    print(text_in(done))
    seen["got"] = states_in(await caller.ask("tasks/get", {"id": "booking"}))
    seen["failed"] = states_in(await caller.ask("tasks/send", old(MOON, "moon")))
    listening = caller.stream("tasks/sendSubscribe", old(WAIT, "waiting"))
    seen["canceled"] = states_in(await anext(listening))
    seen["canceled"] += states_in(await caller.ask("tasks/cancel", {"id": "waiting"}))
    await listening.aclose()  # type: ignore[attr-defined]
    return seen


@asynccontextmanager
async def everything(folder: Path) -> AsyncIterator[tuple[httpx2.AsyncClient, str, News, str]]:
    """The agent, a receiver of news, and a client."""
    news = News()
    async with (
        serving(news.app()) as (receiver,),
        serving(room_agent(folder, receiver)) as (url,),
        httpx2.AsyncClient(trust_env=False, verify=False, timeout=30) as client,
    ):
        yield client, url, news, receiver


async def book(folder: Path) -> dict[str, dict[str, list[str]]]:
    """Book in both versions.

    Args:
        folder: for the journal of the agent.

    Returns:
        By version and by task, the states that were told.
    """
    async with everything(folder) as (client, url, news, receiver):
        card = (await client.get(f"{url}/.well-known/agent-card.json")).json()
        heading(f"The card of {card['name']!r}, signed")
        for each in card["supportedInterfaces"]:
            print(f"{each['protocolBinding']:<10} {each['protocolVersion']}  {each['url'].removeprefix(url)}")
        seen = {}
        heading("In the methods of 1.0")
        seen["1.0"] = await in_new_methods(Caller(client, url, "1.0"), news, receiver)
        show(seen["1.0"])
        heading("In the methods of April 2025")
        seen["2025-04"] = await in_original_methods(Caller(client, url, "2025-04"))
        show(seen["2025-04"])
        assert news.is_signed
    return seen


def show(seen: dict[str, list[str]]) -> None:
    """Print the states of each task."""
    for task, states in seen.items():
        print(f"{task + ':':<14}{' → '.join(states)}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it."""
    argparse.ArgumentParser(description=__doc__).parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(book(Path(folder)))


if __name__ == "__main__":
    main()
