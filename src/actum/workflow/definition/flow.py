"""The scheduler of a workflow. Pure: it says which nodes are due, is told what came of them, and does nothing itself.

    flow = Flow(definition, inputs)
    for due in flow.due(): ...
    flow.took("find", NodeOutcome({"output": 3}))

Edges decide the order, references only read. A node is due when every edge that ends at it is decided and at least one
of them is taken; where all of them are skipped, the node is skipped. A container opens a *scope* for each pass; nodes
in it have paths such as `trips[3]/book`. A container is due once more when its last pass is over (`Due.result` is set):
the driver of the flow writes the result down and tells it back.

The same outcomes in the same order lead to the same flow: a run is replayed so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import cast

from msgspec import Struct

from ...core.json import Json, JsonObject
from ...core.run.node_records import NodeError
from ...policy.expression_work import CHARS_MAX, TooLarge, size_of
from ...policy.lineage import DEVELOPER, OF_ERROR, REMEMBERED, Built, From, Lineage, Mixed, part_of
from .expression import Expression, NoValue
from .graph import Definition, Graph, GraphNode
from .nodes import ERROR, OUT
from .settings import Default, EachNode, LoopNode, OnError

ITEMS_MAX = 100_000
"""The most items of an `each` node."""


class NodeOutcome(Struct, frozen=True, kw_only=True):
    """The outcome of a node.

    Attributes:
        value: what the node gives, by name, such as `output`.
        port: where the workflow goes on; empty for the only port.
        error: why the node failed.
        lineage: where what the node gives came from.
        variables: variables that the node changed, with their new values and where those came from.
        is_again: the container failed and is to be carried out anew.
    """

    value: JsonObject = {}
    port: str = ""
    error: NodeError | None = None
    lineage: Lineage = DEVELOPER
    variables: dict[str, tuple[Json, Lineage]] = {}
    is_again: bool = False


class Due(Struct, frozen=True):
    """A node that is due.

    Attributes:
        path: where the node stands.
        node: the node.
        scope: the values that its expressions use.
        result: the result of a container whose last pass is over.
    """

    path: str
    node: GraphNode
    scope: Scope
    result: NodeOutcome | None = None


class Scope:
    """One pass through a graph: the whole workflow, or one pass of a container. `ScopeValues` for expressions.

    Args:
        graph: the nodes.
        prefix: the text before the names of nodes in their paths.
        outer: the scope around the container; None for the workflow itself.
        roots: the values of the roots that this scope has itself, with their lineages.
        holder: the container.
        index: the number of the pass.

    Attributes:
        passes: of the containers in which something is said, the passes whose turn to speak has not come; see
            `say_order.py`.
    """

    __slots__ = (
        "active",
        "ends",
        "failed",
        "graph",
        "held",
        "holder",
        "index",
        "lineages",
        "outer",
        "passes",
        "prefix",
        "roots",
        "states",
        "taken",
        "variables",
        "waiting",
    )

    def __init__(
        self,
        graph: Graph,
        prefix: str,
        outer: Scope | None,
        roots: dict[str, tuple[Json, Lineage]],
        holder: OpenContainer | None = None,
        index: int = 0,
        variables: dict[str, tuple[Json, Lineage]] | None = None,
    ) -> None:
        self.graph = graph
        self.prefix = prefix
        self.outer = outer
        self.roots = roots
        self.holder = holder
        self.index = index
        self.variables = variables
        self.states: dict[str, JsonObject | None] = {}
        self.lineages: dict[str, Lineage] = {}
        self.waiting: dict[str, int] = {}
        self.taken: set[str] = set()
        self.passes: dict[str, deque[Scope]] = {}
        self.active = 0
        self.failed: NodeError | None = None
        self.held = False
        self.ends = ""

    def value(self, root: str) -> Json:
        scope: Scope | None = self
        while scope is not None:
            state = scope.states.get(root, _UNKNOWN)
            if state is not _UNKNOWN:
                if state is None:
                    raise NoValue(f"the node {root} was skipped", skipped=True)
                return state
            known = scope.roots.get(root)
            if known is not None:
                return known[0]
            scope = scope.outer
        if root == "vars":
            return {name: value for name, (value, _) in self.all_variables().items()}
        raise NoValue(f"{root} has no value here", skipped=root == ERROR)

    def lineage(self, root: str) -> Lineage:
        scope: Scope | None = self
        while scope is not None:
            if root in scope.lineages:
                return scope.lineages[root]
            known = scope.roots.get(root)
            if known is not None:
                return known[1]
            scope = scope.outer
        if root == "vars":
            return Built({name: lineage for name, (_, lineage) in self.all_variables().items()}, DEVELOPER)
        return DEVELOPER

    def all_variables(self) -> dict[str, tuple[Json, Lineage]]:
        """The variables that can be seen here; an inner variable hides an outer variable of the same name."""
        found = {} if self.outer is None else self.outer.all_variables()
        return found if self.variables is None else {**found, **self.variables}

    def assign(self, name: str, value: Json, lineage: Lineage) -> None:
        """Change a variable, in the innermost scope that has the variable."""
        variables = self.owner_of(name).variables
        assert variables is not None
        variables[name] = (value, lineage)

    def owner_of(self, name: str) -> Scope:
        """The innermost scope that has a variable; the workflow itself where none has."""
        scope = self
        while scope.outer is not None and (scope.variables is None or name not in scope.variables):
            scope = scope.outer
        return scope


_UNKNOWN: JsonObject = {}


class OpenContainer:
    """A container that is under way."""

    __slots__ = (
        "due",
        "ends",
        "failed",
        "items",
        "lineage",
        "lineages",
        "next",
        "open",
        "outputs",
        "room",
        "variables",
    )

    def __init__(self, due: Due) -> None:
        self.due = due
        self.items: list[Json] = []
        self.lineage: Lineage = DEVELOPER
        self.next = 0
        self.open = 0
        self.outputs: dict[int, Json] = {}
        self.room = CHARS_MAX
        self.lineages: dict[int, Lineage] = {}
        self.failed: NodeError | None = None
        self.ends = ""
        self.variables: dict[str, tuple[Json, Lineage]] = {}


class Flow:
    """A workflow under way.

    Args:
        definition: the workflow.
        inputs: what it was given.
        given_by: where the inputs came from.
        run: what expressions see as `run`.
        remembered: the variables of the conversation that earlier runs have changed.
        is_under_way: tells whether a node that was due has begun. Where a list of nodes ends early, those that have not
            begun are forgotten at once: a run that is replayed forgets them at the same place. Without it they are
            forgotten when `is_wanted` is asked.

    Attributes:
        steps: how many nodes were left.
        failed: why the workflow failed.
    """

    def __init__(
        self,
        definition: Definition,
        inputs: JsonObject,
        given_by: Lineage = DEVELOPER,
        run: JsonObject | None = None,
        remembered: Mapping[str, Json] | None = None,
        is_under_way: Callable[[str], bool] | None = None,
    ) -> None:
        self.definition = definition
        roots: dict[str, tuple[Json, Lineage]] = {
            "inputs": (inputs, given_by),
            "env": (definition.env, DEVELOPER),
            "run": (run or {}, DEVELOPER),
        }
        variables: dict[str, tuple[Json, Lineage]] = {
            name: (value, DEVELOPER) for name, value in (definition.vars | definition.conversation).items()
        }
        for name, value in (remembered or {}).items():
            if name in definition.conversation:
                variables[name] = (value, From((REMEMBERED,)))
        self.root = Scope(definition.graph, "", None, roots, variables=variables)
        self.steps = 0
        self.ended: JsonObject = {}
        self._is_under_way = is_under_way
        self._ready: list[Due] = []
        self._live: dict[str, Due] = {}
        self._containers: dict[str, OpenContainer] = {}
        self._work: deque[Scope] = deque()
        self._open(self.root)
        self._settle()

    @property
    def is_over(self) -> bool:
        """Whether nothing is due or under way any more."""
        return self.root.active == 0

    @property
    def failed(self) -> NodeError | None:
        """Why the workflow failed; None where it did not, or has not yet."""
        return self.root.failed

    @property
    def has_due(self) -> bool:
        """Whether a node has become due since `due` was last asked."""
        return bool(self._ready)

    def due(self) -> list[Due]:
        """The nodes that have become due since this was last asked."""
        if not self._ready:
            return []
        ready, self._ready = self._ready, []
        return [due for due in ready if self.is_due(due)]

    def is_due(self, due: Due) -> bool:
        """Whether a node that was due was neither left nor forgotten since."""
        return self._live.get(due.path) is due

    def is_wanted(self, due: Due) -> bool:
        """Whether a node that was due and has not begun is still to begin: not where a node beside it has failed, or
        its container ends. A node that is not is forgotten.
        """
        if not due.scope.held or due.result is not None:
            return True
        if self.is_due(due):
            del self._live[due.path]
            self._finish_one(due.scope)
            self._settle()
        return False

    def _forget_unwanted(self, scope: Scope) -> None:
        """Forget the nodes of a scope that were due and have not begun: the scope ends early."""
        assert self._is_under_way is not None
        unwanted = [
            due
            for due in self._live.values()
            if due.scope is scope and due.result is None and not self._is_under_way(due.path)
        ]
        for due in unwanted:
            del self._live[due.path]
            self._finish_one(scope)

    def took(self, path: str, outcome: NodeOutcome) -> None:
        """Go on: this came of a node.

        Raises:
            KeyError: the node is not due.
        """
        due = self._live.pop(path)
        self.steps += 1
        node, scope = due.node, due.scope
        for name, (value, lineage) in outcome.variables.items():
            scope.assign(name, value, lineage)
        if outcome.is_again:
            self._again(due)
        else:
            was_held = scope.held
            self._leave(scope, node, outcome)
            if scope.held and not was_held and self._is_under_way is not None:
                self._forget_unwanted(scope)
            self._finish_one(scope)
        self._settle()

    def outputs(self) -> tuple[JsonObject, Lineage]:
        """What the workflow gives: `outputs`, and those of every `end` that was reached.

        Raises:
            NoValue: an output has no value.
        """
        found = {name: expression.value(self.root) for name, expression in self.definition.outputs.items()}
        return {**found, **self.ended}, Mixed(
            tuple(expression.lineage(self.root) for expression in self.definition.outputs.values())
        )

    # Scopes -----------------------------------------------------------------------------------------------------------

    def _open(self, scope: Scope) -> None:
        scope.waiting = dict(scope.graph.incoming)
        for node in scope.graph.entries:
            self._begin(scope, node)
        if scope.active == 0:
            self._work.append(scope)

    def _begin(self, scope: Scope, node: GraphNode) -> None:
        if scope.held:
            return
        scope.active += 1
        path = scope.prefix + node.name
        due = Due(path, node, scope)
        if node.body is None:
            self._live[path] = due
            self._ready.append(due)
        else:
            self._begin_container(due)

    def _leave(self, scope: Scope, node: GraphNode, outcome: NodeOutcome) -> None:
        """A node was left: decide the edges behind it."""
        error, port = outcome.error, outcome.port or (node.ports[0] if node.ports else "")
        value, lineage = outcome.value, outcome.lineage
        if error is not None:
            rule = cast(OnError, node.settings.on_error)
            if isinstance(rule, Default):
                value, port = {**rule.default, ERROR: error.told}, port or OUT
                lineage = Built({ERROR: OF_ERROR}, DEVELOPER)
            elif rule == "branch":
                value, port, lineage = {ERROR: error.told}, ERROR, OF_ERROR
                scope.roots = {**scope.roots, ERROR: (error.told, OF_ERROR)}
            else:
                scope.states[node.name] = {ERROR: error.told}
                scope.failed = scope.failed or error
                scope.held = True
                return
        scope.states[node.name] = value
        scope.lineages[node.name] = lineage
        kind = node.type.name
        if kind in ("break", "continue"):
            scope.ends, scope.held = kind, True
        elif kind == "end":
            self.ended.update(value)
        if not scope.held:
            self._decide(scope, node, port)

    def _decide(self, scope: Scope, node: GraphNode, port: str | None) -> None:
        """Decide the edges behind a node, and behind those that are skipped by that."""
        behind, waiting = scope.graph.behind, scope.waiting
        decided: list[tuple[GraphNode, str | None]] = [(node, port)]
        for left, at in decided:
            for edge in behind[left.name]:
                target = edge.target
                if edge.port == at:
                    scope.taken.add(target)
                waiting[target] -= 1
                if waiting[target]:
                    continue
                reached = scope.graph.nodes[target]
                if target in scope.taken:
                    self._begin(scope, reached)
                else:
                    scope.states[target] = None
                    decided.append((reached, None))

    def _finish_one(self, scope: Scope) -> None:
        scope.active -= 1
        if scope.active == 0:
            self._work.append(scope)

    def _settle(self) -> None:
        """Go on with scopes in which nothing is under way any more."""
        while self._work:
            scope = self._work.popleft()
            if scope.holder is not None and scope.active == 0:
                self._end_pass(scope.holder, scope)

    # Containers -------------------------------------------------------------------------------------------------------

    def _begin_container(self, due: Due) -> None:
        settings, scope = due.node.settings, due.scope
        container = OpenContainer(due)
        self._containers[due.path] = container
        try:
            if isinstance(settings, EachNode):
                over = due.node.expressions["over"]
                items = over.value(scope)
                if not isinstance(items, list):
                    raise NoValue(f"over is no list, but {type(items).__name__}")
                if len(items) > ITEMS_MAX:
                    raise NoValue(f"over has {len(items)} items, and {ITEMS_MAX} are allowed")
                container.items, container.lineage = items, over.lineage(scope)
            else:
                given = due.node.expressions["vars"]
                values, lineage = given.value(scope), given.lineage(scope)
                if not isinstance(values, dict):
                    raise NoValue(f"vars is no object, but {type(values).__name__}")
                parts = lineage.parts if isinstance(lineage, Built) else {}
                container.variables = {name: (value, parts.get(name, lineage)) for name, value in values.items()}
        except NoValue as none:
            self._close(container, NodeOutcome(error=NodeError("no_value", str(none), due.path)))
            return
        self._go_on(container)

    def _go_on(self, container: OpenContainer) -> None:
        """Open as many passes as may be open, or close the container."""
        settings, body = container.due.node.settings, container.due.node.body
        assert body is not None
        if isinstance(settings, EachNode):
            while (
                container.next < len(container.items)
                and container.open < settings.parallel
                and not container.failed
                and not container.ends
            ):
                index = container.next
                container.next += 1
                container.open += 1
                item = (container.items[index], part_of(container.lineage, (index,)))
                self._open(self._pass(container, body, index, {"item": item, "index": (index, DEVELOPER)}))
            if container.open == 0:
                self._close(container, _each_result(container, settings))
        elif container.open == 0:
            index = container.next
            container.next += 1
            container.open = 1
            scope = self._pass(container, body, index, {"index": (index, DEVELOPER)})
            scope.variables = container.variables
            self._open(scope)

    def _pass(self, container: OpenContainer, body: Graph, index: int, roots: dict[str, tuple[Json, Lineage]]) -> Scope:
        outer = container.due.scope
        scope = Scope(body, f"{container.due.path}[{index}]/", outer, roots, container, index)
        if body.speakers:
            outer.passes.setdefault(container.due.node.name, deque()).append(scope)
        return scope

    def _end_pass(self, container: OpenContainer, scope: Scope) -> None:
        settings = container.due.node.settings
        container.open -= 1
        if scope.ends == "break":
            container.ends = "break"
        output, lineage, error = self._pass_output(container.due.node, scope)
        if isinstance(settings, EachNode):
            if error is None and isinstance(output, str | list | dict):
                error = self._takes_room(container, output)
            if error is None:
                container.outputs[scope.index] = output
                container.lineages[scope.index] = lineage
            elif settings.on_error == "null":
                container.outputs[scope.index] = None
            elif settings.on_error != "drop":
                container.failed = container.failed or error
            self._go_on(container)
            return
        assert isinstance(settings, LoopNode)
        self._end_loop_pass(container, settings, scope, output, lineage, error)

    def _takes_room(self, container: OpenContainer, output: Json) -> NodeError | None:
        """What the passes of a container give is bounded together, as the value of any node."""
        try:
            container.room -= size_of(output, chars_max=container.room).chars
        except TooLarge:
            return NodeError("too_large", f"the passes give more than {CHARS_MAX} characters", container.due.path)
        return None

    def _pass_output(self, node: GraphNode, scope: Scope) -> tuple[Json, Lineage, NodeError | None]:
        """What one pass of a container came to."""
        if scope.failed is not None:
            return None, DEVELOPER, scope.failed
        expression: Expression = node.expressions["output"]
        try:
            return expression.value(scope), expression.lineage(scope), None
        except NoValue as none:
            if none.skipped and scope.ends:
                return None, DEVELOPER, None
            return None, DEVELOPER, NodeError("no_value", f"output: {none}", f"{scope.prefix[:-1]}")

    def _end_loop_pass(
        self,
        container: OpenContainer,
        settings: LoopNode,
        scope: Scope,
        output: Json,
        lineage: Lineage,
        error: NodeError | None,
    ) -> None:
        due, done = container.due, bool(container.ends)
        if error is None and not done and "until" in due.node.expressions:
            try:
                met = due.node.expressions["until"].value(scope)
                if not isinstance(met, bool):
                    raise NoValue(f"until comes to a {type(met).__name__}, not to true or false")
                done = met
            except NoValue as none:
                error = NodeError("no_value", f"until: {none}", due.path)
        if error is None and not done and container.next >= settings.max:
            if "until" in due.node.expressions:
                message = f"the condition was not true after {settings.max} passes"
                error = NodeError("loop_limit", message, due.path)
            done = True
        if error is not None:
            self._close(container, NodeOutcome(error=error))
        elif done:
            value: JsonObject = {"output": output, "passes": container.next}
            self._close(container, NodeOutcome(value=value, lineage=Built({"output": lineage}, DEVELOPER)))
        else:
            self._go_on(container)

    def _close(self, container: OpenContainer, result: NodeOutcome) -> None:
        """The last pass is over: the container is due once more, with its result."""
        due = container.due
        closed = Due(due.path, due.node, due.scope, result)
        del self._containers[due.path]
        self._live[due.path] = closed
        self._ready.append(closed)

    def _again(self, due: Due) -> None:
        """Carry a container out anew; or any other node, which is due once more."""
        if due.node.body is None:
            self._live[due.path] = due
            self._ready.append(due)
        else:
            self._begin_container(Due(due.path, due.node, due.scope))


def _each_result(container: OpenContainer, settings: EachNode) -> NodeOutcome:
    if container.failed is not None:
        return NodeOutcome(error=container.failed)
    items: list[Json] = []
    lineages: dict[str | int, Lineage] = {}
    for index in sorted(container.outputs):
        output, lineage = container.outputs[index], container.lineages.get(index, DEVELOPER)
        if settings.flatten and isinstance(output, list):
            for inner, item in enumerate(output):
                lineages[len(items)] = part_of(lineage, (inner,))
                items.append(item)
        else:
            lineages[len(items)] = lineage
            items.append(output)
    return NodeOutcome(value={"output": items}, lineage=Built({"output": Built(lineages, DEVELOPER)}, DEVELOPER))
