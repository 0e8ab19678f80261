"""`actum approvals`: what waits is found, understood and answered in another process than the one that asked."""

from __future__ import annotations

import asyncio
import http.server
import json
import os
import pwd
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from actum import Agent, Limits, Rule, Rules, Tool, ToolCall
from actum.storage.place import open_journal
from actum.storage.sqlite import SQLiteJournal
from actum.testing import FakeClock, RecordingToolset, ScriptedModel
from tests.till import Till, pays_once

from .person import Person

Run = Callable[..., Result]
MINE = ("--tools", "tools.py", "--journal", "runs.db", "--model", "models.py:keep")
RECORD = ("--journal", "runs.db")

pytestmark = pytest.mark.row("C4")


def waiting(run: Run) -> list[dict[str, object]]:
    told: list[dict[str, object]] = json.loads(run("approvals", "list", "--json", *RECORD).stdout)["items"]
    return told


def asked(run: Run) -> str:
    run("run", "keep milk", *MINE)
    (one,) = waiting(run)
    return str(one["id"])


def test_what_waits_is_listed_and_shown_with_where_each_argument_came_from(run: Run) -> None:
    ask = asked(run)
    assert ask in run("approvals", "list", *RECORD).stdout
    shown = run("approvals", "show", ask[:8], *RECORD).stdout
    assert "keep milk" in shown
    assert "text = milk" in shown.replace('"', "")
    assert "← user" in shown


def test_on_a_narrow_terminal_each_cell_of_what_waits_is_whole(run: Run, person: Callable[..., Person]) -> None:
    ask = asked(run)
    _, shown = person("approvals", "list", *RECORD).ends()
    assert [word in shown for word in (ask, "approval", "anybody", "keep")] == [True] * 4


def test_an_approval_from_another_process_lets_the_run_go_on(run: Run) -> None:
    ask = asked(run)
    answered = run("approvals", "approve", ask, *RECORD)
    assert (answered.exit_code, "actum resume" in answered.stderr) == (0, True)
    assert waiting(run) == []
    assert run("resume", "last", *MINE).exit_code == 0


TWICE = """
from actum import ToolCall
from actum.core.message import ToolMessage
from actum.testing import ScriptedModel

def script(request):
    done = sum(isinstance(message, ToolMessage) for message in request.messages)
    texts = ["milk", "oats"]
    return ToolCall(id="1", name="keep", arguments={"text": texts[done]}) if done < 2 else "Done."

model = ScriptedModel(script, name="twice")
"""


@pytest.mark.parametrize(("free", "kept"), [((), "milk"), (("--any", "text"), "milkoats")])
def test_an_approval_for_the_run_says_what_it_covers_and_a_person_names_what_may_differ(
    run: Run, home: Path, free: tuple[str, ...], kept: str
) -> None:
    (home / "twice.py").write_text(TWICE)
    twice = ("--tools", "tools.py", "--journal", "runs.db", "--model", "twice.py:model")
    run("run", "keep milk and oats", *twice)
    ask = str(waiting(run)[0]["id"])
    assert "again in this run, as long as `text` is milk" in run("approvals", "show", ask, *RECORD).stdout
    answered = run("approvals", "approve", ask, "--for-run", *free, *RECORD)
    covered = "`text` may differ" if free else "as long as `text` is milk"
    assert (answered.exit_code, covered in answered.stderr) == (0, True)
    run("resume", "last", *twice)
    assert (home / "kept.txt").read_text() == kept
    assert ("for the whole run  any text" in run("runs", "show", "last", *RECORD).stdout) == bool(free)


@pytest.mark.parametrize("words", [("--for-run", "--any", "texxt"), ("--any", "text")])
def test_an_argument_that_can_not_differ_is_a_slip_and_the_call_still_waits(run: Run, words: tuple[str, ...]) -> None:
    ask = asked(run)
    assert run("approvals", "approve", ask, *words, *RECORD).exit_code == 2
    assert [one["id"] for one in waiting(run)] == [ask]


@pytest.mark.parametrize("command", [("approvals", "approve"), ("approvals", "deny"), ("journal", "forget", "--yes")])
def test_an_empty_id_chooses_nothing_though_only_one_is_there(run: Run, command: tuple[str, ...]) -> None:
    ask = asked(run)
    assert run(*command, "", *RECORD).exit_code == 2
    assert [one["id"] for one in waiting(run)] == [ask]


def test_a_denial_reaches_the_model_with_its_reason(run: Run) -> None:
    run("approvals", "deny", asked(run), "We have milk.", *RECORD)
    run("resume", "last", *MINE)
    assert "We have milk." in run("runs", "show", "last", *RECORD).stdout


def test_an_edited_call_is_made_as_it_was_edited(run: Run) -> None:
    run("approvals", "edit", asked(run), "text=oat milk", *RECORD)
    run("resume", "last", *MINE)
    assert "A person changed the arguments" in run("runs", "show", "last", *RECORD).stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("approve", "ask_none"), "there is no approval 'ask_none'"),
        (("edit", "ask", "milk"), "NAME=VALUE"),
        (("answer", "ask", "yes"), "expected approve or deny"),
    ],
)
def test_what_can_not_be_is_refused_in_a_line(run: Run, words: tuple[str, ...], says: str) -> None:
    asked(run)
    result = run("approvals", *words, *RECORD)
    assert (result.exit_code, says in result.stderr) == (2, True)


def test_nothing_waits_is_said_so(run: Run) -> None:
    assert "Nothing waits." in run("approvals", "list", *RECORD).stderr


def test_a_webhook_is_told_what_waits(run: Run) -> None:
    ask = asked(run)
    heard: list[dict[str, list[dict[str, object]]]] = []

    class Hook(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Hook) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/hook"
        assert run("approvals", "remind", "--webhook", url, *RECORD).exit_code == 0
    assert heard[0]["items"][0]["id"] == ask
    assert run("approvals", "remind", "--webhook", url, *RECORD).exit_code == 1
    assert run("approvals", "remind", "--webhook", url, "--older-than", "3600", *RECORD).exit_code == 0


def test_the_record_holds_who_really_answered_beside_the_name_that_was_claimed(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = asked(run)
    monkeypatch.setenv("LOGNAME", "mallory")
    monkeypatch.setenv("USER", "mallory")
    run("approvals", "approve", ask, "--by", "bob", *RECORD)
    told = run("audit", *RECORD).stdout
    assert f'by {pwd.getpwuid(os.getuid()).pw_name}, as "bob" (claimed)' in " ".join(told.split())
    assert "mallory" not in told


def test_a_person_of_a_workflow_sees_the_choices_and_answers_with_one_word_or_fills_in_the_form(
    run: Run, home: Path
) -> None:
    (home / "desk.workflow.yaml").write_text(
        "actum: workflow/1\nname: desk\nnodes:\n"
        "  seat: {type: human, message: Which seat?, choices: [window, aisle]}\n"
        "  data: {type: human, message: Who?, form: {type: object, required: [name, age],\n"
        "         properties: {name: {type: string}, age: {type: integer}}}}\n"
        "  sure: {type: human, message: Sure?}\n"
        "edges: [seat.aisle > data, data > sure]\n"
        'outputs: {seat: "${seat.output}", who: "${data.output?}"}\n',
        "utf-8",
    )
    went_on = run("workflow", "run", "desk.workflow.yaml", *RECORD)
    assert went_on.exit_code == 3
    for shown, wrong, told, right in (
        ("1 window, 2 aisle", ["roof"], "expected one of", ["aisle"]),
        ("age  a whole number", ["name=Ann", "age=old"], "expected integer", ["name=Ann Lee", "age=30"]),
        ("Sure?", [""], "waits for 'yes', 'deny' or 'cancel'", ["yes"]),
    ):
        (one,) = waiting(run)
        ask = str(one["id"])
        assert shown in run("approvals", "show", ask, *RECORD).stdout
        refused = run("approvals", "answer", ask, *wrong, *RECORD)
        assert (refused.exit_code, told in refused.stderr) == (2, True)
        assert run("approvals", "answer", ask, *right, *RECORD).exit_code == 0
        went_on = run("resume", "last", "--json", *RECORD)
    assert json.loads(went_on.stdout)["output"] == {"seat": "aisle", "who": {"name": "Ann Lee", "age": 30}}


@pytest.mark.parametrize(
    ("approver", "by", "code"),
    [
        ("boss", "boss@north", 0),
        ("boss", "boss", 2),
        ("boss", "boss@south", 2),
        ("boss@south", "boss@south", 0),
        ("role:boss", "role:boss", 2),
        ("role:boss", "boss@north", 2),
        ("user:boss", "boss@north", 0),
    ],
)
def test_whoever_sits_at_the_command_line_is_no_user_of_a_tenant_unless_it_is_claimed(
    run: Run, home: Path, approver: str, by: str, code: int
) -> None:
    async def begin() -> str:
        journal = open_journal(home / "runs.db")
        policy = Rules(Rule("ask", approvers=[approver]))
        waits = await Agent(ScriptedModel(pays_once), [Till().pay], journal=journal, policy=policy).run(
            "Pay", principal="ann", tenant="north"
        )
        await journal.close()
        return waits.pending[0].id

    ask = asyncio.run(begin())
    told = run("approvals", "approve", ask, "--by", by, *RECORD)
    assert (told.exit_code, len(waiting(run))) == (code, 1 if code else 0), told.output
    if code:
        assert "may not answer" in told.stderr


def test_an_approval_after_its_end_says_so_and_fails(run: Run, tmp_path: Path) -> None:
    ask = asked_until(tmp_path / "runs.db", 60)
    for _ in range(2):
        answered = run("approvals", "approve", ask, *RECORD)
        assert answered.exit_code != 0
        assert "On record" not in answered.stderr
    answered = run("approvals", "approve", asked_until(tmp_path / "runs.db", 60), *RECORD)
    assert "could be answered until" in answered.stderr
    assert "too late" in answered.stderr
    assert "actum resume" in answered.stderr
    assert run("approvals", "deny", asked_until(tmp_path / "runs.db", 60), "no", *RECORD).exit_code != 0
    assert run("approvals", "approve", asked_until(tmp_path / "runs.db", 1e9), *RECORD).exit_code == 0


def asked_until(path: Path, seconds: float) -> str:
    """The id of a question that was asked in the year 2020 and can be answered for so many seconds."""

    async def ask() -> str:
        clock = FakeClock()
        clock.set(1_600_000_000)
        journal = SQLiteJournal(path, now=clock.now)
        model = ScriptedModel([[ToolCall("1", "pay", {})], "done"])
        tools = [RecordingToolset([Tool(name="pay", approval=True)])]
        agent = Agent(model, tools, limits=Limits(approval_seconds=seconds), clock=clock, journal=journal)
        paused = await agent.run("go")
        await journal.close()
        return paused.pending[0].id

    return asyncio.run(ask())
