"""What the journal holds: typed records, and the chain that binds the stored bytes.

A run is a sequence of entries numbered from 0. An entry holds its record as stored bytes (the payload), a random salt,
and two SHA-256 values: `digest` over salt and payload, `head` over the previous head, the number, the time and the
digest. The chain covers digests, not payloads: a payload can be deleted and the chain still checks, and the salt keeps
a deleted short payload from being guessed from its digest. Secret values in arguments are no part of a payload: the
record holds a digest of theirs (`hidden`), and they are deleted when the run has ended; see `core.secret_values`.

The order of records in a run::

    Started
    (ModelReplied | CallsRequested
        ([PrecheckDone] Intended CallCompleted | CallRefused | InputRequested [InputGiven] ...)*)*
    [Compacted]
    Ended

In a run of a workflow, `NodeBegan` asks for the call of its node, and `NodeLeft` ends each node; records of nodes that
are carried out side by side stand between each other.

A feature that is switched on may put a `Noted` between any two of them, and behind the `Ended` of a run that is over.

A run that is a task (`core.run.task`) also has `TaskQueued` behind `Started` and `CallsRequested`, `TaskStarted` before
each attempt, and behind the `Ended` of an attempt `TaskRetrying` or `TaskEnded`.

An outcome belongs to (number of the entry that asked for the call, index of the call in that entry): ids made by
models are unique only within a turn. A call may have several `Intended`, one for each attempt. An `Intended` without
`CallCompleted` is in doubt.

What the chain proves: without a key it tells accidents and gaps. Heads that are signed with a key outside the database
(`SignedHead`), or were exported, tell a rewritten chain and one that was cut, up to that head.

How a record is written as bytes has a number, the format (`FORMAT`). The chain covers bytes and not what they mean, so
a run of any format can be verified; only records of this version's format are read.
"""

from __future__ import annotations

import hashlib
from decimal import Decimal
from itertools import islice
from typing import Literal

import msgspec
from msgspec import Struct

from ..approver import Voter, claimed_voter, voter
from ..budget import NOTHING, ZERO, Used
from ..call import ToolCall, ToolResult
from ..errors import JournalError
from ..json import Json, JsonObject, dumps
from ..message import Message, Reply, Usage, UserMessage
from ..provenance import Origins, Source
from ..tool import Tool, ToolChoice
from ..user import User
from .handed_over import HandedOver
from .mandate import MandatedCall, MandateMade
from .node_records import NodeBegan, NodeLeft
from .pending import AskedKind, Pending
from .task import TaskOptions, TaskState

FORMAT = 2
"""The format in which this version writes records. It gets the next number when a record changes such that older ones
can not be read any more; then `WRITERS` and `storage.schema` get a line."""

WRITERS = {1: "a version of actum from before its first release, 0.1.0", 2: "actum 0.1.0"}
"""Who wrote each format."""


Standing = Literal["waiting", "approved", "denied", "expired", "answered", "doubt", "unmade"]
"""How a call without an outcome stands: it waits for a person; a person said yes, or no, and the call was not made yet;
no approval came in time; what it asked for midway was answered; it was begun and nobody knows how it ended; it was not
reached."""


class Unfinished(Struct, frozen=True, omit_defaults=True):
    """An earlier run of a conversation that had not come to its end when the conversation was last told of it.

    Attributes:
        run: its id.
        told: how many of its entries the conversation was told of.
        calls: its calls without an outcome, by their place (`3.0`), with how the model was told that each stands.
        follows: the conversation also hears of what the run does later. False where the conversation branched off from
            the middle of the run: then it only hears what became of `calls`.
    """

    run: str
    told: int
    calls: dict[str, Standing] = {}
    follows: bool = True


class Remembered(Struct, frozen=True, array_like=True):
    """A variable of a conversation, as a run of a workflow left the variable.

    Attributes:
        value: its value.
        version: how often it was changed in the conversation.
    """

    value: Json
    version: int


class Recalled(Struct, frozen=True, omit_defaults=True):
    """Something that a run was told out of its user's memory. The words stand elsewhere, so that they can be forgotten.

    Attributes:
        id: the run in which the user said the words, or the note that holds them.
        kind: a turn, a note, or a note of the kind that is always told.
        at: when the words were said, in seconds since 1970.
        score: how well they fit the question.
        digest: SHA-256 of the words that were told, hexadecimal.
    """

    id: str
    kind: Literal["turn", "note", "preference"]
    at: float
    score: float
    digest: str


class AttachedDocument(Struct, frozen=True, omit_defaults=True):
    """A document that came with a question, as it was read. It is forgotten with the run.

    Attributes:
        name: by which a model names it.
        digest: the SHA-256 of the page, in hex.
        page: what was read, as `knowledge.attached` packs it; empty where the record of another run has it.
        run: the earlier run of the conversation whose record has the page; empty for this one.
    """

    name: str
    digest: str
    page: bytes = b""
    run: str = ""


class Started(Struct, frozen=True, kw_only=True, tag="started", omit_defaults=True):
    """A run begins.

    Attributes:
        agent: the agent's name.
        model: the model's name.
        said: the messages that this run adds to the conversation: the user's words, and before them what became of
            calls of earlier runs.
        history: a conversation that lives elsewhere, as the program gave it: it was said before `said`.
        instructions: the system prompt as it was rendered.
        tools: digest of the tool definitions, which the journal keeps under it.
        limits: digest-relevant settings of the loop, as JSON.
        settings: the model settings, those of the agent and of the run together, as JSON; without headers.
        principal: on whose behalf.
        tenant: whose user the principal is; empty where there is only one tenant. Another tenant's run does not exist
            for whoever asks on behalf of a tenant.
        roles, key_id: as in `interfaces.Facts`.
        conversation: id of the conversation, empty for a run that stands alone.
        owner: the principal that the conversation, or the run, belongs to; None where it is `principal`.
        previous: the run before this one in the conversation.
        seen: how many entries it had when this run began; what it did later is not in this run's history.
        unfinished: earlier runs of the conversation that had not come to their end when this run began.
        parent: the run whose call started this one.
        bound: the names of the agents above this run whose policies bind it; empty where no policy does.
        forked: the run that this one branched off from; it has that run's entries up to `fork_at`, numbered alike.
        fork_at: number of the last entry that was taken over.
        compacts: the run only makes a summary of the conversation; see `Compacted`.
        trace: the `traceparent` of whatever asked for this run, where it belongs to a trace of other programs. Their
            word: it links, and permits nothing.
        request: a digest of the request that started the run, where the run's id was made of a key that the caller
            chose: the same key with another request is told apart by it. See `server.api`.
        tracestate: what came beside the `traceparent`: which agents stand above this run in other programs. It can
            lower the limit of `depth`, and raises none.
        agent_digest: digest of all that decides what the agent does; empty where the agent has no name by which another
            process could build it. See `agents.identity`.
        agent_parts: the digest of each part of the agent, to say later which part has changed.
        client_tools: tools that the client of a server brought for this run. A call of such a tool waits for the client
            to make the call. They stand here so that whoever goes on with the run has them.
        answer_schema: JSON Schema that the client of a server wants the answer of this run to fit; None where it wants
            none.
        names: names under which a server finds the run again, such as the digest of the request that began the run.
            Nobody can guess a name, and a name of one caller is never a name of another; see `Journal.named`.
        door: what the request that began the run says of its answer, for the server that answers it, such as
            `{"store": false}`.
        workflow: digest of the definition that a workflow carries out, which the journal keeps under it; empty where
            the run is none of a workflow.
        inputs: what the workflow was given; empty where `inputs_kept` is set.
        inputs_kept: the digest under which the journal keeps inputs that are larger than `NODE_VALUE_BYTES_MAX`.
        given_by: where the inputs came from.
        version: the number of the publication that a workflow carries out; 0 where the definition was not published.
        uses: the publications that the `workflow` nodes stand for, and those of the workflows in them: the number by
            the name as it is written, such as `price` or `price@3`. The run goes on with these. A run that calls a
            published workflow as a tool, or whose agent stands for one, has the number of this workflow as the first.
            Other kinds are named: `tool/weather_api`, `agent/helper`, `prompt/desk`.
        uses_kept: the digest under which the journal keeps the published tools of `uses` where they are very many: see
            `journal.kept_uses`.
        variables: the variables of the conversation as they were when this run of a workflow began, by their names.
        variables_kept: the digest under which the journal keeps variables that are larger than
            `NODE_VALUE_BYTES_MAX`.
        tool_choice: whether and which tools the model must call.
        open_runs: runs of workflows in the conversation that could still change its variables when this run began.
        space: the run is a turn of the user's memory in this space; empty where it is none. See `actum.memory`.
        recalled: what the run was told out of the user's memory before the question.
        without_memory: the run, and each run that works for it, gets at nothing that is remembered of the user.
        window: the number of latest runs of the conversation that are told; 0 for all.
        outside: what had brought text that an outsider may have written to the conversation when this run began, or to
            the run above; None where that is not on record. See `policy.outside`.
        labels_seen: the labels of values that models had seen earlier in the conversation, and in the run above.
        mandate: the mandate that was given with the question; None where the run's model is asked.
        cite: how the answer is held to what was quoted: `mark` or `strict`; empty where it is not. See `agents.citing`.
        attached: the documents that came with the question, and those of earlier turns of the conversation.
        salt: chance that goes into the keys of the run's calls. Without the salt nobody can guess a value by trying out
            which key it makes; see `call.plan.idempotency_key`. Empty in runs of before there was one.
    """

    agent: str
    model: str
    said: tuple[Message, ...]
    history: tuple[Message, ...] = ()
    instructions: str = ""
    tools: str = ""
    limits: JsonObject = {}
    settings: JsonObject = {}
    principal: str = ""
    tenant: str = ""
    roles: tuple[str, ...] = ()
    key_id: str = ""
    conversation: str = ""
    owner: str | None = None
    previous: str = ""
    seen: int = 0
    unfinished: tuple[Unfinished, ...] = ()
    parent: str = ""
    bound: tuple[str, ...] = ()
    forked: str = ""
    fork_at: int = 0
    compacts: bool = False
    trace: str = ""
    tracestate: str = ""
    agent_digest: str = ""
    agent_parts: dict[str, str] = {}
    request: str = ""
    client_tools: tuple[Tool, ...] = ()
    answer_schema: JsonObject | None = None
    names: tuple[str, ...] = ()
    door: JsonObject = {}
    workflow: str = ""
    inputs: JsonObject = {}
    inputs_kept: str = ""
    given_by: Source = "user"
    version: int = 0
    uses: dict[str, int] = {}
    uses_kept: str = ""
    variables: dict[str, Remembered] = {}
    variables_kept: str = ""
    open_runs: tuple[str, ...] = ()
    tool_choice: ToolChoice = "auto"
    space: str = ""
    recalled: tuple[Recalled, ...] = ()
    without_memory: bool = False
    window: int = 0
    outside: tuple[str, ...] | None = None
    labels_seen: tuple[str, ...] = ()
    mandate: tuple[MandatedCall, ...] | None = None
    cite: Literal["", "mark", "strict"] = ""
    attached: tuple[AttachedDocument, ...] = ()
    salt: str = ""

    @property
    def belongs_to(self) -> str:
        """The principal that what is said in this run belongs to."""
        return self.principal if self.owner is None else self.owner

    @property
    def user(self) -> User:
        """On whose behalf the run acts."""
        return User(self.tenant, self.principal)

    @property
    def owning_user(self) -> User:
        """The user that what is said in this run belongs to."""
        return User(self.tenant, self.belongs_to)

    @property
    def question(self) -> str:
        """The user's words: they stand behind what the program tells of earlier runs. Of a workflow, its inputs."""
        if self.workflow and not self.said:
            name = f"{self.agent}@{self.version}" if self.version else self.agent
            title = f"{name}({_told(self.inputs)})"
            return title if len(title) <= TITLE_MAX else title[: TITLE_MAX - 1] + "…"
        return next((message.text for message in reversed(self.said) if isinstance(message, UserMessage)), "")


class ToolsChanged(Struct, frozen=True, tag="tools_changed", omit_defaults=True):
    """The tools that are shown to the model are other ones from here on.

    Attributes:
        tools: as in `Started`.
        names: where tools are chosen among many, the names of those that are shown, in order.
        first: how many of them were chosen before the first step; the rest the model found itself.
    """

    tools: str
    names: tuple[str, ...] = ()
    first: int = 0


class AgentChanged(Struct, frozen=True, kw_only=True, tag="agent_changed", omit_defaults=True):
    """The run goes on with an agent that is not as it was, since somebody said so on purpose.

    Attributes:
        agent: the name of the agent that goes on.
        agent_digest, agent_parts: as in `Started`.
        changed: the names of the parts that differ.
        by: on whose behalf the run was taken up; empty where the program itself did.
    """

    agent: str
    agent_digest: str = ""
    agent_parts: dict[str, str] = {}
    changed: tuple[str, ...] = ()
    by: str = ""


class ModelReplied(Struct, frozen=True, tag="model_replied", omit_defaults=True, gc=False):
    """The model answered.

    Attributes:
        intention: digest of what the model was asked, compared when the run is replayed. In a run of a
            workflow, the number of the `NodeBegan` whose node asked.
        reply: the answer of the model.
        seconds: how long the model took.
        elapsed: seconds since the run began.
        cost: the cost of the answer, by the prices of then.
        left_out: how many messages at the beginning of the conversation, behind the instructions and a summary, the
            model was not told, because the conversation was too long for the model.
        clipped: the most characters of each tool result that the model was told, for the same reason; 0 for all.
        hidden: the digest of the secret values that were taken out of this record; empty where there were none. See
            `core.secret_values`, and `Journal.hide`.
        demanded: the model was to call a tool, by the run's `tool_choice`. A reply without a call disobeyed.
    """

    intention: str
    reply: Reply
    seconds: float = 0.0
    elapsed: float = 0.0
    cost: Decimal = ZERO
    left_out: int = 0
    clipped: int = 0
    hidden: str = ""
    demanded: bool = False


Requester = Literal["person", "client", "schedule", "event"]
"""Who can ask for calls without a model: a person at a command line or in a form, a client of a server, a schedule, or
an event that came in from outside."""

RecordedRequester = Requester | Literal["administrator", "model"]
"""Who stands on record as having asked for calls. The act of an administrator is written down as a call, but nobody can
ask for such a call: see `runs.administration`. `model` is the model of another run, which handed its call over to a
task: see `HandedOver`."""


TITLE_MAX = 500
"""The most characters of calls that stand in the list of runs."""


class CallsRequested(Struct, frozen=True, tag="calls_requested", omit_defaults=True):
    """Calls were asked for directly, by somebody other than this run's model.

    Attributes:
        calls: the calls.
        by: who asked for them.
        speaks_for: whose words the arguments are by the word of the operator, where these are not the asker's own:
            `user` where the operator trusts a client to say only what its user said.
        hidden: as in `ModelReplied`.
        handed: the one call was asked for by the model of another run; what was known of the call there.
    """

    calls: tuple[ToolCall, ...]
    by: RecordedRequester
    speaks_for: Literal["", "user"] = ""
    hidden: str = ""
    handed: HandedOver | None = None

    @property
    def source(self) -> Source:
        """Where the values of the arguments came from."""
        if self.by in ("person", "administrator") or self.speaks_for:
            return "user"
        if self.by == "model":
            return "model"
        return "client" if self.by == "client" else "event"

    @property
    def title(self) -> str:
        """The calls on one line, for a list of runs."""
        title = "; ".join(f"{call.name}({_told(call.arguments)})" for call in self.calls)
        return title if len(title) <= TITLE_MAX else title[: TITLE_MAX - 1] + "…"


def _told(arguments: JsonObject) -> str:
    shown = islice(arguments.items(), TITLE_MAX)  # each is a character long at least
    return ", ".join(f"{name}={dumps(value)}" for name, value in shown)


class Intended(Struct, frozen=True, tag="intended", omit_defaults=True, gc=False):
    """A tool is about to run. On record before it does.

    Attributes:
        cause: number of the entry that asked for the call: a `ModelReplied` or a `CallsRequested`.
        index: which call of that entry, from 0.
        attempt: 1 for the first.
        tool: the tool's name.
        version: digest of the tool's definition.
        arguments: what the tool gets, after coercion.
        key: the idempotency key.
        rule: the policy rule that allowed it, or the approval.
        repairs: what was mended in the arguments.
        origins: where each argument came from, for a call that may change something.
        unjailed: a program on this machine carries the call out, and no jail holds that program.
    """

    cause: int
    index: int
    attempt: int
    tool: str
    version: str
    arguments: JsonObject
    key: str
    rule: str = ""
    repairs: tuple[str, ...] = ()
    origins: Origins = {}
    unjailed: bool = False


class CallCompleted(Struct, frozen=True, tag="call_completed", omit_defaults=True, gc=False):
    """An attempt has its outcome, good or bad.

    Attributes:
        detail: for people and the audit: where in a tool's code it failed; never told to a model.
        final: False when another attempt follows.
        shown: how many bytes of the result's text the model is shown; 0 for all.
        used: what the call has used up by now, all attempts together: an agent that it started, or its tool's cost.
        opened_outside: files that exist and that a program tried to open outside its jail while the call was under way.
            The jail let the program open none of these. Each stands in one record of a run. A sentence in brackets
            stands there where the machine can not tell which files a program tries to open.
    """

    cause: int
    index: int
    result: ToolResult
    seconds: float = 0.0
    elapsed: float = 0.0
    detail: str = ""
    final: bool = True
    shown: int = 0
    used: Used = NOTHING
    opened_outside: tuple[str, ...] = ()


class CallRefused(Struct, frozen=True, tag="call_refused", omit_defaults=True):
    """A call was turned away before it reached a tool; `result.error` says why, `rule` by whom."""

    cause: int
    index: int
    result: ToolResult
    elapsed: float = 0.0
    rule: str = ""


class PrecheckDone(Struct, frozen=True, tag="precheck_done", omit_defaults=True):
    """A rule required a check before a call, and a tool that only reads has made the check.

    Attributes:
        cause, index: the call that was checked.
        tool: the name of the tool that made the check, for the policy and not for the model.
        arguments: the arguments of the tool.
        result: the result of the tool.
        fault: what speaks against the call; empty when nothing does. Never told to a model.
        rule: the rule that wanted it.
        elapsed: as in `ModelReplied`.
    """

    cause: int
    index: int
    tool: str
    arguments: JsonObject
    result: ToolResult
    fault: str = ""
    rule: str = ""
    elapsed: float = 0.0


Verdict = Literal["approve", "deny", "answer", "cancel", "done", "not_done", "retry", "unknown"]
"""`approve` and `deny` answer an approval. `answer` answers a question, gives a result, or answers a running
tool, whose question can also be denied, or put aside with `cancel`. The others answer a doubt about a call: it
happened, it did not happen, make it again, nobody can tell."""


class InputRequested(Struct, frozen=True, tag="input_requested", omit_defaults=True):
    """The run waits for a person.

    Attributes:
        pending: what is asked.
        cause, index: the call that waits; for a question, `index` is -1.
        version: digest of the tool's definition that is asked about.
        rule: the rule that wants it.
        run: the child run that waits, where it is not this one.
        edited: the call's arguments are a person's, who changed the model's.
        beside: the idempotency keys of other calls for which the question may be meant: whoever asks does not say for
            which of the calls under way it asks.
    """

    pending: Pending
    cause: int = -1
    index: int = -1
    version: str = ""
    rule: str = ""
    run: str = ""
    edited: bool = False
    beside: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """What the answer is given under."""
        return self.pending.id

    @property
    def kind(self) -> AskedKind:
        """What kind of answer is wanted."""
        return self.pending.kind


class CallParked(Struct, frozen=True, tag="call_parked", omit_defaults=True):
    """A running tool asked for something that nobody could give then. It has stopped, and is executed anew when what
    it asked for is there; so nothing is in doubt.

    Attributes:
        cause, index: the call.
        state: what the tool wants to find again then.
        used: what the call has used up by now, as in `CallCompleted`.
    """

    cause: int
    index: int
    state: str = ""
    used: Used = NOTHING


class Sampled(Struct, frozen=True, tag="sampled", omit_defaults=True):
    """A running tool asked a model, and got an answer.

    Attributes:
        cause, index: the call; see `Intended`.
        id: what its answer is found by when the tool is executed anew.
        request: what the model was asked.
        reply: what it said.
        seconds: how long it took.
        elapsed: as in `ModelReplied`.
        cost: money, where the model's price is known.
        beside: as in `InputRequested`.
    """

    cause: int
    index: int
    id: str
    request: JsonObject
    reply: Reply
    seconds: float
    elapsed: float = 0.0
    cost: Decimal = ZERO
    beside: tuple[str, ...] = ()


CLOCK = "clock"
"""Who says on record that a time is over."""


class InputGiven(Struct, frozen=True, tag="input_given", omit_defaults=True):
    """What was asked under `id` is answered.

    Attributes:
        by: who answered.
        claimed: another name that whoever answered gave, for which nobody vouches.
        as_claimed: rules about approvers look at `claimed`, since the journal was one person's own; see `voter`.
        elapsed: as in `ModelReplied`.
        arguments: what the call is to be made with instead; it is judged anew. Of what a running tool asked for, the
            answer itself.
        for_run: calls of this run like this one need no further approval.
        free: with `for_run`, the arguments that may differ in those calls.
        met: as many as are needed have agreed, on the record of the run that this one works for.
        hidden: as in `ModelReplied`.
        expired: nobody answered in time. That the time is over is on record as a `cancel` by the clock.
        tenant, roles: the tenant of whoever answered, and the roles with which they came in, as in `Answer`.
        said: as in `Answer`.
    """

    id: str
    verdict: Verdict
    text: str = ""
    by: str = ""
    elapsed: float = 0.0
    arguments: JsonObject | None = None
    for_run: bool = False
    met: bool = False
    free: tuple[str, ...] = ()
    hidden: str = ""
    claimed: str = ""
    as_claimed: bool = False
    expired: bool = False
    tenant: str | None = None
    roles: tuple[str, ...] = ()
    said: tuple[UserMessage, ...] = ()

    def voter(self, run_tenant: str) -> Voter:
        """Who answered, for rules about approvers.

        Args:
            run_tenant: the tenant of the run.
        """
        if self.as_claimed and self.tenant is not None:
            return claimed_voter(self.claimed, run_tenant)
        name = self.claimed if self.as_claimed else self.by
        return voter(name, tenant=self.tenant, roles=self.roles, run_tenant=run_tenant)

    @property
    def answered_by(self) -> str:
        """Who answered, in words: `root, as "ann" (claimed)`."""
        return f"{self.by}, as {dumps(self.claimed)} (claimed)" if self.claimed else self.by


def time_over(ask_id: str, elapsed: float) -> InputGiven:
    """The record that nobody answered in time.

    Args:
        ask_id: what was asked.
        elapsed: as in `InputGiven`.
    """
    return InputGiven(ask_id, "cancel", by=CLOCK, elapsed=elapsed, expired=True)


class Compacted(Struct, frozen=True, tag="compacted", omit_defaults=True):
    """What was said before in the conversation is from here on told as a summary.

    Attributes:
        summary: in whose place it stands.
        keep: how many of the latest runs before stay as they are.
    """

    summary: str
    keep: int = 0


class ConversationRead(Struct, frozen=True, kw_only=True, tag="conversation_read", omit_defaults=True):
    """A run of a workflow that was queued begins: how its conversation stands now. The fields stand for those of
    `Started`, which was written when the run was queued.

    Attributes:
        previous, seen, open_runs, variables, variables_kept, labels_seen: as in `Started`.
    """

    previous: str = ""
    seen: int = 0
    open_runs: tuple[str, ...] = ()
    variables: dict[str, Remembered] = {}
    variables_kept: str = ""
    labels_seen: tuple[str, ...] = ()


class Noted(Struct, frozen=True, tag="noted", omit_defaults=True):
    """A feature's own record: the one kind of record that all features share; see `core.run.noted`.

    Attributes:
        feature: the name of the feature, such as `bookmarks`.
        kind: the tag of the feature's record, such as `saved`.
        version: the version of the feature's records. An older version of the feature does not read them.
        body: the feature's record, as JSON.
        needed: the run can not go on where the record can not be read.
        package: the package that brought the feature; empty where none did.
        cause, index: the call whose tool put the record here, as in `Intended`.
        after_end: the run was over when this was noted. How the run stands is not changed by it: see `ending`.
    """

    feature: str
    kind: str
    version: int
    body: bytes
    needed: bool = False
    package: str = ""
    cause: int = -1
    index: int = -1
    after_end: bool = False

    @property
    def title(self) -> str:
        """The feature and the kind, as in `bookmarks/saved`."""
        return f"{self.feature}/{self.kind}"


class Forgotten(Struct, frozen=True, tag="forgotten", omit_defaults=True):
    """The payloads of all entries before this one were deleted; their digests stay, so the chain still checks.

    Attributes:
        by: who did it.
        reason: why.
        tenant: whose run it was, which the deleted records do not say any more.
    """

    by: str = ""
    reason: str = ""
    tenant: str = ""


class Ended(Struct, frozen=True, tag="ended", omit_defaults=True):
    """The run ended, or paused until it is resumed.

    Attributes:
        status: how.
        text: the answer, or what the user should be told.
        reason: why the run was stopped or failed.
        usage: the tokens that the model used.
        outputs: what a workflow gave; None for other runs, and where `outputs_kept` is set.
        outputs_kept: the digest under which the journal keeps outputs that are larger than `NODE_VALUE_BYTES_MAX`.
    """

    status: Literal["done", "paused", "stopped", "failed"]
    text: str = ""
    reason: str = ""
    usage: Usage = Usage()
    outputs: JsonObject | None = None
    outputs_kept: str = ""


class TaskQueued(Struct, frozen=True, kw_only=True, tag="task_queued", omit_defaults=True):
    """The run is a task: it is carried out later, by whoever takes it. Also written when a dead letter is begun again.

    Attributes:
        due: the first attempt begins then at the earliest, in seconds since 1970.
        options: what was asked for.
        home, digest: as in `core.run.task.TaskLine`.
        by: who began a dead letter again; empty for a new task.
    """

    due: float
    options: TaskOptions
    home: str = ""
    digest: str = ""
    by: str = ""


class TaskStarted(Struct, frozen=True, tag="task_started", omit_defaults=True):
    """An attempt at a task begins. On record before it does, so that an attempt which ends its process counts, too.

    Attributes:
        attempt: its number, from 1. A run that goes on after it waited for a person keeps the number.
        worker: the process that carries it out.
    """

    attempt: int
    worker: str = ""


class TaskRetrying(Struct, frozen=True, tag="task_retrying", omit_defaults=True):
    """An attempt at a task failed, or was put back, and another is made.

    Attributes:
        attempt: the number of the attempt that failed.
        error: why: the error of the run, or `worker_lost`, `timed_out`.
        due: the next attempt begins then at the earliest, in seconds since 1970.
        free: the attempt was not the task's fault, and does not count against `max_retries`.
    """

    attempt: int
    error: str
    due: float
    free: bool = False


class TaskEnded(Struct, frozen=True, tag="task_ended", omit_defaults=True):
    """A task has ended.

    Attributes:
        state: how: `succeeded`, `failed`, `timed_out` or `cancelled`.
        error: why; empty where it succeeded.
        by: who cancelled it, where somebody did.
    """

    state: TaskState
    error: str = ""
    by: str = ""


TaskRecord = TaskQueued | TaskStarted | TaskRetrying | TaskEnded
"""The records that tell of a task alone."""


Record = (
    Started
    | ToolsChanged
    | AgentChanged
    | ModelReplied
    | CallsRequested
    | Intended
    | CallCompleted
    | CallRefused
    | PrecheckDone
    | InputRequested
    | InputGiven
    | CallParked
    | Sampled
    | MandateMade
    | Compacted
    | NodeBegan
    | NodeLeft
    | ConversationRead
    | Noted
    | Forgotten
    | Ended
    | TaskQueued
    | TaskStarted
    | TaskRetrying
    | TaskEnded
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
        format: the format in which the record was written; no hash covers this number. See `FORMAT`.
        masked: the payload is what a reader may see of the record (`policy.record_mask`), and has no salt. The digest
            is that of the record, so that the chain still checks.
    """

    number: int
    at: float
    payload: bytes
    salt: bytes
    digest: bytes
    head: bytes
    format: int = FORMAT
    masked: bool = False

    @property
    def is_sealed(self) -> bool:
        """Whether the payload is there and is the one that was sealed, or what a reader may see of that."""
        return bool(self.payload) and (self.masked or hashlib.sha256(self.salt + self.payload).digest() == self.digest)

    @property
    def record(self) -> Record:
        """The record itself, decoded.

        Raises:
            JournalError: the payload was deleted or changed, or is not a record. Of another format some kinds of
                records can be read, and others can not.
        """
        if not self.payload:
            raise JournalError("entry {number} can not be read: its payload was deleted", number=self.number)
        if not self.is_sealed:
            raise JournalError("entry {number} can not be read: its payload was changed", number=self.number)
        try:
            return _decoder.decode(self.payload)
        except (msgspec.DecodeError, ValueError, ArithmeticError, RecursionError):  # UnicodeDecodeError among them
            if self.format != FORMAT:
                raise JournalError(
                    "entry {number} can not be read: {written_by}",
                    number=self.number,
                    written_by=written_by(self.format),
                ) from None
            raise JournalError(
                "entry {number} can not be read: its payload is not a record", number=self.number
            ) from None


def written_by(format_: int) -> str:
    """Who wrote records of a format, as the predicate of a sentence."""
    return f"it was written by {WRITERS.get(format_, 'another version of actum')} (journal format {format_})"


_decoder: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)
