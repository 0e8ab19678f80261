"""Which features there are, and which of them the settings switch on.

Features of actum itself are in one tuple and are always on. A feature of somebody else is an entry point of the group
`actum.features` of an installed package. It is imported only if the settings have its table.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct, structs

from ..core.errors import ActumError, UsageError
from ..core.interfaces import Journal
from ..core.json import JsonObject
from ..core.language.sentence import Sentence
from ..core.process.installed import Installed, installed, installed_one
from ..features import connections, titles
from ..features.feature import Feature, FeatureOn, FeatureSet, feature_set
from ..features.operation import Operation
from ..knowledge.feature import FEATURE as KNOWLEDGE
from ..memory.feature import FEATURE as MEMORY
from ..scores.feature import FEATURE as SCORES
from ..telemetry.feature import FEATURE as TELEMETRY
from .mistakes import faults_in
from .settings import Settings

log = logging.getLogger("actum")

GROUP = "actum.features"
BUILT_IN: tuple[Feature, ...] = (titles.FEATURE, connections.FEATURE, KNOWLEDGE, MEMORY, SCORES)
"""The features of actum itself."""
_INSTEAD = {
    KNOWLEDGE.name: Sentence('. An agent searches a collection with tools = ["knowledge:NAME"]'),
    MEMORY.name: Sentence('. An agent remembers its users with memory = "user" in [agents.NAME]'),
}
"""What to write in the place of a table of a feature that has none."""


class FoundFeature(Struct, frozen=True, kw_only=True):
    """A feature that there is, that the settings name, or that has rows in the journal.

    Attributes:
        name: its name.
        package: the package that brings it; empty where none is installed, or where actum itself does.
        state: `on`; `off`, so that none of its code has run; `refused` where the settings name it and it can not be
            used; `missing` where the journal has its rows and no installed package brings it.
        title: what it is for; empty where it is not on.
        problem: why it can not be used.
        rows: how many rows the journal keeps for it.
    """

    name: str
    package: str = ""
    state: str = "off"
    title: str = ""
    problem: Sentence | str = ""
    rows: int = 0


def features_of(settings: Settings) -> FeatureSet:
    """The features that the settings switch on. A feature that can not be used is left out and told as a problem.

    Args:
        settings: with the tables of features.
    """
    built_in = (*BUILT_IN, *((TELEMETRY,) if settings.telemetry is not None else ()))
    on = [FeatureOn(feature=each, settings=each.settings() if each.settings else None) for each in built_in]
    problems: dict[str, Sentence | str] = {}
    for name, table in settings.features.items():
        try:
            each = _switched_on(name, table)
            if each.operations:
                _check_operations(each.feature, [other for those in on for other in those.operations])
            feature_set([*on, each])  # beside those before it
        except ActumError as error:
            problems[name] = error.sentence
        else:
            on.append(each)
    return feature_set(on, problems)


def _switched_on(name: str, table: JsonObject) -> FeatureOn:
    """The feature of a table of the settings.

    Raises:
        UsageError: no package brings it, or it can not be used.
    """
    if name in [each.name for each in BUILT_IN]:
        raise UsageError(
            "[{name}]: this feature is a part of actum, is on, and has no table: take the table out{instead}",
            name=name,
            instead=_INSTEAD.get(name, ""),
        )
    brought = installed_one(GROUP, name)
    if brought is None:
        raise UsageError(
            "[{name}] in the settings: no setting is called so, and no installed package brings a "
            "feature of this name: install the package, or take the table out",
            name=name,
        )
    feature = _loaded(brought)
    settings = None
    if feature.settings is not None:
        for fault in faults_in(feature.settings, table, f"settings of [{name}]", (name,)):
            raise UsageError(f"[{name}]: {fault.problem}{f'. {fault.hint}' if fault.hint else ''}")
        settings = msgspec.convert(table, feature.settings)
    elif table:
        raise UsageError("[{name}]: this feature has no settings, so its table is to be empty", name=name)
    return FeatureOn(feature=_with_definitions(feature), settings=settings, package=brought.package or "unknown")


def _with_definitions(feature: Feature) -> Feature:
    """The feature, with the operations of its kinds of definitions among its own."""
    if not feature.definitions:
        return feature
    from ..server.api.definitions.operations import operations_of  # noqa: PLC0415  # as below

    made = [operation for kind in feature.definitions for operation in operations_of(kind)]
    return structs.replace(feature, operations=(*feature.operations, *made))


def _check_operations(feature: Feature, others: Sequence[Operation]) -> None:
    from ..server.api.operations import check_operations  # noqa: PLC0415  # most commands do not need it

    check_operations(feature, others)


def _loaded(brought: Installed) -> Feature:
    found = brought.load()
    if not isinstance(found, Feature):
        raise UsageError(
            "the feature {brought!r} of {origin} is no Feature of actum.features",
            brought=brought.name,
            origin=brought.origin,
        )
    if found.name != brought.name:
        raise UsageError(
            "the feature {brought!r} of {origin} calls itself {found!r}",
            brought=brought.name,
            origin=brought.origin,
            found=found.name,
        )
    return found


async def take_into_use(features: FeatureSet, journal: Journal) -> FeatureSet:
    """Bring the tables of the features to their latest form. The log tells which features are left out, and why.

    Args:
        features: those that are switched on.
        journal: keeps the tables.

    Returns:
        The features, without those whose tables can not be used.
    """
    for each in features.on:
        migrations = each.feature.all_migrations
        if not migrations:
            continue
        try:
            await journal.stores.migrate(each.feature.name, migrations, each.feature.views)
        except ActumError as error:
            features = features.without(each.feature.name, error.sentence)
    for name, problem in features.problems.items():
        log.warning("the feature %s is left out: %s", name, problem)
    return features


async def found_features(settings: Settings, journal: Journal) -> Sequence[FoundFeature]:
    """Every feature of others, by name: those of installed packages, of the settings, and those with rows in the
    journal. Only features that the settings name are imported. The features of actum are always on.

    Args:
        settings: with the tables of features.
        journal: keeps the rows.
    """
    features = features_of(settings)
    brought = {each.name: each.package for each in installed(GROUP)}
    rows = {each.feature: each.rows for each in await journal.stores.kept()}
    names = {*(each.feature.name for each in features.on), *features.problems, *brought, *rows}
    names -= {each.name for each in (*BUILT_IN, TELEMETRY)}
    return [structs.replace(_found(name, features, brought), rows=rows.get(name, 0)) for name in sorted(names)]


def _found(name: str, features: FeatureSet, brought: Mapping[str, str]) -> FoundFeature:
    on = features.get(name)
    if on is not None:
        return FoundFeature(name=name, package=on.package, state="on", title=on.feature.title)
    if name in features.problems:
        package = brought.get(name, "")
        return FoundFeature(name=name, package=package, state="refused", problem=features.problems[name])
    if name in brought:
        return FoundFeature(name=name, package=brought[name])
    return FoundFeature(name=name, state="missing")
