"""Two worked examples in the browser: a flight within a budget, as a workflow that is imported, and a bank transfer in
the chat. People run, approve and are refused; the record and the services have all of it.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from actum.core.json import JsonObject
from examples.bank_transfer import main as bank_example
from examples.bank_transfer.model import hijacked, script
from examples.flight_workflow import main as flight_example
from examples.local_services.bank import Bank
from examples.local_services.flights import FlightDesk, today
from examples.local_services.serving import serving
from examples.local_services.ways import NATIVE, endpoint
from tests.chat_server import ChatServer

from .conftest import Studio, Watched, studio_in
from .session import api, listed, runs
from .test_shared import signed_in
from .test_workflow_files import chosen
from .test_workflows import EXPECTED, TALL, saved_text

pytestmark = [pytest.mark.row("F2"), pytest.mark.row("C3"), pytest.mark.row("C4")]

TOOLS = """
from examples.bank_transfer.desk import desk as bank
from examples.flight_booking.desk import desk as travel

search_flights, book_flight = travel("{flights}")
get_balance, read_mail, transfer = bank("{bank}")
"""
SETTINGS = """
tools = ["desk.py"]
speaks_for_user = ["local"]
policy = "policy.toml"

[agents.clerk]
model = "{honest}/v1#model"
dialect = "native"

[agents.hijacked]
model = "{obeying}/v1#model"
dialect = "native"
"""
FLIGHTS = """
[[rules]]
tools = "search_flights"
then = "allow"

[[rules]]
tools = "book_flight"
then = "ask"
"""
"""What the policy of the bank says nothing of."""
ADVICE = "后天有 980 元的航班。"


class Desk(NamedTuple):
    """A studio whose tools ask a flight desk and a bank; of its two clerks one obeys a hostile mail."""

    studio: Studio
    flights: FlightDesk
    bank: Bank
    model: ChatServer


@pytest_asyncio.fixture(loop_scope="session")
async def desk(bundle: None, tmp_path: Path) -> AsyncIterator[Desk]:
    """The services, the settings and the studio."""
    flights, bank = FlightDesk(), Bank(bank_example.HOSTILE)
    clerks = [endpoint(each, NATIVE).app for each in (script, hijacked)]
    async with serving(flights.service(), bank.service(), *clerks) as (flights_url, bank_url, honest, obeying):
        (tmp_path / "desk.py").write_text(TOOLS.format(flights=flights_url, bank=bank_url), "utf-8")
        (tmp_path / "policy.toml").write_text(bank_example.POLICY.read_text("utf-8") + FLIGHTS, "utf-8")
        (tmp_path / "actum.toml").write_text(SETTINGS.format(honest=honest, obeying=obeying), "utf-8")
        with ChatServer([ADVICE]) as model, studio_in(tmp_path) as studio:
            yield Desk(studio, flights, bank, model)


async def started(page: Page, **inputs: str) -> None:
    """Run the workflow of the page with these inputs."""
    await page.get_by_role("button", name="Run", exact=True).click()
    dialog = page.get_by_role("dialog", name="Run")
    for name, text in inputs.items():
        await dialog.get_by_role("textbox", name=name, exact=True).fill(text)
    await dialog.get_by_role("button", name="Start").click()
    await expect(dialog).to_have_count(0)


async def stands(page: Page, node: str, state: str) -> None:
    """The outline says that the node stands so in the run that is shown."""
    item = page.get_by_role("treeitem", name=re.compile(f"^{node}, .*{state}$"))
    await expect(item).to_be_visible()


async def approved(card: Page, name: str) -> None:
    """Press Approve of the card, once the press counts."""
    button = card.get_by_role("article", name=name).get_by_role("button", name="Approve")
    await expect(button).to_have_attribute("aria-disabled", "false")
    await button.click()


async def tools_of(page: Page, run: JsonObject) -> list[tuple[str, str]]:
    """The calls of a run, as its timeline has them: tool and state."""
    spans = (await api(page, "GET", f"/v1/runs/{run['id']}/timeline"))["spans"]
    assert isinstance(spans, list)
    return [
        (str(each["name"]), str(each["state"])) for each in spans if isinstance(each, dict) and each["kind"] == "call"
    ]


async def test_a_flight_is_booked_and_money_moved_only_where_a_person_has_approved_in_the_browser(
    desk: Desk, browser: Browser, watched: Watched
) -> None:
    page = await watched.page(browser, desk.studio, "en-GB")
    await page.set_viewport_size(TALL)
    await page.goto(desk.studio.url)
    await expect(page.get_by_role("link", name="Workflows")).to_be_visible()
    base = desk.studio.url.partition("#")[0]
    await books_a_flight_once_and_suggests_other_dates(page, base, desk)
    keys: list[str] = []
    for name, scopes in (("ada", ["runs"]), ("bob", ["runs", "approve"])):
        key: JsonObject = {"id": name, "user": name, "scopes": [*scopes], "speaks_for": "user"}
        keys.append(str((await api(page, "POST", "/v1/keys", key))["key"]))
    ada, bob = [await signed_in(await watched.page(browser, desk.studio, "en-GB"), base, each) for each in keys]
    await moves_money_once_a_manager_approves(page, ada, bob, base, desk.bank)
    await moves_nothing_for_a_hijacked_model(page, ada, base, desk.bank)
    watched.errors[:] = [each for each in watched.errors if not any(code in each for code in EXPECTED)]


async def books_a_flight_once_and_suggests_other_dates(page: Page, base: str, desk: Desk) -> None:
    await page.goto(f"{base}workflows")
    await chosen(
        page,
        "Import",
        {"name": "flights.yaml", "mimeType": "text/yaml", "buffer": flight_example.FILE.read_bytes()},
    )
    card = page.get_by_role("region", name="Import")
    await expect(card.get_by_role("textbox", name="Name")).to_have_value("flight_desk")
    await card.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("treeitem", name=re.compile("^book, tool"))).to_be_visible()
    assert await saved_text(page, "/v1/workflows/flight_desk/draft") == flight_example.FILE.read_text("utf-8")
    await page.get_by_role("treeitem", name=re.compile("^other, model")).click()
    await page.get_by_role("complementary", name="Node").get_by_label("model", exact=True).fill(f"{desk.model.url}#m")
    assert f"model: {desk.model.url}#m" in await saved_text(page, "/v1/workflows/flight_desk/draft")
    await expect(page.get_by_text("Nothing is wrong with it.")).to_be_visible()
    wishes = {
        "origin": "北京",
        "destination": "上海",
        "date": (today() + datetime.timedelta(days=1)).isoformat(),
        "budget": "2000",
        "passenger": "李雷",
    }
    await started(page, **wishes)
    await stands(page, "book", "waiting")
    assert desk.flights.booked == {}
    (waiting,) = await listed(page, "/v1/approvals")
    assert waiting["tool"] == "book_flight"
    await approved(page, "Tool call: book_flight")
    await stands(page, "book", "done")
    await stands(page, "other", "skipped")
    assert [*desk.flights.booked.values()] == [("MU5101", "李雷")]
    await started(page, **(wishes | {"budget": "1000"}))
    await stands(page, "other", "done")
    await stands(page, "book", "skipped")
    await expect(page.get_by_role("region", name="Run", exact=True)).to_contain_text(ADVICE)
    above, within = await runs(page, "kind=workflow")
    assert (above["status"], above["outputs"]) == ("done", {"booked": None, "advice": ADVICE})
    assert (within["status"], within["draft"]) == ("done", "workflow/flight_desk")
    assert await tools_of(page, within) == [("search_flights", "done"), ("book_flight", "done")]
    assert await tools_of(page, above) == [("search_flights", "done")]
    assert len(desk.flights.booked) == 1


async def asks(page: Page, question: str) -> Locator:
    """Ask the agent of the page, and give the conversation."""
    await page.get_by_role("textbox", name="Message").fill(question)
    await page.get_by_role("button", name="Send", exact=True).click()
    return page.get_by_role("log")


async def moves_money_once_a_manager_approves(root: Page, ada: Page, bob: Page, base: str, bank: Bank) -> None:
    for page in (ada, bob):
        await page.set_viewport_size(TALL)
        await page.goto(f"{base}chat/clerk")
    log = await asks(bob, bank_example.SMALL)
    await expect(log).to_contain_text("This is not an account of the user.")
    log = await asks(ada, bank_example.TOO_MUCH)
    await expect(log).to_contain_text("The balance is too low.")  # nobody is asked
    log = await asks(ada, bank_example.LARGE)
    await expect(log.get_by_role("article", name="Tool call: transfer").last).to_contain_text("waiting")
    assert bank.transfers == {}
    await bob.get_by_role("link", name="Approvals (1)").click()
    await approved(bob, "Approval: transfer")
    await expect(log).to_contain_text("Done: 500")
    assert [*bank.transfers.values()] == [("ada-main", "bob-main", 500)]
    paid, *_ = await runs(root, "agent=clerk")
    assert paid["status"] == "done"
    decided = await listed(root, f"/v1/audit?run={paid['id']}")
    assert [(each["principal"], each["by"]) for each in decided if each["decision"] == "approved"] == [("ada", "bob")]
    assert [each["decision"] for each in decided].count("checked") == 2  # the balance, before bob was asked and after
    await root.goto(f"{base}audit")
    await root.get_by_role("searchbox", name="Search").fill("transfer")
    await expect(root.get_by_role("table", name="Audit")).to_contain_text("approved")


async def moves_nothing_for_a_hijacked_model(root: Page, ada: Page, base: str, bank: Bank) -> None:
    await ada.goto(f"{base}chat/hijacked")
    log = await asks(ada, bank_example.MAIL)
    attempts = log.get_by_role("article", name="Tool call: transfer")
    await expect(log).to_contain_text("It was not made.")
    await expect(attempts).to_have_count(8)
    await expect(attempts.filter(has_text="denied")).to_have_count(8)
    assert len(bank.transfers) == 1
    assert bank.balances["mallory-1"] == 0
    (talk,) = await runs(root, "agent=hijacked")
    assert {state for tool, state in await tools_of(root, talk) if tool == "transfer"} == {"denied"}
