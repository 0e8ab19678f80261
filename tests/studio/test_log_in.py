"""A person comes in by the operator's OpenID provider, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from actum.core.clock import SystemClock
from tests.issuer import Issuer
from tests.web import serving

from .conftest import Watched, studio_in
from .session import api

pytestmark = pytest.mark.row("F2")


async def test_the_way_back_from_the_provider_brings_a_session_of_the_pages(
    bundle: None, tmp_path: Path, browser: Browser, watched: Watched
) -> None:
    issuer = Issuer(SystemClock(), metadata_path="/.well-known/openid-configuration")
    issuer.know("actum", "s")
    async with serving(issuer.app()) as issuer.url:
        settings = f'issuer = "{issuer.url}"\nclient_id = "actum"\nclient_secret = "${{CLIENT_SECRET}}"\n'
        (tmp_path / "actum.toml").write_text(f'[serve.login]\n{settings}scopes = ["runs"]\n', "utf-8")
        with studio_in(tmp_path, variables={"CLIENT_SECRET": "s"}) as studio:
            base = studio.url.partition("#")[0]
            page = await watched.page(browser, studio, "en-GB")
            await page.goto(base + "runs")
            await expect(page.get_by_role("textbox", name="Key")).to_be_visible()
            await page.get_by_role("button", name="Sign in with 127.0.0.1").click()
            await expect(page.get_by_role("heading", name="Chat")).to_be_visible()
            assert "session" not in page.url
            who = await api(page, "GET", "/v1/session")
            assert (who["user"], who["scopes"], who["is_session"]) == ("ada", ["runs"], True)
            assert (await page.context.request.get(base + "../v1/runs")).status == 401  # the cookie alone
            await page.reload()
            await expect(page.get_by_role("link", name="Runs")).to_be_visible()
            await expect(page.get_by_role("link", name="Audit")).to_have_count(0)
            await page.goto(base + "audit")  # rights hold for each operation, not for each link
            await expect(page.get_by_role("alert")).to_contain_text("Your key has no right to see this")
            await page.get_by_role("button", name="Sign out").click()
            await expect(page.get_by_role("textbox", name="Key")).to_be_visible()
    own = [error for error in watched.errors if "status of 403" not in error and not error.startswith(issuer.url)]
    watched.errors[:] = own
