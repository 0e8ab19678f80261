"""The first minutes of a person who does not program, in a real browser, in both languages."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Page, expect

from actum.core.json import JsonObject
from tests.chat_server import ChatServer, Raw, Said
from tests.peers import install

from .conftest import Studio, Watched, studio_in
from .session import api, listed, runs

pytestmark = pytest.mark.row("F2")

TOOLS = '''
from actum import tool


@tool(effects="spend", approval=True)
def pay(to: str, amount: float) -> str:
    """Pay money to somebody.

    Args:
        to: Who gets the money.
        amount: How much, in euros.
    """
    return f"paid {amount} to {to}"
'''
WORDS = {
    "en-GB": {
        "sample": "What is 17 times 23?",
        "send": "Send",
        "message": "Message",
        "rename": "Rename",
        "title": "Title",
        "save": "Save",
        "approvals": "Approvals",
        "approve": "Approve",
        "approval": "Approval: pay",
        "call": "Tool call: pay",
        "agents": "Agents",
        "workflows": "Workflows",
        "tools": "Tools",
        "knowledge": "Knowledge",
        "memory": "Memory",
        "runs": "Runs",
        "waterfall": "Waterfall",
        "audit": "Audit",
        "settings": "Settings",
        "out": "Sign out",
        "key": "Key",
        "in": "Sign in",
    },
    "zh-CN": {
        "sample": "17乘以23等于多少？",
        "send": "发送",
        "message": "消息",
        "rename": "重命名",
        "title": "标题",
        "save": "保存",
        "approvals": "审批",
        "approve": "批准",
        "approval": "审批：pay",
        "call": "工具调用：pay",
        "agents": "智能体",
        "workflows": "工作流",
        "tools": "工具",
        "knowledge": "知识库",
        "memory": "记忆",
        "runs": "运行记录",
        "waterfall": "瀑布图",
        "audit": "审计",
        "settings": "设置",
        "out": "退出登录",
        "key": "访问密钥",
        "in": "登录",
    },
}
PAGES = ("workflows", "agents", "tools", "knowledge", "memory", "runs", "approvals", "audit", "settings")
LOADING = re.compile("^(Loading|加载中)…$")
"""What a page says until it has what it shows. The network is never idle: one stream tells all that happens."""


async def is_accessible(page: Page) -> None:
    """axe finds nothing on the page. It runs in a world of its own, since the policy of the page lets no script in."""
    source = (install.node_modules() / "axe-core" / "axe.min.js").read_text("utf-8")
    session = await page.context.new_cdp_session(page)
    tree = await session.send("Page.getFrameTree")
    world = await session.send(
        "Page.createIsolatedWorld", {"frameId": tree["frameTree"]["frame"]["id"], "worldName": "axe"}
    )
    where = world["executionContextId"]
    await session.send("Runtime.evaluate", {"expression": source, "contextId": where})
    run = "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']})"
    told = "r => JSON.stringify(r.violations.map(v => [v.id, v.nodes.map(n => n.html.slice(0, 120))]))"
    answer = await session.send(
        "Runtime.evaluate",
        {"expression": f"{run}.then({told})", "contextId": where, "awaitPromise": True, "returnByValue": True},
    )
    assert json.loads(answer["result"]["value"]) == [], page.url


async def is_accessible_in_both_themes(page: Page, scheme: str) -> None:
    """As above; the page is left as it was."""
    for each in ("dark" if scheme == "light" else "light", scheme):
        await page.emulate_media(color_scheme=each)  # type: ignore[arg-type]
        await is_accessible(page)


async def fits(page: Page) -> None:
    """Nothing of the page is wider than a telephone."""
    await page.set_viewport_size({"width": 360, "height": 740})
    assert await page.evaluate("document.documentElement.scrollWidth") <= 360, page.url
    await page.set_viewport_size({"width": 1280, "height": 800})


@pytest.mark.parametrize(("language", "scheme"), [("en-GB", "light"), ("zh-CN", "dark")])
async def test_a_person_asks_approves_and_understands_without_a_file_or_a_key(
    studio: Studio,
    browser: Browser,
    watched: Watched,
    pictured: Callable[[Page, str], Awaitable[None]],
    language: str,
    scheme: str,
) -> None:
    said = WORDS[language]
    page = await watched.page(browser, studio, language, color_scheme=scheme)
    await page.goto(studio.url)
    await page.get_by_role("button", name=said["sample"]).click()
    assert "code" not in page.url
    await is_accessible_in_both_themes(page, scheme)
    await page.get_by_role("button", name=said["send"]).click()
    await expect(page.get_by_role("log")).to_contain_text("= 391")
    await expect(page.get_by_role("article").filter(has_text="calculate").first).to_be_visible()
    await page.reload()
    await expect(page.get_by_role("log")).to_contain_text("= 391")
    await fits(page)
    await pictured(page, f"studio-{language[:2]}")
    await is_accessible_in_both_themes(page, scheme)
    await page.get_by_role("button", name=said["rename"]).click()
    await page.get_by_role("textbox", name=said["title"]).fill("Sums")
    await page.get_by_role("button", name=said["save"]).click()
    await expect(page.get_by_role("link", name="Sums")).to_be_visible()
    for each in PAGES:
        await page.get_by_role("link", name=said[each]).click()
        await expect(page.get_by_role("heading", level=1)).to_have_text(said[each])
        await expect(page.get_by_text(LOADING)).to_have_count(0)
        await is_accessible_in_both_themes(page, scheme)
    await page.set_viewport_size({"width": 360, "height": 740})
    await page.get_by_role("link", name=said["runs"]).click()
    await page.get_by_role("table", name=said["runs"]).get_by_role("link").first.click()
    grid = page.get_by_role("treegrid", name=said["waterfall"])
    await expect(grid.get_by_role("row")).to_have_count(5)  # its head, two turns, a call, an attempt
    await is_accessible_in_both_themes(page, scheme)
    await fits(page)
    await pictured(page, f"waterfall-{language[:2]}")
    await page.get_by_role("button", name=said["out"]).click()
    await expect(page.get_by_role("textbox", name=said["key"])).to_be_visible()
    await is_accessible_in_both_themes(page, scheme)


@pytest.fixture
def with_payments(tmp_path: Path) -> None:
    """The person's folder has a tool that spends."""
    (tmp_path / "shop.py").write_text(TOOLS, "utf-8")
    (tmp_path / "actum.toml").write_text('tools = ["shop:pay"]\n', "utf-8")


PRESSES_AT_ONCE = """name => {
    const watch = new MutationObserver(() => {
        const found = [...document.querySelectorAll("article button")].find(each => each.textContent.trim() === name);
        if (found) {
            watch.disconnect();
            window.pressed = true;
            found.click();
        }
    });
    watch.observe(document.body, {childList: true, subtree: true});
}"""
"""Presses a button in the very moment in which it is there, however busy the machine is."""


async def test_a_payment_waits_for_a_press_that_can_not_come_too_soon(
    with_payments: None, studio: Studio, browser: Browser, watched: Watched
) -> None:
    said = WORDS["en-GB"]
    page = await watched.page(browser, studio, "en-GB")
    await page.goto(studio.url)
    await page.get_by_role("textbox", name=said["message"]).fill("Pay 20 euros to Ada")
    await page.evaluate(PRESSES_AT_ONCE, said["approve"])
    await page.get_by_role("textbox", name=said["message"]).press("Enter")
    card = page.get_by_role("article", name=said["call"])
    approve = card.get_by_role("button", name=said["approve"])
    await expect(approve).to_have_attribute("aria-disabled", "false")
    assert await page.evaluate("window.pressed")
    await expect(card).to_contain_text("waiting")
    await expect(page.get_by_role("link", name="Approvals (1)")).to_be_visible()
    other = await watched.page(browser, studio, "en-GB")
    await other.goto(studio.again())
    await other.get_by_role("link", name="Approvals (1)").click()
    waiting = other.get_by_role("article", name=said["approval"])
    await is_accessible_in_both_themes(other, "light")
    await fits(other)
    await waiting.get_by_role("button", name=said["approve"]).click()
    await expect(waiting).to_have_count(0)
    await expect(page.get_by_role("status").filter(has_text="has answered: pay")).to_be_visible()
    await expect(card).to_contain_text("done")
    await expect(page.get_by_role("log")).to_contain_text("paid 20")
    await page.get_by_role("link", name=said["audit"]).click()
    audit = page.get_by_role("table", name=said["audit"])
    await expect(audit).to_contain_text("approved")
    await page.get_by_role("searchbox", name="Search").fill("PAID 20")
    await expect(audit.get_by_role("row")).to_have_count(2)  # its head, and the line that says what came back
    await page.get_by_label("Until").fill("2001-01-01T00:00")
    await expect(page.get_by_text("Nothing is on record that fits")).to_be_visible()
    (run,) = await runs(page, "tool=pay")
    await page.goto(f"{studio.url.partition('#')[0]}runs/{run['id']}")
    await page.get_by_role("button", name="Branch off").click()
    await page.get_by_role("combobox", name="Branch off at").select_option(index=1)
    result = page.get_by_role("textbox", name="Another result")
    await expect(result).to_have_value(re.compile("paid 20"))
    await result.fill("paid 5 to Ada")
    await page.get_by_role("button", name="Branch off").last.click()
    await expect(page.get_by_role("article", name=said["call"])).to_contain_text("paid 5")
    branch, _ = await runs(page, "tool=pay")
    assert (branch["forked"], branch["status"]) == (run["id"], "done")
    await page.get_by_role("link", name=said["runs"], exact=True).click()
    await page.get_by_label("From").fill("2001-01-01T00:00")
    await expect(page.get_by_role("table", name=said["runs"]).get_by_role("row")).to_have_count(3)
    await page.get_by_role("spinbutton", name="Version").fill("7")
    await expect(page.get_by_text("No run fits")).to_be_visible()
    await expect(page).to_have_url(re.compile("since=.*978307200.*version=.*7"))


async def test_a_link_counts_once_and_a_cookie_alone_is_nobody(
    studio: Studio, browser: Browser, watched: Watched
) -> None:
    page = await watched.page(browser, studio, "en-GB")
    await page.goto(studio.url)
    await expect(page.get_by_role("heading", name="Chat")).to_be_visible()
    answer = await page.context.request.get(studio.url.partition("/studio/")[0] + "/v1/runs")
    assert answer.status == 401
    other = await watched.page(browser, studio, "en-GB")
    await other.goto(studio.url)
    await expect(other.get_by_role("alert")).to_contain_text("has been used")
    assert watched.errors.pop().startswith("Failed to load resource: the server responded with a status of 401")


class Presses:
    """A person who counts what the hand does: a button, a choice, or a field that is filled.

    Attributes:
        count: how often.
    """

    def __init__(self, page: Page) -> None:
        self.page, self.count = page, 0

    async def button(self, name: str) -> None:
        self.count += 1
        await self.page.get_by_role("button", name=name, exact=True).click()

    async def fill(self, name: str, text: str) -> None:
        self.count += 1
        await self.page.get_by_role("textbox", name=name, exact=True).fill(text)

    async def choose(self, name: str, option: str) -> None:
        self.count += 1
        await self.page.get_by_role("combobox", name=name).select_option(option)


CONNECT = {
    "en-GB": ("Connect a model", "Provider", "Address", "API key", "Model", "Test", "Key refused", "Works"),
    "zh-CN": ("连接模型", "提供商", "地址", "模型密钥", "模型", "测试", "密钥被拒绝", "可用"),
}
USE = {"en-GB": "Use as default", "zh-CN": "设为默认"}


@pytest.mark.parametrize("language", ["en-GB", "zh-CN"])
async def test_from_an_empty_home_to_a_tool_call_and_a_connected_model_in_few_presses(
    bundle: None, tmp_path: Path, browser: Browser, watched: Watched, language: str
) -> None:
    def answer(body: JsonObject) -> Said:
        if api_of_others.requests[-1].headers.get("authorization") != "Bearer sk-right":
            return Raw((b'{"error": {"message": "Incorrect API key provided"}}',), status=401)
        return "Roses are red."

    said, (connect, provider, address, key, model, test, refused, works) = WORDS[language], CONNECT[language]
    with ExitStack() as stack:
        local = stack.enter_context(ChatServer([], models=["qwen3:8b"]))
        api_of_others = stack.enter_context(ChatServer(answer))
        studio = stack.enter_context(studio_in(tmp_path, variables={"OLLAMA_BASE_URL": local.url}))
        page = await watched.page(browser, studio, language)
        await page.goto(studio.url)
        person = Presses(page)
        await person.button(said["sample"])
        await person.button(said["send"])
        await expect(page.get_by_role("article").filter(has_text="calculate").first).to_contain_text("391")
        await person.button(connect)
        await expect(page.get_by_role("button", name="qwen3:8b ollama")).to_have_attribute("aria-pressed", "true")
        await is_accessible(page)
        await person.choose(provider, "")
        await person.fill(address, api_of_others.url)
        await person.fill(model, "poet")
        for text, outcome in (("sk-wrong", refused), ("sk-right", works)):
            await person.fill(key, text)
            await person.button(test)
            await expect(page.get_by_role("status").filter(has_text=outcome)).to_be_visible()
        await person.button(USE[language])
        await expect(page.get_by_role("button", name=connect, exact=True)).to_be_visible()  # the form is done, and gone
        await person.fill(said["message"], "Write a poem")
        await person.button(said["send"])
        await expect(page.get_by_role("log")).to_contain_text("Roses are red.")
        latest, *_ = await runs(page, "kind=agent")
        assert latest["model"] == f"poet@{urlsplit(api_of_others.url).netloc}"
        assert len(await listed(page, "/v1/sessions")) == 1
        assert "sk-right" not in json.dumps(await api(page, "GET", "/v1/connections"))
    print(f"{person.count} presses")  # noqa: T201  # the figure that the studio is measured by
    assert person.count <= 20


async def test_enter_sends_nothing_while_a_word_is_composed_and_a_question_mark_shows_the_keys(
    studio: Studio, browser: Browser, watched: Watched
) -> None:
    page = await watched.page(browser, studio, "zh-CN")
    await page.goto(studio.url)
    message = page.get_by_role("textbox", name="消息")
    await message.focus()
    keyboard = await page.context.new_cdp_session(page)
    await keyboard.send("Input.imeSetComposition", {"text": "dongjing", "selectionStart": 8, "selectionEnd": 8})
    await page.keyboard.press("Enter")
    await keyboard.send("Input.insertText", {"text": "东京现在几点？"})
    await expect(message).to_have_value(re.compile("东京现在几点？"))
    assert await runs(page, "kind=agent") == []
    await page.keyboard.press("?")  # in a field it is a letter like any other
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await message.press("Enter")
    await expect(page.get_by_role("log").get_by_role("article").first).to_be_visible()
    assert len(await runs(page, "kind=agent")) == 1
    await page.get_by_role("heading", level=1).click()
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="快捷键")).to_be_visible()
    await is_accessible(page)
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
