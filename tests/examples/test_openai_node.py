from __future__ import annotations

from pathlib import Path

import pytest

from examples.openai_node import main as example


@pytest.mark.row("S9")
async def test_a_node_program_for_openai_runs_with_only_its_base_url_changed(tmp_path: Path) -> None:
    said, calls = await example.run(tmp_path)

    assert said == ["Fuzhou: thunderstorms, 29 °C.", "Fuzhou: thunderstorms, 29 °C. The air is good (31)."]
    assert calls == [  # of the agent alone: what is passed on makes no run
        'get_air_quality({"city":"Fuzhou"}) -> good (31)',
        'get_current_weather({"city":"Fuzhou"}) -> {"city":"Fuzhou","weather":"thunderstorms","temperature":29}',
    ]
    program = (example.HERE / "weather.cjs").read_text()
    assert "actum" not in "".join(line for line in program.splitlines() if not line.startswith("//"))
