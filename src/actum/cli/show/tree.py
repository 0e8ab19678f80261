"""A run of the past as a tree in a terminal: what was said, called, asked and answered, and when.

    run_1f0c  done  2026-11-01 12:30:00 · 3.2 s · gpt-5 · 1 call
    ├── question  What is 17 * 23?
    ├── model 1 call  · 1.1 s  +1.100 s
    │   └── calculate  expression="17*23"
    │       ├── default: only reads  +1.101 s
    │       └── result  391  · <1 ms
    └── answer  It is 391.  +3.200 s

Times are seconds since the run began.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from rich.text import Text
from rich.tree import Tree

from ...core.call import ToolCall
from ...core.language.sentence import Sentence
from ...core.message import UserMessage
from ...core.run.ids import child_id
from ...core.run.mandate import MandateMade
from ...core.run.plan import latest_plan, lines_of
from ...core.run.record import (
    AgentChanged,
    CallCompleted,
    CallRefused,
    Compacted,
    Ended,
    Forgotten,
    Noted,
    Started,
    TaskEnded,
    TaskQueued,
    TaskRecord,
    TaskRetrying,
    TaskStarted,
    ToolsChanged,
)
from ...core.run.summary import RunSummary
from ...journal.comparison import outcome_of
from ...journal.conversations import Family
from ...journal.export import faults
from ...journal.timeline import (
    Attempt,
    CallSpan,
    Check,
    DirectCalls,
    InputAsked,
    ModelTurn,
    NodeSpan,
    OtherEvent,
    Row,
    Timeline,
)
from ..language import language, tr, tr_message
from . import moments
from .terminal import duration, shorten, styled
from .trace import RESULT_MAX, call_line, requested_by, result_line, value_text

ANSWERED = {
    "approve": Sentence("approved"),
    "deny": Sentence("denied"),
    "answer": Sentence("answered"),
    "done": Sentence("it happened"),
    "not_done": Sentence("it did not happen"),
    "retry": Sentence("to be made again"),
    "unknown": Sentence("nobody knows"),
}
STYLE = {
    "done": "green",
    "running": "cyan",
    "waiting": "magenta",
    "paused": "magenta",
    "interrupted": "yellow",
    "stopped": "red",
    "failed": "red",
    "forgotten": "red",
    "unreadable": "red",
}


def tree_of(family: Family) -> Tree:
    """The tree of a run, with those of the runs that its calls started."""
    run, timeline = family.run, Timeline(family.entries)
    status = (f"  {tr(run.status)}", STYLE.get(run.status, ""))
    root = styled(
        (run.run_id, "bold"), status, (f"  {moments.shown(run.started)} · {' · '.join(facts(family, timeline))}", "dim")
    )
    tree = Tree(root, guide_style="dim")
    for line in belongings(timeline.started):
        tree.add(styled((line, "dim")))
    if family.trace:
        tree.add(styled((f"trace {family.trace}", "dim")))
    _Branches(tree, timeline, family).grow()
    if plan := latest_plan(
        (span.call.name, span.outcome.result) for span in timeline.calls() if span.outcome is not None
    ):
        tree.add(_line(tr("plan"), lines_of(plan), "dim"))
    problems = problems_of(family)
    seal = "; ".join(map(tr_message, problems)) or tr("{count} records, chain whole", count=len(family.entries))
    tree.add(styled((seal, "red" if problems else "dim")))
    return tree


def problems_of(family: Family) -> list[str]:
    """What is wrong with the record of a run, one sentence each."""
    return faults(family.entries) if family.entries else ["no entries are found under its id"]


def facts(family: Family, timeline: Timeline) -> Iterator[str]:
    """What there is to say of a whole run in a few words: how long, with which model, how much."""
    run, outcome = family.run, outcome_of(timeline)
    if run.ended is not None:
        yield duration(run.ended - run.started)
    if timeline.waited_s >= 0.001:
        yield tr("{time} of it waiting for a person", time=duration(timeline.waited_s))
    if run.model:
        yield run.model
    if outcome.calls:
        calls = tr("{count:call|calls}", count=outcome.calls)
        yield calls + (tr(", {count} failed", count=outcome.failed_calls) if outcome.failed_calls else "")
    if outcome.tokens:
        yield tr("{count:,} tokens", count=outcome.tokens)


def belongings(started: Started | None) -> Iterator[str]:
    """What a run belongs to, a line each."""
    if started is None:
        return
    if started.conversation:
        whose = "" if started.owner is None else tr(" of {name}", name=started.owner or tr("nobody"))
        yield tr("conversation {id}", id=started.conversation) + whose
    if started.parent:
        yield tr("part of {run}", run=started.parent)
    if started.forked:
        yield tr("branched off from {run} at {number}", run=started.forked, number=started.fork_at)
    for recalled in started.recalled:
        yield tr("recalled {id} ({kind}, {score:g})", id=recalled.id, kind=recalled.kind, score=recalled.score)
    if started.principal:
        yield tr("for {name}", name=started.principal)


class _Branches:
    """Grows a tree out of a timeline: a branch for each of the model's turns, and in it one for each call."""

    def __init__(self, tree: Tree, timeline: Timeline, family: Family) -> None:
        self._tree = tree
        self._timeline = timeline
        self._record_kinds = family.record_kinds
        self._children = {child.place or child.run.run_id: child for child in family.children}
        self._open = open_line(family.run)

    def grow(self) -> None:
        """Hang everything where it belongs."""
        started = self._timeline.started
        for message in started.said if started is not None else ():
            if isinstance(message, UserMessage) and message.source == "memory":
                self._tree.add(_line(tr("told of earlier turns"), message.text, ""))
            elif isinstance(message, UserMessage):
                self._tree.add(_line(tr("question"), message.text, "bold cyan"))
        for gone, rows in groupby(self._timeline.rows, lambda row: isinstance(row, OtherEvent) and row.record is None):
            if gone:
                self._tree.add(styled((gone_line([row.number for row in rows if isinstance(row, OtherEvent)]), "red")))
            else:
                self._rows(rows)
        for child in self._children.values():  # that no call on record has started
            self._tree.add(tree_of(child))

    def _rows(self, rows: Iterable[Row | OtherEvent]) -> None:
        for row in rows:
            match row:
                case ModelTurn():
                    self._step(row)
                case DirectCalls():
                    branch = self._tree.add(styled(requested_by(row.requested)))
                    for call in row.calls:
                        self._call(branch, call)
                case NodeSpan():
                    self._node(row)
                case InputAsked():
                    self._question(self._tree, row)
                case OtherEvent():
                    self._tree.add(self._note(row))

    def _node(self, node: NodeSpan) -> None:
        """A node of a workflow: its path, where the workflow went on, and its call."""
        left = node.left
        how = tr("begun") if left is None else left.port or left.status
        if left is not None and left.error is not None:
            how = tr_message(left.error.message)
        style = "red" if left is not None and left.error is not None else ""
        branch = self._tree.add(
            styled((tr("node "), "dim"), node.path, (f"  {shorten(how, RESULT_MAX)}", style or "dim"))
        )
        for call in node.calls:
            self._call(branch, call)

    def _step(self, step: ModelTurn) -> None:
        reply = step.replied.reply
        said = tr("{count:call|calls}", count=len(reply.calls)) if reply.calls else tr("answered")
        took = f"  · {duration(step.replied.seconds)}{self._after(step.at)}"
        branch = self._tree.add(styled((tr("model "), "dim"), said, (took, "dim")))
        if reply.reasoning:
            branch.add(_line(tr("thought"), reply.reasoning, "italic dim"))
        if reply.calls and reply.text.strip():
            branch.add(_line(tr("says"), reply.text, ""))
        for call in step.calls:
            self._call(branch, call)

    def _call(self, tree: Tree, call: CallSpan) -> None:
        whole = ""
        if call.begun is not None and call.ended is not None and (len(call.attempts) > 1 or call.questions):
            whole = "  · " + tr("{time} in all", time=duration(call.ended - call.begun))
        branch = tree.add(styled(call_line(call.call), (whole, "dim")))
        happened: list[Attempt | InputAsked | Check]
        happened = sorted([*call.checks, *call.questions, *call.attempts], key=lambda each: each.at)
        for each in happened:
            match each:
                case Check():
                    self._check(branch, each)
                case InputAsked():
                    self._question(branch, each)
                case Attempt():
                    self._attempt(branch, each, is_last=each is call.attempts[-1])
        told = {id(attempt.settled) for attempt in call.attempts}
        if call.outcome is not None and id(call.outcome) not in told:
            self._outcome(branch, call.outcome, "")
        elif call.in_doubt:
            branch.add(styled((self._open, "red")))

    def _check(self, branch: Tree, check: Check) -> None:
        checked = check.checked
        call = call_line(ToolCall("", checked.tool, checked.arguments))
        shown = branch.add(styled((tr("looked up first  "), "cyan"), call, (self._after(check.at), "dim")))
        fault = (f"  {checked.fault}", "red") if checked.fault else ""
        shown.add(styled(result_line(checked.result, language()), fault))

    def _attempt(self, branch: Tree, attempt: Attempt, *, is_last: bool) -> None:
        intended = attempt.intended
        if attempt.waited_s:
            branch.add(styled((tr("waited {time}", time=duration(attempt.waited_s)), "dim")))
        for repair in intended.repairs if intended.attempt == 1 else ():
            branch.add(_line(tr("repaired"), repair, "magenta"))
        which = tr("attempt {number}  ", number=intended.attempt) if intended.attempt > 1 else ""
        branch.add(styled((f"{which}{intended.rule}{self._after(attempt.at)}", "dim")))
        if (child := self._children.pop(child_id(intended.key), None)) is not None:
            branch.add(tree_of(child))
        if attempt.settled is not None and attempt.ended is not None:
            follows = tr("  another attempt may follow") if is_last else tr("  another attempt follows")
            another = "" if attempt.settled.final or attempt.left_unknown else follows
            self._outcome(branch, attempt.settled, f"  · {duration(attempt.ended - attempt.at)}{another}")

    def _outcome(self, branch: Tree, outcome: CallCompleted | CallRefused, note: str) -> None:
        label = (tr("result  ") if outcome.result.error is None else "", "green")
        if isinstance(outcome, CallRefused):
            note = f"  · {outcome.rule}" if outcome.rule else ""
        shown = branch.add(styled(label, result_line(outcome.result, language()), (note, "dim")))
        if isinstance(outcome, CallCompleted) and outcome.detail:
            shown.add(styled((outcome.detail, "dim")))

    def _question(self, branch: Tree, question: InputAsked) -> None:
        asked = question.asked
        note = f"  {asked.id}{self._after(question.at)}"
        shown = branch.add(
            _line(tr("asked for {kind_why}", kind_why=Sentence(asked.kind)), asked.pending.message, "magenta", note)
        )
        for answered, at in question.answers:
            note = tr("  for the whole run") if answered.for_run else ""
            if answered.arguments is not None:
                note += tr("  with {arguments}", arguments=value_text(answered.arguments))
            if answered.free:
                note += tr("  any {names}", names=", ".join(answered.free))
            note += tr("  by {name}  after {time}", name=answered.answered_by, time=duration(at - question.at))
            shown.add(_line(tr_message(ANSWERED[answered.verdict]), answered.text, "magenta", note))

    def _note(self, note: OtherEvent) -> Text:
        match note.record:
            case ToolsChanged():
                return styled((tr("the tools changed"), "dim"))
            case AgentChanged() as record:
                return _line(
                    tr("went on with another agent {name}", name=record.agent), ", ".join(record.changed), "red"
                )
            case MandateMade() as record:
                return _line(tr("the user asked for"), record.line, "", self._after(note.at))
            case Compacted() as record:
                return _line(tr("summary of what was before"), record.summary, "")
            case Noted() as record:
                return _line(tr("noted"), self._record_kinds.shown(record), "", self._after(note.at))
            case Forgotten() as record:
                return _line(
                    tr("forgotten"), record.reason, "red", tr("  by {name}", name=record.by) + self._after(note.at)
                )
            case Ended() as record:
                done = tr("answer") if record.text else tr("done")
                label = done if record.status == "done" else f"{tr(record.status)} {record.reason}"
                return _line(label.strip(), record.text, STYLE[record.status], self._after(note.at))
            case TaskQueued() | TaskStarted() | TaskRetrying() | TaskEnded() as record:
                label, text = task_line(record, note.at)
                return _line(label, text, "", self._after(note.at))
            case None:
                return styled((gone_line([note.number]), "red"))

    def _after(self, at: float) -> str:
        return f"  +{max(0.0, at - self._timeline.began):.3f} s"


def open_line(run: RunSummary) -> str:
    """What there is to say of a call of this run that has no outcome."""
    return tr("under way") if run.status == "running" else tr("in doubt: nobody knows whether it happened")


def task_line(record: TaskRecord, at: float) -> tuple[str, str]:
    """What a record tells of a task, as a label and a text.

    Args:
        record: the record.
        at: when it was written.
    """
    match record:
        case TaskQueued():
            later = tr("begins in {time}", time=duration(record.due - at)) if record.due > at else ""
            again = tr("again, by {name}", name=record.by) if record.by else ""
            return tr("queued as a task"), f"{later} {again}".strip()
        case TaskStarted():
            by = tr("by {name}", name=record.worker) if record.worker else ""
            return tr("attempt {number}", number=record.attempt), by
        case TaskRetrying():
            wait = tr("the next attempt follows in {time}", time=duration(max(0.0, record.due - at)))
            return tr("attempt {number} failed", number=record.attempt), f"{tr_message(record.error)}; {wait}"
        case TaskEnded():
            state = Sentence(record.state.replace("_", " "))
            return tr("task {state_why}", state_why=state), tr_message(record.error)


def gone_line(numbers: list[int]) -> str:
    """The line for entries that can not be shown."""
    if len(numbers) == 1:
        return tr("record {number} was deleted or can not be read", number=numbers[0])
    return tr("records {first} to {last} were deleted or can not be read", first=numbers[0], last=numbers[-1])


def _line(label: str, text: str, style: str, note: str = "") -> Text:
    body = f"  {shorten(text.strip(), RESULT_MAX)}" if text.strip() else ""
    return styled((label, style or "dim"), body, (note, "dim"))
