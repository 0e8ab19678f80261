"""A request's further fields, put into the body that a dialect writes."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from ...core.json import JsonObject


def put_in(body: dict[str, object], extras: JsonObject, joined: Collection[str]) -> None:
    """Put extras into the body, in place of fields of ours.

    Args:
        body: is changed.
        extras: of the request.
        joined: objects whose fields are put beside ours, and lists whose items are put behind ours.
    """
    for name, value in extras.items():
        ours = body.get(name) if name in joined else None
        if isinstance(ours, dict) and isinstance(value, dict):
            body[name] = ours | value
        elif isinstance(ours, list) and isinstance(value, list):
            body[name] = [*ours, *value]
        elif isinstance(ours, msgspec.Raw) and isinstance(value, list):
            more = b",".join([msgspec.json.encode(item) for item in value])
            body[name] = msgspec.Raw(bytes(ours)[:-1] + b"," + more + b"]") if more else ours
        else:
            body[name] = value
