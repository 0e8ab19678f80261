"""What the studio costs its users and its server; part of `make bench`.

Bytes of a page's first load and of the package, time of a filtered page of 100,000 runs against an unfiltered one, how
often idle feeds ask the journal, and in a real Chromium what a frame and a key cost in large workflows.
"""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import os
import re
import statistics
import tempfile
import time
import zipfile
from contextlib import AsyncExitStack, closing
from pathlib import Path

from playwright.async_api import Page, async_playwright

from actum.core.clock import SystemClock
from actum.core.interfaces import RunFilter
from actum.journal.lists import page_of_runs
from actum.journal.watch import JournalWatch
from actum.storage.database import Database
from actum.storage.journal import DatabaseJournal
from actum.storage.postgres import PostgresDatabase
from actum.storage.schema import POSTGRES, SQLITE
from actum.storage.sqlite import SQLiteDatabase, SQLiteJournal
from packages.studio.hatch_build import BUNDLE, build
from tests.peers import install
from tests.postgres import postgres_server
from tests.studio.conftest import studio_in
from tests.studio.session import api

from .lists import RUNS, fill
from .loop import Row

PAGES = ("chat", "workflows", "agents", "tools", "runs", "approvals", "audit", "settings")
LOAD_KB, CANVAS_KB, WHEEL_KB, FILTERED, IDLE, PANNED, TYPED = 230, 290, 2_000, 2.0, 3.0, 4.0, 2.0
"""What is allowed."""
WATCHED_S = 5.0
AT_ONCE = ("--disable-frame-rate-limit", "--disable-gpu-vsync")
"""Of Chromium: a frame is drawn as soon as the one before is done. Otherwise the pace of a screen would be measured."""
FRAMES, KEYS = 120, 40
_PAN = """async frames => {
    const pane = document.querySelector(".react-flow__pane");
    const drawn = document.querySelector(".react-flow__viewport");
    const send = (to, type, at) => to.dispatchEvent(new MouseEvent(type, {
        clientX: 600 + at, clientY: 500 + at, button: 0, buttons: 1, bubbles: true, cancelable: true, view: window,
    }));
    const next = () => new Promise(requestAnimationFrame);
    const before = drawn.style.transform;
    send(pane, "mousedown", 0);
    const costs = [];
    await next();
    for (let frame = 1; frame <= frames; frame++) {
        const begun = performance.now();
        send(window, "mousemove", frame);
        await next();
        costs.push(performance.now() - begun);
    }
    if (drawn.style.transform === before) throw new Error("nothing was panned");
    send(window, "mouseup", frames);
    return costs;
}"""
_WATCH_KEYS = """() => {
    window.costs = [];
    addEventListener("keydown", () => {
        const begun = performance.now();
        requestAnimationFrame(() => {
            const painted = new MessageChannel();
            painted.port1.onmessage = () => window.costs.push(performance.now() - begun);
            painted.port2.postMessage(0);
        });
    }, true);
}"""
_STATIC = re.compile(r"""(?:\bfrom|\bimport)\s*["']\./([\w.-]+\.js)["']""")
_MARKED = """INSERT INTO run_marks SELECT tenant, {mark}, place FROM runs WHERE {where}"""
_MARKS = (
    *((f"'text:{word}'", "place > 0") for word in ("what", "is", "the", "weather", "in", "city", "should", "wear")),
    ("'text:city_' || (place % 500)", "place > 0"),
    ("'tool:tool_' || (place % 7)", "place > 0"),
    ("'error:timeout'", "place % 1000 = 0"),
)
FILTERS: dict[str, RunFilter] = {
    "by tool": {"tool": "tool_3"},
    "by error": {"error": "timeout"},
    "by a rare error and a tool": {"error": "timeout", "tool": "tool_3"},
    "by a common word": {"text": "weather"},
    "by a rare word": {"text": "city_7"},
    "by two words": {"text": "weather city_7"},
    "by words that no run has together": {"text": "city_7 city_8 weather"},
    "by status": {"status": "failed"},
}


def studio_table(rounds: int) -> list[Row]:
    """Bytes, pages of lists, idle feeds, and large workflows on the canvas."""
    build()
    rows = [*_sizes()]
    with tempfile.TemporaryDirectory() as folder, postgres_server(durable=True) as server:
        file, url = Path(folder) / "journal.db", server.new_database()
        sqlite = DatabaseJournal(SQLiteDatabase(file), SQLITE, now=time.time, key=None)
        postgres = DatabaseJournal(PostgresDatabase(url), POSTGRES, now=time.time, key=None)
        rows += asyncio.run(_lists("SQLite", sqlite, SQLiteDatabase(file), rounds))
        rows += asyncio.run(_lists("PostgreSQL", postgres, PostgresDatabase(url), rounds))
        rows.append(asyncio.run(_feeds(Path(folder) / "feeds.db")))
        rows += asyncio.run(_canvas(Path(folder), rounds))
    return rows


def _sizes() -> list[Row]:
    packed = {path.name: len(gzip.compress(path.read_bytes(), 9)) for path in BUNDLE.rglob("*") if path.is_file()}
    html = (BUNDLE / "index.html").read_text("utf-8")
    first = re.findall(r"/assets/([\w.-]+)\"", html)
    rows: list[Row] = []
    for page, allowed in (*((each, LOAD_KB) for each in PAGES), ("canvas", CANVAS_KB)):
        chunks = ("workflows", "workflow") if page == "canvas" else (page,)
        names = "|".join(chunks)
        wanted = [*first, *(name for name in packed if re.match(rf"({names})-.*\.(js|css)$", name))]
        if page == "chat":  # a conversation is shown as Markdown
            wanted += [name for name in packed if name.startswith("markdown-")]
        loaded = _reached(wanted)
        kilobytes = (packed["index.html"] + sum(packed[name] for name in loaded)) / 1_000
        rows.append(
            {"what": f"first load of {page}, gzipped", "found": f"{kilobytes:.0f} KB", "allowed": f"{allowed} KB"}
        )
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in BUNDLE.parent.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path)
    size = len(wheel.getvalue()) / 1_000
    rows.append({"what": "the package, as a wheel packs it", "found": f"{size:.0f} KB", "allowed": f"{WHEEL_KB} KB"})
    return rows


def _reached(names: list[str]) -> set[str]:
    """Files of the bundle, and those that they import at once."""
    reached: set[str] = set()
    while names:
        name = names.pop()
        if name not in reached:
            reached.add(name)
            text = (BUNDLE / "assets" / name).read_text("utf-8") if name.endswith(".js") else ""
            names += _STATIC.findall(text)
    return reached


async def _lists(name: str, journal: DatabaseJournal, database: Database, rounds: int) -> list[Row]:
    try:
        with closing(database):
            fill(database)
            database.begin(writes=True, durable=False)
            for mark, where in _MARKS:
                database.execute(_MARKED.format(mark=mark, where=where))
            database.commit()
            database.execute("ANALYZE" if name == "SQLite" else "VACUUM ANALYZE")
        bare = await _best(journal, {}, rounds)
        rows: list[Row] = []
        for what, wanted in FILTERS.items():
            times = await _best(journal, wanted, rounds) / bare
            told = f"{name}, {RUNS:,} runs, {what}, against {bare * 1e3:.1f} ms"
            rows.append({"what": told, "found": f"{times:.1f} x", "allowed": f"{FILTERED} x"})
        return rows
    finally:
        await journal.close()


async def _best(journal: DatabaseJournal, wanted: RunFilter, rounds: int) -> float:
    asked = wanted.copy()
    asked["tenant"] = "north"

    async def once() -> float:
        begun = time.perf_counter()
        await page_of_runs(journal, **asked)
        return time.perf_counter() - begun

    return min([await once() for _ in range(max(rounds, 5))])


async def _feeds(file: Path) -> Row:
    """Fifty idle feeds against one: how often the journal is looked at."""
    looks: list[int] = []
    for feeds in (1, 50):
        journal = SQLiteJournal(file)
        watch = JournalWatch(journal, SystemClock())
        async with AsyncExitStack() as stack:
            for _ in range(feeds):
                await stack.enter_async_context(watch.listening({}, ""))
            await asyncio.sleep(WATCHED_S)
        looks.append(watch.looks)
        await journal.close()
    return {"what": "50 idle feeds against one", "found": f"{looks[1] / looks[0]:.2f} x", "allowed": f"{IDLE} x"}


async def _canvas(folder: Path, rounds: int) -> list[Row]:
    """A frame while 500 nodes are panned against one node, and a key in a form among 300 nodes against 10."""
    browser, variables = install.browser()
    with studio_in(folder) as studio:
        async with async_playwright() as playwright:
            running = await playwright.chromium.launch(
                executable_path=str(browser), env={**os.environ, **variables}, chromium_sandbox=False, args=[*AT_ONCE]
            )
            page = await running.new_page(locale="en-GB", viewport={"width": 1500, "height": 1000})
            await page.goto(studio.url)
            await page.get_by_role("link", name="Workflows").wait_for()
            frames = [await _panned(page, nodes, rounds) for nodes in (1, 500)]
            keys = [await _typed(page, nodes, rounds) for nodes in (10, 300)]
            await running.close()
    return [
        _against(f"a frame while 500 nodes are panned, against {frames[0]:.1f} ms for one node", frames, PANNED),
        _against(f"a key in the form of a node, 300 nodes against 10 with {keys[0]:.1f} ms", keys, TYPED),
    ]


def _against(what: str, found: list[float], allowed: float) -> Row:
    return {"what": what, "found": f"{found[1] / found[0]:.1f} x", "allowed": f"{allowed} x"}


async def _drawn(page: Page, nodes: int) -> None:
    """The page of a new workflow of so many nodes, in rows, each with an edge to the next."""
    name = f"of_{nodes}"
    text = {
        "actum": "workflow/1",
        "name": name,
        "nodes": {f"n{each}": {"type": "say", "title": f"Step {each}", "text": "Hello"} for each in range(nodes)},
        "edges": [f"n{each} > n{each + 1}" for each in range(nodes - 1)],
        "view": {f"n{each}": [each % 25 * 260, each // 25 * 110] for each in range(nodes)},
    }
    await api(page, "POST", f"/v1/workflows/{name}/draft", {"text": json.dumps(text), "revision": 0})
    await page.goto(re.sub("/studio/.*", f"/studio/workflows/{name}", page.url))
    await page.locator(".react-flow__node").nth(nodes - 1).wait_for(state="attached")


async def _panned(page: Page, nodes: int, rounds: int) -> float:
    """Milliseconds of a frame: the median of the best round."""
    await _drawn(page, nodes)
    await page.evaluate(_PAN, FRAMES)
    return float(min([statistics.median(await page.evaluate(_PAN, FRAMES)) for _ in range(rounds)]))


async def _typed(page: Page, nodes: int, rounds: int) -> float:
    """Milliseconds from a key until the page is painted: the median of the best round."""
    await _drawn(page, nodes)
    await page.get_by_role("treeitem", name="n0, say").click()
    await page.get_by_role("textbox", name="text", exact=True).focus()
    best: list[float] = []
    for _ in range(rounds):
        await page.evaluate(_WATCH_KEYS)
        await page.keyboard.type("x" * KEYS, delay=20)
        best.append(statistics.median(await page.evaluate("window.costs")))
    return min(best)
