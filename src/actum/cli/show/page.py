"""A run of the past as a page: one file that holds all it needs and loads nothing, with a waterfall of its times.

Made to be sent to somebody: it needs no server and no JavaScript, and its own policy forbids both. Every word in it
goes through `element`, which escapes it.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from itertools import pairwise

from msgspec import UNSET, Struct

from ...core.call import ToolResult
from ...core.language.sentence import Sentence
from ...core.message import UserMessage
from ...core.run.ids import child_id
from ...core.run.mandate import MandateMade
from ...core.run.noted import RecordKinds
from ...core.run.record import (
    AgentChanged,
    CallCompleted,
    CallRefused,
    Compacted,
    Ended,
    Forgotten,
    Noted,
    TaskEnded,
    TaskQueued,
    TaskRetrying,
    TaskStarted,
    ToolsChanged,
)
from ...core.visible import visible
from ...journal.conversations import Family
from ...journal.timeline import (
    Attempt,
    CallSpan,
    Check,
    DirectCalls,
    InputAsked,
    ModelTurn,
    NodeSpan,
    OtherEvent,
    Timeline,
    union,
)
from ..language import language, tr, tr_message
from . import moments
from .page_style import STYLE
from .terminal import duration, shorten
from .trace import failure_text, requested_by, value_text
from .tree import ANSWERED, belongings, facts, gone_line, open_line, problems_of, task_line

IDLE_SHARE = 0.06
"""A time in which nothing happened is drawn no longer than this share of the time in which something did."""

LABEL_MAX = 90


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(tag: str, *content: str, **attributes: str) -> Html:
    """An element. What is not `Html` is text, and is escaped; `class_` stands for `class`.

    >>> element("b", "1 < 2", class_="note")
    '<b class="note">1 &lt; 2</b>'
    """
    said = "".join(f' {name.rstrip("_")}="{html.escape(visible(value))}"' for name, value in attributes.items())
    inner = "".join(part if isinstance(part, Html) else html.escape(visible(part), quote=False) for part in content)
    return Html(f"<{tag}{said}>{inner}</{tag}>")


LEGEND = {
    "model": Sentence("model"),
    "ran": Sentence("tool"),
    "failed": Sentence("failed"),
    "wait": Sentence("pause"),
    "person": Sentence("person"),
}


class Bar(Struct, frozen=True):
    """A stretch of time in the waterfall. `kind` is a class of the style sheet."""

    begin: float
    end: float
    kind: str
    title: str


class Axis:
    """Where a moment stands between the left and the right edge of the waterfall.

    A run may wait a month for a person. Times in which nothing was going on are squeezed, and marked.

    Args:
        busy: when something was going on, in order.
        begin, end: of the whole.

    Attributes:
        squeezed: the times that were.
    """

    def __init__(self, busy: Iterable[tuple[float, float]], begin: float, end: float) -> None:
        spans = [(max(begin, one), min(end, other)) for one, other in busy if one < end and other > begin]
        longest = IDLE_SHARE * sum(other - one for one, other in spans)
        idle = pairwise([begin, *(edge for span in spans for edge in span), end])
        gaps = [gap for place, gap in enumerate(idle) if place % 2 == 0]
        self.squeezed = [(one, other) for one, other in gaps if spans and other - one > 2 * longest]
        self._knots = [(begin, 0.0)]
        for one, other in self.squeezed:
            self._advance(one, one - self._knots[-1][0])
            self._advance(other, longest)
        self._advance(end, end - self._knots[-1][0])

    def percent(self, at: float) -> float:
        """Where this moment stands, from 0 to 100."""
        whole = self._knots[-1][1]
        for (one, left), (other, right) in pairwise(self._knots):
            if at <= other and other > one:
                share = (max(at, one) - one) / (other - one)
                return 100 * (left + share * (right - left)) / whole if whole else 0.0
        return 100.0

    def _advance(self, at: float, length: float) -> None:
        self._knots.append((at, self._knots[-1][1] + length))


def page_of(family: Family) -> str:
    """The page of a run, whole."""
    timeline = Timeline(family.entries)
    title = f"{family.run.run_id} · {family.run.status}"
    head = Html(
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    )
    style = Html(f"<style>{STYLE}</style>")
    axis = Axis(union(_busy(family)), *_edges(family))
    body = element(
        "main",
        _header(family, timeline),
        _scale(axis, *_edges(family)),
        *_Rows(family, timeline, axis).all(),
        _seal(family),
    )
    whole = element(
        "html", element("head", head, element("title", title), style), element("body", body), lang=language()
    )
    return f"<!doctype html>\n{whole}\n"


def _header(family: Family, timeline: Timeline) -> Html:
    run, started = family.run, timeline.started
    asked = started.question if started else ""
    answers = [
        row.record.text for row in timeline.rows if isinstance(row, OtherEvent) and isinstance(row.record, Ended)
    ]
    told = [
        element("p", element("code", run.run_id), " ", element("span", tr(run.status), class_=f"pill {run.status}")),
        element("h1", asked or tr("(its question was deleted)")),
        element("p", " · ".join([moments.shown(run.started), *facts(family, timeline)]), class_="facts"),
        *(element("p", line, class_="facts") for line in belongings(started)),
        *([element("p", f"trace {family.trace}", class_="facts")] if family.trace else []),
    ]
    told_before = [message for message in started.said[:-1] if isinstance(message, UserMessage)] if started else []
    told += [_fold(tr("told of earlier turns"), _text(message.text)) for message in told_before]
    if started is not None and started.instructions:
        told.append(_fold(tr("instructions"), _text(started.instructions)))
    if answers and answers[-1]:
        told.append(element("div", answers[-1], class_="answer"))
    return element("header", *told)


def _scale(axis: Axis, begin: float, end: float) -> Html:
    """The line above the waterfall: how long it all took, and where time was left out."""
    marks = [
        _stretch(axis, Bar(one, other, "cut", tr("nothing happened for {time}", time=duration(other - one))))
        for one, other in axis.squeezed
    ]
    legend = [
        Html(f"{element('i', class_=f'key {kind}')} {html.escape(tr_message(word))} ") for kind, word in LEGEND.items()
    ]
    whole = element("span", duration(end - begin), class_="took")
    return element(
        "div",
        element("span", *legend, class_="label"),
        element("span", *marks, class_="track"),
        whole,
        class_="row scale",
    )


def _seal(family: Family) -> Html:
    problems = problems_of(family)
    if problems:
        return element("footer", *(element("p", tr_message(problem), class_="bad") for problem in problems))
    head = family.entries[-1].head.hex() if family.entries else ""
    return element(
        "footer", tr("{count} records, chain whole; its head is ", count=len(family.entries)), element("code", head)
    )


class _Rows:
    """The rows of one run, in the order in which things happened; those of the runs that it started stand inside."""

    def __init__(self, family: Family, timeline: Timeline, axis: Axis) -> None:
        self._timeline = timeline
        self._record_kinds = family.record_kinds
        self._axis = axis
        self._children = {child.place or child.run.run_id: child for child in family.children}
        self._open = open_line(family.run)

    def all(self) -> Iterator[Html]:
        """Every row."""
        for row in self._timeline.rows:
            match row:
                case ModelTurn():
                    yield self._step(row)
                    yield from (self._call(call) for call in row.calls)
                case DirectCalls():
                    yield self._row(tr("asked for"), requested_by(row.requested), [], "", [])
                    yield from (self._call(call) for call in row.calls)
                case NodeSpan():
                    yield self._row(tr("node"), row.path, [], _node_state(row), [])
                    yield from (self._call(call) for call in row.calls)
                case InputAsked():
                    yield self._asked(row)
                case OtherEvent():
                    yield self._note(row)
        for child in self._children.values():  # that no call on record has started
            yield self._child(child)

    def _step(self, step: ModelTurn) -> Html:
        reply = step.replied.reply
        said = tr("{count:call|calls}", count=len(reply.calls)) if reply.calls else tr("answers")
        tokens = tr(
            "{input:,} tokens in, {output:,} out", input=reply.usage.input_tokens, output=reply.usage.output_tokens
        )
        body = [
            *([_part(tr("thought"), _text(reply.reasoning))] if reply.reasoning else []),
            *([_part(tr("says"), _text(reply.text))] if reply.text.strip() else []),
            *([_part(tr("tokens"), tokens)] if reply.usage.total_tokens else []),
        ]
        bar = Bar(step.begun, step.at, "model", tr("model, {time}", time=duration(step.replied.seconds)))
        return self._row(tr("model"), said, [bar], duration(step.replied.seconds), body)

    def _call(self, call: CallSpan) -> Html:
        arguments = [_part(name, _text(value_text(value))) for name, value in call.call.arguments.items()]
        body = [*(arguments or [element("p", tr("no arguments"), class_="facts")])]
        bars: list[Bar] = []
        body += [_check(check) for check in call.checks]
        for question in call.questions:
            bars += self._wait(question)
            body.append(self._question(question))
        for attempt in call.attempts:
            bars += _bars(attempt)
            body += self._attempt(attempt, alone=len(call.attempts) == 1)
        told = {id(attempt.settled) for attempt in call.attempts}
        if call.outcome is not None and id(call.outcome) not in told:
            body += _outcome(call.outcome)
        elif call.in_doubt:
            body.append(element("p", self._open, class_="bad"))
        error = call.outcome.result.error if call.outcome is not None else None
        if isinstance(call.outcome, CallRefused) and call.ended is not None:
            bars.append(Bar(call.ended, call.ended, "failed", tr("refused")))
        took = duration(call.ended - call.begun) if call.ended is not None and call.begun is not None else ""
        state = self._open.partition(":")[0] if call.in_doubt else error.code if error is not None else ""
        summary = "  ".join([state, *(f"{name}={value_text(value)}" for name, value in call.call.arguments.items())])
        return self._row(
            call.call.name or tr("(deleted)"), summary.strip(), bars, took, body, kind=f"call {'bad' if state else ''}"
        )

    def _attempt(self, attempt: Attempt, *, alone: bool) -> Iterator[Html]:
        intended = attempt.intended
        if attempt.waited_s:
            yield element("p", tr("waited {time}", time=duration(attempt.waited_s)), class_="facts")
        which = "" if alone else tr("attempt {number}", number=intended.attempt) + " · "
        yield element("p", f"{which}{intended.rule} · " + tr("key {key}", key=intended.key[:12]), class_="facts")
        if intended.repairs and intended.attempt == 1:
            yield _part(tr("repaired"), "\n".join(intended.repairs))
        if (child := self._children.pop(child_id(intended.key), None)) is not None:
            yield self._child(child)
        if attempt.settled is not None:
            yield from _outcome(attempt.settled)

    def _child(self, child: Family) -> Html:
        rows = _Rows(child, Timeline(child.entries), self._axis).all()
        name = element("p", element("code", child.run.run_id), f" {child.run.agent} · {tr(child.run.status)}")
        return element("section", name, element("p", child.run.question), *rows, class_="child")

    def _asked(self, question: InputAsked) -> Html:
        return self._row(
            tr("asks"),
            question.asked.pending.message,
            self._wait(question),
            _waited(question),
            [self._question(question)],
        )

    def _wait(self, question: InputAsked) -> list[Bar]:
        end = question.answered_at if question.answered_at is not None else self._timeline.latest
        return [Bar(question.at, end, "person", tr("waiting for a person, {time}", time=duration(end - question.at)))]

    def _question(self, question: InputAsked) -> Html:
        words = [
            tr(
                "{answer} by {name} after {time} {text}",
                answer=tr_message(ANSWERED[answer.verdict]),
                name=answer.answered_by,
                time=duration(at - question.at),
                text=answer.text,
            ).rstrip()
            for answer, at in question.answers
        ]
        told = [element("p", word, class_="person") for word in words or [tr("nobody has answered yet")]]
        return _part(
            tr("asked for {kind_why}", kind_why=Sentence(question.asked.kind)),
            element("span", question.asked.pending.message),
            *told,
        )

    def _note(self, note: OtherEvent) -> Html:
        label, text = _told(note, self._record_kinds)
        body = [_text(text)] if len(text) > LABEL_MAX or "\n" in text else []
        bar = Bar(note.at, note.at, "end", moments.shown(note.at))
        return self._row(label, text, [bar], "", body, kind="bad" if note.record is None else "note")

    def _row(
        self, label: str, summary: str, bars: Iterable[Bar], took: str, body: Iterable[str], *, kind: str = ""
    ) -> Html:
        """A row: what it is, when it was, how long it took; what there is to read opens below it."""
        cells = (
            element("span", element("b", label), " ", shorten(summary, LABEL_MAX, 1), class_="label"),
            element("span", *(_stretch(self._axis, bar) for bar in bars), class_="track"),
            element("span", took, class_="took"),
        )
        inside = list(body)
        if not inside:
            return element("div", *cells, class_=f"row {kind}")
        return element(
            "details", element("summary", *cells, class_="row"), element("div", *inside, class_="inside"), class_=kind
        )


def _told(note: OtherEvent, record_kinds: RecordKinds) -> tuple[str, str]:
    """A note as a label and a text."""
    match note.record:
        case ToolsChanged():
            return tr("tools"), tr("the tools changed")
        case AgentChanged() as record:
            changed = tr("went on with another agent {name}", name=record.agent)
            return tr("agent"), f"{changed}: {', '.join(record.changed)}"
        case MandateMade() as record:
            return tr("mandate"), record.line
        case Compacted() as record:
            return tr("summary"), record.summary
        case Noted() as record:
            return tr("noted"), record_kinds.shown(record)
        case Forgotten() as record:
            return tr("forgotten"), f"{tr('by {name}', name=record.by)}  {record.reason}".strip()
        case Ended() as record:
            done = tr("answer") if record.text else tr("done")
            return (done if record.status == "done" else tr(record.status)), f"{record.reason} {record.text}".strip()
        case TaskQueued() | TaskStarted() | TaskRetrying() | TaskEnded() as record:
            label, text = task_line(record, note.at)
            return tr("task"), f"{label} {text}".strip()
        case None:
            return tr("deleted"), gone_line([note.number])


def _check(check: Check) -> Html:
    """What a policy wanted looked up before the call."""
    checked = check.checked
    asked = [_text(f"{name}={value_text(value)}") for name, value in checked.arguments.items()]
    fault = [element("p", checked.fault, class_="bad")] if checked.fault else []
    return _part(tr("looked up first: {tool}", tool=checked.tool), *asked, _text(checked.result.text), *fault)


def _bars(attempt: Attempt) -> Iterator[Bar]:
    """The time of an attempt, after the time that was waited before it."""
    if attempt.waited_s:
        yield Bar(
            attempt.at - attempt.waited_s, attempt.at, "wait", tr("waited {time}", time=duration(attempt.waited_s))
        )
    which = tr("attempt {number}", number=attempt.intended.attempt)
    if attempt.ended is None:
        yield Bar(attempt.at, attempt.at, "failed", tr("{attempt}: no word of how it ended", attempt=which))
    else:
        failed = attempt.settled is not None and attempt.settled.result.error is not None
        took = duration(attempt.ended - attempt.at)
        yield Bar(attempt.at, attempt.ended, "failed" if failed else "ran", f"{which}, {took}")


def _stretch(axis: Axis, bar: Bar) -> Html:
    left, right = axis.percent(bar.begin), axis.percent(bar.end)
    place = f"left:{left:.3f}%;width:{max(0.0, right - left):.3f}%"
    return element("i", class_=bar.kind, style=place, title=bar.title)


def _outcome(outcome: CallCompleted | CallRefused) -> Iterator[Html]:
    result = outcome.result
    yield _part("result" if result.error is None else result.error.code, _text(_result_text(result)))
    if isinstance(outcome, CallCompleted) and outcome.detail:
        yield element("p", outcome.detail, class_="facts")
    if isinstance(outcome, CallRefused) and outcome.rule:
        yield element("p", outcome.rule, class_="facts")


def _result_text(result: ToolResult) -> str:
    if result.error is not None:
        unknown = f"\n{tr('Nobody knows what it changed.')}" if result.error.effect == "unknown" else ""
        return failure_text(result.error, language()) + unknown
    if result.structured is not UNSET and not result.content:
        return value_text(result.structured)
    return result.text or "(nothing)"


def _waited(question: InputAsked) -> str:
    return duration(question.answered_at - question.at) if question.answered_at is not None else ""


def _part(label: str, *content: str) -> Html:
    return element("div", element("span", label, class_="name"), element("div", *content), class_="part")


def _fold(label: str, *content: str) -> Html:
    return element("details", element("summary", label), *content, class_="fold")


def _text(text: str) -> Html:
    return element("pre", text)


def _busy(family: Family) -> Iterator[tuple[float, float]]:
    yield from Timeline(family.entries).busy()
    for child in family.children:
        yield from _busy(child)


def _edges(family: Family) -> tuple[float, float]:
    timeline = Timeline(family.entries)
    edges = [_edges(child) for child in family.children]
    return min([timeline.began, *(one for one, _ in edges)]), max([timeline.latest, *(other for _, other in edges)])


def _node_state(node: NodeSpan) -> str:
    """How a node of a workflow stands, in a word."""
    if node.left is None:
        return tr("begun")
    return node.left.error.code if node.left.error is not None else node.left.port or node.left.status
