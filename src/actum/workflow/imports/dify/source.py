"""Reads the text of a Dify file into plain values: YAML or JSON, also in an envelope, with repaired emoji."""

from __future__ import annotations

from ....core.definition import TextProblem
from ....core.json import JsonObject
from ...definition.text import BYTES_MAX, BadWorkflow, read_text
from ..surrogates import whole

_ENVELOPES = ("data", "yaml_content", "content")
_ENVELOPES_MAX = 3


def read_source(text: str | bytes) -> JsonObject:
    """What a Dify file says.

    Raises:
        BadWorkflow: the text is too large, too deep, neither YAML nor JSON, or no object.
    """
    for _ in range(_ENVELOPES_MAX):
        value = whole(read_text(text, yaml_bytes_max=BYTES_MAX).value)
        if not isinstance(value, dict):
            break
        inner = [value[name] for name in _ENVELOPES if isinstance(value.get(name), str | dict)]
        if any(name in value for name in ("app", "workflow", "graph", "rag_pipeline", "model_config")) or not inner:
            return value
        if isinstance(inner[0], dict):
            return inner[0]
        text = str(inner[0])
    raise BadWorkflow([TextProblem("this is no file of Dify: an object with `app` and `workflow` is expected")])
