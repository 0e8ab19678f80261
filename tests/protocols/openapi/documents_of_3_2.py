"""Small documents of OpenAPI 3.2 that cover what is new in that version: no package has a real one."""

from __future__ import annotations

from actum.core.json import Json, JsonObject


def _documented(paths: JsonObject, **more: Json) -> JsonObject:
    return {"openapi": "3.2.0", "info": {"title": "T", "version": "1"}, "paths": paths, **more}


_OWN_ADDRESS: JsonObject = {
    "$self": "https://api.example.com/v2/openapi.json",
    "servers": [{"url": "../v3", "name": "third"}],
}


_ITEM: JsonObject = {"type": "object", "properties": {"id": {"type": "integer"}}}
_FOUND: JsonObject = {"200": {"description": "ok", "content": {"application/json": {"schema": _ITEM}}}}
_STREAM: JsonObject = {
    "200": {
        "description": "ok",
        "content": {
            "application/jsonl": {"itemSchema": _ITEM},
            "text/event-stream": {"itemSchema": {"type": "object", "properties": {"data": {"type": "string"}}}},
        },
    }
}
_FILTER: JsonObject = {"type": "object", "properties": {"color": {"type": "string"}, "size": {"type": "integer"}}}

DOCUMENTS: dict[str, JsonObject] = {
    "a query with a body": _documented(
        {
            "/search": {
                "query": {
                    "operationId": "search",
                    "requestBody": {"content": {"application/json": {"schema": _FILTER}}},
                    "responses": _FOUND,
                }
            }
        }
    ),
    "methods of its own": _documented(
        {
            "/files/{id}": {
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
                "additionalOperations": {
                    "COPY": {"operationId": "copy_file", "responses": _FOUND},
                    "LOCK": {"responses": _FOUND},
                },
            }
        }
    ),
    "the whole query string": _documented(
        {
            "/find": {
                "get": {
                    "operationId": "find",
                    "parameters": [
                        {
                            "name": "filter",
                            "in": "querystring",
                            "content": {"application/x-www-form-urlencoded": {"schema": _FILTER}},
                        }
                    ],
                    "responses": _FOUND,
                }
            }
        }
    ),
    "an address of its own": _documented(
        {"/a": {"get": {"operationId": "a", "responses": _FOUND}}},
        **_OWN_ADDRESS,
    ),
    "a stream of items": _documented({"/events": {"get": {"operationId": "watch", "responses": _STREAM}}}),
    "a log-in whose issuer has settings": _documented(
        {"/me": {"get": {"operationId": "me", "security": [{"user": ["read"]}], "responses": _FOUND}}},
        components={
            "securitySchemes": {
                "user": {
                    "type": "oauth2",
                    "oauth2MetadataUrl": "https://id.example.com/.well-known/oauth-authorization-server",
                    "flows": {
                        "authorizationCode": {
                            "authorizationUrl": "https://id.example.com/authorize",
                            "tokenUrl": "https://id.example.com/token",
                            "scopes": {"read": "Reads."},
                        }
                    },
                }
            }
        },
    ),
    "a cookie as it is, and tags in a tree": _documented(
        {
            "/session": {
                "get": {
                    "operationId": "session",
                    "tags": ["small"],
                    "parameters": [{"name": "mark", "in": "cookie", "style": "cookie", "schema": {"type": "string"}}],
                    "responses": _FOUND,
                }
            }
        },
        tags=[{"name": "big", "kind": "nav"}, {"name": "small", "summary": "Small", "parent": "big"}],
    ),
}
