"""Published workflows: what a node's `name@3` stands for, and that a run keeps the versions with which it began."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from actum import tool
from actum.core.errors import UnknownName, UsageError, WorkflowFailed
from actum.core.interfaces import Journal
from actum.core.provenance import Origin
from actum.core.run.record import CallsRequested, Intended, Started
from actum.core.stored.definitions import Definitions, StaleDraft
from actum.journal.memory import MemoryJournal
from actum.policy.rules import Rule, Rules
from actum.runs.given_tools import Toolish
from actum.runs.runner import Runner
from actum.storage.journal import DatabaseJournal
from actum.storage.place import open_journal
from actum.storage.schema import SQLITE
from actum.workflow.definition.graph import Definition
from actum.workflow.definition.text import BadWorkflow
from actum.workflow.load import check_text, read_definition
from actum.workflow.published import OPENED_BYTES_MAX, OPENED_MAX, PublishedWorkflows
from actum.workflow.workflow import Workflow
from tests.server.test_tenants import WatchedDatabase


def says(name: str, word: str) -> str:
    """A workflow that gives a word."""
    return f"actum: workflow/1\nname: {name}\nnodes: {{}}\noutputs: {{said: {word}}}"


def uses(name: str, *others: str, asks: bool = False) -> str:
    """A workflow that gives what other workflows give, and asks a person first."""
    nodes = "".join(f"\n  n{index}: {{type: workflow, workflow: '{other}'}}" for index, other in enumerate(others))
    ask = "\n  ask: {type: human, message: Go on?, choices: [yes]}" if asks else ""
    edges = ", ".join(f"ask.yes > n{index}" for index in range(len(others))) if asks else ""
    outputs = ", ".join(f'n{index}: "${{n{index}.output}}"' for index in range(len(others)))
    return f"actum: workflow/1\nname: {name}\nnodes:{ask}{nodes}\nedges: [{edges}]\noutputs: {{{outputs}}}"


def workflows(journal: Journal, *tools: Toolish, tenant: str = "", given: Sequence[str] = ()) -> PublishedWorkflows:
    def make(definition: Definition, used: Sequence[Toolish], version: int, uses: Mapping[str, int]) -> Workflow:
        return Workflow(definition, [*tools, *used], journal=journal, version=version, uses=uses)

    return PublishedWorkflows(journal, make, tenant=tenant, given=given)


async def publish(definitions: Definitions, text: str, tenant: str = "") -> None:
    name = read_definition(text).name
    draft = await definitions.draft("workflow", name, tenant=tenant)
    await definitions.save("workflow", name, text, draft.revision if draft is not None else 0, tenant=tenant)
    await definitions.publish("workflow", name, tenant=tenant)


async def test_a_run_goes_on_with_the_versions_with_which_it_began(place: str) -> None:
    journal = open_journal(place)
    definitions = journal.definitions
    for word in ("old", "new"):
        await publish(definitions, says("leaf", word))
        await publish(definitions, uses("middle", "leaf"))
    await publish(definitions, uses("top", "middle", "leaf", asks=True))
    top = await workflows(journal).open("top")
    assert (top.version, top.uses) == (1, {"leaf": 2, "middle": 1})
    waiting = await top.run()
    assert waiting.status == "paused"
    await journal.close()

    later = open_journal(place)  # another process, after somebody has rolled back
    try:
        await later.definitions.rollback("workflow", "leaf", 1)
        await publish(later.definitions, says("top", "other"))
        answers = {waiting.pending[0].id: "yes"}
        fresh = await workflows(later).open("top", 1)
        assert fresh.uses == {"leaf": 3, "middle": 1}
        with pytest.raises(UsageError, match=r"began with other versions .*leaf 2, middle 1"):
            await fresh.resume(waiting.run_id, answers)
        done = await (await workflows(later).of_run(waiting.run_id)).resume(waiting.run_id, answers)
        assert done.output == {"n0": {"n0": {"said": "new"}}, "n1": {"said": "new"}}
        started = [(await later.read(line.run_id))[0].record for line in await later.runs(limit=None)]
        found = {each.agent: (each.version, each.uses) for each in started if isinstance(each, Started)}
        assert found == {"top": (1, top.uses), "middle": (1, {"leaf": 2}), "leaf": (2, {})}
        again = await fresh.run()
        done = await fresh.resume(again.run_id, {again.pending[0].id: "yes"})
        assert done.output == {"n0": {"n0": {"said": "old"}}, "n1": {"said": "old"}}
        assert (await (await workflows(later).open("top")).run()).output == {"said": "other"}
    finally:
        await later.close()


async def test_a_number_means_that_publication_for_ever() -> None:
    journal = MemoryJournal()
    definitions = journal.definitions
    await publish(definitions, says("leaf", "one"))
    await publish(definitions, says("leaf", "two"))
    await publish(definitions, uses("top", "leaf@1"))
    await publish(definitions, uses("both", "leaf", "top"))
    assert (await (await workflows(journal).open("top")).run()).output == {"n0": {"said": "one"}}
    both = await workflows(journal).open("both")
    assert both.uses == {"leaf": 2, "leaf@1": 1, "top": 1}
    assert (await both.run()).output == {"n0": {"said": "two"}, "n1": {"n0": {"said": "one"}}}
    for name, number in (("leaf", 3), ("leaf", 0), ("none", None)):
        with pytest.raises(UnknownName, match="no published workflow"):
            await workflows(journal).open(name, number)
    with pytest.raises(UnknownName, match="leaf@7"):
        await workflows(journal).with_used(read_definition(uses("x", "leaf@7")))
    with pytest.raises(UsageError, match="x uses leaf@1, a published version"):
        Workflow(read_definition(uses("x", "leaf@1")))
    problems = check_text(uses("x", "leaf@1", "leaf", "leaf@x", "@3", "a/b@2")).problems
    assert [each.line for each in problems] == [5, 6, 6, 7, 8]
    assert "leaf@1 is used already" in str(problems[0].message)


async def test_a_tool_of_the_program_stands_before_a_publication_of_its_name() -> None:
    @tool(effects={"read"})
    def leaf() -> dict[str, str]:
        """A tool."""
        return {"said": "tool"}

    journal = MemoryJournal()
    await publish(journal.definitions, says("leaf", "published"))
    opened = await workflows(journal, leaf, given=["leaf"]).with_used(read_definition(uses("top", "leaf")))
    assert (opened.uses, (await opened.run()).output) == ({}, {"n0": {"said": "tool"}})


async def test_cycles_by_name_are_refused_when_published_and_when_opened() -> None:
    journal = MemoryJournal()
    definitions = journal.definitions
    await publish(definitions, says("a", "x"))
    for text in (uses("a", "a"), uses("a", "a@1")):
        problems = await workflows(journal).problems_of(text, [])
        assert [each.message for each in problems] == ["a workflow can not use itself: a > a"]
    await publish(definitions, uses("b", "a"))
    await definitions.save("workflow", "a", uses("a", "b"), 1)
    with pytest.raises(BadWorkflow, match="can not use itself: a > b > a"):
        await workflows(journal).publisher().publish("a")
    await definitions.publish("workflow", "a")  # as two that publish at once could do
    for name in ("a", "b"):
        with pytest.raises(UsageError, match="can not use itself"):
            await workflows(journal).open(name)
    await publish(definitions, uses("c", "d"))
    await publish(definitions, says("d", "x"))
    await publish(definitions, uses("d", "c@1"))
    with pytest.raises(UsageError, match="can not use itself: top > c > d > c"):
        await workflows(journal).with_used(read_definition(uses("top", "c", "d@1")))


async def test_a_diamond_is_opened_once_and_too_many_publications_are_refused() -> None:
    journal = MemoryJournal()
    definitions = journal.definitions
    await publish(definitions, says("l0", "x"))
    for level in range(1, 40):  # 2 ** 39 ways lead down
        await publish(definitions, uses(f"r{level - 1}", f"l{level - 1}"))
        await publish(definitions, uses(f"l{level}", f"l{level - 1}", f"r{level - 1}"))
    assert len((await workflows(journal).open("l39")).uses) == 78
    names = [f"s{number}" for number in range(OPENED_MAX + 1)]
    for name in names:
        await publish(definitions, says(name, "x"))
    with pytest.raises(UsageError, match=f"more than {OPENED_MAX} publications"):
        await workflows(journal).with_used(read_definition(uses("top", *names)))
    for name in names[:5]:
        long = {"actum": "workflow/1", "name": name, "nodes": {}, "outputs": {"said": "x" * 900_000}}
        await publish(definitions, json.dumps(long))
    with pytest.raises(UsageError, match=f"or {OPENED_BYTES_MAX} bytes"):
        await workflows(journal).with_used(read_definition(uses("top", *names[:5])))


async def test_only_what_passes_the_check_is_published_and_only_the_text_that_was_checked() -> None:
    journal = MemoryJournal()
    definitions = journal.definitions
    bad = {
        "desk": ("actum: workflow/1\nname: desk\nnodes: {a: {type: tool, tool: none}}", "line 3.*no tool 'none'"),
        "half": ("actum: workflow/1\nname: half", "nodes"),
        "other": (says("name", "x"), "line 2, column 1: the definition is called 'name', and not 'other'"),
        "uses": (uses("uses", "leaf"), "no workflow 'leaf'"),
        "pins": (uses("pins", "leaf@2"), "no published workflow 'leaf@2'"),
    }
    for name, (text, told) in bad.items():
        await definitions.save("workflow", name, text, 0)
        with pytest.raises(BadWorkflow, match=told):
            await workflows(journal).publisher().publish(name)
        assert await definitions.published("workflow", name) is None
    await definitions.publish("workflow", "other")  # past the check
    with pytest.raises(BadWorkflow, match="the definition is called"):
        await workflows(journal).open("other")
    with pytest.raises(BadWorkflow):
        await workflows(journal).publisher().rollback("other", 1)
    await definitions.save("workflow", "good", says("good", "x"), 0)
    with pytest.raises(StaleDraft):
        await workflows(journal).publisher().publish("good", revision=2)
    made = await workflows(journal).publisher().publish("good", revision=1, by="ann")
    assert made.by == "ann"
    (act,) = await journal.runs(kind="administration")
    calls = (await journal.read(act.run_id))[1].record
    assert isinstance(calls, CallsRequested)
    told_of = {"name": "good", "number": 1, "digest": made.digest, "again": 0}
    assert (act.principal, calls.calls[0].name, calls.calls[0].arguments) == ("ann", "workflows.publish", told_of)
    with pytest.raises(UnknownName):
        await workflows(journal).publisher().publish("nobody")


async def test_nothing_begins_with_a_workflow_that_was_unpublished_and_what_began_goes_on() -> None:
    journal = MemoryJournal()
    definitions, here = journal.definitions, workflows(journal)
    await publish(definitions, says("leaf", "old"))
    await publish(definitions, uses("top", "leaf", asks=True))
    await publish(definitions, uses("pinned", "leaf@1"))
    waiting = await (await here.open("top")).run()
    assert (await here.publisher().unpublish("leaf", by="ann")).number == 1
    assert set(await here.listed()) == {"top", "pinned"}
    for number in (None, 1):
        with pytest.raises(UnknownName, match="no published workflow 'leaf'"):
            await here.open("leaf", number)
    (act,) = await journal.runs(kind="administration")
    assert act.principal == "ann"
    began = await here.with_version("top", {"leaf": 1, "top": 1})
    done = await began.resume(waiting.run_id, {waiting.pending[0].id: "yes"})
    assert done.output == {"n0": {"said": "old"}}
    assert (await (await here.open("pinned")).run()).output == {"n0": {"said": "old"}}
    again = await (await here.open("top")).run()
    with pytest.raises(WorkflowFailed, match="leaf"):
        await (await here.open("top")).resume(again.run_id, {again.pending[0].id: "yes"})
    await publish(definitions, says("leaf", "new"))
    assert (await (await here.open("leaf")).run()).output == {"said": "new"}


async def test_a_tenant_neither_opens_nor_goes_on_with_what_is_another_tenants() -> None:
    journal = MemoryJournal()
    definitions = journal.definitions
    for tenant in ("north", "south"):
        await publish(definitions, says("leaf", tenant), tenant)
        await publish(definitions, uses("top", "leaf", asks=True), tenant)
    await publish(definitions, says("own", "x"), "south")
    waiting = await (await workflows(journal, tenant="north").open("top")).run(tenant="north")
    with pytest.raises(UnknownName):
        await workflows(journal, tenant="north").open("own")
    with pytest.raises(UsageError, match="none of a workflow"):
        await workflows(journal, tenant="south").of_run(waiting.run_id)
    top = await workflows(journal, tenant="north").of_run(waiting.run_id)
    done = await top.resume(waiting.run_id, {waiting.pending[0].id: "yes"}, tenant="north")
    assert done.output == {"n0": {"said": "north"}}


@pytest.mark.row("F1")
async def test_literals_of_an_imported_file_are_the_developers_only_after_it_was_published(tmp_path: Path) -> None:
    @tool(effects={"send"}, sinks=["to"])
    def send(to: str, text: str) -> str:
        """Send."""
        return "sent"

    journal = MemoryJournal()
    text = """
        actum: workflow/1
        name: news
        imported: dify
        env: {to: evil@example.com}
        inputs: {type: object}
        nodes:
          send: {type: tool, tool: send, with: {to: "${env.to}", text: "Hello ${inputs.who}"}}
    """

    async def origins_of(flow: Workflow) -> object:
        done = await flow.run({"who": "ann"})
        entries = await journal.read(done.run_id)
        return next(each.record.origins for each in entries if isinstance(each.record, Intended))

    foreign = Origin("tool", "imported file")
    definition = read_definition(text)
    allow = Workflow(definition, [send], journal=journal, policy=Rules(Rule("allow")))
    both = {Origin("tool", "imported file", part=True), Origin("user", part=True)}
    found = await origins_of(allow)
    assert isinstance(found, dict)
    assert (found["to"], set(found["text"])) == ((foreign,), both)
    careful = Rules(Rule("deny", tools="send", when="!trusted(to)"), Rule("allow"))
    with pytest.raises(WorkflowFailed, match="send"):
        await Workflow(definition, [send], journal=journal, policy=careful).run({"who": "ann"})
    definitions = journal.definitions
    await definitions.save("workflow", "news", text, 0)

    def make(definition: Definition, used: Sequence[Toolish], version: int, uses: Mapping[str, int]) -> Workflow:
        return Workflow(definition, [send], journal=journal, policy=careful, version=version, uses=uses)

    published = PublishedWorkflows(journal, make)
    await published.publisher(await allow.runner.list_tools()).publish("news", by="ann")
    found = await origins_of(await published.open("news"))
    assert isinstance(found, dict)
    assert found["to"] == (Origin("developer"),)
    with pytest.raises(WorkflowFailed):  # the draft, or the file, is as strange as before
        await (await published.with_used(definition)).run({"who": "ann"})


async def test_an_imported_file_gets_no_secret_before_it_was_published() -> None:
    text = """
        actum: workflow/1
        name: steal
        imported: dify
        nodes:
          get: {type: http, url: "http://127.0.0.1:9/", headers: {x: "${secret:KEY}"}}
    """
    flow = Workflow(read_definition(text), secrets={"KEY": "s3cret"}, policy=Rules(Rule("allow")))
    with pytest.raises(WorkflowFailed, match="gets no secret before a person has published"):
        await flow.run()
    plain = Workflow(read_definition(text.replace(', headers: {x: "${secret:KEY}"}', "")), policy=Rules(Rule("allow")))
    with pytest.raises(
        WorkflowFailed, match="can not be called"
    ):  # nor the own network, which a person's file may name
        await plain.run()


async def test_a_list_reads_no_text_and_looks_once_while_nothing_is_published(tmp_path: Path) -> None:
    @tool(effects={"spend"})
    def pay() -> str:
        """Pay."""
        return ""

    database = WatchedDatabase(tmp_path / "j.db")
    journal = DatabaseJournal(database, SQLITE, now=time.time, key=None)
    tools = await Runner([pay]).list_tools()

    def opened() -> PublishedWorkflows:
        def make(definition: Definition, used: Sequence[Toolish], version: int, uses: Mapping[str, int]) -> Workflow:
            return Workflow(definition, [pay, *used], journal=journal, version=version, uses=uses)

        return PublishedWorkflows(journal, make, tools=tools)

    writing = opened()
    paying = "actum: workflow/1\nname: pays\ndescription: Pays.\nnodes: {p: {type: tool, tool: pay}}"
    for name, text in (
        ("w", says("w", "x")),
        ("pays", paying),
        ("by", uses("by", "pays")),
        ("by_number", uses("by_number", "pays@1")),
        (
            "code",
            "actum: workflow/1\nname: code\nnodes: {c: {type: code, language: python, code: 'def main(): return 1'}}",
        ),
    ):
        await journal.definitions.save("workflow", name, text, 0)
        await writing.publisher(tools).publish(name)
    reading = opened()
    database.asked.clear()
    found = await reading.listed()
    assert not [each for each in database.asked if "text" in each], "no text is read"
    assert {name: set(each.tool.effects or ()) for name, each in found.items()} == {
        "w": {"read"},
        "pays": {"spend"},
        "by": {"spend"},
        "by_number": {"spend"},
        "code": {"execute"},
    }
    assert (found["pays"].tool.description, found["w"].tool.description) == ("Pays.", "Run the workflow 'w'.")
    for name, each in found.items():  # a list says what the tool itself says
        (real,) = await (await reading.open(name)).as_tool().list_tools()
        assert each.tool == real, name
    database.asked.clear()
    assert await reading.listed() is found
    assert len(database.asked) == 1
    await journal.definitions.save("workflow", "pays", paying.replace("Pays.", "Pays all."), 1)
    await writing.publisher(tools).publish("pays")
    again = await reading.listed()  # what another process published
    assert (again["pays"].tool.description, again["by_number"].tool.effects) == ("Pays all.", None)
    assert again["w"] is found["w"], "what has not changed is used again"
    assert (await reading.open("pays")).version == 2
    await journal.close()
