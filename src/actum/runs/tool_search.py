"""`ToolSearch`: an index of the tools of a catalog, and `search_tools`, by which a model looks for tools itself."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from ..call.choice import Rank, best_of, find
from ..call.resolve import Catalog
from ..core.call import TextPart, ToolCall, ToolResult, names_found
from ..core.interfaces import Context
from ..core.language.words import STOP_WORDS
from ..core.policy import Facts
from ..core.process.worker_thread import LARGE, off_loop
from ..core.tool import SEARCH, Tool
from ..policy.rules import Barring
from ..storage.fulltext import FullText

FOUND = 5
"""How many tools are found where the model does not say how many."""
FOUND_MAX = 20
TOLD_MAX = 160
"""How many characters of the description of a found tool are told: the definition itself is shown."""

SEARCH_TOOL = Tool(
    name=SEARCH,
    description=(
        "Find further tools by what they do. There are many more tools than you are shown: search before you say that "
        "something can not be done. From your next step on you can call the tools that were found."
    ),
    parameters={
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What the tool should do, in a few words."},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": FOUND_MAX,
                "default": FOUND,
                "description": "How many tools at most.",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    },
    effects=frozenset({"read"}),
    sinks=(),
)

T = TypeVar("T")


class ToolIndex:
    """What tools are found by: names, descriptions and parameters. In memory; of tools that have changed, only what
    changed is indexed anew. Several threads and catalogs may use it.
    """

    def __init__(self) -> None:
        self._words = FullText(WEIGHTS, stems=True)
        self._known: dict[str, Tool] = {}
        self._tools: Sequence[Tool] = ()
        self._lock = threading.Lock()

    async def ask(self, tools: Sequence[Tool], question: Callable[[Rank], T]) -> T:
        """Ask something of the index, when it holds these tools.

        Args:
            tools: those of a catalog, or others with names of their own; never changed.
            question: is given what ranks names, and answers at once.
        """
        return await self._asked(tools, lambda: question(self._words.answering))

    async def search(
        self, tools: Sequence[Tool], words: str, limit: int, fits: Callable[[Tool], bool] = lambda _: True
    ) -> list[Tool]:
        """The tools that a person looks for, the best first. Where none has a word of the person's, those count that
        have a word which begins so.

        Args:
            tools: as for `ask`.
            words: as the person typed them.
            limit: how many at most.
            fits: whether a tool may be found.
        """

        def answer() -> list[str]:
            begun = " ".join(word for word in words.split() if word.casefold() not in STOP_WORDS)
            typed = [name for name, _ in self._words.find(begun)] if not self._words.answering(words, 1) else []
            return best_of(
                lambda question, most: typed[:most] or self._words.answering(question, most),
                words,
                limit,
                lambda name: fits(self._known[name]),
            )[:limit]

        named = {tool.name: tool for tool in tools}
        return [named[name] for name in await self._asked(tools, answer)]

    async def _asked(self, tools: Sequence[Tool], question: Callable[[], T]) -> T:
        def answer() -> T:
            with self._lock:
                self._take(tools)
                return question()

        changed = tools is not self._tools and len(tools) > len(self._known) + 100
        return await off_loop(LARGE + 1 if changed or self._lock.locked() else 0, answer)

    def _take(self, tools: Sequence[Tool]) -> None:
        if tools is self._tools:
            return
        now = {tool.name: tool for tool in tools}
        for name in [name for name in self._known if name not in now]:
            self._words.remove(name)
        self._words.put_all({name: texts_of(tool) for name, tool in now.items() if self._known.get(name) != tool})
        self._known, self._tools = now, tools


WEIGHTS = (3, 2, 1)
"""How much a word counts in the name, in the description and in the parameters: chosen on the leaderboard's questions
among 10,000 tools (`bench/choice.py`)."""


def texts_of(tool: Tool) -> tuple[str, str, str]:
    """The texts that a tool is found by."""
    parameters = tool.property_schemas()
    told = [schema.get("description") for schema in parameters.values()]
    return (
        f"{tool.name} {tool.title}",
        tool.description,
        " ".join([*parameters, *[each for each in told if isinstance(each, str)]]),
    )


class ToolSearch:
    """A toolset of one: `search_tools`.

    Args:
        index: of the tools.
        catalog: gives the tools as they are now.
    """

    generation = 0

    def __init__(self, index: ToolIndex, catalog: Callable[[], Awaitable[Catalog]]) -> None:
        self._index = index
        self._catalog = catalog

    async def list_tools(self) -> Sequence[Tool]:
        return (SEARCH_TOOL,)

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Answer with the names of the tools that were found, and what each does."""
        catalog, query = await self._catalog(), str(call.arguments["query"])
        if context.journal is not None:
            catalog = await catalog.for_user(context.journal, Facts.of(context))
        limit = call.arguments.get("limit", FOUND)
        assert isinstance(limit, int)
        policies = [(each.policy, each.facts()) for each in context.ancestors]

        def bars(tool: Tool) -> bool:
            return any(isinstance(policy, Barring) and policy.bars(tool, facts) for policy, facts in policies)

        names = await self._index.ask(catalog.tools, lambda rank: find(query, limit, catalog, rank, bars))
        found = [bound.tool for name in names if (bound := catalog.get(name)) is not None]
        lines = [f"- {tool.name}: {_told(tool)}" for tool in found]
        text = "\n".join(["You can call these from your next step on:", *lines]) if found else _NOTHING
        return ToolResult(call.id, (TextPart(text),), structured={"tools": list(names)})


_NOTHING = "No tool was found. Say in other words what the tool should do."


def _told(tool: Tool) -> str:
    said = " ".join(tool.description.split())
    return said if len(said) <= TOLD_MAX else said[: TOLD_MAX - 1] + "…"


def found_by(call: ToolCall, result: object) -> Sequence[str]:
    """The names of the tools that a call of `search_tools` found; none where it is another call, or has no result.

    Args:
        call: the call.
        result: its result, or the question that it waits for.
    """
    return names_found(result) if call.name == SEARCH and isinstance(result, ToolResult) else ()
