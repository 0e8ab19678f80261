"""Random graphs with containers, and an interpreter of them that is too simple to be wrong.

The interpreter goes through the nodes in the order of the definition, one after the other. Where a node fails and stops
its list of nodes, the order decides how far the nodes beside it come: then the interpreter tells which errors are
possible, and which nodes may have been left at most.
"""

from __future__ import annotations

import re
from typing import cast

from hypothesis import strategies as st
from msgspec import Struct, field

from actum.core.json import Json, JsonObject

Values = dict[str, JsonObject | None]


class Expected(Struct):
    """What a graph comes to.

    Attributes:
        left: the nodes that are left, by their paths, or that may be where a list of nodes was stopped.
        errors: the paths of the nodes at which the workflow may fail; empty where it does not.
        outputs: what the workflow gives where it does not fail.
        is_exact: no list of nodes was stopped, so that the order decides nothing.
    """

    left: set[str] = field(default_factory=set)
    errors: set[str] = field(default_factory=set)
    outputs: JsonObject = field(default_factory=dict)
    is_exact: bool = True


class Broken(Exception):
    """A node failed, at one of these paths."""

    def __init__(self, paths: set[str]) -> None:
        super().__init__(paths)
        self.paths = paths


class Pass(Struct):
    """One pass through a list of nodes: the values, the variables of loops and the item, and how the pass ended."""

    values: Values
    roots: JsonObject
    variables: list[dict[str, int]]
    ends: str = ""
    errors: set[str] = field(default_factory=set)


def expected(definition: JsonObject, inputs: JsonObject) -> Expected:
    """What a definition comes to."""
    told = Expected()
    ran = _graph(definition, "", Pass({}, {"inputs": inputs}, [{"n": 0}]), told)
    told.errors = ran.errors
    if not ran.errors:
        outputs = cast("dict[str, str]", definition["outputs"])
        told.outputs = {name: _value(text, ran) for name, text in outputs.items()}
    return told


def _graph(graph: JsonObject, prefix: str, ran: Pass, told: Expected) -> Pass:
    ports: dict[str, str | None] = {}
    edges = [re.split(r"\.| > ", edge) for edge in cast("list[str]", graph["edges"])]
    for name, node in cast("dict[str, JsonObject]", graph["nodes"]).items():
        incoming = [(source, port) for source, port, target in edges if target == name]
        if ran.ends or any(source not in ports for source, _ in incoming):
            continue
        if incoming and not any(ports[source] == port for source, port in incoming):
            ports[name], ran.values[name] = None, None
            continue
        told.left.add(prefix + name)
        try:
            ran.values[name], ports[name] = _node(node, prefix + name, ran, told)
        except Broken as broken:
            rule = node.get("on_error", "stop")
            if isinstance(rule, dict):
                ran.values[name], ports[name] = cast(JsonObject, rule["default"]), "out"
            elif rule == "branch":
                ran.values[name], ports[name] = {}, "error"
            else:
                ran.errors |= broken.paths
                told.is_exact = False
    return ran


def _node(node: JsonObject, path: str, ran: Pass, told: Expected) -> tuple[JsonObject, str]:
    match node["type"]:
        case "tool":
            given = cast("dict[str, Json]", node["with"])
            if _is_true(cast("dict[str, str]", given["fail"])["cel"], ran):
                raise Broken({path})
            return {"output": _value(cast(str, given["x"]), ran)}, "out"
        case "set":
            (name,) = cast("dict[str, int]", node["add"])
            next(each for each in ran.variables if name in each)[name] += 1
            return {}, "out"
        case "if":
            cases = cast("list[dict[str, str]]", node["cases"])
            port = next((case["port"] for case in cases if _is_true(case["when"], ran)), "else")
            return {"output": port}, port
        case "merge":
            groups = cast("dict[str, list[str]]", node["groups"])
            names = [text[2:].partition(".")[0] for text in groups["g"]]  # what failed counts as skipped
            found = [value["output"] for name in names if (value := ran.values.get(name)) and "output" in value]
            return {"g": found[0] if found else None}, "out"
        case "each":
            return _each(node, path, ran, told)
        case "loop":
            return _loop(node, path, ran, told)
        case kind:
            ran.ends = cast(str, kind)
            return {}, ""


def _each(node: JsonObject, path: str, ran: Pass, told: Expected) -> tuple[JsonObject, str]:
    outputs: list[Json] = []
    errors: set[str] = set()
    for index, item in enumerate(cast("list[Json]", node["over"])):
        one = Pass(dict(ran.values), ran.roots | {"item": item, "index": index}, ran.variables)
        _graph(node, f"{path}[{index}]/", one, told)
        if not one.errors:
            output = _value(cast(str, node["output"]), one)
            outputs += output if node["flatten"] and isinstance(output, list) else [output]
        elif node["on_error"] == "null":
            outputs.append(None)
        elif node["on_error"] != "drop":
            errors |= one.errors
        if one.ends == "break":
            break
    if errors:
        raise Broken(errors)
    return {"output": outputs}, "out"


def _loop(node: JsonObject, path: str, ran: Pass, told: Expected) -> tuple[JsonObject, str]:
    variables = dict(cast("dict[str, int]", node["vars"]))
    output: Json = None
    for index in range(cast(int, node["max"])):
        one = Pass(dict(ran.values), ran.roots | {"index": index}, [variables, *ran.variables])
        _graph(node, f"{path}[{index}]/", one, told)
        if one.errors:
            raise Broken(one.errors)
        output = _value(cast(str, node["output"]), one)
        if one.ends == "break" or ("until" in node and _is_true(cast(str, node["until"]), one)):
            return {"output": output, "passes": index + 1}, "out"
    if "until" in node:
        raise Broken({path})
    return {"output": output, "passes": cast(int, node["max"])}, "out"


def _value(text: str, ran: Pass) -> Json:
    root, *steps = text[2:-1].rstrip("?").split(".")
    if root == "vars":
        return next(each[steps[0]] for each in ran.variables if steps[0] in each)
    if root in ran.roots:
        return ran.roots[root]
    value = ran.values.get(root)
    return None if value is None else value.get(steps[0])


def _is_true(text: str, ran: Pass) -> bool:
    if text in ("true", "false"):
        return text == "true"
    name, sign, number = text.split()
    value = cast(int, _value(f"${{{name}}}", ran))
    return value == int(number) if sign == "==" else value >= int(number)


# Random graphs ------------------------------------------------------------------------------------------------------


@st.composite
def definitions(draw: st.DrawFn) -> JsonObject:
    """A definition with containers in containers, failures, cases, joins and variables."""
    graph = draw(_graphs(2, "n", ()))
    outputs: JsonObject = {
        name: f"${{{_given(name, node)}?}}" for name, node in _nodes(graph).items() if _is_told(node)
    }
    return {
        "inputs": {"type": "object"},
        "vars": {"n": 0},
        "limits": {"steps": 100_000, "parallel": draw(st.integers(1, 5))},
        **graph,
        "outputs": {**outputs, "the_sum": "${vars.n}"},
    }


def _nodes(graph: JsonObject) -> dict[str, JsonObject]:
    return cast("dict[str, JsonObject]", graph["nodes"])


def _is_told(node: JsonObject) -> bool:
    """Whether what a node gives is the same in any order."""
    return node["type"] != "set"


def _given(name: str, node: JsonObject) -> str:
    return f"{name}.g" if node["type"] == "merge" else f"{name}.output"


@st.composite
def _graphs(draw: st.DrawFn, depth: int, prefix: str, roots: tuple[str, ...]) -> JsonObject:
    count = draw(st.integers(1, 5 if depth == 2 else 3))
    nodes: dict[str, JsonObject] = {}
    edges: list[Json] = []
    above: dict[str, set[str]] = {}
    for at in range(count):
        name = f"{prefix}{at}"
        before = list(nodes)
        sources = draw(st.lists(st.sampled_from(before), max_size=2, unique=True)) if before else []
        above[name] = set(sources).union(*(above[source] for source in sources))
        known = [each for each in sorted(above[name]) if _is_told(nodes[each])]
        upstream = [f"${{{_given(each, nodes[each])}?}}" for each in known]
        edges += [f"{source}.{draw(st.sampled_from(_ports(nodes[source])))} > {name}" for source in sources]
        nodes[name] = draw(
            _node_of(depth, name, roots, upstream, [each for each in known if nodes[each]["type"] != "merge"])
        )
    return {"nodes": cast(JsonObject, nodes), "edges": edges}


def _ports(node: JsonObject) -> list[str]:
    ports = ["a", "b", "else"] if node["type"] == "if" else ["out"]
    return [*ports, "error"] if node.get("on_error") == "branch" else ports


@st.composite
def _node_of(
    draw: st.DrawFn, depth: int, name: str, roots: tuple[str, ...], refs: list[str], above: list[str]
) -> JsonObject:
    refs = [*refs, "${inputs}", *(f"${{{root}}}" for root in roots if root != "k")]
    kinds = ["tool", "tool", "tool", "set", "if", "merge"] + (["each", "loop"] if depth else [])
    kind = draw(st.sampled_from(kinds))
    fails = st.sampled_from(["false", "false", "true", *(["index == 1", "index >= 1"] if "index" in roots else [])])
    default: Json = {"default": {"output": 7}}
    on_error = draw(st.sampled_from(["stop", "branch", "branch", default, default]))
    if kind == "tool":
        given: JsonObject = {"x": draw(st.sampled_from(refs)), "fail": {"cel": draw(fails)}, "path": name}
        return {"type": "tool", "tool": "t", "with": given, "on_error": on_error}
    if kind == "set":
        return {"type": "set", "add": {draw(st.sampled_from(["n", "k"] if "k" in roots else ["n"])): 1}}
    if kind == "if":
        cases: list[Json] = [{"port": "a", "when": draw(fails)}, {"port": "b", "when": draw(fails)}]
        return {"type": "if", "cases": cases}
    if kind == "merge":
        return {"type": "merge", "groups": {"g": [f"${{{each}.output}}" for each in above]}}
    inner = (*roots, "index", *(["item"] if kind == "each" else ["k"]))
    body = draw(_ending(f"{name}_", inner) if draw(st.booleans()) else _graphs(depth - 1, f"{name}_", inner))
    told = [f"${{{_given(each, node)}?}}" for each, node in _nodes(body).items() if _is_told(node)]
    output = draw(st.sampled_from([*told, "${index}"]))
    if kind == "loop":
        loop: JsonObject = {"type": "loop", "vars": {"k": 0}, "max": draw(st.integers(1, 3)), "output": output, **body}
        until = draw(st.sampled_from([None, "index >= 1", "vars.k >= 1", "index >= 9"]))
        return loop | {"on_error": on_error} | ({} if until is None else {"until": until})
    ends = any(node["type"] == "break" for node in _nodes(body).values())
    rule = draw(st.sampled_from(["stop", "branch", "null", "drop", default]))
    over = draw(st.lists(st.sampled_from(cast("list[Json]", [1, [2, 3]])), max_size=3))
    parallel = 1 if ends else draw(st.integers(1, 3))
    each: JsonObject = {"type": "each", "over": over, "parallel": parallel, "flatten": draw(st.booleans())}
    return each | {"on_error": rule, "output": output, **body}


@st.composite
def _ending(draw: st.DrawFn, prefix: str, roots: tuple[str, ...]) -> JsonObject:
    """A body in which the container or the pass ends: one node behind the other, so that no order is left open."""
    first, case, last, end = (f"{prefix}{name}" for name in ("first", "case", "last", "end"))
    given: JsonObject = {"fail": {"cel": "false"}, "path": prefix}
    nodes: JsonObject = {
        first: {"type": "tool", "tool": "t", "with": {"x": "${index}", **given}},
        case: {"type": "if", "cases": [{"port": "a", "when": f"index >= {draw(st.integers(0, 2))}"}]},
        last: {"type": "tool", "tool": "t", "with": {"x": f"${{{first}.output}}", **given}},
        end: {"type": draw(st.sampled_from(["break", "continue"]))},
    }
    return {"nodes": nodes, "edges": [f"{first}.out > {case}", f"{case}.else > {last}", f"{case}.a > {end}"]}
