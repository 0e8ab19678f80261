"""Which models the nodes of a workflow may name, and what is wrong with another name."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from ..core.errors import UsageError
from ..core.language.sentence import Sentence
from ..core.model import Model
from ..core.user import User
from ..models.catalog import is_full_name
from .definition.graph import Graph
from .definition.tool_names import MODEL, model_names
from .tool_check import WrongName, WrongNames

NEAR_MAX = 3
"""The most names that are suggested in the place of an unknown one."""


class OfferedModels(Protocol):
    """The models that a program offers by names of its own, such as those of `[models.*]` and connected ones."""

    @property
    def names(self) -> Sequence[str]:
        """The names that can be listed, without those of connected models."""

    def has(self, name: str) -> bool:
        """Whether a model is offered under a name. Connected models are not looked at.

        Raises:
            UsageError: the name means something else than a model.
        """

    async def open(self, name: str, user: User) -> Model | None:
        """The model of a name; None where there is none.

        Args:
            name: as a node says it.
            user: on whose behalf the model is asked.

        Raises:
            UsageError: the model can not be asked now.
        """


class NodeModels(NamedTuple):
    """The models that nodes may name beside full names, such as `openai:gpt-5-mini`.

    Attributes:
        given: those that the program gives, by name.
        offered: the others; None for none.
    """

    given: Mapping[str, Model | str] = {}
    offered: OfferedModels | None = None

    async def open(self, name: str, user: User) -> Model | str:
        """The model that a node names; the name itself, where the name has to say what it means.

        Args:
            name: as the node says it.
            user: on whose behalf the model is asked.

        Raises:
            UsageError: the model can not be asked now.
        """
        if name in self.given or self.offered is None:
            return self.given.get(name, name)
        return await self.offered.open(name, user) or name

    def wrong_in(self, graph: Graph, connected: Collection[str] = ()) -> WrongNames:
        """What is wrong with the names of models in a graph.

        Args:
            graph: the nodes.
            connected: the names of further models.
        """
        found = {}
        for name in model_names(graph):
            wrong = self._wrong(name, connected)
            if wrong is not None:
                found[MODEL, name] = wrong
        return found

    def _wrong(self, name: str, connected: Collection[str]) -> WrongName | None:
        try:
            has = name in self.given or (self.offered is not None and self.offered.has(name))
        except UsageError as error:
            return WrongName(error.sentence)
        if has or name in connected or is_full_name(name):
            return None
        known = sorted({*self.given, *(self.offered.names if self.offered is not None else ()), *connected})
        near = difflib.get_close_matches(name, known, NEAR_MAX) or known
        hint = Sentence("connect a model, or write provider:name, such as openai:gpt-5-mini")
        if near:
            hint = Sentence("there are: {names}", names=", ".join(near)[:200])
        return WrongName(Sentence("there is no model {name!r}", name=name[:200]), hint)
