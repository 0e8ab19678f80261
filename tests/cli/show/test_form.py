"""What a running tool asks of the person at the terminal."""

from __future__ import annotations

import io
import sys

import pytest

from actum.cli.show.form import fill_in
from actum.cli.show.terminal import Terminal
from actum.core.json import Json, JsonObject
from actum.core.run.pending import Pending

pytestmark = pytest.mark.row("T4")

ORDER = "\x1b]0;mine\x07\u202e"


@pytest.mark.parametrize("default", [ORDER, [ORDER]])
def test_nothing_in_a_form_gives_orders_to_the_terminal(
    default: Json, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    field: JsonObject = {"title": ORDER, "description": ORDER, "default": default, "enum": [ORDER]}
    asked = Pending("", "elicitation", ORDER, asker=ORDER, schema={"type": "object", "properties": {ORDER: field}})
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n"))
    answer = fill_in(Terminal(), asked)
    assert answer is not None
    assert answer.arguments == {ORDER: default}
    told = capsys.readouterr().err
    assert "mine" in told
    assert not any(sign in told for sign in ("\x1b]", "\x07", "\u202e"))
