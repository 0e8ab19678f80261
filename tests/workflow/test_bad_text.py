"""Texts that are meant to do harm, and texts that are merely wrong: what `check` says, and what checking costs."""

import json
import time
from collections.abc import Sequence

import pytest

from actum.core.definition import TextProblem
from actum.core.json import JsonObject
from actum.protocols.source_text import YAML_BYTES_MAX
from actum.workflow.definition.text import BadWorkflow
from actum.workflow.load import check_text
from tests.effort import effort

HEAD = "actum: workflow/1\nname: w\n"


def problems_of(text: str | bytes) -> Sequence[TextProblem]:
    try:
        return check_text(text).problems
    except BadWorkflow as bad:
        return bad.problems


def as_json(**fields: object) -> str:
    return json.dumps({"actum": "workflow/1", "name": "w", **fields})


def seconds_of(text: str) -> float:
    began = time.process_time()
    problems_of(text)
    return time.process_time() - began


def test_one_long_text_that_many_aliases_repeat_is_refused_before_it_is_repeated() -> None:
    aliases = ",".join(["*a"] * 10_000)
    bomb = f'{HEAD}env: {{a: &a "{"x" * 10_000}", l: [{aliases}]}}\nnodes: {{}}\n'
    problems_of(HEAD)
    assert seconds_of(bomb) < 0.5  # it stands for 100 MB
    (problem,) = problems_of(bomb)
    assert "stands for more than 4000000 bytes" in str(problem.message)
    fine = f'{HEAD}env: {{a: &a "{"x" * 1_000}", l: [{",".join(["*a"] * 100)}]}}\nnodes: {{}}\n'
    assert not problems_of(fine)


def test_half_of_a_character_is_no_text() -> None:
    for text in (
        '{"actum": "workflow/1", "name": "w", "nodes": {}, "env": {"a": "\\ud800"}}',
        '{"actum": "workflow/1", "name": "w", "nodes": {}, "env": {"\\udfff": 1}}',
        HEAD + 'nodes: {}\nenv: {a: ["\\ud83d"]}\n',
        HEAD + "nodes: {}\nenv: {a: \ud800}\n",
    ):
        problems = problems_of(text)
        assert problems, text
        assert "half of a character" in str(problems[0].message) or "no YAML" in str(problems[0].message)
    assert not problems_of('{"actum": "workflow/1", "name": "w", "nodes": {}, "env": {"a": "\\ud83d\\ude00"}}')


def test_checking_takes_time_linear_in_the_text_however_much_is_wrong() -> None:
    """Each of these took minutes, or as long as the square of the text."""
    says: JsonObject = {"type": "say", "text": "x"}
    many = {f"node{at}": says for at in range(4_000)}
    ports = {f"port{at}": "" for at in range(5_000)}
    classify = {"type": "classify", "model": "m", "text": "x", "classes": ports}
    cases = {
        "edges that end nowhere": as_json(nodes=many, edges=[f"nod{at}x > nde{at}" for at in range(4_000)]),
        "chain": as_json(nodes=many, edges=[f"node{at} > node{at + 1}" for at in range(3_999)]),
        "cycle": as_json(nodes=many, edges=[f"node{at} > node{(at + 1) % 4_000}" for at in range(4_000)]),
        "names of no node": as_json(
            nodes={"a": {"type": "tool", "tool": "t", "with": {f"k{at}": f"${{nope{at}.x}}" for at in range(5_000)}}}
        ),
        "names of no node in many nodes": as_json(
            nodes={f"n{at}": {**says, "text": "${nop.x}"} for at in range(4_000)}
        ),
        "no port": as_json(nodes={"c": classify, "s": says}, edges=[f"c.prt{at} > s" for at in range(5_000)]),
        "which port": as_json(nodes={"c": classify, "s": says}, edges=["c > s"] * 5_000),
        "no expressions": as_json(nodes={"a": {**says, "text": [[[f"${{a b{at}}}" for at in range(5_000)]]]}}),
        "no fields": as_json(nodes={"a": {**says, **{f"fild{at}": 1 for at in range(5_000)}}}),
        "no variables": as_json(
            vars={f"v{at}": 1 for at in range(5_000)},
            nodes={"a": {"type": "set", "set": {f"vr{at}": 1 for at in range(5_000)}}},
        ),
    }
    for name, text in cases.items():
        began = time.process_time()
        problems = problems_of(text)
        assert time.process_time() - began < 3, name
        assert bool(problems) == (name != "chain"), name
        assert sum(len(str(each.message)) + len(str(each.hint)) for each in problems) < 4_000_000, name


def test_a_definition_with_far_too_many_nodes_is_refused_in_time_linear_in_the_text() -> None:
    def text(count: int) -> str:
        return HEAD + "nodes:\n" + "".join(f"  n{at}: {{type: note}}\n" for at in range(count))

    problems_of(text(10))
    few, many = (seconds_of(text(count)) for count in (5_001, 15_003))
    assert many < few * 3 * 2
    with pytest.raises(BadWorkflow, match="at most 5000 nodes"):
        check_text(text(5_001))
    inside = {f"n{at}": {"type": "note"} for at in range(2_600)}
    twice = {name: {"type": "each", "over": [], "nodes": inside} for name in ("a", "b")}
    with pytest.raises(BadWorkflow, match="at most 5000 nodes"):
        check_text(as_json(nodes=twice))


CONTRADICTIONS = {
    "{type: human, message: x, choices: [denied, ok]}": "the port 'denied' stands for something else already",
    "{type: human, message: x, choices: [a, a]}": "the port 'a' stands for something else already",
    "{type: human, message: x, choices: [expired], expires: 1h}": "the port 'expired' stands for something else",
    "{type: human, message: x, choices: [a], form: {type: object}}": "a person chooses, or fills in a form",
    "{type: if, cases: [{port: else, when: 'true'}]}": "the port 'else' stands for something else already",
    "{type: if, cases: [{port: error, when: 'true'}], on_error: branch}": "the port 'error' stands for something else",
    "{type: classify, model: m, text: x, classes: {error: '', ok: ''}, on_error: branch}": "the port 'error'",
    "{type: classify, model: m, text: x, classes: {}}": "of length >= 1",
    "{type: model, model: m, prompt: x, settings: {temperature: hot}}": "settings: Expected `float",
    "{type: model, model: m, prompt: x, settings: {temperature: -1}}": "settings: ",
    "{type: model, model: m, prompt: x, settings: {nonsense: 1}}": "unknown field `nonsense`",
    "{type: model, model: m, messages: [hi]}": "messages: Expected `object`",
    "{type: model, model: m, messages: [{role: tool, text: hi}]}": "messages: Invalid enum value 'tool'",
    "{type: wait}": "a node waits for one of for, until and event",
    "{type: wait, for: 1s, event: x}": "a node waits for one of for, until and event",
    "{type: wait, for: soon}": "is no duration",
    f"{{type: wait, for: {'9' * 400}d}}": "is no duration",
    "{type: wait, for: -1}": "is no duration",
    "{type: wait, until: tomorrow}": "is no time",
    "{type: human, message: x, expires: never}": "is no duration",
    "{type: merge, groups: {x: 1}}": "a.groups: Expected `array`",
    "{type: if, cases: []}": "of length >= 1",
    "{type: loop, max: 0, nodes: {}}": "a.max: Expected `int` >= 1",
    "{type: loop, max: 1000000, nodes: {}}": "a.max: Expected `int` <= 10000",
    "{type: each, over: [], parallel: 65, nodes: {}}": "a.parallel: Expected `int` <= 64",
    "{type: each, over: [], nodes: [1]}": "a.nodes: Expected `object`",
    "{type: each, over: [], nodes: {b: 1}}": "the node b is an object with a type",
    "{type: each, over: [], nodes: {b: {type: say, text: x}, inputs: {type: note}}}": "can not be called 'inputs'",
    "{type: break}": "break stands only inside of each or loop",
    "{type: continue}": "continue stands only inside of each or loop",
    "{type: say}": "the field 'text' is missing",
    "{text: x}": "has no type",
    "{type: [say]}": "there is no type",
    "7": "is an object with a type",
    "{type: tool, tool: t, on_error: {default: {output: '${inputs.x}'}}}": "a default is a value",
    "{type: tool, tool: t, retry: {attempts: 2}}": "there is no field 'retry'",
    "{type: model, model: m, retry: {attempts: 0}}": "a.retry: Expected `int` >= 1",
    "{type: model, model: m, retry: {attempts: 2, often: 1}}": "a.retry: Object contains unknown field `often`",
    "{type: workflow, workflow: 'x@0'}": "a: ",
    "{type: code, language: perl, code: x}": "Invalid enum value 'perl'",
    "{type: http, method: TRACE, url: x}": "Invalid enum value 'TRACE'",
    "{type: say, text: '${run.id} sk-proj-abcdefghijklmnopqrstuvwxyz0123456789'}": "a key stands here in plain text",
    "{type: say, text: x, sk-proj-abcdefghijklmnopqrstuvwxyz0123456789: 1}": "a key stands here in plain text",
}


KEYS = [
    "{type: http, url: 'https://a.example', headers: {Authorization: Basic dXNlcjpwYXNzd29yZDE=}}",
    "{type: tool, tool: t, with: {deep: [{api_key: abcdef123456}]}}",
    "{type: say, text: 'the password: hunter22'}",
    "{type: http, url: 'https://user:hunter22@a.example'}",
    "{type: code, code: \"connect(password='hunter22')\"}",
    "{type: template, template: 'api_key = \"abc12345\"'}",
    "{type: template, template: 'api_key: abc12345'}",
    "{type: code, language: shell, code: 'export API_KEY=abc12345; run'}",
]
NO_KEYS = [
    "{type: code, code: 'def main(user, password): return connect(password=password, api_key=keys[7])'}",
    "{type: code, code: 'def log_in(password: str2) -> bool: ...'}",
    "{type: template, template: '<label>Password:</label> <input name=\"password\">{{ n }}'}",
    "{type: model, model: m, prompt: 'A password: 8 to 20 characters. Your password: ${inputs.password}'}",
    "{type: say, text: '密码：请输入您的密码'}",
    "{type: tool, tool: t, with: {password: '${inputs.password}', secret: '', cookie: null, token: abc12345}}",
    "{type: http, url: 'https://a.example', headers: {Authorization: 'Bearer ${secret:KEY_1}'}}",
]


def test_a_key_in_plain_text_is_told_and_a_text_that_only_speaks_of_passwords_is_none() -> None:
    for node in KEYS:
        problems = problems_of(f"{HEAD}nodes:\n  a: {node}\n")
        found = [each for each in problems if each.message == "a key stands here in plain text"]
        assert [each.line for each in found] == [4], (node, problems)
    for node in NO_KEYS:
        problems = problems_of(f"{HEAD}nodes:\n  a: {node}\n")
        assert not [each for each in problems if "plain text" in str(each.message)], (node, problems)


def test_what_contradicts_itself_in_a_node_is_told_at_the_line_of_the_node() -> None:
    for node, message in CONTRADICTIONS.items():
        problems = problems_of(f"{HEAD}nodes:\n  a: {node}\n")
        found = [each for each in problems if message in str(each.message)]
        assert found, (node, problems)
        assert found[0].line == 4, node
        assert found[0].column >= 3, node


def test_an_edge_that_crosses_the_border_of_a_container_is_told_from_both_sides() -> None:
    text = (
        HEAD
        + """\
nodes:
  a: {type: say, text: x}
  l: {type: loop, nodes: {b: {type: say, text: x}}, edges: [a > b]}
  e: {type: each, over: [], nodes: {c: {type: break}, d: {type: say, text: x}}, edges: [c > d]}
edges: [a > b, b > a]
outputs: {x: "${b.text}"}
"""
    )
    told = [(each.line, each.message, each.hint) for each in problems_of(text)]
    border = "an edge joins nodes of the same list of nodes, and crosses no border"
    assert told == [
        (5, "the edge 'a > b': there is no node 'a' here", border),
        (6, "the edge 'c > d': c has no port", "nothing comes behind such a node"),
        (7, "the edge 'a > b': there is no node 'b' here", border),
        (7, "the edge 'b > a': there is no node 'b' here", border),
        (8, "b.text: there is no node 'b'", ""),
    ]


def test_every_bad_expression_of_a_value_is_told_at_its_place() -> None:
    text = (
        HEAD
        + """\
nodes:
  a:
    type: tool
    tool: t
    with:
      x: "${a b}"
      y: ["${run.id}", {cel: "1 +"}]
      z: {deep: "${inputs.x", fine: "${run.id}"}
      n: "${nothing.x}"
"""
    )
    assert [(each.line, each.column) for each in problems_of(text)] == [(8, 7), (9, 24), (10, 11)]
    text = text.replace("${a b}", "${nobody.x}").replace("1 +", "nobody.y").replace('"${inputs.x"', '"${a.output}"')
    told = [(each.line, each.message) for each in problems_of(text)]
    assert [line for line, _ in told] == [8, 9, 10, 11]
    assert told[2][1] == "a.output: the node a is not upstream"


def test_a_name_of_a_node_inside_of_a_container_may_be_used_by_a_node_behind_the_container() -> None:
    each: JsonObject = {
        "type": "each",
        "over": [1],
        "nodes": {"b": {"type": "say", "text": "x"}},
        "output": "${b.text}",
    }
    nodes: JsonObject = {"e": each, "b": {"type": "say", "text": "${e.output}"}}
    assert not problems_of(as_json(nodes=nodes, edges=["e > b"], outputs={"x": "${b.text}"}))
    hidden: JsonObject = {"b": {"type": "say", "text": "x"}, "e": each}
    assert problems_of(as_json(nodes=hidden, edges=["b > e"]))  # inside, `b` would be one of two


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("Hello {{ name }", "line 1 of the template: unexpected '}'"),
        ("one\n{% for x in y %}{{ x }}", "line 2 of the template: Unexpected end of template."),
        ("{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}", "the template is nested too deep"),
        ("{{ 'a' * 300000000 }}{{ 9 ** 9 ** 9 ** 9 }}", ""),  # nothing is computed
        ("{% for a in range(10 ** 12) %}x{% endfor %}", ""),
    ],
)
def test_the_syntax_of_a_template_is_checked_and_nothing_of_the_template_is_computed(template: str, said: str) -> None:
    text = json.dumps({"actum": "workflow/1", "name": "w", "nodes": {"t": {"type": "template", "template": template}}})
    told = [str(each.message) for each in problems_of(text)]
    assert (told == []) if not said else (len(told) == 1 and said in told[0])


def test_long_yaml_is_refused_before_it_is_read_and_json_of_the_same_length_or_a_kept_text_is_read() -> None:
    for line in ("- a\n", "- {a: 1}\n", "- [[a, *b]\n", "# a\n"):
        long = HEAD + "x:\n" + line * (YAML_BYTES_MAX // len(line) + 1)
        with effort() as spent:
            (problem,) = problems_of(long)
        assert spent.calls < 100, line
        assert (problem.message, "JSON" in str(problem.hint)) == (
            "the text is YAML and has more than 131072 bytes",
            True,
        )
    wide = f"{HEAD}nodes: {{}}\nenv: {{a: {'é' * (YAML_BYTES_MAX // 2)}}}\n"  # bytes count, not characters
    assert len(wide) < YAML_BYTES_MAX
    assert [each.message for each in problems_of(wide)] == ["the text is YAML and has more than 131072 bytes"]
    assert not check_text(wide, is_kept=True).problems  # what an older version took, a run goes on with
    assert not problems_of(as_json(nodes={}, env={"a": "é" * YAML_BYTES_MAX}))
