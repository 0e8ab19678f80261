"""The ways to a token without a person at a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from actum.protocols.mcp.config import McpAuth
from tests.issuer import KEY, claims_of
from tests.logins import World, fails, worlds


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with worlds(tmp_path) as world:
        yield world


def pem() -> str:
    return KEY.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


async def test_a_program_with_a_password_gets_a_token_by_itself(world: World) -> None:
    world.issuer.know("robot", "s3cret")
    auth = McpAuth(grant="client", issuer=world.issuer.url, client_id="robot", secret="MCP")
    oauth = world.oauth(auth=auth, MCP="s3cret")
    assert await world.call(oauth) == 200
    world.clock.advance(3700)
    assert await world.call(oauth) == 200
    assert {form["grant_type"] for name, form in world.issuer.asked if name == "token"} == {"client_credentials"}
    assert "wrong" not in await fails(world.call(world.oauth(auth=auth, user="b", MCP="wrong")))


async def test_a_program_with_a_key_signs_for_the_issuer_alone(world: World) -> None:
    world.issuer.know("robot")
    auth = McpAuth(grant="client", issuer=world.issuer.url, client_id="robot", secret="MCP", method="private_key_jwt")
    assert await world.call(world.oauth(auth=auth, MCP=pem())) == 200
    claims = claims_of(world.issuer.last("token")["client_assertion"])
    assert (claims["iss"], claims["sub"], claims["aud"]) == ("robot", "robot", world.issuer.url)
    assert claims["exp"] == world.clock.now() + 300
    message = await fails(world.call(world.oauth(auth=auth, user="b", MCP="no key")))
    assert message == "the secret MCP is no private key for ES256"


async def test_the_companys_login_vouches_for_its_user(world: World) -> None:
    world.issuer.know("ours", "s3cret")
    world.issuer.know("at-idp")
    auth = McpAuth(
        grant="company",
        issuer=world.issuer.url,
        client_id="ours",
        secret="MCP",
        assertion="ID",
        idp_token_endpoint=f"{world.issuer.url}/token",
        idp_client_id="at-idp",
    )
    assert await world.call(world.oauth(auth=auth, MCP="s3cret", ID="id-token")) == 200
    first, second = [form for name, form in world.issuer.asked if name == "token"]
    assert (first["audience"], first["resource"]) == (world.issuer.url, world.server.url)
    assert claims_of(second["assertion"])["resource"] == world.server.url
    assert "not set" in await fails(world.call(world.oauth(auth=auth, user="b", MCP="s3cret")))


async def test_a_platform_vouches_for_its_program(world: World) -> None:
    world.issuer.know("robot")
    auth = McpAuth(grant="voucher", issuer=world.issuer.url, client_id="robot", assertion="VOUCHER")
    assert await world.call(world.oauth(auth=auth, VOUCHER="v")) == 200
    assert world.issuer.last("token")["assertion"] == "v"
