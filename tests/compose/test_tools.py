"""Tools out of settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from actum.compose.agents import list_tools
from actum.compose.settings import Settings
from actum.compose.tools import load_tools
from actum.core.errors import UnknownName, UsageError


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


async def test_a_file_declares_a_tool(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("def price(n: int) -> int:\n    return n\nTOOLS = [{'name': 'given'}]\n")
    files = {
        "now.json": '{"name": "now", "parameters": {}, "http": {"url": "https://example.com/now"}}',
        "double.yaml": "name: double\nparameters: {n: integer}\npython: 'def main(n): return 2 * n'\n",
        "price.toml": f'name = "price"\nmodule = "{tmp_path.name}_shop:price"\nparameters.n = "integer"\n',
        "bare.yml": "name: bare\n",
        "wrong.json": '{"name": "now",\n "htp": {}}',
        "agent.yaml": "name: ask\nagent: desk\n",
        "bytes.json": "",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "bytes.json").write_bytes(b"\xff")
    (tmp_path / f"{tmp_path.name}_shop.py").write_text((tmp_path / "shop.py").read_text())

    async def listed(*specs: str) -> list[str]:
        tools = load_tools(Settings(tools=tuple(str(tmp_path / each) for each in specs)), tmp_path)
        return [tool.name for tool in await list_tools(tools)]

    assert await listed("now.json", "double.yaml", "bare.yml", "shop.py:TOOLS") == ["now", "double", "bare", "given"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        assert await listed("price.toml") == ["price"]
    for name, told in {
        "wrong.json": r"wrong\.json: line 2, column \d+: there is no field 'htp' here \(write http\)",
        "agent.yaml": "belongs to a server",
        "bytes.json": "is not UTF-8",
        "absent.json": "can not be read: No such file",
    }.items():
        with pytest.raises(UsageError, match=told):
            await listed(name)
