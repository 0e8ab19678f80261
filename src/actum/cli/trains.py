"""An API as `actum demo` uses it: a document, and a server on this machine that wants a key and says it back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from ..core.json import dumps
from ..protocols.openapi.reading import read_api
from ..protocols.openapi.setup import ApiSetup, SecretCredential
from ..protocols.openapi.text import read_text
from ..toolsets.http.toolset import ApiToolset

KEY = "demo-key-4711"
SECRET = "trains_key"
DOCUMENT = """
openapi: 3.1.0
info: {title: Trains, version: '1'}
components: {securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}}
security: [{key: []}]
paths:
  /stations/{city}/next:
    get:
      operationId: next_train
      summary: Tells when the next train leaves a city.
      parameters:
        - {name: city, in: path, required: true, schema: {type: string}, description: 'The city, such as Oslo.'}
"""


@asynccontextmanager
async def trains() -> AsyncIterator[ApiToolset]:
    """The tools of the API, as long as its server runs."""
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    here = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    api = read_api(read_text(DOCUMENT))
    credentials = {"key": SecretCredential(SECRET)}
    setup = ApiSetup(name="trains", api=api, server=here, origins=(here,), credentials={**credentials})
    toolset = ApiToolset(setup.approving())
    try:
        yield toolset
    finally:
        await toolset.aclose()
        server.close()
        await server.wait_closed()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        is_known = f"x-key: {KEY}\r\n" in head.lower()
        said = {"city": head.split("/")[2], "leaves": "10:42", "platform": 3, "your_key": KEY}
        body = dumps(said if is_known else {"message": "who is there?"}).encode()
        status = "200 OK" if is_known else "401 Unauthorized"
        lines = (f"HTTP/1.1 {status}", "content-type: application/json", f"content-length: {len(body)}")
        writer.write("\r\n".join((*lines, "connection: close", "", "")).encode() + body)
        await writer.drain()
    writer.close()
