"""Drives the loop of `turn.py`: carries out what the loop intends, and writes down what came of it.

A fresh run has an empty record. A resumed run has a record, and the driver answers the loop from it as long as it
lasts. There is no other difference between the two.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct, structs

from ..call.choice import ALL, Choice, Rank, choose, extended, tools_named
from ..call.resolve import Catalog
from ..call.shown import without_secrets
from ..core.budget import ZERO, Price
from ..core.call import ToolCall, ToolResult
from ..core.cancellation import apart
from ..core.errors import ContextOverflow, ModelGarbled, ReplayDiverged
from ..core.event import AnswerRefused, Delta, Event, PlanChanged, ReplyFinished, RunResult, TextDelta, ThoughtEnded
from ..core.json import JsonObject
from ..core.message import Reply, ToolMessage, Transcript
from ..core.model import Model, Request
from ..core.model_settings import UNSET, ModelSettings
from ..core.run.ids import new_id
from ..core.run.pending import Pending
from ..core.run.record import InputRequested, ModelReplied, ToolsChanged
from ..core.token_estimate import with_sound_usage, with_usage
from ..core.tool import SEARCH, Tool, digest_of, is_demand
from ..journal.kept_tools import keep_tools
from ..journal.recording import CallRef
from ..journal.secrets import write_reply
from ..runs.run import Finish, Run, Stopped
from ..runs.tool_search import SEARCH_TOOL, ToolIndex, found_by
from .citing import Citing
from .gates import INVALID_OUTPUT
from .planning import PLAN_OPEN, Planning
from .shortening import WHOLE, Shortening, with_advice
from .tool_choice import shown_choice
from .turn import AskUser, Called, CallModel, CallTools, ModelAnswered, Outcome, Turn, UserAnswered

T = TypeVar("T")

CALLS_MAX = 1_000
"""The most calls of a reply; a reply with more is an error. Each call takes time in which others wait."""

log = logging.getLogger("actum")


class Driver(Struct, kw_only=True, dict=True):
    """Drives one run to its end or to its next pause.

    Attributes:
        run: the run.
        model: the model.
        transcript: the conversation, shared with the loop.
        loop: the loop itself, not yet begun.
        relist: returns the catalog of tools as it is now; used before each step.
        choice: how many of the tools are shown to the model.
        index: the index by which tools are chosen.
        price: the price of the model, where it is known.
        output_schema: JSON Schema of the answer, where the answer is not plain text.
        accept: whether a changed prompt or changed tools may go on with a recorded run.
        settings: the settings with which the model is asked.
        question: the index in the transcript of the first message of the run itself.
        truncates: whether a conversation that is too long for the model is sent without its beginning.
        holds_answers: whether the text of an answer is told only once the answer ends the run.
        planning: the plan of the run; None where the agent makes no plan.
        citing: holds answers to what was quoted; None where the agent does not cite.
    """

    run: Run
    model: Model
    transcript: Transcript
    loop: Turn
    relist: Callable[[], Awaitable[Catalog]]
    choice: Choice = ALL
    index: ToolIndex = msgspec.field(default_factory=ToolIndex)
    price: Price | None = None
    output_schema: JsonObject | None = None
    accept: bool = False
    settings: ModelSettings = UNSET
    question: int = 0
    truncates: bool = False
    holds_answers: bool = False
    planning: Planning | None = None
    citing: Citing | None = None

    def __post_init__(self) -> None:
        self._steps = 0
        self._recorded = len(self.run.state.replies)
        self._questions = 0
        self._reply_number = -1
        self._tools = self.run.state.tools or self.run.path.catalog.digest
        self._shown: tuple[Tool, ...] = ()
        self._search: tuple[str, tuple[str, ...]] = ("", ())
        self._listed: Catalog | None = None
        self._found: list[str] = []
        last = self.run.state.replies[-1][1] if self.run.state.replies else None
        self._shortening = Shortening(last.left_out, last.clipped) if last is not None else WHOLE
        self._told: tuple[Shortening, Transcript, int] | None = None
        self._held: list[Event] = []
        if getattr(self.model, "tells_usage", False):  # a reply without usage has used no tokens
            self.run.context.counts_tokens = False

    async def drive(self) -> RunResult:
        """Go on until the run is done, paused or stopped.

        Raises:
            ModelError: the model gave no answer; the journal says that the run failed, and the run can be resumed.
            ReplayDiverged: the recorded run does not fit this agent; nothing was done.
        """
        finish = await self.run.carry_out(self._go_on())
        return self.run.result(finish, steps=self._steps)

    async def _go_on(self) -> Finish:
        intention = next(self.loop)
        while True:
            outcome: Outcome
            if self._steps >= self._recorded:
                self.run.begin()
            self.run.check_cancelled()
            if type(intention) is CallModel:
                ended = self.run.state.ended
                if self._steps >= self._recorded and ended is not None and ended.status == "done":
                    return Finish(status="done", text=ended.text, output=ended.text)  # by rules of an earlier version
                outcome = await self._ask_model(intention)
            elif type(intention) is CallTools:
                outcome = await self._call_tools(intention)
            else:
                assert isinstance(intention, AskUser)
                outcome = await self._ask_user(intention)
            try:
                intention = self.loop.send(outcome)
                self._tell_plan()
            except StopIteration as end:
                finish: Finish = end.value
                self._check_end(finish)
                self._tell_plan()
                self._tell_end(finish)
                if finish.status == "done" and isinstance(self.transcript[-1], ToolMessage):
                    self.run.tell(TextDelta(finish.text))  # no model said this text, and listeners wait for it
                return finish

    async def _ask_model(self, asked: CallModel) -> ModelAnswered:
        run, step = self.run, self._steps
        self._steps += 1
        if step < self._recorded:
            self._found.clear()  # what was found before this reply is on record
            self._reply_number, record = run.state.replies[step]
            self._compare(record.intention, run.state.tools_at[step])
            self._show(record.reply)
            run.usage += record.reply.usage
            return ModelAnswered(record.reply, record.elapsed, record.cost)
        if asked.refused:
            self._held.clear()
            run.tell(AnswerRefused(asked.refused))
        await run.check_limits()
        await run.check_access()
        await self._notice_tools()
        context = run.context
        began = context.clock.monotonic()
        tools, schema = self._shown if asked.has_tools else (), self.output_schema
        choice = "auto" if asked.choice == "auto" else shown_choice(asked.choice, tools)
        search, found = self._search if tools else ("", ())
        request = self.settings.fill(
            Request(
                messages=self._sent(),
                tools=tools,
                tool_choice=choice,
                output_schema=schema,
                search=search,
                found=found,
            )
        )
        run.models_asked += 1
        try:
            reply = await run.in_time(self._answered(request))
        finally:
            run.models_asked -= 1
        seconds = context.clock.monotonic() - began
        if len(reply.content) > CALLS_MAX and len(reply.calls) > CALLS_MAX:
            raise ModelGarbled(
                "a reply holds {count} calls: at most {most} are read", count=len(reply.calls), most=CALLS_MAX
            )
        if not reply.usage.is_sound:
            reply = with_sound_usage(reply)
        if context.counts_tokens:
            reply = with_usage(reply, self.transcript, self._shown_bytes())
        cost = self.price.of(reply.usage) if self.price is not None else ZERO
        left_out, clipped = self._shortening.left_out, self._shortening.clipped
        intention = self._intention(self._tools)
        record = ModelReplied(
            intention,
            reply,
            seconds,
            context.elapsed(),
            cost,
            left_out,
            clipped,
            demanded=choice != "auto" and is_demand(choice),
        )
        paths_of = run.path.catalog.secret_paths
        self._reply_number = write_reply(context.journal, context.run_id, run.state, record, paths_of)
        self._show(reply)
        run.count_reply(reply.usage, cost)
        if context.emit is not None:
            finished = ReplyFinished(run.state.shown.get(self._reply_number, reply), seconds, left_out)
            self._held.append(finished)
            if reply.calls or not self._holds:
                self._tell_held()
        return ModelAnswered(reply, record.elapsed, cost)

    async def _answered(self, request: Request) -> Reply:
        """The model's answer. Where the conversation is too long for the model, a shorter one is sent.

        Raises:
            ContextOverflow: the conversation is too long, and may not or can not be shortened further.
        """
        emit, heard, holds = self.run.context.emit, False, self._holds
        catalog = self.run.path.catalog
        if emit is not None:
            emit = without_secrets(emit, catalog)

        def tell(delta: Delta) -> None:
            nonlocal heard
            heard = True
            assert emit is not None
            if holds and isinstance(delta, TextDelta | ThoughtEnded):
                self._held.append(delta)
            else:
                emit(delta)

        told = tell if (self.truncates or holds) and emit is not None else emit
        while True:
            asked = request if self._shortening == WHOLE else structs.replace(request, messages=self._shorter())
            try:
                return await apart(self.model.reply(asked, told), self.model.name)
            except ContextOverflow as overflow:
                shorter = self._shortening.next(self.transcript, self.question)
                if shorter is None or not self.truncates or heard:
                    can = shorter is not None
                    raise with_advice(overflow, truncates=self.truncates, can_be_shortened=can) from None
                self._shortening = shorter
                log.warning("%s: %s; asked again with a shorter conversation", self.run.context.run_id, overflow)

    def _tell_plan(self) -> None:
        if self.planning is not None and self.planning.plan is not self.run.plan:
            self.run.plan = self.planning.plan
            if self._steps > self._recorded:
                self.run.tell(PlanChanged(self.run.plan))

    @property
    def _holds(self) -> bool:
        """Whether the text of an answer is told only once the answer ends the run."""
        return self.holds_answers or (self.citing is not None and self.citing.holds(self.run.calls))

    def _tell_end(self, finish: Finish) -> None:
        """Tell the answer that ends the run, where it was held, or more than the model said."""
        last = self.transcript[-1]
        if self.citing is not None and isinstance(last, Reply) and finish.text != last.text:
            was_held = any(isinstance(each, TextDelta) for each in self._held)
            told = finish.text if was_held else finish.text.removeprefix(last.text)
            self._held = [TextDelta(told), *(each for each in self._held if not isinstance(each, TextDelta))]
            if not was_held and not finish.text.startswith(last.text):
                del self._held[0]  # what was shown already can not be shown otherwise
        self._tell_held()

    def _tell_held(self) -> None:
        for event in self._held:
            self.run.tell(event)
        self._held.clear()

    def _check_end(self, finish: Finish) -> None:
        """Check that the answer which ends the run was not refused when the run was recorded.

        Raises:
            ReplayDiverged: the answer was refused then.
        """
        ended = finish.status == "done" or finish.stop_reason in (INVALID_OUTPUT, PLAN_OPEN)
        if ended and self._steps < self._recorded and not self.accept and not self._is_taken_over:
            raise ReplayDiverged(
                "run {run}: at step {steps} an answer ends the run that was refused before. Resume with the output "
                "type, check and tries that it was started with, pass accept=True, or fork the run.",
                run=self.run.context.run_id,
                steps=self._steps,
            )

    def _sent(self) -> Transcript:
        """The conversation as this model may be told it."""
        labels = self.run.context.labels
        return self.transcript if labels is None else labels.told()

    def _shorter(self) -> Transcript:
        """The shortened conversation that the model is sent: a transcript that grows along with the whole one."""
        sent = self._sent()
        if self._told is None or self._told[0] != self._shortening:
            phrases = self.run.phrases
            told = Transcript(self._shortening.told(sent, phrases.left_out(), phrases.noted))
        else:
            _, told, heard = self._told
            told.extend(self._shortening.clip(sent[heard:]))
        self._told = (self._shortening, told, len(sent))
        return told

    def _show(self, reply: Reply) -> None:
        """Say how a reply is written down as part of the conversation: without secret values."""
        if shown := self.run.state.shown.get(self._reply_number):
            self.transcript.show_as(reply, shown)

    def _intention(self, tools: str) -> str:
        return hashlib.sha256((self._sent().digest + tools).encode()).hexdigest()

    def _compare(self, recorded: str, tools: str) -> None:
        if recorded != self._intention(tools) and not self.accept and not self._is_taken_over:
            raise ReplayDiverged(
                "run {run}: at step {steps} the model would be asked something else than it was. The prompt, the "
                "tools, the version, or what labels let the model see has changed. Resume the run with all as it was, "
                "resume it and accept the change (`accept`), or fork the run.",
                run=self.run.context.run_id,
                steps=self._steps,
            )

    @property
    def _is_taken_over(self) -> bool:
        """Whether the latest reply was given to another run, from which this one branched off."""
        started = self.run.state.beginning()
        return bool(started.forked) and self._reply_number <= started.fork_at

    async def _notice_tools(self) -> None:
        """Read the tools anew before the model is asked. Where there are many, choose some of them."""
        catalog = await self.relist()
        if catalog is self._listed and not self._found:
            return
        if catalog is not self.run.path.catalog:
            self.run.path.use(catalog)
        self._listed = catalog
        if not self.choice.places_in(catalog):
            self._show_tools(catalog.tools, catalog.digest)
            return
        chosen, bars = self.run.state.chosen, self.run.path.bars
        if chosen is None or not chosen.names:
            names = await self.index.ask(catalog.tools, self._choose)
            first = len(names)
        else:
            found = [tool.name for tool in tools_named(catalog, self._found) if not bars(tool)]
            called = {call.name for said in self.run.state.calls.values() for call in said}
            names, first = extended(chosen.names, chosen.first, found, called), chosen.first
        self._found.clear()
        tools = tools_named(catalog, names)
        self._show_tools(tools, digest_of(tools), names, first)

    def _choose(self, rank: Rank) -> tuple[str, ...]:
        """The names of the tools that the model is shown at its first step."""
        run = self.run
        replies = [message for message in self.transcript if isinstance(message, Reply)]
        called = [call.name for reply in reversed(replies) for call in reversed(reply.calls)]
        question = run.state.beginning().question
        return choose(question, run.path.catalog, self.choice, rank, run.path.bars, called)

    def _show_tools(self, tools: tuple[Tool, ...], digest: str, names: tuple[str, ...] = (), first: int = 0) -> None:
        """From here on the model is shown these tools.

        The change goes on record where they differ from the tools before.
        """
        self._shown = tools
        chosen = set(names[:first])
        search = SEARCH if SEARCH_TOOL in tools else ""
        self._search = (search, tuple([tool.name for tool in tools if tool.name not in chosen]) if search else ())
        if digest != self._tools:
            self._tools = digest
            keep_tools(self.run.context.journal, digest, tools)
            self.run.context.write(ToolsChanged(digest, names, first))

    def _shown_bytes(self) -> int:
        catalog = self.run.path.catalog
        return catalog.size if self._shown is catalog.tools else sum(len(tool.definition) for tool in self._shown)

    async def _call_tools(self, intention: CallTools) -> Called:
        run, number = self.run, self._reply_number
        if run.state.chosen is not None and run.state.chosen.names:
            await self._show_called(intention.calls)
        try:
            results = await run.perform(intention.calls, number, intention.refusals, intention.linked)
        except Stopped:
            for index, call in enumerate(intention.calls):
                ref = CallRef(number, index)
                self.transcript.append(ToolMessage(call.name, run.state.told(ref, run.outcome(ref, call))))
            raise
        for call, result in zip(intention.calls, results, strict=True):
            self._found += found_by(call, result)
        made = None if intention.linked is None else intention.linked.links.made(results)
        if run.state.cut:
            results = [
                run.state.told(CallRef(number, index), result) if isinstance(result, ToolResult) else result
                for index, result in enumerate(results)
            ]
        sampled = run.state.sampled_in(number) if run.state.sampled else 0
        said = run.state.said_beside(number, len(results)) if run.state.answers else ()
        elapsed, used = self._elapsed_after(len(results)), run.state.used_in(number, len(results))
        return Called(results, elapsed, used, sampled, said, made)

    async def _show_called(self, calls: Sequence[ToolCall]) -> None:
        """Show the model, from here on, tools that it called without having been shown them. So a person who is asked
        about the call finds the definition on record.
        """
        assert self.run.state.chosen is not None
        shown, catalog = self.run.state.chosen.names, self.run.path.catalog
        unseen = [call.name for call in calls if call.name not in shown and catalog.get(call.name) is not None]
        if unseen and self._steps >= self._recorded:
            self._found += unseen
            await self._notice_tools()

    def _elapsed_after(self, calls: int) -> float:
        """The time that the run had used when these calls were on record, so that a replay sees the same time."""
        run = self.run
        if self._steps > self._recorded:
            return run.context.elapsed()
        known = [run.state.outcome(CallRef(self._reply_number, index)) for index in range(calls)]
        recorded = [outcome[1] for outcome in known if outcome is not None]
        return max(recorded) if len(recorded) == calls else run.context.elapsed()

    async def _ask_user(self, intention: AskUser) -> UserAnswered | Pending:
        run, questions = self.run, self.run.state.questions
        self._questions += 1
        if self._questions > len(questions):
            run.context.write(InputRequested(Pending(new_id("ask"), "answer", intention.question), self._reply_number))
        asked = questions[self._questions - 1]
        known = run.state.answers.get(asked.id)
        if known is not None:
            return UserAnswered(known.text)
        text = await run.ask(asked.pending)
        return asked.pending if text is None else UserAnswered(text)
