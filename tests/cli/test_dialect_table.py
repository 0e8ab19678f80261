from __future__ import annotations

from pathlib import Path

import pytest

from actum.cli.tools.dialect_table import corpus_table, dialects_table, main, updated
from actum.core.errors import UsageError
from actum.dialects import names

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "dialects.md"
CORPUS = ROOT / "tests" / "corpus"


def test_the_page_of_dialects_says_what_the_catalog_and_the_corpus_say(tmp_path: Path) -> None:
    """If this fails: python -m actum.cli.tools.dialect_table docs/dialects.md tests/corpus"""
    copy = tmp_path / "dialects.md"
    copy.write_bytes(PAGE.read_bytes())
    main(str(copy), str(CORPUS))
    assert copy.read_bytes() == PAGE.read_bytes()


def test_each_dialect_has_a_line() -> None:
    lines = dialects_table().splitlines()[2:]
    assert [line.split("`")[1] for line in lines] == list(names())


def test_cases_are_counted_by_where_they_come_from(tmp_path: Path) -> None:
    folder = tmp_path / "hermes"
    folder.mkdir()
    for name, text in {"a": '{"source": "x"}', "b": '{"source": "x", "made": true}', "tools": "[]"}.items():
        (folder / f"{name}.json").write_text(text)
    assert corpus_table(tmp_path).splitlines()[2:] == ["| `hermes` | 2 | 1 | 1 |", "| all | 2 | 1 | 1 |"]


def test_a_page_without_a_place_for_a_table_is_refused() -> None:
    with pytest.raises(UsageError, match="dialects"):
        updated("# Dialects\n", CORPUS)
