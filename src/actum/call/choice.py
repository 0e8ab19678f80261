"""The choice of the tools that a model is shown, where there are many. Pure: an index is asked for an order of names.

    chosen = choose(question, catalog, choice, rank, bars, called)        before the first step
    shown  = extended(shown, chosen_first, found, called)                 what the model found itself, at the end

What a policy bars for the user of the run is neither shown nor found. A foreign source gets at most a third of the
places that the search fills, as long as other sources have tools that fit: a description can be written such that it
fits every question.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec import Struct

from ..core.errors import UsageError
from ..core.tool import Tool
from .resolve import Catalog

SHOWN_MAX = 64
"""Up to 64 tools all are shown, unless a number is set, and a list that grows ends here."""
CHOSEN = 12
"""Of more tools 12 are chosen."""

LOOKED_AT = 8
"""For each place the 8 best tools are looked at, so that other sources have a chance beside a loud one."""

Rank = Callable[[str, int], Sequence[str]]
"""Gives the names of the tools that have most to do with a question, the best first, up to a number."""
Bars = Callable[[Tool], bool]
"""Whether the policies deny every call of a tool by the user of the run."""


class Choice(Struct, frozen=True):
    """How many tools a model is shown.

    Attributes:
        places: how many, beside `search_tools`; 0 for all. None: all up to `SHOWN_MAX`, and `CHOSEN` of more.
        always: the names of tools that are always shown.

    Raises:
        UsageError: another number, or names that are none.

    >>> Choice(65)
    Traceback (most recent call last):
    actum.core.errors.UsageError: choose=65: give a number from 1 to 64, or 0 to show all tools
    """

    places: int | None = None
    always: tuple[str, ...] = ()

    def with_always(self, names: tuple[str, ...]) -> Choice:
        """The same with further tools that are always shown."""
        return Choice(self.places, tuple(dict.fromkeys((*names, *self.always)))) if names else self

    def __post_init__(self) -> None:
        if self.places is not None and not (type(self.places) is int and 0 <= self.places <= SHOWN_MAX):
            raise UsageError(
                "choose={places!r}: give a number from 1 to {most}, or 0 to show all tools",
                places=self.places,
                most=SHOWN_MAX,
            )
        if not all(isinstance(name, str) for name in self.always):
            raise UsageError("always=: give the names of tools, as in always=['pay']")

    def places_in(self, catalog: Catalog) -> int:
        """How many of these tools are chosen; 0 where all are shown."""
        tools = len(catalog.tools) - len(catalog.serving)
        places = self.places if self.places is not None else 0 if tools <= SHOWN_MAX else CHOSEN
        return places if places < tools else 0


ALL = Choice(0)
"""All tools are shown."""


def choose(
    question: str, catalog: Catalog, choice: Choice, rank: Rank, bars: Bars, called: Sequence[str] = ()
) -> tuple[str, ...]:
    """The names of the tools that a model is shown at first: those of `always`, those called earlier in the
    conversation, the best for the question, and the tools by which runs are served.

    Args:
        question: what the user said.
        called: names of tools that were called earlier, the latest first.
    """
    places = choice.places_in(catalog)
    may = [name for name in dict.fromkeys([*choice.always, *called]) if _may_be_shown(catalog, name, bars)]
    names = [name for place, name in enumerate(may) if place < places or name in choice.always]
    names += find(question, places - len(names), catalog, rank, bars, without=names)
    return (*names, *(tool.name for tool in catalog.serving if tool.name not in names and not bars(tool)))


def find(
    question: str, places: int, catalog: Catalog, rank: Rank, bars: Bars, *, without: Collection[str] = ()
) -> list[str]:
    """The names of the tools that have most to do with a question, the best first.

    Args:
        places: how many at most.
        without: names that do not count, since they are shown anyway.
    """
    if places < 1:
        return []
    fitting = best_of(
        rank, question, places, lambda name: name not in without and _may_be_shown(catalog, name, bars), LOOKED_AT
    )
    best = set(_shared_out(fitting, places, catalog))
    best.update([name for name in fitting if name not in best][: places - len(best)])
    return [name for name in fitting if name in best]


def best_of(rank: Rank, question: str, places: int, fits: Callable[[str], bool], looked_at: int = 1) -> list[str]:
    """The names that have most to do with a question, among those that fit, the best first.

    Args:
        places: how many are wanted; there may be more.
        fits: whether a name counts.
        looked_at: how many names are looked at for each place, at least.
    """
    asked = looked_at * places
    while True:
        ranked = rank(question, asked)
        fitting = [name for name in ranked if fits(name)]
        if len(fitting) >= places or len(ranked) < asked:
            return fitting
        asked *= LOOKED_AT  # the policy bars most of the best


def _shared_out(ranked: Sequence[str], places: int, catalog: Catalog) -> list[str]:
    """The first of these names, of one foreign source at most a third of the places."""
    most, taken, best = max(1, places // 3), dict[int, int](), list[str]()
    for name in ranked:
        bound = catalog.get(name)
        source = id(bound.toolset) if bound is not None and bound.tool.foreign else 0
        taken[source] = taken.get(source, 0) + 1
        if not source or taken[source] <= most:
            best.append(name)
    return best[:places]


def extended(shown: Sequence[str], first: int, found: Sequence[str], called: Collection[str]) -> tuple[str, ...]:
    """The names of the tools that a model is shown from the next step on: those shown before, and at the end what was
    found. Beyond `SHOWN_MAX` the earliest that was found and never called gives way.

    Args:
        shown: the names shown so far; `first` of them were chosen before the first step.
        found: what the model found, or called by name.
        called: names that were called in this run.
    """
    chosen, later = list(shown[:first]), list(shown[first:])
    for name in found:
        if name in chosen or name in later:
            continue
        later.append(name)
        if len(chosen) + len(later) > max(SHOWN_MAX, first + 1):
            idle = next((each for each in later if each not in called), later[0])
            later.remove(idle)
    return (*chosen, *later)


def tools_named(catalog: Catalog, names: Sequence[str]) -> tuple[Tool, ...]:
    """The tools of these names; one that is gone is left out."""
    return tuple(_tools_named(catalog, names))


def _tools_named(catalog: Catalog, names: Sequence[str]) -> Iterator[Tool]:
    for name in names:
        bound = catalog.get(name)
        if bound is not None:
            yield bound.tool


def _may_be_shown(catalog: Catalog, name: str, bars: Bars) -> bool:
    bound = catalog.get(name)
    return bound is not None and bound.tool not in catalog.serving and not bars(bound.tool)
