"""Signed cards: by the signer of the official SDK, verified with keys of hosts that a person named, and no others."""

from __future__ import annotations

import json

import jwt
from a2a.types import AgentCard, AgentInterface
from a2a.utils.signing import create_agent_card_signer
from cryptography.hazmat.primitives.asymmetric import ec
from google.protobuf.json_format import MessageToDict
from jwt.algorithms import ECAlgorithm
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from actum.core.json import Json, JsonObject
from actum.protocols.a2a.card import signed_forms
from actum.protocols.a2a.remote_agent import RemoteAgent
from actum.toolsets.a2a.signing import key_addresses, verify_card
from actum.toolsets.a2a.toolset import A2AToolset
from tests.toolsets.a2a.remote_servers import scripted_agent
from tests.web import serving

KEY = ec.generate_private_key(ec.SECP256R1())
KEYS: JsonObject = {"keys": [{**json.loads(ECAlgorithm.to_jwk(KEY.public_key())), "kid": "k1"}]}
JKU = "https://keys.example/jwks.json"


def signed(jku: str = JKU) -> JsonObject:
    card = AgentCard(
        name="Été ☀",
        version="1",
        supported_interfaces=[
            AgentInterface(url="https://a.example/rpc", protocol_binding="JSONRPC", protocol_version="1.0")
        ],
    )
    header = {"alg": "ES256", "kid": "k1", "jku": jku, "typ": "JOSE"}
    create_agent_card_signer(KEY, header)(card)  # type: ignore[arg-type]
    made: JsonObject = MessageToDict(card)
    return made


def test_a_card_that_the_official_sdk_signed_is_verified_and_any_change_is_seen() -> None:
    card, hosts = signed(), ["keys.example"]
    assert key_addresses(card, hosts) == [JKU]
    assert verify_card(card, {JKU: KEYS}, hosts).state == "verified"
    changes: JsonObject = {"name": "Other", "version": "2", "provider": {"organization": "Evil"}}
    for name in changes:
        assert verify_card({**card, name: changes[name]}, {JKU: KEYS}, hosts).state == "wrong", name


def test_a_signature_is_never_verified_by_a_key_that_nobody_named_or_by_none() -> None:
    card = signed()
    assert key_addresses(card, []) == []
    assert verify_card(card, {}, []).state == "unknown_key"
    assert verify_card({**card, "signatures": []}, {}, []).state == "unsigned"
    head = jwt.utils.base64url_encode(b'{"alg":"none","kid":"k1","jku":"' + JKU.encode() + b'"}').decode()
    crit = jwt.utils.base64url_encode(b'{"alg":"ES256","crit":["x"],"jku":"' + JKU.encode() + b'"}').decode()
    hmac = jwt.utils.base64url_encode(b'{"alg":"HS256","kid":"k1","jku":"' + JKU.encode() + b'"}').decode()
    for protected in (head, crit, hmac, "", "%%%", "e30", "W10"):
        forged: JsonObject = {**card, "signatures": [{"protected": protected, "signature": "AAAA"}]}
        state = verify_card(forged, {JKU: KEYS}, ["keys.example"]).state
        assert state in ("wrong", "unknown_key"), protected
    unfit: list[Json] = [{"keys": []}, {"keys": ["x", {"kty": "oct", "k": "AA", "kid": "k1"}]}, [], None, "x"]
    for keys in unfit:
        assert verify_card(card, {JKU: keys}, ["keys.example"]).state == "wrong", keys


def test_what_is_signed_is_canonical_json() -> None:
    card: JsonObject = {"b": 1.0, "a": {"é": "\u2028", "A": [True, None, ""]}, "signatures": [{}]}
    assert signed_forms(card)[0] == '{"a":{"A":[true,null,""],"é":"\u2028"},"b":1}'.encode()
    assert signed_forms(card)[1] == '{"a":{"A":[true],"é":"\u2028"},"b":1}'.encode()


async def test_a_key_is_fetched_only_from_a_host_that_a_person_named() -> None:
    fetched: list[str] = []

    async def keys(request: object) -> JSONResponse:
        fetched.append("keys")
        return JSONResponse(KEYS)

    async with serving(Starlette(routes=[Route("/jwks.json", keys)])) as holder, scripted_agent() as agent:
        jku = f"{holder}/jwks.json"
        agent.card = JSONResponse(signed(jku))
        host = holder.removeprefix("http://")
        for hosts, state, count in (((), "unknown_key", 0), ((host,), "verified", 1)):
            async with A2AToolset(RemoteAgent(url=agent.origin, name="a", key_hosts=hosts)) as toolset:
                survey = await toolset.survey()
            assert (survey.signature_state, len(fetched)) == (state, count), hosts
        agent.card = JSONResponse({**signed(jku), "description": "changed after it was signed"})
        async with A2AToolset(RemoteAgent(url=agent.origin, name="a", key_hosts=(host,))) as toolset:
            assert (await toolset.survey()).signature_state == "wrong"
