"""A secret in a header of a server that somebody configured stays in its place, and is not shown where it has none."""

from __future__ import annotations

import pytest

from actum.core.errors import Unavailable, UsageError
from actum.protocols.a2a.remote_agent import with_secrets
from actum.protocols.mcp.config import McpServer
from actum.toolsets.mcp.connection import McpConnection

pytestmark = pytest.mark.row("C1")
BAD = ("one-long-secret\r\nx-admin: 1", "one-long-secret; role=admin", "one-long-secret\0")


@pytest.mark.parametrize("secret", BAD)
async def test_a_secret_that_would_be_more_than_its_author_drew_is_not_sent(secret: str) -> None:
    headers = {"X-Login": "key=${secret:key}"}
    with pytest.raises(UsageError, match="can not be sent") as caught:
        with_secrets(headers, {"key": secret})
    server = McpServer(name="x", url="http://127.0.0.1:1/mcp", headers=headers)
    async with McpConnection(server, secrets={"key": secret}) as connection:
        with pytest.raises(Unavailable, match="can not be sent in the header 'X-Login'") as told:
            await connection.facts()
    assert "one-long-secret" not in str(caught.value) + str(told.value)


def test_a_secret_that_fits_is_sent_as_it_is() -> None:
    headers = {"X-Login": 'key="${secret:key}"', "Authorization": "Token token=${secret:token}"}
    assert with_secrets(headers, {"key": 'a"b', "token": "abc=="}) == {
        "X-Login": 'key="a\\"b"',
        "Authorization": "Token token=abc==",
    }
