from __future__ import annotations

import subprocess
import sys

import pytest

from actum.core.errors import UnknownName, UsageError
from actum.dialects import dialect, names


@pytest.mark.parametrize("name", names())
def test_each_dialect_is_found_under_its_own_name(name: str) -> None:
    assert dialect(name).name == name


def test_an_unknown_name_is_told_what_there_is() -> None:
    with pytest.raises(UnknownName, match=r"openai_chat, openai_functions, .*prompt_json, react"):
        dialect("telepathy")


def test_options_reach_the_dialect() -> None:
    assert dialect("react", language="zh", plan=True) == dialect("react", language="zh", plan=True)
    assert dialect("react", language="zh") != dialect("react")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("prompt_json", {"plan": True}),
        ("react", {"language": "fr"}),
        ("prompt_json", {"language": "fr"}),
        ("openai_chat", {"x": 1}),
    ],
)
def test_an_option_that_a_dialect_does_not_take_is_refused(name: str, options: dict[str, str | bool]) -> None:
    with pytest.raises(UsageError):
        dialect(name, **options)


def test_listing_the_dialects_imports_none_of_them() -> None:
    code = "import sys; from actum.dialects import names; names(); print('actum.dialects.react_reader' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
