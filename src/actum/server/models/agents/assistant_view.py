"""Runs as the Assistants API tells them: a run, its steps, its messages, and the events of its stream. Pure.

    run_<hex>                      the run of the agent
    step_<hex>_<entry>_<index>     one call of a tool: the entry of the reply that asked for the call, and which call
    step_<hex>_m<number>           one message of the assistant
    msg_<hex>_m<number>            the message itself

Whatever a run waits for is told as a call that the client is to make: a call of a function of the client under the
function's own name, an approval as `approve_call` (its output is `approve` or `deny`), a question to the user as
`answer_question`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ....core.call import ToolCall
from ....core.json import Json, JsonObject, dumps
from ....core.message import Reply, Usage
from ....core.run.ending import last_entry
from ....core.run.record import CallRefused, Ended, Entry
from ....journal.recording import CallRef, RunState
from ....journal.timeline import Timeline
from .answer import AnswerFold, Ending, Piece, Said, ServerCall, words_of
from .failure import failure
from .ids import approval_id, call_id, server_call_id

APPROVE = "approve_call"
ANSWER = "answer_question"
WAIT = "wait_for_person"
_STATUS: dict[str, str] = {
    "done": "completed",
    "calls": "requires_action",
    "waits": "requires_action",
    "asks": "requires_action",
    "stopped": "incomplete",
    "failed": "failed",
    "cancelled": "cancelled",
    "running": "in_progress",
}
IS_ACTIVE = frozenset({"requires_action", "in_progress"})


class AssistantRun:
    """One run, as far as its entries tell.

    Args:
        run_id: the run.
        entries: all its entries.
    """

    def __init__(self, run_id: str, entries: Sequence[Entry]) -> None:
        self._id, self._entries, self._hex = run_id, entries, run_id.partition("_")[2]
        fold = AnswerFold(run_id, until="end")
        for entry in entries:
            fold.take(entry)
        self._timeline = Timeline(entries)
        self.ending: Ending = fold.ending()
        self.state: RunState = fold.state
        self.door: JsonObject = self.state.beginning().door
        replies = [turn.replied.reply for turn in self._timeline.steps()]
        self._accepted = replies[-1] if replies and self.ending.how != "running" else None
        self.began = int(entries[0].at)
        self._last = int(last_entry(entries).at)

    @property
    def status(self) -> str:
        """The status, in the words of the API."""
        return _STATUS[self.ending.how]

    @property
    def thread_id(self) -> str:
        """The thread."""
        return self.state.beginning().conversation

    def told(self) -> JsonObject:
        """The run."""
        status, door = self.status, self.door
        waiting: list[Json] = [*waiting_calls(self._id, self.state)]
        action: Json = {"type": "submit_tool_outputs", "submit_tool_outputs": {"tool_calls": waiting}}
        is_over = status not in IS_ACTIVE
        error: Json = {"code": "server_error", "message": str(failure(self.ending))}
        return {
            "id": self._id,
            "object": "thread.run",
            "created_at": self.began,
            "thread_id": self.thread_id,
            "assistant_id": door.get("assistant") or "",
            "status": status,
            "started_at": self.began,
            "expires_at": None,
            "cancelled_at": self._last if status == "cancelled" else None,
            "failed_at": self._last if status == "failed" else None,
            "completed_at": self._last if status == "completed" else None,
            "last_error": error if status == "failed" else None,
            "incomplete_details": {"reason": "max_completion_tokens"} if status == "incomplete" else None,
            "required_action": action if status == "requires_action" else None,
            "model": door.get("model") or "",
            "instructions": door.get("instructions") or "",
            "tools": door.get("tools") or [],
            "metadata": door.get("metadata") or {},
            "usage": _usage(self.ending.usage) if is_over else None,
            "temperature": None,
            "top_p": None,
            "max_prompt_tokens": None,
            "max_completion_tokens": None,
            "truncation_strategy": {"type": "auto", "last_messages": None},
            "tool_choice": door.get("tool_choice") or "auto",
            "parallel_tool_calls": True,
            "response_format": "auto",
        }

    def messages(self) -> list[JsonObject]:
        """What the assistant said, the oldest first."""
        return [self.message(number, text, at) for number, (text, at) in enumerate(self._said())]

    def message(self, number: int, text: str | None, at: int) -> JsonObject:
        """One message of the assistant; without a text it has only begun."""
        block: Json = {"type": "text", "text": {"value": text or "", "annotations": []}}
        return {
            "id": f"msg_{self._hex}_m{number}",
            "object": "thread.message",
            "created_at": at,
            "completed_at": None if text is None else at,
            "incomplete_at": None,
            "incomplete_details": None,
            "thread_id": self.thread_id,
            "run_id": self._id,
            "assistant_id": self.door.get("assistant") or "",
            "role": "assistant",
            "status": "in_progress" if text is None else "completed",
            "content": [] if text is None else [block],
            "attachments": [],
            "metadata": {},
        }

    def steps(self) -> list[JsonObject]:
        """What the run did, the oldest first."""
        found: list[JsonObject] = []
        number = 0
        for turn in self._timeline.steps():
            if self._words(turn.replied.reply):
                found.append(self.message_step(number, int(turn.at), is_over=True))
                number += 1
            found += [self.call_step(CallRef(turn.number, index)) for index in range(len(turn.calls))]
        return found

    def message_step(self, number: int, at: int, *, is_over: bool) -> JsonObject:
        """The step that one message is."""
        details: Json = {
            "type": "message_creation",
            "message_creation": {"message_id": f"msg_{self._hex}_m{number}"},
        }
        return self._step(f"step_{self._hex}_m{number}", details, at, at if is_over else None, "completed")

    def call_step(self, ref: CallRef) -> JsonObject:
        """The step that one call is."""
        said_at = next((int(turn.at) for turn in self._timeline.steps() if turn.number == ref.cause), self._last)
        call, made = self.state.calls[ref.cause][ref.index], self._timeline.call(ref)
        ended = int(made.ended) if made is not None and made.ended is not None else None
        outcome = made.outcome if made is not None else None
        output = outcome.result.text if outcome is not None else None
        function: Json = {"name": call.name, "arguments": dumps(call.arguments), "output": output}
        calls: list[Json] = [{"id": self._call_id(ref), "type": "function", "function": function}]
        details: Json = {"type": "tool_calls", "tool_calls": calls}
        id_ = f"step_{self._hex}_{ref.cause}_{ref.index}"
        return self._step(id_, details, said_at, ended, "failed" if isinstance(outcome, CallRefused) else "completed")

    def _step(self, id_: str, details: Json, began: int, ended: int | None, how: str) -> JsonObject:
        if ended is None and self.status not in IS_ACTIVE:
            ended, how = self._last, "cancelled"
        status = "in_progress" if ended is None else how
        return {
            "id": id_,
            "object": "thread.run.step",
            "created_at": began,
            "run_id": self._id,
            "thread_id": self.thread_id,
            "assistant_id": self.door.get("assistant") or "",
            "type": "message_creation" if "_m" in id_ else "tool_calls",
            "status": status,
            "step_details": details,
            "completed_at": ended if status == "completed" else None,
            "cancelled_at": ended if status == "cancelled" else None,
            "failed_at": ended if status == "failed" else None,
            "expired_at": None,
            "last_error": {"code": "server_error", "message": "refused"} if status == "failed" else None,
            "metadata": {},
            "usage": None,
        }

    def _call_id(self, ref: CallRef) -> str:
        made = self._timeline.call(ref)
        for question in made.questions if made is not None else ():
            if question.asked.kind == "result":
                return call_id(self._id, question.asked.pending.id)
        return server_call_id(self._id, ref.name)

    def _said(self) -> list[tuple[str, int]]:
        said = [(words, int(turn.at)) for turn in self._timeline.steps() if (words := self._words(turn.replied.reply))]
        ended = last_entry(self._entries).record
        if isinstance(ended, Ended) and self.ending.how in ("done", "stopped"):
            told = ended.text if self.state.beginning().cite and self.ending.how == "done" else self.ending.text
            said += [(told, self._last)] if told else []
        return said

    def _words(self, reply: Reply) -> str:
        """What a reply tells the user. An answer that was refused is told nobody; of an agent that cites, what was
        accepted is told at the end instead.
        """
        is_told = reply.calls or (not self.state.beginning().cite and self._accepted is reply)
        return words_of(reply) if is_told else ""


class EventWriter:
    """Writes the events of a stream.

    Args:
        run: the run where the stream begins.
        said: how many messages the assistant had said before.
    """

    def __init__(self, run: AssistantRun, said: int) -> None:
        self._run, self._number, self._text, self._is_open = run, said, "", False

    def piece(self, piece: Piece, run: AssistantRun | None) -> bytes:
        """The events of a piece.

        Args:
            piece: what happened.
            run: the run as it stands, where the piece is a call.
        """
        match piece:
            case Said(text, begins):
                before = self._end_message() if begins else b""
                opened = b"" if self._is_open else self._begin_message()
                self._text += text
                return before + opened + self._delta(text)
            case ServerCall(place=place):
                cause, _, index = place.partition(".")
                if run is None:
                    return b""
                return self._end_message() + began(run.call_step(CallRef(int(cause), int(index))), is_over=True)

    def end(self, run: AssistantRun) -> bytes:
        """The end of the stream."""
        told = self._end_message()
        messages = run.messages()
        if len(messages) > self._number:  # words that no reply of the model said, such as at a limit
            last = messages[-1]
            told += event("thread.message.created", last) + event("thread.message.completed", last)
        for asked in run.state.waiting():
            if asked.kind == "result":
                told += began(run.call_step(CallRef(asked.cause, asked.index)), is_over=False)
        return told + event(f"thread.run.{run.status}", run.told()) + DONE

    def _begin_message(self) -> bytes:
        self._is_open, self._text = True, ""
        message = self._run.message(self._number, None, self._run.began)
        step = self._run.message_step(self._number, self._run.began, is_over=False)
        return (
            event("thread.run.step.created", step)
            + event("thread.run.step.in_progress", step)
            + event("thread.message.created", message)
            + event("thread.message.in_progress", message)
        )

    def _delta(self, text: str) -> bytes:
        content: list[Json] = [{"index": 0, "type": "text", "text": {"value": text, "annotations": []}}]
        id_ = self._run.message(self._number, None, 0)["id"]
        data: JsonObject = {"id": id_, "object": "thread.message.delta", "delta": {"content": content}}
        return event("thread.message.delta", data)

    def _end_message(self) -> bytes:
        if not self._is_open:
            return b""
        self._is_open = False
        told = event("thread.message.completed", self._run.message(self._number, self._text, self._run.began))
        told += event("thread.run.step.completed", self._run.message_step(self._number, self._run.began, is_over=True))
        self._number += 1
        return told


def began(step: JsonObject, *, is_over: bool) -> bytes:
    """The events of a step that is a call."""
    open_step = {**step, "status": "in_progress", "completed_at": None, "failed_at": None, "last_error": None}
    details = step["step_details"]
    calls = details["tool_calls"] if isinstance(details, dict) else None
    call = calls[0] if isinstance(calls, list) else None
    shown: list[Json] = [{"index": 0, **call}] if isinstance(call, dict) else []
    delta: JsonObject = {
        "id": step["id"],
        "object": "thread.run.step.delta",
        "delta": {"step_details": {"type": "tool_calls", "tool_calls": shown}},
    }
    empty: JsonObject = {**open_step, "step_details": {"type": "tool_calls", "tool_calls": []}}
    told = event("thread.run.step.created", empty) + event("thread.run.step.in_progress", empty)
    told += event("thread.run.step.delta", delta)
    return told + (event(f"thread.run.step.{step['status']}", step) if is_over else b"")


def waiting_calls(run_id: str, state: RunState) -> list[JsonObject]:
    """What a run waits for, as calls that the client is to make."""
    found: list[JsonObject] = []
    for asked in state.waiting():
        pending = asked.pending
        call = pending.call or ToolCall(pending.id, WAIT, {})
        if pending.kind == "result":
            id_, name, arguments = call_id(run_id, pending.id), call.name, call.arguments
        elif pending.kind == "approval":
            id_, name = approval_id(run_id, pending.id), APPROVE
            arguments = {"name": call.name, "arguments": call.arguments, "message": pending.message}
        else:
            name = ANSWER if pending.kind == "answer" else WAIT
            id_, arguments = call_id(run_id, pending.id), {"message": pending.message}
        function: Json = {"name": name, "arguments": dumps(arguments)}
        found.append({"id": id_, "type": "function", "function": function})
    return found


def event(name: str, data: JsonObject) -> bytes:
    """One event of a stream."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(data))


def _usage(usage: Usage) -> JsonObject:
    given, made = usage.input_tokens or 0, usage.output_tokens or 0
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}


DONE = b"event: done\ndata: [DONE]\n\n"
