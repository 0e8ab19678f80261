"""Settings: a key is made, lets another browser in with its rights alone, and ends its session when it is revoked."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Browser, Page, expect

from .conftest import Studio, Watched
from .session import api, listed

pytestmark = pytest.mark.row("F2")


BRACKETED = """() => {
    const texts = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const values = ".when, .value, .arguments dt, kbd, section td, section option";
    while (walk.nextNode()) if (!walk.currentNode.parentElement.closest(values)) texts.push(walk.currentNode.data);
    for (const each of document.querySelectorAll("[aria-label], [title], [placeholder], [alt]"))
        texts.push(...["aria-label", "title", "placeholder", "alt"].map(name => each.getAttribute(name) ?? ""));
    return texts;
}"""
"""All that a page says of its own: no moments, values, names of arguments and keys."""
DATA = {"actum", "English", "中文", "assistant", "calculate", "embedded", "https://models.example.org/v1"}
"""What is no text of the pages: names, what was asked, and an address as an example."""


async def no_text_is_bare(page: Page, studio: Studio) -> None:
    """In the pseudo-locale each text of a dictionary stands in brackets: a text without them is in no dictionary."""
    base = studio.url.partition("#")[0]
    told = await api(page, "POST", "/v1/runs", {"question": "17 * 23", "session": "s"})
    await page.evaluate("localStorage['actum.language'] = 'xa'")
    acts = re.compile(r"ok|bob|[a-z]+\.[a-z]+")  # what the audit has of this test
    who = await api(page, "GET", "/v1/session")
    data = {*DATA, who["user"], *who["scopes"]}  # type: ignore[misc]
    for path in ("chat?session=s", "runs", f"runs/{told['id']}", "approvals", "audit", "settings"):
        await page.goto(base + path)
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await expect(page.get_by_text("⟦Loading…⟧")).to_have_count(0)
        texts = await page.evaluate(BRACKETED)
        rest = {without_brackets(text) for text in texts}
        assert {text for text in rest if re.search(r"[^\W\d_]{2}", text) and not acts.fullmatch(text)} <= data, path
        assert sum("⟦" in text for text in texts) > 5


def without_brackets(text: str) -> str:
    """A text without what stands in brackets, one inside of another as well."""
    while (shorter := re.sub("⟦[^⟦⟧]*⟧", "", text)) != text:
        text = shorter
    return text.strip(" ()")


async def test_a_key_lets_in_with_its_rights_until_it_is_revoked_and_secrets_and_looks_are_kept(
    studio: Studio, browser: Browser, watched: Watched
) -> None:
    page = await watched.page(browser, studio, "en-GB")
    await page.goto(studio.url)
    await page.get_by_role("link", name="Settings").click()
    await page.get_by_role("button", name="New key").click()
    keys = page.get_by_role("region", name="Keys")
    await keys.get_by_role("textbox", name="Name").fill("bob")
    await keys.get_by_role("checkbox", name="tools").uncheck()
    await keys.get_by_role("spinbutton", name="Valid for days").fill("7")
    await keys.get_by_role("button", name="New key").click()
    text = await keys.get_by_role("status").locator("code").inner_text()
    (made,) = await listed(page, "/v1/keys")
    assert (made["id"], made["scopes"], made["state"]) == ("bob", ["runs"], "valid")
    assert made["expires_at"] is not None

    bob = await watched.page(browser, studio, "zh-CN")
    await bob.goto(studio.url.partition("#")[0] + "settings")
    await bob.get_by_role("textbox", name="访问密钥").fill("ak_bob_wrong")
    await bob.get_by_role("button", name="登录").click()
    await expect(bob.get_by_role("alert")).to_contain_text("此密钥在这里无效")
    await bob.get_by_role("textbox", name="访问密钥").fill(text)
    await bob.get_by_role("button", name="登录").click()
    await expect(bob.get_by_role("combobox", name="语言")).to_be_visible()
    await expect(bob.get_by_role("region")).to_have_count(1)  # how the pages look, and nothing of administrators
    assert (await bob.evaluate("document.documentElement.lang")) == "zh-CN"
    await bob.get_by_role("combobox", name="语言").select_option("English")
    await expect(bob.get_by_role("link", name="Runs")).to_be_visible()
    await bob.get_by_role("combobox", name="Theme").select_option("Dark")
    await bob.reload()
    assert (await bob.evaluate("({...document.documentElement.dataset}).theme")) == "dark"
    assert (await bob.evaluate("document.documentElement.lang")) == "en"

    await keys.get_by_role("button", name="Revoke").click()
    await expect(bob.get_by_role("textbox", name="Key")).to_be_visible()
    assert [key["state"] for key in await listed(page, "/v1/keys")] == ["revoked"]
    secrets = page.get_by_role("region", name="Secrets")
    await secrets.get_by_role("textbox", name="Name").fill("TOKEN")
    await secrets.get_by_role("textbox", name="Value").fill("hunter1")
    await secrets.get_by_role("button", name="Set secret").click()
    await expect(secrets.get_by_text("TOKEN")).to_be_visible()
    assert "hunter1" not in str(await api(page, "GET", "/v1/secrets"))
    await secrets.get_by_role("button", name="Delete TOKEN").click()
    await expect(secrets.get_by_text("TOKEN")).to_have_count(0)
    assert await listed(page, "/v1/secrets") == []
    await no_text_is_bare(page, studio)
    watched.errors[:] = [error for error in watched.errors if "status of 401" not in error]
