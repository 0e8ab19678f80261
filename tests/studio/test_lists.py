"""The lists: filters that do not take each other away, what is shown while they change, and more of a long list."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from .conftest import Studio, Watched, studio_in
from .session import Held, api, runs

pytestmark = pytest.mark.row("F2")

SAVED = re.compile("^Saved$")
TOOL = "actum: tool/1\nname: {name}\nrequest: {{url: https://example.org}}\n"
CHANGED_AT_ONCE = """([field, text, choice, value]) => {
    const set = (element, name, given) => {
        Object.getOwnPropertyDescriptor(Object.getPrototypeOf(element), "value").set.call(element, given);
        element.dispatchEvent(new Event(name, {bubbles: true}));
    };
    set(document.querySelector(`input[type=${field}]`), "input", text);
    set([...document.querySelectorAll("select")].find(each => each.closest("label").textContent.startsWith(choice)),
        "change", value);
}"""
"""A word is typed and a choice is made within the pause after which typing counts."""


async def leaves(page: Page) -> bool:
    """Whether the page lets its person go without a question."""
    return bool(await page.evaluate("dispatchEvent(new Event('beforeunload', {cancelable: true}))"))


async def test_filters_are_kept_together_and_a_list_of_what_is_left_out_goes_on(
    studio: Studio, browser: Browser, watched: Watched
) -> None:
    page = await watched.page(browser, studio, "en-GB")
    await page.goto(studio.url)
    await expect(page.get_by_role("link", name="Tools")).to_be_visible()
    for number in range(54):
        name = f"tool_{number:02}"
        await api(
            page, "PUT", f"/v1/secrets/SECRET_{number}", {"value": "0123456789"}
        )  # on record as an administrator's
        await api(page, "POST", f"/v1/tools/{name}/draft", {"text": TOOL.format(name=name), "revision": 0})

    await page.get_by_role("link", name="Runs").click()
    more = page.get_by_role("button", name="Show more")
    assert await runs(page, "kind=agent") == []
    await expect(page.get_by_text("Nothing fits so far. Show more looks further back.")).to_be_visible()
    held = await Held.at(page, r"/v1/runs\?.*cursor=")
    await more.click()
    await held.has_come()
    await api(page, "PUT", "/v1/secrets/SECRET", {"value": "0123456789"})
    async with page.expect_response(re.compile(r"/v1/runs\?.*counts=")):  # news wait for what was pressed
        held.let.set()
    await expect(page.get_by_text("No run fits.")).to_be_visible()
    await expect(more).to_have_count(0)
    async with page.expect_request(lambda sent: "status=failed" in sent.url and "text=rain" in sent.url):
        await page.evaluate(CHANGED_AT_ONCE, ["search", "rain", "Status", "failed"])
    assert "text=rain" in page.url
    assert "status=failed" in page.url
    await expect(page.get_by_role("searchbox", name="Search")).to_have_value("rain")

    await page.get_by_role("link", name="Tools").click()
    table, search = page.get_by_role("table", name="Tools"), page.get_by_role("searchbox", name="Search")
    await expect(table.get_by_role("row")).to_have_count(51)
    await more.click()
    await expect(table.get_by_role("link", name="tool_53")).to_be_visible()
    held = await Held.at(page, r"/v1/tools\?.*query=tool_1")
    await search.fill("tool_1")
    await held.has_come()
    await expect(table.get_by_role("link", name="tool_53")).to_be_visible()  # the list before stays meanwhile
    held.let.set()
    await expect(table.get_by_role("link", name="tool_53")).to_have_count(0)
    await expect(table.get_by_role("link", name="tool_1")).to_have_count(10)  # a draft is found by its name
    await search.fill("none of these")
    await expect(table).to_have_count(0)

    await search.fill("tool_07")
    await table.get_by_role("link", name="tool_07").click()
    await expect(page.get_by_role("status").filter(has_text=SAVED)).to_be_visible()
    assert await leaves(page)
    held = await Held.at(page, "/v1/tools/tool_07/draft$")
    source = page.get_by_role("textbox", name="Definition")
    await source.fill(TOOL.format(name="tool_07") + "description: Rain\n")
    assert not await leaves(page)  # in the pause before it is saved
    await held.has_come()
    assert not await leaves(page)  # and while it is saved
    held.let.set()
    await expect(page.get_by_role("status").filter(has_text=SAVED)).to_be_visible()
    assert await leaves(page)
    assert "Rain" in str((await api(page, "GET", "/v1/tools/tool_07/draft"))["text"])
    watched.errors[:] = [each for each in watched.errors if "404" not in each]


FAILS = """actum: workflow/1
name: price
inputs: {type: object, properties: {limit: {type: string}}}
nodes:
  cheap: {type: if, cases: [{port: yes, when: "number(inputs.limit) < 10"}]}
"""


async def test_on_a_telephone_a_failed_run_says_why_and_the_open_page_is_seen_in_the_navigation(
    studio: Studio, browser: Browser, watched: Watched
) -> None:
    page = await watched.page(browser, studio, "zh-CN")
    await page.set_viewport_size({"width": 320, "height": 740})
    await page.goto(studio.url)
    await expect(page.get_by_role("link", name="工具")).to_be_visible()
    await api(page, "POST", "/v1/workflows/price/draft", {"text": FAILS, "revision": 0})
    await api(page, "POST", "/v1/workflows/price/publish", {})
    began = await api(page, "POST", "/v1/workflows/price/run", {"inputs": {"limit": "ten"}})
    await page.goto(f"{studio.url.partition('#')[0]}runs/{began['id']}")
    await expect(page.get_by_text("工作流 price，提问者 root")).to_be_visible()
    await expect(page.get_by_text("'ten'")).to_be_visible()
    await expect(page.get_by_text("原因：工作流的一个步骤失败").first).to_be_visible()
    await expect(page.get_by_text("值缺失或不符合要求")).to_be_visible()
    await expect(page.get_by_text("could not convert")).to_have_count(0)
    await expect(page.get_by_role("link", name="运行记录", exact=True)).to_be_in_viewport(ratio=0.95)
    await page.get_by_role("link", name="设置").click()
    await expect(page.get_by_role("link", name="设置")).to_be_in_viewport(ratio=0.95)
    await page.get_by_role("link", name="工具").click()
    row = page.get_by_role("row").filter(has_text="calculate")
    await expect(row).to_contain_text("读取")
    assert await page.evaluate("document.documentElement.scrollWidth") <= 320


async def test_a_choice_has_all_names_that_there_are_and_the_audit_tells_outcomes_in_the_language_of_the_page(
    bundle: None, tmp_path: Path, browser: Browser, watched: Watched
) -> None:
    tables = "".join(f'[agents.desk_{number:03}]\ninstructions = "Help."\n' for number in range(103))
    (tmp_path / "actum.toml").write_text(f'model = "embedded"\n{tables}', "utf-8")
    with studio_in(tmp_path) as studio:
        page = await watched.page(browser, studio, "zh-CN")
        await page.goto(studio.url)
        await expect(page.get_by_role("link", name="审计")).to_be_visible()
        await api(page, "POST", "/v1/tools/calculate/call", {"arguments": {"expression": "6 * 7"}})
        await page.goto(f"{studio.url.partition('#')[0]}chat/desk_102")
        await expect(page.get_by_role("option", name="desk_102")).to_be_attached()
        assert await page.get_by_role("option").count() == 103
        await page.get_by_role("link", name="审计").click()
        await expect(page.get_by_role("cell", name="正常").first).to_be_visible()
