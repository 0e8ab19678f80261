"""Carries out a workflow: does what `flow.py` says is due, over the same run, path and record as an agent's loop.

A run that goes on first feeds the flow what is on record, in the order of the record; there is no second path for
resuming. A node that reaches out is written down before it begins (`NodeBegan`) and every node when it is left
(`NodeLeft`). What is due is carried out side by side by workers: as many as `limits.parallel` says. A node that waits
for a person leaves its worker; the run pauses when nothing else is left to do.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import cast

import msgspec

from ..call.limits.call_count import CallCount
from ..core.call import ToolCall, ToolResult
from ..core.errors import ReplayDiverged, WorkflowFailed
from ..core.event import NodeFinished, NodeStarted, RunResult, TextDelta
from ..core.json import Json, JsonObject, dumps
from ..core.message import Message, ToolMessage
from ..core.model import Model
from ..core.process.worker_thread import LARGE, off_loop
from ..core.run.node_records import NODE_VALUE_BYTES_MAX, NodeBegan, NodeError, NodeLeft
from ..core.run.pending import Pending
from ..journal.recording import CallRef
from ..policy.labels import Label
from ..policy.lineage import OF_MODEL, Built, Lineage
from ..policy.origins import Lookup
from ..runs.run import Finish, Run, Stopped
from .asking import form_of
from .conversation import ConversationVariables
from .definition.expression import NoValue, check_size
from .definition.flow import Due, Flow, NodeOutcome
from .definition.graph import Definition, is_foreign
from .definition.settings import (
    TemplateNode,
)
from .model_answers import ModelAnswers
from .node_call import asked_for, check_knowledge, object_in, origins_of_call, outcome_of_call
from .node_questions import OF_EVENT, OF_PERSON, NodeQuestions
from .pure import NodeFailed, compute, failed, work_of
from .say_order import SayOrder
from .template import TemplateWriter

POLL_S = 0.5
"""Seconds between two looks for answers that other processes were given."""

NODES_WITHOUT_A_BREATH = 64
"""The number of nodes in a row after which the event loop gets its turn: tools that never wait would keep it busy."""

_TIMED = ("person", "wait")
"""Nodes that go on by themselves when their time is over."""

_WITH_TEXTS = frozenset({"http", "tool"})
"""The types of nodes whose texts may have a grammar."""


class WorkflowEngine:
    """Carries out one run of a workflow.

    Args:
        run: the run.
        definition: the workflow.
        inputs: what it was given.
        given_by: where the inputs came from.
        models: by name.
        heard: what was said in the run, to look up where the words of a model came from; grows.
        kept: values that the record refers to, by their digests.
        templates: writes the texts of `template` nodes.
        take_posted: writes to the record what was answered while this process drives the run.
        conversation: the variables of the conversation.
        earlier: what was said in the conversation before this run.
        labels: what the labels of fields of results mean: which models may be told the values.
    """

    def __init__(
        self,
        run: Run,
        definition: Definition,
        inputs: JsonObject,
        given_by: Lineage,
        models: Callable[[str], Awaitable[Model]],
        heard: list[Message],
        kept: Mapping[str, Json],
        templates: TemplateWriter,
        take_posted: Callable[[], Awaitable[bool]] | None = None,
        conversation: ConversationVariables | None = None,
        earlier: Sequence[Message] = (),
        labels: Mapping[str, Label] | None = None,
    ) -> None:
        started = run.state.beginning()
        about: JsonObject = {"id": run.run_id, "user": started.principal, "tenant": started.tenant}
        self._run = run
        self._definition = definition
        self._is_foreign = is_foreign(definition, started.version)
        self._conversation = conversation or ConversationVariables(frozenset(), {})
        self._flow = Flow(definition, inputs, given_by, about, self._conversation.values, self._is_under_way)
        self._say_order = SayOrder(self._flow.root)
        self._answers = ModelAnswers(run, models, earlier, labels or {})
        self._questions = NodeQuestions(run)
        self._heard = heard
        self._kept = kept
        self._templates = templates
        self._take_posted = take_posted
        self._made = CallCount(run.context.limits, run.path.names_of)
        self._writing: set[str] = set()
        self._later: RecordedNodes | None = None
        self._queue: deque[Due] = deque()
        self._unsorted: deque[Due] = deque()
        self._began: dict[str, tuple[int, NodeBegan]] = {}
        self._waiting: dict[str, tuple[Due, Pending]] = {}
        self._tries: dict[str, int] = {}
        self._said: list[str] = []
        self._workers = 0
        self._group: asyncio.TaskGroup | None = None

    async def drive(self) -> RunResult:
        """Go on until the workflow is done, paused or stopped.

        Raises:
            WorkflowFailed: a node failed, and the workflow says nothing of what is to happen then.
            ReplayDiverged: the record does not fit the definition; nothing was done.
        """
        finish = await self._run.carry_out(self._run.in_time(self._go_on()))
        return self._run.result(finish, steps=len(self._run.state.replies))

    async def _go_on(self) -> Finish:
        await self._run.check_limits()
        if self._sort_due(self._replay()):
            await self._sort_rest()
        self._run.begin()
        while True:
            await self._work()
            if not self._waiting or not await self._answered():
                break
        return self._finish()

    def _finish(self) -> Finish:
        flow = self._flow
        if self._waiting and flow.failed is None:
            pending = tuple(pending for _, pending in self._waiting.values())
            text = "\n".join(each.message for each in pending if each.call is None) or self._run.phrases.waiting(
                pending
            )
            return Finish(status="paused", text=text, pending=pending)
        if flow.failed is not None:
            raise WorkflowFailed(flow.failed.code, flow.failed.message, flow.failed.node, flow.failed.detail)
        try:
            outputs, _ = flow.outputs()
            check_size(outputs)
        except NoValue as none:
            raise WorkflowFailed("no_value", f"outputs: {none}") from None
        return Finish(status="done", text="\n".join(self._said) or dumps(outputs), output=outputs, outputs=outputs)

    # Replay -----------------------------------------------------------------------------------------------------------

    def _replay(self) -> Sequence[Due]:
        """Feed the flow what is on record, in the order of the record.

        Returns:
            The nodes that are due then, and those that are under way.

        Raises:
            ReplayDiverged: the record does not fit the definition, or a node would be given something else.
        """
        due: dict[str, Due] = {}
        self._later = RecordedNodes(self._run.state.nodes)
        for number, record in self._run.state.nodes:
            self._later.number = number
            due |= {each.path: each for each in self._flow.due()}
            each = due.get(record.path)
            if each is None or not self._flow.is_due(each):
                raise self._diverged(number, f"the node {record.path} is not due")
            if isinstance(record, NodeBegan):
                self._compare(number, record, each)
                self._began[record.path] = (number, record)
            else:
                self._feed(number, record, due.pop(record.path))
        due |= {each.path: each for each in self._flow.due()}
        self._later = None
        return [each for each in due.values() if self._flow.is_due(each)]

    def _is_under_way(self, path: str) -> bool:
        """Whether a node that was due has begun."""
        if path in self._began or path in self._writing:
            return True
        return self._later is not None and self._later.has(path)

    def _compare(self, number: int, record: NodeBegan, due: Due) -> None:
        """Whether a node that began is given now what it was given then.

        Raises:
            ReplayDiverged: no.
        """
        found = self._as_recorded(number, record, due, spliced=False)
        if found is None and record.kind in _WITH_TEXTS:  # an older version put their texts together as they are
            found = self._as_recorded(number, record, due, spliced=True)
        if found is None:
            raise self._diverged(number, f"the node {record.path} would be given something else than it was")
        call = found[1]
        if call is not None:
            self._run.state.calls[number] = (call,)
            self._made.count(call)

    def _as_recorded(
        self, number: int, record: NodeBegan, due: Due, *, spliced: bool
    ) -> tuple[JsonObject, ToolCall | None] | None:
        """What a node is given; None where the record says that the node was given something else."""
        try:
            inputs, call = asked_for(due, self._parameters_of, is_foreign=self._is_foreign, spliced=spliced)
        except NodeFailed as none:
            if record.kind in _WITH_TEXTS and not spliced:
                return None
            raise self._diverged(number, f"{record.path}: {none}") from None
        except NoValue as none:
            raise self._diverged(number, f"{record.path}: {none}") from None
        given = inputs if call is None else self._run.path.catalog.shown(call).arguments
        known = record.inputs if record.call is None else record.call.arguments
        same = _digest(given) == record.kept if record.kept else given == known
        same = same and (call is None) == (record.call is None)
        if not same or (call and record.call and call.name != record.call.name):
            return None
        return inputs, call

    def _parameters_of(self, tool: str) -> JsonObject:
        bound = self._run.path.catalog.get(tool)
        return {} if bound is None else bound.tool.parameters

    def _diverged(self, number: int, why: str) -> ReplayDiverged:
        return ReplayDiverged(
            "run {run} can not go on: at entry {number} {why}. Nothing was done.",
            run=self._run.run_id,
            number=number,
            why=why,
        )

    def _feed(self, number: int, record: NodeLeft, due: Due) -> None:
        """Tell the flow the outcome of a node, from the record."""
        needs = due.node.type.needs
        begun_at, began = self._began.pop(due.path, (-1, None))
        if record.began != begun_at:
            raise self._diverged(number, f"the node {record.path} is left that began elsewhere")
        if record.status == "again":
            self._tries[due.path] = self._tries.get(due.path, 1) + 1
            self._took(due, NodeOutcome(is_again=True), is_new=False)
            return
        if due.result is not None:
            outcome = due.result
        elif record.error is not None:
            outcome = NodeOutcome(error=record.error)
        elif needs == "nothing":
            outcome = compute(due)
        elif needs == "call":
            result = self._run.state.outcome(CallRef(record.began, 0))
            if began is None or began.call is None or result is None:
                raise self._diverged(number, f"the call of {record.path} has no outcome")
            outcome = self._of_result(due, self._run.state.calls[record.began][0], result[0])
        else:
            if record.port and record.port not in due.node.ports:
                raise self._diverged(number, f"the node {record.path} has no port {record.port!r}")
            value = cast(JsonObject, self._kept[record.kept]) if record.kept else record.value
            outcome = NodeOutcome(value=value, port=record.port, lineage=self._lineage_of(due))
        if (outcome.error is None) != (record.error is None) or outcome.port != record.port:
            raise self._diverged(number, f"the node {record.path} comes to something else than it did")
        self._conversation.take(record.assigned)
        self._took(due, outcome, is_new=False)

    def _lineage_of(self, due: Due) -> Lineage:
        """Where the output of a node came from that is no call."""
        needs = due.node.type.needs
        if needs == "model":
            return OF_MODEL
        if needs == "template":
            return Built({}, due.node.expressions["with"].lineage(due.scope))
        return OF_EVENT if needs == "wait" else OF_PERSON

    # Work -------------------------------------------------------------------------------------------------------------

    def _sort_due(self, first: Sequence[Due] = ()) -> bool:
        """Compute what reaches out for nothing, and put the rest into the queue.

        Args:
            first: nodes that became due earlier.

        Returns:
            Whether there is more to sort: the event loop gets its turn before.
        """
        flow, unsorted = self._flow, self._unsorted
        unsorted.extend(first)
        for _ in range(NODES_WITHOUT_A_BREATH):
            if flow.has_due:
                unsorted.extend(flow.due())
            if not unsorted:
                return False
            due = unsorted.popleft()
            if due.path not in self._began and not flow.is_wanted(due):
                continue
            if due.result is not None and not self._is_tried_again(due, due.result):
                self._leave(due, due.result)
            elif due.result is None and due.node.type.needs == "nothing" and work_of(due) <= LARGE:
                self._leave(due, compute(due))
            else:
                self._queue.append(due)
        return bool(unsorted) or flow.has_due

    async def _sort_rest(self) -> None:
        """Sort all that is due, and let others have their turn now and then."""
        while True:
            if self._group is not None:
                self._hire(len(self._queue))
            await asyncio.sleep(0)
            if not self._sort_due():
                return

    async def _work(self) -> None:
        """Carry out what is in the queue, side by side, until nothing is left but what waits."""
        if not self._queue:
            return
        watch = asyncio.ensure_future(self._watch()) if self._take_posted is not None else None
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                self._hire(len(self._queue))
        except BaseExceptionGroup as several:
            raise _first(several) from None
        finally:
            self._group = None
            if watch is not None:
                watch.cancel()
                await asyncio.wait([watch])

    def _hire(self, wanted: int) -> None:
        """Begin workers, as many as there is work for."""
        assert self._group is not None
        for _ in range(min(wanted, self._definition.limits.parallel - self._workers)):
            self._workers += 1
            self._group.create_task(self._worker())

    async def _worker(self) -> None:
        count = 0
        try:
            while self._queue:
                due = self._queue.popleft()
                if due.path in self._began or self._flow.is_wanted(due):
                    await self._carry_out(due)
                if self._sort_due():  # also where a node is not wanted any more: its container may end by that
                    await self._sort_rest()
                if len(self._queue) > 1:
                    self._hire(len(self._queue) - 1)
                count += 1
                if count % NODES_WITHOUT_A_BREATH == 0:
                    await asyncio.sleep(0)
        finally:
            self._workers -= 1

    async def _watch(self) -> None:
        """Go on with what was answered while other branches work."""
        while True:
            await asyncio.sleep(POLL_S)
            if self._waiting and await self._answered() and self._group is not None:
                self._hire(len(self._queue))

    async def _answered(self) -> bool:
        """Put what has been answered back into the queue, and nodes whose time is over.

        Returns:
            Whether there is anything.
        """
        if self._take_posted is not None:
            await self._take_posted()
        answers, now = self._run.state.answers, self._run.context.now()
        ready = [
            path
            for path, (due, pending) in self._waiting.items()
            if pending.id in answers or (due.node.type.needs in _TIMED and 0 < pending.expires <= now)
        ]
        for path in ready:
            self._queue.append(self._waiting.pop(path)[0])
        return bool(ready)

    def _is_tried_again(self, due: Due, result: NodeOutcome) -> bool:
        rule = due.node.retry
        if result.error is None or rule is None:
            return False
        return self._tries.get(due.path, 1) < rule.attempts and (not rule.only or result.error.code in rule.only)

    def _check_steps(self) -> None:
        if self._flow.steps >= self._definition.limits.steps:
            raise Stopped("steps")

    def _leave(
        self,
        due: Due,
        outcome: NodeOutcome,
        *,
        began: int = -1,
        seconds: float = 0.0,
        is_call: bool = False,
    ) -> None:
        """Write down that a node was left, and tell the flow."""
        self._check_steps()
        assigned = self._conversation.assigned(due, outcome) if outcome.variables else {}
        if assigned and (name := self._conversation.conflict(assigned)):
            message = f"another run of the conversation has changed {name} since this run began"
            outcome, assigned = failed(due, "conflict", message), {}
        value: JsonObject = {}
        kept = ""
        if not is_call and outcome.error is None:
            try:
                value, kept = self._kept_apart(outcome.value)
            except NoValue as large:
                outcome, assigned = failed(due, "too_large", str(large)), {}
        record = NodeLeft(
            path=due.path,
            status="again" if outcome.is_again else "done" if outcome.error is None else "failed",
            began=began,
            port=outcome.port,
            value=value,
            kept=kept,
            error=outcome.error,
            seconds=seconds,
            elapsed=self._run.context.elapsed(),
            assigned=assigned,
        )
        number = self._run.context.write(record)
        self._conversation.take(assigned)
        if self._run.context.emit is not None:
            self._run.tell(NodeFinished(due.path, record.status, outcome.port, number))
        self._took(due, outcome, is_new=True)

    def _took(self, due: Due, outcome: NodeOutcome, *, is_new: bool) -> None:
        """Tell the flow the outcome of a node, and tell the user what can be said then.

        Args:
            is_new: whether the outcome was not on record before.
        """
        self._flow.took(due.path, outcome)
        if self._say_order.is_over:
            return
        for text in self._say_order.texts():
            if is_new:
                self._run.tell(TextDelta(f"\n{text}" if self._said else text))
            self._said.append(text)

    def _kept_apart(self, value: JsonObject) -> tuple[JsonObject, str]:
        """A value for the record; a large value is kept by its digest instead.

        Raises:
            NoValue: the value is far too large.
        """
        text = b""
        if _may_be_large(value):
            check_size(value)
            text = msgspec.json.encode(value)
        if len(text) <= NODE_VALUE_BYTES_MAX:
            return value, ""
        digest = _digest(value)
        self._run.journal.keep(digest, text, self._run.run_id)
        return {}, digest

    async def _carry_out(self, due: Due) -> None:
        """Carry out one node that reaches out, or the next attempt of a container."""
        if due.result is not None:
            await self._try_again(due)
            return
        needs = due.node.type.needs
        try:
            if needs == "nothing":
                self._writing.add(due.path)
                await self._compute(due)
                return
            if needs == "template":
                self._writing.add(due.path)
                await self._write_template(due)
                return
            number, began, call = self._begin(due)
        except (NoValue, NodeFailed) as none:
            code = none.code if isinstance(none, NodeFailed) else "no_value"
            self._leave(due, failed(due, code, str(none)))
            return
        if call is not None:
            await self._make(due, number, call)
        elif needs == "model":
            await self._ask_model(due, number, began)
        else:
            await self._ask(due, number, began)

    async def _try_again(self, due: Due) -> None:
        assert due.result is not None
        assert due.node.retry is not None
        tries = self._tries.get(due.path, 1)
        await self._run.context.clock.sleep(due.node.retry.delay(tries))
        self._tries[due.path] = tries + 1
        self._leave(due, msgspec.structs.replace(due.result, is_again=True))

    def _begin(self, due: Due) -> tuple[int, JsonObject, ToolCall | None]:
        """Write down that a node begins, unless that is on record.

        Raises:
            NoValue: an input has no value.
            NodeFailed: an input does not fit the node, or the tool is not one that the node may ask.
        """
        known = self._began.get(due.path)
        if known is not None and known[0] in self._run.state.calls:
            return known[0], {}, self._run.state.calls[known[0]][0]
        inputs, call = asked_for(due, self._parameters_of, is_foreign=self._is_foreign)
        if known is not None:
            return known[0], inputs, call
        self._check_steps()
        run = self._run
        if call is not None:
            check_knowledge(due, run.path.catalog.get(call.name))
        shown = run.path.catalog.shown(call) if call is not None else None
        given, kept = self._kept_apart(inputs if shown is None else shown.arguments)
        if shown is not None and kept:
            shown = msgspec.structs.replace(shown, arguments={}, raw="")
        record = NodeBegan(
            path=due.path,
            kind=due.node.type.name,
            inputs=given if shown is None else {},
            call=shown,
            kept=kept,
            elapsed=run.context.elapsed(),
        )
        number = run.context.write(record)
        if call is not None:
            run.state.calls[number] = (call,)
        self._began[due.path] = (number, record)
        if run.context.emit is not None:
            run.tell(NodeStarted(due.path, due.node.type.name))
        return number, inputs, call

    # Calls ------------------------------------------------------------------------------------------------------------

    def _origins(self, due: Due, number: int, call: ToolCall) -> Lookup:
        given = self._run.state.calls[number][0].arguments
        return origins_of_call(due, call.name, given, self._run.path.looked_up, is_foreign=self._is_foreign)

    async def _make(self, due: Due, number: int, call: ToolCall) -> None:
        """Make the call of a node."""
        run, began = self._run, self._run.context.clock.monotonic()
        refusal = self._made.refusal(call)
        if refusal is None:
            self._made.count(call)
        result = await run.make(call, CallRef(number, 0), refusal, self._origins(due, number, call))
        run.check_cancelled()
        if isinstance(result, Pending):
            self._waiting[due.path] = (due, result)
            return
        del self._began[due.path]
        seconds = run.context.clock.monotonic() - began
        self._leave(due, self._of_result(due, call, result), began=number, seconds=seconds, is_call=True)

    def _of_result(self, due: Due, call: ToolCall, result: ToolResult) -> NodeOutcome:
        """What a call came to, as the value of its node."""
        self._heard.append(ToolMessage(call.name, result))
        return outcome_of_call(due, call, result, self._run.path.catalog.trusted(call.name))

    # Models -----------------------------------------------------------------------------------------------------------

    async def _ask_model(self, due: Due, number: int, given: JsonObject) -> None:
        began = self._run.context.clock.monotonic()
        found = await self._answers.answer(due, number, given)
        if isinstance(found, NodeError):
            self._end_asking(due, number, began, NodeOutcome(error=found))
            return
        if not found.missing:
            self._end_asking(due, number, began, NodeOutcome(value=found.value, port=found.port, lineage=OF_MODEL))
            return
        message = f"{due.path}: what is {', '.join(found.missing)}?"
        given_now = await self._questions.asked(due, number, message, form_of(due.node, found.missing))
        if isinstance(given_now, Pending):
            self._waiting[due.path] = (due, given_now)
            return
        if given_now.verdict != "answer":
            outcome = failed(due, "missing", f"nobody said: {', '.join(found.missing)}")
        else:
            output = {**object_in(found.value["output"], "output"), **(given_now.arguments or {})}
            outcome = NodeOutcome(value={"output": output}, lineage=OF_MODEL)
        self._end_asking(due, number, began, outcome)

    def _end_asking(self, due: Due, number: int, began: float, outcome: NodeOutcome) -> None:
        del self._began[due.path]
        self._leave(due, outcome, began=number, seconds=self._run.context.clock.monotonic() - began)

    # Persons, time and templates --------------------------------------------------------------------------------------

    async def _ask(self, due: Due, number: int, given: JsonObject) -> None:
        """Ask a person, or wait for a time or an event."""
        began = self._run.context.clock.monotonic()
        is_wait = due.node.type.needs == "wait"
        outcome = await (self._questions.wait if is_wait else self._questions.person)(due, number, given)
        if isinstance(outcome, Pending):
            self._waiting[due.path] = (due, outcome)
        else:
            self._end_asking(due, number, began, outcome)

    async def _compute(self, due: Due) -> None:
        """Compute a node that goes through a long list, while others have their turn."""
        began = self._run.context.clock.monotonic()
        outcome = await off_loop(work_of(due), compute, due)
        self._writing.discard(due.path)
        self._leave(due, outcome, seconds=self._run.context.clock.monotonic() - began)

    async def _write_template(self, due: Due) -> None:
        settings = due.node.settings
        assert isinstance(settings, TemplateNode)
        began = self._run.context.clock.monotonic()
        try:
            values = object_in(due.node.expressions["with"].value(due.scope), "with")
            text = await self._templates.write(settings.template, values, escapes=settings.escape == "html")
        except NoValue as none:
            outcome = failed(due, "no_value", str(none))
        except NodeFailed as failure:
            outcome = failed(due, failure.code, failure.message)
        else:
            outcome = NodeOutcome(value={"output": text, "text": text}, lineage=self._lineage_of(due))
        self._writing.discard(due.path)
        self._leave(due, outcome, seconds=self._run.context.clock.monotonic() - began)


class RecordedNodes:
    """Which nodes are told of later in a record.

    Args:
        nodes: the records of nodes, with their numbers.

    Attributes:
        number: how far the record was read.
    """

    def __init__(self, nodes: Sequence[tuple[int, NodeBegan | NodeLeft]]) -> None:
        self.number = 0
        self._numbers: dict[str, list[int]] = {}
        self._again: list[tuple[int, str]] = []
        for number, record in nodes:
            self._numbers.setdefault(record.path, []).append(number)
            if isinstance(record, NodeLeft) and record.status == "again":
                self._again.append((number, f"{record.path}["))

    def has(self, path: str) -> bool:
        """Whether the record tells later of a node, before a container around the node is carried out anew."""
        later = next((number for number in self._numbers.get(path, ()) if number > self.number), None)
        if later is None:
            return False
        return not any(self.number < number < later and path.startswith(inside) for number, inside in self._again)


def _digest(value: Json) -> str:
    return hashlib.sha256(msgspec.json.encode(value)).hexdigest()


def _may_be_large(value: JsonObject) -> bool:
    """Whether it is worth while to measure a value: most are a few words."""
    length = 0
    for item in value.values():
        if isinstance(item, dict | list) and item:
            return True
        length += len(item) if isinstance(item, str) else 1
    return length > 10_000


def _first(several: BaseExceptionGroup) -> BaseException:
    """The first of several errors: the rest followed from it."""
    error: BaseException = several
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
