"""A person sees what is remembered, searches it, forgets some of it and switches it off, by hand and by keyboard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from .conftest import Studio, Watched
from .session import api, listed
from .speaking import SpeakingApi
from .test_first_minutes import fits, is_accessible_in_both_themes

pytestmark = [pytest.mark.row("A2"), pytest.mark.row("F2")]
HERON = "I started a project called Heron."
WORDS = {
    "en-GB": {
        "memory": "Memory",
        "search": "Search",
        "forget": "Forget: {0}",
        "sure": "Forget for good",
        "cancel": "Cancel",
        "record": "Delete it from the record, too",
        "off": "Switch off: desk",
        "on": "Switch on: desk",
        "is_off": "The memory desk is off.",
        "none": "Nothing fits.",
        "kind": "Kind",
    },
    "zh-CN": {
        "memory": "记忆",
        "search": "搜索",
        "forget": "遗忘：{0}",
        "sure": "永久遗忘",
        "cancel": "取消",
        "record": "同时从记录中删除",
        "off": "关闭：desk",
        "on": "开启：desk",
        "is_off": "记忆 desk 已关闭。",
        "none": "没有符合条件的内容。",
        "kind": "类型",
    },
}


@pytest_asyncio.fixture(loop_scope="session")
async def speaking(tmp_path: Path) -> AsyncIterator[SpeakingApi]:
    """The model of the agent `desk`, which has a memory of its users."""
    async with SpeakingApi().served(tmp_path) as made:
        settings = tmp_path / "actum.toml"
        settings.write_text(settings.read_text("utf-8") + 'memory = "user"\n', "utf-8")
        await made.say("Rivers, how nice.", None)
        yield made


async def said(page: Page, question: str) -> str:
    """The run in which the person of a page says something to `desk`."""
    run = str((await api(page, "POST", "/v1/runs", {"agent": "desk", "question": question}))["id"])
    await expect(page.get_by_role("table").get_by_text(question, exact=True)).to_be_visible()  # the feed tells the page
    return run


@pytest.mark.parametrize(("language", "scheme"), [("en-GB", "light"), ("zh-CN", "dark")])
async def test_what_is_remembered_is_shown_searched_forgotten_and_switched_off(
    speaking: SpeakingApi, studio: Studio, browser: Browser, watched: Watched, language: str, scheme: str
) -> None:
    words = WORDS[language]
    page = await watched.page(browser, studio, language, color_scheme=scheme)
    await page.goto(studio.url)
    await page.get_by_role("link", name=words["memory"], exact=True).click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(words["memory"])
    await api(page, "POST", "/v1/memories", {"text": "I eat no nuts", "kind": "preference", "space": "desk"})
    heron, boat = await said(page, HERON), await said(page, "我的船是红色的")
    rows = page.get_by_role("table", name=words["memory"]).locator("tbody tr")
    await expect(rows).to_have_count(3)
    await expect(rows.filter(has_text=HERON)).to_contain_text("Rivers, how nice.")
    await is_accessible_in_both_themes(page, scheme)
    await fits(page)

    search = page.get_by_role("searchbox", name=words["search"])
    for query, found in (("projects", HERON), ("船", "红色"), ("nuts", "no nuts")):
        await search.fill(query)
        await expect(rows).to_have_count(1)
        await expect(rows).to_contain_text(found)
    await search.fill("unheard")
    await expect(page.get_by_text(words["none"])).to_be_visible()
    await search.fill("")
    await expect(rows).to_have_count(3)
    await page.get_by_role("combobox", name=words["kind"]).select_option("preference")
    await expect(rows).to_have_count(1)
    await page.get_by_role("combobox", name=words["kind"]).select_option("")

    forget = page.get_by_role("button", name=words["forget"].format(HERON), exact=True)
    await forget.focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name=words["sure"])).to_be_focused()
    await is_accessible_in_both_themes(page, scheme)
    await fits(page)
    await page.keyboard.press("Escape")
    await expect(forget).to_be_focused()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("status").filter(has_text=heron)).to_be_visible()  # the run that is still on record
    await expect(rows).to_have_count(2)
    assert (await api(page, "GET", f"/v1/runs/{heron}"))["question"] == HERON
    await page.get_by_role("button", name=words["forget"].format("我的船是红色的"), exact=True).click()
    await page.get_by_role("checkbox", name=words["record"]).check()
    await page.get_by_role("button", name=words["sure"]).click()
    await expect(rows).to_have_count(1)
    assert [each["id"] for each in await listed(page, "/v1/runs?status=forgotten")] == [boat]

    await page.get_by_role("button", name=words["off"]).click()
    await expect(page.get_by_role("status").filter(has_text=words["is_off"])).to_be_visible()
    assert (await api(page, "GET", "/v1/memories"))["spaces"] == [{"space": "desk", "on": False}]
    await page.get_by_role("button", name=words["on"]).click()
    await expect(page.get_by_role("button", name=words["off"])).to_be_visible()
    assert [each["said"] for each in await listed(page, "/v1/memories")] == ["I eat no nuts"]
