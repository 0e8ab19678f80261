from __future__ import annotations

from pathlib import Path

import pytest

from examples.server_calls_server import main as example
from examples.server_calls_server.one_trace import lines_of


def test_three_programs_leave_one_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result, runs = example.run(tmp_path)

    assert result.text == "It is light rain in Shanghai: take an umbrella."
    assert len({run.trace for run in runs}) == 1
    lines = [line.strip().split("  ")[0] for line in lines_of(runs)]
    assert lines == [
        "host",
        "→ packing_packer",
        "packing",
        "→ packer",
        "packer",
        "→ weather_weather",
        "weather",
        "→ weather",
    ]
    assert f"trace {runs[0].trace}" in capsys.readouterr().out
