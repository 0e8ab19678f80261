"""What telemetry costs a run; part of `make bench`, or `python -m bench.telemetry`.

CPU of a process that makes runs of 20 steps over HTTP with a journal in SQLite, with `[telemetry]` and without it, in
slices that take turns. The model and the collector are processes of their own. All spans of a slice are sent within
its time. Allowed are 1.1 times.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from actum import Agent, Limits
from actum.compose.deploy.telemetry import open_exporter
from actum.compose.features import features_of, take_into_use
from actum.compose.settings import Settings
from actum.storage.sqlite import SQLiteJournal
from actum.telemetry.settings import TelemetryTable

from .http import server
from .loop import Row
from .peers import add

STEPS, RUNS, SLICES = 20, 20, 6
COLLECTOR = """
import asyncio, re

async def take(reader, writer):
    while not reader.at_eof() and await reader.read(1):
        head = await reader.readuntil(b"\\r\\n\\r\\n")
        length = re.search(rb"content-length: *([0-9]+)", head, re.IGNORECASE)
        await reader.readexactly(int(length[1]) if length else 0)
        writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-length: 0\\r\\n\\r\\n")

async def main():
    server = await asyncio.start_server(take, "127.0.0.1", 0, limit=1 << 24)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


def telemetry_table(rounds: int) -> list[Row]:
    """CPU of a run with telemetry and without it.

    Args:
        rounds: how often each is measured.
    """
    command = [sys.executable, "-c", COLLECTOR]
    with (
        server() as url,
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as collector,
    ):
        assert collector.stdout is not None
        endpoint = f"http://127.0.0.1:{int(collector.stdout.readline())}"
        try:
            return asyncio.run(_measured(rounds, url, endpoint, Path(folder)))
        finally:
            collector.kill()


async def _measured(rounds: int, url: str, endpoint: str, folder: Path) -> list[Row]:
    tables = {"without": None, "with": TelemetryTable(endpoint=endpoint)}
    best = dict.fromkeys(tables, float("inf"))
    spent = dict.fromkeys(tables, 0.0)
    arms = {}
    for name, table in tables.items():
        settings = Settings(telemetry=table)
        journal = SQLiteJournal(folder / f"{name}.db")
        await take_into_use(features_of(settings), journal)
        agent = Agent(f"{url}#bench", [add], limits=Limits(steps=None), journal=journal, dialect="native")
        arms[name] = (settings, journal, agent)
    with open_exporter(arms["with"][0], {}, arms["with"][1]) as exporter:
        assert exporter is not None
        await exporter.look()  # says since when spans are sent
        for turn in range(rounds * SLICES + 1):
            for name, (_, _, agent) in arms.items():
                began = time.process_time()
                for _ in range(RUNS):
                    result = await agent.run(f"steps={STEPS}")
                    assert len(result.calls) == STEPS, result.text
                if name == "with":
                    assert await exporter.look()
                if turn:  # the first one warms
                    took = time.process_time() - began
                    spent[name] += took
                    best[name] = min(best[name], took)
        await exporter.close()
    for _, journal, _ in arms.values():
        await journal.close()
    return [
        {
            "telemetry": name,
            "ms a run": round(spent[name] / rounds / SLICES / RUNS * 1e3, 2),
            "ms a run, best": round(best[name] / RUNS * 1e3, 2),
            "×": round(spent[name] / spent["without"], 3),
            "×, best": round(best[name] / best["without"], 3),
        }
        for name in tables
    ]


if __name__ == "__main__":
    for row in telemetry_table(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
        print(row)
