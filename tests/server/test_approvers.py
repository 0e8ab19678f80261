"""The approvers of a rule at every door that takes an answer, with keys and with tokens, in two tenants."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from actum import Agent, tool
from actum.compose.serving import Serving, open_doors
from actum.compose.settings import Settings, WorkflowTable
from actum.compose.tables.serve import ServeSettings
from actum.compose.workflows import Workflows
from actum.core.clock import SystemClock
from actum.core.json import JsonObject
from actum.core.run.pending import Pending
from actum.core.stored.key import new_key
from actum.journal.memory import MemoryJournal
from actum.policy.file import PolicyFile
from actum.protocols.mcp.config import McpEra, McpServer
from actum.server import Access, Identity
from actum.server.api.api import GivenAgents
from actum.server.issuer import Issuer, SignedTokens
from actum.server.keys import with_stored_keys
from actum.server.models.agents.placing import may_approve
from actum.server.verifier import Authenticator
from actum.testing import ScriptedModel
from actum.toolsets.mcp.connection import McpConnection
from tests.issuer import Issuer as RealIssuer
from tests.mcp_service import Client
from tests.patience import HANGS_S
from tests.till import pays_once
from tests.web import serving

US = "https://tools.example.org"


class Caller(NamedTuple):
    principal: str
    tenant: str
    roles: tuple[str, ...] = ()


ANN = Caller("ann", "north")
CALLERS = {
    "boss by role": Caller("eva", "north", ("boss",)),
    "boss by role, south": Caller("eva", "south", ("boss",)),
    "boss by name": Caller("boss", "north"),
    "boss by name, south": Caller("boss", "south"),
    "a user called role:boss": Caller("role:boss", "north"),
    "a user called boss@south": Caller("boss@south", "north"),
    "a boss of the policy's": Caller("max", "north"),
    "a clerk": Caller("cem", "north", ("clerk",)),
}
MAY: dict[str, set[str]] = {
    "role:boss": {"boss by role", "a boss of the policy's"},
    "boss": {"boss by name"},
    "user:boss": {"boss by name"},
    "boss@north": {"boss by name"},
    "boss@south": {"boss by name, south"},
    "user:boss@south": {"a user called boss@south"},
    "role:nobody": set(),
}
"""Who may approve a call of ann of north, by the approver that the rule names."""
FLOW = """\
actum: workflow/1
name: asks
nodes:
  sure: {type: human, message: Sure?, choices: [yes, no], approvers: ["APPROVER"]}
edges: []
"""


@tool(effects={"spend"})
def pay(amount: int = 1) -> str:
    """Pay."""
    return f"paid {amount}"


class Served(NamedTuple):
    url: str
    client: httpx2.AsyncClient
    tokens: Mapping[Caller, str]

    async def ask(self, who: Caller, method: str, path: str, body: object = None, **headers: str) -> httpx2.Response:
        shown = {"authorization": f"Bearer {self.tokens[who]}", **headers}
        return await self.client.request(method, path, json=body, headers=shown)


@asynccontextmanager
async def served(folder: Path, approver: str, kind: str) -> AsyncIterator[Served]:
    """All doors, before which callers show a key or a token."""
    (folder / "policy.toml").write_text(
        f'[users.max]\nroles = ["boss"]\n[[rules]]\ntools = "pay"\nthen = "ask"\napprovers = ["{approver}"]\n'
        '[[rules]]\nthen = "allow"\n'
    )
    (folder / "asks.workflow.yaml").write_text(FLOW.replace("APPROVER", approver))
    journal, issuer = MemoryJournal(), RealIssuer(SystemClock())
    settings = Settings(
        policy=str(folder / "policy.toml"),
        workflows={"asks": WorkflowTable(file=str(folder / "asks.workflow.yaml"))},
    )
    async with serving(issuer.app()) as issuer.url:
        trusted = Issuer(url=issuer.url, audience=US, tenant_claim="org")
        access = Access(verifier=Authenticator([SignedTokens(trusted)]), issuer=issuer.url, resource=US)
        tokens: dict[Caller, str] = {}
        for number, each in enumerate([ANN, *CALLERS.values()]):
            scopes = ["tools", "runs", "approve"]
            if kind == "token":
                claims: JsonObject = {"aud": US, "sub": each.principal, "org": each.tenant, "roles": [*each.roles]}
                tokens[each] = issuer.sign({**claims, "scope": " ".join(scopes)})
            else:
                more = {"principal": each.principal, "tenant": each.tenant}
                tokens[each], key = new_key(f"k{number}", roles=each.roles, scopes=scopes, **more)  # type: ignore[arg-type]
                await journal.keys.add(key)
        entered = await with_stored_keys(access, journal, host="127.0.0.1", by="root", is_person=False)
        desk = Agent(
            ScriptedModel(pays_once), [pay], name="desk", journal=journal, policy=PolicyFile(folder / "policy.toml")
        )
        workflows = Workflows(settings, {}, folder, journal=journal)
        verifier = entered.access.verifier
        agents = GivenAgents({"desk": desk, "asks": workflows.agent("asks")})
        doors = open_doors(settings, [pay], agents, journal, Identity(), verifier=verifier, workflows=workflows)
        application = Serving(
            doors, ServeSettings(), entered.access, journal=journal, stored=entered.stored
        ).application
        async with (
            serving(application.app) as url,
            httpx2.AsyncClient(base_url=url, timeout=HANGS_S) as client,
        ):
            yield Served(url, client, tokens)


@pytest.mark.parametrize("kind", ["key", "token"])
@pytest.mark.parametrize("approver", MAY)
async def test_those_whom_a_rule_names_approve_a_call_and_nobody_else(tmp_path: Path, approver: str, kind: str) -> None:
    async with served(tmp_path, approver, kind) as it:
        for name, who in CALLERS.items():
            waits = (await it.ask(ANN, "POST", "/v1/tools/pay/call", {"arguments": {}})).json()
            answer = await it.ask(who, "POST", f"/v1/approvals/{waits['approval']}", {"verdict": "approve"})
            refused = 404 if who.tenant == "south" else 403
            assert answer.status_code == (200 if name in MAY[approver] else refused), (name, answer.text)
            if who.tenant == "south":  # who is named may answer, and sees nothing else of the other tenant
                assert (await it.ask(who, "GET", f"/v1/runs/{waits['run']}")).status_code == 404
                assert (await it.ask(who, "GET", "/v1/approvals")).json()["items"] == []


@pytest.mark.parametrize("kind", ["key", "token"])
@pytest.mark.parametrize("approver", MAY)
async def test_those_whom_a_node_names_answer_a_workflow_and_nobody_else(
    tmp_path: Path, approver: str, kind: str
) -> None:
    async with served(tmp_path, approver, kind) as it:
        for name, who in CALLERS.items():
            begun = (await it.ask(ANN, "POST", "/v1/workflows/asks/run", {})).json()
            told: dict[str, Any] = {}
            while told.get("status") != "paused":
                told = (await it.ask(ANN, "GET", f"/v1/runs/{begun['id']}")).json()
            (asked,) = told["approvals"]
            yes = {"verdict": "answer", "arguments": {"choice": "yes"}}
            answer = await it.ask(who, "POST", f"/v1/approvals/{asked['id']}", yes)
            # A node knows no table of users: the policy's own role counts for rules alone.
            may = name in MAY[approver] - {"a boss of the policy's"}
            refused = 404 if who.tenant == "south" else 403
            assert answer.status_code == (200 if may else refused), (name, answer.text)


OWN = {"boss by role": True, "boss by role, south": True, "a clerk": False, "a user called role:boss": False}
"""Who may approve an own call by `role:boss`: whoever has the role in the tenant of the call."""


@pytest.mark.parametrize("kind", ["key", "token"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_client_of_mcp_is_asked_where_its_user_may_approve(tmp_path: Path, era: McpEra, kind: str) -> None:
    async with served(tmp_path, "role:boss", kind) as it:
        for name, may in OWN.items():
            headers = {"Authorization": f"Bearer {it.tokens[CALLERS[name]]}"}
            server = McpServer(name="x", url=f"{it.url}/mcp", transport="http", headers=headers)
            client = Client({"elicitation": {"form": {}}}, {"action": "accept", "content": {"approve": True}})
            async with McpConnection(server, era=era) as way:
                told = await way.request("tools/call", {"name": "pay", "arguments": {}}, caller=client)
            assert (str(told["content"]).count("paid 1"), len(client.asked)) == ((1, 1) if may else (0, 0)), name


@pytest.mark.parametrize("kind", ["key", "token"])
@pytest.mark.parametrize("form", ["1.0", "0.3", "original"])
async def test_a_caller_of_a2a_approves_an_own_task_where_a_rule_lets_them(
    tmp_path: Path, form: str, kind: str
) -> None:
    async with served(tmp_path, "role:boss", kind) as it:
        for name, may in OWN.items():
            state = await _send(it, CALLERS[name], form, "Pay.")
            assert "input" in state["state"], (name, state)
            state = await _send(it, CALLERS[name], form, "approve", task=state["id"])
            assert ("completed" in state["state"]) is may, (name, state)


async def _send(it: Served, who: Caller, form: str, text: str, task: str = "") -> dict[str, str]:
    """Send a message, and wait for its task: the id, and the state in small letters."""
    named = {"taskId": task} if task else {}
    said: dict[str, object]
    params: dict[str, object]
    if form == "1.0":
        said = {"messageId": text, "role": "ROLE_USER", "parts": [{"text": text}], **named}
        method, path, params = "SendMessage", "/a2a/desk", {"message": said}
    elif form == "0.3":
        parts = [{"kind": "text", "text": text}]
        said = {"kind": "message", "messageId": text, "role": "user", "parts": parts, **named}
        method, path, params = "message/send", "/a2a/desk", {"message": said}
    else:
        said = {"id": f"t-{who}-{form}", "message": {"role": "user", "parts": [{"type": "text", "text": text}]}}
        method, path, params = "tasks/send", "/a2a/desk/legacy", said
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    version = {"a2a-version": form} if form == "1.0" else {}
    told = (await it.ask(who, "POST", path, body, **version)).json()
    if "error" in told:
        return {"id": task, "state": f"error {told['error']['message']}"}
    found = told["result"].get("task", told["result"])
    return {"id": found["id"], "state": found["status"]["state"].lower()}


@pytest.mark.parametrize("name", CALLERS)
@pytest.mark.parametrize("approver", MAY)
def test_the_model_apis_take_an_approval_of_those_whom_a_rule_names(approver: str, name: str) -> None:
    who = CALLERS[name]
    identity = Identity(principal=who.principal, tenant=who.tenant, roles=who.roles, scopes=("approve",))
    approvers: Sequence[str] = (approver, "max") if approver == "role:boss" else (approver,)
    asked = Pending("ask", "approval", "", approvers=tuple(approvers))
    own = who.tenant == "south" and approver in ("role:boss", "boss", "user:boss", "boss@south")
    namesake = {"role:boss": "boss by role, south", "boss@south": "boss by name, south"}.get(
        approver, "boss by name, south"
    )
    assert may_approve(asked, identity, approve=True) is (name in MAY[approver] or (own and name == namesake))
