"""What was said in a run, as items of the Responses API: what a response was asked, and what it answered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from ....core.call import MediaPart, TextPart
from ....core.interfaces import Journal
from ....core.json import Json, JsonObject
from ....core.message import Message, Reply, SystemMessage, ToolMessage, UserMessage
from ....core.run.record import Entry, InputGiven, Started
from ....dialects.api.openai_responses.encoder import repeated
from ....journal.recording import RunState
from ....knowledge.citing.references import QuoteReference, references_before
from .answer import AnswerFold, Ending, Piece
from .ids import AnswerRef, call_id
from .writers import ResponsesWriter


def answer_fold(run_id: str, begins: int, door: JsonObject) -> AnswerFold:
    """Reads an answer of the Responses API out of the record. An answer in the background ends at a pause; any other
    was held for the person who had to say something.

    Args:
        run_id: the run.
        begins: the number of the first entry that belongs to the answer.
        door: what the request that began the run says of its answer; see `Started.door`.
    """
    return AnswerFold(run_id, begins, until="pause" if door.get("background") is True and not begins else "calls")


async def quoted_before(journal: Journal, started: Started) -> Sequence[QuoteReference]:
    """The quotes of earlier turns that an answer may cite."""
    return await references_before(journal, started) if started.cite and started.previous else ()


def fields_of(ref: AnswerRef, state: RunState) -> JsonObject:
    """What an answer repeats of its request, as far as this is on record."""
    door = state.beginning().door
    conversation = state.beginning().conversation
    first = ref.begins == 0
    return {
        **(repeated(door) if first else {}),
        "background": door.get("background") is True and first,
        "conversation": {"id": conversation} if conversation else None,
        "previous_response_id": door.get("previous_response_id") if first else None,
        "store": True,
    }


async def response_of(journal: Journal, ref: AnswerRef, entries: Sequence[Entry]) -> JsonObject:
    """A response as it stands, out of the record of its run.

    Args:
        journal: has the earlier turns.
        ref: the answer.
        entries: all entries of the run.
    """
    started = RunState(entries[:1]).beginning()
    fold = answer_fold(ref.run_id, ref.begins, started.door)
    fold.before = await quoted_before(journal, started)
    pieces: list[Piece] = [piece for entry in entries for piece in fold.take(entry)]
    ending: Ending = fold.ending()
    writer = stored_writer(ref, entries)
    return msgspec.json.decode(writer.whole(pieces, ending), type=JsonObject)


def stored_writer(ref: AnswerRef, entries: Sequence[Entry]) -> ResponsesWriter:
    """Writes an answer out of the record."""
    state = RunState(entries[:1])
    started = state.beginning()
    return ResponsesWriter(
        ref,
        agent=started.agent,
        model=str(started.door.get("model") or started.agent),
        created=int(entries[0].at),
        fields=fields_of(ref, state),
    )


def input_items(ref: AnswerRef, entries: Sequence[Entry]) -> list[JsonObject]:
    """What a response was asked, in order.

    Args:
        ref: the answer.
        entries: all entries of the run.
    """
    state = RunState(entries)
    started = state.beginning()
    if ref.begins == 0:
        said: Iterable[Message] = (*started.history, *started.said)
        return [item for number, message in enumerate(said) for item in _items(ref, number, message)]
    found: list[JsonObject] = []
    for entry in entries[ref.begins :]:
        if not isinstance(entry.record, InputGiven):
            break
        found.append(_given(ref, entry.number, entry.record))
    return found


def _given(ref: AnswerRef, number: int, given: InputGiven) -> JsonObject:
    id_ = f"in_{ref.tail}_{number}"
    if given.verdict in ("approve", "deny"):
        asked = f"mcpr_{ref.run_id.partition('_')[2]}_{given.id.partition('_')[2]}"
        return {
            "id": id_,
            "type": "mcp_approval_response",
            "approval_request_id": asked,
            "approve": given.verdict == "approve",
            "reason": given.text or None,
        }
    return {
        "id": id_,
        "type": "function_call_output",
        "call_id": call_id(ref.run_id, given.id),
        "output": given.text,
        "status": "completed",
    }


def _items(ref: AnswerRef, number: int, message: Message) -> list[JsonObject]:
    id_ = f"msg_in_{ref.tail}_{number}"
    match message:
        case UserMessage(content, source):
            role = "user" if source == "user" else "developer"
            parts: list[Json] = [_part(part) for part in content]
            return [{"id": id_, "type": "message", "role": role, "status": "completed", "content": parts}]
        case SystemMessage(text):
            words: list[Json] = [{"type": "input_text", "text": text}]
            return [{"id": id_, "type": "message", "role": "system", "status": "completed", "content": words}]
        case Reply():
            answer: list[Json] = [{"type": "output_text", "text": message.text, "annotations": [], "logprobs": []}]
            said: JsonObject = {"id": id_, "type": "message", "role": "assistant", "status": "completed"}
            return [{**said, "content": answer}] if message.text else []
        case ToolMessage():
            return []


def _part(part: TextPart | MediaPart) -> Json:
    if isinstance(part, TextPart):
        return {"type": "input_text", "text": part.text}
    return {"type": "input_text", "text": part.describe()}
