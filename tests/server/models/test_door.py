"""The models door: requests are read once, names decide who answers, and errors are told in the API's own form."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import httpx2
import pytest
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from actum.core.errors import ModelError, UsageError
from actum.core.identity import Identity
from actum.core.stored.key import new_key
from actum.server.access import Access
from actum.server.models.names import ModelNames, overlap
from actum.server.models.refused import DO_NOT_RETRY, Refused
from actum.server.models.request import ModelRequest
from actum.server.models.routes import ModelRoutes
from actum.server.verifier import Keys
from actum.server.web_application import WebApplication, WebApplicationSettings
from tests.patience import HANGS_S
from tests.web import serving


class Answers:
    """Passes nothing on and runs nothing: tells what was asked."""

    def __init__(self) -> None:
        self.asked: list[ModelRequest] = []
        self.routes: Sequence[BaseRoute] = ()

    async def answer(self, asked: ModelRequest, name: str, route: str = "agent") -> Response:
        self.asked.append(asked)
        if asked.model == "busy":
            raise Refused(ModelError("Somebody else goes on with this run.", status=409), DO_NOT_RETRY)
        return PlainTextResponse(f"{asked.surface.name} {name} {route} {asked.model} {asked.stream}")

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        yield

    async def published(self, who: Identity) -> Sequence[str]:
        return ()

    def lets_in(self, who: Identity, agent: str) -> bool:
        return True

    async def has_published(self, name: str, who: Identity) -> bool:
        return name in await self.published(who)

    def know_names(self, agent_of: Callable[[str, Identity], Awaitable[str]]) -> None:
        self.agent_of = agent_of

    async def end_streams(self) -> None:
        pass


NAMES = ModelNames({"fast": "up", "busy": "up", "org/qwen3": "up", "gpt-*": "any"}, {"desk": "desk", "o3": "desk"})


@asynccontextmanager
async def opened(access: Access | None = None) -> AsyncIterator[tuple[httpx2.AsyncClient, Answers]]:
    answers = Answers()
    door = ModelRoutes(NAMES, passer=answers, executor=answers)
    application = WebApplication([door], WebApplicationSettings(access=access or Access(), body_bytes_max=2_000))
    async with serving(application.app) as origin, httpx2.AsyncClient(base_url=origin, timeout=HANGS_S) as client:
        yield client, answers


ASKED = {
    "/v1/chat/completions": "chat",
    "/v1/completions": "completions",
    "/v1/responses": "responses",
    "/v1/messages": "messages",
    "/v1/messages/count_tokens": "count_tokens",
    "/v1/responses/input_tokens": "count_input",
    "/v1/embeddings": "embeddings",
}


async def test_every_path_of_every_api_finds_its_model_and_the_wish_for_a_stream() -> None:
    async with opened() as (client, _):
        for path, surface in ASKED.items():
            for stream in (False, True):
                answer = await client.post(path, json={"model": "fast", "stream": stream})
                streams = stream and surface not in ("count_tokens", "count_input", "embeddings")
                assert answer.text == f"{surface} fast up fast {streams}", path
        for version in ("v1beta", "v1"):
            for model in ("fast", "org/qwen3", "org%2Fqwen3"):
                name = model.replace("%2F", "/")
                answer = await client.post(f"/{version}/models/{model}:generateContent", json={})
                assert answer.text == f"generate {name} up {name} False"
                answer = await client.post(f"/{version}/models/{model}:streamGenerateContent?alt=sse", json={})
                assert answer.text == f"stream_generate {name} up {name} True"
        asked = await client.post("/v1/chat/completions", json={"model": "gpt-4o"})
        assert asked.text == "chat gpt-* any gpt-4o False"
        assert (await client.post("/v1/messages", json={"model": "o3"})).text == "messages desk agent o3 False"


def error_of(answer: httpx2.Response) -> tuple[int, str, str]:
    """Status, kind and message of an error, and with this the API in whose form it is."""
    body = answer.json()
    error = body["error"]
    kind = error["status"] if "status" in error else f"{'anthropic ' if 'type' in body else ''}{error['type']}"
    return answer.status_code, kind, error["message"]


WRONG = [
    ("POST", b'{"model": "fats"}', 404, ("not_found_error", "anthropic not_found_error", "NOT_FOUND"), "fast"),
    ("POST", b'{"model": "fast", "m', 400, ("invalid_request_error",) * 2 + ("INVALID_ARGUMENT",), "character"),
    ("POST", b'[{"model": "fast"}]', 400, ("invalid_request_error",) * 2 + ("INVALID_ARGUMENT",), "object"),
    ("POST", b'{"model": "fast", "x": "' + b"x" * 3_000 + b'"}', 413, ("", "", ""), "2000 bytes"),
    ("DELETE", b"", 405, ("", "", ""), "POST"),
]


async def test_every_error_is_told_in_the_form_and_with_the_status_of_the_api_that_was_asked() -> None:
    async with opened() as (client, _):
        for method, body, status, _, words in WRONG:
            for path in (*ASKED, "/v1beta/models/fats:generateContent"):
                gemini = "generateContent" in path
                answer = await client.request(method, path, content=body)
                assert answer.headers["content-type"] == "application/json", path
                found, kind, message = error_of(answer)
                form = "gemini" if kind.isupper() else "anthropic" if kind.startswith("anthropic") else "openai"
                assert form == ("gemini" if gemini else "anthropic" if "messages" in path else "openai"), path
                if not gemini or b"model" not in body:
                    assert (found, words in message) == (status, True), (path, body[:20], message)
        for field, word in (({"model": 5}, "model"), ({"model": "fast", "stream": "yes"}, "stream"), ({}, "model")):
            status, _, message = error_of(await client.post("/v1/chat/completions", json=field))
            assert (status, word in message) == (400, True)
        answer = await client.post("/v1/chat/completions", json={"model": "busy"})
        assert (answer.status_code, answer.headers["x-should-retry"]) == (409, "false")
        status, _, message = error_of(await client.post("/v1beta/models/fast:streamGenerateContent", json={}))
        assert (status, "alt=sse" in message) == (400, True)
        assert error_of(await client.get("/v1beta/nothing"))[:2] == (404, "NOT_FOUND")


async def test_a_key_is_taken_from_wherever_the_api_has_it_and_goes_no_further() -> None:
    text, key = new_key("ana", principal="ana", models=("fast",), agents=("desk",))
    async with opened(Access(verifier=Keys([key]))) as (client, answers):
        body = {"model": "fast"}
        shown: list[tuple[dict[str, str], str]] = [
            ({"authorization": f"Bearer {text}"}, ""),
            ({"x-api-key": text}, ""),
            ({"x-goog-api-key": text}, "?a=1&b"),
            ({}, f"?a=1&key={text}"),
            ({}, f"?%6bey={text}&a=1"),
            ({"x-api-key": text, "authorization": f"Bearer {text}"}, ""),
        ]
        for headers, query in shown:
            answer = await client.post(f"/v1/messages{query}", json=body, headers=headers)
            assert answer.status_code == 200, (headers, query)
            scope = answers.asked[-1].http.scope
            assert answers.asked[-1].identity.principal == "ana"
            assert text.encode() not in scope["query_string"]
            assert all(text.encode() not in value for name, value in scope["headers"] if name != b"authorization")
        wrong: list[tuple[dict[str, str], str]] = [
            ({}, ""),
            ({"x-api-key": "ak_x"}, ""),
            ({"x-api-key": ""}, ""),
            ({"x-api-key": text}, "?key=other"),
            ({"x-api-key": "other", "authorization": f"Bearer {text}"}, ""),
        ]
        for headers, query in wrong:
            answer = await client.post(f"/v1/messages{query}", json=body, headers=headers)
            assert error_of(answer)[:2] == (401, "anthropic authentication_error"), (headers, query)
        mine = {"x-api-key": text}
        for model, status in (("fast", 200), ("o3", 200), ("desk", 200), ("gpt-4o", 404), ("busy", 404)):
            assert (await client.post("/v1/messages", json={"model": model}, headers=mine)).status_code == status
        listed = (await client.get("/v1/models", headers=mine)).json()["data"]
        assert [each["id"] for each in listed] == ["fast", "desk", "o3"]


async def test_models_are_listed_in_the_form_of_the_client() -> None:
    async with opened() as (client, _):
        openai = (await client.get("/v1/models")).json()
        assert (openai["object"], openai["data"][0]["object"]) == ("list", "model")
        assert [each["id"] for each in openai["data"]] == ["fast", "busy", "org/qwen3", "desk", "o3"]
        told = {each["id"]: each["agent"] for each in openai["data"] if "agent" in each}
        assert told == {"desk": "desk", "o3": "desk"}, "what an agent answers is no model to name for an agent"
        anthropic = (await client.get("/v1/models", headers={"anthropic-version": "2023-06-01"})).json()
        assert (anthropic["first_id"], anthropic["has_more"], anthropic["data"][0]["type"]) == ("fast", False, "model")
        assert (await client.get("/v1beta/models")).json()["models"][2]["name"] == "models/org/qwen3"
        assert (await client.get("/v1/models/org/qwen3")).json()["id"] == "org/qwen3"
        assert (await client.get("/v1/models/gpt-99")).json()["id"] == "gpt-99"
        assert error_of(await client.get("/v1/models/nothing"))[0] == 404
        assert error_of(await client.post("/v1/models/nothing"))[0] == 405


def test_a_name_that_means_two_things_is_refused() -> None:
    for passing, executing in (
        (["desk"], ["desk"]),
        (["gpt-*", "gpt-4*"], []),
        (["gpt-*"], ["*-mini"]),
        ([""], []),
        ([" a"], []),
    ):
        with pytest.raises(UsageError):
            ModelNames(dict.fromkeys(passing, 1), dict.fromkeys(executing, "desk"))
    ModelNames(dict.fromkeys(["gpt-4o", "gpt-*", "claude-*"], 1), {"o*": "desk"})
    assert not overlap("a*b*c", "a*c*d")
    assert all(overlap(one, other) for one, other in (("*", "*"), ("a*", "*a"), ("", "*")))


async def test_every_route_wants_a_key_with_the_scope_and_refuses_in_its_own_form() -> None:
    own, weak = new_key("ana", scopes=("models",)), new_key("bo", scopes=("tools",))
    answers = Answers()
    door = ModelRoutes(NAMES, passer=answers, executor=answers, scopes=("models",))
    application = WebApplication([door], WebApplicationSettings(access=Access(verifier=Keys([own[1], weak[1]]))))
    async with serving(application.app) as origin, httpx2.AsyncClient(base_url=origin, timeout=HANGS_S) as client:
        for route in door.routes:
            assert isinstance(route, Route)
            path = route.path.replace("{model:path}", "fast").replace("{rest:path}", "nowhere")
            method = "GET" if path.endswith(("/models", "/models/fast")) else "POST"
            for text, status in (("", 401), ("ak_wrong_x", 401), (weak[0], 403), (own[0], 0)):
                headers = {"x-api-key": text} if text else {}
                answer = await client.request(
                    method,
                    path,
                    params={"alt": "sse"},
                    json={"model": "fast"} if method == "POST" else None,
                    headers=headers,
                )
                assert answer.status_code == status or (not status and answer.status_code in (200, 404, 501)), (
                    path,
                    text,
                )
                if answer.status_code >= 400:
                    form = (
                        "gemini" if "v1beta" in path or ":" in path else "anthropic" if "messages" in path else "openai"
                    )
                    kind = error_of(answer)[1]
                    assert ("gemini" if kind.isupper() else "anthropic" if " " in kind else "openai") == form, path
                    assert answer.headers["x-request-id"]
                    assert status != 403 or "models" in error_of(answer)[2]


async def test_a_client_of_another_api_or_with_another_base_url_is_told_where_to_ask() -> None:
    wrong = {
        "/api/chat": "OpenAI, Anthropic and Google",
        "/api/tags": "OpenAI, Anthropic and Google",
        "/v2/chat": "OpenAI, Anthropic and Google",
        "/v1/chat": "OpenAI, Anthropic and Google",
        "/chat/completions": "the base URL of a client of OpenAI is {origin}/v1 here",
        "/responses": "the base URL of a client of OpenAI is {origin}/v1 here",
        "/v1/v1/messages": "its base URL is {origin} here",
    }
    async with opened() as (client, answers):
        origin = str(client.base_url).rstrip("/")
        for path, words in wrong.items():
            for method in ("GET", "POST"):
                answer = await client.request(method, path, content=b"{}", headers={"anthropic-version": "1"})
                error = answer.json()["error"]
                assert (answer.status_code, error["type"]) == (404, "not_found_error"), path
                assert words.format(origin=origin) in error["message"], (path, error)
    assert answers.asked == []
