"""No tool of an MCP server can take the name of another's."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from actum.protocols.mcp.name import NAME_CHARS_MAX, public_name

pytestmark = pytest.mark.row("T4")

HALF = st.text() | st.text(alphabet="ab_-", max_size=6) | st.text(alphabet="ab_", min_size=55, max_size=70)
TOOLS = st.tuples(HALF, HALF)


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("files", "read", "files_read"),
        ("my-files", "read_text_file", "my-files_read_text_file"),
        ("my_search", "find", "my_search__find"),
        ("my", "search_find", "my_search_find"),
        ("my", "search__find", "my__search__find"),
    ],
)
def test_a_usual_name_is_the_servers_and_the_tools(server: str, tool: str, name: str) -> None:
    assert public_name(server, tool) == name


@given(HALF, HALF)
@example("", "")
@example("_", "_")
@example("查", "天气")
@example("s", "\ud800")
def test_every_name_is_one_that_all_providers_take(server: str, tool: str) -> None:
    name = public_name(server, tool)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)
    assert len(name) <= NAME_CHARS_MAX


@given(TOOLS, TOOLS)
@example(("a", "b_c"), ("a_b", "c"))
@example(("a_b", "c"), ("a", "b__c"))
@example(("a__b", "c"), ("a", "b__c"))
@example(("a_", "b"), ("a", "_b"))
@example(("x" * 70, "a"), ("x" * 71, "a"))
@example(("a", "b.c"), ("a", "b c"))
@example(("1", "23"), ("12", "3"))
def test_two_tools_never_have_one_name(one: tuple[str, str], other: tuple[str, str]) -> None:
    if one != other:
        assert public_name(*one) != public_name(*other)


@given(TOOLS, HALF)
@example(("a.b", "c"), "a")
@example(("files", "read file"), "files")
def test_a_server_can_not_name_a_tool_like_the_hashed_name_of_anothers(victim: tuple[str, str], server: str) -> None:
    name = public_name(*victim)
    for at in range(len(name)):
        thief = (name[:at], name[at:].removeprefix("_"))
        if thief != victim:
            assert public_name(*thief) != name
    thief = (server, name.removeprefix(f"{server}_"))
    if thief != victim:
        assert public_name(*thief) != name
