"""Several people at once: two servers behind one database, approvals that two must give and that expire, another tenant
that sees nothing, and a result of 5 MB.
"""

from __future__ import annotations

import re
import subprocess
import sys
from asyncio import gather
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests import warm
from tests.patience import HANGS_S

from .conftest import START, Studio, Watched, environment, studio_in
from .session import api, listed, runs

pytestmark = pytest.mark.row("F2")

LARGE = 5 * 1024 * 1024
TOOLS = f'''
from pathlib import Path

from actum import tool


@tool(effects="spend")
def pay(to: str) -> str:
    """Pay money to somebody.

    Args:
        to: Who gets the money.
    """
    with Path("paid").open("a") as paid:
        paid.write(to + "\\n")
    return f"paid {{to}}"


@tool(effects="send")
def post(text: str) -> str:
    """Post a text.

    Args:
        text: What is posted.
    """
    return text


@tool(effects="read")
def dump() -> str:
    """All that there is."""
    return "<b>x" * ({LARGE} // 4)
'''
POLICY = """
[[rules]]
tools = "pay"
then = "ask"
approvers = ["ada", "bob"]
quorum = 2

[[rules]]
tools = "post"
then = "ask"
expires = 4
"""


def key_of_north(folder: Path) -> str:
    """The text of a new key of another tenant, which the operator alone makes."""
    command = [sys.executable, "-c", START, "keys", "add", "eve", "--tenant", "north", "--scope", "admin"]
    done = warm.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=True)
    return str(done.stdout).strip()


@contextmanager
def second_server(folder: Path) -> Iterator[str]:
    """`actum serve` on the journal of the studio: its address."""
    command = [sys.executable, "-c", START, "serve", "--http", "127.0.0.1:0"]
    environ = environment(folder)
    process = warm.popen(command, cwd=folder, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        address = next(found[0] for line in process.stderr if (found := re.search(r"http://[\d.:]+", line)))
        yield f"{address}/studio/"
    finally:
        process.terminate()
        process.communicate(timeout=HANGS_S)


async def signed_in(page: Page, address: str, text: str) -> Page:
    await page.goto(address)
    await page.get_by_role("textbox", name="Key").fill(text)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("link", name="Runs")).to_be_visible()
    return page


@pytest.fixture
def folder(bundle: None, tmp_path: Path) -> Path:
    """Tools that spend, send and read, and who has to agree."""
    (tmp_path / "shop.py").write_text(TOOLS, "utf-8")
    (tmp_path / "policy.toml").write_text(POLICY, "utf-8")
    (tmp_path / "actum.toml").write_text('tools = ["shop.py"]\npolicy = "policy.toml"\n', "utf-8")
    return tmp_path


async def test_two_people_at_two_servers_agree_and_another_tenant_sees_none_of_it(
    folder: Path, browser: Browser, watched: Watched
) -> None:
    keys = {"eve": key_of_north(folder)}
    with studio_in(folder) as studio, second_server(folder) as other:
        base = studio.url.partition("#")[0]
        elsewhere = Studio(folder, other, studio.process)
        root = await watched.page(browser, studio, "en-GB")
        await root.goto(studio.url)
        await expect(root.get_by_role("heading", name="Chat")).to_be_visible()
        for name in ("ada", "bob"):
            made = await api(root, "POST", "/v1/keys", {"id": name, "user": name, "scopes": ["approve", "runs"]})
            keys[name] = str(made["key"])
        places = {"ada": (elsewhere, other), "bob": (studio, base), "eve": (studio, base)}
        pages = [await watched.page(browser, where, "en-GB") for where, _ in places.values()]
        people = zip(pages, places.items(), strict=True)
        ada, bob, eve = await gather(*(signed_in(page, at, keys[name]) for page, (name, (_, at)) in people))
        await api(root, "POST", "/v1/tools/pay/call", {"arguments": {"to": "Carl"}})
        told = await api(root, "POST", "/v1/tools/post/call", {"arguments": {"text": "late"}})

        for page in (ada, bob):
            await page.get_by_role("link", name="Approvals (2)").click()
        await expect(ada.get_by_role("article", name="Approval: post")).to_contain_text("expires")
        for page in (ada, bob):  # a card that goes moves what is there, and a press right after a move does not count
            await expect(page.get_by_role("article", name="Approval: post")).to_have_count(0)
        card = ada.get_by_role("article", name="Approval: pay")
        await expect(card).to_contain_text("0 of 2 have agreed")
        approve = card.get_by_role("button", name="Approve")
        await expect(approve).to_have_attribute("aria-disabled", "false")
        await approve.click()
        at_bob = bob.get_by_role("article", name="Approval: pay")
        await expect(at_bob).to_contain_text("1 of 2 have agreed")  # told by the other server
        assert not (folder / "paid").exists()
        await at_bob.get_by_role("button", name="Approve").click()
        await expect(card).to_have_count(0)
        await root.get_by_role("link", name="Runs").click()
        table = root.get_by_role("table", name="Runs")
        await expect(table.get_by_role("row").filter(has_text="pay").filter(has_text="done")).to_have_count(1)
        assert (folder / "paid").read_text("utf-8") == "Carl\n"  # one of the two servers went on with it
        await ada.goto(f"{other}runs")
        await expect(ada.get_by_text("No run fits")).to_be_visible()  # the run is another person's
        (paid,) = await runs(root, "tool=pay")
        assert paid["status"] == "done"

        big = await api(root, "POST", "/v1/tools/dump/call", {"arguments": {}})
        await root.goto(f"{base}runs/{big['run']}")
        await root.get_by_role("article", name="Tool call: dump").locator("summary").click()
        left = root.get_by_text(re.compile(r"… and \d+ more characters"))
        await expect(left).to_have_count(2)  # in the card, and behind the waterfall
        assert len(await root.locator("main").inner_text()) < 100_000

        await expect(bob.get_by_role("article")).to_have_count(0)  # what expired is gone
        expired = await api(root, "GET", f"/v1/runs/{told['run']}")
        assert expired["status"] not in ("waiting", "paused"), expired

        await expect(eve.get_by_role("link", name="Approvals")).to_have_text("Approvals")  # without a count
        for name in ("Runs", "Approvals", "Audit", "Settings"):
            await eve.get_by_role("link", name=name).click()
            await expect(eve.get_by_role("heading", level=1)).to_have_text(name)
            await expect(eve.get_by_text("Loading…")).to_have_count(0)
            text = await eve.locator("body").inner_text()
            assert not re.search(r"\b(Carl|ada|bob|pay|post|late)\b", text), text
        assert await listed(eve, "/v1/runs?kind=call&counts=status") == []
        assert [each["id"] for each in await listed(eve, "/v1/keys")] == ["eve"]
        await eve.goto(f"{base}runs/{paid['id']}")
        await expect(eve.get_by_role("alert").first).to_be_visible()
    watched.errors[:] = [error for error in watched.errors if "status of 404" not in error and "ERR_" not in error]
