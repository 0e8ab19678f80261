"""The resources of an MCP server as two tools of ours: one lists them, one reads. Their words are our own.

What an address means is the server's business: it is handed on as it is and never opened here, whatever it begins with.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

from ...core.call import Problem, ToolCall, ToolResult
from ...core.errors import InvalidArguments
from ...core.json import Json, JsonObject
from ...core.process.worker_thread import walk
from ...core.tool import Tool
from ...protocols.mcp.content import contents_of
from ...protocols.mcp.name import public_name
from ...protocols.mcp.offer import ResourceOffer

Listed = Callable[[], Awaitable[list[ResourceOffer]]]
Read = Callable[[str], Awaitable[JsonObject]]

_SHOWN = ("uri", "name", "title", "description", "media_type")


class ResourceTools:
    """The two tools of one server.

    Args:
        server: what it is called here.
        taken: the names here of its own tools, which keep theirs.
        timeout_s: seconds a reading may take.
    """

    def __init__(self, server: str, taken: Collection[str], timeout_s: float) -> None:
        self._listing = _free(server, "list_resources", "resources/list", taken)
        self._reading = _free(server, "read_resource", "resources/read", taken)
        self.tools = (
            Tool(
                name=self._listing,
                title=f"Resources of {server}",
                description=f"List what can be read from {server}: documents, records, templates of addresses.",
                parameters={
                    "type": "object",
                    "properties": {
                        "query": {"type": "string", "description": "Only those with this text in them. All by default."}
                    },
                },
                effects=frozenset({"read"}),
                foreign=True,
                timeout_s=timeout_s,
            ),
            Tool(
                name=self._reading,
                title=f"Read from {server}",
                description=f"Read a resource of {server} by its address, as {self._listing} tells it.",
                parameters={
                    "type": "object",
                    "properties": {
                        "uri": {"type": "string", "description": "The address, or a template of one."},
                        "variables": {
                            "type": "object",
                            "description": "What to put in the {places} of a template.",
                            "additionalProperties": {
                                "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
                            },
                        },
                    },
                    "required": ["uri"],
                },
                effects=frozenset({"read"}),
                foreign=True,
                timeout_s=timeout_s,
            ),
        )

    def has(self, name: str) -> bool:
        """Whether one of them is called so."""
        return name in (self._listing, self._reading)

    async def execute(self, call: ToolCall, listed: Listed, read: Read) -> ToolResult:
        """Make a call of one of them.

        Args:
            listed: all resources and templates.
            read: the raw result of `resources/read` of an address.
        """
        if call.name == self._listing:
            query = str(call.arguments.get("query") or "").casefold()
            resources = await listed()
            return ToolResult(call.id, structured=await walk(_found, resources, query))
        variables = call.arguments.get("variables")
        uri = expanded(str(call.arguments["uri"]), variables if isinstance(variables, dict) else {})
        raw = await read(uri)
        return ToolResult(call.id, await walk(contents_of, raw))


def expanded(uri: str, variables: Mapping[str, Json]) -> str:
    """A template of RFC 6570 with its places filled; any other address as it is.

    Raises:
        InvalidArguments: it is no template, or a place was left empty.
    """
    if not variables:
        return uri
    try:
        template = UriTemplate.parse(uri)
        missing = [name for name in template.variable_names if name not in variables]
        if not missing:
            return template.expand(
                {name: list(map(str, v)) if isinstance(v, list) else str(v) for name, v in variables.items()}
            )
    except InvalidUriTemplate:
        raise InvalidArguments([Problem("uri", "format", "a template such as notes://{name}")]) from None
    raise InvalidArguments([Problem(f"variables.{name}", "required", "a value for this place") for name in missing])


def _free(server: str, name: str, otherwise: str, taken: Collection[str]) -> str:
    ours = public_name(server, name)
    return ours if ours not in taken else public_name(server, otherwise)


def _found(resources: Sequence[ResourceOffer], query: str) -> list[Json]:
    """The resources with a text in them."""
    shown = map(_shown, resources)
    return [each for each in shown if query in " ".join(map(str, each.values())).casefold()]


def _shown(resource: ResourceOffer) -> JsonObject:
    told: JsonObject = {field: str(getattr(resource, field)) for field in _SHOWN if getattr(resource, field)}
    return {"uri_template": told.pop("uri"), **told} if resource.is_template else told
