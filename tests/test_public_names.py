"""The public names are few, sorted, described, and written about."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import actum

SRC = Path(__file__).parents[1] / "src"

PUBLIC = [
    "ActumError",
    "Agent",
    "Answer",
    "Audio",
    "Context",
    "File",
    "Image",
    "Limits",
    "ModelSettings",
    "PolicyFile",
    "Price",
    "Require",
    "Rule",
    "Rules",
    "Tool",
    "ToolCall",
    "ToolError",
    "ToolLimits",
    "ToolResult",
    "Toolset",
    "Transcoder",
    "UserLimits",
    "Video",
    "open_model",
    "read_messages",
    "tool",
    "transcode",
]
"""What a program may rest on. A name that is added or taken away here is a line in the changelog."""

ROOT = Path(__file__).parents[1]
GUIDES = [
    ROOT / "README.md",
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if "decisions" not in path.parts),
]


def test_the_public_names_are_the_documented_ones_in_order() -> None:
    assert actum.__all__ == PUBLIC == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_says_what_it_is(name: str) -> None:
    assert getattr(actum, name).__doc__


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_in_a_guide(name: str) -> None:
    # In code, be it a block or a span: "tool" as a plain word says nothing of the name.
    code = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
    spans = [span for path in GUIDES for span in code.findall(path.read_text("utf-8"))]
    assert any(re.search(rf"\b{name}\b", span) for span in spans)


def test_no_public_class_name_stands_for_two_things() -> None:
    """The embedded model is a package of its own, and counts with the rest."""
    found: dict[str, list[str]] = {}
    for package in ("actum", "actum_embedded"):
        for path in sorted((SRC / package).rglob("*.py")):
            for node in ast.parse(path.read_text("utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found.setdefault(node.name, []).append(path.relative_to(SRC).as_posix())
    assert {name: places for name, places in found.items() if len(places) > 1} == {}
