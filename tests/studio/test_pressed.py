"""What is typed and pressed counts: while an answer is awaited, while news come, and where a person goes on then."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Route, expect

from .conftest import Studio, Watched
from .session import Held, api, listed, runs
from .speaking import SpeakingApi
from .test_first_minutes import is_accessible_in_both_themes

pytestmark = pytest.mark.row("F2")

SAVED = re.compile("^Saved$")
EXPECTED = ("401", "404", "409", "ERR_")
"""What the browser tells in its console, and what these tests bring about."""
TOOL = "actum: tool/1\nname: one\nrequest: {url: https://example.org}\n"
FLOW = "actum: workflow/1\nname: flow\ninputs: {type: object, properties: {times: {type: integer}}}\n"
FIRST = "nodes:\n  first: {type: say, text: One}\n"


@pytest_asyncio.fixture(loop_scope="session")
async def speaking(tmp_path: Path) -> AsyncIterator[SpeakingApi]:
    """The model of the studio, which has said all that it will say."""
    async with SpeakingApi().served(tmp_path) as made:
        await made.say("Aye.", None)
        yield made


async def opened(studio: Studio, browser: Browser, watched: Watched) -> tuple[Page, str]:
    """A page that is signed in, and the address of the pages."""
    page = await watched.page(browser, studio, "en-GB")
    await page.goto(studio.url)
    await expect(page.get_by_role("heading", name="Chat")).to_be_visible()
    return page, studio.url.partition("#")[0]


def forgive(watched: Watched) -> None:
    watched.errors[:] = [each for each in watched.errors if not any(code in each for code in EXPECTED)]


async def test_a_message_is_typed_on_while_it_is_sent_and_nobody_is_taken_back_to_where_they_left(
    speaking: SpeakingApi, studio: Studio, browser: Browser, watched: Watched
) -> None:
    page, base = await opened(studio, browser, watched)
    message, log = page.get_by_role("textbox", name="Message"), page.get_by_role("log")
    await message.fill("First")
    other = {"actum": "agent/1", "name": "another", "description": "x", "instructions": "Be brief.", "tools": []}
    await api(page, "POST", "/v1/agents/another/draft", {"text": json.dumps(other), "revision": 0})
    await api(page, "POST", "/v1/agents/another/publish", {})
    await api(
        page, "POST", "/v1/agents/third/draft", {"text": "{}", "revision": 0}
    )  # news: the page asks for the agents
    await expect(page.get_by_role("combobox", name="Agent").get_by_role("option")).to_have_text(["another", "desk"])
    await expect(page.get_by_role("combobox", name="Agent")).to_have_value("desk")
    held = await Held.at(page, "/v1/runs$", "POST")
    await message.press("Enter")
    await held.has_come()
    await message.press("End")
    await page.keyboard.type(" and then")
    held.let.set()
    await expect(log).to_contain_text("Aye.")  # a new conversation, in the same field
    await expect(message).to_have_value("and then")
    await expect(message).to_be_focused()

    await page.get_by_role("button", name="New chat").click()
    held = await Held.at(page, "/v1/runs$", "POST")
    await message.fill("Second")
    await message.press("Enter")
    await held.has_come()
    await page.get_by_role("link", name="Runs").click()
    held.let.set()
    row = page.get_by_role("table", name="Runs").get_by_role("row").filter(has_text="Second").filter(has_text="done")
    await expect(row).to_have_count(1)
    assert page.url.endswith("/runs")
    await page.get_by_role("link", name="Chat").click()
    await expect(message).to_have_value("")  # or it would be sent again

    second, first = await runs(page, "kind=agent")
    await page.goto(f"{base}chat?session={first['session']}")
    talks = page.get_by_role("list", name="Conversations").get_by_role("link")
    await page.get_by_role("button", name="Rename").click()
    await page.get_by_role("textbox", name="Title").fill("Of the first")
    await talks.filter(has_text="Second").click()
    await expect(page.get_by_role("textbox", name="Title")).to_have_count(0)  # or it would name the other one
    held = await Held.at(page, f"/v1/sessions/{second['session']}$", "DELETE")
    await page.get_by_role("button", name="Delete").click()
    await held.has_come()
    await talks.filter(has_text="First").click()
    held.let.set()
    await expect(talks).to_have_text(["First"])
    await page.get_by_role("button", name="Rename").click()
    await expect(page.get_by_role("textbox", name="Title")).to_have_value("First")
    assert page.url.endswith(str(first["session"]))

    key = await api(page, "POST", "/v1/keys", {"id": "one", "user": "bea", "scopes": ["runs"]})
    bea = await watched.page(browser, studio, "en-GB")
    await bea.goto(base)
    beside = await bea.context.new_page()
    await beside.goto(f"{base}runs")
    for sent, shown in ((key, bea), (None, beside)):
        if sent:
            await shown.get_by_role("textbox", name="Key").fill(str(sent["key"]))
            await shown.get_by_role("button", name="Sign in").click()
        await expect(shown.get_by_role("link", name="Runs")).to_be_visible()  # both tabs by one key
    await bea.get_by_role("textbox", name="Message").fill("A long message")
    await api(page, "DELETE", "/v1/keys/one")
    again = await api(page, "POST", "/v1/keys", {"id": "two", "user": "bea", "scopes": ["runs"]})
    await bea.get_by_role("textbox", name="Key").fill(str(again["key"]))
    await bea.get_by_role("button", name="Sign in").click()
    await expect(bea.get_by_role("textbox", name="Message")).to_have_value("A long message")
    await expect(beside.get_by_role("heading", name="Runs")).to_be_visible()
    forgive(watched)


async def test_what_is_typed_into_a_draft_is_saved_whole_and_never_over_somebody_elses(
    studio: Studio, browser: Browser, watched: Watched
) -> None:
    page, base = await opened(studio, browser, watched)
    await api(page, "POST", "/v1/tools/one/draft", {"text": TOOL, "revision": 0})
    await api(page, "POST", "/v1/workflows/flow/draft", {"text": FLOW + FIRST, "revision": 0})
    await page.goto(f"{base}tools/one")
    source = page.get_by_role("textbox", name="Definition")
    await expect(page.get_by_role("status").filter(has_text=SAVED)).to_be_visible()
    held = await Held.at(page, "/v1/tools/one/draft$", "POST")
    await source.fill(f"{TOOL}description: A\n")
    await held.has_come()
    await source.fill(f"{TOOL}description: AB\n")  # and at once to another page
    await page.get_by_role("link", name="Runs").click()
    async with page.expect_response(lambda sent: "AB" in (sent.request.post_data or "")):
        held.let.set()
    assert "AB" in str((await api(page, "GET", "/v1/tools/one/draft"))["text"])

    await page.goto(f"{base}tools/one")
    await expect(source).to_have_value(f"{TOOL}description: AB\n")
    held = await Held.at(page, "/v1/events")  # the stream is opened anew: what happens meanwhile is told by none
    await page.reload()
    await held.has_come()
    await expect(source).to_have_value(f"{TOOL}description: AB\n")
    await api(page, "POST", "/v1/tools/one/draft", {"text": f"{TOOL}description: Theirs\n", "revision": 3})
    held.let.set()
    await expect(source).to_have_value(f"{TOOL}description: Theirs\n")

    await page.goto(f"{base}workflows/flow")
    await page.get_by_role("treeitem", name="first, say").click()
    text = page.get_by_role("textbox", name="text", exact=True)
    await text.click()
    await page.keyboard.press("End")
    await page.keyboard.type(" more")
    await page.get_by_role("button", name="Insert value").click()
    await page.get_by_role("dialog").get_by_role("option").first.click()
    await expect(text).to_have_value("One more${inputs.times}")
    await expect(page.get_by_role("status").filter(has_text=SAVED)).to_be_visible()
    revision = (await api(page, "GET", "/v1/workflows/flow/draft"))["revision"]
    theirs = FLOW + FIRST.replace("One", "Theirs")
    await text.press("End")
    await page.keyboard.type("x")
    await api(page, "POST", "/v1/workflows/flow/draft", {"text": theirs, "revision": revision})
    await page.keyboard.type("x" * 25, delay=80)  # without a pause, as the news come
    await expect(page.get_by_role("dialog", name="Changed elsewhere")).to_contain_text("Theirs")
    forgive(watched)


async def test_no_news_takes_a_press_away_and_no_older_answer_takes_the_place_of_news(
    studio: Studio, browser: Browser, watched: Watched
) -> None:
    page, base = await opened(studio, browser, watched)
    ended: list[str] = []
    page.on("requestfailed", lambda sent: ended.append(sent.url))
    await page.goto(f"{base}tools/calculate")
    await page.get_by_role("textbox", name="expression").fill("1 + 1")
    held = await Held.at(page, "/v1/tools/calculate/call$", "POST")
    await page.get_by_role("button", name="Try").dblclick()
    await held.has_come()
    await page.keyboard.press("Enter")
    held.let.set()
    await expect(page.get_by_role("region", name="Result")).to_contain_text("2")
    assert (held.count, len(await runs(page, "tool=calculate"))) == (1, 1)

    await page.get_by_role("link", name="Runs").click()
    table = page.get_by_role("table", name="Runs")
    await expect(table.get_by_role("row")).to_have_count(2)
    ended.clear()
    held = await Held.at(page, r"/v1/runs\?", "GET")
    declared = {"name": "pay", "description": "Pays.", "python": "def main():\n    return 1\n"}
    text = json.dumps({**declared, "effects": ["execute", "spend"]})
    await api(page, "POST", "/v1/tools/pay/draft", {"text": text, "revision": 0})
    await api(page, "POST", "/v1/tools/pay/publish", {})
    for count in (1, 2, 3):
        await api(page, "POST", "/v1/tools/pay/call", {"arguments": {}})
        await expect(page.get_by_role("link", name=f"Approvals ({count})")).to_be_visible()
    held.let.set()
    await expect(table.get_by_role("row").filter(has_text="pay")).to_have_count(3)
    assert [each for each in ended if "/v1/runs" in each] == []  # or no list would come as long as news do

    await page.get_by_role("link", name="Approvals (3)").click()
    held = await Held.at(page, r"/v1/approvals\?", is_answered=True)
    deny = page.get_by_role("button", name="Deny", exact=True).first
    await expect(deny).to_have_attribute("aria-disabled", "false")
    await deny.press("Enter")
    await held.has_come()
    await expect(page.get_by_role("link", name="Approvals (2)")).to_be_visible()
    await expect(page.get_by_role("main")).to_be_focused()  # the card that had the focus is gone
    await api(page, "POST", "/v1/tools/pay/call", {"arguments": {}})
    await expect(page.get_by_role("link", name="Approvals (3)")).to_be_visible()
    held.let.set()
    await expect(page.get_by_role("article")).to_have_count(3)

    await page.get_by_role("link", name="Settings").click()
    secrets = page.get_by_role("region", name="Secrets")
    name = secrets.get_by_role("textbox", name="Name")
    await name.fill("ONE")
    await secrets.get_by_role("textbox", name="Value").fill("0123456789")
    held = await Held.at(page, "/v1/secrets/ONE$", "PUT")
    await page.keyboard.press("Enter")
    await held.has_come()
    await name.fill("TWO")
    held.let.set()
    await expect(secrets.get_by_role("button", name="Delete ONE")).to_be_visible()
    await expect(name).to_have_value("TWO")
    await secrets.get_by_role("button", name="Delete ONE").press("Enter")
    await expect(secrets.get_by_role("button", name="Delete ONE")).to_have_count(0)
    await expect(secrets).to_be_focused()
    forgive(watched)


async def test_what_is_done_on_a_page_that_is_left_comes_together_with_what_others_did_meanwhile(
    studio: Studio, browser: Browser, watched: Watched
) -> None:
    page, base = await opened(studio, browser, watched)
    flow = FLOW + FIRST + "  second: {type: say, text: Two}\n"
    await api(page, "POST", "/v1/workflows/flow/draft", {"text": flow, "revision": 0})
    await page.goto(f"{base}workflows/flow")
    await page.get_by_role("treeitem", name="first, say").click()
    await expect(page.get_by_role("status").filter(has_text=SAVED)).to_be_visible()
    held = await Held.at(page, "/v1/workflows/flow/draft$", "POST")
    await page.get_by_role("textbox", name="text", exact=True).fill("Mine")
    await held.has_come()
    beside = await page.context.new_page()
    await beside.goto(f"{base}runs")
    theirs = flow.replace("Two", "Theirs")
    await api(beside, "POST", "/v1/workflows/flow/draft", {"text": theirs, "revision": 1})
    await page.get_by_role("link", name="Runs").click()
    await expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    async with page.expect_response(
        lambda came: came.request.method == "POST" and came.url.endswith("/draft") and came.ok
    ):
        held.let.set()
    await page.get_by_role("link", name="Workflows").click()
    await page.get_by_role("link", name="flow", exact=True).click()
    await page.get_by_role("treeitem", name="second, say").click()
    await expect(page.get_by_role("textbox", name="text", exact=True)).to_have_value("Theirs")
    saved = await api(page, "GET", "/v1/workflows/flow/draft")
    assert saved["text"] == theirs.replace("One", "Mine")
    forgive(watched)


async def cut(route: Route) -> None:
    """The request is done, and its answer is lost."""
    await route.fetch()
    await route.abort()


async def broken(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """An answer that ends in its middle."""
    writer.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"items": [')
    await writer.drain()
    writer.close()


async def test_a_press_whose_answer_is_lost_is_pressed_again_and_done_once_and_a_slow_one_keeps_no_other_one_back(
    studio: Studio, browser: Browser, watched: Watched
) -> None:
    page, base = await opened(studio, browser, watched)
    lost = page.get_by_role("alert").filter(has_text="The server did not answer.")
    await page.goto(f"{base}tools/calculate")
    await page.evaluate("dispatchEvent(new Event('offline'))")  # the server is on this machine
    result = page.get_by_role("region", name="Result")
    await page.get_by_role("textbox", name="expression").fill("1 + 1")
    await page.route(re.compile("/v1/tools/calculate/call$"), cut, times=1)
    await page.get_by_role("button", name="Try").click()
    await expect(lost).to_be_visible()
    await page.get_by_role("button", name="Try").click()
    await expect(result).to_contain_text("done")
    assert len(await runs(page, "tool=calculate")) == 1
    async with page.expect_response("**/v1/tools/calculate/call"):
        await page.get_by_role("button", name="Try").click()
    assert len(await runs(page, "tool=calculate")) == 2

    await page.goto(f"{base}tools")
    await page.get_by_role("button", name="New tool").click()
    paste = page.get_by_role("textbox", name="Paste")
    held = await Held.at(page, "/v1/definitions/read$")
    await paste.fill("curl https://1.1.1.1/first")
    await page.get_by_role("button", name="Read").click()
    await held.has_come()
    await paste.fill("curl https://1.1.1.1/second")
    async with page.expect_request("**/v1/definitions/read"):
        await page.get_by_role("button", name="Read").click()
    held.let.set()
    await expect(page.locator("pre.value")).to_contain_text("second")
    await page.get_by_role("link", name="Runs").click()
    await expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    await page.get_by_role("link", name="Tools").click()
    await page.get_by_role("button", name="New tool").click()
    await expect(paste).to_have_value("curl https://1.1.1.1/second")

    await page.goto(f"{base}settings")
    models = page.get_by_role("region", name="Models")
    held = await Held.at(page, "/v1/connections/test$")
    await models.get_by_role("combobox", name="Provider").select_option(label="another address")
    for name in ("slow", "other"):
        await models.get_by_role("textbox", name="Address").fill(f"http://127.0.0.1:9/{name}")
        await models.get_by_role("textbox", name="Model").fill("m")
        async with page.expect_request("**/v1/connections/test"):
            await models.get_by_role("button", name="Test").click()
    held.let.set()
    await expect(models.get_by_role("status")).to_have_text("Unreachable")

    secrets = page.get_by_role("region", name="Secrets")
    await api(page, "PUT", "/v1/secrets/ONE", {"value": "0123456789"})
    await page.reload()
    await page.route(re.compile("/v1/secrets/ONE$"), cut, times=1)
    await secrets.get_by_role("button", name="Delete ONE").click()
    await expect(lost).to_be_visible()
    await expect(secrets.get_by_role("button", name="Delete ONE")).to_have_count(0)

    async with await asyncio.start_server(broken, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        await page.route("**/v1/audit?*", lambda route: route.continue_(url=f"http://127.0.0.1:{port}/"))
        await page.get_by_role("link", name="Audit").click()
        await expect(page.get_by_role("heading", name="Audit")).to_be_visible()
        await expect(lost).to_be_visible()
    await page.unroute("**/v1/audit?*")
    await page.reload()
    await expect(page.get_by_role("table", name="Audit")).to_be_visible()
    forgive(watched)


async def test_a_run_is_shown_while_its_news_come_faster_than_answers_and_stays_where_an_answer_is_lost(
    studio: Studio, browser: Browser, watched: Watched
) -> None:
    page, base = await opened(studio, browser, watched)
    ended: list[str] = []
    page.on("requestfailed", lambda sent: ended.append(sent.url))
    declared = {
        "name": "pay",
        "description": "Pays.",
        "parameters": {"to": "string"},
        "python": "def main(to):\n    return to\n",
        "effects": ["execute", "spend"],
    }
    await api(page, "POST", "/v1/tools/pay/draft", {"text": json.dumps(declared), "revision": 0})
    await api(page, "POST", "/v1/tools/pay/publish", {})
    flow = "actum: workflow/1\nname: flow\nnodes:\n"
    flow += "".join(f"  {name}: {{type: tool, tool: pay, with: {{to: {name}}}}}\n" for name in ("one", "two", "three"))
    flow += "edges: [one > two, two > three]\n"
    await api(page, "POST", "/v1/workflows/flow/draft", {"text": flow, "revision": 0})
    await api(page, "POST", "/v1/workflows/flow/publish", {})
    run = (await api(page, "POST", "/v1/workflows/flow/run", {"inputs": {}}))["id"]
    beside = await page.context.new_page()
    await beside.goto(f"{base}approvals")

    async def approve(to: str) -> None:
        card = beside.get_by_role("article", name="Approval: pay").filter(has_text=to)
        await card.get_by_role("button", name="Approve").click()
        await expect(card).to_have_count(0)

    held = await Held.at(page, f"/v1/runs/{run}(/timeline)?$")
    await page.goto(f"{base}runs/{run}")
    await held.has_come()
    await approve("one")
    held.let.set()
    tree = page.get_by_role("treegrid", name="Waterfall")
    await expect(tree.get_by_role("row").filter(has_text="two")).not_to_have_count(0)
    assert [each for each in ended if str(run) in each] == []  # or nothing would be shown as long as news come
    await page.get_by_role("button", name="Branch off").click()
    await page.get_by_role("combobox", name="Branch off at").select_option(index=1)
    await page.get_by_role("textbox", name="Another result").fill("2")
    await page.route(re.compile(f"/v1/runs/{run}(/timeline)?$"), lambda route: route.abort())
    await approve("two")
    await expect(page.get_by_role("alert")).to_have_count(2)
    await expect(page.get_by_role("textbox", name="Another result")).to_have_value("2")
    await expect(tree.get_by_role("row").filter(has_text="two")).not_to_have_count(0)
    forgive(watched)


_TOO_SOON = """async button => {
    for (let at = 0; button.getAttribute("aria-disabled") !== "true"; at = (at + 1) % 50) {
        document.body.style.paddingTop = `${at}px`;
        await new Promise(later => setTimeout(later, 20));
    }
    button.click();
}"""
"""Moves a button until it has not been at its place for half a second, and presses it in the same moment."""
TOLD = {
    "en-GB": (
        "Approve",
        "That press did not count",
        "Publish",
        "is in use.",
        "is not known now: calls of the tool fail",
    ),
    "zh-CN": ("批准", "刚才的点击没有生效", "发布", "正在使用版本", "现在查不到主机名"),
}


async def test_a_press_that_comes_too_soon_and_what_a_publisher_should_know_are_told_in_both_languages(
    studio: Studio, browser: Browser, watched: Watched
) -> None:
    for at, (language, words) in enumerate(TOLD.items()):
        approve, too_soon, publish, in_use, unknown = words
        page = await watched.page(browser, studio, language)
        await page.set_viewport_size({"width": 1280, "height": 1_600})
        await page.goto(studio.again() if at else studio.url)
        await expect(page.get_by_role("link", name=re.compile("^(Tools|工具)$"))).to_be_visible()  # signed in
        name = f"away{at}"
        declared = {
            "name": name,
            "description": "Away.",
            "http": {"url": "https://nowhere.invalid/x"},
            "effects": ["spend"],
        }
        await api(page, "POST", f"/v1/tools/{name}/draft", {"text": json.dumps(declared), "revision": 0})
        await page.goto(f"{studio.url.partition('/studio/')[0]}/studio/tools/{name}")
        button = page.get_by_role("button", name=publish)
        await expect(button).to_be_enabled()
        await button.evaluate(_TOO_SOON)
        await expect(page.get_by_role("main").get_by_text(too_soon)).to_be_visible()
        assert await listed(page, "/v1/tools?query=away") == [], "nothing was published"
        await button.click()
        await expect(page.get_by_role("status").filter(has_text=in_use)).to_contain_text(unknown)
        await expect(page.get_by_role("main").get_by_text(too_soon)).to_have_count(0)
        await is_accessible_in_both_themes(page, "light")

        await api(page, "POST", f"/v1/tools/{name}/call", {"arguments": {}})
        await page.goto(f"{studio.url.partition('/studio/')[0]}/studio/approvals")
        card = page.get_by_role("article").filter(has_text=name)
        yes = card.get_by_role("button", name=approve)
        await expect(yes).to_be_enabled()
        await yes.evaluate(_TOO_SOON)
        await expect(card.get_by_text(too_soon)).to_be_visible()
        await expect(page.get_by_role("status").filter(has_text=too_soon)).to_have_count(1)  # for screen readers
        assert len(await listed(page, "/v1/approvals")) == 1, "nobody has answered"
        await yes.click()
        await expect(card).to_have_count(0)
        assert await listed(page, "/v1/approvals") == []
        assert await api(page, "POST", f"/v1/tools/{name}/unpublish", {}) != {}
    forgive(watched)
