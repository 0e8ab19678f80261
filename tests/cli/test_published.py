"""`actum workflow publish`, `rollback`, `versions`, `diff`, `list`, `show`, and runs of what is published."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from actum.compose.settings import read_settings
from actum.compose.workflows import open_workflows
from actum.core.call import ToolCall
from actum.core.event import RunResult
from actum.runs.runner import Runner
from actum.server.published import PublishedOffer
from actum.storage.place import open_journal

Run = Callable[..., Result]
RECORD = ("--journal", "runs.db")

DESK = """\
actum: workflow/1
name: desk
inputs: {type: object, properties: {a: {type: integer}}}
nodes:
  sum: {type: tool, tool: add, with: {a: "${inputs.a}", b: 1}}   # a comment survives
outputs: {sum: "${sum.output}"}
"""


@pytest.fixture
def desk(home: Path) -> Path:
    (home / "desk.workflow.yaml").write_text(DESK, "utf-8")
    return home


def told(result: Result) -> str:
    assert result.exit_code == 0, result.output
    return result.stdout.strip()


def publish(run: Run, file: str = "desk.workflow.yaml", *flags: str) -> Result:
    return run("workflow", "publish", file, "--tools", "tools.py", *flags, *RECORD)


@pytest.mark.row("F1")
def test_a_workflow_is_published_run_by_name_compared_and_rolled_back(run: Run, desk: Path) -> None:
    assert told(publish(run)) == "desk@1 is published."
    assert told(publish(run)) == "desk@1 is published."
    file = desk / "desk.workflow.yaml"
    file.write_text(DESK.replace("b: 1", "b: 10") + "view: {sum: [1, 2]}\n", "utf-8")
    assert told(run("workflow", "diff", "desk", "desk.workflow.yaml", *RECORD)) == "~ field sum.with.b: 1 → 10"
    assert json.loads(told(publish(run, "desk.workflow.yaml", "--json")))["number"] == 2
    tools = ("a=5", "--tools", "tools.py", "--json", *RECORD)

    def came(source: str) -> object:
        return json.loads(told(run("workflow", "run", source, *tools)))["output"]

    assert [came(source) for source in ("desk", "desk@1", "desk@2")] == [{"sum": 15}, {"sum": 6}, {"sum": 15}]
    asked = [each["question"] for each in json.loads(told(run("runs", "list", "--json", *RECORD)))["items"]]
    assert asked[:3] == ["desk@2(a=5)", "desk@1(a=5)", "desk@2(a=5)"]
    assert told(run("workflow", "rollback", "desk", "1", "--tools", "tools.py", *RECORD)) == "desk@3 is published."
    assert came("desk") == {"sum": 6}
    versions = json.loads(told(run("workflow", "versions", "desk", "--json", *RECORD)))["items"]
    assert [(each["number"], each["again"]) for each in versions] == [(3, 1), (2, 0), (1, 0)]
    assert "desk@1" in told(run("workflow", "versions", "desk", *RECORD))
    withdrawn = told(run("workflow", "unpublish", "desk", *RECORD))
    assert withdrawn == "desk@3 is no longer in use; to publish it anew: actum workflow rollback desk 3"
    refused = run("workflow", "run", "desk@3", "a=5", "--tools", "tools.py", *RECORD)
    assert (refused.exit_code, "there is no published workflow 'desk'" in refused.output) == (2, True)
    assert run("workflow", "unpublish", "desk", *RECORD).exit_code == 2
    assert told(run("workflow", "rollback", "desk", "1", "--tools", "tools.py", *RECORD)) == "desk@4 is published."
    (line,) = json.loads(told(run("workflow", "list", "--json", *RECORD)))
    assert (line["name"], line["published"], line["changed"]) == ("desk", 4, True)
    assert told(run("workflow", "show", "desk", *RECORD)) == DESK.strip()
    assert "b: 10" in told(run("workflow", "show", "desk@draft", *RECORD))
    assert json.loads(told(run("workflow", "show", "desk@2", "--json", *RECORD)))["number"] == 2
    assert told(run("workflow", "diff", "desk", *RECORD)) == "~ field sum.with.b: 1 → 10"
    changes = json.loads(told(run("workflow", "diff", "desk@1", "desk@2", "--json", *RECORD)))
    assert changes == [{"kind": "changed", "what": "field", "place": "sum.with.b", "node": "sum", "old": 1, "new": 10}]
    assert json.loads(told(run("workflow", "diff", "desk", "1", "2", "--json", *RECORD))) == changes
    nothing = run("workflow", "diff", "desk@1", "desk@3", *RECORD)
    assert (nothing.exit_code, nothing.stderr.strip()) == (0, "There is no difference.")
    assert "sum" in told(run("workflow", "graph", "desk@2", *RECORD))
    assert told(run("workflow", "check", "desk", "--tools", "tools.py", *RECORD)) == "desk: nothing is wrong"


def test_mistakes_are_told_and_change_nothing(run: Run, desk: Path) -> None:
    file = desk / "desk.workflow.yaml"
    for text, words in (
        (DESK.replace("tool: add", "tool: none"), "line 5, column 21: sum: there is no tool 'none'"),
        (DESK.replace("name: desk", 'name: "a/b"'), "line 2"),
        (DESK.replace("name: desk", 'name: "desk\\n"'), "line 2"),
        ("", "a definition is an object"),
        ("x" * 1_000_001, "more than 1000000 bytes"),
        (DESK + "#" * (1_000_000 - len(DESK) + 1), "more than 1000000 bytes"),
        (DESK + "#" * (131_072 - len(DESK) + 1), "YAML and has more than 131072 bytes (write"),
    ):
        file.write_text(text, "utf-8")
        failed = publish(run)
        assert failed.exit_code == 2, failed.output
        assert words in failed.output
    told_of_none = (
        (("run", "desk"), "there is no published workflow 'desk'"),
        (("run", "desk@2"), "there is no published workflow 'desk@2'"),
        (("run", "a@b"), "write name, or name@3"),
        (("show", "desk@draft"), "there is no draft of workflow 'desk'"),
        (("versions", "a/b"), "use 1 to 128 letters"),
        (("versions", "de\u200bsk"), "use 1 to 128 letters"),
        (("versions", ""), "use 1 to 128 letters"),
        (("versions", "desk"), "there is no published workflow 'desk'"),
        (("rollback", "desk", "7"), "there is no published workflow 'desk@7'"),
        (("publish", "desk"), "there is no draft of workflow 'desk'"),
        (("diff", "desk.workflow.yaml"), "give a second file or name"),
        (("diff", "desk", "1", "x"), "write NAME N N"),
    )
    for words_, message in told_of_none:
        failed = run("workflow", *words_, *RECORD)
        assert failed.exit_code != 0, words_
        assert message in failed.output.replace("\n", " "), failed.output
    empty = run("workflow", "list", *RECORD)
    assert (empty.stdout, empty.stderr) == (
        "",
        "There are no workflows yet. Try: actum workflow publish desk.workflow.yaml\n",
    )
    (desk / "desk").write_text(DESK, "utf-8")
    assert "A file is given with its folder: ./desk" in run("workflow", "run", "desk", *RECORD).output
    assert told(run("workflow", "run", "./desk", "a=1", "--tools", "tools.py", *RECORD)) == '{"sum":2}'


def test_workflows_of_the_settings_are_listed_shown_and_compared_too(run: Run, desk: Path) -> None:
    (desk / "price.yaml").write_text(DESK.replace("name: desk", "name: price"), "utf-8")
    (desk / "actum.toml").write_text(
        'tools = ["tools.py"]\n[workflows.price]\nfile = "price.yaml"\n[workflows.lost]\nfile = "lost.yaml"\n', "utf-8"
    )
    assert told(run("workflow", "show", "price")) == DESK.replace("name: desk", "name: price").strip()
    assert json.loads(told(run("workflow", "show", "price", "--json")))["file"] == "price.yaml"
    assert not [each for each in desk.rglob("*.db") if "runs" in each.name], "to look makes no journal"
    told(publish(run))
    listed = run("workflow", "list", "--json", *RECORD)
    rows = [(each["name"], each["published"], each.get("file")) for each in json.loads(listed.stdout)]
    assert rows == [("lost", 0, "lost.yaml"), ("price", 0, "price.yaml"), ("desk", 1, None)]
    page = run("workflow", "list", *RECORD)
    assert [line.split()[:2] for line in page.stdout.splitlines()[1:]] == [
        ["lost", "settings"],
        ["price", "settings"],
        ["desk", "desk@1"],
    ]
    assert (page.exit_code, "lost of the settings can not be used" in page.stderr) == (1, True)
    assert told(run("workflow", "diff", "desk", "price", *RECORD)) == '~ field name: "desk" → "price"'
    assert run("workflow", "show", "lost", *RECORD).exit_code == 2


def test_the_work_of_somebody_else_on_the_draft_is_not_overwritten_unseen(run: Run, desk: Path) -> None:
    assert told(publish(run, "desk.workflow.yaml", "--tenant", "north")) == "desk@1 is published."

    async def save(text: str, revision: int) -> None:
        journal = open_journal("runs.db")
        await journal.definitions.save("workflow", "desk", text, revision, tenant="north", by="bob")
        await journal.close()

    asyncio.run(save(DESK.replace("b: 1", "b: 2"), 1))
    (desk / "desk.workflow.yaml").write_text(DESK.replace("b: 1", "b: 3"), "utf-8")
    refused = publish(run, "desk.workflow.yaml", "--tenant", "north")
    assert refused.exit_code == 2
    assert "changes that nobody has published" in refused.output
    stale = publish(run, "desk.workflow.yaml", "--tenant", "north", "--revision", "1")
    assert stale.exit_code == 2
    assert "sum.with.b: 2 → 3" in stale.output
    assert "saved by 'bob'" in stale.output.replace("\n", " ")
    assert told(publish(run, "desk", "--tenant", "north")) == "desk@2 is published."
    assert told(publish(run, "desk.workflow.yaml", "--tenant", "north")) == "desk@3 is published."
    assert told(run("workflow", "list", "--json", *RECORD)) == "[]"  # of no tenant
    assert told(publish(run)) == "desk@1 is published."


def test_an_imported_file_is_told_to_be_one_when_it_is_published(run: Run, desk: Path) -> None:
    file = desk / "desk.workflow.yaml"
    file.write_text(DESK.replace("name: desk", "name: desk\nimported: dify"), "utf-8")
    published = publish(run)
    assert published.exit_code == 0
    assert "was imported from dify" in published.stderr


KILLED = """
import os, signal
from actum import tool

@tool(effects={"write"}, idempotent=True)
def slow() -> str:
    '''Is killed the first time.'''
    if not os.path.exists("killed"):
        open("killed", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return "slow"
"""
LEAF = "actum: workflow/1\nname: leaf\nnodes: {}\noutputs: {said: WORD}\n"
TOP = """
actum: workflow/1
name: top
nodes: {a: {type: tool, tool: slow}, b: {type: workflow, workflow: leaf}}
edges: [a > b]
outputs: {said: "${b.output.said}", top: WORD}
"""


def test_a_run_that_is_killed_goes_on_after_a_rollback_with_what_it_began_with(
    run: Run, home: Path, process: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (home / "killed.py").write_text(KILLED, "utf-8")
    flags = ("--tools", "killed.py", *RECORD)
    for name, text in (("leaf", LEAF), ("top", TOP)):
        for word in ("old", "new"):
            (home / f"{name}.yaml").write_text(text.replace("WORD", word), "utf-8")
            told(run("workflow", "publish", f"{name}.yaml", *flags))
    killed = process("workflow", "run", "top", "--yes", *flags)
    assert killed.returncode == -signal.SIGKILL
    assert (home / "killed").exists()
    for name in ("leaf", "top"):
        assert told(run("workflow", "rollback", name, "1", *flags)) == f"{name}@3 is published."
    lines = json.loads(told(run("runs", "list", "--json", *RECORD)))["items"]
    (line,) = [each for each in lines if each["agent"] == "top"]
    assert json.loads(told(run("resume", line["id"], "--yes", "--json", *flags)))["output"] == {
        "said": "new",
        "top": "new",
    }
    assert json.loads(told(run("workflow", "run", "top", "--yes", "--json", *flags)))["output"] == {
        "said": "old",
        "top": "old",
    }


def test_wrong_inputs_of_a_workflow_are_told_like_wrong_arguments_of_a_tool(run: Run, desk: Path) -> None:
    result = run("workflow", "run", "desk.workflow.yaml", "a=many", "--tools", "tools.py", *RECORD)
    assert (result.exit_code, result.stderr) == (2, 'actum: desk: a: expected integer, not "many" (string)\n')
    assert json.loads(told(run("runs", "list", "--json", *RECORD)))["items"] == []


def test_a_name_of_the_settings_is_no_name_for_a_publication(run: Run, desk: Path) -> None:
    for number, (name, table, means) in enumerate(
        (
            ("clerk", '[agents.clerk]\ninstructions = "x"', "an agent"),
            (
                "flow",
                '[workflows.flow]\nfile = "desk.workflow.yaml"\ntools = ["tools.py"]',
                "a workflow of the settings",
            ),
            ("gpt-9", '[models."gpt-*"]\nupstreams = ["openai:gpt-5"]', "a model"),
            ("add", "", "a tool"),
            ("mcp", "", "a name that this program uses itself"),
        )
    ):
        (desk / "actum.toml").write_text(table + "\n", "utf-8")
        file = desk / f"w{number}.workflow.yaml"
        file.write_text(DESK.replace("name: desk", f"name: {name}"), "utf-8")
        refused = publish(run, file.name)
        assert refused.exit_code == 2, refused.output
        assert f"{name!r} is {means} here" in " ".join(refused.stderr.split()), refused.stderr
        assert run("workflow", "show", f"{name}@draft", *RECORD).exit_code == 2, "not even a draft is saved"
    (desk / "actum.toml").write_text("", "utf-8")
    assert told(publish(run)) == "desk@1 is published."
    (desk / "actum.toml").write_text('[agents.desk]\ninstructions = "x"\n', "utf-8")
    late = run("workflow", "rollback", "desk", "1", "--tools", "tools.py", *RECORD)
    assert (late.exit_code, "an agent" in late.stderr) == (2, True)


ASKS = """\
actum: workflow/1
name: asks
inputs: {type: object, required: [a], properties: {a: {type: string}}}
nodes:
  sure: {type: human, message: Sure?, choices: [yes, no]}
  word: {type: workflow, workflow: word}
edges: [sure.yes > word]
outputs: {said: "${word.output.said} ${inputs.a}"}
"""


def test_a_run_that_a_door_began_with_a_publication_is_gone_on_with_by_the_command(run: Run, desk: Path) -> None:
    (desk / "asks.workflow.yaml").write_text(ASKS, "utf-8")
    (desk / "actum.toml").write_text('tools = ["none"]\n[workflows.own]\nfile = "asks.workflow.yaml"\n', "utf-8")

    def words(word: str) -> None:
        file = desk / "word.workflow.yaml"
        file.write_text(f"actum: workflow/1\nname: word\nnodes: {{}}\noutputs: {{said: {word}}}\n", "utf-8")
        told(run("workflow", "publish", file.name, *RECORD))

    words("old")
    told(run("workflow", "publish", "asks.workflow.yaml", *RECORD))

    async def begin() -> dict[str, RunResult]:
        journal = open_journal(desk / "runs.db")
        async with open_workflows(read_settings(desk, {}, {}), {}, desk, journal=journal) as workflows:
            offer = PublishedOffer(workflows)
            agents = {"asks": await offer.agent("", "asks"), "own": workflows.agent("own")}
            waiting: dict[str, RunResult] = {
                name: await agent.run("x") for name, agent in agents.items() if agent is not None
            }
            runner = await offer.runner(Runner(name="api", journal=journal), "", "asks")
            assert runner is not None
            waiting["call"] = await runner.call([ToolCall("1", "asks", {"a": "x"})], by="client")
        await journal.close()
        return waiting

    waiting = asyncio.run(begin())
    words("new")
    assert sorted(waiting) == ["asks", "call", "own"]
    for name, result in waiting.items():
        yes = json.dumps({"choice": "yes"})
        done = run("resume", result.run_id, "--answer", f"{result.pending[0].id}={yes}", *RECORD)
        assert (done.exit_code, "old x" in done.stdout) == (0, True), (name, done.output)


def test_a_tool_is_published_compared_taken_out_of_use_and_goes_on_after_a_new_start(run: Run, home: Path) -> None:
    file = home / "times.json"
    declared = {"name": "times", "description": "Times.", "parameters": {"n": "integer"}}
    file.write_text(json.dumps({**declared, "python": "def main(n):\n    return 2 * n\n"}), "utf-8")
    assert told(run("tools", "publish", "times.json", *RECORD)) == "times@1 is published."
    three = {**declared, "parameters": {"n": "integer", "m": "integer"}, "python": "def main(n, m):\n    return n\n"}
    file.write_text(json.dumps(three), "utf-8")
    changed = run("tools", "diff", "times", "times.json", *RECORD)
    assert changed.stdout.splitlines()[-1] == '+ parameter m: null → {"type":"integer"}'
    assert "breaks callers: callers have to give it now" in changed.stderr
    with pytest.MonkeyPatch.context() as chinese:
        chinese.setenv("ACTUM_LANG", "zh")
        changed = run("tools", "diff", "times", "times.json", *RECORD)
        assert changed.stdout.splitlines()[-1].startswith("+ 参数 m: ")
        assert "会使调用方出错：调用方现在必须给出它" in changed.stderr
        missing = run("tools", "versions", "nothing", *RECORD)
        assert "没有已发布的工具 'nothing'" in missing.stderr
    assert json.loads(told(run("tools", "publish", "times.json", "--json", *RECORD)))["number"] == 2
    assert told(run("tools", "rollback", "times", "1", *RECORD)) == "times@3 is published."
    withdrawn = told(run("tools", "unpublish", "times", *RECORD))
    assert withdrawn == "times@3 is no longer in use; to publish it anew: actum tools rollback times 3"
    file.write_text(json.dumps({**three, "name": "add"}), "utf-8")
    taken = run("tools", "publish", "times.json", "--tools", "tools.py", *RECORD)
    assert (taken.exit_code, "'add' is a tool here" in taken.output) == (2, True)
    listed = [each["name"] for each in json.loads(told(run("tools", "list", "--json", "--tools", "tools.py")))]
    assert listed[0] == "add", "the group's own list is still there"
