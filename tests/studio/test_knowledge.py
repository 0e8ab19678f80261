"""A person makes a collection, adds documents, searches them, lets others read and removes it; in the chat a reference
of an answer shows the quote and opens the kept text. By hand and by keyboard, in both languages.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.async_api import Browser, FilePayload, Page, expect

from actum import ToolCall
from actum.core.message import Reply
from tests.chat_server import ChatServer, Said

from .conftest import Watched, studio_in
from .session import Held, api, listed
from .test_first_minutes import fits, is_accessible_in_both_themes

pytestmark = [pytest.mark.row("F8"), pytest.mark.row("F2")]
TRAVEL = b"# Travel\n\nA hotel may cost 120 euros a night. A train is better than a plane.\n"
WORDS = {
    "en-GB": {
        "knowledge": "Knowledge",
        "new": "New collection",
        "name": "Name",
        "create": "Create",
        "add": "Add files",
        "documents": "Documents",
        "ready": "ready",
        "unreadable": "cannot be read: ",
        "readers": "Readers",
        "save": "Save",
        "search": "Search",
        "results": "Results",
        "remove": "Remove",
        "remove_one": "Remove: photo.jpg",
        "sure": "Remove for good",
        "reference": "Reference 1",
        "open": "Open the text",
        "no_source": "no source",
        "message": "Message",
        "collections": "Collections of documents",
        "publish": "Publish",
    },
    "zh-CN": {
        "knowledge": "知识库",
        "new": "新建知识库",
        "name": "名称",
        "create": "创建",
        "add": "添加文件",
        "documents": "文档",
        "ready": "就绪",
        "unreadable": "无法读取：",
        "readers": "可读者",
        "save": "保存",
        "search": "搜索",
        "results": "结果",
        "remove": "删除",
        "remove_one": "删除：photo.jpg",
        "sure": "永久删除",
        "reference": "引用 1",
        "open": "打开原文",
        "no_source": "没有来源",
        "message": "消息",
        "collections": "知识集合",
        "publish": "发布",
    },
}
ANSWER = "A hotel may cost 120 euros a night [1].\n\nBreakfast is free.\n\n[1]: https://example.org/elsewhere [1]"
SCRIPT: list[Said] = [
    Reply.of(calls=[ToolCall("s", "search_handbook", {"query": "hotel cost"})]),
    Reply.of(calls=[ToolCall("q", "quote", {"text": "A hotel may cost 120 euros a night"})]),
    ANSWER,
    ANSWER,
]
DROP = """([name, text]) => {
    const files = new DataTransfer();
    files.items.add(new File([text], name));
    const section = document.querySelector("section.documents");
    section.dispatchEvent(new DragEvent("drop", {dataTransfer: files, bubbles: true, cancelable: true}));
}"""


async def filled(page: Page, words: dict[str, str]) -> None:
    """Make the collection `handbook` with two documents and one that can not be read."""
    await page.get_by_role("link", name=words["knowledge"], exact=True).click()
    await page.get_by_role("button", name=words["new"]).press("Enter")
    await expect(page.get_by_role("textbox", name=words["name"])).to_be_focused()
    await page.keyboard.type("handbook")
    held = await Held.at(page, "/v1/knowledge/handbook/documents", "GET")
    await page.get_by_role("button", name=words["create"], exact=True).press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_have_text("handbook")
    async with page.expect_response("**/search?*"):
        await page.get_by_role("searchbox", name=words["search"]).fill("What may a hotel cost?")
    async with page.expect_file_chooser() as opened:
        await page.get_by_role("button", name=words["add"]).press("Enter")
    await (await opened.value).set_files(
        [
            FilePayload(name="travel.md", mimeType="text/markdown", buffer=TRAVEL),
            FilePayload(name="photo.jpg", mimeType="image/jpeg", buffer=b"\xff\xd8\xff"),
        ]
    )
    rows = page.get_by_role("table", name=words["documents"]).locator("tbody tr")
    await expect(rows.filter(has_text="travel.md")).to_have_count(1)  # before the list has come
    held.let.set()
    await expect(rows.filter(has_text="travel.md")).to_contain_text(words["ready"])
    await expect(page.get_by_role("list", name=words["results"])).to_contain_text("120 euros")
    await expect(rows.filter(has_text="photo.jpg")).to_contain_text(words["unreadable"])
    await page.evaluate(DROP, ["<img src=x onerror=alert(1)>.txt", "Meals cost 30 euros."])
    await expect(rows.filter(has_text="onerror")).to_contain_text(words["ready"])
    await page.route("**/documents/lost.txt", lambda route: route.abort(), times=1)
    await page.evaluate(DROP, ["lost.txt", "Nobody gets this."])
    lost = rows.filter(has_text="lost.txt")
    await expect(lost).to_contain_text(words["unreadable"])
    await lost.get_by_role("button").press("Enter")
    await page.get_by_role("button", name=words["sure"]).press("Enter")
    await expect(rows).to_have_count(3)
    await page.reload()
    await expect(rows).to_have_count(3)


async def is_searched_and_given_to_readers(page: Page, words: dict[str, str], scheme: str) -> None:
    """Search it, let others read it, and take a document out."""
    await page.get_by_role("searchbox", name=words["search"]).fill("What may a hotel cost?")
    results = page.get_by_role("list", name=words["results"]).get_by_role("listitem")
    await expect(results.first).to_contain_text("120 euros")
    await expect(results.first).to_contain_text("travel.md")
    readers = page.get_by_role("textbox", name=words["readers"])
    await readers.fill("bob")
    await page.get_by_role("button", name=words["save"], exact=True).click()
    await expect(page.get_by_role("alert")).to_contain_text("bob")
    await readers.fill("role:staff, user:bob")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_have_count(0)
    assert (await api(page, "GET", "/v1/knowledge/handbook"))["readers"] == ["role:staff", "user:bob"]
    await is_accessible_in_both_themes(page, scheme)
    await fits(page)
    one = page.get_by_role("button", name=words["remove_one"], exact=True)
    await one.press("Enter")
    await expect(page.get_by_role("button", name=words["sure"])).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(one).to_be_focused()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("table", name=words["documents"]).locator("tbody tr")).to_have_count(2)


async def is_ticked_for_an_agent(page: Page, words: dict[str, str], base: str) -> None:
    """The form of an agent ticks the collection, and says how answers are held to it."""
    draft = "/v1/agents/helper/draft"
    await api(page, "POST", draft, {"text": '{"name": "helper"}', "revision": 0})
    await page.goto(f"{base}/agents/helper")
    form = page.get_by_role("group", name=words["collections"])
    await form.get_by_role("checkbox", name="handbook").check()
    await form.get_by_role("combobox").select_option("strict")
    publish = page.get_by_role("button", name=words["publish"], exact=True)
    await expect(publish).to_have_attribute("aria-disabled", "false")
    kept = json.loads(str((await api(page, "GET", draft))["text"]))
    assert (kept["tools"], kept["cite"]) == (["knowledge:handbook"], "strict")


async def is_cited_in_the_chat(page: Page, words: dict[str, str], base: str, scheme: str) -> None:
    """The answer in the chat has a reference, which opens the kept text, and a mark where no source is."""
    await page.goto(f"{base}/chat/desk")
    await page.get_by_role("textbox", name=words["message"]).fill("What may a hotel cost?")
    await page.keyboard.press("Enter")
    said = page.get_by_role("log")
    await expect(said).to_contain_text(f"Breakfast is free. [{words['no_source']}]")
    await expect(said.get_by_role("link", name="1", exact=True)).to_have_count(0)  # a false list of references is none
    reference = said.get_by_role("button", name=words["reference"]).first
    await reference.press("Enter")
    card = said.get_by_role("group", name=words["reference"])
    await expect(card).to_contain_text("A hotel may cost 120 euros a night")
    await expect(card).to_contain_text("knowledge:handbook/travel.md")
    await card.get_by_role("button", name=words["open"]).press("Enter")
    await expect(card.locator("mark")).to_have_text("A hotel may cost 120 euros a night")
    await expect(card).to_contain_text("A train is better than a plane.")
    await is_accessible_in_both_themes(page, scheme)
    await fits(page)
    await card.get_by_role("button").press("Escape")
    await expect(card).to_have_count(0)
    await expect(reference).to_have_attribute("aria-expanded", "false")


@pytest.mark.parametrize(("language", "scheme"), [("en-GB", "light"), ("zh-CN", "dark")])
async def test_a_collection_is_filled_searched_read_by_others_cited_and_removed(
    bundle: None, tmp_path: Path, browser: Browser, watched: Watched, language: str, scheme: str
) -> None:
    words = WORDS[language]
    with ChatServer(SCRIPT) as model:
        settings = f'[agents.desk]\nmodel = "{model.url}#m"\ntools = ["knowledge:handbook"]\ncite = "mark"\n'
        (tmp_path / "actum.toml").write_text(settings, "utf-8")
        with studio_in(tmp_path) as studio:
            page = await watched.page(browser, studio, language, color_scheme=scheme)
            await page.goto(studio.url)
            await filled(page, words)
            await is_searched_and_given_to_readers(page, words, scheme)
            base = page.url.partition("/knowledge")[0]
            await is_ticked_for_an_agent(page, words, base)
            await is_cited_in_the_chat(page, words, base, scheme)
            await page.goto(f"{base}/knowledge/handbook")
            await page.get_by_role("button", name=words["remove"], exact=True).press("Enter")
            await page.get_by_role("button", name=words["sure"]).click()
            await expect(page.get_by_role("heading", level=1)).to_have_text(words["knowledge"])
            assert await listed(page, "/v1/knowledge") == []
    # The readers that can not be, and the publication that the agent does not have yet.
    watched.errors[:] = [each for each in watched.errors if not any(code in each for code in ("404", "422", "ERR_"))]
