"""What the guide says of the states of a task is what the table of states says."""

from __future__ import annotations

from pathlib import Path

from actum.core.task import STEPS

GUIDE = Path(__file__).parents[2] / "docs" / "tasks.md"


def test_the_guide_draws_the_table_of_states() -> None:
    guide = GUIDE.read_text("utf-8")
    for state, steps in STEPS.items():
        told = ", ".join(f"{event} → `{following}`" for event, following in steps.items()) or "the end"
        assert f"| `{state}` | {told} |" in guide, state
