"""A secret that a tool logs stands in no line of `actum worker`, nor of the server that sends it tasks."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec
import pytest

from tests import warm
from tests.broker import BrokerServer
from tests.cli.test_serve import PATHS, Server
from tests.core.test_redacted_log import CRM, MARK, SECRET
from tests.server.doors import doors_open

SETTINGS = """\
tools = ["crm.py"]
journal = "runs.db"
[tasks]
dispatcher = "celery"
broker = "{broker}"
"""
HEARD = "import logging, runpy; logging.basicConfig(level=logging.INFO); runpy.run_module('actum', run_name='__main__')"
"""The worker tells what the processes of its tasks write, for those who listen that closely."""


@pytest.mark.row("C7")
async def test_the_log_of_a_worker_is_clean(broker: BrokerServer, tmp_path: Path) -> None:
    (tmp_path / "crm.py").write_text(CRM, "utf-8")
    secret = {"ACTUM_SECRET_CRM": SECRET, "ACTUM_DEBUG": "1"}
    async with doors_open(tmp_path, SETTINGS.format(broker=broker.url), **secret) as place:
        process = await warm.start(
            *(sys.executable, "-c", HEARD, "worker"),
            stderr=asyncio.subprocess.PIPE,
            cwd=tmp_path,
            env={**PATHS, "HOME": str(tmp_path), "ACTUM_JOURNAL": "runs.db", **secret},
        )
        worker = Server(process, tmp_path)
        try:
            await worker.heard("actum works")
            asked = {"arguments": {}, "execute_async": True}
            told = await place.http("POST", "/v1/tools/customers/call", asked)
            task = msgspec.json.decode(told.text)["task_id"]
            told = await place.http("GET", f"/v1/tasks/{task}?wait=30")
        finally:
            process.kill()
            worker.said.append((await process.communicate())[1].decode())
    assert "tool_bug" in told.text
    log = "".join(worker.said)
    assert "sesame" not in log + "".join(place.server.said) + told.text
    assert f"log-in with {MARK} failed" in log, "the tool has logged"
