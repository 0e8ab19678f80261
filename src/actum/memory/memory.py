"""`Memory`: what an agent remembers of its users, and how much of a long conversation its model is told."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, structs, to_builtins

from ..core.errors import UsageError
from ..core.json import Json

RECALL_MAX = 20
SPACE_CHARS_MAX = 100
MemoryWord = Literal["user", "conversation", "none"]
"""A memory in a word: across conversations, within a conversation, or none: each run stands alone."""
UNNAMED = "agent"
"""What every agent is called that has no name of its own."""


class Memory(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What an agent remembers.

    Args:
        user: what a user said in one conversation is found in another.
        space: agents with the same space share what they remember; empty for the agent's own name.
        recall: at most this many memories are found and told at the start of a run; 0 for none.
        tools: the model gets the tools `recall`, `remember` and `forget_memory`.
        runs: only this many of the latest runs of a conversation are told; None for all.
        summary_at: where the last reply of a conversation took this many input tokens or more, the next turn has the
            conversation summed up first; None for never.
        keep: this many of the latest runs stay as they are when the conversation is summed up.

    Raises:
        UsageError: a value can not be used.

    >>> Memory(user=True, recall=3)
    Memory(user=True, space='', recall=3, tools=True, runs=None, summary_at=None, keep=2)
    """

    user: bool = False
    space: Annotated[str, Meta(max_length=SPACE_CHARS_MAX)] = ""
    recall: Annotated[int, Meta(ge=0, le=RECALL_MAX)] = 5
    tools: bool = True
    runs: Annotated[int, Meta(ge=1)] | None = None
    summary_at: Annotated[int, Meta(ge=1)] | None = None
    keep: Annotated[int, Meta(ge=0)] = 2

    def __post_init__(self) -> None:
        if type(self.recall) is not int or not 0 <= self.recall <= RECALL_MAX:
            raise UsageError(
                "Memory(recall={recall!r:.80}): give a number from 0 to {most}", recall=self.recall, most=RECALL_MAX
            )
        for name, least in (("runs", 1), ("summary_at", 1), ("keep", 0)):
            value = getattr(self, name)
            if (value is not None or name == "keep") and (type(value) is not int or value < least):
                raise UsageError(
                    "Memory({name}={value!r:.80}): give a number from {least}", name=name, value=value, least=least
                )
        for name in ("user", "tools"):
            if type(value := getattr(self, name)) is not bool:
                raise UsageError("Memory({name}={value!r:.80}): give True or False", name=name, value=value)
        if not isinstance(self.space, str) or len(self.space) > SPACE_CHARS_MAX or not self.space.isprintable():
            raise UsageError("Memory(space=...): a space has up to {most} printable characters", most=SPACE_CHARS_MAX)


def read_memory(said: Memory | MemoryWord | None, name: str) -> Memory | None:
    """The memory of an agent; None where each of its runs stands alone.

    Args:
        said: the memory, or a word for it; None for what an agent has by itself.
        name: the name of the agent.

    Raises:
        UsageError: it is none, or agents without a name would share a space.

    >>> read_memory("user", "desk")
    Memory(user=True, space='desk', recall=5, tools=True, runs=None, summary_at=None, keep=2)
    """
    match said:
        case "none":
            return None
        case None | "conversation":
            return Memory()
        case "user":
            found = Memory(user=True)
        case Memory():
            found = said
        case _:
            raise UsageError(
                "memory={said!r:.80}: give 'user', 'conversation', 'none' or actum.memory.Memory(...)", said=said
            )
    if not found.user or found.space:
        return found
    if name == UNNAMED:
        raise UsageError(
            "an agent with a memory of its users needs a name, since all agents without one would share their "
            "memories: Agent(..., name='desk'), or Memory(user=True, space='desk')"
        )
    return structs.replace(found, space=name[:SPACE_CHARS_MAX])


def remembers_users(said: Memory | MemoryWord | None) -> bool:
    """Whether a memory, or the word for it, goes across conversations."""
    return said.user if isinstance(said, Memory) else said == "user"


def memory_part(memory: Memory | None) -> Json:
    """What the digest of an agent covers of its memory."""
    if memory is None:
        return "none"
    found: Json = to_builtins(memory, order="deterministic")
    return found or "conversation"
