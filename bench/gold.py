"""Whether each dialect carries right calls unharmed: those of the leaderboard, judged by its own checker.

`bench/bfcl.py` fetches both. Each dialect writes each answer and reads it back, whole and in pieces of 7 characters; in
the last row an answer goes around through all dialects, read by each and written by the next. What counts is that the
checker says of it what it says of the untouched answer. It is a kind checker, so `identical` counts what came back with
the same names, values and types, both whole and in pieces.

What is not identical stands in a column of its own. Two things are no fault: a form that has room for one call says the
first of several; and where the leaderboard takes a value for right that the function's own schema refuses (`true` for
one of the strings "True" and "False", `null` for a string), a dialect whose parameters are not JSON reads what the
schema allows. All else is `lost`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, cast

from actum.core.call import Problem, ToolCall
from actum.core.event import CallDelta, CallSaid, Delta
from actum.core.message import Reply
from actum.core.tool import Tool
from actum.dialects import dialect, names
from actum.dialects.base import ApiDialect, Decoder, TextDialect
from actum.schema.schema import Schema, compile_schema

from .bfcl import CALLING, Case, gold, judge, load
from .loop import Row

PIECE = 7
ONE_CALL = {"openai_functions"}
"""Dialects in which a reply has room for one call."""

Spoken = ApiDialect | TextDialect
Calls = Sequence[ToolCall]
Carry = Callable[[Spoken, Reply, Sequence[Tool]], Reply]
Content = list[tuple[str, str]]


class Answer(NamedTuple):
    """A case with its right calls, what the checker says of them, and the schemas of its functions."""

    case: Case
    calls: Calls
    ok: bool
    schemas: dict[str, Schema]


def gold_table(rounds: int) -> list[Row]:
    answers = [_answer(case) for category in CALLING for case in load(category)]
    rows = [_row(name, [name], answers) for name in names()]
    return [*rows, _row("around through all", [*names(), names()[0]], answers)]


def _answer(case: Case) -> Answer:
    calls = gold(case)
    schemas = {tool.name: compile_schema(tool.parameters, where=case.id) for tool in case.tools}
    return Answer(case, calls, judge(case, calls).ok, schemas)


def _row(title: str, route: Sequence[str], answers: Sequence[Answer]) -> Row:
    """What becomes of the answers on a way through some dialects."""
    count = Counter[str]()
    lost: list[str] = []
    for answer in answers:
        way = [dialect(name) for name in route if len(answer.calls) == 1 or name not in ONE_CALL or len(route) == 1]
        whole, pieces = (_carried(carry, way, answer) for carry in (through, through_pieces))
        count.update(whole=judge(answer.case, whole).ok, pieces=judge(answer.case, pieces).ok)
        how = _difference(answer, whole) if _content(whole) == _content(pieces) else "lost"
        count[how] += 1
        if how == "lost":
            lost.append(answer.case.id)
    return {
        "dialect": title,
        "answers": len(answers),
        "untouched ok": sum(answer.ok for answer in answers),
        "whole ok": count["whole"],
        "in pieces ok": count["pieces"],
        **{how: count[how] for how in ("identical", "first of several", "as the schema says")},
        "lost": " ".join([str(len(lost)), *lost[:3]]),
    }


def _difference(answer: Answer, calls: Calls) -> str:
    """What the calls that came out are, beside those that went in."""
    if _content(calls) == _content(answer.calls):
        return "identical"
    if len(calls) == 1 and _content(calls) == _content(answer.calls[:1]):
        return "first of several"
    if [call.name for call in calls] != [call.name for call in answer.calls]:
        return "lost"
    pairs = zip(answer.calls, calls, strict=True)
    allowed = all(_by_schema(answer.schemas[right.name], right, read) for right, read in pairs)
    return "as the schema says" if allowed else "lost"


def _by_schema(schema: Schema, right: ToolCall, read: ToolCall) -> bool:
    """They differ in nothing but arguments that the schema refuses in the one and allows in the other."""
    before, after = right.arguments, read.arguments
    differ = {key for key in before.keys() | after.keys() if repr(before.get(key)) != repr(after.get(key))}
    refused, still = _refused(schema.problems(before)), _refused(schema.check(after).problems)
    return read.complete and differ <= refused and not differ & still


def _refused(problems: Sequence[Problem]) -> set[str]:
    """The arguments that problems are about."""
    return {problem.path.split(".")[0].split("[")[0] for problem in problems}


def _carried(carry: Carry, way: Sequence[Spoken], answer: Answer) -> Calls:
    """The calls after each dialect on the way has written and read them."""
    reply = Reply.of(calls=answer.calls)
    for spoken in way:
        reply = carry(spoken, reply, answer.case.tools)
    return reply.calls


def through(spoken: Spoken, reply: Reply, tools: Sequence[Tool]) -> Reply:
    """The reply as a dialect reads it after it has written it."""
    return spoken.decode(spoken.encode_reply(reply), tools=tools)


def through_pieces(spoken: Spoken, reply: Reply, tools: Sequence[Tool]) -> Reply:
    """The same in pieces of 7 characters; an API dialect writes a stream, of calls that came in pieces too."""
    wire: str | bytes = spoken.encode_reply(reply)
    if isinstance(wire, bytes):
        encoder = cast(ApiDialect, spoken).encoder()
        wire = b"".join([*(encoder.feed(delta) for delta in _deltas(reply.calls)), encoder.close(reply)])
    decoder: Decoder = spoken.decoder(tools=tools)
    for at in range(0, len(wire), PIECE):
        decoder.feed(wire[at : at + PIECE])
    decoder.close()
    return decoder.reply


def _deltas(calls: Calls) -> Iterator[Delta]:
    """The calls as a model would say them, bit by bit."""
    for index, call in enumerate(calls):
        source = call.arguments_text()
        yield CallDelta(index, call.name, id=call.id)
        yield from (CallDelta(index, arguments=source[at : at + PIECE]) for at in range(0, len(source), PIECE))
        yield CallSaid(index, call)


def _content(calls: Calls) -> Content:
    """Names and arguments; `repr` tells 1 from 1.0 and from True."""
    return [(call.name, repr(call.arguments)) for call in calls]
