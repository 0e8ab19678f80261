"""Files are read where they lie in their folder, and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actum import Context, tool
from actum.core.errors import UsageError
from actum.core.json import JsonObject
from actum.journal.memory import MemoryJournal
from actum.server import Folder, Identity, McpService, Resource, own_runs
from actum.toolsets.mcp.error import McpError
from tests.mcp_service import connected


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a secret beside it."""
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    inside = tmp_path / "inside"
    (inside / "deep").mkdir(parents=True)
    (inside / "a b.md").write_text("# Ä", "utf-8")
    (inside / "deep" / "data.bin").write_bytes(b"\xff\x00")
    (inside / "deep" / "odd.zzz").write_text("text all the same", "utf-8")
    (inside / ".hidden").write_text("hidden", "utf-8")
    (inside / "link.txt").symlink_to(tmp_path / "secret.txt")
    (inside / os.fsdecode(b"\xff.txt")).write_text("nameless", "utf-8")
    return inside


async def test_files_are_listed_and_read_as_text_or_bytes(folder: Path) -> None:
    async with connected(McpService(resources=[Folder("notes", folder)])) as way:
        listed = [resource["uri"] for resource in await way.list_all("resources/list")]
        assert listed == [
            "notes:///a%20b.md",
            "notes:///deep/data.bin",
            "notes:///deep/odd.zzz",
        ]
        read = await way.request("resources/read", {"uri": "notes:///a%20b.md"})
        assert read["contents"] == [{"uri": "notes:///a%20b.md", "mimeType": "text/markdown", "text": "# Ä"}]
        read = await way.request("resources/read", {"uri": "notes:///deep/data.bin"})
        assert read["contents"] == [
            {"uri": "notes:///deep/data.bin", "mimeType": "application/octet-stream", "blob": "/wA="}
        ]
        read = await way.request("resources/read", {"uri": "notes:///deep/odd.zzz"})
        assert read["contents"][0]["text"] == "text all the same"  # type: ignore[index,call-overload]


ELSEWHERE = (
    *("../secret.txt", "%2e%2e/secret.txt", "..%2fsecret.txt", "deep/../../secret.txt", "link.txt", "/etc/passwd"),
    *(".hidden", "deep", "a%00b"),
)


@pytest.mark.parametrize("path", ELSEWHERE)
async def test_nothing_else_is_read(folder: Path, path: str) -> None:
    async with connected(McpService(resources=[Folder("notes", folder)])) as way:
        with pytest.raises(McpError) as caught:
            await way.request("resources/read", {"uri": f"notes:///{path}"})
        assert caught.value.rpc_code == -32602
        assert "secret" not in str(caught.value.words)
    assert Folder("notes", folder).stamp("../secret.txt") is None
    assert Folder("notes", folder).stamp("link.txt") is None


async def test_paths_are_completed(folder: Path) -> None:
    async with connected(McpService(resources=[Folder("notes", folder)])) as way:
        (template,) = await way.list_all("resources/templates/list")
        reference: JsonObject = {"type": "ref/resource", "uri": template["uriTemplate"]}
        completed = await way.request(
            "completion/complete", {"ref": reference, "argument": {"name": "path", "value": "deep/d"}}
        )
    assert completed["completion"] == {"values": ["deep/data.bin"], "total": 1, "hasMore": False}


def test_what_is_no_folder_or_address_is_refused_at_once(tmp_path: Path) -> None:
    for make in (
        lambda: Folder("Notes", tmp_path),
        lambda: Folder("notes", tmp_path / "none"),
        lambda: Resource("no address", "x"),
        lambda: Resource("memo://{day}", "x"),
    ):
        with pytest.raises(UsageError):
            make()


async def test_a_run_is_read_by_whoever_it_was_made_for_and_by_nobody_else() -> None:
    @tool
    async def add(a: int, b: int, ctx: Context) -> int:
        """Add."""
        return a + b

    journal = MemoryJournal()
    ada = McpService([add], resources=[own_runs(journal)], journal=journal, who=Identity(principal="ada"))
    async with connected(ada) as way:
        await way.request("tools/call", {"name": "add", "arguments": {"a": 2, "b": 3}})
        (run,) = await journal.runs()
        read = await way.request("resources/read", {"uri": f"actum://runs/{run.run_id}"})
        assert '"tool":"add"' in read["contents"][0]["text"]  # type: ignore[index,call-overload,operator]
        assert '"result":"5"' in read["contents"][0]["text"]  # type: ignore[index,call-overload,operator]
    eve = McpService([add], resources=[own_runs(journal)], journal=journal, who=Identity(principal="eve"))
    async with connected(eve) as way:
        with pytest.raises(McpError, match="not found"):
            await way.request("resources/read", {"uri": f"actum://runs/{run.run_id}"})
