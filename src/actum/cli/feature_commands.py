"""The commands of features, made from their operations: `actum bookmarks list`."""

from __future__ import annotations

import typer

from ..compose.features import features_of
from ..core.errors import UsageError
from ..features.feature import FeatureSet
from ..server.api.operations import recorded
from . import options
from .operated import group_of


def commands_of(name: str) -> typer.Typer | None:
    """The commands of a feature; None where it has none, or is not on.

    Raises:
        UsageError: the feature can not be used.
    """
    features = features_of(options.read())
    if name in features.problems:
        raise UsageError(features.problems[name])
    on = features.get(name)
    typed = [each for each in recorded(FeatureSet((on,))) if each.command is not None] if on is not None else []
    return group_of(typed, on.feature.title) if on is not None and typed else None
