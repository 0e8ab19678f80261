"""What the name of a model means: an upstream that requests are passed to, or an agent that runs here.

A program asks for the model that its code names. So a name may be any text, such as `gpt-4o`, or a pattern, such as
`gpt-*`. A name without `*` comes before every pattern. A name that would mean two things is refused when the server
starts, and so are two patterns that fit one name.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from ...core.errors import UnknownName, UsageError
from ...core.identity import Identity, LetsIn

NEAR_MAX = 3
"""The most names that are suggested to a client that asked for an unknown model."""
NO_MODELS = (
    "This server has no models. Its operator names them in actum.toml: an agent as [agents.NAME], or a model as "
    '[models.NAME] with upstreams = ["openai:gpt-5-mini"].'
)

T = TypeVar("T")


def lets_all_in(who: Identity, agent: str) -> bool:
    """Everybody may use every agent, as where no agent is served."""
    return True


class Passing(Struct, Generic[T], frozen=True):
    """The request is passed to an upstream.

    Attributes:
        name: the name of the model in the settings, such as `fast` or `gpt-*`.
        route: where the request goes.
    """

    name: str
    route: T


class Executing(Struct, frozen=True):
    """The request is answered by an agent of this server.

    Attributes:
        agent: the name of the agent.
    """

    agent: str


class ModelNames(Generic[T]):
    """The names of models that clients may ask for.

    Args:
        passing: where requests go, by the name or the pattern of the model.
        executing: the agent that answers, by the name or the pattern of the model.

    Raises:
        UsageError: a name means two things, or two patterns fit one name.
    """

    def __init__(self, passing: Mapping[str, T], executing: Mapping[str, str]) -> None:
        both = sorted(passing.keys() & executing.keys())
        if both:
            raise UsageError(
                "the model {both!r} means two things: an upstream, and the agent {executing}",
                both=both[0],
                executing=executing[both[0]],
            )
        meanings: dict[str, Passing[T] | Executing] = {
            **{name: Passing(name, route) for name, route in passing.items()},
            **{name: Executing(agent) for name, agent in executing.items()},
        }
        for name in meanings:
            if not name or not name.isprintable() or name != name.strip():
                raise UsageError("a model can not be called {name!r}", name=name)
        self._exact = {name: meaning for name, meaning in meanings.items() if "*" not in name}
        self._patterns = [(name, _expression(name), meaning) for name, meaning in meanings.items() if "*" in name]
        _refuse_overlaps([name for name, _, _ in self._patterns])

    def models(self, who: Identity, lets_in: LetsIn = lets_all_in) -> dict[str, str]:
        """The names that a caller may use, each with the agent that answers; without an agent where the request is
        passed on. Patterns are left out: nobody can ask for a pattern.

        Args:
            who: the caller.
            lets_in: whether the caller may use an agent of this name.
        """
        return {
            name: meaning.agent if isinstance(meaning, Executing) else ""
            for name, meaning in self._exact.items()
            if _may_use(who, name, meaning, lets_in)
        }

    def find(self, name: str, who: Identity, lets_in: LetsIn = lets_all_in) -> Passing[T] | Executing:
        """What a name means.

        Args:
            name: as the client wrote it.
            who: the caller.
            lets_in: whether the caller may use an agent of this name.

        Raises:
            UnknownName: there is no such model for this caller; the message has names that come near.
        """
        meaning = self._exact.get(name)
        if meaning is None:
            meaning = next((each for _, pattern, each in self._patterns if pattern.fullmatch(name)), None)
        if meaning is not None and _may_use(who, name, meaning, lets_in):
            return meaning
        if not self._exact and not self._patterns:
            raise UnknownName(NO_MODELS)
        near = difflib.get_close_matches(name, self.models(who, lets_in), NEAR_MAX, 0.5)
        more = f" Did you mean {' or '.join(near)}?" if near else " GET /v1/models lists the models."
        raise UnknownName(
            "There is no model {name!r} here, or your key may not use it.{more}", name=name[:200], more=more
        )


def _may_use(who: Identity, name: str, meaning: Passing[T] | Executing, lets_in: LetsIn) -> bool:
    """Whether a key may use a name: a model by the key's models, an agent by the key's agents, whatever name stands for
    the agent."""
    if isinstance(meaning, Executing):
        return who.may_use("agent", meaning.agent) and lets_in(who, meaning.agent)
    return who.may_use("model", name)


def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in pattern.split("*")), re.DOTALL)


def _refuse_overlaps(patterns: Sequence[str]) -> None:
    for at, one in enumerate(patterns):
        for other in patterns[at + 1 :]:
            if overlap(one, other):
                raise UsageError(
                    "the patterns {one!r} and {other!r} fit one name, which would mean two things", one=one, other=other
                )


def overlap(one: str, other: str) -> bool:
    """Whether there is a text that two patterns fit. In a pattern, `*` stands for any text.

    >>> overlap("gpt-*", "gpt-4*"), overlap("gpt-*", "*-mini"), overlap("gpt-*", "claude-*")
    (True, True, False)
    """
    reached = _with_stars({(0, 0)}, one, other)
    seen: set[tuple[int, int]] = set()
    while reached:
        seen |= reached
        if (len(one), len(other)) in reached:
            return True
        reached = _with_stars(set(_steps(reached, one, other)), one, other) - seen
    return False


def _steps(places: Iterable[tuple[int, int]], one: str, other: str) -> Iterable[tuple[int, int]]:
    """Where two patterns stand after one more letter that both take."""
    for left, right in places:
        if left == len(one) or right == len(other):
            continue
        if one[left] == "*":
            yield left, right + 1
        elif other[right] == "*":
            yield left + 1, right
        elif one[left] == other[right]:
            yield left + 1, right + 1


def _with_stars(places: set[tuple[int, int]], one: str, other: str) -> set[tuple[int, int]]:
    """The places, and those that are reached where a star stands for nothing."""
    found, new = set(places), set(places)
    while new:
        new = {
            place
            for left, right in new
            for place in (
                *([(left + 1, right)] if one[left : left + 1] == "*" else []),
                *([(left, right + 1)] if other[right : right + 1] == "*" else []),
            )
        } - found
        found |= new
    return found
