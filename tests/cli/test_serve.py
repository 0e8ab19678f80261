"""`actum serve`: one process, one address, from its start to its last signal."""

from __future__ import annotations

import asyncio
import datetime
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from actum.core.json import JsonObject
from actum.protocols.mcp.config import McpServer
from actum.toolsets.mcp.connection import McpConnection
from tests import warm
from tests.patience import HANGS_S

from .conftest import Run

PATHS = {name: value for name, value in os.environ.items() if name == "PYTHONPATH"}
KEY = "k" * 32
TOOLS = '''
import asyncio
from pathlib import Path

from actum import tool


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
async def wait() -> str:
    """Wait for a file."""
    Path("begun").touch()
    while not Path("go").exists():
        await asyncio.sleep(0.02)
    Path("finished").touch()
    return "done"
'''
META: JsonObject = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
WAIT: JsonObject = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "wait", "arguments": {}, "_meta": META},
}
HEADERS = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "wait",
}


class Server:
    """The program while it runs."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self.process = process
        self.folder = folder
        self.said: list[str] = []
        self.origin = ""

    async def heard(self, word: str) -> str:
        """The next line on stderr with this word in it."""
        assert self.process.stderr is not None
        async with asyncio.timeout(HANGS_S):
            while line := (await self.process.stderr.readline()).decode():
                self.said.append(line)
                if word in line:
                    return line
        raise AssertionError(f"{word} was never said: {self.said}")

    async def ended(self) -> int:
        """Its exit code."""
        async with asyncio.timeout(HANGS_S):
            return await self.process.wait()


@asynccontextmanager
async def served(folder: Path, *flags: str, settings: str = "", **environment: str) -> AsyncIterator[Server]:
    """`actum serve` in a folder."""
    (folder / "tools.py").write_text(TOOLS, "utf-8")
    (folder / "actum.toml").write_text(settings, "utf-8")
    process = await warm.start(
        *(sys.executable, "-m", "actum", "serve", "--tools", "tools.py", "--http", "127.0.0.1:0", *flags),
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
        env={**PATHS, "HOME": str(folder), "ACTUM_JOURNAL": "runs.db", "THE_KEY": KEY, **environment},
    )
    server = Server(process, folder)
    try:
        line = await server.heard("actum serves at")
        server.origin = next(word.rstrip(",") for word in line.split() if "://" in word)
        await server.heard("  access   ")
        yield server
    finally:
        if process.returncode is None:
            process.kill()
        server.said.append((await process.communicate())[1].decode())


async def until(holds: Callable[[], bool | Awaitable[bool]]) -> None:
    """Wait for something that another process does."""
    async with asyncio.timeout(HANGS_S):
        while True:
            found = holds()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.02)


def command(folder: Path, *words: str) -> str:
    """What another command of ours says."""
    env = {**PATHS, "HOME": str(folder), "ACTUM_JOURNAL": "runs.db"}
    done: subprocess.CompletedProcess[str] = warm.run(
        [sys.executable, "-m", "actum", *words], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    return done.stdout


async def test_it_says_where_it_is_and_serves_mcp_old_and_new_beside_its_own_pages(tmp_path: Path) -> None:
    async with (
        served(tmp_path, "--key-env", "THE_KEY") as server,
        httpx2.AsyncClient(base_url=server.origin, timeout=HANGS_S) as client,
    ):
        assert f"{server.origin}/mcp" in "".join(server.said)
        headers = {"Authorization": f"Bearer {KEY}"}
        for place in (
            McpServer(name="x", url=f"{server.origin}/mcp", transport="http", headers=headers),
            McpServer(name="x", url=f"{server.origin}/sse", transport="sse", headers=headers),
        ):
            async with McpConnection(place) as way:
                result = await way.request("tools/call", {"name": "add", "arguments": {"a": 2, "b": 3}})
                assert result["content"] == [{"type": "text", "text": "5"}]
        assert [(await client.get(path)).status_code for path in ("/healthz", "/readyz", "/mcp")] == [200, 200, 401]
        text = (await client.get("/metrics", headers=headers)).text
        assert 'actum_calls_total{outcome="done"} 2' in text
        server.process.send_signal(signal.SIGTERM)
        assert await server.ended() == 0
    assert KEY not in "".join(server.said)
    assert command(tmp_path, "runs", "list").count("add(") == 2


async def test_told_to_end_it_takes_nothing_new_ends_streams_and_lets_a_call_finish(tmp_path: Path) -> None:
    async with served(tmp_path) as server, httpx2.AsyncClient(timeout=HANGS_S) as client:
        listening = asyncio.create_task(_listen(client, f"{server.origin}/sse"))
        call = asyncio.create_task(client.post(f"{server.origin}/mcp", json=WAIT, headers=HEADERS))
        await until((tmp_path / "begun").exists)
        server.process.send_signal(signal.SIGTERM)
        assert "endpoint" in await asyncio.wait_for(listening, HANGS_S), "its stream has ended"

        async def is_refused() -> bool:
            try:
                return (await client.get(f"{server.origin}/readyz")).status_code == 503
            except httpx2.HTTPError:
                return True

        await until(is_refused)
        (tmp_path / "go").touch()
        assert "done" in (await call).text
        assert await server.ended() == 0
    assert '"status": "done"' in command(tmp_path, "runs", "list", "--json")


async def _listen(client: httpx2.AsyncClient, url: str) -> str:
    async with client.stream("GET", url) as stream:
        return "".join([part async for part in stream.aiter_text()])


async def test_a_second_signal_ends_it_at_once_and_the_call_is_left_on_record(tmp_path: Path) -> None:
    async with served(tmp_path) as server, httpx2.AsyncClient(timeout=HANGS_S) as client:
        call = asyncio.create_task(client.post(f"{server.origin}/mcp", json=WAIT, headers=HEADERS))
        await until((tmp_path / "begun").exists)
        server.process.send_signal(signal.SIGTERM)
        address = httpx2.URL(server.origin)

        async def is_closed() -> bool:
            try:
                _, writer = await asyncio.open_connection(address.host, address.port)
                writer.close()
            except OSError:
                return True
            return False

        await until(is_closed)
        server.process.send_signal(signal.SIGTERM)
        assert await server.ended() == -signal.SIGTERM
        with pytest.raises(httpx2.HTTPError):
            await call
    assert not (tmp_path / "finished").exists()
    assert "wait()" in command(tmp_path, "runs", "list")


async def test_what_is_under_way_for_too_long_is_broken_off(tmp_path: Path) -> None:
    async with (
        served(tmp_path, settings="[serve]\nend_s = 1\n") as server,
        httpx2.AsyncClient(timeout=HANGS_S) as client,
    ):
        call = asyncio.create_task(client.post(f"{server.origin}/mcp", json=WAIT, headers=HEADERS))
        await until((tmp_path / "begun").exists)
        server.process.send_signal(signal.SIGTERM)
        assert await server.ended() == 0
        assert (await call).status_code == 503
    assert "was broken off: the server ends" in server.said[-1]
    assert "Traceback" not in server.said[-1]
    assert not (tmp_path / "finished").exists()


async def test_settings_are_read_anew_when_it_is_told_to_and_broken_ones_change_nothing(tmp_path: Path) -> None:
    async def told(settings: str, answer: str) -> str:
        (tmp_path / "actum.toml").write_text(settings, "utf-8")
        server.process.send_signal(signal.SIGHUP)
        return await server.heard(answer)

    async with (
        served(tmp_path, settings="[serve.limits]\nbody_bytes = 100\n") as server,
        httpx2.AsyncClient(base_url=server.origin, timeout=HANGS_S) as client,
    ):

        async def too_large() -> bool:
            answer = await client.post("/mcp", content=b"x" * 200, headers={"content-type": "application/json"})
            return answer.status_code == 413

        assert await too_large()
        for broken in (
            "[serve",
            "[serve]\nlimit = 1\n",
            '[serve]\nproxies = ["x"]\n',
            "[serve.limits]\nrequests = 0\n",
        ):
            assert "old ones hold" in await told(broken, "not read anew")
            assert await too_large(), broken
        assert "limits" in await told("[serve.limits]\nbody_bytes = 1000\n", "changed:")
        assert not await too_large()
        await told("[serve]\nend_s = 3\n", "need a new start: end_s")
        server.process.send_signal(signal.SIGINT)
        assert await server.ended() == 130
    assert command(tmp_path, "audit").count("settings.read") == 2


def certificate(folder: Path, number: int) -> None:
    """A certificate for this machine, made for the test."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), number)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "server.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "server.key").write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))


async def test_it_speaks_tls_and_takes_a_new_certificate_without_a_new_start(tmp_path: Path) -> None:
    certificate(tmp_path, 1)

    async def number() -> int:
        context = ssl.create_default_context(cafile=tmp_path / "server.pem")
        port = int(server.origin.rpartition(":")[2])
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="localhost")
        found = writer.get_extra_info("ssl_object").getpeercert()["serialNumber"]
        writer.close()
        return int(found, 16)

    settings = '[serve]\ncertificate = "server.pem"\nkey_file = "server.key"\n'
    async with served(tmp_path, settings=settings) as server:
        assert server.origin.startswith("https://")
        assert await number() == 1
        before = {name: (tmp_path / name).read_bytes() for name in ("server.pem", "server.key")}
        certificate(tmp_path, 2)
        (tmp_path / "server.key").write_bytes(before["server.key"])
        server.process.send_signal(signal.SIGHUP)
        await server.heard("not read anew")
        (tmp_path / "server.pem").write_bytes(before["server.pem"])
        assert await number() == 1
        certificate(tmp_path, 3)
        server.process.send_signal(signal.SIGHUP)
        await server.heard("read anew")
        assert await number() == 3


def test_what_can_not_be_meant_is_told_in_a_line(run: Run, home: Path) -> None:
    certificate(home, 1)
    cases = [
        (["--http", "0.0.0.0:0"], "", "others than this machine"),
        (["--http", "nowhere"], "", "write an address and a port"),
        (["--http", "127.0.0.1:99999"], "", "write an address and a port"),
        (["--http", "203.0.113.1:0", "--insecure"], "", "203.0.113.1:0:"),
        (["--http", "0.0.0.0:0", "--insecure"], "", "under which names"),
        (["--key-env", "NOT_THERE"], "", "is empty"),
        (["--issuer", "https://login.example.org"], "", "needs --public"),
        ([], '[serve]\ncertificate = "nowhere.pem"\n', "can not be used"),
        ([], '[serve]\ncertificate = "server.pem"\n', "can not be used"),
        ([], '[serve]\nkey_file = "server.key"\n', "needs a certificate"),
        ([], "[serve]\nport = 1\n", "http, metrics, public"),
        ([], "[serve.limits]\nrequest = 1\n", "body_bytes, body_s"),
        ([], '[serve]\nproxies = ["a.b"]\n', "neither an address nor a network"),
        ([], '[serve]\naccess_log = "gone/log"\n', "actum.toml, line 2: [serve] access_log: the folder"),
        (
            [],
            '[telemetry]\nendpoint = "http://127.0.0.1:1"\nheaders = {a = "${secret:gone}"}\n',
            "actum.toml, line 3: [telemetry] headers: ${secret:gone} is not there",
        ),
    ]
    for flags, settings, told in cases:
        (home / "actum.toml").write_text(settings, "utf-8")
        done = run("serve", "--journal", "memory", "--tools", "none", *flags)
        assert done.exit_code == 2, (flags, settings, done.stderr)
        assert told in " ".join(done.stderr.split()), (flags, settings, done.stderr)


@pytest.mark.parametrize("proxy", ["socks5://ann:hunter2@proxy.corp:1080", "https://ann:hunter2@proxy.corp:3129"])
@pytest.mark.parametrize(
    "settings",
    [
        '[models.fast]\nupstreams = ["https://api.example/v1#m"]\n',
        '[agents.desk]\nmodel = "https://api.example/v1#m"\n',
        '[egress]\nproxy = "PROXY"\n',
    ],
)
def test_a_proxy_that_is_not_spoken_to_is_refused_at_the_start(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, settings: str, proxy: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    (home / "actum.toml").write_text(settings.replace("PROXY", proxy), "utf-8")
    done = run("serve", "--journal", "memory", "--tools", "none")
    assert done.exit_code == 2, done.stderr
    told = " ".join(done.stderr.split())
    assert f"{proxy.partition(':')[0]}:// was named, and a proxy is spoken to by plain http:// alone" in told
    assert "hunter2" not in told
