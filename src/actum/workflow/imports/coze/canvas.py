"""The nodes of a Coze canvas by id, the containers that hold them, and the edges that can be taken.

A node that nothing leads to never runs in Coze, and is left out. Edges of no use are reported.
"""

from __future__ import annotations

import re

from msgspec import Struct

from ...definition.expression import ROOTS
from ...definition.functions import FUNCTIONS
from ..ref import RESERVED
from ..report import FieldReader, ImportNotes

NODES_MAX = 2_000
"""The most nodes of a canvas."""
NESTING_MAX = 8
"""How deep containers may be nested."""

ENTRY, EXIT, MODEL, PLUGIN, CODE, KNOWLEDGE, SELECTOR, SUBWORKFLOW = "1", "2", "3", "4", "5", "6", "8", "9"
SAY, TEXT, QUESTION, BREAK, SET_IN_LOOP, LOOP, INTENT, BATCH = "13", "15", "18", "19", "20", "21", "22", "28"
CONTINUE, RECEIVER, COMMENT, AGGREGATOR, ASSIGNER, HTTP = "29", "30", "31", "32", "40", "45"
TO_JSON, FROM_JSON = "58", "59"

CONTAINERS = frozenset({LOOP, BATCH})
HISTORY = frozenset({"24", "25", "37", "38", "39", "51", "52", "53", "54", "55", "56", "57"})
"""Nodes that read or change the messages of a conversation or of a scene. Nothing here does so."""
ERROR = "branch_error"
KINDS: dict[str, str] = {
    ENTRY: "start",
    EXIT: "end",
    MODEL: "model",
    PLUGIN: "plugin",
    CODE: "code",
    KNOWLEDGE: "knowledge",
    SELECTOR: "selector",
    SUBWORKFLOW: "workflow",
    "12": "database",
    SAY: "say",
    "14": "image",
    TEXT: "text",
    "16": "image",
    "17": "image",
    QUESTION: "question",
    BREAK: "break",
    SET_IN_LOOP: "set",
    LOOP: "loop",
    INTENT: "intent",
    "23": "image",
    "24": "scene_variable",
    "25": "scene_chat",
    "26": "long_term_memory",
    "27": "knowledge_write",
    BATCH: "batch",
    CONTINUE: "continue",
    RECEIVER: "input",
    COMMENT: "note",
    AGGREGATOR: "merge",
    "34": "trigger_upsert",
    "35": "trigger_delete",
    "36": "trigger_read",
    "37": "message_list",
    "38": "clear_history",
    "39": "create_conversation",
    ASSIGNER: "set",
    "42": "database_update",
    "43": "database_query",
    "44": "database_delete",
    HTTP: "http",
    "46": "database_insert",
    "51": "update_conversation",
    "52": "delete_conversation",
    "53": "conversation_list",
    "54": "history",
    "55": "create_message",
    "56": "edit_message",
    "57": "delete_message",
    TO_JSON: "to_json",
    FROM_JSON: "from_json",
    "60": "knowledge_delete",
    "11": "variable",
    "1000": "lambda",
}
"""What a node without a usable title is called, by its type."""

_OUT_OF = frozenset({"loop-output", "batch-output", "default"})
_INTO = frozenset({"loop-function-inline-output", "batch-function-inline-output"})


class CozeNode(Struct, eq=False):
    """A node of a canvas.

    Attributes:
        id: its id.
        kind: its number in Coze, as a text.
        data: its settings.
        inputs: the `inputs` of its settings.
        parent: the id of the container that holds the node; empty for none.
        name: what the node is called in our file.
        title: what a person called the node.
        place: where an editor shows the node.
    """

    id: str
    kind: str
    data: FieldReader
    inputs: FieldReader
    parent: str
    name: str
    title: str
    place: tuple[int, int] | None = None

    @property
    def error_branch(self) -> bool:
        """Whether the workflow goes on at an edge of its own where the node fails."""
        found = self.error_rule.value
        return found.get("processType") == 3 and found.get("switch") is not False

    @property
    def error_rule(self) -> FieldReader:
        """What happens where the node fails. Files of old have this beside the inputs."""
        return (self.inputs if "settingOnError" in self.inputs else self.data).object("settingOnError")

    @property
    def is_batch(self) -> bool:
        """Whether the node is carried out for each item of a list."""
        found = self.inputs.value.get("batch")
        return isinstance(found, dict) and found.get("batchEnable") is True


class CozeEdge(Struct, frozen=True):
    """From a port of a node to another node."""

    source: str
    port: str
    target: str


class Canvas:
    """The nodes and edges of a file.

    Args:
        file: what the file says.
        notes: where to report.
    """

    def __init__(self, file: FieldReader, notes: ImportNotes) -> None:
        self.notes = notes
        self.nodes: dict[str, CozeNode] = {}
        self.edges: list[CozeEdge] = []
        self.above: dict[str, frozenset[str]] = {}
        self._taken: set[str] = set()
        self._starts: dict[str, set[str]] = {}
        lists = self._read_nodes(file, "", 0)
        for scope, reader in lists:
            self._read_edges(scope, reader)
        for scope in ["", *(node.id for node in list(self.nodes.values()) if node.kind in CONTAINERS)]:
            if not scope or scope in self.nodes:
                self._drop_unreachable(scope)
                self._order(scope)

    def inside(self, scope: str) -> list[CozeNode]:
        """The nodes of a container, or of the canvas itself."""
        return [node for node in self.nodes.values() if node.parent == scope]

    def edges_in(self, scope: str) -> list[CozeEdge]:
        """The edges of a container, or of the canvas itself."""
        return [edge for edge in self.edges if self.nodes[edge.source].parent == scope]

    def fresh(self, base: str) -> str:
        """A name that no node has."""
        name, number = f"{base}_node" if base in RESERVED else base, 1
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name

    # Reading ----------------------------------------------------------------------------------------------------------

    def _read_nodes(self, holder: FieldReader, parent: str, depth: int) -> list[tuple[str, FieldReader]]:
        found = [(parent, holder)]
        for item in holder.objects("blocks" if parent else "nodes"):
            if len(self.nodes) >= NODES_MAX:
                holder.lost("nodes", f"the file has more than {NODES_MAX} nodes")
                break
            node = self._read_node(item, parent)
            if node is None:
                continue
            if node.kind not in CONTAINERS:
                for field in ("blocks", "edges"):
                    if item.raw(field):
                        item.lost(field, "only a loop or a batch holds nodes")
            elif depth >= NESTING_MAX:
                node.data.lost("", "containers stand too deep in each other")
                item.raw("blocks")
                item.raw("edges")
            else:
                found += self._read_nodes(item, node.id, depth + 1)
        return found

    def _read_node(self, item: FieldReader, parent: str) -> CozeNode | None:
        id_, kind = item.text("id"), item.text("type")
        place = item.value.get("meta")
        item.taken("meta")
        item.editor_only("version", "_temp")
        inner = item.value.get("data")
        item.raw("data")
        if not id_ or id_ in self.nodes:
            item.lost("id", "this id stands twice" if id_ else "a node has no id")
            return None
        shown = inner.get("nodeMeta") if isinstance(inner, dict) else None
        title = shown.get("title") if isinstance(shown, dict) else None
        title = title if isinstance(title, str) else ""
        name = self._name(title, kind)
        data = self.notes.reader(inner, id=id_, name=name, title=title)
        data.raw("nodeMeta")
        data.taken("trigger_parameters")
        data.editor_only("size", "version", "inputDefs")
        inputs = data.object("inputs")
        inputs.editor_only("inputDefs")
        node = CozeNode(id_, kind, data, inputs, parent, name, title, _place(place))
        self.nodes[id_] = node
        return node

    def _name(self, title: str, kind: str) -> str:
        base = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")[:40].strip("_") if title.isascii() else ""
        if not base or not base[0].isalpha():
            base = KINDS.get(kind, f"node_{re.sub(r'[^a-z0-9]+', '_', kind.lower())[:30]}".strip("_"))
        name = self.fresh(f"{base}_node" if base in ROOTS or base in FUNCTIONS else base)
        while kind == QUESTION and f"{name}_values" in self._taken:  # what a question extracts has a node of its own
            name = self.fresh(base)
        if kind == QUESTION:
            self._taken.add(f"{name}_values")
        return name

    def _read_edges(self, scope: str, holder: FieldReader) -> None:
        found: dict[CozeEdge, None] = {}
        for item in holder.objects("edges")[: NODES_MAX * 10]:
            source, target = item.text("sourceNodeID"), item.text("targetNodeID")
            port = item.text("sourcePortID")
            item.taken("targetPortID")
            item.editor_only("id", "data")
            if scope and source == scope and target in self.nodes and self.nodes[target].parent == scope:
                self._starts.setdefault(scope, set()).add(target)
                continue
            if scope and target == scope:
                continue
            edge = CozeEdge(source, self._port(source, port), target)
            problem = self._problem(edge, scope, port)
            if problem:
                item.lost("", problem)
            else:
                found[edge] = None
        self.edges += found

    def _port(self, source: str, port: str) -> str:
        node = self.nodes.get(source)
        branches = node is not None and node.kind in (SELECTOR, INTENT, QUESTION)
        return "" if port in _OUT_OF and not (branches and port == "default") else port

    def _problem(self, edge: CozeEdge, scope: str, port: str) -> str:
        source, target = self.nodes.get(edge.source), self.nodes.get(edge.target)
        if source is None or target is None:
            return "an edge leads from or to a node that is not there"
        if source.parent != scope or target.parent != scope or port in _INTO:
            return "an edge crosses the border of a container"
        if COMMENT in (source.kind, target.kind) or source is target or target.kind == ENTRY:
            return "an edge leads from or to a comment, to the start, or back to its own node"
        if source.kind in (EXIT, BREAK, CONTINUE):
            return "nothing comes behind this node"
        if edge.port not in ports_of(source):
            return f"the node has no port {port[:40]!r}"
        return ""

    # Order ------------------------------------------------------------------------------------------------------------

    def _drop_unreachable(self, scope: str) -> None:
        nodes = self.inside(scope)
        starts = self._starts.get(scope, set()) if scope else {node.id for node in nodes if node.kind == ENTRY}
        if not scope and not starts:  # what the editor copies has no start
            led_to = {edge.target for edge in self.edges_in(scope)}
            starts = {node.id for node in nodes if node.id not in led_to}
        after: dict[str, list[str]] = {}
        for edge in self.edges_in(scope):
            after.setdefault(edge.source, []).append(edge.target)
        reached, todo = set(starts), list(starts)
        while todo:
            for target in after.get(todo.pop(), ()):
                if target not in reached:
                    reached.add(target)
                    todo.append(target)
        for node in nodes:
            if node.id not in reached and node.kind != COMMENT:
                self._drop(node, "nothing leads to this node: it never runs in Coze, and is left out")

    def _drop(self, node: CozeNode, message: str) -> None:
        """Leave a node out, with what it holds."""
        todo = [node]
        while todo:
            each = todo.pop()
            if self.nodes.pop(each.id, None) is None:
                continue
            for field in list(each.data.fields()):
                each.data.raw(field)
            each.data.near("", message)
            todo += self.inside(each.id)
        self.edges = [edge for edge in self.edges if edge.source in self.nodes and edge.target in self.nodes]

    def _order(self, scope: str) -> None:
        """Cut cycles, and note the nodes above each node."""
        self._cut_cycles(scope)
        edges = self.edges_in(scope)
        waits: dict[str, set[str]] = {node.id: set() for node in self.inside(scope)}
        after: dict[str, set[str]] = {}
        for edge in edges:
            waits[edge.target].add(edge.source)
            after.setdefault(edge.source, set()).add(edge.target)
        outer = frozenset[str]() if not scope else self.above.get(scope, frozenset()) | {scope}
        above: dict[str, set[str]] = {id_: set(outer) for id_ in waits}
        ready = [id_ for id_, sources in waits.items() if not sources]
        while ready:
            id_ = ready.pop()
            self.above[id_] = frozenset(above[id_])
            for target in after.get(id_, ()):
                above[target] |= above[id_] | {id_}
                waits[target].discard(id_)
                if not waits[target]:
                    ready.append(target)

    def _cut_cycles(self, scope: str) -> None:
        """Cut each edge that leads back to a node from which it came."""
        after: dict[str, list[str]] = {node.id: [] for node in self.inside(scope)}
        for edge in self.edges_in(scope):
            after[edge.source].append(edge.target)
        cut: set[tuple[str, str]] = set()
        begun: set[str] = set()
        done: set[str] = set()
        led_to = {target for targets in after.values() for target in targets}
        for start in sorted(after, key=lambda id_: id_ in led_to):  # those to which nothing leads come first
            way = [(start, iter(after[start]))] if start not in begun else []
            begun.add(start)
            while way:
                id_, targets = way[-1]
                target = next(targets, None)
                if target is None:
                    done.add(id_)
                    way.pop()
                elif target not in begun:
                    begun.add(target)
                    way.append((target, iter(after[target])))
                elif target not in done:
                    cut.add((id_, target))
                    self.nodes[target].data.lost("", "a cycle of edges is cut in front of this node")
        if cut:
            self.edges = [edge for edge in self.edges if (edge.source, edge.target) not in cut]


def ports_of(node: CozeNode) -> tuple[str, ...]:
    """The ports at which a canvas can go on behind a node."""
    error = (ERROR,) if node.error_branch else ()
    match node.kind:
        case "8":
            return ("false", *(selector_port(index) for index in range(_count(node, "branches"))))
        case "22":
            return ("default", *(f"branch_{index}" for index in range(_count(node, "intents"))), *error)
        case "18" if node.inputs.value.get("answer_type") == "option":
            if node.inputs.value.get("option_type") == "dynamic":
                return ("default", "branch_0", "")
            return ("default", *(f"branch_{index}" for index in range(_count(node, "options"))))
        case "18":
            return ("", "default", "branch_0")
        case _:
            return ("", *error)


def selector_port(index: int) -> str:
    """The port of a branch of a selector."""
    return f"true_{index}" if index else "true"


def _count(node: CozeNode, field: str) -> int:
    value = node.inputs.value.get(field)
    return len(value) if isinstance(value, list) else 0


def _place(meta: object) -> tuple[int, int] | None:
    position = meta.get("position") if isinstance(meta, dict) else None
    if not isinstance(position, dict):
        return None
    x, y = position.get("x"), position.get("y")
    if any(isinstance(each, bool) or not isinstance(each, int | float) or abs(each) > 1e9 for each in (x, y)):
        return None
    return (int(x), int(y))  # type: ignore[arg-type]  # both are numbers
