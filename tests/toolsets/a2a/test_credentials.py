"""The security schemes of a card, with the credentials of each user, which are sent to no other place."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from actum import Agent
from actum.core.json import Json, JsonObject
from actum.core.user import User
from actum.protocols.a2a.remote_agent import AgentClient, RemoteAgent
from actum.storage.pins import PinStore
from actum.storage.tokens import TokenStore
from actum.testing import FakeClock, ScriptedModel
from actum.toolsets.a2a.toolset import A2AToolset
from actum.toolsets.http.token import ApiLogin, ApiToken
from actum.transport.egress import Egress, EgressRules
from tests.toolsets.a2a.remote_servers import ScriptedAgent, scripted_agent
from tests.toolsets.a2a.test_attacks import streams
from tests.toolsets.a2a.test_toolset import ALLOWED, asking, last_result
from tests.web import serving

YES: JsonObject = {"message": {"role": "ROLE_AGENT", "parts": [{"text": "Yes."}], "messageId": "m"}}
SECRETS = {"one": "value-one-12345", "two": "ann:value-two-12345"}
PAIR = base64.b64encode(SECRETS["two"].encode()).decode()


def configured(agent: ScriptedAgent, credentials: Mapping[str, str | AgentClient]) -> RemoteAgent:
    return RemoteAgent(url=agent.origin, name="weather", credentials=credentials)


async def asked(toolset: A2AToolset, secrets: Mapping[str, str] = SECRETS, user: str = "ann", tenant: str = "") -> str:
    """What the model is told of one call."""
    model = ScriptedModel(asking("hello"))
    maker = Agent(model, tools=[toolset], policy=ALLOWED, secrets=dict(secrets))
    await maker.run("Ask.", principal=user, tenant=tenant)
    return last_result(model).text


@asynccontextmanager
async def approved(
    agent: ScriptedAgent,
    credentials: Mapping[str, str | AgentClient],
    folder: Path,
    private: str = "",
    **more: TokenStore,
) -> AsyncIterator[A2AToolset]:
    """A toolset whose card a person approved."""
    pins, egress = PinStore(folder / "pins.json"), Egress(EgressRules(private=(private,) if private else ()))
    brief = configured(agent, credentials)
    async with A2AToolset(brief, pins=pins, egress=egress, logins=more.get("logins")) as toolset:
        await toolset.approve(await toolset.survey(), by="ann")
        yield toolset


async def test_each_scheme_of_a_card_is_honoured_in_both_of_its_forms(tmp_path: Path) -> None:
    cases: dict[str, tuple[JsonObject, JsonObject, str, tuple[str, str]]] = {
        "key in a header": (
            {"type": "apiKey", "in": "header", "name": "X-Key"},
            {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
            "one",
            ("x-key", "value-one-12345"),
        ),
        "key in the query": (
            {"type": "apiKey", "in": "query", "name": "key"},
            {"apiKeySecurityScheme": {"location": "query", "name": "key"}},
            "one",
            ("query", "key=value-one-12345"),
        ),
        "key in a cookie": (
            {"type": "apiKey", "in": "cookie", "name": "key"},
            {"apiKeySecurityScheme": {"location": "cookie", "name": "key"}},
            "one",
            ("cookie", "key=value-one-12345"),
        ),
        "bearer": (
            {"type": "http", "scheme": "bearer"},
            {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
            "one",
            ("authorization", "Bearer value-one-12345"),
        ),
        "basic": (
            {"type": "http", "scheme": "basic"},
            {"httpAuthSecurityScheme": {"scheme": "Basic"}},
            "two",
            ("authorization", f"Basic {PAIR}"),
        ),
    }
    for name, (old, new, secret, (place, value)) in cases.items():
        for number, scheme in enumerate((old, new)):
            async with scripted_agent() as agent, scripted_agent() as other:
                streams(agent, YES)
                streams(other, YES)
                needed: JsonObject = (
                    {"securityRequirements": [{"schemes": {"it": {}}}]} if number else {"security": [{"it": []}]}
                )
                agent.card = {"securitySchemes": {"it": scheme}, **needed}
                folder = tmp_path / f"{name}{number}"
                async with approved(agent, {"it": secret}, folder) as toolset:
                    assert "Yes." in await asked(toolset), name
                heads = {**agent.seen.heads[-1][2], "query": agent.seen.queries[-1]}
                assert heads.get(place) == value, (name, number, heads)
                # The address of the approved card may be at another origin, which gets no credentials.
                there: Json = [{"url": f"{other.origin}/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]
                agent.card = {**agent.card, "supportedInterfaces": there}
                async with approved(agent, {"it": secret}, folder / "there", other.origin) as toolset:
                    assert "Yes." in await asked(toolset), name
                assert "value" not in str(other.seen.heads) + str(other.seen.queries), name


class TokenEndpoint:
    """Gives tokens: the n-th is `granted-n-12345`.

    Attributes:
        forms: what it was asked.
    """

    def __init__(self) -> None:
        self.forms: list[dict[str, str]] = []
        self.url = ""

    def app(self) -> Starlette:
        async def token(request: Request) -> Response:
            form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
            self.forms.append({**form, "authorization": request.headers.get("authorization", "")})
            return JSONResponse(
                {"access_token": f"granted-{len(self.forms)}-12345", "token_type": "Bearer", "expires_in": 3600}
            )

        async def settings(request: Request) -> Response:
            return JSONResponse({"authorization_endpoint": f"{self.url}/page", "token_endpoint": f"{self.url}/token"})

        return Starlette(routes=[Route("/token", token, methods=["POST"]), Route("/settings", settings)])


@asynccontextmanager
async def token_endpoint() -> AsyncIterator[TokenEndpoint]:
    endpoint = TokenEndpoint()
    async with serving(endpoint.app()) as url:
        endpoint.url = url
        yield endpoint


async def test_the_program_asks_for_a_token_of_each_user_and_the_agent_never_sees_the_password(tmp_path: Path) -> None:
    async with scripted_agent() as agent, token_endpoint() as endpoint:
        streams(agent, YES)
        flows: JsonObject = {"clientCredentials": {"tokenUrl": f"{endpoint.url}/token", "scopes": {"read": "Read."}}}
        agent.card = {
            "securitySchemes": {"it": {"oauth2SecurityScheme": {"flows": flows}}},
            "securityRequirements": [{"schemes": {"it": {"list": ["read"]}}}],
        }
        client = AgentClient(client_id="us", client_secret="password")
        async with approved(agent, {"it": client}, tmp_path, endpoint.url) as toolset:
            for user in ("ann", "bob", "ann"):
                assert "Yes." in await asked(toolset, {"password": "pass-12345"}, user)
        assert len(endpoint.forms) == 2, "one for each user"
        pair = base64.b64encode(b"us:pass-12345").decode()
        told = {"grant_type": "client_credentials", "scope": "read", "authorization": f"Basic {pair}"}
        assert all(told.items() <= form.items() for form in endpoint.forms), endpoint.forms
        sent = [heads["authorization"] for _, path, heads in agent.seen.heads if path == "/rpc"]
        assert sent == [f"Bearer granted-{number}-12345" for number in (1, 2, 1)]
        assert "pass-12345" not in str(agent.seen.heads)


async def test_a_token_that_the_agent_does_not_take_any_more_is_asked_for_anew_once(tmp_path: Path) -> None:
    working: JsonObject = {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}
    done: JsonObject = working | {
        "status": {"state": "TASK_STATE_COMPLETED"},
        "artifacts": [{"artifactId": "a", "parts": [{"text": "Late, and done."}]}],
    }
    for taken, words in ((2, "Late, and done."), (99, "wants a credential")):
        async with scripted_agent() as agent, token_endpoint() as endpoint:
            flows: JsonObject = {"clientCredentials": {"tokenUrl": f"{endpoint.url}/token", "scopes": {}}}
            agent.card = {
                "capabilities": {"streaming": False},
                "securitySchemes": {"it": {"oauth2SecurityScheme": {"flows": flows}}},
                "securityRequirements": [{"schemes": {"it": {"list": []}}}],
            }
            agent.says["SendMessage"] = lambda params: {"task": working}
            agent.says["GetTask"] = partial(_for_token, agent, f"Bearer granted-{taken}-12345", done)
            client = AgentClient(client_id="us", client_secret="password")
            folder = tmp_path / str(taken)
            async with approved(agent, {"it": client}, folder, endpoint.url) as toolset:
                told = await asked(toolset, {"password": "pass-12345"})
            assert words in told, (taken, told)
            assert "granted" not in told
            assert len(endpoint.forms) == 2, "the first token, and a new one"
            sent = [heads["authorization"] for _, path, heads in agent.seen.heads if path == "/rpc"]
            cancels = 0 if taken == 2 else 1  # a call that ends with an error cancels its task
            assert sent == ["Bearer granted-1-12345"] * 2 + ["Bearer granted-2-12345"] * (1 + cancels), sent


def _for_token(agent: ScriptedAgent, wanted: str, task: Json, params: JsonObject) -> Json | Response:
    shown = agent.seen.heads[-1][2].get("authorization", "")
    return task if shown == wanted else JSONResponse({"error": {"code": 401, "message": "who?"}}, 401)


async def test_a_user_who_has_logged_in_is_that_user_and_others_are_told_to_log_in(tmp_path: Path) -> None:
    async with scripted_agent() as agent, token_endpoint() as endpoint:
        streams(agent, YES)
        page: JsonObject = {
            "authorizationUrl": f"{endpoint.url}/page",
            "tokenUrl": f"{endpoint.url}/token",
            "scopes": {},
        }
        schemes: dict[str, JsonObject] = {
            "oauth2": {"type": "oauth2", "flows": {"authorizationCode": page}},
            "openIdConnect": {"type": "openIdConnect", "openIdConnectUrl": f"{endpoint.url}/settings"},
        }
        for name, scheme in schemes.items():
            agent.card = {"securitySchemes": {"it": scheme}}
            store = TokenStore(tmp_path / f"{name}.json", clock=FakeClock())
            client = AgentClient(client_id="us")
            async with approved(agent, {"it": client}, tmp_path / name, endpoint.url, logins=store) as toolset:
                told = await asked(toolset, {})
                assert "actum a2a login weather --user ann" in told, (name, told)
                setup = await toolset.credentials.setup(await toolset.approved_card())
                credential = setup.credentials["it"]
                login = ApiLogin(setup, "it", credential, "", User(principal="ann"))  # type: ignore[arg-type]
                store.keep(login.granted(ApiToken("ann-token-12345", expires_in=3600), 4e9))
                assert "Yes." in await asked(toolset, {}), name
                assert agent.seen.heads[-1][2]["authorization"] == "Bearer ann-token-12345", name
                for user, tenant in (("bob", ""), ("ann", "north")):
                    assert "Yes." not in await asked(toolset, {}, user, tenant), (name, user, tenant)


async def test_no_secret_is_sent_as_a_card_wants_that_nobody_approved_or_that_wants_something_else(
    tmp_path: Path,
) -> None:
    async with scripted_agent() as agent:
        streams(agent, YES)
        agent.card = {"securitySchemes": {"it": {"type": "http", "scheme": "bearer"}}}
        async with A2AToolset(configured(agent, {"it": "one"})) as toolset:
            assert "no person has approved" in (await asked(toolset)).replace("\n", " ")
        async with approved(agent, {"other": "one"}, tmp_path) as toolset:
            assert "The card names the schemes: it" in await asked(toolset)
        async with approved(agent, {"it": "unset"}, tmp_path) as toolset:
            assert "actum secrets set unset" in await asked(toolset)
        flows: JsonObject = {"clientCredentials": {"tokenUrl": "http://tokens.example.org/token"}}
        agent.card = {"securitySchemes": {"it": {"type": "oauth2", "flows": flows}}}
        async with approved(agent, {"it": AgentClient(client_id="us")}, tmp_path / "plain") as toolset:
            assert "has no flow that can be used" in await asked(toolset)
        assert not [path for _, path, _ in agent.seen.heads if path == "/rpc"]
