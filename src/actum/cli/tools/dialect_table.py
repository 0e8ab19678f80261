"""The tables of `docs/dialects.md`, made of the catalog, the rows and the corpus, so that the page can not fall behind.

python -m actum.cli.tools.dialect_table docs/dialects.md tests/corpus      rewrites what stands between the page's marks
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from ...core.errors import UsageError
from ...dialects import dialect, names
from ...dialects.api.openai_chat.dialect import OpenAiChat
from ...dialects.base import ApiDialect, StrictTools
from ...dialects.catalog import listing_of
from ...dialects.grammar.grammar import constrains
from ...dialects.listing import TextListing
from ...dialects.text.tagged.dialect import TaggedText

_MARK = "<!-- {name}: made by python -m actum.cli.tools.dialect_table -->"
_END = "<!-- end -->"


def constrained(name: str) -> str:
    """What can hold a model to this format: a grammar, token by token, or strict tools of its API."""
    found = dialect(name)
    if isinstance(found, OpenAiChat) and found.functions:
        return "no"
    if isinstance(found, ApiDialect):
        return "strict tools" if isinstance(found, StrictTools) else "no"
    return "grammar" if constrains(found) else "no"


def dialects_table() -> str:
    """A line for each dialect: its models, what can be done with it, and its quirks."""
    head = ("dialect", "how a call is said", "models", "spoken", "served", "streamed", "constrained", "worth knowing")
    return _table(head, [_line(name) for name in names()])


def corpus_table(corpus: Path) -> str:
    """A line for each dialect's folder of outputs: how many there are, from elsewhere and made by hand."""
    rows = []
    for folder in sorted(path for path in corpus.iterdir() if path.name in names()):
        cases = [json.loads(path.read_text("utf-8")) for path in folder.glob("*.json") if path.stem != "tools"]
        made = sum(bool(case.get("made")) for case in cases)
        rows.append((f"`{folder.name}`", str(len(cases)), str(len(cases) - made), str(made)))
    total = ("all", *(str(sum(int(row[column]) for row in rows)) for column in (1, 2, 3)))
    return _table(("dialect", "cases", "from published sources", "made by hand"), [*rows, total])


def reasoning_table() -> str:
    """The text dialects by what a call in reasoning is that is never closed."""
    texts = [found for found in map(dialect, names()) if not isinstance(found, ApiDialect)]
    counts = [found for found in texts if isinstance(found, TaggedText) and found.form.call_ends_thought]
    ends = ", ".join(f"`{found.name}`" for found in counts)
    stays = ", ".join(f"`{found.name}`" for found in texts if found not in counts)
    rules = [("counts", ends), ("is part of the reasoning", stays)]
    return _table(("a call in reasoning that is never closed", "in"), rules)


def _line(name: str) -> tuple[str, ...]:
    listing = listing_of(name)
    by_api = isinstance(dialect(name), ApiDialect)
    models = listing.models if isinstance(listing, TextListing) else ()
    return (
        f"`{name}`",
        listing.summary.replace("|", "\\|").replace("<", "\\<"),
        ", ".join(models) or "–",
        "yes",
        "yes" if by_api else "its text",
        "both ways" if by_api else "read",
        constrained(name),
        listing.note,
    )


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def updated(page: str, corpus: Path) -> str:
    """The page with its tables made anew.

    Raises:
        UsageError: a mark is missing.
    """
    made = {"dialects": dialects_table(), "reasoning": reasoning_table(), "corpus": corpus_table(corpus)}
    for name, table in made.items():
        mark = _MARK.format(name=name)
        before, found, behind = page.partition(mark + "\n")
        _, end, rest = behind.partition(_END)
        if not found or not end:
            raise UsageError(
                "the page has no place for the table {name!r}: {mark} ... {end}", name=name, mark=mark, end=_END
            )
        page = f"{before}{found}\n{table}\n{end}{rest}"
    return page


def main(page: str, corpus: str) -> None:
    """Rewrite a page."""
    path = Path(page)
    path.write_text(updated(path.read_text("utf-8"), Path(corpus)), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
