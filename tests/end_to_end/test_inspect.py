"""Inspect, a program of others that evaluates models by their API, evaluates an agent of `actum serve`."""

from __future__ import annotations

import ast
import asyncio
import json
import os
from pathlib import Path

import pytest

from actum.core.json import JsonObject
from tests.endurance import ROOT, Volume
from tests.peers import install

from .test_serve import Machine

SETTINGS = """
[agents.desk]
model = "embedded"
tools = ["everyday"]
"""


@pytest.mark.row("F4")
@pytest.mark.endurance("src/actum/server/models", "docs/evaluation.md", "tests/peers/inspect.txt")
async def test_inspect_evaluates_an_agent_by_the_task_of_the_guide(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "evaluation.md").read_text("utf-8")
    block = next(each for each in guide.split("```python")[1:] if "inspect_ai" in each)
    task = block.partition("\n")[2].partition("```")[0]
    assert [node.name for node in ast.walk(ast.parse(task)) if isinstance(node, ast.FunctionDef)] == ["sums"]
    if not Volume.whole:  # Inspect has 90 packages, which `make endurance` installs
        return
    machine = Machine(tmp_path, str(tmp_path / "journal.db"))
    (tmp_path / "actum.toml").write_text(SETTINGS, "utf-8")
    (tmp_path / "sums.py").write_text(task, "utf-8")
    key = await machine.key("inspect", "--scope", "models")
    async with machine.serves() as server:
        inspect = install.py_bin("inspect", "inspect")
        words = ("eval", "sums.py", "--model", "openai-api/actum/desk", "--display", "plain", "--log-format", "json")
        process = await asyncio.create_subprocess_exec(
            *(inspect, *words),
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "ACTUM_BASE_URL": f"{server.origin}/v1",
                "ACTUM_API_KEY": key,
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await process.communicate()
        assert process.returncode == 0, said.decode()
    (log,) = (tmp_path / "logs").glob("*.json")
    found: JsonObject = json.loads(log.read_text("utf-8"))
    assert found["status"] == "success"
    samples = found["samples"]
    assert isinstance(samples, list)
    assert [each["scores"]["includes"]["value"] for each in samples] == ["C"] * 3  # type: ignore[index, call-overload]
