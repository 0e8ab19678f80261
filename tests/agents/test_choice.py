"""Of very many tools a model is shown those that fit the question, and finds others itself."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from actum import Agent
from actum.call.choice import SHOWN_MAX, Choice, Rank, choose, extended, find
from actum.call.resolve import Catalog
from actum.core.call import ToolCall
from actum.core.errors import UsageError
from actum.core.message import Reply
from actum.core.model import Request
from actum.core.policy import Answer
from actum.core.run.record import ToolsChanged
from actum.core.tool import SEARCH, Tool
from actum.journal.memory import MemoryJournal
from actum.policy.rules import Rule, Rules
from actum.runs.tool_search import ToolIndex
from actum.storage.sqlite import SQLiteJournal
from actum.testing import RecordingToolset, ScriptedModel

MANY = [
    Tool(name="get_weather", description="Tells the weather of a city.", effects=frozenset({"read"})),
    Tool(name="close_ticket", description="Closes a ticket of the help desk.", effects=frozenset({"read"})),
    *(Tool(name=f"spare_{number}", description=f"Reads gauge {number}.") for number in range(1000)),
]
SEARCHING = ToolCall("c1", SEARCH, {"query": "closing tickets"})
CLOSING = ToolCall("c2", "close_ticket", {})


class Seen(ScriptedModel):
    """Remembers what it was shown."""

    async def reply(self, request: Request, emit: object = None) -> Reply:
        self.shown = [*getattr(self, "shown", []), request.tools]
        return await super().reply(request, emit)  # type: ignore[arg-type]


def names(tools: tuple[Tool, ...]) -> list[str]:
    return [tool.name for tool in tools]


async def changes(journal: MemoryJournal | SQLiteJournal, run_id: str) -> list[ToolsChanged]:
    return [entry.record for entry in await journal.read(run_id) if isinstance(entry.record, ToolsChanged)]


@pytest.mark.row("T8")
async def test_of_many_tools_few_are_shown_and_what_the_model_finds_is_shown_from_the_next_step_on() -> None:
    model, journal = Seen([[SEARCHING], [CLOSING], "done"]), MemoryJournal()
    result = await Agent(model, [RecordingToolset(MANY)], journal=journal).run("How is the weather in Beijing?")
    first, second, third = [names(tools) for tools in model.shown]
    assert first[0] == "get_weather"
    assert first[-1] == SEARCH
    assert len(first) <= 13
    assert second[: len(first)] == first
    assert "close_ticket" in second[len(first) :]
    assert third == second
    assert result.text == "done"
    on_record = await changes(journal, result.run_id)
    assert [list(change.names) for change in on_record] == [first, second]


async def test_up_to_64_tools_all_are_shown_and_nothing_is_searched() -> None:
    for tools, choose_places, shown in (
        (MANY[:64], None, 64),
        (MANY[:65], None, 13),
        (MANY[:65], 0, 65),
        (MANY[:9], 3, 4),
    ):
        model = Seen(["done"])
        await Agent(model, [RecordingToolset(tools)], choose=choose_places).run(
            "Read gauge 1, 2 and 3 and the weather."
        )
        assert len(model.shown[0]) <= shown
        assert (shown > 60) == (len(model.shown[0]) == len(tools))
    with pytest.raises(UsageError, match="from 1 to 64"):
        Agent(ScriptedModel(["x"]), choose=65)


async def test_a_run_that_is_taken_up_by_another_process_is_shown_the_same_to_the_byte(tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path / "runs.db")
    policy = Rules(Rule(tools=["close_ticket"], then="ask"), default="allow")
    first = Seen([[SEARCHING], [CLOSING], "done"])
    paused = await Agent(first, [RecordingToolset(MANY)], journal=journal, policy=policy).run("The weather, please.")
    assert paused.status == "paused"
    await journal.close()
    journal = SQLiteJournal(tmp_path / "runs.db")
    later = Seen(["done"])
    (pending,) = paused.pending
    again = Agent(later, [RecordingToolset(MANY)], journal=journal, policy=policy)
    result = await again.resume(paused.run_id, {pending.id: Answer("approve")})
    assert result.text == "done"
    assert [tool.definition for tool in later.shown[0]] == [tool.definition for tool in first.shown[-1]]
    assert len(await changes(journal, result.run_id)) == 2
    kept = sum(len(entry.payload or b"") for entry in await journal.read(result.run_id))
    await journal.close()
    assert kept + (tmp_path / "runs.db").stat().st_size < 600_000  # an empty journal is some 350 KB


async def test_what_the_policy_bars_is_neither_shown_nor_found() -> None:
    policy = Rules(Rule(tools=["close_*"], then="deny"), default="allow")
    model, journal = Seen([[SEARCHING], "done"]), MemoryJournal()
    result = await Agent(model, [RecordingToolset(MANY)], policy=policy, journal=journal).run("Close ticket 7.")
    assert all("close_ticket" not in names(tools) for tools in model.shown)
    told = result.messages[-2]
    assert "close_ticket" not in str(told)
    assert "Closes" not in str(told)


async def test_a_tool_called_by_name_though_it_was_not_shown_is_shown_and_on_record_before_the_call() -> None:
    model, journal = Seen([[CLOSING], "done"]), MemoryJournal()
    result = await Agent(model, [RecordingToolset(MANY)], journal=journal, choose=2).run("The weather?")
    entries = [type(entry.record).__name__ for entry in await journal.read(result.run_id)]
    assert (
        entries[:5] == ["Started", "ToolsChanged", "ModelReplied", "ToolsChanged", "Intended"]
        or entries[3] == "ToolsChanged"
    )
    assert names(model.shown[1])[-1] == "close_ticket"


async def test_tools_that_were_called_earlier_in_the_conversation_are_shown_again() -> None:
    journal = MemoryJournal()
    agent = Agent(Seen([[SEARCHING], [CLOSING], "done"]), [RecordingToolset(MANY)], journal=journal)
    await agent.run("The weather?", conversation="c")
    model = Seen(["done"])
    await Agent(model, [RecordingToolset(MANY)], journal=journal, always=["spare_7"]).run("And then?", conversation="c")
    assert names(model.shown[0])[:2] == ["spare_7", "close_ticket"]


async def test_of_one_foreign_source_a_third_is_shown_where_others_fit() -> None:
    loud = [Tool(name=f"loud_{number}", foreign=True) for number in range(50)]
    own = [Tool(name=f"own_{number}") for number in range(50)]
    catalog = await Catalog.of([RecordingToolset(loud), RecordingToolset(own)])
    order = [tool.name for tool in (*loud, *own)]

    def rank(question: str, limit: int) -> list[str]:
        return order[:limit]

    found = find("x", 12, catalog, rank, lambda tool: False)
    assert len(found) == 12
    assert sum(name.startswith("loud") for name in found) == 4
    alone = await Catalog.of([RecordingToolset(loud)])
    assert find("x", 12, alone, rank, lambda tool: False) == order[:12]
    assert choose("x", catalog, Choice(3, ("own_49",)), rank, lambda tool: False)[0] == "own_49"


async def test_a_source_whose_descriptions_hold_all_common_words_gets_a_third_and_hides_no_right_tool() -> None:
    verbs = ["close", "open", "read", "write", "send", "cancel", "move", "copy", "sign", "check"]
    nouns = ["ticket", "order", "invoice", "report", "letter", "flight", "contract", "picture", "payment", "meeting"]
    own = [
        Tool(name=f"{verb}_{noun}", description=f"{verb.title()} the {noun} of a customer.")
        for verb in verbs
        for noun in nouns
    ]
    common = " ".join([*verbs, *nouns, "customer please the of a", *(f"word{number}" for number in range(275))])
    loud = [Tool(name=f"loud_{number}", description=common, foreign=True) for number in range(40)]
    catalog, index = await Catalog.of([RecordingToolset(loud), RecordingToolset(own)]), ToolIndex()

    def first(rank: Rank, question: str) -> list[str]:
        return find(question, 12, catalog, rank, lambda tool: False)

    for tool in own:
        found = await index.ask(catalog.tools, partial(first, question=f"Please {tool.description.lower()}"))
        assert tool.name in found
        assert sum(name.startswith("loud") for name in found) <= 4


def test_a_list_that_grows_ends_at_64_and_the_earliest_found_and_never_called_gives_way() -> None:
    shown = [f"a{number}" for number in range(SHOWN_MAX)]
    grown = extended(shown, 12, ["new", "a3"], {"a12", "a14"})
    assert len(grown) == SHOWN_MAX
    assert grown[:12] == tuple(shown[:12])
    assert "a12" in grown
    assert "a13" not in grown
    assert grown[-1] == "new"
    assert extended(shown, 12, ["a3", "a63"], ()) == tuple(shown)


async def test_a_query_that_is_no_words_or_very_long_or_in_the_language_of_the_index_is_only_words() -> None:
    for query in ('"; DROP TABLE texts; --', "NEAR(a b) AND *", "the of and", "\u202e", "x" * 1_000_000):
        model = Seen([[ToolCall("c1", SEARCH, {"query": query})], "done"])
        result = await Agent(model, [RecordingToolset(MANY)]).run("The weather?")
        assert re.search("No tool was found|You can call", str(result.messages[-2]))
