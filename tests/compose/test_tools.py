"""Tools out of settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from actum.compose.agents import list_tools
from actum.compose.settings import Settings
from actum.compose.tools import load_tools
from actum.core.errors import UnknownName


async def test_tools_are_named_by_file_by_name_and_by_module(tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text(
        "from actum import Tool, tool\n"
        "@tool\ndef a() -> int:\n    'One.'\n    return 1\n"
        "@tool\ndef b() -> int:\n    'Two.'\n    return 2\n"
        "def plain() -> int:\n    'Three.'\n    return 3\n"
        "several = [a, plain]\n"
        "bare = Tool(name='bare', description='Four.')\n"
    )
    file = str(tmp_path / "some.py")

    async def names(*specs: str) -> list[str]:
        return [tool.name for tool in await list_tools(load_tools(Settings(tools=tuple(specs)), tmp_path))]

    assert await names(file) == ["a", "b"]
    assert await names(f"{file}:plain") == ["plain"]
    assert await names(f"{file}:several") == ["a", "plain"]
    assert await names(f"{file}:bare", f"{file}:b") == ["b", "bare"]
    assert await names("actum.cli.conversation.parcel:parcel") == ["parcel"]
    assert await names("none") == []
    with pytest.raises(UnknownName, match="has no 'c'; it has: "):
        await names(f"{file}:c")
