"""An API document, read: each operation becomes a tool with the plan of its request, or is refused with a reason.

A document that is broken in one operation gives the others. What a document says of itself is a stranger's word: its
texts are stripped of hidden characters, effects come from the method alone, and sinks are only proposed.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from urllib.parse import urljoin

import msgspec

from ...core.attachment import HANDLE
from ...core.errors import BadTool
from ...core.json import Json, JsonObject, dumps
from ...core.tool import Effects, Tool
from ..plain_text import plain
from .items import EVENTS
from .model import (
    ApiDocument,
    ApiOperation,
    ApiParameter,
    ApiResponse,
    ApiServer,
    BadDocument,
    BodyKind,
    FormField,
    ParameterPlace,
    RefusedOperation,
    RequestBody,
    SecurityRequirement,
    SecurityScheme,
    ServerVariable,
)
from .references import Documents, Load, Node
from .schema import Schemas, bounded, may_be_empty, words

OPERATIONS_MAX = 20_000
_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_EFFECTS: dict[str, Effects] = {
    **dict.fromkeys(("GET", "HEAD", "OPTIONS", "QUERY"), "read"),
    **dict.fromkeys(("POST", "PATCH", "PUT"), "write"),
    "DELETE": "destroy",
}  # fmt: skip
_PLACES: dict[str, ParameterPlace] = {place: place for place in ("path", "query", "header", "cookie", "querystring")}
_STYLES = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form", "cookie"),
}
_COLLECTIONS = {"csv": "", "ssv": "spaceDelimited", "tsv": "tabDelimited", "pipes": "pipeDelimited", "multi": "form"}
_SINK = re.compile(
    r"(?i)(e-?mail|^to$|^cc$|^bcc$|recipient|phone|url|uri|webhook|callback|href|host|address|(^|_)ids?$|Ids?$)"
)
_HEADERS_OF_OUR_OWN = {
    *("accept", "content-type", "authorization"),
    *("cookie", "host", "content-length", "transfer-encoding", "connection", "proxy-authorization"),
    # A server that heeds these would do something else than the method says, from which the effects of a tool come.
    *("x-http-method-override", "x-http-method", "x-method-override"),
}
"""Headers that no argument of a tool sets."""
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def read_api(document: JsonObject, address: str = "", load: Load | None = None) -> ApiDocument:
    """Read an API document.

    Args:
        document: as `text.read_text` gives it.
        address: where it comes from, absolute; relative server addresses and references are taken from there.
        load: gives other files that the document refers to, by their address.

    Raises:
        BadDocument: it is no document of OpenAPI 3.0 to 3.2 or Swagger 2.0, or has more than 20,000 operations.
    """
    return DocumentReader(document, address, load).api()


def response_schema(reader: DocumentReader, response: ApiResponse) -> JsonObject:
    """The whole schema of an answer, as JSON Schema; empty where the document says none."""
    return reader.schemas.whole(reader.documents.at(response.schema), "response") if response.schema else {}


def argument_schema(reader: DocumentReader, operation: ApiOperation) -> JsonObject:
    """The schema of an operation's arguments with nothing cut."""
    return reader.plan(reader.documents.at(operation.pointer), operation.method, operation.path)[1]


def result_schemas(reader: DocumentReader, operations: Sequence[ApiOperation]) -> JsonObject:
    """The schemas of the JSON that operations answer with when all is well, together, so that parts are held once.

    Returns:
        A schema with `properties` by tool and status, as in `get_pet 200`, or `get_pet 200 item` for the items of a
        stream, and `$defs`; see `part_of` of `schema.py`.
    """
    members: JsonObject = {}
    for operation in operations:
        for response in operation.responses:
            is_items = response.streamed and response.is_stream and EVENTS not in response.media_type
            is_json = not response.streamed and _kind(response.media_type) == "json"
            if response.schema and (is_json or is_items) and response.status[:1] in ("2", "d"):
                with suppress(BadDocument, RecursionError):
                    schema = reader.schemas.converted(reader.documents.at(response.schema), "response")
                    members[f"{operation.tool.name} {response.status.upper()}{' item' if is_items else ''}"] = schema
    try:
        return reader.schemas.closed({"properties": members}, "response") if members else {}
    except (BadDocument, RecursionError):
        return {}


class DocumentReader:
    """One document under reading. `read_api` is the short way; a reader also gives the parts that were cut.

    Args: as `read_api` has them.
    """

    def __init__(self, document: JsonObject, address: str = "", load: Load | None = None) -> None:
        self.version = str(document.get("openapi") or document.get("swagger") or "")
        if not re.match(r"2\.0$|3\.[012](\.|$)", self.version):
            said = f"it says {self.version[:20]!r}" if self.version else "it does not say which version it is"
            raise BadDocument("this is no document of OpenAPI 3.0, 3.1, 3.2 or Swagger 2.0: {said}", said=said)
        self.old = self.version.startswith("2.")
        self.documents = Documents(document, address, load)
        self.schemas = Schemas(self.documents, self.version)
        self.address = address
        self.base = urljoin(address, self.documents.root.text("$self"))
        self.root = self.documents.root

    def api(self) -> ApiDocument:
        """Everything the document offers."""
        if not isinstance(self.root.value, dict) or not isinstance(self.root.value.get("paths", {}), dict):
            raise BadDocument("the paths of the document are not an object", "#/paths")
        operations: list[ApiOperation] = []
        refused: list[RefusedOperation] = []
        counts = Counter(webhooks=len(self.root.child("webhooks").members()))
        for method, path, node in self._found(refused):
            if len(operations) + len(refused) >= OPERATIONS_MAX:
                raise BadDocument("the document has more than {most} operations", most=OPERATIONS_MAX)
            counts["callbacks"] += len(node.child("callbacks").members())
            for _, response in node.child("responses").members():
                counts["links"] += len(response.child("links").members())
            try:
                operations.append(self._operation(node, method, path))
            except BadDocument as error:
                refused.append(RefusedOperation(method, path, error.pointer or f"#{node.pointer}", error.reason))
            except (BadTool, RecursionError) as error:
                refused.append(RefusedOperation(method, path, f"#{node.pointer}", str(error) or "nested too deep"))
        return ApiDocument(
            title=words(self.root.child("info").text("title")),
            version=self.version,
            address=self.address,
            operations=_with_own_names(operations),
            refused=tuple(refused),
            schemes=self._known_schemes(),
            not_covered={name: count for name, count in counts.items() if count},
            unchecked=dict(self.schemas.unchecked),
        )

    def _found(self, refused: list[RefusedOperation]) -> Iterator[tuple[str, str, Node]]:
        for path, node in self.root.child("paths").members():
            if path.startswith("x-"):
                continue
            try:
                item = self._resolved(node)
                given = item.fields
            except BadDocument as error:
                refused.append(RefusedOperation("*", path, error.pointer, error.reason))
                continue
            for key in given:
                if key.lower() in _METHODS and key == key.lower():
                    yield key.upper(), path, item.child(key)
            for method, extra in item.child("additionalOperations").members():
                if _TOKEN.fullmatch(method):
                    yield method, path, extra
                else:
                    refused.append(
                        RefusedOperation(method[:40], path, f"#{extra.pointer}", "this is no method of HTTP")
                    )

    def _resolved(self, node: Node) -> Node:
        return self.documents.resolve(node)

    def _operation(self, node: Node, method: str, path: str) -> ApiOperation:
        given = node.fields
        if not path.startswith("/"):
            raise node.bad("the path does not begin with '/'")
        (parameters, body), arguments = self.plan(node, method, path)
        _check_visible(node, arguments)
        slim, cut = bounded(arguments)
        effect = _EFFECTS.get(method)
        summary, description = words(node.text("summary")), words(node.text("description"))
        said = " ".join(part if part[-1:] in ".!?。…" else f"{part}." for part in (summary, description) if part)
        if summary and description.startswith(summary.rstrip(".")):
            said = description
        if given.get("deprecated") is True:
            said = f"Deprecated. {said}"
        tool = Tool(
            name=_name(node.text("operationId"), method, path),
            description=said or f"{method} {path}",
            parameters=slim,
            effects=frozenset({effect}) if effect else None,
            idempotent=method == "PUT",
            foreign=True,
        )
        return ApiOperation(
            tool=tool,
            method=method,
            path=path,
            pointer=node.uri,
            operation_id=node.text("operationId"),
            tags=tuple(str(tag.value) for tag in node.child("tags").items()),
            deprecated=given.get("deprecated") is True,
            parameters=parameters,
            body=body,
            servers=self._servers(node),
            security=self._security(node),
            responses=tuple(self._responses(node)),
            proposed_sinks=_sinks(parameters, body, tool),
            cut=cut,
        )

    def plan(
        self, node: Node, method: str, path: str
    ) -> tuple[tuple[tuple[ApiParameter, ...], RequestBody | None], JsonObject]:
        """How arguments become a request, and the whole schema of the arguments."""
        found: list[ApiParameter] = []
        members: JsonObject = {}
        forms: list[Node] = []
        bodies: list[Node] = []
        listed = self._parameters(node)
        takes = Counter(argument_name(parameter.text("name")) for parameter in listed)
        for parameter in listed:
            place = parameter.text("in")
            if self.old and place == "formData":
                forms.append(parameter)
            elif self.old and place == "body":
                bodies.append(parameter)
            elif place != "header" or parameter.text("name").lower() not in _HEADERS_OF_OUR_OWN:
                plan = self._parameter(parameter, takes)
                while plan.argument in members:
                    plan = msgspec.structs.replace(plan, argument=f"{plan.argument}_2")
                found.append(plan)
                members[plan.argument] = self._described(self._schema_of(parameter), parameter)
        _check_path(node, path, found)
        required = [plan.argument for plan in found if plan.required]
        body = (
            self._old_body(node, bodies, forms, members, required) if self.old else self._body(node, members, required)
        )
        said = {plan.argument for plan in found if plan.where in ("path", "header", "cookie")}
        members |= {name: may_be_empty(members[name]) for name in required if name not in said}
        whole: JsonObject = {"type": "object", "properties": members}
        if required:
            whole["required"] = list(required)
        return (tuple(found), body), self.schemas.closed(whole, "request")

    def _item(self, node: Node) -> Node:
        """The path item around an operation."""
        levels = 2 if "/additionalOperations/" in node.pointer else 1
        return self.documents.at(f"{node.address}#{node.pointer.rsplit('/', levels)[0]}")

    def _parameters(self, node: Node) -> list[Node]:
        found: dict[tuple[str, str], Node] = {}
        for owner in (self._item(node), node):
            for entry in owner.child("parameters").items():
                parameter = self._resolved(entry)
                if not parameter.text("name") and parameter.text("in") != "querystring":
                    raise parameter.bad("a parameter has no name")
                found[parameter.text("in"), parameter.text("name")] = parameter
        return list(found.values())

    def _parameter(self, node: Node, takes: Counter[str]) -> ApiParameter:
        given, name = node.fields, node.text("name")
        where = _PLACES.get(node.text("in"))
        if where is None:
            raise node.bad(f"a parameter can not be in {node.text('in')[:40]!r}")
        if where in ("header", "cookie") and not _TOKEN.fullmatch(name):
            raise node.bad(f"{name[:60]!r} is no name of a {where}")
        argument = argument_name(name)
        content = node.child("content").members()
        collection = _COLLECTIONS.get(node.text("collectionFormat"), "") if self.old else ""
        usual = "form" if where in ("query", "cookie") else "simple"
        style = (collection if self.old else node.text("style")) or usual
        if where in _STYLES and style not in (*_STYLES[where], *(["tabDelimited"] if self.old else [])):
            style = usual
        explode = given.get("explode")
        return ApiParameter(
            name=name,
            argument=argument if takes[argument] == 1 else f"{argument}_{where}",
            where=where,
            style=style,
            explode=node.text("collectionFormat") == "multi"
            if self.old
            else explode
            if isinstance(explode, bool)
            else style in ("form", "cookie"),
            allow_reserved=given.get("allowReserved") is True,
            media_type=content[0][0] if content else "",
            required=where == "path" or given.get("required") is True,
        )

    def _schema_of(self, node: Node) -> Node:
        if self.old:
            return node
        content = node.child("content").members()
        return content[0][1].child("schema") if content else node.child("schema")

    def _described(self, schema: Node, owner: Node) -> JsonObject:
        found = {} if schema.value is None else self.schemas.converted(schema, "request")
        said = words(owner.text("description"))
        return found | {"description": said} if said else found

    def _old_body(
        self, node: Node, bodies: list[Node], forms: list[Node], members: JsonObject, required: list[str]
    ) -> RequestBody | None:
        consumes = node.fields.get("consumes") or self.root.fields.get("consumes")
        types = [kind for kind in consumes if isinstance(kind, str)] if isinstance(consumes, list) else []
        if bodies:
            media_type, kind = _preferred(types or ["application/json"], node)
            argument = "request_body" if "body" in members else "body"
            handle: JsonObject = {"type": "string", "description": HANDLE}
            members[argument] = handle if kind == "binary" else self._described(bodies[0].child("schema"), bodies[0])
            must = bodies[0].fields.get("required") is True
            if must:
                required.append(argument)
            return RequestBody(argument, kind, _sent_as(media_type, kind), must)
        if not forms:
            return None
        files = {form.text("name") for form in forms if form.text("type") == "file"}
        multipart = bool(files) or ("multipart/form-data" in types and _FORM not in types)
        fields: dict[str, FormField] = {}
        for form in forms:
            name = form.text("name")
            if name in members:
                raise form.bad(f"the field {name[:60]!r} has the name of another parameter")
            members[name] = self._described(form, form) | ({"description": HANDLE} if name in files else {})
            many = form.text("collectionFormat") == "multi"
            fields[name] = FormField(
                style=_COLLECTIONS.get(form.text("collectionFormat")) or "form", explode=many, file=name in files
            )
            if form.fields.get("required") is True:
                required.append(name)
        return RequestBody(
            "", "multipart" if multipart else "form", "multipart/form-data" if multipart else _FORM, False, fields, True
        )

    def _body(self, node: Node, members: JsonObject, required: list[str]) -> RequestBody | None:
        if node.fields.get("requestBody") is None:
            return None
        body = self._resolved(node.child("requestBody"))
        content = dict(body.child("content").members())
        if not content:
            return None
        media_type, kind = _preferred(list(content), body)
        media = self._resolved(content[media_type])
        argument = "request_body" if "body" in members else "body"
        schema = media.child("schema")
        fields: dict[str, FormField] = {}
        must = body.fields.get("required") is True
        if must:
            required.append(argument)
        if kind == "binary":
            members[argument] = {"type": "string", "description": HANDLE}
        elif kind in ("form", "multipart"):
            members[argument], fields = self._form(media, schema)
        else:
            members[argument] = self._described(schema, body)
        return RequestBody(argument, kind, _sent_as(media_type, kind), must, fields)

    def _form(self, media: Node, schema: Node) -> tuple[JsonObject, dict[str, FormField]]:
        """The schema of a form, in which files are handles, and how each field is written."""
        whole = self.schemas.converted(schema, "request") if schema.value is not None else {}
        properties: JsonObject = {}
        fields: dict[str, FormField] = {}
        needed: list[Json] = []
        for owner in self._branches(schema, 0):
            must = owner.fields.get("required")
            needed += must if isinstance(must, list) else []
            for name, node in owner.child("properties").members():
                real = self._resolved(node)
                if real.fields.get("readOnly") is True:
                    continue
                encoding = media.child("encoding", name)
                listed = self._resolved(real.child("items")) if real.text("type") == "array" else real
                file = listed.text("format") == "binary" or bool(listed.text("contentMediaType"))
                file = file or (
                    listed.text("type") == ""
                    and encoding.text("contentType").startswith(("image/", "application/octet"))
                )
                explode = encoding.fields.get("explode") if encoding.value is not None else None
                fields[name] = FormField(
                    media_type=encoding.text("contentType"),
                    style=encoding.text("style") or "form",
                    explode=explode is not False,
                    allow_reserved=encoding.value is not None and encoding.fields.get("allowReserved") is True,
                    file=file,
                )
                handle: JsonObject = {"type": "string", "description": HANDLE}
                if file:
                    properties[name] = {"type": "array", "items": handle} if listed is not real else handle
                else:
                    properties[name] = self.schemas.converted(node, "request")
        if not properties:
            return whole, fields
        form: JsonObject = {"type": "object", "properties": properties}
        kept: list[Json] = [name for name in needed if isinstance(name, str) and name in properties]
        if kept:
            form["required"] = kept
            properties |= {str(name): may_be_empty(properties[str(name)]) for name in kept}
        return form, fields

    def _branches(self, node: Node, depth: int) -> Iterator[Node]:
        node = self._resolved(node)
        if isinstance(node.value, dict) and depth < 20:
            yield node
            for part in node.child("allOf").items():
                yield from self._branches(part, depth + 1)

    def _servers(self, node: Node) -> tuple[ApiServer, ...]:
        if self.old:
            return self._old_servers(node)
        for owner in (node, self._item(node), self.root):
            found = [self._server(server) for server in owner.child("servers").items()]
            if found:
                return tuple(found)
        return (ApiServer(urljoin(self.base, "/")),) if self.base.startswith(("http://", "https://")) else ()

    def _server(self, node: Node) -> ApiServer:
        url = node.text("url")
        variables: dict[str, ServerVariable] = {}
        for name, variable in node.child("variables").members():
            given = variable.fields
            default, allowed = given.get("default"), given.get("enum")
            variables[name] = ServerVariable(
                str(default) if isinstance(default, str | int | float) else None,
                tuple(str(value) for value in allowed) if isinstance(allowed, list) else (),
            )
        if "://" in url or url.startswith("{") or not self.base.startswith(("http://", "https://")):
            return ApiServer(url, variables)
        return ApiServer(urljoin(self.base, url), variables)

    def _old_servers(self, node: Node) -> tuple[ApiServer, ...]:
        root = self.root
        here = self.base.split("://")
        host = root.text("host") or (here[1].split("/")[0] if len(here) == 2 and here[0].startswith("http") else "")
        given = node.fields.get("schemes") or root.fields.get("schemes")
        schemes = [str(scheme) for scheme in given] if isinstance(given, list) else []
        usable = sorted((scheme for scheme in schemes if scheme in ("http", "https")), reverse=True)
        if not schemes:
            usable = [here[0] if here[0] in ("http", "https") else "https"]
        return tuple(ApiServer(f"{scheme}://{host}{root.text('basePath')}") for scheme in usable) if host else ()

    def _security(self, node: Node) -> tuple[tuple[SecurityRequirement, ...], ...]:
        owner = node if "security" in node.fields else self.root
        known = dict(self._schemes())
        alternatives: list[tuple[SecurityRequirement, ...]] = []
        unknown = ""
        for entry in owner.child("security").items():
            needed: list[SecurityRequirement] = []
            for name, scopes in entry.members():
                if name not in known or _scheme(name, self._resolved(known[name])) is None:
                    unknown = name
                    break
                asked = scopes.value if isinstance(scopes.value, list) else []
                needed.append(SecurityRequirement(name, tuple(str(scope) for scope in asked)))
            else:
                alternatives.append(tuple(needed))
        if unknown and not alternatives:
            raise owner.child("security").bad(f"the security scheme {unknown[:60]!r} is not known")
        return tuple(alternatives)

    def _known_schemes(self) -> dict[str, SecurityScheme]:
        """The schemes that can be used. An operation that needs one of the others is refused for itself."""
        found: dict[str, SecurityScheme] = {}
        for name, node in self._schemes():
            with suppress(BadDocument):
                if scheme := _scheme(name, self._resolved(node)):
                    found[name] = scheme
        return found

    def _schemes(self) -> list[tuple[str, Node]]:
        place = ("securityDefinitions",) if self.old else ("components", "securitySchemes")
        return self.root.child(*place).members()

    def _responses(self, node: Node) -> Iterator[ApiResponse]:
        for status, entry in node.child("responses").members():
            if status.startswith("x-"):
                continue
            response = self._resolved(entry)
            if self.old:
                schema = response.child("schema")
                yield ApiResponse(
                    status, "application/json" if schema.value else "", schema.uri if schema.value else ""
                )
                continue
            content = response.child("content").members()
            for media_type, media in content:
                streamed = media.child("itemSchema").value is not None
                schema = media.child("itemSchema" if streamed else "schema")
                yield ApiResponse(status, media_type, schema.uri if schema.value is not None else "", streamed)
            if not content:
                yield ApiResponse(status)


_FORM = "application/x-www-form-urlencoded"


def argument_name(name: str) -> str:
    """The name of a parameter as an argument: letters of ASCII, digits, `_`, `.` and `-`.

    >>> argument_name("filter[name]")
    'filter_name'
    """
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_") or "parameter"


def _kind(media_type: str) -> BodyKind | None:
    plain = media_type.partition(";")[0].strip().lower()
    if plain in ("application/json", "*/*") or plain.endswith("+json"):
        return "json"
    if plain == _FORM:
        return "form"
    if plain == "multipart/form-data":
        return "multipart"
    if plain.endswith(("/xml", "+xml")):
        return None
    return "text" if plain.startswith("text/") and plain != "text/*" else "binary"


def _sent_as(media_type: str, kind: BodyKind) -> str:
    """The type that a body is sent with: of a range, a type in it. A file is sent with its own type.

    >>> _sent_as("application/*+json", "json"), _sent_as("text/plain", "text"), _sent_as("image/*", "binary")
    ('application/json', 'text/plain', 'image/*')
    """
    return "application/json" if kind == "json" and "*" in media_type else media_type


def _preferred(media_types: list[str], node: Node) -> tuple[str, BodyKind]:
    order = ("json", "form", "multipart", "text", "binary")
    usable = [(order.index(kind), media_type, kind) for media_type in media_types if (kind := _kind(media_type))]
    if not usable:
        raise node.bad("the body is XML, and XML bodies are not built")
    _, media_type, kind = min(usable, key=lambda entry: entry[0])
    return media_type, kind


_CONTROL = re.compile(r"\\u00[01][0-9a-f]")


def _check_visible(node: Node, arguments: JsonObject) -> None:
    """Names and values of arguments are sent as they are: none may have characters that a person does not see."""
    text = dumps(arguments)
    if plain(text) != text or _CONTROL.search(text):
        raise node.bad("a name or a value in its arguments has hidden characters")


def _check_path(node: Node, path: str, parameters: list[ApiParameter]) -> None:
    asked = set(re.findall(r"\{([^{}]+)\}", path))
    given = {parameter.name for parameter in parameters if parameter.where == "path"}
    if missing := sorted(asked - given):
        raise node.bad(f"the path has {{{missing[0]}}}, and no parameter says what that is")
    if extra := sorted(given - asked):
        raise node.bad(f"the path parameter {extra[0][:60]!r} does not stand in the path")


def _scheme(name: str, node: Node) -> SecurityScheme | None:
    kind, http = node.text("type"), node.text("scheme").lower()
    flows = node.fields.get("flows")
    match kind:
        case "apiKey" if node.text("in") in ("header", "query", "cookie") and node.text("name"):
            return SecurityScheme(name, "apiKey", node.text("in"), node.text("name"))  # type: ignore[arg-type]
        case "basic":
            return SecurityScheme(name, "basic")
        case "http" if http:
            return SecurityScheme(name, http)
        case "oauth2" if isinstance(flows, dict):
            return SecurityScheme(name, "oauth2", flows=flows, discovery=node.text("oauth2MetadataUrl"))
        case "oauth2":
            said = {
                key: value for key, value in node.fields.items() if key in ("authorizationUrl", "tokenUrl", "scopes")
            }
            flow = {"application": "clientCredentials", "accessCode": "authorizationCode"}
            return SecurityScheme(name, "oauth2", flows={flow.get(node.text("flow"), node.text("flow")): said})
        case "openIdConnect":
            return SecurityScheme(name, kind, discovery=node.text("openIdConnectUrl"))
        case "mutualTLS":
            return SecurityScheme(name, kind, "certificate", "")
        case _:
            return None


def _name(operation_id: str, method: str, path: str) -> str:
    for text in (operation_id, f"{method.lower()}{path}"):
        name = re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("_.-")
        if re.search("[A-Za-z]", name):
            return name if len(name) <= 100 else f"{name[:90]}_{_mark(method, path)}"
    return f"operation_{_mark(method, path)}"


def _mark(method: str, path: str) -> str:
    return hashlib.sha256(f"{method} {path}".encode()).hexdigest()[:6]


def _with_own_names(operations: list[ApiOperation]) -> tuple[ApiOperation, ...]:
    """Operations whose name another one has get a suffix that depends on method and path alone."""
    takes = Counter(operation.tool.name for operation in operations)
    return tuple(
        operation
        if takes[operation.tool.name] == 1
        else msgspec.structs.replace(
            operation,
            tool=msgspec.structs.replace(
                operation.tool, name=f"{operation.tool.name}_{_mark(operation.method, operation.path)}"
            ),
        )
        for operation in operations
    )


def may_be_sink(name: str) -> bool:
    """Whether the name of an argument suggests that the argument says where something goes or who gets it."""
    return bool(_SINK.search(name))


def _sinks(parameters: tuple[ApiParameter, ...], body: RequestBody | None, tool: Tool) -> tuple[str, ...]:
    found = [plan.argument for plan in parameters if plan.where == "path" or _SINK.search(plan.name)]
    schema = tool.property_schemas().get(body.argument, {}) if body else {}
    fields = schema.get("properties")
    if body and not body.flat and isinstance(fields, dict) and any(_SINK.search(name) for name in fields):
        found.append(body.argument)
    if body and body.flat:
        found += [name for name in body.fields if _SINK.search(name)]
    return tuple(dict.fromkeys(found))
