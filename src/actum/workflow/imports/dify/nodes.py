"""What becomes of each type of Dify node: one function a type, in the table `CONVERTERS`.

A node can become several of ours, one behind the other. Containers are put together by `assembly.py`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import cast

from msgspec import Struct, field

from ....core.json import Json, JsonObject, JsonProblem, parse
from ..ref import Ref, cel_literal
from ..report import FieldReader
from ..secrets import Secrets
from .conditions import OPERATORS, expected, joined
from .graph import FAIL, DifyNode
from .references import Place, References, group_name

_PORT = re.compile(r"[\w-]{1,60}")


class Converted(Struct):
    """What a node became.

    Attributes:
        nodes: our nodes by name, in their order.
        exits: the name of the node and its port behind which the workflow goes on, by handle; `""` for all others.
    """

    nodes: dict[str, JsonObject]
    exits: dict[str, str]
    edges: list[str] = field(default_factory=list)

    @property
    def entry(self) -> str:
        """The node that comes first."""
        return next(iter(self.nodes))


class NodeConversion(Struct):
    """What a converter works with.

    Attributes:
        node: the node.
        references: finds what the node refers to.
        secrets: keeps what must not stand in plain text.
        settings: where to put text for `actum.toml`.
        fresh: makes a name that no node has.
    """

    node: DifyNode
    references: References
    secrets: Secrets
    settings: list[str]
    fresh: Callable[[str], str]

    @property
    def data(self) -> FieldReader:
        """The fields of the node."""
        return self.node.data

    @property
    def place(self) -> Place:
        """Where the node stands."""
        return Place(self.node.parent, self.node.id)

    def value(self, reader: FieldReader, field_: str) -> Json:
        """The value that a field of a node selects."""
        return self.references.value(reader.texts(field_), self.place, reader, field_)

    def text(self, reader: FieldReader, field_: str, function: str = "loose_text") -> Json:
        """A text of a field, with references."""
        return self.references.text(reader.text(field_), self.place, reader, field_, function=function)

    def done(self, *nodes: tuple[str, JsonObject], error: JsonObject | None = None) -> Converted:
        """The node became these.

        Args:
            error: what `default-value` gives, by the names of what our node gives; None where it cannot be said.
        """
        name, main = nodes[-1]
        strategy = self.data.text("error_strategy")
        values = self.defaults()
        if strategy == FAIL:
            main["on_error"] = "branch"
        elif strategy == "default-value":
            if error is not None and "${" not in str(values):
                main["on_error"] = {"default": cast(Json, error)}
            else:
                self.data.lost("default_value", "these default values cannot be said")
        elif strategy not in ("", "none"):
            self.data.lost("error_strategy", "this strategy is not known")
        exits = {"": name, FAIL: f"{name}.error"} if strategy == FAIL else {"": name}
        found = dict(nodes)
        names = list(found)
        return Converted(found, exits, [f"{one} > {other}" for one, other in itertools.pairwise(names)])

    def defaults(self) -> JsonObject:
        """The values of `default-value` by their keys."""
        found: JsonObject = {}
        for each in self.data.objects("default_value"):
            key, value = each.text("key"), each.raw("value")
            kind = each.text("type")
            if isinstance(value, str) and kind not in ("", "string"):
                value = parsed(value)
            found[key] = value
        return found

    def retry(self, main: JsonObject, *, calls: bool) -> None:
        """How often the node is tried again."""
        config = self.data.object("retry_config")
        times, wait = config.number("max_retries", 0), config.number("retry_interval", 1_000)
        if not config.flag("retry_enabled") or times < 1 or calls:
            config.editor_only("exponential_backoff")
        if not config.flag("retry_enabled") or times < 1:
            return
        if calls:
            self.data.near("retry_config", "calls are repeated by the call path, where a repetition is safe")
            return
        factor = 1.0
        backoff = config.object("exponential_backoff")
        if backoff.flag("enabled"):
            factor = max(1.0, min(10.0, backoff.number("multiplier", 2)))
        backoff.editor_only(*backoff.fields())
        main["retry"] = {"attempts": min(20, int(times) + 1), "base_s": max(0.0, wait / 1000), "factor": factor}


def parsed(text: str) -> Json:
    """The value of a text that is JSON, else the text."""
    try:
        return parse(text)[0]
    except JsonProblem:
        return text


# Flow -----------------------------------------------------------------------------------------------------------------


def _if_else(c: NodeConversion) -> Converted:
    data = c.data
    cases: list[Json] = []
    exits = {"false": f"{c.node.name}.else"}
    if data.value.get("cases") is None:
        named = [("true", data.objects("conditions"), data.text("logical_operator", "and"))]
    else:
        data.editor_only("conditions", "logical_operator")
        named = []
        for case in data.objects("cases"):
            id_ = case.text("case_id") or case.text("id")
            case.editor_only("id")
            named.append((id_, case.objects("conditions"), case.text("logical_operator", "and")))
    for number, (id_, conditions, operator) in enumerate(named, 1):
        port = id_ if re.fullmatch(r"[A-Za-z_][\w-]{0,20}", id_, re.ASCII) and id_ != "else" else f"case_{number}"
        exits[id_] = f"{c.node.name}.{port}"
        cases.append({"port": port, "when": joined(conditions, operator, c.references, c.place)})
    if not cases:
        data.near("cases", "there is no case: the workflow always goes on at else")
        cases.append({"port": "never", "when": "false"})
    done = c.done((c.node.name, {"type": "if", "cases": cases}))
    return Converted(done.nodes, {**done.exits, **exits, "": f"{c.node.name}.else"})


def _answer(c: NodeConversion) -> Converted:
    c.data.editor_only("variables")
    done = c.done((c.node.name, {"type": "say", "text": c.text(c.data, "answer", "loose_markdown")}))
    gathered = c.references.gathered
    if not gathered:
        return done
    kept = c.fresh(f"{c.node.name}_kept")
    adding: JsonObject = {"type": "set", "add": {gathered: f"${{{c.node.name}.text}}"}}
    return Converted({**done.nodes, kept: adding}, {"": kept}, [f"{c.node.name} > {kept}"])


def _end(c: NodeConversion) -> Converted:
    outputs: JsonObject = {}
    for each in c.data.objects("outputs"):
        each.editor_only("value_type", "id", "label")
        selector = each.texts("value_selector")
        found = c.references.find(selector, c.place)
        name = each.text("variable")
        if found is None:
            each.lost(
                "value_selector", f"{'.'.join(selector)[:80] or 'nothing'} is not there: null is given, as in Dify"
            )
            outputs[name] = None
        else:
            outputs[name] = c.references.of_ref(found, each, "value_selector")
    if outputs.keys() == {"cel"}:
        c.data.lost("outputs", "an output that is alone and called cel would be computed")
        outputs = {}
    return c.done((c.node.name, {"type": "end", "outputs": outputs}))


def _aggregator(c: NodeConversion) -> Converted:
    c.data.raw("output_type")
    settings = c.data.object("advanced_settings")
    groups: JsonObject = {}
    if settings.flag("group_enabled"):
        c.data.editor_only("variables")
        for each in settings.objects("groups"):
            each.editor_only("groupId", "output_type")
            groups[group_name(each.text("group_name"))] = _group(c, each)
    else:
        settings.editor_only("groups")
        groups["output"] = _group(c, c.data)
    return c.done((c.node.name, {"type": "merge", "groups": groups}))


def _group(c: NodeConversion, reader: FieldReader) -> list[Json]:
    """The values of a group: a value that was skipped has to stay so, or the group would take null for the value."""
    found: list[Json] = []
    for item in reader.items("variables"):
        selector = tuple(str(each) for each in item) if isinstance(item, list) else ()
        ref = c.references.find(selector, c.place)
        if ref is None:
            reader.lost("variables", f"{'.'.join(selector)[:80] or 'nothing'} is not there, or not upstream")
        elif ref.root not in ("inputs", "vars") and not ref.cel:
            found.append(f"${{{ref.path}}}")
        else:
            found.append(c.references.of_ref(ref, reader, "variables"))
    return found


def _list_operator(c: NodeConversion) -> Converted:
    data = c.data
    data.editor_only("item_var_type", "var_type")
    of = c.value(data, "variable")
    where, name = _filter(c), c.node.name
    extract, order, limit = (data.object(each) for each in ("extract_by", "order_by", "limit"))
    steps: list[JsonObject] = []
    main: JsonObject = {"type": "list", "of": of if of is not None else []}
    if where:
        main["where"] = where
    serial = extract.text("serial", "1")
    if extract.flag("enabled"):
        if serial.strip().isdecimal() and 0 < int(serial) < 1_000_000:
            main["slice"] = {"start": int(serial) - 1, "stop": int(serial)}
            extract.near("serial", "where the list is too short, the result is empty, and the node does not fail")
        else:
            extract.lost("serial", "which item is taken can only be a number")
    key = order.text("key")
    if order.flag("enabled"):
        sort: JsonObject = {"by": "item", "descending": order.text("value", "asc") == "desc"}
        if key:
            sort["by"] = f"loose_get(item, {cel_literal(key)})"
            order.near("key", "the attribute is taken of the item itself")
        if "slice" not in main:
            main["sort"] = sort
    order.raw("value")
    if limit.flag("enabled"):
        size = int(limit.number("size", -1))
        if "slice" in main:
            steps.append(main)
            main = {"type": "list", "of": "", "slice": {"stop": size}}
        else:
            main["slice"] = {"stop": size}
    limit.raw("size")
    if steps:
        first = c.fresh(f"{name}_item")
        main["of"] = f"${{{first}.output}}"
        return c.done((first, steps[0]), (name, main))
    return c.done((name, main))


def _filter(c: NodeConversion) -> str:
    filter_by = c.data.object("filter_by")
    parts: list[str] = []
    conditions = filter_by.objects("conditions")
    if not filter_by.flag("enabled"):
        for each in conditions:
            each.editor_only(*each.fields())
        return ""
    for each in conditions:
        each.editor_only("id", "varType", "variable_type")
        operator, key = each.text("comparison_operator", "contains"), each.text("key")
        function, item = OPERATORS.get(operator), f"loose_get(item, {cel_literal(key)})" if key else "item"
        value = expected(each.raw("value"), c.references, c.place, each, "value")
        if function is None:
            each.lost("comparison_operator", f"there is no operator {operator[:40]!r}")
        elif operator in ("in", "not in") and isinstance(each.value.get("value"), str):
            function = "loose_contains" if operator == "in" else "loose_not_contains"
            parts.append(f"{function}({value}, {item})")
        elif operator in ("empty", "not empty"):
            parts.append(f"{function}({item})")
        else:
            parts.append(f"{function}({item}, {value})")
        if key:
            each.near("key", "the attribute is taken of the item itself")
    return " && ".join(parts)


# Variables ------------------------------------------------------------------------------------------------------------


def _assigner(c: NodeConversion) -> Converted:
    if c.data.text("version", "1") == "2" or "items" in c.data:
        changes = [_change(c, each) for each in c.data.objects("items")]
    else:
        mode = c.data.text("write_mode", "over-write")
        target = c.references.find(c.data.texts("assigned_variable_selector"), c.place)
        source = None if mode == "clear" else c.value(c.data, "input_variable_selector")
        c.data.raw("input_variable_selector")
        changes = [_changed(c, c.data, "assigned_variable_selector", target, mode, source)]
    nodes: list[tuple[str, JsonObject]] = [each for change in changes for each in change]
    if not nodes:
        return c.done((c.node.name, {"type": "set", "set": {}}))
    renamed = [(c.fresh(f"{c.node.name}_step") if name == "" else name, node) for name, node in nodes[:-1]]
    last = nodes[-1][1]
    return c.done(*renamed, (c.node.name, last))


def _change(c: NodeConversion, item: FieldReader) -> list[tuple[str, JsonObject]]:
    operation, kind = item.text("operation"), item.text("input_type")
    target = c.references.find(item.texts("variable_selector"), c.place)
    raw = item.raw("value")
    item.editor_only("write_mode", "id")
    if operation in ("clear", "remove-first", "remove-last"):
        value: Json = None
    elif kind == "variable" and isinstance(raw, list):
        value = c.value(item, "value")
    else:
        value = c.references.constant(raw, item, "value")
        if operation == "set" and isinstance(value, str) and target is not None and target.type == "object":
            value = parsed(value)
    return _changed(c, item, "variable_selector", target, operation, value)


_COMPUTED = {"-=": "loose_subtract", "*=": "loose_multiply", "/=": "loose_divide"}


def _changed(
    c: NodeConversion, reader: FieldReader, field_: str, target: Ref | None, operation: str, value: Json
) -> list[tuple[str, JsonObject]]:
    """The nodes that change one variable; a name that is empty is to be made up."""
    if target is None or target.root != "vars" or len(target.steps) != 1:
        reader.lost(field_, "this variable is not there, or cannot be changed")
        return []
    name = str(target.steps[0])
    node: JsonObject = {"type": "set"}
    match operation:
        case "over-write" | "set":
            node["set"] = {name: value}
        case "append" | "extend":
            node[operation] = {name: value}
        case "+=":
            node["add"] = {name: value}
        case "clear":
            if target.type == "number":
                node["set"] = {name: 0}
            elif target.type == "boolean":
                node["set"] = {name: False}
            else:
                node["clear"] = [name]
        case "remove-first" | "remove-last":
            rest = c.fresh(f"{c.node.name}_rest")
            cut: JsonObject = {"start": 1} if operation == "remove-first" else {"stop": -1}
            node["set"] = {name: f"${{{rest}.output}}"}
            return [(rest, {"type": "list", "of": f"${{vars.{name}}}", "slice": cut}), ("", node)]
        case "-=" | "*=" | "/=":
            other = value["cel"] if isinstance(value, dict) and "cel" in value else _number_in_cel(value)
            node["set"] = {name: {"cel": f"{_COMPUTED[operation]}(vars.{name}, {other})"}}
        case _:
            reader.lost("operation", f"there is no operation {operation[:40]!r}")
            return []
    return [("", node)]


def _number_in_cel(value: Json) -> str:
    if isinstance(value, str) and re.fullmatch(r"\$\{[\w.]+\??\}", value):
        return value[2:-1].rstrip("?")
    if isinstance(value, str):
        try:
            return cel_literal(float(value))
        except ValueError:
            return cel_literal(value)
    return cel_literal(value)


# Code, templates, documents -------------------------------------------------------------------------------------------

_TYPES: dict[str, JsonObject] = {
    "string": {"type": ["string", "null"]},
    "number": {"type": ["number", "null"]},
    "integer": {"type": ["integer", "null"]},
    "boolean": {"type": ["boolean", "null"]},
    "object": {"type": ["object", "null"]},
    "array[string]": {"type": ["array", "null"], "items": {"type": "string"}},
    "array[number]": {"type": ["array", "null"], "items": {"type": "number"}},
    "array[object]": {"type": ["array", "null"], "items": {"type": "object"}},
    "array[boolean]": {"type": ["array", "null"], "items": {"type": "boolean"}},
}


def _variables(c: NodeConversion, field_: str = "variables") -> JsonObject:
    given: JsonObject = {}
    for each in c.data.objects(field_):
        each.editor_only("value_type", "id", "label", "variable_type")
        name = each.text("variable")
        if name:
            given[name] = c.value(each, "value_selector")
    if given.keys() == {"cel"} and isinstance(given["cel"], str):
        c.data.lost(field_, "a value that is alone and called cel would be computed")
        return {}
    return given


def _code(c: NodeConversion) -> Converted:
    data, properties = c.data, JsonObject()
    language = data.text("code_language", "python3")
    outputs = data.object("outputs")
    for name in list(outputs.fields()):
        each = outputs.object(name)
        each.editor_only("children")
        properties[name] = dict(_TYPES.get(each.text("type").lower(), {}))
    if data.raw("dependencies"):
        data.lost("dependencies", "packages have to be there on the machine that runs the sandbox")
    main: JsonObject = {
        "type": "code",
        "language": "javascript" if language == "javascript" else "python",
        "code": data.text("code"),
        "with": _variables(c),
    }
    if language not in ("python3", "python", "javascript"):
        data.lost("code_language", f"there is no language {language[:40]!r}")
    if properties:
        required: list[Json] = list(properties)
        main["outputs"] = {"type": "object", "properties": properties, "required": required}
    c.retry(main, calls=True)
    return c.done((c.node.name, main), error={"output": c.defaults(), "text": "", "files": []})


def as_jinja_reads(template: str) -> str:
    """A template as Jinja2 reads templates in Dify: without the end of its last line."""
    return re.sub(r"(?:\r\n|\r|\n)\Z", "", template)


def _template(c: NodeConversion) -> Converted:
    template = c.data.text("template")
    main: JsonObject = {"type": "template", "template": as_jinja_reads(template), "with": _variables(c)}
    text = c.defaults().get("output", "")
    return c.done((c.node.name, main), error={"output": text, "text": text})


def _document(c: NodeConversion) -> Converted:
    c.data.editor_only("is_array_file")
    c.data.open("", "choose a tool that reads the text of a document; it is called extract_document here")
    main: JsonObject = {
        "type": "tool",
        "tool": "extract_document",
        "with": {"file": c.value(c.data, "variable_selector")},
    }
    text = c.defaults().get("text", "")
    return c.done((c.node.name, main), error={"output": text, "text": text, "files": []})


def _note(c: NodeConversion) -> Converted:
    c.data.editor_only("author", "showAuthor", "theme", "fontSize")
    text = c.data.text("text")
    return Converted({c.node.name: {"type": "note", "text": text}}, {"": c.node.name})


# People and other programs --------------------------------------------------------------------------------------------

_UNITS = {"minute": "m", "hour": "h", "day": "d", "minutes": "m", "hours": "h", "days": "d"}


def _human(c: NodeConversion) -> Converted:
    data, name = c.data, c.node.name
    message = data.text("form_content") or data.text("pause_reason") or c.node.title or "Please answer."
    message = re.sub(r"\{\{#\$output\.[^#]*#\}\}", "", message)
    main: JsonObject = {
        "type": "human",
        "message": c.references.text(message, c.place, data, "form_content"),
    }
    actions = [(each.text("id"), each.text("title")) for each in data.objects("user_actions")]
    for each in data.objects("user_actions"):
        each.editor_only("button_style", "title", "id")
    properties: JsonObject = {}
    for each in data.objects("inputs"):
        field_ = each.text("output_variable_name") or each.text("variable")
        kind = each.text("type", "text-input")
        if field_:
            properties[field_] = {"type": "string"}
        if kind not in ("text-input", "paragraph", "text_input"):
            each.near("type", "every field of a form is a text")
        each.editor_only("default", "placeholder")
    for required in data.texts("required_variables"):
        properties.setdefault(required.rpartition(".")[2] or "answer", {"type": "string"})
    exits = {"": name}
    if len(actions) > 1 and not properties:
        main["choices"] = [_port(id_) for id_, _ in actions]
        exits |= {id_: f"{name}.{_port(id_)}" for id_, _ in actions}
        exits[""] = f"{name}.{_port(actions[0][0])}"
    elif actions:
        if len(actions) > 1:
            data.lost("user_actions", "a node asks for fields or for a choice, not for both: the first action is taken")
        exits |= {id_: name for id_, _ in actions[:1]}
        main["form"] = {"type": "object", "properties": properties}
    elif properties:
        main["form"] = {"type": "object", "properties": properties}
    timeout, unit = data.number("timeout", 0), data.text("timeout_unit", "hour")
    main["expires"] = f"{timeout:g}{_UNITS.get(unit, 'h')}" if timeout > 0 else "3d"
    exits["__timeout"] = f"{name}.expired"
    for field_ in ("delivery_methods", "pause_reason", "form_content"):
        if field_ == "delivery_methods" and data.raw(field_):
            data.open(field_, "name who is asked in `approvers`; actum approvals shows what waits")
    return Converted({name: main}, exits)


def _port(id_: str) -> str:
    port = re.sub(r"[^\w-]", "_", id_, flags=re.ASCII)[:60] or "choice"
    return f"{port}_choice" if port in ("denied", "expired", "error") else port


def _loop_end(c: NodeConversion) -> Converted:
    return Converted({c.node.name: {"type": "break"}}, {"": c.node.name})


def _unknown(c: NodeConversion) -> Converted:
    """A node of a type that is not known: a tool that a person has to choose."""
    data = c.data
    data.lost("type", f"there is no node type {c.node.kind[:40]!r} here: a tool of this name stands in its place")
    tool = re.sub(r"[^a-z0-9_]+", "_", c.node.kind.lower()).strip("_") or "unknown"
    return c.done((c.node.name, {"type": "tool", "tool": tool[:60], "with": {}}))


CONVERTERS: dict[str, Callable[[NodeConversion], Converted]] = {
    "if-else": _if_else,
    "answer": _answer,
    "end": _end,
    "variable-aggregator": _aggregator,
    "variable-assigner": _aggregator,
    "assigner": _assigner,
    "list-operator": _list_operator,
    "code": _code,
    "template-transform": _template,
    "document-extractor": _document,
    "note": _note,
    "human-input": _human,
    "loop-end": _loop_end,
}
"""What becomes of a node, by its type. The types that ask models and other programs stand in `outside.py`."""

UNKNOWN = _unknown
