"""The text of a workflow, read by `protocols.source_text`, with the error of a workflow that can not be used."""

from __future__ import annotations

from ...core.definition import BadText
from ...protocols import source_text
from ...protocols.source_text import YAML_BYTES_MAX, SourceText


class BadWorkflow(BadText):
    """The definition of a workflow can not be used; see `BadText`."""


def read_text(text: str | bytes, *, yaml_bytes_max: int = YAML_BYTES_MAX) -> SourceText:
    """Read YAML 1.2, or JSON where the text begins with a brace; see `protocols.source_text.read_text`.

    Raises:
        BadWorkflow: the text is too large, too deep, or neither YAML nor JSON.
        UsageError: the library that reads YAML is not installed.
    """
    try:
        return source_text.read_text(text, yaml_bytes_max=yaml_bytes_max)
    except BadText as bad:
        raise BadWorkflow(bad.problems) from None
