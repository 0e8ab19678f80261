"""Whether a run of an agent is a turn of its user's memory, and what the run is told of that memory.

A run is a turn, and is told earlier ones, where the user's own words begin it, in a conversation of the user's own.
What is told is one message directly before the question, in this run alone: the next turn recalls anew.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TypedDict

from ..core.call import TextPart
from ..core.errors import ActumError
from ..core.interfaces import Journal
from ..core.message import Message, Reply, SystemMessage, Transcript, UserMessage
from ..core.run.record import Recalled, Started
from ..core.user import User
from ..memory.index import SPOKEN
from ..memory.memory import Memory
from ..memory.recall import lines, names_of, recall
from ..runs.runner import Setting
from ..runs.wording import Phrases
from .alternation import in_turns
from .options import AgentOptions

log = logging.getLogger("actum")

FORGOTTEN = "[forgotten]"
"""What a run is told in the place of words that were forgotten since."""


class MemoryFields(TypedDict, total=False):
    """The fields of `Started` that a memory fills in."""

    space: str
    recalled: tuple[Recalled, ...]
    without_memory: bool


async def remembered(
    memory: Memory | None, setting: Setting, question: UserMessage, options: AgentOptions, earlier: Sequence[Message]
) -> MemoryFields:
    """What a new run has of its user's memory. A recall that fails is told in the log, and fails no run.

    Args:
        memory: of the agent.
        setting: what the run finds around it.
        question: what is said.
        options: of the run.
        earlier: what was said before in the conversation.
    """
    if not options.memory:
        return {"without_memory": True}
    if memory is None or not memory.user or setting.parent or options.other_owner is not None:
        return {}
    if question.source not in SPOKEN:
        return {}
    told = [each.text for each in earlier if isinstance(each, UserMessage) and each.source in SPOKEN]
    user = User(options.tenant, options.principal)
    try:
        found = await recall(setting.journal, user, memory.space, question.text, most=memory.recall, told=told)
    except ActumError as error:
        log.warning("nothing was recalled from the memory %s, which does not take in this run: %s", memory.space, error)
        found = None  # nobody can tell whether the user has switched the memory off
    return {} if found is None else {"space": memory.space, "recalled": found}


async def begun(journal: Journal, started: Started, before: Sequence[Message]) -> Transcript:
    """The conversation of a run as the model is first told it: with what was recalled, which is no part of `shown`.

    Args:
        journal: has the words that were recalled.
        started: the first record of the run.
        before: what was said before in the conversation.
    """
    phrases = Phrases.for_text(started.question)
    of_memory = await _told_of_memory(journal, started, phrases) if started.recalled else None
    said = started.said if of_memory is None else (*started.said[:-1], of_memory, started.said[-1])
    own = in_turns(said, phrases.noted)
    transcript = Transcript([SystemMessage(started.instructions)] if started.instructions else [])
    transcript.extend([*before, *own])
    if of_memory is not None:
        transcript.set_aside(of_memory, UserMessage((TextPart(names_of(started)),), "memory"))
        noted = own[own.index(of_memory) + 1]
        if isinstance(noted, Reply):
            transcript.set_aside(noted, noted)
    return transcript


async def _told_of_memory(journal: Journal, started: Started, phrases: Phrases) -> UserMessage:
    """The message that tells a run what was recalled for it."""
    try:
        told = await lines(journal, started, FORGOTTEN)
    except ActumError as error:
        log.warning("what was recalled from the memory %s can not be read: %s", started.space, error)
        told = [FORGOTTEN]
    return UserMessage((TextPart(phrases.memory(told)),), "memory")
