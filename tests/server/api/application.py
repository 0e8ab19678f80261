"""A small application around the door of our own API: it knows some keys and puts their callers into the scope.

The application of `actum serve` does more; what a request is refused for before it comes to the door is tested there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import httpx
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from actum import Agent, Context, Label, tool
from actum.agents.identity import Naming
from actum.call.limits.limits import Limits
from actum.core.call import ToolCall
from actum.core.errors import ToolError
from actum.core.identity import Identity
from actum.core.interfaces import Journal
from actum.core.json import JsonObject
from actum.core.message import Reply
from actum.core.model import Model
from actum.core.policy import Decision, Facts, Policy
from actum.core.tool import Tool
from actum.features.feature import NO_FEATURES, FeatureSet
from actum.features.refusal import Refusal
from actum.features.titles import FEATURE as TITLES
from actum.journal.memory import MemoryJournal
from actum.runs.runner import Runner
from actum.server.api.api import GivenAgents, KeptSecrets, Tasking
from actum.server.api.problem import encoded
from actum.server.api.routes import ApiRoutes
from actum.server.login.browser_sessions import BrowserSessions
from actum.server.route_group import IDENTITY
from actum.server.scopes import ALL_SCOPES
from actum.server.stored_keys import StoredKeys
from actum.server.workflows import GivenWorkflows
from actum.testing import ScriptedModel
from actum.workflow import Workflow
from tests.patience import HANGS_S
from tests.web import serving

ANN = Identity(principal="ann", key_id="k-ann", scopes=("tools", "runs"))
BOB = Identity(principal="bob", key_id="k-bob", scopes=("tools", "runs"))
ANN_OF_NORTH = Identity(principal="ann", tenant="north", key_id="k-north", scopes=ALL_SCOPES)
APPROVER = Identity(principal="eve", key_id="k-eve", scopes=("approve",))
ADMIN = Identity(principal="root", key_id="k-root", scopes=ALL_SCOPES)
NOBODY = Identity(principal="ann", key_id="k-none")


class Narrow(Identity, frozen=True):
    """A caller whose key allows some names only."""

    def may_use(self, kind: str, name: str) -> bool:
        return name == "add"


CALLERS: Mapping[str, Identity] = {
    "ann": ANN,
    "bob": BOB,
    "north": ANN_OF_NORTH,
    "eve": APPROVER,
    "root": ADMIN,
    "none": NOBODY,
    "narrow": Narrow(principal="ann", key_id="k-narrow", scopes=("tools", "runs")),
    "hella": Identity(principal="hella", key_id="k-hella", scopes=ALL_SCOPES, roles=("hr",)),
    "boss-ann": Identity(principal="ann", scopes=("approve",)),
    "zoe": Identity(principal="zoe", scopes=("approve",)),
    "user": Identity(principal="ann", scopes=("tools", "runs"), speaks_for="user"),
    "clerk": Identity(
        principal="root",
        key_id="k-clerk",
        scopes=("admin",),
        roles=("clerk",),
        tools=("crm_*", "add"),
        models=("gpt-?",),
    ),
    "brief": Identity(principal="root", key_id="brief", scopes=ALL_SCOPES),
    "studio": Identity(principal="root", session="s1", key_id="browser:s1", scopes=("admin",)),
    "studio-of-north": Identity(principal="root", tenant="north", session="s2", key_id="browser:s2", scopes=("admin",)),
    "writer": Identity(principal="wes", key_id="k-wes", scopes=("knowledge", "documents")),
    "reader": Identity(principal="rita", key_id="k-rita", scopes=("knowledge",), roles=("staff",)),
    "stranger": Identity(principal="sam", key_id="k-sam", scopes=("knowledge", "documents")),
    "keyless": Identity(principal="root", scopes=ALL_SCOPES),
}
"""The callers by their keys."""


class Bank:
    """Tools whose use can be counted, and held until a test lets them go.

    Attributes:
        calls: the names of the tools that were used, in order.
        is_open: `slow` returns when this is set.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.is_open = asyncio.Event()
        self.entered = asyncio.Event()

    @property
    def tools(self) -> Sequence[object]:
        """The tools."""

        @tool(effects=["read"])
        def add(a: int, b: int) -> int:
            """Add two numbers."""
            self.calls.append("add")
            return a + b

        @tool(effects=["spend"], approval=True)
        def pay(to: str, amount: int) -> str:
            """Pay somebody."""
            self.calls.append("pay")
            return f"paid {amount} to {to}"

        @tool(effects=["read"])
        def fail(why: str) -> str:
            """Fail for a reason."""
            self.calls.append("fail")
            raise ToolError(why)

        @tool(effects=["read"])
        def crash() -> str:
            """Crash in the code of the tool."""
            self.calls.append("crash")
            raise RuntimeError("in /srv/secret/place.py")

        @tool(effects=["destroy"])
        def drop() -> str:
            """Do what the policy denies."""
            self.calls.append("drop")
            return "dropped"

        @tool(effects=["read"])
        async def slow() -> str:
            """Wait until somebody opens."""
            self.calls.append("slow")
            self.entered.set()
            await self.is_open.wait()
            return "opened"

        @tool(effects=["read"])
        async def ask(ctx: Context) -> str:
            """Ask the user for a name."""
            form: JsonObject = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
            told = await ctx.elicit("What is your name?", form)
            return f"{told.action}: {told.content.get('name')}"

        return [add, pay, fail, crash, drop, slow, ask]


class NoDrop:
    """A policy that denies `drop` and lets everything else through."""

    def decide(self, tool: Tool, call: ToolCall, facts: Facts) -> Decision:
        if call.name == "drop":
            return Decision("deny", "no-drop", "Nothing is dropped here.")
        return Decision("ask" if tool.approval else "allow", "rest")


def answering(*replies: Reply | str) -> ScriptedModel:
    """A model that says these, one after another."""
    return ScriptedModel(list(replies))


class WebApplication:
    """A server with our own API, and a client of it.

    Attributes:
        bank: the tools.
        journal: the journal.
        door: the door.
        client: sends requests to it.
        url: the origin where it is.
    """

    def __init__(self, bank: Bank, journal: Journal, door: ApiRoutes, client: httpx.AsyncClient, url: str) -> None:
        self.bank = bank
        self.journal = journal
        self.door = door
        self.client = client
        self.url = url

    async def ask(
        self, method: str, path: str, body: object = None, *, who: str = "ann", **headers: str
    ) -> httpx.Response:
        """Send a request. `key_` of the headers is the `Idempotency-Key`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named["authorization"] = f"Bearer {who}"
        return await self.client.request(method, path, json=body, headers=named)

    async def until(self, run_id: str, *statuses: str, who: str = "root") -> dict[str, object]:
        """A run, as soon as it stands so."""
        told: dict[str, object] = {}
        async with asyncio.timeout(HANGS_S):
            while told.get("status") not in statuses:
                told = (await self.ask("GET", f"/v1/runs/{run_id}", who=who)).json()
                await asyncio.sleep(0.01)
        return told


class Keyed:
    """Puts the caller of a key into the scope; without a key of ours the answer is 401.

    Args:
        app: what is behind it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] != "/openapi.json":
            named = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1").removeprefix("Bearer ")
            is_open = scope["path"] == "/v1/session" and not named
            who = Identity() if is_open else CALLERS.get(named)
            if who is None:
                refusal = Refusal(401, "unauthorized", "A key is needed.", headers={"WWW-Authenticate": "Bearer"})
                status, body, headers = encoded(refusal, "en")
                await send({"type": "http.response.start", "status": status, "headers": headers})
                await send({"type": "http.response.body", "body": body})
                return
            scope[IDENTITY] = who
        await self._app(scope, receive, send)


def app_of(door: ApiRoutes) -> ASGIApp:
    """The door as an application."""
    return Keyed(Starlette(routes=list(door.routes), lifespan=lambda _: door.lifespan()))


@asynccontextmanager
async def application(
    model: Model | None = None,
    *,
    journal: Journal | None = None,
    bank: Bank | None = None,
    policy: Policy | None = None,
    limits: Limits | None = None,
    drain_s: float = 0.1,
    tasking: Tasking | None = None,
    workflows: Mapping[str, Workflow] | None = None,
    secrets: KeptSecrets | None = None,
    features: FeatureSet = NO_FEATURES,
    labels: Mapping[str, Label] | None = None,
    users: Sequence[str] = (),
) -> AsyncIterator[WebApplication]:
    """A server with some tools and an agent called `desk`, for some users alone where there are some."""
    bank = bank or Bank()
    journal = journal or MemoryJournal()
    await journal.stores.migrate(TITLES.name, TITLES.all_migrations)
    runner = Runner(bank.tools, name="api", policy=policy or NoDrop(), limits=limits, journal=journal, labels=labels)  # type: ignore[arg-type]
    agent = Agent(
        model or answering("Hello."),
        bank.tools,  # type: ignore[arg-type]
        name="desk",
        policy=policy or NoDrop(),
        journal=journal,
        labels=labels,
    )
    if users:
        agent = agent.known_as(Naming(name="desk", users=tuple(users)))
    door = ApiRoutes(
        runner,
        GivenAgents({"desk": agent}),
        drain_s=drain_s,
        tasking=tasking,
        workflows=GivenWorkflows(workflows or {}),
        secrets=secrets,
        features=features,
        browsers=BrowserSessions(journal, StoredKeys(journal.keys), scopes=("admin",)),
    )
    async with serving(app_of(door)) as url, httpx.AsyncClient(base_url=url, timeout=HANGS_S) as client:
        yield WebApplication(bank, journal, door, client, url)
