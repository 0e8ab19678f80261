"""Where protocols other than our own API answer below `/v1`: each route group makes its routes of the paths here.

The operations of our API, and those of features, find every other place free. Imports no web framework.
"""

from __future__ import annotations

from enum import StrEnum


class OtherPath(StrEnum):
    """The first path of each place below `/v1` that is no operation's."""

    ASSISTANTS = "/v1/assistants"
    CHAT = "/v1/chat/completions"
    COMPLETIONS = "/v1/completions"
    CONVERSATIONS = "/v1/conversations"
    EMBEDDINGS = "/v1/embeddings"
    MESSAGES = "/v1/messages"
    MODELS = "/v1/models"
    RESPONSES = "/v1/responses"
    THREADS = "/v1/threads"
    TRIGGERS = "/v1/triggers"
    VECTOR_STORES = "/v1/vector_stores"


def place_of(path: str) -> str:
    """The first part of a path below `/v1`.

    >>> place_of("/v1/chat/completions"), place_of("/v1/runs/{id}")
    ('chat', 'runs')
    """
    return path.removeprefix("/v1/").partition("/")[0]


TAKEN = frozenset(map(place_of, OtherPath))
"""The places that no feature may take."""
