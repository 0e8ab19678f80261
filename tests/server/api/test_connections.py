"""`/v1/connections`: a key goes to the address of its connection alone, and each tenant has models of its own."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import httpx
import pytest
from msgspec import structs
from starlette.applications import Starlette

from actum import Agent, Context, tool
from actum.compose.connections import open_connections
from actum.compose.secrets import kept_secrets
from actum.compose.settings import Settings
from actum.compose.upstreams.passing import open_models_door
from actum.core.clock import SystemClock
from actum.core.interfaces import Journal
from actum.core.json import JsonObject
from actum.core.secrets.store import SecretValue
from actum.core.user import User
from actum.features.connections import CONNECTIONS, FEATURE, ModelConnection
from actum.journal.memory import MemoryJournal
from actum.runs.runner import Runner
from actum.server.api.api import Api, GivenAgents, KeptSecrets
from actum.server.api.routes import ApiRoutes
from actum.server.login.browser_sessions import BrowserSessions
from actum.server.models.agents.executor import AgentExecutor, AgentServing
from actum.server.stored_keys import StoredKeys
from actum.storage.place import open_journal
from actum.testing import ScriptedModel
from tests.chat_server import ChatServer, Raw, Said
from tests.patience import HANGS_S
from tests.web import serving

from .application import Keyed

SEALED = {"ACTUM_SECRETS_KEY": "0123456789abcdef" * 4}


class Served:
    """A server with the agent `assistant`, whose tool tells the secret that it is asked for."""

    def __init__(self, client: httpx.AsyncClient, kept: KeptSecrets, journal: Journal) -> None:
        self.client, self.kept, self.journal, self.said = client, kept, journal, ""

    async def ask(self, method: str, path: str, body: object = None, *, who: str = "studio") -> httpx.Response:
        answer = await self.client.request(method, path, json=body, headers={"authorization": f"Bearer {who}"})
        self.said += answer.text
        return answer

    async def run(self, *, who: str = "studio") -> JsonObject:
        """A run of `assistant`, at its end."""
        began = await self.ask("POST", "/v1/runs?wait=20", {"question": "Hello?"}, who=who)
        assert began.status_code in (200, 201, 202), began.text
        told: JsonObject = {}
        while told.get("status") not in ("done", "failed", "stopped"):
            told = (await self.ask("GET", f"/v1/runs/{began.json()['id']}", who=who)).json()
        return told


@asynccontextmanager
async def served(
    folder: Path, journal: Journal | None = None, environment: Mapping[str, str] | None = None
) -> AsyncIterator[Served]:
    journal = journal or MemoryJournal()
    await journal.stores.migrate(FEATURE.name, FEATURE.all_migrations)
    environment = {"XDG_STATE_HOME": str(folder), **SEALED, **(environment or {})}
    kept = kept_secrets(environment)

    @tool(effects=["read"])
    def tell(ctx: Context, name: str) -> str:
        """Tell a secret."""
        return ctx.secret(name)

    agent = Agent(
        ScriptedModel(["By the embedded model."] * 9), [tell], name="assistant", journal=journal, secrets=kept.store
    )
    runner = Runner([tell], name="api", journal=journal, secrets=kept.store)
    agents = GivenAgents({"assistant": agent})
    settings = Settings()
    connections = open_connections(settings, environment, journal, kept)
    browsers = BrowserSessions(journal, StoredKeys(journal.keys), scopes=("admin",))
    api = ApiRoutes(runner, agents, secrets=kept, browsers=browsers, connections=connections, drain_s=0.1)
    executor = AgentExecutor(Api(runner, agents, SystemClock(), connections=connections), AgentServing(drain_s=0.1))
    models = open_models_door(settings, environment, journal, agents.names, executor, connections)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with models.lifespan(), api.lifespan():
            yield

    app = Keyed(Starlette(routes=[*models.routes, *api.routes], lifespan=lifespan))
    async with serving(app) as url, httpx.AsyncClient(base_url=url, timeout=HANGS_S) as client:
        yield Served(client, kept, journal)


@contextmanager
def upstream(key: str) -> Iterator[ChatServer]:
    """An endpoint of the OpenAI API that wants this key and has this model."""

    def answer(body: JsonObject) -> Said:
        if server.requests[-1].headers.get("authorization") != f"Bearer {key}":
            return Raw((b'{"error": {"message": "Incorrect API key provided"}}',), status=401)
        if body["model"] != "big":
            return Raw((b'{"error": {"message": "The model does not exist"}}',), status=404)
        return "By big."

    with ChatServer(answer) as server:
        yield server


async def test_a_connected_model_answers_from_the_next_request_in_every_process_and_for_its_tenant_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with AsyncExitStack() as stack:
        journals = [open_journal(str(tmp_path / "j.db")) for _ in range(2)]
        for each in journals:
            stack.push_async_callback(each.close)
        one, other = [await stack.enter_async_context(served(tmp_path, each)) for each in journals]
        ours, theirs = stack.enter_context(upstream("hunter1")), stack.enter_context(upstream("hunter2"))
        assert (await one.run())["text"] == "By the embedded model."
        body = {"url": ours.url, "model": "big", "key": "hunter1", "default": True}
        made = await one.ask("PUT", "/v1/connections/mine", body)
        assert (made.status_code, made.json()["default"]) == (200, True), made.text
        for it in (one, other):
            told = await it.run()
            assert (told["text"], str(told["model"]).split("@")[0]) == ("By big.", "big"), told
            assert (await it.run(who="studio-of-north"))["text"] == "By the embedded model."
        listed = await other.ask("GET", "/v1/agents/assistant")
        assert listed.json()["model"].startswith("big@")
        body = {"url": theirs.url, "model": "big", "key": "hunter2", "default": True}
        assert (await other.ask("PUT", "/v1/connections/mine", body, who="studio-of-north")).status_code == 200
        assert (await one.run(who="studio-of-north"))["text"] == "By big."
        assert {each.headers["authorization"] for each in ours.everything} == {"Bearer hunter1"}
        assert {each.headers["authorization"] for each in theirs.everything} == {"Bearer hunter2"}
        # As a model's name.
        for who in ("studio", "studio-of-north"):
            models = [each["id"] for each in (await other.ask("GET", "/v1/models", who=who)).json()["data"]]
            assert models == ["assistant", "mine"]
            said = {"model": "mine", "messages": [{"role": "user", "content": "Hi."}]}
            passed = await other.ask("POST", "/v1/chat/completions", said, who=who)
            assert passed.json()["choices"][0]["message"]["content"] == "By big.", passed.text
        # Changed and removed.
        assert (
            await other.ask("PUT", "/v1/connections/mine", {**body, "url": ours.url, "key": "wrong"})
        ).status_code == 200
        assert (await one.run())["status"] == "failed"
        assert (await other.ask("DELETE", "/v1/connections/mine")).status_code == 204
        assert (await other.ask("DELETE", "/v1/connections/mine")).status_code == 404
        assert (await one.run())["text"] == "By the embedded model."
        assert (await one.ask("GET", "/v1/connections")).json()["items"] == []
        assert one.kept.model_keys is not None
        assert one.kept.model_keys.model_key(f"mine {ours.url}", "") is None
        for who in ("studio", "studio-of-north"):
            said_of = (await one.ask("GET", "/v1/audit", who=who)).text
            assert "connections.set" in said_of
        assert "hunter" not in one.said + other.said + caplog.text
        assert b"hunter" not in (tmp_path / "j.db").read_bytes()


async def test_a_key_goes_to_its_own_address_alone_and_to_no_tool(tmp_path: Path) -> None:
    async with served(tmp_path, environment={"ACTUM_API_KEY": "operators", "OPENAI_API_KEY": "operators"}) as it:
        with upstream("hunter1") as ours, ChatServer(["Stolen."] * 9) as thief:
            body: JsonObject = {"url": ours.url, "model": "big", "key": "hunter1", "default": True}
            assert (await it.ask("PUT", "/v1/connections/mine", body)).status_code == 200
            # Moved to another address, the connection has no key there, and no other key is sent.
            moved = {"url": thief.url, "model": "big", "default": True}
            assert (await it.ask("PUT", "/v1/connections/mine", moved)).status_code == 200
            assert (await it.run())["text"] == "Stolen."
            assert all("authorization" not in each.headers for each in thief.everything)
            # A redirect is not followed.
            there = Raw((b"",), status=307, headers={"location": f"{thief.url}/chat/completions"})
            asked = len(thief.everything)
            with ChatServer([there] * 9) as sends_on:
                tried = await it.ask(
                    "POST", "/v1/connections/test", {"url": sends_on.url, "model": "m", "key": "hunter1"}
                )
                assert tried.json() == {"outcome": "unreachable"}
                assert len(sends_on.everything) == 1
            assert len(thief.everything) == asked
            # No tool gets the key of a model.
            assert it.kept.store is not None
            keyed: JsonObject = {"provider": "groq", "model": "big", "key": "hunter3"}
            assert (await it.ask("PUT", "/v1/connections/groq", keyed, who="root")).status_code == 200
            for name in ("GROQ_API_KEY", f"mine {ours.url}", f"mine {thief.url}"):
                call = {"arguments": {"name": name}}
                assert "hunter" not in (await it.ask("POST", "/v1/tools/tell/call", call, who="root")).text
                assert name not in it.kept.store.of(User("", "root"))
            assert "hunter" not in it.said


async def test_a_test_asks_once_keeps_nothing_and_says_what_came(tmp_path: Path) -> None:
    async with served(tmp_path) as it:
        with upstream("hunter1") as ours, ChatServer([Raw((b"{}",), status=503)] * 9) as busy:
            good: JsonObject = {"url": ours.url, "model": "big", "key": "hunter1"}
            for change, outcome in (
                ({}, "ok"),
                ({"key": "wrong"}, "key_refused"),
                ({"model": "small"}, "unknown_model"),
                ({"url": busy.url}, "unreachable"),
                ({"url": "http://127.0.0.1:1/v1"}, "unreachable"),
                ({"url": "", "provider": "openai", "key": ""}, "key_refused"),  # none was given
            ):
                before = len(ours.everything) + len(busy.everything)
                told = await it.ask("POST", "/v1/connections/test", {**good, **change})
                assert (told.status_code, told.json()) == (200, {"outcome": outcome}), (change, told.text)
                assert len(ours.everything) + len(busy.everything) <= before + 1
        assert (await it.ask("GET", "/v1/connections")).json()["items"] == []
        assert not (tmp_path / "actum" / "secrets.json").exists()
        assert (await it.ask("GET", "/v1/audit")).json()["items"] == []


async def test_what_can_be_no_connection_is_refused_and_the_local_network_is_for_who_started_the_studio(
    tmp_path: Path,
) -> None:
    model: JsonObject = {"model": "m", "key": "hunter1"}
    inside = ("http://127.0.0.1:11434/v1", "https://192.168.1.5/v1", "http://example.org/v1", "https://localhost/v1")
    never = ("http://169.254.169.254/v1", "https://metadata.google.internal/v1", "http://[fd00:ec2::254]/v1")
    bad: list[tuple[JsonObject, str, int, str]] = [
        *(({**model, "url": url}, who, 422, "address") for url in inside for who in ("root", "north")),
        *(({**model, "url": url}, who, 422, "address") for url in never for who in ("root", "studio")),
        ({**model, "provider": "ollama"}, "root", 422, "address"),
        ({**model, "provider": "openai", "url": "https://example.org/v1"}, "root", 422, "invalid"),
        (model, "root", 422, "invalid"),
        ({**model, "provider": "nobody"}, "root", 422, "invalid"),
        ({"provider": "openai", "model": "m"}, "north", 422, "invalid"),  # no key: those here are the operator's
        ({"provider": "openai", "model": "", "key": "hunter1"}, "root", 422, "invalid"),
        ({"provider": "openai", "model": "a/../b", "key": "hunter1"}, "root", 422, "invalid"),
        ({"provider": "openai", "model": "m", "key": "hunter1\r\nhost: x"}, "root", 422, "invalid"),
        ({"provider": "openai", "model": "m", "key": ["hunter1"]}, "root", 422, "invalid"),
        *(
            ({**model, "url": url}, "studio", 422, "invalid")
            for url in (
                "file:///etc/passwd",
                "https://u:hunter1@x.org/v1",
                "https://x.org/v1?k=hunter1",
                "https://x.org/#m",
                "x",
            )
        ),
        ({**model, "provider": "openai"}, "keyless", 403, "needs_key"),
        ({**model, "provider": "openai"}, "bob", 403, "scope"),
    ]
    async with served(tmp_path, environment={"OPENAI_API_KEY": "operators"}) as it:
        for body, who, status, code in bad:
            for method, path in (("PUT", "/v1/connections/mine"), ("POST", "/v1/connections/test")):
                if method == "POST" and body == {"provider": "openai", "model": "m"}:
                    continue  # a test without a key says so
                answer = await it.ask(method, path, body, who=who)
                assert (answer.status_code, answer.json()["code"]) == (status, code), (body, who, answer.text)
        assert "hunter" not in it.said
        good: JsonObject = {"provider": "openai", "model": "m", "key": "hunter1"}
        assert (await it.ask("PUT", "/v1/connections/assistant", good, who="root")).json()["code"] == "taken"
        assert (await it.ask("PUT", "/v1/connections/a%20b", good, who="root")).status_code == 422
        assert (await it.ask("DELETE", "/v1/connections/mine", who="keyless")).json()["code"] == "needs_key"
        # The operator's key serves the tenant without a name.
        assert (
            await it.ask("PUT", "/v1/connections/openai", {"provider": "openai", "model": "m"}, who="root")
        ).is_success
        # A row that names an address inside is of no use: the guard looks when a socket is opened, too.
        with ChatServer(["Reached."] * 3) as server:
            row = ModelConnection(name="in", provider="", url=server.url, model="m", is_default=1, is_local=0)
            await it.journal.stores.put("", CONNECTIONS, row)
            assert (await it.run(who="root"))["status"] == "failed"
            assert server.everything == []
            await it.journal.stores.put("", CONNECTIONS, structs.replace(row, is_local=1))
            assert (await it.run(who="root"))["text"] == "Reached."


async def test_what_a_process_leaves_that_is_killed_between_key_and_row_changes_nothing(tmp_path: Path) -> None:
    async with served(tmp_path) as it:
        keys = it.kept.model_keys
        assert keys is not None
        with upstream("hunter1") as ours, upstream("hunter2") as new:
            keys.set_model_key(f"mine {ours.url}", SecretValue("hunter1"), "")  # and killed: there is no row
            assert (await it.ask("GET", "/v1/connections")).json()["items"] == []
            assert (await it.run())["text"] == "By the embedded model."
            body: JsonObject = {"url": ours.url, "model": "big", "key": "hunter1", "default": True}
            assert (await it.ask("PUT", "/v1/connections/mine", body)).status_code == 200
            keys.set_model_key(f"mine {new.url}", SecretValue("hunter2"), "")  # and killed: the row is the old one
            assert (await it.run())["text"] == "By big."
            assert new.everything == []
            keys.remove_model_key(f"mine {ours.url}", "")  # and killed while it was removed: the row is still there
            assert (await it.run())["status"] == "failed"
            assert (await it.ask("DELETE", "/v1/connections/mine")).status_code == 204
            assert (await it.run())["text"] == "By the embedded model."


async def test_connections_of_one_provider_share_a_key_that_goes_with_the_last_and_one_is_the_default(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as it:
        keys = it.kept.model_keys
        assert keys is not None
        for name, more in (("big", {"key": "hunter1", "default": True}), ("small", {"default": True})):
            made = await it.ask(
                "PUT", f"/v1/connections/{name}", {"provider": "openai", "model": name, **more}, who="root"
            )
            assert made.status_code == 200, made.text
        items = (await it.ask("GET", "/v1/connections", who="root")).json()["items"]
        assert [(each["name"], each["default"]) for each in items] == [("big", False), ("small", True)]
        assert (await it.ask("DELETE", "/v1/connections/big", who="root")).status_code == 204
        assert keys.model_key("OPENAI_API_KEY", "") == SecretValue("hunter1")
        moved = await it.ask("PUT", "/v1/connections/small", {"url": "https://x.example/v1", "model": "m"}, who="root")
        assert moved.status_code == 200
        assert keys.model_key("OPENAI_API_KEY", "") is None
        assert it.kept.store is not None
        it.kept.store.set("OPENAI_API_KEY", SecretValue("hunter2"), User("north"))  # as `actum secrets set` does
        body: JsonObject = {"provider": "openai", "model": "m"}
        assert (await it.ask("PUT", "/v1/connections/openai", body, who="north")).status_code == 200
        assert (await it.ask("PUT", "/v1/connections/openai", body, who="root")).status_code == 422


async def test_models_of_this_machine_are_told_to_who_started_the_studio_alone(tmp_path: Path) -> None:
    nobody = {f"{server}_HOST": "no-server.invalid" for server in ("LLAMACPP", "LMSTUDIO", "VLLM")}
    with ChatServer([], models=["qwen3:8b"]) as server:
        async with served(tmp_path, environment={**nobody, "OLLAMA_BASE_URL": server.url}) as it:
            told = {
                who: (await it.ask("GET", "/v1/connections", who=who)).json() for who in ("studio", "root", "north")
            }
    assert [page["local"] for page in told.values()] == [[{"provider": "ollama", "model": "qwen3:8b"}], [], []]
    assert {"name": "openai", "wants_key": True} in told["north"]["providers"]
