"""The import of Dify files: what is hostile, broken or secret in a file, and the command."""

import json
import random
import re
import tomllib
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
from actum.triggers.intake import check_trigger
from actum.triggers.settings import TriggerTable
from actum.workflow.definition.settings import TemplateNode
from actum.workflow.definition.text import BadWorkflow, read_text
from actum.workflow.imports.definition_text import definition_text
from actum.workflow.imports.dify import import_dify
from actum.workflow.imports.imported import ImportedApp
from actum.workflow.imports.importers import IMPORTS
from actum.workflow.imports.surrogates import whole
from actum.workflow.load import check_text, read_definition
from actum.workflow.workflow import Workflow
from tests.endurance import share
from tests.workflow.imports.mutation import JUNK, fields_of, places

CORPUS = Path(__file__).parent.parent / "dify"


def app(nodes: list[Json], edges: list[Json] | None = None, **workflow: Json) -> str:
    graph: JsonObject = {"nodes": nodes, "edges": edges or []}
    return json.dumps({"app": {"mode": "workflow", "name": "t"}, "workflow": {"graph": graph, **workflow}})


def node(id_: str, type_: str, **data: Json) -> Json:
    return {"id": id_, "type": "custom", "data": {"type": type_, "title": f"{type_} {id_}", **data}}


def edge(source: str, target: str, handle: str = "source") -> Json:
    return {"source": source, "target": target, "sourceHandle": handle}


START = node("1", "start", variables=[{"variable": "s", "type": "text-input", "required": True}])


@pytest.fixture(scope="module")
def corpus() -> list[JsonObject]:
    return [
        found
        for path in sorted(CORPUS.glob("*.yml"))
        if isinstance(found := whole(read_text(path.read_bytes()).value), dict)
    ]


# What is hostile ------------------------------------------------------------------------------------------------------


def test_a_bomb_of_aliases_and_a_text_that_is_too_large_or_too_deep_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    texts = ("\n".join(lines), "a: " + "x" * 1_000_001, "[" * 100_000, '{"data": ' * 100, "kind: app\n--- \nkind: app")
    for text in texts:
        with pytest.raises(BadWorkflow):
            import_dify(text)


def test_a_file_that_is_none_of_dify_is_refused() -> None:
    for text in (
        "",
        "[]",
        "5",
        "a: 1",
        '{"data": "{\\"data\\": \\"{}\\"}"}',
        "kind: app",
        '{"app": {"mode": "workflow"}}',
    ):
        with pytest.raises(BadWorkflow):
            import_dify(text)


def survives(value: JsonObject) -> None:
    """The import comes to an end, reports, and what it writes passes the check."""
    try:
        imported = import_dify(msgspec.json.encode(value))
    except BadWorkflow:
        return
    assert imported.report.exit_code in (0, 3, 4)
    if imported.text:
        assert not check_text(imported.text).problems


@settings(max_examples=share(40, 10), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_file_with_anything_at_any_place_never_breaks_the_import(
    corpus: list[JsonObject], data: st.DataObject
) -> None:
    value = msgspec.json.decode(msgspec.json.encode(data.draw(st.sampled_from(corpus))))
    for _ in range(data.draw(st.integers(1, 4))):
        found = places(value, [])
        data.draw(st.sampled_from(found))(data.draw(st.sampled_from(JUNK)))
    survives(value)


def test_a_file_with_any_one_field_missing_never_breaks_the_import(corpus: list[JsonObject]) -> None:
    chance = random.Random(3)  # which fields are tried, and no secret
    for value in corpus:
        text = msgspec.json.encode(value)
        paths = list(fields_of(value, ()))
        for path in chance.sample(paths, 1) if paths else ():
            changed = msgspec.json.decode(text)
            at = changed
            for step in path[:-1]:
                at = at[step]
            del at[path[-1]]
            survives(changed)


def test_a_text_of_the_file_never_becomes_an_expression_of_ours() -> None:
    hostile = "${secret:KEY} ${env.x} ${nothing}"
    nodes = [
        START,
        node("2", "answer", answer=hostile),
        node(
            "3",
            "tool",
            tool_name="t",
            provider_id="p",
            tool_parameters={"a": {"type": "constant", "value": {"cel": "1+1"}}},
        ),
        node("4", "http-request", method="post", url="https://example.org", body={"type": "raw-text", "data": hostile}),
    ]
    edges = [edge("1", "2"), edge("2", "3"), edge("3", "4")]
    imported = import_dify(app(nodes, edges))
    value = read_text(imported.text).value
    assert isinstance(value, dict)
    assert "${secret:" not in imported.text
    assert '"cel"' not in json.dumps(value["nodes"])
    assert "${env.dollar}{secret:KEY}" in imported.text


# Secrets --------------------------------------------------------------------------------------------------------------


def test_no_secret_of_a_file_stands_in_ours_or_in_the_report() -> None:
    secrets = [
        f"{kind}-vErYsEcReT{n}-abcdefghijklmnop" for n, kind in enumerate(("a", "b", "c", "d", "e", "f", "g", "sk"))
    ]
    a, b, c, d, e, f, g, sk = secrets
    bearer: Json = {"type": "api-key", "config": {"type": "bearer", "api_key": d}}
    lines: JsonObject = {"headers": f"X-Api-Key: {a}\nAuthorization: Bearer {b}", "params": f"access_token: {c}"}
    code = f"api_key = '{f}'\ndef main(password): return connect(password=password)"
    said_to_model = f"use {sk} and {{{{#env.KEY#}}}}"
    nodes = [
        START,
        node("2", "http-request", method="get", url="https://example.org", authorization=bearer, **lines),
        node("3", "http-request", method="get", url="{{#1.s#}}", authorization=bearer),
        node("4", "tool", tool_name="t", provider_id="p", tool_parameters={}, tool_configurations={"api_key": e}),
        node("5", "code", code=code, outputs={}, variables=[]),
        node("6", "llm", model={}, prompt_template=[{"role": "user", "text": said_to_model}]),
    ]
    edges = [edge(str(n), str(n + 1)) for n in range(1, 6)]
    env: list[Json] = [{"name": "KEY", "value": g, "value_type": "secret"}]
    imported = import_dify(app(nodes, edges, environment_variables=env))
    said = imported.text + str(imported.report)
    assert [secret for secret in secrets if secret in said] == []
    assert not check_text(imported.text).problems
    opened = [
        line
        for line in imported.report.lines
        if line.status == "open" and ("secret" in line.message or "key" in line.message)
    ]
    assert len(opened) >= 7
    assert "connect(password=password)" in imported.text
    assert "${secret:http_request_2_X_Api_Key}" in imported.text


def test_what_only_speaks_of_a_password_comes_over_to_the_letter() -> None:
    form = "<label>Password:</label>\n<input name='password'>"
    code = "def main(password): return {'x': connect(password = password)}"
    nodes = [
        START,
        node("2", "template-transform", template=form, variables=[]),
        node("3", "code", code=code, code_language="python3", outputs={}, variables=[]),
    ]
    value = read_text(import_dify(app(nodes, [edge("1", "2"), edge("2", "3")])).text).value
    assert isinstance(value, dict)
    texts = [item for each in value["nodes"].values() for item in each.values()]  # type: ignore[union-attr]
    assert form in texts
    assert code in texts


def test_a_key_in_a_template_is_left_out_and_what_only_speaks_of_it_stays() -> None:
    template = "<b>Password:</b> {{ x }} api_key: abc1234567890"
    nodes = [START, node("2", "template-transform", template=template, variables=[])]
    imported = import_dify(app(nodes, [edge("1", "2")]))
    assert "abc1234567890" not in imported.text + str(imported.report)
    assert "<b>Password:</b> {{ x }} api_key: [redacted" in imported.text
    assert not check_text(imported.text).problems


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", ""])
def test_a_template_ends_as_it_does_in_dify_whatever_ends_its_lines(end: str) -> None:
    nodes = [START, node("2", "template-transform", template=f"a{end}{end}b{end}", variables=[])]
    definition = read_definition(import_dify(app(nodes, [edge("1", "2")])).text)
    templates = [each.settings for each in definition.graph.nodes.values()]
    assert [each.template for each in templates if isinstance(each, TemplateNode)] == [f"a{end}{end}b"]


def test_a_secret_constant_goes_into_requests_by_its_name() -> None:
    send = node("2", "http-request", method="get", url="https://example.org/x", headers="X-Key: {{#env.KEY#}}")
    env: list[Json] = [{"name": "KEY", "value": "hidden-value-of-key", "value_type": "secret"}]
    imported = import_dify(app([START, send], [edge("1", "2")], environment_variables=env))
    assert "X-Key: " in imported.text
    assert "${secret:KEY}" in imported.text
    assert imported.report.exit_code == 3


# What is reported -----------------------------------------------------------------------------------------------------


def test_every_field_of_a_node_has_a_line_and_an_unknown_field_is_lost() -> None:
    imported = import_dify(app([START, node("2", "answer", answer="x", surprise={"a": 1})], [edge("1", "2")]))
    found = {line.field: line.status for line in imported.report.of("answer_2")}
    assert found["answer"] == "same"
    assert found["surprise"] == "lost"
    assert imported.report.exit_code == 4


def test_an_edge_that_cannot_be_taken_does_not_let_its_target_run() -> None:
    nodes = [START, node("2", "if-else", cases=[]), node("3", "answer", answer="x"), node("4", "answer", answer="y")]
    imported = import_dify(app(nodes, [edge("1", "2"), edge("2", "3", "no-such-case"), edge("3", "4")]))
    assert "answer_3" not in imported.text
    assert "answer_4" not in imported.text
    assert imported.report.exit_code == 4


def test_a_cycle_is_cut_and_containers_in_each_other_are_refused() -> None:
    nodes = [START, node("2", "answer", answer="x"), node("3", "answer", answer="y")]
    imported = import_dify(app(nodes, [edge("1", "2"), edge("2", "3"), edge("3", "2")]))
    assert imported.report.exit_code == 4
    inner = [{**node("5", "loop", loop_count=1), "parentId": "6"}, {**node("6", "loop", loop_count=1), "parentId": "5"}]  # type: ignore[dict-item]
    assert import_dify(app([START, *inner])).report.exit_code in (0, 4)


def test_a_chat_app_becomes_an_agent() -> None:
    config: JsonObject = {
        "model": {"provider": "openai", "name": "gpt-4o", "mode": "chat", "completion_params": {}},
        "pre_prompt": "You are kind.",
        "agent_mode": {
            "enabled": True,
            "tools": [{"tool_name": "current_time", "enabled": True, "provider_id": "time"}],
        },
    }
    source = {
        "kind": "app",
        "version": "0.1.2",
        "app": {"name": "Help Desk", "mode": "agent-chat"},
        "model_config": config,
    }
    imported = import_dify(json.dumps(source))
    assert imported.text == ""
    assert "[agents.help_desk]" in imported.report.settings
    assert 'instructions = "You are kind."' in imported.report.settings
    assert 'tools = ["current_time"]' in imported.report.settings
    assert imported.report.exit_code == 3


CHAT = json.dumps(
    {
        "app": {"mode": "advanced-chat", "name": "t"},
        "workflow": {
            "conversation_variables": [{"name": "log", "value": [], "value_type": "array[string]"}],
            "graph": {
                "nodes": [
                    node("1", "start"),
                    node(
                        "2",
                        "llm",
                        model={"provider": "openai", "name": "m", "mode": "chat", "completion_params": {}},
                        prompt_template=[{"role": "system", "text": "Be kind."}],
                        memory={"window": {"enabled": True, "size": 1}, "query_prompt_template": "{{#sys.query#}}"},
                    ),
                    node(
                        "3",
                        "assigner",
                        version="2",
                        items=[
                            {
                                "variable_selector": ["conversation", "log"],
                                "input_type": "variable",
                                "operation": "append",
                                "value": ["sys", "query"],
                            }
                        ],
                    ),
                    node("4", "answer", answer="{{#2.text#}} {{#conversation.log#}}"),
                ],
                "edges": [edge("1", "2"), edge("2", "3"), edge("3", "4")],
            },
        },
    }
)


async def test_a_chatflow_remembers_its_variables_and_what_was_said_in_a_conversation() -> None:
    imported = import_dify(CHAT)
    assert imported.report.exit_code == 3, "only the model is open"
    assert [
        (each.status, each.message[:20]) for each in imported.report.lines if each.field.endswith("memory.window")
    ] == [("near", "1 turns at most, and")]
    variables = [each for each in imported.report.lines if "conversation_variables" in each.field]
    assert {each.status for each in variables} == {"same"}
    definition = read_definition(imported.text)
    assert (definition.conversation, "log" in definition.vars) == ({"log": []}, False)
    model = ScriptedModel(["A", "B", "C", "D"])
    flow = Workflow(definition, models={"openai:m": model}, journal=MemoryJournal())
    told = [(await flow.run({"query": word}, conversation="c")).text for word in ("one", "two", "three")]
    assert told == ["A - one", "B - one\n- two", "C - one\n- two\n- three"]
    said = [each.text for each in model.requests[-1].messages if not isinstance(each, ToolMessage)]
    assert said == ["Be kind.", "two", told[1], "three"]
    assert (await flow.run({"query": "z"}, conversation="d")).text == "D - z"
    for size, turns in ((0, 100), (-3, 100), (1e9, 100), (7.9, 7)):
        other = import_dify(CHAT.replace('"size": 1', f'"size": {size}'))
        assert f"turns: {turns}" in other.text, size


def test_a_workflow_that_is_no_chat_has_no_memory_of_a_conversation_as_in_dify() -> None:
    model = node("2", "llm", model={}, prompt_template=[{"role": "user", "text": "{{#1.s#}}"}], memory={"window": {}})
    imported = import_dify(app([START, model], [edge("1", "2")]))
    definition = read_definition(imported.text)
    assert list(definition.inputs["properties"] or ()) == ["s"]  # type: ignore[arg-type]
    assert "memory" not in imported.text.replace("memory_", "")
    assert [each.status for each in imported.report.lines if each.field == "memory"] == ["near"]


def test_what_is_written_is_read_back_as_the_same_value() -> None:
    texts = (
        "",
        "yes",
        "12:30",
        "0x1F",
        "a\nb\n",
        "a\n\n",
        " a\nb",
        "a: b",
        "- x",
        "#",
        "\t\nx",
        "\u2028\nx",
        "null",
        "é😀",
        "1e3",
        "a\rb\n",
    )
    value: JsonObject = {"texts": list(texts), **{f"k {n}": text for n, text in enumerate(texts)}}
    value["deep"] = {"list": [[{"a": [1, None, True, {"x": "l\nm\n"}]}], []], "yes": {}, "": 2.5}
    assert read_text(definition_text(value)).value == value


# Triggers -------------------------------------------------------------------------------------------------------------


def tables(imported: ImportedApp) -> dict[str, TriggerTable]:
    """The triggers of the settings that an import writes; each is sound."""
    settings = tomllib.loads(imported.report.settings_for("app.workflow.yaml"))
    found = msgspec.convert(settings.get("triggers", {}), dict[str, TriggerTable])
    for name, table in found.items():
        check_trigger(name, table)
        assert table.workflow == "app.workflow.yaml"
    return found


def test_a_webhook_of_dify_becomes_a_trigger_whose_body_brings_the_inputs() -> None:
    params: list[Json] = [{"name": "q", "required": True}]
    body: list[Json] = [{"name": "n", "type": "number"}, {"name": 'a "b" ${x}', "type": "string", "required": True}]
    hook = node("1", "trigger-webhook", method="get", params=params, body=body, status_code=201)
    imported = import_dify(app([hook, node("2", "answer", answer="{{#1.q#}}")], [edge("1", "2")]))
    found = tables(imported)["trigger_webhook_1"]
    assert found.is_webhook
    assert found.with_ == {
        "q": "${event.data.q}",
        "n": "${event.data.n?}",
        'a "b" ${x}': {"cel": 'event.data["a \\"b\\" ${x}"]'},
    }
    said = {line.field: line.status for line in imported.report.of("trigger_webhook_1")}
    assert (said["method"], said["params[0].name"], said["status_code"]) == ("open", "open", "near")
    assert imported.report.exit_code == 3


@pytest.mark.parametrize(
    ("data", "schedule"),
    [
        ({"mode": "cron", "cron_expression": "0 9 * * 1-5"}, "0 9 * * 1-5"),
        ({"mode": "visual", "frequency": "hourly", "visual_config": {"on_minute": 7}}, "7 * * * *"),
        ({"mode": "visual", "frequency": "daily", "visual_config": {"time": "12:05 AM"}}, "5 0 * * *"),
        ({"mode": "visual", "frequency": "daily", "visual_config": {"time": "12:05 PM"}}, "5 12 * * *"),
        (
            {"frequency": "weekly", "visual_config": {"time": "9:30 PM", "weekdays": ["mon", "sun"]}},
            "30 21 * * MON,SUN",
        ),
        (
            {"frequency": "monthly", "visual_config": {"time": "1:00 AM", "monthly_days": [1, 31, "last"]}},
            "0 1 1,31,L * *",
        ),
        ({"frequency": "monthly", "visual_config": {"time": "1:00 AM", "monthly_days": [0, 32]}}, ""),
        ({"frequency": "daily", "visual_config": {"time": "25:00"}}, ""),
        ({"frequency": "yearly", "visual_config": {"time": "1:00"}}, ""),
        ({"mode": "cron", "cron_expression": "whenever"}, ""),
        ({"mode": "cron", "cron_expression": '0 9 * * *"\nsecret = "x'}, ""),
        ({}, ""),
    ],
)
def test_a_schedule_of_dify_becomes_a_trigger_or_is_open(data: JsonObject, schedule: str) -> None:
    """Expected by hand from what the editor of Dify shows for these settings."""
    imported = import_dify(app([node("1", "trigger-schedule", timezone="Europe/Berlin", **data)]))
    found = tables(imported)
    assert [(table.schedule, table.zone) for table in found.values()] == (
        [(schedule, "Europe/Berlin")] if schedule else []
    )
    assert imported.report.exit_code == 3


def test_a_plugin_that_begins_a_workflow_becomes_a_webhook_that_is_open() -> None:
    imported = import_dify(app([node("1", "trigger-plugin", plugin_id="a/b")]))
    assert tables(imported)["trigger_plugin_1"].is_webhook
    assert imported.report.exit_code == 3


def test_several_starts_ask_for_no_input_and_a_start_of_its_own_nodes_is_lost() -> None:
    hook = node("2", "trigger-webhook", body=[{"name": "n", "type": "number", "required": True}])
    nodes = [hook, node("3", "trigger-schedule", cron_expression="0 9 * * *"), node("4", "answer", answer="{{#2.n#}}")]
    together = import_dify(app(nodes, [edge("2", "4"), edge("3", "4")]))
    assert set(tables(together)) == {"trigger_webhook_2", "trigger_schedule_3"}
    assert "required" not in together.text
    assert together.report.exit_code == 3
    apart = import_dify(app([*nodes, node("5", "answer", answer="x")], [edge("2", "4"), edge("3", "5")]))
    assert apart.report.exit_code == 4


def test_a_node_of_mcp_without_a_server_gets_one_of_its_own_and_a_line_names_the_id_of_its_node() -> None:
    mcp: JsonObject = {
        "provider_id": "junjiem/mcp_sse/mcp_sse",
        "tool_name": "mcp_sse_call_tool",
        "tool_parameters": {"tool_name": "route"},
    }
    both = [node("17001", "tool", **mcp), node("17002", "tool", **mcp)]
    imported = import_dify(app([START, *both], [edge("1", "17001"), edge("17001", "17002")]))
    servers = re.findall(r"server: (\w+)", imported.text)
    assert len({*servers}) == 2, "two nodes that name no server are not taken for one server"
    told = [str(line) for line in imported.report.told]
    for id_, server in zip(("17001", "17002"), servers, strict=True):
        assert any(f"({id_})" in line and f"it is called {server} here" in line for line in told), told


def test_what_only_an_editor_uses_is_counted_and_not_listed() -> None:
    human = node(
        "3", "human-input", form_content="Well?", user_actions=[{"id": "ok", "title": "OK", "button_style": "x"}]
    )
    report = import_dify(app([START, human], [edge("1", "3")])).report
    assert report.editor_only >= 1
    assert not any("editor" in str(line) for line in report.told)
    assert len(report.told) + report.editor_only + report.count("same") == len(report.lines)


# The command ----------------------------------------------------------------------------------------------------------


def test_the_command_writes_our_file_and_tells_by_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert set(IMPORTS) == {"coze", "dify"}
    run = CliRunner()
    for name, code in (("pass_through", 0), ("llm", 3), ("unknown_type", 4)):
        done = run.invoke(
            command, ["workflow", "import", str(CORPUS / f"{name}.yml"), "--from", "dify", "-o", f"{name}.yaml"]
        )
        assert done.exit_code == code, done.output
        assert not check_text((tmp_path / f"{name}.yaml").read_bytes()).problems
    done = run.invoke(
        command, ["workflow", "import", str(CORPUS / "trigger_schedule.yml"), "--from", "dify", "-o", "daily.yaml"]
    )
    assert '[triggers.daily]\nworkflow = "daily.yaml"\nschedule = "0 9 * * *"\nzone = "Europe/Berlin"' in done.output
