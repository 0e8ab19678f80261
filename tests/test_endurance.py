from __future__ import annotations

from pathlib import Path

import pytest

from tests import endurance
from tests.endurance import Endurance, digest, is_unchanged, rows

pytest_plugins = ["pytester"]

TESTS = """
import pytest

@pytest.mark.endurance("src")
@pytest.mark.parametrize("case", [1, 2])
def test_one(case): assert case != {fails}

@pytest.mark.endurance("other")
def test_other(): pass

def test_neither(): pass
"""
ONE, OTHER = "test_it.py::test_one", "test_it.py::test_other"


@pytest.fixture
def place(pytester: pytest.Pytester) -> Path:
    pytester.makeini("[pytest]\nmarkers = endurance\nasyncio_default_fixture_loop_scope = function")
    for folder in ("src", "other", "tests"):
        pytester.mkdir(folder)
        (pytester.path / folder / "code.py").write_text("1", "utf-8")
    (pytester.path / "test_it.py").write_text(TESTS.format(fails=0), "utf-8")
    return pytester.path


def runs(pytester: pytest.Pytester, *words: str, changed: bool = False) -> dict[str, int]:
    plugin = Endurance(60.0 if changed else None, root=pytester.path)
    done = pytester.runpytest_inprocess(*words, "-p", "no:cacheprovider", plugins=[plugin])
    return {name: number for name, number in done.parseoutcomes().items() if name != "deselected"}


def test_the_table_tells_which_tests_passed_and_only_those_whose_files_changed_run_again(
    pytester: pytest.Pytester, place: Path
) -> None:
    assert runs(pytester) == {"passed": 3}
    assert {name: row.files for name, row in rows(place).items()} == {
        ONE: ["src", "test_it.py"],
        OTHER: ["other", "test_it.py"],
    }
    assert runs(pytester, changed=True) == {}
    (place / "src" / "code.py").write_text("2", "utf-8")
    before = rows(place)
    assert runs(pytester, changed=True) == {"passed": 2}
    assert rows(place) == before, "a run of what has changed writes nothing"
    assert runs(pytester, "-k", "one") == {"passed": 2}
    assert runs(pytester, changed=True) == {}
    (place / "test_it.py").write_text(TESTS.format(fails=0) + "\n", "utf-8")
    assert runs(pytester, changed=True) == {"passed": 3}


def test_a_test_that_failed_or_of_which_a_case_did_not_run_is_not_said_to_have_passed(
    pytester: pytest.Pytester, place: Path
) -> None:
    assert runs(pytester, "-k", "1") == {"passed": 1}
    assert rows(place) == {}
    assert runs(pytester) == {"passed": 3}
    (place / "test_it.py").write_text(TESTS.format(fails=2), "utf-8")
    assert runs(pytester) == {"passed": 2, "failed": 1}
    assert set(rows(place)) == {OTHER}
    (place / "test_it.py").write_text("", "utf-8")
    runs(pytester)
    assert rows(place) == {}, "of a test that is gone nothing is told"


def test_tests_for_which_no_time_is_left_are_named(pytester: pytest.Pytester, place: Path) -> None:
    done = pytester.runpytest_inprocess(plugins=[Endurance(-1.0, root=place)])
    done.stdout.fnmatch_lines([f"did not pass whole: {ONE}", f"did not pass whole: {OTHER}"])
    assert done.parseoutcomes()["skipped"] == 3


def test_the_tests_of_a_project_have_one_row_and_need_not_run_until_its_files_change(
    pytester: pytest.Pytester, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(endurance.PROJECTS, "project", ["src"])
    project = place / "project"
    project.mkdir()
    for name in ("test_a.py", "test_b.py"):
        (project / name).write_text("def test_it(): pass", "utf-8")
    assert not is_unchanged(project, place)
    assert runs(pytester) == {"passed": 5}
    assert rows(place)["project"].files == ["project", "src"]
    assert is_unchanged(project, place)
    assert not is_unchanged(place / "src", place), "only a project is left out"
    (project / "test_b.py").write_text("def test_it(): assert False", "utf-8")
    assert not is_unchanged(project, place)
    assert runs(pytester, "project/test_a.py") == {}, "a part proves nothing of the whole"
    assert not is_unchanged(project, place)
    assert runs(pytester, changed=True) == {}, "`make check` ran them"
    assert runs(pytester) == {"passed": 4, "failed": 1}
    assert not is_unchanged(project, place)


def test_a_digest_sees_content_and_names_and_refuses_what_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "a" / "x.py"
    file.parent.mkdir()
    file.write_text("1", "utf-8")
    before = digest(["a"], tmp_path)
    (file.parent / "__pycache__").mkdir()
    (file.parent / "__pycache__" / "x.pyc").write_text("1", "utf-8")
    assert digest(["a"], tmp_path) == before
    file.rename(file.with_name("y.py"))
    assert digest(["a"], tmp_path) != before
    with pytest.raises(ValueError, match="b: an endurance test stands for it"):
        digest(["b"], tmp_path)
