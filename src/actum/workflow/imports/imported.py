"""What an import comes to, and the text of a definition that passes `actum workflow check`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from ...core.definition import TextProblem
from ...core.json import Json, JsonObject, dumps
from ..definition.text import BadWorkflow
from ..load import check_text
from .definition_text import definition_text
from .report import ImportNotes, ImportReport


class ImportedApp(Struct, frozen=True):
    """What an import came to.

    Attributes:
        name: what the workflow or the agent is called.
        text: our definition; empty for an app that becomes an agent, whose settings stand in the report.
        report: what became of each node and field.
    """

    name: str
    text: str
    report: ImportReport


def name_of(*titles: str) -> str:
    """A name of ours: the first title that is written in our letters."""
    for title in titles:
        name = re.sub(r"[^A-Za-z0-9]+", "_", title).strip("_").lower()[:60].strip("_") if title.isascii() else ""
        if name:
            return name if name[0].isalpha() else f"flow_{name}"
    return "imported"


def sound_text(definition: JsonObject, notes: ImportNotes) -> str:
    """The text of a definition that passes `actum workflow check`: what does not pass is taken out and reported."""
    for _ in range(_REPAIRS_MAX):
        text, problems = _text(definition)
        if not problems:
            return text
        for problem in problems:
            _take_out(definition, problem, notes)
    empty: JsonObject = {"actum": "workflow/1", "name": str(definition["name"]), "imported": notes.format, "nodes": {}}
    notes.say("lost", "workflow.graph", "no definition that is sound came of this graph")
    return definition_text(empty)


_REPAIRS_MAX = 6


def _text(definition: JsonObject) -> tuple[str, Sequence[TextProblem]]:
    """The text of a definition, and what is wrong with the text. Where YAML cannot say the definition, JSON does."""
    problems: Sequence[TextProblem] = ()
    for text in (definition_text(definition), dumps(definition)):
        try:
            checked = check_text(text)
        except BadWorkflow as bad:
            problems = bad.problems
            continue
        if checked.source.value == definition:
            return text, checked.problems
        problems = checked.problems
    return text, problems


def _take_out(definition: JsonObject, problem: TextProblem, notes: ImportNotes) -> None:
    """Put null, or nothing, where a definition is not sound."""
    notes.say("lost", problem.path, f"this does not pass the check: {problem.message}"[:300])
    steps: list[str] = problem.path.split(".") if problem.path else []
    at: Json = definition
    for index, step in enumerate(steps):
        last = index == len(steps) - 1
        if isinstance(at, dict) and step in at:
            if last or not isinstance(at[step], dict | list):
                if step in _NEEDED or isinstance(at[step], str):
                    at[step] = _EMPTY.get(step)
                else:
                    del at[step]
                return
            at = at[step]
        elif isinstance(at, list) and step.isdecimal() and int(step) < len(at):
            if last or not isinstance(at[int(step)], dict | list):
                at[int(step)] = None
                if steps[index - 1] == "edges":
                    del at[int(step)]
                return
            at = at[int(step)]
        else:
            return


_NEEDED = frozenset({"when", "text", "query", "task", "of", "over", "tool", "url", "name"})
_EMPTY: JsonObject = {
    **dict.fromkeys(("when", "until", "where"), "false"),
    **dict.fromkeys(("text", "query", "task", "url", "prompt", "system", "message"), ""),
    **{key: [] for key in ("of", "over")},
    "tool": "unknown",
    "name": "imported",
}
