"""The tools that nodes of a workflow call by themselves: `code` in the sandbox, and `http` through the egress guard.

They are tools like any other: their calls go through the call path, and a policy can speak of them by their names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from urllib.parse import urlsplit, urlunsplit

from msgspec import structs

from ..core.call import ToolCall, ToolResult
from ..core.errors import CallTimeout, PermissionDenied, ResourceLimit, ToolError, Unavailable, UnknownName
from ..core.interfaces import Context
from ..core.json import Json, JsonObject, JsonProblem, dumps, parse
from ..core.tool import Effects, Tool
from ..protocols.bound_text.form import form_of
from ..protocols.bound_text.part import NoPlace
from ..sandbox.jail import Jail
from ..toolsets.code_main import run_main
from ..transport.egress import Egress
from ..transport.fetcher import Fetcher
from ..transport.guard import AddressRefused, Guard
from ..transport.http import HttpFailure
from .definition.expression import SECRET
from .definition.functions import told
from .request import body_bytes, with_secrets

CODE_TOOL = "workflow_code"
HTTP_READ_TOOL = "workflow_http_read"
HTTP_SEND_TOOL = "workflow_http_send"
READING = frozenset({"GET", "HEAD"})


class WorkflowTools:
    """The toolset of the nodes `code` and `http`.

    Args:
        kinds: which types of nodes the workflow has.
        named: the origins that stand in the definition itself. Only these may be addresses of the own network; an
            address that a value of the workflow gives is judged like a stranger's.
        jail: what code may do.
        egress: the operator's rules for outgoing requests.
        fetcher: sends the requests.
    """

    generation = 0

    def __init__(
        self,
        kinds: Collection[str],
        *,
        named: Collection[str] = (),
        jail: Jail | None = None,
        egress: Egress | None = None,
        fetcher: Fetcher | None = None,
    ) -> None:
        self._jail = jail or Jail()
        self._fetcher = fetcher or Fetcher(Guard(named=named, egress=egress))
        self._tools = [tool for tool in _TOOLS if _KIND_OF[tool.name] in kinds]
        if self._jail.changes_nothing_outside:
            self._tools = [structs.replace(each, idempotent=each.name == CODE_TOOL) for each in self._tools]

    async def list_tools(self) -> Sequence[Tool]:
        """The tools that the nodes of this workflow need."""
        return self._tools

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Run code, or send a request.

        Raises:
            CallError: as `core.errors` says.
        """
        if call.name == CODE_TOOL:
            given, inputs = call.arguments, call.arguments.get("inputs", {})
            assert isinstance(inputs, dict)  # as the schema of the tool says
            value = await run_main(str(given["language"]), str(given["code"]), inputs, self._jail)
            return ToolResult(call.id, structured=value)
        return ToolResult(call.id, structured=await self._send(call.arguments, context))

    async def _send(self, given: JsonObject, context: Context) -> Json:
        try:
            request = with_secrets(given, lambda name: _secret(context, name))
        except NoPlace as problem:
            raise ToolError("A secret can not be sent at its place: {why}.", why=problem) from None
        method, url, query, headers = str(given["method"]), request["url"], request["query"], request["headers"]
        if not isinstance(url, str) or not isinstance(query, dict | str) or not isinstance(headers, dict):
            raise ToolError("An http node sends to a url, with objects as query and headers.")
        sent = {str(name).lower(): told(value) for name, value in headers.items()}
        data, media_type = body_bytes(sent.get("content-type", ""), request["body"])
        if data and media_type:
            sent["content-type"] = media_type
        try:
            answer = await self._fetcher.send(
                method,
                _with_query(url, query),
                headers=sent,
                body=data,
                redirects="inside" if method in READING else "none",
            )
        except HttpFailure as failure:
            raise _failure(failure) from None
        text = answer.body.decode("utf-8", "replace")
        kept: JsonObject = {
            name.lower(): value
            for name, value in answer.headers.items()
            if name.lower() in ("content-type", "location")
        }
        found: JsonObject = {"status": answer.status, "headers": kept, "text": text}
        try:
            found["json"] = parse(text)[0] if "json" in str(kept.get("content-type", "")) else None
        except JsonProblem:
            found["json"] = None
        if answer.status >= 400:
            raise ToolError(f"The server answered with status {answer.status}. {text[:500]}".rstrip())
        return found


def _secret(context: Context, name: str) -> str:
    try:
        return context.secret(name)
    except UnknownName:
        raise ToolError("There is no secret {name!r} for this user.", name=name) from None


def placeholders(value: Json) -> int:
    """How many secrets a value names."""
    return len(SECRET.findall(dumps(value))) if value is not None else 0


def literal_origin(url: Json) -> str:
    """The origin of an address of a definition; empty where a value of the workflow decides it."""
    text = url if isinstance(url, str) else ""
    found = re.match(r"(https?://[^/?#${}\\]+)(?:[/?#]|$)", text, re.IGNORECASE)
    return found[1] if found else ""


def _with_query(url: str, query: JsonObject | str) -> str:
    if not query:
        return url
    parts = urlsplit(url)
    if isinstance(query, dict):
        query = form_of({name: None if value is None else told(value) for name, value in query.items()})
    return urlunsplit(parts._replace(query="&".join(filter(None, (parts.query, query)))))


def _failure(failure: HttpFailure) -> Exception:
    """What it means that no whole answer came."""
    if isinstance(failure, AddressRefused):
        return PermissionDenied("This address can not be called: {why}.", why=failure)
    if not failure.sent:
        if failure.lasting:
            return ToolError("The request can not be sent: {why}.", why=failure)
        return Unavailable("The server can not be reached: {why}.", why=failure)
    words = f"The server gave no usable answer: {failure}; it may have happened all the same."
    return ResourceLimit(words) if failure.lasting else CallTimeout(words)


def _tool(name: str, description: str, parameters: JsonObject, required: list[Json], effects: set[Effects]) -> Tool:
    schema: JsonObject = {"type": "object", "properties": parameters, "required": required}
    return Tool(name=name, description=description, parameters=schema, effects=frozenset(effects))


_ANY: JsonObject = {}
_TEXT: JsonObject = {"type": "string"}
_SENT: JsonObject = {"method": _TEXT, "url": _TEXT, "query": _ANY, "headers": _ANY, "body": _ANY}

_TOOLS = (
    _tool(
        CODE_TOOL,
        "Run the code of a node in the sandbox.",
        {"language": _TEXT, "code": _TEXT, "inputs": {"type": "object"}},
        ["language", "code"],
        {"execute"},
    ),
    _tool(HTTP_READ_TOOL, "Send a request that reads.", _SENT, ["method", "url"], {"read"}),
    _tool(HTTP_SEND_TOOL, "Send a request that may change something.", _SENT, ["method", "url"], {"send"}),
)
_KIND_OF = {CODE_TOOL: "code", HTTP_READ_TOOL: "http", HTTP_SEND_TOOL: "http"}
