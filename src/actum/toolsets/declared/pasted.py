"""What somebody pastes, read as declarations: a cURL line, an address, a Python function, or a declaration. Pure.

    >>> found = read_pasted("curl 'https://api.example.com/now?city=Oslo' -H 'Authorization: Bearer x'")
    >>> [(item.kind, item.name) for item in found.items], [(note.code, note.about) for note in found.unclear]
    ([('tool', 'now')], [('description', 'now'), ('example', 'city'), ('secret', 'now_token')])

No credential of the text is in what is read: its place has the name of a secret instead. A definition in which it can
not have one is not read at all. What is not found: a credential that neither its name nor its looks tell, such as one
in the path of an address, and one in the examples of an OpenAPI document.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Final, Literal, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct, structs

from ...core.definition import BadText
from ...core.errors import UsageError
from ...core.json import Json, JsonObject, dumps
from ...core.secrets.redaction import DEFAULT_REDACTION, LOOKING
from ...protocols.definition_text import read_any_text
from ...protocols.openapi.endpoint import EndpointTemplate, from_curl, is_credential, secret_word, without_secrets
from .declaration import HEADER
from .server import HEADER as SERVER_HEADER

UnclearCode: TypeAlias = Literal["description", "example", "secret", "form", "operator_only", "credential", "text"]
Kind: TypeAlias = Literal["tool", "server", "agent", "workflow"]
KINDS: Final[tuple[Kind, ...]] = ("tool", "server", "agent", "workflow")
ITEMS_MAX: Final = 50
CODE_MAX: Final = 100_000
_TYPES: Final = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
}


class PastedItem(Struct, frozen=True, kw_only=True):
    """A definition that was understood.

    Attributes:
        kind: `tool`, `server`, `agent` or `workflow`.
        name: what it is called; a proposal, where the text has no name.
        text: the definition, to be saved as a draft.
    """

    kind: Kind
    name: str
    text: str


class UnclearNote(Struct, frozen=True, kw_only=True):
    """Something that a person has to look at.

    Attributes:
        code: `description`: the tool has none, and no model knows when to call it. `example`: this argument has the
            value of the text as its default. `secret`: set this secret; the credential of the text is not kept. `form`:
            the body is a form, which a declaration does not send. `operator_only`: a command that would run on the
            server. `credential`: one stands at this place, where no secret can be named instead, so nothing was read.
            `text`: nothing here reads this text.
        about: the name or the place that the note is about; for `form` and `text` why.
    """

    code: UnclearCode
    about: str


class ReadPasted(Struct, frozen=True, kw_only=True):
    """What was understood of a text.

    Attributes:
        items: the definitions.
        unclear: what a person has to look at.
    """

    items: tuple[PastedItem, ...] = ()
    unclear: tuple[UnclearNote, ...] = ()


def read_pasted(text: str) -> ReadPasted:
    """What was understood of a text that somebody pasted. What can not be read is a note, too."""
    text = text.strip()
    if re.match(r"curl\s", text):
        return _of_curl(text)
    if re.match(r"https?://\S+$", text) and (place := _place_of(text)):
        return _of_server(_host_name(text), {place: text})
    if re.match(r"https?://\S+$", text):
        return _of_curl(f"curl '{text}'") if "'" not in text else _unread("an address has no quotes")
    if re.match(r"(async\s+def|def|from|import|@|#)\s*\w", text):
        return _of_python(text)
    return _of_declaration(text)


def _unread(why: str) -> ReadPasted:
    return ReadPasted(unclear=(UnclearNote(code="text", about=why),))


def _held(place: str) -> ReadPasted:
    """For a definition that holds a credential at a place."""
    return ReadPasted(unclear=(UnclearNote(code="credential", about=place),))


def _of_curl(line: str) -> ReadPasted:
    try:
        found, _ = from_curl(line, "x")
        endpoint, secrets = from_curl(line, _name_of(found.url))
    except UsageError as error:
        return _unread(str(error))
    if endpoint.form:
        return ReadPasted(unclear=(UnclearNote(code="form", about=endpoint.name),))
    return _of_endpoint(endpoint, secrets)


def _of_endpoint(endpoint: EndpointTemplate, secrets: tuple[str, ...]) -> ReadPasted:
    """A request as a tool: the values of its query, and the texts at the top of its body, become arguments."""
    address = urlsplit(endpoint.url)
    parameters: JsonObject = {}
    examples: list[str] = []

    def argument(name: str, value: Json) -> Json:
        if not isinstance(value, str) or "{" in value or not name.isidentifier() or name in parameters:
            return value
        parameters[name] = {"type": "string", "default": value}
        examples.append(name)
        return f"{{{name}}}"

    query: JsonObject = {
        name: argument(name, value) for name, value in parse_qsl(address.query, keep_blank_values=True)
    }
    body, in_body = _bare(endpoint.body, endpoint.name)
    if isinstance(body, dict):
        body = {name: argument(name, value) for name, value in body.items()}
    for name, kind in re.findall(r"\{(\w+)(?::([a-z]+))?\}", endpoint.url + dumps(body)):
        parameters.setdefault(name, kind or "string")
    http: JsonObject = {"url": address._replace(query="", fragment="").geturl(), "method": endpoint.method}
    http |= {"query": query} if query else {}
    http |= {"headers": dict(endpoint.headers)} if endpoint.headers else {}
    http |= {"body": body} if body is not None else {}
    http |= {"secret": dict(endpoint.secrets)} if endpoint.secrets else {}
    declared: JsonObject = {"actum": HEADER, "name": endpoint.name, "description": "", "parameters": parameters}
    item = PastedItem(kind="tool", name=endpoint.name, text=_written({**declared, "http": http}))
    notes = [UnclearNote(code="description", about=endpoint.name)]
    notes += [UnclearNote(code="example", about=name) for name in examples]
    notes += [UnclearNote(code="secret", about=name) for name in (*secrets, *in_body)]
    return ReadPasted(items=(item,), unclear=tuple(notes))


def _bare(body: Json, name: str) -> tuple[Json, list[str]]:
    """A body without credentials, at any depth, and the names of the secrets that they are."""
    found: list[str] = []

    def kept(value: Json) -> Json:
        if isinstance(value, list):
            return [kept(each) for each in value]
        if not isinstance(value, dict):
            return value
        credentials = [
            each for each, held in value.items() if is_credential(each) and isinstance(held, str) and "{" not in held
        ]
        found.extend(f"{name}_{secret_word(each)}" for each in credentials)
        return {each: kept(held) for each, held in value.items() if each not in credentials}

    return kept(body), found


def _name_of(url: str) -> str:
    """A name for what is at an address: the last word of the path, or the name of the host."""
    address = urlsplit(url)
    words = [word for word in re.findall(r"[A-Za-z]\w*", re.sub(r"\{[^}]*\}", "", address.path)) if len(word) > 2]
    host = (address.hostname or "").split(".")
    name = words[-1] if words else host[-2] if len(host) > 1 else "tool"
    return re.sub(r"\W", "_", name.lower())[:60] or "tool"


def _of_python(text: str) -> ReadPasted:
    if len(text) > CODE_MAX:
        return _unread(f"the code has more than {CODE_MAX} characters")
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return _unread(f"this is no Python: {str(error)[:200]}")
    functions = [each for each in module.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    if not functions:
        return _unread("there is no function in this Python")
    function = functions[-1]
    if (
        isinstance(function, ast.AsyncFunctionDef)
        or function.args.vararg
        or function.args.kwarg
        or function.args.posonlyargs
    ):
        return _unread(f"{function.name[:60]} is async, or takes arguments without names")
    given = [*function.args.args, *function.args.kwonlyargs]
    without = len(function.args.args) - len(function.args.defaults)
    values = [*[None] * without, *function.args.defaults, *function.args.kw_defaults]
    parameters: JsonObject = {each.arg: _schema(each, value) for each, value in zip(given, values, strict=True)}
    name = function.name if function.name != "main" else "tool"
    source = text if function.name == "main" else f"{text}\n\n\nmain = {function.name}\n"
    about = (ast.get_docstring(function) or "").partition("\n\n")[0].replace("\n", " ")
    if DEFAULT_REDACTION.value(text) != text:
        return _held(name)
    declared: JsonObject = {"actum": HEADER, "name": name, "description": about, "parameters": parameters}
    item = PastedItem(kind="tool", name=name, text=_written({**declared, "python": source}))
    return ReadPasted(items=(item,), unclear=() if about else (UnclearNote(code="description", about=name),))


def _schema(argument: ast.arg, value: ast.expr | None) -> JsonObject:
    written = ast.unparse(argument.annotation) if argument.annotation is not None else "str"
    schema: JsonObject = {"type": _TYPES.get(re.split(r"\W", written, maxsplit=1)[0], "string")}
    if value is None:
        return schema
    default = value.value if isinstance(value, ast.Constant) else None
    if isinstance(default, str | int | float):
        return {**schema, "default": default}
    return {**schema, "required": False}


def _of_declaration(text: str) -> ReadPasted:
    try:
        value = read_any_text(text).value
    except BadText as bad:
        return _unread(str(bad.problems[0]))
    if not isinstance(value, dict):
        return _unread("paste a cURL line, an address, a Python function, or a declaration that begins with name:")
    if "openapi" in value or "swagger" in value:
        info = value.get("info")
        title = info.get("title") if isinstance(info, dict) else ""
        return ReadPasted(items=(_server(_plain_name(str(title)) or "api", {"openapi": text}),))
    servers = value.get("mcpServers") or value.get("servers")
    if isinstance(servers, dict):
        return _of_servers([*servers.items()][:ITEMS_MAX])
    inside = value.get("function")
    flat = {**value, **inside} if isinstance(inside, dict) else value
    kind = _kind_of(value)
    name = flat.get("name")
    item = PastedItem(kind=kind, name=name if isinstance(name, str) else kind, text=text)
    if kind == "server":
        return _of_server(item.name, value, text)
    if (place := next(_credentials(flat if kind == "tool" else value), "")) and not isinstance(flat.get("http"), dict):
        return _held(f"{item.name}: {place}")
    if kind != "tool":
        return ReadPasted(items=(item,))
    if not isinstance(flat.get("http"), dict):
        notes = () if flat.get("description") else (UnclearNote(code="description", about=item.name),)
        return ReadPasted(items=(item,), unclear=notes)
    return _without_credentials(item, value, flat)


def _kind_of(value: JsonObject) -> Kind:
    """What a declaration declares: as its first line says, else by its fields."""
    said = str(value.get("actum", "")).partition("/")[0]
    if (kind := next((each for each in KINDS if each == said), None)) is not None:
        return kind
    return "workflow" if "nodes" in value else "agent" if "instructions" in value or "tools" in value else "tool"


def _credentials(value: Json, place: str = "", *, is_sent: bool = False) -> Iterator[str]:
    """The places of a definition that hold credentials, by their names or their looks.

    Args:
        value: the definition, or a part of it.
        place: the place of the part.
        is_sent: it is sent with a request, where more names than elsewhere are those of credentials.
    """
    if isinstance(value, str):
        if LOOKING.search(value) or (_ADDRESS.match(value) and without_secrets(value, "")[1]):
            yield place
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _credentials(each, f"{place}[{number}]", is_sent=is_sent)
    elif isinstance(value, dict):
        for name, each in value.items():
            within = f"{place}.{name}" if place else name
            if name in _NAMED_ALONE:
                continue
            named = is_credential(name) if is_sent else DEFAULT_REDACTION.value({name: "x"}) != {name: "x"}
            if named and isinstance(each, str) and each and "${" not in each:
                yield within
            else:
                yield from _credentials(each, within, is_sent=is_sent or name in _SENT)


_NAMED_ALONE: Final = frozenset({"parameters", "inputs", "outputs", "secret", "secrets"})
"""Fields of definitions that hold schemas, or names of secrets."""
_SENT: Final = frozenset({"headers", "query", "body"})
_ADDRESS: Final = re.compile(r"https?://\S+$")


def _of_server(name: str, fields: JsonObject, text: str = "") -> ReadPasted:
    """A server: a header that holds a credential names a secret.

    Args:
        name: what it is called.
        fields: the fields of the definition.
        text: the definition as it was pasted, which stays where it holds no credential; empty for none.
    """
    given = fields.get("headers")
    headers, secrets = _headers(name, given) if isinstance(given, dict) else ({}, [])
    document = fields.get("openapi")
    looked_at = fields if isinstance(document, str) and _ADDRESS.match(document) else {**fields, "openapi": ""}
    if place := next(_credentials({**looked_at, "headers": headers}), ""):
        return _held(f"{name}: {place}")
    if not text or secrets:
        text = _server(name, {**fields, "headers": headers} if headers else fields).text
    item = PastedItem(kind="server", name=name, text=text)
    return ReadPasted(items=(item,), unclear=tuple(UnclearNote(code="secret", about=each) for each in secrets))


def _headers(name: str, given: JsonObject) -> tuple[JsonObject, list[str]]:
    """The headers of a server, in which each credential names a secret, and the names of these secrets."""
    headers: JsonObject = {}
    secrets: list[str] = []
    for header, value in given.items():
        held = str(value)
        if "${" in held or not (is_credential(header) or LOOKING.search(held)):
            headers[header] = held
            continue
        secret = f"{name}_{secret_word(header)}"
        headers[header] = f"{'Bearer ' if held.lower().startswith('bearer ') else ''}${{secret:{secret}}}"
        secrets.append(secret)
    return headers, secrets


def _of_servers(servers: list[tuple[str, Json]]) -> ReadPasted:
    """The servers of a pasted `mcpServers`. A header that holds a credential names a secret."""
    items: list[PastedItem] = []
    notes: list[UnclearNote] = []
    for name, entry in servers:
        url = entry.get("url") or entry.get("serverUrl") if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or "command" in entry or not isinstance(url, str):
            is_local = isinstance(entry, dict) and "command" in entry
            why = name[:100] if is_local else f"{name[:100]}: a server has a url"
            notes.append(UnclearNote(code="operator_only" if is_local else "text", about=why))
            continue
        given = entry.get("headers")
        headers: JsonObject = {"headers": given} if given and isinstance(given, dict) else {}
        found = _of_server(_plain_name(name) or "server", {"url": url, **headers})
        items += found.items
        notes += found.unclear
    return ReadPasted(items=tuple(items), unclear=tuple(notes))


def _server(name: str, fields: JsonObject) -> PastedItem:
    return PastedItem(kind="server", name=name, text=_written({"actum": SERVER_HEADER, "name": name, **fields}))


def _place_of(address: str) -> str:
    """The field of a server that an address belongs into, by its last word; empty for the address of a request."""
    last = urlsplit(address).path.rstrip("/").rpartition("/")[2].lower()
    if last in ("mcp", "sse"):
        return "url"
    if last in ("agent-card.json", "agent.json"):
        return "a2a"
    return "openapi" if re.fullmatch(r"(openapi|swagger).*\.(json|ya?ml)", last) else ""


def _host_name(address: str) -> str:
    """A name made of an address: `crm` of `https://mcp.crm.example.com/mcp`."""
    parts = [each for each in (urlsplit(address).hostname or "").split(".") if each not in ("www", "api", "mcp")]
    return _plain_name(parts[0] if parts else "") or "server"


def _plain_name(title: str) -> str:
    """A name in our letters; empty where nothing is left."""
    name = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")[:32]
    return name if name[:1].isalpha() else ""


def _without_credentials(item: PastedItem, value: JsonObject, flat: JsonObject) -> ReadPasted:
    """The declaration of a request; where it has a credential, written anew with the names of secrets."""
    http = flat["http"]
    assert isinstance(http, dict)
    url, secrets = without_secrets(str(http.get("url", "")), item.name)
    body, in_body = _bare(http.get("body"), item.name)
    kept: JsonObject = {**http, "url": url} | ({"body": body} if in_body else {})
    for field, where in (("headers", "header"), ("query", "query")):
        given = http.get(field)
        if not isinstance(given, dict):
            continue
        kept[field] = {name: each for name, each in given.items() if not is_credential(name)}
        for name in given.keys() - kept[field].keys():  # type: ignore[union-attr]  # a dictionary, as above
            is_bearer = name.lower() == "authorization" and str(given[name]).lower().startswith("bearer ")
            secrets["bearer" if is_bearer else f"{where}:{name}"] = f"{item.name}_{secret_word(name)}"
    notes = [] if flat.get("description") else [UnclearNote(code="description", about=item.name)]
    if secrets or in_body:
        known = http.get("secret")
        kept["secret"] = {**secrets, **(known if isinstance(known, dict) else {})}
        rest = {key: each for key, each in flat.items() if key not in ("function", "type")}
        item = structs.replace(item, text=_written({**rest, "http": kept}))
        notes += [UnclearNote(code="secret", about=name) for name in (*secrets.values(), *in_body)]
    return ReadPasted(items=(item,), unclear=tuple(notes))


def _written(declared: JsonObject) -> str:
    return json.dumps(declared, ensure_ascii=False, indent=2)
