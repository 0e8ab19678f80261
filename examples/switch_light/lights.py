"""The lights of a house: a file says which are on."""

from __future__ import annotations

import json
from pathlib import Path

from actum import tool

LIGHTS = Path(__file__).with_name("lights.json")


@tool(effects={"write"}, idempotent=True)
def set_light(room: str, lit: bool) -> str:
    """Switch the light of a room on or off.

    Args:
        room: the room.
        lit: whether its light is to be on.
    """
    lights = json.loads(LIGHTS.read_text("utf-8")) if LIGHTS.exists() else {}
    lights.setdefault(room, []).append("on" if lit else "off")
    LIGHTS.write_text(json.dumps(lights), "utf-8")
    return f"{room}: {'on' if lit else 'off'}"
