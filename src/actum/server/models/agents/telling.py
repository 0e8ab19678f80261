"""What it takes to tell an answer while it happens, or out of the record."""

from __future__ import annotations

import asyncio

from msgspec import Struct

from ....core.event import Event
from ....core.identity import Identity
from ....core.json import JsonObject
from .ids import AnswerRef


class Telling(Struct, frozen=True, kw_only=True):
    """An answer that is about to be told.

    Attributes:
        run_id: the run.
        ref: the answer.
        who: the caller.
        events: what happens in the run from its beginning on, None at the end; None where only the record tells.
        live_from: the number of the first entry that the events tell of.
        door: what the request that began the run says of its answer; see `Started.door`.
    """

    run_id: str
    ref: AnswerRef
    who: Identity
    events: asyncio.Queue[Event | None] | None = None
    live_from: int = 0
    door: JsonObject = {}
