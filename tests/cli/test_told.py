"""What a person reads of a command: each word, in both languages, as it was when the command was still written by hand.

`told/NAME.LANGUAGE.txt` holds what each command of a scenario writes: `$` the command, `|` stdout, `!` stderr, and its
exit code. Ids, times and the name of the user are replaced by words.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from pathlib import Path

import pytest

from actum.cli.show.terminal import who
from actum.core.call import ToolCall
from actum.core.interfaces import Journal
from actum.core.json import JsonObject
from actum.core.message import UserMessage
from actum.core.run.pending import Pending, Quorum
from actum.core.run.record import CallsRequested, InputRequested, Started
from actum.storage.sqlite import SQLiteJournal

from .conftest import Run

TOLD = Path(__file__).parent / "told"
MINE = ("--tools", "tools.py", "--journal", "runs.db", "--model")
_ID = re.compile(r"\b(run|ask|conv)_[A-Za-z0-9_-]{10,}|\b[0-9a-f]{64}\b|\b[0-9a-f]{12}\b")
_REPLACED = (
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?([+-]\d\d:\d\d)?)?"), "TIME"),
    (re.compile(r"\b\d\d:\d\d:\d\d\.\d{3}\b"), "CLOCK"),
    (re.compile(r"(?<=,)\d{10}\.\d+(?=,)"), "N"),
    (re.compile(r'("(?:at|next|asked_at|waited_s|seconds|elapsed)": )[\d.e-]+'), r"\1N"),
    (re.compile(r"(<1|[\d.]+) (ms|s)\b|\d+ min \d+ s|\d+ h \d+ min"), "SPAN"),
    (re.compile(r"\b[A-Za-z0-9_-]{22,}(?=\")"), "KEY"),
    (re.compile(r" {2,}"), "  "),
)


class Transcript:
    """Types commands and writes down what each has written."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._ids: dict[str, str] = {}
        self.lines: list[str] = []

    def type(self, *words: str) -> str:
        """Type a command; what it has written to stdout."""
        result = self._run(*words, *(() if "--journal" in words or words[0] == "trigger" else ("--journal", "runs.db")))
        self.lines += ["", "$ actum " + self._plain(" ".join(words))]
        for mark, text in (("|", result.stdout), ("!", result.stderr)):
            self.lines += [f"{mark} {self._plain(line)}".rstrip() for line in text.splitlines()]
        self.lines.append(f"exit {result.exit_code}")
        return result.stdout

    def quietly(self, *words: str, input: str = "") -> str:
        """Type a command that others are about; what it has written to stdout."""
        return self._run(*words, input=input).stdout

    def _plain(self, line: str) -> str:
        def numbered(found: re.Match[str]) -> str:
            kind = found[1] or "digest"
            known = sum(name.startswith(kind) for name in self._ids.values())
            return self._ids.setdefault(found[0], f"{kind}_{known + 1}")

        line = _ID.sub(numbered, line)
        for pattern, word in _REPLACED:
            line = pattern.sub(word, line)
        return re.sub(rf"\b{re.escape(who())}\b", "USER", line)


def asked(journal: Journal, run_id: str, pending: Pending) -> None:
    """A run that waits for a person."""
    journal.append(run_id, Started(agent="desk", model="m", said=(UserMessage.of("Go"),)))
    if pending.call is not None:
        journal.append(run_id, CallsRequested((pending.call,), by="client"))
    journal.append(run_id, InputRequested(pending, 1, 0) if pending.call is not None else InputRequested(pending))


async def approvals_of(journal: Journal) -> None:
    """Runs that wait for all that a person can be asked."""
    pay = ToolCall("1", "pay", {"to": "bob", "sum": 5})
    covers = "again in this run, as long as `to` is bob"
    for name in ("one", "two", "three", "four", "six"):
        asked(journal, f"run_{name}", Pending(f"ask_{name}", "approval", "Pays.", pay, covers=covers))
    twice = Pending(
        "ask_five", "approval", "Pays.", pay, approvers=("ann", "bob"), needs=2, quorums=(Quorum(("ann", "bob"), 2),)
    )
    asked(journal, "run_five", twice)
    asked(journal, "run_late", Pending("ask_late", "approval", "Pays.", pay, expires=1_600_000_000.0))
    asked(journal, "run_open", Pending("ask_open", "answer", "Which seat?"))
    schema: JsonObject = {
        "type": "object",
        "required": ["name", "age"],
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    }
    asked(journal, "run_form", Pending("ask_form", "elicitation", "Who?", schema=schema))
    choice: JsonObject = {"properties": {"choice": {"enum": ["window", "aisle"]}}}
    asked(journal, "run_choice", Pending("ask_choice", "elicitation", "Which?", schema=choice))
    asked(journal, "run_sure", Pending("ask_sure", "elicitation", "Sure?", schema={"type": "object"}))
    asked(journal, "run_doubt", Pending("ask_doubt", "doubt", "Was it paid?", pay))
    await journal.sync("run_one")


def approvals(told: Transcript) -> None:
    with_journal = SQLiteJournal("runs.db")

    async def write() -> None:
        await approvals_of(with_journal)
        await with_journal.close()

    asyncio.run(write())
    for words in (
        "list",
        "show ask_one",
        "approve ask_none",
        "approve ask_",
        "approve ask_one --any to",
        "approve ask_one --for-run --any texxt",
        "approve ask_o",
        "approve ask_one",
        "approve ask_one",
        "approve ask_two --for-run",
        "approve ask_three --for-run --any to --any sum",
        "deny ask_four Too_much.",
        "edit ask_six",
        "edit ask_six milk",
        "edit ask_open seat=1",
        'edit ask_six sum=4 to={"a":1}',
        "approve ask_five",
        "approve ask_five --by ann",
        "approve ask_five --by ann",
        "edit ask_five sum=1 --by bob",
        "approve ask_late",
        "deny ask_late",
        "approve ask_open",
        "answer ask_open",
        "answer ask_open aisle seat",
        "answer ask_form name=Ann age=old",
        "answer ask_form Ann",
        "answer ask_form name=Ann age=30",
        "answer ask_choice roof",
        "answer ask_choice 2",
        "answer ask_sure perhaps",
        "answer ask_sure cancel",
        "answer ask_doubt perhaps",
        "answer ask_doubt not done",
        "list",
    ):
        told.type("approvals", *words.split())


def audit(told: Transcript) -> None:
    told.type("audit")
    told.quietly("run", "2 and 3?", *MINE, "models.py:add")
    told.quietly("run", "find Ann", *MINE, "models.py:find")
    told.quietly("run", "keep milk", *MINE, "models.py:keep")
    told.quietly("approvals", "deny", "ask_", "We have =milk.", "--by", "bob", "--journal", "runs.db")
    told.quietly("journal", "forget", "last", "--yes", "--reason", "asked for", "--journal", "runs.db")
    told.quietly("run", "keep milk", *MINE, "models.py:keep")
    for words in (
        "",
        "--tool k*",
        "--decision done --csv",
        "--decision maybe",
        "--principal nobody",
        "--since 1h --until 2100-01-01 --decision failed",
        "--since soon",
        "--json --csv",
        "--json --decision done",
        "--run none",
        "--run run_",
        "--run last",
        "--run last --tenant north",
    ):
        told.type("audit", *words.split())
    with sqlite3.connect("runs.db") as database:
        database.execute("UPDATE entries SET payload = CAST(replace(payload, '3?', '4?') AS BLOB) WHERE number = 0")
    database.close()
    told.type("audit", "--decision", "done")


FILES = '''
from actum import ToolResult, tool
from actum.core.call import MediaPart
@tool(effects={"read"})
def draw() -> ToolResult:
    """Draw."""
    pictures = MediaPart("image/png", b"12345", name="a.png"), MediaPart("text/csv", b"1,2", name="../b.csv")
    return ToolResult("", pictures)
'''


def files(told: Transcript) -> None:
    told.quietly("run", "2 and 3?", *MINE, "models.py:add")
    told.type("runs", "files")
    Path("draw.py").write_text(FILES, "utf-8")
    models = Path("models.py").read_text("utf-8") + "draw = calling('draw')\n"
    Path("drawing.py").write_text(models, "utf-8")
    told.quietly("run", "draw", "--tools", "draw.py", "--journal", "runs.db", "--model", "drawing.py:draw")
    for words in (
        "",
        "last --json",
        "none",
        "run_",
        "last --out plots",
        "last --out plots --json",
        "last --out draw.py",
    ):
        told.type("runs", "files", *words.split())


def records(told: Transcript) -> None:
    for question, model in (("2 and 3?", "add"), ("2 and 4?", "nothing"), ("find Ann", "find")):
        told.quietly("run", question, *MINE, f"models.py:{model}")
    runs = json.loads(told.quietly("runs", "list", "--json", "--journal", "runs.db"))["items"]
    first, second = runs[-1]["id"], runs[-2]["id"]
    for words in (
        f"compare {first} {second}",
        f"compare {first} {first}",
        f"compare {first} {second} --json",
        f"compare {first} none",
        "compare last run_",
        "forget",
        "forget last --tenant north",
        "forget last",
        "forget none --yes",
        "forget run_ --yes",
        "forget last --yes --reason asked_for",
        "forget last --yes",
        "forget --older-than soon --yes",
        "forget --older-than 1d --yes",
        "forget --principal nobody --yes",
        f"forget {first} {second} --yes --json",
        "show last",
        "verify",
    ):
        told.type("journal", *words.split())


def triggers(told: Transcript) -> None:
    told.type("trigger", "list")
    Path("lamp.workflow.yaml").write_text(LAMP, "utf-8")
    Path("actum.toml").write_text(TRIGGERS, "utf-8")
    for words in ("list", "list --json"):
        told.type("trigger", *words.split())
    for words in ("none", "press --data {", "press --id e1", "press --id e1", "press --id e2 --json", "plan --id e3"):
        told.type("trigger", "fire", *words.split(), "--journal", "runs.db")


LAMP = "actum: workflow/1\nname: lamp\nnodes: {hi: {type: say, text: Hi.}}\nedges: []\n"
TRIGGERS = """
[workflows.lamp]
file = "lamp.workflow.yaml"
[triggers.press]
workflow = "lamp"
secret = "switch"
[triggers.dawn]
workflow = "lamp"
schedule = "0 7 * * *"
zone = "Europe/Berlin"
[triggers.plan]
wake = "x"
file = "plan.txt"
"""


def conversations(told: Transcript) -> None:
    for name in ("tea", "tee"):
        told.quietly("chat", "-c", name, *MINE, "models.py:counting", input="one\ntwo\nthree\n")
    for words in (
        "compact none",
        "compact te",
        "compact tea --keep 0 --owner nobody",
        "compact tea --keep -1",
        "compact tea --keep 0",
        "compact last --keep 1 --json",
        "compact tee --model models.py:away",
    ):
        model = () if "--model" in words else ("--model", "models.py:counting")
        told.type("conversations", *words.split(), *model)
    told.type("conversations", "show", "tea")


SCENARIOS = {
    "approvals": approvals,
    "audit": audit,
    "files": files,
    "records": records,
    "triggers": triggers,
    "conversations": conversations,
}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_what_a_person_reads_of_a_command_stays(
    run: Run, name: str, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACTUM_LANG", language)
    told = Transcript(run)
    SCENARIOS[name](told)
    path = TOLD / f"{name}.{language}.txt"
    assert "\n".join(told.lines[1:]) + "\n" == path.read_text("utf-8")
