"""What the settings of a Coze node refer to, in our words: references, literals, and texts with `{{name}}`.

A reference to a node that was skipped is null here as in Coze. A reference that leads nowhere is reported as lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from msgspec import Struct, structs

from ....core.json import Json, JsonObject, JsonProblem, parse
from ...definition.expression import SOURCE_MAX
from ...definition.loose import loose_json_text
from ..ref import DOLLAR, Ref, cel_literal
from ..report import FieldReader
from .canvas import BATCH, ENTRY, HISTORY, LOOP, Canvas, CozeNode

TEMPLATE = re.compile(r"\{\{\s*([^{}\n]{1,200}?)\s*\}\}")
_STEP = re.compile(r"\.?([^.\[\]\"']+)|\[(\d{1,9})\]|\[[\"']([^\"'\]]+)[\"']\]")
_GLOBALS = ("global_variable_app", "global_variable_user", "global_variable_system")
_DEEP = 12


class Constant(Struct, frozen=True):
    """A value that the file itself holds."""

    value: Json


Term = Ref | Constant
"""What a setting comes to."""

NULL = Constant(None)


class CanvasValues:
    """Finds what settings refer to.

    Args:
        canvas: the nodes of the file.
    """

    def __init__(self, canvas: Canvas) -> None:
        self._canvas = canvas
        self.inputs: JsonObject = {}
        self.required: list[str] = []
        self.defaults: JsonObject = {}
        self.variables: JsonObject = {}
        self.globals: dict[str, str] = {}
        self.assigned: set[str] = set()
        self.loop_variables: dict[str, dict[str, str]] = {}
        self.loop_items: dict[str, dict[str, Term]] = {}
        self.loop_values: dict[str, dict[str, Term]] = {}
        self.collected: dict[str, dict[str, str]] = {}
        self.uses_dollar = False

    # Terms ------------------------------------------------------------------------------------------------------------

    def term(self, block: FieldReader, node: CozeNode, depth: int = 0) -> Term:
        """What an input block comes to: `{"type": ..., "value": {"type": "ref" | "literal" | "object_ref", ...}}`."""
        type_ = block.text("type", "string")
        block.raw("assistType")
        value = block.object("value")
        value.taken("rawMeta", "dependencies")
        kind = value.text("type", "literal" if "content" in value else "")
        match kind:
            case "ref":
                block.raw("schema")
                content = value.raw("content")
                found = self.find(content, node)
                if found is None:
                    value.lost("content", f"{_shown(content)} is not there, or not upstream: null stands in its place")
                return found or NULL
            case "object_ref":
                return self._object(block, node, depth)
            case "literal":
                block.raw("schema")
                return Constant(_literal(value.raw("content"), type_, value))
            case "":
                block.raw("schema")
                return NULL
            case _:
                block.raw("schema")
                value.raw("content")
                value.lost("type", f"there is no value of the type {kind[:40]!r}")
                return NULL

    def _object(self, block: FieldReader, node: CozeNode, depth: int) -> Term:
        """An object whose fields are blocks of their own."""
        fields: dict[str, Term] = {}
        if depth >= _DEEP:
            block.lost("schema", "this object is too deep")
            return NULL
        for each in block.objects("schema"):
            name = each.text("name")
            each.taken("type", "required", "description", "schema", "assistType")
            if name:
                fields[name] = self.term(each.object("input"), node, depth + 1)
        if all(isinstance(each, Constant) for each in fields.values()):
            return Constant({name: each.value for name, each in fields.items() if isinstance(each, Constant)})
        return Ref(cel="{" + ", ".join(f"{cel_literal(name)}: {in_cel(each)}" for name, each in fields.items()) + "}")

    def params(self, reader: FieldReader, field: str, node: CozeNode) -> dict[str, Term]:
        """A list of named blocks."""
        found: dict[str, Term] = {}
        for each in reader.objects(field):
            name = each.text("name")
            each.taken("type", "required", "description")
            if "input" not in each:
                continue
            term = self.term(each.object("input"), node)
            if name:
                found[name] = term
        return found

    def find(self, content: Json, node: CozeNode) -> Ref | Constant | None:
        """What a reference means at a node; None where the reference leads nowhere."""
        if not isinstance(content, dict):
            return None
        source = content.get("source", "block-output")
        name, path = content.get("name"), content.get("path")
        steps: tuple[str | int, ...] = ()
        if isinstance(path, list) and path:
            steps = tuple(each for each in path if isinstance(each, str | int) and not isinstance(each, bool))
        elif isinstance(name, str):
            steps = steps_of(name)
        if not steps:
            return None
        if source in _GLOBALS:
            return self._global(str(source), steps)
        id_ = content.get("blockID")
        return self._output(id_, steps, node) if isinstance(id_, str) else None

    def _global(self, source: str, steps: tuple[str | int, ...]) -> Ref:
        key = f"{source}.{steps[0]}"
        if key not in self.globals:
            self.globals[key] = self.variable(str(steps[0]))
            self.variables[self.globals[key]] = None
        return Ref("vars", (self.globals[key], *_clean(steps[1:])), optional=True)

    def variable(self, label: str) -> str:
        """A name for a variable, that no variable has."""
        base = re.sub(r"\W", "_", label, flags=re.ASCII)[:60].strip("_") or "value"
        base = base if base[0].isalpha() else f"v_{base}"
        name, number = base, 1
        while name in self.variables or name in self._all_loop_variables() or name == "cel":
            number += 1
            name = f"{base}_{number}"
        return name

    def _all_loop_variables(self) -> set[str]:
        found = {name for each in self.loop_variables.values() for name in each.values()}
        return found | {name for each in self.collected.values() for name in each.values()}

    def _output(self, id_: str, steps: tuple[str | int, ...], node: CozeNode) -> Ref | Constant | None:
        target = self._canvas.nodes.get(id_)
        if target is None:
            return None
        if target is node and node.is_batch:
            return Ref("item", _clean(steps), optional=True)
        around = id_ == node.parent or self._holds(id_, node)
        value = self.loop_values.get(id_, {}).get(str(steps[0])) if around else None
        if value is not None:
            return deeper(value, _clean(steps[1:]))
        if target.kind == LOOP and around:
            return self._in_loop(target, steps, id_ == node.parent and not node.is_batch)
        if target.kind == BATCH and around:
            if id_ != node.parent:
                return None
            return Ref("index") if steps == ("index",) else Ref("item", _clean(steps), optional=True)
        if target.kind == ENTRY:
            return self._input(steps)
        if id_ not in self._canvas.above.get(node.id, ()):
            return None
        return output_of(target, steps)

    def _holds(self, id_: str, node: CozeNode) -> bool:
        at: CozeNode | None = node
        for _ in range(_DEEP):
            at = self._canvas.nodes.get(at.parent) if at is not None else None
            if at is None:
                return False
            if at.id == id_:
                return True
        return False

    def _in_loop(self, loop: CozeNode, steps: tuple[str | int, ...], is_direct: bool) -> Ref | Constant | None:
        """A value of a loop; `index` and the items can be said in the pass of this loop alone."""
        first, rest = str(steps[0]), _clean(steps[1:])
        variable = self.loop_variables.get(loop.id, {}).get(first)
        if variable is not None:
            return Ref("vars", (variable, *rest), optional=True)
        if not is_direct:
            return None
        if first == "index":
            return Ref("index")
        items = self.loop_items.get(loop.id, {}).get(first)
        if items is None:
            return None
        return deeper(Ref(cel=f"loose_get({in_cel(items)}, index)"), rest)

    def _input(self, steps: tuple[str | int, ...]) -> Term | None:
        name = str(steps[0])
        if name not in self.inputs:
            return None
        ref = Ref("inputs", (name, *_clean(steps[1:])), optional=name not in self.required or len(steps) > 1)
        if name in self.defaults:
            first = Ref("inputs", (name,), optional=True)
            return deeper(
                Ref(cel=f"coze_default({first.in_cel()}, {cel_literal(self.defaults[name])})"), _clean(steps[1:])
            )
        return ref

    # Texts ------------------------------------------------------------------------------------------------------------

    def parts(
        self, template: str, given: Mapping[str, Term], node: CozeNode, reader: FieldReader, field: str
    ) -> list[str | Ref]:
        """The texts and references of a template. A name that is not there stays as the text that it is, as in Coze."""
        found: list[str | Ref] = []
        at = 0
        for match in TEMPLATE.finditer(template):
            term = self._named(match[1], given, node)
            if term is None:
                reader.lost(field, f"{match[1][:80]} is not there, or not upstream: its name stands in the text")
                continue
            found.append(template[at : match.start()])
            found.append(loose_json_text(term.value) if isinstance(term, Constant) else term)
            at = match.end()
        found.append(template[at:])
        return [each for each in found if each != ""]

    def _named(self, text: str, given: Mapping[str, Term], node: CozeNode) -> Term | None:
        steps = steps_of(text)
        if not steps:
            return None
        first = str(steps[0])
        if first in given:
            return deeper(given[first], _clean(steps[1:]))
        if first.startswith("block_output_"):
            return self._output(first.removeprefix("block_output_"), steps[1:], node) if len(steps) > 1 else None
        if first in _GLOBALS and len(steps) > 1:
            return self._global(first, steps[1:])
        return None

    def text(self, template: str, given: Mapping[str, Term], node: CozeNode, reader: FieldReader, field: str) -> Json:
        """A text with references, as a value of a node."""
        return self.joined(self.parts(template, given, node, reader, field), reader, field)

    def joined(self, parts: list[str | Ref], reader: FieldReader, field: str, function: str = "coze_text") -> Json:
        """Texts and references as one text."""
        if any(isinstance(part, Ref) and part.cel for part in parts):
            written = " + ".join(
                cel_literal(part) if isinstance(part, str) else f"{function}({part.in_cel()})" for part in parts
            )
            if len(written) <= SOURCE_MAX:
                return {"cel": written}
            reader.lost(field, "a long text holds a value that has to be computed")
            parts = [part for part in parts if isinstance(part, str) or not part.cel]
        return "".join(self.escaped(part) if isinstance(part, str) else str(part.shown(function)) for part in parts)

    def escaped(self, text: str) -> str:
        """A text in which nothing is an expression."""
        if "${" not in text:
            return text
        self.uses_dollar = True
        return text.replace("${", f"${{env.{DOLLAR}}}{{")

    def constant(self, value: Json) -> Json:
        """A value in which nothing is an expression."""
        match value:
            case str():
                return self.escaped(value)
            case list():
                return [self.constant(item) for item in value]
            case dict():
                if len(value) == 1 and isinstance(value.get("cel"), str):
                    return {"cel": cel_literal(value)}
                return {name: self.constant(item) for name, item in value.items()}
            case _:
                return value

    def value(self, term: Term, reader: FieldReader | None = None, field: str = "") -> Json:
        """A term as a value of a node."""
        if isinstance(term, Constant):
            return self.constant(term.value)
        if term.cel and len(term.cel) > SOURCE_MAX:
            if reader is not None:
                reader.lost(field, "this value is too long to be computed")
            return None
        return term.value

    def values(self, terms: Mapping[str, Term], reader: FieldReader, field: str) -> JsonObject:
        """Named terms as an object of a node."""
        found = {name: self.value(term, reader, field) for name, term in terms.items()}
        if found.keys() == {"cel"} and isinstance(found["cel"], str):
            reader.lost(field, "a value that is alone and called cel would be computed")
            return {}
        return found


def in_cel(term: Term) -> str:
    """A term in CEL."""
    return cel_literal(term.value) if isinstance(term, Constant) else term.in_cel()


def deeper(term: Term, steps: tuple[str | int, ...]) -> Term:
    """The value under names and indices of a term."""
    if not steps:
        return term
    if isinstance(term, Ref) and not term.cel:
        return structs.replace(term, steps=(*term.steps, *steps), type="any", optional=True)
    return Ref(cel=f"loose_get({', '.join((in_cel(term), *(cel_literal(each) for each in steps)))})")


def steps_of(text: str) -> tuple[str | int, ...]:
    """The names and indices of a path such as `a.b[0]`; empty where the text is none."""
    found: list[str | int] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None or len(found) >= _DEEP * 2:
            return ()
        found.append(int(match[2]) if match[2] is not None else match[1] or match[3])
        at = match.end()
    return tuple(found)


def _clean(steps: tuple[str | int, ...]) -> tuple[str | int, ...]:
    return tuple(each.replace('"', "")[:200] if isinstance(each, str) else each for each in steps)


def _shown(content: Json) -> str:
    if not isinstance(content, dict):
        return "nothing"
    name = content.get("name") or content.get("path")
    name = ".".join(str(each) for each in name) if isinstance(name, list) else name
    return f"{content.get('blockID', '')}.{name}"[:80]


def parsed_literal(content: Json, type_: str) -> Json:
    """A literal of a type: numbers, lists and objects are often written as texts. The text, where it says no value."""
    if not isinstance(content, str) or type_ == "string":
        if type_ == "string" and isinstance(content, bool | int | float):
            return loose_json_text(content)
        return content
    if not content.strip():
        return None
    try:
        value: Json = parse(content.strip())[0]
    except JsonProblem:
        return content
    return int(value) if type_ == "integer" and isinstance(value, float) and abs(value) < 1e15 else value


def _literal(content: Json, type_: str, reader: FieldReader) -> Json:
    value = parsed_literal(content, type_)
    if isinstance(value, str) and type_ != "string" and value == content:
        reader.near("content", f"this is no value of the type {type_[:20]!r}: the text is taken")
    return value


# What nodes give ------------------------------------------------------------------------------------------------------

OPTIONS = ("optionId", "optionContent")


def output_of(node: CozeNode, steps: tuple[str | int, ...]) -> Ref | Constant | None:
    """What an output of a node is called in our file."""
    first, rest = str(steps[0]), _clean(steps[1:])
    if first == "errorBody":
        field = {"errorMessage": "message", "errorCode": "code"}.get(str(rest[0]) if rest else "")
        return Ref(node.name, ("error", field) if field else ("error",), optional=True)
    if first == "isSuccess" and node.kind in HISTORY:
        return Constant(False)
    if first == "isSuccess":
        return Ref(cel=f'loose_null(loose_get({node.name}, "error"))', root=node.name)
    if node.is_batch:
        return Ref(node.name, ("output", *rest), optional=True)
    given = _OUTPUTS.get(node.kind, _of_tool)
    return given(node, first, rest)


_Output = Callable[[CozeNode, str, tuple[str | int, ...]], Ref | Constant | None]


def _of_tool(node: CozeNode, first: str, rest: tuple[str | int, ...]) -> Ref:
    return Ref(node.name, ("output", first.replace('"', "")[:200], *rest), optional=True)


def _whole(node: CozeNode, first: str, rest: tuple[str | int, ...]) -> Ref:
    return Ref(node.name, ("output", *rest), optional=True)


_RESPONSE = {"body": ("output", "text"), "statusCode": ("output", "status")}


def _of_http(node: CozeNode, first: str, rest: tuple[str | int, ...]) -> Ref | None:
    if first == "headers":  # a text in Coze
        return Ref(cel=f'coze_json(loose_get({node.name}, "output", "headers"))', root=node.name, type="string")
    return Ref(node.name, (*_RESPONSE[first], *rest), optional=True) if first in _RESPONSE else None


def _of_batch(node: CozeNode, first: str, rest: tuple[str | int, ...]) -> Term:
    return deeper(Ref(cel=f'coze_column(loose_get({node.name}, "output"), {cel_literal(first)})'), rest)


def group_name(name: str) -> str:
    """The name of a group of a merge node."""
    return re.sub(r"\W", "_", name, flags=re.ASCII) or "output"


def is_json(node: CozeNode) -> bool:
    """Whether a model node answers with an object, and not with words."""
    found = model_params(node.inputs.value.get("llmParam")).get("responseFormat")
    return str(found) == "2"


def model_params(raw: Json) -> JsonObject:
    """The settings of a model by their names; they stand in the file as a list of blocks, or as an object."""
    if isinstance(raw, dict):
        return {name: _plain(value) for name, value in raw.items()}
    found: JsonObject = {}
    for each in raw if isinstance(raw, list) else ():
        if isinstance(each, dict) and isinstance(each.get("name"), str):
            found[str(each["name"])] = _plain(each.get("input"))
    return found


def _plain(value: Json) -> Json:
    if isinstance(value, dict):
        inner = value.get("value")
        return inner.get("content") if isinstance(inner, dict) else None
    return value


def _of_model(node: CozeNode, first: str, rest: tuple[str | int, ...]) -> Ref | None:
    if first == "reasoning_content":
        return None
    if is_json(node):
        return Ref(node.name, ("value", first.replace('"', ""), *rest), optional=True)
    return Ref(node.name, ("text",), "string", optional=True)


def _of_intent(node: CozeNode, first: str, rest: tuple[str | int, ...]) -> Ref | Constant | None:
    if first != "classificationId":
        return None
    raw = node.inputs.value.get("intents")
    numbers: JsonObject = {f"class_{index}": index + 1 for index in range(len(raw) if isinstance(raw, list) else 0)}
    chosen = f'loose_get({node.name}, "output")'
    return Ref(cel=f"coze_or(loose_get({cel_literal(numbers)}, {chosen}), 0)", root=node.name, type="number")


def options_of(node: CozeNode) -> list[str]:
    """The names of the options of a question."""
    raw = node.inputs.value.get("options")
    return (
        [str(each.get("name") or "") if isinstance(each, dict) else "" for each in raw] if isinstance(raw, list) else []
    )


def _of_question(node: CozeNode, first: str, rest: tuple[str | int, ...]) -> Ref | Constant | None:
    is_option = node.inputs.value.get("answer_type") == "option"
    if is_option and node.inputs.value.get("option_type") != "dynamic":
        chosen = f'loose_get({node.name}, "output")'
        names: JsonObject = {f"option_{index}": name for index, name in enumerate(options_of(node))}
        if first == "optionId":
            ids: JsonObject = {f"option_{index}": chr(65 + index % 26) for index in range(len(names))}
            return Ref(cel=f"loose_get({cel_literal(ids)}, {chosen})", type="string")
        return Ref(cel=f"loose_get({cel_literal(names)}, {chosen})", type="string")
    if first == "optionId":
        return None
    if first in ("USER_RESPONSE", *OPTIONS) or is_option:
        return Ref(node.name, ("output", "answer"), "string", optional=True)
    return Ref(f"{node.name}_values", ("output", first.replace('"', ""), *rest), optional=True)


_OUTPUTS: dict[str, _Output] = {
    "3": _of_model,
    "13": lambda node, first, rest: Ref(node.name, ("text",), "string", optional=True),
    "18": _of_question,
    "22": _of_intent,
    "28": _of_batch,
    "32": lambda node, first, rest: Ref(node.name, (group_name(first), *rest), optional=True),
    "45": _of_http,
    **dict.fromkeys(("6", "15", "58", "59"), _whole),
    **dict.fromkeys(("1", "2", "8", "19", "20", "29", "31", "40"), lambda node, first, rest: None),
}
"""What finds an output of a node, by its number; the other nodes are tools and code."""
