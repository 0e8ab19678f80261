"""Who reaches what: every route as the application of `actum serve` lists them, with every caller."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from starlette.routing import BaseRoute, Mount, Route

from actum import Agent
from actum.compose.serving import Serving, open_doors
from actum.compose.settings import Settings, WorkflowTable
from actum.compose.tables.serve import ServeSettings
from actum.compose.workflows import Workflows
from actum.core.stored.key import Key, new_key
from actum.features.titles import FEATURE as TITLES
from actum.journal.memory import MemoryJournal
from actum.server import Access, Identity
from actum.server.api.api import GivenAgents
from actum.server.api.operations import OPERATIONS
from actum.server.keys import with_stored_keys
from actum.server.metrics import Metrics
from actum.server.paths import TAKEN
from tests.patience import HANGS_S
from tests.web import serving

from .api.application import Bank, answering
from .api.test_runs import calls

BODIES: dict[str, object] = {
    "callTool": {"arguments": {"a": 1, "b": 1}},
    "startRun": {"question": "Hello?"},
    "checkWorkflow": {},
    "runWorkflow": {},
    "saveWorkflowDraft": {"text": "x"},
    "publishWorkflow": {},
    "rollbackWorkflow": {"number": 1},
    **{f"check{kind}": {"text": "x"} for kind in ("Agent", "Policy", "Prompt", "Server", "Tool")},
    **{f"save{kind}Draft": {"text": "x"} for kind in ("Agent", "Policy", "Prompt", "Server", "Tool")},
    **{f"publish{kind}": {} for kind in ("Agent", "Policy", "Prompt", "Server", "Tool")},
    **{f"rollback{kind}": {"number": 1} for kind in ("Agent", "Policy", "Prompt", "Server", "Tool")},
    **{f"try{kind}": {"version": 1, "share": 5} for kind in ("Agent", "Workflow")},
    "applyDefinitions": {"definitions": [], "dry_run": True},
    "cancelRun": {},
    "resumeRun": {},
    "forkRun": {"at": 0},
    "answerApproval": {"verdict": "approve"},
    "addKey": {"id": "a_b"},
    "setSecret": {"value": ""},
    "testConnection": {"model": "gpt-5"},
    "setConnection": {"model": "gpt-5"},
    "beginSession": {},
    "readDefinitions": {"text": "x"},
    "tryToolDraft": {"arguments": {}},
    "tryAgentDraft": {"question": "Hello?"},
    "tryWorkflowDraft": {},
    "importWorkflow": {"text": "x"},
    "addMemory": {},
    "switchMemories": {},
    "giveScore": {"name": "thumb", "value": 1},
    "nameSession": {"title": "Sums"},
    "makeCollection": {"name": "x", "readers": ["nobody"]},
    "setReaders": {"readers": []},
    "putDocument": {"data": "eA=="},
    "changeTrigger": {"paused": True},
}
LIST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/list",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}
OF_MCP = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/list",
}
CALLERS = ("nobody", "wrong", "ended", "revoked", "north", "bob", "weak", "narrow")
"""Nobody shows no key. The next three show a key that is not valid. `north` has the name ann and every scope in another
tenant, `bob` is another user, `weak` is ann with a key without a scope, `narrow` is ann with a key for other tools and
agents.
"""
MODEL_PATHS = {
    "/v1/models": 200,
    "/v1beta/models": 200,
    "/v1/models/{model:path}": 404,
    "/v1beta/models/{model:path}": 404,
    "/v1beta/{rest:path}": 404,
    **dict.fromkeys(("/api/{rest:path}", "/v1/chat", "/v2/{rest:path}", "/v1/v1/{rest:path}"), 404),
    **dict.fromkeys(("/chat/completions", "/completions", "/embeddings", "/responses"), 404),
    "/v1/responses/{id}": 404,
    "/v1/responses/{id}/input_items": 404,
    "/v1/conversations/{id}": 404,
    "/v1/conversations/{id}/items": 404,
    "/v1/responses/{id}/cancel": 405,
    "/v1/assistants": 200,
    "/v1/assistants/{id:path}": 404,
    "/v1/threads": 405,
    "/v1/threads/runs": 405,
    "/v1/threads/{thread}": 404,
    "/v1/threads/{thread}/messages": 404,
    "/v1/threads/{thread}/messages/{message}": 404,
    "/v1/threads/{thread}/runs": 404,
    "/v1/threads/{thread}/runs/{run}": 404,
    "/v1/threads/{thread}/runs/{run}/cancel": 405,
    "/v1/threads/{thread}/runs/{run}/submit_tool_outputs": 405,
    "/v1/threads/{thread}/runs/{run}/steps": 404,
    "/v1/threads/{thread}/runs/{run}/steps/{step}": 404,
    "/v1/vector_stores": 501,
    "/v1/vector_stores/{rest:path}": 501,
    "/v1/audio": 501,
    "/v1/audio/{rest:path}": 501,
    "/v1/batches": 501,
    "/v1/batches/{rest:path}": 501,
    "/v1/files": 501,
    "/v1/files/{rest:path}": 501,
    "/v1/fine_tuning": 501,
    "/v1/fine_tuning/{rest:path}": 501,
    "/v1/images": 501,
    "/v1/images/{rest:path}": 501,
    "/v1/messages/batches": 501,
    "/v1/messages/batches/{rest:path}": 501,
    "/v1/moderations": 501,
    "/v1/moderations/{rest:path}": 501,
    "/v1/realtime": 501,
    "/v1/realtime/{rest:path}": 501,
    "/v1/responses/compact": 501,
    "/v1/responses/compact/{rest:path}": 501,
    "/v1/uploads": 501,
    "/v1/uploads/{rest:path}": 501,
    "/v1/videos": 501,
    "/v1/videos/{rest:path}": 501,
    "/v1/conversations": 405,
    "/v1/chat/completions": 405,
    "/v1/completions": 405,
    "/v1/responses": 405,
    "/v1/messages": 405,
    "/v1/messages/count_tokens": 405,
    "/v1/responses/input_tokens": 405,
    "/v1/embeddings": 405,
    "/v1/models/{model:path}:generateContent": 405,
    "/v1/models/{model:path}:streamGenerateContent": 405,
    "/v1/models/{model:path}:countTokens": 405,
    "/v1beta/models/{model:path}:countTokens": 405,
    "/v1beta/models/{model:path}:generateContent": 405,
    "/v1beta/models/{model:path}:streamGenerateContent": 405,
}
"""What `GET` at a path of the model APIs answers to a caller with the scope. Errors have the form of each API."""
OF_A2A: dict[str, tuple[int, int]] = {
    "POST ": (200, 404),
    "POST /": (200, 404),
    "POST /legacy": (200, 404),
    "POST /legacy/": (200, 404),
    "POST /rest/message:send": (400, 404),
    "POST /rest/message:stream": (400, 404),
    "POST /rest/tasks/{id}:cancel": (404, 404),
    "GET /rest/tasks/{id}:subscribe": (404, 404),
    "POST /rest/tasks/{id}:subscribe": (404, 404),
    "GET /rest/tasks/{id}": (404, 404),
    "GET /rest/tasks": (200, 404),
    "GET /rest/extendedAgentCard": (200, 404),
    "GET /rest/v1/card": (200, 404),
    # A journal in memory pushes no news.
    **{
        f"{method} /rest{version}/tasks/{{id}}/pushNotificationConfigs{rest}": (400, 404)
        for version, method, rest in (
            ("", "POST", ""),
            ("", "GET", ""),
            ("", "GET", "/{push_id}"),
            ("", "DELETE", "/{push_id}"),
            ("/v1", "POST", ""),
            ("/v1", "GET", ""),
            ("/v1", "GET", "/{push_id}"),
        )
    },
    "POST /rest/v1/message:send": (400, 404),
    "POST /rest/v1/message:stream": (400, 404),
    "POST /rest/v1/tasks/{id}:cancel": (404, 404),
    "GET /rest/v1/tasks/{id}:subscribe": (404, 404),
    "POST /rest/v1/tasks/{id}:subscribe": (404, 404),
    "GET /rest/v1/tasks/{id}": (404, 404),
}
"""What a path below `/a2a/{agent}` answers about a task of ann: to other users with the scope, and to a key for another
agent. At JSON-RPC the error stands in the answer.
"""
OF_A_KIND = (
    *("check{}", "get{}Draft", "save{}Draft", "publish{}"),
    *("rollback{}", "unpublish{}", "list{}Versions", "compare{}Versions", "delete{}Draft"),
)
"""The operations of a kind of definitions, in their order."""
STATUSES: dict[str, tuple[int, tuple[int, int, int, int]]] = {
    "GET /healthz": (200, (200, 200, 200, 200)),
    "GET /readyz": (200, (200, 200, 200, 200)),
    "GET /metrics": (401, (200, 403, 403, 403)),
    "GET /.well-known/oauth-protected-resource{path:path}": (404, (404, 404, 404, 404)),
    "GET /openapi.json": (200, (200, 200, 200, 200)),
    "POST /mcp": (401, (200, 200, 403, 200)),
    "GET /sse": (401, (200, 200, 403, 200)),
    "POST /messages": (401, (307, 307, 403, 307)),
    "listTools": (401, (200, 200, 403, 200)),
    "getTool": (401, (200, 200, 403, 404)),
    "callTool": (401, (200, 200, 403, 404)),
    **{
        operation.format(kind): (401, (status, 403, 403, 403))
        for kind, statuses in (
            ("Tool", (200, 404, 409, 409, 409, 404, 404, 404, 404)),
            ("Agent", (200, 404, 200, 422, 404, 404, 404, 404, 200)),
            ("Policy", (200, 404, 200, 422, 404, 404, 404, 404, 200)),
            ("Prompt", (200, 404, 200, 200, 200, 200, 200, 404, 200)),
            ("Server", (200, 404, 200, 422, 404, 404, 404, 404, 200)),
        )
        for operation, status in zip(OF_A_KIND, statuses, strict=True)
    },
    "tryAgent": (401, (404, 403, 403, 403)),
    "compareAgentRuns": (401, (422, 403, 403, 403)),
    "tryWorkflow": (401, (409, 403, 403, 403)),
    "compareWorkflowRuns": (401, (422, 403, 403, 403)),
    "deleteWorkflowDraft": (401, (404, 403, 403, 403)),
    "applyDefinitions": (401, (200, 403, 403, 403)),
    "listPolicies": (401, (200, 403, 403, 403)),
    "getPolicy": (401, (404, 403, 403, 403)),
    "listPrompts": (401, (200, 403, 403, 403)),
    "getPrompt": (401, (404, 403, 403, 403)),
    "listServers": (401, (200, 403, 403, 403)),
    "getServer": (401, (404, 403, 403, 403)),
    "listServerOffers": (401, (404, 403, 403, 403)),
    "listRuns": (401, (200, 200, 403, 200)),
    "startRun": (401, (202, 202, 403, 404)),
    "getRun": (401, (404, 404, 403, 200)),
    "followRun": (401, (404, 404, 403, 200)),
    "resumeRun": (401, (404, 404, 403, 403)),
    "forkRun": (401, (404, 404, 403, 403)),
    "listApprovals": (401, (200, 200, 403, 200)),
    "getApproval": (401, (404, 404, 403, 200)),
    "answerApproval": (401, (404, 404, 403, 403)),
    "showTimeline": (401, (404, 404, 403, 200)),
    "exportRun": (401, (404, 403, 403, 403)),
    "readFeed": (401, (200, 200, 403, 200)),
    "listExperiments": (401, (200, 200, 403, 200)),
    "getExperiment": (401, (404, 404, 403, 404)),
    "compareExperiments": (401, (422, 422, 403, 422)),
    "listScores": (401, (404, 404, 403, 200)),
    "giveScore": (401, (404, 404, 403, 409)),
    "withdrawScore": (401, (422, 422, 403, 422)),
    "compareRuns": (401, (422, 403, 403, 403)),
    "listReferences": (401, (404, 404, 403, 200)),
    "getReference": (401, (404, 404, 403, 404)),
    "listFiles": (401, (404, 404, 403, 200)),
    "getFile": (401, (404, 404, 403, 404)),
    "getSession": (401, (200, 200, 200, 200)),
    "beginSession": (422, (422, 422, 422, 422)),
    "endSession": (204, (204, 204, 204, 204)),
    "listSessions": (401, (200, 200, 403, 200)),
    "nameSession": (401, (404, 404, 403, 200)),
    "exportSession": (401, (404, 404, 403, 200)),
    "listMessages": (401, (404, 404, 403, 200)),
    "listMemories": (401, (200, 200, 403, 200)),
    "getMemory": (401, (404, 404, 403, 404)),
    "readDefinitions": (401, (200, 403, 403, 403)),
    "tryToolDraft": (401, (409, 403, 403, 403)),
    "tryAgentDraft": (401, (404, 403, 403, 403)),
    "tryWorkflowDraft": (401, (409, 403, 403, 403)),
    "importWorkflow": (401, (422, 403, 403, 403)),
    "addMemory": (401, (422, 422, 403, 422)),
    "switchMemories": (401, (422, 422, 403, 422)),
    "forgetMemories": (401, (422, 422, 403, 422)),
    "forgetMemory": (401, (404, 404, 403, 404)),
    "listCollections": (401, (200, 403, 403, 403)),
    "makeCollection": (401, (422, 403, 403, 403)),
    "getCollection": (401, (404, 403, 403, 403)),
    "setReaders": (401, (404, 403, 403, 403)),
    "removeCollection": (401, (404, 403, 403, 403)),
    "listDocuments": (401, (404, 403, 403, 403)),
    "putDocument": (401, (404, 403, 403, 403)),
    "deleteDocument": (401, (404, 403, 403, 403)),
    "searchCollection": (401, (422, 403, 403, 403)),
    "listAudit": (401, (200, 403, 403, 403)),
    "listWorkflows": (401, (200, 200, 403, 200)),
    "getWorkflow": (401, (200, 200, 403, 404)),
    "checkWorkflow": (401, (200, 200, 403, 404)),
    "runWorkflow": (401, (202, 202, 403, 404)),
    "getWorkflowDraft": (401, (404, 403, 403, 403)),
    "saveWorkflowDraft": (401, (409, 403, 403, 403)),
    "publishWorkflow": (401, (409, 403, 403, 403)),
    "rollbackWorkflow": (401, (409, 403, 403, 403)),
    "unpublishWorkflow": (401, (404, 403, 403, 403)),
    "listWorkflowVersions": (401, (404, 404, 403, 404)),
    "compareWorkflowVersions": (401, (404, 403, 403, 403)),
    "listTasks": (401, (409, 409, 403, 409)),
    "getTask": (401, (404, 404, 403, 404)),
    "getTaskResult": (401, (404, 404, 403, 404)),
    "cancelTask": (401, (404, 404, 403, 404)),
    "retryTask": (401, (404, 404, 403, 404)),
    "GET /v1/{rest:path}": (401, (404, 404, 404, 404)),
    "listTriggers": (401, (200, 403, 403, 403)),
    "changeTrigger": (401, (404, 403, 403, 403)),
    "POST /v1/triggers/{name}": (401, (404, 404, 404, 404)),  # with triggers: tests/triggers/test_door.py
    "listAgents": (401, (200, 200, 403, 200)),
    "getAgent": (401, (404, 404, 403, 404)),
    "listKeys": (401, (200, 403, 403, 403)),
    "addKey": (401, (422, 403, 403, 403)),
    "deleteKey": (401, (404, 403, 403, 403)),
    "listSecrets": (401, (200, 403, 403, 403)),
    "setSecret": (401, (422, 403, 403, 403)),
    "deleteSecret": (401, (404, 403, 403, 403)),
    "listConnections": (401, (200, 403, 403, 403)),
    "testConnection": (401, (422, 403, 403, 403)),
    "setConnection": (401, (422, 403, 403, 403)),
    "deleteConnection": (401, (404, 403, 403, 403)),
    "cancelRun": (401, (404, 404, 403, 200)),
    "forgetSession": (401, (404, 404, 403, 200)),
    **{f"GET {path}": (401, (status, 403, 403, 403)) for path, status in MODEL_PATHS.items()},
    **{
        f"GET {place}/.well-known/{name}": (200, (200, 200, 200, 200))
        for place, name in (
            ("", "agent-card.json"),
            ("", "agent.json"),
            ("", "jwks.json"),
            ("/a2a/{agent}", "agent-card.json"),
            ("/a2a/{agent}", "agent.json"),
        )
    },
    **{
        f"{name.replace(' ', ' /a2a/{agent}')}": (401, (others, others, 403, narrow))
        for name, (others, narrow) in OF_A2A.items()
    },
}
"""What each caller is answered: nobody, who shows no key; then the callers of `KNOWN`. Keys of `UNKNOWN` are answered
401 everywhere but at `OPEN`. A route that is not listed here fails the test: say who may have it. The last two lines
end what the others look at.
"""
SCOPES = {each.id: each.scopes[0] for each in OPERATIONS if each.scopes}
"""A scope that is told to who has none."""
KNOWN = ("north", "bob", "weak", "narrow")
"""`north` has the name ann and every scope in another tenant, `bob` is another user, `weak` is ann with a key that has
no scope, and `narrow` is ann with a key for other tools and other agents: what is ann's own may be read and ended.
"""
ALL = ("GET", "POST", "PUT", "PATCH", "DELETE")
UNKNOWN = ("wrong", "ended", "revoked")
MCP = ("/mcp", "/sse", "/messages")
OPEN = ("GET /healthz", "GET /readyz")
"""What looks at no key."""


class Served:
    """The application of `actum serve` with a run of ann that waits for a person, and keys of all kinds."""

    def __init__(
        self, bank: Bank, journal: MemoryJournal, routes: Sequence[BaseRoute], client: httpx2.AsyncClient
    ) -> None:
        self.bank, self.journal, self.routes, self.client = bank, journal, routes, client
        self.keys = {"wrong": new_key("ann")[0]}
        self._asked = 0

    async def add_keys(self) -> None:
        """Make the keys of all callers."""
        own = ("tools", "runs")
        await self._add("ann", new_key("ann", scopes=own))
        await self._add("ended", new_key("ended", principal="ann", scopes=own, expires_at=1.0))
        await self._add("revoked", new_key("revoked", principal="ann", scopes=own))
        await self.journal.keys.revoke("revoked", at=1.0, by="ann")
        await self._add("north", new_key("north", principal="ann", tenant="north", scopes=("admin",)))
        await self._add("bob", new_key("bob", scopes=own))
        await self._add("weak", new_key("weak", principal="ann"))
        await self._add(
            "narrow", new_key("narrow", principal="ann", scopes=own, tools=("other_*",), agents=("other_*",))
        )

    async def _add(self, name: str, key: tuple[str, Key]) -> None:
        self.keys[name] = key[0]
        await self.journal.keys.add(key[1])

    async def ask(self, who: str, method: str, path: str, body: object = None) -> tuple[int, httpx2.Headers, str]:
        """The status, the headers and the text of an answer; of a stream that goes on, no text."""
        self._asked += 1  # each from an address of its own, since those whose keys are wrong are slowed down
        headers = {
            "x-forwarded-for": f"198.18.{self._asked // 250}.{self._asked % 250}",
            **(OF_MCP if path == "/mcp" else {}),
        }
        if who in self.keys:
            headers["authorization"] = f"Bearer {self.keys[who]}"
        async with self.client.stream(method, path, json=body, headers=headers) as answer:
            is_stream = answer.headers.get("content-type", "").startswith("text/event-stream")
            text = "" if is_stream else (await answer.aread()).decode()
            return answer.status_code, answer.headers, text


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[Served]:
    """The application, which was started before anybody made a key."""
    journal, bank = MemoryJournal(), Bank()
    await journal.stores.migrate(TITLES.name, TITLES.all_migrations)
    pays = answering(calls("pay", to="Ada", amount=1), *["Hi."] * 20)
    agent = Agent(pays, bank.tools, name="desk", journal=journal)  # type: ignore[arg-type]
    entered = await with_stored_keys(Access(), journal, host="127.0.0.1", by="ann", is_person=False)
    file = folder / "hello.workflow.yaml"
    file.write_text("actum: workflow/1\nname: hello\nnodes: {hi: {type: say, text: Hi.}}\nedges: []\n")
    settings = Settings(workflows={"hello": WorkflowTable(file=str(file))})
    workflows = Workflows(settings, {}, folder, journal=journal)
    agents, verifier = GivenAgents({"desk": agent}), entered.access.verifier
    given: list[Any] = list(bank.tools)
    local = Identity(principal="root", scopes=("admin",))
    doors = open_doors(settings, given, agents, journal, local, verifier=verifier, workflows=workflows)
    serving_ = Serving(
        doors,
        ServeSettings(proxies=("127.0.0.1",)),
        entered.access,
        who=local,
        journal=journal,
        metrics=Metrics(),
        stored=entered.stored,
    )
    app = serving_.application.app
    async with serving(app) as url, httpx2.AsyncClient(base_url=url, timeout=HANGS_S) as client:
        yield Served(bank, journal, app.routes, client)


def requests_of(routes: Sequence[BaseRoute], ids: Mapping[str, str]) -> dict[str, tuple[str, str, object]]:
    """A request for each operation at these routes, by the name of its line in the table."""
    found: dict[str, tuple[str, str, object]] = {}
    for route in routes:
        assert isinstance(route, Route | Mount), route
        methods = route.methods if isinstance(route, Route) else None  # our own routes take every method
        own = [each for each in OPERATIONS if each.path == route.path and each.method.upper() in (methods or ALL)]
        for each in own:
            named = "hello" if each.tag == "workflows" else "add"
            path = each.path.replace(":path}", "}")
            path = path.format(path="a/b.md", id=ids.get(each.tag, "none"), name=named, handle="att_1", number="1")
            found[each.id] = (each.method.upper(), path, BODIES.get(each.id))
        if not own:
            if route.path.startswith("/a2a/"):
                found |= requests_of_a2a(route, ids)
                continue
            method = "POST" if route.path in ("/mcp", "/messages", "/v1/triggers/{name}") else "GET"
            path = re.sub("{[^}]*}", "/nowhere" if "known" in route.path else "nowhere", route.path)
            found[f"{method} {route.path}"] = (method, path, LIST if method == "POST" else None)
    return found


def requests_of_a2a(route: Route | Mount, ids: Mapping[str, str]) -> dict[str, tuple[str, str, object]]:
    """Requests for a task of ann at a path of A2A, by the name of its line in the table."""
    assert isinstance(route, Route)
    assert route.methods is not None
    (method,) = route.methods - {"HEAD"}
    path = route.path.format(agent="desk", id=ids["runs"], push_id="p1")
    body: object = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": ids["runs"]}}
    if "/rest" in path:
        body = {} if method == "POST" else None
    version = "" if "/v1/" in path else "?A2A-Version=1.0"
    return {f"{method} {route.path}": (method, path + version, body)}


async def test_every_route_answers_every_caller_as_the_table_says(tmp_path: Path) -> None:
    async with served(tmp_path) as it:
        await it.add_keys()
        run = json.loads((await it.ask("ann", "POST", "/v1/runs", {"question": "Pay.", "session": "c1"}))[2])["id"]
        told: dict[str, Any] = {}
        async with asyncio.timeout(HANGS_S):
            while told.get("status") != "paused":
                told = json.loads((await it.ask("ann", "GET", f"/v1/runs/{run}"))[2])
        ids = {"runs": run, "approvals": told["approvals"][0]["id"], "sessions": "c1", "tasks": "run_none"}
        requests = requests_of(it.routes, ids)
        assert requests.keys() == STATUSES.keys()
        others = TAKEN - {"triggers"}  # operations list them
        paths = [route.path for route in it.routes if isinstance(route, Route | Mount)]
        places = {path.split("/")[2] for path in paths if path.startswith("/v1/")}
        assert places - {each.path.split("/")[2] for each in OPERATIONS} - {"{rest:path}"} == others
        for name, (nobody, known) in STATUSES.items():
            method, path, body = requests[name]
            unknown = 200 if name in OPEN else 401
            expected = {"nobody": nobody, **dict.fromkeys(UNKNOWN, unknown), **dict(zip(KNOWN, known, strict=True))}
            for who, status in expected.items():
                got, headers, text = await it.ask(who, method, path, body)
                assert got == status, (name, who, text)
                _check_shape(name, path, got, headers, text)
                if who == "weak" and name in SCOPES:
                    assert SCOPES[name] in json.loads(text)["scope"], (name, text)
                if who != "narrow":  # ann's own
                    assert not any(each in text for each in (ids["runs"], ids["approvals"])), (name, who, text)
            if name == "listAudit":  # what follows is for ann to change
                again = json.loads((await it.ask("ann", "GET", f"/v1/runs/{run}"))[2])
                assert (again["status"], again["approvals"]) == ("paused", told["approvals"])
                assert "pay" not in it.bank.calls


async def test_every_route_wants_keys_from_the_moment_that_the_first_was_made(tmp_path: Path) -> None:
    async with served(tmp_path) as it:
        requests = requests_of(it.routes, {"runs": "run_none", "approvals": "ask_none", "sessions": "none"})
        assert requests.keys() == STATUSES.keys()
        for name, (method, path, body) in requests.items():
            for who in ("nobody", "wrong"):
                got, _, text = await it.ask(who, method, path, body)
                assert got not in (401, 403) or '"needs_key"' in text, (name, who, text)
        await it.add_keys()
        for end in (None, "ann", "north"):  # also when no key is valid any more
            if end is not None:
                await it.journal.keys.revoke(end, at=1.0, by="root")
            for name, (method, path, body) in requests.items():
                for who in ("nobody", "wrong"):
                    got, _, text = await it.ask(who, method, path, body)
                    expected = STATUSES[name][0] if who == "nobody" or name in OPEN else 401
                    assert got == expected, (name, who, text)


def _check_shape(name: str, path: str, status: int, headers: httpx2.Headers, text: str) -> None:
    """What a refusal looks like: one shape for our own API, JSON-RPC at MCP, and never what is inside of the server."""
    assert headers["x-request-id"], name
    for word in ("Traceback", 'File "', "sqlite", "SELECT "):
        assert word not in text, (name, text)
    if status == 401:
        assert headers["www-authenticate"].startswith("Bearer "), name
    if status < 400:
        return
    is_json = path in MCP or name.removeprefix("GET ") in MODEL_PATHS
    is_json = is_json or ("/a2a/" in path and "error" in json.loads(text))
    assert headers["content-type"] == ("application/json" if is_json else "application/problem+json"), name
    told = json.loads(text)
    if "/a2a/" in path and headers["content-type"] == "application/json":  # an error of A2A
        assert told["error"]["message"], name
        return
    if name.removeprefix("GET ") in MODEL_PATHS:
        assert told["error"]["message"], name
        return
    if path in MCP:
        assert told["error"]["message"], name
        return
    assert (told["status"], bool(told["title"]), bool(told["detail"])) == (status, True, True), name
    if status == 403:
        assert told["code"] == "key" or (told["code"] == "scope" and told["scope"]), (name, text)
