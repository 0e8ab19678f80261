"""Everything that can go wrong, in one tree. A class per decision that a caller can take; each carries facts, not
prose.

    ActumError
    ├── UsageError                  the program that uses actum is wrong; raised at once
    │   ├── BadTool                 a tool that can't be registered
    │   ├── UnknownName             a model, dialect, toolset or run that does not exist
    │   ├── Busy                    somebody drives this run, or adds to this conversation, already
    │   ├── TaskRefused             a task can not be accepted, cancelled or begun again; `code` says why
    │   └── ReplayDiverged          a recorded run does not fit the agent that is to resume it
    │       └── FeatureMissing      a record that the run needs can not be read here
    ├── WorkflowFailed              a node of a workflow failed, and nothing was to happen then
    ├── JournalError                the record can not be kept; nothing goes on without it
    │   └── DamagedDefinition       one text that was published is damaged; all else can be read
    ├── ModelError                  the model gave no answer; ends a run
    │   ├── ModelUnavailable        not reached, overloaded, or cut off; worth another try
    │   ├── ModelRejected           the endpoint refused the request: key, name, size, content
    │   │   └── ContextOverflow     the conversation is too long for the model
    │   ├── ModelGarbled            the endpoint's answer is not its own wire format
    │   ├── RunFailed               a run that answers for a model came to no answer
    │   └── ScriptExhausted         a ScriptedModel was asked beyond its script
    └── CallError                   a call has no result; told to the model, never ends a run by itself
        ├── UnknownTool  InvalidArguments  InvalidResult  ToolError  ToolBug
        ├── PermissionDenied  ApprovalDenied  ApprovalExpired
        ├── BudgetExceeded  LoopDetected  RateLimited  ResourceLimit
        └── Unavailable  CallTimeout  InDoubt  CallCancelled

A `CallError` reaches the journal as the `Failure` that it makes. What a model may be told of one is its `message`,
which our own code writes: never a stack trace, `str()` of a foreign exception, a path, or the inside of a policy.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import ClassVar, Literal

from .call import Effect, Failure, MediaPart, Problem
from .json import whole_text
from .language.sentence import Sentence, as_sentence


class ActumError(Exception):
    """The root: what actum raises on purpose.

    Args:
        message: what is wrong, in English: the template of it where there are values, another error's sentence, or a
            text that is taken as it is.
        values: what is put into the template: `{name}` in the place of each value.

    >>> error = ActumError("there is no agent {name!r}", name="crm")
    >>> str(error), error.sentence.template, error.sentence.values
    ("there is no agent 'crm'", 'there is no agent {name!r}', {'name': 'crm'})
    """

    def __init__(self, message: str | Sentence = "", /, **values: object) -> None:
        self.sentence = as_sentence(message, values)
        super().__init__(str(self.sentence))

    def __reduce__(self) -> tuple[object, ...]:
        """A copy has the facts of this error, whatever its class is made of."""
        return _remade, (type(self), self.args, self.__dict__)


def _remade(kind: type[ActumError], args: tuple[object, ...], facts: dict[str, object]) -> ActumError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(facts)
    return error


class UsageError(ActumError, ValueError):
    """The program that uses actum asked for something that can not be. The message says what to do instead."""


class BadTool(UsageError):
    """A tool that can't be registered: its name, its schema or its function. The message names the place."""


class UnknownName(UsageError):
    """Nothing has this name. The message lists what there is."""


class TooLate(UnknownName):
    """The time in which this could be answered is over."""


class Busy(UsageError):
    """Somebody drives this run, or adds to this conversation, already: here or in another process."""


class RunStopped(Busy):
    """Somebody has stopped this run in the meantime, so that it does not go on by itself."""


TaskRefusal = Literal["journal", "agent", "deadline", "options", "key_used", "queued_max", "finished", "not_dead"]
"""Why a task is refused: its journal is no database; no other process can build its agent; its deadline has passed, or
comes before `not_before`; another option can not be; its unique key was used for another request; too many tasks of
this user wait; it has ended; it is no dead letter."""


class TaskRefused(UsageError):
    """A task can not be accepted, cancelled or begun again. The message says why, for the caller.

    Args:
        code: why, for a program.
        message: why, for a person.
        state: the state of the task, where there is one.
        run_id: the task, where there is one.
    """

    def __init__(
        self, code: TaskRefusal, message: str | Sentence, /, *, state: str = "", run_id: str = "", **values: object
    ) -> None:
        super().__init__(as_sentence(message, values))
        self.code: TaskRefusal = code
        self.state = state
        self.run_id = run_id


class ReplayDiverged(UsageError):
    """A recorded run does not fit the agent that is to go on with it: prompt, tools or code have changed.

    Raised before anything is done.
    """


class FeatureMissing(ReplayDiverged):
    """The run has a record of a feature that is missing here or too old, and needs the record to go on. The message
    names the package. Another process that has the feature can go on with the run.
    """


class WorkflowFailed(ActumError):
    """A node of a workflow failed, and the workflow says nothing of what is to happen then. The failure is on record.

    Args:
        code: the kind of the failure, such as `tool_error`.
        message: what happened, fit for a model and a client.
        node: the path of the node.
        detail: more of what happened, for the operator alone.
    """

    def __init__(self, code: str, message: str, node: str = "", detail: str = "") -> None:
        self.told = f"{node}: {message}" if node else message
        super().__init__(f"{self.told} ({detail})" if detail else self.told)
        self.code = code
        self.message = message
        self.node = node


class JournalError(ActumError):
    """The journal could not be written or read: a full disk, a damaged file.

    A run does not go on without its record.
    """


class DamagedDefinition(JournalError):
    """The text of one definition was changed in the database by hand: it is not used. All others can be read."""


class ModelError(ActumError):
    """A model gave no answer that can be used.

    Args:
        message: what happened, for a person.
        status: the HTTP status, where there was one.
        retry_after: seconds after which the endpoint said to come back.

    The message may name the place where the model is reached: it is for the operator.
    """

    told: ClassVar[str] = "The model gave no answer."
    """What a model, and a client that is no administrator, are told of it."""

    def __init__(
        self,
        message: str | Sentence,
        /,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        **values: object,
    ) -> None:
        super().__init__(as_sentence(message, values))
        self.status = status
        self.retry_after = retry_after


class ModelUnavailable(ModelError):
    """Not reached, overloaded, or cut off in the middle. Another try may work."""

    told = "The model's server did not answer."


class ModelRejected(ModelError):
    """The endpoint refuses this request and would refuse it again: a wrong key, an unknown model, too long a prompt."""

    told = "The model's server refused the request."


class ContextOverflow(ModelRejected):
    """The conversation is longer than the model can read. A shorter one may work, or a model with a longer context.

    Attributes:
        can_be_shortened: the run could go on with a shorter conversation, if the agent were allowed to shorten it.
    """

    told = "The conversation is too long for the model."

    can_be_shortened = False


class ModelGarbled(ModelError):
    """What came back is not in the endpoint's own wire format."""

    told = "The model's answer could not be read."


class RunFailed(ModelError):
    """A run that answers a request for a model came to no answer. What the run did stays done, so no client is to send
    the request again by itself.

    Args:
        message: what the client is told.
        code: why, in one word for a program, such as `invalid_output`.
        status: the HTTP status: one after which no client repeats its request by itself.
    """

    def __init__(self, message: str | Sentence, /, *, code: str, status: int = 422, **values: object) -> None:
        super().__init__(as_sentence(message, values), status=status)
        self.code = code


class ScriptExhausted(ModelError):
    """A `ScriptedModel` was asked for more turns than it was given."""


class Retry(enum.Enum):
    """Who may try a failed call again."""

    NEVER = "never"
    AUTOMATIC = "automatic"
    BY_MODEL = "by_model"


class CallError(ActumError):
    """A call has no result. Subclasses fix the facts; the message is for the model and must be fit for it.

    Args:
        message: what the model is told, as in `ActumError`.
        retry_after: seconds to wait before another try makes sense.
        reference: an id under which details are on record.
        effect: what may have changed in the world, where it is known better than the class tells.
        limit: which limit of ours turned the call away.
        files: what the tool made before it failed. The model gets a handle for each file.
    """

    code: ClassVar[str] = "tool_error"
    effect: Effect = "none"
    retry: ClassVar[Retry] = Retry.NEVER
    rule: str = ""
    """Which rule of a policy turned the call away; for the record, never told to a model."""
    limit: str = ""
    """Which limit of ours turned the call away; empty when none did. A run that keeps running into it is stopped."""

    def __init__(
        self,
        message: object,
        /,
        *,
        retry_after: float | None = None,
        reference: str = "",
        effect: Effect | None = None,
        limit: str = "",
        files: Sequence[MediaPart] = (),
        **values: object,
    ) -> None:
        super().__init__(as_sentence(message, values))
        self.message = whole_text(str(self.sentence))
        self.args = (self.message,)
        self.files = tuple(files)
        self.retry_after = retry_after
        self.reference = reference
        if effect is not None:
            self.effect = effect
        if limit:
            self.limit = limit

    def failure(self) -> Failure:
        """The error as a value: for the journal, the model and the client."""
        return Failure(
            self.code, self.message, self.effect, self.retry_after, self.reference, self._problems(), self.limit
        )

    def _problems(self) -> tuple[Problem, ...]:
        return ()


class UnknownTool(CallError):
    """No tool of this name may be used in this run. The model can choose another."""

    code = "unknown_tool"
    retry = Retry.BY_MODEL


class SecretMissing(CallError, UnknownName):
    """A secret that a tool asks for is not there. The message says what a person does about that."""

    effect = "unknown"


class InvalidArguments(CallError):
    """The arguments do not fit the tool's schema, or are not complete. The model can repair this.

    Args:
        problems: each thing that is wrong: where, which rule, what was expected, what came.
    """

    code = "invalid_arguments"
    retry = Retry.BY_MODEL

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(tell_problems(self.problems))

    def _problems(self) -> tuple[Problem, ...]:
        return self.problems


class PermissionDenied(CallError):
    """The policy does not let this principal make this call."""

    code = "permission_denied"


class ApprovalDenied(CallError):
    """A person said no."""

    code = "approval_denied"


class ApprovalExpired(CallError):
    """The approval was not given in time, or does not cover this call any more."""

    code = "approval_expired"


class BudgetExceeded(CallError):
    """A limit of the run, the user or the tool is used up."""

    code = "budget_exceeded"


class LoopDetected(CallError):
    """The same call gave the same result again and again."""

    code = "loop_detected"


class RateLimited(CallError):
    """The tool's service asks to slow down, or a limit of ours does. Nothing has happened."""

    code = "rate_limited"
    retry = Retry.AUTOMATIC


class Unavailable(CallError):
    """The tool's service could not be reached. Nothing has happened."""

    code = "unavailable"
    retry = Retry.AUTOMATIC


class CallTimeout(CallError):
    """The call took too long, or its connection was lost after it was sent. It may have happened."""

    code = "timeout"
    effect = "unknown"
    retry = Retry.AUTOMATIC


class InDoubt(CallError):
    """The process ended between the start of the call and its outcome. It may have happened."""

    code = "in_doubt"
    effect = "unknown"


class ToolError(CallError):
    """The tool says, in words meant for the model, why it can not do this. Tools raise it themselves.

    >>> raise ToolError("There is no city called Atlantis.")
    Traceback (most recent call last):
    ...
    actum.core.errors.ToolError: There is no city called Atlantis.
    """

    code = "tool_error"
    retry = Retry.BY_MODEL


class CanNotBeAsked(ToolError):
    """The person or program at the other end can not be asked this, or has not answered. A tool that asks fails with
    this error; a run that asks waits for somebody else.
    """


class ToolBug(CallError):
    """The tool's code raised something it did not mean to. The model learns a reference, the record has the details."""

    code = "tool_bug"
    effect = "unknown"


class InvalidResult(CallError):
    """The tool returned what its own result schema does not allow, or what is no value at all."""

    code = "invalid_result"
    effect = "done"


class ResourceLimit(CallError):
    """The call was stopped at a limit of memory, processor or output."""

    code = "resource_limit"
    effect = "unknown"


class CallCancelled(CallError):
    """The run was cancelled while the call was under way."""

    code = "cancelled"
    effect = "unknown"


class NeededCallFailed(CallError):
    """A call whose result this call uses was not carried out: so this call was not made."""

    code = "cancelled"


CODES: dict[str, type[CallError]] = {
    kind.code: kind
    for kind in (
        UnknownTool,
        InvalidArguments,
        PermissionDenied,
        ApprovalDenied,
        ApprovalExpired,
        BudgetExceeded,
        LoopDetected,
        RateLimited,
        Unavailable,
        CallTimeout,
        InDoubt,
        ToolError,
        ToolBug,
        InvalidResult,
        ResourceLimit,
        CallCancelled,
    )
}
"""Every kind of failed call by its code."""


def tell_problem(problem: Problem) -> str:
    """One problem in a line: path, rule, expected, received."""
    came = f", received {problem.received}" if problem.received else ""
    return f"{problem.path or 'arguments'}: {problem.rule}: expected {problem.expected}{came}"


def tell_problems(problems: Sequence[Problem]) -> str:
    """What a model is told of wrong arguments: one line each, first what is missing and must be asked for."""
    lines = [tell_problem(problem) for problem in problems]
    if any(problem.rule == "required" for problem in problems):
        lines.append("If you do not know a required value, ask the user for it; do not guess.")
    return "Invalid arguments. " + "\n".join(lines)
