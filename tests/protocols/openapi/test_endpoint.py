"""One endpoint described by hand or by a cURL line: each value stays in its place, and no credential is kept."""

from __future__ import annotations

import json

import msgspec
import pytest

from actum.core.errors import InvalidArguments, UsageError
from actum.core.json import JsonObject
from actum.protocols.openapi.endpoint import EndpointTemplate, from_curl, setup_of
from actum.protocols.openapi.request import BuiltRequest, build_request
from actum.protocols.openapi.setup import ApiSetup, filled


def built(setup: ApiSetup, arguments: JsonObject) -> BuiltRequest:
    operation = setup.api.operations[0]
    given = filled(setup.templates[setup.name], arguments)
    assert isinstance(given, dict)
    return build_request(setup.api, operation, given, setup.address_of(operation))


ENDPOINT = EndpointTemplate(
    name="order",
    method="POST",
    url="https://shop.example/users/{user}/orders?unit=metric&day={day}",
    description="Orders a thing.",
    headers={"X-Note": "for {user}", "Accept": "application/json"},
    body={"thing": "{thing}", "count": "{count:integer}", "note": "for {user}"},
    secrets={"bearer": "shop_token", "header:X-Team": "shop_team"},
)


def test_each_value_of_an_endpoint_stays_in_its_place() -> None:
    setup = setup_of(ENDPOINT)
    tool = setup.api.operations[0].tool
    assert tool.effects == frozenset({"write"})
    assert setup.held() == ()
    assert {name: schema["type"] for name, schema in tool.property_schemas().items()} == {
        "user": "string",
        "day": "string",
        "thing": "string",
        "count": "integer",
    }
    hostile = 'x/../y?a=1&b=2#"},{"c'
    request = built(setup, {"user": hostile.replace("/../", "-"), "day": hostile, "thing": hostile, "count": 3})
    assert request.url.startswith("https://shop.example/users/x-y%3Fa%3D1%26b%3D2%23")
    assert request.url.endswith("?unit=metric&day=x%2F..%2Fy%3Fa%3D1%26b%3D2%23%22%7D%2C%7B%22c")
    assert json.loads(request.body or b"")["thing"] == hostile
    assert json.loads(request.body or b"")["count"] == 3
    assert {slot.name for slot in request.credentials[0]} == {"Authorization", "X-Team"}
    for user in ("..", ".", "", "a\r\nHost: evil"):
        with pytest.raises(InvalidArguments):
            pytest.fail(f"{user!r}: {built(setup, {'user': user, 'day': 'x', 'thing': 'x', 'count': 1})}")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"url": "https://{host}/x"}, "host of an endpoint has no arguments"),
        ({"url": "https://ann:pw@shop.example/x"}, "no password"),
        ({"url": "ftp://shop.example/x"}, "no address of the web"),
        ({"url": "/x"}, "no address of the web"),
        ({"url": "https://shop.example/{a:text}"}, "a type is one of"),
        ({"url": "https://shop.example/{a}?b={a:integer}"}, "two types"),
        ({"url": "https://shop.example/?a=1&a=2"}, "given twice"),
        ({"headers": {"Authorization": "Bearer x"}}, "looks like a credential"),
        ({"secrets": {"body": "x"}}, "no place of a credential"),
        ({"method": "FETCH"}, "no method of HTTP"),
    ],
)
def test_an_endpoint_that_can_not_be_is_refused_in_words(change: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        setup_of(msgspec.structs.replace(ENDPOINT, **change))


def test_a_curl_line_becomes_an_endpoint_without_the_values_of_its_credentials() -> None:
    line = """curl -X POST 'https://shop.example/v1/orders?api_key=HUSH-1&unit={unit}' \\
      -H 'Authorization: Bearer HUSH-2' \\
      -H 'X-API-Key: HUSH-3' -H 'Accept: application/json' -u ann:HUSH-4 -H 'Content-Type: application/json' \\
      --data '{"thing": "{thing}", "count": 2}' -s"""
    endpoint, secrets = from_curl(line, "shop")
    assert "HUSH" not in repr(endpoint)
    assert secrets == ("shop_token", "shop_x_api_key", "shop_login", "shop_api_key")
    setup = setup_of(endpoint)
    assert "HUSH" not in msgspec.json.encode(setup).decode()
    request = built(setup, {"unit": "kg", "thing": "pen"})
    assert request.method == "POST"
    assert request.url == "https://shop.example/v1/orders?unit=kg"
    assert json.loads(request.body or b"") == {"thing": "pen", "count": 2}
    form, _ = from_curl("curl https://shop.example/f -d a=1 -d 'b={b}'", "f")
    assert (form.method, form.form, form.body) == ("POST", True, {"a": "1", "b": "{b}"})
    query, _ = from_curl("curl -G https://shop.example/f -d a=1", "f")
    assert (query.method, query.url) == ("GET", "https://shop.example/f?a=1")
    for bad in ("wget x", "curl", "curl 'x", "curl --cert x https://a.example", "curl https://a.example -d @file"):
        with pytest.raises(UsageError):
            pytest.fail(f"{bad}: {from_curl(bad, 'x')}")


def test_no_argument_of_a_tool_changes_the_method_from_which_its_effects_come() -> None:
    for name in ("X-HTTP-Method-Override", "Host", "Cookie"):
        endpoint = EndpointTemplate(
            name="look", url="https://a.example/x", headers={name: "{how}"} if name != "Cookie" else {}
        )
        setup = setup_of(endpoint)
        assert built(setup, {"how": "DELETE"}).headers == (), name
