"""What a Dify file refers to, in our words: `{{#1711.text#}}` is `${ask.text}`.

A reference that leads nowhere is reported as lost; Dify writes such a reference as the text `1711.text`, and so do we.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct, structs

from ....core.json import Json, JsonObject
from ..ref import CEL_WORDS, DOLLAR, IDENTIFIER, Ref, cel_literal
from ..report import FieldReader
from .graph import CONTAINERS, STARTS, DifyGraph, DifyNode

TEMPLATE = re.compile(r"\{\{#([a-zA-Z0-9_]{1,50}(?:\.[a-zA-Z_][a-zA-Z0-9_]{0,29}){1,10})#\}\}")
"""What Dify takes for a reference in a text."""
CONTEXT = re.compile(r"\{\{#context#\}\}")

Selector = tuple[str, ...]


class Place(Struct, frozen=True):
    """From where a reference looks.

    Attributes:
        scope: the container; empty for the graph itself.
        node: the node in this container; empty for behind all of its nodes.
    """

    scope: str
    node: str = ""


class References:
    """Finds what a Dify file refers to.

    Args:
        graph: the nodes.
        env: the types of the constants, by name.
        secrets: the names of the constants that are secrets, with the names under which they are kept.
        conversation: our names of the conversation variables, with their types.
        is_chat: whether the app is a chat, which has conversations.

    Attributes:
        loop_variables: our names of the variables of each loop, with their types.
        inputs: JSON Schema of each input.
        input_types: the types that Dify gives the inputs.
        required: the inputs that have to be given.
        input_names: our names of inputs, by node and name in Dify.
        secret_inputs: the secrets that take the place of inputs.
        aliases: nodes that keep the item of an iteration for iterations inside of it.
        variables: the names of all variables.
        uses_dollar: whether a text needs the constant `DOLLAR`.
        gathered: the variable that gathers what is said, where something is said inside of a container.
    """

    def __init__(
        self,
        graph: DifyGraph,
        env: dict[str, tuple[str, str]],
        secrets: dict[str, str],
        conversation: dict[str, tuple[str, str]],
        *,
        is_chat: bool,
    ) -> None:
        self._graph = graph
        self._env = env
        self._secrets = secrets
        self._conversation = conversation
        self.is_chat = is_chat
        self.loop_variables: dict[str, dict[str, tuple[str, str]]] = {}
        self.inputs: JsonObject = {}
        self.input_types: dict[str, str] = {}
        self.required: list[str] = []
        self.input_names: dict[tuple[str, str], str] = {}
        self.secret_inputs: dict[str, str] = {}
        self.aliases: dict[str, str] = {}
        self.variables: set[str] = set()
        self.uses_dollar = False
        self.gathered = ""

    # Finding ----------------------------------------------------------------------------------------------------------

    def find(self, selector: Sequence[str], place: Place) -> Ref | None:
        """What a selector leads to; None where it leads nowhere."""
        if len(selector) < 2 or len(selector) > 40:
            return None
        head, *steps = selector
        if head == "sys":
            return self._system(steps[0], tuple(steps[1:]))
        if head == "env":
            return self._constant(steps[0], tuple(steps[1:]))
        if head == "conversation":
            known = self._conversation.get(steps[0])
            return None if known is None else Ref("vars", (known[0], *_steps(steps[1:])), _part(known[1], steps[1:]))
        node = self._graph.nodes.get(head)
        if node is None:
            return None
        if node.kind in CONTAINERS:
            inner = self._inside(node, tuple(steps), place)
            if inner is not None:
                return inner
        if node.kind in STARTS:
            return self._input(node, steps[0], tuple(steps[1:]))
        certainty = self._certainty(node, place)
        if certainty is None:
            return None
        found = _OUTPUTS.get(node.kind, _any_output)(node, tuple(steps))
        if found is None:
            return None
        return found if certainty or found.cel else structs.replace(found, optional=True)

    def _system(self, name: str, rest: Selector) -> Ref:
        if name == "user_id":
            return Ref("run", ("user",), "string")
        if name in ("workflow_run_id", "workflow_execution_id"):
            return Ref("run", ("id",), "string")
        key = ("sys", name)
        if key not in self.input_names:
            self.input_names[key] = self.new_input(
                name if name in ("query", "files") else f"sys_{name}", _SYSTEM.get(name, {}), required=name == "query"
            )
        type_ = {"files": "array[file]", "query": "string", "conversation_id": "string"}.get(name, "any")
        return Ref("inputs", (self.input_names[key], *_steps(rest)), type_ if not rest else "any", name != "query")

    def _constant(self, name: str, rest: Selector) -> Ref | None:
        if name in self._secrets:
            return Ref(secret=self._secrets[name], type="secret")
        known = self._env.get(name)
        return None if known is None else Ref("env", (known[0], *_steps(rest)), _part(known[1], rest))

    def _input(self, node: DifyNode, name: str, rest: Selector) -> Ref | None:
        if name.startswith("sys."):
            return self._system(name.removeprefix("sys."), rest)
        if node.kind == "start":
            key = (node.id, name)
            if f"{node.id}.{name}" in self.secret_inputs:
                return Ref(secret=self.secret_inputs[f"{node.id}.{name}"], type="secret")
            if key not in self.input_names:
                return self._system(name, rest) if name in ("query", "files") else None
            known = self.input_names[key]
        else:
            known = self.input_names.setdefault((node.id, name), "") or self.new_input(name, {}, required=False)
            self.input_names[(node.id, name)] = known
        return Ref(
            "inputs",
            (known, *_steps(rest)),
            _part(self.input_types.get(known, "any"), rest),
            known not in self.required or bool(rest),
        )

    def new_input(self, name: str, schema: JsonObject, *, required: bool) -> str:
        """Add an input.

        Returns:
            Its name.
        """
        fresh, number = name, 1
        while fresh in self.inputs:
            number += 1
            fresh = f"{name}_{number}"
        self.inputs[fresh] = schema
        if required:
            self.required.append(fresh)
        return fresh

    def variable_name(self, label: str) -> str:
        """A name for a variable of a loop that no other variable has."""
        base = (
            label
            if IDENTIFIER.fullmatch(label) and label not in CEL_WORDS
            else re.sub(r"\W", "_", f"v_{label}", flags=re.ASCII)
        )
        fresh, number = base[:60], 1
        while fresh in self.variables:
            number += 1
            fresh = f"{base[:60]}_{number}"
        self.variables.add(fresh)
        return fresh

    def secret_name(self, name: str) -> str:
        """The name under which a person has to keep the secret of an input."""
        return re.sub(r"\W", "_", f"input_{name}", flags=re.ASCII)[:60]

    def _inside(self, container: DifyNode, steps: Selector, place: Place) -> Ref | None:
        """What a container gives to the nodes inside of it."""
        chain = self._chain(place)
        if container.id not in chain:
            return None
        if container.kind == "loop":
            known = self.loop_variables.get(container.id, {}).get(steps[0])
            return None if known is None else Ref("vars", (known[0], *_steps(steps[1:])), _part(known[1], steps[1:]))
        if steps[0] not in ("item", "index"):
            return None
        type_ = "number" if steps[0] == "index" else "any"
        each = [name for name in chain if steps[0] == "index" or self._graph.nodes[name].kind == "iteration"]
        if each[0] == container.id:
            return Ref(steps[0], _steps(steps[1:]), type_)
        alias = self.aliases.setdefault(container.id, "")
        if not alias:
            alias = self.aliases[container.id] = self._graph.fresh(f"{container.name}_item")
        return Ref(alias, (steps[0], *_steps(steps[1:])), type_)

    def _chain(self, place: Place) -> list[str]:
        """The containers around a place, from the inside."""
        chain, at = [], place.scope
        while at:
            chain.append(at)
            at = self._graph.nodes[at].parent
        return chain

    def _certainty(self, node: DifyNode, place: Place) -> bool | None:
        """Whether the output of a node is there for sure; None where the node is not upstream."""
        scope, at = place.scope, place.node
        while scope != node.parent:
            if not scope:
                return None
            scope, at = self._graph.nodes[scope].parent, scope
        if not at:
            return False
        if node.id not in self._graph.above.get(at, ()):
            return None
        return node.id in self._graph.certain.get(at, ()) and not node.data.value.get("error_strategy")

    # Writing ----------------------------------------------------------------------------------------------------------

    def value(self, selector: Sequence[str], place: Place, reader: FieldReader, field: str) -> Json:
        """The value of a selector, for a node; null where the selector leads nowhere, which is reported."""
        ref = self.find(selector, place)
        if ref is None:
            reader.lost(field, f"{'.'.join(selector)[:80] or 'nothing'} is not there, or not upstream")
            return None
        return self.of_ref(ref, reader, field)

    def of_ref(self, ref: Ref, reader: FieldReader, field: str) -> Json:
        """The value of a reference, for a node; a secret is not given to the node."""
        if ref.secret:
            reader.open(
                field, f"the secret {ref.secret} can only stand in what an http node sends: give it to the tool"
            )
            return None
        return ref.value

    def text(
        self,
        template: str,
        place: Place,
        reader: FieldReader,
        field: str,
        *,
        function: str = "loose_text",
        context: Selector = (),
        secrets: bool = False,
    ) -> Json:
        """A text with references, for a node.

        Args:
            template: the text of Dify.
            place: where the text stands.
            reader, field: what to report on.
            function: what writes a value that is no text.
            context: what `{{#context#}}` stands for.
            secrets: a secret may stand in the text.
        """
        parts = self.parts(template, place, reader, field, context)
        return self.joined(parts, reader, field, function=function, secrets=secrets)

    def joined(
        self,
        parts: Sequence[str | Ref],
        reader: FieldReader,
        field: str,
        *,
        function: str = "loose_text",
        secrets: bool = False,
    ) -> Json:
        """Texts and references as one text, as `text` says."""
        if any(isinstance(part, Ref) and part.cel for part in parts):
            written = " + ".join(
                cel_literal(part) if isinstance(part, str) else f"{function}({part.in_cel()})"
                for part in parts
                if not (isinstance(part, Ref) and part.secret)
            )
            if len(written) <= 4_000:
                return {"cel": written or '""'}
            reader.lost(field, "a long text holds a value that has to be computed")
        text = ""
        for part in parts:
            if isinstance(part, str):
                text += self.escaped(part)
            elif part.secret and not secrets:
                self.of_ref(part, reader, field)
            else:
                text += part.shown(function) or ""
        return text

    def parts(
        self, template: str, place: Place, reader: FieldReader, field: str, context: Selector = ()
    ) -> list[str | Ref]:
        """The texts and references of a template."""
        found: list[str | Ref] = []
        if context:
            template = CONTEXT.sub(f"{{{{#{'.'.join(context)}#}}}}", template)
        for index, part in enumerate(TEMPLATE.split(template)):
            ref = self.find(part.split("."), place) if index % 2 else None
            if index % 2 and ref is None:
                reader.lost(
                    field, f"{part[:80]} is not there, or not upstream: its name stands in the text, as in Dify"
                )
            if ref is not None and ref.optional and ref.root not in ("inputs", "vars"):
                reader.near(
                    field, "where a node was skipped, nothing stands in the text, and not the name of the value"
                )
            if ref is not None or part:
                found.append(part if ref is None else ref)
        return found

    def escaped(self, text: str) -> str:
        """A text in which nothing is an expression."""
        if "${" not in text:
            return text
        self.uses_dollar = True
        return text.replace("${", f"${{env.{DOLLAR}}}{{")

    def constant(self, value: Json, reader: FieldReader, field: str) -> Json:
        """A value in which nothing is an expression."""
        match value:
            case str():
                return self.escaped(value)
            case list():
                return [self.constant(item, reader, field) for item in value]
            case dict():
                if len(value) == 1 and isinstance(value.get("cel"), str):
                    reader.lost(field, "an object with nothing but `cel` would be computed")
                    return {}
                return {name: self.constant(item, reader, field) for name, item in value.items()}
            case _:
                return value


_SYSTEM: dict[str, JsonObject] = {
    "query": {"type": "string"},
    "files": {"type": "array"},
    "conversation_id": {"type": "string"},
    "dialogue_count": {"type": "integer"},
}


def _steps(names: Sequence[str]) -> tuple[str | int, ...]:
    return tuple(name.replace('"', "")[:200] for name in names)


def _part(type_: str, rest: Sequence[str]) -> str:
    return "any" if rest else type_


# What nodes give ------------------------------------------------------------------------------------------------------

_Output = Callable[[DifyNode, Selector], Ref | None]


def _failure(node: DifyNode, steps: Selector) -> Ref | None:
    """What a failed node tells."""
    field = {"error_message": "message", "error_type": "code"}.get(steps[0])
    if field is None or not node.data.value.get("error_strategy"):
        return None
    return Ref(node.name, ("error", field), "string", optional=True)


def _named(table: dict[str, tuple[tuple[str, ...], str]]) -> _Output:
    def find(node: DifyNode, steps: Selector) -> Ref | None:
        failure = _failure(node, steps)
        if failure is not None:
            return failure
        known = table.get(steps[0])
        return None if known is None else Ref(node.name, (*known[0], *_steps(steps[1:])), _part(known[1], steps[1:]))

    return find


def _any_output(node: DifyNode, steps: Selector) -> Ref | None:
    return _failure(node, steps) or Ref(node.name, ("output", *_steps(steps)), "any", optional=True)


def _code(node: DifyNode, steps: Selector) -> Ref | None:
    outputs = node.data.value.get("outputs")
    declared = outputs.get(steps[0]) if isinstance(outputs, dict) else None
    if declared is None:
        return _failure(node, steps)
    type_ = declared.get("type") if isinstance(declared, dict) else None
    return Ref(node.name, ("output", *_steps(steps)), _part(str(type_ or "any"), steps[1:]), optional=bool(steps[1:]))


def _tool(node: DifyNode, steps: Selector) -> Ref | None:
    match steps[0]:
        case "text":
            return Ref(node.name, ("text",), "string")
        case "files":
            return Ref(node.name, ("files", *_steps(steps[1:])), "array[file]")
        case "json":
            return Ref(node.name, ("output", *_steps(steps[1:])), "any")
        case _:
            return _any_output(node, steps)


def _classifier(node: DifyNode, steps: Selector) -> Ref | None:
    match steps[0]:
        case "class_id":
            return Ref(node.name, ("output",), "string")
        case "class_name" | "class_label":
            classes = node.data.value.get("classes")
            names: JsonObject = {}
            for each in classes if isinstance(classes, list) else ():
                if isinstance(each, dict):
                    names[str(each.get("id"))] = str(each.get("name", ""))
            return Ref(type="string", cel=f"get({cel_literal(names)}, {node.name}.output)", root=node.name)
        case _:
            return _failure(node, steps)


_ZERO: dict[str, Json] = {"string": "", "select": "", "number": 0, "bool": False, "boolean": False}


def _extractor(node: DifyNode, steps: Selector) -> Ref | None:
    if steps[0] == "__is_success":
        return Ref(root=node.name, type="number", cel="1")
    if steps[0] in ("__reason", "__usage"):
        return Ref(root=node.name, type="any", cel="null")
    parameters = node.data.value.get("parameters")
    for each in parameters if isinstance(parameters, list) else ():
        if isinstance(each, dict) and each.get("name") == steps[0]:
            type_ = str(each.get("type") or "string")
            if type_ in ("string", "select") or type_ not in _ZERO or len(steps) > 1:
                known = "string" if type_ in ("string", "select") else _part(type_, steps[1:])
                return Ref(node.name, ("output", *_steps(steps)), known, optional=True)
            zero = cel_literal(_ZERO[type_])
            return Ref(root=node.name, type=type_, cel=f"get({node.name}.output, {cel_literal(steps[0])}, {zero})")
    return _failure(node, steps)


def _aggregator(node: DifyNode, steps: Selector) -> Ref | None:
    settings = node.data.value.get("advanced_settings")
    has_groups = isinstance(settings, dict) and settings.get("group_enabled") is True
    if not has_groups:
        return Ref(node.name, ("output", *_steps(steps[1:])), _declared(node, steps)) if steps[0] == "output" else None
    rest = steps[2:] if steps[1:2] == ("output",) else steps[1:]
    groups = settings.get("groups") if isinstance(settings, dict) else None
    for group in groups if isinstance(groups, list) else ():
        if isinstance(group, dict) and group.get("group_name") == steps[0]:
            return Ref(node.name, (group_name(steps[0]), *_steps(rest)), "any")
    return None


def _declared(node: DifyNode, steps: Selector) -> str:
    return _part("string" if node.data.value.get("output_type") == "string" else "any", steps[1:])


def group_name(name: str) -> str:
    """The name of a group of a merge node."""
    return name if IDENTIFIER.fullmatch(name) else re.sub(r"\W", "_", f"g_{name}", flags=re.ASCII)


def _loop(node: DifyNode, steps: Selector) -> Ref | None:
    if steps[0] == "loop_round":
        return Ref(node.name, ("passes",), "number")
    return Ref(node.name, ("output", *_steps(steps)), "any", optional=True)


def _human(node: DifyNode, steps: Selector) -> Ref | None:
    if steps[0] in ("__action_id", "action_id"):
        return Ref(node.name, ("output",), "string")
    return Ref(node.name, ("output", *_steps(steps)), "any", optional=True)


_OUTPUTS: dict[str, _Output] = {
    "llm": _named(
        {
            "text": (("text",), "string"),
            "structured_output": (("value",), "object"),
        }
    ),
    "code": _code,
    "template-transform": _named({"output": (("text",), "string")}),
    "http-request": _named(
        {
            "body": (("output", "text"), "string"),
            "status_code": (("output", "status"), "number"),
            "headers": (("output", "headers"), "object"),
            "files": (("files",), "array[file]"),
        }
    ),
    "tool": _tool,
    "knowledge-retrieval": _named({"result": (("output",), "array[object]")}),
    "question-classifier": _classifier,
    "parameter-extractor": _extractor,
    "variable-aggregator": _aggregator,
    "variable-assigner": _aggregator,
    "iteration": _named({"output": (("output",), "array")}),
    "loop": _loop,
    "document-extractor": _named({"text": (("text",), "string")}),
    "list-operator": _named(
        {
            "result": (("output",), "array"),
            "first_record": (("first",), "any"),
            "last_record": (("last",), "any"),
        }
    ),
    "agent": _named(
        {"text": (("text",), "string"), "json": (("output",), "any"), "files": (("files",), "array[file]")}
    ),
    "human-input": _human,
    "if-else": lambda node, steps: (
        Ref(type="boolean", cel=f'{node.name}.output != "else"', root=node.name)
        if steps[0] == "result"
        else Ref(node.name, ("output",), "string")
        if steps[0] == "selected_case_id"
        else None
    ),
    "answer": _named({"answer": (("text",), "string")}),
    "assigner": lambda node, steps: None,
    "end": lambda node, steps: None,
    "note": lambda node, steps: None,
    **dict.fromkeys(("iteration-start", "loop-start", "loop-end"), lambda node, steps: None),
}
