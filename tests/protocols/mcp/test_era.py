"""What one era says, in the words of the other."""

from __future__ import annotations

import pytest

from actum.core.json import JsonObject
from actum.protocols.mcp.era import (
    contained,
    definition_for,
    error_code_for,
    offered,
    passed_on,
    result_for,
)

INFO = "io.modelcontextprotocol/serverInfo"


@pytest.mark.parametrize("modern", [True, False])
def test_what_nobody_knows_passes(modern: bool) -> None:
    result: JsonObject = {"content": [], "x": [None], "structuredContent": {"a": None}, "_meta": {"v/x": 1}}
    assert result_for("tools/call", result, modern=modern) == result


def test_who_a_server_is_does_not_pass_and_an_older_client_hears_no_newer_words() -> None:
    result: JsonObject = {
        "tools": [],
        "resultType": "complete",
        "ttlMs": 1,
        "cacheScope": "public",
        "_meta": {INFO: {}},
    }
    assert result_for("tools/list", result, modern=False) == {"tools": []}
    assert result_for("tools/list", result, modern=True) == {name: result[name] for name in result if name != "_meta"}


def test_a_structured_result_that_is_no_object_is_text_to_an_older_client() -> None:
    block: JsonObject = {"type": "text", "text": "[1,2]"}
    assert result_for("tools/call", {"content": [], "structuredContent": [1, 2]}, modern=False) == {"content": [block]}
    told: JsonObject = {"content": [block], "structuredContent": 5}
    assert result_for("tools/call", told, modern=False) == {"content": [block]}
    assert result_for("tools/call", told, modern=True) == told


def test_a_definition_keeps_all_but_its_name() -> None:
    definition: JsonObject = {
        "name": "a",
        "inputSchema": {"$defs": {"p": {}}},
        "outputSchema": {"type": "array"},
        "x": 1,
    }
    assert definition_for(definition, "s_a", modern=True) == {**definition, "name": "s_a"}
    assert "outputSchema" not in definition_for(definition, "s_a", modern=False)


def test_what_concerns_one_hop_alone_stays_there() -> None:
    meta: JsonObject = {
        "progressToken": 1,
        "io.modelcontextprotocol/clientInfo": {},
        "baggage": "b",
        "traceparent": "t",
    }
    params: JsonObject = {"name": "a", "_meta": meta, "requestState": "s", "inputResponses": {}}
    assert passed_on(params) == {"name": "a", "_meta": {"baggage": "b", "traceparent": "t"}}
    assert passed_on({"name": "a", "_meta": {"progressToken": 1}}) == {"name": "a"}
    assert passed_on({"name": "a"}, "info", "t2")["_meta"] == {
        "io.modelcontextprotocol/logLevel": "info",
        "traceparent": "t2",
    }


def test_nothing_is_declared_that_the_client_did_not_declare() -> None:
    assert contained({}) == {}
    assert contained({"roots": {"listChanged": True}, "tasks": {}, "sampling": True}) == {
        "roots": {"listChanged": True}
    }
    assert contained({"extensions": {"io.modelcontextprotocol/ui": {}}}) == {
        "extensions": {"io.modelcontextprotocol/ui": {}}
    }


def test_a_missing_resource_has_another_code_in_the_newer_era() -> None:
    assert error_code_for(-32002, "resources/read", modern=True) == -32602
    assert error_code_for(-32002, "resources/read", modern=False) == -32002
    assert error_code_for(-32002, "tools/call", modern=True) == -32002


def test_a_gateway_offers_what_any_of_its_servers_does() -> None:
    one: JsonObject = {"tools": {}, "resources": {"subscribe": True}, "logging": {}, "tasks": {}}
    two: JsonObject = {
        "resources": {},
        "completions": {},
        "extensions": {"io.modelcontextprotocol/tasks": {}, "x/y": {}},
    }
    assert offered([(one, False), (two, True)], modern=True) == {
        "tools": {"listChanged": True},
        "resources": {"subscribe": True},
        "completions": {},
        "logging": {},
        "extensions": {"io.modelcontextprotocol/tasks": {}, "x/y": {}},
    }
    older = offered([(two, True)], modern=False)
    assert (older["logging"], older["extensions"]) == ({}, {"x/y": {}})
    assert offered([], modern=True) == {}


def test_changes_of_a_list_are_promised_where_a_server_tells_of_them() -> None:
    silent: JsonObject = {"prompts": {}, "resources": {"subscribe": True}}
    telling: JsonObject = {"prompts": {"listChanged": True}, "resources": {"listChanged": True}}
    assert offered([(silent, False)], modern=False) == {"prompts": {}, "resources": {"subscribe": True}}
    both: JsonObject = {"prompts": {"listChanged": True}, "resources": {"subscribe": True, "listChanged": True}}
    assert offered([(silent, False), (telling, False)], modern=False) == both
    assert offered([(telling, False), (silent, False)], modern=False) == both
    assert offered([(silent, False)], modern=False, grows=True) == both
