"""What a message says to a task that waits, and what a task that waits asks. Pure.

    waits for      a message that answers
    a question     its text
    an approval    `approve` or `deny`, perhaps with a reason; or data such as {"verdict": "approve"}
    a form         data with the fields; a text where the form has one field; `deny` or `cancel`
    a page         `done` as soon as the user has been there; `deny` or `cancel`
    a result       the text, for a call that the program itself has to make
    a doubt        `done`, `not_done`, `retry` or `unknown`

Where several things are waited for, a message answers the first; data such as {"answers": {id: ...}} answers by id.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...core.errors import UsageError
from ...core.json import Json, JsonObject, dumps
from ...core.policy import Answer
from ...core.run.pending import AskedKind, Pending
from ...protocols.a2a.model import A2AData, A2AMessage, A2APart, A2AText

YES = frozenset({"approve", "approved", "yes", "y", "ok", "okay", "allow", "go ahead", "accept"})
NO = frozenset({"deny", "denied", "no", "n", "reject", "refuse", "decline"})
CANCEL = frozenset({"cancel", "abort", "skip"})
DONE = frozenset({"done", "ok", "okay", "yes", "accept", "finished"})
DOUBTS = ("done", "not_done", "retry", "unknown")
ASKED_MAX = 2_000
"""The most characters of a question that are told."""


class DoesNotAnswer(UsageError):
    """A message does not answer what its task waits for; the text says what would."""


def answers_in(message: A2AMessage, waiting: Sequence[Pending]) -> dict[str, Answer]:
    """The answers in a message, by the id of what was asked.

    Args:
        message: what the caller says.
        waiting: what the task waits for, the first first.

    Raises:
        DoesNotAnswer: the message does not fit what is waited for.
    """
    data = next((part.data for part in message.parts if isinstance(part, A2AData)), None)
    text = text_of(message.parts)
    if isinstance(data, dict) and isinstance(named := data.get("answers"), dict):
        by_id = {each.id: each for each in waiting}
        unknown = [key for key in named if key not in by_id]
        if unknown:
            raise DoesNotAnswer("nothing waits under {wanted!r}", wanted=unknown[0][:80])
        return {key: _answer(by_id[key], value, _text(value)) for key, value in named.items()}
    first = waiting[0]
    return {first.id: _answer(first, data, text)}


def _answer(asked: Pending, data: Json, text: str) -> Answer:
    word = text.strip().strip(".!").lower()
    verdict = data.get("verdict") if isinstance(data, dict) else None
    said = verdict.lower() if isinstance(verdict, str) else word
    reason = data.get("reason") if isinstance(data, dict) and isinstance(data.get("reason"), str) else ""
    match asked.kind:
        case "answer" | "result":
            return Answer("answer", text or (dumps(data) if data is not None else ""))
        case "approval":
            first, _, rest = said.partition(" ")
            if said in YES:
                return Answer("approve")
            if said in NO or first.rstrip(",:") in NO:
                return Answer("deny", str(reason) or rest.strip())
            raise DoesNotAnswer("the task waits for an approval: answer 'approve' or 'deny'")
        case "doubt":
            found = next((each for each in DOUBTS if said.replace(" ", "_") == each), None)
            if found is None:
                raise DoesNotAnswer("the task waits for one of these words: {doubts}", doubts=", ".join(DOUBTS))
            return Answer(found)  # type: ignore[arg-type]  # the words are verdicts
        case "elicitation":
            return _form(asked, data, text, said)
        case _:
            raise DoesNotAnswer("the task waits for something that this protocol can not give")


def _form(asked: Pending, data: Json, text: str, said: str) -> Answer:
    if said in NO:
        return Answer("deny")
    if said in CANCEL:
        return Answer("cancel")
    if asked.url:
        if said in DONE:
            return Answer("answer")
        raise DoesNotAnswer("the task waits until the page was visited: answer 'done', 'deny' or 'cancel'")
    if isinstance(data, dict):
        return Answer("answer", arguments=data)
    fields = asked.schema.get("properties") if asked.schema is not None else None
    if isinstance(fields, dict) and len(fields) == 1 and text:
        name, schema = next(iter(fields.items()))
        return Answer("answer", arguments={name: _typed(text, schema)})
    raise DoesNotAnswer("the task waits for a form: answer with a data part that has its fields, 'deny' or 'cancel'")


def _typed(text: str, schema: Json) -> Json:
    """A text as the one field of a form."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    try:
        if kind == "integer":
            return int(text)
        if kind == "number":
            return float(text)
    except ValueError:
        return text
    if kind == "boolean" and text.strip().lower() in (*YES, *NO, "true", "false"):
        return text.strip().lower() in (*YES, "true")
    return text


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def text_of(parts: Sequence[A2APart]) -> str:
    """The text of parts, a line break between two."""
    return "\n".join([part.text for part in parts if isinstance(part, A2AText)])


def question_of(waiting: Sequence[Pending]) -> tuple[A2APart, ...]:
    """What a task that waits asks: a text for a person, and data for a program."""
    if not waiting:
        return ()
    told = [_told(each) for each in waiting]
    text = "\n".join(_words(each) for each in waiting)
    asked: list[Json] = [*told]
    data: JsonObject = {"waiting": asked}
    return A2AText(text=text), A2AData(data=data, media_type="application/json")


_KINDS: dict[AskedKind, str] = {
    "approval": "The agent wants to call {call}. Answer 'approve' or 'deny'.",
    "result": "Make this call, and answer with its result: {call}.",
    "doubt": "Nobody knows whether this call was made: {call}. Answer 'done', 'not_done', 'retry' or 'unknown'.",
}
"""What is asked where the question has no words of its own."""


def _words(asked: Pending) -> str:
    words = asked.message[:ASKED_MAX]
    if asked.call is not None and asked.kind in _KINDS:
        call = f"{asked.call.name} {dumps(asked.call.arguments)}"[:ASKED_MAX]
        words = f"{words} {_KINDS[asked.kind].format(call=call)}".strip()
    return f"{words} {asked.url}".strip() if asked.url else words


def _told(asked: Pending) -> JsonObject:
    told: JsonObject = {"id": asked.id, "kind": asked.kind, "message": asked.message[:ASKED_MAX]}
    if asked.schema is not None:
        told["schema"] = asked.schema
    if asked.url:
        told["url"] = asked.url
    if asked.call is not None:
        told["call"] = {"name": asked.call.name, "arguments": asked.call.arguments}
    if asked.expires:
        told["expires"] = asked.expires
    return told
