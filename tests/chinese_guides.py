"""Copies the code blocks of the English guides into the Chinese ones: `python -m tests.chinese_guides`.

The blocks of both are the same, in the same order (`test_guides.py`). Where the English guide got another number of
blocks, the Chinese text has to be written first, with any block in each new place.
"""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```[^`\n]*\n.*?^```$", re.MULTILINE | re.DOTALL)


def with_blocks(chinese: str, english: str) -> str:
    """The Chinese guide with the blocks of the English one.

    Raises:
        ValueError: they have different numbers of blocks.
    """
    blocks = BLOCK.findall(english)
    if len(BLOCK.findall(chinese)) != len(blocks):
        raise ValueError(f"{len(blocks)} blocks in English, {len(BLOCK.findall(chinese))} in Chinese")
    left = iter(blocks)
    return BLOCK.sub(lambda _: next(left), chinese)


if __name__ == "__main__":
    for page in sorted((DOCS / "zh").glob("*.md")):
        page.write_text(with_blocks(page.read_text("utf-8"), (DOCS / page.name).read_text("utf-8")), "utf-8")
