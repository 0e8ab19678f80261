"""Models of installed packages: the embedded model, and the models that packages of other people bring.

A package brings a model by an entry point of the group `actum.models`. The entry point's name is the model's name; the
object behind the entry point, mostly a class, is called without arguments and returns a `Model`. The import of
`importlib.metadata` and the search through all installed packages take milliseconds, so this module is loaded only when
a model is opened that needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points

from ..core.errors import UsageError
from ..core.interfaces import Model

GROUP = "actum.models"
DISTRIBUTION = "actum"
EMBEDDED = EntryPoint("embedded", "actum_embedded:Embedded", GROUP)
"""The embedded model where actum has no metadata, as in a frozen program."""


def open_embedded() -> Model:
    """The embedded model of actum's own distribution. What other packages say of the name `embedded` is not read."""
    try:
        own = distribution(DISTRIBUTION).entry_points
    except PackageNotFoundError:
        return _opened(EMBEDDED)
    return _opened(next(iter(own.select(group=GROUP, name=EMBEDDED.name)), EMBEDDED))


def open_installed(name: str) -> Model | None:
    """The model that an installed package brings under this name; None where no package does.

    Raises:
        UsageError: two packages bring a model of this name; the package's object can not be loaded or is no model; the
            metadata of an installed package is damaged.
    """
    claims = [entry for entry in _entries() if entry.name == name]
    if len(claims) > 1:
        claimed = " and ".join(sorted(map(_origin, claims)))
        raise UsageError(f"more than one installed package brings a model called {name!r}: {claimed}; uninstall one")
    return _opened(claims[0]) if claims else None


def installed_names() -> list[str]:
    """The names of the models that packages other than actum bring."""
    return sorted({entry.name for entry in _entries()} - {EMBEDDED.name})


def _entries() -> Sequence[EntryPoint]:
    try:
        return tuple(entry_points(group=GROUP))
    except (TypeError, ValueError) as error:  # what Python raises here for a damaged `entry_points.txt`
        raise UsageError(f"the entry points of an installed package are damaged: {error}") from error


def _opened(entry: EntryPoint) -> Model:
    try:
        make: object = entry.load()
    except (ImportError, AttributeError) as error:
        raise UsageError(f"the model {entry.name!r} of {_origin(entry)} can not be loaded: {error}") from error
    model: object = make() if callable(make) else make
    if isinstance(model, type) or not isinstance(model, Model):
        raise UsageError(f"the model {entry.name!r} of {_origin(entry)} is no Model: name and async reply() are needed")
    return model


def _origin(entry: EntryPoint) -> str:
    """The package that an entry point is from, and what the entry point names in that package."""
    return f"{entry.dist.name if entry.dist else DISTRIBUTION} ({entry.value})"
