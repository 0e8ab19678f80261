"""What an API as tools costs: a call, building its request, reading a large document, and opening it again.

A call is `ApiToolset.execute` over a kept connection: the request is built, its credential looked up, the answer read
and looked through for hidden characters. The floor is the same request by hand with httpx2: an address made of the
argument, the credential in a header, the answer decoded. CPU of this process, the best of several rounds in turn.
The document is GitHub's REST API of the test corpus, 13 MB. FastMCP, which makes tools of documents as well, reads the
same document in a process of its own, where it can be installed.
"""

from __future__ import annotations

import asyncio
import gzip
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx2

from actum.compose.apis import ApiChoice, DocumentSource, set_up
from actum.core.call import ToolCall
from actum.core.interfaces import Context
from actum.core.json import JsonObject
from actum.protocols.openapi.reading import read_api
from actum.protocols.openapi.request import build_request
from actum.protocols.openapi.setup import ApiSetup, SecretCredential
from actum.storage.apis import ApiStore
from actum.toolsets.http.toolset import ApiToolset
from actum.transport.egress import Egress
from actum.transport.fetcher import Fetcher
from actum.transport.guard import Guard

from .egress import server
from .loop import Job, Row, cpu
from .mcp import PEER, peer_python

CALLS = 200
BUILDS = 2_000
CALL_RATIO_MAX = 1.15
BUILD_S_MAX = 150e-6
READ_S_MAX = 5.0
AGAIN_S_MAX = 0.2
GITHUB = Path(__file__).parents[1] / "tests" / "corpus" / "openapi" / "api.github.com.json.gz"
OPEN = """
import sys, time
from pathlib import Path
from actum.storage.apis import ApiStore
from actum.toolsets.http.toolset import ApiToolset
began = time.process_time()
ApiToolset(ApiStore(Path(sys.argv[1])).get("github"))
print(time.process_time() - began)
"""
PEER_READS = """
import asyncio, gzip, json, sys, time
import httpx2
from fastmcp import FastMCP
with open(sys.argv[1], "rb") as file:
    content = gzip.decompress(file.read())
began = time.process_time()
made = FastMCP.from_openapi(
    openapi_spec=json.loads(content), client=httpx2.AsyncClient(base_url="https://api.github.com")
)
tools = asyncio.run(made.list_tools())
print(round(time.process_time() - began, 2), len(tools))
"""
DOCUMENT: JsonObject = {
    "openapi": "3.1.0",
    "info": {"title": "Weather", "version": "1"},
    "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    "security": [{"key": []}],
    "paths": {
        "/weather": {
            "get": {
                "operationId": "weather",
                "parameters": [{"name": "city", "in": "query", "required": True, "schema": {"type": "string"}}],
            }
        }
    },
}


def weather(place: str) -> ApiSetup:
    """The API of the server, approved."""
    made = ApiSetup(
        name="weather",
        api=read_api(DOCUMENT),
        server=place,
        origins=(place,),
        credentials={"key": SecretCredential("weather_key")},
    )
    return made.approving()


def by_hand(url: str, context: ssl.SSLContext) -> Job:
    """The same request with httpx2."""
    clients: list[httpx2.AsyncClient] = []

    async def run() -> None:
        if not clients:
            clients.append(httpx2.AsyncClient(verify=context, trust_env=False))
        for _ in range(CALLS):
            headers = {"authorization": "Bearer key-of-the-weather"}
            answer = await clients[0].get(f"{url}/weather?city={quote('Åre')}", headers=headers)
            assert answer.status_code == 200
            answer.json()

    return run


def by_toolset(place: str, context: ssl.SSLContext) -> Job:
    """The call of a tool."""
    fetcher = Fetcher(Guard(named=[place]), context=context)
    toolset = ApiToolset(weather(place), fetcher=fetcher)
    call = ToolCall("1", "weather", {"city": "Åre"})

    async def run() -> None:
        for _ in range(CALLS):
            here = Context(
                run_id="run",
                call=call,
                key="key",
                attempt=1,
                principal="ann",
                deps=None,
                attachments={},
                secrets={"weather_key": "key-of-the-weather"},
            )
            await toolset.execute(call, here)

    return run


def build_s() -> float:
    """CPU of building the request of one of GitHub's operations."""
    api = read_api(DOCUMENT)
    (operation,) = api.operations
    began = time.process_time()
    for _ in range(BUILDS):
        build_request(api, operation, {"city": "Åre/%&"}, "https://api.example.com")
    return (time.process_time() - began) / BUILDS


def documents_s() -> tuple[float, float]:
    """CPU of setting GitHub's API up out of its document, and of opening it again as it was kept."""
    content = gzip.decompress(GITHUB.read_bytes())
    choice = ApiChoice("github", server="https://api.github.com")
    began = time.process_time()
    setup = asyncio.run(set_up(choice, "x", DocumentSource("https://api.github.com/x", content), Egress())).approving()
    read = time.process_time() - began
    with tempfile.TemporaryDirectory() as folder:
        store = ApiStore(Path(folder))
        store.put(setup)
        # In a process of its own, as a command opens it: this one holds the whole document.
        opened = subprocess.run([sys.executable, "-c", OPEN, folder], capture_output=True, text=True, check=True)
        return read, float(opened.stdout)


def apis_table(rounds: int) -> list[Row]:
    """Each cost, its bound, and whether the cost is within the bound."""
    with server() as (url, context):
        parts = urlsplit(url)
        place = f"{parts.scheme}://{parts.netloc}"
        jobs = {"hand": by_hand(place, context), "tool": by_toolset(place, context)}
        spent = cpu(jobs, rounds, dict.fromkeys(jobs, 1))
    build = min(build_s() for _ in range(rounds))
    reads = [documents_s() for _ in range(max(1, rounds // 2))]
    read, again = min(each[0] for each in reads), min(each[1] for each in reads)
    ratio = spent["tool"] / spent["hand"]
    return [
        {"what": "a call by hand, µs", "cost": round(spent["hand"] / CALLS * 1e6), "bound": "", "within": True},
        {"what": "a call of a tool, µs", "cost": round(spent["tool"] / CALLS * 1e6), "bound": "", "within": True},
        _row("a call, ratio", round(ratio, 2), CALL_RATIO_MAX),
        _row("building a request, µs", round(build * 1e6, 1), BUILD_S_MAX * 1e6),
        _row("reading 13 MB, s", round(read, 2), READ_S_MAX),
        _row("opening it again, s", round(again, 3), AGAIN_S_MAX),
        *_peer_rows(),
    ]


def _peer_rows() -> list[Row]:
    """What FastMCP takes to read the document; nothing where it is not there."""
    python = peer_python()
    if not python:
        return []
    said = subprocess.run([python, "-c", PEER_READS, str(GITHUB)], capture_output=True, text=True, check=False)
    if said.returncode:
        return []
    seconds, tools = said.stdout.split()
    return [{"what": f"{PEER} reading 13 MB, s ({tools} tools)", "cost": float(seconds), "bound": "", "within": True}]


def _row(what: str, cost: float, bound: float) -> Row:
    return {"what": what, "cost": cost, "bound": bound, "within": cost <= bound}
