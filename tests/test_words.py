"""What the code says of itself is true and short: files that it names are there, and worn phrases become fewer."""

from __future__ import annotations

import re
from collections import Counter

from .sources import ROOT, modules

SOURCES = sorted([*(path for _, path in modules()), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")])
FILES = {
    path.relative_to(ROOT).as_posix()
    for top in ("src", "packages", "tests", "bench", "examples", "tests_local")
    for path in (ROOT / top).rglob("*.py")
}
OF_A_USER = {"agent.py", "apt.py", "authorize.py", "cel.py", "main.py", "random.py", "redis.py", "serve.py", "tools.py"}
"""Names of files in examples, which stand in a user's folder."""
NAMED = re.compile(r"`((?:\w+/)*\w+\.py)`")
MOST = {"so many": 342, "whoever": 295, "stands in": 217, "of which": 125}
"""Worn phrases in `src`, and how often each is there at most: the numbers only fall."""


def test_every_file_that_is_named_is_there() -> None:
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in SOURCES
        if path.name != "CHANGELOG.md"
        for name in NAMED.findall(path.read_text("utf-8"))
        if name not in OF_A_USER and not any(f"/{file}".endswith(f"/{name}") for file in FILES)
    ]
    assert missing == []


def test_worn_phrases_become_fewer() -> None:
    found: Counter[str] = Counter()
    for _, path in modules():
        text = " ".join(path.read_text("utf-8").lower().split())
        found.update({phrase: text.count(phrase) for phrase in MOST})
    assert {phrase: found[phrase] for phrase, most in MOST.items() if found[phrase] > most} == {}
