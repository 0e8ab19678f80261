"""The document of our own API, OpenAPI 3.1, made of the list of operations and of the types that handlers use.

Source: OpenAPI 3.1.1, JSON Schema 2020-12.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from ...core.json import Json, JsonObject
from ...features.described import attributes_in
from ...features.operation import AnswerKind, Operation
from ...features.refusal import ProblemDetails, phrase
from ...toolsets.declared.declaration import declaration_schema
from ..scopes import SCOPES
from .problem import PROBLEM_TYPE

KEY_PATTERN = "^[!-~]{1,255}$"
"""What an `Idempotency-Key` may be."""
LAST_EVENT_PATTERN = "^[0-9]{0,9}$"
"""What a `Last-Event-ID` may be; empty where the client has no event."""

_ERRORS: Mapping[int, tuple[str, str]] = {
    400: ("malformed", "The body is not JSON, or a header is not what it should be."),
    401: ("unauthorized", "A key is needed. `WWW-Authenticate` names the scheme."),
    403: ("scope", "The key has none of the scopes that are needed; or the policy denies the call."),
    404: ("not_found", "There is no such thing for you. What belongs to somebody else is not told apart."),
    408: ("request_timeout", "The request did not arrive in time."),
    409: ("busy", "The run is under way elsewhere, or the `Idempotency-Key` was used for another request."),
    410: ("forgotten", "What the run said was deleted for good."),
    413: ("content_too_large", "The body is too large."),
    415: ("content_type", "The body has to be `application/json`."),
    422: ("invalid", "A value does not fit. `problems` names each value."),
    429: ("rate_limited", "You ask too often, or have too much under way. `Retry-After` says when to come back."),
    500: ("internal", "Something went wrong. The log of the server has the cause under `reference`."),
    503: ("stopping", "The server is busy or stops. `Retry-After` says when to come back."),
}
"""Each status of an error: an example of its code, and what it means."""


def errors_of(operation: Operation) -> list[int]:
    """The statuses of all errors that an operation answers."""
    found = {500, 503, *operation.errors}
    if not operation.is_open:
        found |= {401, 403, 429}
    if operation.names:
        found.add(404)
    if operation.query is not None:
        found |= {422, 404} if "cursor" in operation.query.__struct_fields__ else {422}
    if operation.takes_last_event:
        found.add(400)
    if operation.method != "get":
        found.add(400)
    if operation.body is not None:
        found |= {408, 413, 415, 422}
    if operation.takes_key:
        found.add(409)
    return sorted(found)


def document(operations: Iterable[Operation], *, version: str, features: Mapping[str, str] | None = None) -> JsonObject:
    """The document.

    Args:
        operations: all operations.
        version: of the program.
        features: the names of features with operations, each with what the feature is for.
    """
    operations = list(operations)
    bodies = [operation.body for operation in operations if operation.body is not None]
    replies = [
        each for operation in operations for reply in operation.replies.values() for each in (reply.body, *reply.others)
    ]
    bodies += [body for body in replies if isinstance(body, type) and issubclass(body, Struct)]
    _, components = msgspec.json.schema_components(
        [*dict.fromkeys(bodies), ProblemDetails], ref_template="#/components/schemas/{name}"
    )
    paths: JsonObject = {}
    for operation in operations:
        place = paths.setdefault(operation.path.replace(":path}", "}"), {})
        assert isinstance(place, dict)
        place[operation.method] = _operation(operation)
    tags: list[JsonObject] = [{"name": name, "description": title} for name, title in (features or {}).items()]
    declaration, others = declaration_schema("#/components/schemas/{name}")
    components |= {"ToolDeclaration": declaration, **others}
    schemas: JsonObject = {name: _described(schema) for name, schema in sorted(components.items())}
    return {
        "openapi": "3.1.1",
        "info": {
            "title": "actum",
            "version": version,
            "summary": "Tools, agents and what they did: one call path, everything on record.",
            "description": (
                "Within `/v1` fields and routes are only added. Every error has one shape, `application/problem+json`. "
                "Times are seconds since 1970."
            ),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [
            {"name": "tools", "description": "Tools, and calls of them."},
            {"name": "runs", "description": "Questions to agents, and what becomes of them."},
            {"name": "tasks", "description": "Calls and runs that outlive the request that asked for them."},
            {"name": "approvals", "description": "What waits for a person."},
            {"name": "sessions", "description": "Conversations."},
            {"name": "audit", "description": "Who did what, and why it was allowed."},
            {"name": "server", "description": "The server itself."},
            *tags,
        ],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A key of `actum keys add`, or a token of the issuer that the server names. Scopes: "
                    + " ".join(f"`{name}`: {means}" for name, means in {**SCOPES, **(features or {})}.items()),
                }
            },
        },
    }


def _operation(operation: Operation) -> JsonObject:
    scopes = " or ".join(f"`{scope}`" for scope in (*operation.scopes, "admin"))
    about = [operation.description, f"Needs the scope {scopes}." if operation.scopes else ""]
    responses: JsonObject = {
        str(status): _reply(reply, operation, status) for status, reply in sorted(operation.replies.items())
    }
    responses |= {str(status): _error(status, operation) for status in errors_of(operation)}
    told: JsonObject = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "description": " ".join(filter(None, about)) or operation.summary,
        "parameters": [*_parameters(operation)],
        "responses": responses,
        "security": [] if operation.is_open else [{"key": [*operation.scopes]}],
    }
    if operation.body is not None:
        schema: JsonObject = {"$ref": f"#/components/schemas/{operation.body.__name__}"}
        told["requestBody"] = {
            "required": not operation.body_is_optional,
            "content": {"application/json": {"schema": schema, "example": operation.example}},
        }
    return told


def _parameters(operation: Operation) -> list[JsonObject]:
    found: list[JsonObject] = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": means,
            "schema": {"type": "string"},
            "example": {"name": "add", "id": "c1"}[name] if operation.tag in ("tools", "sessions") else f"{name}_1",
        }
        for name, means in operation.names.items()
    ]
    if operation.query is not None:
        found += _query_parameters(operation.query)
    if operation.takes_key:
        found.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "description": (
                    "A text that you choose, new for each new request. The same request with the same key starts "
                    "nothing a second time and is answered the same."
                ),
                "schema": {"type": "string", "pattern": KEY_PATTERN},
                "example": "5f0c8a52-7d0e-4a3b-9a53-1c6d4d2f8e11",
            }
        )
    if operation.takes_last_event:
        found.append(
            {
                "name": "Last-Event-ID",
                "in": "header",
                "required": False,
                "description": "The id of the last event that you have.",
                "schema": {"type": "string", "pattern": LAST_EVENT_PATTERN},
                "example": "3",
            }
        )
    return found


def _query_parameters(query: type[Struct]) -> list[JsonObject]:
    (_,), components = msgspec.json.schema_components([query], ref_template="#/components/schemas/{name}")
    schema = _described(components[query.__name__])
    properties = schema["properties"]
    assert isinstance(properties, dict)
    found: list[JsonObject] = []
    needed = schema.get("required")
    for name, field in properties.items():
        assert isinstance(field, dict)
        means, is_needed = field.pop("description", ""), isinstance(needed, list) and name in needed
        found.append({"name": name, "in": "query", "required": is_needed, "description": means, "schema": field})
    return found


def _reply(reply: AnswerKind, operation: Operation, status: int) -> JsonObject:
    told: JsonObject = {"description": reply.means}
    if reply.has_location:
        told["headers"] = {
            "Location": {
                "description": "Where the run or the task is found.",
                "schema": {"type": "string"},
                "required": True,
            }
        }
    if isinstance(reply.body, type) and issubclass(reply.body, Struct):
        is_json = reply.media_type == "application/json"
        schemas: list[JsonObject] = [
            {"$ref": f"#/components/schemas/{each.__name__}"} if is_json else _event_schema(each.__name__)
            for each in (reply.body, *reply.others)
        ]
        schema: JsonObject = {"anyOf": [*schemas]} if reply.others else schemas[0]
        content: JsonObject = {reply.media_type: {"schema": schema, "example": _json(reply.example)}}
        if reply.file_type:
            content[reply.file_type] = {"schema": {"type": "string"}, "example": "# A title"}
        told["content"] = content
    elif reply.body is not None:
        kind = "string" if reply.body is str else "object"
        told["content"] = {reply.media_type: {"schema": {"type": kind}, "example": _json(reply.example)}}
    links: JsonObject = {
        target: {"operationId": target, "parameters": {name: f"$response.body#{pointer}"}}
        for target, (when, name, pointer) in operation.links.items()
        if when == status
    }
    if links:
        told["links"] = links
    return told


def _event_schema(data: str) -> JsonObject:
    """The schema of one server-sent event, as OpenAPI 3.2 describes streams.

    Args:
        data: the name of the type that the data is.
    """
    return {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "The number of the event."},
            "event": {"type": "string", "description": "The type of the event."},
            "data": {
                "type": "string",
                "contentMediaType": "application/json",
                "contentSchema": {"$ref": f"#/components/schemas/{data}"},
            },
        },
        "required": ["data"],
    }


def _error(status: int, operation: Operation) -> JsonObject:
    code, means = _ERRORS[status]
    example: JsonObject = {
        "type": "about:blank",
        "title": phrase(status),
        "status": status,
        "detail": re.sub("`", "", means),
        "code": code,
    }
    if status == 403:
        example["scope"] = [*operation.scopes]
    if status == 422:
        example["problems"] = [{"path": "limit", "rule": "type", "expected": "an integer"}]
    if status == 500:
        example["reference"] = "err_1f0c8a527d0e4a3b9a53"
    headers: JsonObject = {}
    if status == 401:
        headers["WWW-Authenticate"] = {"description": "The scheme that is wanted.", "schema": {"type": "string"}}
    if status in (409, 429, 503):
        headers["Retry-After"] = {"description": "Seconds to wait.", "schema": {"type": "string"}}
    told: JsonObject = {
        "description": means,
        "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}, "example": example}},
    }
    return told | ({"headers": headers} if headers else {})


def _json(example: object) -> Json:
    told: Json = msgspec.to_builtins(example)
    return told


def _described(schema: Mapping[str, Json]) -> JsonObject:
    """A schema whose description is the summary of the type's docstring; its line on each attribute becomes the
    description of the attribute.
    """
    about = dict(schema)
    text = about.get("description")
    if not isinstance(text, str):
        return about
    about["description"], means = attributes_in(text)
    properties = about.get("properties")
    if isinstance(properties, dict):
        described: JsonObject = {}
        for name, field in properties.items():
            assert isinstance(field, dict)
            described[name] = {**field, "description": means[name]} if name in means else field
        about["properties"] = described
    return about
