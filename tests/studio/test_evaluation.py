"""A person looks at experiments, compares two of them, follows what is not right to its run, and rates an answer."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests import warm

from .conftest import START, Studio, Watched, environment
from .session import api, listed
from .speaking import SpeakingApi
from .test_first_minutes import fits, is_accessible_in_both_themes

pytestmark = [pytest.mark.row("F4"), pytest.mark.row("F2")]
HOSTILE = "<img src=x onerror=alert(1)>|\u202e"
AGENTS = """
from actum import Agent
from actum.testing import ScriptedModel

good = Agent(ScriptedModel(lambda request: "Yes.", name="m"), name="desk")
bad = Agent(ScriptedModel(lambda request: "No." if "1" in request.messages[-1].text else "Yes.", name="m"), name="desk")
"""
WORDS = {
    "en-GB": {
        "evaluation": "Evaluation",
        "empty": "There is no experiment yet.",
        "compare": "Compare",
        "choose": "Compare {0}",
        "scores": "Scores",
        "worse": "worse",
        "tags": "By tag",
        "changed": "Changed cases",
        "wrong": "Cases that are not right",
        "back": "All experiments",
        "used": "Used up",
        "down": "Bad answer",
        "up": "Good answer",
        "why": "Why? You can leave this empty.",
        "more": "Show more",
        "parts": "model, turn 1",
    },
    "zh-CN": {
        "evaluation": "评测",
        "empty": "还没有实验。",
        "compare": "比较",
        "choose": "比较 {0}",
        "scores": "分数",
        "worse": "更差",
        "tags": "按标签",
        "changed": "发生变化的用例",
        "wrong": "不正确的用例",
        "back": "全部实验",
        "used": "消耗",
        "down": "回答不好",
        "up": "回答很好",
        "why": "为什么？可以不填。",
        "more": "显示更多",
        "parts": "第 1 轮：模型",
    },
}


@pytest_asyncio.fixture(loop_scope="session")
async def speaking(tmp_path: Path) -> AsyncIterator[SpeakingApi]:
    """The model of the studio, which has said all that it will say."""
    async with SpeakingApi().served(tmp_path) as made:
        await made.say("On Tuesday.", None)
        yield made


def experiment(folder: Path, name: str) -> None:
    """The person who started the studio carries out an experiment on the command line."""
    words = ["eval", "run", "cases.jsonl", "--agent", f"agents.py:{name}", "--name", name]
    done = warm.run(
        [sys.executable, "-c", START, *words], cwd=folder, env=environment(folder), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("language", "scheme"), [("en-GB", "light"), ("zh-CN", "dark")])
async def test_two_experiments_are_compared_and_what_is_not_right_leads_to_its_run(
    studio: Studio, browser: Browser, watched: Watched, language: str, scheme: str
) -> None:
    words, folder = WORDS[language], studio.folder
    page = await watched.page(browser, studio, language, color_scheme=scheme)
    await page.goto(studio.url)
    await page.get_by_role("link", name=words["evaluation"], exact=True).click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(words["evaluation"])
    await expect(page.get_by_text(words["empty"])).to_be_visible()
    await is_accessible_in_both_themes(page, scheme)

    (folder / "agents.py").write_text(AGENTS, "utf-8")
    names = ["case 10", HOSTILE, *(f"case {number}" for number in range(12, 40))]
    cases = [
        {
            "id": name,
            "input": f"{place + 10}?",
            "expected": {"text": {"equals": "Yes."}},
            "tags": ["tens" if place < 10 else "rest"],
        }
        for place, name in enumerate(names)
    ]
    (folder / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)), "utf-8")
    experiment(folder, "good")
    experiment(folder, "bad")
    parts = "**/v1/experiments?*"
    await page.route(parts, lambda route: route.continue_(url=route.request.url.replace("limit=50", "limit=1")))
    await page.reload()
    boxes = page.get_by_role("checkbox")
    await expect(boxes).to_have_count(1)
    await page.get_by_role("button", name=words["more"]).press("Enter")
    await expect(boxes).to_have_count(2)
    await expect(page.get_by_role("button", name=words["more"])).to_have_count(0)
    await page.unroute(parts)
    compare = page.get_by_role("button", name=words["compare"])
    await expect(compare).to_be_disabled()
    for each in ("bad", "good"):  # in any order: the older one is the one before
        box = page.get_by_role("checkbox", name=words["choose"].format(each))
        await box.focus()
        await page.keyboard.press("Space")
    await is_accessible_in_both_themes(page, scheme)
    await fits(page)
    await compare.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_have_text("good → bad")
    scores = page.get_by_role("table", name=words["scores"])
    await expect(scores.get_by_role("row").nth(1)).to_contain_text(words["worse"])
    own = (await listed(page, "/v1/experiments"))[0]
    told = await api(page, "GET", f"/v1/experiments/good/comparison?with={own['experiment']}")
    high = told["scores"]["correct"]["high"]  # type: ignore[index, call-overload]
    await expect(scores).to_contain_text(
        f"{100 * float(str(high)):.1f}".replace("-", "")
    )  # the sign of a page is another
    await expect(page.get_by_role("table", name=words["tags"]).locator("tbody tr")).to_have_count(2)
    await expect(page.get_by_role("table", name=words["used"]).locator("tbody tr")).to_have_count(3)
    changed = page.get_by_role("table", name=words["changed"])
    await expect(changed.locator("tbody tr")).to_have_count(len(told["changed"]))  # type: ignore[arg-type]
    await expect(changed.get_by_role("row").nth(1)).to_contain_text(words["parts"])
    await expect(changed).to_contain_text("<img src=x onerror=alert(1)>|\\u{202e}")
    await is_accessible_in_both_themes(page, scheme)
    await fits(page)

    await page.get_by_role("link", name=words["back"]).click()
    await page.get_by_role("link", name="bad", exact=True).click()
    wrong = page.get_by_role("table", name=words["wrong"])
    await expect(wrong.locator("tbody tr")).to_have_count(len(told["changed"]))  # type: ignore[arg-type]
    await is_accessible_in_both_themes(page, scheme)
    await fits(page)
    await wrong.get_by_role("row").nth(2).get_by_role("link").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("11?")
    await page.goto(studio.url.partition("#")[0] + "evaluation/run_nowhere")  # an address that was mistyped
    await expect(page.get_by_role("alert")).to_be_visible()
    assert watched.errors
    watched.errors.clear()  # the browser tells of the 404 that was asked for


async def test_a_thumb_in_the_chat_stands_on_the_record_of_the_answer_and_can_be_taken_back(
    speaking: SpeakingApi, studio: Studio, browser: Browser, watched: Watched
) -> None:
    words = WORDS["zh-CN"]
    page = await watched.page(browser, studio, "zh-CN")
    await page.goto(studio.url)
    message = page.get_by_role("textbox", name="消息")
    await message.fill("Which day?")
    await message.press("Enter")
    down, up = (page.get_by_role("button", name=words[each]) for each in ("down", "up"))
    await down.click()
    await expect(down).to_have_attribute("aria-pressed", "true")
    run = (await listed(page, "/v1/runs"))[0]["id"]
    why = page.get_by_role("textbox", name=words["why"])
    await why.fill("wrong day")
    await why.press("Enter")
    await expect(page.get_by_text("wrong day")).to_be_visible()
    (score,) = await listed(page, f"/v1/runs/{run}/scores")
    assert (score["name"], score["value"], score["comment"], score["scorer"]) == ("thumb", 0, "wrong day", "person")
    await is_accessible_in_both_themes(page, "light")
    await page.reload()
    await expect(down).to_have_attribute("aria-pressed", "true")
    await up.click()
    await expect(up).to_have_attribute("aria-pressed", "true")
    await expect(down).to_have_attribute("aria-pressed", "false")
    await up.press("Enter")
    await expect(up).to_have_attribute("aria-pressed", "false")
    assert await listed(page, f"/v1/runs/{run}/scores") == []
    await expect(why).to_have_count(0)
