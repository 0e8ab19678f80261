"""What `say` nodes tell the user, in the order of the graph: branches that run side by side do not talk at once.

A text is told as soon as every `say` node before it in the graph is decided: has spoken, was skipped, or will not be
reached any more. The passes of a container speak one after the other. Pure, as `flow.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from .definition.flow import Scope
from .definition.graph import GraphNode
from .definition.nodes import ERROR


class SayOrder:
    """Tells what may be said by now.

    Args:
        root: the scope of the whole workflow.
    """

    def __init__(self, root: Scope) -> None:
        self._open = [_Speaking(root)] if root.graph.speakers else []

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be said."""
        return not self._open

    def texts(self) -> Iterator[str]:
        """What can be said now and was not said yet."""
        while self._open:
            here = self._open[-1]
            if not here.left:
                self._open.pop()
                continue
            scope, node = here.scope, here.left[0]
            if node.body is not None:
                passes = scope.passes.get(node.name)
                if passes:
                    self._open.append(_Speaking(passes.popleft()))
                    continue
            is_decided = node.name in scope.states
            if not is_decided and scope.active:
                return
            here.left.popleft()
            given = scope.states.get(node.name)
            if node.body is None and given is not None and ERROR not in given:
                yield str(given["text"])


class _Speaking:
    """A pass through a graph whose `say` nodes have their turn."""

    __slots__ = ("left", "scope")

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.left: deque[GraphNode] = deque(scope.graph.speakers)
