"""What the studio costs its users and its server; part of `make bench`.

Bytes of a page's first load and of the package, time of a filtered page of 100,000 runs against an unfiltered one, and
how often idle feeds ask the journal.
"""

from __future__ import annotations

import asyncio
import gzip
import io
import re
import tempfile
import time
import zipfile
from contextlib import AsyncExitStack, closing
from pathlib import Path

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
from tests.postgres import postgres_server

from .lists import RUNS, fill
from .loop import Row

PAGES = ("chat", "workflows", "agents", "tools", "runs", "approvals", "audit", "settings")
LOAD_KB, CANVAS_KB, WHEEL_KB, FILTERED, IDLE = 230, 290, 2_000, 2.0, 3.0
"""What is allowed."""
WATCHED_S = 5.0
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
    """Bytes, pages of lists, and idle feeds."""
    build()
    rows = [*_sizes()]
    with tempfile.TemporaryDirectory() as folder, postgres_server(durable=True) as server:
        file, url = Path(folder) / "journal.db", server.new_database()
        sqlite = DatabaseJournal(SQLiteDatabase(file), SQLITE, now=time.time, key=None)
        postgres = DatabaseJournal(PostgresDatabase(url), POSTGRES, now=time.time, key=None)
        rows += asyncio.run(_lists("SQLite", sqlite, SQLiteDatabase(file), rounds))
        rows += asyncio.run(_lists("PostgreSQL", postgres, PostgresDatabase(url), rounds))
        rows.append(asyncio.run(_feeds(Path(folder) / "feeds.db")))
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
