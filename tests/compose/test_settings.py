"""Settings are read from file, environment and flags, and the later word wins."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from msgspec import structs

from actum import Limits, ModelSettings, Price, ToolLimits
from actum.compose.agents import make_agent
from actum.compose.journals import journal_place
from actum.compose.models import make_model
from actum.compose.settings import Settings, read_settings
from actum.compose.written_settings import remember_model
from actum.core.errors import UsageError
from actum.core.json import JsonObject
from actum.journal.memory import MemoryJournal
from actum.testing import ScriptedModel


def test_without_a_word_the_defaults_hold(tmp_path: Path) -> None:
    settings = read_settings(tmp_path, {}, {})
    assert structs.replace(settings, origin=None) == Settings()
    assert make_model(settings).name == "embedded"


def test_a_file_may_begin_with_the_mark_that_some_editors_write(tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    file = tmp_path / "actum" / "actum.toml"
    file.parent.mkdir()
    file.write_text('policy = "a.toml"\n', "utf-8-sig")
    remember_model("b", environment)
    settings = read_settings(tmp_path, environment, {})
    assert (settings.policy, settings.model) == ("a.toml", "b")
    file.write_text("policy = 1\n", "utf-8-sig")
    with pytest.raises(UsageError, match="line 1"):
        read_settings(tmp_path, environment, {})


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


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("model = ", "can not be read"),
        ('tools = ["a.py"]\n[tools."send_mail"]\nsinks = ["to"]', "the list of tools is `use = [...]` in [tools]"),
        ("modle = 'x'", "unknown field `modle`. The settings are: model"),
        ("model = 7", "`model`: give a text, not a whole number"),
        ("tools = 'everyday'", "`tools`: give a list, not a text"),
    ],
)
def test_a_file_that_sets_nonsense_is_told_where(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "actum.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        read_settings(tmp_path, {}, {})
    assert told in str(caught.value)
    assert "actum.toml" in str(caught.value)


def test_the_password_of_a_journal_is_not_shown() -> None:
    settings = Settings(journal="postgresql://ann:hush@host/db?sslmode=require")
    assert "hush" not in repr(settings)
    assert "journal='postgresql://ann@host/db'" in repr(settings)
    assert journal_place(settings, {}) == "postgresql://ann@host/db"


def test_how_a_model_is_asked_comes_from_the_file_under_the_flags(tmp_path: Path) -> None:
    table = '[model_settings]\ntemperature = 0.2\nmax_tokens = 50\nstop = "END"\nheaders."X-Key" = "open sesame"\n'
    (tmp_path / "actum.toml").write_text(f'truncation = "auto"\n{table}', "utf-8")
    settings = read_settings(tmp_path, {}, {"model_settings": {"temperature": 0.9, "seed": 1}})
    expected = ModelSettings(temperature=0.9, max_tokens=50, seed=1, stop="END", headers={"X-Key": "open sesame"})
    assert (settings.model_settings, settings.truncation) == (expected, "auto")
    assert "sesame" not in repr(settings)
    for line, words in {
        "[model_settings]\nheat = 1": r"The fields of \[model_settings\] are: temperature, max_tokens",
        "[models.\"gpt-5.1\"]\nmodel = 'x'": r'The fields of \[models."gpt-5.1"\] are: upstreams',
        "[model_settings]\ntemperature = -1": "temperature=-1",
        '[model_settings]\ntop_p = "much"': "top_p",
        'truncation = "always"': "truncation",
    }.items():
        (tmp_path / "actum.toml").write_text(line, "utf-8")
        with pytest.raises(UsageError, match=words):
            read_settings(tmp_path, {}, {})


OWN = """# mine
instructions = '''
not = this
'''
model = "old"  # the old one

[limits]
calls = 9
"""


def test_a_persons_own_settings_stand_below_all_others_and_remember_a_model(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    own = remember_model('ollama:"qwen"', environment)
    assert own == tmp_path / "actum" / "actum.toml"
    settings = read_settings(tmp_path / "work", environment, {})
    assert (settings.model, settings.sources) == ('ollama:"qwen"', {"model": str(own)})
    (tmp_path / "work" / "actum.toml").write_text("model = 'b'\n[limits]\nsteps = 3")
    own.write_text(OWN)
    settings = read_settings(tmp_path / "work", environment, {})
    assert (settings.model, settings.limits.calls, settings.limits.steps) == ("b", 9, 3)
    assert read_settings(tmp_path, {"HOME": str(tmp_path)}, {}).model == ""
    remember_model("new", environment)
    assert own.read_text() == 'model = "new"\n' + OWN.replace('model = "old"  # the old one\n', "")


def test_what_can_not_be_changed_safely_is_left_as_it_is(tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    own = remember_model("a", environment)
    for text in ('instructions = """\nmodel = \'is a word\'\n"""\n', "nonsense", "modle = 'x'", "model = 7"):
        own.write_text(text)
        with pytest.raises(UsageError, match=r"actum\.toml"):
            remember_model("b", environment)
        assert own.read_text() == text
    with pytest.raises(UsageError, match="can not be written"):
        remember_model("b", {"XDG_CONFIG_HOME": "/dev/null"})
    with pytest.raises(UsageError, match="no home folder"):
        remember_model("b", {})


def test_an_address_that_is_set_is_not_passed_by_for_the_model_of_the_persons_own_settings(tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path), "ACTUM_BASE_URL": "http://127.0.0.1:9/v1"}
    remember_model("ollama:qwen3", environment)
    assert read_settings(tmp_path, environment, {}).model == ""
    assert read_settings(tmp_path, environment, {"model": "m"}).model == "m"
