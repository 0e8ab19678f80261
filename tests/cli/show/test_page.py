"""The page of a run: it holds all it needs, loads nothing, and whatever was said stands in it as text."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import Result

from actum import Agent, ToolCall
from actum.cli.show.page import (
    IDLE_SHARE,
    Axis,
    element,
    page_of,
)
from actum.cli.show.terminal import who
from actum.journal.conversations import family
from actum.journal.memory import MemoryJournal
from actum.testing import FakeClock, ScriptedModel

pytestmark = pytest.mark.row("C7")

Run = Callable[..., Result]
MINE = ("--tools", "tools.py", "--journal", "runs.db", "--model")
RECORD = ("--journal", "runs.db")
VOID = {"meta"}
NASTY = "</style></pre><script>alert(1)</script><img src=x onerror=alert(1)>&\"'\u202e\x1b[2J"


class Page(HTMLParser):
    """Reads a page: whether its elements are closed as they were opened, and what text and attributes they have."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


async def page_with(said: str) -> str:
    """The page of a run in which everybody says this."""

    def echo(text: str) -> str:
        """Echo."""
        return said

    journal = MemoryJournal()
    model = ScriptedModel([[ToolCall("1", "echo", {"text": said}), ToolCall("2", said or "none", {said: said})], said])
    await Agent(model, [echo], instructions=said, journal=journal).run(said, principal=said, run_id="r")
    (run,) = await journal.runs()
    return page_of(await family(journal, run))


async def test_whatever_was_said_is_text_and_nothing_is_loaded() -> None:
    page = Page(await page_with(NASTY))
    assert page.open == []
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert {name for name, _ in page.attributes}.isdisjoint({"src", "href", "onerror", "onclick"})
    assert page.text.count("<script>alert(1)</script>") >= 6
    assert "\x1b" not in page.text
    assert "\u202e" not in page.text
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in page.attributes


@given(st.text())
async def test_any_text_makes_a_page_whose_elements_are_closed(said: str) -> None:
    page = Page(str(element("p", said, title=said)))
    assert (page.tags, page.open) == (["p"], [])


def test_the_page_is_written_to_a_file_or_printed(run: Run, home: Path) -> None:
    run("run", "find Ann", *MINE, "models.py:find")
    assert "run.html" in run("runs", "show", "--html", "run.html", *RECORD).stderr
    page = (home / "run.html").read_text("utf-8")
    assert run("runs", "show", "--html", "-", *RECORD).stdout == page + "\n"
    text = Page(page).text
    for part in ("find Ann", "tool_error", "Nobody is called Ann.", "default: only reads", "records, chain whole"):
        assert part in text
    result = run("runs", "show", "--html", "no/such/folder.html", *RECORD)
    assert (result.exit_code, "can not be written" in result.stderr) == (2, True)


def test_what_waits_was_answered_and_was_deleted_stands_in_the_page(run: Run) -> None:
    run("run", "keep milk", *MINE, "models.py:keep")
    assert "nobody has answered yet" in run("runs", "show", "--html", "-", *RECORD).stdout
    run("resume", "last", "--yes", *MINE, "models.py:keep")
    page = run("runs", "show", "--html", "-", *RECORD).stdout
    assert f'approved by {who()}, as "--yes" (claimed) after' in page
    run("journal", "forget", "last", "--yes", *RECORD)
    page = run("runs", "show", "--html", "-", *RECORD).stdout
    assert "record 0 was deleted" in page
    assert "milk" not in page


async def test_a_run_that_a_call_started_stands_inside_of_it() -> None:
    journal = MemoryJournal()
    child = Agent(ScriptedModel(["A hotel."]), name="scout", journal=journal)
    await Agent(ScriptedModel([ToolCall("1", "scout", {"task": "Look"}), "Done."]), [child], journal=journal).run("Go")
    parent = next(run for run in await journal.runs() if not run.parent)
    page = page_of(await family(journal, parent))
    inside, after = page.index('class="child"'), page.index("</section>")
    assert inside < page.index("A hotel.", inside) < after


def test_time_in_which_nothing_happened_is_squeezed() -> None:
    axis = Axis([(0, 10), (1010, 1020)], 0, 1020)
    assert axis.squeezed == [(10, 1010)]
    assert axis.percent(0) == 0
    assert axis.percent(1020) == 100
    assert axis.percent(1010) - axis.percent(10) == pytest.approx(100 * 20 * IDLE_SHARE / (20 + 20 * IDLE_SHARE))


@given(
    st.lists(st.floats(0, 1e9), min_size=2, max_size=20).map(sorted),
    st.floats(0, 1e9),
    st.floats(0, 1e9),
)
def test_later_is_never_further_left(edges: list[float], one: float, other: float) -> None:
    spans = list(zip(edges[1::2], edges[2::2], strict=False))
    axis = Axis(spans, edges[0], edges[-1])
    left, right = axis.percent(min(one, other)), axis.percent(max(one, other))
    assert 0 <= left <= right <= 100.0001


async def test_a_run_that_took_no_time_has_a_page() -> None:
    clock = FakeClock()
    journal = MemoryJournal(clock)
    await Agent(ScriptedModel(["Hi."]), journal=journal, clock=clock).run("Hi")
    (run,) = await journal.runs()
    assert "Hi." in Page(page_of(await family(journal, run))).text
