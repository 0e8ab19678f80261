"""The learned weights: other ones are taken at once, and nothing that the old ones said is kept."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from actum.core.tool import Tool
from actum_embedded.calls.arguments import fill
from actum_embedded.learned.weights import FILES, SHIPPED, use
from actum_embedded.text.clauses import read
from actum_embedded.tools.selection import index
from packages.embedded.tests.harness import TODAY

pytestmark = pytest.mark.row("L5")

ROUTE = Tool(
    name="plan_route",
    description="Plan a route.",
    parameters={
        "type": "object",
        "properties": {"start": {"type": "string"}, "end": {"type": "string"}},
        "required": ["start", "end"],
    },
)


def test_what_other_weights_said_is_forgotten_with_them(tmp_path: Path) -> None:
    def said() -> list[float]:
        found = fill(index(ROUTE), read("a route from Oslo to Rome", TODAY)).arguments
        return [each.confidence for each in found]

    for name in FILES:
        shutil.copy(str(SHIPPED / name), tmp_path)
    (tmp_path / "ranker.json").write_text(json.dumps({"weights": {}}), "utf-8")
    shipped = said()
    try:
        use(tmp_path)
        assert said() != shipped
    finally:
        use(SHIPPED)
    assert said() == shipped
