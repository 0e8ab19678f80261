"""Features of installed packages: found without being imported, on by their table, and refused each for itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from msgspec import json, structs

from actum.compose.features import features_of, found_features, take_into_use
from actum.compose.journals import open_journal
from actum.compose.settings import Settings, find_mistakes, read_settings, shown_settings
from actum.compose.tools import load_tools
from actum.core.errors import UsageError
from actum.core.interfaces import Journal
from actum.core.language.translation import in_language
from actum.core.run.record import Noted
from actum.features import Feature
from actum.features.feature import FeatureSet
from actum.journal.memory import MemoryJournal
from actum.runs.given_tools import sort_out
from actum.storage.place import open_journal as open_at
from tests.packages import BOOKMARKS, Installing
from tests.storage.records import DONE, started


def foreign(features: FeatureSet) -> list[str]:
    """The names of the features that packages bring and that are on."""
    return [each.feature.name for each in features.on if each.package]


def settings(folder: Path, text: str) -> Settings:
    (folder / "actum.toml").write_text(text, encoding="utf-8")
    return read_settings(folder, {}, {})


async def test_a_feature_is_found_and_off_until_its_table_stands_in_the_settings(
    packages: Installing, tmp_path: Path
) -> None:
    packages.install("acme-bookmarks", BOOKMARKS, bookmarks="FEATURE")
    off = settings(tmp_path, "")
    assert foreign(features_of(off)) == []
    journal = open_journal(Settings(journal=str(tmp_path / "j.db")), {})
    (found,) = await found_features(off, journal)
    assert (found.name, found.package, found.state) == ("bookmarks", "acme-bookmarks", "off")
    assert "acme_bookmarks" not in sys.modules
    (on,) = [each for each in features_of(settings(tmp_path, "[bookmarks]")).on if each.package]
    assert (on.feature.name, on.package, on.is_foreign) == ("bookmarks", "acme-bookmarks", True)
    await journal.close()


async def test_the_tools_of_a_feature_are_foreign_and_there_where_nobody_chose_others(
    packages: Installing, tmp_path: Path
) -> None:
    packages.install("acme-bookmarks", BOOKMARKS, bookmarks="FEATURE")

    async def names(text: str) -> dict[str, bool]:
        toolsets, _ = sort_out(load_tools(settings(tmp_path, text), tmp_path))
        return {tool.name: tool.foreign for toolset in toolsets for tool in await toolset.list_tools()}

    both = await names("[bookmarks]")
    assert both["save_bookmark"] is True
    assert list(both.values()).count(True) == 1
    assert len(both) > 1
    assert await names('tools = ["bookmarks"]\n[bookmarks]\nlimit = 7') == {"save_bookmark": True}
    assert "save_bookmark" not in await names('tools = ["everyday"]\n[bookmarks]')


@pytest.mark.parametrize(
    ("code", "table", "told"),
    [
        ("import no_such_module", "[bookmarks]", "can not be loaded: ModuleNotFoundError: No module named 'no_such"),
        ("raise SystemExit(3)", "[bookmarks]", "can not be loaded: SystemExit: 3"),
        ("FEATURE = 3", "[bookmarks]", "is no Feature of actum.features"),
        (BOOKMARKS.replace("name=", "api=2, name="), "[bookmarks]", "written for api = 2 of features"),
        (BOOKMARKS.replace('name="bookmarks"', 'name="others"'), "[bookmarks]", "calls itself 'others'"),
        (BOOKMARKS.replace('name="bookmarks"', 'name="Book marks"'), "[bookmarks]", "can not be loaded: .*Book marks"),
        (BOOKMARKS, "[bookmarks]\nlimits = 3", "unknown field `limits`.* Did you mean `limit`"),
        (BOOKMARKS, '[bookmarks]\nlimit = "x"', "give a whole number, not a text"),
        (BOOKMARKS.replace("(Saved,)", "(Saved, Saved)"), "[bookmarks]", "two kinds of records called 'saved'"),
    ],
)
async def test_a_feature_that_can_not_be_used_is_told_and_keeps_no_run_from_being_read(
    packages: Installing, tmp_path: Path, code: str, table: str, told: str
) -> None:
    packages.install("acme-bookmarks", code, bookmarks="FEATURE")
    read = settings(tmp_path, f'journal = "{tmp_path}/j.db"\n{table}')
    features = features_of(read)
    assert foreign(features) == []
    with pytest.raises(UsageError, match=told):
        features.checked()
    with pytest.raises(UsageError, match=told):
        load_tools(read, tmp_path)
    journal = open_journal(read, {})
    (found,) = await found_features(read, journal)
    assert found.state == "refused"
    chinese = in_language(found.problem, "zh", "message")
    assert ("the feature" in chinese, "be loaded" in chinese) == (False, False), chinese
    assert await journal.runs() == []
    await journal.close()


async def test_a_table_that_no_package_knows_is_told_as_such_and_a_slip_of_the_pen_as_before(tmp_path: Path) -> None:
    read = settings(tmp_path, "[bookmarks]")
    with pytest.raises(UsageError, match=r"\[bookmarks\] in the settings: no setting is called so, and no installed"):
        features_of(read).checked()
    for slip in ("[serv]", "[agent.desk]", "[sources]", "[features.x]", "[Bookmarks]", "bookmarks = 3"):
        with pytest.raises(UsageError, match="unknown field"):
            settings(tmp_path, slip)


def test_a_feature_may_be_called_nearly_as_a_setting_is(packages: Installing, tmp_path: Path) -> None:
    assert find_mistakes(tmp_path / "none") == []
    packages.install("acme-tools", BOOKMARKS.replace('name="bookmarks"', 'name="task"'), task="FEATURE")
    assert foreign(features_of(settings(tmp_path, "[task]"))) == ["task"]


def test_two_packages_that_bring_one_feature_are_told(packages: Installing, tmp_path: Path) -> None:
    packages.install("acme-bookmarks", BOOKMARKS, bookmarks="FEATURE")
    packages.install("other-bookmarks", BOOKMARKS, bookmarks="FEATURE")
    with pytest.raises(UsageError, match="more than one installed package brings a feature called 'bookmarks'"):
        features_of(settings(tmp_path, "[bookmarks]")).checked()


def test_the_table_of_a_feature_is_shown_without_secrets(packages: Installing, tmp_path: Path) -> None:
    packages.install("acme-bookmarks", BOOKMARKS, bookmarks="FEATURE")
    read = settings(tmp_path, '[bookmarks]\napi_key = "hush"')
    assert shown_settings(read)["bookmarks"] == {"api_key": "[hidden]"}


async def test_tables_of_a_newer_version_are_refused_for_this_feature_alone(
    packages: Installing, tmp_path: Path, place: str
) -> None:
    newer = BOOKMARKS.replace(
        "tables=(BOOKMARKS,)", "tables=(BOOKMARKS,), migrations=((AddTable(BOOKMARKS),), ())"
    ).replace("Feature, Table", "AddTable, Feature, Table")
    packages.install("acme-bookmarks", newer, bookmarks="FEATURE")
    packages.install("acme-notes", BOOKMARKS.replace('"bookmarks"', '"notes"'), notes="FEATURE")
    read = settings(tmp_path, "[bookmarks]\n[notes]")
    journal = open_at(place)
    whole = await take_into_use(features_of(read), journal)
    assert foreign(whole) == ["bookmarks", "notes"]
    await journal.close()
    older = [
        each if each.feature.name != "bookmarks" else type(each)(feature=older_of(each.feature), package=each.package)
        for each in whole.on
    ]
    journal = open_at(place)
    left = await take_into_use(type(whole)(tuple(older)), journal)
    assert foreign(left) == ["notes"]
    assert "newer" in str(left.problems["bookmarks"])
    await journal.close()


WATCHED = (
    BOOKMARKS.replace("Feature, Table", "Feature, RecordPlace, RecordView, Table")
    .replace("tables=(BOOKMARKS,)", "tables=(BOOKMARKS, SEEN), views=(RecordView(SEEN, Saved, seen),)")
    .replace(
        "def tools(",
        """class Seen(Struct, frozen=True):
    url: str
    run_id: str

SEEN = Table("seen", Seen, key=("url", "run_id"))

def seen(saved: Saved, place: RecordPlace):
    yield Seen(saved.url if saved.url != "bad" else 1 / 0, place.run_id)

def tools(""",
    )
)


async def test_the_views_of_a_feature_follow_its_records_also_those_of_before_it_was_on(
    packages: Installing, tmp_path: Path, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    packages.install("acme-bookmarks", WATCHED, bookmarks="FEATURE")
    features = features_of(settings(tmp_path, "[bookmarks]"))
    kinds = features.record_kinds
    journal: Journal = open_at(where, record_kinds=kinds) if where else MemoryJournal(record_kinds=kinds)

    async def save(run_id: str, url: str) -> None:
        journal.append(run_id, structs.replace(started("q", "", "ann"), tenant="north"))
        journal.append(run_id, Noted("bookmarks", "saved", 1, json.encode({"type": "saved", "url": url})))
        journal.append(run_id, DONE)
        await journal.sync(run_id)

    await save("r1", "a")
    on = (await take_into_use(features, journal)).checked().get("bookmarks")
    assert on is not None
    _, seen = on.feature.tables
    for run_id, url in (("r2", "b"), ("r3", "bad"), ("r4", "c")):
        await save(run_id, url)

    async def found() -> list[tuple[object, ...]]:
        return [structs.astuple(row) for row in await journal.stores.find("north", seen)]

    assert await found() == [("a", "r1"), ("b", "r2"), ("c", "r4")]
    assert "rows that follow from" in caplog.text
    assert await journal.count_runs() == {"done": 4}
    await journal.forget("r2")
    assert await journal.stores.rebuild("bookmarks") == 3
    assert await found() == [("a", "r1"), ("c", "r4")]
    await journal.close()


@pytest.mark.parametrize(
    ("named", "not_named"), [("tables=(BOOKMARKS, SEEN)", "tables=(SEEN, )[:0]"), ("(Saved,)", "()")]
)
def test_a_view_of_what_its_feature_does_not_bring_is_refused(
    packages: Installing, tmp_path: Path, named: str, not_named: str
) -> None:
    packages.install("acme-bookmarks", WATCHED.replace(named, not_named), bookmarks="FEATURE")
    with pytest.raises(UsageError, match="the view of the table seen and the record Saved"):
        features_of(settings(tmp_path, "[bookmarks]")).checked()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a journal of each kind is kept; empty for memory."""
    if request.param == "postgres":
        address: str = request.getfixturevalue("postgres").new_database()
        return address
    return str(tmp_path / "journal.db") if request.param == "sqlite" else ""


def older_of(feature: Feature) -> Feature:
    return Feature(name=feature.name, title=feature.title, tables=feature.tables)
