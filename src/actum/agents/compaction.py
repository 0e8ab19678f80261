"""Sums up a conversation, however long it is: in one request where the model can read all of it, else in parts.

A part that the model can read is summed up, and the next request tells that summary before what comes after.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from math import inf

import msgspec
from msgspec import Struct, structs

from ..core.call import TextPart
from ..core.cancellation import apart
from ..core.errors import ActumError, ContextOverflow, ModelError, ModelGarbled, UnknownName
from ..core.interfaces import Journal
from ..core.message import Message, Reply, ToolMessage, Usage, UserMessage
from ..core.model import Model, Request, default_max_tokens
from ..core.model_settings import ModelSettings
from ..core.run.ids import new_id
from ..core.run.record import Compacted, Ended, ModelReplied, Started
from ..core.secrets.given import GIVEN
from ..core.user import User
from ..journal.recording import RunState
from ..memory.memory import Memory
from ..policy.labels import Label, hidden_from
from ..runs.recorded import sound
from ..runs.wording import Phrases
from .alternation import in_turns
from .conversation import before
from .shortening import CLIPS, clipped, halves

log = logging.getLogger("actum")

REQUESTS_MAX = 64
"""The most requests that are sent for one summary."""

_encode = msgspec.json.Encoder().encode


class Summary(Struct, frozen=True):
    """What a conversation was summed up as.

    Attributes:
        text: the summary.
        in_parts: the model could not read all of the conversation at once.
    """

    text: str
    in_parts: bool = False


KEPT_RUNS = 2
"""How many of the latest runs of a conversation stay as they are when it is summed up."""


class Summarizer(Struct, frozen=True):
    """Has a model sum up conversations. The summary is a step on record, and the run of it holds nothing else.

    Attributes:
        journal: where the conversations are, and where a summary is written down.
        model: the model.
        settings: how the model is asked for answers.
        agent: the name of the agent whose model it is.
        labels: what the labels of results mean, as for `Agent`.
    """

    journal: Journal
    model: Model
    settings: ModelSettings
    agent: str
    labels: Mapping[str, Label] = {}

    async def sum_up(self, conversation: str, owner: User, principal: str, keep: int | None) -> str:
        """The summary of a conversation that nobody else adds to meanwhile; see `Agent.compact`.

        Raises:
            UnknownName: there is no such conversation.
            ModelError: the model gave no answer, or one that is no summary.
        """
        earlier = await before(self.journal, owner, conversation, labels=self.labels)
        if not earlier.run_id:
            raise UnknownName("there is no conversation {wanted!r} in this journal", wanted=conversation)
        wording = Phrases.for_text("".join(said.text for said in earlier.messages if isinstance(said, UserMessage)))
        run_id, usage = new_id("run"), Usage()
        latest = RunState(await self.journal.read(earlier.run_id)).ended
        too_long = latest is not None and latest.reason == ContextOverflow.__name__
        started = Started(
            agent=self.agent,
            model=self.model.name,
            said=(UserMessage((TextPart(wording.compact()),), "developer"),),
            settings=self._asking.recorded,
            principal=principal,
            tenant=owner.tenant,
            conversation=conversation,
            owner=None if owner.principal == principal else owner.principal,
            previous=earlier.run_id,
            seen=earlier.seen,
            outside=earlier.outside,
            labels_seen=earlier.labels_seen,
            unfinished=earlier.unfinished,  # the next turn tells what became of them, whatever comes of this one
            compacts=True,
        )
        async with self.journal.claim(run_id):
            self.journal.append(run_id, started)

            async def ask(messages: Sequence[Message]) -> Reply:
                nonlocal usage
                messages = hidden_from(self.model.name, messages, self.labels)
                reply = await apart(self.model.reply(self._asking.fill(Request(messages=messages))), self.model.name)
                self.journal.append(run_id, ModelReplied("", reply))
                usage += reply.usage
                return reply

            try:
                summary = await sum_up(earlier.messages, ask, wording)
            except ModelError as error:
                self.journal.append(run_id, Ended("failed", GIVEN.without(str(error)), type(error).__name__, usage))
                raise
            if keep is None:
                keep = 0 if too_long or summary.in_parts else KEPT_RUNS
            self.journal.append(run_id, Compacted(summary.text, keep))
            self.journal.append(run_id, Ended("done", summary.text, usage=usage))
            await self.journal.sync(run_id)
        return summary.text

    @property
    def _asking(self) -> ModelSettings:
        """How the model is asked for a summary: an answer's limit of length holds only where it allows more than the
        model's own limit.
        """
        most, own = self.settings.max_tokens, default_max_tokens(self.model)
        longer = most if most is not None and own is not None and most > own else None
        return structs.replace(self.settings.unbounded, max_tokens=longer)


GROWN = 1.5
"""A conversation that was summed up is summed up again when what is told has grown by this factor since."""


async def sum_up_if_long(
    summarizer: Summarizer, memory: Memory, conversation: str, owner: User, principal: str
) -> None:
    """Sum a conversation up before its next turn, where its last reply took many tokens. Where that fails, the turn
    goes on with the whole conversation, and the log says so.

    Args:
        summarizer: sums it up.
        memory: says from how many tokens on, and how many runs stay as they are.
        conversation, owner, principal: as for `Summarizer.sum_up`.
    """
    journal = summarizer.journal
    listed = await journal.runs(conversation=conversation, owner=owner.principal, tenant=owner.tenant, limit=1)
    run_id = next((run.run_id for run in listed), "")
    latest, first = 0, 0  # the input tokens of the last reply, and of the first one since the last summary
    try:
        while run_id:
            recording = RunState(sound(run_id, await journal.read(run_id)))
            started = recording.beginning()
            if started.compacts:
                break
            taken = [replied.reply.usage.input_tokens for _, replied in recording.replies]
            first = next(filter(None, taken), first)
            latest = latest or next(filter(None, reversed(taken)), 0)
            if latest and latest < (memory.summary_at or inf):
                return
            run_id = started.previous
        if not latest or (run_id and latest < first * GROWN):
            return
        await summarizer.sum_up(conversation, owner, principal, memory.keep)
    except ActumError as error:
        log.warning("the conversation %s is not summed up: %s", conversation, error)


async def sum_up(
    messages: Sequence[Message], ask: Callable[[Sequence[Message]], Awaitable[Reply]], wording: Phrases
) -> Summary:
    """Have a model sum up a conversation.

    Args:
        messages: the conversation.
        ask: asks the model.
        wording: of the request, in the language of the conversation.

    Raises:
        ContextOverflow: not even the smallest part is short enough for the model.
        ModelGarbled: the model's answer is no summary: empty, or cut off.
        ModelError: the model gave no answer.
    """
    demand = UserMessage((TextPart(wording.compact()),), "developer")
    summary: list[Message] = []
    rest, clip, part = list(messages), 0, list(messages)
    overflowed = False
    for _ in range(REQUESTS_MAX):
        try:
            told = [clipped(each, clip) if clip else each for each in part]
            reply = await ask(in_turns([*summary, *told, demand], wording.noted))
        except ContextOverflow:
            overflowed = True
            smaller = halves(part)
            if smaller is not None:
                part = smaller[0]
            else:
                clip = next((each for each in CLIPS if not clip or each < clip), -1)
                if clip < 0:
                    raise
            continue
        text = _checked(reply)
        rest = rest[len(part) :]
        if not rest:
            return Summary(text, overflowed)
        summary = [UserMessage((TextPart(wording.summary(text)),), "memory")]
        part = _beginning(rest, _size(part))
    raise ContextOverflow("the conversation is too long to be summed up in {most} requests", most=REQUESTS_MAX)


def _checked(reply: Reply) -> str:
    if not reply.text.strip():
        raise ModelGarbled("the model summed up the conversation in no words: it stays as it is")
    if reply.cut_off:
        raise ModelGarbled(
            "the model's summary was cut off ({cut_off}): the conversation stays as it is. A larger "
            "max_tokens in the model settings may help",
            cut_off=reply.cut_off,
        )
    return reply.text


def _beginning(messages: list[Message], size: int) -> list[Message]:
    """The first messages, of about this size together; calls with their results."""
    end, used = 0, 0
    while end < len(messages):
        used += _size(messages[end : end + 1])
        if end and used > size and not isinstance(messages[end], ToolMessage):
            break
        end += 1
    return messages[:end]


def _size(messages: Sequence[Message]) -> int:
    return sum(len(_encode(message)) for message in messages)
