"""The addresses of resources where several MCP servers stand behind one gateway: each address names its server. Pure.

A resource address means something only at the server that told it. So a gateway puts the server before the address:
`memo://today` of the server `notes` is `actum+notes:memo://today` for the gateway's clients. That is a valid URI of a
scheme of its own, with the original, unchanged, as its path; an address template (RFC 6570) stays a template. Taking
the scheme off again gives the original, whatever it was: an address that already looks like this (of another gateway
behind this one, or made up by a server that wants to be taken for its neighbour) gets a second scheme before the first.

Rewritten is what the protocol says is the address of a resource. Text is not. A link to an `https:` address is not
either: a client may fetch such a page by itself (MCP 2026-07-28, server/resources, "Common URI schemes"). In a list of
resources also an `https:` address gets its server, because there a server offers to read it.

Knows nothing of connections, and not which servers there are.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable

from ...core.json import Json, JsonObject

SCHEME = "actum+"
TAG_CHARS_MAX = 40
HASH_CHARS = 12
"""60 bits: as for the names of tools, see `mcp.name`."""

_PLAIN = re.compile(rf"[a-z0-9_-]{{1,{TAG_CHARS_MAX}}}")
_UNREADABLE = re.compile(r"[^a-z0-9]+")
_UI, _UI_OF_OLD = "ui", "ui/resourceUri"
"""Where the definition of a tool names the page that shows its results (MCP Apps, SEP-1865)."""


class ServerAddresses:
    """The addresses of one server, as the clients of a gateway know them.

    Args:
        server: what the server is called in our configuration; empty for a server that stands alone, whose addresses
            stay as they are.

    Attributes:
        prefix: the text before each address; empty where addresses stay as they are.

    >>> notes = ServerAddresses("notes")
    >>> notes.outward("memo://{day}"), notes.inward("actum+notes:memo://today")
    ('actum+notes:memo://{day}', 'memo://today')
    >>> notes.inward("actum+files:memo://today") is None
    True
    >>> ServerAddresses("").inward("memo://today")
    'memo://today'
    """

    def __init__(self, server: str = "") -> None:
        self.prefix = f"{SCHEME}{_tag(server)}:" if server else ""

    def outward(self, uri: str) -> str:
        """A server's address, or template of addresses, as clients know it."""
        return self.prefix + uri

    def inward(self, uri: str) -> str | None:
        """The server's own form of an address that a client knows; None if the address is not of this server."""
        size = len(self.prefix)
        return uri[size:] if uri[:size].lower() == self.prefix else None

    # Messages: from the server --------------------------------------------------------------------------------------

    def result(self, method: str, result: JsonObject) -> JsonObject:
        """A result of the server, as its client is told it.

        Args:
            method: of the request.
            result: raw.
        """
        if not self.prefix:
            return result
        for name, rewrite in _OF_RESULTS.get(method, {}).items():
            if name in result:
                result = {**result, name: rewrite(result[name], self)}
        return self.requests(result)

    def requests(self, result: JsonObject) -> JsonObject:
        """A result with what the server asks its client by it, as the client is asked."""
        requests = result.get("inputRequests")
        if not self.prefix or not isinstance(requests, dict):
            return result
        return {**result, "inputRequests": {key: self._request(each) for key, each in requests.items()}}

    def _request(self, request: Json) -> Json:
        params = request.get("params") if isinstance(request, dict) else None
        if not isinstance(request, dict) or not isinstance(params, dict):
            return request
        return {**request, "params": self.question(params)}

    def question(self, params: JsonObject) -> JsonObject:
        """The parameters of a request of the server to its client: what a model is to read may hold resources."""
        if not self.prefix or "messages" not in params:
            return params
        return {**params, "messages": _messages(params["messages"], self)}

    def definition(self, definition: JsonObject) -> JsonObject:
        """The definition of a tool, which may name a page of the server that shows its results."""
        return {**definition, "_meta": _meta(definition["_meta"], self)} if "_meta" in definition else definition

    def updated(self, params: JsonObject) -> JsonObject:
        """The parameters of a message of the server about one resource: a notification, or the data of an error."""
        uri = params.get("uri")
        return {**params, "uri": self.outward(uri)} if self.prefix and isinstance(uri, str) else params

    # Messages: from the client ----------------------------------------------------------------------------------------

    def answer(self, answer: JsonObject) -> JsonObject:
        """What a client answers to a request of the server, as the server understands it."""
        if not self.prefix or "content" not in answer:
            return answer
        return {**answer, "content": _blocks(answer["content"], self, _inward)}

    def arguments(self, value: Json) -> Json:
        """The arguments of a call to the server: a text that is as a whole an address of this server stands for it.

        A model was told the address in that form, and hands it on.
        """
        if not self.prefix:
            return value
        match value:
            case str():
                return _inward(value, self)
            case dict():
                return {name: self.arguments(each) for name, each in value.items()}
            case list():
                return [self.arguments(each) for each in value]
            case _:
                return value


_Rewrite = Callable[[Json, ServerAddresses], Json]
_Way = Callable[[str, ServerAddresses], str]


def _tag(server: str) -> str:
    """The form of a server's name in a scheme, where only small letters, digits, `+`, `-` and `.` are told apart.

    No two servers have the same: a name of other characters, or a long one, ends in a hash after a `+`.
    """
    if _PLAIN.fullmatch(server):
        return server.replace("_", ".")
    digest = hashlib.sha256(server.encode("utf-8", "surrogatepass")).digest()
    hashed = base64.b32encode(digest).decode().lower()[:HASH_CHARS]
    readable = _UNREADABLE.sub("-", server.lower()).strip("-")[: TAG_CHARS_MAX - HASH_CHARS].strip("-")
    return f"{readable or 'server'}+{hashed}"


def _link(uri: str, addresses: ServerAddresses) -> str:
    """The address of a resource that a server links to: a client fetches `https:` ones itself."""
    return uri if uri[:6].lower() == "https:" else addresses.outward(uri)


def _listed(uri: str, addresses: ServerAddresses) -> str:
    """The address of a resource that a server offers to read."""
    return addresses.outward(uri)


def _inward(uri: str, addresses: ServerAddresses) -> str:
    found = addresses.inward(uri)
    return uri if found is None else found


def _addressed(items: Json, addresses: ServerAddresses, field: str = "uri") -> Json:
    """A list of objects that each have an address."""
    return [_with(item, field, addresses, _listed) for item in items] if isinstance(items, list) else items


def _templates(items: Json, addresses: ServerAddresses) -> Json:
    return _addressed(items, addresses, "uriTemplate")


def _messages(messages: Json, addresses: ServerAddresses) -> Json:
    """Messages for a model, each with a block of content or several."""
    if not isinstance(messages, list):
        return messages
    return [
        {**message, "content": _blocks(message["content"], addresses)}
        if isinstance(message, dict) and "content" in message
        else message
        for message in messages
    ]


def _blocks(content: Json, addresses: ServerAddresses, way: _Way = _link) -> Json:
    """Content: one block, or several."""
    if isinstance(content, list):
        return [_block(block, addresses, way) for block in content]
    return _block(content, addresses, way)


def _block(block: Json, addresses: ServerAddresses, way: _Way) -> Json:
    if not isinstance(block, dict):
        return block
    match block.get("type"):
        case "resource_link":
            return _with(block, "uri", addresses, way)
        case "resource" if "resource" in block:
            return {**block, "resource": _with(block["resource"], "uri", addresses, way)}
        case "tool_result" if isinstance(inner := block.get("content"), list):
            told = [each if _is_result(each) else _block(each, addresses, way) for each in inner]
            return {**block, "content": told}
        case _:
            return block


def _is_result(block: Json) -> bool:
    """A result within a result is nothing that the protocol has."""
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _with(item: Json, field: str, addresses: ServerAddresses, way: _Way) -> Json:
    uri = item.get(field) if isinstance(item, dict) else None
    return {**item, field: way(uri, addresses)} if isinstance(item, dict) and isinstance(uri, str) else item


def _meta(meta: Json, addresses: ServerAddresses) -> Json:
    if not isinstance(meta, dict) or not addresses.prefix:
        return meta
    told = _with(meta, _UI_OF_OLD, addresses, _link)
    assert isinstance(told, dict)
    return {**told, _UI: _with(told[_UI], "resourceUri", addresses, _link)} if _UI in told else told


def _task_result(result: Json, addresses: ServerAddresses) -> Json:
    """What a call came to that was answered with a task."""
    return addresses.result("tools/call", result) if isinstance(result, dict) else result


_OF_RESULTS: dict[str, dict[str, _Rewrite]] = {
    "tools/call": {"content": _blocks, "_meta": _meta},
    "prompts/get": {"messages": _messages},
    "resources/list": {"resources": _addressed},
    "resources/templates/list": {"resourceTemplates": _templates},
    "resources/read": {"contents": _addressed},
    "tasks/get": {"result": _task_result},
}
"""Where the result of a request holds addresses of resources, by method and field."""
