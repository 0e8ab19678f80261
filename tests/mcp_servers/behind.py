"""A server to stand behind a gateway: it says what few say, counts what it is asked, and `seen` tells of it.

`python -m tests.mcp_servers.behind FD` serves both eras; the SDK's low-level server, all requests answered raw.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel
from starlette.applications import Starlette

from tests.server_process import inherited

Context = ServerRequestContext[Any, Any]
Raw = dict[str, Any]

POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
TOOLS: list[Raw] = [
    {
        "name": "odd",
        "title": "Odd",
        "description": "Has what few have.",
        "inputSchema": {
            "type": "object",
            "$defs": {"point": POINT},
            "properties": {"at": {"$ref": "#/$defs/point"}},
            "x-vendor": {"keep": True},
        },
        "outputSchema": {"type": "object", "$defs": {"point": POINT}, "properties": {"at": {"$ref": "#/$defs/point"}}},
        "annotations": {"readOnlyHint": True, "x-hint": 1},
        "_meta": {"vendor/colour": "blue"},
        "x-unknown": [1, None],
    },
    {
        "name": "later",
        "inputSchema": {"type": "object"},
        "execution": {"taskSupport": "required", "x-more": 1},
    },
    *(
        {"name": name, "inputSchema": {"type": "object"}}
        for name in (
            "ask",
            "think",
            "where",
            "several",
            "slow",
            "fail",
            "refuse",
            "log",
            "seen",
            "change",
            "secret",
            "sign",
            "forbidden",
            "visit",
            "visited",
            "dig",
        )
    ),
]
FORM: Raw = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
QUESTIONS: dict[str, tuple[str, Raw]] = {
    "ask": ("elicitation/create", {"mode": "form", "message": "Your name?", "requestedSchema": FORM, "x-more": 1}),
    "think": (
        "sampling/createMessage",
        {
            "messages": [{"role": "user", "content": {"type": "text", "text": "Think."}}],
            "maxTokens": 9,
            "modelPreferences": {"hints": [{"name": "small"}]},
        },
    ),
    "where": ("roots/list", {}),
}

count: Counter[str] = Counter()
last: Raw = {}
bus = InMemorySubscriptionBus()
subscribed: dict[str, list[Any]] = {}
told_roots: list[Any] = []
listening: list[list[str]] = []
asking: set[asyncio.Task[None]] = set()
VISIT: Raw = {"mode": "url", "message": "Pay here.", "url": "https://pay.example/1", "elicitationId": "visit-1"}


class Message(BaseModel):
    method: str
    params: Raw | None = None


class Anything(BaseModel):
    model_config = {"extra": "allow"}


TASKS = types.ServerTasksCapability(
    requests=types.ServerTasksRequestsCapability(tools=types.TasksToolsCapability(call=types.TasksCallCapability()))
)


def text(said: object, **more: object) -> Raw:
    return {"content": [{"type": "text", "text": str(said)}], **more}


def is_modern(ctx: Context) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


async def call(ctx: Context, params: Raw) -> Raw:
    name, tool = params["name"], TOOL.get(params["name"])
    if name == "seen":
        return await seen(ctx, params)
    last.clear()
    last.update(params)
    meta = params.get("_meta") or {}
    declared = meta.get("io.modelcontextprotocol/clientCapabilities")
    if declared is None and ctx.session.client_capabilities is not None:
        declared = ctx.session.client_capabilities.model_dump(by_alias=True, exclude_none=True)
    last["capabilities"] = declared
    if name in QUESTIONS:
        return await asked(ctx, params, {name: QUESTIONS[name]})
    if name == "several":
        return await asked(ctx, params, QUESTIONS)
    assert tool is not None
    found: Raw = await tool(ctx, params)
    return found


async def asked(ctx: Context, params: Raw, questions: dict[str, tuple[str, Raw]]) -> Raw:
    """Ask the client, as either era does it, and say what it answered."""
    if not is_modern(ctx):
        answers = {}
        for name, (method, asking) in questions.items():
            related = ServerMessageMetadata(related_request_id=ctx.request_id)
            request: Any = Message(method=method, params=asking or None)
            try:
                answer = await ctx.session.send_request(request, Anything, metadata=related)
            except MCPError as error:
                return text(f"refused: {error.code} {error.message}", isError=True)
            answers[name] = answer.model_dump(mode="json")
        return text(answers)
    responses, state = params.get("inputResponses"), params.get("requestState")
    if not responses:
        requests = {name: {"method": method, "params": asking} for name, (method, asking) in questions.items()}
        return {"resultType": "input_required", "inputRequests": requests, "requestState": "the server's own"}
    if state != "the server's own":
        return text(f"whose state is {state!r}?", isError=True)
    return text(responses)


async def odd(ctx: Context, params: Raw) -> Raw:
    return text(
        "odd",
        structuredContent={"at": {"x": 1}, "more": [None, {"deep": None}]},
        _meta={"vendor/trace": "t1"},
        **{"x-result": {"keep": None}},
    )


async def slow(ctx: Context, params: Raw) -> Raw:
    """Tell how far it is, and wait to be cancelled, unless it is to end."""
    token = (params.get("_meta") or {}).get("progressToken")
    try:
        for step in (1, 2):
            told: Any = Message(
                method="notifications/progress",
                params={"progressToken": token, "progress": step, "message": f"s{step}"},
            )
            await ctx.session.send_notification(told, ctx.request_id)
        if not (params.get("arguments") or {}).get("ends"):
            await anyio.sleep_forever()
        return text("done")
    except anyio.get_cancelled_exc_class():
        count["cancelled"] += 1
        raise


async def fail(ctx: Context, params: Raw) -> Raw:
    return text("no luck", isError=True, **{"x-why": "luck"})


async def refuse(ctx: Context, params: Raw) -> Raw:
    raise MCPError(-32050, "not today", {"retry": "tomorrow"})


async def log(ctx: Context, params: Raw) -> Raw:
    wanted = (params.get("_meta") or {}).get("io.modelcontextprotocol/logLevel")
    if not is_modern(ctx) or wanted:
        for level in ("debug", "warning"):
            told: Any = Message(
                method="notifications/message", params={"level": level, "logger": "behind", "data": {"n": None}}
            )
            await ctx.session.send_notification(told, ctx.request_id)
    return text(wanted)


async def seen(ctx: Context, params: Raw) -> Raw:
    return text(
        "seen",
        structuredContent={"count": dict(count), "last": dict(last), "roots": told_roots, "listening": listening},
    )


async def change(ctx: Context, params: Raw) -> Raw:
    uri = "memo://today"
    await bus.publish(ToolsListChanged())
    await bus.publish(ResourceUpdated(uri))
    if not is_modern(ctx):
        await ctx.session.send_notification(types.ToolListChangedNotification())
    for session in subscribed.get(uri, []):
        updated = types.ResourceUpdatedNotificationParams(uri=uri)
        await session.send_notification(types.ResourceUpdatedNotification(params=updated))
    return text("changed")


async def visit(ctx: Context, params: Raw) -> Raw:
    """Send the user to a page."""
    related = ServerMessageMetadata(related_request_id=ctx.request_id)
    request: Any = Message(method="elicitation/create", params=VISIT)
    return text((await ctx.session.send_request(request, Anything, metadata=related)).model_dump(mode="json"))


async def visited(ctx: Context, params: Raw) -> Raw:
    """Tell that the page is done with."""
    done: Any = Message(
        method="notifications/elicitation/complete", params={"elicitationId": VISIT["elicitationId"], "x-more": 1}
    )
    await ctx.session.send_notification(done)
    return text("told")


async def ask_for_roots(ctx: Context) -> None:
    """Ask the client for its directories outside of any request."""
    request: Any = Message(method="roots/list")
    told_roots.append((await ctx.session.send_request(request, Anything)).model_dump(mode="json"))


async def later(ctx: Context, params: Raw) -> Raw:
    """A task of a server with a handshake, which takes no call of it that is none."""
    if is_modern(ctx):
        return text("at once")
    if "task" not in params:
        raise MCPError(-32601, "only as a task")
    return {"task": {"taskId": "t1", "status": "working", "ttl": None, "pollInterval": 1}}


def task(task_id: str, status: str, **more: object) -> Raw:
    times = dict.fromkeys(("createdAt", "lastUpdatedAt"), "2026-07-28T00:00:00Z")
    return {"taskId": task_id, "status": status, **times, "ttlMs": None, **more}


async def dig(ctx: Context, params: Raw) -> Raw:
    """A task of a server without a handshake."""
    return {"resultType": "task", **task(f"far-{count['tools/call']}", "working")}


async def listen_to_tasks(ctx: Context, ids: list[str]) -> Raw:
    """Tell how tasks are, those of its own: at work, and then done. Before that, nonsense."""
    meta = {"io.modelcontextprotocol/subscriptionId": ctx.request_id}
    known = [each for each in ids if each.startswith("far-")]
    messages: list[tuple[str, Raw]] = [
        ("notifications/subscriptions/acknowledged", {"notifications": {"taskIds": known}}),
        ("notifications/tasks", {"taskId": known, "status": "working"}),
        ("notifications/tasks", {}),
    ]
    for each in known:
        dug = text("dug", **{"x-result": {"keep": None}})
        states = (task(each, "working", statusMessage="digging"), task(each, "completed", result=dug))
        messages += [("notifications/tasks", state) for state in states]
    for method, params in messages:
        told: Any = Message(method=method, params={**params, "_meta": meta})
        await ctx.session.send_notification(told, ctx.request_id)
    await anyio.sleep_forever()
    return {}


async def secret(ctx: Context, params: Raw) -> Raw:
    return text("the key is sk-abcdefghijklmnopqrstuvwx", **{"x-kept": 1})


TOOL = {"odd": odd, "slow": slow, "fail": fail, "refuse": refuse, "log": log, "seen": seen, "change": change}
TOOL |= {"secret": secret, "sign": log, "forbidden": log, "visit": visit, "visited": visited}
TOOL |= {"later": later, "dig": dig}


def listed(ctx: Context, params: Raw) -> Raw:
    """Two pages of one each."""
    first = params.get("cursor") is None
    memo = {"uri": "memo://today" if first else "memo://later", "name": "memo", "x-resource": 1}
    return {"resources": [memo], **({"nextCursor": "2"} if first else {})}


def read(ctx: Context, params: Raw) -> Raw:
    if params["uri"] == "memo://never":
        raise MCPError(-32602 if is_modern(ctx) else -32002, "no such memo", {"uri": params["uri"]})
    contents = {"uri": params["uri"], "text": "Nothing.", "_meta": {"vendor/page": 1}}
    return {"contents": [contents], **({"ttlMs": 5, "cacheScope": "private"} if is_modern(ctx) else {})}


def subscribe(ctx: Context, params: Raw) -> Raw:
    subscribed.setdefault(params["uri"], []).append(ctx.session)
    return {}


def unsubscribe(ctx: Context, params: Raw) -> Raw:
    subscribed.pop(params["uri"], None)
    count[f"without {params['uri']}"] += 1
    return {}


ANSWERS: dict[str, Callable[[Context, Raw], Raw]] = {
    "tools/list": lambda ctx, params: {"tools": TOOLS},
    "prompts/list": lambda ctx, params: {"prompts": [{"name": "greet", "x-prompt": 1}]},
    "prompts/get": lambda ctx, params: {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Hi."}}],
        "x-prompt": 2,
    },
    "resources/list": listed,
    "resources/templates/list": lambda ctx, params: {
        "resourceTemplates": [{"uriTemplate": "memo://{day}", "name": "day"}]
    },
    "resources/read": read,
    "resources/subscribe": subscribe,
    "resources/unsubscribe": unsubscribe,
    "tasks/get": lambda ctx, params: {"taskId": "t1", "status": "completed", "ttl": None},
    "tasks/result": lambda ctx, params: text("in time"),
    "logging/setLevel": lambda ctx, params: {},
    "completion/complete": lambda ctx, params: {
        "completion": {"values": [params["argument"]["value"] + "!"], "x-more": 1}
    },
}


async def serve(ctx: Context, call_next: CallNext) -> HandlerResult:
    params = dict(ctx.params or {})
    if ctx.method == "notifications/roots/list_changed":
        task = asyncio.create_task(ask_for_roots(ctx))
        asking.add(task)
        task.add_done_callback(asking.discard)
    if ctx.method == "subscriptions/listen":
        listening.append(params["notifications"].get("resourceSubscriptions", []))
        try:
            ids = params["notifications"].get("taskIds")
            return await listen_to_tasks(ctx, ids) if ids else await call_next(ctx)
        finally:
            listening.remove(params["notifications"].get("resourceSubscriptions", []))
    if ctx.request_id is None or (ctx.method != "tools/call" and ctx.method not in ANSWERS):
        count[ctx.method] += 1
        return await call_next(ctx)
    count[ctx.method] += 1
    result = await call(ctx, params) if ctx.method == "tools/call" else ANSWERS[ctx.method](ctx, params)
    if is_modern(ctx):
        result.setdefault("resultType", "complete")
    return result


class Behind(Server[Any]):
    def get_capabilities(self, *_: object, **__: object) -> types.ServerCapabilities:
        return types.ServerCapabilities(
            tools=types.ToolsCapability(list_changed=True),
            prompts=types.PromptsCapability(list_changed=True),
            resources=types.ResourcesCapability(subscribe=True, list_changed=True),
            completions=types.CompletionsCapability(),
            logging=types.LoggingCapability(),
            tasks=TASKS,
            extensions={"io.modelcontextprotocol/tasks": {}},
        )


def application() -> Starlette:
    server = Behind("behind", instructions="Stand behind.", on_subscriptions_listen=ListenHandler(bus))
    server.middleware.append(serve)
    return server.streamable_http_app()


if __name__ == "__main__":
    uvicorn.Server(uvicorn.Config(application(), log_level="error", timeout_keep_alive=240)).run(
        [inherited(sys.argv[1])]
    )
