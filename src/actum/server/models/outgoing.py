"""What a request says to an upstream: the client's own bytes, or the same in the upstream's API. Pure."""

from __future__ import annotations

from typing import NamedTuple

from ...core.errors import ModelError, UsageError
from ...core.json import Json, JsonObject
from ...core.tool import ToolChoice, is_demand
from ...dialects.api.openai_chat.dialect import OPENAI_FUNCTIONS
from ...dialects.api.openai_chat.request import forms_of
from ...dialects.api.openai_responses.items import reference_of
from ...dialects.error_answer import NotStored, no_item, no_previous_response
from ...dialects.losses import Loss
from ...dialects.transcode.one_field import with_field
from ...dialects.transcode.transcode import transcode
from ...models.returned_thoughts import without_thoughts
from .request import ModelRequest
from .surface import CHAT, RESPONSES, Vendor
from .upstream import ModelUpstream

_OWN: dict[str, frozenset[str]] = {
    "chat": frozenset({"", "function", "custom"}),
    "responses": frozenset({"", "function", "custom"}),
    "messages": frozenset({"", "custom"}),
}
"""By the name of a surface: the types of tools that the client runs itself. Many clients leave out `function`."""
_OF_CLIENT = frozenset({"functionDeclarations", "function_declarations"})


def provider_tools(surface: str, vendor: Vendor, fields: JsonObject) -> list[str]:
    """The names of the tools in a request that the provider of the API is asked to run.

    Args:
        surface: the name of the surface.
        vendor: whose API it is.
        fields: the body of the request.
    """
    tools = fields.get("tools")
    listed: list[Json] = tools if isinstance(tools, list) else []
    found: list[str] = []
    for tool in listed:
        if not isinstance(tool, dict):
            continue
        if vendor == "gemini":
            found += [name for name in tool if name not in _OF_CLIENT]
        elif (kind := str(tool.get("type") or "")) not in _OWN.get(surface, frozenset({"function"})):
            found.append(kind)
    return found + [name for name in ("web_search_options", "mcp_servers") if fields.get(name) not in (None, [])]


class Outgoing(NamedTuple):
    """A request to an upstream.

    Attributes:
        body: of the request.
        surface: the name of the surface that is asked there; empty where the request was translated.
        asks_usage: the usage was asked for, which the client did not do.
        lost: what the upstream is not told.
    """

    body: bytes
    surface: str
    asks_usage: bool = False
    lost: tuple[Loss, ...] = ()


def outgoing(
    asked: ModelRequest, to: ModelUpstream, *, may_ask_usage: bool = True, has_thoughts: bool = True
) -> Outgoing:
    """What a request says to an upstream.

    Args:
        asked: the request.
        to: the upstream.
        may_ask_usage: the upstream is known to take `stream_options`, or is not known to refuse them.
        has_thoughts: thoughts of the upstream that the client hands back go there.

    Raises:
        UsageError: it can not be said there.
        ModelError: the upstream has no API of this kind.
    """
    surface, model = asked.surface, to.model(asked.model)
    asks_usage = asked.stream and may_ask_usage and to.place.dialect.name == "openai_chat" and not wants_usage(asked)
    if to.takes(surface) and _is_in_form_of(asked, to):
        body = asked.body if surface.model_in == "address" else with_field(asked.body, ["model"], model, insert=True)
        asks_usage = asks_usage and surface.name == "chat"
        if asks_usage:
            body = with_field(body, ["stream_options", "include_usage"], True, insert=True)
        return Outgoing(body, surface.name, asks_usage)
    if surface.does != "answer":
        raise ModelError("The upstream of this model has no {surface}.", status=501, surface=surface.name)
    alien = provider_tools(surface.name, surface.vendor, asked.fields)
    if alien:
        raise UsageError(
            "tools: this model is behind another API, which can not run {alien}", alien=", ".join(alien[:10])
        )
    if surface is RESPONSES:
        _check_stored(asked.fields)
    source = surface.dialect
    if surface is CHAT and to.place.dialect.name == "openai_chat":
        source = OPENAI_FUNCTIONS  # either form is read by either dialect, and the same to the same changes nothing
    spoken = to.dialect(asked.model)
    target = spoken if has_thoughts else without_thoughts(spoken)
    said = transcode(asked.body, source, target, kind="request", model=model)
    if any(loss.where == "tool_choice" for loss in said.lost):
        _check_demanded(asked.portable.tool_choice, target.decode_request(said.wire).tool_choice)
    body = said.wire
    if asked.stream and to.place.dialect.name != "gemini_content":
        body = with_field(body, ["stream"], True, insert=True)
        if asks_usage:
            body = with_field(body, ["stream_options", "include_usage"], True, insert=True)
    elif not asked.stream and b'"stream' in body:
        body = with_field(body, ["stream"], False)
    return Outgoing(body, "", asks_usage, tuple(loss for loss in said.lost if loss.where != "model"))


def _check_stored(fields: JsonObject) -> None:
    """Refuse a request that names what its own API would have stored: without that, the model would answer another
    conversation than the client means.

    Raises:
        NotStored: it names an item, a response or a conversation by its id.
    """
    said = fields.get("input")
    for item in said if isinstance(said, list) else ():
        if id_ := reference_of(item):
            raise no_item(id_)
    if isinstance(previous := fields.get("previous_response_id"), str):
        raise no_previous_response(previous)
    if fields.get("conversation"):
        raise NotStored("There is no such conversation.", field="conversation")


def _is_in_form_of(asked: ModelRequest, to: ModelUpstream) -> bool:
    """Whether a request speaks of tools only in the form that an upstream of Chat Completions knows."""
    if asked.surface is not CHAT or (b"tool" not in asked.body and b"function" not in asked.body):
        return True
    return forms_of(asked.fields) <= {"functions" if to.place.dialect.name == "openai_functions" else "tools"}


def _check_demanded(choice: ToolChoice, heard: ToolChoice) -> None:
    """Refuse a request that demands a call where the upstream can not be told so.

    Raises:
        UsageError: it can not.
    """
    if is_demand(choice) and not is_demand(heard):
        raise UsageError("tool_choice: a call is demanded, and the API of this model can not be told so")


def wants_usage(asked: ModelRequest) -> bool:
    """Whether the client of a Chat stream asked for the usage at its end."""
    if b"include_usage" not in asked.body:
        return False
    options = asked.fields.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True
