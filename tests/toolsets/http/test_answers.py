"""What is told beside an answer: that it is not finished, where it goes on, and what does not fit the document."""

from __future__ import annotations

import json

import msgspec

from actum.core.call import ToolCall, ToolResult
from actum.core.json import Json, JsonObject, dumps
from actum.protocols.openapi.endpoint import EndpointTemplate, setup_of
from actum.protocols.openapi.reading import DocumentReader, read_api, result_schemas
from actum.protocols.openapi.setup import ApiSetup
from actum.toolsets.http.toolset import ApiToolset
from tests.transport.wire_servers import said, wire_server

from .test_toolset import JSON, context

NAME: JsonObject = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
PET: JsonObject = {
    "type": "object",
    "required": ["name", "legs"],
    "properties": {
        "name": {"type": "string"},
        "legs": {"type": "integer"},
        "tag": {"type": "string"},
        "friends": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}},
        "password": {"type": "string", "writeOnly": True},
    },
}
GOOD: JsonObject = {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}}}
PAGE: JsonObject = {"name": "page", "in": "query", "schema": {"type": "integer"}}
DOCUMENT: JsonObject = {
    "openapi": "3.1.0",
    "info": {"title": "Pets", "version": "1"},
    "components": {"schemas": {"Pet": PET}},
    "paths": {
        "/pets": {
            "get": {"operationId": "list_pets", "parameters": [PAGE]},
            "post": {"operationId": "add_pet", "responses": {"202": {"description": "later"}}},
        },
        "/pets/{name}": {"get": {"operationId": "get_pet", "parameters": [NAME], "responses": GOOD}},
        "/jobs/{name}": {"get": {"operationId": "get_job", "parameters": [NAME, PAGE]}},
        "/jobs/latest": {"get": {"operationId": "latest_job"}},
        "/jobs/{name}/log": {"delete": {"operationId": "drop_log", "parameters": [NAME]}},
    },
}


def pets(server: str) -> ApiSetup:
    reader = DocumentReader(json.loads(json.dumps(DOCUMENT)))
    api = reader.api()
    made = ApiSetup(
        name="pets", api=api, server=server, origins=(server,), results=result_schemas(reader, api.operations)
    )
    return made.approving()


async def asked(answer: bytes, name: str, arguments: JsonObject | None = None, base: str = "") -> ToolResult:
    async with wire_server(lambda head, body: answer) as server:
        toolset = ApiToolset(pets(f"http://127.0.0.1:{server.port}{base}"))
        try:
            return await toolset.execute(ToolCall("1", name, arguments or {}), context(name, arguments))
        finally:
            await toolset.aclose()


async def test_what_is_not_finished_is_told_as_the_call_that_asks_how_it_went() -> None:
    cases = {
        "/jobs/j%2F1": 'Ask later how it went: call get_job with {"name":"j/1"}.',
        "/jobs/latest": "Ask later how it went: call latest_job with {}.",
        "jobs/7?page=2": 'Ask later how it went: call get_job with {"name":"7","page":"2"}.',
        "/jobs/7?other=2": "no tool of this API asks at the address that it names",
        "/jobs/7/log": "no tool of this API asks at the address that it names",
        "/jobs/" + "x" * 2001: "no tool of this API asks at the address that it names",
        "https://evil.example/jobs/7": "an address of another server, which is not followed",
        "//evil.example/jobs/7": "an address of another server, which is not followed",
        "http://[": "an address of another server, which is not followed",
        "": "Ask again later how it went.",
    }
    for place, told in cases.items():
        headers = [f"location: {place}"] if place else []
        for answer in (said(b"", "202 Accepted", *headers), said(b"{}", "202 Accepted", JSON, *headers)):
            result = await asked(answer, "add_pet")
            assert told in result.text, (place, result.text)
            assert "has not finished (HTTP 202)" in result.text, place
            assert "evil" not in result.text, place
    result = await asked(said(b"", "202 Accepted", "location: /jobs/7", "retry-after: 30"), "add_pet")
    assert "Ask after 30 seconds how it went: call get_job" in result.text
    result = await asked(said(b"", "202 Accepted", "location: /v2/jobs/7"), "add_pet", base="/v2")
    assert 'call get_job with {"name":"7"}' in result.text
    result = await asked(said(b"", "202 Accepted", "location: /jobs/7"), "add_pet", base="/v2")
    assert "no tool of this API" in result.text, "outside of the base address that was confirmed"


async def test_a_next_page_at_another_path_is_told_as_the_call_that_asks_for_it() -> None:
    result = await asked(said(dumps({"next": "/jobs/7?page=2"}).encode(), "200 OK", JSON), "list_pets")
    assert 'There are more results: call get_job with {"name":"7","page":"2"}.' in result.text
    result = await asked(said(dumps({"next": "/unknown"}).encode(), "200 OK", JSON), "list_pets")
    assert result.text.endswith("There are more results.")


async def test_where_the_next_page_begins_is_told_by_the_parameter_that_takes_it() -> None:
    async def told(body: JsonObject, *parameters: str, given: JsonObject | None = None) -> str:
        queries: list[Json] = [{"name": name, "in": "query", "schema": {}} for name in parameters]
        document: JsonObject = {
            "openapi": "3.1.0",
            "paths": {"/a": {"get": {"operationId": "list_a", "parameters": queries}}},
        }
        async with wire_server(lambda head, sent: said(dumps(body).encode(), "200 OK", JSON)) as server:
            here = f"http://127.0.0.1:{server.port}"
            toolset = ApiToolset(ApiSetup(name="a", api=read_api(document), server=here, origins=(here,)).approving())
            result = await toolset.execute(ToolCall("1", "list_a", given or {}), context("list_a"))
            await toolset.aclose()
        return result.text.partition("same arguments and ")[2] or result.text.partition("}\n")[2]

    assert await told({"next_cursor": "abc=="}, "cursor") == '{"cursor":"abc=="}.'
    assert await told({"items": [], "nextPageToken": "t\u200b1"}, "limit", "pageToken") == '{"pageToken":"t1"}.'
    assert await told({"response_metadata": {"next_cursor": "x"}}, "cursor") == '{"cursor":"x"}.'
    assert await told({"paging": {"next": {"after": "7"}}, "meta": {"next_page": 3}}, "page") == '{"page":3}.'
    assert await told({"next": "xyz"}, "page_token") == '{"page_token":"xyz"}.'
    unusable: list[JsonObject] = [
        {"next_cursor": ""},
        {"next_cursor": None},
        {"next_cursor": "x", "has_more": False},
        {"next_cursor": ["x"]},
        {"next_cursor": "x" * 3000},
        {"next_page": True},
        {"next_cursor": "https://evil.example/a"},
        {"other": "x"},
    ]
    for body in unusable:
        assert await told(body, "cursor", "page") == "", body
    assert await told({"next_cursor": "x"}, "filter") == ""
    for again in ("x", 3):
        assert "Do not ask for it again" in await told({"next_page": again}, "page", given={"page": again}), again


async def test_a_next_page_of_an_endpoint_is_told_by_the_arguments_of_its_tool() -> None:
    answer = said(dumps({"next": "?q=a&p=2", "items": [1]}).encode(), "200 OK", JSON)
    async with wire_server(lambda head, body: answer) as server:
        for query, told in (
            ("p={number:integer}", '{"number":"2"}'),
            ("p=1{number}", "There are more results."),
            ("p=2{number}", "this page as the next one again"),
        ):
            url = f"http://127.0.0.1:{server.port}/find?q={{word}}&{query}"
            toolset = ApiToolset(setup_of(EndpointTemplate(name="find", url=url)))
            arguments: JsonObject = {"word": "a", "number": "" if "2{" in query else 1}
            result = await toolset.execute(ToolCall("1", "find", arguments), context("find", arguments))
            await toolset.aclose()
            assert told in result.text, query


async def test_an_answer_that_does_not_fit_the_document_is_told_beside_it_and_nothing_is_lost() -> None:
    good: JsonObject = {"name": "Rex", "legs": 4, "undeclared": True, "friends": [{"name": "Tom", "legs": 3}]}
    result = await asked(said(dumps(good).encode(), "200 OK", JSON), "get_pet", {"name": "Rex"})
    assert (result.structured, result.content) == (good, ())
    bad: JsonObject = {"name": None, "friends": [{"name": "T\u200bom", "legs": "three"}], "more": [1]}
    result = await asked(said(dumps(bad).encode(), "200 OK", JSON), "get_pet", {"name": "Rex"})
    assert result.structured == {"name": None, "friends": [{"name": "Tom", "legs": "three"}], "more": [1]}
    assert result.text.count("not as the API's document says") == 3
    assert "friends[0].legs" in result.text
    assert "legs: required" in result.text
    many = {"name": "a", "legs": 1, "friends": [1] * 100}
    result = await asked(said(dumps(many).encode(), "200 OK", JSON), "get_pet", {"name": "Rex"})
    assert result.text.count("not as the API's document says") == 4
    assert len(result.text) < 1500
    hostile: JsonObject = {"name": "a", "legs": 1, "friends": [1] * 1_000_000}
    result = await asked(said(dumps(hostile).encode(), "200 OK", JSON), "get_pet", {"name": "Rex"})
    assert "something in it does not fit" in result.text, "a million mistakes are not told one by one"
    result = await asked(said(dumps(bad).encode(), "201 Made", JSON), "get_pet", {"name": "Rex"})
    assert result.content == (), "the document says nothing of this status"


async def test_a_model_sees_the_part_of_an_answer_that_a_person_picked() -> None:
    answer = said(dumps({"items": [{"id": 1, "x": "long"}, {"id": 2}], "next": "?p=2"}).encode(), "200 OK", JSON)
    async with wire_server(lambda head, body: answer) as server:
        url = f"http://127.0.0.1:{server.port}/find?p={{p}}"
        for pick, picked in (("items[].id", [1, 2]), ("items[0].x", "long"), ("nothing", None), ("length(next)", 4)):
            toolset = ApiToolset(setup_of(EndpointTemplate(name="find", url=url, pick=pick)))
            result = await toolset.execute(ToolCall("1", "find", {"p": "1"}), context("find", {"p": "1"}))
            await toolset.aclose()
            assert result.structured == picked, pick
            assert '{"p":"2"}' in result.text, "the next page is told all the same"
        toolset = ApiToolset(setup_of(EndpointTemplate(name="find", url=url, pick="abs(items)")))
        result = await toolset.execute(ToolCall("1", "find", {"p": "1"}), context("find", {"p": "1"}))
        await toolset.aclose()
        assert "this is the whole answer" in result.text


async def test_arguments_are_declared_as_sinks_only_where_a_person_accepted_the_proposal() -> None:
    setup = pets("https://pets.example")
    proposed = {each.tool.name: each.proposed_sinks for each in setup.api.operations}
    assert proposed["get_job"] == ("name",)
    before = {tool.name: tool.sinks for tool in await ApiToolset(setup).list_tools()}
    assert set(before.values()) == {None}
    after = {
        tool.name: tool.sinks for tool in await ApiToolset(msgspec.structs.replace(setup, sinks=True)).list_tools()
    }
    assert after["get_job"] == ("name",)
    assert after["latest_job"] is None, "no proposal is not the word that there are no sinks"
    endpoint = EndpointTemplate(
        name="tell", method="POST", url="https://x.example/{room}", body={"to": "{email}", "a": "{text}"}
    )
    assert setup_of(endpoint).api.operations[0].proposed_sinks == ("room", "email")


def test_an_answers_schema_is_no_part_of_what_a_person_approved() -> None:
    before = pets("https://pets.example")
    document = json.loads(json.dumps(DOCUMENT))
    document["components"]["schemas"]["Pet"]["required"] = []
    assert msgspec.structs.replace(before, api=read_api(document)).held() == ()
