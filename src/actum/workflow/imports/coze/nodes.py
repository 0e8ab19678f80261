"""What becomes of each type of Coze node: one function a type, in the table `CONVERTERS`.

A node can become several of ours, one behind the other. Containers are put together by `assembly.py`; the nodes that
ask models and other programs stand in `outside.py`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from typing import cast

from msgspec import Struct, field, structs

from ....core.json import Json, JsonObject, JsonProblem, parse
from ..ref import Ref
from ..report import FieldReader
from ..secrets import Secrets
from .canvas import ERROR, HISTORY, CozeNode, selector_port
from .values import TEMPLATE, CanvasValues, Constant, Term, group_name, in_cel, options_of

COMPUTED_MAX = 4_000
PARALLEL_MAX = 64


class CozeConverted(Struct):
    """What a node became.

    Attributes:
        nodes: our nodes by name, in their order.
        exits: the name of the node and its port behind which the workflow goes on, by port; `""` for all others.
        edges: the edges between the nodes.
        ends: the ports at which the workflow goes on, also where no edge of the canvas leads on.
    """

    nodes: dict[str, JsonObject]
    exits: dict[str, str]
    edges: list[str] = field(default_factory=list)
    ends: tuple[str, ...] = ()

    @property
    def entry(self) -> str:
        """The node that comes first."""
        return next(iter(self.nodes))


class CozeConversion(Struct):
    """What a converter works with.

    Attributes:
        node: the node.
        values: finds what the node refers to.
        secrets: keeps what must not stand in plain text.
        fresh: makes a name that no node has.
    """

    node: CozeNode
    values: CanvasValues
    secrets: Secrets
    fresh: Callable[[str], str]

    @property
    def inputs(self) -> FieldReader:
        """The inputs of the node."""
        return self.node.inputs

    @property
    def name(self) -> str:
        """What the node is called here."""
        return self.node.name

    def params(self, field_: str = "inputParameters") -> dict[str, Term]:
        """Named values that the node is given."""
        return self.values.params(self.inputs, field_, self.node)

    def term(self, reader: FieldReader, field_: str) -> Term:
        """The value of one block."""
        return self.values.term(reader.object(field_), self.node)

    def text(self, reader: FieldReader, field_: str, given: Mapping[str, Term]) -> Json:
        """A text of a field, with references."""
        return self.values.text(reader.text(field_), given, self.node, reader, field_)

    def computed(self, expression: str, reader: FieldReader, field_: str) -> Json:
        """A value that is computed; null, and a line in the report, where the expression is too long."""
        if len(expression) <= COMPUTED_MAX:
            return {"cel": expression}
        reader.lost(field_, "this value is too long to be computed")
        return None

    # Failures ---------------------------------------------------------------------------------------------------------

    def done(
        self,
        *nodes: tuple[str, JsonObject],
        error: Callable[[JsonObject], JsonObject] | None = None,
        item: Json = None,
        calls: bool = True,
    ) -> CozeConverted:
        """The node became these.

        Args:
            nodes: our nodes in their order; the last gives what the node gives.
            error: what a default output gives, by the names of what our node gives; None where it cannot be said.
            item: what an item of a batch gives.
            calls: whether the call path repeats the node.
        """
        name, main = nodes[-1]
        self._on_error(main, error, calls)
        if self.node.is_batch:
            main = self._each(main, item, tuple(nodes[:-1]))
            nodes = ((name, main),)
        elif "batch" in self.inputs:
            batch = self.inputs.object("batch")
            batch.editor_only(*batch.fields())
        found = dict(nodes[:-1]) | {name: main}
        exits = {"": name} | ({ERROR: f"{name}.error"} if self.node.error_branch else {})
        return CozeConverted(found, exits, [f"{one} > {other}" for one, other in itertools.pairwise(found)])

    def _on_error(self, main: JsonObject, error: Callable[[JsonObject], JsonObject] | None, calls: bool) -> None:
        rule = self.node.error_rule
        if rule is self.inputs.object("settingOnError"):
            self.node.data.editor_only("settingOnError")
        kind = int(rule.number("processType", 0))
        is_on = rule.flag("switch", kind > 1) or rule.flag("settingOnErrorIsOpen")
        kind = 2 if is_on and kind == 0 else kind
        times, timeout = rule.number("retryTimes", 0), rule.number("timeoutMs", 0)
        data, ext = rule.text("dataOnErr") or rule.text("settingOnErrorJSON"), rule.raw("ext")
        rule.editor_only("settingOnErrorJSON")
        if ext not in (None, {}):
            rule.lost("ext", "a node asks one model: no other model is asked where the first fails")
        if timeout:
            rule.near("timeoutMs", "a node has no time limit of its own: the call path and the workflow have limits")
        if times >= 1 and calls:
            rule.near("retryTimes", "calls are repeated by the call path, where a repetition is safe")
        elif times >= 1:
            main["retry"] = {"attempts": min(20, int(times) + 1), "base_s": 0.0}
        if not is_on or kind == 1:
            return
        if kind == 3:
            main["on_error"] = "branch"
            rule.near("processType", "errorCode is a word here, such as tool_error, and no number")
        elif kind == 2:
            value = _object_of(data)
            if error is None or value is None:
                rule.lost("dataOnErr", "this default output cannot be said")
            else:
                main["on_error"] = {"default": cast(Json, error(self._constant(value)))}
        else:
            rule.lost("processType", "this way with failures is not known")

    def _constant(self, value: JsonObject) -> JsonObject:
        if "${" in str(value):
            self.inputs.lost("settingOnError.dataOnErr", "a default output holds no `${`")
            return {}
        return value

    def _each(self, main: JsonObject, item: Json, before: tuple[tuple[str, JsonObject], ...]) -> JsonObject:
        """A node in batch mode: the node is carried out for each item of a list."""
        batch = self.inputs.object("batch")
        batch.flag("batchEnable")
        around = structs.replace(self.node, inputs=batch)  # the lists are read outside of the batch
        lists = self.values.params(batch, "inputLists", around)
        inner = self.fresh(f"{self.name}_item")
        most, parallel = int(batch.number("batchSize", 100)), int(batch.number("concurrentSize", 10)) or 10
        nodes: JsonObject = {**dict(before), inner: main}
        names = list(nodes)
        branch = main.get("on_error") == "branch"
        if branch:
            del main["on_error"]
        return {
            "type": "each",
            "over": rows(self, batch, "inputLists", lists, str(most)),
            "parallel": max(1, min(PARALLEL_MAX, parallel)),
            **({"on_error": "branch"} if branch else {}),
            "nodes": nodes,
            "edges": [f"{one} > {other}" for one, other in itertools.pairwise(names)],
            "output": _renamed(item, self.name, inner),
        }


def _renamed(value: Json, name: str, other: str) -> Json:
    match value:
        case str():
            return value.replace(f"${{{name}.", f"${{{other}.")
        case dict():
            return {key: _renamed(each, name, other) for key, each in value.items()}
        case _:
            return value


def rows(c: CozeConversion, reader: FieldReader, field_: str, lists: Mapping[str, Term], most: str) -> Json:
    """Several lists as one list of objects."""
    shown = "{" + ", ".join(f"{_quoted(name)}: {in_cel(term)}" for name, term in lists.items()) + "}"
    found = c.computed(f"coze_rows({shown}, {most})", reader, field_)
    return [] if found is None else found


def _quoted(name: str) -> str:
    return in_cel(Constant(name))


def _object_of(text: str) -> JsonObject | None:
    try:
        value: Json = parse(text)[0]
    except JsonProblem:
        return None
    return value if isinstance(value, dict) else None


def compute(value: Json, group: str = "output") -> JsonObject:
    """A node that gives one value."""
    return {"type": "merge", "groups": {group: [value]}}


# Types ----------------------------------------------------------------------------------------------------------------

_TYPES = {"string": "string", "integer": "integer", "float": "number", "number": "number", "boolean": "boolean"}
_OWN = frozenset({"errorBody", "isSuccess", "reasoning_content"})
_SCHEMA_DEEP = 12
VARIABLE = ("name", "type", "schema", "required", "description", "assistType", "readOnly", "readonly", "title")
"""The fields of a variable of Coze."""


def schema_of(variable: Json, depth: int = 0) -> JsonObject:
    """The JSON Schema of a variable of Coze."""
    if not isinstance(variable, dict) or depth > _SCHEMA_DEEP:
        return {}
    type_, inner = variable.get("type"), variable.get("schema")
    schema: JsonObject = {}
    if type_ == "object":
        schema = {"type": "object"}
        if isinstance(inner, list) and inner:
            schema["properties"] = {
                str(each["name"]): schema_of(each, depth + 1)
                for each in inner
                if isinstance(each, dict) and isinstance(each.get("name"), str)
            }
    elif type_ in ("list", "array"):
        schema = {"type": "array", "items": schema_of(inner, depth + 1)}
    elif isinstance(type_, str) and type_ in _TYPES:
        schema = {"type": _TYPES[type_]}
    description = variable.get("description")
    if schema and isinstance(description, str) and description:
        schema["description"] = description
    return schema


def declared(c: CozeConversion) -> JsonObject:
    """The JSON Schemas of the outputs of a node."""
    outputs = c.node.data.objects("outputs")
    for each in outputs:
        each.taken(*VARIABLE)
    given: list[Json] = [each.value for each in outputs]
    if c.node.is_batch and len(given) == 1:  # a list of objects: each item gives one object
        given = _fields_of_items(given[0])
    found: JsonObject = {}
    for variable in given:
        name = variable.get("name") if isinstance(variable, dict) else None
        if isinstance(name, str) and name and name not in _OWN:
            found[name] = schema_of(variable)
    return found


def _fields_of_items(variable: Json) -> list[Json]:
    item = variable.get("schema") if isinstance(variable, dict) else None
    fields = item.get("schema") if isinstance(item, dict) else None
    return fields if isinstance(fields, list) else []


# Flow -----------------------------------------------------------------------------------------------------------------

OPERATORS: dict[int, tuple[str, str]] = {
    1: ("equal", "coze_equal"),
    2: ("not equal", "coze_not_equal"),
    3: ("longer than", "coze_longer"),
    4: ("longer or same", "coze_longer_or_same"),
    5: ("shorter than", "coze_shorter"),
    6: ("shorter or same", "coze_shorter_or_same"),
    7: ("contains", "coze_contains"),
    8: ("does not contain", "coze_not_contains"),
    9: ("empty", "coze_empty"),
    10: ("not empty", "coze_not_empty"),
    11: ("true", "coze_true"),
    12: ("false", "coze_false"),
    13: ("greater", "coze_greater"),
    14: ("at least", "coze_at_least"),
    15: ("less", "coze_less"),
    16: ("at most", "coze_at_most"),
}
"""Our functions by the operators of Coze."""

_ALONE = frozenset({9, 10, 11, 12})


def _selector(c: CozeConversion) -> CozeConverted:
    cases: list[Json] = []
    exits = {"false": f"{c.name}.else"}
    for index, branch in enumerate(c.inputs.objects("branches")):
        condition = branch.object("condition")
        parts = [_condition(c, each) for each in condition.objects("conditions")]
        either = int(condition.number("logic", 2)) == 1
        when = (" || " if either else " && ").join(parts) or ("false" if either else "true")
        if len(when) > COMPUTED_MAX:
            condition.lost("conditions", f"the conditions together have more than {COMPUTED_MAX} characters")
            when = "false"
        port = f"case_{index + 1}"
        cases.append({"port": port, "when": when})
        exits[selector_port(index)] = f"{c.name}.{port}"
    if not cases:
        c.inputs.lost("branches", "there is no branch")
        cases.append({"port": "never", "when": "false"})
    c.params()
    main: JsonObject = {"type": "if", "cases": cases}
    return CozeConverted({c.name: main}, {"": exits["false"], **exits}, ends=tuple(exits.values()))


def _condition(c: CozeConversion, condition: FieldReader) -> str:
    operator = int(condition.number("operator", 0))
    left = c.term(condition.object("left"), "input")
    for side in ("left", "right"):
        condition.object(side).taken("name")
    if operator not in OPERATORS:
        condition.lost("operator", f"there is no operator {operator}")
        return "false"
    shown, function = OPERATORS[operator]
    condition.near("operator", f"{shown} is the function {function}, which compares as Coze does")
    if operator in _ALONE:
        condition.raw("right")
        return f"{function}({in_cel(left)})"
    return f"{function}({in_cel(left)}, {in_cel(c.term(condition.object('right'), 'input'))})"


def _say(c: CozeConversion) -> CozeConverted:
    given = c.params()
    c.inputs.editor_only("terminatePlan", "callTransferVoice", "chatHistoryWriting")
    _told_at_once(c)
    c.node.data.taken("outputs")
    return c.done((c.name, {"type": "say", "text": _content(c, given)}))


def _told_at_once(c: CozeConversion) -> None:
    if c.inputs.flag("streamingOutput"):
        c.inputs.near("streamingOutput", "the text is told as a whole when it is there")


def _content(c: CozeConversion, given: Mapping[str, Term]) -> Json:
    """The text of a node that tells something."""
    block = c.inputs.object("content")
    value = block.value.get("value")
    if isinstance(value, dict) and value.get("type") == "ref":
        return c.values.value(c.values.term(block, c.node), block, "value")
    block.taken("type", "schema", "assistType")
    inner = block.object("value")
    inner.taken("type", "rawMeta")
    return c.text(inner, "content", given)


def _exit(c: CozeConversion) -> CozeConverted:
    given, plan = c.params(), c.inputs.text("terminatePlan", "returnVariables")
    c.node.data.taken("outputs")
    outputs: JsonObject
    if plan == "useAnswerContent":
        _told_at_once(c)
        said = c.fresh(f"{c.name}_answer")
        outputs = {"output": f"${{{said}.text}}"}
        main: JsonObject = {"type": "end", "outputs": outputs}
        return c.done((said, {"type": "say", "text": _content(c, given)}), (c.name, main))
    if plan != "returnVariables":
        c.inputs.lost("terminatePlan", f"there is no plan {plan[:40]!r}")
    c.inputs.taken("content", "streamingOutput")
    outputs = c.values.values(given, c.inputs, "inputParameters")
    return c.done((c.name, {"type": "end", "outputs": outputs}))


def _comment(c: CozeConversion) -> CozeConverted:
    c.inputs.taken("schemaType")
    note = c.inputs.raw("note")
    if isinstance(note, str):
        try:
            note = parse(note)[0]
        except JsonProblem:
            note = [note]
    lines = "\n".join(_note_lines(note, 0))
    return CozeConverted({c.name: {"type": "note", "text": lines}}, {"": c.name})


def _note_lines(value: Json, depth: int) -> list[str]:
    """The texts of a note, whose paragraphs are objects with `children`."""
    match value:
        case str():
            return [value]
        case list() if depth < _SCHEMA_DEEP:
            return [line for each in value for line in _note_lines(each, depth + 1)]
        case dict() if isinstance(value.get("text"), str):
            return [str(value["text"])]
        case dict():
            return ["".join(_note_lines(value.get("children"), depth + 1))]
        case _:
            return []


def _break(c: CozeConversion) -> CozeConverted:
    return CozeConverted({c.name: {"type": "break" if c.node.kind == "19" else "continue"}}, {"": c.name})


# Variables ------------------------------------------------------------------------------------------------------------


def _assign(c: CozeConversion) -> CozeConverted:
    """Changes variables of the loop around, or of the app."""
    changes: JsonObject = {}
    c.inputs.raw("variableTypeMap")
    c.node.data.taken("outputs")
    for each in c.inputs.objects("inputParameters"):
        each.taken("name")
        target = c.term(each, "left")
        value = c.term(each, "right" if "right" in each else "input")
        if not isinstance(target, Ref) or target.root != "vars" or len(target.steps) != 1:
            each.lost("left", "this variable is not there, or cannot be changed")
            continue
        c.values.assigned.add(str(target.steps[0]))
        changes[str(target.steps[0])] = c.values.value(value, each, "right")
        if c.node.kind == "40":
            each.near("left", "a variable of the run: it does not last from one run to the next")
    if changes.keys() == {"cel"}:
        changes = {}
    return c.done((c.name, {"type": "set", "set": changes}))


def _aggregate(c: CozeConversion) -> CozeConverted:
    groups: JsonObject = {}
    c.node.data.taken("outputs")
    for each in c.inputs.objects("mergeGroups"):
        name = each.text("name", "output")
        terms = [c.values.term(block, c.node) for block in each.objects("variables")]
        shown = ", ".join(in_cel(term) for term in terms)
        groups[group_name(name)] = [c.computed(f"coze_first([{shown}])", each, "variables")]
    return c.done((c.name, {"type": "merge", "groups": groups or {"output": [None]}}))


# Texts ----------------------------------------------------------------------------------------------------------------


def _text(c: CozeConversion) -> CozeConverted:
    c.node.data.taken("outputs")
    given = c.params()
    method = c.inputs.text("method", "concat")
    if method == "split":
        c.inputs.taken("concatParams")
        params = c.values.params(c.inputs, "splitParams", c.node)
        marks = params.get("delimiters", Constant([]))
        text = in_cel(next(iter(given.values()), Constant("")))
        return c.done((c.name, compute(c.computed(f"coze_split({text}, {in_cel(marks)})", c.inputs, "splitParams"))))
    if method != "concat":
        c.inputs.lost("method", f"there is no method {method[:40]!r}")
    c.inputs.taken("splitParams")
    params = c.values.params(c.inputs, "concatParams", c.node)
    by = in_cel(params.get("arrayItemConcatChar", Constant(",")))
    template = params.get("concatResult", Constant(""))
    words = str(template.value or "") if isinstance(template, Constant) else ""
    parts = c.values.parts(words, given, c.node, c.inputs, "concatParams")
    if not any(isinstance(part, Ref) for part in parts):
        return c.done((c.name, compute(c.values.escaped("".join(map(str, parts))))))
    shown = " + ".join(
        in_cel(Constant(part)) if isinstance(part, str) else f"coze_join({part.in_cel()}, {by})" for part in parts
    )
    return c.done((c.name, compute(c.computed(shown or '""', c.inputs, "concatParams"))))


def _json(c: CozeConversion) -> CozeConverted:
    given = c.params()
    term = in_cel(given.get("input", next(iter(given.values()), Constant(None))))
    if c.node.kind == "58":
        c.node.data.taken("outputs")
        expression = f"coze_json({term})"
    else:
        schema = declared(c).get("output")
        expression = f"coze_typed(coze_value({term}), {in_cel(Constant(_types_alone(schema)))})"
    value = c.computed(expression, c.inputs, "inputParameters")
    return c.done((c.name, compute(value)), error=lambda values: {"output": values.get("output")})


def _types_alone(schema: Json) -> Json:
    """A JSON Schema without its descriptions."""
    if not isinstance(schema, dict):
        return {}
    found: JsonObject = {name: schema[name] for name in ("type",) if name in schema}
    if "items" in schema:
        found["items"] = _types_alone(schema["items"])
    properties = schema.get("properties")
    if isinstance(properties, dict):
        found["properties"] = {name: _types_alone(each) for name, each in properties.items()}
    return found


# Code -----------------------------------------------------------------------------------------------------------------

_BEFORE = "class _Args(dict):\n    params = {}\n\n\nArgs, Output = _Args, dict\n\n"
_BEHIND = """

import asyncio as _asyncio
import inspect as _inspect

_main_of_coze = main


def main(**params):
    args = _Args(params)
    args.params = params
    found = _main_of_coze(args)
    return _asyncio.run(found) if _inspect.isawaitable(found) else found
"""
_SIGNATURE = re.compile(
    r"(function\s+)main(\s*\(\s*)(\{[^{}]*\}|\w+)\s*(?::\s*\w+\s*)?\)\s*(?::\s*Promise<[^{]{0,300}>|:\s*\w+)?\s*\{"
)
_ANNOTATED = re.compile(r"\b(const|let|var)\s+(\w+)\s*:\s*[\w<>\[\], ]{1,200}?\s{0,20}=")
_TYPED = re.compile(
    r"^[ \t]*(interface|type|enum)\s+\w+|\bas\s+(any|string|number|boolean)\b|\w\?\s*:\s*(string|number)", re.MULTILINE
)


def _code(c: CozeConversion) -> CozeConverted:
    given, properties = c.params(), declared(c)
    code, language = c.inputs.text("code"), int(c.inputs.number("language", 3))
    main: JsonObject = {"type": "code", "language": "python", "code": code}
    if language == 3:
        first = "" if "from __future__" in code else _BEFORE
        main["code"] = f"{first}{code.rstrip()}\n{_BEHIND if first else _BEFORE + _BEHIND}"
        c.inputs.near("code", "`main` is given an object with `params`, by lines before and behind the code")
    elif language in (5, 2):
        main["language"] = "javascript"
        main["code"] = _javascript(c, code)
    else:
        c.inputs.lost("language", f"there is no language {language}")
    main["with"] = c.values.values(given, c.inputs, "inputParameters")
    if properties:
        nullable: JsonObject = {
            name: {"anyOf": [each, {"type": "null"}]} if each else {} for name, each in properties.items()
        }
        main["outputs"] = {"type": "object", "properties": nullable}
        c.node.data.near("outputs", "a value of another type fails the node; Coze converts the value, or gives null")
    item = f"${{{c.name}.output}}"
    return c.done((c.name, main), error=lambda values: {"output": values, "text": "", "files": []}, item=item)


def _javascript(c: CozeConversion, code: str) -> str:
    """TypeScript as JavaScript: the types of the usual signature are taken out."""
    plain = _ANNOTATED.sub(r"\1 \2 =", code)
    renamed, found = _SIGNATURE.subn(r"\1main_of_coze\2\3) {", plain, count=1)
    if _TYPED.search(renamed):
        c.inputs.open("code", "the code is TypeScript: take out its types, JavaScript is run here")
    elif found:
        c.inputs.near("code", "the types of the signature are taken out: JavaScript is run here")
    if not found:
        c.inputs.open("code", "write a function `main` that takes the values by their names")
        return code
    return f"{renamed.rstrip()}\n\nasync function main(params) {{\n  return await main_of_coze({{ params }});\n}}\n"


# People ---------------------------------------------------------------------------------------------------------------


def _receive(c: CozeConversion) -> CozeConverted:
    """Asks a person for values."""
    c.node.data.near("outputs", "the values have to fit these types; Coze converts them")
    properties = declared(c)
    c.inputs.raw("outputSchema")
    if not properties:
        try:
            found = parse(c.inputs.text("outputSchema"))[0]
        except JsonProblem:
            found = None
        for each in found if isinstance(found, list) else ():
            if isinstance(each, dict) and isinstance(each.get("name"), str):
                properties[str(each["name"])] = schema_of(each)
    form: JsonObject = {"type": "object", "properties": properties}
    return c.done((c.name, {"type": "human", "message": c.node.title or "Please answer.", "form": form}))


def _question(c: CozeConversion) -> CozeConverted:
    given = c.params()
    inputs, name = c.inputs, c.name
    asked = c.text(inputs, "question", given) or "Please answer."
    is_option, is_dynamic = inputs.text("answer_type") == "option", inputs.text("option_type") == "dynamic"
    if is_option and not is_dynamic and inputs.items("options"):
        return _options(c, asked)
    inputs.raw("options")
    main: JsonObject = {
        "type": "human",
        "message": asked,
        "form": {"type": "object", "required": ["answer"], "properties": {"answer": {"type": "string"}}},
    }
    if is_option:
        return _dynamic(c, asked, main)
    inputs.raw("dynamic_option")
    properties = {key: each for key, each in declared(c).items() if key != "USER_RESPONSE"}
    if not inputs.flag("extra_output") or not properties:
        inputs.taken("limit", "llmParam")
        return _asked(c, c.done((name, main)))
    inputs.raw("limit")
    inputs.near("limit", "what the answer does not say is asked for once, by a form")
    inputs.raw("llmParam")
    inputs.open("llmParam", "choose a model for what is read out of the answer: its name is `coze` here")
    taken = f"{name}_values"
    extract: JsonObject = {
        "type": "extract",
        "model": "coze",
        "text": f"${{{name}.output.answer}}",
        "schema": {"type": "object", "properties": properties},
        "ask": False,
    }
    return CozeConverted(
        {name: main, taken: extract}, {"": taken, "default": taken, "branch_0": taken}, [f"{name} > {taken}"]
    )


def _dynamic(c: CozeConversion, asked: Json, main: JsonObject) -> CozeConverted:
    """A question whose options are the items of a list."""
    inputs, name = c.inputs, c.name
    inputs.near("option_type", "the person writes the answer: the options are shown with the question")
    inputs.taken("limit", "llmParam", "extra_output")
    c.node.data.taken("outputs")
    options = in_cel(c.term(inputs, "dynamic_option"))
    shown, choice = c.fresh(f"{name}_question"), c.fresh(f"{name}_choice")
    question: JsonObject = {"type": "set", "set": {}}
    words = in_cel(Constant(asked)) if isinstance(asked, str) and "${" not in asked else ""
    if isinstance(asked, dict):
        words = str(asked.get("cel"))
    if words:
        text = c.computed(f'{words} + "\\n" + coze_join({options}, "\\n")', inputs, "dynamic_option")
        question, main["message"] = compute(text), f"${{{shown}.output}}"
    else:
        inputs.lost("dynamic_option", "the options are not shown, since the question holds a value")
    when = f'coze_contains({options}, loose_get({name}, "output", "answer"))'
    chosen: JsonObject = {"type": "if", "cases": [{"port": "chosen", "when": when}]}
    if len(when) > COMPUTED_MAX:
        inputs.lost("dynamic_option", "this value is too long to be computed: every answer counts as another")
        chosen["cases"] = [{"port": "chosen", "when": "false"}]
    nodes = {shown: question, name: main, choice: chosen}
    exits = {"": f"{choice}.chosen", "branch_0": f"{choice}.chosen", "default": f"{choice}.else"}
    between = [f"{one} > {other}" for one, other in itertools.pairwise(nodes)]
    return CozeConverted(nodes, exits, between, (exits["branch_0"], exits["default"]))


def _asked(c: CozeConversion, done: CozeConverted) -> CozeConverted:
    return CozeConverted(done.nodes, {**done.exits, "default": c.name, "branch_0": c.name}, done.edges)


def _options(c: CozeConversion, asked: Json) -> CozeConverted:
    inputs, names = c.inputs, options_of(c.node)
    inputs.taken("dynamic_option", "limit", "llmParam", "extra_output")
    c.node.data.taken("outputs")
    ports = [f"option_{index}" for index in range(len(names))]
    if any(TEMPLATE.search(each) for each in names):
        inputs.lost("options", "a name in an option is not replaced by its value")
    lines = "".join(f"\n{port}: {c.values.escaped(name)}" for port, name in zip(ports, names, strict=True))
    if isinstance(asked, str):
        message: Json = asked + lines
    else:
        expression = asked.get("cel") if isinstance(asked, dict) else '""'
        message = c.computed(f"{expression} + {in_cel(Constant(lines))}", inputs, "question")
    inputs.near("options", "a person chooses one of the options: `option_0` is the first")
    main: JsonObject = {"type": "human", "message": message, "choices": [*ports, "other"]}
    exits = {f"branch_{index}": f"{c.name}.{port}" for index, port in enumerate(ports)}
    exits |= {"default": f"{c.name}.other"}
    return CozeConverted({c.name: main}, {"": exits["default"], **exits}, ends=tuple(exits.values()))


# What is not there ----------------------------------------------------------------------------------------------------


def _conversation(c: CozeConversion) -> CozeConverted:
    c.inputs.editor_only(*c.inputs.fields())
    c.node.data.taken("outputs")
    c.node.data.lost("type", "a workflow does not read or change the messages of a conversation: nothing is done here")
    return CozeConverted({c.name: {"type": "set", "set": {}}}, {"": c.name, ERROR: f"{c.name}"})


CONVERTERS: dict[str, Callable[[CozeConversion], CozeConverted]] = {
    "2": _exit,
    "5": _code,
    "8": _selector,
    "13": _say,
    "15": _text,
    "18": _question,
    "19": _break,
    "20": _assign,
    "29": _break,
    "30": _receive,
    "31": _comment,
    "32": _aggregate,
    "40": _assign,
    "58": _json,
    "59": _json,
    **dict.fromkeys(HISTORY, _conversation),
}
"""What becomes of a node, by its number. The types that ask models and other programs stand in `outside.py`."""
