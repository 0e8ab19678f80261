"""`Agent`: a model, tools and instructions, put together once and run as often as you like.

    agent = Agent("openai:gpt-5", tools=[weather])
    print(agent.run_sync("What is the weather in Beijing?").text)

The agent is configuration. A run's state is its journal; see `driver.py` for how it is carried out.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, Unpack, cast

import msgspec

from ..call.choice import Choice
from ..call.limits.limits import Limits
from ..core.budget import Price
from ..core.call import MediaPart, ToolResult
from ..core.cancellation import apart
from ..core.errors import PermissionDenied, UsageError
from ..core.event import Event, RunResult
from ..core.holder import Holder
from ..core.interfaces import Clock, Context, Journal, Peer, Toolset
from ..core.json import JsonObject
from ..core.message import Message, UserMessage
from ..core.model import Model, default_max_tokens, is_supervised
from ..core.model_settings import ModelSettings, checked_settings
from ..core.policy import Answer, Approver, Defence, Facts, Policy
from ..core.process.worker_thread import off_loop
from ..core.run.ids import new_id
from ..core.run.plan import UPDATE_PLAN
from ..core.run.record import AgentChanged, Started, TaskQueued
from ..core.secrets.redaction import DEFAULT_REDACTION, WORK, Redaction
from ..core.secrets.store import SecretSource
from ..core.tool import named_tools
from ..core.under_way import call_under_way
from ..core.user import User
from ..dialects.base import Dialect
from ..journal.kept_tools import keep_tools
from ..journal.recording import RunState
from ..memory.items import MemoryItem, checked_count, checked_query, searched
from ..memory.memory import Memory, MemoryWord, read_memory
from ..memory.spans import TimeSpan
from ..memory.tools import tools_of
from ..models.catalog import open_model
from ..policy.labels import Label
from ..policy.mandate import Mandate
from ..policy.outside import OutsideText
from ..runs.below import (
    acts_for,
    answers_of,
    below,
    check_not_begun,
    forked,
    from_agent,
    handed_down,
    id_below,
    id_of_fork,
    is_begun,
    on_behalf,
    said_by,
    seen_above,
    told_above,
)
from ..runs.given_tools import Toolish
from ..runs.model_side import ModelSide
from ..runs.options import Emit, RunOptions
from ..runs.recorded import checked_id, checked_text, client_tools_of, sound
from ..runs.run import Stopping
from ..runs.runner import Answers, Begins, Runner, Setting
from ..runs.streaming import streamed, without_loop
from ..runs.wording import Phrases
from ..scores.rating import rate
from ..scores.score import ScoreGiven
from .agent_name import AgentName
from .agent_tool import AgentTool
from .arguments import check_arguments, check_prices
from .attached import read_attached
from .branch import branch, take_over
from .brief import Brief
from .citing import Citing, with_quote
from .compaction import Summarizer, sum_up_if_long
from .conversation import Before, before, handles_before, history_of, media, talking, with_attachments
from .driver import Driver
from .gates import TRIES, CheckAnswer
from .given_history import history_given, size_of_history
from .identity import dialect_part
from .options import AgentOptions, RunKeywords
from .parts import AgentParts
from .planning import Planning, PlanToolset, plan_in, told_plan
from .remembering import begun, remembered
from .tool_choice import ChosenTools, allows, read_tool_choice, with_plan
from .turn import turn
from .unfinished import news

if TYPE_CHECKING:
    from typing_extensions import TypeForm, TypeVar

    Output = TypeVar("Output", default=str, covariant=True)
else:  # the default, which only type checkers read, is not in Python 3.11
    from typing import TypeVar

    Output = TypeVar("Output", covariant=True)


class Agent(AgentParts, Generic[Output]):
    """A model that gets things done with tools.

    As a type, `Agent[Invoice]` is an agent whose answers are invoices, `Agent` one that answers in text, and
    `Agent[object]` any agent.

    Args:
        model: a model's name (`openai:gpt-5`, `ollama:qwen3`, `http://host/v1#name`, `embedded`) or a `Model`.
        tools: functions, `@tool` functions, toolsets, other agents; also bare `Tool` definitions, whose calls pause
            the run for the program to carry out itself.
        instructions: the system prompt, or a function that renders it at the start of each run.
        output_type: the type of the answer; anything pydantic can read. `result.output` has it, and type checkers know
            its type. See `docs/output.md`.
        name: what the agent is called in records and as a tool.
        policy: who may call what. None: what you pass runs, and foreign tools with side effects ask; with a model that
            is supervised (`embedded`), what you pass asks as well where it declares an effect beyond `read`. A policy
            that is given here also binds the agents that this agent starts; the default binds nobody else.
        limits: steps, calls, seconds, tokens, money and more.
        prices: of models by name, in a currency of your own; `result.cost` is reckoned by them.
        journal: where runs are written down: a file, `postgresql://...`, or a `Journal`; in memory by default. Where
            the agent is the tool of another, its runs are written to the journal of the run that calls it.
        approver: a person who can be asked while the run waits; without one, a call that needs approval pauses the run.
        dialect: how the model says a call: `auto`, a name of `actum.dialects.names()`, or a dialect with its options:
            `dialect("react", template=Path("react.txt").read_text())`.
        coerce: mend arguments that nearly fit their schema (`"5"` for 5); what was mended is on record.
        secrets: what tools may ask for with `ctx.secret(name)`, such as `os.environ`: no model sees them. A mapping is
            the same for everybody; of a `SecretStore` each run gets what its own user may have.
        redaction: what is kept out of results before they are on record and told to the model.
        extra_arguments: refuse or drop arguments that a tool does not know.
        clock: the time.
        settings: how the model is asked: `ModelSettings(temperature=0.2, max_tokens=500)`.
        truncation: what happens where the conversation is too long for the model: `disabled`, the run fails with
            `ContextOverflow`; `auto`, the model is asked again with the earliest turns left out and long results cut.
        choose: how many of many tools the model is shown: those that fit the question best, and `search_tools`, which
            finds others. 0: all. None: all of up to 64 tools, and 12 of more. See `docs/tools.md`.
        always: the names of tools that are always among them.
        tool_choice: `auto`; `none`, a run calls no tools; `required` or a tool's name, a run begins with a call; names,
            a run calls no others.
        memory: what is remembered of users: an `actum.memory.Memory`, or `user` (across conversations), `conversation`
            (the default) or `none`, where each run stands alone.
        check: a function that looks at an answer before it ends a run: it is given an `Answered`, and returns what is
            wrong, or `""`. The model is told, and tries again. It must say the same of the same, since a run that is
            resumed asks it again. Where it raises, the run fails.
        plan: the model gets the tool `update_plan`, by which it writes down a plan and how each step stands. An answer
            does not end a run with open steps. "first": a run begins with the plan. See `docs/agents.md`.
        references: the calls of one reply may use each other's results: `"${1.date}"` as the whole value of an argument
            stands for a field of what the first call gives. See `docs/tools.md`.
        defence: how the agent is defended against orders in foreign text. "auto": as `Defence()` says, where a tool is
            foreign or strangers may write what it returns. None: not at all. See `docs/security.md`.
        cite: what no quote of a source backs is marked in an answer ("mark") or left out ("strict", True); see
            `docs/knowledge.md`.
        labels: what the labels of fields of results mean: `{"personal": Label(...)}`. See `docs/security.md`.
        tries: after as many answers that do not fit `output_type` or `check`, a run is stopped: `invalid_output`.

    Raises:
        UnknownName: there is no such model or dialect.
        BadTool: two tools of one name, or a bad schema (those of toolsets are seen when a run starts).
        UsageError: pydantic can not read `output_type`, or `tool_choice` is none.

    >>> from actum.testing import ScriptedModel
    >>> Agent(ScriptedModel(["Hello."])).run_sync("Hi").text
    'Hello.'
    """

    def __init__(
        self,
        model: str | Model,
        tools: Sequence[Toolish] = (),
        *,
        instructions: str | Callable[[], str] = "",
        output_type: TypeForm[Output] = str,  # type: ignore[assignment]  # without it, Output is its default
        name: str = "agent",
        policy: Policy | None = None,
        limits: Limits | None = None,
        prices: Mapping[str, Price] | None = None,
        journal: Journal | str | Path | None = None,
        approver: Approver | None = None,
        dialect: str | Dialect = "auto",
        coerce: bool = True,
        extra_arguments: Literal["refuse", "drop"] = "refuse",
        secrets: Mapping[str, str] | SecretSource | None = None,
        redaction: Redaction = DEFAULT_REDACTION,
        clock: Clock | None = None,
        settings: ModelSettings | None = None,
        truncation: Literal["auto", "disabled"] = "disabled",
        choose: int | None = None,
        always: Sequence[str] = (),
        tool_choice: ChosenTools = "auto",
        plan: bool | Literal["first"] = False,
        memory: Memory | MemoryWord | None = None,
        references: bool = False,
        check: CheckAnswer | None = None,
        cite: bool | Literal["mark", "strict"] = False,
        tries: int = TRIES,
        defence: Defence | Literal["auto"] | None = "auto",
        labels: Mapping[str, Label] | None = None,
    ) -> None:
        check_arguments(locals())
        self.model = open_model(model, dialect=dialect)
        self.settings = checked_settings(settings)
        self.truncation = truncation
        self.tool_choice = with_plan(read_tool_choice(tool_choice), plan)
        self.memory = read_memory(memory, name)
        added: list[Toolish] = [*([PlanToolset()] if plan else []), *tools_of(self.memory)]
        self.name = name
        self.limits = limits or Limits()
        check_prices(self.limits, self.model.name, prices or {})
        self._brief = Brief.of(instructions, output_type, check, tries, references=references, cite=cite)
        runner = Runner(
            [*tools, *added] if added and isinstance(tools, list | tuple) else tools,  # else it is refused
            name=name,
            policy=policy,
            supervised=self.model.name if is_supervised(self.model) else "",
            limits=self.limits,
            prices=prices,
            journal=journal,
            approver=approver,
            coerce=coerce,
            extra_arguments=extra_arguments,
            secrets=secrets,
            redaction=redaction,
            clock=clock,
            choice=Choice(choose, (*always, UPDATE_PLAN) if plan else tuple(always)),
            defence=defence,
            labels=labels,
        )
        self.runner = with_quote(runner, self._brief.cite)
        self._redaction = redaction
        self._dialect = dialect_part(dialect)
        self.plans = bool(plan)
        self._named = AgentName()
        self._origin, self._replaced = object(), None
        self._completes = self._base = None

    async def run(
        self,
        question: str | UserMessage,
        *,
        messages: Sequence[Message] | None = None,
        conversation: str = "",
        owner: str | None = None,
        after: str = "",
        context: object = None,
        principal: str = "",
        tenant: str = "",
        roles: Sequence[str] = (),
        key_id: str = "",
        run_id: str | None = None,
        attachments: Sequence[MediaPart] = (),
        approver: Approver | None = None,
        peer: Peer | None = None,
        trace: str = "",
        tracestate: str = "",
        request: str = "",
        names: Sequence[str] = (),
        door: JsonObject | None = None,
        told: Sequence[UserMessage] = (),
        holder: Holder | None = None,
        settings: ModelSettings | None = None,
        tool_choice: ChosenTools | None = None,
        memory: bool = True,
        parent: str = "",
        mandate: Mandate | JsonObject | None = None,
        emit: Emit | None = None,
    ) -> RunResult[Output]:
        """Answer a question.

        Args:
            question: what the user says.
            messages: what was said before, where the conversation lives elsewhere: `result.messages` of an earlier run,
                or what `actum.read_messages` reads. Its user messages are the user's words, and nothing in its results
                is trusted. System messages at its beginning give way to the agent's own instructions. On record.
            conversation: id of the conversation to go on with; its runs are the history. The same id under another
                principal, or another tenant, is another conversation.
            owner: the principal that the conversation belongs to, where `principal` only takes part in another's
                conversation, as the program allows. On record.
            after: the run to go on after instead of the latest: its id, or `id@number` for what was said up to that
                entry. With an id of its own for `conversation`, it is a branch.
            context: your own object; tools find it as `ctx.deps`.
            principal: the user on whose behalf the run acts, for policy and record.
            tenant: the tenant that the principal belongs to, where several tenants share this program. On record; the
                run, its conversation and its questions do not exist for another tenant.
            roles: roles that the principal is known to have, beside those that the policy knows of.
            key_id: the id of the API key with which this was asked for, never the key itself.
            run_id: an id of your own for the run, to resume it by.
            attachments: media that tools can be handed by the handles `att_1`, `att_2`, ...
            approver: who can be asked during this run, instead of the agent's own approver.
            peer: the program at the other end, where tools may turn to its model and its user.
            trace: the W3C `traceparent` of the caller, for the record; a value that is not valid is dropped.
            tracestate: the W3C `tracestate` that came with `trace`: which agents of other programs wait for this run.
                It can lower the limit of `depth`, and an agent that waits already is not asked again.
            request: a digest of the request that starts the run, for a program that makes `run_id` of a key of its
                caller; see `Started`. On record.
            names, door: for a server that finds its runs again; see `Started`. On record.
            told: what is said before the question and belongs to it, such as the words of a program that is a client of
                a server. On record.
            holder: for whom toolsets keep sessions with servers open between calls, instead of the conversation or the
                run. The program that passes a holder tells the holder when it ends.
            settings: how the model is asked in this run; the agent's settings hold for what is not set here.
            tool_choice: as for `Agent`, in this run. On record.
            memory: False for a run that gets at nothing of its user's memory and is never found there.
            parent: the run that this run is a part of, such as an experiment: no inbox shows what it waits for.
            mandate: what the user's request empowers the agent to do: a `Mandate`, or what `Mandate.of` reads. None:
                the model is asked where it matters. On record. See `docs/security.md`.
            emit: is told each event as it happens.

        Returns:
            The answer and how it came about. `status` is `paused` when somebody must be asked, `stopped` at a limit.

        Raises:
            ModelError: the model gave no answer.
            UsageError: a run of this id exists; `messages` are given together with `conversation` or `after`, or hold a
                call without its result, a result without its call, or an id twice; `tool_choice` names no tool.
            UnknownName: `after` names no run of this owner.
            Busy: somebody else is adding to this conversation.
        """
        options = AgentOptions.among(locals())
        above, agent = call_under_way(), self.in_force()
        if above is not None:
            return await agent._run_below(above, UserMessage.of(question), options)
        agent = await agent.completed(tenant)
        async with agent._beginning(UserMessage.of(question), options) as (run, started, before, setting):
            return await agent._begin(run, started, before, setting)

    async def _run_below(self, above: Context, said: UserMessage, options: AgentOptions) -> RunResult[Output]:
        """Answer a question of the code of a call; or go on with the run that an earlier attempt at the call began.

        Raises:
            InputRequired: the run waits: the call that began it waits with it.
        """
        options = on_behalf(options, above)
        run_id = options.run_id or id_below(above, self.name, said, options.conversation, acts_for(options))
        journal = self.runner.journal_below(above)
        if await is_begun(run_id, journal, above):
            agent = await self._of_run(run_id, journal)
            setting = agent._setting(options, above)
            result = await agent._go_on(run_id, partial(handed_down, above.answers), setting)
        else:
            agent, options = await self.completed(options.tenant), msgspec.structs.replace(options, run_id=run_id)
            async with agent._beginning(said, options, above) as (run, started, before, setting):
                result = await agent._begin(run, started, before, setting)
        told_above(result)
        return result

    async def queue(self, question: str | UserMessage, task: TaskQueued, options: AgentOptions) -> str:
        """Put a question on record as a task, to be answered later: by `resume`, in this process or another.

        Args:
            question: what the user says.
            task: what was asked for beside the question.
            options: as for `run`; what is not on record is not used.

        Returns:
            The id of the run, which is also the task's.

        Raises:
            UsageError: as for `run`.
            Busy: somebody else is adding to this conversation, or is beginning a run of this id.
        """
        if self.in_force()._replaced is not None:
            raise UsageError("a task is carried out elsewhere, where no override() of {name!r} holds", name=self.name)
        agent = await self.completed(options.tenant)
        async with agent._beginning(UserMessage.of(question), options) as (run_id, started, _, setting):
            setting.budget.price(self.model.name)  # or nothing is begun
            await agent.runner.start(run_id, started, setting)
            self.journal.append(run_id, task)
            await self.journal.sync(run_id)
            return run_id

    @asynccontextmanager
    async def _beginning(
        self, question: UserMessage, options: AgentOptions, above: Context | None = None
    ) -> AsyncIterator[tuple[str, Started, Sequence[Message], Setting]]:
        """A block that has claimed a new run, with all that the run begins with; the arguments are those of `run`.

        Args:
            above: the call whose code begins the run; None where the run stands on its own.

        Returns:
            The id of the run, its first record, what was said before, and what the run finds around it.
        """
        drawn, messages = options.run_id is None, options.messages
        choice = await self.checked_choice(options.tool_choice)
        run_id = new_id("run") if options.run_id is None else checked_id(options.run_id)
        options = options.checked()
        self._named.check_user(options.principal, options.roles, self.runner.policy)
        self._named.check_memory(self.memory, options.conversation or options.after)
        owner = User(options.tenant, options.principal if options.owner is None else options.owner)
        if messages is not None and (options.conversation or options.after):
            raise UsageError("messages= is a conversation that lives elsewhere: leave out conversation= and after=")
        setting = self._setting(options, above)
        journal = setting.journal
        async with journal.claim(run_id), talking(journal, owner, options.conversation):
            if not drawn and await journal.read(run_id):
                raise UsageError("there is a run {wanted!r} already: use resume() to go on with it", wanted=run_id)
            window = (self.memory.runs or 0) if self.memory is not None else 0
            if self.memory is not None and self.memory.summary_at and options.conversation and not options.after:
                summarizer = Summarizer(journal, self.model, self.settings, self.name, self.runner.labels)
                await sum_up_if_long(summarizer, self.memory, options.conversation, owner, options.principal)
            tool, labels = (await self.runner.catalog()).tool, self.runner.labels
            earlier = await before(journal, owner, options.conversation, options.after, window, tool, labels)
            instructions = self._brief.told(question.text, self._brief.client_schema, await self._quote())
            if messages is not None:
                given = await off_loop(
                    WORK * size_of_history(messages),
                    history_given,
                    messages,
                    instructions,
                    replace=bool(self._brief.instructions),
                    secret_paths=(await self.runner.catalog()).secret_paths,
                    redaction=self._redaction,
                )
                outside = OutsideText(given, tool).names()
                earlier = Before(messages=given if above is None else from_agent(given), outside=outside)
            asked = with_attachments(question, options.attachments, earlier.handles())
            asked, files = await read_attached(asked, self.runner, journal, earlier.run_id)
            plan = plan_in(earlier.messages) if self.plans else ()
            heard = await news(journal, earlier.unfinished, self.clock.now(), Phrases.for_text(asked.text))
            started = Started(
                agent=self.name,
                model=self.model.name,
                said=(*heard.said, *options.told, *files.told, *told_plan(plan, asked), asked),
                history=() if messages is None else tuple(earlier.messages),
                instructions=instructions,
                tools=(await self.runner.shown_first(journal, Facts.of(options)))[0],
                limits=self.runner.limits_recorded,
                settings=checked_settings(options.settings).over(self.settings).recorded,
                principal=options.principal,
                tenant=options.tenant,
                roles=tuple(options.roles),
                key_id=options.key_id,
                conversation=options.conversation,
                owner=options.other_owner,
                previous=earlier.run_id,
                seen=earlier.seen,
                window=window,
                **earlier.marks(heard.outside),
                unfinished=heard.unfinished,
                trace=options.trace,
                tracestate=options.tracestate,
                request=options.request,
                client_tools=self.runner.client_tools,
                answer_schema=self._brief.client_schema,
                tool_choice=choice,
                cite=self._brief.cite,
                attached=files.record,
                mandate=await self.checked_mandate(options.mandate),
                uses=dict(self.runner.uses),
                names=tuple(options.names),
                door=options.door or {},
                parent=options.parent,
                **await self._recorded(),
                **await remembered(self.memory, setting, asked, options, earlier.messages),
            )
            if above is not None:
                started = below(msgspec.structs.replace(started, said=from_agent(started.said)), above)
            yield run_id, started, earlier.messages, setting

    def _setting(self, options: AgentOptions, above: Context | None) -> Setting:
        """What a new run finds around it; the arguments are those of `_beginning`."""
        return self.runner.setting(options, agent=self._base or self, model_settings=options.settings, above=above)

    def run_sync(self, question: str | UserMessage, **options: Unpack[RunKeywords]) -> RunResult[Output]:
        """`run` for programs without an event loop; the options are the same.

        Raises:
            UsageError: there is a running event loop; use `await agent.run(...)` in it.
        """
        return without_loop(lambda: self.run(question, **options), "agent")

    async def stream(
        self, question: str | UserMessage, **options: Unpack[RunKeywords]
    ) -> AsyncGenerator[Event[Output], None]:
        """`run`, told as it happens; the options are the same.

        The last event is `RunFinished`. Leaving the loop early cancels the run.
        """
        async with aclosing(streamed(lambda emit: self.run(question, **options, emit=emit))) as events:
            async for event in events:
                yield cast("Event[Output]", event)  # `run` ends with a result of this type

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
        settings: ModelSettings | None = None,
        emit: Emit | None = None,
        begins: Begins | None = None,
        stopping: Stopping | None = None,
    ) -> RunResult[Output]:
        """Go on with a run that was paused or interrupted: what is on record is not done again.

        Args:
            run_id: the run.
            answers: by the id of what is pending: `"approve"` or `"deny"` for an approval, text for a question or a
                result, `"done"`, `"not_done"`, `"retry"` or `"unknown"` for a call in doubt, a JSON object, `"deny"` or
                `"cancel"` for what a tool asks for.
            principal: the user who asks for this; a run on behalf of another principal is not found. None where the
                program itself goes on with a run, and may go on with any.
            tenant: the tenant of the user who asks; another tenant's run is not found. Where `tenant` is left out, a
                `principal` is one of the tenant `""`.
            context, approver, peer, holder, emit: as for `run`; they are not on record.
            accept: go on although prompt or tools have changed.
            settings: how the model is asked from here on; the settings that the run was started with hold for what is
                not set here. Headers are not on record: they are those of the agent and of these settings.
            begins, stopping: as in `runs.runner.Setting`, for the code that carries out tasks.

        Raises:
            UnknownName: there is no such run (of this user), or nothing pending under such an id.
            ReplayDiverged: prompt, tools or version have changed; nothing was done.
            UsageError: the policy of an agent above binds this run: resume the run that started it.
        """
        above, agent = call_under_way(), self.in_force()
        journal = await agent.runner.journal_of(run_id, above)
        await agent.runner.check_user(run_id, principal, tenant, journal)
        brought = await client_tools_of(journal, run_id, agent.runner.client_tools)
        if brought != agent.runner.client_tools:
            agent = agent.with_client_tools(brought)
        agent = await agent._of_run(run_id, journal)
        setting = agent.runner.setting(
            RunOptions(context=context, approver=approver, peer=peer, holder=holder, emit=emit),
            accept=accept,
            agent=agent._base or agent,
            model_settings=settings,
            above=above,
            journal=journal,
            begins=begins,
            stopping=stopping,
        )
        said = partial(answers_of, answers=answers or {}, above=above, is_shared=journal.is_shared)
        result = await agent._go_on(run_id, said, setting, by=principal or "", is_own=True)
        return await seen_above(result, journal, above)

    async def fork(
        self,
        run_id: str,
        at: int,
        *,
        question: str | UserMessage | None = None,
        result: str | ToolResult | None = None,
        new_run: str | None = None,
        conversation: str = "",
        principal: str | None = None,
        tenant: str | None = None,
        request: str = "",
        trace: str = "",
    ) -> str:
        """Begin a run that branches off from another: it has that run's entries up to one, and this agent's model,
        instructions and tools. `resume` goes on with it.

        What the other run did after that point may have changed the world: the calls of those tools ask for approval.

        Args:
            run_id: the run to branch off from.
            at: number of the last entry that is taken over; one between two calls, not within one.
            question: another question in the place of the user's; only with `at=0`. The files that were attached
                stay, unless this question has files.
            result: another result in the place of the one that entry `at` holds.
            new_run: the id of the new run.
            conversation: of the new run, which keeps its own history anyway. Its owner is that of the other run.
            principal, tenant: the user who asks for this, as for `resume`. request, trace: as for `run`.

        Returns:
            The id of the new run.

        Raises:
            UnknownName: there is no such run (of this user).
            UsageError: a run can not be branched off there.
        """
        conversation = checked_text("conversation", conversation)
        above, agent = call_under_way(), self.in_force()
        journal = await agent.runner.journal_of(run_id, above)
        await agent.runner.check_user(run_id, principal, tenant, journal)
        agent = await agent._of_run(run_id, journal)
        entries = sound(run_id, await journal.read(run_id))
        if question is not None:
            question = with_attachments(said_by(question, above), (), await handles_before(journal, entries))
        records = branch(run_id, entries, at, question, result)
        new = id_of_fork(new_run, above, agent.name, run_id, at, question, result)
        digest, tools = await agent.runner.shown_first(journal, Facts.of(records[0]))
        async with journal.claim(new), talking(journal, records[0].owning_user, conversation):
            if above is not None and await is_begun(new, journal, above):
                return new
            if await journal.read(new):
                raise UsageError("there is a run {new!r} already", new=new)
            keep_tools(journal, digest, tools)
            started = msgspec.structs.replace(
                records[0],
                agent=agent.name,
                model=agent.model.name,
                instructions=agent._brief.told(records[0].question, records[0].answer_schema, await agent._quote()),
                tools=digest,
                limits=agent.runner.limits_recorded,
                settings=agent.settings.recorded,
                conversation=conversation,
                forked=run_id,
                fork_at=at,
                trace=trace,
                request=request,
                cite=agent._brief.cite,
                client_tools=agent.runner.client_tools,
                recalled=() if question is not None else records[0].recalled,
                mandate=None if question is not None else records[0].mandate,
                **({"agent_digest": "", "agent_parts": {}} | await agent._recorded()),
            )
            await take_over(journal, run_id, new, (forked(started, above), *records[1:]), digest)
        return new

    async def compact(
        self,
        conversation: str,
        *,
        keep: int | None = None,
        principal: str = "",
        tenant: str = "",
        owner: str | None = None,
    ) -> str:
        """Have the model sum up a conversation; from here on it is told the summary in place of what was before.

        The summary is a step on record, and nothing is deleted. A conversation that is too long for the model is summed
        up in parts.

        Args:
            conversation: its id.
            keep: how many of its latest runs stay as they are. None: two, or none where the conversation is too long
                for the model.
            principal, tenant, owner: the user who asks, and the owner of the conversation; as for `run`.

        Returns:
            The summary.

        Raises:
            UnknownName: there is no such conversation.
            ModelError: the model gave no answer, or one that is empty or cut off; the conversation stays as it is.
        """
        principal, conversation = checked_text("principal", principal), checked_text("conversation", conversation)
        tenant = checked_text("tenant", tenant)
        whose = User(tenant, principal if owner is None else checked_text("owner", owner))
        agent = self.in_force()
        async with talking(agent.journal, whose, conversation):
            summarizer = Summarizer(agent.journal, agent.model, self.settings, self.name, agent.runner.labels)
            return await summarizer.sum_up(conversation, whose, principal, keep)

    async def rate(
        self,
        run_id: str,
        name: str,
        value: float | None,
        *,
        comment: str = "",
        label: str = "",
        user: str = "",
        over: str = "",
        principal: str | None = None,
        tenant: str | None = None,
    ) -> bool:
        """Say how good the answer of a run was, on the record of the run.

        Args:
            run_id: the run, which has to be over.
            name: what is judged, in a word: `thumb`, `correct`, `helpful`.
            value: from 0 to 1; a thumb is 1 for up or 0 for down. None takes the score back.
            comment: why.
            label: the value in a word.
            user: the end user who says so, by the program's own id. One score counts for each run, name and author.
            over: another run that this one is preferred to.
            principal, tenant: the user who says so, as for `resume`.

        Returns:
            Whether anything was written: the same score again changes nothing.

        Raises:
            UnknownName: there is no such run (of this user).
            UsageError: a value can not be used, or the score was changed too often within an hour.
            Busy: the run is not over.
        """
        for each in filter(None, (run_id, over)):
            await self.runner.check_user(each, principal, tenant)
        given = ScoreGiven(
            name=name,
            value=value,
            label=label,
            explanation=comment,
            by=principal or "",
            user=user,
            over=over,
            withdrawn=value is None,
        )
        return await rate(self.journal, checked_id(run_id), given, clock=self.clock, tenant=tenant)

    async def recall(
        self,
        query: str,
        *,
        principal: str = "",
        tenant: str = "",
        limit: int = 5,
        since: float | None = None,
        until: float | None = None,
    ) -> list[MemoryItem]:
        """What is remembered of a user in this agent's memory, what fits some words best first.

        Args:
            query: the words.
            principal, tenant: whose memory.
            limit: how much is found at most, from 1 to 50.
            since: only what was said then or later, in seconds since 1970.
            until: only what was said before then, in seconds since 1970.

        Raises:
            UsageError: this agent has no memory of its users, the query has no words, or the limit is none.
            JournalError: the memory can not be read.
        """
        if self.memory is None or not self.memory.user:
            raise UsageError("the agent {name!r} has no memory of its users: Agent(..., memory='user')", name=self.name)
        user = User(checked_text("tenant", tenant), checked_text("principal", principal))
        times = TimeSpan(-inf if since is None else since, inf if until is None else until)
        return await searched(
            self.in_force().journal, user, checked_query(query), checked_count(limit), self.memory.space, times
        )

    def as_tool(
        self, name: str | None = None, description: str = "", *, answers: bool = False, history: bool = False
    ) -> Toolset:
        """This agent as a tool for another one.

        Args:
            name: what the other agent calls it; by default the agent's own name.
            description: what the agent is good for, for the model of the other.
            answers: the other hands its user over: what this agent says is the answer, and the other's model is not
                asked again.
            history: the agent is told the conversation so far beside its task: what the user and the other's model
                said, without instructions, calls and results.
        """
        text = description or self.description or f"Hand a task to the agent {self.name!r} and get its answer."
        return AgentTool(self, name or self.name, text, answers=answers, history=history)

    async def run_child(
        self, said: UserMessage, run_id: str, context: Context, history: Sequence[Message] = ()
    ) -> RunResult[Output]:
        """Start the run of this id on behalf of a call, or go on with it; see `agent_tool`.

        Raises:
            InDoubt: the run was begun in another journal, by an earlier version.
        """
        agent, journal = self.in_force(), context.journal
        if agent is not self:
            return await agent.run_child(said, run_id, context, history)
        if journal is None:
            raise UsageError("an agent works as a tool within a run only: this context belongs to none")
        if not self.is_for(context.principal, context.roles):
            raise PermissionDenied("This user may not use the agent {name}.", name=self.name)
        entries = await journal.read(run_id, tenant=context.tenant)
        if self._completes is not None:
            agent = await (self._of_run(run_id, journal) if entries else self.completed(context.tenant))
            return await agent.run_child(said, run_id, context, history)
        around = RunOptions(context=context.deps, peer=context.peer, holder=context.holder)
        setting = self.runner.setting(around, agent=self._base or self, above=context, journal=journal)
        if entries:
            return await self._go_on(run_id, partial(handed_down, context.answers), setting)
        if context.attempt > 1:
            await check_not_begun(run_id, self.name, self.journal, context)
        started = Started(
            agent=self.name,
            model=self.model.name,
            said=(said,),
            history=tuple(history),
            instructions=self._brief.told(said.text, quote=await self._quote()),
            tools=(await self.runner.shown_first(journal, Facts.of(context)))[0],
            limits=self.runner.limits_recorded,
            settings=self.settings.recorded,
            tool_choice=self.tool_choice,
            cite=self._brief.cite,
            uses=dict(self.runner.uses),
            principal=context.principal,
            tenant=context.tenant,
            roles=context.roles,
            key_id=context.key_id,
            **await self._recorded(),
        )
        async with journal.claim(run_id):
            return await self._begin(run_id, below(started, context), history, setting)

    async def _go_on(
        self, run_id: str, answers: Answers, setting: Setting, *, by: str = "", is_own: bool = False
    ) -> RunResult[Output]:
        """Go on with a run.

        Args:
            by: the user on whose behalf the run is taken up.
            is_own: no call of another run started it; else the agent above was compared, with all agents below it.
        """
        parts = await self.parts() if is_own and self._named.made is not None else {}
        change: AgentChanged | None = None
        quote = await self._quote()

        def check(state: RunState) -> None:
            nonlocal change
            setting.budget.price(self.model.name)  # or nothing is done
            started = state.beginning()
            if started.compacts:
                raise UsageError("run {run!r} only summed up a conversation: use compact() to do it again", run=run_id)
            if is_own and not state.requested:
                latest = state.agent or started
                change = self._named.change(run_id, latest, self.name, parts, by=by, accept=setting.accept)
            if not setting.accept and not state.requested and state.agent is None:  # else they were compared above
                self._brief.check_same(run_id, started, quote)

        async with self.runner.taken_up(run_id, answers, setting, check) as state:
            if change is not None:
                state.take(setting.journal.append(run_id, change), change)
            if state.requested:  # by a program that makes calls with the agent's tools
                return cast("RunResult[Output]", await self.runner.go_on(run_id, state, setting))  # it has no answer
            earlier = await history_of(setting.journal, state.beginning())
            return await self._carry_out(run_id, state, earlier, setting)

    async def _begin(
        self, run_id: str, started: Started, before: Sequence[Message], setting: Setting
    ) -> RunResult[Output]:
        setting.budget.price(self.model.name)  # or nothing is begun
        state = await self.runner.start(run_id, started, setting)
        return await self._carry_out(run_id, state, before, setting)

    async def _carry_out(
        self, run_id: str, state: RunState, before: Sequence[Message], setting: Setting
    ) -> RunResult[Output]:
        """Ask the model and make its calls, up to the end of the run or its next pause."""
        started = state.beginning()
        price = setting.budget.price(self.model.name)
        output_schema, ending = self._brief.form(started)
        transcript = await begun(setting.journal, started, before)
        citing = await Citing.of(setting.journal, started, transcript)
        recorded = msgspec.convert(started.settings, ModelSettings) if started.settings else checked_settings(None)
        settings = setting.model_settings.over(recorded).over(self.settings)
        model = ModelSide(
            heard=transcript,
            begins=len(before) + bool(started.instructions),
            attachments={part.handle: part for part in media(transcript)},
            sample=lambda request: apart(self.model.reply(settings.unbounded.fill(request)), self.model.name),
            asks_mandates=not is_supervised(self.model),
            price=price,
            name=self.model.name,
            lets_in=partial(self.is_for, started.principal, started.roles) if self._named.made is not None else None,
        )
        async with self.runner.at_work(run_id, state, setting, model) as run:
            cut, most = run.phrases.cut_off, default_max_tokens(self.model)
            told_cut = partial(cut, max_tokens=settings.max_tokens, default_max_tokens=most)
            planning = None
            if self.plans and allows(started.tool_choice, UPDATE_PLAN):
                planning = Planning(run.phrases, plan_in(before), run.path.polled, run.path.changes)
            driver = Driver(
                run=run,
                model=self.model,
                transcript=transcript,
                loop=turn(
                    transcript,
                    self.limits,
                    run.phrases,
                    run.path.polled,
                    run.path.reads,
                    run.path.answers,
                    msgspec.structs.replace(ending, told_cut=told_cut, citing=citing),
                    run.path.names_of,
                    started.tool_choice,
                    references=self._brief.references,
                    planning=planning,
                ),
                relist=self.runner.listing(state, run.context.attachments, journal=run.journal),
                choice=self.runner.choice.with_always(named_tools(started.tool_choice)),
                index=self.runner.tool_index,
                price=price,
                output_schema=output_schema,
                accept=setting.accept,
                settings=settings,
                question=len(before) + bool(started.instructions),
                truncates=self.truncation == "auto",
                planning=planning,
                citing=citing,
                holds_answers=(ending.may_refuse or planning is not None)
                and (self._named.made is not None or bool(started.door)),
            )
            return cast("RunResult[Output]", await driver.drive())  # the check has read the answer as this type
