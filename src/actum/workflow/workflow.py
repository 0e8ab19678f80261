"""`Workflow`: a graph that a person drew, with the tools and models that its nodes name.

    workflow = Workflow.load("flight_desk.workflow.yaml", tools=[search_flights, book_flight], models={"fast": model})
    result = workflow.run_sync({"date": "2026-12-01", "budget": 2000})

The workflow is configuration, as an agent is. An execution is a run; its state is its record. See `engine.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import TypedDict, Unpack, cast

import msgspec
from msgspec import structs

from ..agents.branch import branch, take_over
from ..agents.conversation import history_of
from ..call.asking.posted import take_posted
from ..call.limits.limits import Limits
from ..core.budget import Price
from ..core.call import TextPart, ToolResult
from ..core.definition import TextProblem
from ..core.errors import InvalidArguments, UsageError
from ..core.event import Event, RunResult
from ..core.holder import Holder
from ..core.interfaces import Clock, Context, Journal, Peer, Toolset
from ..core.json import Json, JsonObject, dumps
from ..core.message import Message, Reply, UserMessage
from ..core.model import Model
from ..core.policy import Answer, Approver, Policy
from ..core.process.worker_thread import off_loop
from ..core.provenance import Origin, Source
from ..core.run.ids import new_id
from ..core.run.node_records import NODE_VALUE_BYTES_MAX, NodeLeft
from ..core.run.record import Started, TaskQueued
from ..core.secrets.redaction import DEFAULT_REDACTION, Redaction
from ..core.secrets.store import SecretSource
from ..core.stored.definitions import TRIED
from ..core.under_way import call_under_way
from ..core.user import User
from ..journal.kept_tools import keep_tools
from ..journal.recording import RunState
from ..models.catalog import open_model
from ..policy.labels import Label
from ..policy.lineage import From
from ..runs.below import (
    answers_of,
    below,
    forked,
    handed_down,
    id_below,
    id_of_fork,
    is_begun,
    on_behalf,
    seen_above,
    told_above,
)
from ..runs.given_tools import Toolish
from ..runs.model_side import ModelSide
from ..runs.options import ConversationOptions, Emit, RunOptions
from ..runs.recorded import checked_id, sound
from ..runs.run import Stopping
from ..runs.runner import Answers, Begins, Runner, Setting, unless_stopped
from ..runs.streaming import streamed, without_loop
from ..sandbox.jail import Jail
from ..schema.schema import compile_schema
from ..transport.egress import Egress
from .conversation import ConversationVariables, remembered_by, state_of
from .definition.graph import Definition, is_foreign, nodes_in
from .definition.settings import HttpNode, ModelNode
from .definition.text import BadWorkflow
from .definition.tool_names import called_names, workflow_names
from .engine import WorkflowEngine
from .load import check_text, read_definition
from .node_facts import CheckFindings, findings_of
from .node_models import NodeModels, OfferedModels
from .pure import NodeFailed
from .template import TemplateWriter
from .tools import WorkflowTools, literal_origin
from .turn import conversation_held, for_caller, read_conversation, with_variables
from .waiting import WAIT_S, WaitingRuns, WholeRun, waited_along
from .workflow_tool import OpensWorkflow, WorkflowTool

Modelish = Model | str


class WorkflowKeywords(TypedDict, total=False):
    """What `Workflow.run` takes besides the inputs."""

    context: object
    principal: str
    tenant: str
    conversation: str
    owner: str | None
    roles: Sequence[str]
    key_id: str
    run_id: str | None
    approver: Approver | None
    peer: Peer | None
    holder: Holder | None
    trace: str
    request: str


class Workflow:
    """A graph of calls that survives anything.

    Args:
        definition: the graph, as `Workflow.load` reads it.
        name: what the runs are called on record; by default the name in the definition.
        tools: what the nodes may call: as for `Agent`, and agents and workflows.
        models: the models that the nodes name; a name that is not here is opened as for `Agent`.
        policy, limits, prices, journal, approver, secrets, redaction, clock: as for `Agent`. How many nodes a run has,
            and how long it takes, is limited by the definition.
        jail: what the code of `code` nodes may do.
        egress: the operator's rules for the requests of `http` nodes.
        version: the number under which the definition was published; 0 where it was not.
        uses: the publications that `workflow` nodes stand for; see `published.PublishedWorkflows`, which fills in both.
        offered: the models that the program offers by names of its own, such as those of `[models.*]`; None for none.
            `models` come before them.
        labels: as for `Agent`. A model that may not be told a value, of a node or of an agent, is told `[personal]`.

    Attributes:
        definition: the graph.
        name: what the runs are called on record.
        version, uses: as given.

    Raises:
        UsageError: two tools have one name, a schema is bad, or a node names a version that is not in `uses`.
    """

    def __init__(
        self,
        definition: Definition,
        tools: Sequence[Toolish] = (),
        *,
        name: str = "",
        models: Mapping[str, Modelish] | None = None,
        policy: Policy | None = None,
        limits: Limits | None = None,
        prices: Mapping[str, Price] | None = None,
        journal: Journal | str | Path | None = None,
        approver: Approver | None = None,
        secrets: Mapping[str, str] | SecretSource | None = None,
        redaction: Redaction = DEFAULT_REDACTION,
        clock: Clock | None = None,
        jail: Jail | None = None,
        egress: Egress | None = None,
        version: int = 0,
        uses: Mapping[str, int] | None = None,
        offered: OfferedModels | None = None,
        labels: Mapping[str, Label] | None = None,
    ) -> None:
        self.definition = definition
        self.name = name or definition.name
        self.version = version
        self.uses = dict(uses or {})
        nodes = nodes_in(definition.graph)
        missing = sorted(name for name in workflow_names(definition) if "@" in name and name not in self.uses)
        if not (version or self.uses):
            missing += [name for name in called_names(definition) if "@" in name]
        if missing:
            raise UsageError(
                "{definition} uses {missing}, a published version: open the workflow with PublishedWorkflows",
                definition=definition.name,
                missing=missing[0],
            )
        kinds = {node.type.name for node in nodes}
        own: list[Toolish] = []
        if kinds & {"code", "http"}:
            urls = [node.settings.url for node in nodes if isinstance(node.settings, HttpNode)]
            named = [] if is_foreign(definition, version) else sorted({literal_origin(url) for url in urls} - {""})
            own.append(WorkflowTools(kinds, named=named, jail=jail, egress=egress))
        self.runner = Runner(
            [*tools, *own],
            name=self.name,
            policy=policy,
            limits=limits or Limits(steps=None, calls=None, seconds=definition.limits.seconds),
            prices=prices,
            journal=journal,
            approver=approver,
            secrets=secrets,
            redaction=redaction,
            clock=clock,
            labels=labels,
        )
        self._node_models = NodeModels(dict(models or {}), offered)
        self._models: dict[str, Model] = {}
        self._known = {definition.digest: definition}
        is_of_tenant = bool(version) or any(each.startswith(TRIED) for each in self.uses)
        self._inputs = compile_schema(definition.inputs or {"type": "object"}, where="inputs", foreign=is_of_tenant)
        self._templates = TemplateWriter()

    @classmethod
    def load(
        cls,
        path: str | Path,
        tools: Sequence[Toolish] = (),
        *,
        models: Mapping[str, Modelish] | None = None,
        policy: Policy | None = None,
        limits: Limits | None = None,
        prices: Mapping[str, Price] | None = None,
        journal: Journal | str | Path | None = None,
        approver: Approver | None = None,
        secrets: Mapping[str, str] | SecretSource | None = None,
        redaction: Redaction = DEFAULT_REDACTION,
        clock: Clock | None = None,
        jail: Jail | None = None,
        egress: Egress | None = None,
        labels: Mapping[str, Label] | None = None,
    ) -> Workflow:
        """Read a workflow from a file, `name.workflow.yaml` or JSON; the other arguments are those of `Workflow`.

        Raises:
            BadWorkflow: something is wrong with the file; each problem is told with its line.
        """
        return cls(
            read_definition(Path(path).read_bytes()),
            tools,
            models=models,
            policy=policy,
            limits=limits,
            prices=prices,
            journal=journal,
            approver=approver,
            secrets=secrets,
            redaction=redaction,
            clock=clock,
            jail=jail,
            egress=egress,
            labels=labels,
        )

    @property
    def journal(self) -> Journal:
        """Where the runs are written down."""
        return self.runner.journal

    @property
    def own_uses(self) -> dict[str, int]:
        """What a run has on record that calls this workflow as a published one; see `Started.uses`."""
        return {self.name: self.version, **self.uses}

    async def check(self, text: str | bytes) -> Sequence[TextProblem]:
        """What is wrong with a text, with the tools and models that are here.

        Args:
            text: the text of a definition.
        """
        return (await self.findings(text)).problems

    async def findings(self, text: str | bytes) -> CheckFindings:
        """The same, with what is known of each node.

        Args:
            text: the text of a definition.
        """
        try:
            checked = await off_loop(len(text), check_text, text)
        except BadWorkflow as bad:
            return CheckFindings(bad.problems)
        wrong = self._node_models.wrong_in(checked.graph) if checked.graph is not None else {}
        return await off_loop(len(text), findings_of, checked, (await self.runner.catalog()).tools, wrong)

    # Runs -------------------------------------------------------------------------------------------------------------

    async def run(
        self,
        inputs: JsonObject | None = None,
        *,
        given_by: Source = "user",
        emit: Emit | None = None,
        wait_s: float | None = WAIT_S,
        **options: Unpack[WorkflowKeywords],
    ) -> RunResult[JsonObject]:
        """Carry out the workflow.

        Args:
            inputs: what the workflow is given; it has to fit `inputs` of the definition.
            given_by: where the inputs came from: `user` (a person), `client` (a program at a server) or `event` (a
                trigger).
            emit: is told each event as it happens.
            wait_s: the seconds that this waits along, where the run waits for a time alone; None for as long as it
                takes. A run that waits longer is `paused`: see `attend`.
            options: those of `Agent.run`. With `conversation` the run belongs to a conversation: it sees the variables
                of the conversation, and model nodes with `memory` are told earlier turns.

        Returns:
            The outputs, as `result.output`. `status` is `paused` when somebody must be asked or something is waited
            for, `stopped` at a limit.

        Raises:
            InvalidArguments: the inputs do not fit.
            WorkflowFailed: a node failed, and the workflow says nothing of what is to happen then.
            UsageError: a run of this id exists.
            Busy: another run of this conversation is under way.
        """
        above = call_under_way()
        given = on_behalf(ConversationOptions(**options), above)
        if given.run_id is not None:
            run_id = checked_id(given.run_id)
        else:
            run_id = new_id("run") if above is None else id_below(above, self.name, inputs, given.principal)
        if above is not None and given_by == "user":
            given_by = "agent"  # nothing that the code of a call gives counts as the user's words
        told = WholeRun(emit) if emit is not None else None
        setting = self.runner.setting(
            structs.replace(given, emit=told.tell if told is not None else None), agent=self, above=above
        )
        journal = setting.journal
        started, labels = await self._started(inputs, given, given_by), self.runner.labels
        if above is not None and await is_begun(run_id, journal, above):
            result = await self._go_on(run_id, partial(handed_down, above.answers), setting)
        else:
            started = started if above is None else below(started, above)
            is_new = given.run_id is None and above is None
            async with journal.claim(run_id), conversation_held(started, journal):
                if not is_new and await journal.read(run_id):
                    raise UsageError("there is a run {wanted!r} already: use resume() to go on with it", wanted=run_id)
                result = await self._begin(run_id, await with_variables(run_id, started, journal, labels), setting)
        result = await self._waited_along(result, setting, wait_s, told)
        if above is not None:
            told_above(result)
        return result

    async def queue(
        self,
        inputs: JsonObject | None,
        task: TaskQueued,
        options: ConversationOptions,
        *,
        given_by: Source = "user",
    ) -> str:
        """Put a run on record as a task, to be carried out later: by `resume`, in this process or another. The run sees
        the variables of its conversation as they are when the run begins.

        Args:
            inputs: what the workflow is given.
            task: what was asked for beside the inputs.
            options: as for `Agent.run`; what is not on record is not used.
            given_by: as for `run`.

        Returns:
            The id of the run, which is also the task's.

        Raises:
            InvalidArguments: the inputs do not fit.
            UsageError: a run of this id exists, or too many runs of the conversation are open.
            Busy: somebody is beginning a run of this id.
        """
        run_id = new_id("run") if options.run_id is None else checked_id(options.run_id)
        started = await self._started(inputs, options, given_by)
        async with self.journal.claim(run_id):
            if options.run_id is not None and await self.journal.read(run_id):
                raise UsageError("there is a run {wanted!r} already: use resume() to go on with it", wanted=run_id)
            self._keep_definition(self.journal)
            await with_variables(run_id, started, self.journal, {})  # or nothing is queued: too many runs are open
            started = _with_inputs_apart(run_id, started, self.journal)
            await self.runner.start(run_id, started, self.runner.setting(agent=self))
            self.journal.append(run_id, task)
            await self.journal.sync(run_id)
        return run_id

    def check_inputs(self, inputs: JsonObject) -> None:
        """Raises:
        InvalidArguments: the inputs do not fit; nothing is begun.
        """
        checked = self._inputs.check(inputs, coerce=True)
        if checked.problems:
            raise InvalidArguments(checked.problems)

    def run_sync(
        self,
        inputs: JsonObject | None = None,
        *,
        given_by: Source = "user",
        wait_s: float | None = WAIT_S,
        **options: Unpack[WorkflowKeywords],
    ) -> RunResult[JsonObject]:
        """`run` for programs without an event loop.

        Raises:
            UsageError: there is a running event loop.
        """
        return without_loop(lambda: self.run(inputs, given_by=given_by, wait_s=wait_s, **options), "workflow")

    async def stream(
        self,
        inputs: JsonObject | None = None,
        *,
        given_by: Source = "user",
        wait_s: float | None = WAIT_S,
        **options: Unpack[WorkflowKeywords],
    ) -> AsyncGenerator[Event, None]:
        """`run`, told as it happens. Leaving the loop early cancels the run."""
        run = partial(self.run, inputs, given_by=given_by, wait_s=wait_s, **options)
        async with aclosing(streamed(lambda emit: run(emit=emit))) as events:
            async for event in events:
                yield event

    async def resume(
        self,
        run_id: str,
        answers: Mapping[str, Answer | str] | None = None,
        *,
        principal: str | None = None,
        tenant: str | None = None,
        context: object = None,
        accept: bool = False,
        approver: Approver | None = None,
        peer: Peer | None = None,
        holder: Holder | None = None,
        emit: Emit | None = None,
        begins: Begins | None = None,
        stopping: Stopping | None = None,
        wait_s: float | None = WAIT_S,
    ) -> RunResult[JsonObject]:
        """Go on with a run that was paused or interrupted, by the definition with which the run began.

        Args:
            answers: by the id of what is pending, as for `Agent.resume`; for a choice the name of the choice.
            wait_s: as for `run`.
            run_id, principal, tenant, context, accept, approver, peer, holder, emit, begins, stopping: as for
                `Agent.resume`.

        Raises:
            UnknownName: there is no such run (of this user), or nothing pending under such an id.
            ReplayDiverged: the tools have changed, or the record does not fit the definition; nothing was done.
        """
        above = call_under_way()
        journal = await self.runner.journal_of(run_id, above)
        await self.runner.check_user(run_id, principal, tenant, journal)
        told = WholeRun(emit) if emit is not None else None
        setting = self.runner.setting(
            RunOptions(
                context=context,
                approver=approver,
                peer=peer,
                holder=holder,
                emit=told.tell if told is not None else None,
            ),
            accept=accept,
            agent=self,
            above=above,
            journal=journal,
            begins=begins,
            stopping=stopping,
        )
        said = partial(answers_of, answers=answers or {}, above=above, is_shared=journal.is_shared)
        result = await self._waited_along(await self._go_on(run_id, said, setting), setting, wait_s, told)
        return await seen_above(result, journal, above)

    async def wait_along(
        self, result: RunResult[JsonObject], *, wait_s: float | None = WAIT_S, emit: Emit | None = None
    ) -> RunResult[JsonObject]:
        """Wait along with a run that was paused and waits for a time alone, and go on with it then.

        Args:
            result: how the run stands.
            wait_s, emit: as for `run`.

        Returns:
            How the run stands then; `result` itself where the run waits for something else, or longer.

        Raises:
            WorkflowFailed: as for `run`.
        """
        told = WholeRun(emit) if emit is not None else None
        setting = self.runner.setting(RunOptions(emit=told.tell if told is not None else None), agent=self)
        return await self._waited_along(result, setting, wait_s, told)

    async def attend(self) -> None:
        """Go on with the runs of this workflow whose waits are over, until this is cancelled. Runs that an earlier
        program left waiting are among them, and so are questions that nobody answers in time.

        One look a second is taken at the journal, however many runs wait. Several programs may attend to the same runs;
        `actum serve` attends to the workflows that it serves.
        """
        runs = WaitingRuns(
            self.journal,
            self.runner.clock,
            self._is_own,
            lambda run_id, _, begins: self.resume(run_id, begins=begins, wait_s=0),
        )
        await runs.attend()

    async def _is_own(self, run_id: str, state: RunState) -> bool:
        """Whether a run was begun under the name of this workflow, with the same publications."""
        started = state.beginning()
        return bool(started.workflow) and started.agent == self.name and started.uses == self.uses

    async def fork(
        self,
        run_id: str,
        at: int,
        *,
        result: str | ToolResult | None = None,
        new_run: str | None = None,
        principal: str | None = None,
        tenant: str | None = None,
        request: str = "",
        trace: str = "",
    ) -> str:
        """Begin a run that branches off from another, for `resume`; the arguments are those of `Agent.fork`.

        Returns:
            The id of the new run.
        """
        above = call_under_way()
        journal = await self.runner.journal_of(run_id, above)
        await self.runner.check_user(run_id, principal, tenant, journal)
        entries = sound(run_id, await journal.read(checked_id(run_id)))
        records = branch(run_id, entries, at, None, result)
        new = id_of_fork(new_run, above, self.name, run_id, at, None, result)
        catalog = await self.runner.catalog()
        async with journal.claim(new):
            if above is not None and await is_begun(new, journal, above):
                return new
            if await journal.read(new):
                raise UsageError("there is a run {new!r} already", new=new)
            keep_tools(journal, catalog.digest, catalog.tools)
            self._keep_definition(journal)
            started = structs.replace(
                records[0],
                tools=catalog.digest,
                workflow=self.definition.digest,
                version=self.version,
                uses=self.uses,
                conversation="",  # a fork stands alone: it does not change the variables of the conversation
                forked=run_id,
                fork_at=at,
                trace=trace,
                request=request,
            )
            await take_over(journal, run_id, new, (forked(started, above), *records[1:]))
        return new

    def as_tool(
        self,
        name: str | None = None,
        description: str = "",
        *,
        given_by: Source = "agent",
        answers: bool = False,
        opened: OpensWorkflow | None = None,
    ) -> Toolset:
        """This workflow as a tool, for an agent or for another workflow. Its parameters are `inputs`.

        Args:
            name: the tool's name; by default the workflow's.
            description: what the workflow is good for; by default the definition says so.
            given_by: where the arguments of the calls come from: `client` for a tool that a server offers to programs.
            answers: the agent that has this tool stands for the workflow: its conversation is the workflow's.
            opened: opens the workflow for a call, where its nodes use publications that may change; None for this one.
        """
        text = description or self.definition.description or f"Run the workflow {self.name!r}."
        return WorkflowTool(self, name or self.name, text, given_by, answers=answers, opened=opened)

    async def run_child(
        self, inputs: JsonObject, run_id: str, context: Context, *, given_by: Source = "agent", answers: bool = False
    ) -> RunResult[JsonObject]:
        """Start the run of this id on behalf of a call, or go on with it.

        Args:
            inputs: what the workflow is given.
            run_id: the id of the run.
            context: of the call.
            given_by: where the inputs came from.
            answers: the conversation of the run that calls is the workflow's.

        Raises:
            UsageError: the context belongs to no run.
            Busy: another run changes the variables of the conversation.
        """
        journal = context.journal
        if journal is None:
            raise UsageError("a workflow works as a tool within a run only: this context belongs to none")
        around = RunOptions(context=context.deps, peer=context.peer, holder=context.holder)
        setting = self.runner.setting(around, agent=self, above=context, journal=journal)
        if await journal.read(run_id, tenant=context.tenant):
            return await self._go_on(run_id, partial(handed_down, context.answers), setting)
        given = ConversationOptions(
            principal=context.principal, tenant=context.tenant, roles=context.roles, key_id=context.key_id
        )
        started = below(await self._started(inputs, given, given_by), context)
        if answers and (self.definition.conversation or _has_memory(self.definition)):
            started = await for_caller(run_id, started, context, journal, self.runner.labels)
        async with journal.claim(run_id), conversation_held(started, journal):
            return await self._begin(run_id, started, setting)

    async def aclose(self) -> None:
        """End what is kept open between runs."""
        await self._templates.aclose()

    # Inside -----------------------------------------------------------------------------------------------------------

    def _keep_definition(self, journal: Journal) -> None:
        journal.keep(self.definition.digest, self.definition.text)

    async def _started(self, inputs: JsonObject | None, options: ConversationOptions, given_by: Source) -> Started:
        """The first record of a run.

        Raises:
            InvalidArguments: the inputs do not fit.
        """
        checked = self._inputs.check(inputs or {}, coerce=True)
        if checked.problems:
            raise InvalidArguments(checked.problems)
        options = options.checked()
        return Started(
            agent=self.name,
            model="",
            said=(),
            tools=(await self.runner.catalog()).digest,
            limits=self.runner.limits_recorded,
            principal=options.principal,
            tenant=options.tenant,
            roles=tuple(options.roles),
            key_id=options.key_id,
            conversation=options.conversation,
            owner=options.other_owner,
            trace=options.trace,
            request=options.request,
            workflow=self.definition.digest,
            inputs=checked.arguments,
            given_by=given_by,
            version=self.version,
            uses=self.uses,
            outside=(),
        )

    async def _waited_along(
        self, result: RunResult[JsonObject], setting: Setting, wait_s: float | None, told: WholeRun | None
    ) -> RunResult[JsonObject]:
        """Wait along with a run as `waiting.waited_along` says, and tell `told` the end."""

        async def go_on() -> RunResult[JsonObject]:
            budget = self.runner.budget(self, setting.budget.above, setting.budget.call)
            fresh = structs.replace(setting, budget=budget, begins=unless_stopped)
            return await self._go_on(result.run_id, lambda state: [], fresh)

        result = await waited_along(result, go_on, setting.journal, self.runner.clock, wait_s)
        if told is not None:
            told.end(result)
        return result

    async def _begin(self, run_id: str, started: Started, setting: Setting) -> RunResult[JsonObject]:
        self._keep_definition(setting.journal)
        state = await self.runner.start(run_id, _with_inputs_apart(run_id, started, setting.journal), setting)
        return await self._carry_out(run_id, state, setting)

    async def _go_on(self, run_id: str, answers: Answers, setting: Setting) -> RunResult[JsonObject]:
        def check(state: RunState) -> None:
            if not state.beginning().workflow:
                raise UsageError("run {run!r} is none of a workflow: go on with it by its agent", run=run_id)
            if state.beginning().uses != self.uses:
                began = ", ".join(f"{name} {number}" for name, number in sorted(state.beginning().uses.items()))
                raise UsageError(
                    "run {run!r} began with other versions of the workflows that it uses ({began}): "
                    "open the workflow with PublishedWorkflows.of_run",
                    run=run_id,
                    began=began or "none",
                )

        # The conversation first: the attempt of a task that finds it held is not begun.
        first = (await setting.journal.read(checked_id(run_id)))[:1]
        begun = RunState(first).beginning() if first and first[0].payload else None
        async with (
            conversation_held(begun, setting.journal),
            self.runner.taken_up(run_id, answers, setting, check) as state,
        ):
            await read_conversation(run_id, state, setting.journal, self.runner.labels)
            return await self._carry_out(run_id, state, setting)

    async def _carry_out(self, run_id: str, state: RunState, setting: Setting) -> RunResult[JsonObject]:
        started, journal = state.beginning(), setting.journal
        definition = await self._definition(started.workflow, journal)
        kept: dict[str, Json] = {}
        wanted = {record.kept for _, record in state.nodes if isinstance(record, NodeLeft) and record.kept}
        for digest in sorted(wanted | ({started.inputs_kept} - {""})):
            kept[digest] = msgspec.json.decode(await journal.kept(digest))
        inputs = cast(JsonObject, kept[started.inputs_kept]) if started.inputs_kept else started.inputs
        source = started.given_by if started.given_by in ("user", "agent", "client", "developer", "event") else "tool"
        known = await remembered_by(journal, started)
        now = None
        if started.conversation and definition.conversation:
            now = (await state_of(journal, started.owning_user, started.conversation)).variables
        names = frozenset(definition.conversation if started.conversation else ())
        earlier = await history_of(journal, started) if _has_memory(definition) else []
        # What was answered before may hold what a tool said: it counts as such where a model repeats it.
        heard: list[Message] = [
            UserMessage((TextPart(each.text),), "tool") if isinstance(each, Reply) and each.text else each
            for each in earlier
        ]
        heard.append(UserMessage((TextPart(dumps(inputs)),), source))
        drawn = started.owning_user
        if not drawn.principal:  # without a user, each conversation for itself, else each run
            drawn = User(drawn.tenant, started.conversation or run_id)
        async with self.runner.at_work(run_id, state, setting, ModelSide(heard=heard)) as run:
            engine = WorkflowEngine(
                run,
                definition,
                inputs,
                From((Origin(started.given_by),)),
                partial(self._model, user=drawn),
                heard,
                kept,
                self._templates,
                partial(take_posted, journal, run_id, state),
                ConversationVariables(names, known, now),
                earlier,
                self.runner.labels,
            )
            return cast("RunResult[JsonObject]", await engine.drive())

    async def _definition(self, digest: str, journal: Journal) -> Definition:
        """The definition with which a run began: parsed once."""
        if digest not in self._known:
            text = await journal.kept(digest)
            self._known[digest] = await off_loop(len(text), read_definition, text, is_kept=True)
        return self._known[digest]

    async def _model(self, name: str, user: User) -> Model:
        """The model that a node names.

        Raises:
            NodeFailed: it can not be asked now.
            UsageError: there is none.
        """
        try:
            model = await self._node_models.open(name, user)
        except UsageError as error:
            raise NodeFailed("no_model", str(error)) from None
        if not isinstance(model, str):
            return model
        if name not in self._models:
            self._models[name] = open_model(model)
        return self._models[name]


def _with_inputs_apart(run_id: str, started: Started, journal: Journal) -> Started:
    """The first record of a run; large inputs are kept by their digest instead."""
    text = msgspec.json.encode(started.inputs)
    if len(text) <= NODE_VALUE_BYTES_MAX:
        return started
    kept = hashlib.sha256(text).hexdigest()
    journal.keep(kept, text, run_id)
    return structs.replace(started, inputs={}, inputs_kept=kept)


def _has_memory(definition: Definition) -> bool:
    """Whether a node is told of the conversation."""
    nodes = nodes_in(definition.graph)
    return any(isinstance(node.settings, ModelNode) and node.settings.memory is not None for node in nodes)
