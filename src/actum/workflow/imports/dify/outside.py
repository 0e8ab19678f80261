"""What becomes of the Dify nodes that ask models, call tools or send requests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection

import msgspec

from ....core.errors import UsageError
from ....core.json import Json, JsonObject
from ....core.model_settings import ModelSettings
from ....protocols.bound_text.json_text import structured
from ....protocols.bound_text.part import NoPlace
from ...definition.settings import TURNS_MAX
from ...tools import literal_origin
from ..ref import Ref
from ..report import FieldReader
from ..requests import (
    IN_HEADER,
    IN_JSON,
    IN_TEXT,
    IN_URL,
    NO_PLACE,
    SPLICED,
    WHOLE_BODY,
    ComputedValues,
    has_grammar,
    leave_out_unplaced,
    raw,
)
from ..secrets import is_secret_name
from .conditions import part_in_cel
from .nodes import Converted, NodeConversion, as_jinja_reads, parsed
from .references import TEMPLATE

# Models ---------------------------------------------------------------------------------------------------------------


def model_name(provider: str, name: str) -> str:
    """The name of a model in our file: `openai:gpt-4o`."""
    short = [part for part in provider.split("/") if part][-1:] or ["model"]
    return f"{short[0]}:{name}"[:200] if name else short[0][:200]


def _model(c: NodeConversion, main: JsonObject) -> None:
    model = c.data.object("model")
    name = model_name(model.text("provider"), model.text("name"))
    main["model"] = name
    model.open("name", f"choose a model for {name}: give it in `models`, or write its name in our words")
    model.editor_only("mode")
    parameters = model.object("completion_params")
    settings: JsonObject = {}
    extras: JsonObject = {}
    for field in list(parameters.fields()):
        value = parameters.raw(field)
        if field in ("headers", "extras", "timeout_s"):
            parameters.lost(field, "a model here has no such setting, or not this value")
            continue
        ours = {"num_predict": "max_tokens"}.get(field, field)
        if ours in ("frequency_penalty", "presence_penalty") and isinstance(value, int | float):
            extras[ours] = value
            continue
        try:
            msgspec.convert({ours: value}, ModelSettings)
        except (UsageError, msgspec.ValidationError):
            if value not in (None, "", [], {}):
                parameters.lost(field, "a model here has no such setting, or not this value")
            continue
        if value is not None:
            settings[ours] = value
    if extras:
        settings["extras"] = extras
    if settings and main["type"] == "model":
        main["settings"] = settings
    elif settings:
        model.near("completion_params", "a node that asks for a form has no settings of its own")


def _prompts(c: NodeConversion, main: JsonObject) -> list[tuple[str, JsonObject]]:
    """Put the messages into a model node.

    Returns:
        The nodes that write messages by Jinja2 before.
    """
    data, before = c.data, list[tuple[str, JsonObject]]()
    context = data.object("context")
    known = context.texts("variable_selector") if context.flag("enabled") else ()
    context.raw("variable_selector")
    config = data.object("prompt_config")
    jinja = {each.text("variable"): c.value(each, "value_selector") for each in config.objects("jinja2_variables")}
    for each in config.objects("jinja2_variables"):
        each.editor_only("value_type", "variable", "value_selector")
    said: list[tuple[str, Json]] = []
    template = data.value.get("prompt_template")
    messages = [data.object("prompt_template")] if isinstance(template, dict) else data.objects("prompt_template")
    for message in messages:
        message.editor_only("id")
        role = message.text("role", "user")
        if message.text("edition_type") == "jinja2" and message.text("jinja2_text"):
            message.editor_only("text")
            name = c.fresh(f"{c.node.name}_prompt")
            template = as_jinja_reads(message.text("jinja2_text"))
            before.append((name, {"type": "template", "template": template, "with": {**jinja}}))
            said.append((role, f"${{{name}.text}}"))
        else:
            message.editor_only("jinja2_text")
            text = c.references.text(message.text("text"), c.place, message, "text", context=known)
            if text not in ("", {"cel": '""'}):
                said.append((role, text))
    memory = data.object("memory")
    query = memory.text("query_prompt_template") or ("{{#sys.query#}}" if c.references.is_chat else "")
    if memory.value and query:
        said.append(("user", c.references.text(query, c.place, memory, "query_prompt_template")))
    if memory.value and c.references.is_chat:
        main["memory"] = {"turns": _turns(memory)}
    elif memory.value:
        memory.editor_only("window", "role_prefix", "enabled")
        memory.near("", "a workflow that is no chat has no conversation: the model is told of none, as in Dify")
    if said and said[0][0] == "system":
        main["system"] = said.pop(0)[1]
    if len(said) == 1 and said[0][0] == "user":
        main["prompt"] = said[0][1]
    elif said:
        main["messages"] = [
            {"role": role if role in ("system", "user", "assistant") else "user", "text": text} for role, text in said
        ]
    return before


def _turns(memory: FieldReader) -> int:
    """How many turns of the conversation a model is told."""
    window = memory.object("window")
    size = int(window.number("size", 0))
    turns = TURNS_MAX if not window.flag("enabled") or size < 1 else min(size, TURNS_MAX)
    words = f"{turns} turns at most, and no more tokens than `tokens` of `memory` says: 4000, estimated"
    memory.near("window", f"{words}; the turns stand before all messages but those of the system")
    memory.editor_only("role_prefix", "enabled")
    return turns


def _vision(c: NodeConversion, main: JsonObject) -> None:
    vision = c.data.object("vision")
    configs = vision.object("configs")
    selector = configs.texts("variable_selector") or ("sys", "files")
    configs.editor_only("detail")
    if not vision.flag("enabled"):
        return
    found = c.references.find(selector, c.place)
    if found is None or found.secret:
        configs.lost("variable_selector", "these files are not there, or not upstream")
        return
    main["files"] = found.value
    configs.near("variable_selector", "files are handles of attachments of the run")


def _llm(c: NodeConversion) -> Converted:
    data, main = c.data, JsonObject({"type": "model"})
    data.editor_only("variables")
    _model(c, main)
    before = _prompts(c, main)
    _vision(c, main)
    schema = data.object("structured_output").raw("schema")
    if data.flag("structured_output_enabled") and isinstance(schema, dict):
        main["output_schema"] = schema
    if data.text("reasoning_format") == "separated":
        data.near("reasoning_format", "a model's reasoning never stands in its text")
    c.retry(main, calls=False)
    values = c.defaults()
    text = values.get("text", "")
    error: JsonObject = {"output": text, "text": text, "value": values.get("structured_output")}
    return c.done(*before, (c.node.name, main), error=error)


def _classifier(c: NodeConversion) -> Converted:
    data, name = c.data, c.node.name
    data.editor_only("topics", "instructions")
    main: JsonObject = {"type": "classify"}
    _model(c, main)
    _vision(c, JsonObject())
    main["text"] = _query(c, "query_variable_selector")
    classes: JsonObject = {}
    exits: dict[str, str] = {}
    for number, each in enumerate(data.objects("classes"), 1):
        id_ = each.text("id")
        each.editor_only("label")
        port = id_ if re.fullmatch(r"\w[\w-]{0,40}", id_, re.ASCII) and id_ != "error" else f"class_{number}"
        classes[port] = each.text("name")
        exits[id_] = f"{name}.{port}"
    if not classes:
        data.lost("classes", "there is no class")
        classes["other"] = ""
    main["classes"] = classes
    if "instruction" in data:
        main["instructions"] = c.text(data, "instruction")
    _no_memory(c)
    data.near("model", "the class is asked for by a form, and not in the prompt of Dify")
    c.retry(main, calls=False)
    done = c.done((name, main))
    return Converted(done.nodes, {**done.exits, **exits, "": f"{name}.{next(iter(classes))}"})


def _extractor(c: NodeConversion) -> Converted:
    data = c.data
    main: JsonObject = {"type": "extract"}
    _model(c, main)
    _vision(c, JsonObject())
    main["text"] = _query(c, "query")
    properties: JsonObject = {}
    for each in data.objects("parameters"):
        kind = each.text("type", "string")
        kind = {"select": "string", "bool": "boolean"}.get(kind, kind)
        schema: JsonObject = {"type": kind}
        if kind.startswith("array"):
            inner = kind.removeprefix("array").strip("[]")
            schema = {"type": "array", "items": {"type": inner} if inner in _JSON_TYPES else {}}
        elif kind not in _JSON_TYPES:
            schema = {}
            each.lost("type", "there is no such type")
        if "description" in each:
            schema["description"] = each.text("description")
        options = each.items("options")
        if options:
            schema["enum"] = options
        if each.flag("required"):
            each.near("required", "what the text does not say is empty, as in Dify: make it required, and it is asked")
        if each.text("name"):
            properties[each.text("name")] = schema
    main["schema"] = {"type": "object", "properties": properties}
    main["ask"] = False
    if "instruction" in data:
        main["instructions"] = c.text(data, "instruction")
    data.editor_only("variables")
    if data.text("reasoning_mode") == "prompt":
        data.near("reasoning_mode", "the values are asked for by a form, and not in the prompt of Dify")
    _no_memory(c)
    c.retry(main, calls=False)
    return c.done((c.node.name, main), error={"output": c.defaults()})


_JSON_TYPES = frozenset({"string", "number", "integer", "boolean", "object"})


def _no_memory(c: NodeConversion) -> None:
    if c.data.raw("memory"):
        c.data.near("memory", "this node has no memory of earlier runs")


def _query(c: NodeConversion, field: str) -> Json:
    selector = c.data.texts(field)
    found = c.references.find(selector, c.place)
    if found is None or found.secret:
        c.data.lost(field, f"{'.'.join(selector)[:80] or 'nothing'} is not there, or not upstream")
        return ""
    return found.value if found.cel or found.type in ("string", "number") else found.shown("loose_text")


# Tools ----------------------------------------------------------------------------------------------------------------


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:60].strip("_") or "tool"


def _given(c: NodeConversion, reader: FieldReader, but: Collection[str] = ()) -> JsonObject:
    """The arguments of a tool: constants, texts with references, and values."""
    given: JsonObject = {}
    for name in list(reader.fields()):
        value = reader.value.get(name)
        if name in but:
            reader.raw(name)
            continue
        if isinstance(value, dict) and "type" in value and "value" in value:
            each = reader.object(name)
            kind, inner = each.text("type"), each.raw("value")
            if kind == "variable" and isinstance(inner, list):
                found: Json = c.value(each, "value")
            else:
                found = _constant(c, each, "value", name, inner)
        else:
            found = _constant(c, reader, name, name, reader.raw(name))
        if found is not None:
            given[name] = found
    return given if given.keys() != {"cel"} else {}


def _constant(c: NodeConversion, reader: FieldReader, field: str, name: str, value: Json) -> Json:
    if isinstance(value, str):
        parts = c.references.parts(value, c.place, reader, field)
        if is_secret_name(name) and value and not any(isinstance(part, Ref) for part in parts):
            reader.open(field, "a secret stood here in plain text: give it to the tool, it is not in this file")
            return None
        if has_grammar(name, parts):
            reader.open(field, SPLICED)
            return None
        if len(parts) == 1 and isinstance(parts[0], Ref):
            return c.references.of_ref(parts[0], reader, field)
        return c.references.joined(parts, reader, field)
    return c.references.constant(value, reader, field)


def _tool(c: NodeConversion) -> Converted:
    data = c.data
    provider = data.text("provider_id") or data.text("provider_name")
    kind, tool = data.text("provider_type", "builtin"), data.text("tool_name")
    data.editor_only(
        *(
            "provider_name",
            "tool_label",
            "tool_description",
            "output_schema",
            "paramSchemas",
            "params",
            "credential_id",
        ),
        *("is_team_authorization", "plugin_unique_identifier", "plugin_id", "tool_node_version", "provider_icon"),
        *("provider_icon_dark", "meta", "tool_parameters_schema"),
    )
    given = {**_given(c, data.object("tool_configurations")), **_given(c, data.object("tool_parameters"))}
    main: JsonObject
    if kind == "workflow":
        name = _slug(tool)
        main = {"type": "workflow", "workflow": name, "with": given}
        data.open("tool_name", f"import the workflow {name} of Dify too, and give it as a tool")
    elif tool in ("mcp_sse_list_tools", "mcp_sse_call_tool"):
        main = _mcp(c, tool, given)
    else:
        short = _slug(([part for part in provider.split("/") if part] or ["tool"])[-1])
        name = _slug(tool)
        name = name if short in name or kind == "api" or len(short) > 30 else f"{short}_{name}"
        main = {"type": "tool", "tool": name[:60], "with": given}
        data.open("tool_name", f"choose a tool for {provider[:60] or kind}: it is called {name[:60]} here")
    c.retry(main, calls=True)
    values = c.defaults()
    output: Json = {name: value for name, value in values.items() if name not in ("text", "files")}
    error: JsonObject = {"output": values.get("json", output), "text": values.get("text", ""), "files": []}
    return c.done((c.node.name, main), error=error)


def _mcp(c: NodeConversion, tool: str, given: JsonObject) -> JsonObject:
    """The tools of the MCP plugin of Dify are ours: `server` instead of the settings of a server in each node."""
    servers = given.get("servers_config")
    config = parsed(servers) if isinstance(servers, str) else servers
    config = config.get("mcpServers", config) if isinstance(config, dict) else {}
    server = next(iter(config), "") if isinstance(config, dict) else ""
    known = bool(server)
    server = _slug(server) if known else f"{c.node.name}_server"
    if not known:
        c.data.open(
            "tool_configurations.servers_config",
            f"the file names no MCP server: it is called {server} here; add one of this name to the settings",
        )
    else:
        c.data.open(
            "tool_configurations.servers_config",
            f"name the MCP server {server} in the settings with its address, and its key as a secret",
        )
    sent: JsonObject = {"server": server}
    if tool == "mcp_sse_call_tool":
        sent["tool"] = given.get("tool_name", "")
        sent["arguments"] = _mcp_arguments(c)
    c.data.open("tool_name", "give the tools of MCP servers with `mcp_sse` among the tools")
    for name in given:
        if name not in ("servers_config", "tool_name", "arguments", "prompts_as_tools", "resources_as_tools"):
            c.data.near(f"tool_parameters.{name}", "this setting belongs to the MCP server")
    return {"type": "tool", "tool": tool, "with": sent}


def _mcp_arguments(c: NodeConversion) -> Json:
    """The arguments of a tool of an MCP server: a JSON text with references, as an object with the values in it."""
    reader = c.data.object("tool_parameters")
    if "arguments" not in reader:
        reader = c.data.object("tool_configurations")
    value = reader.value.get("arguments")
    if isinstance(value, dict) and "type" in value and "value" in value:
        reader = reader.object("arguments")
        value = reader.value.get("value")
        field = "value"
    else:
        field = "arguments"
    if value is None:
        return {}
    if isinstance(value, list):
        return c.value(reader, field)
    if not isinstance(value, str):
        return c.references.constant(value, reader, field)
    parts = c.references.parts(value, c.place, reader, field)
    references = [part for part in parts if isinstance(part, Ref)]
    if not references:
        return c.references.constant(parsed(value), reader, field)
    if len(parts) == 1:
        return {"cel": f"json({part_in_cel(references[0])})"} if not references[0].secret else {}
    try:
        found = structured(
            parts,
            lambda pieces: c.references.joined(pieces, reader, field),
            lambda ref: c.references.of_ref(ref, reader, field),
        )
    except NoPlace as problem:
        reader.open(field, NO_PLACE.format(problem))
        return {}
    reader.near(field, IN_JSON)
    return found


def _knowledge(c: NodeConversion) -> Converted:
    data, name = c.data, c.node.name
    data.editor_only("_datasets")
    count = len(data.items("dataset_ids"))
    query: Json = _query(c, "query_variable_selector") if "query_variable_selector" in data else ""
    if data.raw("query_attachment_selector"):
        data.lost("query_attachment_selector", "only a text is looked for")
    given: JsonObject = {}
    multiple = data.object("multiple_retrieval_config")
    if "top_k" in multiple:
        given["top_k"] = int(multiple.number("top_k", 4))
    if multiple.raw("score_threshold") is not None and multiple.flag("score_threshold_enabled", True):
        given["score_threshold"] = multiple.number("score_threshold", 0)
    for reader in (multiple, data.object("single_retrieval_config")):
        for field in list(reader.fields()):
            if field not in ("top_k", "score_threshold", "score_threshold_enabled"):
                reader.raw(field)
                reader.near(field, "how results are chosen and sorted is a matter of the tool")
    for field in (
        "retrieval_mode",
        "metadata_filtering_mode",
        "metadata_filtering_conditions",
        "metadata_model_config",
    ):
        value = data.raw(field)
        if field != "retrieval_mode" and value not in (None, "disabled", {}, []):
            data.lost(field, "filters by metadata are not there: the tool has to filter")
    _vision(c, JsonObject())
    tool = f"search_{name}"[:60]
    data.open(
        "dataset_ids",
        f"choose a tool with `knowledge=True` that searches these {count} bases: it is called {tool} here",
    )
    c.retry(given, calls=True)
    main: JsonObject = {"type": "knowledge", "tool": tool, "query": query, "with": given}
    error: JsonObject = {"output": c.defaults().get("result", []), "text": "", "files": []}
    return c.done((name, main), error=error)


def _agent(c: NodeConversion) -> Converted:
    data, name = c.data, c.node.name
    data.editor_only("agent_strategy_label", "output_schema", "plugin_unique_identifier", "tool_node_version", "meta")
    strategy = data.text("agent_strategy_name")
    data.raw("agent_strategy_provider_name")
    data.near(
        "agent_strategy_name", f"an agent here calls tools in its own loop, not by the strategy {strategy[:40]!r}"
    )
    parameters = data.object("agent_parameters")
    model = parameters.value.get("model")
    tools = parameters.value.get("tools")
    given = _given(c, parameters, but=("model", "tools"))
    task = given.get("query", "")
    agent = f"{name}_agent"[:60]
    found = tools.get("value") if isinstance(tools, dict) else tools
    named_tools = [each.get("tool_name") for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    names = [_slug(each) for each in named_tools if isinstance(each, str)]
    chosen = model.get("value") if isinstance(model, dict) else None
    chosen = chosen if isinstance(chosen, dict) else {}
    named = model_name(str(chosen.get("provider", "")), str(chosen.get("model", "")))
    instructions = given.get("instruction", "")
    if not isinstance(instructions, str) or "${" in instructions:
        data.lost("agent_parameters.instruction", "the instructions of an agent hold no value of the workflow")
        instructions = ""
    c.settings.append(agent_settings(agent, named, c.secrets.without(instructions, name), names))
    data.open("agent_parameters", f"make the agent {agent} of the settings below, with its model and tools")
    if data.raw("memory"):
        data.near("memory", "the agent has no memory of earlier runs here")
    c.retry({}, calls=True)
    main: JsonObject = {"type": "agent", "agent": agent, "task": task}
    text = c.defaults().get("text", "")
    return c.done((name, main), error={"output": text, "text": text, "files": []})


def agent_settings(name: str, model: str, instructions: Json, tools: list[str]) -> str:
    """An `[agents.X]` block for `actum.toml`."""
    shown = ", ".join(json.dumps(tool) for tool in tools)
    words = json.dumps(str(instructions or ""), ensure_ascii=False)
    return (
        f"[agents.{name}]\nmodel = {json.dumps(model)}  # choose a model\ninstructions = {words}\ntools = [{shown}]\n"
    )


def _datasource(c: NodeConversion) -> Converted:
    c.data.open("", "choose a tool that stores these texts; it is called index_knowledge here")
    for field in list(c.data.fields()):
        if field not in ("title", "type", "desc", "index_chunk_variable_selector"):
            c.data.raw(field)
            c.data.near(field, "how texts are stored is a matter of the tool")
    chunks = c.value(c.data, "index_chunk_variable_selector")
    return c.done((c.node.name, {"type": "tool", "tool": "index_knowledge", "with": {"chunks": chunks}}))


# Requests -------------------------------------------------------------------------------------------------------------

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})


def _http(c: NodeConversion) -> Converted:
    data, name = c.data, c.node.name
    data.editor_only("variables")
    method = data.text("method", "get").upper()
    if method not in _METHODS:
        data.lost("method", f"there is no method {method[:20]!r}: GET is sent")
        method = "GET"
    computed = ComputedValues(c.fresh, name)
    url = _text(c, computed, data, "url", data.text("url").strip(), IN_URL)
    may_hold = bool(literal_origin(url))
    main: JsonObject = {"type": "http", "method": method, "url": url}
    headers = _lines(c, computed, "headers", may_hold)
    query = _lines(c, computed, "params", may_hold)
    _body(c, computed, main, headers, may_hold)
    _authorization(c, computed, headers, may_hold)
    if query:
        main["query"] = query
    if headers:
        main["headers"] = headers
    leave_out_unplaced(
        main,
        {
            "url": (data, "url"),
            "headers": (data, "headers"),
            "query": (data, "params"),
            "body": _of_body(data.object("body")),
        },
    )
    timeout = data.object("timeout")
    for field in list(timeout.fields()):
        if timeout.number(field, 0):
            timeout.near(field, "how long a request may take is a matter of the call path")
    if "ssl_verify" in data and not data.flag("ssl_verify", True):
        data.lost("ssl_verify", "certificates are always checked")
    data.near("status_code", "a status of 400 and above fails the node")
    c.retry(main, calls=True)
    values = c.defaults()
    answer: JsonObject = {
        "text": values.get("body", ""),
        "status": values.get("status_code", 0),
        "headers": values.get("headers", {}),
        "json": None,
    }
    error: JsonObject = {"output": answer, "text": values.get("body", ""), "files": []}
    return c.done(*computed.nodes(), (name, main), error=error)


def _text(
    c: NodeConversion,
    computed: ComputedValues,
    reader: FieldReader,
    field: str,
    template: str,
    near: str,
    *,
    secrets: bool = False,
) -> str:
    """A text of a request. Where values stand beside words, the report says how they are bound."""
    parts = c.references.parts(template, c.place, reader, field)
    if len(parts) > 1 and any(isinstance(part, Ref) and not part.secret for part in parts):
        reader.near(field, near)
    return str(c.references.joined(computed.plain(parts), reader, field, secrets=secrets))


def _lines(c: NodeConversion, computed: ComputedValues, field: str, may_hold: bool) -> JsonObject:
    """The lines `name: value` of a field."""
    found: JsonObject = {}
    for line in c.data.text(field).splitlines():
        name, _, value = line.partition(":")
        name = name.strip()
        if not name:
            continue
        if TEMPLATE.search(name):
            c.data.open(field, "the name of a header or parameter has to stand in the file")
            continue
        if name in found:
            c.data.lost(field, f"{name[:60]} stands twice, and is sent once")
        shown = _sent(c, computed, c.data, field, name, value.strip(), may_hold)
        if shown is not None:
            found[name] = shown
    return found if found.keys() != {"cel"} else {}


def _sent(
    c: NodeConversion,
    computed: ComputedValues,
    reader: FieldReader,
    field: str,
    name: str,
    value: str,
    may_hold: bool,
) -> Json:
    """A value that is sent, with secrets by their names; None where a secret cannot be sent."""
    parts = c.references.parts(value, c.place, reader, field)
    texts = "".join(part for part in parts if isinstance(part, str))
    secret = any(isinstance(part, Ref) and part.secret for part in parts)
    scheme, _, rest = value.partition(" ")
    hidden = is_secret_name(name) and bool(rest.strip() if scheme.lower() in ("bearer", "basic") else texts.strip())
    hidden = hidden and not any(isinstance(part, Ref) for part in parts)
    if (secret or hidden) and not may_hold:
        reader.open(
            field, f"the secret in {name[:60]} is left out: the host of the url is not written in the definition"
        )
        return None
    if not hidden:
        if field == "headers" and any(isinstance(part, Ref) and not part.secret for part in parts):
            reader.near(field, IN_HEADER)
        return c.references.joined(computed.plain(parts), reader, field, secrets=may_hold)
    prefix, kept = (f"{scheme} ", rest) if scheme.lower() in ("bearer", "basic") else ("", value)
    known = c.secrets.keep(f"{c.node.name}_{name}", kept)
    reader.open(field, f"a secret stood here in plain text: keep it with `actum secrets set {known}`")
    return f"{prefix}${{secret:{known}}}"


def _authorization(c: NodeConversion, computed: ComputedValues, headers: JsonObject, may_hold: bool) -> None:
    authorization = c.data.object("authorization")
    kind = authorization.text("type", "no-auth")
    config = authorization.object("config")
    scheme, key, header = config.text("type", "bearer"), config.text("api_key"), config.text("header")
    if kind in ("no-auth", "") or not key:
        return
    parts = c.references.parts(key, c.place, config, "api_key")
    if any(isinstance(part, Ref) and not part.secret for part in parts) and not any(
        isinstance(part, str) for part in parts
    ):
        config.near("api_key", IN_HEADER)
        shown: Json = c.references.joined(computed.plain(parts), config, "api_key")
    elif not may_hold:
        config.open("api_key", "the key is left out: the host of the url is not written in the definition")
        return
    elif len(parts) == 1 and isinstance(parts[0], Ref):
        shown = f"${{secret:{parts[0].secret}}}"
    else:
        known = c.secrets.keep(f"{c.node.name}_key", key)
        config.open("api_key", f"a key stood here in plain text: keep it with `actum secrets set {known}`")
        shown = f"${{secret:{known}}}"
    prefix = {"bearer": "Bearer ", "basic": "Basic "}.get(scheme, "")
    if scheme == "basic":
        config.near("type", "keep the key as it is sent, in base64")
    if isinstance(shown, str):
        headers[header or "Authorization"] = f"{prefix}{shown}"
    else:
        config.lost("api_key", "this key has to be computed")


def _body(c: NodeConversion, computed: ComputedValues, main: JsonObject, headers: JsonObject, may_hold: bool) -> None:
    body = c.data.object("body")
    kind = body.text("type", "none")
    raw_data = body.value.get("data")
    items = [] if isinstance(raw_data, str) else body.objects("data")
    if isinstance(raw_data, str):
        body.raw("data")
    for item in items:
        item.editor_only("id", "key", "type")
        item.raw("value")
        if item.raw("file"):
            item.lost("file", "files are not sent")
    content = raw_data if isinstance(raw_data, str) else str(items[0].value.get("value") or "") if items else ""
    type_ = _TYPES_OF_BODIES.get(kind, "")
    match kind:
        case "none" | "":
            return
        case "json" | "raw-text":
            reader, field = _of_body(body)
            text = _body_text(c, computed, reader, field, kind, content, may_hold)
            main["body"] = c.secrets.without(text, f"{c.node.name}.body")
        case "x-www-form-urlencoded" | "form-data":
            main["body"] = _fields(c, computed, _pairs(body, raw_data, items), may_hold)
        case _:
            body.lost("type", f"a body of the type {kind[:40]!r} is not sent")
            return
    if type_ and not any(name.lower() == "content-type" for name in headers):
        headers["Content-Type"] = type_


_TYPES_OF_BODIES = {
    "json": "application/json",
    "x-www-form-urlencoded": "application/x-www-form-urlencoded",
    "form-data": "multipart/form-data",
}
"""The content types of bodies. A raw text has its own look, where the headers name none."""


def _of_body(body: FieldReader) -> tuple[FieldReader, str]:
    """What is to be reported on where a body is written as a text."""
    items = body.objects("data") if isinstance(body.value.get("data"), list) else []
    return (items[0], "value") if items else (body, "data")


def _body_text(
    c: NodeConversion,
    computed: ComputedValues,
    reader: FieldReader,
    field: str,
    kind: str,
    content: str,
    may_hold: bool,
) -> str:
    """A body that is written as a text."""
    parts = c.references.parts(content.strip() if kind == "json" else content, c.place, reader, field)
    if kind == "json" and len(parts) == 1 and isinstance(parts[0], Ref) and not parts[0].secret:
        (ref,) = computed.plain(parts)
        if isinstance(ref, Ref) and (ref.type in ("string", "any") or parts[0].cel):
            reader.open(field, WHOLE_BODY)
            return raw(ref)
    return _text(c, computed, reader, field, content, IN_JSON if kind == "json" else IN_TEXT, secrets=may_hold)


_Field = tuple[str, str, FieldReader, str]
"""The name of a field of a form, its value, and what is to be reported on."""


def _pairs(body: FieldReader, raw_data: Json, items: list[FieldReader]) -> list[_Field]:
    if isinstance(raw_data, str):
        lines = (line.partition(":") for line in raw_data.splitlines())
        return [(name.strip(), value.strip(), body, "data") for name, _, value in lines if name.strip()]
    return [
        (str(item.value.get("key") or ""), str(item.value.get("value") or ""), item, "value")
        for item in items
        if item.value.get("type") != "file"
    ]


def _fields(c: NodeConversion, computed: ComputedValues, pairs: list[_Field], may_hold: bool) -> JsonObject:
    """The fields of a form, as an object: the node writes the form."""
    found: JsonObject = {}
    for name, value, reader, field in pairs:
        if TEMPLATE.search(name):
            reader.open(field, "the name of a field has to stand in the file")
            continue
        sent = _sent(c, computed, reader, field, name, value, may_hold)
        found[name] = "" if sent is None else sent
    return found if found.keys() != {"cel"} else {}


OUTSIDE: dict[str, Callable[[NodeConversion], Converted]] = {
    "llm": _llm,
    "question-classifier": _classifier,
    "parameter-extractor": _extractor,
    "knowledge-retrieval": _knowledge,
    "tool": _tool,
    "agent": _agent,
    "http-request": _http,
    "knowledge-index": _datasource,
}
"""What becomes of a node that reaches out, by its type."""
