"""A server that sends more than it was asked for, behind a real `actum serve`: nobody gets the bytes of another.

Every kind of request that actum sends goes to such a server, on behalf of two tenants.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from actum.core.stored.key import new_key
from actum.storage.sqlite import SQLiteJournal
from tests.cli.test_serve import served, until
from tests.lying_upstream import HONEST, KINDS, LIES, Lie, LyingUpstream, lying_upstream
from tests.patience import HANGS_S
from tests.transport.wire_servers import key_pair

TENANTS = ("north", "south")
ASKED = ("north", "north", "south", "north", "south")
"""On whose behalf the requests of a test are made, one after the other."""
TOOLS = """
from actum import tool
from actum.protocols.a2a.remote_agent import RemoteAgent
from actum.protocols.mcp.config import McpServer
from actum.protocols.openapi.endpoint import EndpointTemplate, setup_of
from actum.toolsets.a2a import A2AToolset
from actum.toolsets.http.toolset import ApiToolset
from actum.toolsets.mcp.toolset import McpToolset


@tool(effects={{"read"}})
def look(mark: str) -> str:
    "Look."
    return mark


tools = [
    look,
    ApiToolset(setup_of(EndpointTemplate(name="api", url="{api}/say?mark={{mark}}"))),
    McpToolset(McpServer(name="mcp", url="{mcp}/mcp", transport="http", era="modern")),
    A2AToolset(RemoteAgent(name="a2a", url="{a2a}")),
]
"""
SETTINGS = """
policy = "policy.toml"
[models.fast]
upstreams = ["{gateway}/v1#m"]
[agents.desk]
model = "{model}/v1#m"
tools = ["none"]
mcp = ["none"]
[egress]
private = ["{webhook}"]
[serve.login]
issuer = "{login}"
client_id = "c"
"""


class WebApplication:
    """A running server, and those who ask it.

    Args:
        client: sends requests to the server.
        keys: of a user of each tenant.
        upstream: the servers behind it.
    """

    def __init__(self, client: httpx2.AsyncClient, keys: dict[str, str], upstream: LyingUpstream) -> None:
        self._client, self._keys, self.upstream = client, keys, upstream
        self._asks: dict[str, Callable[[str], Awaitable[str]]] = {
            "model": lambda mark: self._chat("desk", mark),
            "gateway": lambda mark: self._chat("fast", mark),
            "api": lambda mark: self._call("api", mark, mark=mark),
            "mcp": lambda mark: self._call("mcp_say", mark, mark=mark),
            "a2a": lambda mark: self._call("a2a", mark, message=mark),
            "webhook": self._webhook,
            "login": self._login,
        }

    async def ask(self, kind: str, tenant: str, number: int) -> str:
        """Have one request of a kind sent; what came of it."""
        said = await self._asks[kind](f"{tenant}-{number}")
        await self.upstream.says_late(kind)
        return said

    async def _post(self, path: str, mark: str, body: object) -> httpx2.Response:
        key = self._keys[mark.partition("-")[0]]
        return await self._client.post(path, json=body, headers={"authorization": f"Bearer {key}"})

    async def _chat(self, model: str, mark: str) -> str:
        body = {"model": model, "messages": [{"role": "user", "content": mark}]}
        return (await self._post("/v1/chat/completions", mark, body)).text

    async def _call(self, tool: str, mark: str, /, **arguments: str) -> str:
        return (await self._post(f"/v1/tools/{tool}/call", mark, {"arguments": arguments})).text

    async def _webhook(self, mark: str) -> str:
        place = f"{self.upstream.origin('webhook')}/{mark}"
        body = {"arguments": {"mark": mark}, "execute_async": True, "webhook": place}
        answer = await self._post("/v1/tools/look/call", mark, body)
        assert answer.status_code == 202, answer.text
        await until(lambda: any(mark in marks for marks in self.upstream.connections["webhook"]))
        return mark

    async def _login(self, mark: str) -> str:
        begun = await self._client.get("/login")
        assert begun.status_code == 303, begun.text
        state = parse_qs(urlsplit(begun.headers["location"]).query)["state"][0]
        back = await self._client.get("/login/callback", params={"code": "c", "state": state})
        assert back.status_code in (403, 502), back.text
        return mark + back.text


@asynccontextmanager
async def house(folder: Path, lie: Lie, *, tls: bool = False) -> AsyncIterator[WebApplication]:
    context, trusted = None, {}
    if tls:
        private, public = key_pair("localhost")
        (folder / "server.pem").write_text(private + public)
        (folder / "trusted.pem").write_text(public)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem")
        trusted = {"SSL_CERT_FILE": str(folder / "trusted.pem")}
    keys: dict[str, str] = {}
    journal = SQLiteJournal(folder / "runs.db")
    for tenant in TENANTS:
        keys[tenant], key = new_key(tenant, principal="ann", scopes=("models", "tools", "runs"), tenant=tenant)
        await journal.keys.add(key)
    await journal.close()
    async with lying_upstream(lie, context) as upstream:
        places = {kind: upstream.origin(kind) for kind in KINDS}
        (folder / "liars.py").write_text(TOOLS.format(**places), "utf-8")
        (folder / "policy.toml").write_text('default = "allow"\n', "utf-8")
        variables = {"ACTUM_SECRET_WEBHOOK": "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", **trusted}
        async with (
            served(folder, "--tools", "liars.py:tools", settings=SETTINGS.format(**places), **variables) as server,
            httpx2.AsyncClient(base_url=server.origin, timeout=HANGS_S) as client,
        ):
            yield WebApplication(client, keys, upstream)


@pytest.mark.parametrize(
    ("name", "tls"),
    [
        *((name, False) for name in LIES),
        *((name, True) for name in LIES if "answer" in name and "interim" not in name),
    ],
)
async def test_what_a_server_sends_unasked_is_never_the_answer_to_another(tmp_path: Path, name: str, tls: bool) -> None:
    lie = LIES[name]
    can_not_be_told = "under way" in name  # HTTP/1.1 gives an answer no name
    async with house(tmp_path, lie, tls=tls) as asked:
        for kind in KINDS:
            said = [await asked.ask(kind, tenant, number) for number, tenant in enumerate(ASKED)]
            # A connection that was given up before its request, as on a busy machine, is nobody's answer.
            connections = [marks for marks in asked.upstream.connections[kind] if marks]
            forged = [number for number, words in enumerate(said) if "forged" in words]
            own = [number for number, tenant in enumerate(ASKED) if f"{tenant}-{number}" in said[number]]
            for marks in connections:
                assert len({mark.partition("-")[0] for mark in marks if mark}) < 2, (kind, connections)
            if can_not_be_told:
                assert len(forged) <= 1, (kind, said)
                assert len(own) >= len(ASKED) - 1, (kind, said)
                assert sum(sum(map(bool, marks)) > 1 for marks in connections) <= 1, (kind, connections)
            else:
                assert (forged, own) == ([], list(range(len(ASKED)))), (kind, said)
                later = connections if not lie.late else connections[1:]
                assert [len(marks) for marks in later] == [1] * len(later), (kind, connections)


async def test_at_a_server_that_is_honest_nearly_all_requests_go_over_a_kept_connection(tmp_path: Path) -> None:
    shares: dict[str, float] = {}
    async with house(tmp_path, HONEST) as asked:
        for kind in (
            "model",
            "gateway",
            "api",
            "mcp",
            "a2a",
        ):  # of log-ins and webhooks there are never so many at once
            for number in range(40):
                said = await asked.ask(kind, "north", number)
                assert f"north-{number}" in said, (kind, said)
            connections = asked.upstream.connections[kind]
            shares[kind] = 1 - len(connections) / sum(map(len, connections))
    assert min(shares.values()) >= 0.95, shares
