"""Puts the nodes of a Coze canvas together: loops and batches with their bodies, and the edges."""

from __future__ import annotations

from ....core.json import Json, JsonObject
from ..ref import Ref
from ..secrets import Secrets
from .canvas import COMMENT, CONTAINERS, ENTRY, ERROR, LOOP, Canvas, CozeNode
from .nodes import COMPUTED_MAX, CONVERTERS, PARALLEL_MAX, CozeConversion, CozeConverted, rows
from .outside import OUTSIDE, UNKNOWN
from .values import CanvasValues, Constant, Term, in_cel

PASSES_MAX = 10_000


class CanvasBody:
    """The nodes and edges of a workflow or of a container."""

    def __init__(self) -> None:
        self.nodes: JsonObject = {}
        self.edges: list[str] = []
        self.entries: list[str] = []
        self.ends: list[str] = []


class CanvasAssembly:
    """Puts a canvas together.

    Args:
        canvas: the nodes of the file.
        values: finds what they refer to.
        secrets: keeps what must not stand in plain text.
    """

    def __init__(self, canvas: Canvas, values: CanvasValues, secrets: Secrets) -> None:
        self._canvas = canvas
        self._values = values
        self._secrets = secrets
        self.view: JsonObject = {}

    def body(self, scope: str) -> CanvasBody:
        """The nodes and edges of a container, or of the workflow itself."""
        canvas, body = self._canvas, CanvasBody()
        converted: dict[str, CozeConverted] = {}
        for node in canvas.inside(scope):
            if node.kind == ENTRY:
                continue
            found = self._node(node)
            converted[node.id] = found
            body.nodes |= found.nodes
            body.edges += found.edges
            canvas.notes.names[node.id] = node.name
            if node.place is not None:
                self.view[node.name] = list(node.place)
        led_to: set[str] = set()
        left: set[str] = set()
        for edge in canvas.edges_in(scope):
            source, target = converted.get(edge.source), converted.get(edge.target)
            if source is None or target is None:
                continue
            exit_ = source.exits.get(edge.port, source.exits[""])
            body.edges.append(f"{exit_} > {target.entry}")
            left.add(exit_)
            led_to.add(target.entry)
        body.edges = list(dict.fromkeys(body.edges))
        for id_, each in converted.items():
            if canvas.nodes[id_].kind == COMMENT:
                continue
            if each.entry not in led_to:
                body.entries.append(each.entry)
            last = next(reversed(each.nodes.values()))
            if last["type"] not in ("break", "continue", "end"):
                error = (each.exits[ERROR],) if ERROR in each.exits and each.exits[ERROR] != each.exits[""] else ()
                body.ends += [port for port in (*(each.ends or (each.exits[""],)), *error) if port not in left]
        return body

    def _node(self, node: CozeNode) -> CozeConverted:
        conversion = CozeConversion(node, self._values, self._secrets, self._canvas.fresh)
        if node.kind in CONTAINERS:
            return (self._loop if node.kind == LOOP else self._batch)(conversion)
        convert = CONVERTERS.get(node.kind) or OUTSIDE.get(node.kind) or UNKNOWN
        return convert(conversion)

    # Batches ----------------------------------------------------------------------------------------------------------

    def _batch(self, c: CozeConversion) -> CozeConverted:
        inputs, node = c.inputs, c.node
        given = self._lists(c)
        most, parallel = c.term(inputs, "batchSize"), c.term(inputs, "concurrentSize")
        at_a_time = parallel.value if isinstance(parallel, Constant) else None
        if isinstance(parallel, Ref):
            inputs.near("concurrentSize", "how many are done at a time has to be a number: 10 are")
        count = at_a_time if isinstance(at_a_time, int) and not isinstance(at_a_time, bool) and at_a_time else 10
        size = "100" if isinstance(most, Constant) and not isinstance(most.value, int) else in_cel(most)
        body = self.body(node.id)
        output: JsonObject = {}
        for name, (term, _) in self._outputs(c).items():
            output[name] = self._values.value(term, node.data, "outputs")
        main: JsonObject = {
            "type": "each",
            "over": rows(c, inputs, "inputParameters", given, size),
            "parallel": max(1, min(PARALLEL_MAX, count)),
            "nodes": body.nodes,
            "edges": list[Json](body.edges),
            "output": output if output.keys() != {"cel"} else None,
        }
        if not body.nodes:
            node.data.lost("", "this batch holds nothing that runs")
            main["nodes"] = {c.fresh("nothing"): {"type": "set", "set": {}}}
        return c.done((node.name, main))

    def _lists(self, c: CozeConversion) -> dict[str, Term]:
        """The lists that a container goes through; other values that a container is given are not gone through."""
        given = c.params()
        for each in c.inputs.objects("inputParameters"):
            block, name = each.value.get("input"), each.value.get("name")
            type_ = block.get("type") if isinstance(block, dict) else None
            if isinstance(name, str) and name in given and type_ not in ("list", "array", None):
                self._values.loop_values.setdefault(c.node.id, {})[name] = given.pop(name)
        return given

    def _outputs(self, c: CozeConversion) -> dict[str, tuple[Term, str]]:
        """What a container gives: values of the nodes inside, and its variables; each with the name of its node."""
        found: dict[str, tuple[Term, str]] = {}
        inner = CozeNode(f"{c.node.id}:", "", c.node.data, c.node.inputs, c.node.id, c.name, "")
        inside = {each.id: each.name for each in self._canvas.inside(c.node.id)}
        self._canvas.above[inner.id] = frozenset(inside) | self._canvas.above.get(c.node.id, frozenset())
        for each in c.node.data.objects("outputs"):
            name = each.text("name")
            each.taken("type", "schema", "required", "description", "assistType")
            if "input" in each:
                term = self._values.term(each.object("input"), inner)
                if name:
                    found[name] = (term, inside.get(_block_of(each.value["input"]), ""))
        return found

    # Loops ------------------------------------------------------------------------------------------------------------

    def _loop(self, c: CozeConversion) -> CozeConverted:
        inputs, node, values = c.inputs, c.node, self._values
        kind = inputs.text("loopType", "array")
        items, first = self._lists(c), c.params("variableParameters")
        values.loop_items[node.id] = items
        known: dict[str, str] = {}
        variables: JsonObject = {}
        for label, term in first.items():
            known[label] = values.variable(label)
            values.loop_variables[node.id] = known
            variables[known[label]] = values.value(term, inputs, "variableParameters")
        values.loop_variables[node.id] = known
        count = self._count(c, kind, items)
        body = self.body(node.id)
        output = self._gather(c, body, variables, known)
        if count:
            self._not_even_once(c, body, count)
        main: JsonObject = {"type": "loop", "vars": variables, "max": PASSES_MAX}
        if count:
            main["until"] = f"index + 1 >= {count}"
        if not body.nodes:
            node.data.lost("", "this loop holds nothing that runs")
            body.nodes[c.fresh("nothing")] = {"type": "break"}
        main |= {"nodes": body.nodes, "edges": list[Json](body.edges), "output": output}
        return c.done((node.name, main))

    def _count(self, c: CozeConversion, kind: str, items: dict[str, Term]) -> str:
        """How many passes there are, in CEL; empty where only a break ends the loop."""
        term = c.term(c.inputs, "loopCount")
        match kind:
            case "count":
                return f"int(number({in_cel(term)}))" if isinstance(term, Ref) else str(_whole(term.value))
            case "infinite":
                c.inputs.near("loopType", f"at most {PASSES_MAX} passes")
                return ""
            case "array" if items:
                shown = (
                    "{" + ", ".join(f"{in_cel(Constant(name))}: {in_cel(each)}" for name, each in items.items()) + "}"
                )
                count = f"size(coze_rows({shown}))"
                if len(count) * 2 + 100 <= COMPUTED_MAX:
                    return count
                c.inputs.lost("inputParameters", "these lists are too long to be computed: nothing is gone through")
                return "0"
            case "array":
                c.inputs.lost("inputParameters", "there is no list to go through")
                return "0"
            case _:
                c.inputs.lost("loopType", f"there is no loop of the type {kind[:40]!r}: nothing is gone through")
                return "0"

    def _gather(self, c: CozeConversion, body: CanvasBody, variables: JsonObject, known: dict[str, str]) -> Json:
        """What a loop gives: a variable as it is at the end, and a list of what a node inside gave in each pass."""
        output: JsonObject = {}
        lists: dict[str, tuple[str, str]] = {}
        own = set(known.values())
        for name, (term, node) in self._outputs(c).items():
            if isinstance(term, Ref) and term.root == "vars" and term.steps and term.steps[0] in own:
                output[name] = self._values.value(term)
                continue
            list_ = self._values.variable(f"{c.name}_{name}")
            self._values.collected.setdefault(c.node.id, {})[name] = list_
            variables[list_] = []
            output[name] = f"${{vars.{list_}}}"
            if node:
                lists[list_] = (node, in_cel(term))
        if lists:
            for name in [name for name, node in body.nodes.items() if _ends_pass(node)]:
                self._gather_before(c, body, name, lists)
            if body.ends:
                gather = c.fresh(f"{c.name}_gather")
                body.edges += [f"{end} > {gather}" for end in body.ends]
                body.nodes[gather] = _gathering(lists, _upstream(body.edges, gather))
        return output if output.keys() != {"cel"} else None

    def _gather_before(self, c: CozeConversion, body: CanvasBody, name: str, lists: dict[str, tuple[str, str]]) -> None:
        """Gather what a pass gave so far, before a `break` or a `continue` ends the pass."""
        gathering = _gathering(lists, _upstream(body.edges, name))
        if gathering["extend"]:
            gather = c.fresh(f"{c.name}_gather")
            body.edges = [
                f"{edge.removesuffix(name)}{gather}" if edge.endswith(f"> {name}") else edge for edge in body.edges
            ]
            body.edges.append(f"{gather} > {name}")
            body.nodes[gather] = gathering

    def _not_even_once(self, c: CozeConversion, body: CanvasBody, count: str) -> None:
        """An empty list is gone through not even once."""
        first, stop = c.fresh(f"{c.name}_begin"), c.fresh(f"{c.name}_stop")
        body.nodes = {
            first: {"type": "if", "cases": [{"port": "stop", "when": f"index >= {count}"}]},
            stop: {"type": "break"},
            **body.nodes,
        }
        body.edges += [f"{first}.stop > {stop}", *(f"{first}.else > {entry}" for entry in body.entries)]


def _whole(value: Json) -> int:
    return max(0, min(PASSES_MAX, int(value))) if isinstance(value, int | float) and not isinstance(value, bool) else 0


def _block_of(block: Json) -> str:
    """The id of the node to which a block refers."""
    value = block.get("value") if isinstance(block, dict) else None
    content = value.get("content") if isinstance(value, dict) else None
    id_ = content.get("blockID") if isinstance(content, dict) else None
    return id_ if isinstance(id_, str) else ""


def _ends_pass(node: Json) -> bool:
    return isinstance(node, dict) and node["type"] in ("break", "continue")


def _gathering(lists: dict[str, tuple[str, str]], upstream: set[str]) -> JsonObject:
    """A node that adds to each list what its node gave; a node that was skipped gives nothing."""
    extend: JsonObject = {
        list_: {"cel": f"coze_taken({node}, {value})"} for list_, (node, value) in lists.items() if node in upstream
    }
    return {"type": "set", "extend": extend}


def _upstream(edges: list[str], name: str) -> set[str]:
    """The nodes upstream of a node."""
    before: dict[str, list[str]] = {}
    for edge in edges:
        source, _, target = edge.partition(" > ")
        before.setdefault(target, []).append(source.partition(".")[0])
    found: set[str] = set()
    todo = [name]
    while todo:
        for each in before.get(todo.pop(), ()):
            if each not in found:
                found.add(each)
                todo.append(each)
    return found
