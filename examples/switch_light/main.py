"""A switch is pressed and a light goes on: an event starts a workflow, by a signed webhook and by a schedule. The
switch tells of each press twice, and the server was away at seven in the morning; each event is done once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2

from actum.core.json import JsonObject
from actum.core.stored.webhook import signature
from actum.storage.sqlite import SQLiteJournal

HERE = Path(__file__).parent
SECRET = "whsec_c3dpdGNoZXMgYW5kIGxpZ2h0cw=="
FILES = ("actum.toml", "lamp.workflow.yaml", "lights.py", "policy.toml")


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """`actum serve` in this folder; its address."""
    environment = os.environ | {
        "ACTUM_SECRET_SWITCH": SECRET,
        "XDG_CONFIG_HOME": str(folder),
        "XDG_STATE_HOME": str(folder),
    }
    command = [sys.executable, "-m", "actum", "serve", "--http", "127.0.0.1:0"]
    server = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        found = re.search(r"http://[\d.:]+", server.stderr.readline())
        assert found is not None
        yield found[0]
    finally:
        server.terminate()
        server.communicate(timeout=30)


async def press(client: httpx2.AsyncClient, id: str, data: JsonObject) -> JsonObject:
    """Tell of a press, as the switch does: signed, with an id."""
    body, now = json.dumps(data).encode(), int(time.time())
    signed = {"webhook-id": id, "webhook-timestamp": str(now), "webhook-signature": signature([SECRET], id, now, body)}
    answer = await client.post("/v1/triggers/switch", content=body, headers=signed)
    assert answer.status_code == 202, answer.text
    told: JsonObject = answer.json()
    return told


async def was_away(folder: Path, days: int) -> None:
    """As if the server had last looked at the clock some days ago."""
    journal = SQLiteJournal(folder / "journal.db")
    await journal.positions.move("schedule:morning", None, repr(time.time() - days * 86_400))
    await journal.close()


async def lights(folder: Path, room: str) -> list[str]:
    """What was done to the light of a room, as soon as something was."""
    path = folder / "lights.json"
    while not path.exists() or room not in json.loads(path.read_text("utf-8") or "{}"):  # noqa: ASYNC110 - of a process
        await asyncio.sleep(0.1)
    found: list[str] = json.loads(path.read_text("utf-8"))[room]
    return found


async def everything(folder: Path) -> None:
    """By schedule and by webhook."""
    for name in FILES:
        shutil.copy(HERE / name, folder)
    await was_away(folder, days=4)
    with serving(folder) as origin:
        async with httpx2.AsyncClient(base_url=origin, trust_env=False, timeout=30) as client:
            print("missed mornings, made up for once:", await lights(folder, "kitchen"))
            first = await press(client, "press-1", {"room": "hall"})
            again = await press(client, "press-1", {"room": "hall"})
            print("told twice:", first["how"], again["how"], first["run_id"] == again["run_id"])
            print("the hall:", await lights(folder, "hall"))
            forged = await client.post("/v1/triggers/switch", json={"room": "safe"})
            print("forged:", forged.status_code, forged.json()["code"])


def main() -> None:
    """Run it."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(everything(Path(folder)))


if __name__ == "__main__":
    main()
