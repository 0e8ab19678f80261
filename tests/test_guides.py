"""What stands in the README and the guides runs: every block of a page, in order, in one folder and one namespace.

The blocks are run as a reader would paste and type them: as plain Python, with no event loop around them, and as
commands. A name of a provider's model in a guide is answered by a local server that speaks its wire format. A Chinese
guide has the blocks of the English one, which are run once.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import httpx
import msgspec
import pytest
from markdown_it import MarkdownIt
from starlette.applications import Starlette
from typer._click.exceptions import UsageError

from actum import Agent
from actum.cli.exit_codes import DONE, PAUSED
from actum.compose.settings import find_mistakes
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
from .guide_blocks import FENCED, SHELLS, GuideBlock, blocks_of
from .guide_shell import OF_EXAMPLES, GuideShell, fits, understand

ROOT = Path(__file__).parents[1]
FILES = Path(__file__).parent / "guides"
"""Folders by pages: files that a page speaks of and does not show."""
GUIDES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "zh").glob("*.md")]
CHINESE = sorted((ROOT / "docs" / "zh").glob("*.md"))
PAGES = sorted(path for path in GUIDES if path not in CHINESE and FENCED.search(path.read_text("utf-8")))
MENU = tomllib.loads((ROOT / "packages" / "site" / "menu.toml").read_text("utf-8"))
WHOLE = {f"{name}.md" for kind in ("learn", "do") for name in MENU[kind]["pages"]}
"""Pages of which every block is run, or says why not."""
READ = ("json", "text", "toml")
"""Languages of blocks that nothing runs: data, and what a program prints."""
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
        os.environ |= {
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "none",
            "OLLAMA_HOST": server.url.removesuffix("/v1"),
        }
        yield
        for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OLLAMA_HOST"):
            del os.environ[name]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which a reader begins, with a home and nothing else."""
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.mark.row("D4")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
@pytest.mark.usefixtures("provider")
def test_every_block_of_a_page_runs(page: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if (prepared := FILES / page.stem).is_dir():
        shutil.copytree(prepared, place, dirs_exist_ok=True)
    if page.name in WHOLE:
        kinds = {token.type for token in MarkdownIt().parse(page.read_text("utf-8"))}
        assert "code_block" not in kinds, "a block that is only indented has no fence, and nothing runs it"
    names: dict[str, object] = {"__name__": page.stem}
    shell = GuideShell(monkeypatch)
    for block in blocks_of(page):
        if block.file and not block.reason:
            (place / block.file).write_text(block.text, "utf-8")
        if block.language == "python" and not block.reason:
            code = compile(block.text, block.place, "exec", dont_inherit=True)
            exec(code, names)  # noqa: S102  # our own guide
        elif page.name in WHOLE:
            carry_out(block, place, shell)
        elif block.language in SHELLS:
            are_understood(block)


def carry_out(block: GuideBlock, place: Path, shell: GuideShell) -> None:
    """Do with a block what a reader does with it."""
    assert block.reason or block.language in (*READ, *SHELLS) or block.file, f"{block.place}: nothing runs it"
    if block.language in SHELLS:
        are_understood(block)
    if block.reason:
        return
    if block.language == "json":
        msgspec.json.decode(block.text)
    elif block.file == "actum.toml":
        assert find_mistakes(place / block.file) == [], block.place
    elif block.language == "toml":
        tomllib.loads(block.text)
    for command in block.commands() if block.language in SHELLS else ():
        printed = shell.type_in(command)
        assert printed.code in (DONE, PAUSED) or command.shown, (block.place, command.text, printed)
        assert not command.shown or fits(printed.text, command.shown), (block.place, command.text, printed.text)


@pytest.mark.parametrize(
    "wrong",
    [
        "```sh\nactum rnus list\n```",
        "```sh not run: it would fail\nactum runs list --nope\n```",
        "```sh\nfrobnicate\n```",
        "```sh\npip install 'actum[nothing]'\n```",
        "```console\n$ actum --version\nactum 9.9.9\n```",
        "```sh\nactum runs show run_nobody\n```",
        "```sh skip\nactum demo\n```",
        "```toml\n[serve]\nhtpp = 1\n```",
        "```yaml\nname: desk\n```",
    ],
)
def test_a_block_that_is_wrong_is_found(wrong: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = place / "wrong.md"
    page.write_text(f"{wrong}\n", "utf-8")
    with pytest.raises((AssertionError, LookupError, ValueError, UsageError)):
        for block in blocks_of(page):
            (place / (block.file or "nothing")).write_text(block.text, "utf-8")
            carry_out(block, place, GuideShell(monkeypatch))


def are_understood(block: GuideBlock) -> None:
    """What a block says to actum is a command with arguments and options that are there, carried out or not."""
    for command in block.commands():
        for _, words in command.parts():
            if words[:1] == ["actum"] and words[1] not in OF_EXAMPLES:
                understand(words)


@pytest.mark.row("D4")
def test_no_page_takes_long_to_read() -> None:
    """At most 2,000 words, code and tables apart, so that a page answers one question."""
    prose = {
        path: re.sub(r"^\|.*$", "", ANY_BLOCK.sub("", path.read_text("utf-8")), flags=re.MULTILINE) for path in GUIDES
    }
    long = {path.name: len(text.split()) for path, text in prose.items() if len(text.split()) > 2_000}
    assert long.keys() <= {"CHANGELOG.md"}


def test_a_page_ends_with_where_to_go_next() -> None:
    pages = {path for path in GUIDES if path.parent != ROOT}
    ends = {path: path.read_text("utf-8").rstrip().splitlines()[-1] for path in pages}
    lead = {path for path, last in ends.items() if last.startswith(("Next: [", "接下来：[")) and "](" in last}
    ways = {
        path
        for path in pages - lead
        if re.search(r"^## (Where to go next|接下来)$", path.read_text("utf-8"), re.MULTILINE)
    }
    assert pages - lead - ways == set()


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
    exec(blocks_of(ROOT / "docs" / "web.md")[0].text, names)  # noqa: S102  # our own guide
    names["agent"] = Agent(ScriptedModel([ToolCall("c1", "wait_long", {})]), tools=[wait_long])
    question = {"question": "Wait", "conversation": "c1"}
    async with serving(cast(Starlette, names["app"])) as (url,), httpx.AsyncClient(timeout=HANGS_S) as client:
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
