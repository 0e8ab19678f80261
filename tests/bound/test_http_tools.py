"""The attack table through HTTP tools: endpoints described by hand, and operations of an OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec import Struct

from actum.core.errors import CallError, InvalidArguments, UsageError
from actum.core.json import Json, JsonObject
from actum.protocols.openapi.endpoint import EndpointTemplate, from_curl, setup_of
from actum.protocols.openapi.reading import read_api
from actum.protocols.openapi.setup import ApiSetup, filled_request
from actum.toolsets.http.toolset import ApiToolset
from examples.local_services.serving import serving
from tests.toolsets.http.test_toolset import context

from .attacks import VALUES, Receiver

pytestmark = pytest.mark.row("C1")


class ToolPlace(Struct, frozen=True):
    """A place of the request of a tool with one argument, `v`.

    Attributes:
        make: makes the tool, for a server.
        part: what the receiver parsed.
        drawn: what that has to be for a value.
        refuses: which values are refused.
    """

    make: Callable[[str], ApiSetup]
    part: str
    drawn: Callable[[str], object]
    refuses: Callable[[str], bool] = lambda value: False


def endpoint(**fields: object) -> Callable[[str], ApiSetup]:
    def make(host: str) -> ApiSetup:
        given = {"url": "HOST/r", "method": "POST", **fields}
        given["url"] = str(given["url"]).replace("HOST", host)
        return setup_of(EndpointTemplate(name="tool", **given))  # type: ignore[arg-type]

    return make


def operation(path: str = "/r", **fields: Json) -> Callable[[str], ApiSetup]:
    def make(host: str) -> ApiSetup:
        document: JsonObject = {
            "openapi": "3.1.0",
            "info": {"title": "t", "version": "1"},
            "servers": [{"url": host}],
            "paths": {path: {"post": {"operationId": "tool", **fields}}},
        }
        return ApiSetup(name="t", api=read_api(document), origins=(host,)).approving()

    return make


def parameter(where: str, **more: Json) -> Json:
    return [{"name": "v", "in": where, "required": where == "path", "schema": {"type": "string"}, **more}]


def body(media_type: str) -> Json:
    schema: JsonObject = {"type": "object", "properties": {"v": {"type": "string"}, "to": {"const": "ada"}}}
    return {"required": True, "content": {media_type: {"schema": schema}}}


def _is_no_header(value: str) -> bool:
    return any(not " " <= sign <= "~" for sign in value)


def _is_no_cookie(value: str) -> bool:
    return any(not "!" <= sign <= "~" or sign in '",;\\' for sign in value)


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def _is_no_segment(value: str) -> bool:
    return value in ("", ".", "..", "../../admin", "%2e%2e") or any(ord(sign) < 32 for sign in value)


PLACES: dict[str, ToolPlace] = {
    "endpoint: path": ToolPlace(
        endpoint(url="HOST/r/{v}/tail"), "path", lambda value: ["r", value, "tail"], _is_no_segment
    ),
    "endpoint: query": ToolPlace(
        endpoint(url="HOST/r?a=1&q=for {v}&z=2"), "query", lambda value: [("a", "1"), ("q", f"for {value}"), ("z", "2")]
    ),
    "endpoint: header": ToolPlace(
        endpoint(headers={"X-Note": "for {v}!"}), "x-note", lambda value: f"for {value}!", _is_no_header
    ),
    "endpoint: header with parts": ToolPlace(
        endpoint(headers={"X-Note": "to=ada; for={v}; x=1"}),
        "x-note",
        lambda value: f"to=ada; for={value}; x=1",
        lambda value: _is_no_header(value) or bool(set(value) & set(',;"')),
    ),
    "endpoint: quoted part": ToolPlace(
        endpoint(headers={"X-Note": 'to=ada; for="{v}"'}),
        "x-note",
        lambda value: f'to=ada; for="{_quoted(value)}"',
        _is_no_header,
    ),
    "endpoint: JSON": ToolPlace(
        endpoint(body={"to": "ada", "note": "for {v}"}), "body", lambda value: [("to", "ada"), ("note", f"for {value}")]
    ),
    "endpoint: form": ToolPlace(
        endpoint(body={"to": "ada", "note": "for {v}"}, form=True),
        "body",
        lambda value: [("to", "ada"), ("note", f"for {value}")],
    ),
    "operation: path": ToolPlace(
        operation("/r/{v}/tail", parameters=parameter("path")),
        "path",
        lambda value: ["r", value, "tail"],
        _is_no_segment,
    ),
    "operation: query": ToolPlace(operation(parameters=parameter("query")), "query", lambda value: [("v", value)]),
    "operation: reserved": ToolPlace(
        operation(parameters=parameter("query", allowReserved=True)), "query", lambda value: [("v", value)]
    ),
    "operation: header": ToolPlace(operation(parameters=parameter("header")), "v", lambda value: value, _is_no_header),
    "operation: cookie": ToolPlace(
        operation(parameters=parameter("cookie", style="cookie")), "cookies", lambda value: {"v": value}, _is_no_cookie
    ),
    "operation: JSON": ToolPlace(
        operation(requestBody=body("application/json")), "body", lambda value: [("v", value), ("to", "ada")]
    ),
    "operation: form": ToolPlace(
        operation(requestBody=body("application/x-www-form-urlencoded")),
        "body",
        lambda value: [("v", value), ("to", "ada")],
    ),
    "operation: multipart": ToolPlace(
        operation(requestBody=body("multipart/form-data")), "body", lambda value: [("v", value), ("to", "ada")]
    ),
}


@pytest.mark.parametrize("name", PLACES)
async def test_an_argument_stays_in_its_place_or_nothing_is_sent(name: str) -> None:
    place, receiver, wrong = PLACES[name], Receiver(), list[str]()
    async with serving(receiver.app) as (url,):
        tools = ApiToolset(place.make(url))
        for value in VALUES:
            receiver.received.clear()
            is_body = name.startswith("operation: ") and place.part == "body"
            given: JsonObject = {"body": {"v": value, "to": "ada"}} if is_body else {"v": value}
            one = context("tool", given)
            try:
                await tools.execute(one.call, one)
            except CallError as refused:
                if not place.refuses(value) or receiver.received:
                    wrong.append(f"{value!r}: {refused}")
                continue
            (received,) = receiver.received
            found = getattr(received, place.part, None) if place.part in received.__struct_fields__ else None
            found = received.headers[place.part] if found is None else found
            if place.refuses(value) or found != place.drawn(value):
                wrong.append(f"{value!r}: {found!r}")
        await tools.aclose()
    assert wrong == []


def test_what_has_no_place_is_told_by_the_name_of_the_argument() -> None:
    setup = endpoint(headers={"X-Note": "to=ada; for={v}"})("https://example.org")
    with pytest.raises(InvalidArguments, match="v"):
        filled_request(setup.api.operations[0], setup.templates["tool"], {"v": "a; b=c"})


@pytest.mark.parametrize(
    "line",
    [
        "curl https://example.org/ -H 'Content-Type: text/xml' -d '<a>{v}</a>'",
        "curl https://example.org/ -H 'Content-Type: application/graphql' -d '{ a(b: 1) }'",
    ],
)
def test_a_curl_line_whose_body_has_another_grammar_is_refused(line: str) -> None:
    with pytest.raises(UsageError):
        from_curl(line, "tool")


def test_the_name_of_a_parameter_takes_no_argument() -> None:
    with pytest.raises(UsageError, match="the name of a query parameter has no arguments"):
        endpoint(url="HOST/r?{v}=1")("https://example.org")
