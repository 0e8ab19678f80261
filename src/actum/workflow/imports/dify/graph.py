"""The graph of a Dify file: its nodes by id, the containers that hold them, and the edges that can be taken.

A node that nothing leads to never runs in Dify, and is left out. Edges of no use are reported.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from msgspec import Struct

from ..ref import RESERVED
from ..report import FieldReader, ImportNotes

NODES_MAX = 2_000
"""The most nodes of a file."""
NESTING_MAX = 8
"""How deep containers may be nested."""

CONTAINERS = frozenset({"iteration", "loop"})
STARTS = frozenset({"start", "trigger-webhook", "trigger-schedule", "trigger-plugin", "datasource"})
INNER_STARTS = frozenset({"iteration-start", "loop-start"})
FAIL = "fail-branch"

_FRAME = (
    *("positionAbsolute", "width", "height", "selected", "dragging", "sourcePosition", "targetPosition", "zIndex"),
    *("extent", "draggable", "selectable", "resizing", "deletable", "measured", "type", "style", "hidden"),
)
_EDGE_FRAME = ("data", "id", "selected", "targetHandle", "type", "zIndex", "style", "animated", "markerEnd", "hidden")
_LAYOUT = (
    *("selected", "width", "height", "isInIteration", "isInLoop", "isIterationStart", "isLoopStart", "startNodeType"),
    *("_isBundled", "_targetBranches", "_connectedSourceHandleIds", "_connectedTargetHandleIds", "_runningStatus"),
    *("_children", "_isCandidate", "_isSingleRun", "_isEntering", "_isShowTips", "_waitingRun", "parentId"),
)


class DifyNode(Struct, eq=False):
    """A node of a Dify file.

    Attributes:
        id: its id.
        kind: its type in Dify; `note` for a note.
        data: its fields.
        parent: the id of the container that holds the node; empty for none.
        name: what the node is called in our file.
        title: what a person called the node.
        place: where an editor shows the node.
    """

    id: str
    kind: str
    data: FieldReader
    parent: str
    name: str
    title: str
    place: tuple[int, int] | None = None


class DifyEdge(Struct, frozen=True):
    """From a handle of a node to another node."""

    source: str
    handle: str
    target: str


class DifyGraph:
    """The nodes and edges of a file.

    Args:
        graph: what the file says.
        notes: where to report.
    """

    def __init__(self, graph: FieldReader, notes: ImportNotes) -> None:
        self.notes = notes
        self.nodes: dict[str, DifyNode] = {}
        self.edges: list[DifyEdge] = []
        self.above: dict[str, frozenset[str]] = {}
        self.certain: dict[str, frozenset[str]] = {}
        self._taken: set[str] = set()
        graph.editor_only("viewport")
        for item in graph.objects("nodes")[:NODES_MAX]:
            self._read_node(item)
        if len(graph.items("nodes")) > NODES_MAX:
            graph.lost("nodes", f"the file has more than {NODES_MAX} nodes")
        for node in self.nodes.values():
            node.parent = self._parent(node)
        self._read_edges(graph)
        for scope in ["", *(node.id for node in self.nodes.values() if node.kind in CONTAINERS)]:
            if scope and scope not in self.nodes:  # its container was left out
                continue
            self._cut_cycles(scope)
            self._drop_unreachable(scope)
            self._order(scope)
        self._drop_orphans()

    # Reading ----------------------------------------------------------------------------------------------------------

    def _read_node(self, item: FieldReader) -> None:
        id_ = item.text("id")
        place = item.object("position")
        x, y = place.number("x", 0), place.number("y", 0)
        kind = item.value.get("type")
        inner = item.value.get("data")
        item.raw("data")
        item.raw("parentId")
        item.editor_only(*_FRAME)
        if not id_ or id_ in self.nodes:
            item.lost("id", "this id stands twice" if id_ else "a node has no id")
            return
        shown = inner if isinstance(inner, dict) else {}
        title = shown.get("title") if isinstance(shown.get("title"), str) else ""
        type_ = shown.get("type") if isinstance(shown.get("type"), str) else ""
        title, type_ = str(title), str(type_)
        if kind == "custom-note" or (not type_ and "text" in shown):
            type_ = "note"
        name = self._name(title, type_)
        data = self.notes.reader(inner, id=id_, name=name, title=title)
        for field in ("title", "type"):
            data.raw(field)
        data.editor_only(*_LAYOUT)
        for field in ("iteration_id", "loop_id", "desc"):
            data.raw(field)
        parent = next(
            (
                str(each)
                for each in (item.value.get("parentId"), shown.get("iteration_id"), shown.get("loop_id"))
                if isinstance(each, str) and each and each != id_
            ),
            "",
        )
        self.nodes[id_] = DifyNode(
            id_, type_, data, parent, name, title, (int(x), int(y)) if "position" in item else None
        )

    def _name(self, title: str, kind: str) -> str:
        base = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")[:40].strip("_") if title.isascii() else ""
        if not base or not base[0].isalpha():
            base = re.sub(r"[^a-z0-9]+", "_", kind.lower()).strip("_")[:40] or "node"
        if not base[0].isalpha():
            base = f"node_{base}"
        return self.fresh(base)

    def fresh(self, base: str) -> str:
        """A name that no node has."""
        name, number = f"{base}_node" if base in RESERVED else base, 1
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name

    def _parent(self, node: DifyNode) -> str:
        parent, seen = self.nodes.get(node.parent), 0
        if parent is None or parent.kind not in CONTAINERS:
            return ""
        at: DifyNode | None = parent
        while at is not None:
            seen += 1
            if seen > NESTING_MAX or at is node:
                node.data.lost("", "this node stands in containers that hold each other, or too deep")
                return ""
            at = self.nodes.get(at.parent)
        return node.parent

    def _read_edges(self, graph: FieldReader) -> None:
        found: dict[DifyEdge, None] = {}
        for item in graph.objects("edges")[: NODES_MAX * 10]:
            edge = DifyEdge(item.text("source"), item.text("sourceHandle", "source"), item.text("target"))
            item.editor_only(*_EDGE_FRAME)
            problem = self._problem(edge)
            if problem:
                item.lost("", problem)
            else:
                found[edge] = None
        self.edges = list(found)

    def _problem(self, edge: DifyEdge) -> str:
        source, target = self.nodes.get(edge.source), self.nodes.get(edge.target)
        if source is None or target is None:
            return "an edge leads from or to a node that is not there"
        if source.parent != target.parent:
            return "an edge crosses the border of a container"
        if "note" in (source.kind, target.kind) or edge.source == edge.target:
            return "an edge leads from or to a note, or back to its own node"
        handles = handles_of(source)
        if handles is not None and edge.handle not in handles:
            return "an edge begins at a handle that its node does not have"
        return ""

    # Order ------------------------------------------------------------------------------------------------------------

    def inside(self, scope: str) -> list[DifyNode]:
        """The nodes of a container, or of the graph itself."""
        return [node for node in self.nodes.values() if node.parent == scope]

    def edges_in(self, scope: str) -> list[DifyEdge]:
        """The edges between nodes of a container, or of the graph itself."""
        return [edge for edge in self.edges if self.nodes[edge.source].parent == scope]

    def entries(self, scope: str) -> list[DifyNode]:
        """The nodes at which a scope begins."""
        nodes = [node for node in self.inside(scope) if node.kind != "note"]
        if scope:
            begin = self.nodes[scope].data.value.get("start_node_id")
            named = [node for node in nodes if node.id == begin] or [n for n in nodes if n.kind in INNER_STARTS]
        else:
            named = [node for node in nodes if node.kind in STARTS]
        if named:
            return named
        targets = {edge.target for edge in self.edges_in(scope)}
        return [node for node in nodes if node.id not in targets]

    def _cut_cycles(self, scope: str) -> None:
        behind: dict[str, list[DifyEdge]] = {}
        for edge in self.edges_in(scope):
            behind.setdefault(edge.source, []).append(edge)
        state: dict[str, int] = {}
        cut: set[DifyEdge] = set()
        begins = [node.id for node in self.entries(scope)] + [node.id for node in self.inside(scope)]
        for begin in begins:
            if begin in state:
                continue
            state[begin] = 1
            stack = [(begin, iter(behind.get(begin, ())))]
            while stack:
                at, rest = stack[-1]
                way = next(rest, None)
                if way is None:
                    state[at] = 2
                    stack.pop()
                elif state.get(way.target) == 1:
                    cut.add(way)
                elif way.target not in state:
                    state[way.target] = 1
                    stack.append((way.target, iter(behind.get(way.target, ()))))
        for edge in cut:
            self.nodes[edge.source].data.lost("edges", "an edge closes a cycle: use a loop")
        self.edges = [edge for edge in self.edges if edge not in cut]

    def _drop_unreachable(self, scope: str) -> None:
        behind: dict[str, list[str]] = {}
        for edge in self.edges_in(scope):
            behind.setdefault(edge.source, []).append(edge.target)
        reached = [node.id for node in self.entries(scope)]
        seen = set(reached)
        for at in reached:
            for target in behind.get(at, ()):
                if target not in seen:
                    seen.add(target)
                    reached.append(target)
        for node in self.inside(scope):
            if node.id not in seen and node.kind != "note":
                node.data.near("", "nothing leads to this node, so that it never ran: the node is left out")
                del self.nodes[node.id]
        self.edges = [edge for edge in self.edges if edge.source in self.nodes and edge.target in self.nodes]

    def _drop_orphans(self) -> None:
        """Leave out the nodes of containers that were left out."""
        while gone := [node for node in self.nodes.values() if node.parent and node.parent not in self.nodes]:
            for node in gone:
                node.data.near("", "the container of this node never ran: the node is left out")
                del self.nodes[node.id]
        self.edges = [edge for edge in self.edges if edge.source in self.nodes and edge.target in self.nodes]

    def _order(self, scope: str) -> None:
        """Find out which nodes are upstream of each node, and which of them are never skipped where the node is not."""
        edges, nodes = self.edges_in(scope), [node for node in self.inside(scope) if node.kind != "note"]
        into: dict[str, list[str]] = {node.id: [] for node in nodes}
        for edge in edges:
            into[edge.target].append(edge.source)
        for at in _sorted(into):
            sources = into[at]
            self.above[at] = frozenset({each for s in sources for each in (s, *self.above[s])})
            ways = [self.certain[s] | {s} for s in sources]
            self.certain[at] = frozenset.intersection(*ways) if ways else frozenset()


def _sorted(into: dict[str, list[str]]) -> Iterable[str]:
    """Ids, each behind those that lead to it."""
    left = {name: len(sources) for name, sources in into.items()}
    behind: dict[str, list[str]] = {}
    for name, sources in into.items():
        for source in sources:
            behind.setdefault(source, []).append(name)
    ready = [name for name, count in left.items() if not count]
    for name in ready:
        yield name
        for target in behind.get(name, ()):
            left[target] -= 1
            if not left[target]:
                ready.append(target)


def handles_of(node: DifyNode) -> Collection[str] | None:
    """The handles of a branching node, and of a node that can fail into a branch; None where any handle will do."""
    value = node.data.value
    handles: set[str]
    match node.kind:
        case "if-else":
            cases = value.get("cases")
            handles = {"false"} | (_ids(cases, "case_id") or _ids(cases, "id") if cases is not None else {"true"})
        case "question-classifier":
            handles = _ids(value.get("classes"), "id")
        case "human-input":
            actions = _ids(value.get("user_actions"), "id")
            handles = actions | {"__timeout"} if actions else {"source", "__timeout"}
        case _:
            if value.get("error_strategy") == FAIL:
                return {"source", "success-branch", FAIL}
            return None
    return handles | {FAIL} if value.get("error_strategy") == FAIL else handles


def _ids(items: object, field: str) -> set[str]:
    found: set[str] = set()
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and isinstance(item.get(field), str | int):
            found.add(str(item[field]))
    return found
