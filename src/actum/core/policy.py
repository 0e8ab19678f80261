"""What a policy is told of a call, its decision, and the approval by a person."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from msgspec import Struct

from .call import ToolCall, ToolResult
from .json import Json, JsonObject
from .message import UserMessage
from .provenance import Origins
from .run.mandate import MandatedCall
from .run.pending import Pending
from .run.record import Verdict
from .run.risk import Risk
from .tool import Tool
from .user import User

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Deps = TypeVar("Deps", default=object, covariant=True)
else:  # the default, which only type checkers read, is not in Python 3.11
    from typing import TypeVar

    Deps = TypeVar("Deps", covariant=True)


def _from_nowhere(arguments: JsonObject) -> Origins:
    return {}


def _nothing() -> tuple[str, ...]:
    return ()


def _untitled(value: Json) -> tuple[str, ...]:
    return ()


class Defence(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an agent is defended against orders in foreign text; see `policy.defence`. Also the table `[defence]`.

    Attributes:
        mandate: whether the run's model is asked what the user's request empowers the agent to do. `strict`: nobody is
            asked, so that every side effect after foreign text is a question. `off`: there is no defence.
        unattended: what becomes of a question of the defence where nobody can be asked now: `ask`, the run waits;
            `deny`, the call is refused, and the model does the rest.
    """

    mandate: Literal["model", "strict", "off"] = "model"
    unattended: Literal["ask", "deny"] = "ask"


class MandateSource(Protocol):
    """Has the mandate of a run."""

    def known(self) -> tuple[MandatedCall, ...] | None:
        """The mandate for what the user has said by now; None where none was made."""

    async def make(self, tools: Sequence[Tool]) -> None:
        """Make the mandate, and put it on record; nothing where there is one.

        Args:
            tools: of the run that needs the mandate, beside those of the run whose mandate it is.
        """

    @property
    def is_attended(self) -> bool:
        """Whether somebody can be asked now."""


class ActsForUser(Protocol):
    """What acts on behalf of a user: the beginning of a run, the context of a call, or a caller of a server."""

    @property
    def principal(self) -> str: ...
    @property
    def tenant(self) -> str: ...
    @property
    def roles(self) -> Sequence[str]: ...
    @property
    def key_id(self) -> str: ...


class Facts(Struct, frozen=True, kw_only=True):
    """What a policy may know of a call besides the call and its tool.

    Attributes:
        principal: the user on whose behalf the run acts; empty for nobody known.
        tenant: the tenant that the user belongs to; empty where there is only one tenant.
        roles: the roles that the user is known to have.
        agent: the name of the agent that makes the call.
        key_id: the id (never the text) of the API key with which the run was asked for.
        now: seconds since 1970.
        origins: looks up where each of the arguments came from. This takes a while in a long conversation.
        brought: tells what `outside` says.
        titles: tells what names the records in results that hold a value; see `Tool.named_by`.
        mandate: what the user's request empowers the agent to do; None where that was not found out.
    """

    principal: str = ""
    tenant: str = ""
    roles: tuple[str, ...] = ()
    agent: str = ""
    key_id: str = ""
    now: float = 0.0
    origins: Callable[[JsonObject], Origins] = _from_nowhere
    brought: Callable[[], tuple[str, ...]] = _nothing
    titles: Callable[[Json], tuple[str, ...]] = _untitled
    mandate: tuple[MandatedCall, ...] | None = None

    @classmethod
    def of(cls, acting: ActsForUser, agent: str = "", now: float = 0.0) -> Facts:
        """What is known of the user on whose behalf something acts.

        Args:
            acting: acts on behalf of the user.
            agent: the name of the agent that makes the calls.
            now: seconds since 1970.
        """
        return cls(
            principal=acting.principal,
            tenant=acting.tenant,
            roles=tuple(acting.roles),
            agent=agent,
            key_id=acting.key_id,
            now=now,
        )

    @property
    def outside(self) -> tuple[str, ...]:
        """The tools whose results brought text that an outsider may have written to the conversation, and what else
        did, such as `attachment` or `event`; nothing in a conversation that is clean.
        """
        return self.brought()

    @property
    def user(self) -> User:
        """The user on whose behalf the run acts."""
        return User(self.tenant, self.principal)


class Requirement(Struct, frozen=True):
    """A call that only reads. It is made and put on record before the call that is judged.

    Attributes:
        tool: the name of the tool, which must be declared to read only.
        arguments: the arguments of this call.
        fault: returns what speaks against the judged call, given the result; empty when nothing does. For the record.
        reason: why the judged call is then refused, in words for the model and the user.
        parallel: whether other calls that require a check by the same tool may be made at the same time.
    """

    tool: str
    arguments: JsonObject
    fault: Callable[[Json], str]
    reason: str = ""
    parallel: bool = False


class Decision(Struct, frozen=True):
    """A policy's decision on a call.

    Attributes:
        verdict: `allow`, `ask` a person, or `deny`.
        rule: the rule that decided, for the record.
        reason: why, in words for the model and the user.
        approvers: with `ask`, who may answer, as `core.approver` says; None for anybody. Nobody fits an empty list, so
            the call is denied.
        quorum: how many of them have to agree.
        expires_s: seconds within which they have to agree; None for the run's default.
        require: the checks that are to be made first, and again after approval.
        not_by: with `ask`, who may not approve: the person whom the run is on behalf of. Empty where nobody is kept
            out.
        final: with `allow`, the last word, which the defence does not change.
        risk: with `ask`, what is risky in the call, where the defence asks; `reason` says the same in English.
    """

    verdict: Literal["allow", "ask", "deny"]
    rule: str
    reason: str = ""
    approvers: tuple[str, ...] | None = None
    quorum: int = 1
    expires_s: float | None = None
    require: Requirement | None = None
    not_by: str = ""
    final: bool = False
    risk: Risk | None = None


class Policy(Protocol):
    """Decides, from facts alone, whether a call may be made. A policy is asked anew whenever a call is taken up."""

    def decide(self, tool: Tool, call: ToolCall, facts: Facts) -> Decision:
        """Judge a call whose arguments fit its schema, with its paths and addresses written out."""


def shows_none(label: str, model: str = "") -> bool:
    """Where nobody declared labels, no model is told the values of one that is on record."""
    return False


class Ancestor(Struct, frozen=True, kw_only=True):
    """A run above another run whose calls it helps to judge; see `policy.ruling`.

    Attributes:
        agent: the name of the agent of that run.
        policy: the policy that this agent was given; None where it was given none, so that it binds no run below.
        facts: the facts of that run as they are now: its user, and the origins in its conversation.
        look_up: makes a check that `policy` requires with the tools of that agent: given the requirement, the rule that
            requires it and the idempotency key of the call that is judged. Returns the result, and what speaks against
            the call.
        lets_in: whether the user of that run may use its agent now; None where that can not change.
        defence: the defence of that run, which also defends the runs below; None where it has none.
        mandates: has the mandate of that run; None where the run has no model.
        labels_seen: tells the labels of values that the model of that run has seen by now.
        shows: says whether the values of a label may be told to a model: given the label and the name of the model,
            which is empty for the model of that run.
    """

    agent: str
    policy: Policy | None
    facts: Callable[[], Facts]
    look_up: Callable[[Requirement, str, str], Awaitable[tuple[ToolResult, str]]]
    lets_in: Callable[[], bool] | None = None
    defence: Defence | None = None
    mandates: MandateSource | None = None
    labels_seen: Callable[[], Sequence[str]] = tuple
    shows: Callable[[str, str], bool] = shows_none


class Answer(Struct, frozen=True, omit_defaults=True):
    """A person's answer to an open question.

    Attributes:
        verdict: for an approval: `approve` or `deny`; for a question or a result: `answer`; for a doubt: `done`,
            `not_done`, `retry`, or `unknown` where nobody can tell.
        text: the user's answer, the result, or a word to the model.
        by: who answered. The program that passes the answer vouches for the name.
        claimed: another name that the person gave (`actum approvals --by`) and that nobody vouches for. The record
            keeps it beside `by`. Rules about approvers look at it where the journal is one person's own file, and at
            `by` where several persons may write to the journal.
        tenant: the tenant of the person who answered; None where the program vouches for the name alone, so that the
            name counts as one of the run's tenant.
        roles: the roles of the person; rules with `role:` among their approvers look at these.
        arguments: with `approve`, the arguments to use instead of the model's; the call is judged anew.
        for_run: with `approve`, calls like this one need no further approval in this run: the same tool with the same
            arguments. Of a tool that declares `sinks`, only the sinks have to be the same; `sinks=()` declares that
            no argument has to.
        free: with `for_run`, the names of arguments that may differ all the same. A declared sink may not.
        said: with a result, what the user says beside it: the model is told these messages behind all results.
    """

    verdict: Verdict
    text: str = ""
    by: str = "user"
    arguments: JsonObject | None = None
    for_run: bool = False
    free: Collection[str] = ()
    claimed: str = ""
    tenant: str | None = None
    roles: tuple[str, ...] = ()
    said: tuple[UserMessage, ...] = ()


class Approver(Protocol):
    """A person who can be asked right now, such as at a terminal."""

    async def ask(self, pending: Pending) -> Answer | None:
        """Show a question and return the answer. None when there is no answer now, so that the run is paused.

        Raises:
            CanNotBeAsked: this person can not be asked this question.
        """


@runtime_checkable
class TurnApprover(Approver, Protocol):
    """An `Approver` who can be asked about several calls of one reply as one question."""

    async def ask_turn(self, waiting: Sequence[Pending]) -> Answer | Literal["later", "each"]:
        """Show the calls of one reply that wait for approval, and return one answer for all of them.

        Args:
            waiting: the questions, at least two.

        Returns:
            The answer, which holds for each call with the arguments that were shown; `later`: there is no answer now;
            `each`: the person wants to be asked about each call.

        Raises:
            CanNotBeAsked: this person can not be asked these questions.
        """
