"""Files that are written whole, by one at a time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from actum.core.errors import UsageError
from actum.storage.whole_file import alone_with, replace
from tests import warm

COUNT = """
import sys
from pathlib import Path
from actum.storage.whole_file import alone_with, replace
path = Path(sys.argv[1])
for _ in range(30):
    with alone_with(path):
        known = int(path.read_bytes()) if path.exists() else 0
        replace(path, str(known + 1).encode())
"""


def test_no_process_undoes_what_another_wrote(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "count"
    writers = [warm.popen([sys.executable, "-c", COUNT, str(path)]) for _ in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert path.read_bytes() == b"90"
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in path.parent.iterdir()) == ["count", "count.lock"]


def test_a_link_stays_one(tmp_path: Path) -> None:
    link, target = tmp_path / "link", tmp_path / "target"
    target.write_text("old")
    link.symlink_to(target)
    replace(link, b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_what_can_not_be_locked_is_told(tmp_path: Path) -> None:
    (tmp_path / "file.lock").mkdir()
    with pytest.raises(UsageError, match="can not be written"), alone_with(tmp_path / "file"):
        raise AssertionError
