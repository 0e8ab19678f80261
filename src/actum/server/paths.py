"""Where protocols other than our own API answer below `/v1`: each route group makes its routes of the paths here.

The operations of our API, and those of features, find every other place free. Imports no web framework.
"""

from __future__ import annotations

from enum import StrEnum


class OtherPath(StrEnum):
    """The first path of each place below `/v1` that is no operation's."""

    ASSISTANTS = "/v1/assistants"
    AUDIO = "/v1/audio"
    BATCHES = "/v1/batches"
    CHAT = "/v1/chat/completions"
    COMPLETIONS = "/v1/completions"
    CONVERSATIONS = "/v1/conversations"
    EMBEDDINGS = "/v1/embeddings"
    FILES = "/v1/files"
    FINE_TUNING = "/v1/fine_tuning"
    IMAGES = "/v1/images"
    MESSAGES = "/v1/messages"
    MODELS = "/v1/models"
    MODERATIONS = "/v1/moderations"
    REALTIME = "/v1/realtime"
    RESPONSES = "/v1/responses"
    THREADS = "/v1/threads"
    TRIGGERS = "/v1/triggers"
    TWICE = "/v1/v1"
    UPLOADS = "/v1/uploads"
    VECTOR_STORES = "/v1/vector_stores"
    VIDEOS = "/v1/videos"


def place_of(path: str) -> str:
    """The first part of a path below `/v1`.

    >>> place_of("/v1/chat/completions"), place_of("/v1/runs/{id}")
    ('chat', 'runs')
    """
    return path.removeprefix("/v1/").partition("/")[0]


TAKEN = frozenset(map(place_of, OtherPath))
"""The places that no feature may take."""
