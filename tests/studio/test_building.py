"""What a person builds is not lost and not passed off: servers whose tools nobody has approved, a server that is killed
between two saves, a draft that is deleted, a right that is taken away, a tool that is gone.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, ViewportSize, expect

from actum.core.json import JsonObject
from tests.web import listening

from .conftest import Studio, Watched, studio_in
from .session import api, listed
from .test_first_minutes import fits, is_accessible_in_both_themes
from .test_hostile import HOSTILE, is_unharmed

pytestmark = pytest.mark.row("F2")

TALL = ViewportSize(width=1500, height=2_600)
"""Nothing is scrolled: a button that has just moved does not count yet."""
EXPECTED = ("401", "403", "404", "409", "422", "ERR_")
"""What the browser tells in its console, and what these tests bring about."""
SAVED = re.compile("^Saved$")
FLOW = 'actum: workflow/1\nname: flow\nnodes:\n  first: {type: say, text: "One"} # mine\nedges: []\n'


def document(**about: str) -> str:
    """An API whose operations have these descriptions."""
    paths: JsonObject = {
        f"/{name}": {"get": {"operationId": name, "summary": told, "responses": {"200": {"description": "Fine."}}}}
        for name, told in about.items()
    }
    info: JsonObject = {"title": "Pets", "version": "1"}
    return json.dumps({"openapi": "3.1.0", "info": info, "servers": [{"url": "https://1.1.1.1"}], "paths": paths})


async def test_what_a_server_offers_is_marked_until_a_person_has_looked(
    studio: Studio, browser: Browser, watched: Watched
) -> None:
    page = await watched.page(browser, studio, "en-GB")
    await page.set_viewport_size(TALL)
    await page.goto(studio.url)
    await page.get_by_role("link", name="Tools").click()
    await page.get_by_role("button", name="New tool").click()
    await page.get_by_role("textbox", name="Paste").fill(document(find="Finds a pet.", constructor=HOSTILE[:900]))
    await page.get_by_role("button", name="Read").click()
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("pets")
    offers = page.get_by_role("region", name="What it offers").get_by_role("listitem")
    await expect(offers).to_have_text([re.compile("^constructor new"), re.compile("^find new Finds a pet")])
    await is_unharmed(page)
    await is_accessible_in_both_themes(page, "light")
    await fits(page)
    await page.set_viewport_size(TALL)
    publish = page.get_by_role("button", name="Publish")
    await expect(publish).to_have_attribute("aria-disabled", "false")
    await publish.click()
    await expect(page.get_by_text("Version 1 is in use.").first).to_be_visible()
    await expect(offers).to_have_text([re.compile("^constructor (?!new)"), re.compile("^find Finds")])
    names = {each["name"] for each in await listed(page, "/v1/tools")}
    assert names >= {"pets_find", "pets_constructor"}
    source = page.get_by_role("textbox", name="Definition")
    server = json.loads(await source.input_value())
    server["openapi"] = document(find="Finds another pet.", drop="Drops a pet.")
    await source.fill(json.dumps(server))
    await expect(offers).to_have_text(
        [re.compile("^constructor gone"), re.compile("^drop new"), re.compile("^find changed")]
    )
    assert {
        each["name"] for each in await listed(page, "/v1/tools")
    } == names  # nothing is there before it is published
    await page.evaluate("localStorage['actum.language'] = 'zh'")
    await page.goto(page.url.partition("/tools/")[0] + "/tools")
    await page.get_by_role("table", name="服务器").get_by_role("link", name="pets").click()
    await expect(page.get_by_role("region", name="提供的工具")).to_contain_text("已更改")
    await page.get_by_role("button", name="停用").click()
    await expect(page.get_by_text("正在使用版本")).to_have_count(0)
    await page.get_by_role("button", name="删除").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("工具")
    assert await listed(page, "/v1/servers?drafts=true") == []
    watched.errors[:] = [each for each in watched.errors if not any(code in each for code in EXPECTED)]


async def saved(page: Page, owner: Page) -> str:
    """The text of the workflow that is kept, once its page says that it is."""
    await expect(page.get_by_role("status").filter(has_text=SAVED)).to_be_visible()
    return str((await api(owner, "GET", "/v1/workflows/flow/draft"))["text"])


async def test_nothing_that_was_typed_is_lost_when_a_server_dies_a_key_is_revoked_or_a_draft_is_deleted(
    bundle: None, tmp_path: Path, browser: Browser, watched: Watched
) -> None:
    with listening() as free:
        place = f"127.0.0.1:{free.getsockname()[1]}"
    with studio_in(tmp_path, place) as studio:
        page = await watched.page(browser, studio, "en-GB")
        await page.set_viewport_size(TALL)
        await page.goto(studio.url)
        await expect(page.get_by_role("link", name="Workflows")).to_be_visible()
        await api(page, "POST", "/v1/workflows/flow/draft", {"text": FLOW, "revision": 0})
        base = page.url.partition("/chat")[0]
        await page.goto(f"{base}/workflows/flow")
        await page.get_by_role("treeitem", name="first, say").click()
        text = page.get_by_role("textbox", name="text", exact=True)
        await text.fill("Two")
        assert '"Two"' in await saved(page, page)
        taken: JsonObject = {"text": FLOW.replace("name: flow", "name: taken"), "revision": 0}
        await api(page, "POST", "/v1/workflows/taken/draft", taken)
        await api(page, "POST", "/v1/workflows/taken/publish", {})
        studio.kill()
        await text.fill("Three")
        await expect(page.get_by_role("alert").filter(has_text="Not saved")).to_be_visible()
        await text.fill("Four")
        await expect(page.get_by_role("status").filter(has_text=SAVED)).to_have_count(0)
    (tmp_path / "own.workflow.yaml").write_text(FLOW, "utf-8")
    (tmp_path / "actum.toml").write_text('[workflows.taken]\nfile = "own.workflow.yaml"\n', "utf-8")
    with studio_in(tmp_path, place) as studio:
        kept = await saved(page, page)
        assert '"Four"' in kept, kept
        assert "# mine" in kept

        key = await api(page, "POST", "/v1/keys", {"id": "one", "user": "bea", "scopes": ["build", "runs"]})
        other = await watched.page(browser, studio, "en-GB")
        await other.set_viewport_size(TALL)
        await other.goto(f"{base}/workflows/flow")
        await other.get_by_role("textbox", name="Key").fill(str(key["key"]))
        await other.get_by_role("button", name="Sign in").click()
        await other.get_by_role("treeitem", name="first, say").click()
        theirs = other.get_by_role("textbox", name="text", exact=True)
        await expect(theirs).to_have_value("Four")
        await api(page, "DELETE", "/v1/keys/one")
        await theirs.fill("Five")
        await expect(other.get_by_role("textbox", name="Key")).to_be_visible()
        assert '"Five"' not in await saved(page, page)
        again = await api(page, "POST", "/v1/keys", {"id": "two", "user": "bea", "scopes": ["build", "runs"]})
        await other.get_by_role("textbox", name="Key").fill(str(again["key"]))
        await other.get_by_role("button", name="Sign in").click()
        assert '"Five"' in await saved(other, page)

        revision = (await api(page, "GET", "/v1/workflows/flow/draft"))["revision"]
        await api(page, "DELETE", f"/v1/workflows/flow/draft?revision={revision}")
        await expect(page.get_by_role("dialog", name="Changed elsewhere")).to_contain_text("has deleted this draft")
        await is_accessible_in_both_themes(page, "light")
        await page.get_by_role("button", name="Keep mine").click()
        await text.fill("Six")
        assert '"Six"' in await saved(page, page)
        await text.evaluate(TYPES_AND_LEAVES)
        await expect(page.get_by_role("textbox", name="Message")).to_be_visible()
        await page.go_back()
        await page.get_by_role("treeitem", name="first, say").click()
        await expect(text).to_have_value("Seven")
        assert '"Seven"' in await saved(page, page)

        for kind, name, text_of in (
            ("tools", "shout", json.dumps({"name": "shout", "description": "Shouts.", "python": PYTHON_MAIN})),
            ("agents", "crier", json.dumps({"name": "crier", "instructions": "Shout.", "tools": ["shout"]})),
        ):
            await api(page, "POST", f"/v1/{kind}/{name}/draft", {"text": text_of, "revision": 0})
            await api(page, "POST", f"/v1/{kind}/{name}/publish", {})
        await page.goto(f"{base}/workflows/taken")
        await expect(page.get_by_role("note")).to_contain_text("so the publication is not used")
        await page.goto(f"{base}/tools/shout")
        await expect(page.get_by_text("Used by: crier")).to_be_visible()
        await page.get_by_role("button", name="Take out of use").click()
        await expect(page.get_by_role("status").filter(has_text="crier")).to_be_visible()
        await page.goto(f"{base}/agents/crier")
        await expect(page.get_by_text("shout is not there any more")).to_be_visible()
    watched.errors[:] = [each for each in watched.errors if not any(code in each for code in EXPECTED)]


TYPES_AND_LEAVES = """field => {
  Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(field, "Seven");
  field.dispatchEvent(new Event("input", {bubbles: true}));
  document.querySelector("nav a[href$='/chat']").click();
}"""
"""Within one moment: the field has not told yet what was typed when its page goes."""
PYTHON_MAIN = "def main():\n    return 'HI'\n"
