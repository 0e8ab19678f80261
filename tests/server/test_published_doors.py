"""Published workflows at every door, by the official clients: each tenant sees and calls its own, as published now."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import httpx2
import openai
import pytest
from a2a.client import ClientConfig, create_client
from a2a.types import a2a_pb2 as pb
from mcp import MCPError
from mcp.client.client import Client, ConnectMode
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitRequestParams, ElicitResult
from msgspec import Struct

from actum import Agent
from actum.compose.serving import Serving, open_doors
from actum.compose.settings import ModelTable, Settings, WorkflowTable
from actum.compose.tables.serve import ServeSettings
from actum.compose.tools import load_tools
from actum.compose.workflows import open_workflows
from actum.core.interfaces import Journal
from actum.core.run.record import Entry, Started
from actum.core.run.summary import RunSummary
from actum.core.stored.key import new_key
from actum.journal.memory import MemoryJournal
from actum.server import Access, Identity
from actum.server.api.api import GivenAgents
from actum.server.scopes import ALL_SCOPES
from actum.server.verifier import Keys
from actum.storage.place import open_journal
from actum.testing import ScriptedModel
from tests.cli.test_serve import command, served, until
from tests.patience import HANGS_S
from tests.server.models.desk import until as until_true
from tests.web import serving

TOOLS = '''\
from actum import tool


@tool(effects={"read"})
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(effects={"spend"})
def pay(euros: int) -> str:
    """Pay."""
    return f"paid {euros}"
'''
DESK = """\
actum: workflow/1
name: anything
inputs: {type: object, required: [city], properties: {city: {type: string}}}
nodes: {price: {type: workflow, workflow: price, with: {city: "${inputs.city}"}}}
outputs: {said: "${price.output.said}"}
"""


def price(name: str = "price", word: str = "cheap", description: str = "Tells a price.") -> str:
    """A workflow that answers with a word."""
    return (
        f"actum: workflow/1\nname: {name}\ndescription: {description}\n"
        "inputs: {type: object, required: [city], properties: {city: {type: string}}}\nnodes: {}\n"
        f'outputs: {{said: "{word} in ${{inputs.city}}"}}\n'
    )


def asking(word: str, name: str = "ask") -> str:
    """A workflow that asks a person before it answers with a word."""
    return (
        f"actum: workflow/1\nname: {name}\n"
        "inputs: {type: object, required: [city], properties: {city: {type: string}}}\n"
        "nodes:\n  sure: {type: human, message: Sure?, choices: [yes, no]}\n"
        f"  more: {{type: workflow, workflow: price, with: {{city: '{word}'}}}}\n"
        "edges: [sure.yes > more]\n"
        f'outputs: {{said: "{word}: ${{more.output.said}}"}}\n'
    )


COUNTING = """\
actum: workflow/1
name: count
inputs: {type: object, required: [word], properties: {word: {type: string}}}
conversation: {words: []}
nodes: {note: {type: set, append: {words: "${inputs.word}"}}}
outputs: {words: {cel: "join(vars.words, '+')"}}
"""
KEYS: Mapping[str, dict[str, Any]] = {
    "north": {"principal": "ann", "tenant": "north", "scopes": ALL_SCOPES},
    "south": {"principal": "ann", "tenant": "south", "scopes": ALL_SCOPES},
    "bob": {"principal": "bob", "tenant": "north", "scopes": ("runs", "tools", "models")},
    "narrow": {
        "principal": "bob",
        "tenant": "north",
        "scopes": ("runs", "tools", "models"),
        "tools": ("add",),
        "agents": ("desk",),
    },
    "operator": {"principal": "root", "scopes": ALL_SCOPES},
    "builder": {"principal": "bea", "tenant": "north", "scopes": ("build", "tools")},
    "narrow-builder": {
        "principal": "bea",
        "tenant": "north",
        "scopes": ("build", "tools"),
        "tools": ("crm_*",),
        "agents": ("desk", "flow"),
    },
}


class Town(Struct, frozen=True):
    """A server, and the keys of those who use it.

    Attributes:
        url: where it is.
        keys: the texts of the keys, by their names.
        journal: of the server.
    """

    url: str
    keys: dict[str, str]
    journal: Journal

    def headers(self, who: str) -> dict[str, str]:
        return {"a2a-version": "1.0"} | ({"authorization": f"Bearer {self.keys[who]}"} if who else {})

    async def ask(
        self, method: str, path: str, body: object = None, *, who: str = "north", language: str = "en"
    ) -> httpx.Response:
        async with httpx.AsyncClient(
            timeout=HANGS_S, verify=False
        ) as http:  # no TLS here: the certificates of the system cost 50 ms
            more = {} if body is None else {"json": body}
            headers = {**self.headers(who), "accept-language": language}
            return await http.request(method, f"{self.url}{path}", headers=headers, **more)  # type: ignore[arg-type]

    async def publish(self, name: str, text: str, *, who: str = "north", kind: str = "workflows") -> httpx.Response:
        """Save a draft, and publish it; the answer to the last of both."""
        draft = await self.ask("GET", f"/v1/{kind}/{name}/draft", who=who)
        revision = draft.json()["revision"] if draft.status_code == 200 else 0
        saved = await self.ask("POST", f"/v1/{kind}/{name}/draft", {"text": text, "revision": revision}, who=who)
        if saved.status_code != 200:
            return saved
        return await self.ask("POST", f"/v1/{kind}/{name}/publish", {}, who=who)

    @asynccontextmanager
    async def mcp(self, who: str, mode: ConnectMode = "auto", **more: Any) -> AsyncIterator[Client]:  # noqa: ANN401
        async with (
            httpx2.AsyncClient(headers=self.headers(who), timeout=HANGS_S) as http,
            Client(streamable_http_client(f"{self.url}/mcp", http_client=http), mode=mode, **more) as client,
        ):
            yield client

    def openai(self, who: str) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(base_url=f"{self.url}/v1", api_key=self.keys[who], max_retries=0)

    async def a2a(self, who: str, agent: str, text: str, context: str = "", task: str = "") -> pb.Task:
        """What the official client is answered to a message."""
        async with httpx.AsyncClient(headers=self.headers(who), timeout=HANGS_S) as http:
            config = ClientConfig(httpx_client=http, streaming=False)
            client = await create_client(f"{self.url}/a2a/{agent}", client_config=config)
            parts = [pb.Part(text=text)]
            message = pb.Message(message_id=text, role=pb.ROLE_USER, parts=parts, context_id=context, task_id=task)
            (told,) = [each async for each in client.send_message(pb.SendMessageRequest(message=message))]
            return told.task

    async def answers(self, who: str, run: str = "") -> None:
        """Say yes to what waits."""
        found: list[str] = []

        async def waits() -> bool:
            told = (await self.ask("GET", f"/v1/approvals{f'?run={run}' if run else ''}", who=who)).json()
            found[:] = [each["id"] for each in told["items"]]
            return bool(found)

        await until_true(waits)
        yes = {"verdict": "answer", "arguments": {"choice": "yes"}}
        answer = await self.ask("POST", f"/v1/approvals/{found[0]}", yes, who=who)
        assert answer.status_code == 200, answer.text


@asynccontextmanager
async def town(
    folder: Path,
    journal: Journal | None = None,
    *,
    desk: bool = False,
    careful: bool = False,
    keyless: bool = False,
    policy_file: str = "policy.toml",
    policy: str = "",
    models: Mapping[str, ModelTable] = {},
    **more: Any,  # noqa: ANN401  # settings
) -> AsyncIterator[Town]:
    (folder / "tools.py").write_text(TOOLS, "utf-8")
    (folder / "desk.workflow.yaml").write_text(DESK if desk else price(), "utf-8")
    (folder / "policy.toml").write_text('default = "allow"\n', "utf-8")
    settings = Settings(
        tools=(str(folder / "tools.py"),),
        policy="" if careful else policy or str(folder / policy_file),
        workflows={"desk": WorkflowTable(file="desk.workflow.yaml")},
        models={"gpt-*": ModelTable(upstreams=("http://127.0.0.1:9/v1#x",)), **models},
        serve=ServeSettings(public=""),
        **more,
    )
    journal = journal or MemoryJournal()
    made = {name: new_key(name, **fields) for name, fields in KEYS.items()}
    verifier = None if keyless else Keys(key for _, key in made.values())
    tools = load_tools(settings, folder)
    async with open_workflows(settings, {}, folder, journal=journal) as workflows:
        await workflows.check_names(tools, ("helper",))
        helper: Agent[object] = Agent(ScriptedModel(["Hi."] * 9), name="helper", journal=journal)
        agents = GivenAgents({"helper": helper, "desk": workflows.agent("desk")})
        who = Identity(scopes=ALL_SCOPES) if keyless else Identity()
        doors = open_doors(settings, tools, agents, journal, who, verifier=verifier, workflows=workflows)
        access = Access(verifier=verifier)
        application = Serving(doors, settings.serve, access, who=who, journal=journal).application
        async with serving(application.app) as url:
            yield Town(url, {name: text for name, (text, _) in made.items()}, journal)


async def said(it: Town, who: str, model: str, words: str) -> str:
    """What the model of this name answers."""
    async with it.openai(who) as client:
        answer = await client.chat.completions.create(model=model, messages=[{"role": "user", "content": words}])
        return str(answer.choices[0].message.content)


async def test_two_tenants_publish_under_one_name_and_each_calls_its_own_at_every_door(tmp_path: Path) -> None:
    async with town(tmp_path) as it:
        drafted = await it.ask("POST", "/v1/workflows/price/draft", {"text": price(), "revision": 0})
        assert drafted.status_code == 200
        assert (await it.ask("GET", "/v1/tools/price")).status_code == 404, "a draft is at no door"
        async with it.mcp("north") as client:
            assert "price" not in {each.name for each in (await client.list_tools()).tools}
        assert (await it.ask("POST", "/v1/workflows/price/publish", {})).status_code == 200
        assert (await it.publish("price", price(word="dear"), who="south")).status_code == 200
        modes: tuple[ConnectMode, ...] = ("legacy", "auto")
        for who, word in (("north", "cheap"), ("south", "dear"), ("bob", "cheap")):
            wanted = {"said": f"{word} in Oslo"}
            for mode in modes:
                async with it.mcp(who, mode) as client:
                    tools = {each.name: each for each in (await client.list_tools()).tools}
                    assert {"price", "desk", "add", "pay"} == set(tools)
                    assert (tools["price"].description, tools["price"].input_schema["required"]) == (
                        "Tells a price.",
                        ["city"],
                    )
                    assert (await client.call_tool("price", {"city": "Oslo"})).structured_content == wanted
                    assert (await client.call_tool("price", {"town": "Oslo"})).is_error
            called = await it.ask("POST", "/v1/tools/price/call", {"arguments": {"city": "Oslo"}}, who=who)
            assert called.json()["result"] == wanted
            assert (await it.ask("POST", "/v1/tools/price/call", {"arguments": {}}, who=who)).status_code == 422
            assert "price" in (await it.ask("GET", "/v1/tools?query=price", who=who)).text
            async with it.openai(who) as models:
                listed = [each.id async for each in await models.models.list()]
                assert [each for each in sorted(listed) if ":" not in each] == ["desk", "helper", "price"]
                assert (await models.models.retrieve("price")).id == "price"
                answer = await models.responses.create(model="price", input="Oslo")
                assert answer.output_text == f"{word} in Oslo"
                stream = await models.chat.completions.create(
                    model="price", messages=[{"role": "user", "content": "Oslo"}], stream=True
                )
                deltas = [each.choices[0].delta.content or "" async for each in stream if each.choices]
                assert "".join(deltas) == f"{word} in Oslo"
            task = await it.a2a(who, "price", "Oslo")
            assert task.artifacts[0].parts[0].text == f"{word} in Oslo"
            run = (await it.ask("POST", "/v1/runs", {"agent": "price", "question": "Rome"}, who=who)).json()["id"]
            events = (await it.ask("GET", f"/v1/runs/{run}/events", who=who)).text
            assert f"{word} in Rome" in events
        # A rollback and a publication are seen by the next request; nothing was restarted.
        assert (await it.publish("price", price(word="free", description="Tells more."))).json()["number"] == 2
        assert await said(it, "north", "price", "Oslo") == "free in Oslo"
        assert await said(it, "south", "price", "Oslo") == "dear in Oslo"
        async with it.mcp("north") as client:
            tools = {each.name: each for each in (await client.list_tools()).tools}
            assert tools["price"].description == "Tells more."
        assert (await it.ask("POST", "/v1/workflows/price/rollback", {"number": 1})).status_code == 200
        assert await said(it, "bob", "price", "Oslo") == "cheap in Oslo"
        withdrawn = await it.ask("POST", "/v1/workflows/price/unpublish")
        assert (withdrawn.status_code, withdrawn.json()) == (200, {"number": 3, "used_by": []})
        assert (await it.ask("POST", "/v1/workflows/price/unpublish")).status_code == 404
        async with it.mcp("north") as client:
            assert "price" not in {each.name for each in (await client.list_tools()).tools}
            with pytest.raises(MCPError, match="Unknown tool"):
                await client.call_tool("price", {"city": "Oslo"})
        for version in (0, 1, 3):
            asked = {"inputs": {"city": "Oslo"}, "version": version}
            assert (await it.ask("POST", "/v1/workflows/price/run", asked, who="north")).status_code == 404
        assert (await it.ask("GET", "/a2a/price/.well-known/agent-card.json", who="north")).status_code == 404
        async with it.openai("north") as models:
            with pytest.raises(openai.NotFoundError):
                await models.responses.create(model="price", input="Oslo")
        assert await said(it, "south", "price", "Oslo") == "dear in Oslo"
        assert (await it.ask("POST", "/v1/workflows/price/rollback", {"number": 3})).json()["number"] == 4
        assert await said(it, "north", "price", "Oslo") == "cheap in Oslo"


async def test_nobody_else_sees_or_calls_what_a_tenant_has_published(tmp_path: Path) -> None:
    async with town(tmp_path) as it:
        assert (await it.publish("price", price())).status_code == 200
        for who, found in (("north", {"price"}), ("south", set()), ("narrow", set()), ("operator", set())):
            searched = (await it.ask("GET", "/v1/tools?query=price", who=who)).json()["items"]
            assert {each["name"] for each in searched} & {"price"} == found, who
        for who in ("south", "narrow", "operator"):
            async with it.mcp(who) as client:
                assert "price" not in {each.name for each in (await client.list_tools()).tools}, who
                with pytest.raises(MCPError, match="Unknown tool"):
                    await client.call_tool("price", {"city": "Oslo"})
            async with it.openai(who) as models:
                assert "price" not in [each.id async for each in await models.models.list()]
                with pytest.raises(openai.NotFoundError) as refused:
                    await models.responses.create(model="price", input="Oslo")
                with pytest.raises(openai.NotFoundError) as unknown:
                    await models.responses.create(model="prize", input="Oslo")
                assert str(refused.value).replace("price", "X") == str(unknown.value).replace("prize", "X"), who
            for method, path, body in (
                ("GET", "/a2a/price/.well-known/agent-card.json", None),
                ("POST", "/a2a/price", {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "x"}}),
                ("POST", "/a2a/price/rest/message:send", {"message": {}}),
                ("GET", "/v1/tools/price", None),
                ("POST", "/v1/tools/price/call", {"arguments": {"city": "Oslo"}}),
                ("POST", "/v1/tools/price/call", {"arguments": {"city": "Oslo"}, "execute_async": True}),
                ("POST", "/v1/runs", {"agent": "price", "question": "Oslo"}),
                ("GET", "/v1/workflows/price", None),
                ("POST", "/v1/workflows/price/run", {"inputs": {"city": "Oslo"}}),
                ("GET", "/v1/assistants/price", None),
            ):
                if who == "narrow" and path.endswith("agent-card.json"):
                    continue  # a card tells no more than whoever has a key of the tenant may know
                answers = [
                    await it.ask(method, path.replace("price", name), _named(body, name), who=who)
                    for name in ("price", "nowhere")
                ]
                assert [each.status_code for each in answers] == [404, 404], (who, path, answers[0].text)
                texts = [each.text.replace("price", "X").replace("nowhere", "X") for each in answers]
                assert _plain(texts[0]) == _plain(texts[1]), (who, path)
        assert {each.kind for each in await it.journal.runs()} == {"administration"}, "nothing was begun"
        for path in ("/a2a/price/.well-known/agent-card.json", "/a2a/nowhere/.well-known/agent-card.json"):
            assert (await it.ask("GET", path, who="")).status_code == 401, "a card is for those with a key alone"
        shown = await it.ask("GET", "/a2a/price/.well-known/agent-card.json")
        assert ([each["id"] for each in shown.json()["skills"]], shown.headers["cache-control"][:7]) == (
            ["price"],
            "private",
        )


def _named(body: object, name: str) -> object:
    return {**body, "agent": name} if isinstance(body, dict) and "agent" in body else body


def _plain(text: str) -> str:
    """An answer without the ids of its request."""
    return re.sub(r'"(reference|request_id)":"[^"]*"', "", text)


async def test_a_name_that_means_something_else_is_refused_and_an_odd_one_is_served(tmp_path: Path) -> None:
    async with town(tmp_path) as it:
        for name, means in (
            ("desk", "a workflow of the settings"),
            ("helper", "an agent"),
            ("add", "a tool"),
            ("gpt-5", "a model"),
            ("api", "a name that this program uses itself"),
        ):
            refused = await it.publish(name, price(name))
            assert (refused.status_code, refused.json()["code"]) == (409, "name_taken"), name
            assert f"{means} here" in refused.json()["detail"], refused.text
        # What was published in another way hides nothing of the settings.
        definitions = it.journal.definitions
        for name in ("add", "helper", "gpt-5"):
            await definitions.save("workflow", name, price(name), 0, tenant="north")
            await definitions.publish("workflow", name, tenant="north")
            assert (await it.ask("POST", f"/v1/workflows/{name}/rollback", {"number": 1})).status_code == 409
        async with it.mcp("north") as client:
            tools = [each.name for each in (await client.list_tools()).tools]
            assert tools.count("add") == 1
            assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == 3
        assert await said(it, "north", "helper", "Oslo") == "Hi."

        odd = "preis_für-Köln"
        assert (await it.publish(odd, price(odd))).status_code == 200
        async with it.mcp("north") as client:
            (tool,) = [each for each in (await client.list_tools()).tools if each.title == odd]
            assert tool.name.isascii()
            called = await client.call_tool(tool.name, {"city": "Oslo"})
            assert called.structured_content == {"said": "cheap in Oslo"}
        assert await said(it, "north", odd, "Oslo") == "cheap in Oslo"
        assert (await it.a2a("north", odd, "Oslo")).artifacts[0].parts[0].text == "cheap in Oslo"
        for text in (price("bad", description='"\\ud800"'), price("bad").replace("{}", "{x: {type: tool, tool: y}}")):
            assert (await it.publish("bad", text)).status_code == 422, text
        assert "bad" not in (await it.ask("GET", "/v1/tools")).text


async def test_what_has_begun_keeps_its_version_at_every_door_also_in_another_process(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "j.db")
    async with town(tmp_path, journal) as it:

        async def first() -> None:
            assert (await it.publish("price", price())).status_code == 200
            assert (await it.publish("ask", asking("one"))).status_code == 200

        async def second() -> None:
            assert (await it.publish("price", price(word="dear"))).status_code == 200
            assert (await it.publish("ask", asking("two"))).status_code == 200

        await first()

        async def approves(_: object, params: ElicitRequestParams) -> ElicitResult:
            await second()
            return ElicitResult(action="accept", content={"choice": "yes"})

        async with it.mcp("north", elicitation_callback=approves) as client:
            called = await client.call_tool("ask", {"city": "x"})
            assert called.structured_content == {"said": "one: cheap in one"}, called
            await it.ask("POST", "/v1/workflows/price/rollback", {"number": 1})
            await it.ask("POST", "/v1/workflows/ask/rollback", {"number": 1})
        waiting = {
            "tool": (await it.ask("POST", "/v1/tools/ask/call", {"arguments": {"city": "x"}})).json()["run"],
            "agent": (await it.ask("POST", "/v1/runs", {"agent": "ask", "question": "x"})).json()["id"],
            "workflow": (await it.ask("POST", "/v1/workflows/ask/run", {"inputs": {"city": "x"}})).json()["id"],
            "a2a": (await it.a2a("north", "ask", "x")).id,
        }
        talked = (await it.a2a("north", "ask", "z")).id
        asking_model = asyncio.create_task(said(it, "north", "ask", "y"))
        await until_true(lambda: _paused(it, 6))
        await second()
        (by_model,) = [
            each["id"]
            for each in (await it.ask("GET", "/v1/runs?kind=agent")).json()["items"]
            if each["id"] not in (*waiting.values(), talked) and each["agent"] == "ask"
        ]
        await it.answers("north", by_model)
        assert await asking_model == "one: cheap in one"
        task = await it.a2a("north", "ask", "yes", task=talked)
        assert task.artifacts[0].parts[0].text == "one: cheap in one"
        assert await said(it, "north", "price", "Oslo") == "dear in Oslo"
    await journal.close()
    journal = open_journal(tmp_path / "j.db")
    async with town(tmp_path, journal) as it:
        for door, run in waiting.items():
            await it.answers("north", run)

            async def done(run: str = run) -> bool:
                told = (await it.ask("GET", f"/v1/runs/{run}")).json()
                return bool(told["status"] == "done")

            await until_true(done)
            assert "one: cheap in one" in (await it.ask("GET", f"/v1/runs/{run}/events")).text or (
                "one: cheap in one" in (await it.ask("GET", f"/v1/runs/{run}")).text
            ), door
    await journal.close()


async def _read(it: Town, run: RunSummary) -> list[Entry]:
    return await it.journal.read(run.run_id)


PAYS = """\
actum: workflow/1
name: payer
inputs: {type: object, required: [city], properties: {city: {type: string}}}
nodes: {pay: {type: tool, tool: pay, with: {euros: EUROS}}}
outputs: {said: "${pay.output}"}
"""


async def test_a_call_that_a_person_has_to_approve_is_made_with_the_version_that_was_asked_for(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "j.db")
    async with town(tmp_path, journal, careful=True) as it:
        assert (await it.publish("payer", PAYS.replace("EUROS", "1"))).status_code == 200
        call = await it.ask("POST", "/v1/tools/payer/call", {"arguments": {"city": "x"}})
        assert call.status_code == 202, call.text
        run = call.json()["run"]
        assert [each.kind for each in await journal.runs(parent=run)] == [], "the workflow has not begun"
        assert (await it.publish("payer", PAYS.replace("EUROS", "2"))).status_code == 200
    await journal.close()
    journal = open_journal(tmp_path / "j.db")
    async with town(tmp_path, journal, careful=True) as it:
        for _ in range(2):  # the call of the workflow, and the call that the workflow makes

            async def waits() -> bool:
                items = (await it.ask("GET", "/v1/approvals")).json()["items"]
                return (
                    bool(items)
                    and (await it.ask("POST", f"/v1/approvals/{items[0]['id']}", {"verdict": "approve"})).status_code
                    == 200
                )

            await until_true(waits)

        async def done() -> bool:
            return bool((await it.ask("GET", f"/v1/runs/{run}")).json()["status"] == "done")

        await until_true(done)
        assert "paid 1" in (await it.ask("GET", f"/v1/runs/{run}/events")).text
        started = (await journal.read(run))[0].record
        assert isinstance(started, Started)
        assert started.uses == {"payer": 1}
    await journal.close()


async def _paused(it: Town, number: int) -> bool:
    return len((await it.ask("GET", "/v1/approvals?limit=50")).json()["items"]) >= number


async def test_clients_of_mcp_are_told_of_the_publications_of_their_own_tenant(tmp_path: Path) -> None:
    modes: tuple[ConnectMode, ...] = ("legacy", "auto")
    for mode in modes:
        async with town(tmp_path) as it:
            heard: dict[str, list[str]] = {"north": [], "south": []}

            def hears(who: str, heard: dict[str, list[str]] = heard) -> Any:  # noqa: ANN401 - what the kit wants
                async def note(message: object) -> None:
                    heard[who].append(getattr(message, "method", type(message).__name__))

                return note

            async with (
                it.mcp("north", mode, message_handler=hears("north")) as north,
                it.mcp("south", mode, message_handler=hears("south")) as south,
            ):
                if mode == "legacy":
                    await north.list_tools()
                    await south.list_tools()
                    assert (await it.publish("price", price())).status_code == 200
                    await until_true(partial(_heard, heard["north"]))
                else:
                    async with (
                        north.listen(tools_list_changed=True) as ours,
                        south.listen(tools_list_changed=True) as theirs,
                    ):
                        waits = asyncio.create_task(anext(aiter(theirs)))
                        told = asyncio.create_task(anext(aiter(ours)))
                        await asyncio.sleep(0)
                        assert (await it.publish("price", price())).status_code == 200
                        await asyncio.wait_for(told, HANGS_S)
                        assert not waits.done()
                        waits.cancel()
                assert "price" in {each.name for each in (await north.list_tools()).tools}
                assert not await _heard(heard["south"])


async def _heard(methods: list[str]) -> bool:
    return any("tools/list_changed" in each or "ToolListChanged" in each for each in methods)


async def test_a_conversation_is_the_workflows_at_the_doors_that_know_conversations(tmp_path: Path) -> None:
    async with town(tmp_path) as it:
        assert (await it.publish("count", COUNTING)).status_code == 200
        assert (await it.publish("count", COUNTING, who="south")).status_code == 200

        async def ran(word: str, who: str = "north", **more: object) -> object:
            body = {"inputs": {"word": word}, "conversation": "c", **more}
            run = (await it.ask("POST", "/v1/workflows/count/run", body, who=who)).json()["id"]
            found: list[object] = []

            async def done() -> bool:
                told = (await it.ask("GET", f"/v1/runs/{run}", who=who)).json()
                found[:] = [told["outputs"]]
                return bool(told["status"] == "done")

            await until_true(done)
            outputs = found[0]
            assert isinstance(outputs, dict)
            return outputs["words"]

        assert [await ran("a"), await ran("b")] == ["a", "a+b"]
        for who in ("south", "bob"):
            assert await ran("z", who) == "z", "the same id of somebody else is another conversation"
        assert await ran("x", conversation="d") == "x"
        assert await ran("y", conversation="") == "y"
        # A2A: the context is the conversation.
        texts = [
            (await it.a2a(who, "count", word, context)).artifacts[0].parts[0].text
            for who, word, context in (
                ("north", "1", "ctx"),
                ("north", "2", "ctx"),
                ("bob", "3", "ctx"),
                ("south", "4", "ctx"),
                ("north", "5", "other"),
                ("north", "6", "c"),
            )
        ]
        assert texts == ["1", "1+2", "3", "4", "5", "a+b+6"]
        # The APIs of models: a conversation, the response before, or what was said before.
        async with it.openai("north") as north, it.openai("south") as south:
            talk = (await north.conversations.create()).id
            for words, told in (("kiwi", "kiwi"), ("lemon", "kiwi+lemon")):
                assert (await north.responses.create(model="count", input=words, conversation=talk)).output_text == told
            await north.conversations.delete(talk)
            kept = [str(each.payload) for run in await it.journal.runs(limit=None) for each in await _read(it, run)]
            assert not any("kiwi" in each for each in kept), "what the workflow was told is deleted, too"
            again = await north.responses.create(model="count", input="m", conversation=talk)
            assert again.output_text == "m"
            one = await north.responses.create(model="count", input="p")
            two = await north.responses.create(model="count", input="q", previous_response_id=one.id)
            branch = await north.responses.create(model="count", input="r", previous_response_id=one.id)
            three = await north.responses.create(model="count", input="s", previous_response_id=two.id)
            assert [each.output_text for each in (one, two, branch, three)] == ["p", "p+q", "p+r", "p+q+s"]
            for stolen in ({"previous_response_id": two.id}, {"conversation": talk}):
                with pytest.raises((openai.NotFoundError, openai.BadRequestError), match=r"not found|no such"):
                    await south.responses.create(model="count", input="t", **stolen)  # type: ignore[call-overload]
            history = [
                {"role": "user", "content": "h"},
                {"role": "assistant", "content": await said(it, "north", "count", "h")},
                {"role": "user", "content": "i"},
            ]
            for client, told in ((north, "h+i"), (south, "i")):
                answer = await client.chat.completions.create(model="count", messages=history)  # type: ignore[arg-type]
                assert answer.choices[0].message.content == told
        sessions = (await it.ask("GET", "/v1/sessions")).json()["items"]
        own = {each["id"]: each["runs"] for each in sessions if each["owner"] == "ann"}
        assert (own["c"], own["ctx"]) == (3, 2), "a turn is one run"


async def test_a_workflow_of_the_settings_uses_what_the_operator_published_and_no_tenants(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "j.db")
    with pytest.raises(Exception, match="no workflow 'price'"):
        async with town(tmp_path, journal, desk=True):
            raise AssertionError("the server starts without a part of a workflow")
    async with town(tmp_path, journal) as it:
        assert (await it.publish("price", price(), who="operator")).status_code == 200
        assert (await it.publish("price", price(word="stolen"), who="south")).status_code == 200
    async with town(tmp_path, journal, desk=True) as it:
        for word, publishes in (("cheap", False), ("dear", True)):
            if publishes:
                assert (await it.publish("price", price(word=word), who="operator")).status_code == 200
            for who in ("operator", "south"):
                assert await said(it, who, "desk", "Oslo") == f"{word} in Oslo"
                async with it.mcp(who) as client:
                    called = await client.call_tool("desk", {"city": "Oslo"})
                    assert called.structured_content == {"said": f"{word} in Oslo"}
                run = await it.ask("POST", "/v1/workflows/desk/run", {"inputs": {"city": "Oslo"}}, who=who)

                async def done(run: str = run.json()["id"], who: str = who) -> bool:
                    told = (await it.ask("GET", f"/v1/runs/{run}", who=who)).json()
                    return bool(told["status"] == "done" and told["outputs"] == {"said": f"{word} in Oslo"})  # noqa: B023

                await until_true(done)
    await journal.close()


async def test_what_is_published_is_a_task_that_another_process_carries_out_with_the_version_it_began_with(
    tmp_path: Path,
) -> None:
    for name, text in (("price", price()), ("ask", asking("one")), ("count", COUNTING)):
        (tmp_path / f"{name}.workflow.yaml").write_text(text, "utf-8")
    settings = "[tasks]\nworkers = 2\n"

    def publishes(name: str, text: str) -> None:
        (tmp_path / f"{name}.workflow.yaml").write_text(text, "utf-8")
        told = command(tmp_path, "workflow", "publish", f"{name}.workflow.yaml")
        assert "is published" in told, told

    async with (
        served(tmp_path, settings=settings) as server,
        httpx.AsyncClient(base_url=server.origin, timeout=HANGS_S) as client,
    ):
        for name, text in (("price", price()), ("ask", asking("one")), ("count", COUNTING)):
            publishes(name, text)  # by another process, while the server runs
        later: dict[str, object] = {"execute_async": True}
        asked: dict[str, tuple[str, dict[str, object]]] = {
            "tool": ("/v1/tools/ask/call", {"arguments": {"city": "x"}}),
            "agent": ("/v1/runs", {"agent": "ask", "question": "x"}),
            "workflow": ("/v1/workflows/ask/run", {"inputs": {"city": "x"}}),
        }
        tasks = {
            name: (await client.post(path, json=body | later)).json()["task_id"] for name, (path, body) in asked.items()
        }

        async def wait() -> bool:
            found = (await client.get("/v1/approvals?limit=50")).json()["items"]
            return {each["run"] for each in found} >= set(tasks.values())

        await until(wait)
        publishes("price", price(word="dear"))
        publishes("ask", asking("two"))
        waiting = (await client.get("/v1/approvals?limit=50")).json()["items"]
        for each in waiting:
            yes = {"verdict": "answer", "arguments": {"choice": "yes"}}
            assert (await client.post(f"/v1/approvals/{each['id']}", json=yes)).status_code in (200, 404, 409)
        for name, task in tasks.items():
            told = (await client.get(f"/v1/tasks/{task}", params={"wait": "30"})).json()
            assert (told["state"], "one: cheap in one" in str(told["result"])) == ("succeeded", True), (name, told)
        fresh = (await client.post("/v1/tools/price/call", json={"arguments": {"city": "x"}} | later)).json()["task_id"]
        told = (await client.get(f"/v1/tasks/{fresh}", params={"wait": "30"})).json()
        assert told["result"] == {"said": "dear in x"}
        # Tasks of one conversation, accepted at once: each sees what the others have done, and none fails.
        words = [
            (
                await client.post(
                    "/v1/workflows/count/run", json={"inputs": {"word": str(n)}, "conversation": "c"} | later
                )
            ).json()["task_id"]
            for n in range(6)
        ]
        counts = []
        for task in words:
            told = (await client.get(f"/v1/tasks/{task}", params={"wait": "60"})).json()
            assert told["state"] == "succeeded", told
            counts.append(len(told["result"]["words"].split("+")))
        assert sorted(counts) == [1, 2, 3, 4, 5, 6]
