"""What administrators do, and what users do with their own memory, on record: who did what, and when.

An administrator makes and revokes keys, sets and removes secrets, reads the settings anew. Each such act is a run of
its own in the journal, with one call that nobody but an administrator asks for (`by="administrator"`). So the act is
shown by `actum runs list` and `actum audit`, and the chain of the run covers the act as it covers every other call.

Nothing is carried out here. The code that carries out an act puts the act on record: a key is taken back first and the
act is put on record then; a key is put on record before anybody is shown the text of the key.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ..core.call import ToolCall, ToolResult
from ..core.interfaces import Journal
from ..core.json import JsonObject
from ..core.run.ids import new_id
from ..core.run.record import CallCompleted, CallsRequested, Ended, RecordedRequester, Started

ADMINISTRATION = "administration"
"""The name that the run of an act has in the place of an agent's name."""


async def put_on_record(
    journal: Journal,
    act: str,
    arguments: JsonObject,
    *,
    principal: str,
    key_id: str = "",
    tenant: str = "",
    by: RecordedRequester = "administrator",
    noted: Sequence[Struct] = (),
) -> str:
    """Put the act of an administrator, or of a user, on record. When this returns, the record is on the disk.

    Args:
        journal: where the act is written down.
        act: the name of the act: a noun, a dot and a verb, such as `keys.add`.
        arguments: what the act was done with. Never the value of a secret or the text of a key: nothing is taken out.
        principal: who did it.
        key_id: the id of the key with which `principal` showed who they are; empty at a terminal.
        tenant: the tenant in which the act was done; empty where there is only one tenant.
        by: who asked for it.
        noted: records of a feature that belong to the act.

    Returns:
        The run of the act.

    Raises:
        JournalError: the journal can not be written.
    """
    run_id = new_id("run")  # nobody else knows the id, so that no claim is needed
    call = ToolCall("call_1", act, arguments)
    journal.append(
        run_id, Started(agent=ADMINISTRATION, model="", said=(), principal=principal, tenant=tenant, key_id=key_id)
    )
    requested = journal.append(run_id, CallsRequested((call,), by))
    for record in noted:
        journal.append(run_id, journal.record_kinds.noted(record))
    journal.append(run_id, CallCompleted(requested, 0, ToolResult(call.id)))
    journal.append(run_id, Ended("done"))
    await journal.sync(run_id)
    return run_id
