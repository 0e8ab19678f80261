"""The choice among very many tools: whether those that a question needs are shown, and what the choice costs.

    python -m bench.choice

The tools are the functions of the leaderboard's eight sets of one turn (`bench.bfcl`), among the operations of the real
OpenAPI documents of the test corpus. A hit is a question whose right functions are all shown. A hundred questions in
Chinese, over tools with Chinese texts (`choice_zh.tsv`, by the author of this file), stand beside these.
"""

from __future__ import annotations

import asyncio
import gzip
import resource
import time
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from actum import Agent
from actum.call.choice import Rank, find
from actum.call.resolve import Catalog
from actum.core.message import UserMessage
from actum.core.tool import Tool
from actum.protocols.openapi.reading import read_api
from actum.runs.tool_search import ToolIndex
from actum.testing import RecordingToolset, ScriptedModel

from .bfcl import CALLING, Case, load

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


async def recall(cases: list[Case]) -> None:
    """Print how many questions have all their functions among the first 12 and the first 20."""
    tools = {tool.name: tool for case in cases for tool in case.tools}
    for tool in operations():
        tools.setdefault(tool.name, tool)
    catalog, index = await Catalog.of([RecordingToolset(list(tools.values()))]), ToolIndex()
    hits: dict[tuple[str, int], list[bool]] = {}
    for case in cases:
        question = " ".join(message.text for message in case.messages if isinstance(message, UserMessage))
        wanted = {name for answer in case.answers for name in answer}
        for places in SHOWN:

            def looked_up(rank: Rank, question: str = question, places: int = places) -> list[str]:
                return find(question, places, catalog, rank, _bars_none)

            names = await index.ask(catalog.tools, looked_up)
            hits.setdefault((case.category, places), []).append(wanted <= set(names))
            hits.setdefault(("all", places), []).append(wanted <= set(names))
    print(f"{len(tools)} tools, {len(cases)} questions")
    for (category, places), found in hits.items():
        print(f"{category:24} at {places}: {sum(found) / len(found):.3f} of {len(found)}")


async def cost() -> None:
    """Print the CPU and memory before the first step, a choice, and a step, with 12 and with 10,000 tools."""
    tools = [*operations()]
    many = [
        msgspec.structs.replace(tools[number % len(tools)], name=f"{tools[number % len(tools)].name[:100]}_{number}")
        for number in range(MANY)
    ]
    for count in (12, MANY):
        began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        agent = Agent(ScriptedModel(["done"] * 300), [RecordingToolset(many[:count])])
        await agent.run("List the repositories of an organisation.")
        first = time.process_time() - began
        more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        began = time.process_time()
        for _ in range(100):
            await agent.run("List the repositories of an organisation.")
        print(
            f"{count} tools: first run {first:.2f} s, {more:.0f} MB; a run {(time.process_time() - began) * 10:.2f} ms"
        )


def _bars_none(tool: Tool) -> bool:
    return False


async def main() -> None:
    await cost()
    places = await chinese_places({tool.name: tool for tool in operations()}.values())
    for most in (1, 5, 12):
        print(f"Chinese, first {most}: {sum(0 < place <= most for place in places)} of {len(places)}")
    await recall([case for category in CALLING for case in load(category)])


if __name__ == "__main__":
    asyncio.run(main())
