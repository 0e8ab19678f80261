"""An agent in an experiment: no tool that may change something is executed.

`results` of the case answer first, then those for all cases, and such a call needs no approval. Otherwise only tools
that declare nothing beyond `read` are executed. All others are denied by the rule `evaluation`, also in agents below,
which the policy of the agent above binds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar

from ..agents.agent import Agent
from ..core.call import ToolCall, ToolResult
from ..core.interfaces import Context, Journal, Toolset
from ..core.json import Json, JsonObject
from ..core.policy import Decision, Facts, Policy
from ..core.tool import Tool
from ..policy.rules import Barring
from ..toolsets.wrappers import Wrapper
from .pattern import fits
from .tried import RULE

ALL = "*"
"""In the place of the name of a tool: every tool."""
NO_RESULTS: Mapping[str, Json] = {}
CASE_RESULTS: ContextVar[Mapping[str, Json]] = ContextVar("CASE_RESULTS", default=NO_RESULTS)
"""What tools answer in the try that is under way in this task."""
_DENIED = "This is an evaluation: nothing is changed, so this call was not carried out."


class ClosedWorld:
    """What an experiment says of calls.

    Args:
        results: what tools answer in all cases, as `Case.results`.
        live: the names of the tools that are executed whatever they do; `*` for all.
    """

    def __init__(self, results: Mapping[str, Json] = NO_RESULTS, live: Collection[str] = ()) -> None:
        self._results = results
        self._live = frozenset(live)

    def is_live(self, name: str) -> bool:
        """Whether a tool is executed whatever it does."""
        return name in self._live or ALL in self._live

    def answer(self, call: ToolCall) -> tuple[Json] | None:
        """What answers a call in the place of its tool; None where nothing does."""
        for results in (CASE_RESULTS.get(), self._results):
            if call.name in results:
                found = _among(results[call.name], call.arguments)
                if found is not None:
                    return found
        return None

    def denied(self, tools: Sequence[Tool], answered: Collection[str]) -> list[str]:
        """The names of the tools whose calls are denied.

        Args:
            tools: of the agent.
            answered: the names of tools that have results in every case.
        """
        known = {*answered, *self._results}
        return [tool.name for tool in tools if not (tool.reads_only or self.is_live(tool.name) or tool.name in known)]


def _among(results: Json, arguments: JsonObject) -> tuple[Json] | None:
    """The result for some arguments: of a list of results by arguments the first that fits."""
    if not (isinstance(results, list) and results and all(_is_choice(each) for each in results)):
        return (results,)
    for each in results:
        if isinstance(each, dict) and fits(each["arguments"], arguments):
            return (each["result"],)
    return None


def _is_choice(each: Json) -> bool:
    return isinstance(each, dict) and each.keys() == {"arguments", "result"}


class ClosedPolicy:
    """The policy of an agent in an experiment.

    Args:
        inner: the agent's own. What it denies is denied.
        world: what the experiment says.
    """

    def __init__(self, inner: Policy, world: ClosedWorld) -> None:
        self._inner = inner
        self._world = world

    def decide(self, tool: Tool, call: ToolCall, facts: Facts) -> Decision:
        """As the agent's own policy, but for calls that are answered or not carried out here."""
        said = self._inner.decide(tool, call, facts)
        if self._world.is_live(tool.name) or said.verdict == "deny":
            return said
        if self._world.answer(call) is not None:
            return Decision("allow", f"{RULE}: result")
        return said if tool.reads_only else Decision("deny", RULE, _DENIED)

    def bars(self, tool: Tool, facts: Facts) -> bool:
        """Whether the agent's own policy denies every call of a tool."""
        return isinstance(self._inner, Barring) and self._inner.bars(tool, facts)

    def roles_of(self, principal: str) -> frozenset[str]:
        """The roles that the agent's own policy knows of."""
        known = getattr(self._inner, "roles_of", None)
        return frozenset(known(principal)) if known is not None else frozenset()

    @property
    def digest(self) -> str:
        """Of the agent's own policy: what an experiment denies is no part of the agent."""
        return str(getattr(self._inner, "digest", type(self._inner).__qualname__))


class ClosedToolset(Wrapper):
    """A toolset whose calls are answered by the results of the case, where it has some.

    Args:
        inner: the toolset.
        world: what the experiment says.
    """

    def __init__(self, inner: Toolset, world: ClosedWorld) -> None:
        super().__init__(inner)
        self._world = world

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """The result of the case, or what the tool says."""
        found = None if self._world.is_live(call.name) else self._world.answer(call)
        if found is None:
            return await super().execute(call, context)
        return ToolResult(call.id, structured=found[0], given=True)


def closed(agent: Agent[object], world: ClosedWorld, journal: Journal) -> Agent[object]:
    """The agent as it is in an experiment.

    Args:
        agent: the agent.
        world: what the experiment says.
        journal: where its runs are written down.
    """
    runner = agent.runner.known_as(agent.name, journal=journal, wrap=lambda toolset: ClosedToolset(toolset, world))
    return agent.with_runner(runner.with_policy(ClosedPolicy(runner.policy, world)))
