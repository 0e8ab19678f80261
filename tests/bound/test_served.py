"""The attack table through a real `actum serve`: the values come in at its own API, and with the event of a trigger."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from actum.core.json import JsonObject
from examples.local_services.serving import serving
from tests.cli.test_serve import served, until
from tests.patience import HANGS_S

from .attacks import PLACES, VALUES, Receiver, found_at, node_at

pytestmark = pytest.mark.row("C1")

SETTINGS = """\
policy = "policy.toml"
[tasks]
workers = 1
[workflows.all]
file = "all.workflow.yaml"
[triggers.told]
workflow = "all"
with = {v = "${event.data.note}", other = "other"}
"""


def every_place(host: str) -> JsonObject:
    """A workflow with a node for each place, which goes on where a value has no place."""
    nodes: JsonObject = {}
    for number, place in enumerate(PLACES.values()):
        node = node_at(place, host, "inputs.v")
        headers = node.get("headers", {})
        assert isinstance(headers, dict)
        node["headers"] = {**headers, "x-place": str(number)}
        node["on_error"] = {"default": {"output": {"status": 0}, "text": "", "files": []}}
        nodes[f"send_{number}"] = node
    return {"actum": "workflow/1", "name": "all", "inputs": {"type": "object"}, "nodes": nodes}


@asynccontextmanager
async def house(folder: Path) -> AsyncIterator[tuple[httpx2.AsyncClient, Receiver]]:
    receiver = Receiver()
    async with serving(receiver.app) as (url,):
        (folder / "all.workflow.yaml").write_text(json.dumps(every_place(url)), "utf-8")
        (folder / "policy.toml").write_text('default = "allow"\n', "utf-8")
        async with (
            served(folder, settings=SETTINGS) as server,
            httpx2.AsyncClient(base_url=server.origin, timeout=HANGS_S) as client,
        ):
            yield client, receiver


def wrong_places(value: str, receiver: Receiver) -> list[str]:
    """What the receiver parsed otherwise than its author drew it."""
    found = {int(each.headers["x-place"]): each for each in receiver.received}
    wrong = []
    for number, (name, place) in enumerate(PLACES.items()):
        received = found.get(number)
        if place.refuses(value):
            wrong += [f"{name}: {value!r} was sent"] if received is not None else []
        elif received is None or found_at(place, received) != place.drawn(value):
            wrong.append(f"{name}: {value!r} became {received and found_at(place, received)!r}")
    return wrong


async def test_no_value_that_comes_in_at_a_door_leaves_its_place(tmp_path: Path) -> None:
    async with house(tmp_path) as (client, receiver):

        async def is_over(run: str) -> bool:
            return (await client.get(f"/v1/runs/{run}")).json()["status"] not in ("running", "queued")

        for value in VALUES:
            receiver.received.clear()
            begun = await client.post("/v1/workflows/all/run", json={"inputs": {"v": value, "other": "other"}})
            assert begun.status_code == 202, begun.text
            run = begun.json()["id"]
            await until(lambda run=run: is_over(run))  # type: ignore[misc]
            assert (await client.get(f"/v1/runs/{run}")).json()["status"] == "done"
            assert wrong_places(value, receiver) == []


async def test_no_value_of_an_event_leaves_its_place(tmp_path: Path) -> None:
    async with house(tmp_path) as (client, receiver):
        for value in VALUES[1:12]:
            receiver.received.clear()
            told = await client.post("/v1/triggers/told", json={"note": value})
            assert told.status_code == 202, told.text
            task = (await client.get(f"/v1/tasks/{told.json()['run_id']}", params={"wait": "60"})).json()
            assert task["state"] == "succeeded", task
            assert wrong_places(value, receiver) == []
