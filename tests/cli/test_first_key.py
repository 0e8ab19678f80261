"""The first key of a journal is made while servers run: each of them wants keys within a second, and stays so."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from tests import warm
from tests.patience import HANGS_S, SOON_S
from tests.postgres import PostgresServer

from .test_serve import HEADERS, PATHS, TOOLS, WAIT, command, until

SERVE = {
    "serve": ("serve",),
    "mcp serve": ("mcp", "serve", "--sse"),
}
"""The commands that serve over HTTP."""


@asynccontextmanager
async def serving(folder: Path, *words: str, journal: str = "runs.db") -> AsyncIterator[str]:
    """A server as a process of its own, and where it is. In the end the process is killed."""
    (folder / "tools.py").write_text(TOOLS, "utf-8")
    process = await warm.start(
        *(sys.executable, "-m", "actum", *words, "--tools", "tools.py", "--http", "127.0.0.1:0"),
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
        env={**PATHS, "HOME": str(folder), "ACTUM_JOURNAL": journal},
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(HANGS_S):
            line = (await process.stderr.readline()).decode()
        yield next(word for word in line.split() if "://" in word).rstrip(",").removesuffix("/mcp")
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.communicate()


async def listen(client: httpx2.AsyncClient, url: str, began: asyncio.Event) -> str:
    text = ""
    async with client.stream("GET", url) as stream:
        async for part in stream.aiter_text():
            text += part
            began.set()
    return text


@pytest.fixture(params=["sqlite", "postgres"])
def journal(request: pytest.FixtureRequest) -> str:
    """A journal that is named in a folder, and one on a PostgreSQL server."""
    if request.param == "sqlite":
        return "runs.db"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_database()


@pytest.mark.parametrize("words", SERVE.values(), ids=SERVE)
async def test_a_server_wants_keys_from_the_moment_that_another_process_made_the_first(
    words: tuple[str, ...], journal: str, tmp_path: Path
) -> None:
    began, at = asyncio.Event(), ("--journal", journal)
    async with (
        serving(tmp_path, *words, journal=journal) as origin,
        httpx2.AsyncClient(timeout=HANGS_S) as client,
    ):
        listening = asyncio.create_task(listen(client, f"{origin}/sse", began))
        call = asyncio.create_task(client.post(f"{origin}/mcp", json=WAIT, headers=HEADERS))
        await until((tmp_path / "begun").exists)
        await began.wait()
        scopes = ("--scope", "tools", "--scope", "runs")
        made = command(tmp_path, "keys", "add", "ci", "--user", "ann", *scopes, "--json", *at)
        async with asyncio.timeout(SOON_S):
            assert "endpoint" in await listening, "what a client reads ends with the time without keys"
            for shown in ({}, {"authorization": "Bearer nonsense"}):
                answer = await client.post(f"{origin}/mcp", json=WAIT, headers={**HEADERS, **shown})
                assert answer.status_code == 401, shown
        assert not call.done()
        (tmp_path / "go").touch()
        assert "done" in (await call).text, "a call that is under way finishes"
        good = {**HEADERS, "authorization": f"Bearer {json.loads(made)['key']}"}
        assert "done" in (await client.post(f"{origin}/mcp", json=WAIT, headers=good)).text
        runs = json.loads(command(tmp_path, "runs", "list", "--json", *at))["items"]
        assert "ann" in json.dumps(runs), "its holder is judged as the user of the key"
        command(tmp_path, "keys", "revoke", "ci", *at)
        for shown in ({}, good):
            assert (await client.post(f"{origin}/mcp", json=WAIT, headers={**HEADERS, **shown})).status_code == 401
        ready = await client.get(f"{origin}/readyz")
        assert (ready.status_code, "no key is valid any more" in ready.text) == (200, True)


KILLED = """\
import asyncio, os, signal, sys
from actum.core.stored.key import new_key
from actum.storage.place import open_journal

async def main():
    await open_journal(sys.argv[1]).keys.add(new_key("ci")[1])
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""
"""Makes a key, and dies before anything else is on record and before anybody sees the key."""


@pytest.mark.parametrize("who", ["the server", "whoever makes the key"])
async def test_a_kill_between_the_first_key_and_the_next_request_opens_nothing(
    who: str, journal: str, tmp_path: Path
) -> None:
    adds = ["-m", "actum", "keys", "add", "ci", "--journal", journal]
    make = [sys.executable, *(adds if who == "the server" else ["-c", KILLED, journal])]
    env = {**PATHS, "HOME": str(tmp_path)}
    async with httpx2.AsyncClient(timeout=HANGS_S) as client:
        async with serving(tmp_path, "serve", journal=journal) as origin:
            assert (await client.get(f"{origin}/v1/tools")).status_code == 200
            process = await warm.start(*make, cwd=tmp_path, env=env, stdout=-3, stderr=-3)
            code = await process.wait()
            assert code == (0 if who == "the server" else -signal.SIGKILL)
            if who != "the server":
                async with asyncio.timeout(SOON_S):
                    while (await client.get(f"{origin}/v1/tools")).status_code != 401:
                        pass
        async with serving(tmp_path, "serve", journal=journal) as origin:
            for path in ("/v1/tools", "/v1/runs", "/mcp"):
                for shown in ({}, {"authorization": "Bearer nonsense"}):
                    assert (await client.get(f"{origin}{path}", headers=shown)).status_code == 401, (path, shown)


def delete(journal: Path) -> None:
    journal.unlink()


def replace(journal: Path) -> None:
    other = journal.with_name("other.db")
    other.write_bytes(journal.read_bytes())
    other.replace(journal)


@pytest.mark.parametrize("change", [delete, replace])
@pytest.mark.parametrize("keyed", [False, True])
async def test_a_server_whose_journal_is_gone_lets_nobody_in_and_says_so(
    change: Callable[[Path], None], tmp_path: Path, *, keyed: bool
) -> None:
    key = json.loads(command(tmp_path, "keys", "add", "ci", "--scope", "tools", "--json"))["key"] if keyed else ""
    headers = {"authorization": f"Bearer {key}"} if keyed else {}
    async with (
        serving(tmp_path, "serve") as origin,
        httpx2.AsyncClient(timeout=HANGS_S, base_url=origin, headers=headers) as client,
    ):
        assert (await client.get("/v1/tools")).status_code == 200
        assert (await client.get("/readyz")).text == "yes\n"
        change(tmp_path / "runs.db")
        assert (await client.get("/v1/tools")).status_code == 503

        async def is_told() -> bool:
            ready = await client.get("/readyz")
            return ready.status_code == 503 and "journal can not be read" in ready.text

        await until(is_told)
        assert (await client.get("/healthz")).status_code == 200


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("policy.toml", None, "a policy can not be read"),
        ("policy.toml", "[[rules]", "a policy can not be read"),
        ("actum.toml", None, "the settings can not be read"),
        ("actum.toml", "[agents", "the settings can not be read"),
    ],
)
async def test_a_file_that_is_gone_or_broken_opens_nothing_and_is_told(
    tmp_path: Path, file: str, text: str | None, told: str
) -> None:
    (tmp_path / "policy.toml").write_text('[[rules]]\nthen = "deny"\ntools = "add"\n[[rules]]\nthen = "allow"\n')
    (tmp_path / "actum.toml").write_text('policy = "policy.toml"\n')
    async with (
        serving(tmp_path, "serve") as origin,
        httpx2.AsyncClient(timeout=HANGS_S, base_url=origin) as client,
    ):

        async def outcome() -> str:
            answer = await client.post("/v1/tools/add/call", json={"arguments": {"a": 1, "b": 2}})
            return answer.text

        assert "permission_denied" in (await outcome())
        assert (await client.get("/readyz")).text == "yes\n"
        (tmp_path / file).unlink() if text is None else (tmp_path / file).write_text(text)

        async def is_told() -> bool:
            ready = await client.get("/readyz")
            return ready.status_code == 200 and told in ready.text and str(tmp_path) not in ready.text

        await until(is_told)
        assert "permission_denied" in (await outcome())
