"""`actum runs`: what is on record, as a list and as a tree."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import msgspec
import typer
from rich.text import Text
from rich.tree import Tree

from ..call.recording import Place
from ..core.call import ToolCall
from ..core.errors import JournalError
from ..core.interfaces import Journal
from ..core.json import JsonObject
from ..core.message import UserMessage
from ..core.record import (
    Answered,
    Asked,
    Checked,
    Compacted,
    Ended,
    Entry,
    Forgotten,
    Intended,
    Record,
    Refused,
    Replied,
    RunSummary,
    Settled,
    Started,
    ToolsChanged,
    verify,
)
from . import options
from .options import JournalFlag, JsonFlag
from .terminal import Terminal, duration, shorten, styled
from .trace import RESULT_MAX, call_line, result_line

app = typer.Typer(help="What is on record: list runs, show one.", invoke_without_command=True)

ANSWERED = {
    "approve": "approved",
    "deny": "denied",
    "answer": "answered",
    "done": "it happened",
    "not_done": "it did not happen",
    "retry": "to be made again",
    "unknown": "nobody knows",
}
STYLE = {
    "done": "green",
    "running": "cyan",
    "waiting": "magenta",
    "paused": "magenta",
    "stopped": "red",
    "failed": "red",
}


@app.callback()
def runs(context: typer.Context) -> None:
    """Without a word more, the list."""
    if context.invoked_subcommand is None:
        list_runs()


@app.command("list")
def list_runs(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many, the newest first.")] = 20,
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> None:
    """List the latest runs."""
    terminal = Terminal()

    async def command() -> list[RunSummary]:
        async with options.journal(options.read(journal=journal)) as opened:
            return await opened.runs(limit=limit)

    runs = asyncio.run(command())
    if as_json:
        terminal.json(runs)
    elif not runs:
        terminal.note('Nothing is on record yet. Try: actum run "What is 17 * 23?"')
    else:
        rows = [(_when(run.started), run.status, run.run_id, run.model, run.question) for run in runs]
        terminal.table("when", "status", "run", "model", "question", rows=rows)


@app.command("show")
def show_run(
    run_id: Annotated[str, typer.Argument(help="The run: its id, the beginning of it, or `last`.")] = "last",
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> None:
    """Show a run as a tree: what was said, called, asked and answered, and when."""
    terminal = Terminal()

    async def command() -> tuple[RunSummary, list[Entry]]:
        async with options.journal(options.read(journal=journal)) as opened:
            run = await options.find_run(opened, run_id)
            return run, await opened.read(run.run_id)

    run, entries = asyncio.run(command())
    if as_json:
        records = [{"number": entry.number, "at": entry.at, **_as_json(entry)} for entry in entries]
        terminal.json({**msgspec.to_builtins(run), "entries": records, "problems": verify(entries)})
    else:
        show_tree(terminal, run, entries)


async def show_recorded(terminal: Terminal, journal: Journal, run_id: str) -> None:
    """Show the run of this id."""
    show_tree(terminal, await options.find_run(journal, run_id), await journal.read(run_id))


def show_tree(terminal: Terminal, run: RunSummary, entries: Sequence[Entry]) -> None:
    """Print a run's tree. Times are seconds since it began."""
    took = f" · {duration(run.ended - run.started)}" if run.ended is not None else ""
    status = (f"  {run.status}", STYLE.get(run.status, ""))
    root = styled((run.run_id, "bold"), status, (f"  {_when(run.started)}{took} · {run.model}", "dim"))
    tree = Tree(root, guide_style="dim")
    if run.conversation:
        tree.add(styled((f"conversation {run.conversation}", "dim")))
    _Branches(tree, run.started).grow(entries)
    problems = verify(entries)
    seal = f"{len(entries)} records, chain whole" if not problems else "; ".join(problems)
    tree.add(styled((seal, "red" if problems else "dim")))
    terminal.show(tree)


class _Branches:
    """Grows a tree out of the entries of a run: a branch for each reply, and in it one for each call."""

    def __init__(self, tree: Tree, began: float) -> None:
        self._tree = tree
        self._began = began
        self._calls: dict[Place, Tree] = {}
        self._asked: dict[str, tuple[Tree, float]] = {}

    def grow(self, entries: Sequence[Entry]) -> None:
        """Hang every entry where it belongs."""
        for entry in entries:
            record = _read(entry)
            if record is None:
                self._tree.add(styled((f"record {entry.number} was deleted or can not be read", "red")))
            else:
                self._take(entry.number, entry.at, record)

    def _take(self, number: int, at: float, record: Record) -> None:
        match record:
            case Started():
                for message in record.said:
                    if isinstance(message, UserMessage):
                        self._tree.add(_line("question", message.text, "bold cyan"))
            case Replied():
                self._replied(number, at, record)
            case Intended():
                self._intended(Place(record.reply, record.index), at, record)
            case Settled():
                note = "" if record.final else "  another attempt follows"
                self._outcome(record, f"  · {duration(record.seconds)}{note}", record.detail)
            case Refused():
                self._outcome(record, f"  · {record.rule}" if record.rule else "", "")
            case Checked():
                self._looked_up(record)
            case Asked() | Answered():
                self._person(at, record)
            case ToolsChanged() | Compacted() | Forgotten() | Ended():
                self._tree.add(self._whole_run(at, record))

    def _person(self, at: float, record: Asked | Answered) -> None:
        if isinstance(record, Asked):
            branch = self._calls.get(Place(record.reply, record.index), self._tree)
            line = _line(f"asked for {record.kind}", record.message, "magenta", f"  {record.id}{self._after(at)}")
            self._asked[record.id] = (branch.add(line), at)
        else:
            branch, asked_at = self._asked.get(record.id, (self._tree, at))
            note = f"  by {record.by}  after {duration(at - asked_at)}"
            branch.add(_line(ANSWERED[record.verdict], record.text, "magenta", note))

    def _whole_run(self, at: float, record: ToolsChanged | Compacted | Forgotten | Ended) -> Text:
        match record:
            case ToolsChanged():
                return styled(("the tools changed", "dim"))
            case Compacted():
                return _line("summary of what was before", record.summary, "")
            case Forgotten():
                return _line("forgotten", record.reason, "red", f"  by {record.by}")
            case Ended():
                label = "answer" if record.status == "done" else f"{record.status} {record.reason}"
                return _line(label.strip(), record.text, STYLE[record.status], self._after(at))

    def _replied(self, number: int, at: float, record: Replied) -> None:
        reply = record.reply
        said = f"{len(reply.calls)} call{'s' if len(reply.calls) > 1 else ''}" if reply.calls else "answered"
        took = f"  · {duration(record.seconds)}{self._after(at)}"
        branch = self._tree.add(styled(("model ", "dim"), said, (took, "dim")))
        if reply.reasoning:
            branch.add(_line("thought", reply.reasoning, "italic dim"))
        if reply.calls and reply.text.strip():
            branch.add(_line("says", reply.text, ""))
        for index, call in enumerate(reply.calls):
            self._calls[Place(number, index)] = branch.add(call_line(call))

    def _intended(self, place: Place, at: float, record: Intended) -> None:
        branch = self._calls.get(place, self._tree)
        for repair in record.repairs if record.attempt == 1 else ():
            branch.add(_line("repaired", repair, "magenta"))
        attempt = f"attempt {record.attempt}  " if record.attempt > 1 else ""
        branch.add(styled((f"{attempt}{record.rule}{self._after(at)}", "dim")))

    def _outcome(self, record: Settled | Refused, note: str, detail: str) -> None:
        branch = self._calls.get(Place(record.reply, record.index), self._tree)
        label = ("result  " if record.result.error is None else "", "green")
        branch = branch.add(styled(label, result_line(record.result), (note, "dim")))
        if detail:
            branch.add(styled((detail, "dim")))

    def _looked_up(self, record: Checked) -> None:
        branch = self._calls.get(Place(record.reply, record.index), self._tree)
        call = call_line(ToolCall("", record.tool, record.arguments))
        branch = branch.add(styled(("looked up first  ", "cyan"), call))
        branch.add(styled(result_line(record.result), (f"  {record.fault}", "red") if record.fault else ""))

    def _after(self, at: float) -> str:
        return f"  +{max(0.0, at - self._began):.3f} s"


def _read(entry: Entry) -> Record | None:
    """The record of an entry; None when its bytes are gone or are no record."""
    try:
        return entry.record
    except JournalError:
        return None


def _as_json(entry: Entry) -> JsonObject:
    record = _read(entry)
    told: JsonObject = msgspec.to_builtins(record) if record is not None else {"type": "unreadable"}
    return told


def _line(label: str, text: str, style: str, note: str = "") -> Text:
    body = f"  {shorten(text.strip(), RESULT_MAX)}" if text.strip() else ""
    return styled((label, style or "dim"), body, (note, "dim"))


def _when(at: float) -> str:
    """A moment in the time zone of this machine."""
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
