"""Who may read values with a label: they are masked at every route that shows a record, and the chain still checks."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from actum import Agent, Label, ToolCall, tool
from actum.call.plan import idempotency_key
from actum.core.json import Json, JsonObject
from actum.core.run.record import Intended, ModelReplied, Record, Started
from actum.journal.export import check_export, read_lines
from actum.journal.memory import MemoryJournal
from actum.journal.recording import CallRef
from actum.testing import ScriptedModel

from .application import Bank, WebApplication, application

pytestmark = pytest.mark.row("C9")

SALARY, STREET = "73250", "12 Elm Street"
LABELS = {"personal": Label(readers=["role:hr"])}


class Staff(Bank):
    """A bank with a tool whose result has labels."""

    @property
    def tools(self) -> Sequence[object]:
        @tool(effects={"read"}, labels={"salary": "personal", "home.street": "personal"})
        def get_employee(name: str) -> JsonObject:
            """Look an employee up."""
            return {"name": name, "salary": int(SALARY), "home": {"street": STREET, "city": "Ulm"}}

        return [*super().tools, get_employee]


class StaffWithHelper(Staff):
    """A bank whose desk may ask another agent, which says what it was told."""

    @property
    def tools(self) -> Sequence[object]:
        own = super().tools
        model = ScriptedModel([LOOKS, f"Ada earns {SALARY} and lives at {STREET}."] * 9, name="ollama:below")
        helper = Agent(model, [own[-1]], name="helper", labels=LABELS)  # type: ignore[list-item]
        return [*own, helper.as_tool("helper", "Looks people up.")]


LOOKS = ToolCall("1", "get_employee", {"name": "Ada"})
PAYS = ToolCall("2", "pay", {"to": f"Ada, {STREET}", "amount": int(SALARY)})
ROUTES = (
    "/v1/runs/{run}",
    "/v1/runs/{run}/events?below=true",
    "/v1/runs/{run}/timeline",
    "/v1/runs/{run}/export",
    "/v1/runs/{run}/files",
    "/v1/runs/{run}/references",
    "/v1/runs/{run}/comparison?other={run}",
    "/v1/audit?run={run}",
    "/v1/audit",
    "/v1/approvals",
    "/v1/approvals?run={run}",
    "/v1/approvals/{ask}",
    "/v1/sessions/talk/messages?owner=root",
    "/v1/sessions/talk/export?owner=root",
    "/v1/memories",
)
"""Every route that shows what is on record of a run."""


async def shown(app: WebApplication, route: str, run: str, ask: str, who: str) -> str:
    """What a route answers, with the values of numbers and of texts as they are."""
    answer = await app.ask("GET", route.format(run=run, ask=ask), who=who)
    assert answer.status_code in (200, 204, 404), answer.text
    return answer.text


def guessed_right(run: str, lines: Sequence[str]) -> bool:
    """Whether somebody who has an export, and tries out the right values, sees so: by the key of the call, or by what
    the model was asked."""
    entries = [each for each in map(msgspec.json.decode, lines) if each["type"] == "entry"]
    records: list[Record] = [msgspec.json.decode(each["payload"], type=Record) for each in entries]
    (salt,) = (each.salt for each in records if isinstance(each, Started))
    (made,) = (each for each in records if isinstance(each, Intended) and each.tool == "pay")
    key = idempotency_key(f"{run}{salt}", CallRef(made.cause, made.index), PAYS)
    return made.key == key or any(each.intention for each in records if isinstance(each, ModelReplied))


@pytest.mark.row("C10")
async def test_no_route_shows_a_value_to_a_reader_who_may_not_see_it_and_the_run_goes_on_with_the_value() -> None:
    model = ScriptedModel([LOOKS, PAYS, f"Ada earns {SALARY} and lives at {STREET}."], name="ollama:qwen3")
    async with application(model, bank=(bank := Staff()), labels=LABELS) as app:
        body: JsonObject = {"agent": "desk", "question": "Pay Ada", "session": "talk"}
        run = (await app.ask("POST", "/v1/runs", body, who="root")).json()["id"]
        waits = await app.until(run, "waiting", "paused")
        (asked,) = msgspec.convert(waits["approvals"], list[dict[str, Json]])
        assert asked["arguments"] == {"to": "Ada, [personal]", "amount": "[personal]"}
        found: dict[str, str] = {}
        for route in (each for each in ROUTES if "events" not in each):
            seen = await shown(app, route, run, str(asked["id"]), "root")
            assert SALARY not in seen, route
            assert STREET not in seen, route
            found[route] = await shown(app, route, run, str(asked["id"]), "hella")
        assert STREET in found["/v1/approvals/{ask}"]
        assert STREET in found["/v1/approvals"]

        yes = await app.ask("POST", f"/v1/approvals/{asked['id']}", {"verdict": "approve"}, who="root")
        assert yes.status_code == 200, yes.text
        told = await app.until(run, "done")
        assert told["text"] == "Ada earns [personal] and lives at [personal]."
        assert bank.calls == ["pay"]
        for route in ROUTES:
            seen = await shown(app, route, run, str(asked["id"]), "root")
            assert SALARY not in seen, route
            assert STREET not in seen, route
            found[route] = await shown(app, route, run, str(asked["id"]), "hella")
        shows = [route for route, text in found.items() if STREET in text]
        assert {"/v1/runs/{run}", "/v1/runs/{run}/timeline", "/v1/runs/{run}/export", "/v1/audit"} <= {*shows}
        assert {"/v1/runs/{run}/events?below=true", "/v1/sessions/talk/messages?owner=root"} <= {*shows}

        for who, count in (("root", True), ("hella", False)):
            lines = (await shown(app, "/v1/runs/{run}/export", run, "", who)).splitlines()
            report = check_export(read_lines(lines))
            assert (report.problems, report.masked > 0) == ([], count)
            gap = check_export(read_lines([lines[0], *lines[2:]]))
            assert any("does not follow" in problem for problem in gap.problems)
            assert guessed_right(run, lines) is not count


async def test_a_call_that_a_reader_asks_for_directly_or_as_a_task_tells_no_value() -> None:
    async with application(bank=Staff(), labels=LABELS) as app:
        for who, sees in (("ann", False), ("hella", True)):
            answer = await app.ask("POST", "/v1/tools/get_employee/call", {"arguments": {"name": "Ada"}}, who=who)
            assert answer.status_code == 200, answer.text
            assert (SALARY in answer.text, STREET in answer.text) == (sees, sees)


async def test_a_label_that_is_not_declared_any_more_is_shown_to_nobody_and_one_without_readers_to_all() -> None:
    for labels, sees in ((None, False), ({"personal": Label()}, True), ({"personal": Label(readers=["all"])}, True)):
        async with application(bank=Staff(), labels=labels) as app:
            answer = await app.ask("POST", "/v1/tools/get_employee/call", {"arguments": {"name": "Ada"}}, who="hella")
            assert (SALARY in answer.text) == sees


async def check_shown(app: WebApplication, run: str) -> None:
    """Check that no route tells a value of a run to a reader who may not see it, and that routes tell it to others."""
    found: dict[str, str] = {}
    for route in (each for each in ROUTES if "{ask}" not in each):
        seen = await shown(app, route, run, "", "root")
        assert SALARY not in seen, route
        assert STREET not in seen, route
        found[route] = await shown(app, route, run, "", "hella")
    shows = [route for route, text in found.items() if STREET in text]
    assert {"/v1/runs/{run}", "/v1/runs/{run}/timeline", "/v1/runs/{run}/export"} <= {*shows}
    assert "/v1/runs/{run}/events?below=true" in shows
    lines = (await shown(app, "/v1/runs/{run}/export", run, "", "root")).splitlines()
    report = check_export(read_lines(lines))
    assert (report.problems, report.masked > 0) == ([], True)


async def test_a_later_turn_that_says_a_value_of_an_earlier_turn_is_masked_by_itself() -> None:
    said = f"Ada earns {SALARY} and lives at {STREET}."
    model = ScriptedModel([LOOKS, "I know it.", "Gladly.", said], name="ollama:qwen3")
    async with application(model, bank=Staff(), labels=LABELS) as app:
        run, told = "", dict[str, object]()
        for question in ("Look Ada up", "Thanks", "And what does Ada earn?"):
            body: JsonObject = {"agent": "desk", "question": question, "session": "talk"}
            run = (await app.ask("POST", "/v1/runs", body, who="root")).json()["id"]
            told = await app.until(run, "done")
        assert told["text"] == "Ada earns [personal] and lives at [personal]."
        await check_shown(app, run)


async def test_what_an_agent_below_answers_is_masked_in_the_run_above_and_where_it_is_called_directly() -> None:
    asks = ToolCall("1", "helper", {"task": "What of Ada?"})
    model = ScriptedModel([asks, f"I hear: {SALARY}, {STREET}."], name="ollama:above")
    async with application(model, bank=StaffWithHelper(), labels=LABELS) as app:
        body: JsonObject = {"agent": "desk", "question": "Ask", "session": "talk"}
        run = (await app.ask("POST", "/v1/runs", body, who="root")).json()["id"]
        assert (await app.until(run, "done"))["text"] == "I hear: [personal], [personal]."
        await check_shown(app, run)
        for who, sees in (("root", False), ("hella", True)):
            answer = await app.ask("POST", "/v1/tools/helper/call", {"arguments": {"task": "Ada?"}}, who=who)
            assert answer.status_code == 200, answer.text
            assert (SALARY in answer.text, STREET in answer.text) == (sees, sees)


async def test_lists_neither_tell_what_a_model_wrote_into_the_task_of_an_agent_below_nor_find_a_run_by_it() -> None:
    task = f"Ada earns {SALARY} and lives at {STREET}. Write her."
    model = ScriptedModel([LOOKS, ToolCall("2", "helper", {"task": task}), "Done."], name="ollama:above")
    async with application(model, bank=StaffWithHelper(), labels=LABELS) as app:
        body: JsonObject = {"agent": "desk", "question": "Ask", "session": "talk"}
        run = (await app.ask("POST", "/v1/runs", body, who="root")).json()["id"]
        await app.until(run, "done")
        (below,) = [each.run_id for each in await app.journal.runs(parent=run)]
        for who, sees in (("root", False), ("hella", True)):
            for route in ("/v1/runs", f"/v1/runs/{below}", "/v1/runs?text=Write"):
                told = (await app.ask("GET", route, who=who)).text
                assert (SALARY in told, STREET in told) == (sees, sees), route
                assert "Write her" in told, route
            for words in (SALARY, "Elm Street"):
                route = f"/v1/runs?text={words}&count=true&counts=status"
                found = (await app.ask("GET", route, who=who)).json()
                assert (len(found["items"]), found["count"], bool(found["counts"])) == (sees, sees, sees), route


async def test_a_question_that_the_list_cuts_ends_with_no_part_of_a_value() -> None:
    async with application(bank=Staff(), labels=LABELS) as app:
        body: JsonObject = {"arguments": {"name": "x" * 470 + STREET * 2}}
        assert (await app.ask("POST", "/v1/tools/get_employee/call", body, who="root")).status_code == 200
        assert "12 E" not in (await app.ask("GET", "/v1/runs", who="root")).text
        assert "12 E" in (await app.ask("GET", "/v1/runs", who="hella")).text


async def test_a_remembered_answer_that_says_a_value_is_masked_also_from_an_earlier_turn() -> None:
    async with application(bank=Staff(), labels=LABELS) as app:
        said = f"Ada earns {SALARY} and lives at {STREET}."
        model = ScriptedModel([LOOKS, "I know it.", said], name="ollama:qwen3")
        tools = [Staff().tools[-1]]
        desk = Agent(model, tools, name="mem", labels=LABELS, journal=app.journal, memory="user")  # type: ignore[arg-type]
        for who in ("root", "hella"):
            await desk.run("Look Ada up", principal=who, conversation=f"of {who}")
            run = (await desk.run("What does Ada earn?", principal=who, conversation=f"of {who}")).run_id
            for route in ("/v1/memories", "/v1/memories?query=earn", f"/v1/memories/{run}"):
                answer = await app.ask("GET", route, who=who)
                assert answer.status_code == 200, answer.text
                assert (STREET in answer.text, "[personal]" in answer.text) == (who == "hella", who == "root"), route
            for words in (SALARY, "Elm"):
                found = (await app.ask("GET", f"/v1/memories?query={words}", who=who)).json()["items"]
                assert bool(found) == (who == "hella"), words
            model = ScriptedModel([LOOKS, "I know it.", said], name="ollama:qwen3")
            desk = Agent(model, tools, name="mem", labels=LABELS, journal=app.journal, memory="user")  # type: ignore[arg-type]


async def test_who_approves_after_labels_have_changed_is_told_that_the_run_does_not_go_on_and_what_to_do() -> None:
    journal, pays = MemoryJournal(), ToolCall("2", "pay", {"to": "bob", "amount": 1})
    before = application(ScriptedModel([LOOKS, pays]), journal=journal, bank=Staff(), labels={"personal": Label()})
    async with before as it:
        run = (await it.ask("POST", "/v1/runs", {"question": "Pay Bob."})).json()["id"]
        await it.until(run, "paused")
    changed = application(
        ScriptedModel(["Paid."]), journal=journal, bank=Staff(), labels={"personal": Label(models=())}
    )
    async with changed as it:
        (asked,) = (await it.ask("GET", "/v1/approvals", who="eve")).json()["items"]
        told = await it.ask("POST", f"/v1/approvals/{asked['id']}", {"verdict": "approve"}, who="eve")
        assert (told.status_code, told.json()["code"]) == (409, "changed"), told.text
        assert "The answer is on record, and the run does not go on" in told.json()["detail"]
        assert "what labels let the model see has changed" in told.json()["detail"]
        resumed = await it.ask("POST", f"/v1/runs/{run}/resume", {}, accept_language="zh")
        assert (resumed.status_code, resumed.json()["code"]) == (409, "changed"), resumed.text
        assert "标签允许模型看到的内容改变了" in resumed.json()["detail"]
        assert it.bank.calls == []
        assert (await it.ask("POST", f"/v1/runs/{run}/resume", {"accept": True})).status_code == 202
        assert (await it.until(run, "done"))["text"] == "Paid."
        assert it.bank.calls == ["pay"]
