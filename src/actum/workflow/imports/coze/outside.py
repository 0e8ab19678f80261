"""What becomes of the Coze nodes that ask models, call tools or send requests."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ....core.json import Json, JsonObject, JsonProblem, parse
from ...definition.loose import loose_json_text
from ...definition.settings import TURNS_MAX
from ...tools import literal_origin
from ..ref import Ref
from ..report import FieldReader
from ..requests import (
    IN_HEADER,
    IN_JSON,
    IN_TEXT,
    IN_URL,
    WHOLE_BODY,
    ComputedValues,
    leave_out_unplaced,
    raw,
)
from ..secrets import is_secret, is_secret_name
from .canvas import KINDS
from .nodes import CozeConversion, CozeConverted, declared
from .values import Constant, Term, is_json, model_params

# Models ---------------------------------------------------------------------------------------------------------------

_SETTINGS = {"temperature": "temperature", "maxTokens": "max_tokens", "topP": "top_p"}
_FILES = range(2, 13)
"""The `assistType` of files."""
ROUNDS = 3
"""The number of turns that Coze tells a model where the canvas does not say it."""
_PROMPTS = frozenset({"prompt", "systemPrompt"})
_NAMES = frozenset({"modelName", "modleName", "modelType"})
_OF_EDITOR = frozenset({"generationDiversity", "responseFormat", "prologue", "enableChatHistory", "chatHistoryRound"})


def _model(c: CozeConversion, main: JsonObject) -> JsonObject:
    """Put the model and its settings into a node, and give what the file says of the model."""
    given = model_params(c.inputs.raw("llmParam"))
    name = next((str(given[key]) for key in ("modelName", "modleName", "modelType") if given.get(key)), "model")
    name = str(c.secrets.without(name, f"{c.name}.llmParam"))
    main["model"] = f"coze:{name}"[:200]
    c.inputs.open(
        "llmParam", f"choose a model for coze:{name[:80]}: give it in `models`, or write its name in our words"
    )
    settings: JsonObject = {}
    for key, value in given.items():
        if key in _SETTINGS:
            number = _number(value)
            if number is None:
                c.inputs.lost(f"llmParam.{key}", "a number is expected")
            elif key == "maxTokens" and number >= 1:
                settings["max_tokens"] = int(number)
            elif key != "maxTokens" and 0 <= number <= (2 if key == "temperature" else 1):
                settings[_SETTINGS[key]] = number
            elif number:
                c.inputs.lost(f"llmParam.{key}", "a model here takes no such value")
        elif key == "enableChatHistory" and _is_true(value) and main["type"] == "model":
            _remember(c, main, given.get("chatHistoryRound"))
        elif key not in _PROMPTS | _NAMES | _OF_EDITOR and value not in (None, "", [], {}, False):
            c.inputs.near(f"llmParam.{key}", "this setting of a model is not taken over")
    if settings and main["type"] == "model":
        main["settings"] = settings
    history = c.inputs.object("chatHistorySetting")
    if history.flag("enableChatHistory"):
        history.lost("enableChatHistory", "a node that classifies has no memory of earlier messages")
    history.editor_only("chatHistoryRound")
    return given


def _remember(c: CozeConversion, main: JsonObject, rounds: Json) -> None:
    """Tell the model of a node the latest turns of the conversation."""
    said = _number(rounds)
    turns = ROUNDS if said is None else min(int(said), TURNS_MAX)
    if turns >= 1:
        main["memory"] = {"turns": turns}
        words = f"{turns} turns at most, and no more tokens than `tokens` of `memory` says: 4000, estimated"
        c.inputs.near("llmParam.enableChatHistory", words)


def _number(value: Json) -> float | None:
    try:
        found = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else None
    except ValueError:
        return None
    return found if found is not None and abs(found) < 1e9 else None


def _is_true(value: Json) -> bool:
    return value is True or value == "true"


def _llm(c: CozeConversion) -> CozeConverted:
    main: JsonObject = {"type": "model"}
    params = c.params()
    for each in c.inputs.objects("inputParameters"):
        block = each.value.get("input")
        if isinstance(block, dict) and block.get("assistType") in _FILES:
            each.near("input", "a file is given to the model as its address, in the text")
    given = _model(c, main)
    for key, field in (("systemPrompt", "system"), ("prompt", "prompt")):
        words = given.get(key)
        if isinstance(words, str) and words:
            main[field] = c.values.text(words, params, c.node, c.inputs, f"llmParam.{key}")
    c.inputs.editor_only("fcParamVar")
    skills = c.inputs.object("fcParam")
    if any(skills.value.get(each) for each in skills.fields()):
        skills.open("", "a model node calls no tools: make an agent with these tools, and use an agent node")
    skills.editor_only(*skills.fields())
    properties = declared(c)
    json = is_json(c.node)
    if json:
        required: list[Json] = list(properties)
        main["output_schema"] = {"type": "object", "properties": properties, "required": required}
    first = next(iter(properties), "output")

    def error(values: JsonObject) -> JsonObject:
        if json:
            return {"output": "", "text": "", "value": values}
        words = loose_json_text(values.get(first))
        return {"output": words, "text": words, "value": None}

    item: Json = f"${{{c.name}.value}}" if json else {first: f"${{{c.name}.text}}"}
    return c.done((c.name, main), error=error, item=item, calls=False)


def _intent(c: CozeConversion) -> CozeConverted:
    main: JsonObject = {"type": "classify"}
    params = c.params()
    given = _model(c, main)
    c.inputs.editor_only("mode")
    c.node.data.taken("outputs")
    main["text"] = c.values.value(
        params.get("query", next(iter(params.values()), Constant(""))), c.inputs, "inputParameters"
    )
    if not isinstance(main["text"], str | dict):
        main["text"] = ""
    classes: JsonObject = {}
    exits: dict[str, str] = {}
    for index, each in enumerate(c.inputs.objects("intents")):
        classes[f"class_{index}"] = each.text("name")
        exits[f"branch_{index}"] = f"{c.name}.class_{index}"
    classes["other"] = "None of these."
    exits["default"] = f"{c.name}.other"
    main["classes"] = classes
    system = given.get("systemPrompt")
    if isinstance(system, str) and system:
        main["instructions"] = c.values.text(system, params, c.node, c.inputs, "llmParam.systemPrompt")
    c.inputs.near("intents", "the class is asked for by a form, and not in the prompt of Coze")
    done = c.done((c.name, main), calls=False)
    ends = tuple(exits.values())
    return CozeConverted(done.nodes, {**done.exits, **exits, "": exits["default"]}, done.edges, ends)


# Tools ----------------------------------------------------------------------------------------------------------------


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:60].strip("_")


def _arguments(c: CozeConversion, given: Mapping[str, Term]) -> JsonObject:
    """The arguments of a tool, without keys that stand in plain text."""
    kept: dict[str, Term] = {}
    for name, term in given.items():
        if isinstance(term, Constant) and isinstance(term.value, str) and term.value and is_secret_name(name):
            c.inputs.open(
                "inputParameters", "a secret stood here in plain text: give it to the tool, it is not in this file"
            )
        else:
            kept[name] = term
    return c.values.values(kept, c.inputs, "inputParameters")


def _called(c: CozeConversion, main: JsonObject) -> CozeConverted:
    if c.node.data.raw("outputs"):
        c.node.data.near("outputs", "what the tool gives is taken as it is, and is not converted to these types")
    item = f"${{{c.name}.output}}"
    return c.done((c.name, main), error=lambda values: {"output": values, "text": "", "files": []}, item=item)


def _plugin(c: CozeConversion) -> CozeConverted:
    given = c.params()
    names = model_params(list(c.inputs.items("apiParam")))
    c.inputs.editor_only("pluginFrom", "pluginVersion")
    tool = _slug(str(names.get("apiName") or "")) or f"plugin_{_slug(str(names.get('apiID') or '')) or 'tool'}"
    tool = tool if tool[0].isalpha() else f"plugin_{tool}"
    c.inputs.open(
        "apiParam", f"choose a tool for {str(names.get('pluginName') or tool)[:60]}: it is called {tool[:60]} here"
    )
    return _called(c, {"type": "tool", "tool": tool[:60], "with": _arguments(c, given)})


def _subworkflow(c: CozeConversion) -> CozeConverted:
    given = c.params()
    id_ = _slug(c.inputs.text("workflowId"))
    version = c.inputs.text("workflowVersion")
    c.inputs.editor_only("spaceId", "type", "inputDefs")
    name = f"workflow_{id_}" if id_ else "workflow_unknown"
    c.inputs.open("workflowId", f"import this workflow of Coze too, and give it as a tool: it is called {name} here")
    if version:
        c.inputs.near(
            "workflowVersion", "the published version of our workflow is taken: write name@version for another"
        )
    return _called(c, {"type": "workflow", "workflow": name, "with": _arguments(c, given)})


def _knowledge(c: CozeConversion) -> CozeConverted:
    given = c.params()
    params = c.inputs.objects("datasetParam")
    for each in params:
        each.editor_only(*each.fields())
    if c.inputs.raw("strategyParam"):
        c.inputs.open("strategyParam", "these settings belong to the tool")
    c.inputs.open(
        "datasetParam",
        "choose a tool with `knowledge=True` that searches these: it is called search_knowledge here",
    )
    query = given.pop("Query", given.pop("query", next(iter(given.values()), Constant(""))))
    shown = c.values.value(query, c.inputs, "inputParameters")
    main: JsonObject = {"type": "knowledge", "tool": "search_knowledge", "query": "" if shown is None else shown}
    if c.node.data.raw("outputs"):
        c.node.data.near("outputs", "outputList is what the tool gives, and is not converted to these types")
    return c.done((c.name, main), error=lambda values: {"output": values, "text": "", "files": []})


def _other_tool(c: CozeConversion) -> CozeConverted:
    """A node that only a tool of a person's choice can stand for: data bases, images, what is stored as knowledge."""
    kind = KINDS.get(c.node.kind, "tool")
    given = c.params()
    for field in list(c.inputs.fields()):
        known = field in ("inputParameters", "settingOnError", "batch", "sql")
        if not known and c.inputs.raw(field) not in (None, "", [], {}):
            c.inputs.open(field, "these settings belong to the tool")
    arguments = _arguments(c, given)
    if "sql" in c.inputs:
        arguments["sql"] = c.values.escaped(c.inputs.text("sql"))
        c.inputs.near(
            "sql", "names in braces stay in the statement, and the values stand beside: the tool fills them in"
        )
    c.node.data.open("type", f"choose a tool; it is called {kind} here")
    return _called(c, {"type": "tool", "tool": kind, "with": arguments})


def _unknown(c: CozeConversion) -> CozeConverted:
    """A node of a type that is not known: a tool that a person has to choose."""
    c.node.data.lost(
        "type", f"there is no node type {c.node.kind[:40]!r} here: a tool of this name stands in its place"
    )
    given = c.params()
    kind = KINDS.get(c.node.kind) or f"coze_{_slug(c.node.kind) or 'unknown'}"
    return _called(c, {"type": "tool", "tool": kind[:60], "with": _arguments(c, given)})


# Requests -------------------------------------------------------------------------------------------------------------

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})


def _http(c: CozeConversion) -> CozeConverted:
    inputs, given = c.inputs, c.params()
    api = inputs.object("apiInfo")
    method = api.text("method", "GET").upper()
    if method not in _METHODS:
        api.lost("method", f"there is no method {method[:20]!r}: GET is sent")
        method = "GET"
    computed = ComputedValues(c.fresh, c.name)
    url = _text(c, computed, api, "url", c.values.parts(api.text("url").strip(), given, c.node, api, "url"), IN_URL)
    may_hold = bool(literal_origin(url))
    headers, query = (_sent(c, inputs, field, may_hold) for field in ("headers", "params"))
    main: JsonObject = {"type": "http", "method": method, "url": url}
    _authorize(c, computed, headers, query, may_hold)
    _body(c, computed, main, headers, given, may_hold)
    if query:
        main["query"] = query
    if headers:
        main["headers"] = headers
    data = inputs.object("body").object("bodyData")
    body = {"JSON": "json", "RAW_TEXT": "rawText"}.get(inputs.object("body").text("bodyType").upper(), "")
    leave_out_unplaced(
        main,
        {"url": (api, "url"), "headers": (inputs, "headers"), "query": (inputs, "params"), "body": (data, body)},
    )
    setting = inputs.object("setting")
    if setting.number("timeout", 0):
        setting.near("timeout", "how long a request may take is a matter of the call path")
    if setting.number("retryTimes", 0):
        setting.near("retryTimes", "calls are repeated by the call path, where a repetition is safe")
    inputs.near("apiInfo", "a status of 400 and above fails the node")
    c.node.data.taken("outputs")

    def error(values: JsonObject) -> JsonObject:
        body, status = values.get("body", ""), values.get("statusCode", 0)
        answer: JsonObject = {"text": body, "status": status, "headers": values.get("headers", {}), "json": None}
        return {"output": answer, "text": body, "files": []}

    item: Json = {"body": f"${{{c.name}.output.text}}", "statusCode": f"${{{c.name}.output.status}}"}
    return c.done(*computed.nodes(), (c.name, main), error=error, item=item)


def _text(
    c: CozeConversion,
    computed: ComputedValues,
    reader: FieldReader,
    field: str,
    parts: list[str | Ref],
    near: str,
) -> str:
    """A text of a request. Where values stand beside words, the report says how they are bound."""
    if len(parts) > 1 and any(isinstance(part, Ref) and not part.secret for part in parts):
        reader.near(field, near)
    return str(c.values.joined(computed.plain(parts), reader, field))


def _sent(c: CozeConversion, reader: FieldReader, field: str, may_hold: bool) -> JsonObject:
    """Named values that are sent, with secrets by their names."""
    found: JsonObject = {}
    for name, term in c.values.params(reader, field, c.node).items():
        shown = (
            _secret(c, reader, field, name, term, may_hold) if is_secret_name(name) else _shown(c, term, reader, field)
        )
        if shown is not None:
            found[name] = shown
    return found if found.keys() != {"cel"} else {}


def _shown(c: CozeConversion, term: Term, reader: FieldReader, field: str) -> Json:
    if isinstance(term, Constant):
        return c.values.escaped(loose_json_text(term.value))
    return c.values.joined([term], reader, field)


def _secret(c: CozeConversion, reader: FieldReader, field: str, name: str, term: Term, may_hold: bool) -> Json:
    """A secret value: where the canvas holds it in plain text, the name of the secret replaces it."""
    value = loose_json_text(term.value) if isinstance(term, Constant) else ""
    if isinstance(term, Ref) or not value.strip():
        return _shown(c, term, reader, field)
    scheme, _, rest = value.partition(" ")
    prefix, kept = (f"{scheme} ", rest) if scheme.lower() in ("bearer", "basic") and rest else ("", value)
    if not may_hold:
        reader.open(
            field, f"the secret in {name[:60]} is left out: the host of the url is not written in the definition"
        )
        return None
    known = c.secrets.keep(f"{c.name}_{name}", kept)
    reader.open(field, f"a secret stood here in plain text: keep it with `actum secrets set {known}`")
    return f"{prefix}${{secret:{known}}}"


def _authorize(
    c: CozeConversion, computed: ComputedValues, headers: JsonObject, query: JsonObject, may_hold: bool
) -> None:
    auth = c.inputs.object("auth")
    kind, is_open = auth.text("authType"), auth.flag("authOpen")
    data = auth.object("authData")
    if not is_open:
        data.editor_only(*data.fields())
        return
    if kind == "BEARER_AUTH":
        data.editor_only("customData")
        token = next(iter(c.values.params(data, "bearerTokenData", c.node).values()), Constant(""))
        if isinstance(token, Ref):
            headers["Authorization"] = _text(c, computed, data, "bearerTokenData", ["Bearer ", token], IN_HEADER)
        elif token.value:
            bearer = Constant(f"Bearer {loose_json_text(token.value)}")
            headers["Authorization"] = _secret(c, data, "bearerTokenData", "Authorization", bearer, may_hold)
    elif kind == "CUSTOM_AUTH":
        data.editor_only("bearerTokenData")
        custom = data.object("customData")
        place = custom.text("addTo", "header")
        pairs = c.values.params(custom, "data", c.node)
        key, value = pairs.get("Key", Constant("")), pairs.get("Value", Constant(""))
        if isinstance(key, Ref):
            custom.lost("data", "the name of a header or parameter has to stand in the file")
            return
        name = loose_json_text(key.value).strip()
        shown = _secret(c, custom, "data", name, value, may_hold) if name else None
        if shown is not None and name != "cel":
            (query if place == "query" else headers)[name] = shown
    else:
        data.editor_only(*data.fields())
        auth.lost("authType", f"there is no way to authorize called {kind[:40]!r}")
    for target in (headers, query):
        for name in [name for name, value in target.items() if value is None]:
            del target[name]


def _body(
    c: CozeConversion,
    computed: ComputedValues,
    main: JsonObject,
    headers: JsonObject,
    given: Mapping[str, Term],
    may_hold: bool,
) -> None:
    body = c.inputs.object("body")
    kind = body.text("bodyType", "EMPTY").upper()
    data = body.object("bodyData")
    data.editor_only("typeMapping")
    is_typed = any(name.lower() == "content-type" for name in headers)
    used = ""
    match kind:
        case "JSON":
            used = "json"
            main["body"] = _json_body(c, computed, data, given, may_hold)
            if isinstance(main["body"], str) and not is_typed:
                headers["Content-Type"] = "application/json"
        case "RAW_TEXT":
            used = "rawText"
            parts = c.values.parts(data.text("rawText"), given, c.node, data, "rawText")
            main["body"] = _text(c, computed, data, "rawText", parts, IN_TEXT)
        case "FORM_URLENCODED":
            used = "formURLEncoded"
            pairs = c.values.params(data, "formURLEncoded", c.node)
            main["body"] = _fields(c, _without_secrets(c, pairs, data, may_hold), data, "formURLEncoded")
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        case "FORM_DATA":
            used = "formData"
            form = data.object("formData")
            form.editor_only("typeMapping")
            pairs = _without_secrets(c, c.values.params(form, "data", c.node), data, may_hold)
            main["body"] = _fields(c, pairs, data, "formData")
            headers["Content-Type"] = "multipart/form-data"
            form.near("data", "a file is sent as its address")
        case "BINARY":
            used = "binary"
            binary = data.object("binary")
            main["body"] = c.values.value(c.term(binary, "fileURL"), binary, "fileURL")
            binary.lost("fileURL", "a file is not fetched from its address: the address is sent")
        case "EMPTY" | "":
            pass
        case _:
            body.lost("bodyType", f"there is no body of the type {kind[:40]!r}")
    for field in ("json", "rawText", "formURLEncoded", "formData", "binary"):
        if field != used and field in data:
            data.raw(field)
            data.near(field, "this part of the body is not sent, as in Coze")


def _without_secrets(
    c: CozeConversion, pairs: Mapping[str, Term], reader: FieldReader, may_hold: bool
) -> dict[str, Term]:
    """Named values that are sent in a body, with secrets by their names."""
    found: dict[str, Term] = {}
    for name, term in pairs.items():
        found[name] = term
        if isinstance(term, Constant) and is_secret(name, term.value):
            found[name] = _kept(c, reader, name, str(term.value), may_hold)
    return found


def _kept(c: CozeConversion, reader: FieldReader, name: str, value: str, may_hold: bool) -> Term:
    """The name of a secret in the place of the secret."""
    if not may_hold:
        reader.open("", f"the secret in {name[:60]} is left out: the host of the url is not written in the definition")
        return Constant("")
    known = c.secrets.keep(f"{c.name}_{name}", value)
    reader.open("", f"a secret stood here in plain text: keep it with `actum secrets set {known}`")
    return Ref(secret=known)


def _json_body(
    c: CozeConversion, computed: ComputedValues, data: FieldReader, given: Mapping[str, Term], may_hold: bool
) -> Json:
    text = data.text("json")
    try:
        value: Json = parse(text)[0]
    except JsonProblem:
        value = None
    if value is not None and not (isinstance(value, dict) and value.keys() == {"cel"}):
        filled = _filled(c, value, given, data, may_hold)
        if filled != value:
            data.near("json", IN_JSON)
        return filled
    parts = c.values.parts(text.strip(), given, c.node, data, "json")
    if len(parts) == 1 and isinstance(parts[0], Ref):
        (ref,) = computed.plain(parts)
        data.open("json", WHOLE_BODY)
        return raw(ref) if isinstance(ref, Ref) else ref
    return _text(c, computed, data, "json", parts, IN_JSON)


def _filled(c: CozeConversion, value: Json, given: Mapping[str, Term], data: FieldReader, may_hold: bool) -> Json:
    """A value in whose texts the references are put, so that a quote in a value ends no text."""
    match value:
        case str():
            return c.values.text(value, given, c.node, data, "json")
        case list():
            return [_filled(c, each, given, data, may_hold) for each in value]
        case dict():
            found = {
                name: c.values.value(_kept(c, data, name, str(each), may_hold))
                if is_secret(name, each) and "{{" not in str(each)
                else _filled(c, each, given, data, may_hold)
                for name, each in value.items()
            }
            return found if found.keys() != {"cel"} else {}
        case _:
            return value


def _fields(c: CozeConversion, pairs: Mapping[str, Term], reader: FieldReader, field: str) -> JsonObject:
    """The fields of a form, as an object: the node writes the form."""
    found: JsonObject = {name: _shown(c, term, reader, field) for name, term in pairs.items()}
    return found if found.keys() != {"cel"} else {}


TOOLS = ("11", "12", "14", "16", "17", "23", "26", "27", "34", "35", "36", "42", "43", "44", "46", "60")
"""The types that only a tool of a person's choice can stand for: data bases, images, memories, stored triggers."""

OUTSIDE: dict[str, Callable[[CozeConversion], CozeConverted]] = {
    "3": _llm,
    "4": _plugin,
    "6": _knowledge,
    "9": _subworkflow,
    "22": _intent,
    "45": _http,
    **dict.fromkeys(TOOLS, _other_tool),
}
"""What becomes of a node that asks a model, a tool or another program, by its number."""

UNKNOWN = _unknown
