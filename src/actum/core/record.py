"""What the journal holds: typed records, and the chain that binds the stored bytes.

A run is a sequence of entries numbered from 0. An entry holds its record as stored bytes (the payload), a random salt,
and two SHA-256 values: `digest` over salt and payload, `head` over the previous head, the number, the time and the
digest. The chain covers digests, not payloads: a payload can be deleted and the chain still checks, and the salt keeps
a deleted short payload from being guessed from its digest.

The order of records in a run::

    Started  (Replied  ([Checked] Intended Settled | Refused | Asked [Answered] ...)*)*  [Compacted]  Ended

An outcome belongs to (number of the `Replied` entry, index of the call in it): ids made by models are unique only
within a turn. A call may have several `Intended`, one for each attempt. An `Intended` without `Settled` is in doubt.

What the chain proves: without a key it tells accidents and gaps. Heads that are signed with a key outside the database
(`Head`), or were exported, tell a rewritten chain and one that was cut, up to that head.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import struct
import sys
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Literal

import msgspec
from msgspec import Struct

from .budget import NOTHING, ZERO, Used
from .call import ToolCall, ToolResult
from .errors import JournalError
from .json import JsonObject
from .message import Message, Reply, Usage, UserMessage
from .provenance import Origins

GENESIS = bytes(32)
"""What stands before the first entry of a chain."""


class Started(Struct, frozen=True, kw_only=True, tag="started", omit_defaults=True):
    """A run begins.

    Attributes:
        agent: the agent's name.
        model: the model's name.
        said: the messages that this run adds to the conversation: the user's words.
        instructions: the system prompt as it was rendered.
        tools: digest of the tool definitions, which the journal keeps under it.
        limits: digest-relevant settings of the loop, as JSON.
        principal: on whose behalf.
        roles, key_id: as in `interfaces.Facts`.
        conversation: id of the conversation, empty for a run that stands alone.
        previous: the run before this one in the conversation.
        seen: how many entries it had when this run began; what it did later is not in this run's history.
        parent: the run whose call started this one.
        forked: the run that this one branched off from; it has that run's entries up to `fork_at`, numbered alike.
        fork_at: number of the last entry that was taken over.
        compacts: the run only makes a summary of the conversation; see `Compacted`.
        trace: the `traceparent` of whatever asked for this run, where it belongs to a trace of other programs. Their
            word: it links, and permits nothing.
    """

    agent: str
    model: str
    said: tuple[Message, ...]
    instructions: str = ""
    tools: str = ""
    limits: JsonObject = {}
    principal: str = ""
    roles: tuple[str, ...] = ()
    key_id: str = ""
    conversation: str = ""
    previous: str = ""
    seen: int = 0
    parent: str = ""
    forked: str = ""
    fork_at: int = 0
    compacts: bool = False
    trace: str = ""


class ToolsChanged(Struct, frozen=True, tag="tools_changed"):
    """The tools that are shown to the model are other ones from here on; `tools` as in `Started`."""

    tools: str


class Replied(Struct, frozen=True, tag="replied", omit_defaults=True):
    """The model answered.

    Attributes:
        intention: digest of what it was asked, compared when the run is replayed.
        reply: what it said.
        seconds: how long it took.
        elapsed: seconds since the run began.
        cost: what it cost, by the prices of then.
    """

    intention: str
    reply: Reply
    seconds: float = 0.0
    elapsed: float = 0.0
    cost: Decimal = ZERO


class Intended(Struct, frozen=True, tag="intended", omit_defaults=True):
    """A tool is about to run. On record before it does.

    Attributes:
        reply: number of the `Replied` entry that holds the call.
        index: which call of that reply, from 0.
        attempt: 1 for the first.
        tool: the tool's name.
        version: digest of the tool's definition.
        arguments: what the tool gets, after coercion.
        key: the idempotency key.
        rule: the policy rule that allowed it, or the approval.
        repairs: what was mended in the arguments.
        origins: where each argument came from, for a call that may change something.
    """

    reply: int
    index: int
    attempt: int
    tool: str
    version: str
    arguments: JsonObject
    key: str
    rule: str = ""
    repairs: tuple[str, ...] = ()
    origins: Origins = {}


class Settled(Struct, frozen=True, tag="settled", omit_defaults=True):
    """An attempt has its outcome, good or bad.

    Attributes:
        detail: for people and the audit: where in a tool's code it failed; never told to a model.
        final: False when another attempt follows.
        shown: so many bytes of its text the model is shown; 0 for all.
        used: what the call has used up by now, all attempts together: an agent that it started, or its tool's cost.
    """

    reply: int
    index: int
    result: ToolResult
    seconds: float = 0.0
    elapsed: float = 0.0
    detail: str = ""
    final: bool = True
    shown: int = 0
    used: Used = NOTHING


class Refused(Struct, frozen=True, tag="refused", omit_defaults=True):
    """A call was turned away before it reached a tool; `result.error` says why, `rule` by whom."""

    reply: int
    index: int
    result: ToolResult
    elapsed: float = 0.0
    rule: str = ""


class Checked(Struct, frozen=True, tag="checked", omit_defaults=True):
    """A rule wanted something looked up before a call: it was, by a tool that only reads.

    Attributes:
        reply, index: the call that it was looked up for.
        tool: the name of the tool that was asked, by the policy and not by the model.
        arguments: what it got.
        result: what came back.
        fault: what speaks against the call; empty when nothing does. Never told to a model.
        rule: the rule that wanted it.
        elapsed: as in `Replied`.
    """

    reply: int
    index: int
    tool: str
    arguments: JsonObject
    result: ToolResult
    fault: str = ""
    rule: str = ""
    elapsed: float = 0.0


AskedKind = Literal["approval", "answer", "result", "doubt", "elicitation", "sampling", "roots"]
Verdict = Literal["approve", "deny", "answer", "cancel", "done", "not_done", "retry", "unknown"]
"""`approve` and `deny` answer an approval, `answer` a question or a result, and what a running tool asks for, which
can also be denied or put aside with `cancel`; the others a doubt: it happened, it did not, make the call again, nobody
can tell."""


class Asked(Struct, frozen=True, tag="asked", omit_defaults=True):
    """The run waits for a person.

    Attributes:
        id: what the answer is given under.
        kind: `approval` of a call, `answer` to a question, `result` of a call that the program makes itself, or
            `doubt`: whether a call happened that was begun and has no outcome. A running tool asks for an
            `elicitation` (a form, or a page to visit), a `sampling` (an answer of a model) or `roots` (directories).
        message: what the person is shown.
        reply, index: the call that waits; for a question, `index` is -1.
        call: the call with the arguments that would be used.
        version: digest of the tool's definition that is asked about.
        rule: the rule that wants it.
        run: the child run that waits, where it is not this one.
        origins: where each argument came from.
        approvers: who may answer; anybody when empty.
        needs: so many of them have to agree.
        expires: seconds since 1970 after which no answer counts; 0 for never.
        edited: the call's arguments are a person's, who changed the model's.
        schema: JSON Schema of the answer to an elicitation by form.
        url: the page to visit, of an elicitation by page.
        request: what a model is to be asked, for a sampling.
        asker: who asks, where it is another party: the name that the program gave it.
        name: what the tool calls its question, where it does.
        beside: the idempotency keys of other calls for which the question may be meant: whoever asks does not say for
            which of the calls under way it asks.
    """

    id: str
    kind: AskedKind
    message: str
    reply: int = -1
    index: int = -1
    call: ToolCall | None = None
    version: str = ""
    rule: str = ""
    run: str = ""
    origins: Origins = {}
    approvers: tuple[str, ...] = ()
    needs: int = 1
    expires: float = 0.0
    edited: bool = False
    schema: JsonObject | None = None
    url: str = ""
    request: JsonObject | None = None
    asker: str = ""
    name: str = ""
    beside: tuple[str, ...] = ()


class Parked(Struct, frozen=True, tag="parked", omit_defaults=True):
    """A running tool asked for something that nobody could give then. It has stopped, and is executed anew when what
    it asked for is there; so nothing is in doubt.

    Attributes:
        reply, index: the call.
        state: what the tool wants to find again then.
        used: what the call has used up by now, as in `Settled`.
    """

    reply: int
    index: int
    state: str = ""
    used: Used = NOTHING


class Sampled(Struct, frozen=True, tag="sampled", omit_defaults=True):
    """A running tool asked a model, and got an answer.

    Attributes:
        call, index: the call: the number of the `Replied` entry that holds it, and its place there.
        id: what its answer is found by when the tool is executed anew.
        request: what the model was asked.
        reply: what it said.
        seconds: how long it took.
        elapsed: as in `Replied`.
        cost: money, where the model's price is known.
        beside: as in `Asked`.
    """

    call: int
    index: int
    id: str
    request: JsonObject
    reply: Reply
    seconds: float
    elapsed: float = 0.0
    cost: Decimal = ZERO
    beside: tuple[str, ...] = ()


class Answered(Struct, frozen=True, tag="answered", omit_defaults=True):
    """What was asked under `id` is answered.

    Attributes:
        elapsed: as in `Replied`.
        arguments: what the call is to be made with instead; it is judged anew. Of what a running tool asked for, the
            answer itself.
        for_run: calls of this run like this one need no further approval.
        met: as many as are needed have agreed, on the record of the run that this one works for.
    """

    id: str
    verdict: Verdict
    text: str = ""
    by: str = ""
    elapsed: float = 0.0
    arguments: JsonObject | None = None
    for_run: bool = False
    met: bool = False


class Compacted(Struct, frozen=True, tag="compacted", omit_defaults=True):
    """What was said before in the conversation is from here on told as a summary.

    Attributes:
        summary: in whose place it stands.
        keep: so many of the latest runs before stay as they are.
    """

    summary: str
    keep: int = 0


class Forgotten(Struct, frozen=True, tag="forgotten", omit_defaults=True):
    """The payloads of all entries before this one were deleted; their digests stay, so the chain still checks."""

    by: str = ""
    reason: str = ""


class Ended(Struct, frozen=True, tag="ended", omit_defaults=True):
    """The run ended, or paused until it is resumed."""

    status: Literal["done", "paused", "stopped", "failed"]
    text: str = ""
    reason: str = ""
    usage: Usage = Usage()


Record = (
    Started
    | ToolsChanged
    | Replied
    | Intended
    | Settled
    | Refused
    | Checked
    | Asked
    | Answered
    | Parked
    | Sampled
    | Compacted
    | Forgotten
    | Ended
)


class Entry(Struct, frozen=True, gc=False):
    """A record as it is stored.

    Attributes:
        number: its place in the run, from 0.
        at: seconds since 1970 when it was written.
        payload: the record's bytes; empty when they were deleted.
        salt: 16 random bytes; empty when the payload was deleted, which could be guessed with it.
        digest: SHA-256 over salt and payload.
        head: SHA-256 over the previous head, number, time and digest.
    """

    number: int
    at: float
    payload: bytes
    salt: bytes
    digest: bytes
    head: bytes

    @property
    def record(self) -> Record:
        """The record itself, decoded.

        Raises:
            JournalError: the payload was deleted, or is not a record.
        """
        try:
            return _decoder.decode(self.payload)
        except msgspec.DecodeError:
            raise JournalError(f"entry {self.number} can not be read: its payload was deleted or damaged") from None


class RunSummary(Struct, frozen=True, kw_only=True, gc=False):
    """A run in a list of runs: an index of the journal, written with it.

    Attributes:
        status: `running`, `waiting` for a person, as it ended: `done`, `paused`, `stopped`, `failed`; or `forgotten`.
        started, ended: seconds since 1970; `ended` is None while it has not.
        question: the user's first words.
    """

    run_id: str
    status: str
    started: float
    ended: float | None
    agent: str
    model: str
    question: str
    conversation: str = ""
    parent: str = ""
    principal: str = ""


Telling = Started | Ended | Asked | Answered | Forgotten
"""The records that change a run's line in the list of runs."""


def summarize(run_id: str, before: RunSummary | None, record: Telling, at: float) -> RunSummary:
    """The line of a run in the list of runs after one more record: how every journal keeps its index."""
    match record:
        case Started():
            question = next((message.text for message in record.said if isinstance(message, UserMessage)), "")
            return RunSummary(
                run_id=run_id,
                status="running",
                started=at,
                ended=None,
                agent=record.agent,
                model=record.model,
                question=question,
                conversation=record.conversation,
                parent=record.parent,
                principal=record.principal,
            )
        case _ if before is None:
            raise JournalError(f"run {run_id} has a {type(record).__name__} record before it was started")
        case Ended():
            return msgspec.structs.replace(
                before, status=record.status, ended=None if record.status == "paused" else at
            )
        case Asked():
            return msgspec.structs.replace(before, status="waiting")
        case Answered():
            return msgspec.structs.replace(before, status="running", ended=None)
        case Forgotten():
            return msgspec.structs.replace(before, status="forgotten", question="", principal="", conversation="")


class Head(Struct, frozen=True):
    """How far a run had come, signed: one line of a journal's ledger.

    Each signature covers the one before it, so no line can be taken out between two others.

    Attributes:
        run_id, number, head: the run's latest entry when it ended or paused.
        signature: HMAC-SHA256 over the signature before it (`GENESIS` for the first) and the rest.
    """

    run_id: str
    number: int
    head: bytes
    signature: bytes = b""


def sign(key: bytes, previous: bytes, run_id: str, number: int, head: bytes) -> Head:
    """The next line of a ledger.

    Args:
        key: the secret, which must not lie in the database.
        previous: the signature of the line before.
    """
    line = _HEADER_OF_LINE.pack(previous, number, head) + run_id.encode()
    return Head(run_id, number, head, hmac.digest(key, line, "sha256"))


def verify_ledger(heads: Sequence[Head], key: bytes) -> list[str]:
    """Check the lines of a ledger, from the first, against the key.

    Returns:
        What is wrong, one sentence a line. Lines cut off at the end can not be told without an exported copy.
    """
    problems, previous = [], GENESIS
    for place, line in enumerate(heads):
        expected = sign(key, previous, line.run_id, line.number, line.head)
        if not hmac.compare_digest(expected.signature, line.signature):
            problems.append(
                f"signed head {place} (run {line.run_id}) is not signed with this key, or not at this place"
            )
        previous = line.signature
    return problems


def against_head(entries: Sequence[Entry], known: Head) -> list[str]:
    """Whether a run is still as it was when this head of it was signed or exported; what is wrong, if anything."""
    run_id, number = known.run_id, known.number
    if len(entries) <= number:
        return [f"run {run_id} was cut: entry {number} was there when its head was taken, and is gone"]
    if entries[number].head != known.head:
        return [f"run {run_id} was rewritten: entry {number} is not the one whose head was taken"]
    return []


_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)
_HEADER = struct.Struct(">32sQd32s")
_HEADER_OF_LINE = struct.Struct(">32sQ32s")


def seal(record: Record, number: int, at: float, previous: bytes) -> Entry:
    """Make the entry that follows the one whose head is `previous` (`GENESIS` for the first).

    Raises:
        JournalError: a run begins with something else than `Started`.
    """
    if number == 0 and not isinstance(record, Started):
        raise JournalError(f"a run begins with Started, not with {type(record).__name__}")
    payload = _encoder.encode(record)
    salt = _random()
    digest = hashlib.sha256(salt + payload).digest()
    head = hashlib.sha256(_HEADER.pack(previous, number, at, digest)).digest()
    return Entry(number, at, payload, salt, digest, head)


def verify(entries: Iterable[Entry]) -> list[str]:
    """Check a run's chain from its first entry.

    Returns:
        What is wrong, one sentence an entry; empty when every stored byte is as it was written and none is missing in
        between. Without a signed or exported head, a chain that was rewritten or cut at its end can not be told.
    """
    problems = []
    previous, expected = GENESIS, 0
    for entry in entries:
        if entry.number != expected:
            problems.append(f"entry {expected} is missing")
        if entry.payload and hashlib.sha256(entry.salt + entry.payload).digest() != entry.digest:
            problems.append(f"entry {entry.number}: its payload was changed")
        if hashlib.sha256(_HEADER.pack(previous, entry.number, entry.at, entry.digest)).digest() != entry.head:
            problems.append(f"entry {entry.number}: it does not follow the entry before it")
        previous, expected = entry.head, entry.number + 1
    return problems


def child_id(key: str) -> str:
    """The id of the run that a call starts, made of the call's idempotency key: who resumes the one finds the other."""
    return f"run_{key[:20]}"


def new_id(prefix: str) -> str:
    """A fresh id: the prefix and 80 random bits, as in `run_1f0c...`."""
    return f"{prefix}_{_random()[:10].hex()}"


def _random() -> bytes:
    """16 bytes that nobody can guess. They are taken from the system many at a time: each visit there lets go of the
    interpreter, for which every thread of it waits.
    """
    while True:
        try:
            return _stock.pop()  # one thread gets it, and no other
        except IndexError:
            drawn = os.urandom(16 * 256)
            _stock.extend(drawn[at : at + 16] for at in range(0, len(drawn), 16))


_stock: list[bytes] = []
if sys.platform != "win32":
    os.register_at_fork(after_in_child=_stock.clear)  # two processes would draw the same
