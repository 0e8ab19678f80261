"""The site is whole: every link answers, both searches find, and no page asks another host for anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page

from actum.cli.guides.pages import GuidePage
from packages.site.build import LANGUAGES, STYLES, BadSite, Site, pages
from packages.site.pictures import IMAGES, layers
from tests.studio.conftest import browser
from tests.studio.test_first_minutes import is_accessible, is_accessible_in_both_themes

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


def test_what_leads_nowhere_or_has_no_place_fails_the_build(every: dict[str, GuidePage], tmp_path: Path) -> None:
    broken = {
        "tools.md": "# Tools\n\n[x](modles.md)",
        "models.md": "# Models\n\n[x](tools.md#nowhere)",
        "new.md": "# New",
    }
    short = {path: page._replace(text=f"# {page.title}\n") for path, page in every.items()}
    with pytest.raises(BadSite) as told:
        Site(short | {path: GuidePage(path, text) for path, text in broken.items()}).write(tmp_path / "site")
    for each in (
        "tools.md: the link modles.md leads nowhere",
        "models.md: tools.md has no heading for the link tools.md#nowhere",
        "menu.toml has no place for the page new",
    ):
        assert each in str(told.value)
    assert not (tmp_path / "site").exists()


def test_the_drawing_of_the_layers_is_that_of_the_code_and_the_demo_is_small() -> None:
    assert (IMAGES / "architecture.svg").read_text("utf-8") == layers()
    assert 10_000 < (IMAGES / "demo.svg").stat().st_size < 300_000


def test_the_studio_and_a_run_are_shown_in_both_languages_and_themes() -> None:
    shown = (
        f"{what}-{language}-{theme}" for what in ("studio", "waterfall") for language in LANGUAGES for theme in STYLES
    )
    pictures = [(IMAGES / f"{name}.png").read_bytes() for name in shown]
    assert all(each.startswith(b"\x89PNG") and len(each) < 150_000 for each in pictures)
    assert len({*pictures}) == 8


async def found(page: Page, words: str) -> list[str]:
    await page.get_by_role("combobox").fill(words)
    return await page.get_by_role("option").all_inner_texts()


@pytest.mark.row("D4")
@pytest.mark.asyncio(loop_scope="session")
async def test_a_reader_finds_a_place_in_both_languages_by_keys_and_nothing_is_fetched_elsewhere(
    site: Path, browser: Browser
) -> None:
    page = await browser.new_page(viewport={"width": 1280, "height": 800})
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda sent: wrong.append(sent.url) if not sent.url.startswith(("file:", "data:")) else None)
    await page.goto((site / "index.html").as_uri())
    assert (await found(page, "approval expires"))[0].startswith("Approval")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/runs.html#approval")
    await page.get_by_role("link", name="中文", exact=True).first.click()
    await page.wait_for_url("**/zh/runs.html")
    assert (await found(page, "审批过期"))[0].startswith("批准")
    assert await found(page, "qqqq") == []
    assert await page.get_by_role("status").inner_text() == "没有找到。"
    await page.set_viewport_size({"width": 390, "height": 800})
    for path in ("index.html", "zh/tools.html", "reference/python.html", "reference/api.html"):
        await page.goto((site / path).as_uri())
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    await page.close()
    assert wrong == []


@pytest.mark.row("D4")
@pytest.mark.asyncio(loop_scope="session")
async def test_axe_finds_nothing_on_a_guide_and_on_the_reference(site: Path, browser: Browser) -> None:
    page = await browser.new_page()
    await page.goto((site / "zh" / "index.html").as_uri())
    await found(page, "审批")
    await is_accessible_in_both_themes(page, "light")
    await page.goto((site / "reference" / "settings.html").as_uri())
    await is_accessible(page)
    await page.close()
