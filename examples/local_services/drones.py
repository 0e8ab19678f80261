"""What drones report. The service has a flaw on purpose: asked for a drone that it does not have, it answers about the
one with the most similar number, and says so only in the data."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from starlette.applications import Starlette

from actum.core.json import Json, JsonObject

from .serving import lookup_service

FLEET: dict[str, JsonObject] = {
    "101": {"status": "充电中", "battery": 35, "altitude_m": 0},
    "1001": {"status": "巡航中", "battery": 82, "altitude_m": 120},
    "2040": {"status": "待命", "battery": 100, "altitude_m": 0},
}


def drone_service(*missing: str) -> Starlette:
    """`/drone?id=...`. `missing` are drones that it has lost sight of."""
    fleet = {id_: data for id_, data in FLEET.items() if id_ not in missing}

    def drone(query: Mapping[str, str]) -> Json:
        (id_,) = get_close_matches(query.get("id", ""), fleet, n=1, cutoff=0.0)
        return {"drone_id": id_, **fleet[id_]}

    return lookup_service(drone=drone)
