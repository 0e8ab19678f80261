"""What installed packages bring to actum: entry points, which are listed without importing anything.

A package names what it brings in its `pyproject.toml`, such as::

    [project.entry-points."actum.features"]
    bookmarks = "bookmarks:FEATURE"

The search through all installed packages takes milliseconds, so this file is imported where the search is needed.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from msgspec import Struct

from ..errors import ActumError, UsageError
from ..language.sentence import Sentence

GROUPS = {
    "actum.features": "feature",
    "actum.models": "model",
    "actum.tools": "tools",
    "actum.toolsets": "toolset",
    "actum.dialects": "dialect",
    "actum.importers": "importer of workflows",
    "actum.jails": "jail",
}
"""The groups of entry points, each with what one of its entry points is called."""


class Installed(Struct, frozen=True, kw_only=True):
    """Something that an installed package brings.

    Attributes:
        group: one of `GROUPS`.
        name: what it is called.
        package: the name of the package; empty where it is not known.
        value: what is imported, such as `bookmarks:FEATURE`.
    """

    group: str
    name: str
    package: str
    value: str

    @property
    def origin(self) -> str:
        """The package, and what is imported from it, for people."""
        return f"{self.package or 'a package'} ({self.value})"

    def load(self) -> object:
        """Import the object.

        Raises:
            UsageError: it can not be imported.
        """
        try:
            found: object = EntryPoint(self.name, self.value, self.group).load()
        except (Exception, SystemExit) as error:  # the package's own code: whatever it raises, this one is missing
            told = f"{type(error).__name__}: {error}"
            raise UsageError(
                "the {groups_detail} {name!r} of {origin} can not be loaded: {detail}",
                groups_detail=Sentence(GROUPS[self.group]),
                name=self.name,
                origin=self.origin,
                detail=error if isinstance(error, ActumError) else told,
            ) from error
        return found


def installed(group: str) -> tuple[Installed, ...]:
    """What the installed packages bring of one group, by name. Nothing is imported.

    Raises:
        UsageError: the metadata of an installed package is damaged.
    """
    try:
        found = tuple(entry_points(group=group))
    except (TypeError, ValueError) as error:  # what Python raises here for a damaged `entry_points.txt`
        raise UsageError("the entry points of an installed package are damaged: {why}", why=error) from error
    brought = [
        Installed(group=group, name=each.name, package=each.dist.name if each.dist else "", value=each.value)
        for each in found
    ]
    return tuple(sorted(brought, key=lambda each: (each.name, each.package)))


def installed_one(group: str, name: str) -> Installed | None:
    """What an installed package brings under a name; None where none does.

    Raises:
        UsageError: several packages bring something of this name, or the metadata of one is damaged.
    """
    claims = [each for each in installed(group) if each.name == name]
    if len(claims) > 1:
        claimed = " and ".join(sorted(each.origin for each in claims))
        raise UsageError(
            "more than one installed package brings a {groups} called {name!r}: {claimed}; uninstall one",
            groups=GROUPS[group],
            name=name,
            claimed=claimed,
        )
    return claims[0] if claims else None
