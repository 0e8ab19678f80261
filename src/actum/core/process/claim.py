"""Who drives which run, and who adds to which conversation, within one process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec

from ..errors import Busy


class Claims:
    """What is held of one journal. Two that drive one run would each do what the other has done."""

    def __init__(self) -> None:
        self._held: set[str] = set()

    @contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Hold it within this block.

        Raises:
            Busy: it is held.
        """
        if name in self._held:
            raise busy(name)
        self._held.add(name)
        try:
            yield
        finally:
            self._held.discard(name)

    def held(self, names: Iterable[str]) -> set[str]:
        """Those of them that are held."""
        return self._held.intersection(names)


def busy(name: str) -> Busy:
    """The error of the second claimant."""
    what = f"run {name!r}"
    of_conversation = name.removeprefix(_VARIABLES)
    if of_conversation.startswith(_CONVERSATION):
        named = msgspec.json.decode(of_conversation.removeprefix(_CONVERSATION), type=list[str])
        what = f"conversation {named[1]!r}"
    return Busy("{run} is under way: wait until it has ended or paused", run=what)


def claim_of_conversation(owner: str, conversation: str, tenant: str = "") -> str:
    """The name under which the right to add to a conversation is claimed. No two conversations share one.

    >>> claim_of_conversation("ada", "c1")
    'conversation ["ada","c1"]'
    >>> claim_of_conversation("ada", "c1", "north")
    'conversation ["ada","c1","north"]'
    """
    named = (owner, conversation, tenant) if tenant else (owner, conversation)
    return _CONVERSATION + msgspec.json.encode(named).decode()


def claim_of_variables(owner: str, conversation: str, tenant: str = "") -> str:
    """The name under which the right to change the variables of a conversation is claimed. A run of a workflow claims
    it that works for a run which holds the conversation itself.

    >>> claim_of_variables("ada", "c1")
    'variables of conversation ["ada","c1"]'
    """
    return _VARIABLES + claim_of_conversation(owner, conversation, tenant)


def claim_of_memory(tenant: str, principal: str, space: str) -> str:
    """The name under which the right to keep notes in a memory is claimed.

    >>> claim_of_memory("", "ada", "desk")
    'memory ["","ada","desk"]'
    """
    return f"memory {msgspec.json.encode([tenant, principal, space]).decode()}"


def claim_of_cancel(run_id: str) -> str:
    """The name that a process claims to have a run cancelled that another process carries out.

    The process that carries the run out sees that the name is held (`Journal.driven`), and cancels the run.

    >>> claim_of_cancel("run_1")
    'cancel run_1'
    """
    return f"cancel {run_id}"


def claim_of_end(run_id: str) -> str:
    """The name that a process claims while it breaks off an attempt at a task and puts the reason on record.

    Between the two nobody drives the run, and no other process may take the attempt for a lost one.

    >>> claim_of_end("run_1")
    'end run_1'
    """
    return f"end {run_id}"


_VARIABLES = "variables of "
_CONVERSATION = "conversation "
"""No id of a run holds a space."""
