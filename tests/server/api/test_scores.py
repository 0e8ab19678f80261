"""`/v1/runs/{id}/scores`: a caller says how good an answer was, and reaches no run of others."""

from __future__ import annotations

import json

import pytest

from actum.scores.rating import CHANGES_MAX
from tests.server.models.desk import desk
from tests.server.models.test_agents import openai_of
from tests.server.models.test_stored import raw

from .application import WebApplication, answering, application
from .test_runs import calls

pytestmark = pytest.mark.row("F4")


async def asked(it: WebApplication, *statuses: str, who: str = "ann") -> str:
    """A run that has come to one of these ends."""
    run = (await it.ask("POST", "/v1/runs", {"question": "Which day?"}, who=who)).json()["id"]
    await it.until(run, *(statuses or ("done",)))
    return str(run)


async def test_a_caller_rates_an_own_run_and_takes_the_score_back() -> None:
    async with application(answering("Monday.")) as it:
        place = f"/v1/runs/{await asked(it)}/scores"
        given = await it.ask("POST", place, {"name": "thumb", "value": 0, "comment": "wrong day", "user": "u7"})
        assert given.status_code == 200
        (score,) = given.json()["items"]
        assert (score["value"], score["by"], score["user"], score["comment"]) == (0, "ann", "u7", "wrong day")
        assert (await it.ask("GET", place)).json() == given.json()
        assert (await it.ask("GET", place, who="root")).json() == given.json()
        assert (await it.ask("POST", place, {"name": "thumb", "value": 1}, who="root")).status_code == 200
        for _ in range(2):
            assert (await it.ask("DELETE", f"{place}?name=thumb&user=u7")).status_code == 204
        assert [each["by"] for each in (await it.ask("GET", place)).json()["items"]] == ["root"]


async def test_runs_of_others_are_not_there_and_neither_is_what_one_prefers_to_them() -> None:
    async with application(answering("Monday.", "Tuesday.")) as it:
        mine, theirs = await asked(it), await asked(it, who="bob")
        body = {"name": "thumb", "value": 1}
        nowhere = await it.ask("POST", "/v1/runs/run_nowhere/scores", body)
        for who in ("bob", "north"):
            for method in ("GET", "POST", "DELETE"):
                path = f"/v1/runs/{mine}/scores" + ("?name=thumb" if method == "DELETE" else "")
                refused = await it.ask(method, path, body if method == "POST" else None, who=who)
                assert (refused.status_code, refused.content) == (404, nowhere.content), (who, method)
        refused = await it.ask("POST", f"/v1/runs/{mine}/scores", {**body, "over": theirs})
        assert refused.status_code == 422
        assert "over" in refused.json()["detail"]


async def test_a_run_that_waits_is_409_a_forgotten_one_410_and_too_many_changes_429() -> None:
    async with application(answering(calls("pay", to="bob", amount=1), "Monday.")) as it:
        paused = await asked(it, "paused")
        body = {"name": "thumb", "value": 1}
        refused = await it.ask("POST", f"/v1/runs/{paused}/scores", body)
        assert (refused.status_code, refused.json()["detail"]) == (409, "The run is not over.")
        done = await asked(it)
        for number in range(CHANGES_MAX + 1):
            answer = await it.ask("POST", f"/v1/runs/{done}/scores", {**body, "value": number % 2})
            assert answer.status_code == 200
        refused = await it.ask("POST", f"/v1/runs/{done}/scores", {**body, "value": 1})
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) > 0
        await it.journal.forget(done)
        for method in ("GET", "POST"):
            refused = await it.ask(method, f"/v1/runs/{done}/scores", body if method == "POST" else None)
            assert refused.status_code == 410
            assert (await it.ask(method, f"/v1/runs/{done}/scores", body, who="north")).status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('{"name": "thumb", "value": 2}', "value"),
        ('{"name": "thumb", "value": 0.5}', "value"),
        ('{"name": "thumb", "value": NaN}', "JSON"),
        ('{"name": "so good", "value": 1}', "name"),
        ('{"name": "thumb"}', "value"),
        ('{"name": "thumb", "value": 1, "stars": 5}', "stars"),
    ],
)
async def test_a_value_that_is_no_score_is_refused_with_the_field(body: str, field: str) -> None:
    async with application(answering("Monday.")) as it:
        place = f"/v1/runs/{await asked(it)}/scores"
        headers = {"authorization": "Bearer ann", "content-type": "application/json"}
        refused = await it.client.post(place, content=body, headers=headers)
        assert refused.status_code in (400, 422)
        assert field in json.dumps(refused.json())
        assert (await it.ask("GET", place)).json()["items"] == []


async def test_a_client_of_a_model_api_rates_by_the_id_of_the_answer() -> None:
    async with desk(["Monday.", "Tuesday.", "Wednesday."]) as server, openai_of(server) as client:
        said = [{"role": "user", "content": "Which day?"}]
        ids = [
            (await client.chat.completions.create(model="desk", messages=said)).id,
            (await client.responses.create(model="desk", input="Which day?")).id,
        ]
        stream = await client.chat.completions.create(model="desk", messages=said, stream=True)
        ids.append([chunk.id async for chunk in stream][-1])
        for id_ in ids:
            options = {"body": {"name": "thumb", "value": 0}, "cast_to": object}
            told = await client.post(f"/runs/{id_}/scores", **options)
            assert [each["value"] for each in told["items"]] == [0], id_
            for key in ("bob", "ann-2"):
                assert (await raw(server, "GET", f"/v1/runs/{id_}/scores", key)).status_code == 404
        assert (await raw(server, "GET", "/v1/runs/chatcmpl-of-somebody-else/scores")).status_code == 404
