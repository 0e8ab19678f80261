"""Starts `actum serve` as a program of its own, with the settings of an example."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from actum.core.json import dumps
from actum.core.run.record import CallCompleted, ModelReplied
from actum.storage.sqlite import SQLiteJournal

JOURNAL = "runs.db"


@contextmanager
def gateway(folder: Path, settings: str) -> Iterator[str]:
    """Serve for as long as the block runs, on a port that the system chooses; the runs stand in `runs.db`.

    Args:
        folder: where the server is started; `actum.toml` is written there.
        settings: what stands in `actum.toml`.

    Returns:
        The address, such as `http://127.0.0.1:40123`.

    Raises:
        RuntimeError: the server did not start; the message says why.
    """
    (folder / "actum.toml").write_text(settings, "utf-8")
    command = [sys.executable, "-m", "actum", "serve", "--http", "127.0.0.1:0", "--journal", JOURNAL]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            said = ""
            while not (found := re.search(r"serves at (http://\S+)", said)):
                line = server.stderr.readline()
                if not line:
                    raise RuntimeError(f"actum serve did not start: {said}")
                said += line
            yield found[1]
        finally:
            server.terminate()
            server.communicate()


async def calls_on_record(folder: Path) -> list[str]:
    """The calls that the runs of a server made, each with what the call came to.

    Args:
        folder: where the server was started.
    """
    found: list[str] = []
    journal = SQLiteJournal(folder / JOURNAL)
    try:
        for run in reversed(await journal.runs()):
            entries = await journal.read(run.run_id)
            replies = {entry.number: entry.record.reply for entry in entries if isinstance(entry.record, ModelReplied)}
            for entry in entries:
                if isinstance(entry.record, CallCompleted) and entry.record.final:
                    call = replies[entry.record.cause].calls[entry.record.index]
                    found.append(f"{call.name}({dumps(call.arguments)}) -> {entry.record.result.text}")
    finally:
        await journal.close()
    return found
