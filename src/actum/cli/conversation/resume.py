"""`actum resume`: a run that waited, or was interrupted, gone on with."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, cast

import typer
from msgspec import Struct

from ...agents.agent import Agent
from ...compose.agents import make_runner, open_agents
from ...compose.published.offer import published_calls
from ...compose.published.tools import DeclaredTools
from ...compose.secrets import open_secrets
from ...compose.settings import Settings, WorkflowTable, choose_agent
from ...compose.tools import load_tools
from ...compose.upstreams.named_models import NamedModels
from ...compose.workflows import WorkflowParts, open_workflows, published_workflows, workflow_models, workflow_settings
from ...core.errors import FeatureMissing, ReplayDiverged, UsageError
from ...core.event import RunResult
from ...core.interfaces import Journal
from ...core.policy import Answer
from ...core.run.summary import RunSummary
from ...journal.kept_uses import with_all_uses
from ...journal.named import find_run
from ...journal.recording import RunState
from ...runs.options import Emit
from ...server.published import PublishedOffer
from ...workflow.conversation import SPEAKER
from .. import loading, options
from ..show.terminal import Terminal, said, who
from ..show.trace import Trace
from .approve import NO_TENANT, approver_at
from .ask import answered, asked_from, show
from .flags import AgentFlags, ModelFlags, RunFlags, settings_of, spread
from .run import as_recorded, carry_out, named_agent, report_call, report_workflow, view_of, wait_along


@spread
def resume(
    run_id: Annotated[str, typer.Argument(help="The run: its id, the beginning of it, or `last`.")],
    approve: Annotated[list[str] | None, typer.Option(metavar="ASK_ID", help="Approve this call.")] = None,
    deny: Annotated[list[str] | None, typer.Option(metavar="ASK_ID", help="Deny this call.")] = None,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why it is denied; the model is told.")] = "",
    answer: Annotated[
        list[str] | None,
        typer.Option(metavar="ASK_ID=TEXT", help="Answer this question or doubt."),
    ] = None,
    accept: Annotated[bool, typer.Option(help="Go on although prompt or tools have changed.")] = False,
    instructions: options.InstructionsFlag = "",
    *,
    parts: AgentFlags,
    asking: ModelFlags,
    how: RunFlags,
) -> int:
    """Go on with a run that waits for a person.

    Also with one that was interrupted or whose model failed: what is on record is not done again. Give the --tools and
    the --instructions that it was started with.
    """
    settings = settings_of(parts, asking, how, instructions=instructions)
    answers = _answers(approve or [], deny or [], reason, answer or [])
    return asyncio.run(_Resuming(settings, Terminal(), answers, accept, parts, asking, how).resume(run_id))


class _Resuming(Struct, frozen=True):
    """How a run is gone on with.

    Attributes:
        settings: of the command.
        terminal: where the run is shown.
        answers: what the flags answer, by the id of what was asked.
        accept: whether the run goes on although prompt or tools have changed.
        parts: the flags of the agent.
        asking: the flags of the model.
        how: how the run is shown.
    """

    settings: Settings
    terminal: Terminal
    answers: dict[str, Answer | str]
    accept: bool
    parts: AgentFlags
    asking: ModelFlags
    how: RunFlags

    async def resume(self, run_id: str) -> int:
        """Go on with the run of this id, or with this beginning of an id. The exit code."""
        async with options.journal(self.settings) as opened:
            found = await find_run(opened, run_id)
            await opened.held.release(found.run_id)
            try:
                if found.kind == "workflow":
                    return await self._workflow(opened, found.run_id, found.tenant)
                if not found.model:
                    return await self._call(opened, found.run_id)
                return await self._agent(opened, found)
            except FeatureMissing:
                raise  # no option of this command helps
            except ReplayDiverged as error:
                raise ReplayDiverged("{why} Here: the same --tools and settings, or --accept.", why=error) from None

    async def _agent(self, opened: Journal, found: RunSummary) -> int:
        """Go on with a run of an agent, or of a workflow that speaks like one."""
        settings, how = self.settings, self.how
        if asked := asked_from(RunState((await opened.read(found.run_id))[:1]).beginning()):
            chosen = as_recorded(settings, found.model)
            outcome = await answered(chosen, opened, found.question, asked, found.run_id, accept=self.accept)
            return show(self.terminal, outcome, asked.lang, as_json=how.as_json)
        if found.model.startswith(SPEAKER):
            chosen, opening = settings, _speaker_of(settings, opened, found.run_id)
        else:
            name = await named_agent(opened, found.run_id, settings, accept=self.accept)
            unnamed = settings if settings.agent or name or self.parts.model else as_recorded(settings, found.model)
            chosen = choose_agent(settings, name) if name else unnamed
            opening = loading.agent(chosen, opened, approver_at(self.terminal, yes=how.yes), self.terminal)
        async with opening as agent:
            view = view_of(self.terminal, agent.model, verbose=how.verbose, as_json=how.as_json)
            if isinstance(view, Trace):
                view.question(found.question)

            async def go(emit: Emit) -> RunResult:
                return await agent.resume(
                    found.run_id, self.answers, accept=self.accept, settings=self.asking.settings, emit=emit
                )

            return await carry_out(
                self.terminal, agent, chosen, view, go, as_json=how.as_json, conversation=found.conversation
            )

    async def _call(self, opened: Journal, call_id: str) -> int:
        """Go on with a call that was asked for without a model."""
        settings, terminal = self.settings, self.terminal
        approver = approver_at(terminal, yes=self.how.yes)
        trace = Trace(terminal, verbose=self.how.verbose and not self.how.as_json, quiet=True)
        state = RunState(await opened.read(call_id))
        called = {call.name for _, requested in state.requested for call in requested.calls}
        async with (
            loading.tools(settings, terminal) as loaded,
            open_workflows(settings, os.environ, Path.cwd(), journal=opened) as workflows,
            open_agents(settings, os.environ, Path.cwd(), journal=opened, approver=approver) as agents,
        ):
            runner = make_runner(
                settings,
                [*loaded.tools, *(workflows.tools if called & set(workflows.names) else [])],
                name="call",
                journal=opened,
                approver=approver,
                secrets=open_secrets(os.environ),
            )
            declared = DeclaredTools(
                settings, os.environ, Path.cwd(), journal=opened, workflows=workflows, agents=agents
            )
            agents.completing = declared.completing
            started = await with_all_uses(state.beginning(), opened)
            runner = await PublishedOffer(workflows, declared.of).runner_of(runner, started)
            try:
                result = await runner.resume(call_id, self.answers, accept=self.accept, emit=trace.show)
            finally:
                trace.close()
        return report_call(terminal, result, settings, as_json=self.how.as_json, verbose=self.how.verbose)

    async def _workflow(self, opened: Journal, run_id: str, tenant: str) -> int:
        """Go on with a run of a workflow, by the definition and the versions with which it began."""
        terminal = self.terminal
        started = RunState((await opened.read(run_id))[:1]).beginning()
        own = None if started.version else self.settings.workflows.get(started.agent)
        table = own or WorkflowTable(file="")
        settings = workflow_settings(self.settings, table)
        async with (
            loading.tools(settings, terminal) as loaded,
            open_workflows(settings, os.environ, Path.cwd(), journal=opened) as served,
            open_agents(settings, os.environ, Path.cwd(), journal=opened) as agents,
        ):
            calls = published_calls(settings, opened, loaded.tools, agents, served)
            parts = WorkflowParts(
                settings=settings,
                tools=loaded.tools,
                journal=opened,
                approver=approver_at(terminal, yes=self.how.yes),
                secrets=open_secrets(os.environ),
                egress=options.egress(),
                models=workflow_models(settings, table),
                named=NamedModels(settings, os.environ),
            )
            whose = tenant if own is None else ""  # a workflow of the settings uses what the operator published
            workflows = await published_workflows(parts, tenant=whose, name=started.agent, calls=calls)
            workflow = await workflows.of_run(run_id, tenant=tenant)
            trace = Trace(
                terminal, verbose=self.how.verbose and not self.how.as_json, streaming=not self.how.as_json, quiet=True
            )
            try:
                result = await workflow.resume(run_id, self.answers, accept=self.accept, emit=trace.show, wait_s=0)
                result = await wait_along(terminal, workflow, result, trace.show, quiet=self.how.as_json)
            finally:
                trace.close()
                await workflow.aclose()
        return report_workflow(terminal, result, settings, as_json=self.how.as_json, is_told=trace.has_streamed)


@asynccontextmanager
async def _speaker_of(settings: Settings, journal: Journal, run_id: str) -> AsyncIterator[Agent]:
    """The agent that stands for a workflow, of the settings or published, and began this run."""
    started = RunState((await journal.read(run_id))[:1]).beginning()
    async with (
        open_workflows(settings, os.environ, Path.cwd(), journal=journal) as workflows,
        open_agents(settings, os.environ, Path.cwd(), journal=journal) as agents,
    ):
        published_calls(settings, journal, load_tools(settings, Path.cwd()), agents, workflows)
        published = await PublishedOffer(workflows).agent_of(started)
        yield cast("Agent", published or workflows.agent(started.agent))


def _answers(approve: list[str], deny: list[str], reason: str, answer: list[str]) -> dict[str, Answer | str]:
    """What the flags answer, by the id of what was asked."""
    found: dict[str, Answer | str] = {ask_id: Answer("approve", by=who(), tenant=NO_TENANT) for ask_id in approve}
    found |= {ask_id: Answer("deny", said(reason), who(), tenant=NO_TENANT) for ask_id in deny}
    for item in answer:
        ask_id, sign, text = said(item).partition("=")
        if not sign or not text.strip():
            raise UsageError("--answer {item!r}: write --answer ASK_ID=TEXT", item=item)
        found[ask_id] = Answer("answer", text.strip(), who(), tenant=NO_TENANT)
    return found
