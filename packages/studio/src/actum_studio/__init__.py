"""The pages of actum, made for browsers: files that `actum studio` and `actum serve` serve under `/studio`."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

__all__ = ["bundle"]


def bundle() -> Path | None:
    """The folder of the pages, with `index.html` in it; `None` where the pages were not built."""
    found = Path(str(files(__name__))) / "static"
    return found if (found / "index.html").is_file() else None
