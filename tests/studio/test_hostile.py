"""Whatever people, models, tools and files say is shown as text, on every page."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from actum.core.json import JsonObject

from .conftest import Studio, Watched
from .session import api, listed, runs
from .speaking import SpeakingApi

pytestmark = pytest.mark.row("F2")

OWN = "window.taken=1"
CORPUS = (
    f"<script>{OWN}</script>",
    f"<img src=x onerror={OWN}>",
    f"<svg/onload={OWN}>",
    f"<iframe srcdoc='<script>parent.{OWN}</script>'></iframe>",
    f"<a href='javascript:{OWN}'>a</a>",
    f"[link](javascript:{OWN})",
    f"[link](  JaVaScRiPt:{OWN})",
    f"[link](data:text/html,<script>{OWN}</script>)",
    "[link](vbscript:x)",
    "[link](/v1/session)",
    "[link](//evil.example/x)",
    "![picture](http://evil.example/seen.png)",
    "![picture](data:image/svg+xml,<svg/>)",
    '"><style>*{display:none}</style>',
    f"<math><mi xlink:href='javascript:{OWN}'>",
    f"<form action='javascript:{OWN}'><button>Approve</button></form>",
    "<base href=http://evil.example/><meta http-equiv=refresh content='0;url=http://evil.example/'>",
    "{{constructor.constructor('window.taken=1')()}}${window.taken=1}",
    "%3Cscript%3E &lt;script&gt; \\u003cscript\\u003e",
    "safe\u202egnp.exe \u2066\u200b\u00ad\ufeff hidden",
    "[good](https://example.org/path)",
)
HOSTILE = "\n\n".join(CORPUS)
LINE = "".join(CORPUS[:4])[:190]
NAMES = ("__proto__", "constructor")
"""What each object of JavaScript has: for definitions, nodes and fields, names like others."""
TOOLS = '''
from actum import tool


@tool(effects="spend", approval=True)
def pay(to: str, more: dict[str, str]) -> str:
    """Pay."""
    return "paid"


@tool
def say(text: str) -> dict[str, str]:
    """Say."""
    return {text: text}


@tool
def fail(text: str) -> str:
    """Fail."""
    raise ValueError(text)
'''
_FOUND = """() => {
    const odd = "script:not([src^='/studio/']),iframe,object,embed,img,style,base,meta[http-equiv],form[action],"
        + "main svg:not([aria-hidden], .canvas *),math,video,audio,[onerror],[onload],[onclick],[style]:not(.canvas *)";
    const fine = ["https://example.org/path", "http://evil.example/seen.png"];  // a picture is a link, with its host
    const links = [...document.querySelectorAll("a")].map(each => each.href);
    return {
        taken: window.taken ?? null,
        odd: [...document.querySelectorAll(odd)].map(each => each.outerHTML.slice(0, 80)),
        links: links.filter(each => !each.startsWith(location.origin + "/studio/") && !fine.includes(each)
            && !each.startsWith(location.href)),
        hidden: /[\\u202e\\u2066\\u200b\\u00ad\\ufeff]/.test(document.body.innerText),
    };
}"""


async def is_unharmed(page: Page) -> None:
    assert await page.evaluate(_FOUND) == {"taken": None, "odd": [], "links": [], "hidden": False}, page.url


@pytest_asyncio.fixture(loop_scope="session")
async def speaking(tmp_path: Path) -> AsyncIterator[SpeakingApi]:
    """A model that says what it is told to, and tools that say what they are asked to."""
    (tmp_path / "shop.py").write_text(TOOLS, "utf-8")
    async with SpeakingApi().served(tmp_path) as made:
        settings = tmp_path / "actum.toml"
        memory = f"[agents.noter]\nmemory = {{user = true, space = {json.dumps(LINE[:90])}}}\n"
        settings.write_text('tools = ["shop.py"]\n' + settings.read_text("utf-8") + memory, "utf-8")
        yield made


async def test_what_is_said_is_text_and_nothing_else_on_every_page(
    speaking: SpeakingApi, studio: Studio, browser: Browser, watched: Watched
) -> None:
    page = await watched.page(browser, studio, "zh-CN")
    await page.goto(studio.url)
    message = page.get_by_role("textbox", name="消息")
    name = "<img src=x onerror=window.taken=1>\u202egnp.txt"
    await page.locator("input[type=file]").set_input_files({"name": name, "mimeType": "text/plain", "buffer": b"x"})
    await is_unharmed(page)
    await message.fill(HOSTILE)
    await message.press("Enter")
    await speaking.say(HOSTILE)
    await expect(page.locator(".writing[aria-busy=true]")).to_contain_text("example.org")
    await is_unharmed(page)
    await speaking.say(None)
    log = page.get_by_role("log")
    await expect(log.get_by_role("link", name="good")).to_have_attribute("rel", "noopener noreferrer")
    await is_unharmed(page)
    (talk,) = await listed(page, "/v1/sessions")
    await api(page, "PATCH", f"/v1/sessions/{talk['id']}", {"title": LINE})
    for tool in ("say", "fail"):
        await api(page, "POST", f"/v1/tools/{tool}/call", {"arguments": {"text": HOSTILE}})
    more: JsonObject = {each[:60]: each for each in (*CORPUS, "__proto__", "constructor", "toString")}
    await api(page, "POST", "/v1/tools/pay/call", {"arguments": {"to": HOSTILE, "more": more}})
    await api(page, "POST", "/v1/keys", {"id": "k", "user": LINE})
    await api(page, "POST", "/v1/memories", {"text": HOSTILE[:1_000], "space": LINE[:90]})
    await drafts_are_there(page)
    base = studio.url.partition("#")[0]
    for path in (
        "chat",
        "workflows",
        "workflows/%3Cscript%3E",
        *(f"{kind}/{each}" for kind in ("workflows", "agents", "tools") for each in NAMES),
        "agents",
        "agents/%3Cscript%3E",
        "tools",
        "tools/say",
        "tools/%3Cscript%3E",
        "approvals",
        "memory",
        "runs",
        "runs?kind=call",
        "audit",
        "settings",
        "chat/%3Cscript%3E",
        "%3Cscript%3E",
    ):
        await page.goto(base + path)
        await expect(page.get_by_text("加载中…")).to_have_count(0)
        await is_unharmed(page)
    for run in await listed(page, "/v1/runs"):
        await page.goto(f"{base}runs/{run['id']}")
        await page.get_by_role("treegrid").get_by_role("row").nth(1).click()
        await is_unharmed(page)
    await page.goto(base + "approvals")
    await page.get_by_role("button", name="修改参数").click()
    await is_unharmed(page)
    await names_of_objects_are_names_like_others(page, base)
    watched.errors[:] = [
        error for error in watched.errors if "status of 404" not in error
    ]  # of a tool that is not there


async def drafts_are_there(page: Page) -> None:
    """A tool, an agent and a workflow of each of these names, with hostile texts."""
    inputs: JsonObject = {"type": "object", "properties": {each: {"type": "string"} for each in NAMES}}
    for name in NAMES:
        texts: dict[str, JsonObject] = {
            "tools": {"parameters": inputs, "python": f"def main({', '.join(NAMES)}):\n    return __proto__\n"},
            "agents": {"instructions": HOSTILE, "tools": [*NAMES]},
            "workflows": {
                "actum": "workflow/1",
                "inputs": inputs,
                "nodes": {each: {"type": "say", "text": "${inputs.constructor}"} for each in NAMES},
                "edges": [" > ".join(NAMES)],
                "outputs": {each: f"${{{each}.output}}" for each in NAMES},
            },
        }
        for kind, text in texts.items():
            draft = json.dumps({"name": name, "description": LINE, **text})
            await api(page, "POST", f"/v1/{kind}/{name}/draft", {"text": draft, "revision": 0})


async def names_of_objects_are_names_like_others(page: Page, base: str) -> None:
    """What is typed into fields of these names arrives, and nothing else changes."""
    given = {each: f"{each} {LINE}" for each in NAMES}
    await page.goto(f"{base}tools/__proto__")
    for name, text in given.items():
        await page.get_by_role("textbox", name=name, exact=True).fill(text)
    await page.get_by_role("button", name="试运行").click()
    await expect(page.get_by_role("region", name="结果").get_by_role("button", name="批准")).to_be_visible()
    await is_unharmed(page)
    asked = [each["arguments"] for each in await listed(page, "/v1/approvals") if each["tool"] == "__proto__"]
    assert asked == [given]
    await page.goto(f"{base}agents/constructor")
    for name in NAMES:
        await expect(page.get_by_role("checkbox", name=name)).to_be_checked()
    await page.goto(f"{base}workflows/__proto__")
    await page.get_by_role("button", name="运行", exact=True).click()
    for name, text in given.items():
        await page.get_by_role("dialog").get_by_role("textbox", name=name, exact=True).fill(text)
    await is_unharmed(page)
    await page.get_by_role("button", name="开始").click()
    await expect(page.get_by_role("treeitem", name=re.compile("^constructor, say, .*完成$"))).to_be_visible()
    await is_unharmed(page)
    (ran,) = await runs(page, "kind=workflow")
    assert ran["outputs"] == dict.fromkeys(NAMES, given["constructor"])
    assert await page.evaluate("({}).type === undefined && Object.prototype.constructor === Object")
