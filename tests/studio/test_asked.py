"""What waits for a person is answered in the browser: by other arguments, in forms, and where a doubt is settled."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from actum.compose.agents import open_agents
from actum.compose.journals import journal_path
from actum.compose.settings import read_settings
from actum.storage.sqlite import SQLiteJournal
from actum.testing import FakeClock
from tests.web import listening

from .conftest import Studio, Watched, environment, studio_in
from .session import Held, api, listed, runs

pytestmark = pytest.mark.row("F2")

TOOLS = '''
import os
from pathlib import Path

from actum import Context, tool

FORM = {
    "type": "object",
    "properties": {"people": {"type": "integer", "description": "How many come."}, "window": {"type": "boolean"}},
    "required": ["people"],
}


@tool(effects="spend", approval=True)
def pay(to: str, amount: float) -> str:
    """Pay money to somebody.

    Args:
        to: Who gets the money.
        amount: How much, in euros.
    """
    mark = Path("paid")
    if to == "Eve" and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), 9)
    return f"paid {amount} to {to}"


@tool
async def book(ctx: Context, place: str) -> str:
    """Book a table.

    Args:
        place: The restaurant.
    """
    given = await ctx.elicit(f"A table at {place}: for how many?", FORM)
    return f"booked {given}"
'''


@pytest.fixture
def with_tools(tmp_path: Path) -> None:
    """The person's folder has a tool that spends, and one that asks."""
    (tmp_path / "shop.py").write_text(TOOLS, "utf-8")
    (tmp_path / "actum.toml").write_text('tools = ["shop.py"]\n', "utf-8")


async def test_arguments_are_changed_and_forms_are_filled_in_and_the_record_says_so(
    with_tools: None, studio: Studio, browser: Browser, watched: Watched
) -> None:
    page = await watched.page(browser, studio, "en-GB")
    await page.goto(studio.url)
    await page.get_by_role("link", name="Approvals").click()
    await api(page, "POST", "/v1/tools/pay/call", {"arguments": {"to": "Ada", "amount": 20}})
    card = page.get_by_role("article", name="Approval: pay")
    await card.get_by_role("button", name="Edit arguments").click()
    await card.get_by_role("textbox", name="amount").fill("")
    await card.get_by_role("textbox", name="amount").press_sequentially("2.5")
    approve = card.get_by_role("button", name="Approve")
    await expect(approve).to_have_accessible_description("This changes something outside the conversation. pay")
    await approve.click()
    await expect(card).to_have_count(0)
    await api(page, "POST", "/v1/tools/book/call", {"arguments": {"place": "Rossi"}})
    card = page.get_by_role("article", name="Approval: book")
    await expect(card).to_contain_text("A table at Rossi: for how many?")
    await card.get_by_role("textbox", name="people").fill("4")
    await card.get_by_role("checkbox", name="window").check()
    await card.get_by_role("button", name="Answer").click()
    await expect(card).to_have_count(0)
    await page.get_by_role("link", name="Runs").click()
    for tool, result in (("pay", "paid 2.5 to Ada"), ("book", "'people': 4, 'window': True")):
        await page.get_by_role("textbox", name="Tool").fill(tool)
        row = page.get_by_role("table", name="Runs").get_by_role("row").filter(has_text=tool)
        await expect(row.filter(has_text="done")).to_have_count(1)
        await expect(page).to_have_url(re.compile(f"tool={tool}"))
        (run,) = await runs(page, f"tool={tool}")
        assert result in json.dumps(run), run


async def test_what_is_written_in_one_card_stays_while_the_other_call_of_its_reply_is_answered_and_on_other_pages(
    with_tools: None, studio: Studio, browser: Browser, watched: Watched
) -> None:
    page = await watched.page(browser, studio, "en-GB")
    await page.goto(studio.url)
    await page.get_by_role("link", name="Approvals").click()
    (agent,) = await listed(page, "/v1/agents")
    question = "Pay 20 euros to Ada and 30 euros to Bob"
    await api(page, "POST", "/v1/runs", {"agent": agent["name"], "question": question})
    cards = page.get_by_role("article", name="Approval: pay")
    await expect(page.get_by_role("button", name="Approve all 2")).to_be_visible()
    await cards.last.get_by_role("button", name="Edit arguments").click()
    await cards.last.get_by_role("textbox", name="amount").fill("31")
    first, second = await listed(page, "/v1/approvals")
    await api(page, "POST", f"/v1/approvals/{first['id']}", {"verdict": "deny"})
    await expect(cards).to_have_count(1)
    amount = cards.get_by_role("textbox", name="amount")
    await expect(amount).to_have_value("31")
    await expect(amount).to_be_focused()
    await page.get_by_role("link", name="Runs").click()
    await expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    await page.get_by_role("link", name="Approvals (1)").click()
    await expect(amount).to_have_value("31")
    await cards.get_by_role("button", name="Approve").click()
    await expect(cards).to_have_count(0)
    await page.goto(f"{studio.url.partition('#')[0]}runs/{second['run']}")
    await expect(page.get_by_text("done", exact=True).first).to_be_visible()
    (run,) = await runs(page, "tool=pay")
    assert "paid 31 to Bob" in json.dumps(run)
    assert "to Ada" not in json.dumps(run).partition("paid ")[2]


async def test_a_payment_of_which_nobody_knows_whether_it_happened_is_settled_in_its_card(
    with_tools: None, bundle: None, tmp_path: Path, browser: Browser, watched: Watched
) -> None:
    with listening() as free:
        place = f"127.0.0.1:{free.getsockname()[1]}"
    with studio_in(tmp_path, place) as studio:
        page = await watched.page(browser, studio, "en-GB")
        await page.goto(studio.url)
        await page.get_by_role("textbox", name="Message").fill("Pay 20 euros to Eve")
        await page.get_by_role("button", name="Send").click()
        card = page.get_by_role("article", name="Tool call: pay")
        await card.get_by_role("button", name="Approve").click()
        await expect(page.get_by_role("status").filter(has_text="lost")).to_be_visible()
    with studio_in(tmp_path, place):
        await page.get_by_role("button", name="Resume").click()
        await card.get_by_role("button", name="It was done").click()
        await expect(page.get_by_role("button", name="It was done")).to_have_count(0)
        await expect(page.get_by_role("log").get_by_text("done", exact=True)).to_be_visible()
        (run,) = await runs(page, "tool=pay")
        assert run["status"] == "done", run
    watched.errors[:] = [error for error in watched.errors if "ERR_" not in error]


@pytest.mark.row("C4")
async def test_what_was_asked_six_weeks_ago_is_done_once_and_a_changed_agent_goes_on_only_on_a_word(
    bundle: None, tmp_path: Path, browser: Browser, watched: Watched
) -> None:
    tools = tmp_path / "shop.py"
    tools.write_text(TOOLS, "utf-8")
    instructions = {"till": "Pay what is due.", "desk": "Pay what is due."}

    def write() -> None:
        tables = "".join(f"[agents.{name}]\ninstructions = {text!r}\n" for name, text in instructions.items())
        (tmp_path / "actum.toml").write_text(f"tools = [{str(tools)!r}]\n{tables}", "utf-8")

    write()
    variables = environment(tmp_path)
    settings = read_settings(tmp_path, variables, {})
    journal_path(settings, variables).parent.mkdir(parents=True)
    clock = FakeClock(time.time() - 6 * 7 * 86_400)
    journal = SQLiteJournal(journal_path(settings, variables), now=clock.now)
    async with open_agents(settings, variables, tmp_path, journal=journal) as agents:
        for name, to in (("till", "Ada"), ("desk", "Bob")):
            waiting = await agents.get(name).run(f"Pay 20 euros to {to}")
            assert waiting.status == "paused", waiting
    await journal.close()
    instructions["desk"] = "Be brief."  # within these weeks
    write()
    with studio_in(tmp_path) as studio:
        page = await watched.page(browser, studio, "en-GB")
        await page.set_viewport_size({"width": 1280, "height": 1_200})  # a press right after scrolling does not count
        await page.goto(studio.url)
        await page.get_by_role("link", name="Approvals").click()
        for name in ("till", "desk"):
            card = page.get_by_role("article", name="Approval: pay").filter(has_text=f"through {name}")
            await card.get_by_role("button", name="Approve").click()
            await expect(card).to_have_count(0)
        alert = page.get_by_role("alert")
        await expect(alert).to_contain_text("The answer is on record, and the run does not go on: run ")
        await expect(alert).to_contain_text("is of another version of the agent 'desk'")
        await page.get_by_role("link", name="Open the run").click()
        resume = page.get_by_role("button", name="Resume")
        held = await Held.at(page, "/resume$")
        await resume.click()
        await held.has_come()
        (run,) = await runs(page, "agent=desk")
        journal = SQLiteJournal(journal_path(settings, variables))
        async with journal.claim(str(run["id"])):  # as the server holds the run while it tries to go on
            # The news of another run have the page ask for this one.
            await api(page, "POST", "/v1/tools/pay/call", {"arguments": {"to": "Ada", "amount": 1}})
            await expect(resume).to_have_count(0)
        await journal.close()
        held.let.set()
        await page.get_by_role("button", name="Go on with the agent as it is now").click()
        await expect(page.get_by_text("done", exact=True).first).to_be_visible()
        for name, to in (("till", "Ada"), ("desk", "Bob")):
            (run,) = await runs(page, f"agent={name}")
            assert run["status"] == "done", run
            assert json.dumps(run).count(f"paid 20 to {to}") == 2, run
            assert isinstance(run["started"], float)
            assert abs(run["started"] - clock.now()) < 60
    watched.errors[:] = [error for error in watched.errors if "409" not in error]


async def test_all_that_waits_can_be_seen_and_a_run_shows_what_it_waits_for_however_much_waits_before(
    with_tools: None, studio: Studio, browser: Browser, watched: Watched
) -> None:
    page = await watched.page(browser, studio, "en-GB")
    await page.goto(studio.url)
    await expect(page.get_by_role("link", name="Approvals")).to_be_visible()
    for number in range(102):
        await api(page, "POST", "/v1/tools/pay/call", {"arguments": {"to": f"Ada {number}", "amount": 1}})
    await page.get_by_role("link", name="Approvals").click()
    cards = page.get_by_role("article")
    await expect(cards).to_have_count(100)
    more = page.get_by_role("button", name="Show more")
    await more.click()
    await expect(cards).to_have_count(102)
    await expect(more).to_have_count(0)
    await expect(cards.last).to_contain_text("Ada 101")
    await page.get_by_role("link", name="Tools").click()
    await page.get_by_role("link", name="pay", exact=True).click()
    await page.get_by_role("textbox", name="to").fill("Bob")
    await page.get_by_role("textbox", name="amount").fill("1")
    await page.get_by_role("button", name="Try").click()
    await expect(page.get_by_role("button", name="Approve")).to_have_count(1)
    watched.errors[:] = [error for error in watched.errors if "404" not in error]  # no such tool is published
