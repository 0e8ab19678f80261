"""What our own API is asked and what it answers, as types. The document of the API is made from these types.

Within `/v1` fields are only added. Bodies that come in refuse fields that they do not know, so that a misspelt field is
never passed over.
"""

from __future__ import annotations

from typing import Annotated, Generic, Literal, TypeVar

from msgspec import Meta, Struct

from ...core.call import Effect, MediaPart, Problem, TextPart
from ...core.json import Json, JsonObject
from ...core.message import Usage
from ...core.pending import AskedKind
from ...core.provenance import Origins
from ...core.record import Verdict
from ...core.task import Backoff, TaskState
from ...core.task_request import TaskRequest
from ...core.tool import Effects
from ...journal.audit import AuditDecision, AuditLine

T = TypeVar("T")

NO_CONTROL = r"^[^\u0000-\u001f\u007f]*$"
SessionId = Annotated[str, Meta(max_length=200, pattern=r"^[^\u0000-\u001f\u007f/]*$")]
"""The id of a session, which the caller chooses. The same id of another caller is another session."""
Name = Annotated[str, Meta(max_length=200, pattern=NO_CONTROL)]
Limit = Annotated[int, Meta(ge=1, le=200)]
Moment = Annotated[float, Meta(ge=0.0, le=1e12)]
Cursor = Annotated[str, Meta(max_length=500, pattern="^[A-Za-z0-9_-]*$")]

RunKind = Literal["agent", "call", "administration", "workflow"]
"""What began a run: a question to an agent, a call that was asked for directly, an act of an administrator, or a
request for a workflow."""
RunStatus = Literal[
    "running", "waiting", "paused", "interrupted", "done", "stopped", "failed", "forgotten", "unreadable"
]
"""How a run stands. `waiting`: somebody is asked and the run is still under way. `paused`: the run goes on when what it
waits for is answered. `interrupted`: the process that carried the run out has ended; `resume` goes on with the run."""


class ListPart(Struct, Generic[T], frozen=True, kw_only=True):
    """A part of a list.

    Attributes:
        items: the items.
        next: the cursor of the next part; null at the end of the list.
    """

    items: tuple[T, ...]
    next: str | None


# Tools ----------------------------------------------------------------------------------------------------------------


class ToolsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which tools.

    Attributes:
        query: words to look for in names and descriptions; the tools that fit best come first. Empty for all tools.
        limit: so many at most.
        cursor: `next` of the part before.
    """

    query: Annotated[str, Meta(max_length=500)] = ""
    limit: Limit = 100
    cursor: Cursor = ""


class ToolInfo(Struct, frozen=True, kw_only=True):
    """A tool.

    Attributes:
        name: the name under which the tool is called.
        title: a name for people; may be empty.
        description: what the tool does and when to use it.
        effects: what a call does to the world; null where nobody said so.
        approval: whether every call waits for a person's approval, whatever the policy says.
    """

    name: str
    title: str
    description: str
    effects: tuple[Effects, ...] | None
    approval: bool


class ToolPage(ListPart[ToolInfo], frozen=True, kw_only=True):
    """A part of the list of tools."""


class ToolSchema(ToolInfo, frozen=True, kw_only=True):
    """A tool with the schemas of its arguments and its result.

    Attributes:
        parameters: the JSON Schema of the arguments.
        result: the JSON Schema of the result; null where it is not known.
    """

    parameters: JsonObject
    result: JsonObject | None


class TaskBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a request may say of the task that it asks for. Without `execute_async` nothing of it may be said.

    Attributes:
        execute_async: answer at once with the id of a task, instead of waiting.
        max_retries: after a failed attempt the task is tried again at most so often.
        backoff: how long to wait between attempts, in seconds.
        timeout_s: an attempt may take so many seconds.
        deadline: the whole task has to be over by then: RFC 3339, or seconds since 1970.
        not_before: the first attempt begins then at the earliest: RFC 3339, or seconds since 1970.
        priority: tasks of a higher priority begin first.
        unique_key: the same key gives the same task. An `Idempotency-Key` means the same.
        webhook: an address that is told when the task has ended.
        webhook_result: the message to that address also holds the result.
    """

    execute_async: bool = False
    max_retries: Annotated[int, Meta(ge=0, le=100)] | None = None
    backoff: Backoff | None = None
    timeout_s: Annotated[float, Meta(gt=0.0, le=1e12)] | None = None
    deadline: Moment | Annotated[str, Meta(max_length=40)] | None = None
    not_before: Moment | Annotated[str, Meta(max_length=40)] | None = None
    priority: Annotated[int, Meta(ge=0, le=9)] | None = None
    unique_key: Annotated[str, Meta(max_length=255, pattern=NO_CONTROL)] = ""
    webhook: Annotated[str, Meta(max_length=2000, pattern=NO_CONTROL)] = ""
    webhook_result: bool = False

    @property
    def said(self) -> tuple[str, ...]:
        """What is said of a task, by name."""
        fields = TaskBody.__struct_fields__[1:]
        return tuple(name for name in fields if getattr(self, name) not in (None, "", False))

    def task(self) -> TaskRequest:
        """What is said of a task."""
        return TaskRequest(
            max_retries=self.max_retries,
            backoff=self.backoff,
            timeout_s=self.timeout_s,
            deadline=self.deadline,
            not_before=self.not_before,
            priority=self.priority,
            unique_key=self.unique_key,
            webhook=self.webhook,
            webhook_result=self.webhook_result,
        )


class CallBody(TaskBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call of a tool.

    Attributes:
        arguments: the arguments; the schema of the tool tells which.
    """

    arguments: JsonObject = {}


class CallFailure(Struct, frozen=True, kw_only=True):
    """Why a call has no result.

    Attributes:
        code: the kind of the error: `tool_error`, `timeout`, `approval_denied`, ...
        message: what went wrong, fit for a model.
        effect: what the call may have changed in the world: nothing (`none`), its whole effect (`done`), or nobody
            knows (`unknown`).
        retry_after: seconds after which another try makes sense; null where there is no such time.
        reference: the id under which the record has the details; empty where there are none.
        problems: for arguments, each thing that is wrong.
    """

    code: str
    message: str
    effect: Effect
    retry_after: float | None = None
    reference: str = ""
    problems: tuple[Problem, ...] = ()


class CallAnswer(Struct, frozen=True, kw_only=True):
    """What a call came to. A call whose tool failed is answered so as well: `error` says why.

    Attributes:
        run: the run that the call is on record as.
        tool: the name of the tool.
        result: the value that the tool returned, or its text where it returned no value; null where the call failed.
        content: the parts of the result: texts, and media with their bytes in Base64.
        error: why the call failed; null where it did not.
    """

    run: str
    tool: str
    result: Json
    content: tuple[TextPart | MediaPart, ...]
    error: CallFailure | None


class Approval(Struct, frozen=True, kw_only=True):
    """Something that waits for a person.

    Attributes:
        id: what the answer is given under.
        kind: `approval` of a call, an `answer` to a question, the `result` of a call that the program makes itself, a
            `doubt` about a call that may have happened, or something that a running tool asks for.
        run: the run that waits.
        agent: the agent of the run.
        principal: on whose behalf the run acts.
        message: what is asked.
        tool: the tool of the call that waits; empty where no call waits.
        arguments: the arguments of that call.
        origins: where each argument came from, by its path.
        asked_at: when it was asked, in seconds since 1970.
        expires: until when it can be answered, in seconds since 1970; null for ever.
        verdicts: what can be answered.
        approvers: who may answer; empty for everybody who may answer approvals.
        needs: so many persons have to agree.
        agreed: who has agreed so far.
        schema: the JSON Schema of the answer, for a form.
        url: the page to visit, where the answer is given there.
    """

    id: str
    kind: AskedKind
    run: str
    agent: str
    principal: str
    message: str
    tool: str
    arguments: JsonObject | None
    origins: Origins
    asked_at: float
    expires: float | None
    verdicts: tuple[Verdict, ...]
    approvers: tuple[str, ...]
    needs: int
    agreed: tuple[str, ...]
    schema: JsonObject | None
    url: str


class ApprovalPage(ListPart[Approval], frozen=True, kw_only=True):
    """A part of the list of what waits."""


class CallWaits(Struct, frozen=True, kw_only=True):
    """A call that waits for a person. The run of the call goes on when the person has answered.

    Attributes:
        run: the run of the call; `GET /v1/runs/{id}` tells what became of it.
        approval: the id of the first thing that waits.
        approvals: everything that waits.
    """

    run: str
    approval: str
    approvals: tuple[Approval, ...]


# Tasks ----------------------------------------------------------------------------------------------------------------


class TaskAccepted(Struct, frozen=True, kw_only=True):
    """A task that was accepted. The same request with the same key is answered the same, but for the state.

    Attributes:
        task_id: the id of the task, which is also the id of its run.
        state: the state of the task.
    """

    task_id: str
    state: TaskState


class TaskQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """How long to wait for a task.

    Attributes:
        wait: so many seconds at most are waited until the task has ended, or waits for a person.
    """

    wait: Annotated[float, Meta(ge=0.0, le=60.0)] = 0.0


class TasksQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which tasks.

    Attributes:
        state: only tasks in this state.
        agent: only tasks of this agent; direct calls of tools stand under `api`.
        since, until: only those accepted from the one on and before the other, in seconds since 1970; 0 for any time.
        principal: of this user, for which the scope `admin` is needed; empty for your own, or with the scope `admin`
            for all.
        limit: so many at most.
        cursor: `next` of the part before.
    """

    state: Literal[TaskState, ""] = ""
    agent: Name = ""
    since: Moment = 0.0
    until: Moment = 0.0
    principal: Name = ""
    limit: Limit = 50
    cursor: Cursor = ""


class TaskInfo(Struct, frozen=True, kw_only=True):
    """A task in a list.

    Attributes:
        task_id: the id of the task, which is also the id of its run.
        state: the state of the task.
        agent: the agent; `api` for a direct call of a tool.
        principal: on whose behalf.
        priority: tasks of a higher priority begin first.
        queued: when the task was accepted, in seconds since 1970.
        due: the next attempt begins then at the earliest.
        attempt: how many attempts were begun.
        changed: when the state changed last.
        ended: when the task ended; null while it has not.
        problem: why the task does not begin: the process that took the task up can not build what the task needs. Null
            where there is no such problem. With the scope `admin` the words name what is missing.
    """

    task_id: str
    state: TaskState
    agent: str
    principal: str
    priority: int
    queued: float
    due: float
    attempt: int
    changed: float
    ended: float | None
    problem: str | None = None


class TaskPage(ListPart[TaskInfo], frozen=True, kw_only=True):
    """A part of the list of tasks."""


class TaskTry(Struct, frozen=True, kw_only=True):
    """One attempt at a task.

    Attributes:
        attempt: its number, from 1.
        started: when it began, in seconds since 1970.
        ended: when it ended; null while it is under way.
        error: the kind of the error that it ended with; empty where there was none.
    """

    attempt: int
    started: float
    ended: float | None
    error: str


class ResultHandle(Struct, frozen=True, kw_only=True):
    """Where a large result is fetched.

    Attributes:
        bytes: how large the result is, as JSON.
        url: answers the result.
    """

    bytes: int
    url: str


class TaskResult(Struct, frozen=True, kw_only=True):
    """The whole result of a task.

    Attributes:
        result: the value that the tool returned, or the answer of the agent; null while there is none.
    """

    result: Json


class TaskDetails(TaskInfo, frozen=True, kw_only=True):
    """A task, as it stands.

    Attributes:
        tool: of a direct call, the name of the tool.
        progress: what the tool told last of how far it is; null where it told nothing.
        attempts: the attempts, in order.
        result: what the task came to: the value that the tool returned, or the answer of the agent; null while there is
            none, and where it is large.
        handle: where a large result is fetched, of more than 256 KiB; null for any other.
        error: why the task failed, or was given up.
        approvals: what the task waits for; answered at `/v1/approvals`.
    """

    tool: str
    progress: Json
    attempts: tuple[TaskTry, ...]
    result: Json
    handle: ResultHandle | None
    error: CallFailure | None
    approvals: tuple[Approval, ...]


# Runs -----------------------------------------------------------------------------------------------------------------


class RunBody(TaskBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question to an agent.

    Attributes:
        question: what the user says.
        agent: the name of the agent; may be left out where the server has one agent.
        session: the conversation that the question belongs to, by an id that the caller chooses; empty for a question
            that stands alone.
    """

    question: Annotated[str, Meta(min_length=1)]
    agent: Name = ""
    session: SessionId = ""


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
        stop_reason: why the run was stopped or failed; empty where it was not.
        usage: the tokens that the model used.
        calls: the calls of the run.
        approvals: what the run waits for.
        forked: the run that this run branched off from; empty where there is none.
        outputs: what a workflow gave; null for other runs, and while there are none.
    """

    text: str
    stop_reason: str
    usage: Usage
    calls: tuple[RunCall, ...]
    approvals: tuple[Approval, ...]
    forked: str
    outputs: JsonObject | None = None


class RunsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which runs, the latest first. A part of the list may hold fewer runs than `limit`.

    Attributes:
        status: only runs that stand so.
        agent: only runs of this agent.
        kind: only runs of this kind.
        session: only runs of this session.
        principal: only runs on behalf of this user. Others than the caller need the scope `admin`.
        since: only runs that began then or later, in seconds since 1970.
        until: only runs that began before then; 0 for no limit.
        count: whether the answer says how many runs fit, beyond this part of the list.
        limit: so many at most.
        cursor: `next` of the part before.
    """

    status: RunStatus | Literal[""] = ""
    agent: Name = ""
    kind: RunKind | Literal[""] = ""
    session: SessionId = ""
    principal: Name = ""
    since: Moment = 0.0
    until: Moment = 0.0
    count: bool = False
    limit: Limit = 50
    cursor: Cursor = ""


class RunPage(ListPart[RunInfo], frozen=True, kw_only=True):
    """A part of the list of runs.

    Attributes:
        items: the runs, the latest first.
        next: the cursor of the next part; null at the end of the list.
        count: how many runs fit; null where nobody asked for the count.
    """

    count: int | None = None


class NoQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """No query parameters."""


class ResumeBody(Struct, frozen=True, forbid_unknown_fields=True):
    """How a run goes on.

    Attributes:
        accept: whether the run goes on although the tools or the instructions of its agent are others than when it was
            started. Needs the scope `admin`.
    """

    accept: bool = False


class CancelBody(Struct, frozen=True, forbid_unknown_fields=True):
    """How a run is cancelled: there is nothing to say yet."""


class ForkBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a run branches off from another.

    Attributes:
        at: the number of the last event that is taken over; an event between two calls, not within a call.
        question: another question in the place of the user's; only with `at` 0.
        result: another result in the place of the result that event `at` holds.
        session: the conversation of the new run; empty for none.
    """

    at: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    question: Annotated[str, Meta(min_length=1)] | None = None
    result: str | None = None
    session: SessionId = ""


EventType = Literal[
    "started",
    "tools_changed",
    "agent_changed",
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
    "forgotten",
    "node_began",
    "node_left",
    "ended",
    "deleted",
    "other",
]


class SaidCall(Struct, frozen=True, kw_only=True):
    """A call that was asked for.

    Attributes:
        tool: the name of the tool.
        arguments: the arguments; secret values are shown as `[secret]`.
    """

    tool: str
    arguments: JsonObject


class RunEvent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry in the record of a run. The id of the event is the number of the entry.

    Attributes:
        run: the run.
        number: the number of the entry, from 0 without a gap.
        at: when the entry was written, in seconds since 1970.
        type: what happened; `deleted` where what the entry said was deleted, `other` for what has no type here yet.
        text: the words: of the user (`started`), the model (`model_replied`), the question (`input_requested`), the
            answer (`input_given`) or the run's end (`ended`).
        calls: the calls that the model or the caller asked for.
        call: the place of the call that the event is about: number of the event that asked for it, and index.
        tool: the tool of that call.
        arguments: what the tool got.
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


# Approvals ------------------------------------------------------------------------------------------------------------


class ApprovalsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which of the things that wait, the oldest first.

    Attributes:
        run: only what this run waits for.
        limit: so many at most.
        cursor: `next` of the part before.
    """

    run: Name = ""
    limit: Limit = 50
    cursor: Cursor = ""


class AnswerBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to something that waits.

    Attributes:
        verdict: `approve` or `deny` a call, or `answer` what is asked; `verdicts` of what waits tells what fits.
        text: the answer, or a word to the model.
        arguments: with `approve`, the arguments that the call is to be made with instead; with `answer`, a form filled
            in.
        for_run: with `approve`, later calls of this run like this call need no approval.
    """

    verdict: Verdict
    text: str = ""
    arguments: JsonObject | None = None
    for_run: bool = False


class Answered(Struct, frozen=True, kw_only=True):
    """An answer is on record.

    Attributes:
        id: what was answered.
        run: the run that waited.
        verdict: the answer.
        is_complete: whether the answer counts already; false where more persons have to agree.
        goes_on: whether this server goes on with the run now.
    """

    id: str
    run: str
    verdict: Verdict
    is_complete: bool
    goes_on: bool


# Sessions -------------------------------------------------------------------------------------------------------------


class SessionsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which sessions, the one that was talked in last first.

    Attributes:
        owner: whose sessions; the caller's where it is left out. Another owner needs the scope `admin`.
        limit: so many at most.
        cursor: `next` of the part before.
    """

    owner: Name = ""
    limit: Limit = 50
    cursor: Cursor = ""


class OwnerQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Whose session is meant.

    Attributes:
        owner: whose session; the caller's where it is left out. Another owner needs the scope `admin`.
    """

    owner: Name = ""


class SessionInfo(Struct, frozen=True, kw_only=True):
    """A conversation.

    Attributes:
        id: its id.
        owner: whose it is.
        runs: how many turns it has.
        began: when its first turn began, in seconds since 1970.
        latest: when its latest turn began.
        question: its first words.
        status: how its latest turn stands.
    """

    id: str
    owner: str
    runs: int
    began: float
    latest: float
    question: str
    status: RunStatus


class SessionPage(ListPart[SessionInfo], frozen=True, kw_only=True):
    """A part of the list of sessions."""


class SessionMessage(Struct, frozen=True, kw_only=True):
    """A message of a conversation.

    Attributes:
        role: who speaks: the `user`, the `agent`, a `tool` whose result it is, or the `server`, which tells the model
            of what happened before.
        text: the words.
        calls: the calls that the agent asks for.
        tool: the tool whose result it is.
        error: why the call failed.
    """

    role: Literal["user", "agent", "tool", "server"]
    text: str
    calls: tuple[SaidCall, ...] = ()
    tool: str = ""
    error: CallFailure | None = None


class SessionMessages(ListPart[SessionMessage], frozen=True, kw_only=True):
    """The messages of a conversation.

    Attributes:
        items: the messages in order, as the model is told of them.
        next: always null: a conversation is told whole.
    """


class SessionForgotten(Struct, frozen=True, kw_only=True):
    """A conversation was forgotten: what its runs said is deleted for good, and that it was deleted is on record.

    Attributes:
        id: its id.
        runs: how many runs were forgotten.
        records: how many records were deleted.
    """

    id: str
    runs: int
    records: int


# Audit ----------------------------------------------------------------------------------------------------------------


class AuditQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which lines of the audit: the latest runs first, the lines of one run in order. A part may hold fewer lines than
    `limit`, and still have a next part.

    Attributes:
        since: only lines of then or later, in seconds since 1970.
        until: only lines of before then; 0 for no limit.
        principal: only of runs on behalf of this user.
        tool: only of this tool, or of tools that fit a pattern with `*`.
        decision: only lines that say this.
        run: only lines of this run.
        limit: so many at most.
        cursor: `next` of the part before.
    """

    since: Moment = 0.0
    until: Moment = 0.0
    principal: Name = ""
    tool: Name = ""
    decision: AuditDecision | Literal[""] = ""
    run: Name = ""
    limit: Limit = 100
    cursor: Cursor = ""


class AuditPage(ListPart[AuditLine], frozen=True, kw_only=True):
    """A part of the audit."""


# Workflows ------------------------------------------------------------------------------------------------------------


class WorkflowsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which workflows.

    Attributes:
        limit: so many at most.
        cursor: `next` of the part before.
    """

    limit: Limit = 100
    cursor: Cursor = ""


class WorkflowInfo(Struct, frozen=True, kw_only=True):
    """A workflow in a list.

    Attributes:
        name: the name under which the workflow is run.
        description: what the workflow is good for.
        version: the number of the publication in use; 0 for a workflow that the operator of the server set up.
        digest: the digest of the definition.
    """

    name: str
    description: str
    version: int
    digest: str


class WorkflowPage(ListPart[WorkflowInfo], frozen=True, kw_only=True):
    """A part of the list of workflows."""


class WorkflowNodeInfo(Struct, frozen=True, kw_only=True):
    """A node of a workflow.

    Attributes:
        name: the name of the node.
        type: what the node does.
    """

    name: str
    type: str


class WorkflowDetails(WorkflowInfo, frozen=True, kw_only=True):
    """A workflow.

    Attributes:
        inputs: the JSON Schema of what the workflow is given.
        outputs: the names of what the workflow gives.
        nodes: the nodes, without those inside of containers.
        definition: the definition as JSON text; null for a key without the scope `admin`.
    """

    inputs: JsonObject
    outputs: tuple[str, ...]
    nodes: tuple[WorkflowNodeInfo, ...]
    definition: str | None


class WorkflowVersionQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which version of a workflow.

    Attributes:
        version: the number of a publication; 0 for what is in use.
    """

    version: Annotated[int, Meta(ge=0, le=2_000_000_000)] = 0


class WorkflowRunBody(TaskBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for a run of a workflow.

    Attributes:
        inputs: what the workflow is given; `inputs` of the workflow tells which.
        version: the number of a publication; 0 for what is in use.
        conversation: the conversation that the run belongs to, by an id that the caller chooses; empty for none. The
            workflow reads and changes the variables of the conversation.
    """

    inputs: JsonObject = {}
    version: Annotated[int, Meta(ge=0, le=2_000_000_000)] = 0
    conversation: SessionId = ""


class WorkflowCheckBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A definition that is to be checked.

    Attributes:
        text: the definition as YAML or JSON; null for the definition that the server has under this name.
    """

    text: Annotated[str, Meta(max_length=1_000_000)] | None = None


class WorkflowProblem(Struct, frozen=True, kw_only=True):
    """Something that is wrong with a definition.

    Attributes:
        message: what is wrong.
        line, column: where, from 1 on.
        hint: what to do about it; may be empty.
        place: the names that lead to the place, such as `nodes.book.with`; may be empty.
    """

    message: str
    line: int
    column: int
    hint: str
    place: str


class WorkflowChecked(Struct, frozen=True, kw_only=True):
    """What a check of a definition found.

    Attributes:
        problems: all that is wrong; nothing where the definition can be run.
    """

    problems: tuple[WorkflowProblem, ...]


class DraftBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A draft that is to be saved.

    Attributes:
        text: the whole definition as YAML or JSON; mistakes are allowed.
        revision: the revision of the draft that the text was made of; 0 for a new draft.
    """

    text: Annotated[str, Meta(max_length=1_000_000)]
    revision: Annotated[int, Meta(ge=0, le=2_000_000_000)] = 0


class DraftText(Struct, frozen=True, kw_only=True):
    """The draft of a workflow.

    Attributes:
        name: the name of the workflow.
        text: the definition.
        revision: counts the changes of the draft.
        at: when the draft was saved, in seconds since 1970.
        by: who saved the draft.
        published: the number of the publication in use; 0 where nothing was published.
    """

    name: str
    text: str
    revision: int
    at: float
    by: str
    published: int


class PublishBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request to publish a draft.

    Attributes:
        revision: the revision that the caller has looked at; null to publish whatever the draft is now.
    """

    revision: Annotated[int, Meta(ge=0, le=2_000_000_000)] | None = None


class RollbackBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request to publish an older publication anew.

    Attributes:
        number: the number of the older publication.
    """

    number: Annotated[int, Meta(ge=1, le=2_000_000_000)]


class WorkflowVersion(Struct, frozen=True, kw_only=True):
    """A publication of a workflow.

    Attributes:
        number: counts the publications of this name.
        digest: the digest of the text.
        at: when the text was published, in seconds since 1970.
        by: who published the text.
        again: the number of the older publication of which this is a copy; 0 where the text comes from the draft.
    """

    number: int
    digest: str
    at: float
    by: str
    again: int


class UnpublishedWorkflow(Struct, frozen=True, kw_only=True):
    """A workflow that was taken out of use.

    Attributes:
        number: the publication that was in use.
        used_by: published workflows whose nodes name the workflow without a number: these nodes fail from now on.
    """

    number: int
    used_by: tuple[str, ...]


class WorkflowVersions(Struct, frozen=True, kw_only=True):
    """The publications of a workflow.

    Attributes:
        items: the publications, the latest first.
    """

    items: tuple[WorkflowVersion, ...]


class WorkflowDiffQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which two versions of a workflow.

    Attributes:
        old: the number of a publication; 0 for what is in use.
        new: the number of a publication; 0 for the draft.
    """

    old: Annotated[int, Meta(ge=0, le=2_000_000_000)] = 0
    new: Annotated[int, Meta(ge=0, le=2_000_000_000)] = 0


class WorkflowChange(Struct, frozen=True, kw_only=True):
    """One difference between two versions.

    Attributes:
        kind: what was done.
        what: to what.
        place: where, such as `trips/price` or `book.with.flight`.
        node: the node that a field belongs to; may be empty.
        old: what was there before.
        new: what is there now.
    """

    kind: Literal["added", "removed", "changed"]
    what: Literal["node", "edge", "field"]
    place: str
    node: str
    old: Json
    new: Json


class WorkflowDifference(Struct, frozen=True, kw_only=True):
    """What differs between two versions; positions and formatting do not count.

    Attributes:
        changes: the differences.
    """

    changes: tuple[WorkflowChange, ...]
