"""`ToolDeclaration`: a tool as one small declaration in JSON, YAML or TOML. Pure.

    actum: tool/1
    name: weather_api
    description: The weather of a city.
    parameters: {city: string, days: {type: integer, default: 3}}
    http: {url: "https://api.example.com/now?q={city}&days={days}"}

The declaration may be nested as `{"type": "function", "function": {...}}`, and `input_schema` or `inputSchema` are read
as `parameters`. Nothing is run or looked up here; `places` makes a tool of a declaration.
"""

from __future__ import annotations

import difflib
import symtable
import unicodedata
from collections.abc import Collection, Mapping
from typing import Annotated, Final, Literal, TypeAlias, get_args

import msgspec
from msgspec import Meta, Struct

from ...core.definition import BadText, TextProblem
from ...core.errors import BadTool, UsageError
from ...core.json import Json, JsonObject, dumps
from ...core.language.sentence import Sentence
from ...core.stored.definitions import checked_name
from ...core.tool import Effects
from ...protocols.definition_text import meant_field, misfit, read_any_text
from ...protocols.plain_text import plain
from ...protocols.source_text import Place, SourceText
from ...schema.schema import compile_schema

HEADER: Final = "tool/1"
TIMEOUT_S_MAX: Final = 86_400.0
_TYPES = ("string", "integer", "number", "boolean", "array", "object")
_SCHEMA_NAMES = ("input_schema", "inputSchema")
_MODULE = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*"

Reference: TypeAlias = Annotated[str, Meta(min_length=1, max_length=140, description="NAME, or NAME@3 for a version.")]


class HttpPlace(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One request to one address, with `{parameter}` where an argument goes.

    Attributes:
        url: the address. The host has no arguments.
        method: of HTTP.
        query: parameters of the query, beside those in `url`.
        headers: headers, without credentials.
        body: JSON with `{parameter}` in its texts.
        secret: where a credential stands (`bearer`, `basic`, `header:NAME`, `query:NAME`) by the name of its secret.
        pick: a JMESPath expression for the part of a JSON answer that a model sees.
        idempotency_header: the header in which the API takes an idempotency key.
    """

    url: str
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    query: dict[str, str] = {}
    headers: dict[str, str] = {}
    body: Json = None
    secret: dict[str, str] = {}
    pick: str = ""
    idempotency_header: str = ""


class McpPlace(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool of an MCP server.

    Attributes:
        server: the name of the server.
        tool: the name of the tool there.
    """

    server: str
    tool: str


class A2aPlace(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A skill of an agent that is reached by A2A.

    Attributes:
        agent: the name of the agent.
        skill: the id of the skill.
    """

    agent: str
    skill: str


class CodePlace(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Code that runs in the sandbox.

    Attributes:
        source: the text. Python defines `main(**arguments)` and returns JSON; a shell script finds the arguments as
            JSON in the file `inputs.json`.
        hosts: the hosts of the operator's sandbox that the code reaches.
        files: the parameters that are handles of attachments. The code finds the file under the name that it gets.
    """

    source: Annotated[str, Meta(min_length=1)]
    hosts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class ToolDeclaration(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A tool, declared. At most one of the places says where the tool runs.

    Attributes:
        name: what a model calls the tool.
        description: what the tool does and when to use it, for the model.
        parameters: JSON Schema of the arguments.
        strict: the model is held to `parameters` while it writes, where its API can.
        effects: what a call does, if more than its place says; never less.
        sinks: the parameters that say where something goes or who gets it.
        approval: every call waits for a person.
        idempotent: a call that is made twice does no more than one.
        timeout: seconds that one attempt may take.
        users, roles: who may call the tool: one of these users, or a user with one of these roles. Empty: everybody.
        http, mcp, a2a, workflow, agent, python, shell, module: the place. `module` is `package.module:function`.
    """

    name: str
    description: str = ""
    parameters: JsonObject = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})
    strict: bool = False
    effects: frozenset[Effects] | None = None
    sinks: tuple[str, ...] | None = None
    approval: bool = False
    idempotent: bool = False
    timeout: Annotated[float, Meta(gt=0, le=TIMEOUT_S_MAX)] | None = None
    users: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    http: HttpPlace | None = None
    mcp: McpPlace | None = None
    a2a: A2aPlace | None = None
    workflow: Reference | None = None
    agent: Reference | None = None
    python: CodePlace | None = None
    shell: CodePlace | None = None
    module: Annotated[str, Meta(pattern=f"^{_MODULE}$")] | None = None

    @property
    def place(self) -> str:
        """The name of the field that says where the tool runs; empty for a bare definition."""
        return next((name for name in PLACES if getattr(self, name) is not None), "")

    def is_for(self, principal: str, roles: Collection[str]) -> bool:
        """Whether a user may call the tool: everybody, where it names neither users nor roles."""
        return may_call(self.users, self.roles, principal, roles)


def may_call(users: Collection[str], roles: Collection[str], principal: str, own: Collection[str]) -> bool:
    """Whether a user may call a tool that is declared for some users and roles.

    Args:
        users, roles: for whom the tool is declared; with neither, it is for everybody.
        principal: the user.
        own: the user's roles.

    >>> may_call(["ann"], ["clerk"], "bob", ["clerk"]), may_call(["ann"], (), "bob", ()), may_call((), (), "bob", ())
    (True, False, True)
    """
    return not (users or roles) or principal in users or not set(roles).isdisjoint(own)


PLACES: Final = ("http", "mcp", "a2a", "workflow", "agent", "python", "shell", "module")
_FIELDS = ToolDeclaration.__struct_fields__


def read_declaration(text: str) -> ToolDeclaration:
    """The tool that a text declares.

    Args:
        text: JSON, YAML or TOML. YAML has no aliases.

    Raises:
        BadText: something is wrong with it; each problem names its place and what would be right.
    """
    source = read_any_text(text)
    if not isinstance(source.value, dict):
        raise BadText([TextProblem("a declaration is an object", hint="begin with name: weather")])
    if source.problems:
        raise BadText(source.problems)
    return declaration_of(source.value, source)


def declaration_of(
    given: Mapping[str, Json], source: SourceText | None = None, *, compiles: bool = True
) -> ToolDeclaration:
    """The tool that an object declares.

    Args:
        given: the declaration, flat or nested.
        source: the text that the object was read from, for the lines of problems.
        compiles: whether the schema is compiled to see what is wrong with it, which takes most of the time; else
            that is seen at the first call.

    Raises:
        BadText: something is wrong with it; each problem names its place and what would be right.

    >>> declared = declaration_of({"name": "now", "parameters": {"city": "string"}, "agent": "desk"})
    >>> declared.place, declared.parameters["required"]
    ('agent', ['city'])
    """
    return _Reading(source, compiles=compiles).read(dict(given))


def declaration_schema(ref_template: str = "#/$defs/{name}") -> tuple[JsonObject, dict[str, JsonObject]]:
    """The JSON Schema of a declaration as a person may write it, and the schemas that it refers to.

    Args:
        ref_template: how the schema refers to the others, as for `msgspec.json.schema_components`.
    """
    _, components = msgspec.json.schema_components([ToolDeclaration], ref_template=ref_template)
    for schema in components.values():
        schema["description"] = str(schema["description"]).partition("\n")[0]
    flat: JsonObject = components.pop("ToolDeclaration")
    properties = dict(flat["properties"]) if isinstance(flat["properties"], dict) else {}
    told = "JSON Schema of the arguments, or a flat map such as {city: string, days: {type: integer, default: 3}}."
    parameters: JsonObject = {"type": "object", "description": told}
    for name in ("python", "shell"):
        properties[name] = {"anyOf": [{"type": "string", "minLength": 1}, properties[name]]}
    properties |= {"parameters": parameters, **dict.fromkeys(_SCHEMA_NAMES, parameters)}
    properties |= {"actum": {"const": HEADER}, "type": {"enum": ["function", "custom"]}}
    nested: JsonObject = {"type": "object", "required": ["function"], "properties": {"function": {"type": "object"}}}
    return {"title": "ToolDeclaration", "anyOf": [{**flat, "properties": properties}, nested]}, components


class _Reading:
    """Reads one declaration, and collects what is wrong with it."""

    def __init__(self, source: SourceText | None, *, compiles: bool) -> None:
        self._source = source
        self._compiles = compiles
        self._inside: Place = ()
        self._problems: list[TextProblem] = []

    def read(self, given: JsonObject) -> ToolDeclaration:
        flat = self._schema_of(self._flat(given))
        for name in ("python", "shell"):
            if isinstance(flat.get(name), str):
                flat[name] = {"source": flat[name]}
        self._check_places(flat)
        declared: ToolDeclaration | None = None
        try:
            declared = msgspec.convert(flat, ToolDeclaration)
        except msgspec.ValidationError as error:
            self._converted(error)
        if declared is not None:
            self._check(declared)
        if self._problems or declared is None:
            raise BadText(self._problems)
        return declared

    def _wrong(self, message: Sentence | str, *place: str | int, hint: Sentence | str = "") -> None:
        line, column = self._source.at((*self._inside, *place)) if self._source is not None else (1, 1)
        self._problems.append(TextProblem(message, line, column, hint, ".".join(map(str, place))))

    def _flat(self, given: JsonObject) -> JsonObject:
        """The fields of a declaration that may be nested, without those that only say what it is."""
        found = dict(given)
        header = found.pop("actum", HEADER)
        if header != HEADER:
            self._wrong(f"actum: {str(header)[:60]} is no declaration of a tool", "actum", hint=f"write {HEADER}")
        if found.get("type") in ("function", "custom"):
            del found["type"]
        inside = found.pop("function", None)
        if isinstance(inside, dict):
            self._inside = ("function",)
            for name in inside.keys() & found.keys():
                self._wrong(f"{name} stands twice, in `function` and beside it", name, hint="leave one of them out")
            found |= inside
        elif inside is not None:
            self._wrong("`function` is an object", "function", hint="write name, description and parameters into it")
        return found

    def _schema_of(self, flat: JsonObject) -> JsonObject:
        """The same fields, with JSON Schema as `parameters`."""
        names = [name for name in ("parameters", *_SCHEMA_NAMES) if name in flat]
        if len(names) > 1:
            self._wrong(f"{names[1]} and {names[0]} say the same", names[1], hint="leave one of them out")
        for name in names:
            value = flat.pop(name)
            if not isinstance(value, dict):
                self._wrong("parameters are an object", name, hint="write {city: string}")
            elif _is_schema(value):
                flat["parameters"] = value
            else:
                flat["parameters"] = self._from_map(value, name)
        return flat

    def _from_map(self, given: JsonObject, field: str) -> JsonObject:
        properties: JsonObject = {}
        required: list[Json] = []
        for name, written in given.items():
            schema: JsonObject = {"type": written} if isinstance(written, str) else {}
            if isinstance(written, dict):
                schema = {key: value for key, value in written.items() if key != "required" or isinstance(value, list)}
                needed = written.get("required", "default" not in written)
            else:
                needed = True
            kind = schema.get("type")
            if isinstance(kind, str) and kind not in _TYPES:
                near = difflib.get_close_matches(kind, _TYPES, 1)
                self._wrong(f"{kind[:60]!r} is no type", field, name, hint=f"write {near[0] if near else _TYPES[0]}")
            elif not schema or (name == "type" and isinstance(written, str)):
                self._wrong(f"{name[:60]!r} has no type", field, name, hint=f"write {name[:60]}: {{type: string}}")
            properties[name] = schema
            if needed is not False:
                required.append(name)
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    def _check_places(self, flat: JsonObject) -> None:
        found = [name for name in PLACES if flat.get(name) is not None]
        if len(found) > 1:
            told = f"a tool runs at one place, and here are {len(found)}: {', '.join(found)}"
            self._wrong(told, found[1], hint="leave out all but one")

    def _converted(self, error: msgspec.ValidationError) -> None:
        """What msgspec says of a field that does not fit."""
        message, place, unknown = misfit(error)
        if not unknown:
            hint = f"the effects are {', '.join(get_args(Effects))}" if place[:1] == ("effects",) else ""
            if place == ("module",):
                message, hint = "module names a function of a module", "write package.module:function"
            self._wrong(message, *place, hint=hint)
            return
        kinds = {"http": HttpPlace, "mcp": McpPlace, "a2a": A2aPlace, "python": CodePlace, "shell": CodePlace}
        known = kinds[str(place[0])].__struct_fields__ if place and place[0] in kinds else _FIELDS
        self._wrong(f"there is no field {unknown[:60]!r} here", *place, unknown, hint=meant_field(unknown, known))

    def _check(self, declared: ToolDeclaration) -> None:
        try:
            checked_name(declared.name)
        except UsageError as error:
            self._wrong(error.sentence, "name")
        alphabets = {_alphabet(sign) for sign in declared.name if sign.isalpha()}
        if len(alphabets & _ALIKE) > 1:
            told = f"the name {declared.name[:60]!r} mixes alphabets whose letters look alike"
            self._wrong(told, "name", hint="use letters of one of them")
        for field, text in (("description", declared.description), ("parameters", dumps(declared.parameters))):
            if plain(text) != text:
                self._wrong(f"{field} has characters that nobody sees", field, hint="take them out")
        if declared.parameters.get("type", "object") != "object":
            self._wrong("parameters are the JSON Schema of an object", "parameters", hint="write type: object")
            return
        if self._problems:
            return
        if self._compiles:
            try:
                compile_schema(declared.parameters, where="parameters", foreign=True)
            except BadTool as error:
                self._wrong(error.sentence, "parameters")
        properties = declared.parameters.get("properties")
        known = set(properties) if isinstance(properties, dict) else set()
        if declared.python is not None:
            self._check_python(declared.python.source)
        code = declared.python or declared.shell
        for field, names in (("sinks", declared.sinks or ()), ("files", code.files if code else ())):
            for name in sorted(set(names) - known):
                place = (field,) if field == "sinks" else (declared.place, field)
                self._wrong(f"{field}: {name[:60]!r} is none of the parameters", *place)

    def _check_python(self, code: str) -> None:
        try:
            names = symtable.symtable(code, "code.py", "exec")
            defines_main = any(each.get_name() == "main" and _is_bound(each) for each in names.get_symbols())
        except SyntaxError as error:
            told = f"this is no Python: {error.msg}, in line {error.lineno or 1} of the code"
            self._wrong(told, "python", "source")
        except (ValueError, RecursionError, MemoryError):
            self._wrong("this is no Python that can be read", "python", "source")
        else:
            if not defines_main:
                self._wrong("the code defines no main", "python", "source", hint="write def main(city): ...")


def _is_bound(name: symtable.Symbol) -> bool:
    return name.is_assigned() or name.is_imported()


_ALIKE = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC"})
"""Alphabets that have letters in common, to the eye."""


def _alphabet(sign: str) -> str:
    return unicodedata.name(sign, "").partition(" ")[0]


def _is_schema(value: JsonObject) -> bool:
    """Whether parameters are JSON Schema, and not a flat map of them."""
    of_schema = any(name in value for name in ("$schema", "$ref", "$defs", "anyOf", "oneOf", "allOf"))
    return not value or of_schema or value.get("type") == "object" or isinstance(value.get("properties"), dict)
