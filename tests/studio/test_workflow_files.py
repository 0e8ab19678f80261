"""A workflow as a file and as text: imported with its report, edited in the source, copied, or too large to draw."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.async_api import Browser, FilePayload, Page, expect

from .conftest import Studio, Watched
from .session import api, pasted
from .test_first_minutes import fits, is_accessible_in_both_themes
from .test_hostile import HOSTILE, LINE, is_unharmed
from .test_workflows import IMAGE, TALL, saved, saved_text

pytestmark = pytest.mark.row("F2")

FOREIGN = Path(__file__).parents[1] / "workflow"
DROP = """([name, text]) => {
    const files = new DataTransfer();
    files.items.add(new File([text], name));
    const given = {dataTransfer: files, bubbles: true, cancelable: true};
    const over = document.querySelector("h1");
    over.dispatchEvent(new DragEvent("dragover", given));
    over.dispatchEvent(new DragEvent("drop", given));
}"""
DIALOGS = {
    "添加节点": "添加节点",
    "连接到": "连接到",
    "移入": "移入",
    "插入值": "插入值",
    "运行": "运行",
    "运行此节点": "运行此节点: intent",
}
"""The dialogs of a workflow, by the button that opens each."""
EXPECTED = ("404", "409", "413", "422")


async def chosen(page: Page, button: str, file: FilePayload) -> None:
    """Give a file by a button."""
    async with page.expect_file_chooser() as opened:
        await page.get_by_role("button", name=button, exact=True).press("Enter")
    await (await opened.value).set_files(file)


def read(text: str) -> dict[str, Any]:
    found = yaml.safe_load(text)
    assert isinstance(found, dict)
    return found


async def test_a_foreign_file_is_imported_and_its_text_edited_copied_and_undone(
    studio: Studio, browser: Browser, watched: Watched
) -> None:
    page = await watched.page(browser, studio, "en-GB")
    await page.set_viewport_size(TALL)
    await page.goto(studio.url)
    await page.get_by_role("link", name="Workflows").click()

    dify = (FOREIGN / "dify" / "extractor.yml").read_text()
    await chosen(page, "Import", FilePayload(name="no.yml", mimeType="text/yaml", buffer=HOSTILE.encode()))
    card = page.get_by_role("region", name="Import")
    await expect(card.get_by_role("alert")).to_contain_text("no workflow of coze or dify")
    await chosen(page, "Import", FilePayload(name="large.yml", mimeType="text/yaml", buffer=b"x" * 5_000_000))
    await expect(card.get_by_role("alert")).to_contain_text("bytes")
    await page.evaluate(DROP, ["<img src=x onerror=window.taken=1>.yml", dify])
    await expect(card).to_contain_text("choose a model")
    await is_unharmed(page)
    await is_accessible_in_both_themes(page, "light")
    await card.get_by_role("textbox", name="Name").fill("taken_over")
    await card.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("taken_over")
    draft = "/v1/workflows/taken_over/draft"
    text = await saved_text(page, draft)
    assert read(text)["name"] == "taken_over"
    assert "# open at read, model.name: choose a model" in text

    problems = page.get_by_role("list", name="Problems")
    await expect(page.get_by_role("treeitem", name=re.compile("^read, extract.*1 open"))).to_be_visible()
    await problems.get_by_role("button", name="choose a model").click()
    node = page.get_by_role("complementary", name="Node")
    await expect(node.get_by_label("model", exact=True)).to_be_focused()
    await is_accessible_in_both_themes(page, "light")
    await node.get_by_role("list", name="Import").get_by_role("button", name="Done").first.click()
    await expect(problems.get_by_role("button", name="choose a model")).to_have_count(0)
    assert "# open at" not in await saved_text(page, draft)

    await page.get_by_role("button", name="Source").click()
    source = page.get_by_role("textbox", name="Definition")
    before = await saved_text(page, draft)
    await source.click()
    await page.keyboard.press("Control+End")
    await page.keyboard.type("# by Ada\n")
    after = await saved_text(page, draft)
    assert after == before + "# by Ada\n"
    await page.keyboard.press("Control+z")
    await expect(source).not_to_contain_text("by Ada")
    assert await saved_text(page, draft) == before
    await page.get_by_role("button", name="Redo").click()
    await expect(source).to_contain_text("by Ada")
    await is_accessible_in_both_themes(page, "light")
    await fits(page)
    await page.set_viewport_size(TALL)
    await page.get_by_role("button", name="Source").click()

    await page.get_by_role("treeitem", name=re.compile("^read, extract")).click()
    await page.keyboard.press("Control+c")
    await expect(page.get_by_text("Copied: read")).to_be_visible()
    await page.keyboard.press("Control+v")
    await expect(page.get_by_role("treeitem", name=re.compile("^read_2, extract"))).to_be_visible()
    nodes = (await saved(page, draft))["nodes"]
    assert nodes["read_2"] == nodes["read"]
    await pasted(page, "")
    await expect(page.get_by_text("The clipboard has no nodes")).to_be_visible()
    await page.get_by_role("treeitem", name=re.compile("^read, extract")).focus()
    await page.keyboard.press("End")
    await page.keyboard.press("Home")
    await page.keyboard.press(" ")
    await page.get_by_role("button", name="Add node").drag_to(
        page.get_by_role("region", name="Canvas"), target_position={"x": 400, "y": 40}
    )
    await page.get_by_role("combobox", name="Search nodes").fill("note")
    await page.get_by_role("option", name=re.compile("^note ")).click()
    await node.get_by_label("text", exact=True).fill(HOSTILE)
    found = await saved(page, draft)
    assert found["nodes"]["note"] == {"type": "note", "text": HOSTILE}
    assert len(found["view"]["note"]) == 2
    await is_unharmed(page)

    many = "".join(f"  n{place}: {{type: say, text: x}}\n" for place in range(5_000))
    head = "actum: workflow/1\nname: taken_over\nnodes:\n"
    for texts, sentence in (
        (f"{head}  a: &a {{type: say, text: x}}\n  b: *a\n", "has aliases of YAML"),
        (head + many, "too large to be drawn"),
    ):
        kept = await api(page, "GET", draft)
        await api(page, "POST", draft, {"text": texts, "revision": kept["revision"]})
        await page.reload()
        await expect(page.get_by_text(sentence)).to_be_visible()
        await expect(page.get_by_role("textbox", name="Definition")).to_be_visible()
        await expect(page.get_by_role("region", name="Canvas")).to_have_count(0)
    await source.click()
    await page.keyboard.press("Control+End")
    await page.keyboard.type("# still edited")
    assert (await saved_text(page, draft)).endswith("n4999: {type: say, text: x}\n# still edited")
    await comes_over_in_chinese(page)
    watched.errors[:] = [each for each in watched.errors if not any(code in each for code in EXPECTED)]


async def comes_over_in_chinese(page: Page) -> None:
    """A file of Coze with hostile titles: its report, its node, its source and each dialog."""
    await page.evaluate("localStorage['actum.language'] = 'zh'")
    await page.goto(page.url.partition("/workflows")[0] + "/workflows")
    await page.get_by_role("button", name="新建工作流").click()
    await expect(page.get_by_role("combobox", name="模板")).to_be_visible()
    coze = (FOREIGN / "coze" / "intent.canvas.json").read_text("utf-8")
    for before, after in (("Else", LINE), ("Doubao 1.5", IMAGE)):
        coze = coze.replace(before, json.dumps(after, ensure_ascii=False)[1:-1])
    await chosen(page, "导入", FilePayload(name="coze.json", mimeType="application/json", buffer=coze.encode()))
    card = page.get_by_role("region", name="导入")
    await expect(card.get_by_role("listitem").filter(has_text="待定")).to_have_count(1)
    await expect(card).to_contain_text(IMAGE)
    await is_unharmed(page)
    await is_accessible_in_both_themes(page, "light")
    await card.get_by_role("textbox", name="名称").fill("intents")
    await card.get_by_role("button", name="创建").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("intents")
    draft = "/v1/workflows/intents/draft"
    assert "# open at intent, inputs.llmParam" in await saved_text(page, draft)
    await page.get_by_role("list", name="问题").get_by_role("button", name="待定").click()
    node = page.get_by_role("complementary", name="节点")
    await expect(node.get_by_role("textbox", name="name", exact=True)).to_have_value("intent")
    await node.get_by_role("list", name="导入").get_by_role("button", name="已处理").first.click()
    await expect(page.get_by_role("list", name="问题").get_by_role("button", name="待定")).to_have_count(0)
    for button, title in DIALOGS.items():
        await page.get_by_role("button", name=button, exact=True).first.click()
        await expect(page.get_by_role("dialog", name=title)).to_be_visible()
        await is_unharmed(page)
        await is_accessible_in_both_themes(page, "light")
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)
    await page.get_by_role("button", name="源代码").click()
    await page.get_by_role("textbox", name="定义").click()
    await page.keyboard.press("Control+End")
    await page.keyboard.type("# 完\n")
    assert (await saved_text(page, draft)).endswith("# 完\n")
    await is_unharmed(page)
