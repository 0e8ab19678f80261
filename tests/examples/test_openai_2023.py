from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from actum.core.json import JsonObject
from actum.storage.sqlite import SQLiteJournal
from examples.local_services.gateway import JOURNAL
from examples.openai_2023 import main as example


@pytest.mark.row("S4")
@pytest.mark.row("S9")
async def test_a_program_on_openai_0_28_runs_unmodified_before_a_model_that_knows_no_functions(tmp_path: Path) -> None:
    said, calls, model = await example.run(tmp_path)

    answers = said.split("Shanghai: ")
    assert answers[0].startswith("Beijing: sunny, 26 °C.\n1. A new subway line opens in Beijing")
    assert answers[1].startswith("light rain, 23 °C.\n1. A new subway line opens in Shanghai")
    assert [call.split(" -> ")[0] for call in calls] == [
        'get_current_weather({"city":"Beijing"})',
        'get_news({"city":"Beijing"})',
        'get_current_weather({"city":"Shanghai"})',
        'get_news({"city":"Shanghai"})',
    ]
    assert [len(json.loads(call.split(" -> ")[1])) for call in calls if call.startswith("get_news")] == [5, 5]
    for body in model.requests:
        assert "functions" not in msgspec.json.decode(body, type=JsonObject)
    journal = SQLiteJournal(tmp_path / JOURNAL)
    second, first = await journal.runs()  # one run a question: the results found their run without any id
    assert (first.status, second.status) == ("done", "done")
    await journal.close()
