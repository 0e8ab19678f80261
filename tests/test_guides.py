"""What stands in the README and the guides runs: every Python block of a page, in order, in one namespace.

A name of a provider's model in a guide is answered by a local server that speaks its wire format.
"""

from __future__ import annotations

import ast
import asyncio
import os
import re
from collections.abc import Coroutine, Iterator
from inspect import CO_COROUTINE
from pathlib import Path
from typing import cast

import pytest

from actum.core.call import ToolCall
from actum.core.json import JsonObject
from actum.core.message import Reply

from .chat_server import ChatServer

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")] if "```python" in path.read_text("utf-8")
)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
COMMAND = re.compile(r"^\$ actum ([a-z]+)", re.MULTILINE)


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.usefixtures("provider")
def test_every_block_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    with asyncio.Runner() as runner:
        for number, block in enumerate(BLOCK.findall(page.read_text("utf-8")), 1):
            named = f"{page.name}, block {number}"
            code = compile(block, named, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
            if code.co_flags & CO_COROUTINE:
                runner.run(cast(Coroutine[object, object, object], eval(code, names)))  # noqa: S307  # our own guide
            else:
                exec(code, names)  # noqa: S102  # our own guide


@pytest.mark.parametrize("page", sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]), ids=lambda p: p.name)
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text("utf-8")) if "://" not in target]
    assert [target for target in targets if not (page.parent / target).exists()] == []
