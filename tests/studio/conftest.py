"""A real Chromium in front of a real `actum studio`: one browser a worker, one context a test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from packages.site.pictures import IMAGES
from packages.studio import hatch_build
from tests import warm
from tests.patience import HANGS_S
from tests.peers import install

LATE_MS = 90_000.0
"""A page that is told by another server, or a button that comes with an answer, may be so late on a busy machine."""
expect.set_options(timeout=LATE_MS)

START = "from actum.cli.app import main; main()"


class Studio(NamedTuple):
    """A studio that runs.

    Attributes:
        folder: the home and the working folder of the person who started it.
        url: the address that signs in.
        process: the studio.
    """

    folder: Path
    url: str
    process: subprocess.Popen[str]

    def kill(self) -> None:
        """End the studio as a loss of power would."""
        self.process.kill()
        self.process.wait(HANGS_S)

    def again(self) -> str:
        """A new address that signs in, by a second `actum studio`."""
        done = warm.run(
            [sys.executable, "-c", START, "studio", "--json", "--no-browser"],
            cwd=self.folder,
            env=environment(self.folder),
            capture_output=True,
            text=True,
            check=True,
        )
        return str(json.loads(done.stdout)["url"])


def environment(folder: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Of a person who has nothing but a home, with more variables."""
    return {**(more or {})} | {
        "HOME": str(folder),
        "XDG_STATE_HOME": str(folder / "state"),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONUTF8": "1",
    }


@contextmanager
def studio_in(folder: Path, place: str = "127.0.0.1:0", variables: Mapping[str, str] | None = None) -> Iterator[Studio]:
    """A studio of a person whose folder this is, at a host and a port."""
    process = warm.popen(
        [sys.executable, "-c", START, "studio", "--json", "--no-browser", "--http", place],
        cwd=folder,
        env=environment(folder, variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        yield Studio(folder, json.loads(process.stdout.readline())["url"], process)
    finally:
        process.terminate()
        process.wait(HANGS_S)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


@pytest.fixture(scope="session")
def bundle() -> None:
    """The pages are built of the sources that are there."""
    hatch_build.build()


@pytest.fixture
def studio(bundle: None, tmp_path: Path) -> Iterator[Studio]:
    """A studio with a fresh home and no settings."""
    with studio_in(tmp_path) as running:
        yield running


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of this folder share a loop, since they share a browser."""
    for item in items:
        if item.path.parent == Path(__file__).parent and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """A browser, one for all tests of a worker; `ACTUM_BROWSER` names another one."""
    path, found = install.browser()
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(
            executable_path=str(path), env={**os.environ, **found}, chromium_sandbox=False
        )
        yield running
        await running.close()


@pytest.fixture
def pictured(request: pytest.FixtureRequest) -> Callable[[Page, str], Awaitable[None]]:
    """Takes a screenshot of a page for the guides in both themes, under a name, where `--pictures` asks for them."""

    async def take(page: Page, name: str) -> None:
        if request.config.getoption("pictures"):
            await page.set_viewport_size({"width": 1040, "height": 620})
            for scheme in ("dark", "light"):
                await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
                await page.screenshot(path=IMAGES / f"{name}-{scheme}.png", animations="disabled")

    return take


class Watched:
    """Pages of which every error is kept: what the console says, what breaks the policy, what leaves the server."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.contexts: list[BrowserContext] = []

    async def page(self, browser: Browser, studio: Studio, language: str, **looks: str) -> Page:
        """A new page of a person with this language."""
        context = await browser.new_context(locale=language, accept_downloads=True, **looks)  # type: ignore[arg-type]
        context.set_default_timeout(LATE_MS)  # of presses and of pages that are loaded
        self.contexts.append(context)
        page = await context.new_page()
        own = studio.url.partition("/studio/")[0]
        page.on("console", lambda said: self.errors.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda sent: None if sent.url.startswith((own, "blob:")) else self.errors.append(sent.url))
        return page


@pytest_asyncio.fixture(loop_scope="session")
async def watched() -> AsyncIterator[Watched]:
    """Fails the test where a page said an error, broke the policy or asked another server."""
    made = Watched()
    yield made
    errors = [*made.errors]
    for context in made.contexts:
        await context.close()
    assert errors == []
