"""Addresses of resources that name their server: each comes back as it was, and no server has another's."""

from __future__ import annotations

import re
from itertools import permutations

import pytest
from mcp.shared.uri_template import UriTemplate
from pydantic import AnyUrl

from actum.core.json import JsonObject
from actum.protocols.mcp.address import ServerAddresses

ORIGINALS = [
    "memo://today",
    "file:///tmp/a%20b/../c?x=1#y",
    "https://example.com/page",
    "urn:isbn:0451450523",
    "memo://ü/100%25",
    "x://[::1]/a",
    "actum+files:memo://today",
    "actum+:",
    "no address at all",
    "",
    "memo://" + "x" * 100_000,
]
NAMES = [
    "files",
    "my_files",
    "my-files",
    "my.files",
    "Files",
    "FILES",
    "my files",
    "ü",
    "a:b",
    "a/b",
    "+",
    "",
    "x" * 500,
]
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:")
"""RFC 3986, section 3.1, in the letters that every parser of URLs keeps."""


def test_an_address_comes_back_as_it_was_at_its_server_and_at_no_other() -> None:
    every = {name: ServerAddresses(name) for name in NAMES if name}
    for one, other in permutations(every, 2):
        for uri in ORIGINALS:
            told = every[one].outward(uri)
            assert every[one].inward(told) == uri, (one, uri)
            assert every[other].inward(told) is None, (one, other, uri)
    for name, addresses in every.items():
        assert SCHEME.fullmatch(addresses.prefix), name
        assert len(addresses.prefix) < 64, name


def test_a_server_that_stands_alone_keeps_its_addresses() -> None:
    alone = ServerAddresses()
    for uri in ORIGINALS:
        assert (alone.outward(uri), alone.inward(uri)) == (uri, uri)


@pytest.mark.parametrize("uri", [uri for uri in ORIGINALS if uri.isascii() and " " not in uri])
def test_a_parser_of_urls_keeps_the_address_as_it_is(uri: str) -> None:
    told = ServerAddresses("my_files").outward(uri)
    assert str(AnyUrl(told)) == told


@pytest.mark.parametrize("template", ["memo://{day}", "file:///{+path}", "x://s{/list*}{?q,r}", "{+all}"])
def test_a_template_is_filled_in_as_at_its_server(template: str) -> None:
    values = {"day": "a b/ü%", "path": "a/b c", "list": ["1", "2"], "q": "x&y", "r": "2", "all": "file:///e t"}
    addresses = ServerAddresses("files")
    told = UriTemplate.parse(addresses.outward(template)).expand(values)
    assert addresses.inward(told) == UriTemplate.parse(template).expand(values)


def test_a_gateway_behind_a_gateway_finds_its_own_part_of_an_address() -> None:
    outer, inner = ServerAddresses("files"), ServerAddresses("files")
    told = outer.outward(inner.outward("memo://today"))
    assert told == "actum+files:actum+files:memo://today"
    assert inner.inward(outer.inward(told) or "") == "memo://today"


def test_every_place_that_holds_an_address_gets_its_server_and_a_web_link_and_text_do_not() -> None:
    def at(prefix: str) -> dict[str, JsonObject]:
        link: JsonObject = {"type": "resource_link", "uri": f"{prefix}a:b"}
        held: JsonObject = {"type": "resource", "resource": {"uri": f"{prefix}a:b", "text": "a:b"}}
        web: JsonObject = {"type": "resource_link", "uri": "HTTPS://a.example/b"}
        said: JsonObject = {"type": "text", "text": "a:b"}
        given: JsonObject = {"type": "tool_result", "content": [link, web]}
        content: JsonObject = {"content": [link, held, web, said, given], "structuredContent": {"uri": "a:b"}}
        question: JsonObject = {"method": "sampling/createMessage", "params": {"messages": [content]}}
        page: JsonObject = {"_meta": {"ui": {"resourceUri": f"{prefix}ui:b"}, "ui/resourceUri": f"{prefix}ui:b"}}
        return {
            "tools/call": {**content, **page, "inputRequests": {"q": question}},
            "prompts/get": {"messages": [{"role": "user", "content": link}, {"role": "user", "content": [held]}]},
            "resources/list": {"resources": [{"uri": f"{prefix}a:b"}, {"uri": f"{prefix}https://a.example/b"}]},
            "resources/templates/list": {"resourceTemplates": [{"uriTemplate": f"{prefix}a:{{b}}"}]},
            "resources/read": {"contents": [{"uri": f"{prefix}a:b", "text": "a:b"}]},
            "tasks/get": {"result": content, "inputRequests": {"q": question}},
        }

    addresses, told = ServerAddresses("files"), at("actum+files:")
    for method, result in at("").items():
        assert addresses.result(method, result) == told[method], method
    answer = told["tools/call"]["content"]
    assert addresses.answer({"content": answer}) == {"content": at("")["tools/call"]["content"]}


def test_malformed_results_stay_as_they_are() -> None:
    addresses = ServerAddresses("files")
    odd: list[JsonObject] = [
        {},
        {"content": None, "_meta": None, "messages": 1, "contents": {}, "resources": ["x"], "inputRequests": []},
        {
            "content": [
                None,
                1,
                {"type": "resource"},
                {"type": "resource_link", "uri": 1},
                {"type": "resource", "resource": 1},
            ]
        },
        {
            "messages": [None, {}, {"content": None}],
            "contents": [1, {"uri": None}],
            "resourceTemplates": [{"uri": "x"}],
        },
        {"inputRequests": {"a": None, "b": {"params": None}, "c": {"params": {"messages": None}}}, "result": 1},
        {"_meta": {"ui": None, "ui/resourceUri": 1}},
    ]
    for method in (
        "tools/call",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "tasks/get",
    ):
        for result in odd:
            assert addresses.result(method, result) == result, (method, result)
