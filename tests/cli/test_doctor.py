"""`actum doctor`: what it finds, and that it says what to do."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from actum.cli.setup.doctor import PROXY_VARIABLES
from actum.core.message import UserMessage
from actum.core.run.record import Started
from actum.core.run.task import TaskOptions
from actum.storage.sqlite import SQLiteJournal
from actum.testing import FakeClock
from tests.broker import broker_server
from tests.tasks.desk import Desk

Run = Callable[..., Result]


def findings(result: Result) -> dict[str, dict[str, str]]:
    return {finding["about"]: finding for finding in json.loads(result.stdout)}


def test_on_a_bare_machine_all_is_well_but_for_the_model(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in PROXY_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    result = run("doctor", "--json")
    found = findings(result)
    assert result.exit_code == 0
    assert {about for about, finding in found.items() if finding["verdict"] != "ok"} == {"model"}
    assert "--model" in found["model"]["advice"]


def test_every_line_has_its_verdict(run: Run) -> None:
    told = run("doctor").stdout
    assert [line.split()[1] in ("ok", "warn") for line in told.splitlines()] == [True] * 16
    assert "sandbox" in told


def test_of_keys_it_tells_the_names_and_never_the_values(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    result = run("doctor")
    assert "OPENAI_API_KEY" in result.stdout
    assert "very-secret" not in result.stdout + result.stderr


def test_a_journal_that_can_not_be_used_is_bad_and_comes_with_advice(run: Run, home: Path) -> None:
    (home / "file").write_text("")
    result = run("doctor", "--json", "--journal", "file/journal.db")
    assert result.exit_code == 1
    assert findings(result)["journal"]["verdict"] == "bad"
    assert "ACTUM_JOURNAL" in findings(result)["journal"]["advice"]


def test_settings_that_are_none_are_bad(run: Run, home: Path) -> None:
    (home / "actum.toml").write_text("modle = 'x'\n")
    assert "unknown field `modle`" in findings(run("doctor", "--json"))["settings"]["found"]


def test_tools_that_can_not_be_loaded_are_bad(run: Run) -> None:
    assert findings(run("doctor", "--json", "--tools", "gone.py"))["tools"]["verdict"] == "bad"


def test_a_model_is_asked_to_use_a_tool(run: Run, home: Path) -> None:
    (home / "door.py").write_text(
        "from actum import ToolCall\nfrom actum.testing import ScriptedModel\n"
        "model = ScriptedModel(lambda request: ToolCall(id='1', name='open_door', arguments={'number': 7}))\n"
    )
    assert findings(run("doctor", "--json", "--model", "door.py:model"))["calls"]["verdict"] == "ok"
    assert findings(run("doctor", "--json", "--model", "models.py:nothing"))["calls"]["verdict"] == "warn"
    assert findings(run("doctor", "--json", "--model", "models.py:away"))["model"]["verdict"] == "bad"


def test_it_tells_where_tools_may_go_and_what_a_proxy_means_without_its_password(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in PROXY_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    assert findings(run("doctor", "--json"))["egress"]["verdict"] == "ok"
    (home / "actum.toml").write_text(
        '[egress]\nallow = ["api.example.com"]\nproxy = "http://ann:hunter2@p.corp:3128"\n'
    )
    told = run("doctor")
    assert "allow: api.example.com" in told.stdout
    found = findings(run("doctor", "--json"))["egress"]
    assert (found["verdict"], "http://p.corp:3128, which looks names up itself" in found["found"]) == ("warn", True)
    assert "hunter2" not in told.stdout + told.stderr
    (home / "actum.toml").write_text("")
    monkeypatch.setenv("HTTPS_PROXY", "http://ann:hunter2@p.corp:3128")
    unused = run("doctor", "--json")
    assert findings(unused)["egress"]["verdict"] == "warn"
    assert "hunter2" not in unused.stdout
    (home / "actum.toml").write_text('[egress]\nallow = ["https://a.example/path"]\n')
    broken = findings(run("doctor", "--json"))["settings"]
    assert "allow: 'https://a.example/path' was expected to be a host" in broken["found"]


def test_it_tells_how_tasks_stand_and_of_a_broker_that_is_away(run: Run, home: Path) -> None:
    assert findings(run("doctor", "--json"))["tasks"]["found"] == "none waits, and none failed"
    assert findings(run("doctor", "--json", "--journal", "memory"))["tasks"]["verdict"] == "ok"
    clock = FakeClock(time.time() - 600)

    async def put() -> None:
        journal = SQLiteJournal(home / "tasks.db", now=clock.now)
        desk = Desk(journal, clock)
        failing = await desk.accept(what="fails")
        desk.failing = 1
        await desk.attempt(failing.run_id)
        await desk.accept(what="waits", options=TaskOptions(priority=9))
        await desk.accept(what="later", options=TaskOptions(not_before=time.time() + 600))
        journal.append("run_lost", Started(agent="desk", model="m", said=(UserMessage.of("hi"),)))
        await journal.sync("run_lost")
        await journal.close()

    asyncio.run(put())
    everything = findings(run("doctor", "--json", "--journal", "tasks.db"))
    assert everything["runs"]["found"] == "1 run interrupted: the process ended, and nothing goes on by itself"
    assert "actum resume RUN" in everything["runs"]["advice"]
    found = everything["tasks"]
    assert (found["verdict"], "actum worker" in found["advice"]) == ("warn", True)
    assert found["found"].startswith("2 queued, 1 failed, the oldest waits for 10 min")
    (home / "actum.toml").write_text(
        '[tasks]\ndispatcher = "celery"\nbroker = "redis://:hunter2@127.0.0.1:9/0"\n', "utf-8"
    )
    told = run("doctor", "--json", "--journal", "tasks.db")
    assert (told.exit_code, findings(told)["broker"]["verdict"]) == (1, "bad")
    assert findings(told)["broker"]["found"].startswith("the broker can not be reached: ")
    assert "hunter2" not in told.stdout + told.stderr
    with broker_server() as broker:
        broker.push(b"{}")
        (home / "actum.toml").write_text(f'[tasks]\ndispatcher = "celery"\nbroker = "{broker.url}"\n', "utf-8")
        reached = findings(run("doctor", "--json", "--journal", "tasks.db"))["broker"]
        assert (reached["verdict"], reached["found"]) == ("ok", "the broker can be reached, 1 message")


@pytest.mark.row("T4")
def test_mcp_servers_are_looked_at_and_none_is_started_that_was_not_approved(run: Run, home: Path) -> None:
    (home / "desk.py").write_text(
        "import pathlib\nfrom mcp.server import MCPServer\n"
        "pathlib.Path('started').touch()\ndesk = MCPServer('desk')\n"
        "@desk.tool()\ndef add(a: int) -> int:\n    return a\ndesk.run()\n"
    )
    run("mcp", "add", "desk", "--no-jail", "--", sys.executable, "desk.py")
    waits = findings(run("doctor", "--json"))["mcp"]
    assert (waits["verdict"], waits["advice"]) == ("warn", "actum mcp approve desk")
    assert not (home / "started").exists()
    run("mcp", "approve", "desk", "--yes")
    looked = findings(run("doctor", "--json"))["mcp"]
    assert (looked["verdict"], looked["found"]) == ("ok", "desk: 3 tools, modern")  # with those that read its resources
    (home / "desk.py").write_text("raise SystemExit('no')")
    failed = run("doctor", "--json")
    assert (failed.exit_code, findings(failed)["mcp"]["verdict"]) == (1, "bad")
    assert findings(run("doctor", "--json", "--mcp", "gone"))["mcp"]["verdict"] == "bad"


def test_it_names_agents_with_a_memory_that_keys_can_reach_which_several_may_have(run: Run, home: Path) -> None:
    (home / "actum.toml").write_text(
        'journal = "runs.db"\n[agents.desk]\nmodel = "embedded"\nmemory = "user"\n[agents.cook]\nmodel = "embedded"\n'
    )
    assert "memory" not in findings(run("doctor", "--json"))
    for words in (("all",), ("mine", "--personal"), ("cooks", "--agent", "cook")):
        assert run("keys", "add", *words).exit_code == 0
    found = findings(run("doctor", "--json"))["memory"]
    assert found["verdict"] == "warn"
    assert found["found"].startswith("desk: ")
    assert found["found"].endswith(": all")
    assert "--personal" in found["advice"]


def test_what_the_settings_take_from_publications_and_nobody_has_published_is_told(run: Run, home: Path) -> None:
    (home / "desk.prompt.md").write_text("Be kind.", "utf-8")
    (home / "times.json").write_text('{"name": "times", "http": {"url": "https://api.example.com/"}}', "utf-8")
    (home / "actum.toml").write_text(
        'journal = "runs.db"\npolicy = "published:house"\n[agents.desk]\ninstructions = "prompt:desk"\n'
        'tools = ["published:times@2", "published:*"]\n',
        "utf-8",
    )
    names = ("the tool 'times'", "the prompt 'desk'", "the policy 'house'")
    for published in (
        (),
        ("prompts", "publish", "desk.prompt.md", "--tenant", "north"),
        ("tools", "publish", "times.json", "--tenant", "south"),
    ):
        if published:
            assert run(*published).exit_code == 0
        told = [run("config", "check").stderr, run("doctor").stdout]
        missing = names if not published else names[::2] if published[0] == "prompts" else names[2:]
        for text in told:
            assert [name for name in names if f"nobody has published {name}" in " ".join(text.split())] == [*missing]
