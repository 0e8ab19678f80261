"""Calls that an MCP client makes, as runs: each on the one call path, on record, and gone on with when it had to wait.

The arguments come from the client: a model there may have chosen them. See `CallsRequested`.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from mcp.shared.exceptions import MCPError
from msgspec import Struct

from ...core.call import ToolCall, ToolResult
from ...core.errors import BudgetExceeded, Busy, CallError, RunStopped, UsageError
from ...core.event import RunResult
from ...core.identity import Identity
from ...core.interfaces import Clock, Journal
from ...core.json import DEPTH_MAX, Json, JsonObject
from ...core.message import Usage
from ...core.policy import Answer
from ...core.run.ids import new_id
from ...core.run.pending import Pending
from ...journal.recording import MIDWAY, RunState
from ...runs.options import Emit, RunOptions
from ...runs.run import Stopping
from ...runs.runner import Begins, Runner, unless_stopped
from .client import McpClient
from .wire import WANTED, question_of, told_by_client

log = logging.getLogger("actum.mcp")

INVALID_PARAMS = -32602
MISSING_CAPABILITY = -32021
TOO_DEEP = f"arguments: nested deeper than {DEPTH_MAX} levels"
CALL = "call"
POLL_S = 0.2
"""Seconds between two attempts to go on with a call that somebody else goes on with."""


class NotYet(Struct, frozen=True):
    """What a call waits for, and its client can be asked.

    Attributes:
        run_id: the run that waits.
        questions: the requests that the client is to answer, by id.
    """

    run_id: str
    questions: JsonObject

    def told(self) -> JsonObject:
        """As the result of a request, which the client sends again with the answers."""
        return {"resultType": "input_required", "inputRequests": self.questions, "requestState": self.run_id}


async def begin(
    runner: Runner,
    tool: str,
    arguments: JsonObject,
    client: McpClient,
    who: Identity,
    run_id: str,
    emit: Emit | None,
    stopping: Stopping | None = None,
) -> RunResult:
    """Make a call. One that agents wait for that stand too deep, one under another, is not begun.

    Args:
        run_id: of the run of the call, just drawn by `new_call`.
        stopping: says why the call is cancelled, where it is.
    """
    asked = [ToolCall(id=CALL, name=tool, arguments=arguments)]
    try:
        return await runner.call(
            asked,
            RunOptions(
                run_id=run_id,
                principal=who.principal,
                tenant=who.tenant,
                roles=who.roles,
                key_id=who.key_id,
                approver=client,
                peer=client,
                holder=client.holder,
                trace=client.trace,
                tracestate=client.tracestate,
                memory=who.is_one_person,
                emit=emit,
            ),
            by="client",
            speaks_for="user" if who.speaks_for == "user" else "",
            drawn=True,
            stopping=stopping,
        )
    except BudgetExceeded as error:
        return _stopped(run_id, error.message, error.limit)


async def go_on(
    runner_of: Callable[[str], Awaitable[Runner]],
    run_id: str,
    responses: Json,
    client: McpClient,
    who: Identity,
    emit: Emit | None = None,
    *,
    journal: Journal,
    begins: Begins | None = None,
    stopping: Stopping | None = None,
) -> RunResult:
    """Go on with a call that waited, with what its client answered; what fits nothing that was asked is left alone.

    Args:
        runner_of: finds what can go on with a run.
        journal: where the call is written down.
        begins, stopping: as in `runs.runner.Setting`, where the call is a task.

    Raises:
        MCPError: there is no such call of theirs, or it can not be gone on with.
    """
    given = responses if isinstance(responses, dict) else {}
    runner = await runner_of(run_id)

    async def resume(recording: RunState) -> RunResult:
        return await runner.resume(
            run_id,
            answers_of(recording, given, who),
            approver=client,
            peer=client,
            holder=client.holder,
            emit=emit,
            begins=begins or unless_stopped,
            stopping=stopping,
        )

    return await resumed(run_id, resume, who, journal, runner.clock)


async def resumed(
    run_id: str, resume: Callable[[RunState], Awaitable[RunResult]], who: Identity, journal: Journal, clock: Clock
) -> RunResult:
    """Go on with a call of a client. While somebody else goes on with it, since it was answered say, this waits.

    Args:
        run_id: the run of the call.
        resume: goes on with the run.
        who: whose call it is.
        journal: where the call is written down.
        clock: the time.

    Raises:
        MCPError: there is no such call of theirs, or it can not be gone on with.
    """
    while True:
        entries = await journal.read(run_id, tenant=who.tenant)
        recording = RunState(entries)
        if not entries or recording.beginning().user != who.user:
            raise MCPError(INVALID_PARAMS, _NOT_KNOWN)
        try:
            unless_stopped(entries)
            return await resume(recording)
        except RunStopped:
            return _stopped(run_id, f"This call was stopped (run {run_id}). Made again, it begins anew.", "cancelled")
        except Busy:
            await clock.sleep(POLL_S)
        except UsageError as error:  # other tools than then
            log.info("run %s can not be gone on with: %s", run_id, error)
            raise MCPError(INVALID_PARAMS, _CHANGED.format(run_id=run_id)) from None


def _stopped(run_id: str, text: str, reason: str) -> RunResult:
    return RunResult(
        run_id=run_id,
        status="stopped",
        text=text,
        output_or_none=None,
        calls=(),
        messages=(),
        usage=Usage(),
        steps=0,
        stop_reason=reason,
    )


def answers_of(recording: RunState, responses: Mapping[str, Json], who: Identity) -> dict[str, Answer]:
    """What a client answered, as far as it was asked for that and it fits."""
    waiting = {asked.pending.name or asked.id: asked.pending for asked in recording.waiting()}
    found: dict[str, Answer] = {}
    for key, response in responses.items():
        pending = waiting.get(key)
        if pending is not None and pending.kind in WANTED and isinstance(response, dict):
            with contextlib.suppress(UsageError):  # it is asked again
                found[pending.id] = told_by_client(pending, response, who)
    return found


def outcome_of(result: RunResult, client: McpClient) -> ToolResult | NotYet:
    """What a call came to, or what it waits for.

    Raises:
        MCPError: it needs what this client did not declare.
    """
    if result.status != "paused":
        if not result.calls:
            return failed(result.text or "The call was stopped.")
        outcome = result.calls[-1][1]
        if outcome.error is not None and client.missing and client.is_modern:
            raise lacking(client)
        return outcome
    askable = [pending for pending in result.pending if client.is_modern and client.can_be_asked(pending)]
    if askable:
        return NotYet(result.run_id, asked_of(askable))
    waits = result.pending[0]
    begun = "This call has begun and waits" if waits.kind in MIDWAY else "This call was not made: it waits"
    return failed(
        f"{begun} for a person ({waits.kind} {waits.id}). Make the same call again to learn what has become of it."
    )


def failed(words: str) -> ToolResult:
    """A call that has no result, for a reason that is told."""
    return ToolResult(CALL, error=CallError(words).failure())


def lacking(client: McpClient) -> MCPError:
    """The error that tells a client which capability it would have needed to declare."""
    data: JsonObject = {"requiredCapabilities": client.missing}
    return MCPError(MISSING_CAPABILITY, "Missing required client capability", data)


def asked_of(askable: Sequence[Pending]) -> JsonObject:
    """The requests that put these questions to a client, by what each is called."""
    requests: JsonObject = {}
    for pending in askable:
        method, params = question_of(pending)
        requests[pending.name or pending.id] = {"method": method, "params": params}
    return requests


def new_call() -> str:
    """The id of the run of a new call."""
    return new_id("mcp")


_NOT_KNOWN = "This call is not known any more: make it anew."
_CHANGED = (
    "This call waits as the run {run_id}, and can not be gone on with here: the tools have changed since, or are "
    "others. Whoever runs this server can go on with it (actum resume {run_id} --accept); once the run is cancelled, "
    "the same call begins anew."
)
