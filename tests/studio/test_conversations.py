"""Conversations: files go along, a question is sent again in another form, and each is found, kept and deleted."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from .conftest import Studio, Watched
from .session import api, listed, runs
from .speaking import SpeakingApi

pytestmark = pytest.mark.row("F2")

LARGE = 5 * 1024 * 1024
"""More than the body of any other request may have."""


@pytest_asyncio.fixture(loop_scope="session")
async def speaking(tmp_path: Path) -> AsyncIterator[SpeakingApi]:
    """The model of the studio, which has said all that it will say."""
    async with SpeakingApi().served(tmp_path) as made:
        await made.say("I have **seen** it.", None)
        yield made


_GIVE = """(message, [how, name]) => {
    const held = new DataTransfer();
    held.items.add(new File(["x"], name));
    const more = {bubbles: true, cancelable: true};
    message.dispatchEvent(how === "drop" ? new DragEvent("drop", {dataTransfer: held, ...more})
        : new ClipboardEvent("paste", {clipboardData: held, ...more}));
}"""


async def give(page: Page, how: str, name: str) -> None:
    """Give a file to the message as a person drops or pastes one."""
    await page.get_by_role("textbox", name="Message").evaluate(_GIVE, [how, name])
    await expect(page.get_by_role("button", name=f"Remove {name}")).to_be_visible()


async def test_files_go_along_by_button_drop_and_paste_and_a_conversation_branches_off(
    speaking: SpeakingApi, studio: Studio, browser: Browser, watched: Watched, tmp_path: Path
) -> None:
    page = await watched.page(browser, studio, "en-GB")
    await page.goto(studio.url)
    large = {"name": "large.bin", "mimeType": "application/octet-stream", "buffer": bytes(LARGE)}
    async with page.expect_file_chooser() as chosen:
        await page.get_by_role("button", name="Attach").click()
    await (await chosen.value).set_files(large)  # type: ignore[arg-type]
    await give(page, "drop", "dropped.txt")
    await give(page, "paste", "pasted.txt")
    await give(page, "drop", "wrong.txt")
    await page.get_by_role("button", name="Remove wrong.txt").click()
    message = page.get_by_role("textbox", name="Message")
    await message.fill("What is in these files?")
    await message.press("Enter")
    log = page.get_by_role("log")
    await expect(log.get_by_role("strong")).to_have_text("seen")
    asked = json.dumps(speaking.bodies[-1])
    assert all(name in asked for name in ("large.bin", "dropped.txt", "pasted.txt"))
    assert "wrong.txt" not in asked
    await message.fill("And then?")
    await message.press("Enter")
    await expect(page.get_by_role("button", name="Edit and send again")).to_have_count(2)
    await page.get_by_role("button", name="Edit and send again").first.click()
    await expect(message).to_have_value("What is in these files?")
    await message.fill("What is in the large file?")
    await message.press("Enter")
    await expect(log.get_by_text("What is in the large file?")).to_be_visible()
    await expect(log.get_by_text("What is in these files?")).to_have_count(0)
    asked = json.dumps(speaking.bodies[-1])
    assert all(name in asked for name in ("large.bin", "dropped.txt", "pasted.txt"))  # the files go along again
    branch, second, first = await runs(page, "kind=agent")
    assert (branch["forked"], branch["session"] == first["session"]) == (first["id"], False)
    talks = page.get_by_role("list", name="Conversations").get_by_role("link")
    await talks.filter(has_text="What is in these files?").click()
    await page.get_by_role("button", name="Edit and send again").last.click()
    await expect(message).to_have_value("And then?")
    await message.fill("And after that?")
    await message.press("Enter")
    await expect(log.locator(".said.user")).to_have_text(["What is in these files?", "And after that?"])
    later, *_ = await runs(page, "kind=agent")
    assert (later["forked"], later["session"] in (first["session"], branch["session"])) == (second["id"], False)
    search = page.get_by_role("searchbox", name="Search")
    await search.fill("in these")
    await expect(talks).to_have_text(["What is in these files?"])
    await talks.click()
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Export").click()
    kept = tmp_path / "kept.md"
    await (await download.value).save_as(kept)
    assert "What is in these files?" in kept.read_text("utf-8")
    await page.get_by_role("button", name="Delete").click()
    await expect(page.get_by_role("heading", name="What can I do for you?")).to_be_visible()
    left = [talk["id"] for talk in await listed(page, "/v1/sessions")]
    assert left == [later["session"], branch["session"]]


async def test_a_run_is_branched_off_exported_and_cancelled_on_its_own_page(
    speaking: SpeakingApi, studio: Studio, browser: Browser, watched: Watched
) -> None:
    page = await watched.page(browser, studio, "en-GB")
    await page.goto(studio.url)
    await expect(page.get_by_role("heading", name="Chat")).to_be_visible()
    begun = await api(page, "POST", "/v1/runs", {"question": "Tell me of the sea"})
    await page.goto(studio.url.partition("#")[0] + "runs")
    await page.get_by_role("searchbox", name="Search").fill("SEA tell")
    await page.get_by_role("table", name="Runs").get_by_role("link", name="Tell me of the sea").click()
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Export").click()
    lines = (await (await download.value).path()).read_text("utf-8").splitlines()
    assert json.loads(lines[0])["run"] == begun["id"]
    await page.get_by_role("treegrid", name="Waterfall").get_by_role("row").nth(1).focus()
    await page.keyboard.press("+")
    await page.get_by_role("button", name="Branch off").click()
    await page.get_by_role("textbox", name="Another question").fill("Tell me of the hills")
    await page.get_by_role("button", name="Branch off").last.click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Tell me of the hills")
    (branch,) = await runs(page, "text=hills")
    assert branch["forked"] == begun["id"]
    await speaking.forget()
    held = await api(page, "POST", "/v1/runs", {"question": "Wait for me"})
    await page.goto(f"{studio.url.partition('#')[0]}runs/{held['id']}")
    await page.get_by_role("button", name="Cancel run").click()
    await expect(page.get_by_text("stopped", exact=True).first).to_be_visible()
    assert (await api(page, "GET", f"/v1/runs/{held['id']}"))["status"] == "stopped"
