"""A tool is made by hand: pasted, tried, published, changed in two tabs, rolled back; the record has all of it."""

from __future__ import annotations

import json

import pytest
from playwright.async_api import Browser, ViewportSize, expect

from .conftest import Studio, Watched
from .session import Held, api, listed, runs
from .test_first_minutes import fits, is_accessible_in_both_themes
from .test_hostile import HOSTILE, is_unharmed

pytestmark = pytest.mark.row("F2")

PYTHON = """def shout(text: str, times: int = 2) -> str:
    \"\"\"Say a text loudly.\"\"\"
    return text.upper() * times
"""


TALL = ViewportSize(width=1280, height=2_600)
"""Nothing is scrolled: a button that has just moved does not count yet."""


async def test_a_tool_is_pasted_tried_published_changed_elsewhere_and_rolled_back(
    studio: Studio, browser: Browser, watched: Watched
) -> None:
    page = await watched.page(browser, studio, "en-GB")
    await page.set_viewport_size(TALL)
    await page.goto(studio.url)
    await page.get_by_role("link", name="Tools").click()
    await expect(page.get_by_role("table", name="Tools").get_by_role("link", name="calculate")).to_be_visible()
    await page.get_by_role("button", name="New tool").click()
    paste = page.get_by_role("textbox", name="Paste")
    await paste.fill(
        f"curl https://api.example.com/now -H 'Authorization: Bearer sk-hunter2' -d '{json.dumps({'q': HOSTILE[:80]})}'"
    )
    await page.get_by_role("button", name="Read").click()
    await expect(page.get_by_text("Set the secret now_token in Settings")).to_be_visible()
    assert "hunter2" not in await page.locator("ul").last.inner_text()
    await is_unharmed(page)
    await is_accessible_in_both_themes(page, "light")
    await paste.fill(PYTHON)
    await page.get_by_role("button", name="Read").click()
    await expect(page.get_by_role("textbox", name="Name")).to_have_value("shout")
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("shout")
    await expect(page.get_by_text("Nothing is wrong with it.")).to_be_visible()
    await page.get_by_role("textbox", name="text").fill("hi")
    await page.get_by_role("button", name="Try").click()
    result = page.get_by_role("region", name="Result")
    await result.get_by_role("button", name="Approve").click()  # code asks, as it would when it is published
    await expect(result.get_by_role("article", name="Tool call: shout")).to_contain_text("HIHI")
    (tried,) = await runs(page, "tool=shout")
    assert (tried["draft"], tried["status"]) == ("tool/shout", "done")
    publish = page.get_by_role("button", name="Publish")
    await publish.click()
    await expect(page.get_by_text("Version 1 is in use.").first).to_be_visible()

    source = page.get_by_role("textbox", name="Definition")
    first = await source.input_value()
    other = await page.context.new_page()
    await other.goto(page.url)
    await expect(other.get_by_role("textbox", name="Definition")).to_have_value(first)
    asking = json.loads(first) | {"approval": True}
    held = await Held.at(other, "/v1/tools/shout/draft$")
    await other.get_by_role("textbox", name="Definition").fill(first.replace("loudly", "softly"))
    await held.has_come()
    await source.fill(json.dumps(asking))
    await expect(page.get_by_role("status").filter(has_text="Saved")).to_be_visible()
    await expect(page.get_by_text("Not saved")).to_have_count(0)
    held.let.set()
    await expect(other.get_by_role("heading", name="Changed elsewhere")).to_be_visible()
    await other.get_by_role("button", name="Take theirs").click()
    await expect(other.get_by_role("textbox", name="Definition")).to_have_value(json.dumps(asking))
    assert (await api(page, "GET", "/v1/tools/shout/draft"))["text"] == json.dumps(asking)

    await publish.click()
    await expect(page.get_by_text("Version 2 is in use.").first).to_be_visible()
    await page.get_by_role("button", name="Versions").click()
    await page.get_by_role("region", name="Versions").get_by_role("button", name="1", exact=True).click()
    await expect(page.get_by_role("region", name="Versions")).to_contain_text("approval")
    await is_accessible_in_both_themes(page, "light")
    await fits(page)
    await page.set_viewport_size(TALL)
    await page.get_by_role("button", name="Roll back").click()
    await expect(page.get_by_text("Version 3 is in use.").first).to_be_visible()
    numbers = [each["number"] for each in await listed(page, "/v1/tools/shout/versions")]
    assert numbers == [3, 2, 1]

    hostile = {"description": HOSTILE, "parameters": {"__proto__": "string", "constructor": "string"}}
    broken = json.dumps(json.loads(first) | hostile)
    await source.fill(broken)
    await expect(page.get_by_role("textbox", name="__proto__")).to_be_visible()
    await is_unharmed(page)
    await source.fill(broken[:-9])
    await expect(page.get_by_role("list", name="Problems")).to_be_visible()
    await expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    await publish.click()
    await expect(page.get_by_role("alert").first).to_be_visible()
    await page.evaluate("localStorage['actum.language'] = 'zh'")
    await page.reload()
    await page.get_by_role("button", name="版本").click()
    for name in ("发布", "试运行", "停用", "回滚"):
        await expect(page.get_by_role("button", name=name).first).to_be_visible()
    await page.get_by_role("button", name="停用").click()
    await expect(page.get_by_text("正在使用版本")).to_have_count(0)
    await page.get_by_role("button", name="删除").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("工具")
    assert "shout" not in [each["name"] for each in await listed(page, "/v1/tools?drafts=true")]
    assert await runs(page, "tool=shout&status=failed") == []
    acts = [each["tool"] for each in await listed(page, "/v1/audit?decision=administered")]
    assert {"tools.publish", "tools.rollback", "tools.unpublish"} <= {*acts}
    watched.errors[:] = [each for each in watched.errors if not any(code in each for code in ("404", "409", "422"))]
