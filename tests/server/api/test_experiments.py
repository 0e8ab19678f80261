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
        shown = (await it.ask("GET", f"/v1/experiments/{after}")).json()
        assert (shown["scores"]["correct"]["mean"], shown["results"][0]["tries"][0]["scores"]) == (0, {"correct": 0})
        run = shown["results"][0]["tries"][0]["run"]
        assert (await it.ask("GET", f"/v1/runs/{run}")).json()["text"] == "No."
        compared = (await it.ask("GET", f"/v1/experiments/before/comparison?with={after}")).json()
        assert (compared["scores"]["correct"]["lost"], len(compared["changed"])) == (2, 2)
        nowhere = await it.ask("GET", "/v1/experiments/run_nowhere")
        for who in ("bob", "north", "root"):
            assert (await it.ask("GET", "/v1/experiments", who=who)).json()["items"] == []
            for path in (after, "after", f"before/comparison?with={after}", run):
                refused = await it.ask("GET", f"/v1/experiments/{path}", who=who)
                assert (refused.status_code, refused.content) == (404, nowhere.content), (who, path)
