"""From a Coze canvas to our file and a report.

imported = import_coze(Path("canvas.json").read_bytes())
imported.text      # our definition
imported.report    # a line for each node and field
"""

from __future__ import annotations

from ....core.json import Json, JsonObject, dumps
from ..imported import ImportedApp, name_of, sound_text
from ..ref import DOLLAR
from ..report import FieldReader, ImportNotes
from ..secrets import Secrets, is_secret_name, without_keys
from .assembly import CanvasAssembly
from .canvas import CONTAINERS, ENTRY, Canvas, CozeNode
from .nodes import VARIABLE, schema_of
from .source import read_source, text_of
from .values import CanvasValues, parsed_literal

STEPS_MAX = 20_000
"""The most nodes that an imported workflow with loops or batches may carry out."""

CONVERSATION = "CONVERSATION_NAME"
"""The input of each chat in Coze that says to which conversation the run belongs."""
_WORDS = frozenset({"key", "token", "sign", "auth"})


def import_coze(text: str | bytes, name: str = "") -> ImportedApp:
    """Import a Coze canvas.

    Args:
        text: the canvas as JSON or YAML, what the editor copies, an answer of the API that holds a canvas, or an
            archive that holds one.
        name: what the workflow is called where the text gives it no name in our letters, such as the name of the file.

    Raises:
        BadWorkflow: the text cannot be read at all, or holds no canvas.
    """
    source = read_source(text)
    notes = ImportNotes("coze")
    file = notes.reader(source.canvas)
    if source.others:
        notes.say(
            "open", "archive", f"other files in the archive: {source.others}; unpack it, and import each workflow"
        )
    for around in source.around:
        outer = notes.reader(around)
        outer.editor_only(*outer.fields())
    file.editor_only(
        "versions", "bounds", "source", "type", "name", "description", "mode", "icon", "id", "schema_version"
    )
    title = text_of((*source.around, source.canvas), "name", "workflow_name", "title")
    description = text_of((*source.around, source.canvas), "desc", "description", "describe")
    name = name_of(title, name)
    definition = _definition(file, notes, name, description or title)
    return ImportedApp(name, sound_text(definition, notes), notes.report())


def _definition(file: FieldReader, notes: ImportNotes, name: str, description: str) -> JsonObject:
    secrets = Secrets(notes)
    canvas = Canvas(file, notes)
    values = CanvasValues(canvas)
    for node in canvas.inside(""):
        if node.kind == ENTRY:
            _entry(node, values, secrets, _names_conversation(canvas))
    assembly = CanvasAssembly(canvas, values, secrets)
    body = assembly.body("")
    conversation: JsonObject = {}
    for key, known in values.globals.items():
        if _lasts(key, known, known in values.assigned, notes):
            conversation[known] = values.variables.pop(known)
    for node in canvas.nodes.values():
        node.data.finish()
    file.finish()
    inputs: JsonObject = {}
    if values.inputs:
        inputs = {"type": "object", "properties": values.inputs}
        if values.required:
            inputs["required"] = list(values.required)
    env: JsonObject = {DOLLAR: "$"} if values.uses_dollar else {}
    optional: JsonObject = {"description": description, "inputs": inputs, "env": env, "vars": values.variables}
    optional["conversation"] = conversation
    definition: JsonObject = {"actum": "workflow/1", "name": name, "imported": "coze"}
    definition |= {field: value for field, value in optional.items() if value}
    if any(node.kind in CONTAINERS or node.is_batch for node in canvas.nodes.values()):
        notes.say("near", "limits", f"at most {STEPS_MAX} nodes are carried out, those of each pass counted")
        definition["limits"] = {"steps": STEPS_MAX}
    definition |= {"nodes": body.nodes, "edges": list[Json](body.edges)}
    if assembly.view:
        definition["view"] = assembly.view
    return without_keys(definition, secrets)


def _lasts(key: str, known: str, is_assigned: bool, notes: ImportNotes) -> bool:
    """Tell what became of a variable of the app, of the user or of the system, and whether it lasts between runs."""
    field = f"variable.{key}"[:200]
    if key.startswith("global_variable_system"):
        notes.say("lost", field, f"a variable of Coze itself is not there: {known} is null")
    elif is_assigned:
        notes.say("near", field, f"a variable of the conversation, called {known}: Coze keeps it for the user")
        return True
    else:
        notes.say("open", field, f"no node gives this variable a value: give {known} its first value in `vars`")
    return False


def _names_conversation(canvas: Canvas) -> bool:
    """Whether a node uses the name of the conversation, which Coze gives to each run of a chat."""
    others = (node.data.value for node in canvas.nodes.values() if node.kind != ENTRY)
    return any(f'"{CONVERSATION}"' in dumps(value) for value in others)


def _entry(node: CozeNode, values: CanvasValues, secrets: Secrets, names_conversation: bool) -> None:
    """The inputs that the start node asks for."""
    for field in list(node.inputs.fields()):
        if node.inputs.raw(field) not in (None, "", [], {}):
            node.inputs.near(field, "this is a matter of the program that starts the workflow")
    for each in node.data.objects("outputs"):
        name = each.text("name").replace('"', "")[:200]
        each.taken(*VARIABLE, "inputMode")
        type_ = each.text("type", "string")
        description, default, required = each.raw("description"), each.raw("defaultValue"), each.flag("required")
        if not name:
            each.lost("name", "an input has no name")
            continue
        if name == CONVERSATION and not names_conversation:
            each.taken(*VARIABLE, *each.fields())
            each.near("name", "whoever runs the workflow says to which `conversation` the run belongs")
            continue
        if is_secret_name(name) and name.lower() not in _WORDS:
            each.near(
                "name", "a secret that is given as an input stands in the record: keep it with `actum secrets set`"
            )
        schema = schema_of(each.value)
        if not schema:
            each.lost("type", f"there is no input of the type {type_[:40]!r}: any value is taken")
        if isinstance(description, str) and description:
            schema["description"] = description
        if default not in (None, "", [], {}):
            value = secrets.without(default, f"{node.name}.{name}.defaultValue")
            values.defaults[name] = parsed_literal(value, type_)
            schema["default"] = values.defaults[name]
            required = False
        if required:
            values.required.append(name)
        elif isinstance(schema.get("type"), str):
            schema["type"] = [schema["type"], "null"]
        values.inputs[name] = schema
    values.required = list(dict.fromkeys(name for name in values.required if name not in values.defaults))
