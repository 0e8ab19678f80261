"""Who reaches what of our own API. Every route with every caller: `tests/server/test_matrix.py`."""

from __future__ import annotations

from actum.core.call import ToolCall
from actum.core.identity import Identity
from actum.core.message import Reply
from actum.core.policy import Decision, Facts
from actum.core.tool import Tool
from actum.server.api.operations import OPERATIONS
from actum.server.scopes import SCOPES, allows

from .application import WebApplication, answering, application
from .test_runs import calls


async def things_of_ann(it: WebApplication) -> dict[str, dict[str, str]]:
    """A session with a run of ann that waits for a person, and the names of these by the tags of operations."""
    run = (await it.ask("POST", "/v1/runs", {"question": "Pay Ada.", "session": "c1"})).json()["id"]
    told = await it.until(run, "paused")
    waiting = told["approvals"]
    assert isinstance(waiting, list)
    return {
        "tools": {"name": "add"},
        "runs": {"id": run},
        "approvals": {"id": waiting[0]["id"]},
        "sessions": {"id": "c1"},
        "audit": {},
    }


async def test_not_found_and_not_yours_are_answered_alike() -> None:
    async with application(answering(calls("pay", to="Ada", amount=1))) as it:
        names = await things_of_ann(it)
        for who in ("bob", "north"):
            for method, path in (
                ("GET", "/v1/runs/{}"),
                ("GET", "/v1/runs/{}/events"),
                ("POST", "/v1/runs/{}/cancel"),
                ("GET", "/v1/sessions/{}/messages"),
                ("DELETE", "/v1/sessions/{}"),
            ):
                theirs = await it.ask(
                    method, path.format(names["sessions" if "sessions" in path else "runs"]["id"]), who=who
                )
                none = await it.ask(method, path.format("none"), who=who)
                assert (theirs.status_code, theirs.content) == (none.status_code, none.content)
                assert theirs.headers.keys() == none.headers.keys()


async def test_an_administrator_sees_all_of_the_own_tenant_and_an_approver_what_waits() -> None:
    async with application(answering(calls("pay", to="Ada", amount=1))) as it:
        names = await things_of_ann(it)
        assert (await it.ask("GET", f"/v1/runs/{names['runs']['id']}", who="root")).status_code == 200
        assert len((await it.ask("GET", "/v1/runs?principal=ann", who="root")).json()["items"]) == 1
        assert (await it.ask("GET", "/v1/runs?principal=ann", who="bob")).status_code == 403
        assert len((await it.ask("GET", "/v1/sessions?owner=ann", who="root")).json()["items"]) == 1
        assert len((await it.ask("GET", "/v1/approvals", who="eve")).json()["items"]) == 1
        assert len((await it.ask("GET", "/v1/approvals", who="ann")).json()["items"]) == 1
        assert (await it.ask("GET", f"/v1/runs/{names['runs']['id']}", who="eve")).status_code == 403
        assert (await it.ask("GET", "/v1/runs", who="north")).json()["items"] == []


def test_every_scope_of_an_operation_is_in_the_table() -> None:
    assert {scope for operation in OPERATIONS for scope in operation.scopes} <= SCOPES.keys()
    assert allows(Identity(scopes=("admin",)), ("metrics",))
    assert not allows(Identity(scopes=("tools",)), ("metrics",))


async def test_a_key_for_some_names_uses_no_others() -> None:
    async with application(answering(calls("slow"))) as it:
        listed = (await it.ask("GET", "/v1/tools", who="narrow")).json()["items"]
        assert [each["name"] for each in listed] == ["add"]
        body = {"arguments": {"a": 1, "b": 1}}
        assert (await it.ask("POST", "/v1/tools/add/call", body, who="narrow")).status_code == 200
        for name in ("fail", "none"):
            for answer in (
                await it.ask("GET", f"/v1/tools/{name}", who="narrow"),
                await it.ask("POST", f"/v1/tools/{name}/call", {}, who="narrow"),
            ):
                assert (answer.status_code, answer.json()["code"]) == (404, "unknown_tool")
        refused = await it.ask("POST", "/v1/runs", {"agent": "desk", "question": "Hi."}, who="narrow")
        assert (refused.status_code, refused.json()["code"]) == (404, "unknown_agent")
        waits = (await it.ask("POST", "/v1/tools/pay/call", {"arguments": {"to": "A", "amount": 1}})).json()["run"]
        resumed = await it.ask("POST", f"/v1/runs/{waits}/resume", who="narrow")
        assert (resumed.status_code, resumed.json()["code"]) == (403, "key")
        assert it.bank.calls == ["add"]


class TwoOf:
    """A policy for which `pay` needs two of three persons, and not the user of the run."""

    def decide(self, tool: Tool, call: ToolCall, facts: Facts) -> Decision:
        if call.name != "pay":
            return Decision("allow", "rest")
        return Decision("ask", "two", approvers=("eve", "root", "ann"), quorum=2, not_by="ann")


async def test_persons_approve_together_and_nobody_for_himself() -> None:
    async with application(policy=TwoOf()) as it:
        body = {"arguments": {"to": "Ada", "amount": 20}}
        waits = (await it.ask("POST", "/v1/tools/pay/call", body)).json()
        path, yes = f"/v1/approvals/{waits['approval']}", {"verdict": "approve"}
        own = await it.ask("POST", path, yes, who="boss-ann")
        assert (own.status_code, own.json()["code"]) == (403, "approver")
        stranger = await it.ask("POST", path, yes, who="zoe")
        assert (stranger.status_code, stranger.json()["code"]) == (403, "approver")
        first = (await it.ask("POST", path, yes, who="eve")).json()
        assert (first["is_complete"], first["goes_on"]) == (False, False)
        assert (await it.ask("POST", path, yes, who="eve")).status_code == 409
        odd = await it.ask("POST", path, {"verdict": "done"}, who="root")
        assert (odd.status_code, odd.json()["code"]) == (409, "conflict")
        wrong = await it.ask("POST", path, {"verdict": "approve", "arguments": {"to": 5}}, who="root")
        assert (wrong.status_code, wrong.json()["problems"][0]["path"]) == (422, "arguments")
        second = (await it.ask("POST", path, yes, who="root")).json()
        assert (second["is_complete"], second["goes_on"]) == (True, True)
        await it.until(waits["run"], "done")
        assert it.bank.calls == ["pay"]


async def test_the_calls_of_one_reply_are_answered_as_one_question_all_or_none() -> None:
    two = Reply.of(calls=[ToolCall(f"c{n}", "pay", {"to": f"Ada {n}", "amount": n}) for n in (1, 2)])
    async with application(answering(two, "Both are paid.")) as it:
        run = (await it.ask("POST", "/v1/runs", {"question": "Pay Ada twice."})).json()["id"]
        await it.until(run, "paused")
        other = (await it.ask("POST", "/v1/tools/pay/call", {"arguments": {"to": "Bob", "amount": 3}})).json()
        first, second, third = (await it.ask("GET", "/v1/approvals", who="eve")).json()["items"]
        assert first["turn"] == second["turn"] != third["turn"]
        path = f"/v1/approvals/{second['id']}"
        for wrong in ({"arguments": {"to": "Eve", "amount": 9}}, {"changes": {"to": "Eve"}}, {"free": ["to"]}):
            body = {"verdict": "approve", "turn": True, **wrong}
            assert (await it.ask("POST", path, body, who="eve")).status_code == 409
        assert (await it.ask("POST", path, {"verdict": "approve", "turn": True})).status_code == 403
        assert it.bank.calls == []
        told = (await it.ask("POST", path, {"verdict": "approve", "turn": True}, who="eve")).json()
        assert (told["is_complete"], told["goes_on"]) == (True, True)
        assert sorted(told["answered"]) == sorted([first["id"], second["id"]])
        await it.until(run, "done")
        assert it.bank.calls == ["pay", "pay"]
        (left,) = (await it.ask("GET", "/v1/approvals", who="eve")).json()["items"]
        assert left["run"] == other["run"], "another run's question is another question"


class OneForEve:
    """A policy for which eve approves payments to Ada 1, and nobody but root the others."""

    def decide(self, tool: Tool, call: ToolCall, facts: Facts) -> Decision:
        return Decision("ask", "who", approvers=("eve",) if call.arguments.get("to") == "Ada 1" else ("root",))


async def test_who_may_not_answer_one_call_of_a_reply_answers_none_with_turn() -> None:
    two = Reply.of(calls=[ToolCall(f"c{n}", "pay", {"to": f"Ada {n}", "amount": n}) for n in (1, 2)])
    async with application(answering(two), policy=OneForEve()) as it:
        run = (await it.ask("POST", "/v1/runs", {"question": "Pay Ada twice."})).json()["id"]
        first = (await it.until(run, "paused"))["approvals"][0]  # type: ignore[index]
        path = f"/v1/approvals/{first['id']}"
        assert (await it.ask("POST", path, {"verdict": "approve", "turn": True}, who="eve")).status_code == 403
        assert len((await it.ask("GET", "/v1/approvals", who="eve")).json()["items"]) == 2
        assert (await it.ask("POST", path, {"verdict": "approve"}, who="eve")).status_code == 200
        assert it.bank.calls == []
