"""Thoughts that go back beside calls to the endpoint and the model that said them, and who refuses them.

Some endpoints want them, and refuse the second step of a run without them; others refuse every request with them. An
endpoint that nobody knows is sent its own thoughts. Where it refuses them, the same request goes out once without them,
and this process does not send that endpoint its thoughts again.
"""

from __future__ import annotations

from msgspec import structs

from ..core.errors import ContextOverflow, ModelError
from ..dialects.api.openai_chat.dialect import OpenAiChat
from ..dialects.base import ApiDialect

_refused: set[str] = set()
"""The endpoints and models that refuse their own thoughts."""


def spoken_at(dialect: ApiDialect, url: str, model: str) -> ApiDialect:
    """The dialect as it is spoken at an address with a model: thoughts that were said there go back there.

    Args:
        dialect: of the endpoint.
        url: where it is, without a password.
        model: its name there.
    """
    if not isinstance(dialect, OpenAiChat):
        return dialect
    at = f"{model}@{url.partition('://')[2].partition('?')[0].rstrip('/')}"
    return without_thoughts(structs.replace(dialect, at=at)) if at in _refused else structs.replace(dialect, at=at)


def without_thoughts(dialect: ApiDialect) -> ApiDialect:
    """The dialect with which no thoughts go back."""
    return structs.replace(dialect, returned=()) if isinstance(dialect, OpenAiChat) else dialect


def may_be_refused(error: ModelError) -> bool:
    """Whether an endpoint may have refused a request because of thoughts in it. Endpoints say so in many words."""
    return error.status in (400, 422) and not isinstance(error, ContextOverflow)


def refuse_thoughts(dialect: ApiDialect) -> None:
    """Remember that the endpoint of this dialect refuses its thoughts."""
    if isinstance(dialect, OpenAiChat) and dialect.at:
        _refused.add(dialect.at)
