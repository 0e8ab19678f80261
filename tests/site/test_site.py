"""The site is whole: every link answers, both searches find, and no page asks another host for anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page

from actum.cli.guides.pages import GuidePage
from packages.site.build import BadSite, Site, pages
from tests.studio.conftest import browser
from tests.studio.test_first_minutes import is_accessible_in_both_themes

__all__ = ["browser"]
LINK = re.compile(r'(?:href|src)="([^"]*)"')


@pytest.fixture(scope="module")
def every() -> dict[str, GuidePage]:
    return pages()


@pytest.fixture(scope="module")
def site(every: dict[str, GuidePage], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    Site(every).write(folder)
    return folder


def links(site: Path) -> Iterator[tuple[Path, str]]:
    for path in site.rglob("*.html"):
        for target in LINK.findall(path.read_text("utf-8")):
            if not target.startswith(("https://", "http://", "mailto:", "data:")):
                yield path, target


def test_every_link_leads_to_a_file_and_an_anchor_that_are_there(site: Path) -> None:
    anchors = {path: {*re.findall(r' id="([^"]+)"', path.read_text("utf-8"))} for path in site.rglob("*.html")}
    for path, target in links(site):
        file, _, anchor = target.partition("#")
        to = (path.parent / file).resolve() if file else path
        assert to.is_file(), (path, target)
        assert not anchor or anchor in anchors[to], (path, target)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"tools.md": "# Tools\n\n[x](modles.md)"}, "tools.md: the link modles.md leads nowhere"),
        ({"tools.md": "# Tools\n\n[x](models.md#nowhere)"}, "no heading for the link models.md#nowhere"),
        ({"new.md": "# New"}, "menu.toml has no place for the page new"),
    ],
)
def test_what_leads_nowhere_or_has_no_place_fails_the_build(
    every: dict[str, GuidePage], changed: dict[str, str], told: str, tmp_path: Path
) -> None:
    broken = every | {path: GuidePage(path, text) for path, text in changed.items()}
    with pytest.raises(BadSite, match=re.escape(told)):
        Site(broken).write(tmp_path / "site")
    assert not (tmp_path / "site").exists()


async def found(page: Page, words: str) -> list[str]:
    await page.get_by_role("combobox").fill(words)
    return await page.get_by_role("option").all_inner_texts()


@pytest.mark.row("D4")
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("width", [1280, 390])
async def test_a_reader_finds_a_place_in_both_languages_by_keys_and_nothing_is_fetched_elsewhere(
    site: Path, browser: Browser, width: int
) -> None:
    context = await browser.new_context(viewport={"width": width, "height": 800})
    page = await context.new_page()
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda sent: wrong.append(sent.url) if not sent.url.startswith(("file:", "data:")) else None)
    await page.goto((site / "index.html").as_uri())
    await is_accessible_in_both_themes(page, "light")
    assert (await found(page, "approval expires"))[0].startswith("Approval")
    await is_accessible_in_both_themes(page, "light")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/runs.html#approval")
    await page.get_by_role("link", name="中文", exact=True).first.click()
    await page.wait_for_url("**/zh/runs.html")
    assert (await found(page, "审批过期"))[0].startswith("批准")
    assert await found(page, "qqqq") == []
    assert await page.get_by_role("status").inner_text() == "没有找到。"
    for name in ("reference/python", "reference/api", "zh/tools"):
        await page.goto((site / f"{name}.html").as_uri())
        await is_accessible_in_both_themes(page, "light")
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    await context.close()
    assert wrong == []
