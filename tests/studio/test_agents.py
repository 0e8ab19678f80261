"""An agent is made by hand: its form, a talk with the draft, published, changed in two tabs, rolled back, deleted; the
record and the saved text have all of it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Page, ViewportSize, expect

from actum.core.json import JsonObject
from tests.chat_server import ChatServer
from tests.web import listening

from .conftest import Studio, Watched, studio_in
from .session import Held, api, listed, runs
from .test_first_minutes import Presses, fits, is_accessible_in_both_themes
from .test_hostile import HOSTILE, is_unharmed
from .test_tools import PYTHON

pytestmark = pytest.mark.row("F2")

TALL = ViewportSize(width=1280, height=2_600)
"""Nothing is scrolled: a button that has just moved does not count yet."""
SAVED = re.compile("^Saved$")
IMAGE = "<img src=x onerror=window.taken=1>"
DRAFT = "/v1/agents/helper/draft"
EXPECTED = ("404", "409", "422")
"""Statuses that the browser tells in its console, and that these tests bring about."""
PRESSES_PUBLISH = """() => new MutationObserver((_, watch) => {
    const found = [...document.querySelectorAll("main button")].find(each => each.textContent === "Publish");
    if (found) {
        watch.disconnect();
        window.pressed = true;
        found.click();
    }
}).observe(document.body, {childList: true, subtree: true})"""


async def saved(page: Page) -> JsonObject:
    """What is kept of the draft, once the page says that it is."""
    await expect(page.get_by_role("status").filter(has_text=SAVED)).to_be_visible()
    found = json.loads(str((await api(page, "GET", DRAFT))["text"]))
    assert isinstance(found, dict)
    return found


async def test_an_agent_is_made_tried_published_changed_elsewhere_rolled_back_and_deleted(
    studio: Studio, browser: Browser, watched: Watched
) -> None:
    page = await watched.page(browser, studio, "en-GB")
    await page.set_viewport_size(TALL)
    await page.goto(studio.url)
    await page.get_by_role("link", name="Agents").click()
    await expect(page.get_by_role("table", name="Agents")).to_be_visible()
    await page.get_by_role("button", name="New agent").click()
    await is_accessible_in_both_themes(page, "light")
    await page.get_by_role("textbox", name="Name").fill("helper")
    await page.evaluate(PRESSES_PUBLISH)
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("helper")
    await page.get_by_role("textbox", name="Instructions").fill("You do sums.")
    await page.get_by_role("checkbox", name="calculate").check()
    await page.get_by_role("checkbox", name="write_note").check()
    await page.get_by_role("spinbutton", name="Steps").fill("5")
    await expect(page.get_by_text("Nothing is wrong with it.")).to_be_visible()
    assert await saved(page) == {
        "actum": "agent/1",
        "name": "helper",
        "description": "",
        "instructions": "You do sums.",
        "tools": ["calculate", "write_note"],
        "limits": {"steps": 5},
    }
    await expect(page.get_by_role("button", name="Publish")).to_have_attribute("aria-disabled", "false")
    assert await page.evaluate("window.pressed")
    assert (await api(page, "GET", DRAFT))["published"] == 0

    talk = page.get_by_role("region", name="Try")
    log = talk.get_by_role("log", name="Conversation")
    message = talk.get_by_role("textbox", name="Message")
    await message.fill("What is 17 times 23?")
    await message.press("Enter")
    await expect(log).to_contain_text("17*23 = 391.")
    await message.fill("Write a note: call Ada on Friday")
    await talk.get_by_role("button", name="Send").click()
    await log.get_by_role("button", name="Approve").click()
    await expect(log.get_by_role("article", name="Tool call: write_note")).to_contain_text("done")
    await expect(log.get_by_role("article", name="Tool call: calculate")).to_be_visible()
    noted, summed = await runs(page, "kind=agent")
    assert [(each["draft"], each["status"]) for each in (noted, summed)] == [("agent/helper", "done")] * 2
    assert noted["session"] == summed["session"]
    await is_accessible_in_both_themes(page, "light")
    await fits(page)
    await page.set_viewport_size(TALL)

    publish = page.get_by_role("button", name="Publish")
    await publish.click()
    await expect(page.get_by_text("Version 1 is in use.").first).to_be_visible()
    await page.get_by_role("button", name="Copy link").click()
    chat = await page.context.new_page()
    await chat.goto(str(await page.get_by_role("link", name="Open in Chat").evaluate("each => each.href")))
    await chat.get_by_role("textbox", name="Message").fill("What is 2 times 3?")
    await chat.get_by_role("button", name="Send").click()
    await expect(chat.get_by_role("log")).to_contain_text("2*3 = 6")
    latest, *_ = await runs(page, "kind=agent")
    assert (latest["agent"], latest["draft"]) == ("helper", "")

    other = await page.context.new_page()
    await other.goto(page.url)
    theirs = other.get_by_role("textbox", name="Instructions")
    await expect(theirs).to_have_value("You do sums.")
    instructions = page.get_by_role("textbox", name="Instructions")
    held = await Held.at(other, f"{DRAFT}$")
    await theirs.fill("You sing.")
    await held.has_come()
    await instructions.fill("You do sums, and notes.")
    assert (await saved(page))["instructions"] == "You do sums, and notes."
    held.let.set()
    await expect(other.get_by_role("dialog", name="Changed elsewhere")).to_contain_text("You do sums, and notes.")
    await expect(other.get_by_role("status").filter(has_text=SAVED)).to_have_count(0)
    assert json.loads(str((await api(page, "GET", DRAFT))["text"]))["instructions"] == "You do sums, and notes."
    await is_accessible_in_both_themes(other, "light")
    await other.get_by_role("button", name="Keep mine").click()
    assert (await saved(other))["instructions"] == "You sing."
    await expect(instructions).to_have_value("You sing.")  # this tab is told

    await publish.click()
    await expect(page.get_by_text("Version 2 is in use.").first).to_be_visible()
    await page.get_by_role("button", name="Versions").click()
    versions = page.get_by_role("region", name="Versions")
    await versions.get_by_role("button", name="1", exact=True).click()
    await expect(versions).to_contain_text("changed instructions: You do sums. → You sing.")
    await is_accessible_in_both_themes(page, "light")
    roll_back = versions.get_by_role("button", name="Roll back")
    await expect(roll_back).to_have_attribute("aria-disabled", "false")
    await roll_back.click()
    await expect(page.get_by_text("Version 3 is in use.").first).to_be_visible()
    found = await listed(page, "/v1/agents/helper/versions")
    assert [(each["number"], each["again"]) for each in found] == [(3, 1), (2, 0), (1, 0)]

    await page.goto(page.url.partition("/agents")[0] + "/agents?query=HELP")
    await expect(page.get_by_role("table", name="Agents").get_by_role("row")).to_have_count(2)
    await page.get_by_role("searchbox", name="Search").fill("nobody is called so")
    await expect(page.get_by_text("Nothing matches.")).to_be_visible()
    await page.evaluate("localStorage['actum.language'] = 'zh'")
    await page.goto(page.url.partition("/agents")[0] + "/agents/helper")
    await expect(page.get_by_role("combobox", name="模型")).to_be_visible()
    await page.get_by_role("button", name="删除").click()  # not while it is in use
    await expect(page.get_by_role("alert")).to_be_visible()
    await page.get_by_role("button", name="停用").click()
    await expect(page.get_by_text("正在使用版本")).to_have_count(0)
    await page.get_by_role("button", name="删除").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("智能体")
    assert "helper" not in [each["name"] for each in await listed(page, "/v1/agents?drafts=true")]
    await other.bring_to_front()
    await expect(other.get_by_role("dialog", name="Changed elsewhere")).to_contain_text("has deleted this draft")
    await other.get_by_role("button", name="Keep mine").click()
    await theirs.fill("You dance.")
    assert (await saved(other))["instructions"] == "You dance."
    acts = [each["tool"] for each in await listed(page, "/v1/audit?decision=administered")]
    assert {"agents.publish", "agents.rollback", "agents.unpublish"} <= {*acts}
    watched.errors[:] = [each for each in watched.errors if not any(code in each for code in EXPECTED)]


async def test_hostile_and_broken_texts_of_an_agent_are_shown_and_each_problem_leads_to_its_place(
    studio: Studio, browser: Browser, watched: Watched
) -> None:
    page = await watched.page(browser, studio, "en-GB")
    await page.set_viewport_size(TALL)
    await page.goto(studio.url)
    await expect(page.get_by_role("link", name="Agents")).to_be_visible()
    hostile: JsonObject = {
        "name": "helper",
        "description": HOSTILE,
        "model": HOSTILE[:120],
        "instructions": HOSTILE,
        "tools": ["__proto__", "constructor", "calculate", IMAGE],
        "__proto__": {"taken": 1},
    }
    await api(page, "POST", DRAFT, {"text": json.dumps(hostile), "revision": 0})
    await page.goto(page.url.partition("/chat")[0] + "/agents/helper")
    await expect(page.get_by_role("checkbox", name="constructor")).to_be_checked()
    await expect(page.get_by_text("constructor is not there any more")).to_be_visible()
    await expect(page.get_by_role("list", name="Problems")).to_be_visible()
    await is_unharmed(page)
    await is_accessible_in_both_themes(page, "light")
    await page.get_by_text("Definition", exact=True).first.click()
    source = page.get_by_role("textbox", name="Definition")
    assert json.loads(await source.input_value()) == hostile
    await page.get_by_role("checkbox", name="calculate").uncheck()
    await page.get_by_role("checkbox", name="days_between").check()
    changed = await saved(page)
    assert changed["tools"] == ["__proto__", "constructor", IMAGE, "days_between"]
    assert changed["__proto__"] == {"taken": 1}

    await source.fill(json.dumps({"name": "helper", "tools": ["none_of_this_name"]}))
    await expect(page.get_by_role("status").filter(has_text=SAVED)).to_be_visible()
    problem = page.get_by_role("list", name="Problems").get_by_role("button", name="none_of_this_name")
    await problem.focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("group", name="Tools")).to_be_focused()
    await source.fill("name: helper\ninstructions: Be kind.\ntools: [calculate]\nwrong: 1\n")
    await expect(page.get_by_text("A form shows definitions in JSON.")).to_be_visible()
    await page.get_by_role("list", name="Problems").get_by_role("button", name="line 4").click()
    await expect(source).to_be_focused()
    assert await source.evaluate("each => each.value.slice(each.selectionStart, each.selectionEnd)") == "wrong: 1"
    await page.get_by_role("button", name="Publish").click()
    await expect(page.get_by_role("alert").first).to_contain_text("wrong")
    assert (await api(page, "GET", DRAFT))["published"] == 0
    await page.goto(page.url.partition("/agents")[0] + "/agents/assistant")
    await expect(page.get_by_text("comes from the settings of the server")).to_be_visible()
    await expect(page.get_by_role("button", name="Publish")).to_have_count(0)
    watched.errors[:] = [each for each in watched.errors if not any(code in each for code in EXPECTED)]


async def test_what_is_typed_while_the_server_is_away_is_kept_and_saved_when_it_is_back_and_another_model_answers(
    bundle: None, tmp_path: Path, browser: Browser, watched: Watched
) -> None:
    with listening() as free:
        place = f"127.0.0.1:{free.getsockname()[1]}"
    with ChatServer(["Roses are red."]) as model:
        with studio_in(tmp_path, place) as studio:
            page = await watched.page(browser, studio, "en-GB")
            await page.goto(studio.url)
            await expect(page.get_by_role("link", name="Agents")).to_be_visible()
            await api(page, "PUT", "/v1/connections/poet", {"url": model.url, "model": "rhymer", "default": False})
            await api(page, "POST", DRAFT, {"text": '{"name": "helper"}', "revision": 0})
            await page.goto(page.url.partition("/chat")[0] + "/agents/helper")
            await page.get_by_role("combobox", name="Model").select_option("poet")
            assert (await saved(page))["model"] == "poet"
            studio.kill()
            await page.get_by_role("textbox", name="Instructions").fill("You rhyme.")
            await expect(page.get_by_role("alert").filter(has_text="Not saved")).to_be_visible()
            await expect(page.get_by_role("status").filter(has_text=SAVED)).to_have_count(0)
        with studio_in(tmp_path, place):
            assert (await saved(page))["instructions"] == "You rhyme."
            talk = page.get_by_role("region", name="Try")
            await talk.get_by_role("textbox", name="Message").fill("Write a poem")
            await talk.get_by_role("button", name="Send").click()
            await expect(talk.get_by_role("log")).to_contain_text("Roses are red.")
            (ran,) = await runs(page, "kind=agent")
            assert ran["model"] == f"rhymer@{urlsplit(model.url).netloc}"
            assert json.loads(model.requests[-1].body)["messages"][0]["content"].startswith("You rhyme.")
    watched.errors[:] = [each for each in watched.errors if "404" not in each and "ERR_" not in each]


NAMES = {
    "en-GB": (
        "Tools",
        "New tool",
        "Paste",
        "Read",
        "Create",
        "Publish",
        "Agents",
        "New agent",
        "Name",
        "Message",
        "Send",
    ),
    "zh-CN": ("工具", "新建工具", "粘贴", "识别", "创建", "发布", "智能体", "新建智能体", "名称", "消息", "发送"),
}
FLOW = {
    "en-GB": ("Workflows", "New workflow", "Template", "Run", "times", "Start", "done"),
    "zh-CN": ("工作流", "新建工作流", "模板", "运行", "times", "开始", "完成"),
}
IN_USE = {"en-GB": "Version 1 is in use.", "zh-CN": "正在使用版本 1。"}


@pytest.mark.parametrize("language", ["en-GB", "zh-CN"])
async def test_from_an_empty_home_to_a_published_tool_an_agent_that_uses_it_and_a_run_of_a_workflow_in_few_presses(
    studio: Studio, browser: Browser, watched: Watched, language: str
) -> None:
    tools, new_tool, paste, read, create, publish, agents, new_agent, name, message, send = NAMES[language]
    page = await watched.page(browser, studio, language)
    await page.set_viewport_size(TALL)
    await page.goto(studio.url)
    person = Presses(page)

    async def go(link: str) -> None:
        person.count += 1
        await page.get_by_role("link", name=link, exact=True).click()

    async def is_in_use() -> None:
        await expect(page.get_by_role("button", name=publish)).to_have_attribute("aria-disabled", "false")
        await person.button(publish)
        await expect(page.get_by_text(IN_USE[language]).first).to_be_visible()

    await go(tools)
    await person.button(new_tool)
    await person.fill(paste, PYTHON)
    await person.button(read)
    await person.button(create)
    await is_in_use()
    await go(agents)
    await person.button(new_agent)
    await person.fill(name, "crier")
    await person.button(create)
    person.count += 1
    await page.get_by_role("checkbox", name="shout").check()
    await is_in_use()
    await person.fill(message, 'Say "hello" loudly')
    await person.button(send)
    await expect(page.get_by_role("log").get_by_role("article", name="shout")).to_be_visible()
    (tried,) = await runs(page, "kind=agent")
    assert tried["draft"] == "agent/crier"
    assert [each["name"] for each in await listed(page, "/v1/agents?query=crier")] == ["crier"]
    workflows, new_workflow, template, run, times, start, done = FLOW[language]
    await go(workflows)
    await person.button(new_workflow)
    await person.fill(name, "again")
    await person.choose(template, "repeat")
    await person.button(create)
    await expect(page.get_by_role("treeitem", name="again, loop")).to_be_visible()
    await person.button(run)
    await person.fill(times, "3")
    await person.button(start)
    await expect(page.get_by_role("treeitem", name=re.compile(f"^again, loop, .*{done}$"))).to_be_visible()
    (ran,) = await runs(page, "kind=workflow")
    assert (ran["draft"], ran["status"], ran["outputs"]) == ("workflow/again", "done", {"passes": 3})
    print(f"{person.count} presses")  # noqa: T201  # the figure that the studio is measured by
    assert person.count <= 30
    watched.errors[:] = [each for each in watched.errors if not any(code in each for code in EXPECTED)]
