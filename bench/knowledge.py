"""Knowledge: whether ordinary questions find the right page, and what building and searching cost beside bare FTS5.

    mkdir deb && cd deb && apt-get download debian-faq debian-faq-zh-cn debian-reference-en debian-reference-zh-cn \\
        developers-reference maint-guide maint-guide-zh-cn && for each in *.deb; do dpkg-deb -x $each .; done
    DEBIAN_MANUALS=deb python -m bench.knowledge

The manuals are fetched by their names and stand nowhere here. A hit is a question with one of its pages among the first
five pages. The questions were written before the first search; the pages of a question are chapters that answer it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

from actum.knowledge.collections import CollectionUser, make
from actum.knowledge.search import search
from actum.knowledge.tables import PASSAGES
from actum.knowledge.terms import asked_for, terms_of
from actum.knowledge.update import update
from actum.storage.sqlite import SQLiteJournal

PLACES = {
    "en": ("doc/debian/FAQ", "debian-reference", "developers-reference", "doc/maint-guide/html"),
    "zh": ("doc/debian/FAQ/zh-cn", "debian-reference", "doc/maint-guide-zh-cn/html"),
}
QUESTIONS = {
    "en": {
        "How do I upgrade to the newest release without reinstalling?": "uptodate",
        "What do testing, unstable and stable mean?": "ftparchives choosing",
        "Can I sell CDs with Debian on them?": "redistributing",
        "Which paper size is used by default and how can I change it?": "customizing",
        "Where can I ask for help when something does not work?": "support",
        "How do I compile my own kernel?": "kernel ch09",
        "How do I find out which package a file belongs to?": "pkgtools ch02 uptodate",
        "What should I do before I go on vacation as a developer?": "developer-duties",
        "How do I become a member of the project?": "new-maintainer contributing",
        "How can I close a bug report with an upload?": "pkgs upload update",
        "What must stand in the changelog file of a package?": "dreq best-pkging-practices update",
        "How do I set up a wireless connection with a password?": "ch05",
        "How do I protect the root password and set who may use sudo?": "ch04",
        "How can I convert a PDF file to text?": "ch11",
    },
    "zh": {
        "怎样升级到最新的发行版？": "uptodate ch02 choosing",
        "testing 和 unstable 有什么区别？": "ftparchives choosing",
        "我可以卖 Debian 光盘吗？": "redistributing",
        "默认的纸张大小怎么改？": "customizing",
        "遇到问题时在哪里可以得到帮助？": "support",
        "怎么自己编译内核？": "kernel ch09",
        "怎么知道一个文件属于哪个软件包？": "pkgtools ch02 uptodate",
        "无线网络怎么设置？": "ch05",
        "忘记了密码怎么办，密码保存在哪里？": "ch04 ch09",
        "怎样备份我的数据？": "ch10",
        "怎么输入中文？": "ch08",
        "软件包的 changelog 文件里要写什么？": "dreq update",
        "怎样检查做好的软件包有没有错误？": "checkit",
        "怎样上传我的软件包？": "upload",
    },
}
LEFT_OUT = frozenset({"search.html", "developers-reference.html"})
USER = CollectionUser("", "bench")


async def main() -> None:
    """Print hits and costs."""
    manuals = os.environ.get("DEBIAN_MANUALS", "")
    if not manuals:
        print("DEBIAN_MANUALS names no folder with the manuals: left out.")
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "manuals")
        await asyncio.to_thread(_copied, Path(manuals), folder)
        journal = SQLiteJournal(Path(place, "knowledge.db"))
        await make(journal, USER, "manuals", folder=str(folder))
        began = time.process_time()
        report = await update(journal, USER, "manuals")
        built = time.process_time() - began
        passages = await journal.stores.find("", PASSAGES)
        print(f"{report.read} pages, {len(passages)} passages: {built:.1f} s CPU without the child that reads")
        asked = 0.0
        for language, questions in QUESTIONS.items():
            began = time.process_time()
            hits = [await _hits(journal, question, f"{language}/", pages) for question, pages in questions.items()]
            asked += time.process_time() - began
            print(f"{language}: {sum(hits)} of {len(hits)} questions find their page")
        await asyncio.to_thread(_bare, Path(place, "bare.db"), [each.text for each in passages], built, asked)
        await journal.close()


def _copied(manuals: Path, folder: Path) -> None:
    for language, places in PLACES.items():
        for place in places:
            to = folder / language / place.replace("/", "-")
            to.mkdir(parents=True)
            for page in sorted((manuals / "usr/share" / place).glob("*.html")):
                is_of = page.name.count(".") == 1 or page.name.endswith((f".{language}.html", f".{language}-cn.html"))
                has_twin = page.with_suffix(f".{language}.html").exists() and page.name.count(".") == 1
                if is_of and not has_twin and page.name not in LEFT_OUT:
                    shutil.copy(page, to)


async def _hits(journal: SQLiteJournal, question: str, language: str, pages: str) -> bool:
    found = [each.document for each in await search(journal, USER, "manuals", question, 20)]
    first = list(dict.fromkeys(found))[:5]
    return any(each.startswith(language) and Path(each).name.split(".")[0] in pages.split() for each in first)


def _bare(place: Path, texts: list[str], built: float, asked: float) -> None:
    """The same words in bare FTS5: all in one transaction, without titles and lengths."""
    began = time.process_time()
    with sqlite3.connect(place) as database:
        database.execute("CREATE VIRTUAL TABLE passages USING fts5(text)")
        rows = ((" ".join(terms_of(text).elements()),) for text in texts)
        database.executemany("INSERT INTO passages (text) VALUES (?)", rows)
    bare_built = time.process_time() - began
    began = time.process_time()
    for questions in QUESTIONS.values():
        for question in questions:
            wanted = " OR ".join(f'"{term}"' for term in asked_for(question))
            found = "SELECT text FROM passages WHERE passages MATCH ? ORDER BY rank LIMIT 20"
            database.execute(found, (wanted,)).fetchall()
    bare_asked = time.process_time() - began
    database.close()
    print(f"build {built / bare_built:.1f} times bare FTS5, query {asked / bare_asked:.1f} times", file=sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
