"""The tables of `docs/dialects.md`, made of the catalog, the rows and the corpus, so that the page can not fall behind.

python -m actum.cli.dialect_table docs/dialects.md tests/corpus      rewrites what stands between the page's marks
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from ..core.errors import UsageError
from ..dialects import dialect, names
from ..dialects.api.openai_chat.dialect import OpenAiChat
from ..dialects.catalog import models_of
from ..dialects.grammar.grammar import constrains
from ..dialects.text.tagged.dialect import TaggedText
from .dialects import LINES

_MARK = "<!-- {name}: made by python -m actum.cli.dialect_table -->"
_END = "<!-- end -->"

QUIRKS = {
    "anthropic_messages": "one turn may hold many calls; results go back in one message of the user",
    "apertus": "the tool's name is the key of an object; an object with `name` and `arguments` is not read",
    "command_r": "citations are taken out of the text and stand in `reply.extras`",
    "command_r_plus": "`directly_answer` means no call; the answer itself comes in a turn of its own",
    "deepseek_v3": "models leave out the closing fence and the outer marks; both are borne",
    "deepseek_v3_2": "each parameter says by itself whether it is a string; V4 names the outer mark otherwise",
    "ernie4_5": "answers stand in `<response>`; the thinking models begin inside a thought",
    "functionary": "v3.1; the `python` tool of raw code is not read",
    "functionary_v2": "the output begins with the recipient, since the prompt ends in its mark",
    "functionary_v3_2": "as v2; `>>>` in a text is text unless a recipient and an object follow",
    "functiongemma": "strings stand between `<escape>`; some templates put numbers there too, the schema decides",
    "gemini_content": "no ids in older versions; they are made",
    "gemma4": "reasoning is a channel; servers that drop special tokens drop the marks of strings too",
    "glm4_5": "values are plain text, the schema gives their type; 4.7 writes no line breaks",
    "granite": "Granite 4 writes as `hermes`",
    "harmony": "raw code for a built-in tool becomes a call that is not complete; no plain completions",
    "hermes": "Qwen models leave out the opening tag, or write the arguments as JSON in a string",
    "hunyuan": "answers stand in `<answer>`",
    "jamba": "Apriel and MiniMax-M1 write the same",
    "kimi_k2": "ids are `functions.name:0`, counted through the conversation; others are translated in the history",
    "llama3_json": "a bare object; several are divided by semicolons; `parameters`, not `arguments`",
    "llama_pythonic": "values that are no literals are kept as text",
    "minimax_m2": "MiniMax-M3 writes otherwise and is not covered",
    "mistral": "ids have nine letters and digits in the models' own template",
    "mistral_v11": "the name stands before `[ARGS]`, with an id in some versions",
    "openai_chat": "what compatible servers do differently is borne: ids, indexes, arguments as objects",
    "openai_functions": "one call a turn",
    "qwen3_coder": "values are plain text, the schema gives their type; the outer tag is often missing",
    "seed_oss": "values are plain text, the schema gives their type",
    "step3": "Step-3.5 writes as `qwen3_coder`",
    "xlam": "a bare list of calls; it is told from other JSON by the names in it",
}
"""What is worth knowing of a dialect before one relies on it."""


def constrained(name: str) -> str:
    """What can hold a model to this format: a grammar, token by token, or strict tools of its API."""
    found = dialect(name)
    if isinstance(found, OpenAiChat) and found.functions:
        return "no"
    if hasattr(found, "decode_request"):
        return "strict tools" if hasattr(found, "strict") else "no"
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
    texts = [found for found in map(dialect, names()) if not hasattr(found, "decode_request")]
    counts = [found for found in texts if isinstance(found, TaggedText) and found.form.call_ends_thought]
    ends = ", ".join(f"`{found.name}`" for found in counts)
    stays = ", ".join(f"`{found.name}`" for found in texts if found not in counts)
    rules = [("counts", ends), ("is part of the reasoning", stays)]
    return _table(("a call in reasoning that is never closed", "in"), rules)


def _line(name: str) -> tuple[str, ...]:
    found = dialect(name)
    by_api = hasattr(found, "decode_request")
    return (
        f"`{name}`",
        LINES[name].replace("|", "\\|").replace("<", "\\<"),
        ", ".join(models_of(name)) or "–",
        "yes",
        "yes" if by_api else "its text",
        "both ways" if by_api else "read",
        constrained(name),
        QUIRKS.get(name, ""),
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
            raise UsageError(f"the page has no place for the table {name!r}: {mark} ... {_END}")
        page = f"{before}{found}\n{table}\n{end}{rest}"
    return page


def main(page: str, corpus: str) -> None:
    """Rewrite a page."""
    path = Path(page)
    path.write_text(updated(path.read_text("utf-8"), Path(corpus)), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
