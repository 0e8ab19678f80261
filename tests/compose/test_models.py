"""A model out of settings: embedded, at an endpoint, or of the user's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from actum.compose.models import make_model
from actum.compose.settings import Settings, read_settings
from actum.core.errors import UnknownName, UsageError


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
