"""The API as the session of a page asks it: what stands on record behind what the page shows."""

from __future__ import annotations

import asyncio
import json
import re

from playwright.async_api import Page, Route

from actum.core.json import Json, JsonObject
from tests.patience import HANGS_S

_FETCH = """async given => {
    const {method, path, body} = JSON.parse(given);
    const headers = {"Actum-Session": localStorage["actum.session"], "Content-Type": "application/json"};
    return (await fetch(path, {method, headers, body: body ? JSON.stringify(body) : undefined})).text();
}"""


_PASTE = """text => {
    const given = {bubbles: true, cancelable: true, clipboardData: new DataTransfer()};
    given.clipboardData.setData("text/plain", text);
    let focused = document.activeElement;
    while (focused.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
    focused.dispatchEvent(new ClipboardEvent("paste", given));
}"""


async def pasted(page: Page, text: str) -> None:
    """A text comes from the clipboard to where the focus is."""
    await page.evaluate(_PASTE, text)


async def api(page: Page, method: str, path: str, body: Json = None) -> JsonObject:
    """What the API answers to the session of a page; an empty object where it answers nothing."""
    told = await page.evaluate(_FETCH, json.dumps({"method": method, "path": path, "body": body}))
    answer = json.loads(told) if told else {}
    assert isinstance(answer, dict)
    assert answer.get("status") not in (403, 404, 409, 422), (path, answer)
    return answer


async def listed(page: Page, path: str) -> list[JsonObject]:
    """The items of a list of the API."""
    items = (await api(page, "GET", path))["items"]
    assert isinstance(items, list)
    return [each for each in items if isinstance(each, dict)]


async def runs(page: Page, query: str = "") -> list[JsonObject]:
    """The runs that the session sees, each in full, the latest first."""
    return [await api(page, "GET", f"/v1/runs/{each['id']}") for each in await listed(page, f"/v1/runs?{query}")]


class Held:
    """Requests that are held back until they are let go.

    Attributes:
        count: how many came.
    """

    def __init__(self) -> None:
        self.came = asyncio.Event()
        self.let = asyncio.Event()
        self.count = 0

    @classmethod
    async def at(cls, page: Page, addresses: str, method: str = "", *, is_answered: bool = False) -> Held:
        """Hold back what a page sends to these addresses from now on.

        Args:
            page: the page that sends.
            addresses: a regular expression.
            method: the one method that is held back; empty for all.
            is_answered: the server gets the request and answers at once, and the answer is held back.
        """
        held = cls()

        async def hold(route: Route) -> None:
            if method not in ("", route.request.method):
                return await route.fallback()
            answer = await route.fetch() if is_answered else None
            held.count += 1
            held.came.set()
            await held.let.wait()
            await (route.fulfill(response=answer) if answer else route.continue_())

        await page.route(re.compile(addresses), hold)
        return held

    async def has_come(self) -> None:
        """Wait for the first request."""
        await asyncio.wait_for(self.came.wait(), HANGS_S)
