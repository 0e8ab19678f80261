"""From a Dify file to our file and a report.

imported = import_dify(Path("app.yml").read_bytes())
imported.text      # our definition, or the settings of an agent
imported.report    # a line for each node and field
"""

from __future__ import annotations

import re

from ....core.definition import TextProblem
from ....core.json import JsonObject, dumps
from ....protocols.source_text import BYTES_MAX
from ...definition.text import BadWorkflow, read_text
from ..imported import ImportedApp, name_of, sound_text
from ..ref import DOLLAR
from ..report import FieldReader, ImportNotes
from ..secrets import Secrets, is_secret_name, without_keys
from ..surrogates import whole
from . import triggers
from .assembly import Assembly
from .graph import DifyGraph, DifyNode
from .outside import agent_settings, model_name
from .references import Place, References

_ENVELOPES = ("data", "yaml_content", "content")
_ENVELOPES_MAX = 3


def read_source(text: str | bytes) -> JsonObject:
    """What a Dify file says.

    Raises:
        BadWorkflow: the text is too large, too deep, neither YAML nor JSON, or no object.
    """
    for _ in range(_ENVELOPES_MAX):
        value = whole(read_text(text, yaml_bytes_max=BYTES_MAX).value)
        if not isinstance(value, dict):
            break
        inner = [value[name] for name in _ENVELOPES if isinstance(value.get(name), str | dict)]
        if any(name in value for name in ("app", "workflow", "graph", "rag_pipeline", "model_config")) or not inner:
            return value
        if isinstance(inner[0], dict):
            return inner[0]
        text = str(inner[0])
    raise BadWorkflow([TextProblem("this is no file of Dify: an object with `app` and `workflow` is expected")])


_CHATS = frozenset({"chat", "agent-chat", "completion"})
_NOWHERE = Place("")
_VERSIONS = re.compile(r"0\.[1-6](\.\d+)?")


def import_dify(text: str | bytes, name: str = "") -> ImportedApp:
    """Import a Dify file.

    Args:
        text: YAML or JSON of a version from 0.1 to 0.6, also in an envelope `{"data": ...}`.
        name: what the app is called where the text gives it no name in our letters, such as the name of the file.

    Raises:
        BadWorkflow: the text cannot be read at all, or holds no app.
    """
    source = read_source(text)
    notes = ImportNotes("dify")
    file = notes.reader(source)
    kind, version = file.text("kind", "app"), file.text("version")
    app = file.object("rag_pipeline" if kind == "rag_pipeline" and "workflow" in file else "app")
    if version and not _VERSIONS.fullmatch(version):
        file.near("version", f"this version is not known: read as 0.6, the file says {version[:20]!r}")
    if kind not in ("app", "rag_pipeline"):
        file.lost("kind", f"there is no kind {kind[:40]!r}")
    for index, each in enumerate(file.objects("dependencies")):
        each.editor_only(*each.fields())
        file.near(f"dependencies[{index}]", "a plugin of Dify: its tools and models have to be chosen here")
    mode = app.text("mode", "workflow")
    app.editor_only("icon", "icon_background", "icon_type", "use_icon_as_answer_icon", "max_active_requests")
    title, description = app.text("name"), app.text("description")
    name = name_of(title, name)
    workflow = file.object("workflow") if "workflow" in file else file.object("rag_pipeline")
    if "graph" in file and "graph" not in workflow:
        workflow = file
    if "graph" not in workflow:
        if "model_config" not in file and mode not in _CHATS:
            raise BadWorkflow([TextProblem("the file holds no graph and no settings of a chat app")])
        _agent(file, notes, name, description)
        file.finish()
        return ImportedApp(name, "", notes.report())
    definition = _workflow(workflow, notes, name, description or title, mode)
    file.editor_only("model_config")
    file.finish()
    return ImportedApp(name, sound_text(definition, notes), notes.report())


# Workflows ------------------------------------------------------------------------------------------------------------


def _workflow(workflow: FieldReader, notes: ImportNotes, name: str, description: str, mode: str) -> JsonObject:
    secrets = Secrets(notes)
    env: JsonObject = {}
    constants: dict[str, tuple[str, str]] = {}
    hidden: dict[str, str] = {}
    for each in workflow.objects("environment_variables"):
        _constant(each, secrets, env, constants, hidden)
    remembered, conversation = _conversation(workflow, secrets)
    variables: JsonObject = {}
    _features(workflow.object("features"))
    for field in ("rag_pipeline_variables", "hash", "marked_name", "marked_comment"):
        if workflow.raw(field):
            workflow.lost(field, "this is not there")
    graph = DifyGraph(workflow.object("graph"), notes)
    references = References(graph, constants, hidden, conversation, is_chat=mode == "advanced-chat")
    references.variables |= remembered.keys()
    if any(node.kind == "answer" and node.parent for node in graph.nodes.values()):
        references.gathered = references.variable_name("answered")
        variables[references.gathered] = ""
    for node in graph.inside(""):
        _start(node, references, secrets, notes)
    triggers.several(graph, references)
    if references.is_chat:
        references.find(("sys", "query"), _NOWHERE)
    assembly = Assembly(graph, references, secrets, notes)
    body = assembly.body("")
    for node in graph.nodes.values():
        node.data.finish()
    if references.uses_dollar:
        env[DOLLAR] = "$"
    said = [node.name for node in _ordered(graph) if node.kind == "answer"]
    outputs: JsonObject = {"answer": "".join(f"${{{each}.text?}}" for each in said)} if said else {}
    if references.gathered:
        outputs = {"answer": f"${{vars.{references.gathered}}}"}
    optional: JsonObject = {"description": description, "inputs": _inputs(references), "env": env}
    optional |= {"vars": variables, "conversation": remembered}
    definition: JsonObject = {"actum": "workflow/1", "name": name, "imported": "dify"}
    definition |= {field: value for field, value in optional.items() if value}
    definition |= {"nodes": body.nodes, "edges": list(body.edges)}
    definition |= {field: value for field, value in (("outputs", outputs), ("view", assembly.view)) if value}
    return without_keys(definition, secrets)


def _conversation(workflow: FieldReader, secrets: Secrets) -> tuple[JsonObject, dict[str, tuple[str, str]]]:
    """The conversation variables with their first values, and our names for them with their types."""
    variables: JsonObject = {}
    conversation: dict[str, tuple[str, str]] = {}
    for each in workflow.objects("conversation_variables"):
        each.editor_only("id", "description", "selector")
        label, type_ = each.text("name"), each.text("value_type", "any")
        known = _identifier(label, variables)
        conversation[label] = (known, type_)
        variables[known] = secrets.without(each.raw("value"), f"conversation_variables.{label}")
    return variables, conversation


def _inputs(references: References) -> JsonObject:
    """JSON Schema of what the workflow is given."""
    if not references.inputs:
        return {}
    inputs: JsonObject = {"type": "object", "properties": references.inputs}
    if references.required:
        inputs["required"] = list(dict.fromkeys(references.required))
    return inputs


def _ordered(graph: DifyGraph) -> list[DifyNode]:
    """The nodes of the graph itself, each behind those upstream of it."""
    return sorted(graph.inside(""), key=lambda node: len(graph.above.get(node.id, ())))


def _constant(
    each: FieldReader,
    secrets: Secrets,
    env: JsonObject,
    constants: dict[str, tuple[str, str]],
    hidden: dict[str, str],
) -> None:
    each.editor_only("id", "description", "selector")
    label, type_ = each.text("name"), each.text("value_type", "any")
    value = each.raw("value")
    if type_ == "secret" or (is_secret_name(label) and isinstance(value, str)):
        known = secrets.keep(label, f"env.{label}")
        hidden[label] = known
        each.open("value", f"the value of a secret is not taken over: keep it with `actum secrets set {known}`")
        return
    known = _identifier(label, env)
    env[known] = secrets.without(value, f"environment_variables.{label}")
    constants[label] = (known, type_)


def _identifier(label: str, taken: JsonObject) -> str:
    base = re.sub(r"\W", "_", label, flags=re.ASCII)[:60] or "value"
    base = base if base[0].isalpha() or base[0] == "_" else f"v_{base}"
    fresh, number = base, 1
    while fresh in taken or fresh == DOLLAR:
        number += 1
        fresh = f"{base}_{number}"
    return fresh


def _features(features: FieldReader) -> None:
    for name in list(features.fields()):
        value = features.raw(name)
        on = value.get("enabled") if isinstance(value, dict) else value
        if name == "opening_statement" and value:
            features.near(name, "what is said first is a matter of the page that runs the workflow")
        elif on:
            features.near(name, "this is a matter of the page that runs the workflow")


# Inputs ---------------------------------------------------------------------------------------------------------------

_INPUTS: dict[str, tuple[JsonObject, str]] = {
    "text-input": ({"type": "string"}, "string"),
    "paragraph": ({"type": "string"}, "string"),
    "select": ({"type": "string"}, "string"),
    "number": ({"type": "number"}, "number"),
    "checkbox": ({"type": "boolean"}, "boolean"),
    "file": ({}, "file"),
    "file-list": ({"type": "array"}, "array[file]"),
    "json_object": ({"type": "object"}, "object"),
    "json": ({"type": "object"}, "object"),
}
_OF_FILES = ("allowed_file_types", "allowed_file_extensions", "allowed_file_upload_methods")


def _start(node: DifyNode, references: References, secrets: Secrets, notes: ImportNotes) -> None:
    """The inputs that a start node or a trigger asks for."""
    if node.kind == "start":
        for each in node.data.objects("variables"):
            _input(node, each, references)
    elif node.kind == "trigger-webhook":
        triggers.webhook(node, references, notes)
    elif node.kind == "trigger-schedule":
        triggers.schedule(node, notes)
    elif node.kind in ("trigger-plugin", "datasource"):
        triggers.plugin(node, notes)


def _input(node: DifyNode, each: FieldReader, references: References) -> None:
    name, kind = each.text("variable"), each.text("type", "text-input")
    if not name:
        each.lost("variable", "an input has no name")
        return
    if is_secret_name(name) and name.lower() not in ("key", "token", "sign", "auth"):
        known = references.secret_name(name)
        references.secret_inputs[f"{node.id}.{name}"] = known
        each.open("variable", f"a secret is no input: keep it with `actum secrets set {known}`")
        each.editor_only(*each.fields())
        return
    if kind not in _INPUTS:
        each.lost("type", f"there is no input of the type {kind[:40]!r}: any value is taken")
    base, type_ = _INPUTS.get(kind, ({}, "any"))
    schema: JsonObject = dict(base)
    required = each.flag("required")
    if not required and "type" in schema:
        schema["type"] = [schema["type"], "null"]
    if each.text("label") not in ("", name):
        schema["title"] = each.text("label")
    if each.raw("description") or each.raw("hint"):
        schema["description"] = str(each.value.get("description") or each.value.get("hint"))
    options = each.items("options")
    if kind == "select" and options:
        schema["enum"] = options if required else [*options, "", None]
    length = each.number("max_length", 0)
    if kind in ("text-input", "paragraph") and length >= 1:
        schema["maxLength"] = int(length)
    default = each.raw("default")
    if default not in (None, "", [], {}):
        schema["default"] = default
        each.near("default", "the default is shown in forms: a caller who gives nothing gives null")
    for field in _OF_FILES:
        each.raw(field)
    each.editor_only("placeholder", "unit", "hide", "config", "json_schema")
    known = references.new_input(name, schema, required=required)
    references.input_names[(node.id, name)] = known
    references.input_types[known] = type_


# Chat apps ------------------------------------------------------------------------------------------------------------


def _agent(file: FieldReader, notes: ImportNotes, name: str, description: str) -> None:
    """A chat app becomes an agent: its settings stand in the report."""
    config, secrets = file.object("model_config"), Secrets(notes)
    model = config.object("model")
    chosen = model_name(model.text("provider"), model.text("name"))
    model.open("name", f"choose a model for {chosen}")
    model.editor_only("mode")
    model.object("completion_params").editor_only(*model.object("completion_params").fields())
    mode = config.object("agent_mode")
    tools: list[str] = []
    for each in mode.objects("tools"):
        tool = each.text("tool_name")
        if each.flag("enabled", True) and tool:
            tools.append(re.sub(r"[^a-z0-9]+", "_", tool.lower()).strip("_"))
            each.open("tool_name", f"choose a tool for {tool[:60]}")
        each.editor_only(*each.fields())
    mode.editor_only("enabled", "max_iteration", "strategy", "prompt")
    instructions = config.text("pre_prompt")
    for field in ("chat_prompt_config", "completion_prompt_config"):
        if config.raw(field) and not instructions:
            config.lost(field, "only a simple prompt becomes the instructions of an agent")
    if config.raw("user_input_form") or "{{" in instructions:
        config.near("user_input_form", "an agent has no form: the names in double braces stay in its instructions")
    sets = config.object("dataset_configs")
    if sets.object("datasets").items("datasets") or config.raw("dataset_query_variable"):
        config.open("dataset_configs", "choose a tool that searches the knowledge")
    sets.editor_only(*sets.fields())
    for field in list(config.fields()):
        if field not in ("model", "agent_mode", "pre_prompt", "dataset_configs", "user_input_form"):
            value = config.raw(field)
            if value.get("enabled") if isinstance(value, dict) else value:
                config.near(field, "this is a matter of the page that shows the agent")
    block = agent_settings(name, chosen, secrets.without(instructions, "pre_prompt"), tools)
    if description:
        block += f"description = {dumps(secrets.without(description, 'description'))}\n"
    notes.settings.append(block)
