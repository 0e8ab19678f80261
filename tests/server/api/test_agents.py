"""`/v1/agents`, and how many things wait: what a page needs before anybody asks anything."""

from __future__ import annotations

from .application import answering, application
from .test_runs import calls


async def test_a_caller_is_told_of_the_agents_that_the_caller_may_ask() -> None:
    async with application(answering("Hi.")) as it:
        listed = (await it.ask("GET", "/v1/agents")).json()
        assert [each["name"] for each in listed["items"]] == ["desk"]
        assert listed["next"] is None
        (info,) = listed["items"]
        assert (info["model"], info["version"]) == ("scripted", 0)
        assert (await it.ask("GET", "/v1/agents/desk")).json() == info | {"definition": None}
        assert (await it.ask("GET", "/v1/agents", who="narrow")).json()["items"] == []
        hidden, none = [await it.ask("GET", f"/v1/agents/{name}", who="narrow") for name in ("desk", "none")]
        assert (hidden.status_code, hidden.content) == (404, none.content)
        assert (await it.ask("GET", "/v1/agents", who="none")).status_code == 403


async def test_what_waits_is_counted_for_those_who_see_it() -> None:
    async with application(answering(*[calls("pay", to="Ada", amount=1)] * 3)) as it:
        run = ""
        for _ in range(3):
            run = (await it.ask("POST", "/v1/runs", {"question": "Pay."})).json()["id"]
            await it.until(run, "paused")
        for who, count in (("ann", 3), ("eve", 3), ("bob", 0), ("north", 0)):
            told = (await it.ask("GET", "/v1/approvals?count=true&limit=2", who=who)).json()
            assert (told["count"], len(told["items"])) == (count, min(count, 2)), who
        assert (await it.ask("GET", f"/v1/approvals?count=true&run={run}")).json()["count"] == 1
        assert (await it.ask("GET", "/v1/approvals")).json()["count"] is None
