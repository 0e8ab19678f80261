"""The import of Coze canvases: the node list, what is hostile, broken or secret in a file, and the command."""

import contextlib
import io
import json
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from actum.cli.app import app as command
from actum.core.json import Json, JsonObject
from actum.core.message import ToolMessage
from actum.journal.memory import MemoryJournal
from actum.testing import ScriptedModel
from actum.workflow.definition.loose import COZE
from actum.workflow.definition.text import BadWorkflow, read_text
from actum.workflow.imports.coze import import_coze
from actum.workflow.imports.report import ImportStatus
from actum.workflow.load import check_text, read_definition
from actum.workflow.workflow import Workflow
from tests.endurance import share
from tests.workflow.imports.mutation import JUNK, fields_of, places

CORPUS = Path(__file__).parent.parent / "coze"

NODE_TYPES: dict[str, tuple[str, ImportStatus]] = {
    "1": ("start", "same"),
    "2": ("end", "same"),
    "3": ("LLM", "open"),
    "4": ("plugin", "open"),
    "5": ("code", "near"),
    "6": ("knowledge", "open"),
    "8": ("selector", "near"),
    "9": ("sub-workflow", "open"),
    "11": ("variable", "open"),
    "12": ("database: SQL", "open"),
    "13": ("output", "same"),
    "14": ("image flow", "open"),
    "15": ("text", "same"),
    "16": ("image generation", "open"),
    "17": ("image reference", "open"),
    "18": ("question", "same"),
    "19": ("break", "same"),
    "20": ("set a variable of a loop", "same"),
    "21": ("loop", "same"),
    "22": ("intent", "open"),
    "23": ("image canvas", "open"),
    "24": ("scene variable", "lost"),
    "25": ("scene chat", "lost"),
    "26": ("long-term memory", "open"),
    "27": ("knowledge: write", "open"),
    "28": ("batch", "same"),
    "29": ("continue", "same"),
    "30": ("input", "near"),
    "31": ("comment", "near"),
    "32": ("merge", "same"),
    "34": ("trigger: write", "open"),
    "35": ("trigger: delete", "open"),
    "36": ("trigger: read", "open"),
    "37": ("messages", "lost"),
    "38": ("clear the history", "lost"),
    "39": ("create a conversation", "lost"),
    "40": ("assign a variable", "near"),
    "42": ("database: update", "open"),
    "43": ("database: query", "open"),
    "44": ("database: delete", "open"),
    "45": ("HTTP", "near"),
    "46": ("database: insert", "open"),
    "51": ("update a conversation", "lost"),
    "52": ("delete a conversation", "lost"),
    "53": ("conversations", "lost"),
    "54": ("history", "lost"),
    "55": ("create a message", "lost"),
    "56": ("edit a message", "lost"),
    "57": ("delete a message", "lost"),
    "58": ("write JSON", "same"),
    "59": ("read JSON", "same"),
    "60": ("knowledge: delete", "open"),
}
"""The node types of Coze with what becomes of each: `node_meta.go`, and the list of its editor (`node-type.ts`)."""


def canvas(nodes: list[Json], *pairs: tuple[str, str], **more: Json) -> str:
    edges: list[Json] = []
    for source, target in pairs:
        from_, _, port = source.partition(":")
        edge: JsonObject = {"sourceNodeID": from_, "targetNodeID": target}
        edges.append(edge | ({"sourcePortID": port} if port else {}))
    return json.dumps({"nodes": nodes, "edges": edges, **more})


def node(id_: Json, type_: Json, inputs: Json = None, outputs: Json = None, title: str = "", **more: Json) -> Json:
    data: JsonObject = {"nodeMeta": {"title": title or f"n {id_}"}, "inputs": inputs, "outputs": outputs}
    return {"id": id_, "type": type_, "data": data, **more}


def text_of(value: Json) -> JsonObject:
    return {"type": "string", "value": {"type": "literal", "content": value}}


def ref(id_: str, name: str, type_: str = "string") -> JsonObject:
    return {
        "type": type_,
        "value": {"type": "ref", "content": {"source": "block-output", "blockID": id_, "name": name}},
    }


def param(name: str, block: Json) -> Json:
    return {"name": name, "input": block}


def say(id_: str, content: str, *params: Json) -> Json:
    return node(id_, "13", {"content": text_of(content), "inputParameters": list(params)})


START = node("1", "1", outputs=[{"name": "s", "type": "string", "required": True}])


@pytest.fixture(scope="module")
def corpus() -> list[JsonObject]:
    return [msgspec.json.decode(path.read_bytes()) for path in sorted(CORPUS.glob("*.canvas.json"))]


# Conversations --------------------------------------------------------------------------------------------------------


def chat(rounds: Json) -> str:
    """A chat: it counts its questions, and asks a model that is told so many earlier turns."""
    inputs: list[Json] = [
        {"name": "USER_INPUT", "type": "string", "required": False},
        {"name": "CONVERSATION_NAME", "type": "string", "required": False, "defaultValue": "Default"},
    ]
    given: dict[str, Json] = {
        "modelName": "m",
        "systemPrompt": "Be kind.",
        "prompt": "{{input}}",
        "enableChatHistory": True,
    }
    if rounds is not None:
        given["chatHistoryRound"] = rounds
    asks: JsonObject = {
        "inputParameters": [param("input", ref("1", "USER_INPUT"))],
        "llmParam": [param(name, {"value": {"type": "literal", "content": value}}) for name, value in given.items()],
    }
    known: JsonObject = {
        "type": "string",
        "value": {"type": "ref", "content": {"source": "global_variable_user", "path": ["last"]}},
    }
    keeps: JsonObject = {"inputParameters": [{"left": known, "input": ref("1", "USER_INPUT"), "name": "last"}]}
    before = say("4", "before: {{last}}", param("last", known))
    said = say("5", "{{said}}", param("said", ref("2", "output")))
    nodes = [
        node("1", "1", outputs=inputs),
        before,
        node("2", "3", asks, [{"name": "output", "type": "string"}], "Ask"),
        node("3", "40", keeps, [{"name": "isSuccess", "type": "boolean"}], "Keep"),
        said,
    ]
    return canvas(nodes, ("1", "4"), ("4", "2"), ("2", "3"), ("3", "5"))


async def test_a_chat_of_coze_is_told_earlier_turns_and_keeps_its_variables_from_run_to_run() -> None:
    imported = import_coze(chat("2"))
    lines = {(each.field.rpartition(".")[2], each.status) for each in imported.report.lines if each.status != "same"}
    assert {("enableChatHistory", "near"), ("last", "near")} <= lines
    assert not [each for each in imported.report.lines if each.status == "lost"], imported.report.lines
    model = ScriptedModel(["A", "B", "C", "D", "E"])
    flow = Workflow(read_definition(imported.text), models={"coze:m": model}, journal=MemoryJournal())
    told = [(await flow.run({"USER_INPUT": word}, conversation="c")).text for word in ("one", "two", "three", "four")]
    assert told == ["before: \nA", "before: one\nB", "before: two\nC", "before: three\nD"]
    said = [each.text for each in model.requests[-1].messages if not isinstance(each, ToolMessage)]
    assert said == ["Be kind.", "two", told[1], "three", told[2], "four"]
    assert (await flow.run({"USER_INPUT": "x"}, conversation="d")).text == "before: \nE"


@pytest.mark.parametrize(
    ("rounds", "turns"), [(None, 3), ("7", 7), (1e6, 100), ("", 3), ("many", 3), ([], 3), (0, 0), (-1, 0)]
)
def test_any_number_of_turns_of_a_chat_of_coze_becomes_one_of_ours(rounds: Json, turns: int) -> None:
    text = import_coze(chat(rounds)).text
    assert (f"turns: {turns}" in text) == bool(turns)


# Node types -----------------------------------------------------------------------------------------------------------


def _all_nodes(value: Json) -> Iterator[JsonObject]:
    if isinstance(value, dict):
        for field in ("nodes", "blocks"):
            inner = value.get(field)
            for each in inner if isinstance(inner, list) else ():
                assert isinstance(each, dict)
                yield each
                yield from _all_nodes(each)


def test_every_node_type_of_coze_is_known_and_the_report_says_what_became_of_it(corpus: list[JsonObject]) -> None:
    ranks = ("same", "near", "open", "lost")
    found: dict[str, set[str]] = {}
    for value in corpus:
        imported = import_coze(msgspec.json.encode(value))
        for each in _all_nodes(value):
            lines = [line for line in imported.report.lines if line.id == each["id"]]
            assert not any("there is no node type" in line.message for line in lines), each["type"]
            worst = max((ranks.index(line.status) for line in lines), default=0)
            found.setdefault(str(each["type"]), set()).add(ranks[worst])
    assert found.keys() == NODE_TYPES.keys()
    assert {kind: (name, min(found[kind], key=ranks.index)) for kind, (name, _) in NODE_TYPES.items()} == NODE_TYPES


INT: JsonObject = {"type": "integer"}
PERSON: JsonObject = {"type": "object", "properties": {"n": INT, "s": {"type": "string"}}}
TYPED: list[tuple[Json, Json, Json]] = [
    ("12", INT, 12),
    (1.9, INT, 1),
    ("x", INT, None),
    (True, INT, None),
    (3.0, {"type": "string"}, "3"),
    ([1], {"type": "string"}, "[1]"),
    ("1.5", {"type": "number"}, 1.5),
    ("True", {"type": "boolean"}, True),
    (1.5, {"type": "boolean"}, None),
    (None, INT, None),
    (["1", "x", 2], {"type": "array", "items": INT}, [1, 2]),
    ([{"n": "1"}, "x"], {"type": "array", "items": PERSON}, [{"n": 1}, None]),
    ({"n": "1", "s": 5, "more": [1]}, PERSON, {"n": 1, "s": "5", "more": [1]}),
    ('{"n": "x"}', PERSON, {"n": None}),
    (7, {}, 7),
]
"""Expected by hand from `nodes/convert.go`."""


@pytest.mark.parametrize(
    ("function", "cases"),
    [
        ("coze_equal", [(None, None, True), (None, 0, False), (1, 1.0, True), ("a", "a", True), (True, 1, False)]),
        ("coze_not_equal", [(None, None, False), (None, "a", True), ("a", "b", True)]),
        ("coze_longer", [(None, 0, False), ("abc", 2, True), (["a"], 1, False), ("é", 1, True)]),
        ("coze_longer_or_same", [(None, 0, True), (None, 1, False), ("ab", 2, True)]),
        ("coze_shorter", [(None, 0, False), (None, 1, True), ("ab", 3, True)]),
        ("coze_shorter_or_same", [(None, 0, True), ("ab", 2, True), ("abc", 2, False)]),
        ("coze_contains", [(None, "a", False), ("abc", "b", True), (["a", 1], 1, True), ([1], "1", False)]),
        ("coze_not_contains", [(None, "a", True), ("abc", "b", False)]),
        ("coze_greater", [(None, 1, False), (1, None, True), (2, 1.5, True), (1, 1, False)]),
        ("coze_at_least", [(None, None, True), (None, 1, False), (1, 1.0, True)]),
        ("coze_less", [(None, None, False), (None, 1, True), (1, None, False), (1, 2, True)]),
        ("coze_at_most", [(None, 1, True), (1, None, False), (1, 1, True)]),
        ("coze_default", [(None, 1, 1), ("", "a", "a"), ([], [1], [1]), (0, 1, 0), (False, True, False)]),
        ("coze_taken", [(None, 1, []), ({"error": {}}, None, []), ({"output": None}, None, [None]), ({}, 1, [1])]),
        ("coze_typed", TYPED),
        ("coze_rows", [({"a": [1, 2], "b": [3]}, 5, [{"a": 1, "b": 3}]), ({"a": [1, 2]}, 1, [{"a": 1}])]),
    ],
)
def test_the_functions_of_coze_decide_as_coze_does(function: str, cases: list[tuple[Json, Json, Json]]) -> None:
    """Expected by hand from `selector/clause.go`, `entry/entry.go`, `loop/loop.go` and `batch/batch.go`."""
    found = [(one, other, COZE[function](one, other)) for one, other, _ in cases]
    assert found == cases
    alone: dict[str, list[object]] = {
        "coze_empty": [None, "", "None", 0, False, [], {}],
        "coze_not_empty": ["a", 1, True, [0]],
    }
    assert [name for name, values in alone.items() for value in values if not COZE[name](value)] == []
    assert [COZE["coze_true"](value) for value in (None, True, False)] == [False, True, False]
    assert [COZE["coze_false"](value) for value in (None, True, False)] == [True, False, True]


# What is hostile ------------------------------------------------------------------------------------------------------


def test_a_file_that_is_too_large_or_too_deep_or_none_of_coze_is_refused() -> None:
    large = canvas([START, say("2", "x" * 2_000_000)], ("1", "2"))
    deep = '{"nodes": ' + "[" * 10_000 + "]" * 10_000 + "}"
    blocks = '{"nodes": [' + '{"id": "1", "type": "21", "blocks": [' * 10_000 + "]}" * 10_000 + "]}"
    wrapped = '{"data": ' * 100 + "{}" + "}" * 100
    others = (
        "",
        "[]",
        "5",
        "a: 1",
        "{}",
        '{"nodes": null}',
        '{"nodes": {}}',
        '{"schema": "x"}',
        "app: {mode: workflow}",
    )
    for text in (large, deep, blocks, wrapped, *others):
        with pytest.raises(BadWorkflow):
            import_coze(text)


def test_the_yaml_of_coze_that_is_no_canvas_is_refused_with_a_word_on_what_to_do() -> None:
    text = "schema_version: 1.0.0\nnodes:\n- {id: '1', type: start, parameters: {node_outputs: {}}}\nedges: []"
    with pytest.raises(BadWorkflow, match="copy them"):
        import_coze(archived({"MANIFEST.yml": "type: Workflow", "workflow/a.yaml": text}))


def test_an_archive_that_is_broken_or_a_bomb_is_refused() -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.json", b" " * 50_000_000)
    good = archived({"canvas.json": canvas([START])})
    for data in (bomb.getvalue(), good[:60], good[:-30], archived({}), archived({"a.txt": canvas([START])})):
        with pytest.raises(BadWorkflow):
            import_coze(data)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.json", canvas([START]))
    with pytest.raises(BadWorkflow):
        import_coze(packed.getvalue())
    chance = random.Random(6)  # which bytes are changed, and no secret
    for _ in range(200):
        broken = bytearray(good)
        for _ in range(chance.randint(1, 8)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        with contextlib.suppress(BadWorkflow):
            import_coze(bytes(broken))
    nested = archived({"inner.zip": good.decode("latin-1"), "x.json": "no JSON at all: [", "y.json": canvas([START])})
    imported = import_coze(nested)
    assert [line.message for line in imported.report.lines if line.status == "open"] == [
        "other files in the archive: 1; unpack it, and import each workflow"
    ]


def archived(files: dict[str, str]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return data.getvalue()


def test_a_canvas_is_found_in_each_wrapping_that_coze_exports() -> None:
    bare = canvas([START, say("2", "hello")], ("1", "2"))
    inner = json.loads(bare)
    wrapped = {
        "bare": bare,
        "schema as text": json.dumps({"name": "Greet All", "desc": "Greets.", "schema": bare}),
        "an answer of the API": json.dumps(
            {"code": 0, "data": {"workflow": {"name": "Greet All", "schema_json": bare}}}
        ),
        "what the editor copies": json.dumps({"type": "coze-workflow-clipboard-data", "source": {}, "json": inner}),
    }
    texts = {name: import_coze(text) for name, text in wrapped.items()}
    texts["archive"] = import_coze(archived({"MANIFEST.yml": "type: Workflow", "workflow/greet.json": bare}))
    texts["yaml in an archive"] = import_coze(
        archived({"MANIFEST.yml": "type: Workflow", "Workflow-greet.yaml": f"schema: {json.dumps(bare)}"})
    )
    for name, imported in texts.items():
        assert "n_2: {type: say, text: hello}" in imported.text, name
        assert not check_text(imported.text).problems, name
    assert texts["schema as text"].name == texts["an answer of the API"].name == "greet_all"


def lost(text: str) -> list[str]:
    """What an import reports as lost; what is written passes the check."""
    imported = import_coze(text)
    assert not check_text(imported.text).problems
    return [
        f"{line.name}: {line.message}" if line.name else line.message
        for line in imported.report.lines
        if line.status == "lost"
    ]


def test_what_is_broken_in_a_graph_is_reported_and_never_runs() -> None:
    def says(id_: str, name: str) -> Json:
        return say("2", "{{x}}", param("x", ref(id_, name)))

    two = [START, say("2", "a"), say("3", "b")]
    loop: Json = node("4", "21", {"loopType": "array"}, [], blocks=[say("5", "x")], edges=[])
    cases: dict[str, tuple[str, str]] = {
        "unknown type": (canvas([START, node("2", "7777")], ("1", "2")), "there is no node type '7777'"),
        "a type that is no number": (canvas([START, node("2", "selector")], ("1", "2")), "there is no node type"),
        "no type": (canvas([START, node("2", None)], ("1", "2")), "there is no node type ''"),
        "no id": (canvas([START, node(None, "13")]), "a node has no id"),
        "an id twice": (canvas([*two, say("2", "c")], ("1", "2"), ("2", "3")), "this id stands twice"),
        "an edge to nowhere": (canvas(two, ("1", "2"), ("2", "3"), ("3", "99")), "a node that is not there"),
        "a cycle": (canvas(two, ("1", "2"), ("2", "3"), ("3", "2")), "n_2: a cycle of edges is cut"),
        "an edge to itself": (canvas(two, ("1", "2"), ("2", "3"), ("2", "2")), "back to its own node"),
        "an edge into a loop": (canvas([START, loop], ("1", "4"), ("1", "5")), "crosses the border"),
        "a port that is not there": (canvas(two, ("1", "2"), ("2:true_7", "3")), "no port 'true_7'"),
        "a reference to nothing": (
            canvas([START, say("2", "{{x}}", param("x", ref("9", "y")))], ("1", "2")),
            "9.y is not there",
        ),
        "a reference downstream": (
            canvas([START, says("3", "output"), say("3", "b")], ("1", "2"), ("2", "3")),
            "3.output is not there, or not upstream",
        ),
        "an input that is not there": (
            canvas([START, say("2", "{{x}}", param("x", ref("1", "t")))], ("1", "2")),
            "1.t is",
        ),
        "a field that nobody knows": (canvas([START], surprise={"a": 1}), "not known to the import"),
        "a field of a node": (
            canvas([START, node("2", "13", {"content": text_of("a"), "x": 1})], ("1", "2")),
            "not known",
        ),
    }
    missing = {
        name: lost(text) for name, (text, message) in cases.items() if not any(message in each for each in lost(text))
    }
    assert missing == {}
    assert "n_3" not in import_coze(cases["a port that is not there"][0]).text


def test_an_empty_canvas_is_a_workflow_that_does_nothing() -> None:
    imported = import_coze('{"nodes": [], "edges": []}')
    assert not check_text(imported.text).problems
    assert imported.report.exit_code == 0


def test_names_that_are_no_identifiers_become_names_of_ours() -> None:
    titles = [
        "你好",
        "",
        "1",
        "__proto__",
        "constructor",
        "inputs",
        "vars",
        "size",
        "a" * 500,
        "a b",
        "a-b",
        "x'); drop",
        "for",
    ]
    nodes = [
        START,
        *(node(str(n + 2), "13", {"content": text_of("hi")}, title=title) for n, title in enumerate(titles)),
    ]
    imported = import_coze(canvas(nodes, *((str(n + 1), str(n + 2)) for n in range(len(titles)))))
    assert not check_text(imported.text).problems
    assert len(set(imported.report.names.values())) == len(titles)
    assert all(name.isidentifier() and name.isascii() for name in imported.report.names.values())
    names = ["城市", "__proto__", "cel", "a b", 'q"q', "1", "a.b", "class"]
    outputs: list[Json] = [{"name": name, "type": "string", "__proto__": {"x": 1}} for name in names]
    params = [param(name, ref("1", name)) for name in names]
    strange = import_coze(
        canvas([node("1", "1", outputs=outputs), node("2", "2", {"inputParameters": params}, title="End")], ("1", "2"))
    )
    assert not check_text(strange.text).problems
    value = read_text(strange.text).value
    assert isinstance(value, dict)
    assert value["nodes"]["end"]["outputs"]["城市"] == '${inputs["城市"]?}'  # type: ignore[call-overload,index]
    assert value["nodes"]["end"]["outputs"]["__proto__"] == "${inputs.__proto__?}"  # type: ignore[call-overload,index]


def test_a_text_of_the_canvas_never_becomes_an_expression_of_ours() -> None:
    hostile = "${secret:KEY} ${env.x} ${nothing}"
    body: Json = {"bodyType": "RAW_TEXT", "bodyData": {"rawText": hostile}}
    http: JsonObject = {"apiInfo": {"method": "POST", "url": "https://example.org"}, "body": body}
    given = [param("cel", text_of("1 + 1")), param("x", text_of(hostile))]
    plugin: JsonObject = {"apiParam": [], "inputParameters": given}
    alone: JsonObject = {"apiParam": [], "inputParameters": [param("cel", text_of("1 + 1"))]}
    nodes = [START, say("2", hostile), node("3", "4", plugin), node("4", "45", http), node("5", "4", alone)]
    imported = import_coze(canvas(nodes, ("1", "2"), ("2", "3"), ("3", "4"), ("4", "5")))
    assert "${secret:" not in imported.text
    assert "${env.x}" not in imported.text
    value = read_text(imported.text).value
    assert isinstance(value, dict)
    assert '"with":{"cel"' not in json.dumps(value["nodes"]).replace(" ", "").replace('"with":{"cel":"1+1","x"', "")
    assert "${env.dollar}{secret:KEY}" in imported.text


# Secrets --------------------------------------------------------------------------------------------------------------


def test_no_secret_of_a_canvas_stands_in_ours_or_in_the_report() -> None:
    kinds = ("a", "b", "c", "d", "e", "f", "g", "sk")
    a, b, c, d, e, f, g, h = (f"{kind}-vErYsEcReT-abcdefghijklmnop-{kind}" for kind in kinds)

    def http(url: str, **more: Json) -> JsonObject:
        return {"apiInfo": {"method": "GET", "url": url}, "body": {"bodyType": "EMPTY"}, **more}

    def auth(kind: str, data: Json) -> Json:
        return {"authOpen": True, "authType": kind, "authData": data}

    host = "https://example.org"
    bearer = auth("BEARER_AUTH", {"bearerTokenData": [param("token", text_of(a))]})
    pair = [param("Key", text_of("sign")), param("Value", text_of(b))]
    custom = auth("CUSTOM_AUTH", {"customData": {"addTo": "query", "data": pair}})
    code = f"api_key = '{e}'\nasync def main(args): return {{}}"
    nodes = [
        node("2", "45", http(host, auth=bearer, headers=[param("X-Api-Key", text_of(c))])),
        node("3", "45", http(host, auth=custom)),
        node("4", "45", http("{{block_output_1.s}}", auth=bearer)),
        node("5", "4", {"apiParam": [], "inputParameters": [param("api_key", text_of(d))]}),
        node("6", "5", {"code": code, "language": 3, "inputParameters": []}, []),
        node("7", "3", {"llmParam": [param("prompt", text_of(f"use {h}"))]}, []),
        node("8", "45", http(f"{host}/?access_token={f}")),
    ]
    outputs: list[Json] = [{"name": "s", "type": "string"}, {"name": "password", "type": "string", "defaultValue": g}]
    imported = import_coze(
        canvas([node("1", "1", None, outputs), *nodes], *((str(n), str(n + 1)) for n in range(1, 8)))
    )
    said = imported.text + str(imported.report)
    assert [secret for secret in (a, b, c, d, e, f, g, h) if secret in said] == []
    assert not check_text(imported.text).problems
    messages = [line.message for line in imported.report.lines if line.status == "open"]
    opened = [message for message in messages if "secret" in message or "key" in message]
    assert len(opened) >= 7, opened
    assert "${secret:n_2_Authorization}" in imported.text
    assert "n_2_Authorization" in said


def test_no_secret_of_a_canvas_is_written_wherever_it_stands() -> None:
    secret = "a9vErYsEcReTAbcdefghij7"

    def http(body: Json, **more: Json) -> Json:
        return node("2", "45", {"apiInfo": {"method": "POST", "url": "https://example.org"}, "body": body, **more})

    def body(kind: str, **data: Json) -> Json:
        return {"bodyType": kind, "bodyData": data}

    def plugin(block: Json) -> Json:
        return node("2", "4", {"apiParam": [], "inputParameters": [param("o", block)]})

    code: JsonObject = {"code": "async def main(args): return {}", "language": 3}
    default: Json = {"switch": True, "processType": 2, "dataOnErr": json.dumps({"api_key": secret})}
    named = param("api_key", text_of(secret))
    variable: Json = {"type": "ref", "content": {"source": "global_variable_app", "path": ["api_key"]}}
    loop: Json = {"loopType": "count", "loopCount": text_of("1"), "variableParameters": [named]}
    cases: dict[str, Json] = {
        "body": http(body("JSON", json=json.dumps({"api_key": secret, "deep": [{"token": secret}]}))),
        "body with a name": http(body("JSON", json=f'{{"api_key": "{secret}", "n": {{{{block_output_1.s}}}}}}')),
        "raw body": http(body("RAW_TEXT", rawText=f"token={secret}")),
        "form": http(body("FORM_URLENCODED", formURLEncoded=[param("token", text_of(secret))])),
        "parts": http(body("FORM_DATA", formData={"data": [param("token", text_of(secret))]})),
        "cookie": http(body("EMPTY"), headers=[param("Cookie", text_of(f"session={secret}"))]),
        "object": plugin({"type": "object", "value": {"type": "literal", "content": {"l": [{"password": secret}]}}}),
        "object of blocks": plugin({"type": "object", "schema": [named], "value": {"type": "object_ref"}}),
        "code": node("2", "5", {**code, "inputParameters": [named]}),
        "default output": node("2", "5", {**code, "settingOnError": default}, [{"name": "api_key", "type": "string"}]),
        "variable": node("2", "40", {"inputParameters": [{"left": {"value": variable}, "right": text_of(secret)}]}),
        "end": node("2", "2", {"inputParameters": [named]}),
        "loop": node("2", "21", loop, [], blocks=[say("7", "x")], edges=[{"sourceNodeID": "2", "targetNodeID": "7"}]),
        "note": node("2", "31", {"note": f"api_key: {secret}"}),
        "model": node("2", "3", {"llmParam": [param("modleName", text_of(f"sk-{secret}"))]}, []),
        "option": node("2", "18", {"answer_type": "option", "question": "q", "options": [{"name": f"token={secret}"}]}),
        "statement": node("2", "12", {"sql": f"-- password: {secret}", "inputParameters": []}),
    }
    wrong: list[str] = []
    for name, value in cases.items():
        imported = import_coze(canvas([START, value], ("1", "2")))
        messages = [line.message for line in imported.report.lines if line.status == "open"]
        if secret in imported.text or secret in str(imported.report) or check_text(imported.text).problems:
            wrong.append(name)
        if not any("key stood" in message or "secret stood" in message for message in messages):
            wrong.append(f"{name}: not told")
    assert wrong == []
    titled = import_coze(canvas([START, node("2", "13", {"x": 1}, title=f"sk-{secret}")], ("1", "2")))
    assert secret not in titled.text + str(titled.report)
    harmless: Json = {"type": "object", "value": {"type": "literal", "content": {"key": "name", "sign": "Aries"}}}
    assert "o: {key: name, sign: Aries}" in import_coze(canvas([START, plugin(harmless)], ("1", "2"))).text


# Anything at any place ------------------------------------------------------------------------------------------------


def survives(value: JsonObject) -> None:
    """The import comes to an end, reports, and what it writes passes the check."""
    try:
        imported = import_coze(msgspec.json.encode(value))
    except BadWorkflow:
        return
    assert imported.report.exit_code in (0, 3, 4)
    assert not check_text(imported.text).problems


MORE_JUNK: list[Json] = [
    *("{{x}}", "150", 150, "[" * 50, '{"cel": "1"}', "a\u0000b", "\u2028"),
    {"type": "ref"},
    {"type": "ref", "content": {"path": [None]}},
]


@settings(max_examples=share(60, 10), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_canvas_with_anything_at_any_place_never_breaks_the_import(
    corpus: list[JsonObject], data: st.DataObject
) -> None:
    value = msgspec.json.decode(msgspec.json.encode(data.draw(st.sampled_from(corpus))))
    for _ in range(data.draw(st.integers(1, 4))):
        data.draw(st.sampled_from(places(value, [])))(data.draw(st.sampled_from([*JUNK, *MORE_JUNK])))
    survives(value)


def test_a_canvas_with_any_one_field_missing_or_null_never_breaks_the_import(corpus: list[JsonObject]) -> None:
    chance = random.Random(4)  # which fields are tried, and no secret
    for value in corpus:
        text = msgspec.json.encode(value)
        paths = list(fields_of(value, ()))
        for path in chance.sample(paths, 3):
            for is_null in (False, True):
                changed = msgspec.json.decode(text)
                at = changed
                for step in path[:-1]:
                    at = at[step]
                if is_null:
                    at[path[-1]] = None
                else:
                    del at[path[-1]]
                survives(changed)


# The command ----------------------------------------------------------------------------------------------------------


def test_the_command_writes_our_file_and_tells_by_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = CliRunner()
    for name, code in (("pass_through", 0), ("llm_text", 3), ("conversation", 4)):
        file = str(CORPUS / f"{name}.canvas.json")
        done = run.invoke(command, ["workflow", "import", file, "--from", "coze", "-o", f"{name}.yaml"])
        assert done.exit_code == code, done.output
        assert not check_text((tmp_path / f"{name}.yaml").read_bytes()).problems
    Path("export.zip").write_bytes(archived({"a/canvas.json": canvas([START])}))
    assert run.invoke(command, ["workflow", "import", "export.zip", "--from", "coze"]).exit_code == 0
    assert check_text(Path("export.workflow.yaml").read_bytes()).source.value["name"] == "export"  # type: ignore[call-overload,index]
