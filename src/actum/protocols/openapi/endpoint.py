"""One HTTP endpoint, described by hand or by a cURL line, as an API with one operation. Pure.

`{name}` in the path, the query, a header or the body stands for an argument of the tool; `{name:integer}` gives its
type. The host has no arguments. Everything then goes the way of an operation of a document, so a value can only end up
in the place in which its name stands.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from urllib.parse import parse_qsl, urlsplit

import jmespath
import msgspec
from msgspec import Struct

from ...core.errors import UsageError
from ...core.json import Json, JsonObject, JsonProblem, parse
from ...core.secret_values import is_secret_name
from ...core.tool import Effects
from .reading import may_be_sink, read_api
from .setup import ApiSetup, SecretCredential

_SECRET_WORD = re.compile(r"(?i)(?<![a-z])(api-?key|key|token|secret|auth|password|passwd|session|sig|signature)$")
TYPES = ("string", "integer", "number", "boolean", "array", "object")
_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)(?::([a-z]+))?\}")
_FORM = "application/x-www-form-urlencoded"
_LOGIN = re.compile(r"(?<=://)[^/@\s]*@")
_CREDENTIAL_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})


_DATA_OPTIONS = ("-d", "--data", "--data-raw", "--data-ascii", "--json")
_WITHOUT_MEANING = ("-s", "-S", "-sS", "-L", "--location", "--silent", "--compressed", "-i", "--include")


class EndpointTemplate(Struct, frozen=True, kw_only=True):
    """One endpoint.

    Attributes:
        name: of the tool.
        method: of HTTP.
        url: with `{name}` for arguments in the path and the query.
        description: for the model.
        headers: with `{name}` for arguments; without credentials.
        body: JSON with `{name}` for arguments, or the fields of a form; None for none.
        form: the body is sent as a form, not as JSON.
        secrets: where a credential stands (`bearer`, `basic`, `header:NAME`, `query:NAME`) by the name of its secret.
        effects: what a call does, where the method does not say so rightly.
        idempotency_header: the header in which the API takes an idempotency key; empty where it takes none.
        pick: a JMESPath expression that picks the part of a JSON answer that a model sees; empty for all.
    """

    name: str
    method: str = "GET"
    url: str
    description: str = ""
    headers: dict[str, str] = {}
    body: Json = None
    form: bool = False
    secrets: dict[str, str] = {}
    effects: frozenset[Effects] | None = None
    idempotency_header: str = ""
    pick: str = ""


def setup_of(endpoint: EndpointTemplate) -> ApiSetup:
    """The endpoint as an API with one operation, approved: a person has described it.

    Raises:
        UsageError: the description can not be used; the message says which part.
    """
    _check_pick(endpoint.pick)
    written = _Request(endpoint)
    api = read_api(written.document())
    if not api.operations:
        raise UsageError(api.refused[0].reason if api.refused else f"{endpoint.method!r} is no method of HTTP")
    read = api.operations[0]
    template: JsonObject = {plan.argument: written.values[plan.where, plan.name] for plan in read.parameters}
    if written.body is not None and read.body is not None:
        template[read.body.argument] = written.body
    tool = msgspec.structs.replace(
        read.tool,
        name=endpoint.name,
        effects=read.tool.effects if endpoint.effects is None else endpoint.effects,
        parameters={
            "type": "object",
            "properties": {name: {"type": kind} for name, kind in written.types.items()},
            "required": list(written.types),
            "additionalProperties": False,
        },
    )
    in_path = {found[0] for found in _PLACE.findall(read.path)}
    sinks = tuple(name for name in written.types if name in in_path or may_be_sink(name))
    operation = msgspec.structs.replace(read, tool=tool, proposed_sinks=sinks)
    setup = ApiSetup(
        name=endpoint.name,
        api=msgspec.structs.replace(api, operations=(operation,)),
        origins=(written.server,),
        credentials={scheme: SecretCredential(secret) for scheme, secret in endpoint.secrets.items()},
        idempotency_header=endpoint.idempotency_header,
        templates={endpoint.name: template},
        picks={endpoint.name: endpoint.pick} if endpoint.pick else {},
    )
    return setup.approving()


def _check_pick(expression: str) -> None:
    try:
        if expression:
            jmespath.compile(expression)
    except jmespath.exceptions.JMESPathError as problem:
        raise UsageError(
            "{expression!r} is no JMESPath expression: {splitlines}",
            expression=expression[:100],
            splitlines=str(problem).splitlines()[0],
        ) from None


class _Request:
    """An endpoint as a document with one operation, and what its parameters are filled with.

    Attributes:
        server: the base address.
        types: the arguments of the tool, with their types.
        values: the value of each parameter, by place and name.
        body: the template of the body.
    """

    def __init__(self, endpoint: EndpointTemplate) -> None:
        self._endpoint = endpoint
        address = urlsplit(endpoint.url)
        self.server = f"{address.scheme}://{address.netloc}"
        self.types: dict[str, str] = {}
        self.values: dict[tuple[str, str], str] = {}
        if address.scheme not in ("http", "https") or not address.hostname:
            raise UsageError("{url!r} is no address of the web: begin with https://", url=endpoint.url[:200])
        if "{" in address.netloc or "@" in address.netloc:
            raise UsageError("the host of an endpoint has no arguments, no user name and no password")
        self._path = self._placed(address.path or "/")
        for name in dict.fromkeys(found[0] for found in _PLACE.findall(self._path)):
            self._take("path", name, f"{{{name}}}")
        for name, value in parse_qsl(address.query, keep_blank_values=True):
            self._take("query", name, value)
        for name, value in endpoint.headers.items():
            if is_credential(name):
                raise UsageError(
                    "the header {name!r} looks like a credential: keep its value as a secret instead", name=name
                )
            self._take("header", name, value)
        self.body = _each_text(endpoint.body, self._placed)

    def document(self) -> JsonObject:
        """The document."""
        endpoint = self._endpoint
        operation: JsonObject = {
            "operationId": endpoint.name,
            "summary": endpoint.description,
            "parameters": [
                {"name": name, "in": where, "required": where == "path", "schema": {}} for where, name in self.values
            ],
            "security": [{scheme: [] for scheme in endpoint.secrets}],
        }
        if self.body is not None:
            kind = _FORM if endpoint.form else "application/json"
            operation["requestBody"] = {"required": True, "content": {kind: {"schema": {}}}}
        return {
            "openapi": "3.1.0",
            "info": {"title": endpoint.name, "version": "1"},
            "servers": [{"url": self.server}],
            "paths": {self._path: {endpoint.method.lower(): operation}},
            "components": {"securitySchemes": {at: _scheme(at) for at in endpoint.secrets}},
        }

    def _placed(self, text: str) -> str:
        """A text without the types of its arguments, which are noted."""
        for name, kind in _PLACE.findall(text):
            if kind and kind not in TYPES:
                raise UsageError(
                    "{{{name}:{kind}}}: a type is one of {types}", name=name, kind=kind, types=", ".join(TYPES)
                )
            if self.types.setdefault(name, kind or "string") != (kind or self.types[name]):
                raise UsageError("the argument {name!r} has two types", name=name)
        return _PLACE.sub(r"{\1}", text)

    def _take(self, where: str, name: str, value: str) -> None:
        if where != "path" and _PLACE.search(name):
            raise UsageError("the name of a {where} parameter has no arguments: {name!r}", where=where, name=name[:60])
        if (where, name) in self.values:
            raise UsageError("the {where} parameter {name!r} is given twice", where=where, name=name)
        self.values[where, name] = self._placed(value)


def from_curl(line: str, name: str) -> tuple[EndpointTemplate, tuple[str, ...]]:
    """An endpoint out of a cURL line, and the names of the secrets that have to be set for it.

    The values of credentials in the line are not kept: their places are, each with the name of a secret.

    Raises:
        UsageError: the line is no cURL line, or has an option that is not understood.
    """
    try:
        words = shlex.split(line.replace("\\\n", " "))
    except ValueError as error:
        raise UsageError("this is no cURL line: {why}", why=error) from None
    if not words or words[0] != "curl":
        raise UsageError("this is no cURL line: it does not begin with `curl`")
    read = _Curl(name)
    rest = iter(words[1:])
    for word in rest:
        read.take(word, rest)
    url, data, headers, secrets = read.url, read.data, read.headers, read.secrets
    if not url:
        raise UsageError("the cURL line has no address")
    if read.as_query and data:
        url, data = f"{url}{'&' if '?' in url else '?'}{'&'.join(data)}", []
    kind = next((headers.pop(each) for each in list(headers) if each.lower() == "content-type"), "")
    kept, secrets_in_query = without_secrets(url, name)
    body, form = _data(data, kind)
    endpoint = EndpointTemplate(
        name=name,
        method=read.method or ("POST" if data else "GET"),
        url=kept,
        headers=headers,
        body=body,
        form=form,
        secrets=secrets | secrets_in_query,
    )
    return endpoint, tuple(endpoint.secrets.values())


class _Curl:
    """The words of a cURL line, as far as they were read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.method = self.url = ""
        self.headers: dict[str, str] = {}
        self.secrets: dict[str, str] = {}
        self.data: list[str] = []
        self.as_query = False

    def take(self, word: str, rest: Iterator[str]) -> None:
        """Take one word, and the words that belong to it."""
        if word in ("-X", "--request"):
            self.method = next(rest, "")
        elif word in ("-H", "--header"):
            self._header(next(rest, ""))
        elif word in ("-u", "--user"):
            next(rest, "")
            self.secrets["basic"] = f"{self.name}_login"
        elif word in _DATA_OPTIONS:
            self.data.append(next(rest, ""))
            if word == "--json":
                self.headers.setdefault("Content-Type", "application/json")
        elif word in ("-G", "--get"):
            self.as_query = True
        elif word == "--url":
            self.url = next(rest, "")
        elif not word.startswith("-") and not self.url:
            self.url = word
        elif word not in _WITHOUT_MEANING:
            raise UsageError("the cURL option {word!r} is not understood", word=word[:40])

    def _header(self, line: str) -> None:
        said, _, value = (part.strip() for part in line.partition(":"))
        if said.lower() == "authorization" and value.lower().startswith("bearer "):
            self.secrets["bearer"] = f"{self.name}_token"
        elif is_credential(said):
            self.secrets[f"header:{said}"] = f"{self.name}_{secret_word(said)}"
        else:
            self.headers[said] = value


def _data(data: list[str], kind: str) -> tuple[Json, bool]:
    if not data:
        return None, False
    text = "&".join(data)
    if any(each.startswith("@") for each in data):
        raise UsageError("a cURL line that sends a file is not understood")
    if "json" in kind or text.lstrip().startswith(("{", "[")):
        try:
            return parse(text)[0], False
        except JsonProblem as problem:
            raise UsageError("the body of the cURL line is not JSON: {why}", why=problem) from None
    if kind and not kind.startswith(_FORM):
        raise UsageError(
            "a cURL line with a body of the type {kind!r} is not understood: JSON and forms are", kind=kind[:60]
        )
    fields: JsonObject = dict(parse_qsl(text, keep_blank_values=True))
    return fields, True


def without_secrets(url: str, name: str) -> tuple[str, dict[str, str]]:
    """The address without credentials in its query and before its host, and their places."""
    head, mark, query = url.partition("?")
    kept: list[str] = []
    bare = _LOGIN.sub("", head)
    secrets = {} if bare == head else {"basic": f"{name}_login"}
    head = bare
    for pair in query.split("&") if mark else []:
        said = pair.partition("=")[0]
        if is_credential(said):
            secrets[f"query:{said}"] = f"{name}_{secret_word(said)}"
        else:
            kept.append(pair)
    return head + ("?" + "&".join(kept) if kept else ""), secrets


def is_credential(name: str) -> bool:
    """Whether a header or a parameter of this name may hold a credential."""
    return name.lower() in _CREDENTIAL_HEADERS or is_secret_name(name) or bool(_SECRET_WORD.search(name))


def secret_word(text: str) -> str:
    """What the name of a secret says of the header or parameter that has the credential."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "key"


def _scheme(at: str) -> JsonObject:
    """The security scheme for the place of a credential."""
    where, _, name = at.partition(":")
    match where:
        case "bearer" | "basic" if not name:
            return {"type": "http", "scheme": where}
        case "header" | "query" | "cookie" if name:
            return {"type": "apiKey", "in": where, "name": name}
        case _:
            raise UsageError("{at!r} is no place of a credential: bearer, basic, header:NAME or query:NAME", at=at)


def _each_text(value: Json, change: Callable[[str], str]) -> Json:
    match value:
        case dict():
            return {key: _each_text(item, change) for key, item in value.items()}
        case list():
            return [_each_text(item, change) for item in value]
        case str():
            return change(value)
        case _:
            return value
