"""`/v1/runs/{id}/timeline` and `/export`: a run as it went in time, and its record as it is kept."""

from __future__ import annotations

import pytest

from actum.journal.export import check_export, read_lines

from .application import Bank, WebApplication, answering, application
from .test_runs import calls

pytestmark = pytest.mark.row("C8")


async def begun(it: WebApplication, question: str, *statuses: str) -> str:
    """The id of a run, once it stands so."""
    run_id = str((await it.ask("POST", "/v1/runs", {"question": question})).json()["id"])
    await it.until(run_id, *statuses)
    return run_id


async def test_a_run_is_told_in_time_with_attempts_waits_rules_and_failures() -> None:
    replies = answering(calls("pay", to="ada", amount=20), calls("fail", why="no"), "Done.")
    async with application(replies, bank=Bank()) as it:
        run_id = await begun(it, "Pay Ada 20 euros.", "paused", "waiting")
        waiting = (await it.ask("GET", f"/v1/runs/{run_id}/timeline")).json()
        (call,) = [each for each in waiting["spans"] if each["kind"] == "call"]
        (question,) = [each for each in waiting["spans"] if each["kind"] == "question"]
        assert (call["name"], call["state"], call["ended"]) == ("pay", "waiting", None)
        assert (question["parent"], question["state"], question["name"]) == (call["id"], "waiting", "approval")
        asked = (await it.ask("GET", "/v1/approvals", who="eve")).json()["items"][0]["id"]
        assert (await it.ask("POST", f"/v1/approvals/{asked}", {"verdict": "approve"}, who="eve")).status_code == 200
        await it.until(run_id, "done")
        told = (await it.ask("GET", f"/v1/runs/{run_id}/timeline")).json()
        shown = [(each["kind"], each["name"], each["state"], each.get("by", "")) for each in told["spans"]]
        assert [each for each in shown if each[0] in ("call", "question")] == [
            ("call", "pay", "done", ""),
            ("question", "approval", "done", "eve"),
            ("call", "fail", "failed", ""),
        ]
        assert [each["attempt"] for each in told["spans"] if each["kind"] == "attempt"] == [1, 1]
        places = {each["id"]: at for at, each in enumerate(told["spans"])}
        assert len(places) == len(told["spans"])
        assert all(places[each["parent"]] < places[each["id"]] for each in told["spans"] if each["parent"])
        assert (told["is_whole"], told["problems"], told["run"]) == (True, [], run_id)
        assert told["began"] <= told["latest"]


async def test_an_exported_run_is_checked_without_the_journal_and_needs_the_scope_audit() -> None:
    async with application(answering(calls("add", a=2, b=3), "5")) as it:
        run_id = await begun(it, "What is 2 and 3?", "done")
        assert (await it.ask("GET", f"/v1/runs/{run_id}/export")).status_code == 403
        answer = await it.ask("GET", f"/v1/runs/{run_id}/export", who="root")
        assert answer.headers["content-type"] == "application/jsonl"
        assert answer.headers["content-disposition"] == f'attachment; filename="{run_id}.jsonl"'
        report = check_export(read_lines(answer.text.splitlines()))
        assert (report.runs, report.problems) == (1, [])
        changed = answer.text.replace('"a\\":2', '"a\\":9')
        assert changed != answer.text
        assert check_export(read_lines(changed.splitlines())).problems


async def test_another_user_and_another_tenant_have_no_such_run() -> None:
    async with application(answering("Hi.")) as it:
        run_id = await begun(it, "Hello", "done")
        for who, what in (("bob", "timeline"), ("north", "timeline"), ("north", "export")):
            answer = await it.ask("GET", f"/v1/runs/{run_id}/{what}", who=who)
            nothing = await it.ask("GET", f"/v1/runs/run_none/{what}", who=who)
            assert (answer.status_code, answer.content) == (404, nothing.content)
