"""The list of models in the forms of OpenAI, Anthropic and Google."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from ...core.json import Json, JsonObject
from .surface import Vendor

OWNER = "actum"
_BEGAN = 0
"""When a model was made is not known; clients want a number."""


def model_entry(vendor: Vendor, name: str) -> JsonObject:
    """One model.

    Args:
        vendor: whose client asks.
        name: of the model.
    """
    match vendor:
        case "anthropic":
            at = datetime.fromtimestamp(_BEGAN, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            unknown: JsonObject = dict.fromkeys(("capabilities", "max_input_tokens", "max_tokens"))
            return {"type": "model", "id": name, "display_name": name, "created_at": at, **unknown}
        case "gemini":
            methods: list[Json] = ["generateContent", "streamGenerateContent"]
            return {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods}
        case "openai":
            return {"id": name, "object": "model", "created": _BEGAN, "owned_by": OWNER}


def model_list(vendor: Vendor, names: Sequence[str]) -> JsonObject:
    """All models, on one page.

    Args:
        vendor: whose client asks.
        names: of the models.
    """
    entries: list[Json] = [model_entry(vendor, name) for name in names]
    match vendor:
        case "anthropic":
            first, last = (names[0], names[-1]) if names else (None, None)
            return {"data": entries, "has_more": False, "first_id": first, "last_id": last}
        case "gemini":
            return {"models": entries}
        case "openai":
            return {"object": "list", "data": entries}
