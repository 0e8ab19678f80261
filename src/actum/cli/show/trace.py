"""How a run is shown while it happens: as a trace, as an answer that grows, or as lines of JSON.

    question  What is 17 * 23?
        call  calculate  expression="17*23"
      result  391  · <1 ms
      answer  17*23 = 391

A trace is told the events of `agent.run(emit=...)`; `runs.py` shows runs of the past.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import UNSET, to_builtins
from rich.text import Text

from ...core.call import (
    Failure,
    Problem,
    ToolCall,
    ToolResult,
)
from ...core.event import (
    AnswerRefused,
    CallDelta,
    CallFinished,
    CallProgress,
    CallSaid,
    CallStarted,
    ChildEvent,
    Event,
    MemoryKept,
    NodeFinished,
    NodeProgress,
    NodeStarted,
    PlainEvent,
    PlanChanged,
    ReasoningDelta,
    ReplyFinished,
    RunFinished,
    RunResult,
    RunStarted,
    TextDelta,
    ThoughtEnded,
)
from ...core.json import Json, JsonObject, dumps
from ...core.language.error_words import language_of, told
from ...core.language.sentence import Sentence
from ...core.language.translation import Language
from ...core.message import Reply
from ...core.model import Model
from ...core.run.pending import Pending
from ...core.run.plan import lines_of
from ...core.run.record import CallsRequested
from ...core.visible import visible
from ...knowledge.citing.references import QuoteReference
from ..language import tr
from .terminal import Terminal, duration, shorten, styled

VALUE_MAX = 200
RESULT_MAX = 600
TOO_LONG = "the conversation is too long for the model: its first {count} messages were left out"


class Trace:
    """Shows a run on a terminal.

    Args:
        terminal: where.
        verbose: every step, not the answer alone.
        streaming: text as it comes.
        quiet: nothing on stdout: the caller will be told the result in another way.
        model: is asked, once it has answered, in which dialect it calls, where it had to find that out.

    Attributes:
        verbose: may be changed between runs.
        run_id: of the latest run.
        has_streamed: whether some text was shown as it came.
    """

    def __init__(
        self,
        terminal: Terminal,
        *,
        verbose: bool,
        streaming: bool = False,
        quiet: bool = False,
        model: Model | None = None,
    ) -> None:
        self.verbose = verbose
        self.run_id = ""
        self.has_streamed = False
        self._terminal = terminal
        self._streaming = streaming
        self._quiet = quiet
        self._model = model
        self._language: Language = "en"
        self._streamed = ""
        self._started: dict[str, CallStarted] = {}
        self._running: dict[str, str] = {}
        self._calls = _InOrder()
        self._below: dict[str, Trace] = {}

    def question(self, text: str) -> None:
        """What the user says; failures are told in its language."""
        self._language = language_of(text)
        if self.verbose:
            self._terminal.line("question", text, "bold cyan")

    def show(self, event: Event) -> None:
        """Show what happened."""
        if isinstance(event, NodeStarted | NodeFinished | NodeProgress):
            self._show_node(event)
        elif isinstance(event, ChildEvent):
            self._show_below(event)
        else:
            self._show(event)

    def _show_node(self, event: NodeStarted | NodeFinished | NodeProgress) -> None:
        """Show how a workflow goes on."""
        match event:
            case NodeStarted(path):
                self._running[path] = path
                self._terminal.waiting.begin(", ".join(list(self._running.values())[:4]))
            case NodeFinished(path):
                self._running.pop(path, None)
                if self.verbose:
                    self._terminal.waiting.end()
                    self._terminal.line("node", f"{path}  {event.port or event.status}", "dim")
            case NodeProgress():
                pass

    def _show(self, event: PlainEvent) -> None:
        match event:
            case ReasoningDelta() | CallDelta() | CallSaid():
                return
            case TextDelta():
                self._stream(event.text)
                return
            case ThoughtEnded() | AnswerRefused() | PlanChanged() | MemoryKept():
                self._show_beside(event)
                return
            case CallProgress() if not self.verbose:
                self._progress(event)
                return
            case _:
                self._terminal.waiting.end()
        match event:
            case RunStarted():
                self.run_id = event.run_id
            case ReplyFinished():
                self._replied(event.reply, event.seconds, event.left_out)
            case CallStarted():
                self._started[event.call.id] = event
                self._running[event.call.id] = event.call.name
            case CallProgress():
                self._progress(event)
            case CallFinished():
                self._running.pop(event.call.id, None)
                for finished in self._calls.take(event):
                    self._called(finished)
            case RunFinished():
                self._finished(event.result)
                return
        self._terminal.waiting.begin(", ".join(list(self._running.values())[:4]) or "thinking")

    def _show_below(self, event: ChildEvent) -> None:
        """Show what happens in a run below this one, in lines that are indented."""
        if not self.verbose:
            return
        below = self._below.get(event.run_id)
        if below is None:
            self._terminal.waiting.end()
            self._terminal.line("agent", event.agent, "cyan")
            below = self._below[event.run_id] = Trace(self._terminal.indented(), verbose=True)
        below.show(event.event)
        if isinstance(event.event, RunFinished):
            self._below.pop(event.run_id).close()

    def close(self) -> None:
        """Nothing more comes: show what was held back, and leave the cursor at the start of a line."""
        self._terminal.waiting.end()
        self._end_stream()
        for finished in self._calls.rest():
            self._called(finished)

    def _stream(self, text: str) -> None:
        if self._streaming:
            self._terminal.waiting.end()
            self._streamed += text
            self.has_streamed = True
            sys.stdout.write(visible(text))
            sys.stdout.flush()

    def _show_beside(self, event: ThoughtEnded | AnswerRefused | PlanChanged | MemoryKept) -> None:
        """The plan has changed; words are remembered; or what was streamed was no answer, so that is said, and the
        answer begins anew.
        """
        self._terminal.waiting.end()
        if isinstance(event, PlanChanged):
            if self.verbose:
                self._terminal.line("plan", lines_of(event.plan), "dim")
        elif isinstance(event, MemoryKept):
            self._end_stream()
            self._terminal.note('Remembered: "{text}" ({id})', text=shorten(event.text, VALUE_MAX), id=event.id)
        elif isinstance(event, AnswerRefused):
            self._end_stream()
            self._terminal.line("refused", shorten(event.reason, VALUE_MAX), "dim")
        elif self._end_stream():
            self._terminal.line("thought", tr("the text above was the model's reasoning"), "dim")

    def _end_stream(self) -> bool:
        """End the line of an answer that was streamed; whether there was one."""
        streamed = self._streamed
        self._streamed = ""
        if streamed and not streamed.endswith("\n"):
            sys.stdout.write("\n")
            sys.stdout.flush()
        return bool(streamed)

    def _replied(self, reply: Reply, seconds: float, left_out: int) -> None:
        streamed = self._end_stream()
        if left_out and not self._quiet:
            self._terminal.note(TOO_LONG.format(count=left_out))
        if self.verbose and self._model is not None and (way := getattr(self._model, "dialect_used", "")):
            self._terminal.line(
                "model", tr("{name} in the dialect {dialect}", name=self._model.name, dialect=way), "dim"
            )
            self._model = None
        if self.verbose and reply.reasoning:
            thought = (shorten(reply.reasoning.strip(), RESULT_MAX), "italic dim")
            self._terminal.line("thought", styled(thought, (f"  · {duration(seconds)}", "dim")))
        if self._streaming and not streamed and reply.text:
            self._stream(reply.text)
            self._end_stream()
        elif self.verbose and not self._streaming and reply.calls and reply.text.strip():
            self._terminal.line("says", shorten(reply.text.strip(), RESULT_MAX))
        self._calls.expect(call.id for call in reply.calls)
        if self.verbose and len(reply.calls) > 1:
            self._terminal.line("model", tr("{count} calls at once", count=len(reply.calls)), "dim")

    def _progress(self, event: CallProgress) -> None:
        words, share = _how_far(event.value)
        if self.verbose:
            self._terminal.line("progress", shorten(words, VALUE_MAX), "dim")
        else:
            name = self._running.get(event.call_id, "")
            self._terminal.waiting.tell(f"{name}  {shorten(words, VALUE_MAX)}".strip(), share)

    def _called(self, event: CallFinished) -> None:
        started = self._started.pop(event.call.id, None)
        if self.verbose:
            call = started.call if started is not None else event.call
            show_call(self._terminal, call, started.repairs if started is not None else call.repairs)
            show_result(self._terminal, event.result, event.seconds, self._language)

    def _finished(self, result: RunResult) -> None:
        for finished in self._calls.rest():
            self._called(finished)
        for recalled in result.recalled if self.verbose else ():
            day = datetime.fromtimestamp(recalled.at).astimezone().date().isoformat()
            self._terminal.line("memory", f"{day}, {recalled.id} ({recalled.score:g})", "cyan")
        text = result.text if result.status == "done" else cut_answer(result)
        if self._quiet or (result.status != "done" and not text):
            return
        if self.verbose and not self._streaming:
            self._terminal.line("answer", styled((text, "bold")), "bold cyan")
        elif not self._streaming:
            self._terminal.text(text)


def cut_answer(result: RunResult) -> str:
    """What there is of an answer that was cut off; empty where the run ended otherwise."""
    last = result.messages[-1] if result.messages else None
    cut = isinstance(last, Reply) and last.cut_off and result.stop_reason == last.cut_off
    return last.text if cut and isinstance(last, Reply) else ""


class _InOrder:
    """Holds back the calls of a reply that finish before those that the model said before them."""

    def __init__(self) -> None:
        self._order: list[str] = []
        self._held: list[CallFinished] = []

    def expect(self, call_ids: Iterable[str]) -> None:
        """These calls will finish, in any order."""
        self._order = list(call_ids)

    def take(self, event: CallFinished) -> list[CallFinished]:
        """One has finished: those that are to be shown now."""
        if event.call.id not in self._order:
            return [event]
        self._held.append(event)
        ready = []
        while self._order and (found := [held for held in self._held if held.call.id == self._order[0]]):
            ready.append(found[0])
            self._held.remove(found[0])
            del self._order[0]
        return ready

    def rest(self) -> list[CallFinished]:
        """Nothing more will finish: what is still held back."""
        rest, self._held, self._order = self._held, [], []
        return rest


class JsonTrace:
    """A run as lines of JSON, one an event; the last is the result."""

    def __init__(self, terminal: Terminal) -> None:
        self.run_id = ""
        self._terminal = terminal

    def show(self, event: Event) -> None:
        """Write the event."""
        if isinstance(event, RunStarted):
            self.run_id = event.run_id
        self._terminal.json(event)


def show_call(terminal: Terminal, call: ToolCall, repairs: tuple[str, ...]) -> None:
    """A call with its arguments, and what had to be mended in them."""
    terminal.line("call", call_line(call), "yellow")
    for repair in repairs:
        terminal.line("repaired", repair, "magenta")


def show_result(terminal: Terminal, result: ToolResult, seconds: float, language: Language = "en") -> None:
    """Show the result of a call, and how long the call took."""
    label, style = ("result", "green") if result.error is None else ("error", "red")
    terminal.line(label, styled(result_line(result, language), (f"  · {duration(seconds)}", "dim")), style)


def call_line(call: ToolCall) -> Text:
    """A call in a line."""
    broken = "" if call.complete else tr("  (broke off) {text}", text=shorten(call.raw, VALUE_MAX))
    return styled((call.name, "bold yellow"), (broken, "dim"), *(_pair(pair, "  ") for pair in call.arguments.items()))


def requested_by(requested: CallsRequested) -> str:
    """Who asked for calls without a model, in words."""
    article = "an" if requested.by in ("event", "administrator") else "a"
    words = tr("asked for by {article} {requester_why}", article=article, requester_why=Sentence(requested.by))
    return tr("{words} that speaks for the user", words=words) if requested.speaks_for else words


def result_line(result: ToolResult, language: Language = "en") -> Text:
    """The result of a call in a line, or a few: an object by its fields, the rest as a model reads it."""
    if result.error is not None:
        return styled((f"{result.error.code}: ", "red"), shorten(failure_text(result.error, language), RESULT_MAX))
    if isinstance(result.structured, dict) and not result.content:
        return Text("  ").join(_pair(pair) for pair in result.structured.items())
    return styled(shorten(result.text, RESULT_MAX) if result.text else (tr("(nothing)"), "dim"))


def failure_text(failure: Failure, language: Language) -> str:
    """Why there is no result: wrong arguments one by one, without the advice that is meant for a model. In English
    the words are those of the record."""
    if language != "en":
        return told(failure, language)
    return (
        "; ".join(f"{problem.path or 'arguments'}: {_wrong(problem)}" for problem in failure.problems)
        or failure.message
    )


def _wrong(problem: Problem) -> str:
    if problem.rule == "required":
        return f"is missing ({problem.expected})"
    return f"expected {problem.expected}" + (f", not {problem.received}" if problem.received else "")


def value_text(value: Json) -> str:
    """A value as JSON, as people write it: with a space after each comma and colon."""
    return json.dumps(value, ensure_ascii=False)


def _pair(pair: tuple[str, Json], before: str = "") -> Text:
    name, value = pair
    return styled((f"{before}{name}=", "dim"), shorten(value_text(value), VALUE_MAX))


def run_as_json(result: RunResult, model: str, references: Sequence[QuoteReference]) -> JsonObject:
    """A run's result as one JSON object: what a program wants to know of it.

    Args:
        result: of the run.
        model: the name of the model.
        references: those of the run, with those of earlier turns that its answer cites again.
    """
    return {
        "run_id": result.run_id,
        "status": result.status,
        "model": model,
        "text": result.text,
        "stop_reason": result.stop_reason,
        "calls": [call_as_json(call, outcome) for call, outcome in result.calls],
        "pending": [pending_as_json(pending) for pending in result.pending],
        "references": [to_builtins(each) for each in references],
        "steps": result.steps,
        "usage": {"input_tokens": result.usage.input_tokens, "output_tokens": result.usage.output_tokens},
    }


def call_as_json(call: ToolCall, result: ToolResult) -> JsonObject:
    """A call and its result: `result` is its value or text, `error` says why there is none."""
    outcome: JsonObject = {"name": call.name, "arguments": call.arguments}
    if result.error is not None:
        outcome["error"] = {"code": result.error.code, "message": result.error.message}
    else:
        outcome["result"] = result.text if result.structured is UNSET else result.structured
    return outcome


def pending_as_json(pending: Pending) -> JsonObject:
    """What a run waits for, and the id under which it is answered."""
    told: JsonObject = {"id": pending.id, "kind": pending.kind, "message": pending.message}
    if pending.call is not None:
        told |= {"name": pending.call.name, "arguments": pending.call.arguments}
    return told


def _how_far(value: Json) -> tuple[str, float | None]:
    """What a tool tells of its progress: in words, and as a share of the whole where that is known.

    >>> _how_far({"progress": 3, "total": 4, "message": "pages"})
    ('pages 3/4', 0.75)
    """
    match value:
        case {"progress": int() | float() as progress, **rest}:
            total, message = rest.get("total"), rest.get("message")
            known = isinstance(total, int | float) and total > 0
            count = f"{progress:g}/{total:g}" if isinstance(total, int | float) and known else f"{progress:g}"
            share = min(1.0, max(0.0, progress / total)) if isinstance(total, int | float) and known else None
            return f"{message if isinstance(message, str) else ''} {count}".strip(), share
        case float() as share if 0 <= share <= 1:
            return f"{share:.0%}", share
        case str():
            return value, None
        case _:
            return dumps(value), None
