"""`spans_of`: the spans of a run, made of its timeline. Pure: the same record gives the same ids, times and attributes,
in whatever process and as often as one likes.

    invoke_agent NAME, invoke_workflow NAME   a run, once it has ended for good
    chat MODEL                                a turn of the model, what a running tool asked a model, and a request that
                                              was passed through
    execute_tool NAME                         a call, from its first attempt to its outcome
    gen_ai.evaluation.result                  a score of the run, without a length: an event of the conventions

A run of direct calls has no span of its own. What a branch took over from another run has its spans in that run alone.
Usage and cost stand on `chat` alone, since backends add them up.

Source: OpenTelemetry semantic conventions 1.41.0, the last that hold GenAI in the main schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Literal

import msgspec
from msgspec import Struct

from ..core.call import TextPart, ToolCall, ToolResult
from ..core.json import JsonObject
from ..core.message import Message, Reply, ToolMessage, Usage, UserMessage
from ..core.run.record import Ended, Noted, Started, TaskRetrying
from ..core.stored.passed import PassedRequest, passed_key
from ..core.trace import span_id, span_in, trace_id
from ..journal.timeline import Attempt, CallSpan, DirectCalls, InputAsked, ModelTurn, NodeSpan, OtherEvent, Timeline
from ..scores.score import ScoreGiven, score_of

SCHEMA = "https://opentelemetry.io/schemas/1.41.0"
Attribute = str | int | float | bool | tuple[str, ...]
_PROVIDERS = {"google": "gcp.gemini", "gemini": "gcp.gemini", "mistral": "mistral_ai", "xai": "x_ai"}
"""How the conventions call providers, where they have another name than we do."""


_AT_ADDRESS = re.compile(r"([^#]+)@([^@#/]*[.:\]][^@#/]*|localhost)")
"""The name of an agent's model that was named by its address: model and host, see `models.endpoint.Endpoint`."""


class SpanEvent(Struct, frozen=True):
    """Something that happened within a span; `at` in nanoseconds since 1970."""

    name: str
    at: int
    attributes: Mapping[str, Attribute]


class TraceSpan(Struct, frozen=True, kw_only=True):
    """A span.

    Attributes:
        trace_id, span_id, parent_span_id: hexadecimal digits; no parent is empty.
        name: what it is.
        kind: `client` for a request to a model, else `internal`.
        start, end: nanoseconds since 1970.
        attributes: by the names of the conventions.
        events: what happened within it.
        status: whether it failed.
    """

    trace_id: str
    span_id: str
    parent_span_id: str
    name: str
    kind: Literal["internal", "client"]
    start: int
    end: int
    attributes: Mapping[str, Attribute]
    events: tuple[SpanEvent, ...] = ()
    status: Literal["unset", "error"] = "unset"


class SpanContent(Struct, frozen=True):
    """What spans may say beside names, numbers and times.

    Attributes:
        content: what was asked, answered and called.
        users: the names of users.
    """

    content: bool = False
    users: bool = False


NAMES_ONLY = SpanContent()


def spans_of(run_id: str, timeline: Timeline, said: SpanContent = NAMES_ONLY) -> list[TraceSpan]:
    """The spans of a run that have ended.

    Args:
        run_id: the run.
        timeline: its entries as they belong together.
        said: what the spans may say.
    """
    started = timeline.started
    return [] if started is None else list(_Spans(run_id, started, timeline, said).all())


def score_spans(run_id: str, timeline: Timeline, said: SpanContent = NAMES_ONLY) -> dict[int, TraceSpan]:
    """The spans of the scores of a run, by the numbers of their entries. A score may come long after the spans of its
    run were sent, so each has a span of its own below that of the run.

    Args:
        run_id: the run.
        timeline: its entries as they belong together.
        said: what the spans may say.
    """
    started = timeline.started
    return {} if started is None else dict(_Spans(run_id, started, timeline, said).scores())


def passed_span(line: PassedRequest, said: SpanContent = NAMES_ONLY) -> TraceSpan | None:
    """The span of a request that was passed through; None where the request only counted tokens.

    Args:
        line: what is on record of the request.
        said: what the span may say. The words of a request are never said: most lines do not have them, and where
            bodies are kept, they are bytes that nothing was taken out of.
    """
    if line.surface == "count_tokens":
        return None
    key = passed_key(line.request_id, line.at)
    provider, model = _asked(line.upstream)
    operation, model = (
        ("embeddings" if line.surface == "embeddings" else "chat"),
        line.asked if model in ("", "*") else model,
    )
    usage = Usage(
        line.input_tokens,
        line.output_tokens,
        line.cached_tokens,
        estimated=line.estimated,
        cache_written_tokens=line.cache_written_tokens,
    )
    named: dict[str, Attribute] = {
        "actum.tenant": line.tenant,
        "actum.key.id": line.key_id,
        "actum.upstream": line.upstream,
        "user.id": line.principal if said.users else "",
        "error.type": line.end if line.end != "answered" else "",
        "gen_ai.response.model": line.response_model,
        "gen_ai.response.finish_reasons": line.finish_reasons,
    }
    return TraceSpan(
        trace_id=line.trace_id,
        span_id=span_id(key),
        parent_span_id=span_in(line.trace),
        name=f"{operation} {model}",
        kind="client",
        start=_ns(line.at),
        end=_ns(line.at + line.seconds),
        attributes={
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": provider or "_OTHER",
            "gen_ai.request.model": model,
            **_usage(usage, line.cost or Decimal(0)),
            **{name: value for name, value in named.items() if value},
        },
        status="error" if line.end != "answered" else "unset",
    )


def _usage(usage: Usage, cost: Decimal) -> dict[str, Attribute]:
    """What a request to a model used and cost."""
    attributes: dict[str, Attribute] = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
    }
    if usage.cached_tokens:
        attributes["gen_ai.usage.cache_read.input_tokens"] = usage.cached_tokens
    if usage.cache_written_tokens:
        attributes["gen_ai.usage.cache_creation.input_tokens"] = usage.cache_written_tokens
    if usage.estimated:
        attributes["actum.usage.estimated"] = True
    if cost:
        attributes["actum.cost"] = float(cost)
        attributes["langfuse.observation.cost_details"] = _json({"total": float(cost)})
    return attributes


class _Spans:
    """The spans of one run."""

    def __init__(self, run_id: str, started: Started, timeline: Timeline, said: SpanContent) -> None:
        self._run_id, self._started, self._timeline, self._said = run_id, started, timeline, said
        self._trace = trace_id(run_id, started.trace)
        self._above = span_in(started.trace)
        self._has_own = bool(started.model or started.workflow)
        self._own = span_id(f"run {run_id}") if self._has_own else self._above
        self._taken_over = started.fork_at if started.forked else -1
        self._provider, self._model = _asked(started.model)
        self._common = self._made_common()

    def all(self) -> Iterator[TraceSpan]:
        if self._has_own and (ended := ended_for_good(self._timeline)) is not None:
            yield self._run(*ended)
        told: list[JsonObject] = [_told(each) for each in self._started.said] if self._said.content else []
        for row in self._timeline.rows:
            if isinstance(row, ModelTurn):
                replied = row.replied
                if row.number > self._taken_over:
                    named = f"{self._run_id} turn {row.number}"
                    yield self._chat(named, self._own, row.begun, row.at, replied.reply, replied.cost, told)
                told += [_told(replied.reply)] if self._said.content else []
            if isinstance(row, ModelTurn | DirectCalls | NodeSpan):
                for call in row.calls:
                    yield from self._call(call)
                    if self._said.content and call.outcome is not None:
                        told.append(_told(ToolMessage(call.call.name, call.outcome.result)))

    def scores(self) -> Iterator[tuple[int, TraceSpan]]:
        for row in self._timeline.rows:
            if isinstance(row, OtherEvent) and isinstance(row.record, Noted) and (given := score_of(row.record)):
                yield row.number, self._score(given, row.number, row.at)

    def _score(self, given: ScoreGiven, number: int, at: float) -> TraceSpan:
        attributes: dict[str, Attribute] = {
            "gen_ai.evaluation.name": given.name,
            **self._common,
            "actum.score.scorer": given.scorer,
        }
        if given.value is not None:
            attributes["gen_ai.evaluation.score.value"] = given.value
        if given.withdrawn:
            attributes["actum.score.withdrawn"] = True
        words = {"gen_ai.evaluation.score.label": given.label, "gen_ai.evaluation.explanation": given.explanation}
        if self._said.content:
            attributes |= {name: value for name, value in words.items() if value}
        attributes.pop("user.id", None)  # of the person who asked
        if self._said.users and any(given.author):
            attributes["user.id"] = given.user or given.by
        return TraceSpan(
            trace_id=self._trace,
            span_id=span_id(f"{self._run_id} score {number}"),
            parent_span_id=self._own,
            name="gen_ai.evaluation.result",
            kind="internal",
            start=_ns(at),
            end=_ns(at),
            attributes=attributes,
        )

    def _made_common(self) -> dict[str, Attribute]:
        started = self._started
        common: dict[str, Attribute] = {"actum.run.id": self._run_id}
        named: dict[str, str | int] = {
            "actum.tenant": started.tenant,
            "actum.key.id": started.key_id,
            "actum.agent.version": started.version,
            "gen_ai.conversation.id": started.conversation,
            "session.id": started.conversation,  # by which Langfuse groups
            "user.id": started.principal if self._said.users else "",
        }
        return common | {name: value for name, value in named.items() if value}

    def _run(self, ended: Ended, at: float) -> TraceSpan:
        operation = "invoke_workflow" if self._started.workflow else "invoke_agent"
        attributes: dict[str, Attribute] = {
            "gen_ai.operation.name": operation,
            "gen_ai.agent.name": self._started.agent,
            **self._common,
        }
        if self._provider:
            attributes |= {"gen_ai.provider.name": self._provider, "gen_ai.request.model": self._model}
        if self._said.content:
            attributes["gen_ai.input.messages"] = _json([_told(each) for each in self._started.said])
            attributes["gen_ai.output.messages"] = _json([_told(Reply.of(ended.text))])
            if self._started.instructions:
                attributes["gen_ai.system_instructions"] = _json([_text(self._started.instructions)])
        failed = ended.status != "done"
        if failed:
            attributes["error.type"] = ended.reason or ended.status
        return TraceSpan(
            trace_id=self._trace,
            span_id=self._own,
            parent_span_id=self._above,
            name=f"{operation} {self._started.agent}".strip(),
            kind="internal",
            start=_ns(self._timeline.began),
            end=_ns(at),
            attributes=attributes,
            status="error" if failed else "unset",
        )

    def _chat(
        self,
        named: str,
        parent: str,
        begun: float,
        at: float,
        reply: Reply,
        cost: Decimal,
        told: Sequence[JsonObject] = (),
    ) -> TraceSpan:
        attributes: dict[str, Attribute] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self._provider or "_OTHER",
            "gen_ai.request.model": self._model,
            **_usage(reply.usage, cost),
            **self._common,
        }
        if self._started.model:  # of a workflow nobody knows which of its models was asked
            attributes["actum.upstream"] = self._started.model
        if reply.model:
            attributes["gen_ai.response.model"] = reply.model
        if reply.finish_reason:
            attributes["gen_ai.response.finish_reasons"] = (reply.finish_reason,)
        if self._said.content:
            attributes["gen_ai.input.messages"] = _json(list(told))
            attributes["gen_ai.output.messages"] = _json([_told(reply)])
        return TraceSpan(
            trace_id=self._trace,
            span_id=span_id(named),
            parent_span_id=parent,
            name=f"chat {self._model}".strip(),
            kind="client",
            start=_ns(begun),
            end=_ns(max(begun, at)),
            attributes=attributes,
        )

    def _call(self, call: CallSpan) -> Iterator[TraceSpan]:
        """The span of a call that was attempted and has its outcome, and of what its tool asked models."""
        attempts = [each for each in call.attempts if each.number > self._taken_over]
        if not attempts or call.outcome is None or call.ended is None:
            return
        first, result = attempts[0], call.outcome.result
        own = span_id(first.intended.key)
        attributes: dict[str, Attribute] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": first.intended.tool,
            **self._common,
        }
        if call.call.id:
            attributes["gen_ai.tool.call.id"] = call.call.id
        if self._said.content:
            attributes["gen_ai.tool.call.arguments"] = _json(first.intended.arguments)
            attributes["gen_ai.tool.call.result"] = _told_result(result)
        if result.error is not None:
            attributes["error.type"] = result.error.code
        yield TraceSpan(
            trace_id=self._trace,
            span_id=own,
            parent_span_id=self._own,
            name=f"execute_tool {first.intended.tool}",
            kind="internal",
            start=_ns(first.at),
            end=_ns(max(first.at, call.ended)),
            attributes=attributes,
            events=tuple(_events(call, attempts[1:])),
            status="error" if result.error is not None else "unset",
        )
        for sample in call.samples:
            asked, named = sample.sampled, f"{first.intended.key} sample {sample.sampled.id}"
            yield self._chat(named, own, sample.at - asked.seconds, sample.at, asked.reply, asked.cost)


def _events(call: CallSpan, further: Sequence[Attempt]) -> Iterator[SpanEvent]:
    """Further attempts at a call, and what a person was asked about it."""
    for attempt in further:
        yield SpanEvent("attempt", _ns(attempt.at), {"actum.attempt": attempt.intended.attempt})
    for question in call.questions:
        yield SpanEvent("asked", _ns(question.at), {"actum.ask.kind": question.asked.pending.kind})
        if question.answered is not None and question.answered_at is not None:
            yield SpanEvent("answered", _ns(question.answered_at), {"actum.ask.verdict": question.answered.verdict})


def ended_for_good(timeline: Timeline) -> tuple[Ended, float] | None:
    """The last word of a run, and when it was written; None where the run waits, is tried again or goes on."""
    ended: tuple[Ended, float] | None = None
    for row in timeline.rows:
        if isinstance(row, ModelTurn | DirectCalls | NodeSpan | InputAsked):
            ended = None
        elif isinstance(row, OtherEvent) and isinstance(row.record, Ended):
            ended = (row.record, row.at) if row.record.status != "paused" else None
        elif isinstance(row, OtherEvent) and isinstance(row.record, TaskRetrying):
            ended = None
    return ended


def _asked(model: str) -> tuple[str, str]:
    """The provider and the name of a model, as the upstream was asked for it.

    >>> _asked("google:gemini-3"), _asked("http://127.0.0.1:8000/v1#qwen"), _asked("embedded"), _asked("")
    (('gcp.gemini', 'gemini-3'), ('_OTHER', 'qwen'), ('actum', 'embedded'), ('', ''))
    >>> _asked("qwen3:8b@127.0.0.1:8000"), _asked("vertex:claude@20260101")
    (('_OTHER', 'qwen3:8b'), ('vertex', 'claude@20260101'))
    """
    if not model:
        return "", ""
    if (at_address := _AT_ADDRESS.fullmatch(model)) is not None:
        return "_OTHER", at_address[1]
    if "#" in model:
        return "_OTHER", model.rpartition("#")[2]
    provider, colon, name = model.partition(":")
    return (_PROVIDERS.get(provider, provider), name) if colon else ("actum", model)


def _ns(at: float) -> int:
    return round(at * 1e6) * 1_000  # a float of our times is good for a microsecond


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _text(text: str) -> JsonObject:
    return {"type": "text", "content": text}


def _told(message: Message) -> JsonObject:
    """A message in the form of the conventions. Files and pictures are left out."""
    match message:
        case Reply():
            parts: list[JsonObject] = []
            for part in message.content:
                if isinstance(part, TextPart):
                    parts.append(_text(part.text))
                elif isinstance(part, ToolCall):
                    parts.append({"type": "tool_call", "id": part.id, "name": part.name, "arguments": part.arguments})
            return {"role": "assistant", "parts": [*parts], "finish_reason": message.finish_reason or "stop"}
        case ToolMessage():
            result = message.result
            told: JsonObject = {"type": "tool_call_response", "id": result.call_id, "response": _told_result(result)}
            return {"role": "tool", "parts": [told]}
        case UserMessage():
            return {"role": "user", "parts": [_text(message.text)]}
        case other:
            return {"role": "system", "parts": [_text(str(getattr(other, "text", "")))]}


def _told_result(result: ToolResult) -> str:
    return result.error.message if result.error is not None else result.text
