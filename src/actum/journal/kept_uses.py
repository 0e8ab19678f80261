"""The publications of very many tools with which a run began: kept once for all runs that began with the same ones.

The first record of a run names them in `Started.uses`. Where there are more than `TOOLS_INLINE_MAX` of them, the record
names only their digest, in `Started.uses_kept`.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from typing import Final

import msgspec
from msgspec import structs

from ..core.errors import JournalError, UnknownName
from ..core.interfaces import Journal
from ..core.run.record import Started
from .recording import RunState

TOOLS_INLINE_MAX: Final = 100
"""The number of published tools that the first record of a run names itself."""
_TOOLS: Final = "tool/"


def put_beginning(started: Started, run_id: str, journal: Journal) -> RunState:
    """Put the beginning of a run on record.

    Args:
        started: the first record.
        run_id: the run, which the caller has claimed.
        journal: where the record is written.

    Returns:
        The state of the run.
    """
    salted = structs.replace(started, salt=started.salt or os.urandom(16).hex())
    started, state = _with_uses_apart(salted, journal), RunState()
    state.take(journal.append(run_id, started), started)
    return state


def _with_uses_apart(started: Started, journal: Journal) -> Started:
    """The record as it is written: very many publications of tools are kept by their digest instead."""
    if len(started.uses) <= TOOLS_INLINE_MAX:
        return started
    tools = {name: number for name, number in started.uses.items() if name.startswith(_TOOLS)}
    if len(tools) <= TOOLS_INLINE_MAX:
        return started
    payload = zlib.compress(msgspec.json.encode(tools, order="deterministic"))
    digest = hashlib.sha256(payload).hexdigest()
    journal.keep(digest, payload)
    others = {name: number for name, number in started.uses.items() if name not in tools}
    return structs.replace(started, uses=others, uses_kept=digest)


async def with_all_uses(started: Started, journal: Journal) -> Started:
    """The first record of a run with all publications with which the run began in `uses`.

    Args:
        started: the first record, as it was read.
        journal: where the record was read.

    Raises:
        JournalError: what is kept is gone, or was changed.
    """
    if not started.uses_kept:
        return started
    try:
        payload = await journal.kept(started.uses_kept)
        if hashlib.sha256(payload).hexdigest() == started.uses_kept:
            tools = msgspec.json.decode(zlib.decompress(payload), type=dict[str, int])
            return structs.replace(started, uses=started.uses | tools, uses_kept="")
    except UnknownName:
        raise JournalError("the list of published tools {digest} is gone", digest=started.uses_kept[:12]) from None
    except (msgspec.MsgspecError, zlib.error):
        pass
    raise JournalError("the list of published tools {digest} was changed", digest=started.uses_kept[:12])
