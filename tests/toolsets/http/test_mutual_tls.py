"""An API that wants a certificate of the client: each user shows their own, on connections of their own."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from actum.core.call import ToolCall
from actum.core.errors import CallError, ToolError
from actum.core.json import JsonObject, dumps
from actum.protocols.openapi.reading import read_api
from actum.protocols.openapi.setup import ApiSetup, SecretCredential
from actum.toolsets.http.toolset import ApiToolset
from actum.transport.fetcher import Fetcher
from actum.transport.guard import Guard
from tests.transport.wire_servers import certificate, key_pair, listening, said

from .test_toolset import JSON, context

DOCUMENT: JsonObject = {
    "openapi": "3.1.0",
    "info": {"title": "Bank", "version": "1"},
    "components": {"securitySchemes": {"own": {"type": "mutualTLS"}}},
    "security": [{"own": []}],
    "paths": {"/me": {"get": {"operationId": "who"}}},
}


def bank(place: str, trusted: ssl.SSLContext | None = None) -> ApiToolset:
    credentials = {"own": SecretCredential("bank_certificate")}
    setup = ApiSetup(name="bank", api=read_api(DOCUMENT), server=place, origins=(place,), credentials={**credentials})
    return ApiToolset(setup.approving(), fetcher=Fetcher(Guard(named=[place]), context=trusted))


@pytest.mark.row("T2")
async def test_each_user_shows_a_certificate_of_their_own_and_its_key_is_told_nowhere(tmp_path: Path) -> None:
    server, trusted = certificate(tmp_path, "127.0.0.1")
    people = {name: key_pair(name) for name in ("ann", "bob", "eve")}
    for name in ("ann", "bob"):
        server.load_verify_locations(cadata=people[name][1])
    server.verify_mode = ssl.CERT_REQUIRED
    connections: list[str] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        shown = writer.get_extra_info("ssl_object").getpeercert()
        connections.append(shown["subject"][0][0][1])
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(
                said(dumps({"who": connections[-1], "you": shown["subject"][0][0][1]}).encode(), "200 OK", JSON)
            )

    async with listening(handle, server) as port:
        toolset = bank(f"https://127.0.0.1:{port}", trusted)

        async def who(user: str, pem: str) -> str:
            told: set[str] = set()
            call = ToolCall("1", "who", {})
            result = await toolset.execute(call, context("who", {}, {"bank_certificate": pem}, user, told=told))
            assert pem in told
            assert isinstance(result.structured, dict)
            return str(result.structured["you"])

        for name in ("ann", "bob", "ann", "bob"):
            private, public = people[name]
            assert await who(name, private + public) == name
        assert connections == ["ann", "bob"], "connections are kept, each for the one whose certificate it showed"
        answers = await asyncio.gather(*(who(name, "".join(people[name])) for name in ["ann", "bob"] * 10))
        assert answers == ["ann", "bob"] * 10
        with pytest.raises(CallError):
            await who("eve", "".join(people["eve"]))
        wrong = {
            "no key": people["ann"][1],
            "another's key": people["bob"][0] + people["ann"][1],
            "nothing": "hush",
            "a key with a password": "".join(key_pair("ann", password=b"hush")),
            "half a surrogate pair": "\ud800",
        }
        for case, pem in wrong.items():
            with pytest.raises(ToolError, match="client certificate can not be used") as raised:
                await who("ann", pem)
            assert "hush" not in str(raised.value), case
        await toolset.aclose()


async def test_a_certificate_is_wanted_where_the_connection_is_not_encrypted_and_nothing_is_sent() -> None:
    toolset = bank("http://127.0.0.1:1")
    with pytest.raises(ToolError, match="https:// address only"):
        await toolset.execute(
            ToolCall("1", "who", {}), context("who", {}, {"bank_certificate": "".join(key_pair("ann"))})
        )
    with pytest.raises(ToolError, match="actum secrets set bank_certificate"):
        await toolset.execute(ToolCall("1", "who", {}), context("who", {}, {}))
    await toolset.aclose()
