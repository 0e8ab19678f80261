"""A trigger that is paused begins nothing, at any server of its journal, until a person resumes it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from actum.core.identity import Identity
from actum.core.run.record import CallsRequested
from actum.policy.rules import Rule, Rules
from actum.runs.administration import ADMINISTRATION
from actum.runs.runner import Runner
from actum.server.access import Access
from actum.server.api.routes import ApiRoutes
from actum.server.trigger_senders import TriggerSenders
from actum.server.triggers import TriggerRoutes
from actum.server.web_application import WebApplication, WebApplicationSettings
from actum.triggers.settings import TriggerTable
from actum.triggers.states import TriggerPaused
from actum.triggers.watch import Watcher
from tests.patience import HANGS_S
from tests.storage.conftest import Store
from tests.web import serving

from .test_desk import Hall

pytestmark = pytest.mark.row("A6")

BODY = {"room": "kitchen"}


class Keys:
    """An administrator of each tenant, and a user of one."""

    async def verify_token(self, token: str) -> Identity | None:
        return {
            "north": Identity(principal="ann", tenant="north", scopes=("admin",), key_id="k1"),
            "south": Identity(principal="bob", tenant="south", scopes=("admin",), key_id="k2"),
            "weak": Identity(principal="cid", tenant="north", scopes=("runs",), key_id="k3"),
        }.get(token)


@pytest.fixture
def hall(shared: Store) -> Callable[..., Hall]:
    return lambda **triggers: Hall(shared, triggers)


@asynccontextmanager
async def opened(hall: Hall) -> AsyncIterator[httpx2.AsyncClient]:
    """A server with the triggers and our own API."""
    api = ApiRoutes(Runner([], journal=hall.journal, policy=Rules(Rule("allow"))))
    api.api.triggers = hall.intake.states
    senders = TriggerSenders(hall.intake, lambda name: ["a-secret"], {}, None)
    settings = WebApplicationSettings(access=Access(verifier=Keys()))
    application = WebApplication([TriggerRoutes(hall.intake, senders), api], settings)
    async with (
        serving(application.app) as url,
        httpx2.AsyncClient(base_url=f"{url}/v1/triggers", timeout=HANGS_S) as client,
    ):
        yield client


def key(name: str) -> dict[str, str]:
    return {"authorization": f"Bearer {name}"}


async def test_an_administrator_pauses_a_webhook_for_all_servers_and_nobody_else_can(hall: Callable[..., Hall]) -> None:
    tables = {
        "press": TriggerTable(workflow="lamp", tenant="north", secret="s", signature="token"),
        "dawn": TriggerTable(workflow="lamp", tenant="north", schedule="0 7 * * *"),
        "theirs": TriggerTable(workflow="lamp", tenant="south"),
    }
    it, other = hall(**tables), hall(**tables)
    sent = {"x-webhook-token": "a-secret"}
    async with opened(it) as client, opened(other) as second:

        async def told(server: httpx2.AsyncClient) -> int:
            return (await server.post("/press", json=BODY, headers=sent)).status_code

        assert await told(client) == 202
        for headers, status in (
            ({}, 401),  # also for a trigger whose events need no key
            (sent, 401),
            (key("a-secret"), 401),
            (key("weak"), 403),
            (key("south"), 404),
        ):
            refused = await client.patch("/press", json={"paused": True}, headers=headers)
            assert refused.status_code == status, (headers, refused.text)
        assert (await client.patch("/none", json={"paused": True}, headers=key("north"))).status_code == 404
        assert (await client.patch("/press", json={}, headers=key("north"))).status_code == 422
        assert await told(second) == 202
        answers = await asyncio.gather(
            *(server.patch("/press", json={"paused": True}, headers=key("north")) for server in (client, second) * 4)
        )
        assert {(each.status_code, each.json()["paused"]) for each in answers} == {(200, True)}
        refused = await second.post("/press", json=BODY, headers=sent)
        assert (refused.status_code, refused.json()["code"]) == (409, "paused")
        assert await told(client) == 409
        with pytest.raises(TriggerPaused):
            await other.intake.fire("press", {**BODY})
        listed = (await second.get(str(second.base_url).rstrip("/"), headers=key("north"))).json()["items"]
        assert [(each["name"], each["paused"]) for each in listed] == [("press", True), ("dawn", False)]
        press, dawn = listed
        runs = {run.run_id for run in await it.journal.runs(limit=None) if run.agent == "lamp"}
        assert len(runs) == 2
        assert set(press["last_runs"]) < runs
        assert (press["path"], press["next"], dawn["path"]) == ("/v1/triggers/press", None, "")
        assert time.time() - 60 < dawn["next"] <= time.time() + 86_400
        assert (await client.get(str(client.base_url).rstrip("/"), headers=key("weak"))).status_code == 403
        assert (await client.patch("/press", json={"paused": False}, headers=key("north"))).status_code == 200
        assert await told(second) == 202
    acts = await acts_of(it)
    assert acts == ["triggers.pause", "triggers.resume"], "of eight who paused at once, one did, and that is on record"


async def acts_of(hall: Hall) -> list[str]:
    """What administrators did, the oldest act first."""
    found = []
    for run in reversed(await hall.journal.runs(limit=None)):
        for entry in await hall.journal.read(run.run_id):
            if run.agent == ADMINISTRATION and isinstance(entry.record, CallsRequested):
                found += [call.name for call in entry.record.calls]
    return found


@pytest.mark.parametrize("missed", ["once", "all"])
async def test_a_schedule_that_was_paused_does_not_make_up_for_what_it_missed(
    hall: Callable[..., Hall], tmp_path: Path, missed: str
) -> None:
    tables = {"dawn": TriggerTable(workflow="lamp", schedule="*/10 * * * *", with_={"room": "hall"}, missed=missed)}  # type: ignore[arg-type]
    it = hall(**tables)
    clock, states = it.clock, it.intake.states
    watchers = [Watcher(it.intake, tmp_path), Watcher(it.intake, tmp_path)]

    async def look(after_s: float) -> int:
        clock.advance(after_s)
        await asyncio.gather(*(watcher.look() for watcher in watchers))
        return len(await it.journal.runs(limit=None))

    assert await look(600 - clock.now() % 600 + 10) == 0
    assert await look(600) == 1
    assert (await states.pause("dawn"), await states.pause("dawn")) == (True, False)
    assert await look(600) == 1, "paused, with servers that look"
    clock.advance(3_600)  # paused, and nobody looks
    assert (await states.resume("dawn", clock.now()), await states.resume("dawn", clock.now())) == (True, False)
    assert await look(0) == 1
    assert await look(600) == 2
