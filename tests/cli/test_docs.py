"""`actum docs`: the pages are read offline, and what the program says leads to them."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Callable

import pytest
from typer.testing import Result

from actum.cli.guides.pages import all_pages, in_language, text_below, with_commands
from actum.core.language.translation import CATALOGUE, Language, entries
from tests.sources import ROOT, modules

from .person import Person

Run = Callable[..., Result]
COMMAND = re.compile(r"`actum docs ([\w/-]+)((?: [\w-]+)*?)(?: --lang (en|zh))?`")
A_PATH = re.compile(r"\bdocs/[\w/-]+\.md")
A_LINK = re.compile(r"\]\([^)\s:]*\.md\b")


def test_the_pages_are_listed_by_name_in_the_readers_language(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = run("docs").stdout.splitlines()
    assert {line.split()[0] for line in listed[1:]} == {path.stem for path in (ROOT / "docs").glob("*.md")} | {
        "decisions"
    }
    assert "tools" in {line.split()[0] for line in listed if line.endswith("  Tools")}
    monkeypatch.setenv("ACTUM_LANG", "zh")
    assert re.search(r"^tools +工具$", run("docs").stdout, re.MULTILINE)
    assert re.search(r"^tools +Tools$", run("docs", "--lang", "en").stdout, re.MULTILINE)


def test_a_page_without_a_terminal_is_its_markdown_and_each_link_to_a_page_is_a_command(run: Run) -> None:
    shown = run("docs", "runs")
    written = (ROOT / "docs" / "runs.md").read_text("utf-8")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout.splitlines()[0] == written.splitlines()[0]
    assert "中文 (`actum docs runs --lang zh`)" in shown.stdout
    assert "\x1b" not in shown.stdout
    code = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
    assert code.findall(shown.stdout) == code.findall(written)
    assert run("docs", "docs/Runs.md").stdout == shown.stdout
    shown = run("docs", "conversations")
    part = run("docs", "conversations", "When an approval comes late").stdout
    assert part.startswith("### When an approval comes late\n")
    assert "\n#" not in part
    assert part in shown.stdout
    assert run("docs", "conversations", "when-an-approval-comes-late").stdout == part
    chinese = run("docs", "conversations", "when-an-approval-comes-late", "--lang", "zh").stdout
    assert chinese.startswith("### 批准来得晚时\n")  # a heading is found by its words in each language
    assert (
        "\n### Tenants\n" in run("docs", "conversations", "conversations").stdout
    )  # what is inside a section belongs to it


@pytest.mark.parametrize("spoken", ["en", "zh"])
def test_every_link_of_every_page_is_a_command_that_shows_what_the_link_means(spoken: Language) -> None:
    pages = all_pages()
    shown, found, dead = in_language(pages, spoken), 0, []
    for page in pages.values():
        text = with_commands(page, page.text, pages, spoken)
        dead += [(page.path, path) for path in (*A_PATH.findall(text), *A_LINK.findall(text))]
        for name, anchor, lang in COMMAND.findall(text):
            found += 1
            to = (in_language(pages, lang) if lang else shown).get(name)
            if to is None or (anchor and not text_below(to, anchor.strip(), pages)):
                dead.append((page.path, f"{name}{anchor} {lang}"))
    assert dead == []
    assert found > 200


@pytest.mark.parametrize(
    ("words", "first", "says"),
    [
        ("approval expires", "actum docs runs approval ", "expires"),
        ("审批过期", "actum docs runs 批准 --lang zh ", "过期"),
        ("EXPIRED approvals!", "actum docs runs approval ", "expires"),  # words by their stems
        ("kill -9", "actum docs ", "kill -9"),  # signs between words do not count
    ],
)
def test_a_search_finds_the_place(run: Run, words: str, first: str, says: str) -> None:
    found = run("docs", "--search", words)
    best = found.stdout.splitlines()[1]
    assert best.startswith(first)
    assert says in found.stdout
    shown = run(*best[len("actum ") :].split("  ")[0].split())
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert best.split("  ")[-1].strip()[:20] in shown.stdout


def test_a_search_can_stay_in_one_page_and_ends_with_1_where_nothing_fits(run: Run) -> None:
    found = run("docs", "keys", "--search", "expires").stdout.splitlines()
    assert found[1:]
    assert all(line.startswith("actum docs keys") for line in found[1:])
    assert run("docs", "--search", "xylophone").exit_code == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("tols",), "there is no page 'tols'; near it: tools"),
        (("../../etc/passwd",), "there is no page '../../etc/passwd'"),
        (("qqqqqq",), "`actum docs` lists the pages"),
        (("runs", "aproval"), "the page runs has no heading 'aproval'; it has: approval"),
        (("--search", " -- "), "holds no word to look for"),
        (("tools", "--lang", "fr"), "fr"),
    ],
)
def test_what_is_not_there_is_told_with_what_is_near(run: Run, words: tuple[str, ...], told: str) -> None:
    refused = run("docs", *words)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert told in " ".join(refused.stderr.split())


def test_a_page_that_has_no_chinese_is_shown_in_english_and_said_to_be(run: Run) -> None:
    shown = run("docs", "architecture", "--lang", "zh")
    assert (shown.exit_code, shown.stdout.splitlines()[0]) == (0, "# How actum is built")
    assert "English only" in shown.stderr


@pytest.mark.parametrize("no_color", ["", "1"])
def test_at_a_terminal_a_page_is_shown_in_the_pager_in_colours_unless_they_are_not_wanted(
    person: Callable[..., Person], monkeypatch: pytest.MonkeyPatch, no_color: str
) -> None:
    monkeypatch.delenv("MANPAGER", raising=False)
    monkeypatch.setenv("PAGER", 'echo "less is told: $LESS"; cat')
    monkeypatch.setenv("LESS", "-i")
    monkeypatch.setenv("NO_COLOR", no_color)
    somebody = person("docs", "web")
    code, shown = somebody.ends()
    assert code == 0
    assert "less is told: -i -R" in shown
    assert "\n# A web endpoint that streams\n" in shown
    assert "\n## With Starlette\n" in shown
    assert ("\x1b[" in somebody.raw) is (no_color == "")


@pytest.mark.skipif(shutil.which("less") is None, reason="there is no less here")
def test_in_less_a_key_goes_from_heading_to_heading(
    person: Callable[..., Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MANPAGER", raising=False)
    monkeypatch.setenv("PAGER", "less")
    somebody = person("docs", "runs")
    somebody.sees("# Runs: journal, resuming, approval, limits")
    somebody.sees("q quit")
    somebody.types("nn").sees("## Approval")
    assert somebody.types("q").ends()[0] == 0


def test_what_the_program_says_names_no_path_of_a_page_and_only_pages_that_there_are() -> None:
    said = [(str(CATALOGUE), text) for text in entries(CATALOGUE.read_text("utf-8")).values()]
    for name, path in modules():
        text = path.read_text("utf-8")
        if "docs" in text:
            said += [(name, each) for each in _texts(ast.parse(text))]
    assert [each for each in said if A_PATH.search(each[1])] == []
    named = {name for _, text in said for name, _, _ in COMMAND.findall(text)} - {"NAME"}
    assert {"gateway", "policy", "sandbox"} <= named <= {page.name for page in all_pages().values()}


def _texts(module: ast.Module) -> list[str]:
    """The texts of a module that are no docstrings."""
    silent = {
        id(node.value)
        for node in ast.walk(module)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        node.value
        for node in ast.walk(module)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent
    ]
