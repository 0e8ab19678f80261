"""The packages of this repository, and where the source of each is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES: Mapping[str, Path] = {
    "actum": ROOT / "src",
    "actum_embedded": ROOT / "packages" / "embedded" / "src",
    "actum_studio": ROOT / "packages" / "studio" / "src",
}
"""The folder that holds each package."""


def modules() -> Iterator[tuple[str, Path]]:
    """Every module with its file: `actum.core.call`."""
    for package, source in PACKAGES.items():
        for path in sorted((source / package).rglob("*.py")):
            yield ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__"), path
