"""What an API document says, as plain data: its operations, parameters, bodies, servers and security."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from ...core.errors import UsageError
from ...core.json import JsonObject
from ...core.language.sentence import Sentence, as_sentence
from ...core.tool import Tool
from .items import STREAMS

ParameterPlace = Literal["path", "query", "header", "cookie", "querystring"]
BodyKind = Literal["json", "form", "multipart", "text", "binary"]
CredentialPlace = Literal["header", "query", "cookie", "certificate"]

_VARIABLE = re.compile(r"\{([^{}]+)\}")


class BadDocument(UsageError):
    """A document, or a part of a document, that can not be used.

    Args:
        reason: what is wrong, in plain words.
        pointer: where, as a JSON pointer; before it the address of the file, where that is another file.
        values: what is put into the reason, where the reason is a template.
    """

    def __init__(self, reason: str, pointer: str = "", /, **values: object) -> None:
        sentence = as_sentence(reason, values)
        self.reason = str(sentence)
        self.pointer = pointer
        super().__init__(Sentence("{why}, at {pointer}", why=sentence, pointer=pointer) if pointer else sentence)


class ServerVariable(Struct, frozen=True, omit_defaults=True):
    """A variable in the address of a server; `values` lists what is allowed, empty for anything."""

    default: str | None = None
    values: tuple[str, ...] = ()


class ApiServer(Struct, frozen=True, omit_defaults=True):
    """A base address. A relative address is already joined with the address of the document."""

    url: str
    variables: dict[str, ServerVariable] = {}

    def address(self, given: dict[str, str] | None = None) -> str:
        """The address with its variables filled in.

        Args:
            given: values that the operator chose; the default of the document counts for the others.

        Raises:
            BadDocument: a variable has no value or one that the document does not allow, or is not a part of an
                address (a variable can not bring `/`, `@`, `?`, `#` or `\\` into the name of the host).
        """

        def value(found: re.Match[str]) -> str:
            name = found[1]
            variable = self.variables.get(name, ServerVariable())
            chosen = (given or {}).get(name, variable.default)
            if chosen is None:
                raise BadDocument("the server {url} needs a value for its variable {name!r}", url=self.url, name=name)
            if variable.values and chosen not in variable.values:
                raise BadDocument(
                    "the server variable {name!r} must be one of {values}", name=name, values=", ".join(variable.values)
                )
            in_host = "/" not in self.url[: found.start()].partition("://")[2]
            if re.search(r"[\s\x00-\x1f\x7f]", chosen) or (
                in_host and "://" in self.url and re.search(r"[/@?#\\]", chosen)
            ):
                raise BadDocument(
                    "the value of the server variable {name!r} has characters that are not allowed", name=name
                )
            return chosen

        return _VARIABLE.sub(value, self.url).rstrip("/")


class SecurityScheme(Struct, frozen=True, omit_defaults=True):
    """A way to show who asks.

    Attributes:
        name: its name in the document.
        kind: `apiKey`, `basic`, `bearer`, `oauth2`, `openIdConnect`, `mutualTLS`, or a scheme of HTTP by its own name.
        where: the part of the request that takes the credential.
        parameter: name of the header, query parameter or cookie.
        flows: for OAuth 2.0: each flow's addresses and scopes, as the document says them.
        discovery: for OpenID Connect, and for OAuth 2.0 from 3.2 on: where the settings of the issuer are.
    """

    name: str
    kind: str
    where: CredentialPlace = "header"
    parameter: str = "Authorization"
    flows: JsonObject = {}
    discovery: str = ""

    @property
    def prefix(self) -> str:
        """The text before the credential in its place."""
        prefixes = {"apiKey": "", "basic": "Basic ", "mutualTLS": ""}
        return prefixes.get(self.kind, "Bearer ")


class SecurityRequirement(Struct, frozen=True, omit_defaults=True):
    """One scheme that a request needs, and the scopes in it."""

    scheme: str
    scopes: tuple[str, ...] = ()


class ApiParameter(Struct, frozen=True, omit_defaults=True):
    """One parameter outside the body.

    Attributes:
        name: its name in the request.
        argument: the name of the tool's argument.
        where: the part of the request.
        style, explode, allow_reserved: how its value is written, as OpenAPI defines these.
        media_type: for a parameter with `content`: the value is written so, mostly as JSON.
        required: whether it must be given.
    """

    name: str
    argument: str
    where: ParameterPlace
    style: str = "simple"
    explode: bool = False
    allow_reserved: bool = False
    media_type: str = ""
    required: bool = False


class FormField(Struct, frozen=True, omit_defaults=True):
    """How a field of a form is written. With `file` its value is the handle of an attachment."""

    media_type: str = ""
    style: str = "form"
    explode: bool = True
    allow_reserved: bool = False
    file: bool = False


class RequestBody(Struct, frozen=True, omit_defaults=True):
    """The body of a request. `fields` is for forms. In Swagger 2.0 each field of a form is an argument: `flat`."""

    argument: str
    kind: BodyKind
    media_type: str
    required: bool = False
    fields: dict[str, FormField] = {}
    flat: bool = False


class ApiResponse(Struct, frozen=True, omit_defaults=True):
    """An answer the document promises.

    Attributes:
        status: `200`, `2XX` or `default`.
        media_type: its type; empty without a body.
        schema: where the schema stands, as address and JSON pointer; see `reading.response_schema`.
        streamed: the schema is of each item of a stream (`itemSchema` of 3.2).
    """

    status: str
    media_type: str = ""
    schema: str = ""
    streamed: bool = False

    @property
    def is_stream(self) -> bool:
        """Whether the answer is a stream of items, by the document or by its media type."""
        return self.streamed or self.media_type.partition(";")[0].strip().lower() in STREAMS


class ApiOperation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One operation, as a tool and as the plan of a request.

    Attributes:
        tool: the tool: name, words, parameters, effects. Foreign.
        method, path: as in the document; the method in capitals.
        pointer: where it stands.
        servers: base addresses, the nearest level that names any.
        security: alternatives, each the schemes that are needed together. An empty alternative needs none.
        proposed_sinks: arguments that may say where something goes, for a person to accept.
        cut: parts of the arguments' schema were left out, see `reading.argument_schema`.
    """

    tool: Tool
    method: str
    path: str
    pointer: str
    operation_id: str = ""
    tags: tuple[str, ...] = ()
    deprecated: bool = False
    parameters: tuple[ApiParameter, ...] = ()
    body: RequestBody | None = None
    servers: tuple[ApiServer, ...] = ()
    security: tuple[tuple[SecurityRequirement, ...], ...] = ()
    responses: tuple[ApiResponse, ...] = ()
    proposed_sinks: tuple[str, ...] = ()
    cut: bool = False


class RefusedOperation(Struct, frozen=True):
    """An operation that did not become a tool: which, where (JSON pointer) and why."""

    method: str
    path: str
    pointer: str
    reason: str


class ApiDocument(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A document as read.

    Attributes:
        version: of the format: `2.0`, `3.0.3`, ...
        unchecked: by their places, the patterns that the validator does not know; values are not held to these.
        not_covered: how many callbacks, webhooks and links the document has; nothing is made of them.
    """

    title: str
    version: str
    address: str
    operations: tuple[ApiOperation, ...] = ()
    refused: tuple[RefusedOperation, ...] = ()
    schemes: dict[str, SecurityScheme] = {}
    not_covered: dict[str, int] = {}
    unchecked: dict[str, str] = {}
