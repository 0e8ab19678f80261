"""Records of features: how a feature's own record becomes a `Noted` of the journal, and how it is read back.

The journal knows one kind of record for all features, `Noted`, which holds the feature's record as bytes. So a run with
records of a feature is listed, shown, verified, exported and forgotten by a process that does not have the feature.
Knows nothing of where features come from: see `features.feature` and `compose.features`.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from ..errors import UsageError
from .record import Noted

BODY_BYTES_MAX = 64_000
"""The longest record of a feature, as JSON."""


class RecordKind(Struct, frozen=True):
    """A kind of record that a feature puts on the record of runs.

    Attributes:
        feature: the name of the feature.
        type: the record: a struct with a tag, such as `class Saved(Struct, tag="saved")`.
        version: the version of the feature's records. A feature reads records of its own version and of older ones.
        package: the package that the feature comes with; empty where no package brings it.

    Raises:
        UsageError: the struct has no tag.
    """

    feature: str
    type: type[Struct]
    version: int = 1
    package: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.type.__struct_config__.tag, str):
            raise UsageError('{kind} has no tag: write class {kind}(Struct, tag="...")', kind=self.type.__name__)

    @property
    def name(self) -> str:
        """The tag of the struct."""
        return str(self.type.__struct_config__.tag)


class RecordKinds:
    """The kinds of records that the features of a process bring.

    Args:
        kinds: all of them.

    Raises:
        UsageError: a feature has two kinds of one name, or a struct belongs to two features.
    """

    def __init__(self, kinds: Iterable[RecordKind] = ()) -> None:
        self._by_name: dict[tuple[str, str], RecordKind] = {}
        self._by_type: dict[type[Struct], RecordKind] = {}
        for kind in kinds:
            self._add(kind)

    def copy(self) -> RecordKinds:
        """The same kinds, to which others can be added."""
        return RecordKinds(self._by_name.values())

    def add(self, kinds: Iterable[RecordKind]) -> None:
        """Know further kinds, too. One that is known already is no error.

        Raises:
            UsageError: as for `RecordKinds`.
        """
        for kind in kinds:
            if self._by_name.get((kind.feature, kind.name)) != kind:
                self._add(kind)

    def _add(self, kind: RecordKind) -> None:
        if (kind.feature, kind.name) in self._by_name:
            raise UsageError(
                "the feature {feature} has two kinds of records called {kind!r}",
                feature=kind.feature,
                kind=kind.name,
            )
        if kind.type in self._by_type:
            other = self._by_type[kind.type].feature
            raise UsageError(
                "the record {kind} belongs to two features: {other}, {feature}",
                kind=kind.type.__name__,
                other=other,
                feature=kind.feature,
            )
        self._by_name[kind.feature, kind.name] = self._by_type[kind.type] = kind

    def noted(self, record: Struct, *, needed: bool = False) -> Noted:
        """A feature's record as it goes on the record of a run.

        Args:
            record: of one of these kinds.
            needed: the run can not go on where the record can not be read.

        Raises:
            UsageError: the record is of no kind that is known, or too long.
            TypeError, ValueError, RecursionError: the record holds a value that can not be written down.
        """
        kind = self._by_type.get(type(record))
        if kind is None:
            raise UsageError(
                "{kind} is a record of no feature that is on: name it in Feature(records=(...,)), "
                "and switch the feature on by its table in actum.toml",
                kind=type(record).__name__,
            )
        body = msgspec.json.encode(record)
        if len(body) > BODY_BYTES_MAX:
            told = f"{kind.feature}/{kind.name} has {len(body)} bytes"
            raise UsageError("{why}; a record of a feature has at most {most}", why=told, most=BODY_BYTES_MAX)
        return Noted(kind.feature, kind.name, kind.version, body, needed=needed, package=kind.package)

    def read(self, noted: Noted) -> Struct | None:
        """The feature's own record; None where it can not be read here."""
        kind = self._by_name.get((noted.feature, noted.kind))
        if kind is None or kind.version < noted.version:
            return None
        try:
            return msgspec.json.decode(noted.body, type=kind.type)
        except (msgspec.MsgspecError, ValueError, RecursionError):  # UnicodeDecodeError among them
            return None

    def shown(self, noted: Noted) -> str:
        """A record in a line, for people: its JSON where it can be read here."""
        if self.read(noted) is None:
            return f"{noted.title}, {len(noted.body)} bytes, not read here"
        return f"{noted.title} {noted.body.decode()}"

    def missing(self, noted: Noted) -> str:
        """Why a record can not be read here and what to do about it, in a sentence; empty where it can be read."""
        if self.read(noted) is not None:
            return ""
        package = noted.package or f"that brings the feature {noted.feature}"
        kind = self._by_name.get((noted.feature, noted.kind))
        if kind is None:
            return (
                f"the feature {noted.feature} is missing: install the package {package}, and switch it on by the "
                f"table [{noted.feature}] in actum.toml"
            )
        if kind.version < noted.version:
            return (
                f"the feature {noted.feature} reads its records up to version {kind.version}, and this one is of "
                f"version {noted.version}: install a newer version of the package {package}"
            )
        return f"it is no such record as the feature {noted.feature} writes"


NO_KINDS = RecordKinds()
"""Those of a process without features."""
