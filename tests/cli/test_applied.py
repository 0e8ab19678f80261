"""`actum apply` and `actum export`: the definitions of a tenant as a folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from typer.testing import Result

from tests.server.test_published_doors import price

from .person import Person

Run = Callable[..., Result]
RECORD = ("--tools", "tools.py", "--journal", "runs.db")
AGENT = "actum: agent/1\nname: helper\ninstructions: {prompt: shop.desk}\ntools: [add, quote]\n"


def told(result: Result) -> list[str]:
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def test_agents_of_the_settings_that_take_what_is_published_can_be_tools_and_be_begun_by_triggers(
    run: Run, home: Path
) -> None:
    table = (
        '[agents.desk]\nmodel = "models.py:add"\ntools = ["tools.py", "published:*"]\ninstructions = "prompt:desk"\n'
    )
    trigger = '[triggers.t]\nagent = "desk"\nschedule = "0 7 * * *"\nsay = "go"\n'
    (home / "actum.toml").write_text(f'journal = "runs.db"\n{table}{trigger}', "utf-8")
    folder = home / "definitions"
    folder.mkdir()
    (folder / "ask_desk.tool.json").write_text('{"name": "ask_desk", "agent": "desk"}', "utf-8")
    refused = run("apply", "definitions")
    assert (refused.exit_code != 0, "no published prompt 'desk'" in refused.stderr) == (True, True), refused.output
    (folder / "desk.prompt.md").write_text("Be kind.", "utf-8")
    assert sorted(told(run("apply", "definitions"))) == ["+ prompt desk@1", "+ tool ask_desk@1"]
    assert "add: 5" in told(run("run", "--agent", "desk", "Add."))[-1]
    fired = run("trigger", "fire", "t")
    assert fired.exit_code == 0, fired.output


def test_a_folder_is_applied_and_what_is_exported_is_the_same_folder(run: Run, home: Path) -> None:
    folder = home / "definitions"
    (folder / "north").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / ".git" / "helper.agent.yaml").write_text("x")
    (folder / "README.md").write_text("Our definitions.")
    (folder / "helper.yaml").write_text(AGENT, "utf-8")
    (folder / "north" / "shop.desk.prompt.md").write_bytes("Be kind.\r\n你好".encode())
    (folder / "north" / "quote.tool.json").write_text('{"name": "quote", "workflow": "price"}', "utf-8")
    (folder / "price.workflow.yaml").write_text(price(), "utf-8")
    added = ["+ agent helper", "+ tool quote", "+ prompt shop.desk", "+ workflow price"]
    tried = run("apply", "definitions", "--dry-run", *RECORD)
    assert (sorted(told(tried)), "Nothing was published." in tried.stderr) == (sorted(added), True)
    assert "README.md is no definition: it is left out" in tried.stderr
    assert sorted(told(run("apply", "definitions", *RECORD))) == sorted(f"{line}@1" for line in added)
    written = told(run("export", "out", "--journal", "runs.db"))
    assert sorted(written) == sorted(
        ["helper.agent.yaml", "price.workflow.yaml", "quote.tool.json", "shop.desk.prompt.md"]
    )
    assert (home / "out" / "shop.desk.prompt.md").read_bytes() == "Be kind.\r\n你好".encode()
    again = json.loads("\n".join(told(run("apply", "out", "--prune", "--json", *RECORD))))
    assert {each["done"] for each in again["items"]} == {"same"}
    (folder / "helper.yaml").unlink()
    (folder / "north" / "shop.desk.prompt.md").write_text("Be brief.")
    changed = told(run("apply", "definitions", "--prune", *RECORD))
    assert {"~ prompt shop.desk@2", "- agent helper@1", "= tool quote@1"} <= set(changed)
    (folder / "price.workflow.yaml").write_text(price().replace("nodes: {}", "nodes: {a: {type: nothing}}"), "utf-8")
    (folder / "north" / "shop.desk.prompt.md").write_text("Be late.")
    refused = run("apply", "definitions", *RECORD)
    assert (refused.exit_code != 0, "price.workflow.yaml" in refused.stderr) == (True, True), refused.output
    assert told(run("prompts", "show", "shop.desk", "--journal", "runs.db")) == ["Be brief."]
    assert run("apply", "nowhere", *RECORD).exit_code == 2


def test_nothing_is_taken_out_of_use_that_nobody_agreed_to(run: Run, person: Callable[..., Person], home: Path) -> None:
    """A folder that is empty by mistake would take all that a tenant has out of use."""
    (home / "definitions").mkdir()
    (home / "desk.prompt.md").write_text("Be kind.")
    journal = ("--journal", "runs.db")
    told(run("prompts", "publish", "./desk.prompt.md", *journal))
    prune = ("apply", "definitions", "--prune", *RECORD)

    tried = run(*prune, "--dry-run")
    assert (told(tried), "Nothing was published." in tried.stderr) == (["- prompt desk@1"], True)
    refused = run(*prune)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert ("- prompt desk@1" in refused.stderr, "give --yes" in refused.stderr) == (True, True), refused.stderr
    for answer, code in (("\n", 1), ("y\n", 0)):
        shown = told(run("prompts", "show", "desk", *journal))
        assert shown == ["Be kind."], "still in use"
        somebody = person(*prune)
        assert "- prompt desk@1" in somebody.sees("Take 1 definition out of use? [y/N]")
        somebody.types(answer)
        assert somebody.ends()[0] == code
    assert run("prompts", "show", "desk", *journal).exit_code == 2
    assert told(run(*prune)) == [], "nobody is asked about nothing"


def test_each_mistake_is_told_and_no_file_is_published_that_is_no_text_or_stands_elsewhere(
    run: Run, home: Path
) -> None:
    folder = home / "definitions"
    folder.mkdir()
    (folder / "latin.prompt.md").write_bytes("Sei fröhlich.".encode("latin-1"))
    refused = run("apply", "definitions", *RECORD)
    assert (refused.exit_code, "latin.prompt.md is not UTF-8, at byte 6" in refused.stderr) == (2, True), refused.output
    alone = run("prompts", "publish", "definitions/latin.prompt.md", "--journal", "runs.db")
    assert (alone.exit_code, "is not UTF-8" in alone.stderr) == (2, True), alone.output
    (folder / "latin.prompt.md").unlink()
    (home / "secret.txt").write_text("a secret of this machine")
    (folder / "mine.prompt.md").symlink_to(home / "secret.txt")
    (folder / "picture.png").write_bytes(b"\x89PNG\xff")
    for name in ("one", "two"):
        (folder / f"{name}.agent.yaml").write_text(f"actum: agent/1\nname: {name}\nnothing: 1\n")
    refused = run("apply", "definitions", *RECORD)
    assert refused.exit_code == 2
    assert {name: name in refused.stderr for name in ("one.agent.yaml", "two.agent.yaml")} == {
        "one.agent.yaml": True,
        "two.agent.yaml": True,
    }
    assert "mine.prompt.md is a link that leads out of the folder" in refused.stderr
    for name in ("one", "two"):
        (folder / f"{name}.agent.yaml").unlink()
    (folder / "three.workflow.yaml").write_text("actum: workflow/1\nnodes: {a: {type: nothing}}\n")
    refused = run("apply", "definitions", *RECORD)
    assert ("no type 'nothing'" in refused.stderr, "'name'" in refused.stderr) == (True, False), "the file has a name"
    (folder / "three.workflow.yaml").unlink()
    for nothing in ("", "# ours\n\n"):  # such as a file that a full disk has cut
        (folder / "helper.agent.yaml").write_text(nothing)
        refused = run("apply", "definitions", *RECORD)
        assert (refused.exit_code, "helper.agent.yaml: line 1" in refused.stderr) == (2, True), refused.output
    (folder / "helper.agent.yaml").unlink()
    (folder / "noted.json").write_bytes(
        b'\xef\xbb\xbf{"actum": "tool/1", "name": "noted", "python": "def main(): return 1"}'
    )
    (folder / "house.policy.toml").write_bytes(b'\xef\xbb\xbfdefault = "allow"\n')  # as some editors write it
    assert sorted(told(run("apply", "definitions", *RECORD))) == ["+ policy house@1", "+ tool noted@1"]
    (home / "out").mkdir()
    (home / "out" / "old.prompt.md").write_text("Taken out of use.")
    (home / "out" / "README.md").write_text("Ours.")
    exported = run("export", "out", "--journal", "runs.db")
    assert ("old.prompt.md stays" in exported.stderr, "README.md" in exported.stderr) == (True, False)


def test_a_folder_is_applied_after_a_rollback_and_after_an_end_of_use(run: Run, home: Path) -> None:
    """The draft has the text that was rolled back: it is a publication, and nobody's work that would be lost."""
    file = home / "definitions" / "desk.prompt.md"
    file.parent.mkdir()

    def write(text: str) -> str:
        file.write_text(text)
        return "definitions/desk.prompt.md"

    publish = ("prompts", "publish", "--journal", "runs.db")
    for text in ("Be kind.", "Be rude."):
        told(run(*publish, write(text)))
    told(run("prompts", "rollback", "desk", "1", "--journal", "runs.db"))
    write("Be brief.")
    assert told(run("apply", "definitions", *RECORD)) == ["~ prompt desk@4"]
    told(run("prompts", "rollback", "desk", "1", "--journal", "runs.db"))
    assert told(run(*publish, write("Be patient.")))[-1] == "desk@6 is published."
    told(run("prompts", "unpublish", "desk", "--journal", "runs.db"))
    write("Be there.")
    assert told(run("apply", "definitions", *RECORD)) == ["+ prompt desk@7"]
