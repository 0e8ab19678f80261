"""What the author of a tool has of kinds: the types, and ways to use the values without splicing them."""

from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest

from actum import Agent, Rule, Rules, Tool, ToolCall, ToolResult, kinds, tool
from actum.core.interfaces import Context
from actum.core.json import JsonObject
from actum.core.policy import Decision, Facts
from actum.kinds import open_under
from actum.testing import ScriptedModel

pytestmark = pytest.mark.row("C1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "deep" / "a.txt").write_text("good")
    (tmp_path / "secret.txt").write_text("secret")
    return tmp_path / "data"


# Opening below a folder. ----------------------------------------------------------------------------------------------


def test_a_file_is_read_written_and_added_to_below_a_folder(folder: Path) -> None:
    with open_under(folder, "deep/new.txt", "x") as file:
        file.write("一")
    with open_under(folder, "./deep//new.txt", "a") as file:
        file.write("二")
    with open_under(folder, str(folder / "deep" / "new.txt")) as file:
        assert file.read() == "一二"
    with open_under(folder, "deep/new.txt", "wb") as file:
        file.write(b"\xff")
    with open_under(folder, "deep/new.txt", "rb") as file:
        assert file.read() == b"\xff"
    with pytest.raises(FileExistsError):
        open_under(folder, "deep/new.txt", "x")
    with pytest.raises(ValueError, match="mode"):
        open_under(folder, "deep/new.txt", "r+")


def test_a_folder_that_became_a_link_after_the_check_is_not_followed(folder: Path) -> None:
    kind = kinds.Kind("path", under=str(folder))
    checked = kind.written("deep/secret.txt")
    assert kind.holds(checked)
    (folder / "deep" / "a.txt").unlink()
    (folder / "deep").rmdir()
    (folder / "deep").symlink_to(folder.parent)
    assert Path(checked).read_text() == "secret"  # what a plain open would do
    for mode in ("r", "w", "a"):
        with pytest.raises(OSError, match="deep"):
            open_under(folder, checked, mode)
    assert (folder.parent / "secret.txt").read_text() == "secret"


def next_number() -> int:
    """The number that the next open file gets."""
    number = os.open(os.devnull, os.O_RDONLY)
    os.close(number)
    return number


@pytest.mark.parametrize("name", ["link.txt", "pipe", "deep", ".", "no/such.txt"])
def test_what_is_no_plain_file_is_not_opened(folder: Path, name: str) -> None:
    (folder / "link.txt").symlink_to("deep/a.txt")
    os.mkfifo(folder / "pipe")
    before = next_number()
    with pytest.raises(OSError, match=r"."):
        open_under(folder, name)
    assert next_number() == before  # nothing is left open


@pytest.mark.parametrize("path", ["../secret.txt", "deep/../../secret.txt", "/etc/passwd", "", "~/x", "a\0b"])
def test_a_path_that_leads_out_by_its_text_is_unclear(folder: Path, path: str) -> None:
    with pytest.raises(kinds.Unclear):
        open_under(folder, path)


# A tool that declares kinds, through the whole path. ------------------------------------------------------------------


@dataclass
class Page:
    """A page to keep."""

    link: kinds.Url
    file: Annotated[pathlib.Path, kinds.Kind("path", under="/srv/pages")]


def test_a_kind_stands_in_the_schema_with_the_format_that_others_know() -> None:
    @tool
    def keep(
        page: Page, mail: Annotated[kinds.Email | None, "Whom to tell."] = None, words: tuple[kinds.ShellWord, ...] = ()
    ) -> str:
        """Keep a page."""
        return ""

    found = keep.parameters["properties"]
    assert isinstance(found, dict)
    assert found["mail"] == {
        "description": "Whom to tell.",
        "anyOf": [{"type": "string", "format": "email", "x-kind": "email"}, {"type": "null"}],
        "default": None,
    }
    assert found["words"] == {"type": "array", "items": {"type": "string", "x-kind": "shell_word"}, "default": []}
    page = found["page"]
    assert isinstance(page, dict)
    assert page["properties"] == {
        "link": {"type": "string", "format": "uri", "x-kind": "url"},
        "file": {"type": "string", "format": "path", "x-kind": {"name": "path", "under": "/srv/pages"}},
    }


async def test_the_policy_and_the_tool_see_the_same_value_and_the_repair_is_on_record() -> None:
    seen: list[object] = []

    class Watching(Rules):
        def decide(self, tool: Tool, call: ToolCall, facts: Facts) -> Decision:
            seen.append(call.arguments["url"])
            return super().decide(tool, call, facts)

    @tool(effects={"read"})
    def fetch(url: kinds.Url, page: Page | None = None) -> str:
        """Fetch a page."""
        seen.append(url)
        return repr(page.file) if page else "no page"

    said: JsonObject = {
        "url": "HTTPS://Example.org:443/a/../b",
        "page": {"link": "https://b.example", "file": "x/../y.html"},
    }
    model = ScriptedModel([[ToolCall(id="1", name="fetch", arguments=said)], "Done."])
    result = await Agent(model, tools=[fetch], policy=Watching(Rule("allow"))).run("Fetch it")
    assert seen == ["https://example.org/b", "https://example.org/b"]
    ((_, answer),) = result.calls
    assert answer.text == "PosixPath('/srv/pages/y.html')"


async def test_a_refused_value_never_reaches_the_tool_and_the_model_can_repair_it() -> None:
    fetched: list[str] = []

    @tool(effects={"read"})
    def fetch(url: kinds.Url) -> str:
        """Fetch a page."""
        fetched.append(url)
        return "a page"

    model = ScriptedModel(
        [
            [ToolCall(id="1", name="fetch", arguments={"url": "http://169.254.169.254/latest/"})],
            [ToolCall(id="2", name="fetch", arguments={"url": "https://example.org/"})],
            "Done.",
        ]
    )
    result = await Agent(model, tools=[fetch]).run("Fetch it")
    error = result.calls[0][1].error
    assert error is not None
    assert error.code == "invalid_arguments"
    assert error.message == (
        'Invalid arguments. url: kind: expected an address of the open internet, received "http://169.254.169.254/latest/"'
        " (string)"
    )
    assert fetched == ["https://example.org/"]


async def test_a_plain_definition_is_held_to_its_kinds() -> None:
    class Doors:
        generation = 0
        opened: list[JsonObject] = []  # noqa: RUF012

        async def list_tools(self) -> list[Tool]:
            node: JsonObject = {"type": "string", "x-kind": {"name": "path", "under": "/srv"}}
            schema: JsonObject = {"type": "object", "properties": {"file": node}, "required": ["file"]}
            return [Tool(name="open", parameters=schema, foreign=True, effects=frozenset({"read"}))]

        async def execute(self, call: ToolCall, context: Context) -> ToolResult:
            self.opened.append(call.arguments)
            return ToolResult(call.id)

    calls = [ToolCall(id=str(n), name="open", arguments={"file": file}) for n, file in enumerate(("/etc/x", "a//b"))]
    result = await Agent(ScriptedModel([calls, "Done."]), tools=[Doors()]).run("Open them")
    assert [answer.error is None for _, answer in result.calls] == [False, True]
    assert Doors.opened == [{"file": "/srv/a/b"}]
