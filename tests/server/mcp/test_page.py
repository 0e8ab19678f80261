"""Pages and their cursors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.exceptions import MCPError

from actum.core.json import Json, JsonObject
from actum.server.mcp.page import ITEMS, page

MANY: list[JsonObject] = [{"name": str(number)} for number in range(3 * ITEMS + 1)]


@given(st.integers(min_value=0, max_value=len(MANY)))
def test_page_by_page_one_has_all_of_it_once_and_in_order(length: int) -> None:
    items = MANY[:length]
    found: list[Json] = []
    params: JsonObject = {}
    while True:
        told = page("tools/list", items, params)
        assert isinstance(told["tools"], list)
        found += told["tools"]
        if "nextCursor" not in told:
            break
        params = {"cursor": told["nextCursor"]}
    assert found == items


@given(st.one_of(st.text(), st.integers(), st.lists(st.text())))
def test_a_cursor_that_was_never_given_is_refused(cursor: str | int | list[str]) -> None:
    with pytest.raises(MCPError) as caught:
        page("tools/list", MANY, {"cursor": cursor})  # type: ignore[dict-item]
    assert caught.value.code == -32602


def test_a_cursor_of_another_list_or_of_one_that_has_changed_is_refused() -> None:
    cursor = page("tools/list", MANY, {})["nextCursor"]
    for method, items in (("prompts/list", MANY), ("tools/list", MANY[1:])):
        with pytest.raises(MCPError, match="begin anew"):
            page(method, items, {"cursor": cursor})
