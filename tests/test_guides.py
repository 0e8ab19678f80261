"""What stands in the README and the guides runs: every Python block of a page, in order, in one namespace.

The blocks are run as a reader would paste them: as plain Python, with no event loop around them. A name of a
provider's model in a guide is answered by a local server that speaks its wire format.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import httpx
import pytest
from starlette.applications import Starlette

from actum import Agent
from actum.core.call import ToolCall
from actum.core.json import JsonObject
from actum.core.message import Reply
from actum.testing import ScriptedModel
from actum.toolsets.code import code_tools
from actum.toolsets.everyday import everyday_tools
from examples.local_services.serving import serving
from tests.patience import HANGS_S

from .chat_server import ChatServer
from .chinese_guides import BLOCK as ANY_BLOCK

ROOT = Path(__file__).parents[1]
GUIDES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "zh").glob("*.md")]
PAGES = sorted(path for path in GUIDES if "```python" in path.read_text("utf-8"))
CHINESE = sorted((ROOT / "docs" / "zh").glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]+`")
HEADING = re.compile(r"^#+ ", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
CALL = re.compile(r"\bactum call ([a-z_]+)")


def said(request: JsonObject) -> Reply:
    """Pays when it is asked to, and is done when it has an answer or nothing to do."""
    last = cast(list[JsonObject], request["messages"])[-1]
    if last["role"] == "user" and "Pay" in str(last["content"]):
        return Reply.of(calls=[ToolCall("c1", "pay", {"to": "Ada", "amount": 20})])
    return Reply.of("Done.")


@pytest.fixture
def provider() -> Iterator[None]:
    with ChatServer(said) as server:
        os.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
        yield
        del os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
@pytest.mark.usefixtures("provider")
def test_every_block_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    for number, block in enumerate(BLOCK.findall(page.read_text("utf-8")), 1):
        code = compile(block, f"{page.name}, block {number}", "exec", dont_inherit=True)
        exec(code, names)  # noqa: S102  # our own guide


@pytest.mark.row("D4")
def test_no_page_takes_long_to_read() -> None:
    """At most 2,000 words, code and tables apart, so that a page answers one question."""
    prose = {
        path: re.sub(r"^\|.*$", "", ANY_BLOCK.sub("", path.read_text("utf-8")), flags=re.MULTILINE) for path in GUIDES
    }
    long = {path.name: len(text.split()) for path, text in prose.items() if len(text.split()) > 2_000}
    assert long.keys() <= {"CHANGELOG.md"}


@pytest.mark.parametrize("page", CHINESE, ids=lambda page: page.name)
def test_a_chinese_guide_has_what_the_english_one_has(page: Path) -> None:
    """The same blocks in the same order, as many headings, rows of tables and list items, the same names in code."""
    assert {"models.md", "runs.md", "tools.md"} <= {each.name for each in CHINESE}
    chinese, english = page.read_text("utf-8"), (page.parents[1] / page.name).read_text("utf-8")
    assert ANY_BLOCK.findall(chinese) == ANY_BLOCK.findall(english)
    ours, theirs = ANY_BLOCK.sub("", chinese), ANY_BLOCK.sub("", english)
    assert HEADING.findall(ours) == HEADING.findall(theirs)
    for mark in ("\n| ", "\n|---", "\n- "):
        assert ours.count(mark) == theirs.count(mark), mark
    assert set(CODE.findall(theirs)) - set(CODE.findall(ours)) == set()


async def test_the_endpoint_of_the_guide_cancels_the_run_when_the_user_closes_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()  # the server has a thread and a loop of its own

    async def wait_long() -> str:
        """Wait for something that never comes."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "web"}
    exec(BLOCK.findall((ROOT / "docs" / "web.md").read_text("utf-8"))[0], names)  # noqa: S102  # our own guide
    names["agent"] = Agent(ScriptedModel([ToolCall("c1", "wait_long", {})]), tools=[wait_long])
    question = {"question": "Wait", "conversation": "c1"}
    async with serving(cast(Starlette, names["app"])) as (url,), httpx.AsyncClient() as client:
        async with client.stream("POST", f"{url}/ask", json=question) as response:
            lines = response.aiter_lines()
            assert await anext(lines) == "event: call"
        assert await asyncio.to_thread(ended.wait, HANGS_S)


def test_a_tool_that_a_guide_calls_by_hand_is_there() -> None:
    there = {each.definition.name for each in (*everyday_tools(), *code_tools())}
    there |= {"save_bookmark"}  # of examples/feature_bookmarks
    called = {(page.name, name) for page in GUIDES for name in CALL.findall(page.read_text("utf-8"))}
    assert called, "the pattern finds nothing"
    assert {each for each in called if each[1] not in there} == set()


@pytest.mark.parametrize("page", sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]), ids=lambda p: p.name)
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text("utf-8")) if "://" not in target]
    assert [target for target in targets if not (page.parent / target).exists()] == []
