"""`/v1/tasks`, and calls and runs with `execute_async`."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from actum.core.clock import SystemClock
from actum.core.interfaces import Journal
from actum.core.run.record import Started
from actum.core.user import User
from actum.journal.recording import RunState
from actum.knowledge.browsing.browser import QuoteTool
from actum.knowledge.citing.attached import unpacked
from actum.runs.runner import Runner
from actum.server.api.api import Tasking
from actum.storage.place import open_journal
from actum.tasks.attempt import attempt
from actum.tasks.builder import Resumable
from actum.tasks.queue import TaskLimits, TaskQueue
from tests.knowledge import files

from .application import Bank, NoDrop, WebApplication, application

ADD = {"arguments": {"a": 2, "b": 3}, "execute_async": True}


class BankWithQuotes(Bank):
    """Tools of an agent that reads documents."""

    @property
    def tools(self) -> Sequence[object]:
        return [*super().tools, QuoteTool()]


class Worker:
    """Carries tasks out when a test says so."""

    def __init__(self, journal: Journal, bank: Bank) -> None:
        self.journal = journal
        self.runner = Runner(bank.tools, name="api", policy=NoDrop(), journal=journal)  # type: ignore[arg-type]

    async def build(self, started: Started) -> Resumable:
        """As a `Builder`."""
        return self.runner

    async def work(self, run_id: str) -> None:
        """Make one attempt."""
        await attempt(self.journal, self, run_id, clock=SystemClock(), worker="w1")


@asynccontextmanager
async def served(
    tmp_path: Path, limits: TaskLimits | None = None, bank: Bank | None = None, home: str = ""
) -> AsyncIterator[tuple[WebApplication, Worker]]:
    """A server with tasks, and what carries them out."""
    journal, bank = open_journal(str(tmp_path / "journal.db")), bank or Bank()

    def check(user: User, address: str) -> None:
        if not address.startswith("https://hooks.example.org"):
            raise ValueError("this address is private")

    known = ("api", "desk")
    queue = TaskQueue(journal, clock=SystemClock(), limits=limits, home=home, can_build=lambda name: name in known)
    try:
        async with application(journal=journal, bank=bank, tasking=Tasking(queue, check_webhook=check)) as it:
            yield it, Worker(journal, bank)
    finally:
        await journal.close()


@pytest.mark.row("P5")
async def test_a_call_with_execute_async_is_answered_with_the_id_of_its_task_and_polled(tmp_path: Path) -> None:
    async with served(tmp_path) as (it, worker):
        accepted = await it.ask("POST", "/v1/tools/add/call", ADD)
        told = accepted.json()
        place = f"/v1/tasks/{told['task_id']}"
        assert (accepted.status_code, told["state"], accepted.headers["location"]) == (202, "queued", place)
        assert it.bank.calls == []
        waiting = (await it.ask("GET", place)).json()
        assert (waiting["state"], waiting["tool"], waiting["attempts"], waiting["result"]) == (
            "queued",
            "add",
            [],
            None,
        )

        waiter = asyncio.create_task(it.ask("GET", f"{place}?wait=30"))
        await worker.work(told["task_id"])
        done = (await waiter).json()
        assert (done["state"], done["result"], done["error"]) == ("succeeded", 5, None)
        assert [each["attempt"] for each in done["attempts"]] == [1]
        over = await it.ask("DELETE", place)
        assert (over.status_code, over.json()["state"], over.json()["code"]) == (409, "succeeded", "finished")
        assert (await it.ask("POST", f"{place}/retry")).status_code == 409


@pytest.mark.row("P5")
async def test_a_task_that_can_not_be_is_refused_before_anything_is_queued(tmp_path: Path) -> None:
    wrong: tuple[tuple[str, dict[str, object], int, str], ...] = (
        ("none", ADD, 404, "unknown_tool"),
        ("add", {"arguments": {"a": [], "b": 1}, "execute_async": True}, 422, "invalid_arguments"),
        ("drop", {"execute_async": True}, 403, "permission_denied"),
        ("add", ADD | {"deadline": 1}, 422, "deadline"),
        ("add", ADD | {"deadline": "1999-01-01T00:00:00Z"}, 422, "deadline"),
        ("add", ADD | {"deadline": "tomorrow"}, 422, "options"),
        ("add", ADD | {"not_before": "2026-09-01T08:00:00"}, 422, "options"),
        ("add", ADD | {"priority": 10}, 422, "invalid"),
        ("add", ADD | {"max_retries": -1}, 422, "invalid"),
        ("add", ADD | {"backoff": {"base": -1}}, 422, "options"),
        ("add", ADD | {"backoff": {"speed": 1}}, 422, "invalid"),
        ("add", ADD | {"timeout_s": 0}, 422, "invalid"),
        ("add", ADD | {"unique_key": "a\0b"}, 422, "invalid"),
        ("add", ADD | {"unique_key": "k" * 256}, 422, "invalid"),
        ("add", ADD | {"webhook": "http://127.0.0.1/"}, 422, "webhook"),
        ("add", {"arguments": {"a": 1, "b": 2}, "max_retries": 3}, 409, "no_task"),
    )
    async with served(tmp_path) as (it, _):
        for name, body, status, code in wrong:
            refused = await it.ask("POST", f"/v1/tools/{name}/call", body)
            assert (refused.status_code, refused.json()["code"]) == (status, code), (name, body, refused.text)
        assert (await it.ask("GET", "/v1/tasks")).json()["items"] == []
        asked = await it.ask("POST", "/v1/runs", {"question": "Hello?", "agent": "none", "execute_async": True})
        assert asked.status_code == 404
    async with application() as it:  # a journal in memory
        refused = await it.ask("POST", "/v1/tools/add/call", ADD)
        assert (refused.status_code, refused.headers["content-type"]) == (409, "application/problem+json")


@pytest.mark.row("P5")
async def test_a_unique_key_gives_the_same_task_and_another_request_with_it_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as (it, _):
        for odd in ("k1", "../../etc", "' OR 1=1 --", "ключ"):
            first = await it.ask("POST", "/v1/tools/add/call", ADD | {"unique_key": odd})
            again = await it.ask("POST", "/v1/tools/add/call", ADD | {"unique_key": odd})
            assert first.json() == again.json(), odd
        by_header = await it.ask("POST", "/v1/tools/add/call", ADD, idempotency_key="k1")
        other = {"arguments": {"a": 9, "b": 9}, "execute_async": True, "unique_key": "k1"}
        refused = await it.ask("POST", "/v1/tools/add/call", other)
        assert (refused.status_code, refused.json()["code"]) == (409, "key_used")
        assert refused.json()["detail"].count("digest") >= 1
        assert by_header.status_code == 202
        theirs = await it.ask("POST", "/v1/tools/add/call", other, who="bob")
        assert theirs.status_code == 202
        both = await it.ask("POST", "/v1/tools/add/call", ADD | {"unique_key": "a"}, idempotency_key="b")
        assert both.status_code == 422


@pytest.mark.row("F8")
async def test_files_come_along_with_a_question_that_is_a_task(tmp_path: Path) -> None:
    def asking(name: str, data: bytes, key: str) -> dict[str, object]:
        file = {"name": name, "media_type": "application/pdf", "data": base64.b64encode(data).decode()}
        return {"question": "When?", "attachments": [file], "execute_async": True, "unique_key": key}

    async with served(tmp_path, bank=BankWithQuotes(), home="desk.py") as (it, _):
        lease = asking("lease.pdf", files.pdf("Three months for both sides."), "k")
        asked = await it.ask("POST", "/v1/runs", lease)
        assert asked.status_code == 202, asked.text
        run_id = asked.json()["task_id"]
        assert (await it.ask("POST", "/v1/runs", lease)).json()["task_id"] == run_id
        (kept,) = RunState(await it.journal.read(run_id)).beginning().attached
        assert (kept.name, "Three months" in unpacked(kept.page, kept.digest).text) == ("lease.pdf", True)
        other = await it.ask("POST", "/v1/runs", asking("lease.pdf", files.pdf("Two months."), "k"))
        assert (other.status_code, other.json()["code"]) == (409, "key_used")
        locked = await it.ask("POST", "/v1/runs", asking("a.pdf", files.pdf("x", password="p"), "l"))
        assert (locked.status_code, "attachments: a.pdf: it is encrypted" in locked.text) == (422, True), locked.text
        assert [each["task_id"] for each in (await it.ask("GET", "/v1/tasks")).json()["items"]] == [run_id]


@pytest.mark.row("P5")
async def test_the_task_of_somebody_else_is_not_there(tmp_path: Path) -> None:
    async with served(tmp_path) as (it, _):
        run_id = (await it.ask("POST", "/v1/tools/add/call", ADD)).json()["task_id"]
        for who in ("bob", "north"):
            for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/retry"), ("GET", "?wait=1")):
                refused = await it.ask(method, f"/v1/tasks/{run_id}{path}", who=who)
                assert (refused.status_code, refused.json()["code"]) == (404, "not_found"), (who, method, path)
            assert (await it.ask("GET", "/v1/tasks", who=who)).json()["items"] == []
        assert (await it.ask("GET", "/v1/tasks?principal=ann", who="bob")).status_code == 403
        assert len((await it.ask("GET", "/v1/tasks", who="root")).json()["items"]) == 1
        assert (await it.ask("GET", "/v1/tasks/run_none")).status_code == 404
        assert (await it.ask("GET", "/v1/tasks/%00")).status_code == 404
        cancelled = await it.ask("DELETE", f"/v1/tasks/{run_id}")
        assert (cancelled.status_code, cancelled.json()["state"]) == (200, "cancelled")


@pytest.mark.row("P5")
async def test_a_flood_of_tasks_by_one_user_is_refused_and_others_go_on(tmp_path: Path) -> None:
    async with served(tmp_path, TaskLimits(queued=3)) as (it, _):
        answers = [await it.ask("POST", "/v1/tools/add/call", ADD) for _ in range(5)]
        assert [each.status_code for each in answers] == [202, 202, 202, 429, 429]
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert (await it.ask("POST", "/v1/tools/add/call", ADD, who="bob")).status_code == 202
        page = (await it.ask("GET", "/v1/tasks?limit=2&state=queued")).json()
        rest = (await it.ask("GET", f"/v1/tasks?limit=2&state=queued&cursor={page['next']}")).json()
        assert (len(page["items"]), len(rest["items"]), rest["next"]) == (2, 1, None)
        assert (await it.ask("GET", "/v1/tasks?cursor=bm9uZQ")).status_code == 404


@pytest.mark.row("P5")
async def test_a_task_that_waits_for_a_person_goes_on_by_the_dispatcher_when_it_is_answered(tmp_path: Path) -> None:
    async with served(tmp_path) as (it, worker):
        pay = {"arguments": {"to": "Ada", "amount": 20}, "execute_async": True}
        run_id = (await it.ask("POST", "/v1/tools/pay/call", pay)).json()["task_id"]
        await worker.work(run_id)
        told = (await it.ask("GET", f"/v1/tasks/{run_id}?wait=5")).json()
        assert (told["state"], len(told["approvals"])) == ("waiting", 1)
        ask = told["approvals"][0]["id"]
        answered = await it.ask("POST", f"/v1/approvals/{ask}", {"verdict": "approve"}, who="eve")
        assert (answered.status_code, answered.json()["goes_on"]) == (200, True)
        assert it.bank.calls == []
        assert (await it.ask("GET", f"/v1/tasks/{run_id}")).json()["state"] == "queued"
        await worker.work(run_id)
        assert (await it.ask("GET", f"/v1/tasks/{run_id}")).json()["result"] == "paid 20 to Ada"


@pytest.mark.row("P5")
async def test_a_large_result_is_told_as_a_handle_and_fetched_by_its_owner_alone(tmp_path: Path) -> None:
    async with served(tmp_path) as (it, worker):
        name = "A" * 300_000
        pay = {"arguments": {"to": name, "amount": 20}, "execute_async": True}
        run_id = (await it.ask("POST", "/v1/tools/pay/call", pay)).json()["task_id"]
        await worker.work(run_id)
        ask = (await it.ask("GET", f"/v1/tasks/{run_id}")).json()["approvals"][0]["id"]
        place = f"/v1/tasks/{run_id}/result"
        assert (await it.ask("GET", place)).json() == {"result": None}
        await it.ask("POST", f"/v1/approvals/{ask}", {"verdict": "approve"}, who="eve")
        await worker.work(run_id)
        told = (await it.ask("GET", f"/v1/tasks/{run_id}")).json()
        assert (told["state"], told["result"]) == ("succeeded", None)
        assert told["handle"] == {"bytes": 300_000 + len('"paid 20 to "'), "url": place}
        assert (await it.ask("GET", place)).json() == {"result": f"paid 20 to {name}"}
        assert (await it.ask("GET", place, who="bob")).status_code == 404
