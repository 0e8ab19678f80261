"""On whose behalf a request is made."""

from __future__ import annotations

from actum.core.identity import Identity


def test_a_user_is_the_same_with_a_token_of_other_scopes() -> None:
    narrow, wide = (Identity(principal="ada", key_id="c", scopes=scopes) for scopes in (("read",), ("read", "write")))
    assert narrow != wide
    assert narrow.without_scopes() == wide.without_scopes() == Identity(principal="ada", key_id="c")
