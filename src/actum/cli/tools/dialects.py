"""`actum dialects`: the ways to say a call, and what each tells a model of a tool."""

from __future__ import annotations

from typing import cast

from ...core.json import Json, parse
from ...core.message import SystemMessage, UserMessage
from ...core.model import Request
from ...core.tool import Tool
from ...dialects import dialect, names
from ...dialects.catalog import listing_of
from ..options import JsonFlag
from ..show.terminal import Terminal

AUTO = "auto"
AUTO_SUMMARY = "by the API where the endpoint is known or found to call tools, else by the prompt"
"""`auto` is no dialect but the choice of one."""


def summaries() -> dict[str, str]:
    """How a model says a call, a line for each dialect, with `auto` first."""
    return {AUTO: AUTO_SUMMARY} | {name: listing_of(name).summary for name in names()}


def dialects(as_json: JsonFlag = False) -> None:
    """List the ways a model can say a call."""
    terminal = Terminal()
    found = summaries()
    if as_json:
        terminal.json([{"name": name, "line": line} for name, line in found.items()])
    else:
        terminal.table("dialect", "how a model says a call", rows=list(found.items()))


def as_told(tool: Tool, name: str) -> Json:
    """What a model is told of a tool in this dialect: the fields of an API's request, or the text of a prompt.

    Raises:
        UnknownName: there is no such dialect.
    """
    request = Request(messages=[UserMessage.of("?")], tools=(tool,))
    told = dialect(name).encode_request(request)
    if isinstance(told, bytes):
        body = cast("dict[str, Json]", parse(told)[0])
        return {field: body[field] for field in ("tools", "functions") if field in body}
    return "\n\n".join(message.text for message in told.messages if isinstance(message, SystemMessage))
