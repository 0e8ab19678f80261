"""What is told of a reply while a model still says it, without the secret values in its calls."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ..core.event import CallDelta, CallSaid, Event, ThoughtEnded
from .resolve import Catalog


def without_secrets(emit: Callable[[Event], None], catalog: Catalog) -> Callable[[Event], None]:
    """A listener for the events of a reply that passes them on without secret values. The arguments of a call whose
    tool declares a secret parameter are not told piece by piece: the whole call is told, once the model has said it.

    Args:
        emit: is told the events that hold no secret values.
        catalog: the tools that the model may call.
    """
    hidden: set[int] = set()

    def tell(event: Event) -> None:
        if isinstance(event, CallDelta):
            bound = catalog.get(event.name) if event.name else None
            if bound is not None and bound.secrets:
                hidden.add(event.index)
            if event.index in hidden:
                if event.name or event.id:
                    emit(msgspec.structs.replace(event, arguments=""))
                return
        elif isinstance(event, CallSaid):
            event = msgspec.structs.replace(event, call=catalog.shown(event.call))
        elif isinstance(event, ThoughtEnded):
            hidden.clear()
        emit(event)

    return tell
