"""The public names are few, sorted, described, and written about."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import ModuleType

import pytest

import actum.errors
import actum.events
import actum.messages
import actum.secrets

from .sources import modules

SRC = Path(__file__).parents[1] / "src"

PUBLIC = [
    "ActumError",
    "Agent",
    "Answer",
    "Answered",
    "Audio",
    "Context",
    "Defence",
    "File",
    "Image",
    "Label",
    "Limits",
    "Mandate",
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
    "redact_logs",
    "tool",
    "transcode",
]
"""What a program may rest on. A name that is added or taken away here is a line in the changelog."""

MODULES = (actum.errors, actum.events, actum.messages, actum.secrets)
"""More names that a program may rest on, by subject. Beside these, guides may name rooms, such as `actum.storage`."""

ROOT = Path(__file__).parents[1]
GUIDES = [
    ROOT / "README.md",
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if "decisions" not in path.parts),
]


def test_the_public_names_are_the_documented_ones_in_order() -> None:
    assert actum.__all__ == PUBLIC == sorted(PUBLIC)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_a_public_module_lists_its_names_in_order_and_a_guide_tells_of_the_module(module: ModuleType) -> None:
    public = [name for name in vars(module) if name[0] not in "_@"]  # pytest adds names with @
    assert module.__all__ == sorted(module.__all__) == sorted(public)
    assert any(module.__name__ in path.read_text("utf-8") for path in GUIDES)


def test_guides_and_examples_take_each_public_name_from_its_public_module() -> None:
    """A reader who copies an import from a guide copies one that stays. `actum.core` is ours to rearrange."""
    homes = dict.fromkeys(PUBLIC, "actum")
    for module in MODULES:
        homes |= {name: module.__name__ for name in module.__all__ if name not in PUBLIC}
    texts = [(path.name, path.read_text("utf-8")) for path in GUIDES]
    texts += [(str(path.relative_to(ROOT)), path.read_text("utf-8")) for path in sorted(ROOT.glob("examples/**/*.py"))]
    wrong = [
        (where, name, homes[name])
        for where, text in texts
        for named in re.findall(r"^ *from actum\.core[.\w]* import (.+)", text, re.MULTILINE)
        for name in re.findall(r"\w+", named)
        if name in homes
    ]
    assert wrong == []


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
    for module, path in modules():
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(module)
    assert {name: places for name, places in found.items() if len(places) > 1} == {}
