"""The API as the session of a page asks it: what stands on record behind what the page shows."""

from __future__ import annotations

import json

from playwright.async_api import Page

from actum.core.json import Json, JsonObject

_FETCH = """async given => {
    const {method, path, body} = JSON.parse(given);
    const headers = {"Actum-Session": localStorage["actum.session"], "Content-Type": "application/json"};
    return (await fetch(path, {method, headers, body: body ? JSON.stringify(body) : undefined})).text();
}"""


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
