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
    if on is None:
        return None
    operations = recorded(FeatureSet((on,)))
    kind = next((each for each in on.feature.definitions if each.words == name), None)
    if kind is None:
        typed = [each for each in operations if each.commands]
        return group_of(typed, on.feature.title) if typed else None
    from .definitions.commands import add_definition_commands  # noqa: PLC0415  # agents, which other features have no need of

    group = typer.Typer(help=on.feature.title, no_args_is_help=True)
    add_definition_commands(group, kind, operations)
    return group
