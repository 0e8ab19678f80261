"""`actum run`: one question, answered."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import sys
from collections.abc import Awaitable, Callable
from typing import Annotated

import msgspec
import typer

from ...agents.agent import Agent
from ...compose.models import make_model
from ...compose.settings import MEMORY, Settings, table_of
from ...core.clock import SystemClock
from ...core.errors import (
    ContextOverflow,
    InvalidArguments,
    ModelError,
    UnknownName,
    UsageError,
)
from ...core.event import RunResult
from ...core.interfaces import Journal
from ...core.json import Json, JsonObject, dumps
from ...core.message import UserMessage
from ...core.model import Model
from ...core.run.pending import Pending, over_at
from ...journal.recording import RunState
from ...knowledge.citing.cited import quoted_in
from ...runs.options import Emit
from ...workflow.waiting import WAIT_S
from ...workflow.workflow import Workflow
from .. import loading, options
from ..exit_codes import DONE, FAILED, MISUSED, PAUSED
from ..language import language, tr
from ..show.moments import shown
from ..show.terminal import Terminal, said, who
from ..show.trace import JsonTrace, Trace, call_as_json, cut_answer, failure_text, pending_as_json, run_as_json
from .approve import approver_at, show_pending
from .attachments import read_file, read_pipe, told, with_files
from .files import note_files
from .flags import AgentFlags, ConversationFlags, ModelFlags, RunFlags, settings_of, spread
from .going_on import resume_command
from .models import choose_model

NO_LANGUAGE_MODEL = "The embedded model answers: rules, no language model. `actum doctor` says how to use a real one."

Go = Callable[[Emit], Awaitable[RunResult]]


@spread
def run(
    question: Annotated[
        str, typer.Argument(help="What you want; - reads it from stdin. Otherwise a file may be piped in beside it.")
    ],
    *,
    parts: AgentFlags,
    asking: ModelFlags,
    talk: ConversationFlags,
    how: RunFlags,
) -> int:
    """Answer a question with the help of tools."""
    text = (sys.stdin.read() if question == "-" else said(question)).strip()
    if not text:
        raise UsageError('there is no question: actum run "What is 17 * 23?"')
    settings = settings_of(parts, asking, how, instructions=talk.instructions)
    terminal = Terminal()
    settings = choose_model(settings, terminal, as_json=how.as_json)
    files = [read_file(path) for path in talk.attach or []]
    if question != "-" and (piped := read_pipe(terminal.note)) is not None:
        files.append(piped)
    with_files(UserMessage.of(text), files)  # refuses files that are too large together
    if files and not how.as_json:
        terminal.note(told(files))
    if not (settings.model or settings.agent) and terminal.err.is_terminal and not how.as_json:
        terminal.note(tr(NO_LANGUAGE_MODEL))

    async def command() -> int:
        approver = approver_at(terminal, yes=how.yes)
        async with (
            options.journal(settings) as opened,
            loading.agent(settings, opened, approver, terminal) as agent,
        ):
            view = view_of(terminal, agent.model, verbose=how.verbose, as_json=how.as_json)
            if isinstance(view, Trace):
                view.question(text)

            asked = with_files(UserMessage.of(text), files, await agent.list_tools() if files else ())

            async def go(emit: Emit) -> RunResult:
                return await agent.run(
                    asked,
                    conversation=talk.conversation,
                    owner=talk.owner,
                    after=talk.after,
                    principal=who(),
                    memory=not talk.no_memory,
                    emit=emit,
                )

            return await carry_out(
                terminal, agent, settings, view, go, as_json=how.as_json, conversation=talk.conversation
            )

    return asyncio.run(command())


async def carry_out(
    terminal: Terminal,
    agent: Agent,
    settings: Settings,
    view: Trace | JsonTrace,
    go: Go,
    *,
    as_json: bool,
    conversation: str = "",
) -> int:
    """Run to the end or the next pause, show it, and say how the command ends."""
    try:
        result = await go(view.show)
    except ModelError as error:
        hint = _how_to_try_again(error, settings, view.run_id, conversation) if view.run_id else ""
        raise type(error)(f"{error}{hint}", status=error.status, retry_after=error.retry_after) from error
    finally:
        if isinstance(view, Trace):
            view.close()
    if as_json and isinstance(view, Trace):
        terminal.json(run_as_json(result, agent.model.name, await quoted_in(agent.journal, result.run_id)))
    return report(terminal, result, settings, quiet=as_json)


def _how_to_try_again(error: ModelError, settings: Settings, run_id: str, conversation: str) -> str:
    """What a person can do about a run whose model gave no answer."""
    if not isinstance(error, ContextOverflow):
        return f" (on record; to try again: {resume_command(settings, run_id)})"
    again = resume_command(settings, run_id, "--truncation", "auto")
    ways = [f"{again} goes on without the beginning"] if error.can_be_shortened else []
    if conversation:
        ways.append(f"{shlex.join(['actum', 'conversations', 'compact', conversation])} sums the conversation up")
    return f" (on record as {run_id}{''.join(f'; {way}' for way in ways)})"


def report(terminal: Terminal, result: RunResult, settings: Settings, *, quiet: bool = False) -> int:
    """Tell on stderr which files were made, and why a run has no answer and how to go on. The exit code."""
    if not quiet:
        note_files(terminal, result, settings)
    if result.status == "done":
        return DONE
    if result.status == "stopped":
        if not quiet:
            said = result.text.removeprefix(cut_answer(result)).strip()  # its beginning stands on stdout
            terminal.error(
                "{said} ({stop_reason}; actum runs show {run})",
                said=said,
                stop_reason=result.stop_reason,
                run=result.run_id,
            )
        return FAILED
    if not quiet:
        for pending in () if terminal.person else result.pending:  # a person has just seen it
            show_pending(terminal, pending, None)
        if settings.journal == MEMORY:
            terminal.note(
                tr("The run waited for this, and is lost: its journal was in memory. Name a file by --journal")
            )
            return PAUSED
        ends = over_at(result.pending)
        if ends is None:
            terminal.note(tr("The run waits. To go on:"))
        else:
            moment = shown(ends)
            terminal.note(
                tr(
                    "The run waits until {moment}. `actum serve` goes on with the workflows that it serves;",
                    moment=moment,
                )
            )
            terminal.note(tr("to go on yourself, when the time has come:"))
        for pending in result.pending:
            terminal.err.print(f"  {_how_to_go_on(result.run_id, pending, settings)}", soft_wrap=True)
    return PAUSED


def _how_to_go_on(run_id: str, pending: Pending, settings: Settings) -> str:
    """The command that answers what is pending, with the flags that the run was started with."""
    if over_at([pending]) is not None:
        return resume_command(settings, run_id)
    ways = {"approval": ("--approve", pending.id), "doubt": ("--answer", f"{pending.id}=done|not_done|retry|unknown")}
    return resume_command(settings, run_id, *ways.get(pending.kind, ("--answer", f"{pending.id}=...")))


def report_call(terminal: Terminal, result: RunResult, settings: Settings, *, as_json: bool, verbose: bool) -> int:
    """Print the result of a call that was asked for without a model, and return the exit code."""
    if result.status != "done":
        if as_json:
            pending: list[Json] = [pending_as_json(item) for item in result.pending]
            terminal.json({"run_id": result.run_id, "status": result.status, "pending": pending})
        return report(terminal, result, settings, quiet=as_json)
    ((made, outcome),) = result.calls
    if as_json:
        terminal.json({"run_id": result.run_id, "status": result.status, **call_as_json(made, outcome)})
    if outcome.error is None:
        if not as_json and not verbose:
            terminal.text(outcome.text)
        return report(terminal, result, settings, quiet=as_json)
    if not as_json:
        terminal.error(f"{made.name}: {failure_text(outcome.error, language())}")
        note_files(terminal, result, settings)
    return MISUSED if outcome.error.code == InvalidArguments.code else FAILED


def report_workflow(
    terminal: Terminal, result: RunResult, settings: Settings, *, as_json: bool, is_told: bool = False
) -> int:
    """Print what a workflow came to. The exit code.

    Args:
        is_told: what the workflow said was shown while it happened.
    """
    if as_json:
        pending: list[Json] = [pending_as_json(item) for item in result.pending]
        told = {"run_id": result.run_id, "status": result.status, "output": result.output_or_none, "pending": pending}
        terminal.json(told)
    elif result.status == "done" and not is_told:
        terminal.text(result.text or dumps(result.output_or_none))
    return report(terminal, result, settings, quiet=as_json)


async def wait_along(
    terminal: Terminal,
    workflow: Workflow,
    result: RunResult[JsonObject],
    emit: Emit,
    *,
    quiet: bool,
) -> RunResult[JsonObject]:
    """Wait along with a run of a workflow that waits for a time which comes soon, and say so on stderr.

    Args:
        terminal: where it is said.
        workflow: of the run.
        result: how the run stands.
        emit: is told each event.
        quiet: say nothing.

    Returns:
        How the run stands then.
    """
    clock = SystemClock()
    while result.status == "paused" and (ends := over_at(result.pending)) is not None:
        left = ends - clock.now()
        if left > WAIT_S:
            break
        if not quiet:
            terminal.note(tr("waits until {moment}", moment=shown(ends, "%H:%M:%S")))
        result = await workflow.wait_along(result, wait_s=max(0.0, left) + 1, emit=emit)
    return result


async def named_agent(journal: Journal, run_id: str, settings: Settings, *, accept: bool) -> str:
    """The name of the agent of the settings that a run belongs to; empty where it belongs to none.

    Raises:
        UnknownName: the settings have no such agent, and nobody said that the run is to go on all the same.
    """
    state = RunState(await journal.read(run_id))
    latest = state.agent or state.beginning()
    if not latest.agent_digest or settings.agent:
        return ""
    if latest.agent in settings.agents or not accept:
        try:
            table_of(settings, latest.agent)
        except UnknownName as error:
            raise UnknownName(
                "run {run} is of an agent of other settings: {why}. --accept goes on without it", run=run_id, why=error
            ) from None
        return latest.agent
    return ""


def as_recorded(settings: Settings, recorded: str) -> Settings:
    """The settings with the model that the run was started with: the one that is set, where it is that one."""
    if settings.model:
        with contextlib.suppress(UsageError):
            if make_model(settings).name == recorded:
                return settings
    chosen = msgspec.structs.replace(settings, model=recorded, base_url="")
    try:
        make_model(chosen)
    except UsageError as error:
        raise type(error)(f"{error}. The run was started with {recorded!r}: name that model with --model") from None
    return chosen


def view_of(terminal: Terminal, model: Model, *, verbose: bool, as_json: bool) -> Trace | JsonTrace:
    """How a run is shown while it happens."""
    if as_json and verbose:
        return JsonTrace(terminal)
    streaming = terminal.live and not (verbose or as_json)
    return Trace(terminal, verbose=verbose, streaming=streaming, quiet=as_json, model=model)
