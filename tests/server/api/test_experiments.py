"""`/v1/experiments`: a caller reads own experiments, and nobody else's are there."""

from __future__ import annotations

import pytest

from actum import Agent
from actum.evals import Case
from actum.evals.case import CaseText, Expected
from actum.evals.experiment import Experiment, carry_out
from actum.testing import ScriptedModel

from .application import WebApplication, application

pytestmark = pytest.mark.row("F4")


async def made(it: WebApplication, name: str, says: str) -> str:
    cases = [Case(id=each, input=each, expected=Expected(text=CaseText(equals="Yes."))) for each in ("a", "b")]
    agent = Agent(ScriptedModel(lambda request: says, name="m"), name="desk")
    return await carry_out(Experiment(cases=cases, agent=agent, name=name, principal="ann"), it.journal)


async def test_own_experiments_are_listed_shown_and_compared_and_others_are_not_there() -> None:
    async with application() as it:
        before, after = await made(it, "before", "Yes."), await made(it, "after", "No.")
        listed = (await it.ask("GET", "/v1/experiments")).json()["items"]
        assert [(each["experiment"], each["name"]) for each in listed] == [(after, "after"), (before, "before")]
        first = (await it.ask("GET", "/v1/experiments?limit=1")).json()
        assert [each["name"] for each in first["items"]] == ["after"]
        last = (await it.ask("GET", f"/v1/experiments?limit=1&cursor={first['next']}")).json()
        assert ([each["name"] for each in last["items"]], last["next"]) == (["before"], None)
        shown = (await it.ask("GET", f"/v1/experiments/{after}")).json()
        assert (shown["scores"]["correct"]["mean"], shown["results"][0]["tries"][0]["scores"]) == (0, {"correct": 0})
        run = shown["results"][0]["tries"][0]["run"]
        assert (await it.ask("GET", f"/v1/runs/{run}")).json()["text"] == "No."
        compared = (await it.ask("GET", f"/v1/experiments/before/comparison?with={after}")).json()
        assert (compared["scores"]["correct"]["lost"], len(compared["changed"])) == (2, 2)
        assert [each["parts_at"] for each in compared["changed"]] == [{"what": "model", "step": 1}] * 2
        nowhere = await it.ask("GET", "/v1/experiments/run_nowhere")
        for who in ("bob", "north", "root"):
            assert (await it.ask("GET", "/v1/experiments", who=who)).json()["items"] == []
            for path in (after, "after", f"before/comparison?with={after}", run):
                refused = await it.ask("GET", f"/v1/experiments/{path}", who=who)
                assert (refused.status_code, refused.content) == (404, nowhere.content), (who, path)


async def test_a_cursor_of_another_tenant_or_of_nobody_is_not_known_and_a_forgotten_experiment_is_passed_over() -> None:
    async with application() as it:
        made_ids = [await made(it, name, "Yes.") for name in ("one", "two", "three")]
        first = (await it.ask("GET", "/v1/experiments?limit=1")).json()
        await it.journal.forget(made_ids[1], "ann", "test")
        cursor, names = first["next"], []
        while cursor is not None:
            part = (await it.ask("GET", f"/v1/experiments?limit=1&cursor={cursor}")).json()
            names += [each["name"] for each in part["items"]]
            cursor = part["next"]
        assert names == ["one"]
        for who, wrong in (("north", first["next"]), ("ann", "nonsense")):
            refused = await it.ask("GET", f"/v1/experiments?cursor={wrong}", who=who)
            assert (refused.status_code, refused.json()["code"]) == (404, "cursor"), who
