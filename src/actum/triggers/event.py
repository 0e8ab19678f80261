"""What happened elsewhere, and by which id a second telling of it is known. Pure."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping

from msgspec import Struct

from ..core.errors import UsageError
from ..core.json import Json, JsonObject
from ..protocols.a2a.later import UnreadableAnswer
from ..protocols.a2a.news import NewsOfTask, news_of_task
from .settings import SignatureForm, TriggerTable

OWN_IDS: dict[SignatureForm, str] = {
    "standard": "header:webhook-id",
    "github": "header:x-github-delivery",
    "stripe": "body:id",
}
"""Where forms of signatures say that the id of an event stands."""
ID_CHARS_MAX = 1_000


class TriggerEvent(Struct, frozen=True, kw_only=True):
    """Something that happened.

    Attributes:
        trigger: the name of the trigger.
        id: the same for the same event.
        at: when it was told, in seconds since 1970.
        data: what was told of it.
        kind: the name of the kind of event, where the sender says one.
        trace: the `traceparent` that came with the event; empty where none came.
    """

    trigger: str
    id: str
    at: float
    data: Json
    kind: str = ""
    trace: str = ""

    @property
    def key(self) -> str:
        """By this the run of this event is found again."""
        return f"trigger:{self.trigger}:{hashlib.sha256(self.id.encode()).hexdigest()}"

    @property
    def told(self) -> JsonObject:
        """What references may speak of: `${event.data}` and its kin."""
        return {"trigger": self.trigger, "id": self.id, "at": self.at, "kind": self.kind, "data": self.data}


def event_id(table: TriggerTable, headers: Mapping[str, str], data: Json) -> str:
    """The id of the event that a webhook tells of.

    Args:
        table: the trigger.
        headers: of the request, by lower-case names.
        data: its body.

    Returns:
        The id; a new one where the trigger does not say where the id stands: two equal bodies may be two presses of one
        switch.

    Raises:
        UsageError: the request has no id where the trigger says that there is one, or is no news of a task where the
            trigger wants these.
    """
    if table.a2a:
        return _checked(_news(data).id)
    place = table.id or (OWN_IDS.get(table.signature, "") if table.secrets else "")
    if not place:
        return secrets.token_hex(16)
    where, _, path = place.partition(":")
    found: Json
    if where == "header":
        found = headers.get(path.lower())
    else:
        found = data
        for step in path.split("."):
            found = _inside(found, step)
    if isinstance(found, bool) or not isinstance(found, str | int) or found == "":
        raise UsageError("the event has no id: a text or a whole number was expected at {place}", place=place)
    return _checked(str(found))


def _checked(id: str) -> str:
    if len(id) > ID_CHARS_MAX:
        raise UsageError("the id of the event is longer than {most} characters", most=ID_CHARS_MAX)
    return id


def _news(data: Json) -> NewsOfTask:
    try:
        return news_of_task(data)
    except UnreadableAnswer as unreadable:
        raise UsageError("these are no news of a task: {why}", why=unreadable) from None


def _inside(value: Json, step: str) -> Json:
    """What stands in an object under a name, or in a list at a place; None where there is nothing."""
    if isinstance(value, dict):
        return value.get(step)
    is_place = isinstance(value, list) and step.isascii() and step.isdecimal() and len(step) < 9
    return value[int(step)] if isinstance(value, list) and is_place and int(step) < len(value) else None


def kind_of(table: TriggerTable, headers: Mapping[str, str], data: Json) -> str:
    """The kind of event, where the sender names it in a header; of news of a task, what they tell."""
    if table.a2a:
        return _news(data).kind
    return next((headers[name][:200] for name in ("x-github-event", "x-event-type") if name in headers), "")
