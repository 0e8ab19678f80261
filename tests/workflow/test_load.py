"""Definitions are read safely, and each problem is told with its place."""

import json
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from actum.core.definition import TextProblem
from actum.protocols.source_text import plain_scalar
from actum.workflow.definition.nodes import NODE_TYPES, json_schema
from actum.workflow.definition.text import BadWorkflow
from actum.workflow.load import check_text, read_definition

FLIGHT = """\
actum: workflow/1
name: flight_desk
inputs: {type: object, required: [date, budget], properties: {date: {type: string}, budget: {type: integer}}}
nodes:
  find:  {type: tool, tool: search_flights, with: {date: "${inputs.date}"}}
  fits:  {type: if, cases: [{port: cheap, when: "find.output.exists(f, f.price <= inputs.budget)"}]}
  book:  {type: tool, tool: book_flight, with: {flight: {cel: "find.output[0].id"}}, on_error: branch}
  other: {type: model, model: fast, prompt: "Suggest other dates: ${find.output}"}
  count: {type: loop, vars: {n: 0}, until: "vars.n >= 5", nodes: {add: {type: set, set: {n: {cel: "vars.n + 1"}}}}}
edges: [find > fits, fits.cheap > book, fits.else > other, book.error > other]
outputs: {booked: "${book.output?}", advice: "${other.text?}"}
view: {find: [0, 0]}
"""


def test_each_problem_is_told_with_line_column_and_hint() -> None:
    cases = {
        ("type: if", "type: iff"): (6, "there is no type 'iff'", "'if'"),
        ("tool: search_flights,", "tol: search_flights,"): (5, "there is no field 'tol'", "'tool'"),
        ("name: flight_desk", "name: flight_desk\nname: x"): (3, "stands twice", ""),
        ("find > fits,", "find > fits, fits.else > find,"): (10, "cycle: ", "loop"),
        ("book.error > other", "book.error > othr"): (10, "no node 'othr' here", "'other'"),
        ("find > fits,", "find > fits, count > add,"): (10, "no node 'add' here", "crosses no border"),
        ("book.error >", "other.error >"): (10, "other has no port 'error'", "on_error: branch"),
        ("${find.output}", "${book.txt}"): (8, "the node book gives output", "text"),
        ("find > fits, ", ""): (6, "the node find is not upstream", "add an edge"),
        ("exists(f,", "exist(f,"): (6, "no function 'exist'", ""),
        ("vars.n >= 5", "vars.n >="): (9, "is no CEL", ""),
        ("vars.n >= 5", "vars.m >= 5"): (9, "no 'm' in vars", "'n'"),
        ("inputs.date", "inputs.dat"): (5, "no 'dat' in inputs", "'date'"),
        ("Suggest", "sk-abcdefghijklmnopqrstuvwxyz012345 Suggest"): (8, "", ""),
        ("${find.output}", "${secret:KEY}"): (8, "only stand in what an http node sends", ""),
        ("${find.output}", "${find.output"): (8, "has no '}'", ""),
        ("on_error: branch", "on_error: brunch"): (7, "on_error", ""),
        ("find:  {", "inputs:  {"): (5, "can not be called 'inputs'", ""),
    }
    for (old, new), (line, message, hint) in cases.items():
        assert old in FLIGHT, old
        problems = check_text(FLIGHT.replace(old, new, 1)).problems
        if not message:
            continue
        told = [problem for problem in problems if message in str(problem.message)]
        assert told, (new, problems)
        assert told[0].line == line, (new, told)
        assert told[0].column > 0
        assert hint in str(told[0].hint), (new, told)


def test_several_problems_are_told_at_once() -> None:
    bad = FLIGHT.replace("type: if", "type: iff").replace("othr", "x").replace("tool: book_flight", "tol: book")
    assert len(check_text(bad).problems) >= 3


def test_a_key_in_plain_text_and_a_secret_for_a_host_that_a_value_decides_are_problems() -> None:
    text = """\
actum: workflow/1
name: sends
inputs: {type: object, properties: {url: {type: string}}}
nodes:
  plain: {type: http, url: "https://a.example/x", headers: {x-key: "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"}}
  leak: {type: http, url: "${inputs.url}", headers: {authorization: "Bearer ${secret:KEY}"}}
  half: {type: http, url: "https://a.example${inputs.url}", headers: {authorization: "Bearer ${secret:KEY}"}}
  fine: {type: http, url: "https://a.example/${inputs.url}", headers: {authorization: "Bearer ${secret:KEY}"}}
"""
    problems = check_text(text).problems
    assert [(problem.line, str(problem.message).split(":")[0]) for problem in problems] == [
        (5, "a key stands here in plain text"),
        (6, "leak"),
        (7, "half"),
    ]


def test_a_schema_of_a_node_that_can_not_be_is_told_where_it_stands() -> None:
    text = """\
actum: workflow/1
name: forms
nodes:
  sums: {type: code, code: "def main(): return {}", outputs: {type: objekt}}
  says: {type: model, model: fast, prompt: Hi, output_schema: {type: object, properties: [a]}}
  asks: {type: human, message: Hi, form: {type: object, required: a}}
  ends: {type: end, outputs: {type: objekt}}
"""
    problems = check_text(text).problems
    assert [(problem.line, str(problem.message).partition(":")[0]) for problem in problems] == [
        (4, "sums.outputs"),
        (5, "says.output_schema"),
        (6, "asks.form"),
    ]


def test_a_secret_is_no_input_and_no_answer_of_a_person_because_both_stand_on_record() -> None:
    text = """\
actum: workflow/1
name: logs_in
inputs: {type: object, properties: {password: {type: string}, tan: {type: string, x-secret: true}}}
nodes:
  ask: {type: human, message: Log in, form: {type: object, properties: {api_key: {type: string}, day: {type: string}}}}
"""
    assert [(problem.line, str(problem.message).split(" is")[0]) for problem in check_text(text).problems] == [
        (3, "inputs: password"),
        (3, "inputs: tan"),
        (5, "ask: api_key"),
    ]


def test_yaml_is_that_of_1_2_and_json_is_the_same_definition() -> None:
    assert [plain_scalar(text) for text in ("yes", "12:30", "on", "true", "0o17", ".5", ".inf", "1_000")] == [
        *("yes", "12:30", "on", True, 15, 0.5, ".inf", "1_000")
    ]
    definition = read_definition(FLIGHT)
    again = read_definition(definition.text)
    assert again.digest == definition.digest
    assert read_definition(FLIGHT.replace("[0, 0]", "[10, 20]")).digest == definition.digest
    assert read_definition(FLIGHT.replace("<= inputs", "< inputs")).digest != definition.digest


def problems_of(text: str | bytes) -> Sequence[TextProblem]:
    try:
        return check_text(text).problems
    except BadWorkflow as bad:
        return bad.problems


def test_dangerous_texts_are_refused_at_once() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + at)}: &{chr(98 + at)} [{','.join([f'*{chr(97 + at)}'] * 9)}]\n" for at in range(9)
    )
    cases: dict[str, str | bytes] = {
        "alias bomb": bomb,
        "size": "a: " + "x" * 1_000_001,
        "deep": "a: " + "[" * 100_000,
        "deep blocks": "\n".join(" " * at + "a:" for at in range(200)),
        "deep json": '{"a":' * 100,
        "tag": "a: !!python/object/apply:os.system [x]",
        "no YAML": "a: [",
        "no JSON": '{"a": }',
        "two": "a: 1\n---\nb: 2",
        "binary": b"\xff\xfe\x00",
        "empty": "",
    }
    read_definition(FLIGHT)
    for name, text in cases.items():
        began = time.process_time()
        assert problems_of(text), name
        assert time.process_time() - began < 0.1, name


def test_too_many_nodes_are_refused() -> None:
    nodes = {f"n{at}": {"type": "note"} for at in range(5_001)}
    with pytest.raises(BadWorkflow, match="at most 5000 nodes"):
        check_text(json.dumps({"actum": "workflow/1", "name": "many", "nodes": nodes}))


def test_the_json_schema_of_the_format_names_every_type_of_node() -> None:
    schema = json_schema()
    assert "EachNode" in json.dumps(schema)
    assert "AgentNode" in json.dumps(schema["$defs"]["LoopNode"])  # type: ignore[index, call-overload]


FINE = "actum: workflow/1\nname: c\ninputs: {type: object, properties: {city: {type: string}}}\nnodes:\n"


@pytest.mark.parametrize(
    ("rest", "told"),
    [
        (  # a type that there is not
            """  a: {type: say, text: "${inputs.city}"}
  b: {type: sai, text: "x"}
  c: {type: template, template: "${a.text} ${b.text}"}
edges: [a > b, b > c]
outputs: {x: "${c.text} ${b.text}"}
""",
            ["b: there is no type 'sai'"],
        ),
        (  # a field that is missing
            """  a: {type: say}
  c: {type: template, template: "${a.text}"}
edges: [a > c]
outputs: {x: "${a.text} ${c.text}"}
""",
            ["a: the field 'text' is missing"],
        ),
        (  # an edge that is none
            """  a: {type: say, text: x}
  c: {type: template, template: "${a.text}"}
edges: [a - c]
outputs: {x: "${c.text}"}
""",
            ["'a - c' is no edge"],
        ),
        (  # a mistake of its own is told beside the other
            """  a: {type: sai, text: x}
  c: {type: template, template: "${a.text}"}
edges: [a > c]
outputs: {x: "${c.text} ${nope.text}"}
""",
            ["a: there is no type 'sai'", "nope.text: there is no node 'nope'"],
        ),
    ],
)
def test_one_mistake_is_told_once_and_adds_no_others(rest: str, told: list[str]) -> None:
    assert sorted(str(problem.message) for problem in check_text(FINE + rest).problems) == sorted(told)


def test_the_guide_has_each_field_of_each_node_and_what_each_node_gives() -> None:
    guide = (Path(__file__).parents[2] / "docs/workflows.md").read_text("utf-8")
    rows = {line.split("`")[1]: line for line in guide.splitlines() if line.startswith("| `") and line.count("|") == 5}
    for name, kind in NODE_TYPES.items():
        fields = {each.encode_name for each in msgspec.structs.fields(kind.settings)} - {"title", "on_error"}
        gives = kind.gives if kind.settings.TEMPLATES else ()
        missing = [each for each in (*fields, *gives) if f"`{each}`" not in rows[name]]
        assert not missing, (name, missing)
