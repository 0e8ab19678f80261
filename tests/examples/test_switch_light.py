"""Worked example 10: an event starts a workflow, by webhook and by schedule, each once."""

from __future__ import annotations

import pytest

from examples.switch_light import main as example


@pytest.mark.row("A6")
def test_a_switch_starts_a_workflow_by_webhook_and_by_schedule_once_each(capsys: pytest.CaptureFixture[str]) -> None:
    example.main()
    assert capsys.readouterr().out.splitlines() == [
        "missed mornings, made up for once: ['on']",
        "told twice: begun known True",
        "the hall: ['on']",
        "forged: 401 signature",
    ]
