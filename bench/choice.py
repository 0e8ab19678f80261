"""The choice among very many tools: whether those that a question needs are shown, and what the choice costs.

    python -m bench.choice
    python -m bench.choice --write cases.json      # the same tools and questions for `tests/peers/clients/bigtool.py`

The tools are the functions of the leaderboard's eight sets of one turn (`bench.bfcl`), among the operations of the real
OpenAPI documents of the test corpus. A hit is a question whose right functions are all shown. A hundred questions in
Chinese, over tools with Chinese texts (`choice_zh.tsv`, by the author of this file), stand beside these. Plain BM25
over the descriptions, with the words as they are, is measured for comparison.
"""

from __future__ import annotations

import asyncio
import gzip
import re
import resource
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator
from datetime import date
from functools import partial
from pathlib import Path

import msgspec

from actum import Agent, ToolCall
from actum.call.choice import Rank, find
from actum.call.limits.limits import Limits
from actum.call.resolve import Catalog
from actum.core.message import Transcript, UserMessage
from actum.core.model import Request
from actum.core.tool import Tool
from actum.protocols.openapi.reading import read_api
from actum.runs.tool_search import ToolIndex
from actum.storage.sqlite import SQLiteJournal
from actum.testing import RecordingToolset, ScriptedModel
from actum_embedded import Embedded

from . import questions as own_questions
from .bfcl import CALLING, load
from .own import kind_of

DOCUMENTS = Path(__file__).parents[1] / "tests" / "corpus" / "openapi"
CHINESE = Path(__file__).with_name("choice_zh.tsv")
SHOWN = (12, 20)
MANY = 10_000


def operations() -> Iterator[Tool]:
    """The operations of the documents of the test corpus."""
    for path in sorted(DOCUMENTS.glob("*.json.gz")):
        if not path.name.startswith("readme"):
            api = read_api(msgspec.json.decode(gzip.decompress(path.read_bytes())))
            yield from (operation.tool for operation in api.operations)


def chinese() -> list[tuple[Tool, str]]:
    """Tools with Chinese texts, each with a question that means it."""
    rows = [line.split("\t") for line in CHINESE.read_text("utf-8").splitlines()]
    return [(Tool(name=name, description=description), question) for name, description, question in rows]


async def chinese_places(others: Collection[Tool] = ()) -> list[int]:
    """At which place the right tool of each Chinese question is found, from 1 on; 0 for none of the first 12.

    Args:
        others: the tools beside those of the questions.
    """
    cases = chinese()
    catalog, index = await Catalog.of([RecordingToolset([*(tool for tool, _ in cases), *others])]), ToolIndex()
    places: list[int] = []
    for tool, question in cases:

        def looked_up(rank: Rank, question: str = question) -> list[str]:
            return find(question, SHOWN[0], catalog, rank, _bars_none)

        names = await index.ask(catalog.tools, looked_up)
        places.append(names.index(tool.name) + 1 if tool.name in names else 0)
    return places


def questions() -> tuple[list[Tool], list[tuple[str, str, set[str]]]]:
    """The tools, and the questions: each with its category and the names of its right functions."""
    cases = [case for category in CALLING for case in load(category)]
    tools = {tool.name: tool for case in cases for tool in case.tools}
    for tool in operations():
        tools.setdefault(tool.name, tool)
    asked = [
        (
            case.category,
            " ".join(message.text for message in case.messages if isinstance(message, UserMessage)),
            {name for answer in case.answers for name in answer},
        )
        for case in cases
    ]
    return list(tools.values()), asked


async def recall() -> None:
    """Print how many questions have all their functions among the first 12 and the first 20, and of plain BM25."""
    tools, asked = questions()
    catalog, index, plain = await Catalog.of([RecordingToolset(tools)]), ToolIndex(), PlainBM25(tools)
    ours: Hits = {}
    theirs: Hits = {}
    print(f"{len(tools)} tools, {len(asked)} questions")
    for category, question, wanted in asked:

        def looked_up(rank: Rank, places: int, question: str = question) -> list[str]:
            return find(question, places, catalog, rank, _bars_none)

        for places in SHOWN:
            found = await index.ask(catalog.tools, partial(looked_up, places=places))
            _count(ours, category, places, wanted <= set(found))
            _count(theirs, category, places, wanted <= set(plain.find(question, places)))
    for (category, places), found_all in ours.items():
        other = theirs[category, places]
        print(f"{category:24} at {places}: {sum(found_all) / len(found_all):.3f} of {len(found_all)}", end="; ")
        print(f"plain BM25 {sum(other) / len(other):.3f}")


Hits = dict[tuple[str, int], list[bool]]


def _count(hits: Hits, category: str, places: int, is_hit: bool) -> None:
    for name in (category, "all"):
        hits.setdefault((name, places), []).append(is_hit)


class PlainBM25:
    """The nearest descriptions by BM25 as SQLite has it: no stems, no stop words, no names, no parameters."""

    def __init__(self, tools: Collection[Tool]) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute("CREATE VIRTUAL TABLE texts USING fts5(name UNINDEXED, description)")
        rows = [(tool.name, tool.description) for tool in tools]
        self._database.executemany("INSERT INTO texts VALUES (?, ?)", rows)

    def find(self, question: str, places: int) -> list[str]:
        """The names of the nearest tools."""
        words = " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", question.lower())))
        if not words:
            return []
        query = "SELECT name FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT ?"
        return [name for (name,) in self._database.execute(query, (words, places))]


async def embedded() -> None:
    """Print how many of 50 English questions the embedded model gets right: with 12 tools in all, and with 12 shown of
    10,000; and for how many the right tool is among those 12.
    """
    mine = own_questions.tools()
    others = [tool for tool in questions()[0] if tool.name not in mine]
    copies = [tool for tool in operations() for _ in range(3)]
    copied = [msgspec.structs.replace(tool, name=f"{tool.name[:100]}_{n}") for n, tool in enumerate(copies)]
    tools = [*mine.values(), *others, *copied][:MANY]
    catalog, index = await Catalog.of([RecordingToolset(tools)]), ToolIndex()
    asked = [each for each in own_questions.load() if each.language == "en" and kind_of(each) == "one call"][:50]
    marks: Counter[str] = Counter()
    for each in asked:
        day = own_questions.now(each.language).date()
        model = Embedded(today=partial(_same, day))

        def looked_up(rank: Rank, question: str = each.question) -> list[str]:
            return find(question, SHOWN[0], catalog, rank, _bars_none)

        names = await index.ask(catalog.tools, looked_up)
        chosen = [tool.tool for name in names if (tool := catalog.get(name)) is not None]
        spare = [tool for name, tool in mine.items() if name not in each.tools]
        right = {call.name for call in each.calls}
        own = sorted(each.tools, key=lambda name: name not in right)
        alone = [*(mine[name] for name in own), *spare][: SHOWN[0]]
        for way, given in (("12 in all", alone), (f"12 of {len(tools)}", chosen)):
            request = Request(messages=Transcript([UserMessage.of(each.question)]), tools=tuple(given))
            said = await model.reply(request)
            marks[way] += own_questions.judge(each, list(said.calls), said.text).ok
        marks["shown"] += right <= {tool.name for tool in chosen}
    print(f"the embedded model, of {len(asked)}: {dict(marks)}")


def _same(day: date) -> date:
    return day


async def cost() -> None:
    """Print the CPU and memory before the first step, of a choice and of a step, and how much a journal grows: with 12
    tools and with 10,000.
    """
    question, tools = "List the repositories of an organisation.", [*operations()]
    many = [
        msgspec.structs.replace(tools[number % len(tools)], name=f"{tools[number % len(tools)].name[:100]}_{number}")
        for number in range(MANY - 1)
    ]
    noop = Tool(name="noop", effects=frozenset({"read"}))
    for count in (12, MANY):
        given = [noop, *many[: count - 1]]
        began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        agent = Agent(ScriptedModel(["done"] * 300), [RecordingToolset(given)])
        await agent.run(question)
        first = time.process_time() - began
        more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        began = time.process_time()
        for _ in range(100):
            await agent.run(question)
        a_run = (time.process_time() - began) * 10
        print(f"{count} tools: first run {first:.2f} s, {more:.0f} MB; a run {a_run:.2f} ms", end="; ")
        print(f"a step {await _step_ms(given, question):.3f} ms; the journal {await _growth_kb(given, question)} KB")


async def _step_ms(tools: list[Tool], question: str) -> float:
    """The CPU of one step of a run, in which one tool is called."""
    took: dict[int, float] = {}
    for steps in (1, 41):
        said = [ToolCall(f"c{number}", "noop", {}) for number in range(steps - 1)]
        model = ScriptedModel([*said, "done"] * 12)
        agent = Agent(model, [RecordingToolset(tools)], always=["noop"], limits=Limits(steps=50, repeats=100))
        await agent.run(question)
        began = time.process_time()
        for _ in range(11):
            await agent.run(question)
        took[steps] = (time.process_time() - began) / 11
    return (took[41] - took[1]) / 40 * 1000


async def _growth_kb(tools: list[Tool], question: str) -> int:
    """By how many KB the first run with these tools makes a journal larger."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "runs.db"
        sizes = []
        for toolset in (RecordingToolset(tools[:1]), RecordingToolset(tools)):
            journal = SQLiteJournal(str(place))
            await Agent(ScriptedModel(["done"]), [toolset], journal=journal).run(question)
            await journal.close()
            sizes.append(place.stat().st_size)
        return (sizes[1] - sizes[0]) // 1024


def _bars_none(tool: Tool) -> bool:
    return False


async def main() -> None:
    await cost()
    places = await chinese_places({tool.name: tool for tool in operations()}.values())
    for most in (1, 5, 12):
        print(f"Chinese, first {most}: {sum(0 < place <= most for place in places)} of {len(places)}")
    await recall()
    await embedded()


def write(path: Path) -> None:
    """Write the tools and the questions as JSON."""
    tools, asked = questions()
    told = {
        "tools": [(tool.name, tool.description) for tool in tools],
        "cases": [(category, question, sorted(wanted)) for category, question, wanted in asked],
    }
    path.write_bytes(msgspec.json.encode(told))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(Path(sys.argv[2]))
    else:
        asyncio.run(main())
