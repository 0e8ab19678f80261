"""The triggers of a Dify file: inputs of the workflow, and a table for `actum.toml` that begins the workflow.

A webhook of Dify is found by a secret address, and knows headers, parameters and a body. A webhook of ours is found by
its name, asks for a key of the server or for a signature, and knows the body alone.
"""

from __future__ import annotations

import re

from ....core.json import Json, JsonObject
from ..ref import IDENTIFIER, cel_literal
from ..report import FieldReader, ImportNotes
from .graph import STARTS, DifyGraph, DifyNode
from .references import References

_IN_REFERENCE = re.compile(r"""[^"\\${}]+""")
"""The names of fields that a reference can have between quotation marks."""
_CRON = re.compile(r"[0-9A-Za-z*/,#-]+( +[0-9A-Za-z*/,#-]+){4}")
_ZONE = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*")
_TIME = re.compile(r"(\d{1,2}):(\d{2}) *([AaPp][Mm])?")
_DAYS = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

TYPES: dict[str, JsonObject] = {
    "string": {"type": "string"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "object": {"type": "object"},
    "array[string]": {"type": "array"},
    "array[number]": {"type": "array"},
    "array[boolean]": {"type": "array"},
    "array[object]": {"type": "array"},
}
"""JSON Schema of what a webhook of Dify brings, by the type in Dify."""


def webhook(node: DifyNode, references: References, notes: ImportNotes) -> None:
    """A webhook: its headers, parameters and fields are inputs, which stand in the body of our webhook."""
    data = node.data
    given: JsonObject = {}
    for field in ("headers", "params", "body"):
        for each in data.objects(field):
            name, type_ = each.text("name"), each.text("type", "string")
            if not name:
                continue
            required = each.flag("required")
            known = references.new_input(name, dict(TYPES.get(type_, {})), required=required)
            references.input_names[(node.id, name)] = known
            references.input_types[known] = type_
            if (value := _of_event(name, required=required)) is None:
                each.open("name", f"write by hand into [triggers.{node.name}] where the input `{known}` comes from")
            else:
                given[known] = value
            if field != "body":
                each.open("name", "a webhook here knows the body alone: let the sender write this value into the body")
    table: JsonObject = {"with": given} if given else {}
    method, kind = data.text("method", "post").lower(), data.text("content_type", "application/json")
    if method != "post":
        data.open("method", "a webhook here is sent by POST: let the sender do so")
    if kind != "application/json":
        data.open("content_type", "a webhook here takes JSON: let the sender write JSON")
    for field in ("status_code", "response_body"):
        if data.raw(field) not in (None, "", 200):
            data.near(field, "a webhook here answers 202 with the id of the run; `answer = true` waits for the result")
    data.open(
        "",
        f"put [triggers.{node.name}] into actum.toml, and let its sender know the address and a key",
    )
    data.editor_only("webhook_id", "timeout", "async_mode", "webhook_url", "webhook_debug_url", "variables")
    notes.triggers[node.name] = table


def several(graph: DifyGraph, references: References) -> None:
    """Where several starts begin a workflow, each brings its own inputs, and none of them has to be given."""
    starts = [node for node in graph.inside("") if node.kind in STARTS]
    if len(starts) < 2:
        return
    references.required.clear()
    begun = {node.id: {edge.target for edge in graph.edges_in("") if edge.source == node.id} for node in starts}
    for node in starts:
        node.data.near("", "there are several starts: the inputs of the others are missing then")
        if begun[node.id] != begun[starts[0].id]:
            node.data.lost("", "this start begins other nodes than another start: here each start begins them all")


def _of_event(name: str, *, required: bool) -> Json:
    """The value of a field in the body of a webhook; None where no reference can name the field.

    >>> _of_event("q", required=False), _of_event("a b", required=True), _of_event('"a"', required=True)
    ('${event.data.q?}', '${event.data["a b"]}', {'cel': 'event.data["\\\\"a\\\\""]'})
    """
    if not _IN_REFERENCE.fullmatch(name):
        return {"cel": f"event.data[{cel_literal(name)}]"} if required else None
    step = f".{name}" if IDENTIFIER.fullmatch(name) else f'["{name}"]'
    return f"${{event.data{step}{'' if required else '?'}}}"


def schedule(node: DifyNode, notes: ImportNotes) -> None:
    """A schedule: a cron expression, or what a person chose in the editor."""
    data = node.data
    mode, frequency = data.text("mode", "cron" if "cron_expression" in data else "visual"), data.text("frequency")
    cron, zone, chosen = (
        data.text("cron_expression").strip(),
        data.text("timezone", "UTC"),
        data.object("visual_config"),
    )
    field = "cron_expression"
    if mode == "visual" and (chosen.value or not cron):
        field, cron = "visual_config", _cron(frequency, chosen)
    chosen.editor_only(*chosen.fields())
    if not _CRON.fullmatch(cron):
        data.open(field, f"this schedule cannot be read: add [triggers.{node.name}] with a `schedule` by hand")
        return
    if not _ZONE.fullmatch(zone):
        data.open("timezone", "there is no such time zone: UTC is taken")
        zone = "UTC"
    data.open(field, f"put [triggers.{node.name}] into actum.toml: it begins this workflow at these times")
    notes.triggers[node.name] = {"schedule": cron, "zone": zone}


def _cron(frequency: str, chosen: FieldReader) -> str:
    """What a person chose in the editor, as a cron expression; empty where something is missing."""
    if frequency == "hourly":
        minute = chosen.number("on_minute", 0)
        return f"{int(minute)} * * * *" if 0 <= minute <= 59 else ""
    at = _TIME.fullmatch(chosen.text("time").strip())
    if at is None:
        return ""
    hour, minute = int(at[1]), int(at[2])
    if at[3]:
        hour = hour % 12 + (12 if at[3].lower() == "pm" else 0)
    if hour > 23 or minute > 59:
        return ""
    days: list[Json]
    match frequency:
        case "daily":
            return f"{minute} {hour} * * *"
        case "weekly":
            days = [day.upper() for day in chosen.texts("weekdays") if day in _DAYS]
            return f"{minute} {hour} * * {','.join(map(str, days))}" if days else ""
        case "monthly":
            found = chosen.texts("monthly_days")
            days = [
                *(day for day in found if day.isdecimal() and 1 <= int(day) <= 31),
                *(["L"] if "last" in found else []),
            ]
            return f"{minute} {hour} {','.join(map(str, days))} * *" if days else ""
        case _:
            return ""


def plugin(node: DifyNode, notes: ImportNotes) -> None:
    """An event of a plugin: the data of a webhook take its place."""
    for field in list(node.data.fields()):
        node.data.raw(field)
    if node.kind == "datasource":
        node.data.open("", "a plugin of Dify starts this workflow: start it by a trigger of actum, with these inputs")
        return
    node.data.open(
        "",
        f"a plugin of Dify begins this workflow: let its sender tell [triggers.{node.name}], whose data are the inputs",
    )
    notes.triggers[node.name] = {}
