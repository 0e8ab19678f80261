"""What happens is seen as it happens, in many tabs at once, and again when the server was killed and is back."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.patience import HANGS_S
from tests.web import listening

from .conftest import Studio, Watched, studio_in
from .session import Held
from .session import api as answered
from .speaking import SpeakingApi

pytestmark = pytest.mark.row("F2")

TABS = 8
LOST = "The connection to the server is lost. Trying again…"


@pytest_asyncio.fixture(loop_scope="session")
async def api(tmp_path: Path) -> AsyncIterator[SpeakingApi]:
    """The model of the studio."""
    async with SpeakingApi().served(tmp_path) as speaking:
        yield speaking


async def ask(page: Page, question: str) -> None:
    await page.get_by_role("textbox", name="Message").fill(question)
    await page.get_by_role("textbox", name="Message").press("Enter")


async def test_eight_tabs_stay_live_with_one_stream_and_another_takes_over(
    api: SpeakingApi, studio: Studio, browser: Browser, watched: Watched
) -> None:
    first = await watched.page(browser, studio, "en-GB")
    feeds: list[Page] = []
    context = first.context
    context.on("request", lambda sent: feeds.append(sent.frame.page) if "/v1/events" in sent.url else None)
    await first.goto(studio.url)
    await expect(first.get_by_role("heading", name="Chat")).to_be_visible()
    tabs = [first, *[await context.new_page() for _ in range(TABS - 1)]]
    for tab in tabs[1:]:
        await tab.goto(studio.url.partition("#")[0])
    await asyncio.gather(*(ask(tab, f"Question {number}") for number, tab in enumerate(tabs)))
    await api.say("Once upon ")
    for tab in tabs:
        await expect(tab.locator("[aria-busy=true].writing")).to_have_text("Once upon")
    assert {*feeds} == {first}  # eight runs that go on, and one tab that reads of them
    await first.close()
    await api.say("a time ")
    for tab in tabs[1:]:
        await expect(tab.locator("[aria-busy=true].writing")).to_have_text("Once upon a time")
    assert len({*feeds}) == 2
    await api.say("there was.", None)
    for tab in tabs[1:]:
        await expect(tab.get_by_role("log")).to_contain_text("Once upon a time there was.")
        await expect(tab.get_by_role("button", name="Stop")).to_have_count(0)


async def test_a_server_that_is_killed_while_a_model_speaks_is_gone_on_with_when_it_is_back(
    bundle: None, api: SpeakingApi, tmp_path: Path, browser: Browser, watched: Watched
) -> None:
    with listening() as free:
        place = f"127.0.0.1:{free.getsockname()[1]}"
    with studio_in(tmp_path, place) as studio:
        page = await watched.page(browser, studio, "en-GB")
        marks = await Held.at(page, "/assets/markdown-")
        await page.goto(studio.url)
        await ask(page, "Tell me a story")
        await api.say("*Once* upon ")
        await expect(page.locator(".writing[aria-busy=true]")).to_have_text("*Once* upon")
        await marks.has_come()
        other = await page.context.new_page()
        await other.goto(studio.url.partition("#")[0])
        await expect(other.get_by_role("textbox", name="Message")).to_be_visible()
        await page.get_by_role("textbox", name="Message").fill("And then?")
        studio.kill()
        marks.let.set()
        await expect(page.get_by_role("status").filter(has_text=LOST)).to_be_visible()
        await other.get_by_role("link", name="Runs").click()  # a page that was not loaded yet
    with studio_in(tmp_path, place):
        await expect(page.get_by_role("status").filter(has_text=LOST)).to_have_count(0)
        await expect(page.get_by_role("textbox", name="Message")).to_have_value("And then?")
        await expect(page.locator(".writing[aria-busy=true]")).to_have_count(0)
        await api.say("a time.", None)
        await page.get_by_role("button", name="Resume").click()
        await expect(page.get_by_role("log")).to_contain_text("*Once* upon a time.")
        await expect(page.get_by_role("button", name="Resume")).to_have_count(0)
        await expect(page.get_by_role("log").get_by_text("Tell me a story")).to_have_count(1)
        assert len(api.bodies) == 2
        await expect(other.get_by_role("heading", name="Runs")).to_be_visible()
        await other.get_by_role("link", name="Tell me a story").click()
        await expect(other.locator(".said em")).to_have_text("Once")
    lost = [error for error in watched.errors if "ERR_" in error]
    assert lost  # the browser says of itself that a server is away
    watched.errors[:] = [error for error in watched.errors if error not in lost]


_LOOKED_AT = """() => { window.looks = setInterval(() => dispatchEvent(new Event("visibilitychange")), 200); }"""
"""The page is looked at again and again, which asks anew for what it shows."""
TOOL = "actum: tool/1\nname: one\nrequest: {url: https://example.org}\n"


async def test_what_is_written_outlives_a_server_that_is_away_and_is_saved_when_it_is_back_on_whichever_page(
    bundle: None, tmp_path: Path, browser: Browser, watched: Watched
) -> None:
    with listening() as free:
        place = f"127.0.0.1:{free.getsockname()[1]}"
    expression, missing = "1 + 1", asyncio.Semaphore(0)
    with studio_in(tmp_path, place) as studio:
        page = await watched.page(browser, studio, "en-GB")
        await page.clock.install()
        await page.goto(studio.url)
        await page.get_by_role("link", name="Runs").click()
        await expect(page.get_by_role("heading", name="Runs")).to_be_visible()  # a page that is loaded
        await answered(page, "POST", "/v1/tools/one/draft", {"text": TOOL, "revision": 0})
        await page.get_by_role("link", name="Tools").click()
        await page.get_by_role("link", name="calculate").click()
        await page.get_by_role("textbox", name="expression").fill(expression)
        page.on("requestfailed", lambda sent: missing.release() if "/v1/session" in sent.url else None)
        studio.kill()
        await page.evaluate("dispatchEvent(new StorageEvent('storage', {key: 'actum.session'}))")  # of another tab
        for _ in range(3):  # who is signed in is asked for in vain, and the page is still there
            await asyncio.wait_for(missing.acquire(), HANGS_S)
        await page.evaluate(_LOOKED_AT)
        await expect(page.get_by_role("button", name="Try again")).to_be_visible()
        await page.evaluate("clearInterval(window.looks)")
        await expect(page.get_by_role("textbox", name="expression")).to_have_value(expression)
    with studio_in(tmp_path, place) as studio:
        await expect(page.get_by_role("button", name="Try again")).to_have_count(0)  # by itself
        await page.get_by_role("button", name="Try").click()
        await expect(page.get_by_role("region", name="Result")).to_contain_text("2")
        studio.process.send_signal(signal.SIGSTOP)  # it says nothing, and its connections are there
        try:
            await page.clock.fast_forward(60_000)
            await expect(page.get_by_role("status").filter(has_text=LOST)).to_be_visible()
        finally:
            studio.process.send_signal(signal.SIGCONT)
        await expect(page.get_by_role("status").filter(has_text=LOST)).to_have_count(0)
        await page.get_by_role("link", name="All tools").click()
        await page.get_by_role("link", name="one", exact=True).click()
        await expect(page.get_by_role("status").filter(has_text="Saved")).to_be_visible()
        studio.kill()
        await page.get_by_role("textbox", name="Definition").fill(f"{TOOL}description: More\n")
        await page.get_by_role("link", name="Runs").click()
        await expect(page.get_by_role("textbox", name="Definition")).to_have_count(0)
        async with page.expect_event("dialog") as asked:
            await page.close(run_before_unload=True)  # not saved yet: the browser asks whether to leave
        await (await asked.value).dismiss()
    with ExitStack() as stack:
        async with page.expect_response(lambda came: came.url.endswith("/draft") and came.ok):
            stack.enter_context(studio_in(tmp_path, place))
        assert "More" in str((await answered(page, "GET", "/v1/tools/one/draft"))["text"])
    watched.errors[:] = [error for error in watched.errors if "ERR_" not in error and "404" not in error]
