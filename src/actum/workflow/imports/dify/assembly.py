"""Puts the nodes of a Dify graph together: containers with their bodies, edges, and what a chat flow answers."""

from __future__ import annotations

from ....core.json import Json, JsonObject
from ..report import FieldReader, ImportNotes
from ..secrets import Secrets
from .conditions import joined
from .graph import CONTAINERS, FAIL, INNER_STARTS, STARTS, DifyGraph, DifyNode
from .nodes import CONVERTERS, UNKNOWN, Converted, NodeConversion, parsed
from .outside import OUTSIDE
from .references import Place, References

_MODES = {"terminated": "stop", "continue-on-error": "null", "remove-abnormal-output": "drop"}
_PARALLEL_MAX = 64
_PASSES_MAX = 10_000


class GraphBody:
    """The nodes and edges of a workflow or of a container."""

    def __init__(self) -> None:
        self.nodes: JsonObject = {}
        self.edges: list[str] = []
        self.entries: list[str] = []


class Assembly:
    """Puts a graph together.

    Args:
        graph: the nodes of the file.
        references: finds what they refer to.
        secrets: keeps what must not stand in plain text.
        notes: where to report.
    """

    def __init__(self, graph: DifyGraph, references: References, secrets: Secrets, notes: ImportNotes) -> None:
        self._graph = graph
        self._references = references
        self._secrets = secrets
        self._notes = notes
        self.view: JsonObject = {}

    def body(self, scope: str) -> GraphBody:
        """The nodes and edges of a container, or of the workflow itself."""
        graph, body = self._graph, GraphBody()
        converted: dict[str, Converted] = {}
        for node in graph.inside(scope):
            if node.kind in STARTS or node.kind in INNER_STARTS:
                if node.kind in INNER_STARTS:
                    node.data.editor_only(*node.data.fields())
                continue
            found = self._node(node)
            converted[node.id] = found
            body.nodes |= found.nodes
            body.edges += found.edges
            self._notes.names[node.id] = node.name
            if node.place is not None:
                self.view[node.name] = list(node.place)
        joined_to: set[str] = set()
        for edge in graph.edges_in(scope):
            source, target = converted.get(edge.source), converted.get(edge.target)
            if source is None or target is None:
                continue
            exit_ = source.exits.get(edge.handle, source.exits[""])
            body.edges.append(f"{exit_} > {target.entry}")
            joined_to.add(target.entry)
        body.edges = list(dict.fromkeys(body.edges))
        body.entries = [
            each.entry
            for id_, each in converted.items()
            if each.entry not in joined_to and graph.nodes[id_].kind != "note"
        ]
        return body

    def _node(self, node: DifyNode) -> Converted:
        conversion = NodeConversion(node, self._references, self._secrets, self._notes.settings, self._graph.fresh)
        if node.kind in CONTAINERS:
            return (self._iteration if node.kind == "iteration" else self._loop)(conversion)
        convert = CONVERTERS.get(node.kind) or OUTSIDE.get(node.kind) or UNKNOWN
        return convert(conversion)

    # Containers -------------------------------------------------------------------------------------------------------

    def _iteration(self, c: NodeConversion) -> Converted:
        data, node = c.data, c.node
        data.editor_only("start_node_id", "iterator_input_type", "output_type", "parent_loop_id", "outputs")
        mode = data.text("error_handle_mode", "terminated")
        if mode not in _MODES:
            data.lost("error_handle_mode", "this mode is not known: the first failure ends the iteration")
        parallel = int(data.number("parallel_nums", 10))
        main: JsonObject = {
            "type": "each",
            "over": self._over(c),
            "parallel": max(1, min(_PARALLEL_MAX, parallel)) if data.flag("is_parallel") else 1,
            "on_error": _MODES.get(mode, "stop"),
            "flatten": data.flag("flatten_output", True),
        }
        if parallel > _PARALLEL_MAX and main["parallel"] != 1:
            data.near("parallel_nums", f"at most {_PARALLEL_MAX} at a time")
        if main["flatten"]:
            data.near("flatten_output", "each list is flattened, also where some outputs are no lists")
        body = self.body(node.id)
        output = self._references.find(data.texts("output_selector"), Place(node.id))
        if output is None:
            data.lost("output_selector", "this output is not there")
            main["output"] = None
        else:
            main["output"] = self._references.of_ref(output, data, "output_selector")
        alias = self._references.aliases.get(node.id)
        if alias:
            body.nodes = {
                alias: {"type": "merge", "groups": {"item": ["${item}"], "index": ["${index}"]}},
                **body.nodes,
            }
            body.edges += [f"{alias} > {entry}" for entry in body.entries]
        main |= {"nodes": body.nodes, "edges": list(body.edges)}
        c.retry(main, calls=False)
        if data.text("error_strategy") not in ("", "none"):
            data.lost("error_strategy", "an iteration has its own way with failures")
        return Converted({node.name: main}, {"": node.name})

    def _over(self, c: NodeConversion) -> Json:
        found = self._references.find(c.data.texts("iterator_selector"), c.place)
        if found is None or found.secret:
            c.data.lost("iterator_selector", "this list is not there, or not upstream: nothing is gone through")
            return []
        if found.optional and not found.cel:
            return f"${{{found.path}?|loose_items}}"
        return found.value if found.cel else f"${{{found.path}|loose_items}}"

    def _loop(self, c: NodeConversion) -> Converted:
        data, node = c.data, c.node
        data.editor_only("start_node_id", "error_handle_mode", "outputs")
        known: dict[str, tuple[str, str]] = {}
        variables: JsonObject = {}
        for each in data.objects("loop_variables"):
            each.editor_only("id")
            label = each.text("label")
            name = self._references.variable_name(label)
            known[label] = (name, each.text("var_type", "any"))
            variables[name] = self._first_value(c, each)
        self._references.loop_variables[node.id] = known
        count = max(1, min(_PASSES_MAX, int(data.number("loop_count", 10))))
        body = self.body(node.id)
        conditions, operator = data.objects("break_conditions"), data.text("logical_operator", "and")
        main: JsonObject = {"type": "loop", "vars": variables, "max": count}
        if conditions:
            until = joined(conditions, operator, self._references, Place(node.id))
            main["until"] = f"({until}) || index + 1 >= {count}"
            if self._is_of_variables(node.id, conditions):
                self._not_even_once(c, body, until)
        main["output"] = {label: f"${{vars.{name}}}" for label, (name, _) in known.items()}
        if set(known) == {"cel"}:
            main["output"] = None
        main |= {"nodes": body.nodes, "edges": list(body.edges)}
        c.retry(main, calls=False)
        strategy = data.text("error_strategy")
        exits = {"": node.name}
        if strategy == FAIL:
            main["on_error"] = "branch"
            exits[FAIL] = f"{node.name}.error"
        elif strategy not in ("", "none"):
            data.lost("error_strategy", "a loop has no default value")
        return Converted({node.name: main}, exits)

    def _is_of_variables(self, loop: str, conditions: list[FieldReader]) -> bool:
        """Whether conditions speak of no node inside of the loop, so that they mean something before the first pass."""
        inside = {node.id for node in self._graph.inside(loop)}
        return not any(name in inside for each in conditions for name in each.texts("variable_selector")[:1])

    def _not_even_once(self, c: NodeConversion, body: GraphBody, until: str) -> None:
        """Dify looks at the conditions before the first pass, too."""
        first, stop = c.fresh(f"{c.node.name}_begin"), c.fresh(f"{c.node.name}_stop")
        entries = list(body.entries)
        body.nodes = {
            first: {"type": "if", "cases": [{"port": "stop", "when": f"index == 0 && ({until})"}]},
            stop: {"type": "break"},
            **body.nodes,
        }
        body.edges += [f"{first}.stop > {stop}", *(f"{first}.else > {entry}" for entry in entries)]

    def _first_value(self, c: NodeConversion, each: FieldReader) -> Json:
        value, kind = each.raw("value"), each.text("value_type", "constant")
        if kind == "variable":
            return c.value(each, "value") if isinstance(value, list) else None
        type_ = each.text("var_type")
        if isinstance(value, str) and type_ not in ("string", ""):
            value = parsed(value)
        if value is None or (value == "" and type_ != "string"):
            value = _zero(type_)
        return self._references.constant(value, each, "value")


def _zero(type_: str) -> Json:
    if type_.startswith("array"):
        return []
    return {"string": "", "number": 0, "object": {}, "boolean": False}.get(type_)  # type: ignore[return-value]
