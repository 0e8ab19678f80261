"""`/v1/runs`, their events, and sessions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actum.call.asking.inbox import answer_pending, inbox
from actum.core.call import ToolCall
from actum.core.message import Reply, UserMessage
from actum.core.policy import Answer
from actum.core.run.record import InputRequested, Intended
from actum.journal.memory import MemoryJournal
from actum.journal.recording import RunState
from actum.server.api.audit import AUDIT_RUNS
from actum.server.api.runs.bodies import FILE_BYTES_MAX
from actum.storage.place import open_journal
from tests.patience import HANGS_S

from .application import Bank, WebApplication, answering, application


def calls(name: str, **arguments: object) -> Reply:
    return Reply.of(calls=[ToolCall("c1", name, dict(arguments))])  # type: ignore[arg-type]


async def events(
    it: WebApplication, run_id: str, *, after: int | None = None, who: str = "ann", most: int = 99
) -> list[str]:
    """The ids of the events of a run, up to the end of its stream or so many."""
    return [each["id"] async for each in stream(it, run_id, after=after, who=who, most=most)]


async def stream(
    it: WebApplication, run_id: str, *, after: int | None = None, who: str = "ann", most: int = 99
) -> AsyncIterator[dict[str, str]]:
    headers = {"authorization": f"Bearer {who}"} | ({} if after is None else {"last-event-id": str(after)})
    seen = 0
    async with it.client.stream("GET", f"/v1/runs/{run_id}/events", headers=headers) as answer:
        if answer.status_code == 204:
            return
        assert answer.status_code == 200, await answer.aread()
        assert answer.headers["content-type"] == "text/event-stream"
        fields: dict[str, str] = {}
        async for line in answer.aiter_lines():
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif "id" in fields:
                yield fields
                seen += 1
                if seen == most:
                    return
                fields = {}


async def test_a_run_is_started_followed_and_told() -> None:
    async with application(answering(calls("add", a=2, b=3), "It is 5.")) as it:
        begun = await it.ask("POST", "/v1/runs", {"agent": "desk", "question": "2 and 3?", "session": "c1"})
        assert begun.status_code == 202
        run_id = begun.json()["id"]
        assert begun.headers["location"] == f"/v1/runs/{run_id}"
        told = [json.loads(each["data"]) async for each in stream(it, run_id)]
        assert [each["type"] for each in told] == [
            "started",
            "model_replied",
            "intended",
            "call_completed",
            "model_replied",
            "ended",
        ]
        assert [each["number"] for each in told] == list(range(6))
        assert told[3]["result"] == 5
        assert told[-1]["text"] == "It is 5."
        run = (await it.ask("GET", f"/v1/runs/{run_id}")).json()
        assert (run["status"], run["text"], run["session"]) == ("done", "It is 5.", "c1")
        assert [(each["tool"], each["result"]) for each in run["calls"]] == [("add", 5)]
        listed = (await it.ask("GET", "/v1/runs?count=true&session=c1")).json()
        assert ([each["id"] for each in listed["items"]], listed["count"]) == ([run_id], 1)
        assert (await it.ask("GET", "/v1/runs?status=failed")).json()["items"] == []


async def test_the_same_key_starts_one_run_and_is_answered_the_same() -> None:
    async with application(answering("One.", "Two.")) as it:
        body = {"question": "Hello?"}
        one, two = await asyncio.gather(*(it.ask("POST", "/v1/runs", body, idempotency_key="k") for _ in range(2)))
        assert one.status_code == two.status_code == 202
        assert one.json() == two.json()
        await it.until(one.json()["id"], "done")
        after = await it.ask("POST", "/v1/runs", body, idempotency_key="k")
        assert (after.status_code, after.json(), after.headers["location"]) == (
            202,
            one.json(),
            one.headers["location"],
        )
        assert len(await it.journal.runs()) == 1
        other = await it.ask("POST", "/v1/runs", {"question": "Bye?"}, idempotency_key="k")
        assert (other.status_code, other.json()["code"]) == (409, "key_used")


async def test_a_run_is_cancelled_wherever_it_stands() -> None:
    """One under way here, one that waits for a person, and one that another process carries out."""
    async with application(answering(calls("slow"), calls("pay", to="Ada", amount=1))) as it:
        slow = (await it.ask("POST", "/v1/runs", {"question": "Wait."})).json()["id"]
        await it.bank.entered.wait()
        told = (await it.ask("POST", f"/v1/runs/{slow}/cancel")).json()
        assert (told["status"], told["stop_reason"]) == ("stopped", "cancelled")
        waits = (await it.ask("POST", "/v1/runs", {"question": "Pay Ada."})).json()["id"]
        await it.until(waits, "paused")
        told = (await it.ask("POST", f"/v1/runs/{waits}/cancel", {})).json()
        assert (told["status"], told["stop_reason"]) == ("stopped", "cancelled")
        again = (await it.ask("POST", f"/v1/runs/{waits}/cancel")).json()
        assert again == told
    bank = Bank()
    async with (
        application(answering(calls("slow")), bank=bank) as one,
        application(journal=one.journal, bank=bank) as two,
    ):
        far = (await one.ask("POST", "/v1/runs", {"question": "Wait."})).json()["id"]
        await bank.entered.wait()
        both = await asyncio.gather(*(two.ask("POST", f"/v1/runs/{far}/cancel") for _ in range(2)))
        assert [(each.json()["status"], each.json()["stop_reason"]) for each in both] == [("stopped", "cancelled")] * 2


async def test_a_run_that_its_process_left_is_resumed_by_another() -> None:
    model = answering(calls("slow"))
    bank, journal = Bank(), MemoryJournal()
    async with application(model, bank=bank, journal=journal) as one:
        run_id = (await one.ask("POST", "/v1/runs", {"question": "Wait."})).json()["id"]
        await bank.entered.wait()
        entries = await journal.read(run_id)
        left = MemoryJournal()
        for entry in entries:  # as it stands when the process is killed here
            left.append(run_id, entry.record)
            if not left._kept:
                left._kept.update(journal._kept)
    bank.is_open.set()
    async with application(answering("Opened."), bank=bank, journal=left) as two:
        assert (await two.ask("GET", f"/v1/runs/{run_id}")).json()["status"] == "interrupted"
        resumed = await two.ask("POST", f"/v1/runs/{run_id}/resume")
        assert resumed.status_code == 202
        assert (await two.until(run_id, "done"))["text"] == "Opened."
        assert (await two.ask("POST", f"/v1/runs/{run_id}/resume", {})).json() == resumed.json()


async def test_whoever_may_not_ask_the_agent_any_more_neither_goes_on_with_a_run_nor_branches_off() -> None:
    journal = MemoryJournal()
    async with application(answering(calls("pay", to="bob", amount=1)), journal=journal) as it:
        run_id = (await it.ask("POST", "/v1/runs", {"question": "Pay."})).json()["id"]
        owner = (await it.until(run_id, "paused"))["principal"]
    async with application(answering("Paid."), journal=journal, users=["somebody"]) as it:
        for path, body in (("resume", {"accept": True}), ("resume", {}), ("fork", {"at": 0, "question": "Again?"})):
            refused = await it.ask("POST", f"/v1/runs/{run_id}/{path}", body)
            assert (refused.status_code, refused.json()["code"]) == (403, "key"), refused.text
    async with application(answering("Paid."), journal=journal, users=[str(owner)]) as it:
        changed = await it.ask("POST", f"/v1/runs/{run_id}/resume", {})
        assert (changed.status_code, changed.json()["code"]) == (409, "changed")
        gone_on = await it.ask("POST", f"/v1/runs/{run_id}/resume", {"accept": True})
        assert gone_on.status_code == 202, gone_on.text
        assert (await it.ask("GET", f"/v1/runs/{run_id}")).json()["status"] == "paused", "nobody has approved"


async def test_a_run_branches_off_and_goes_on() -> None:
    async with application(answering(calls("add", a=2, b=3), "It is 5.", "It is 7.")) as it:
        run_id = (await it.ask("POST", "/v1/runs", {"question": "2 and 3?"})).json()["id"]
        await it.until(run_id, "done")
        body = {"at": 3, "result": "7"}
        one, two = [
            (await it.ask("POST", f"/v1/runs/{run_id}/fork", body, idempotency_key="f")).json() for _ in range(2)
        ]
        assert one == two
        told = await it.until(one["id"], "done")
        assert (told["text"], told["forked"]) == ("It is 7.", run_id)
        wrong = await it.ask("POST", f"/v1/runs/{run_id}/fork", {"at": 99})
        assert wrong.status_code == 409
        within = await it.ask("POST", f"/v1/runs/{run_id}/fork", {"at": 2})
        assert within.status_code == 409


async def test_another_question_is_the_word_of_whoever_asks_and_keeps_the_files() -> None:
    async with application(answering("Seen.", "Seen.", "Seen.")) as it:
        files = [{"name": "a.txt", "media_type": "text/plain", "data": "YQ=="}]
        asked = await it.ask("POST", "/v1/runs", {"question": "What is in it?", "attachments": files})
        run_id = asked.json()["id"]
        await it.until(run_id, "done")
        other = await it.ask("POST", f"/v1/runs/{run_id}/fork", {"question": "And now?"})
        await it.until(other.json()["id"], "done")
        (was,), (said,) = [
            RunState(await it.journal.read(each)).beginning().said for each in (run_id, other.json()["id"])
        ]
        assert isinstance(was, UserMessage)
        assert isinstance(said, UserMessage)
        assert (said.text, said.source) == ("And now?", was.source)
        assert was.source == "agent"  # the key of a client, whose model may have written the words
        assert said.content[1:] == was.content[1:]


async def test_runs_are_found_by_tool_and_error_and_counted_by_status_for_whom_they_are_told() -> None:
    async with application(answering("Hi.")) as it:
        for who in ("ann", "bob", "north"):
            await it.ask("POST", "/v1/tools/fail/call", {"arguments": {"why": "x"}}, who=who)
            await it.ask("POST", "/v1/tools/add/call", {"arguments": {"a": 1, "b": 2}}, who=who)
        for who, many in (("ann", 1), ("root", 2), ("north", 1)):
            for query, expected in (("tool=fail", many), ("error=tool_error&tool=fail", many), ("tool=pay", 0)):
                told = (await it.ask("GET", f"/v1/runs?{query}&counts=status&status=done&count=true", who=who)).json()
                assert len(told["items"]) == told["count"] == expected, (who, query)
                assert told["counts"] == ({"done": str(many)} if expected else {}), (who, query)
            assert (await it.ask("GET", "/v1/runs?counts=status", who=who)).json()["counts"] == {"done": str(2 * many)}
            assert (await it.ask("GET", "/v1/runs?version=1", who=who)).json()["items"] == []
        assert (await it.ask("GET", "/v1/runs?counts=tool")).status_code == 422
        assert (await it.ask("GET", "/v1/runs")).json()["counts"] is None


async def test_events_go_on_at_every_place_from_any_process_without_a_gap_or_a_double(tmp_path: Path) -> None:
    """The stream is cut behind every event of a run, and gone on with at another server on the same database."""
    one_journal, two_journal = open_journal(tmp_path / "j.db"), open_journal(tmp_path / "j.db")
    async with (
        application(answering(calls("add", a=2, b=3), calls("fail", why="x"), "Done."), journal=one_journal) as one,
        application(journal=two_journal) as two,
    ):
        run_id = (await one.ask("POST", "/v1/runs", {"question": "Both."})).json()["id"]
        whole = await events(one, run_id)
        assert whole == [str(number) for number in range(len(whole))]
        assert len(whole) == 9
        for cut in range(1, len(whole) + 1):
            before = await events(one, run_id, most=cut)
            behind = await events(two, run_id, after=int(before[-1]))
            assert before + behind == whole
        assert await events(two, run_id, after=99) == []
    await one_journal.close()
    await two_journal.close()


async def test_events_come_as_they_happen_and_wait_for_a_person(tmp_path: Path) -> None:
    journal, far = open_journal(tmp_path / "j.db"), open_journal(tmp_path / "j.db")
    async with application(journal=journal) as it, application(journal=far) as two:
        waits = (await it.ask("POST", "/v1/tools/pay/call", {"arguments": {"to": "A", "amount": 1}})).json()
        following = asyncio.create_task(events(two, waits["run"]))
        agreed = await it.ask("POST", f"/v1/approvals/{waits['approval']}", {"verdict": "approve"}, who="eve")
        assert agreed.status_code == 200
        told = await following
        assert told == [str(number) for number in range(len(told))]
        kinds = [type(entry.record) for entry in await journal.read(waits["run"])]
        assert len(told) == len(kinds)
        assert kinds.index(InputRequested) < kinds.index(Intended)
    await journal.close()
    await far.close()


async def test_a_server_that_stops_ends_its_streams_and_begins_nothing() -> None:
    async with application() as it:
        waits = (await it.ask("POST", "/v1/tools/pay/call", {"arguments": {"to": "A", "amount": 1}})).json()
        following = asyncio.create_task(events(it, waits["run"]))
        async with asyncio.timeout(HANGS_S):
            while not it.door.streams._open:  # noqa: ASYNC110 - the server takes it up by itself
                await asyncio.sleep(0.01)
        await it.door.end_streams()
        assert len(await asyncio.wait_for(following, HANGS_S)) >= 1
        refused = await it.ask("POST", "/v1/runs", {"question": "Hello?"})
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert (await it.ask("GET", "/v1/runs")).status_code == 200


async def test_sessions_are_listed_read_and_forgotten() -> None:
    async with application(answering("Hi Ann.", "Bye Ann.", "Hi Bob.")) as it:
        for question in ("Hello.", "Goodbye."):
            run = (await it.ask("POST", "/v1/runs", {"question": question, "session": "c:1 é?"})).json()["id"]
            await it.until(run, "done")
        bobs = (await it.ask("POST", "/v1/runs", {"question": "Bob.", "session": "c2"}, who="bob")).json()["id"]
        await it.until(bobs, "done")
        listed = (await it.ask("GET", "/v1/sessions")).json()["items"]
        assert [(each["id"], each["runs"], each["status"]) for each in listed] == [("c:1 é?", 2, "done")]
        again = {"question": "Again.", "session": "c1"}
        run = (await it.ask("POST", "/v1/runs", again, idempotency_key="k")).json()["id"]
        await it.until(run, "failed")  # the script is at its end
        failed = (await it.ask("GET", f"/v1/runs/{run}")).json()
        assert "The operator" in failed["text"]
        assert failed["stop_reason"] == "ScriptExhausted"
        messages = (await it.ask("GET", "/v1/sessions/c1/messages")).json()["items"]
        assert (messages[0]["role"], messages[0]["text"]) == ("user", "Again.")
        told = (await it.ask("GET", "/v1/sessions/c:1%20%C3%A9%3F/messages")).json()["items"]
        assert [each["text"] for each in told] == ["Hello.", "Hi Ann.", "Goodbye.", "Bye Ann."]
        assert (await it.ask("DELETE", "/v1/sessions/c1", who="bob")).status_code == 404
        assert (await it.ask("DELETE", "/v1/sessions/c1?owner=ann", who="bob")).status_code == 403
        forgotten = await it.ask("DELETE", "/v1/sessions/c1")
        assert forgotten.json()["runs"] == 1
        for path in ("/v1/sessions/c1/messages", f"/v1/runs/{run}", f"/v1/runs/{run}/events"):
            assert (await it.ask("GET", path)).status_code == 404
        repeated = await it.ask("POST", "/v1/runs", again, idempotency_key="k")
        assert (repeated.status_code, repeated.json()["code"]) == (409, "forgotten")
        assert (await it.ask("GET", "/v1/sessions", who="bob")).json()["items"][0]["id"] == "c2"


async def test_two_turns_of_one_session_do_not_run_at_once() -> None:
    async with application(answering(calls("slow"), "Opened.")) as it:
        first = (await it.ask("POST", "/v1/runs", {"question": "Wait.", "session": "c1"})).json()["id"]
        await it.bank.entered.wait()
        busy = await it.ask("POST", "/v1/runs", {"question": "And?", "session": "c1"})
        assert (busy.status_code, busy.json()["code"], busy.headers["retry-after"]) == (409, "busy", "1")
        it.bank.is_open.set()
        await it.until(first, "done")


async def test_the_audit_is_told_part_by_part() -> None:
    async with application() as it:
        for number in range(3):
            await it.ask("POST", "/v1/tools/add/call", {"arguments": {"a": number, "b": 1}})
        await it.ask("POST", "/v1/tools/drop/call", {})
        whole = (await it.ask("GET", "/v1/audit", who="root")).json()
        assert whole["next"] is None
        seen, cursor = [], ""
        while cursor is not None:
            part = (await it.ask("GET", f"/v1/audit?limit=2&cursor={cursor}", who="root")).json()
            assert len(part["items"]) <= 2
            seen += part["items"]
            cursor = part["next"]
        assert seen == whole["items"]
        denied = (await it.ask("GET", "/v1/audit?decision=denied", who="root")).json()["items"]
        assert [each["tool"] for each in denied] == ["drop"]


async def test_a_part_of_the_audit_reads_a_bounded_number_of_runs_and_the_next_goes_on_behind_them() -> None:
    async with application() as it:
        await it.ask("POST", "/v1/tools/drop/call", {})
        for number in range(AUDIT_RUNS + 5):
            await it.ask("POST", "/v1/tools/add/call", {"arguments": {"a": number, "b": 1}})
        for query, count in (("decision=denied", 1), ("tool=add&limit=50&decision=allowed", AUDIT_RUNS + 5)):
            seen: list[str] = []
            parts, cursor = 0, ""
            while cursor is not None:
                part = (await it.ask("GET", f"/v1/audit?{query}&cursor={cursor}", who="root")).json()
                seen += [each["run"] for each in part["items"]]
                parts, cursor = parts + 1, part["next"]
            assert (len(seen), len(set(seen)), parts > 1) == (count, count, True), query


async def test_what_is_wrong_with_a_request_is_told_in_one_shape() -> None:
    cases = {
        "malformed JSON": (400, b'{"question": ', "application/json"),
        "two values of one key": (400, b'{"question": "a", "question": "b"}', "application/json"),
        "no UTF-8": (400, b'{"question": "\xff"}', "application/json"),
        "deep": (400, b'{"question": ' + b"[" * 200 + b"]" * 200 + b"}", "application/json"),
        "no JSON type": (415, b'{"question": "a"}', "text/plain"),
        "no type at all": (415, b'{"question": "a"}', ""),
        "a number for a text": (422, b'{"question": 5}', "application/json"),
        "nothing": (422, b"{}", "application/json"),
        "a field that there is not": (422, b'{"question": "a", "sesion": "c1"}', "application/json"),
        "a session with a NUL": (422, b'{"question": "a", "session": "\\u0000"}', "application/json"),
        "an agent that there is not": (404, b'{"question": "a", "agent": "x"}', "application/json"),
    }
    async with application() as it:
        for named, (status, body, kind) in cases.items():
            headers = {"authorization": "Bearer ann"} | ({"content-type": kind} if kind else {})
            answer = await it.client.post("/v1/runs", content=body, headers=headers)
            assert answer.status_code == status, (named, answer.text)
            assert answer.headers["content-type"] == "application/problem+json", named
            assert answer.json()["status"] == status
            assert answer.json()["detail"]
        for path in (
            "limit=0",
            "limit=x",
            "limit=5&limit=6",
            "since=nan",
            "since=-1",
            "none=1",
            "cursor=!",
            "status=x",
        ):
            answer = await it.ask("GET", f"/v1/runs?{path}")
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid"), path
        place = (
            await it.client.post(
                "/v1/runs",
                content=b'{"question": }',
                headers={"authorization": "Bearer ann", "content-type": "application/json"},
            )
        ).json()["detail"]
        assert "character 13" in place
        for path in ("runs", "tools", "approvals", "sessions", "audit"):
            answer = await it.ask("GET", f"/v1/{path}?cursor=cnVuXzE", who="root")
            assert (answer.status_code, answer.json()["code"]) == (404, "cursor"), path
        wrong = await it.ask("DELETE", "/v1/runs")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET, HEAD, POST")
        assert (await it.ask("GET", "/v1/none")).json()["code"] == "unknown_path"
        assert (await it.ask("GET", "/v1/runs/%00")).status_code == 404
        assert (await it.ask("GET", "/v1/sessions/%00/messages")).status_code == 404
        assert (await it.ask("GET", "/v1/runs/x/events", last_event_id="x")).status_code == 400
        empty = await it.ask("GET", "/v1/approvals")
        assert empty.json() == {"items": [], "next": None, "problems": [], "count": None}


async def test_an_error_that_nobody_expected_tells_a_reference_and_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(MemoryJournal):
        async def runs(self, **filters: object) -> list[object]:  # type: ignore[override]
            raise RuntimeError("SELECT secret FROM /srv/journal.db")

    async with application(journal=Broken()) as it:  # type: ignore[arg-type]
        answer = await it.ask("GET", "/v1/runs")
    assert answer.status_code == 500
    assert answer.json()["reference"] in caplog.text
    assert "SELECT" not in answer.text
    assert "/srv" not in answer.text


async def test_what_is_under_way_when_the_server_stops_is_finished_or_left_on_record() -> None:
    bank, journal = Bank(), MemoryJournal()
    async with application(answering(calls("slow")), bank=bank, journal=journal, drain_s=0.05) as it:
        run_id = (await it.ask("POST", "/v1/runs", {"question": "Wait."})).json()["id"]
        await bank.entered.wait()
    async with application(bank=bank, journal=journal) as it:
        told = (await it.ask("GET", f"/v1/runs/{run_id}")).json()
        assert (told["status"], told["stop_reason"]) == ("stopped", "cancelled")
        bank.entered.clear()
    async with application(answering(calls("slow"), "Opened."), bank=bank, journal=journal, drain_s=10.0) as it:
        run_id = (await it.ask("POST", "/v1/runs", {"question": "Wait."})).json()["id"]
        await bank.entered.wait()
        asyncio.get_running_loop().call_later(0.2, bank.is_open.set)
    async with application(journal=journal) as it:
        assert (await it.ask("GET", f"/v1/runs/{run_id}")).json()["text"] == "Opened."


@pytest.mark.parametrize("agreed", [True, False])
async def test_a_run_that_this_server_let_go_of_goes_on_when_another_process_has_answered(
    tmp_path: Path, agreed: bool
) -> None:
    journal = open_journal(str(tmp_path / "runs.db"))
    pays = Reply.of(
        calls=[ToolCall("c1", "pay", {"to": "bob", "amount": 1}), ToolCall("c2", "pay", {"to": "eve", "amount": 2})]
    )
    async with application(answering(pays, "Done."), journal=journal) as it:
        run_id = (await it.ask("POST", "/v1/runs", {"agent": "desk", "question": "Pay."})).json()["id"]
        await it.until(run_id, "paused")
        other = open_journal(str(tmp_path / "runs.db"))  # as `actum approvals approve` opens it
        first, second = await inbox(other)
        await answer_pending(other, first.asked.id, Answer("approve", by="boss"))
        assert it.bank.calls == []
        await answer_pending(other, second.asked.id, Answer("approve" if agreed else "deny", by="boss"))
        await it.until(run_id, "done")
        assert it.bank.calls == ["pay"] * (1 + agreed)
        await other.close()
    await journal.close()


async def test_files_come_along_with_a_question_and_a_tool_is_handed_them() -> None:
    model = answering("Seen.")
    async with application(model) as it:
        file = {"name": "plan.png", "media_type": "image/png", "data": "iVBORw0KGgo="}
        body = {"question": "What is this?", "attachments": [file]}
        run = (await it.ask("POST", "/v1/runs", body)).json()["id"]
        await it.until(run, "done")
        told = str(model.requests[0].messages)
        assert "plan.png" in told
        assert "att_1" in told
        for wrong, place in (
            ({"data": "%%%"}, "attachments[0].data"),
            ({"media_type": "png"}, "attachments[0].media_type"),
            ({"path": "/etc/passwd"}, "attachments[0]"),
        ):
            refused = await it.ask("POST", "/v1/runs", {"question": "x", "attachments": [file | wrong]})
            assert (refused.status_code, place in refused.text) == (422, True), refused.text
        large = {**file, "data": "A" * (FILE_BYTES_MAX // 3 * 4)}
        refused = await it.ask("POST", "/v1/runs", body | {"attachments": [large, file]})
        assert (refused.status_code, refused.json()["code"]) == (413, "content_too_large")
