"""`docs/architecture.md` is as the code is."""

from __future__ import annotations

import re

from .architecture import PAGE, drawn
from .test_layers import SRC

REFERENCE = re.compile(r"`((?:\w+/)+\w+\.py)`((?: `\w+`(?:, `\w+`)*)?)")


def test_the_rooms_of_the_page_are_those_of_the_code() -> None:
    page = PAGE.read_text("utf-8")
    assert drawn(page) == page, "run `python -m tests.architecture`"


def test_every_file_and_name_on_the_page_is_there() -> None:
    page = PAGE.read_text("utf-8")
    found = REFERENCE.findall(page)
    assert len(found) > 12
    for path, names in found:
        file = SRC / "actum" / path if not path.startswith("tests/") else SRC.parent / path
        assert file.is_file(), path
        for name in re.findall(r"\w+", names):
            assert re.search(rf"^(?:class|def|async def) {name}\b", file.read_text("utf-8"), re.MULTILINE), (path, name)
