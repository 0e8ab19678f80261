"""What is asked and answered at `/v1/tasks`, and what a request may say of the task that it asks for."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from ....core.json import Json
from ....core.run.task import Backoff, TaskState
from ....core.run.task_request import TaskRequest
from ..approvals.bodies import Approval
from ..calls import CallFailure
from ..fields import NO_CONTROL, Cursor, Limit, ListPart, Moment, Name


class TaskBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a request may say of the task that it asks for. Without `execute_async` nothing of it may be said.

    Attributes:
        execute_async: answer at once with the id of a task, instead of waiting.
        max_retries: after a failed attempt the task is tried again at most so often.
        backoff: how long to wait between attempts, in seconds.
        timeout_s: the seconds that one attempt may take.
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
        wait: the most seconds to wait until the task has ended, or waits for a person.
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
        limit: the most items of this part of the list.
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
        reason: the kind of the error that the task, or its latest attempt, ended with; empty where there was none.
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
    reason: str = ""


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
