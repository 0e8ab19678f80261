"""What nodes ask of persons, and what they wait for: each question is on record before anybody is asked."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

from ..core.approver import is_approver
from ..core.json import Json, JsonObject
from ..core.provenance import Origin
from ..core.run.ids import new_id
from ..core.run.pending import Pending
from ..core.run.record import InputGiven, InputRequested
from ..policy.lineage import From
from ..runs.run import Run
from .definition.flow import Due, NodeOutcome
from .definition.functions import told
from .definition.nodes import seconds_of
from .definition.settings import HumanNode, WaitNode
from .node_call import parsed
from .pure import NodeFailed, failed

FIRST_MOMENT = 1.0
"""A wait until an earlier time than this is over: 0 stands for no time at all."""
LAST_MOMENT = 253_402_300_800.0
"""The end of the year 9999."""

OF_EVENT = From((Origin("event"),))
OF_PERSON = From((Origin("user"),))


class NodeQuestions:
    """Asks for the nodes of one run. A question that is on record is not asked anew.

    Args:
        run: the run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    async def person(self, due: Due, number: int, given: JsonObject) -> NodeOutcome | Pending:
        """What a person answers to a `human` node, or what the node waits for.

        Args:
            due: the node.
            number: the number of the record with which the node began.
            given: what the node is given.
        """
        settings = due.node.settings
        assert isinstance(settings, HumanNode)
        expires = 0.0 if settings.expires is None else self._run.context.now() + seconds_of(settings.expires)
        try:
            names = _names(given["approvers"], settings)
        except NodeFailed as failure:
            return failed(due, failure.code, failure.message)
        answered = await self.asked(due, number, told(given["message"]), form(settings), names, expires)
        if isinstance(answered, Pending):
            return answered
        asked = self._run.state.asked_by_node(number)
        assert asked is not None
        late = 0 < asked.pending.expires < self._run.state.given_at.get(asked.id, self._run.context.now())
        if late or answered.expired:
            return NodeOutcome(value={"output": None, "by": ""}, port="expired", lineage=OF_PERSON)
        if answered.verdict != "answer":
            value: JsonObject = {"output": answered.text or None, "by": answered.by}
            return NodeOutcome(value=value, port="denied", lineage=OF_PERSON)
        filled: JsonObject = answered.arguments or {}
        chosen = str(filled.get("choice")) if settings.choices else ""
        value = {"output": chosen if settings.choices else filled, "by": answered.by}
        return NodeOutcome(value=value, port=chosen, lineage=OF_PERSON)

    async def asked(
        self,
        due: Due,
        number: int,
        message: str,
        schema: JsonObject,
        approvers: tuple[str, ...] = (),
        expires: float = 0.0,
    ) -> InputGiven | Pending:
        """What a person answers to one question of a node, or the question where nobody has answered yet.

        Args:
            due: the node.
            number: the number of the record with which the node began.
            message: the question.
            schema: the form that is filled in.
            approvers: who may answer; empty for anybody.
            expires: when the question expires, in seconds since 1970; 0 for never.
        """
        run = self._run
        asked = run.state.asked_by_node(number)
        if asked is None:
            pending = Pending(
                new_id("ask"),
                "elicitation",
                message,
                approvers=approvers,
                expires=expires,
                schema=schema,
                name=due.path,
            )
            asked = InputRequested(pending, number, 0)
            run.context.write(asked)
        known = run.state.answers.get(asked.id)
        if known is not None:
            return known
        if 0 < asked.pending.expires <= run.context.now():
            return EXPIRED
        if await run.ask(asked.pending) is not None:
            return run.state.answers[asked.id]
        run.check_cancelled()
        return asked.pending

    async def wait(self, due: Due, number: int, given: JsonObject) -> NodeOutcome | Pending:
        """What a `wait` node comes to, or what the node waits for. No coroutine waits: the run pauses.

        Args:
            due, number, given: as for `person`.
        """
        run, settings = self._run, due.node.settings
        assert isinstance(settings, WaitNode)
        now = run.context.now()
        asked = run.state.asked_by_node(number)
        if asked is None:
            try:
                until, token = _until(given, now), given["event"]
            except ValueError as error:
                return failed(due, "no_value", str(error))
            ends = until or (0.0 if settings.expires is None else now + seconds_of(settings.expires))
            name = "" if token is None else told(token)
            message = f"{due.path} waits {f'for the event {name!r}' if name else f'until {_moment(ends)}'}."
            asked = InputRequested(Pending(new_id("wait"), "result", message, expires=ends, name=name), number, 0)
            run.context.write(asked)
        known, ends = run.state.answers.get(asked.id), asked.pending.expires
        is_event = bool(asked.pending.name)
        if known is not None and is_event and known.verdict != "cancel":
            return NodeOutcome(value={"output": parsed(known.text)}, lineage=OF_EVENT)
        if known is not None or 0 < ends <= now:  # a person may end a wait for a time early
            return NodeOutcome(value={"output": None}, port="expired" if is_event else "", lineage=OF_EVENT)
        return asked.pending


EXPIRED = InputGiven("", "cancel", expired=True)
"""In the place of an answer that did not come in time."""


def form(settings: HumanNode) -> JsonObject:
    """The form that a person fills in."""
    if settings.choices:
        choice: JsonObject = {"type": "string", "enum": cast("list[Json]", list(settings.choices))}
        return {"type": "object", "properties": {"choice": choice}, "required": ["choice"]}
    return settings.form or {"type": "object", "properties": {}}


def _until(given: JsonObject, now: float) -> float:
    """When a wait for a time is over, in seconds since 1970; 0 for a wait for an event.

    Raises:
        ValueError: that is no time.
    """
    if given["for"] is not None:
        return now + seconds_of(given["for"])
    until = given["until"]
    if until is None:
        if given["event"] is None:
            raise ValueError("there is no time to wait for: for, until and event are null")
        return 0.0
    moment: float
    if isinstance(until, int | float) and not isinstance(until, bool):
        moment = until
    else:
        when = datetime.fromisoformat(str(until)[:100])
        moment = (when if when.tzinfo is not None else when.replace(tzinfo=UTC)).timestamp()
    if not moment < LAST_MOMENT:  # nor is "not a number" below it
        raise ValueError(f"{str(until)[:100]} is no time that comes")
    return float(max(moment, FIRST_MOMENT))


def _names(approvers: Json, settings: HumanNode) -> tuple[str, ...]:
    """The names of those who may answer; empty for everybody, where the definition names nobody.

    Raises:
        NodeFailed: an expression comes to no names. Nobody is not everybody.
    """
    names = approvers if isinstance(approvers, list) else [approvers]
    if not all(isinstance(each, str) and is_approver(each) for each in names) or (
        not names and settings.approvers != []
    ):
        raise NodeFailed("no_value", "approvers is no name, and no list of names")
    return tuple(str(each) for each in names)


def _moment(seconds: float) -> str:
    """A point in time, for people."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(" ", "seconds")
