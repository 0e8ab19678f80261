"""What is asked and answered at `/v1/runs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

from ....core.json import Json, JsonObject
from ....core.message import Usage
from ....core.provenance import Origins
from ....core.run.plan import PlanStep
from ....knowledge.citing.references import QuoteReference
from ..approvals.bodies import Approval
from ..calls import CallFailure, SaidCall
from ..fields import CheckedPart, Cursor, Limit, Moment, Name, SessionId
from ..tasks.bodies import TaskBody

RunKind = Literal["agent", "call", "administration", "workflow"]
"""What began a run: a question to an agent, a call that was asked for directly, an act of an administrator, or a
request for a workflow."""
RunStatus = Literal[
    "running", "waiting", "paused", "interrupted", "done", "stopped", "failed", "forgotten", "unreadable"
]
"""How a run stands. `waiting`: somebody is asked and the run is still under way. `paused`: the run goes on when what it
waits for is answered. `interrupted`: the process that carried the run out has ended; `resume` goes on with the run."""


FILE_BYTES_MAX = 20 * 1024 * 1024
"""The files of one question have at most this many bytes together."""
FOLLOWED_MAX = 64
"""At most this many runs are followed by one stream."""
RunPlace = Annotated[str, Meta(max_length=220, pattern=r"^[^:\u0000-\u001f\u007f]{1,200}(:(-1|[0-9]{1,9}))?$")]
"""A run, and behind a colon the number of the last event of the run that the client has."""


class AttachedFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file that is given along with a question.

    Attributes:
        name: the name of the file.
        media_type: what the file is, such as `image/png`.
        data: the bytes of the file in Base64.
    """

    name: Name = ""
    media_type: Annotated[str, Meta(pattern=r"^[A-Za-z0-9!#$&^_.+-]{1,100}/[A-Za-z0-9!#$&^_.+-]{1,100}$")]
    data: bytes


class RunBody(TaskBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question to an agent.

    Attributes:
        question: what the user says.
        agent: the name of the agent; may be left out where the server has one agent.
        session: the conversation that the question belongs to, by an id that the caller chooses; empty for a question
            that stands alone.
        attachments: files for the tools of the agent, which get them by the handles `att_1`, `att_2`, ... An agent that
            cites reads documents among them and quotes them as `attachment:NAME`. They may have 20 MB together, in
            Base64 a third more; the rest of the body has the limit `body_bytes` of the server.
        tool_choice: whether the run must call a tool: `auto`, `none`, `required` or a tool's name (the run begins with
            a call), or the names of the only tools that it may call; null for what the agent's settings say.
        memory: false for a run that is told nothing of the user's memory and is never found there.
        mandate: what the user's request empowers the agent to do, such as `{"calls": [{"tool": "send_mail"}]}`; null to
            have the model asked where it matters.
        version: the number of a publication of the agent; 0 for the one in use, or the one that is tried on a share of
            the users to which the caller belongs.
    """

    question: Annotated[str, Meta(min_length=1)]
    agent: Name = ""
    session: SessionId = ""
    attachments: Annotated[tuple[AttachedFile, ...], Meta(max_length=64)] = ()
    tool_choice: Name | Annotated[tuple[Name, ...], Meta(min_length=1, max_length=1000)] | None = None
    memory: bool = True
    mandate: JsonObject | None = None
    version: Annotated[int, Meta(ge=0, le=1_000_000_000)] = 0


class RecalledMemory(Struct, frozen=True, kw_only=True):
    """Something that a run was told out of the memory of its user.

    Attributes:
        id: the run in which the user said the words, or the note that holds them.
        kind: `turn`, `note`, or `preference` for a note that is always told.
        at: when the words were said, in seconds since 1970.
        score: how well they fit the question.
    """

    id: str
    kind: Literal["turn", "note", "preference"]
    at: float
    score: float


class RunBegun(Struct, frozen=True, kw_only=True):
    """A run that was started, or that goes on. The same request with the same `Idempotency-Key` is answered the same.

    Attributes:
        id: the id of the run.
        agent: the agent of the run.
        session: the conversation that the run belongs to; empty where it belongs to none.
        events: where the events of the run are read.
    """

    id: str
    agent: str
    session: str
    events: str


class RunCall(Struct, frozen=True, kw_only=True):
    """A call of a run.

    Attributes:
        call: the place of the call in the run: the number of the event that asked for the call, and the index there.
        tool: the name of the tool.
        arguments: the arguments; secret values are shown as `[secret]`.
        is_over: whether the call has its outcome.
        result: what the call came to, as in `CallAnswer`; null where it failed or is not over.
        error: why the call failed.
    """

    call: str
    tool: str
    arguments: JsonObject
    is_over: bool
    result: Json
    error: CallFailure | None


class RunInfo(Struct, frozen=True, kw_only=True):
    """A run in a list of runs.

    Attributes:
        id: the id of the run.
        status: how the run stands.
        kind: what began the run: a question to an agent, a call that was asked for directly, an act of an
            administrator, or a request for a workflow.
        agent: the agent or the workflow; for a call without an agent, the name of the server.
        model: the name of the model; empty where no model takes part. Its address is for administrators.
        question: the words of the user, or the calls that were asked for.
        session: the conversation that the run belongs to.
        principal: on whose behalf the run acts.
        parent: the run whose call started this run; empty where no call did.
        started: when the run began, in seconds since 1970.
        ended: when the run ended; null where it has not.
    """

    id: str
    status: RunStatus
    kind: RunKind
    agent: str
    model: str
    question: str
    session: str
    principal: str
    parent: str
    started: float
    ended: float | None


class RunDetails(RunInfo, frozen=True, kw_only=True):
    """A run.

    Attributes:
        text: the answer, or what the user should be told.
        stop_reason: why the run was stopped or failed; `held` where its journal was restored from a backup and the run
            is interrupted until a person resumes or releases it; else empty.
        usage: the tokens that the run used, with all that it started, such as agents below.
        own_usage: the tokens that the run's own model used; sums over runs add these up.
        calls: the calls of the run.
        approvals: what the run waits for.
        forked: the run that this run branched off from; empty where there is none.
        draft: the draft that the run tried, such as `tool/weather`; empty for a run that tried none.
        outputs: what a workflow gave; null for other runs, and while there are none.
        plan: the steps that an agent with a plan wrote down last in this run.
        recalled: what the run was told out of the memory of its user, before the question.
        references: the quotes of the run, and those of earlier turns that its answer cites. `GET
            /v1/runs/{id}/references` checks each once more.
    """

    text: str
    stop_reason: str
    usage: Usage
    own_usage: Usage
    calls: tuple[RunCall, ...]
    approvals: tuple[Approval, ...]
    forked: str
    draft: str = ""
    outputs: JsonObject | None = None
    plan: tuple[PlanStep, ...] = ()
    recalled: tuple[RecalledMemory, ...] = ()
    references: tuple[QuoteReference, ...] = ()


class RunsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which runs, the latest first. A part of the list may hold fewer runs than `limit`.

    Attributes:
        status: only runs that stand so.
        agent: only runs of this agent.
        kind: only runs of this kind.
        workflow: only runs of this workflow; it takes the place of `agent` and `kind`.
        session: only runs of this session.
        principal: only runs on behalf of this user. Others than the caller need the scope `admin`.
        tool: only runs in which a call of this tool was asked for.
        error: only runs in which a call had this error, such as `timeout`, or that stopped for this reason.
        version: only runs by the publication of this number; 0 for all.
        text: only runs whose question has all words of this text, whole words in any order; of a long question the
            first 100 words count.
        since: only runs that began then or later, in seconds since 1970.
        until: only runs that began before then; 0 for no limit.
        count: whether the answer says how many runs fit, beyond this part of the list.
        counts: `status` where the answer says how many of the runs stand in which way, whatever `status` is.
        limit: the most items of this part of the list.
        cursor: `next` of the part before.
    """

    status: RunStatus | Literal[""] = ""
    agent: Name = ""
    kind: RunKind | Literal[""] = ""
    workflow: Name = ""
    session: SessionId = ""
    principal: Name = ""
    tool: Name = ""
    error: Name = ""
    version: Annotated[int, Meta(ge=0, le=1_000_000_000)] = 0
    text: Annotated[str, Meta(max_length=500)] = ""
    since: Moment = 0.0
    until: Moment = 0.0
    count: bool = False
    counts: Literal["", "status"] = ""
    limit: Limit = 50
    cursor: Cursor = ""


class RunPage(CheckedPart[RunInfo], frozen=True, kw_only=True):
    """A part of the list of runs.

    Attributes:
        items: the runs, the latest first.
        next: the cursor of the next part; null at the end of the list.
        count: how many runs fit; null where nobody asked for the count.
        counts: how many runs that fit stand in which way, as `12` or `1000+`; null where nobody asked for that.
    """

    count: int | None = None
    counts: Mapping[str, str] | None = None


class ResumeBody(Struct, frozen=True, forbid_unknown_fields=True):
    """How a run goes on.

    Attributes:
        accept: whether the run goes on although the tools or the instructions of its agent are others than when it was
            started. What waits for a person is asked about anew where its tool has changed.
    """

    accept: bool = False


class CancelBody(Struct, frozen=True, forbid_unknown_fields=True):
    """How a run is cancelled: there is nothing to say yet."""


class ForkBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a run branches off from another.

    Attributes:
        at: the number of the last event that is taken over; an event between two calls, not within a call.
        question: another question in the place of the user's, whose files stay; only with `at` 0.
        result: another result in the place of the result that event `at` holds.
        session: the conversation of the new run; empty for none.
    """

    at: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    question: Annotated[str, Meta(min_length=1)] | None = None
    result: str | None = None
    session: SessionId = ""


class EventsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which events of a run.

    Attributes:
        after: only events behind the event of this number, as with `Last-Event-ID`; -1 for all.
        deltas: whether the words that a model is saying are told, before its reply is on record.
        below: whether the events of runs are told, too, that calls of this run began, and that calls of those began.
    """

    after: Annotated[int, Meta(ge=-1, le=999_999_999)] = -1
    deltas: bool = False
    below: bool = False


class RunDelta(Struct, frozen=True, kw_only=True):
    """Words that a model is saying. They are on no record: the next `model_replied` or `ended` of the run takes their
    place.

    Attributes:
        run: the run.
        text: more words.
        is_anew: the reply begins with these words: words that were told before are no part of it.
    """

    run: str
    text: str
    is_anew: bool


class FeedQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be told.

    Attributes:
        run: a run whose events are told, as `ID:AFTER`: those behind the event of the number `AFTER`; without it, all.
            May be given several times.
        deltas: whether the words that a model is saying are told, before its reply is on record.
    """

    run: Annotated[tuple[RunPlace, ...], Meta(max_length=FOLLOWED_MAX)] = ()
    deltas: bool = False


class DraftNews(Struct, frozen=True, kw_only=True):
    """Somebody changed a draft of the caller's tenant.

    Attributes:
        kind: what the draft is, such as `workflow`.
        name: the name of the draft.
        revision: its revision; of a draft that was deleted the last one.
        by: who changed the draft.
        is_gone: whether the draft was deleted.
    """

    kind: str
    name: str
    revision: int
    by: str
    is_gone: bool


class RunGone(Struct, frozen=True, kw_only=True):
    """A run that was asked for is not there for the caller, or can not be read. Nothing more is told of it.

    Attributes:
        run: the run.
        code: why, as in `ProblemDetails`.
    """

    run: str
    code: str


EventType = Literal[
    "started",
    "tools_changed",
    "agent_changed",
    "mandate_made",
    "model_replied",
    "calls_requested",
    "intended",
    "call_completed",
    "call_refused",
    "precheck_done",
    "input_requested",
    "input_given",
    "call_parked",
    "sampled",
    "compacted",
    "noted",
    "forgotten",
    "node_began",
    "node_left",
    "ended",
    "deleted",
    "other",
]


class RunEvent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry in the record of a run. The id of the event is the number of the entry.

    Attributes:
        run: the run.
        number: the number of the entry, from 0 without a gap.
        at: when the entry was written, in seconds since 1970.
        type: what happened; `deleted` where what the entry said was deleted, `other` for what has no type here yet.
        text: the words: of the user (`started`), the model (`model_replied`), the question (`input_requested`), the
            answer (`input_given`), the record of a feature (`noted`) or the run's end (`ended`).
        calls: the calls that the model or the caller asked for.
        call: the place of the call that the event is about: number of the event that asked for it, and index.
        tool: the tool of that call.
        arguments: what the tool got.
        version: the digest of the tool's definition, of a call that is made.
        rule: the rule of the policy that allowed the call, asked for it, or denied it.
        origins: where each argument came from, by its path, of a call that may change something.
        attempt: which attempt at the call; 0 where there is none.
        result: what the call came to.
        error: why the call failed.
        is_final: false where another attempt at the call follows.
        approval: the id of what is asked or answered.
        kind: what kind of answer is wanted.
        verdict: how it was answered.
        by: who answered.
        status: how the run ended or paused.
        reason: why it was stopped or failed.
        usage: the tokens that the model used.
        node: the path of the node of a workflow, such as `trips[3]/book`.
        port: the port at which the workflow goes on behind the node.
        forked: the run that this run branched off from (`started`).
    """

    run: str
    number: int
    at: float
    type: EventType
    text: str = ""
    calls: tuple[SaidCall, ...] = ()
    call: str = ""
    tool: str = ""
    arguments: JsonObject | None = None
    version: str = ""
    rule: str = ""
    origins: Origins = {}
    attempt: int = 0
    result: Json = None
    error: CallFailure | None = None
    is_final: bool = True
    approval: str = ""
    kind: str = ""
    verdict: str = ""
    by: str = ""
    status: str = ""
    reason: str = ""
    usage: Usage | None = None
    node: str = ""
    port: str = ""
    forked: str = ""
