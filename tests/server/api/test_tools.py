"""`/v1/tools`: what a call is answered."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from actum.call.limits.limits import Limits, UserLimits
from actum.policy.rules import Rule, Rules
from actum.storage.place import open_journal
from tests.patience import HANGS_S

from .application import Bank, application


async def test_tools_are_listed_searched_and_called() -> None:
    async with application() as it:
        listed = (await it.ask("GET", "/v1/tools?limit=2")).json()
        assert [each["name"] for each in listed["items"]] == ["add", "ask"]
        rest = (await it.ask("GET", f"/v1/tools?cursor={listed['next']}")).json()
        assert [each["name"] for each in rest["items"]] == ["crash", "drop", "fail", "pay", "slow"]
        assert rest["next"] is None
        found = (await it.ask("GET", "/v1/tools?query=pay+somebody")).json()
        assert found["items"][0]["name"] == "pay"
        begun = (await it.ask("GET", "/v1/tools?query=cra")).json()  # no tool has the word: one begins so
        assert [each["name"] for each in begun["items"]] == ["crash"]
        for who, words in (("narrow", "pay somebody"), ("ann", "zzz of the")):
            assert (await it.ask("GET", f"/v1/tools?query={words}", who=who)).json()["items"] == [], words


async def test_a_tool_that_the_policy_bars_for_the_caller_is_not_found() -> None:
    policy = Rules(Rule(tools=["drop"], users=["bob"], then="deny"), default="allow")
    async with application(policy=policy) as it:
        for who, found in (("ann", ["drop"]), ("bob", [])):
            items = (await it.ask("GET", "/v1/tools?query=drop", who=who)).json()["items"]
            assert [each["name"] for each in items] == found, who
        told = (await it.ask("GET", "/v1/tools/add")).json()
        assert sorted(told["parameters"]["properties"]) == ["a", "b"]
        called = await it.ask("POST", "/v1/tools/add/call", {"arguments": {"a": 2, "b": 3}})
        assert called.status_code == 200
        assert called.json() | {"run": ""} == {"run": "", "tool": "add", "result": 5, "content": [], "error": None}


async def test_what_becomes_of_a_call_is_told_by_the_status() -> None:
    """A failed tool is a result, a denied call is 403, arguments that do not fit are 422, an unknown tool is 404."""
    async with application() as it:
        failed = await it.ask("POST", "/v1/tools/fail/call", {"arguments": {"why": "no funds"}})
        assert failed.status_code == 200
        assert failed.json()["error"]["code"] == "tool_error"
        assert failed.json()["error"]["effect"] == "none"
        assert failed.json()["error"]["message"] == "no funds"

        crashed = await it.ask("POST", "/v1/tools/crash/call", {})
        assert (crashed.status_code, crashed.json()["error"]["code"]) == (200, "tool_bug")
        assert crashed.json()["error"]["effect"] == "none"
        assert "/srv" not in crashed.text

        denied = await it.ask("POST", "/v1/tools/drop/call", {})
        assert (denied.status_code, denied.json()["code"]) == (403, "permission_denied")
        assert "Nothing is dropped here" in denied.json()["detail"]
        assert "drop" not in it.bank.calls

        wrong = await it.ask("POST", "/v1/tools/add/call", {"arguments": {"a": [], "b": 1}})
        assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_arguments")
        assert wrong.json()["problems"][0]["path"] == "a"

        unknown = await it.ask("POST", "/v1/tools/none/call", {})
        assert unknown.status_code == 404
        for refused in (denied, wrong, unknown):
            assert refused.headers["content-type"] == "application/problem+json"
            assert refused.json()["status"] == refused.status_code


async def test_a_call_that_waits_goes_on_when_a_person_agrees() -> None:
    async with application() as it:
        body = {"arguments": {"to": "Ada", "amount": 20}}
        waits = await it.ask("POST", "/v1/tools/pay/call", body, idempotency_key="k1")
        assert waits.status_code == 202
        run_id, ask_id = waits.json()["run"], waits.json()["approval"]
        assert waits.headers["location"] == f"/v1/runs/{run_id}"
        assert waits.json()["approvals"][0]["arguments"] == {"to": "Ada", "amount": 20}
        assert (await it.ask("POST", "/v1/tools/pay/call", body, idempotency_key="k1")).json() == waits.json()

        own = await it.ask("POST", f"/v1/approvals/{ask_id}", {"verdict": "approve"})
        assert (own.status_code, own.json()["scope"]) == (403, ["approve"])
        assert it.bank.calls == []
        seen = (await it.ask("GET", "/v1/approvals", who="eve")).json()["items"]
        assert [each["id"] for each in seen] == [ask_id]
        agreed = await it.ask("POST", f"/v1/approvals/{ask_id}", {"verdict": "approve"}, who="eve")
        assert agreed.json()["goes_on"] is True
        told = await it.until(run_id, "done")
        assert it.bank.calls == ["pay"]
        assert told["calls"][0]["result"] == "paid 20 to Ada"  # type: ignore[index]
        again = await it.ask("POST", "/v1/tools/pay/call", body, idempotency_key="k1")
        assert (again.status_code, again.json()["result"]) == (200, "paid 20 to Ada")
        assert it.bank.calls == ["pay"]
        gone = await it.ask("POST", f"/v1/approvals/{ask_id}", {"verdict": "approve"}, who="eve")
        assert gone.status_code == 404


async def test_what_a_tool_asks_of_the_user_is_answered_by_the_user() -> None:
    async with application() as it:
        waits = await it.ask("POST", "/v1/tools/ask/call", {})
        assert waits.status_code == 202
        ask_id = waits.json()["approval"]
        bad = await it.ask("POST", f"/v1/approvals/{ask_id}", {"verdict": "answer", "arguments": {"name": 5}})
        assert bad.status_code == 422
        other = await it.ask("POST", f"/v1/approvals/{ask_id}", {"verdict": "deny"}, who="bob")
        assert other.status_code == 404
        given = await it.ask("POST", f"/v1/approvals/{ask_id}", {"verdict": "answer", "arguments": {"name": "Ann"}})
        assert given.status_code == 200
        told = await it.until(waits.json()["run"], "done")
        assert told["calls"][0]["result"] == "accept: Ann"  # type: ignore[index]


async def test_one_key_starts_one_run() -> None:
    """Two at once make one call, another body is 409, a repeat is answered the same; keys of two callers are two."""
    async with application() as it:
        first = asyncio.create_task(it.ask("POST", "/v1/tools/slow/call", {}, idempotency_key="k"))
        await it.bank.entered.wait()
        second = asyncio.create_task(it.ask("POST", "/v1/tools/slow/call", {}, idempotency_key="k"))
        other = await it.ask("POST", "/v1/tools/slow/call", {"arguments": {"x": 1}}, idempotency_key="k")
        assert (other.status_code, other.json()["code"]) == (409, "key_used")
        it.bank.is_open.set()
        one, two = await asyncio.gather(first, second)
        assert one.json() == two.json()
        assert it.bank.calls == ["slow"]
        assert (await it.ask("POST", "/v1/tools/slow/call", {}, idempotency_key="k")).json() == one.json()
        assert (await it.ask("POST", "/v1/tools/add/call", {}, idempotency_key="k")).status_code == 409
        bobs = await it.ask("POST", "/v1/tools/slow/call", {}, who="bob", idempotency_key="k")
        assert bobs.json()["run"] != one.json()["run"]
        assert it.bank.calls == ["slow", "slow"]
        for key in ("ü", "a b", "x" * 256, ""):
            named = [(b"authorization", b"Bearer ann"), (b"idempotency-key", key.encode())]
            bad = await it.client.post("/v1/tools/add/call", json={}, headers=named)
            assert bad.status_code == 400, key


async def test_two_servers_on_one_database_start_one_run(tmp_path: Path) -> None:
    bank = Bank()
    near, far = open_journal(tmp_path / "j.db"), open_journal(tmp_path / "j.db")
    async with application(bank=bank, journal=near) as one, application(bank=bank, journal=far) as two:
        first = asyncio.create_task(one.ask("POST", "/v1/tools/slow/call", {}, idempotency_key="k"))
        await bank.entered.wait()
        second = asyncio.create_task(two.ask("POST", "/v1/tools/slow/call", {}, idempotency_key="k"))
        other = await two.ask("POST", "/v1/tools/slow/call", {"arguments": {"x": 1}}, idempotency_key="k")
        assert other.status_code == 409
        bank.is_open.set()
        answers = await asyncio.gather(first, second)
        assert answers[0].json() == answers[1].json()
        assert bank.calls == ["slow"]
        ones = [one.ask("POST", "/v1/runs", {"question": "Hello?"}, idempotency_key="r") for _ in range(3)]
        twos = [two.ask("POST", "/v1/runs", {"question": "Hello?"}, idempotency_key="r") for _ in range(3)]
        begun = await asyncio.gather(*ones, *twos)
        assert {each.status_code for each in begun} == {202}
        assert len({each.text for each in begun}) == 1
        assert len(await near.runs(kind="agent")) == 1
    await near.close()
    await far.close()


async def test_a_repeat_is_answered_as_the_first_time_whatever_came_of_the_call() -> None:
    async with application() as it:
        cases: list[tuple[str, object, int]] = [
            ("add", {"a": 1, "b": 2}, 200),
            ("fail", {"why": "x"}, 200),
            ("crash", {}, 200),
            ("drop", {}, 403),
            ("add", {"a": "x", "b": 2}, 422),
            ("pay", {"to": "A", "amount": 1}, 202),
            ("none", {}, 404),
        ]
        for name, arguments, status in cases:
            body = {"arguments": arguments}
            one, two = [
                await it.ask("POST", f"/v1/tools/{name}/call", body, idempotency_key=f"{name}-{status}")
                for _ in range(2)
            ]
            assert (one.status_code, one.content) == (status, two.content), name
            assert one.headers.get("location") == two.headers.get("location")
        assert it.bank.calls == ["add", "fail", "crash"]


async def test_a_client_that_hangs_up_ends_nothing() -> None:
    async with application() as it:
        with pytest.raises(httpx.ReadTimeout):
            await it.client.post(
                "/v1/tools/slow/call",
                json={},
                headers={"authorization": "Bearer ann", "idempotency-key": "k"},
                timeout=httpx.Timeout(HANGS_S, read=0.3),
            )
        it.bank.is_open.set()
        again = await it.ask("POST", "/v1/tools/slow/call", {}, idempotency_key="k")
        assert again.json()["result"] == "opened"
        assert it.bank.calls == ["slow"]


async def test_what_a_client_says_counts_as_its_own_words_unless_the_operator_trusts_it() -> None:
    async with application() as it:
        for who, said in (("ann", ""), ("user", "user")):
            called = await it.ask("POST", "/v1/tools/add/call", {"arguments": {"a": 1, "b": 1}}, who=who)
            requested = (await it.journal.read(called.json()["run"]))[1].record
            assert (requested.by, requested.speaks_for) == ("client", said)  # type: ignore[union-attr]


async def test_a_call_that_somebody_cancels_tells_what_may_have_happened() -> None:
    """The client that waits, and the client that asks again, are told the same."""
    async with application() as it:
        waits = asyncio.create_task(it.ask("POST", "/v1/tools/slow/call", {}, idempotency_key="k"))
        await it.bank.entered.wait()
        (run,) = (await it.ask("GET", "/v1/runs?status=running&kind=call")).json()["items"]
        cancelled = await it.ask("POST", f"/v1/runs/{run['id']}/cancel")
        assert cancelled.json()["status"] == "stopped"
        first = await waits
        again = await it.ask("POST", "/v1/tools/slow/call", {}, idempotency_key="k")
        assert (first.status_code, first.content) == (200, again.content)
        assert first.json()["error"]["code"] in ("cancelled", "in_doubt")
        assert it.bank.calls == ["slow"]


async def test_who_has_too_much_under_way_is_told_when_to_come_back() -> None:
    async with application(limits=Limits(users=UserLimits(runs=1))) as it:
        waits = asyncio.create_task(it.ask("POST", "/v1/tools/slow/call", {}))
        await it.bank.entered.wait()
        body = {"arguments": {"a": 1, "b": 1}}
        one, two = [await it.ask("POST", "/v1/tools/add/call", body, idempotency_key="k") for _ in range(2)]
        assert (one.status_code, one.json()["code"], one.headers["retry-after"]) == (429, "user_runs", "60")
        assert one.content == two.content
        assert (await it.ask("POST", "/v1/tools/add/call", body, who="bob")).status_code == 200
        it.bank.is_open.set()
        assert (await waits).status_code == 200
