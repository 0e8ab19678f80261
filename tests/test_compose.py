"""Settings become objects, and the later word wins."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from actum import Limits, Price, ToolLimits
from actum.compose import (
    Settings,
    find_servers,
    journal_path,
    journal_place,
    list_tools,
    load_tools,
    make_agent,
    make_model,
    open_journal,
    read_settings,
)
from actum.core.errors import JournalError, UnknownName, UsageError
from actum.core.json import JsonObject
from actum.core.record import Ended, Started, verify_ledger
from actum.journal.memory import MemoryJournal
from actum.storage.sqlite import SQLiteJournal
from actum.testing import ScriptedModel


def test_without_a_word_the_defaults_hold(tmp_path: Path) -> None:
    settings = read_settings(tmp_path, {}, {})
    assert settings == Settings()
    assert make_model(settings).name == "embedded"


def test_flags_go_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "actum.toml").write_text(
        'model = "a"\nbase_url = "http://file/v1"\ntools = ["x.py"]\ndialect = "react"\n'
    )
    assert read_settings(tmp_path, {}, {}).model == "a"
    environment = {"ACTUM_MODEL": "b", "ACTUM_BASE_URL": "", "HOME": "/"}
    assert read_settings(tmp_path, environment, {}).model == "b"
    settings = read_settings(tmp_path, environment, {"model": "c", "tools": None, "dialect": ""})
    assert (settings.model, settings.base_url, settings.tools) == ("c", "http://file/v1", ("x.py",))
    assert settings.sources == {
        "model": "flag",
        "base_url": "actum.toml",
        "tools": "actum.toml",
        "dialect": "actum.toml",
    }


@pytest.mark.row("C5")
def test_limits_and_prices_are_tables_and_a_flag_changes_only_what_it_names(tmp_path: Path) -> None:
    (tmp_path / "actum.toml").write_text(
        'limits.calls = 5\nlimits.cost = 0.5\nlimits.tools."pay*".calls = 1\n'
        '[prices."openai:gpt-5"]\ninput = "1.25"\noutput = 10\n'
    )
    settings = read_settings(tmp_path, {}, {"limits": {"calls": 7, "steps": None}})
    assert settings.limits == Limits(steps=None, calls=7, cost=Decimal("0.5"), tools={"pay*": ToolLimits(calls=1)})
    assert settings.prices == {"openai:gpt-5": Price(input=Decimal("1.25"), output=Decimal(10))}
    agent = make_agent(
        Settings(limits=settings.limits, prices={"scripted": settings.prices["openai:gpt-5"]}),
        ScriptedModel([]),
        [],
        journal=MemoryJournal(),
        approver=None,
    )
    assert agent.limits == settings.limits


@pytest.mark.parametrize("limits", [{"calls": 0}, {"call": 1}, {"calls": "many"}])
def test_a_limit_that_is_none_is_told(tmp_path: Path, limits: JsonObject) -> None:
    with pytest.raises(UsageError, match=r"^the settings: .*limits"):
        read_settings(tmp_path, {}, {"limits": limits})


def test_a_file_in_the_folder_does_not_decide_where_the_key_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACTUM_API_KEY", "k")
    for text in ('base_url = "http://evil.example/v1"\nmodel = "m"\n', 'model = "http://evil.example/v1#m"\n'):
        (tmp_path / "actum.toml").write_text(text)
        with pytest.raises(UsageError, match="ACTUM_API_KEY would be sent there"):
            make_model(read_settings(tmp_path, {}, {}))
        assert make_model(read_settings(tmp_path, {}, {"model": "embedded"})).name == "embedded"
    meant = {"ACTUM_BASE_URL": "http://evil.example/v1", "ACTUM_MODEL": "m"}
    assert make_model(read_settings(tmp_path, meant, {})).name == "m@evil.example"
    (tmp_path / "actum.toml").write_text('model = "http://127.0.0.1:8000/v1#m"\n')
    assert make_model(read_settings(tmp_path, {}, {})).name == "m@127.0.0.1:8000"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("model = ", "can not be read"),
        ("modle = 'x'", "unknown field `modle`. The settings are: model"),
        ("model = 7", "Expected `str`, got `int` - at `$.model`"),
        ("tools = 'everyday'", "Expected `array`, got `str` - at `$.tools`"),
    ],
)
def test_a_file_that_sets_nonsense_is_told_where(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "actum.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        read_settings(tmp_path, {}, {})
    assert told in str(caught.value)
    assert "actum.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("model", "base_url", "name"),
    [
        ("", "", "embedded"),
        ("qwen3", "http://host:1/v1", "qwen3@host:1"),
        ("qwen3:8b", "http://host:1/v1", "qwen3:8b@host:1"),
        ("", "http://host:1/v1#tiny", "tiny@host:1"),
        ("http://other:2/v1#big", "http://host:1/v1", "big@other:2"),
        ("ollama:qwen3", "http://host:1/v1", "ollama:qwen3"),
        ("embedded", "http://host:1/v1", "embedded"),
    ],
)
def test_a_model_is_placed_at_the_address_unless_it_names_its_place(model: str, base_url: str, name: str) -> None:
    assert make_model(Settings(model=model, base_url=base_url)).name == name


def test_a_model_of_ones_own_is_named_by_file_or_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_model.py").write_text(
        "from actum.testing import ScriptedModel\nmodel = ScriptedModel([], name='mine')\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert make_model(Settings(model="my_own_model.py:model")).name == "mine"
    assert make_model(Settings(model="my_own_model:model")).name == "mine"
    with pytest.raises(UnknownName, match="there is no model called 'no_such_module:model'"):
        make_model(Settings(model="no_such_module:model"))


async def test_tools_are_named_by_file_by_name_and_by_module(tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text(
        "from actum import Tool, tool\n"
        "@tool\ndef a() -> int:\n    'One.'\n    return 1\n"
        "@tool\ndef b() -> int:\n    'Two.'\n    return 2\n"
        "def plain() -> int:\n    'Three.'\n    return 3\n"
        "several = [a, plain]\n"
        "bare = Tool(name='bare', description='Four.')\n"
    )
    file = str(tmp_path / "some.py")

    async def names(*specs: str) -> list[str]:
        return [tool.name for tool in await list_tools(load_tools(specs, tmp_path))]

    assert await names(file) == ["a", "b"]
    assert await names(f"{file}:plain") == ["plain"]
    assert await names(f"{file}:several") == ["a", "plain"]
    assert await names(f"{file}:bare", f"{file}:b") == ["b", "bare"]
    assert await names("actum.cli.parcel:parcel") == ["parcel"]
    assert await names("none") == []
    with pytest.raises(UnknownName, match="has no 'c'; it has: "):
        await names(f"{file}:c")


def test_the_journal_lies_where_the_xdg_specification_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    assert journal_path(Settings(), {}) == Path("/home/ann/.local/state/actum/journal.db")
    assert journal_path(Settings(), {"XDG_STATE_HOME": "/state"}) == Path("/state/actum/journal.db")
    assert journal_path(Settings(), {"XDG_STATE_HOME": "relative"}) == Path("/home/ann/.local/state/actum/journal.db")
    assert journal_path(Settings(journal="~/x.db"), {}) == Path("/home/ann/x.db")


async def test_the_journal_is_in_memory_in_a_file_or_on_a_server(tmp_path: Path) -> None:
    memory = open_journal(Settings(journal="memory"), {})
    file = open_journal(Settings(journal=str(tmp_path / "j.db")), {})
    assert (type(memory), type(file)) == (MemoryJournal, SQLiteJournal)
    await file.close()
    with pytest.raises(JournalError, match=r"can not open the journal postgresql://ann@/db: .*No such file"):
        open_journal(Settings(journal="postgresql://ann:hush@/db?host=/nowhere"), {})


def test_the_password_of_a_journal_is_not_shown() -> None:
    settings = Settings(journal="postgresql://ann:hush@host/db?sslmode=require")
    assert "hush" not in repr(settings)
    assert "journal='postgresql://ann@host/db'" in repr(settings)
    assert journal_place(settings, {}) == "postgresql://ann@host/db"


async def test_heads_are_signed_with_the_key_in_the_file_that_was_set(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("0123456789abcdef\n")
    for name in ("memory", str(tmp_path / "j.db")):
        settings = read_settings(tmp_path, {"ACTUM_JOURNAL_KEY_FILE": str(tmp_path / "key")}, {"journal": name})
        journal = open_journal(settings, {})
        journal.append("r", Started(agent="a", model="m", said=()))
        journal.append("r", Ended("done"))
        heads = await journal.heads()
        assert (len(heads), verify_ledger(heads, b"0123456789abcdef")) == (1, [])
        await journal.close()


def test_a_key_that_is_missing_or_short_is_refused(tmp_path: Path) -> None:
    (tmp_path / "short").write_text("123\n")
    for file, told in (("none", "can not be read"), ("short", "has 3 bytes, and needs 16")):
        with pytest.raises(UsageError, match=told):
            open_journal(Settings(journal="memory", journal_key=str(tmp_path / file)), {})


def test_a_local_server_is_started_in_the_folder_of_its_file_and_approved_for_that(tmp_path: Path) -> None:
    folders = tmp_path / "mine", tmp_path / "hostile"
    for folder in folders:
        folder.mkdir()
        (folder / "mcp.json").write_text('{"tools": {"command": "python", "args": ["server.py"]}}', "utf-8")
    mine, hostile = (find_servers([str(folder / "mcp.json")], {}).servers[0] for folder in folders)
    assert (mine.cwd, hostile.cwd) == (str(folders[0]), str(folders[1]))
    assert mine.identity != hostile.identity


def test_ones_own_server_is_started_at_home_wherever_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    (home / ".config" / "actum").mkdir(parents=True)
    (home / ".config" / "actum" / "mcp.json").write_text(
        '{"one": {"command": "x"}, "two": {"command": "x", "cwd": "~/in"}, "three": {"url": "http://h/"}}', "utf-8"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    assert [server.cwd for server in find_servers(["mine"], {}).servers] == [str(home), str(home / "in"), ""]
