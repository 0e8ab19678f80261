"""Draws the pictures of the guides, all as SVG: `make docs-pictures`.

demo.svg            `actum demo`, as a real terminal shows it, one scene after the other
architecture.svg    the layers of the code, as `tests/test_layers.py` holds them
"""

from __future__ import annotations

import os
import pty
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from unicodedata import east_asian_width
from xml.sax.saxutils import escape

from tests.test_layers import STACK

SOURCE = Path(__file__).parents[2] / "src" / "actum"
IMAGES = Path(__file__).parents[2] / "docs" / "images"
COLUMNS, ROWS = 96, 19
CELL, LINE, EDGE = 8.4, 20, 16
"""Pixels: the width of a sign, the height of a line, the empty edge."""
LINE_S, REST_S = 0.35, 2.5
"""Seconds from line to line, and at the end of a scene."""
STYLES = {"1": "b", "2": "d", "31": "r", "32": "g", "33": "y", "35": "m", "36": "c"}
"""Classes by codes of the terminal (ECMA-48, SGR)."""
LOOKS = """\
rect.ground{fill:#16181d}text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#e3e6eb;white-space:pre}
.b{font-weight:bold}.d{fill:#9aa3b2}.r{fill:#ff8a80}.g{fill:#8bd49c}.y{fill:#f0c674}.m{fill:#d6a4ff}.c{fill:#7fd0e8}
"""
_CODE = re.compile(r"\x1b\[([\d;]*)m")
_OTHER = re.compile(r"\x1b\[[^m]*?[A-Za-ln-z]|\r")


class StyledText(NamedTuple):
    """A piece of a line, and the classes in which it is shown."""

    text: str
    classes: str


def demo() -> str:
    """What a real terminal gets from `actum demo`."""
    pid, terminal = pty.fork()
    if not pid:
        around = {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": "40", "ACTUM_LANG": "en"}
        os.execve(sys.executable, [sys.executable, "-m", "actum", "demo"], {**os.environ, **around})
    parts: list[bytes] = []
    try:
        while part := os.read(terminal, 65_536):
            parts.append(part)
    except OSError:  # the program ended
        pass
    os.waitpid(pid, 0)
    return _OTHER.sub("", b"".join(parts).decode())


def pieces(line: str) -> Iterator[StyledText]:
    """The pieces of a line of a terminal."""
    codes: set[str] = set()
    at = 0
    for found in _CODE.finditer(line):
        if found.start() > at:
            yield StyledText(
                line[at : found.start()], " ".join(sorted(STYLES[code] for code in codes if code in STYLES))
            )
        codes = set() if found[1] in ("", "0") else codes | {*found[1].split(";")}
        at = found.end()
    if line[at:]:
        yield StyledText(line[at:], "")


def animation(scenes: Sequence[Sequence[str]]) -> str:
    """The scenes one after the other, each line by line; where motion is unwanted, the first scene stands still."""
    lengths = [len(scene) * LINE_S + REST_S for scene in scenes]
    whole = sum(lengths)
    rules, drawn, begins = (
        [LOOKS, f"g.scene text{{visibility:hidden;animation:{whole:.1f}s infinite step-end}}\n"],
        [],
        0.0,
    )
    for number, (scene, length) in enumerate(zip(scenes, lengths, strict=True)):
        texts = []
        for row, line in enumerate(scene):
            name, shown, gone = f"l{number}-{row}", begins + row * LINE_S, begins + length
            rules.append(
                f"@keyframes {name}{{0%{{visibility:hidden}}{100 * shown / whole:.2f}%{{visibility:visible}}"
                f"{100 * gone / whole:.2f}%{{visibility:hidden}}}}#{name}{{animation-name:{name}}}\n"
            )
            texts.append(_text(line, row, f' id="{name}"'))
        drawn.append(f'<g class="scene">{"".join(texts)}</g>\n')
        begins += length
    still = (
        "@media (prefers-reduced-motion:reduce){g.scene text{animation:none}"
        "g.scene:first-of-type text{visibility:visible}}\n"
    )
    return _svg(
        COLUMNS * CELL + 2 * EDGE, ROWS * LINE + 2 * EDGE, "".join([*rules, still]), "".join(drawn), "actum demo"
    )


def _text(line: str, row: int, more: str = "") -> str:
    spans, column = [], 0
    for piece in pieces(line):
        place = f' x="{EDGE + column * CELL:.1f}"'
        spans.append(f'<tspan{place} class="{piece.classes}">{escape(piece.text)}</tspan>')
        column += sum(2 if east_asian_width(sign) in "WF" else 1 for sign in piece.text)
    return f'<text y="{EDGE + (row + 1) * LINE - 5}"{more}>{"".join(spans)}</text>'


def layers() -> str:
    """The layers from the highest to the lowest, with the rooms of each."""
    there = {path.stem for path in SOURCE.iterdir()}
    stack = [rooms & there for rooms in reversed(STACK) if rooms & there]
    rows, wide = [], 900
    for row, rooms in enumerate(stack):
        y = 12 + row * 44
        rows.append(f'<rect x="12" y="{y}" width="{wide - 24}" height="36" rx="6" class="layer"/>')
        names = " · ".join(sorted(rooms))
        rows.append(f'<text x="{wide / 2}" y="{y + 23}" text-anchor="middle">{escape(names)}</text>')
    looks = "rect.ground{fill:#fff}.layer{fill:#eef2f7;stroke:#8a94a3}text{font:14px system-ui,sans-serif;fill:#1d2127}"
    return _svg(
        wide, 16 + 44 * len(stack), looks, "".join(rows), "The layers of actum: each imports only what is below"
    )


def _svg(width: float, height: float, looks: str, inside: str, title: str) -> str:
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n'
        f"<title>{escape(title)}</title>\n<style>{looks}</style>\n"
        f'<rect class="ground" width="100%" height="100%" rx="8"/>\n{inside}</svg>\n'
    )


def main() -> None:
    """Draw all pictures anew."""
    scenes = [scene.split("\n") for scene in demo().strip().split("\n\n")[1:] if scene.count("\n") < ROWS]
    IMAGES.mkdir(exist_ok=True)
    (IMAGES / "demo.svg").write_text(
        animation([["\x1b[2m$\x1b[0m actum demo", "", *scene] for scene in scenes]), "utf-8"
    )
    (IMAGES / "architecture.svg").write_text(layers(), "utf-8")


if __name__ == "__main__":
    main()
