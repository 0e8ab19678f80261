"""A server of resources to stand behind a gateway beside others like it; what it offers depends on who asks.

`python -m tests.mcp_servers.library FD NAME [greedy]` serves both eras. A greedy one wants to answer for all others:
its template fits each address, and it lists an address in the form of its neighbour. A header `x-user` says who asks.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel
from starlette.applications import Starlette

from tests.server_process import inherited

Context = ServerRequestContext[Any, Any]
Raw = dict[str, Any]

PAGE = "https://example.com/page"
PAGE_OF_TOOL = "ui://page"
LINKS: list[Raw] = [
    {"type": "text", "text": "See memo://linked."},
    {"type": "resource_link", "uri": "memo://linked", "name": "linked", "x-more": 1},
    {"type": "resource_link", "uri": PAGE, "name": "page"},
    {"type": "resource", "resource": {"uri": "memo://within", "text": "memo://within"}},
]
THOUGHT: Raw = {
    "messages": [{"role": "user", "content": LINKS[1]}, {"role": "user", "content": LINKS}],
    "maxTokens": 9,
}

count: Counter[str] = Counter()
read: list[str] = []
calls: dict[str, int] = {}
bus = InMemorySubscriptionBus()
subscribed: dict[str, dict[str, Any]] = {}


class Message(BaseModel):
    method: str
    params: Raw | None = None


class Anything(BaseModel):
    model_config = {"extra": "allow"}


def is_modern(ctx: Context) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def user(ctx: Context) -> str:
    return str(getattr(ctx.request, "headers", {}).get("x-user", ""))


def text(said: object, **more: object) -> Raw:
    return {"content": [{"type": "text", "text": str(said)}], **more}


def tools(ctx: Context, params: Raw) -> Raw:
    schema: Raw = {"type": "object"}
    mine: Raw = {"name": "desk", "description": f"The desk of {user(ctx) or 'all'}.", "inputSchema": schema}
    if user(ctx) == "bob":
        drawer = {"type": "integer", "x-mcp-header": "Drawer"}
        mine["inputSchema"] = {"type": "object", "properties": {"drawer": drawer}, "required": ["drawer"]}
    page: Raw = {"name": "page", "inputSchema": schema, "_meta": {"ui": {"resourceUri": PAGE_OF_TOOL}}}
    plain = [{"name": name, "inputSchema": schema} for name in ("links", "open", "seen", "touch", "think", "next")]
    return {"tools": [mine, page, *plain]}


async def call(ctx: Context, params: Raw) -> Raw:
    arguments = params.get("arguments") or {}
    match params["name"]:
        case "links":
            return {"content": LINKS, "structuredContent": {"uri": "memo://linked"}, "_meta": {"uri": "memo://linked"}}
        case "open":
            return text(arguments.get("uri"))
        case "seen":
            return text("", structuredContent={"read": read, "count": dict(count)})
        case "touch":
            await touch(str(arguments["uri"]), session_of(ctx) if arguments.get("here") else "")
            return text("touched")
        case "think":
            return await thought(ctx, params)
        case "next":
            calls[session_of(ctx)] = calls.get(session_of(ctx), 0) + 1
            return text(calls[session_of(ctx)])
        case name:
            return text(f"{name} of {user(ctx) or 'all'}: {arguments}")


def session_of(ctx: Context) -> str:
    """The id of the session in which a request comes; empty where the client has none."""
    return str(getattr(ctx.request, "headers", {}).get("mcp-session-id", ""))


def subscribe(ctx: Context, params: Raw) -> Raw:
    subscribed.setdefault(params["uri"], {})[session_of(ctx)] = ctx.session
    return {}


def unsubscribe(ctx: Context, params: Raw) -> Raw:
    subscribed.get(params["uri"], {}).pop(session_of(ctx), None)
    return {}


async def touch(uri: str, only: str) -> None:
    """Tell that a resource has changed: those who listen to it, or one session of them."""
    if not only:
        await bus.publish(ResourceUpdated(uri))
    for name, session in subscribed.get(uri, {}).items():
        if only not in ("", name):
            continue
        updated = types.ResourceUpdatedNotificationParams(uri=uri)
        await session.send_notification(types.ResourceUpdatedNotification(params=updated))


async def thought(ctx: Context, params: Raw) -> Raw:
    """Have the client's model think about a resource, and say what it answered."""
    if not is_modern(ctx):
        request: Any = Message(method="sampling/createMessage", params=THOUGHT)
        related = ServerMessageMetadata(related_request_id=ctx.request_id)
        answer = await ctx.session.send_request(request, Anything, metadata=related)
        return text(answer.model_dump(mode="json")["content"])
    responses = params.get("inputResponses")
    if not responses:
        asked = {"method": "sampling/createMessage", "params": THOUGHT}
        return {"resultType": "input_required", "inputRequests": {"it": asked}, "requestState": "s"}
    return text(responses["it"]["content"])


class Library:
    """What one of this name answers.

    Args:
        name: of the server.
        greedy: it wants to answer for all.
    """

    def __init__(self, name: str, *, greedy: bool) -> None:
        self._name = name
        listed = ["memo://today", "memo://ü/100%25", PAGE]
        self._listed = [*listed, "actum+one:memo://today"] if greedy else listed
        self._templates = ["{+all}"] if greedy else ["memo://{day}/{+rest}{?q}"]
        self.answers: dict[str, Callable[[Context, Raw], Raw]] = {
            "tools/list": tools,
            "resources/list": lambda ctx, params: {"resources": [{"uri": uri, "name": uri} for uri in self._listed]},
            "resources/templates/list": lambda ctx, params: {
                "resourceTemplates": [{"uriTemplate": each, "name": each} for each in self._templates]
            },
            "resources/read": self._read,
            "resources/subscribe": subscribe,
            "resources/unsubscribe": unsubscribe,
            "prompts/list": lambda ctx, params: {"prompts": [{"name": "brief"}]},
            "prompts/get": lambda ctx, params: {
                "messages": [
                    *({"role": "user", "content": block} for block in LINKS),
                    {"role": "user", "content": {"type": "text", "text": str(params.get("arguments"))}},
                ]
            },
            "completion/complete": lambda ctx, params: {"completion": {"values": [params["ref"]["uri"]]}},
        }

    def _read(self, ctx: Context, params: Raw) -> Raw:
        uri = params["uri"]
        read.append(uri)
        if uri == "memo://never":
            raise MCPError(-32602 if is_modern(ctx) else -32002, "no such memo", {"uri": uri})
        return {"contents": [{"uri": uri, "text": f"{self._name} has {uri}"}]}

    async def serve(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        params = dict(ctx.params or {})
        count[ctx.method] += 1
        if ctx.request_id is None or (ctx.method != "tools/call" and ctx.method not in self.answers):
            return await call_next(ctx)
        result = await call(ctx, params) if ctx.method == "tools/call" else self.answers[ctx.method](ctx, params)
        if is_modern(ctx):
            result.setdefault("resultType", "complete")
        return result


class Serving(Server[Any]):
    def get_capabilities(self, *_: object, **__: object) -> types.ServerCapabilities:
        return types.ServerCapabilities(
            tools=types.ToolsCapability(list_changed=True),
            prompts=types.PromptsCapability(),
            resources=types.ResourcesCapability(subscribe=True, list_changed=True),
            completions=types.CompletionsCapability(),
        )


def application(name: str, *, greedy: bool) -> Starlette:
    server = Serving(name, on_subscriptions_listen=ListenHandler(bus))
    server.middleware.append(Library(name, greedy=greedy).serve)
    return server.streamable_http_app()


if __name__ == "__main__":
    served = application(sys.argv[2], greedy="greedy" in sys.argv)
    uvicorn.Server(uvicorn.Config(served, log_level="error", timeout_keep_alive=240)).run([inherited(sys.argv[1])])
