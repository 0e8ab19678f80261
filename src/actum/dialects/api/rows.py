"""All API dialects, each a row. A dialect's module is imported when the dialect is opened."""

from __future__ import annotations

from ..base import ApiDialect
from ..listing import ApiListing

# Doors: each imports one dialect's module when that dialect is opened. Few programs need more than one API.


def _anthropic_messages() -> ApiDialect:
    from .anthropic.dialect import ANTHROPIC_MESSAGES  # noqa: PLC0415

    return ANTHROPIC_MESSAGES


def _gemini_content() -> ApiDialect:
    from .gemini.dialect import GEMINI_CONTENT  # noqa: PLC0415

    return GEMINI_CONTENT


def _ollama_generate() -> ApiDialect:
    from .ollama_generate import OLLAMA_GENERATE  # noqa: PLC0415

    return OLLAMA_GENERATE


def _openai_chat() -> ApiDialect:
    from .openai_chat.dialect import OPENAI_CHAT  # noqa: PLC0415

    return OPENAI_CHAT


def _openai_completions() -> ApiDialect:
    from .openai_completions import OPENAI_COMPLETIONS  # noqa: PLC0415

    return OPENAI_COMPLETIONS


def _openai_functions() -> ApiDialect:
    from .openai_chat.dialect import OPENAI_FUNCTIONS  # noqa: PLC0415

    return OPENAI_FUNCTIONS


def _openai_responses() -> ApiDialect:
    from .openai_responses.dialect import OPENAI_RESPONSES  # noqa: PLC0415

    return OPENAI_RESPONSES


_LISTINGS = (
    ApiListing(
        "anthropic_messages",
        "native: tool_use and tool_result of the Messages API",
        "one turn may hold many calls; results go back in one message of the user",
        load=_anthropic_messages,
    ),
    ApiListing(
        "gemini_content",
        "native: functionCall and functionResponse of generateContent",
        "no ids in older versions; they are made",
        load=_gemini_content,
    ),
    ApiListing("ollama_generate", load=_ollama_generate, says_calls=False),
    ApiListing(
        "openai_chat",
        "native: tools and tool_calls of the Chat Completions API",
        "what compatible servers do differently is borne: ids, indexes, arguments as objects",
        load=_openai_chat,
    ),
    ApiListing("openai_completions", load=_openai_completions, says_calls=False),
    ApiListing(
        "openai_functions",
        "native, as it was in 2023: functions and function_call",
        "one call a turn",
        load=_openai_functions,
    ),
    ApiListing(
        "openai_responses",
        "native: function_call items of the Responses API",
        load=_openai_responses,
    ),
)

APIS: dict[str, ApiListing] = {listing.name: listing for listing in _LISTINGS}
"""All API dialects by name."""
