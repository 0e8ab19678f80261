"""The scheduler alone: random graphs against a naive interpreter, containers, and what becomes of failures."""

import random
from collections.abc import Callable

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from actum.core.json import Json, JsonObject
from actum.core.run.node_records import NodeError
from actum.workflow.definition.flow import Due, Flow, NodeOutcome
from actum.workflow.load import read_definition
from actum.workflow.pure import compute
from tests.endurance import share

Tool = Callable[[Due], NodeOutcome]


def carry_out(flow: Flow, tool: Tool, seed: int = 0) -> list[str]:
    """Carry out all that is due, in a random order; the paths in which nodes were left."""
    order, left = random.Random(seed), list[str]()
    ready = flow.due()
    while ready:
        due = ready.pop(order.randrange(len(ready)))
        if flow.is_wanted(due):
            outcome = due.result or (compute(due) if due.node.type.needs == "nothing" else tool(due))
            left.append(due.path)
            flow.took(due.path, outcome)
        ready += flow.due()
    return left


def echo(due: Due) -> NodeOutcome:
    return NodeOutcome(value={"output": due.node.expressions["with"].value(due.scope)})


def flow_of(definition: JsonObject, inputs: JsonObject | None = None) -> Flow:
    text = msgspec.json.encode({"actum": "workflow/1", "name": "w", **definition})
    return Flow(read_definition(text), inputs or {})


Graph = tuple[int, list[tuple[int, str, int]], list[str]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """A number of nodes, edges that lead forward, and what becomes of each node: a port, or a failure."""
    count = draw(st.integers(1, 9))
    fates = draw(st.lists(st.sampled_from(["a", "b", "fail"]), min_size=count, max_size=count))
    ends = st.tuples(st.integers(0, count - 1), st.sampled_from(["a", "b", "error"]), st.integers(0, count - 1))
    edges = [edge for edge in draw(st.lists(ends, max_size=20, unique=True)) if edge[0] < edge[2]]
    return count, edges, fates


def naive(graph: Graph) -> dict[int, str]:
    """What becomes of each node, worked out node by node in the order of their numbers."""
    count, edges, fates = graph
    became: dict[int, str] = {}
    for node in range(count):
        incoming = [(source, port) for source, port, target in edges if target == node]
        taken = [became[source] == port for source, port in incoming]
        fate = {"fail": "error"}.get(fates[node], fates[node])
        became[node] = fate if not incoming or any(taken) else "skipped"
    return became


@settings(max_examples=share(300, 30), deadline=None)
@given(graphs(), st.integers(0, 1000))
def test_random_graphs_come_to_what_a_naive_interpreter_says_in_any_order(graph: Graph, seed: int) -> None:
    count, edges, fates = graph
    cases: list[Json] = [{"port": "a", "when": "true"}, {"port": "b", "when": "false"}]
    nodes: JsonObject = {f"n{at}": {"type": "if", "cases": cases, "on_error": "branch"} for at in range(count)}
    flow = flow_of({"nodes": nodes, "edges": [f"n{source}.{port} > n{target}" for source, port, target in edges]})
    ready, order, became = flow.due(), random.Random(seed), dict.fromkeys(range(count), "skipped")
    while ready:
        due = ready.pop(order.randrange(len(ready)))
        at = int(due.path[1:])
        fate = fates[at]
        failure = NodeError("test", "failed", due.path) if fate == "fail" else None
        became[at] = "error" if failure else fate
        flow.took(due.path, NodeOutcome(port="" if failure else fate, error=failure))
        ready += flow.due()
    assert became == naive(graph)
    assert flow.is_over
    assert flow.failed is None


def test_a_node_waits_for_all_its_edges_and_one_taken_edge_is_enough() -> None:
    flow = flow_of(
        {
            "inputs": {"type": "object"},
            "nodes": {
                "start": {"type": "if", "cases": [{"port": "yes", "when": "true"}]},
                "left": {"type": "tool", "tool": "t", "with": {"x": 1}},
                "right": {"type": "tool", "tool": "t", "with": {"x": 2}},
                "join": {"type": "merge", "groups": {"got": ["${right.output}", "${left.output}"]}},
                "never": {"type": "tool", "tool": "t"},
            },
            "edges": ["start.yes > left", "start.else > right", "left > join", "right > join", "right > never"],
            "outputs": {"got": "${join.got}", "never": "${never.output?}"},
        }
    )
    assert carry_out(flow, echo) == ["start", "left", "join"]
    assert flow.outputs()[0] == {"got": {"x": 1}, "never": None}


def test_each_keeps_the_order_and_says_what_becomes_of_failures() -> None:
    def tool(due: Due) -> NodeOutcome:
        (given,) = [due.node.expressions["with"].value(due.scope)]
        assert isinstance(given, dict)
        if given["x"] == 2:
            return NodeOutcome(error=NodeError("test", "no two", due.path))
        return NodeOutcome(value={"output": [given["x"]]})

    cases: dict[str, object] = {"drop": [[1], [3]], "null": [[1], None, [3]], "stop": None}
    for rule, expected in cases.items():
        for seed in range(5):
            body = {"price": {"type": "tool", "tool": "t", "with": {"x": "${item}"}}}
            each: JsonObject = {"type": "each", "over": "${inputs.of}", "parallel": 2, "nodes": body}  # type: ignore[dict-item]
            each |= {"output": "${price.output}", "on_error": rule}
            flow = flow_of({"nodes": {"trips": each}, "outputs": {"got": "${trips.output}"}}, {"of": [1, 2, 3]})
            left = carry_out(flow, tool, seed)
            if expected is None:
                assert flow.failed is not None
                assert flow.failed.node == "trips[1]/price"
            else:
                assert flow.outputs()[0] == {"got": expected}, rule
                assert sorted(left) == ["trips", "trips[0]/price", "trips[1]/price", "trips[2]/price"]


def test_each_flattens_and_an_empty_list_gives_an_empty_list() -> None:
    each: JsonObject = {"type": "each", "over": "${inputs.of}", "nodes": {}, "output": ["${item}", "${index}"]}
    cases: list[tuple[list[Json], bool, Json]] = [
        ([], False, []),
        ([5, 6], False, [[5, 0], [6, 1]]),
        ([5, 6], True, [5, 0, 6, 1]),
    ]
    for of, flatten, expected in cases:
        flow = flow_of({"nodes": {"e": {**each, "flatten": flatten}}, "outputs": {"got": "${e.output}"}}, {"of": of})
        carry_out(flow, echo)
        assert flow.outputs()[0] == {"got": expected}


def test_each_goes_through_ten_thousand_items_without_deep_recursion() -> None:
    each: JsonObject = {"type": "each", "over": "${inputs.of}", "nodes": {}, "output": "${item}"}
    flow = flow_of({"nodes": {"e": each}, "outputs": {"n": {"cel": "size(e.output)"}}}, {"of": list(range(10_000))})
    carry_out(flow, echo)
    assert flow.outputs()[0] == {"n": 10_000}


def test_a_loop_ends_by_its_condition_by_break_and_fails_at_its_limit() -> None:
    add: JsonObject = {"type": "set", "add": {"n": 1}}
    loop: JsonObject = {"type": "loop", "vars": {"n": 0}, "nodes": {"add": add}, "output": "${vars.n}", "max": 4}

    def came_to(loop: JsonObject) -> object:
        flow = flow_of({"nodes": {"l": loop}, "outputs": {"n": "${l.output}", "passes": "${l.passes}"}})
        carry_out(flow, echo)
        return flow.failed.code if flow.failed else flow.outputs()[0]

    assert came_to({**loop, "until": "vars.n >= 3"}) == {"n": 3, "passes": 3}
    assert came_to(loop) == {"n": 4, "passes": 4}
    assert came_to({**loop, "until": "vars.n >= 9"}) == "loop_limit"
    leave: JsonObject = {
        "add": add,
        "enough": {"type": "if", "cases": [{"port": "yes", "when": "vars.n == 2"}]},
        "out": {"type": "break"},
        "more": {"type": "set", "add": {"n": 10}},
    }
    edges: list[Json] = ["add > enough", "enough.yes > out", "out > more"]
    assert came_to({**loop, "nodes": leave, "edges": edges[:2]}) != "loop_limit"


def test_continue_ends_one_pass_and_break_ends_the_container() -> None:
    nodes: JsonObject = {
        "odd": {"type": "if", "cases": [{"port": "skip", "when": "item == 1"}, {"port": "stop", "when": "item == 3"}]},
        "skip": {"type": "continue"},
        "stop": {"type": "break"},
        "do": {"type": "tool", "tool": "t", "with": {"x": "${item}"}},
    }
    edges: list[Json] = ["odd.skip > skip", "odd.stop > stop", "odd.else > do"]
    each: JsonObject = {"type": "each", "over": [0, 1, 2, 3, 4], "nodes": nodes, "output": "${do.output.x}"}
    flow = flow_of({"nodes": {"e": {**each, "edges": edges}}, "outputs": {"got": "${e.output}"}})
    left = carry_out(flow, echo)
    assert flow.outputs()[0] == {"got": [0, None, 2, None]}
    assert "e[4]/do" not in left


def test_what_stands_beside_a_failure_finishes_and_nothing_new_begins() -> None:
    nodes: JsonObject = {name: {"type": "tool", "tool": "t"} for name in ("bad", "slow", "after")}
    flow = flow_of({"nodes": nodes, "edges": ["slow > after"]})
    bad, slow = flow.due()
    flow.took(bad.path, NodeOutcome(error=NodeError("test", "no", "bad")))
    assert not flow.is_over
    flow.took(slow.path, NodeOutcome(value={"output": 1}))
    assert flow.due() == []
    assert flow.is_over
    assert flow.failed == NodeError("test", "no", "bad")


def test_a_failed_node_goes_on_with_a_default_or_at_its_error_port() -> None:
    nodes: JsonObject = {
        "risky": {"type": "tool", "tool": "t", "on_error": {"default": {"output": 7}}},
        "other": {"type": "tool", "tool": "t", "on_error": "branch"},
        "told": {"type": "say", "text": "${error.message} of ${error.node}"},
    }
    outputs: JsonObject = {"risky": "${risky.output}", "told": "${told.text}", "code": "${other.error.code}"}
    flow = flow_of({"nodes": nodes, "edges": ["other.error > told"], "outputs": outputs})
    carry_out(flow, lambda due: NodeOutcome(error=NodeError("test", "broken", due.path)))
    assert flow.failed is None
    assert flow.outputs()[0] == {"risky": 7, "told": "broken of other", "code": "test"}
