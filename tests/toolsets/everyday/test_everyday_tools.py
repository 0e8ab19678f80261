"""The everyday tools as tools: what a model is told of them, and that they run on the one path."""

from __future__ import annotations

from pathlib import Path

import pytest

from actum.core.call import ToolCall
from actum.core.errors import ToolError
from actum.core.interfaces import Context
from actum.toolsets.everyday import everyday_tools
from actum.toolsets.function.function import FunctionToolset


def test_a_model_is_told_of_every_tool_and_parameter(tmp_path: Path) -> None:
    tools = everyday_tools(tmp_path)
    assert [tool.name for tool in tools] == [
        "calculate",
        "time_in",
        "convert_time",
        "days_between",
        "add_days",
        "weekday",
        "convert_units",
        "find_files",
        "country_facts",
        "query_data",
        "write_note",
    ]
    assert [tool.warnings for tool in tools] == [()] * len(tools)
    assert all(tool.description and tool.definition.result for tool in tools)


def test_only_the_note_declares_a_side_effect(tmp_path: Path) -> None:
    effects = {tool.name: tool.definition.effects for tool in everyday_tools(tmp_path)}
    assert effects.pop("write_note") == frozenset({"write"})
    assert set(effects.values()) == {frozenset({"read"})}


async def test_they_run_with_the_root_they_were_given(tmp_path: Path) -> None:
    toolset = FunctionToolset(everyday_tools(tmp_path))

    async def call(name: str, arguments: dict[str, str]) -> object:
        made = ToolCall(id="1", name=name, arguments=dict(arguments))
        context = Context(
            run_id="r", call=made, key="k", attempt=1, principal="", deps=None, attachments={}, progress=None
        )
        return (await toolset.execute(made, context)).structured

    assert await call("write_note", {"text": "hello"}) == {"noted_in": "notes/notes.txt", "bytes": 6}
    assert await call("find_files", {"pattern": "*.txt"}) == {
        "pattern": "*.txt",
        "files": [{"path": "notes/notes.txt", "bytes": 6}],
        "more": False,
    }
    with pytest.raises(ToolError):
        await call("find_files", {"pattern": "*", "folder": ".."})
