"""Configured servers are read as every client writes them, and what is wrong is said with where and what to write."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.errors import UsageError
from actum.core.json import Json, JsonObject
from actum.protocols.mcp.config import McpServer
from actum.protocols.mcp.document import (
    entries_of,
    entry_of,
    read_servers,
    server_of,
)
from actum.protocols.mcp.places import CLIENTS, places_of

pytestmark = pytest.mark.row("T4")


def test_the_short_form_is_read_as_it_stands() -> None:
    document: JsonObject = {"my_search": {"url": "http://127.0.0.1:8000/sse", "transport": "sse", "timeout": 60}}
    (server,) = read_servers(document, {}).servers
    assert server == McpServer(name="my_search", url="http://127.0.0.1:8000/sse", transport="sse", timeout=60)


DOCUMENTS: dict[str, tuple[JsonObject, McpServer]] = {
    "claude": (
        {"mcpServers": {"fs": {"command": "npx", "args": ["-y", "server", "/data"], "env": {"KEY": "${TOKEN}"}}}},
        McpServer(name="fs", command="npx", args=("-y", "server", "/data"), env={"KEY": "t0ken"}),
    ),
    "vscode": (
        {"servers": {"web": {"type": "http", "url": "https://x.example/mcp", "headers": {"A": "${env:TOKEN}"}}}},
        McpServer(name="web", url="https://x.example/mcp", headers={"A": "t0ken"}, transport="http"),
    ),
    "vscode settings": (
        {"mcp": {"servers": {"web": {"url": "https://x.example/mcp"}}}},
        McpServer(name="web", url="https://x.example/mcp"),
    ),
    "windsurf": (
        {"mcpServers": {"web": {"serverUrl": "https://x.example/mcp"}}},
        McpServer(name="web", url="https://x.example/mcp"),
    ),
    "gemini": (
        {"mcpServers": {"web": {"httpUrl": "https://x.example/mcp", "timeout": 30_000, "includeTools": ["a"]}}},
        McpServer(name="web", url="https://x.example/mcp", transport="http", timeout=30, include=("a",)),
    ),
    "codex": (
        {"mcp_servers": {"web": {"url": "https://x.example/mcp", "bearer_token_env_var": "TOKEN", "enabled": False}}},
        McpServer(name="web", url="https://x.example/mcp", headers={"Authorization": "Bearer t0ken"}, disabled=True),
    ),
    "zed": (
        {"context_servers": {"fs": {"command": ["run", "-v"], "args": ["x"], "environment": {"N": 1}}}},
        McpServer(name="fs", command="run", args=("-v", "x"), env={"N": "1"}),
    ),
    "streamable-http": (
        {"web": {"type": "streamable-http", "url": "https://x.example/mcp"}},
        McpServer(name="web", url="https://x.example/mcp", transport="http"),
    ),
    "a bare address and a command line": (
        {"mcpServers": {"fs": "run --dir '${HOME:-/x}/my data'"}},
        McpServer(name="fs", command="run", args=("--dir", "/x/my data")),
    ),
}


@pytest.mark.parametrize("client", DOCUMENTS)
def test_every_clients_way_to_write_a_server_is_read(client: str) -> None:
    document, expected = DOCUMENTS[client]
    assert read_servers(document, {"TOKEN": "t0ken"}).servers == (expected,)


def test_a_secret_stays_a_name_until_it_is_sent() -> None:
    server = server_of("x", {"url": "https://x.example", "headers": {"A": "${secret:key}"}}, {})
    assert server.headers == {"A": "${secret:key}"}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({}, "give a command or a url"),
        ({"command": "a", "url": "http://b"}, "not both"),
        ({"url": "ftp://b"}, "expected http:// or https://"),
        ({"url": "http://b", "transport": "stdio"}, "goes with a command"),
        ({"command": "a", "transport": "sse"}, "goes with a url"),
        ({"command": "a", "transport": "pigeon"}, "transport"),
        ({"command": "a", "args": "b"}, "args"),
        ({"command": "a", "timeout": 0}, "timeout: expected seconds above 0"),
        ({"command": "a", "timeout": "soon"}, "timeout"),
        ({"command": "a", "env": {"K": "${NOT_THERE}"}}, "NOT_THERE is not set"),
        ({"command": "a", "env": {"K": "${input:token}"}}, "asks for input"),
        ({"command": "a", "era": "stone"}, "era"),
        (5, "expected its fields"),
        ("'", "neither an address nor a command line"),
    ],
)
def test_what_is_wrong_is_said_with_the_server_and_what_to_write(entry: Json, words: str) -> None:
    with pytest.raises(UsageError, match="MCP server 'odd'") as wrong:
        server_of("odd", entry, {})
    assert words in str(wrong.value)


@pytest.mark.parametrize("name", ["", "a b", "../x", "-x", "x" * 65, "名字", "a\n"])
def test_a_name_that_could_be_mistaken_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="a name has"):
        server_of(name, "http://x", {})


def test_trust_and_approvals_of_another_client_are_not_taken_over() -> None:
    entry: JsonObject = {"command": "a", "trust": True, "autoApprove": ["*"], "alwaysAllow": ["x"], "colour": "red"}
    read = read_servers({"mcpServers": {"a": entry}}, {})
    assert not read.servers[0].trusted
    assert len(read.notes) == 4


@pytest.mark.parametrize("document", [{}, {"mcpServers": []}, {"theme": "dark"}, {"mcpServers": "x"}])
def test_a_document_without_servers_is_told_what_one_looks_like(document: JsonObject) -> None:
    with pytest.raises(UsageError, match="mcpServers"):
        read_servers(document, {})


def test_a_server_is_written_as_it_is_read() -> None:
    server = McpServer(name="x", command="a", args=("b",), timeout=5, max_timeout=7, roots=("/r",), trusted=True)
    assert server_of("x", entry_of(server), {}) == server


def test_the_places_of_clients_are_found_by_name() -> None:
    assert {place.client for place in places_of()} == set(CLIENTS)
    assert all(place.client == "cursor" for place in places_of("cursor"))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
fields = st.sampled_from(["command", "args", "env", "url", "headers", "type", "timeout", "enabled", "auth", "roots"])


@given(st.dictionaries(st.text(max_size=6), st.dictionaries(fields, values, max_size=4) | values, max_size=3))
def test_whatever_stands_in_a_document_is_read_or_refused_in_words(entries: JsonObject) -> None:
    try:
        read = read_servers({"mcpServers": entries}, {})
    except UsageError as wrong:
        words = str(wrong)
    else:
        words = ", ".join(server.name for server in read.servers)
        assert len(read.servers) == len(entries_of({"mcpServers": entries}))
    assert words or not entries


def test_an_empty_list_of_tools_stays_one_and_is_told() -> None:
    for word in ("include", "includeTools", "enabled_tools"):
        found = read_servers({"mcpServers": {"web": {"url": "https://x.example/mcp", word: []}}}, {})
        (server,) = found.servers
        assert (word, server.include) == (word, ())
        assert found.notes == ("MCP server 'web': include is an empty list, so none of its tools is used",)
        assert server_of("web", entry_of(server), {}).include == ()
