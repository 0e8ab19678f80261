"""Where the arguments of the calls of a run come from."""

from __future__ import annotations

from ..journal.recording import CallRef, RunState
from ..policy.origins import Lookup, OriginIndex
from ..policy.outside import OutsideText


class CallOrigins:
    """Tells the origins of arguments: as the caller knew them, else as found in the words of the run.

    This is an object of its own, which knows nothing of the call path, so that an ended run leaves no circle of objects
    to the garbage collector.

    Args:
        said: what was said in the run.
        outside: tells what brought foreign text to the conversation of the run.
        state: of the run.
    """

    def __init__(self, said: OriginIndex, outside: OutsideText, state: RunState) -> None:
        self.said = said
        self.outside = outside
        self._state = state
        self._known: dict[CallRef, Lookup] = {}

    def know(self, place: CallRef, lookup: Lookup) -> None:
        """Take the origins of one call from somebody who knows them."""
        self._known[place] = lookup

    def forget(self, place: CallRef) -> None:
        """The call is over: what knew its origins may hold much of the run that made it."""
        self._known.pop(place, None)

    def of(self, place: CallRef | None) -> Lookup:
        """What tells the origins of the arguments of a call."""
        return self._known.get(place, self.said.of) if place is not None else self.said.of

    def brought(self, place: CallRef | None = None) -> tuple[str, ...]:
        """What has brought text that an outsider may have written to the run.

        Args:
            place: of a call. Where its arguments are parts of results, results count that no model was told yet.
        """
        names = self.outside.names()
        if self._state.outside and (place in self._known or not self.outside.is_told):
            return tuple(dict.fromkeys((*names, *self._state.outside)))
        return names
