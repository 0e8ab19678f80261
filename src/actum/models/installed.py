"""Models of installed packages: the embedded model, and the models that packages of other people bring.

A package brings a model by an entry point of the group `actum.models`. The entry point's name is the model's name; the
object behind the entry point, mostly a class, is called without arguments and returns a `Model`. The import of
`importlib.metadata` and the search through all installed packages take milliseconds, so this module is loaded only when
a model is opened that needs it.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, PackageNotFoundError, distribution

from ..core.errors import UsageError
from ..core.model import Model
from ..core.process.installed import Installed, installed, installed_one

GROUP = "actum.models"
DISTRIBUTION = "actum"
EMBEDDED = EntryPoint("embedded", "actum_embedded:Embedded", GROUP)
"""The embedded model where actum has no metadata, as in a frozen program."""


def open_embedded() -> Model:
    """The embedded model of actum's own distribution. What other packages say of the name `embedded` is not read."""
    try:
        own = distribution(DISTRIBUTION).entry_points
    except PackageNotFoundError:
        return _opened(_own(EMBEDDED))
    return _opened(_own(next(iter(own.select(group=GROUP, name=EMBEDDED.name)), EMBEDDED)))


def open_installed(name: str) -> Model | None:
    """The model that an installed package brings under this name; None where no package does.

    Raises:
        UsageError: two packages bring a model of this name; the package's object can not be loaded or is no model; the
            metadata of an installed package is damaged.
    """
    brought = installed_one(GROUP, name)
    return None if brought is None else _opened(brought)


def installed_names() -> list[str]:
    """The names of the models that packages other than actum bring."""
    return sorted({each.name for each in installed(GROUP)} - {EMBEDDED.name})


def _own(entry: EntryPoint) -> Installed:
    return Installed(group=GROUP, name=entry.name, package=DISTRIBUTION, value=entry.value)


def _opened(brought: Installed) -> Model:
    make: object = brought.load()
    model: object = make() if callable(make) else make
    if isinstance(model, type) or not isinstance(model, Model):
        raise UsageError(
            "the model {brought!r} of {origin} is no Model: name and async reply() are needed",
            brought=brought.name,
            origin=brought.origin,
        )
    return model
