"""What an MCP server offers besides tools: resources, templates of their addresses, prompts. Pure.

All of it is a stranger's word, cleaned of what no person sees; addresses and names stay as they are, as the server has
to know them again.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ...core.json import Json, JsonObject
from ..plain_text import plain


class ResourceOffer(Struct, frozen=True, omit_defaults=True):
    """Something that can be read, or a pattern of such.

    Attributes:
        uri: its address; of a pattern, a template of RFC 6570.
        name, title, description: for people and models.
        media_type: MIME type, where it is told.
        size: bytes, where it is told.
        is_template: it is a pattern.
    """

    uri: str
    name: str = ""
    title: str = ""
    description: str = ""
    media_type: str = ""
    size: int | None = None
    is_template: bool = False


class PromptArgument(Struct, frozen=True, omit_defaults=True):
    """What a prompt can be given."""

    name: str
    description: str = ""
    required: bool = False


class PromptOffer(Struct, frozen=True, omit_defaults=True):
    """A conversation that a server begins for a user who picks it.

    Attributes:
        name: the name by which it is asked for.
        title, description: for people.
        arguments: the arguments that it takes.
    """

    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


def resources_of(items: Sequence[JsonObject]) -> list[ResourceOffer]:
    """The elements of `resources/list` or `resources/templates/list`; one without an address is left out.

    >>> resources_of([{"uri": "memo://today", "name": "today"}])[0].name
    'today'
    """
    found: list[ResourceOffer] = []
    for item in items:
        template, uri, size = item.get("uriTemplate"), item.get("uri"), item.get("size")
        address = template if isinstance(template, str) else uri
        if isinstance(address, str):
            found.append(
                ResourceOffer(
                    address,
                    _said(item, "name"),
                    _said(item, "title"),
                    _said(item, "description"),
                    _said(item, "mimeType"),
                    size if isinstance(size, int) and not isinstance(size, bool) else None,
                    is_template=address is template,
                )
            )
    return found


def prompts_of(items: Sequence[JsonObject]) -> list[PromptOffer]:
    """The elements of `prompts/list`; one without a name is left out."""
    return [
        PromptOffer(
            str(item["name"]), _said(item, "title"), _said(item, "description"), _arguments(item.get("arguments"))
        )
        for item in items
        if isinstance(item.get("name"), str)
    ]


def values_of(raw: JsonObject) -> list[str]:
    """What an argument could be, out of the result of `completion/complete`."""
    completion = raw.get("completion")
    values = completion.get("values") if isinstance(completion, dict) else None
    return [plain(value) for value in values if isinstance(value, str)] if isinstance(values, list) else []


def _arguments(said: Json) -> tuple[PromptArgument, ...]:
    return tuple(
        PromptArgument(str(item["name"]), _said(item, "description"), item.get("required") is True)
        for item in (said if isinstance(said, list) else [])
        if isinstance(item, dict) and isinstance(item.get("name"), str)
    )


def _said(item: JsonObject, field: str) -> str:
    value = item.get(field)
    return plain(value) if isinstance(value, str) else ""
