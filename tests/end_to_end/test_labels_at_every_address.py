"""A labelled value at every address of a server, on both databases, with two servers over one journal: a caller who may
not read the value is never told it, whichever API the caller speaks and whichever server answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count

import httpx
import pytest

from actum import Agent, Label, ToolCall, tool
from actum.compose.serving import Serving, open_doors
from actum.compose.settings import Settings
from actum.core.json import JsonObject
from actum.core.message import Reply
from actum.core.model import Request
from actum.server import Access, Identity
from actum.server.api.api import GivenAgents
from actum.server.scopes import ALL_SCOPES
from actum.storage.place import open_journal
from actum.testing import Said
from tests.patience import HANGS_S
from tests.server.a2a.test_tasks import Speaking
from tests.web import serving

pytestmark = pytest.mark.row("C9")

SALARY, STREET = "73250", "12 Elm Street"
CALLERS: Mapping[str, Identity] = {
    "ann": Identity(principal="ann", key_id="k-ann", scopes=ALL_SCOPES),
    "hella": Identity(principal="hella", key_id="k-hella", scopes=ALL_SCOPES, roles=("hr",)),
    "north": Identity(principal="hella", tenant="north", key_id="k-north", scopes=ALL_SCOPES, roles=("hr",)),
}


class KnownCallers:
    """The keys of the callers are their names."""

    async def verify_token(self, token: str) -> Identity | None:
        """Whose key this is."""
        return CALLERS.get(token)


@tool(effects={"read"}, labels={"salary": "personal", "home.street": "personal"})
def get_employee(name: str) -> JsonObject:
    """Look an employee up."""
    return {"name": name, "salary": int(SALARY), "home": {"street": STREET, "city": "Ulm"}}


def looks_up(request: Request) -> Said:
    """Looks Ada up, and says all that it was told, in later turns too."""
    if SALARY in str([*request.messages]):
        return f"Ada earns {SALARY} and lives at {STREET}."
    return Reply.of("I look.", [ToolCall(f"c{len(request.messages)}", "get_employee", {"name": "Ada"})])


@asynccontextmanager
async def server(place: str) -> AsyncIterator[httpx.AsyncClient]:
    """A server with all its addresses, and a client of it."""
    settings = Settings(labels={"personal": Label(readers=["role:hr"])})
    journal = open_journal(place)
    try:
        desk = Agent(Speaking(looks_up), [get_employee], name="desk", journal=journal, labels=settings.labels)
        verifier = KnownCallers()
        agents = GivenAgents({"desk": desk})
        doors = open_doors(settings, [get_employee], agents, journal, Identity(), verifier=verifier)
        served = Serving(doors, settings.serve, Access(verifier=verifier), journal=journal).application
        async with serving(served.app) as url, httpx.AsyncClient(base_url=url, timeout=HANGS_S) as client:
            yield client
    finally:
        await journal.close()


NUMBERS = count()
A2A = {"a2a-version": "1.0"}


def spoken(method: str) -> JsonObject:
    said: JsonObject = {"messageId": f"m{next(NUMBERS)}", "role": "ROLE_USER", "parts": [{"text": "What of Ada?"}]}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": said}}


def asked(client: httpx.AsyncClient, way: str, who: str) -> tuple[str, JsonObject, dict[str, str]]:
    """The path, body and headers of a question, by each API that an agent or tool can be asked through."""
    said: JsonObject = {"role": "user", "content": "What of Ada?"}
    of_model: JsonObject = {"model": "desk", "stream": way.endswith("stream")}
    name = way.removesuffix(" stream")
    headers = {"authorization": f"Bearer {who}", "x-api-key": who, "x-goog-api-key": who}
    match name:
        case "chat completions":
            return "/v1/chat/completions", {**of_model, "messages": [said]}, headers
        case "responses":
            return "/v1/responses", {**of_model, "input": "What of Ada?"}, headers
        case "messages":
            return "/v1/messages", {**of_model, "max_tokens": 100, "messages": [said]}, headers
        case "gemini":
            end = "streamGenerateContent?alt=sse" if way.endswith("stream") else "generateContent"
            return f"/v1beta/models/desk:{end}", {"contents": [{"parts": [{"text": "What of Ada?"}]}]}, headers
        case "a2a":
            method = "SendStreamingMessage" if way.endswith("stream") else "SendMessage"
            return "/a2a/desk", spoken(method), {**headers, **A2A}
        case "mcp":
            call: JsonObject = {"name": "get_employee", "arguments": {"name": "Ada"}}
            body: JsonObject = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
            return "/mcp", body, {**headers, "accept": "application/json, text/event-stream"}
        case _:
            return "/v1/tools/get_employee/call", {"arguments": {"name": "Ada"}}, headers


WAYS = [
    *(
        f"{name}{end}"
        for name in ("chat completions", "responses", "messages", "gemini", "a2a")
        for end in ("", " stream")
    ),
    "rest",
]


async def latest_run(client: httpx.AsyncClient, who: str) -> str:
    listed = await client.get("/v1/runs", headers={"authorization": f"Bearer {who}"})
    assert listed.status_code == 200, listed.text
    return str(listed.json()["items"][0]["id"])


async def test_no_address_tells_a_value_to_a_caller_who_may_not_read_it_and_each_tells_it_to_a_reader(
    place: str,
) -> None:
    async with AsyncExitStack() as stack:
        one, two = [await stack.enter_async_context(server(place)) for _ in range(2)]
        for way in WAYS:
            for who, sees in (("ann", False), ("hella", True)):
                path, body, headers = asked(one, way, who)
                answer = await one.post(path, json=body, headers=headers)
                assert answer.status_code == 200, (way, answer.text)
                assert (SALARY in answer.text, " Elm" in answer.text) == (sees, sees), (way, who, answer.text)
                assert ("[personal]" in answer.text) is not sees, (way, who)
                if way == "rest":
                    continue
                await later_looks(two, way, who, answer, sees=sees)


async def later_looks(
    two: httpx.AsyncClient, way: str, who: str, answer: httpx.Response, *, sees: bool, is_first: bool = True
) -> None:
    """The same run at the other server, and by whom it is none of their business."""
    run = await latest_run(two, who)
    paths = [f"/v1/runs/{run}", f"/v1/runs/{run}/timeline", f"/v1/runs/{run}/export", f"/v1/audit?run={run}"]
    if way == "responses":
        paths += [f"/v1/responses/{answer.json()['id']}", f"/v1/responses/{answer.json()['id']}?stream=true"]
    for path in paths:
        shown = await two.get(path, headers={"authorization": f"Bearer {who}"})
        assert shown.status_code == 200, (path, shown.text)
        told = sees and (is_first or "audit" not in path)  # the audit has no words of a model
        assert (SALARY in shown.text) is told, path
        other = await two.get(path, headers={"authorization": "Bearer north"})
        assert SALARY not in other.text, path
    if way == "a2a":
        body: JsonObject = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": run}}
        listed: JsonObject = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "ListTasks",
            "params": {"includeArtifacts": True, "historyLength": 10},
        }
        for each in (body, listed):
            task = await two.post("/a2a/desk", json=each, headers={"authorization": f"Bearer {who}", **A2A})
            assert (SALARY in task.text) is sees, (each, task.text)
            north = await two.post("/a2a/desk", json=each, headers={"authorization": "Bearer north", **A2A})
            assert SALARY not in north.text


def goes_on(way: str, body: JsonObject, answer: httpx.Response) -> JsonObject:
    """The body of a question that goes on with the conversation of another question."""
    told = answer.json()
    match way:
        case "chat completions" | "messages":
            said = body["messages"]
            reply = told["choices"][0]["message"]["content"] if way == "chat completions" else told["content"]
            assert isinstance(said, list)
            return body | {"messages": [*said, {"role": "assistant", "content": reply}, *said]}
        case "responses":
            return body | {"previous_response_id": told["id"]}
        case "gemini":
            said = body["contents"]
            assert isinstance(said, list)
            return body | {"contents": [*said, told["candidates"][0]["content"], *said]}
        case _:
            params = body["params"]
            assert isinstance(params, dict)
            message = params["message"]
            assert isinstance(message, dict)
            context = told["result"]["task"]["contextId"]
            message = {**message, "messageId": f"m{next(NUMBERS)}", "contextId": context}
            return body | {"params": {"message": message}}


async def test_no_address_tells_a_value_that_a_model_says_again_in_a_later_turn(place: str) -> None:
    async with AsyncExitStack() as stack:
        one, two = [await stack.enter_async_context(server(place)) for _ in range(2)]
        for way in (each for each in WAYS if not each.endswith("stream") and each != "rest"):
            for who, sees in (("ann", False), ("hella", True)):
                path, body, headers = asked(one, way, who)
                first = await one.post(path, json=body, headers=headers)
                assert first.status_code == 200, (way, first.text)
                later = goes_on(way, body, first)
                before = await latest_run(one, who)
                for end in ("", " stream"):
                    path, asked_anew, headers = asked(one, f"{way}{end}", who)
                    names = {name: asked_anew[name] for name in ("stream", "method") if name in asked_anew}
                    if way == "a2a":
                        later = goes_on(way, body, first)
                    answer = await one.post(path, json=later | names, headers=headers)
                    assert answer.status_code == 200, (way, answer.text)
                    run = await latest_run(two, who)
                    assert run != before, way
                    before = run
                    assert (SALARY in answer.text, " Elm" in answer.text) == (sees, sees), (way, end, who, answer.text)
                    assert ("[personal]" in answer.text) is not sees, (way, end, who, answer.text)
                    if not end:
                        await later_looks(two, way, who, answer, sees=sees, is_first=False)
