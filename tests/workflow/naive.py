"""Random graphs with containers, and an interpreter of them that is too simple to be wrong.

The interpreter goes through the nodes in the order of the definition, one after the other. Where a node fails and stops
its list of nodes, the order decides how far the nodes beside it come: then the interpreter tells which errors are
possible, and which nodes may have been left at most.
"""

from __future__ import annotations

import random
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


def definitions() -> st.SearchStrategy[JsonObject]:
    """Definitions with containers in containers, failures, cases, joins and variables."""
    return st.integers(0, 2**40).map(lambda seed: _definition(random.Random(seed)))


def _definition(chance: random.Random) -> JsonObject:
    graph = _graph_of(chance, 2, "n", ())
    outputs: JsonObject = {
        name: f"${{{_given(name, node)}?}}" for name, node in _nodes(graph).items() if _is_told(node)
    }
    return {
        "inputs": {"type": "object"},
        "vars": {"n": 0},
        "limits": {"steps": 100_000, "parallel": chance.randint(1, 5)},
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


def _graph_of(chance: random.Random, depth: int, prefix: str, roots: tuple[str, ...]) -> JsonObject:
    count = chance.randint(1, 5 if depth == 2 else 3)
    nodes: dict[str, JsonObject] = {}
    edges: list[Json] = []
    above: dict[str, set[str]] = {}
    for at in range(count):
        name = f"{prefix}{at}"
        before = list(nodes)
        sources = chance.sample(before, min(len(before), chance.choice([0, 1, 1, 2])))
        above[name] = set(sources).union(*(above[source] for source in sources))
        known = [each for each in sorted(above[name]) if _is_told(nodes[each])]
        upstream = [f"${{{_given(each, nodes[each])}?}}" for each in known]
        edges += [f"{source}.{chance.choice(_ports(nodes[source]))} > {name}" for source in sources]
        joined = [each for each in known if nodes[each]["type"] != "merge"]
        nodes[name] = _node_of(chance, depth, name, roots, upstream, joined)
    return {"nodes": cast(JsonObject, nodes), "edges": edges}


def _ports(node: JsonObject) -> list[str]:
    ports = ["a", "b", "else"] if node["type"] == "if" else ["out"]
    return [*ports, "error"] if node.get("on_error") == "branch" else ports


def _node_of(
    chance: random.Random, depth: int, name: str, roots: tuple[str, ...], refs: list[str], above: list[str]
) -> JsonObject:
    refs = [*refs, "${inputs}", *(f"${{{root}}}" for root in roots if root != "k")]
    kinds = [*["tool"] * 4, "set", "if", "merge", *(["each", "each", "loop"] if depth else [])]
    kind = chance.choice(kinds)
    conditions = ["false", "false", "true", *(["true", "index == 1", "index >= 1"] if roots else ["false"])]
    default: Json = {"default": {"output": 7}}
    rules: list[Json] = ["stop", "stop", "branch", default] if roots else ["stop", *["branch"] * 4, *[default] * 4]
    on_error = chance.choice(rules)
    if kind == "tool":
        given: JsonObject = {"x": chance.choice(refs), "fail": {"cel": chance.choice(conditions)}, "path": name}
        return {"type": "tool", "tool": "t", "with": given, "on_error": on_error}
    if kind == "set":
        return {"type": "set", "add": {chance.choice(["n", "k"] if "k" in roots else ["n"]): 1}}
    if kind == "if":
        cases: list[Json] = [{"port": port, "when": chance.choice(conditions)} for port in "ab"]
        return {"type": "if", "cases": cases}
    if kind == "merge":
        return {"type": "merge", "groups": {"g": [f"${{{each}.output}}" for each in above]}}
    inner = (*roots, "index", *(["item"] if kind == "each" else ["k"]))
    is_ending = chance.random() < 0.25
    body = _ending(chance, f"{name}_") if is_ending else _graph_of(chance, depth - 1, f"{name}_", inner)
    told = [f"${{{_given(each, node)}?}}" for each, node in _nodes(body).items() if _is_told(node)]
    output = chance.choice([*told, "${index}"])
    if kind == "loop":
        loop: JsonObject = {"type": "loop", "vars": {"k": 0}, "max": chance.randint(1, 3), "output": output, **body}
        until = chance.choice([None, "index >= 1", "vars.k >= 1", "index >= 9"])
        return loop | {"on_error": on_error} | ({} if until is None else {"until": until})
    ends = any(node["type"] == "break" for node in _nodes(body).values())
    containers: list[Json] = ["stop", "branch", "null", "null", "drop", default]
    over: list[Json] = [chance.choice(cast("list[Json]", [1, [2, 3]])) for _ in range(chance.randint(0, 3))]
    parallel = 1 if ends else chance.randint(1, 3)
    each: JsonObject = {"type": "each", "over": over, "parallel": parallel, "flatten": chance.random() < 0.3}
    return each | {"on_error": chance.choice(containers), "output": output, **body}


def _ending(chance: random.Random, prefix: str) -> JsonObject:
    """A body in which the container or the pass ends: one node behind the other, so that no order is left open."""
    first, case, last, end = (f"{prefix}{name}" for name in ("first", "case", "last", "end"))
    given: JsonObject = {"fail": {"cel": "false"}, "path": prefix}
    nodes: JsonObject = {
        first: {"type": "tool", "tool": "t", "with": {"x": "${index}", **given}},
        case: {"type": "if", "cases": [{"port": "a", "when": f"index >= {chance.randint(0, 2)}"}]},
        last: {"type": "tool", "tool": "t", "with": {"x": f"${{{first}.output}}", **given}},
        end: {"type": chance.choice(["break", "continue"])},
    }
    return {"nodes": nodes, "edges": [f"{first}.out > {case}", f"{case}.else > {last}", f"{case}.a > {end}"]}
