"""A `Feature`: what a room, or a package of somebody else, brings to actum, as one value.

    FEATURE = Feature(name="bookmarks", title="Bookmarks.", settings=Settings, records=(Saved,), operations=(LIST,))

Nothing here looks for features or switches one on: see `compose.features`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct, structs

from ..core.errors import UsageError
from ..core.language.sentence import Sentence
from ..core.run.noted import NO_KINDS, RecordKind, RecordKinds
from ..core.stores import AddTable, Migrations, RecordView, RunView, Table, checked_name
from .definition import RESERVED_KINDS, DefinitionKind
from .operation import Operation, SettingsOf

API = 1
"""The version of what a feature is made of."""


class Feature(Struct, frozen=True, kw_only=True):
    """What a room, or a package of somebody else, brings to actum.

    Attributes:
        name: 1 to 24 small letters, digits and `_`. The table `[name]` in `actum.toml` switches the feature on.
        title: what it is for, in a line.
        api: the version of features that it was written for.
        version: the version of its records, which grows when an older version of the feature can not read them any
            more. A feature reads its older records.
        records: the structs that its tools put on the record of a run (`Context.note`), each with a tag.
        tables: what it keeps beside the runs.
        migrations: how its tables came to be; by default the tables as they are now.
        views: the rows that follow from its records and from runs.
        settings: what can be set in its table in `actum.toml`; None for nothing.
        operations: what callers of a server, and persons at a command line, can ask for.
        definitions: the kinds of texts that people write, check, publish and roll back. Their operations and commands
            are made from them.
        tools: makes its tools out of its settings, or out of nothing where it has no settings; None for no tools.

    Raises:
        UsageError: it was written for another version of features, its name can not be used, or a view is of a table or
            a record that the feature does not bring.
    """

    name: str
    title: str
    api: int = API
    version: int = 1
    records: tuple[type[Struct], ...] = ()
    tables: tuple[Table[Struct], ...] = ()
    migrations: Migrations = ()
    views: tuple[RecordView | RunView, ...] = ()
    settings: type[Struct] | None = None
    operations: tuple[Operation, ...] = ()
    definitions: tuple[DefinitionKind, ...] = ()
    tools: Callable[..., Sequence[object]] | None = None

    def __post_init__(self) -> None:
        if self.api != API:
            raise UsageError(
                "the feature {name!r} was written for api = {api} of features, and this version of "
                "actum has api = {other_api}: install another version of the one or the other",
                name=self.name,
                api=self.api,
                other_api=API,
            )
        checked_name("feature", self.name)
        made = {change.table for changes in self.all_migrations for change in changes}
        for view in self.views:
            if isinstance(view, RunView):
                continue
            if view.table not in made or view.record not in self.records:
                raise UsageError(
                    "the feature {name}: the view of the table {table} and the record {record}: name the table in "
                    "Feature(tables=...) and the record in Feature(records=...)",
                    name=self.name,
                    table=view.table.name,
                    record=view.record.__name__,
                )

    @property
    def all_migrations(self) -> Migrations:
        """How its tables came to be."""
        if self.migrations or not self.tables:
            return self.migrations
        return (tuple(AddTable(table) for table in self.tables),)


class FeatureOn(Struct, frozen=True, kw_only=True):
    """A feature that is switched on.

    Attributes:
        feature: the feature.
        settings: what is set for it; None where nothing can be set.
        package: the package that brings it; empty for a feature of actum itself.
    """

    feature: Feature
    settings: Struct | None = None
    package: str = ""

    @property
    def is_foreign(self) -> bool:
        """Whether somebody else brings it: its tools are foreign, and its operations need a scope of their own."""
        return bool(self.package)

    @property
    def operations(self) -> Sequence[Operation]:
        """Its operations. Those of somebody else's feature need the scope of its name, which no key has by chance."""
        name = self.feature.name
        tagged = [structs.replace(each, tag=each.tag or name) for each in self.feature.operations]
        return [structs.replace(each, scopes=(name,), is_open=False) for each in tagged] if self.is_foreign else tagged

    def tools(self) -> Sequence[object]:
        """Its tools, made anew."""
        if self.feature.tools is None:
            return ()
        return self.feature.tools() if self.settings is None else self.feature.tools(self.settings)


class FeatureSet(Struct, frozen=True):
    """The features that are switched on in a process.

    Attributes:
        on: the features.
        problems: by their names, why other features are left out that the settings name.
        record_kinds: the kinds of records that they bring.
    """

    on: tuple[FeatureOn, ...] = ()
    problems: dict[str, Sentence | str] = {}
    record_kinds: RecordKinds = NO_KINDS

    @property
    def scopes(self) -> dict[str, str]:
        """The scopes that they bring, each with what it allows."""
        return {each.feature.name: each.feature.title for each in self.on if each.is_foreign and each.operations}

    def get(self, name: str) -> FeatureOn | None:
        """The feature of a name; None where it is not on."""
        return next((each for each in self.on if each.feature.name == name), None)

    def settings(self, kind: type[SettingsOf]) -> SettingsOf:
        """What is set for the feature that declares its settings by this type.

        Raises:
            UsageError: no such feature is on.
        """
        found = next((each.settings for each in self.on if isinstance(each.settings, kind)), None)
        if found is None:
            raise UsageError("{kind} are the settings of no feature that is on", kind=kind.__name__)
        return found

    def checked(self) -> FeatureSet:
        """The same features, if none is left out.

        Raises:
            UsageError: one is.
        """
        for problem in self.problems.values():
            raise UsageError(problem)
        return self

    def without(self, name: str, problem: Sentence | str) -> FeatureSet:
        """The other features.

        Args:
            name: the feature that is left out.
            problem: why.
        """
        on = tuple(each for each in self.on if each.feature.name != name)
        return feature_set(on, {**self.problems, name: problem})


def feature_set(on: Sequence[FeatureOn], problems: dict[str, Sentence | str] | None = None) -> FeatureSet:
    """Features that are switched on.

    Raises:
        UsageError: two of them can not be on together.
    """
    named: dict[str, str] = {}
    for each in on:
        for kind in each.feature.definitions:
            other = named.setdefault(kind.name, each.feature.name)
            if other != each.feature.name or (each.is_foreign and kind.name in RESERVED_KINDS):
                raise UsageError(
                    "the feature {feature!r} brings definitions of a kind {kind!r}, and this name is taken",
                    feature=each.feature.name,
                    kind=kind.name,
                )
    kinds = [
        RecordKind(each.feature.name, record, each.feature.version, each.package)
        for each in on
        for record in each.feature.records
    ]
    return FeatureSet(tuple(on), problems or {}, RecordKinds(kinds))


NO_FEATURES = FeatureSet()
