"""Values that grow, and expressions that would go on for hours: refused before they fill the memory of the process."""

import contextlib
import time

import pytest

from actum import tool
from actum.core.errors import WorkflowFailed
from actum.core.event import RunResult
from actum.core.json import Json, JsonObject
from actum.policy.expression_work import ExpressionWork, TooLarge, size_of
from actum.policy.lineage import DEVELOPER, Lineage
from actum.policy.rules import Rule, Rules
from actum.testing import ScriptedModel
from actum.workflow.definition.expression import NoValue, compile_value

from .test_workflow import workflow


class Given:
    """The inputs of a workflow."""

    def __init__(self, **inputs: Json) -> None:
        self._inputs: JsonObject = inputs

    def value(self, root: str) -> Json:
        return self._inputs

    def lineage(self, root: str) -> Lineage:
        return DEVELOPER


async def run(definition: JsonObject, inputs: JsonObject | None = None) -> RunResult[JsonObject]:
    models = {"m": ScriptedModel(["hello"])}
    given: JsonObject = {"inputs": {"type": "object"}, "limits": {"steps": 100_000}, **definition}
    return await workflow(given, models=models).run(inputs or {})


async def failure_of(definition: JsonObject, inputs: JsonObject | None = None) -> str:
    with pytest.raises(WorkflowFailed) as caught:
        await run(definition, inputs)
    return f"{caught.value.code}: {caught.value}"


async def test_a_variable_that_is_doubled_in_a_loop_fails_its_node_and_not_the_process() -> None:
    """A variable that is doubled 60 times would stand for more than all memory that there is."""
    texts = "${vars.t}${vars.t}"
    lists: Json = ["${vars.t}", "${vars.t}"]
    for start, change, message in (
        ("x", {"set": {"t": texts}}, "more than 4000000 characters"),
        ("x", {"set": {"t": {"cel": "vars.t + vars.t"}}}, "characters"),
        ([1], {"set": {"t": lists}}, "more than 1000000 values"),
        ([1], {"set": {"t": ["${vars.t}"]}}, "more than 200 deep"),
        ([1], {"extend": {"t": "${vars.t}"}}, "more than 100000 items"),
        ("x", {"add": {"t": "${vars.t}"}}, "more than 1000000 characters"),
        (1, {"add": {"t": "${vars.t}"}}, "a number that is too large"),
        (1.5, {"add": {"t": "${vars.t}"}}, "a number that is too large"),
    ):
        loop: JsonObject = {"type": "loop", "max": 5_000, "nodes": {"s": {"type": "set", **change}}}  # type: ignore[dict-item]
        assert message in await failure_of({"vars": {"t": start}, "nodes": {"l": loop}}), change  # type: ignore[dict-item]


async def test_what_is_too_large_fails_the_node_that_makes_it_and_the_workflow_may_go_on() -> None:
    nodes: JsonObject = {
        "big": {"type": "set", "set": {"t": [["${inputs.t}"] * 30] * 2}, "on_error": "branch"},
        "said": {"type": "say", "text": "${error.code}"},
    }
    definition: JsonObject = {"vars": {"t": 1}, "nodes": nodes, "edges": ["big.error > said"]}
    assert (await run(definition, {"t": "x" * 1_000_000})).text == "too_large"
    nodes = {"big": {"type": "model", "model": "m", "prompt": [["${inputs.t}"] * 30]}}
    assert "more than 20000000 characters" in await failure_of({"nodes": nodes}, {"t": "x" * 1_000_000})
    outputs: JsonObject = {"t": [["${inputs.t}"] * 30]}
    assert "outputs: more than" in await failure_of({"nodes": {}, "outputs": outputs}, {"t": "x" * 1_000_000})


async def test_the_passes_of_a_container_are_bounded_together() -> None:
    each: JsonObject = {"type": "each", "over": {"cel": "inputs.n"}, "nodes": {}, "output": {"cel": "inputs.t + '!'"}}
    inputs: JsonObject = {"n": [1] * 1_000, "t": "x" * 100_000}
    assert "the passes give more than" in await failure_of({"nodes": {"e": each}}, inputs)


async def test_a_text_of_a_million_characters_is_said_and_kept_by_its_digest() -> None:
    nodes: JsonObject = {"s": {"type": "say", "text": "${inputs.t}!"}}
    flow = workflow({"inputs": {"type": "object"}, "nodes": nodes, "outputs": {"t": "${s.text}"}})
    done = await flow.run({"t": "ü" * 1_000_000})
    assert done.text == "ü" * 1_000_000 + "!"
    again = await flow.resume(done.run_id)
    assert again.output == done.output
    small = [entry for entry in await flow.journal.read(done.run_id) if len(entry.payload) < 70_000]
    assert len(small) >= len(await flow.journal.read(done.run_id)) - 1  # all but the end, which tells what was said


def test_an_expression_that_would_take_hours_is_refused_at_once() -> None:
    rows: list[Json] = [{"price": at, "name": "a name"} for at in range(20_000)]
    text, numbers = "x" * 1_000_000, list[Json](range(1_000))
    for source in (
        "inputs.rows.filter(r, r.price > 1)",
        "inputs.rows.map(r, r)",
        "inputs.numbers.map(a, inputs.numbers.map(b, 'xxxxxxxxxxxx'))",
        "inputs.numbers.map(a, inputs.text)",
        "inputs.numbers.map(a, [inputs.text])",
        "size(inputs.numbers.map(a, inputs.text + inputs.text))",
        "+".join(["inputs.text"] * 300),
        "size(" + "+".join(["inputs.numbers"] * 250) + ")",
        "inputs.text.split('')",
        "inputs.numbers.map(a, inputs.text.replace('x', 'y'))",
        "inputs.rows.exists(r, inputs.rows.exists(s, r == s))",
    ):
        compiled = compile_value({"cel": source})
        began = time.process_time()
        with pytest.raises(NoValue):
            compiled.value(Given(rows=rows, numbers=numbers, text=text))
        assert time.process_time() - began < 2, source


def test_expressions_of_everyday_size_have_their_values() -> None:
    rows: list[Json] = [{"price": at, "name": f"name {at}", "city": "Paris"} for at in range(400)]
    for source, expected in (
        ("size(inputs.rows.filter(r, r.price <= inputs.budget))", 11),
        ("inputs.rows.map(r, r.name + ' of ' + r.city)[399]", "name 399 of Paris"),
        ("inputs.rows.map(r, r.price * inputs.budget)[3]", 30),
        ("inputs.rows.exists(r, r.price == 399)", True),
        ("size(inputs.rows.filter(r, inputs.names.exists(n, n == r.name)))", 2),
        ("inputs.rows.filter(r, r.price < 3).map(r, r.name.replace('name', 'n'))", ["n 0", "n 1", "n 2"]),
        ("size(inputs.text + inputs.text)", 2_000_000),
        ("inputs.text.contains('y') || inputs.text.matches('^(x+x+)+y')", False),
    ):
        given = Given(rows=rows, budget=10, names=["name 1", "name 2", "nobody"], text="x" * 1_000_000)
        assert compile_value({"cel": source}).value(given) == expected, source


def test_a_number_that_json_has_not_is_no_value() -> None:
    for source in ("1.0 / 0.0", "0.0 / 0.0", "number('1e308') * 10.0", "json('1e999')", "sum([1e308, 1e308])"):
        with pytest.raises(NoValue):
            compile_value({"cel": source}).value(Given())
    assert compile_value({"cel": "{true: 'a', 2: 'b'}"}).value(Given()) == {"true": "a", "2": "b"}


def test_the_size_of_a_value_is_told_and_bounded() -> None:
    size = size_of({"a": ["xx", 1, [2]], "bc": None})
    assert (size.values, size.chars, size.longest) == (7, 5, 3)
    deep: Json = 1
    for _ in range(250):
        deep = [deep]
    for value in (deep, [1] * 20, "x" * 11):
        with pytest.raises(TooLarge):
            size_of(value, values_max=10, chars_max=10)
    work = ExpressionWork("a.map(x, x + b.c).filter(y, size('.map(') > 1)")
    assert work.bodies.split() == ["x,", "x", "+", "b.c", "y,", 'size("', '")', ">", "1"]


async def test_origins_of_values_that_were_mixed_again_and_again_are_told_in_time_and_without_recursion() -> None:
    """Where each text names the text before twice, 2 ** 60 ways lead back to the first."""

    @tool(effects={"send"}, sinks=["to"])
    def send(to: str) -> str:
        """Send."""
        return "sent"

    policy = Rules(Rule("deny", tools="send", when="!trusted(to)"), Rule("allow"))
    computed = "size(BEFORE.text + BEFORE.text) > 0 ? BEFORE.text : 'nothing'"
    for text, count in (("${BEFORE.text}!", 2_500), (computed, 60), ("${BEFORE.text|trim}", 2_500)):
        nodes: JsonObject = {"s0": {"type": "say", "text": "${inputs.to}"}}
        for at in range(1, count):
            written = text.replace("BEFORE", f"s{at - 1}")
            nodes[f"s{at}"] = {"type": "say", "text": {"cel": written} if text is computed else written}
        nodes["send"] = {"type": "tool", "tool": "send", "with": {"to": f"${{s{count - 1}.text}}"}}
        edges: list[Json] = [f"s{at} > s{at + 1}" for at in range(count - 1)]
        definition: JsonObject = {
            "inputs": {"type": "object"},
            "limits": {"steps": 10_000},
            "nodes": nodes,
            "edges": [*edges, f"s{count - 1} > send"],
        }
        began = time.process_time()
        flow = workflow(definition, [send], policy=policy)
        with contextlib.suppress(WorkflowFailed):
            await flow.run({"to": "a"})
        assert time.process_time() - began < 10, text
