"""A client's wish to have the model held to a schema reaches every API that can hold it."""

from __future__ import annotations

import msgspec
import pytest

from actum.core.json import JsonObject
from actum.core.message import UserMessage
from actum.core.model import Request
from actum.core.tool import Tool
from actum.dialects import dialect
from actum.dialects.base import ApiDialect
from actum.dialects.catalog import ApiName

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
STRICT, LOOSE = Tool(name="a", parameters=SCHEMA, strict=True), Tool(name="b", parameters=SCHEMA)
ABLE: tuple[ApiName, ...] = ("anthropic_messages", "openai_chat", "openai_responses")
UNABLE: tuple[ApiName, ...] = ("gemini_content", "openai_functions")


def there_and_back(api: ApiDialect) -> tuple[bytes, Request]:
    wire = api.encode_request(Request(messages=[UserMessage.of("?")], tools=(STRICT, LOOSE)))
    return wire, api.decode_request(wire)


@pytest.mark.row("S9")
@pytest.mark.parametrize("name", ABLE)
def test_strict_tools_come_back_strict_and_others_do_not(name: ApiName) -> None:
    assert there_and_back(dialect(name))[1].tools == (STRICT, LOOSE)


@pytest.mark.parametrize("name", UNABLE)
def test_an_api_that_knows_no_strict_tools_is_not_told_of_them(name: ApiName) -> None:
    wire, request = there_and_back(dialect(name))
    assert b"strict" not in wire
    assert [tool.strict for tool in request.tools] == [False, False]


def test_a_tool_that_is_not_strict_has_the_digest_that_it_always_had() -> None:
    assert LOOSE.digest != msgspec.structs.replace(LOOSE, strict=True).digest
    assert b"strict" not in msgspec.json.encode(LOOSE)
