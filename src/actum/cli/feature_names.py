"""Which features have commands, as far as the text of the settings files tells: nothing is imported for that.

They are looked for where somebody types a command that actum itself does not have, and where `--help` lists commands.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from ..storage.folders import settings_path

_TABLE = re.compile(r"(?m)^\s*\[\s*([a-z][a-z0-9_]{0,23})\s*[\].]")


def named() -> list[str]:
    """The names of the features that the settings files switch on, as far as their text tells. None is imported."""
    tables = {name for text in _texts() for name in _TABLE.findall(text)}
    if not tables:
        return []
    from ..core.process.installed import installed  # noqa: PLC0415  # a search that those without such tables need not wait for

    return sorted({each.name for each in installed("actum.features")} & tables)


def _texts() -> Iterator[str]:
    own = settings_path(os.environ)
    for path in (*([own] if own is not None else []), Path("actum.toml")):
        try:
            yield path.read_text("utf-8")
        except (OSError, ValueError):
            continue  # whatever reads the settings says so
