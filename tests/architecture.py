"""Draws the rooms of `docs/architecture.md` from the code: `python -m tests.architecture` writes them anew."""

from __future__ import annotations

import ast
from pathlib import Path

from .test_layers import SRC, STACK, edges, room_of

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
BEGIN, END = "<!-- rooms -->\n", "<!-- /rooms -->"


def about(room: str) -> str:
    """The first sentence of a room's docstring."""
    place = SRC / "actum" / room
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    doc = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return " ".join(doc.partition("\n\n")[0].split()).partition(". ")[0].rstrip(".:") + "."


def rooms_table() -> str:
    """The rooms that stand, the highest first, with the rooms that each uses."""
    uses: dict[str, set[str]] = {}
    for module, target in edges():
        uses.setdefault(room_of(module), set()).add(room_of(target))
    lines = ["| room | what stands there | uses |", "|---|---|---|"]
    for rooms in reversed(STACK):
        for room in sorted(rooms & uses.keys()):
            below = ", ".join(f"`{name}`" for name in sorted(uses[room] - {room, "actum"}))
            lines.append(f"| `{room}` | {about(room)} | {below or 'nothing'} |")
    return "\n".join(lines) + "\n"


def drawn(page: str) -> str:
    """The page with the rooms as they are now."""
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}{rooms_table()}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text("utf-8")), "utf-8")
