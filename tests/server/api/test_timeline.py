"""`/v1/runs/{id}/timeline`, `/export`, `/comparison` and `/files`: what is shown of a run beside its state."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from actum import ToolResult, tool
from actum.core.call import MediaPart
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
        assert (told["is_whole"], told["problems"], told["run"], told["attempts"]) == (True, [], run_id, 3)
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


async def test_two_runs_are_compared_with_the_scope_audit_and_another_tenants_run_is_not_there() -> None:
    async with application(answering(calls("add", a=2, b=3), "5", calls("add", a=2, b=4), "6")) as it:
        one = await begun(it, "What is 2 and 3?", "done")
        other = await begun(it, "What is 2 and 4?", "done")
        path = f"/v1/runs/{one}/comparison?other="
        assert (await it.ask("GET", path + other)).status_code == 403
        told = (await it.ask("GET", path + other, who="root")).json()
        assert told["runs"] == [one, other]
        assert told["comparison"]["begun"] == [["question", "What is 2 and 3?", "What is 2 and 4?"]]
        assert [each["answer"] for each in told["comparison"]["outcomes"]] == ["5", "6"]
        for missing in ("run_none", "%00", ""):
            assert (await it.ask("GET", path + missing, who="root")).status_code in (404, 422), missing


async def test_the_files_of_a_run_are_listed_and_got_under_names_of_ours() -> None:
    evil = MediaPart("text/html\r\nx-evil: 1", b"<script>", name='"; x=\r\nevil')

    class Pencil(Bank):
        @property
        def tools(self) -> Sequence[object]:
            @tool(effects={"read"})
            def draw() -> ToolResult:
                """Draw."""
                return ToolResult("", (MediaPart("image/png", b"\x89PNG", name="a.png"), evil))

            return [draw]

    async with application(answering(calls("draw"), "Done."), bank=Pencil()) as it:
        run_id = await begun(it, "Draw.", "done")
        items = (await it.ask("GET", f"/v1/runs/{run_id}/files")).json()["items"]
        assert [(each["handle"], each["name"], each["size"]) for each in items] == [
            ("att_1", "a.png", 4),
            ("att_2", evil.name, 8),
        ]
        for handle, kind, name in (
            ("att_1", "image/png", "att_1.png"),
            ("att_2", "application/octet-stream", "att_2.bin"),
        ):
            got = await it.ask("GET", f"/v1/runs/{run_id}/files/{handle}")
            assert got.headers["content-type"] == kind
            assert got.headers["content-disposition"] == f'attachment; filename="{name}"'
            assert "x-evil" not in got.headers
        assert (await it.ask("GET", f"/v1/runs/{run_id}/files/att_3")).status_code == 404
        assert (await it.ask("GET", f"/v1/runs/{run_id}/files", who="bob")).status_code == 404
