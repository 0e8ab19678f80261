"""Records of features, from a running tool to the record of the run: without secrets, and on the loop of the run."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading

import msgspec

from ..core.errors import UsageError
from ..core.interfaces import Context
from ..core.json import Json
from ..core.run.record import Noted
from ..journal.recording import CallRef
from .scope import RunContext

WAIT_S = 30.0
"""How long a thread waits for the event loop of its run, which may have ended without a word."""


class NoteWriter:
    """Writes down the records of features that the tools of one run put on record.

    Args:
        scope: the run. The event loop that runs here is the run's, which alone writes to the record.
    """

    def __init__(self, scope: RunContext) -> None:
        self._scope = scope
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def note(self, place: CallRef, context: Context, noted: Noted) -> None:
        """Write a record down, from whichever thread it comes.

        Args:
            place: the call whose tool notes the record.
            context: of that call.
            noted: the record.

        Raises:
            UsageError: the call is over, or the record can not do without a secret.
        """
        cleaned = _cleaned(self._scope, noted)  # in a thread of the tool's own, which holds up nobody else
        if threading.get_ident() == self._thread:
            self._write(place, context, cleaned)
            return
        done: concurrent.futures.Future[None] = concurrent.futures.Future()

        def on_loop() -> None:
            try:
                self._write(place, context, cleaned)
            except Exception as error:  # noqa: BLE001  # the tool, in its thread, hears of it
                done.set_exception(error)
            else:
                done.set_result(None)

        try:
            self._loop.call_soon_threadsafe(on_loop)
        except RuntimeError:  # the loop is closed
            raise UsageError("{title} comes too late: its run is not under way any more", title=noted.title) from None
        done.result(WAIT_S)

    def _write(self, place: CallRef, context: Context, noted: Noted) -> None:
        if context.has_outcome:
            raise UsageError("{title} comes too late: the call that notes it is over", title=noted.title)
        self._scope.write(msgspec.structs.replace(noted, cause=place.cause, index=place.index))


def _cleaned(scope: RunContext, noted: Noted) -> Noted:
    """The record without secrets.

    Raises:
        UsageError: without them it is no such record any more, such as a number that is a secret.
    """
    value: Json = msgspec.json.decode(noted.body)
    cleaned = scope.redaction.value(value, frozenset(scope.told))
    if cleaned == value:
        return noted
    noted = msgspec.structs.replace(noted, body=msgspec.json.encode(cleaned))
    if scope.journal.record_kinds.read(noted) is None:
        raise UsageError(
            "{title} holds a secret where none can be left out; note it without the secret", title=noted.title
        )
    return noted
