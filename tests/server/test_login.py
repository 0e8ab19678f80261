"""People log in with a browser, at a real issuer: who gets a session, who does not, and what ends a session."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hmac
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from actum.compose.serving import open_login
from actum.compose.settings import Settings
from actum.compose.tables.serve import LoginTable, ServeSettings
from actum.core.errors import UsageError
from actum.core.json import JsonObject
from actum.journal.audit import audit
from actum.journal.memory import MemoryJournal
from actum.server.access import Access
from actum.server.attempts import Attempts, recorded_in
from actum.server.login.browser_sessions import BrowserSessions
from actum.server.login.provider import ANSWER_BYTES_MAX, ANSWER_S, LoginProvider, LoginSettings
from actum.server.login.routes import LoginRoutes
from actum.server.login.same_site import own_path
from actum.server.open_streams import OpenStreams
from actum.server.route_group import identity_of
from actum.server.stored_keys import StoredKeys
from actum.server.verifier import Authenticator
from actum.server.web_application import WebApplication, WebApplicationSettings
from actum.storage.journal import DatabaseJournal
from actum.storage.postgres import PostgresJournal
from actum.storage.sqlite import SQLiteJournal
from actum.testing import FakeClock
from actum.transport.fetcher import Fetcher
from actum.transport.guard import Guard
from tests.issuer import KEY, OTHER_KEY, Issuer
from tests.patience import HANGS_S, SOON_S
from tests.postgres import PostgresServer
from tests.web import serving


class Who:
    """A door that says who makes a request.

    Args:
        browsers: knows the sessions of pages.
    """

    def __init__(self, browsers: BrowserSessions) -> None:
        self.recognize = browsers.recognize

    @property
    def routes(self) -> Sequence[BaseRoute]:
        return (Route("/who", self._who, methods=["GET", "POST"]), Route("/events", self._events, methods=["GET"]))

    @contextlib.asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        yield

    async def end_streams(self) -> None:
        """There are none."""

    async def _who(self, request: Request) -> Response:
        found = identity_of(request.scope)
        told = {"principal": found.principal, "tenant": found.tenant, "roles": found.roles, "scopes": found.scopes}
        return JSONResponse(told)

    async def _events(self, request: Request) -> Response:
        async def events() -> AsyncIterator[bytes]:
            yield b"data: begun\n\n"
            await asyncio.Event().wait()

        return StreamingResponse(events(), media_type="text/event-stream")


class Bad:
    """An issuer that answers some addresses in a bad way.

    Attributes:
        how: by path: `huge` for an answer without an end, `hangs` for none, `stops` for one that stops in the middle.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.how: dict[str, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        how = self.how.get(scope.get("path", ""))
        if how is None:
            await self._app(scope, receive, send)
            return
        gone = asyncio.create_task(self._gone(receive))
        try:
            if how != "hangs":
                kind = [(b"content-type", b"application/json")]
                await send({"type": "http.response.start", "status": 200, "headers": kind})
                await send({"type": "http.response.body", "body": b'{"issuer": "', "more_body": True})
            while how == "huge" and not gone.done():
                await send({"type": "http.response.body", "body": b"a" * 65536, "more_body": True})
                await asyncio.sleep(0)  # lets the disconnection be seen
            await gone
        finally:
            gone.cancel()

    async def _gone(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass


@dataclass
class World:
    """An issuer, and servers that share one journal.

    Attributes:
        origins: of the servers.
    """

    clock: FakeClock
    issuer: Issuer
    path: Path
    bad: Bad
    public: str = ""
    place: str = ""
    answer_s: float = ANSWER_S
    origins: list[str] = field(default_factory=list)
    journals: list[DatabaseJournal] = field(default_factory=list)

    @contextlib.asynccontextmanager
    async def server(self, **more: object) -> AsyncIterator[str]:
        """One more server."""
        journal: DatabaseJournal = (
            PostgresJournal(self.place, now=self.clock.now)
            if self.place
            else SQLiteJournal(self.path, now=self.clock.now)
        )
        told = {"issuer": self.issuer.url, "client_id": "actum", "client_secret": "s", "tenant_claim": "org"}
        settings = LoginSettings(**{**told, "scopes": ("tools",), "idle_s": 600.0, "session_s": 3600.0, **more})  # type: ignore[arg-type]
        fetcher = Fetcher(Guard(settings.issuer), seconds_max=self.answer_s, bytes_max=ANSWER_BYTES_MAX)
        door = LoginRoutes(
            settings,
            journal,
            public=self.public,
            attempts=Attempts(recorded_in(journal), clock=self.clock),
            provider=LoginProvider(settings, fetcher=fetcher, clock=self.clock),
            clock=self.clock,
        )
        door.browsers = BrowserSessions(
            journal, StoredKeys(journal.keys), scopes=("admin",), public=self.public, login=settings, clock=self.clock
        )
        application = WebApplication(
            [Who(door.browsers), door],
            WebApplicationSettings(access=Access(verifier=Authenticator([])), public=self.public),
            streams=OpenStreams([door.sessions]),
            clock=self.clock,
        )
        try:
            async with serving(application.app) as origin:
                self.origins.append(origin)
                self.journals.append(journal)
                yield origin
        finally:
            await journal.close()


@contextlib.asynccontextmanager
async def worlds(tmp_path: Path) -> AsyncIterator[World]:
    clock = FakeClock(now=1_000_000.0)
    issuer = Issuer(clock, metadata_path="/.well-known/openid-configuration")
    issuer.id_claims = {"org": "north", "roles": ["clerk"]}
    issuer.know("actum", "s")
    bad = Bad(issuer.app())
    async with serving(bad) as issuer.url:
        yield World(clock, issuer, tmp_path / "runs.db", bad)


def whole(folder: Path) -> bytes:
    """All that stands in the files of the journal."""
    return b"".join(file.read_bytes() for file in folder.glob("runs.db*"))


def browser(origin: str, **headers: str) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(base_url=origin, headers=headers, timeout=HANGS_S)


async def back(client: httpx2.AsyncClient, path: str = "/login") -> str:
    """Begin to log in, and let the issuer send the browser back: the address at which it arrives."""
    sent = await client.get(path)
    assert sent.status_code == 303, sent.text
    async with httpx2.AsyncClient(timeout=HANGS_S) as elsewhere:
        return str((await elsewhere.get(sent.headers["location"])).headers["location"])


async def log_in(client: httpx2.AsyncClient, path: str = "/login") -> httpx2.Response:
    return await client.get(await back(client, path))


async def test_a_person_logs_in_is_known_at_every_door_and_logs_out_in_every_process(tmp_path: Path) -> None:
    async with worlds(tmp_path) as world, world.server() as here, world.server() as there:
        async with browser(here) as ann:
            assert (await ann.get("/who")).status_code == 401
            arrived = await log_in(ann, "/login?return_to=" + quote("/who?a=1", safe=""))
            assert arrived.status_code == 200
            assert 'content="0; url=/who?a=1"' in arrived.text
            assert "<script" not in arrived.text
            assert "default-src 'none'" in arrived.headers["content-security-policy"]
            cookies = {c.partition("=")[0]: c for c in arrived.headers.get_list("set-cookie")}
            assert "HttpOnly; SameSite=Strict" in cookies["actum-session"]
            assert "Secure" not in cookies["actum-session"]
            asked = world.issuer.last("authorize")
            assert (asked["code_challenge_method"], asked["scope"]) == ("S256", "openid")
            who = {"principal": "ada", "tenant": "north", "roles": ["clerk"], "scopes": ["tools"]}
            assert (await ann.get("/who")).json() == who
            text = ann.cookies["actum-session"]
            assert text.encode() not in whole(tmp_path)
            assert "You are logged in as ada." in (await ann.get("/login")).text
            assert "您已登录：ada" in (await ann.get("/login", headers={"accept-language": "zh-CN,en;q=0.5"})).text
            shown = {"cookie": f"actum-session={text}"}
            async with browser(there, **shown) as other:
                assert (await other.get("/who")).json() == who
                own = {"sec-fetch-site": "same-origin", "origin": here}
                assert (await ann.post("/logout", headers=own)).status_code == 200
                assert (await other.get("/who")).status_code == 401
        acts = [line async for line in audit(world.journals[0])]
        told = [(line.tool, line.principal) for line in acts if line.tool.startswith("login.")]
        assert ("login.begin", "ada") in told
        assert ("login.end", "ada") in told


async def test_who_logs_in_from_the_studio_has_a_session_of_its_pages_of_which_neither_half_counts_alone(
    tmp_path: Path,
) -> None:
    async with worlds(tmp_path) as world, world.server() as here, world.server() as there:
        async with browser(here) as ann, browser(here) as eve:
            arrived = await log_in(ann, "/login?return_to=" + quote("/studio/chat", safe=""))
            (text,) = set(re.findall(r"/studio/chat#session=([\w-]{43})", arrived.text))
            proof = {"actum-session": text}
            told = (await ann.get("/who", headers=proof)).json()
            assert told == {"principal": "ada", "tenant": "north", "roles": ["clerk"], "scopes": ["tools"]}
            ((name, cookie),) = ann.cookies.items()
            shown: tuple[tuple[httpx2.AsyncClient, dict[str, str]], ...] = (
                (ann, {}),
                (eve, proof),
                (eve, {"cookie": f"{name}={cookie}"}),
                (eve, {"cookie": f"actum-session={cookie}"}),  # as the cookie of other log-ins
                (ann, {"actum-session": cookie}),
                (ann, {**proof, "origin": "https://evil.example"}),
            )
            for who, headers in shown:
                assert (await who.get("/who", headers=headers)).status_code in (401, 403), headers
            both = {**proof, "cookie": f"{name}={cookie}"}
            async with browser(there) as elsewhere:  # another address than the one at which the session began
                assert (await elsewhere.get("/who", headers=both)).status_code == 401
            for _ in range(7):
                world.clock.advance(500.0)
                assert (await ann.get("/who", headers=proof)).status_code == 200
            world.clock.advance(500.0)  # over an hour since the log-in
            assert (await ann.get("/who", headers=proof)).status_code == 401
            assert (await log_in(ann, "/login?return_to=/studio/")).status_code == 200
        assert text.encode() not in whole(tmp_path)


async def test_two_tenants_log_in_at_once_and_each_stays_in_their_own(tmp_path: Path) -> None:
    """The tenant is that of the token of each log-in, also when log-ins of two tenants cross."""
    async with worlds(tmp_path) as world, world.server() as here, world.server() as there:
        people = {}
        async with contextlib.AsyncExitStack() as stack:
            ways = []
            for tenant in ("north", "south"):  # both have begun before either comes back
                people[tenant] = await stack.enter_async_context(browser(here))
                ways.append(await back(people[tenant]))
            for tenant, way in zip(people, ways, strict=True):
                world.issuer.id_claims = {"org": tenant, "roles": [tenant]}
                assert (await people[tenant].get(way)).status_code == 200
            for _ in range(5):
                told = await asyncio.gather(*(each.get("/who") for each in people.values()))
                assert [(each.json()["tenant"], each.json()["roles"]) for each in told] == [
                    ("north", ["north"]),
                    ("south", ["south"]),
                ]
            # Both are called ada: the log-out of one is not that of the other, in no process.
            assert (await people["north"].post("/logout", headers={"origin": here})).status_code == 200
            for origin in (here, there):
                text = people["south"].cookies["actum-session"]
                async with browser(origin, cookie=f"actum-session={text}") as south:
                    assert (await south.get("/who")).json()["tenant"] == "south"
            assert (await people["north"].get("/who")).status_code == 401
        acts = [line async for line in audit(world.journals[0])]
        told_of = [(line.tool, line.tenant) for line in acts if line.tool.startswith("login.")]
        assert told_of == [("login.begin", "north"), ("login.begin", "south"), ("login.end", "north")]
        # A tenant that is no name lets nobody in.
        for wrong in ("", None, 7, ["north"], {"name": "north"}):
            world.issuer.id_claims = {"org": wrong}  # type: ignore[dict-item]
            world.clock.advance(1000)
            async with browser(here) as eve:
                assert (await log_in(eve)).status_code == 502, wrong
                assert (await eve.get("/who")).status_code == 401, wrong


async def test_a_log_out_in_one_process_ends_the_session_and_its_streams_in_another(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    for place in ("", postgres.new_database()):
        async with worlds(tmp_path) as world:
            world.place = place
            async with world.server() as here, world.server() as there, browser(here) as ann, browser(here) as bob:
                await log_in(ann)
                await log_in(bob)
                text, own = ann.cookies["actum-session"], {"origin": here}
                async with (
                    browser(there, cookie=f"actum-session={text}") as other,
                    bob.stream("GET", "/events") as of_bob,
                    other.stream("GET", "/events") as elsewhere,
                    ann.stream("GET", "/events") as at_home,
                ):
                    read = {name: each.aiter_text() for name, each in (("there", elsewhere), ("here", at_home))}
                    for pieces in read.values():
                        assert await anext(pieces) == "data: begun\n\n"
                    assert (await ann.post("/logout", headers=own)).status_code == 200
                    assert (await other.get("/who")).status_code == 401
                    async with asyncio.timeout(SOON_S):
                        for name, pieces in read.items():
                            assert [piece async for piece in pieces] == [], name
                    assert not of_bob.is_closed
                    assert (await bob.get("/who")).status_code == 200


async def test_a_session_ends_after_a_time_idle_and_after_a_time_at_all_and_is_new_at_each_log_in(
    tmp_path: Path,
) -> None:
    async with worlds(tmp_path) as world, world.server() as here, browser(here) as ann:
        planted = "A" * 43
        ann.cookies.set("actum-session", planted)
        await log_in(ann)
        first = ann.cookies.get("actum-session", domain="127.0.0.1")
        assert first not in (None, planted)
        async with browser(here, cookie=f"actum-session={planted}") as eve:
            assert (await eve.get("/who")).status_code == 401
        async with browser(here, cookie=f"actum-session={first}") as same:
            for _ in range(7):  # it is used now and then, and ends all the same
                world.clock.advance(500)
                assert (await same.get("/who")).status_code == 200
            world.clock.advance(101)
            assert (await same.get("/who")).status_code == 401
        async with browser(here) as bob:
            await log_in(bob)
            world.clock.advance(601)
            assert (await bob.get("/who")).status_code == 401
            world.clock.set(world.clock.now() - 601)
            assert (await bob.get("/who")).status_code == 401, "it stays ended when the clock goes back"


async def test_other_sites_change_nothing_in_the_name_of_who_is_logged_in(tmp_path: Path) -> None:
    async with worlds(tmp_path) as world, world.server() as here, browser(here) as ann:
        await log_in(ann)
        evil, own = "https://evil.example", here
        cases: list[tuple[str, dict[str, str], int]] = [
            ("POST", {}, 403),
            ("POST", {"sec-fetch-site": "cross-site"}, 403),
            ("POST", {"sec-fetch-site": "same-site"}, 403),
            ("POST", {"sec-fetch-site": "cross-site", "origin": own}, 403),
            ("POST", {"origin": evil}, 403),
            ("POST", {"origin": "null"}, 403),
            ("POST", {"origin": "http://127.0.0.1:9"}, 403),
            ("POST", {"origin": own}, 200),
            ("POST", {"sec-fetch-site": "same-origin"}, 200),
            ("GET", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
            ("GET", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 200),
            ("GET", {}, 200),
        ]
        for method, headers, status in cases:
            assert (await ann.request(method, "/who", headers=headers)).status_code == status, (method, headers)
        assert (await ann.post("/logout", headers={"sec-fetch-site": "cross-site"})).status_code == 403
        assert (await ann.get("/who")).status_code == 200


async def test_a_log_in_belongs_to_the_browser_that_began_it_and_is_used_once(tmp_path: Path) -> None:
    async with worlds(tmp_path) as world, world.server() as here, world.server() as there:
        async with browser(here) as eve, browser(here) as ann:
            lure = await back(eve)
            assert (await ann.get(lure)).status_code == 400  # no log-in under way at all
            ours = await back(ann)
            assert (await ann.get(lure)).status_code == 400  # another one
            code = parse_qs(urlsplit(lure).query)["code"][0]
            mixed = re.sub(r"code=[^&]+", f"code={code}", ours)
            refused = await ann.get(mixed)  # eve's code in ann's log-in: PKCE and nonce do not fit
            assert refused.status_code == 403
            assert "actum-session" not in ann.cookies
        async with browser(here) as ann:
            stolen = await back(ann)
            lax = {cookie.name: cookie.value for cookie in ann.cookies.jar}
            (value,) = lax.values()
            sent = world.issuer.last("authorize")
            assert sent["state"] not in str(value)
            assert sent["nonce"] not in str(value)
            assert (await ann.get(stolen)).status_code == 200
            shown = "; ".join(f"{name}={text}" for name, text in lax.items())
            for origin in (here, there):  # replayed with the stolen cookie, at any process
                async with browser(origin, cookie=shown, host=urlsplit(here).netloc) as thief:
                    again = await thief.get(stolen.replace(here, origin))
                    assert (again.status_code, "actum-session" in thief.cookies) == (400, False), origin
        async with browser(here) as ann:  # two tabs at once
            first, second = await back(ann, "/login?return_to=/who"), await back(ann)
            assert "url=/who" in (await ann.get(first)).text
            assert (await ann.get(second)).status_code == 200
            async with browser(here) as other:
                late = await back(other)
            assert (await ann.get(late)).status_code == 400
        async with browser(here) as ann:
            slow = await back(ann)
            world.clock.advance(601)
            assert (await ann.get(slow)).status_code == 400


async def test_an_issuer_that_lies_lets_nobody_in(tmp_path: Path) -> None:
    public = KEY.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    async with worlds(tmp_path) as world, world.server() as here:
        issuer, good = world.issuer, dict(world.issuer.id_claims)
        now = int(world.clock.now())
        whole: JsonObject = {"iss": issuer.url, "sub": "eve", "aud": "actum", "org": "n", "exp": now + 60, "nonce": "n"}
        unsigned = jwt.encode(whole, "k" * 64, algorithm="HS256", headers={"kid": "k1"}).rpartition(".")[0]
        mac = base64.urlsafe_b64encode(hmac.digest(public, unsigned.encode(), "sha256")).decode().rstrip("=")
        hashed = f"{unsigned}.{mac}"
        cases: list[tuple[str, dict[str, object], int]] = [
            ("another issuer in the token", {"id_claims": {**good, "iss": "https://evil.example"}}, 502),
            ("another nonce", {"id_claims": {**good, "nonce": "n"}}, 502),
            ("no nonce", {"id_claims": {**good, "nonce": None}}, 502),
            ("for another client", {"id_claims": {**good, "aud": "other"}}, 502),
            ("made for another client", {"id_claims": {**good, "aud": ["actum", "other"], "azp": "other"}}, 502),
            ("for several, of nobody", {"id_claims": {**good, "aud": ["actum", "other"]}}, 502),
            ("ended", {"id_claims": {**good, "exp": now - 60}}, 502),
            ("without a tenant", {"id_claims": {"roles": []}}, 502),
            ("signed by nobody", {"id_token": jwt.encode(whole, "", algorithm="none", headers={"kid": "k1"})}, 502),
            ("signed with the public key as if it were shared", {"id_token": hashed}, 502),
            ("signed by another key", {"id_token": issuer.sign({**whole}, key=OTHER_KEY)}, 502),
            ("a code that was used", {"error": "invalid_grant"}, 403),
            ("the wrong password", {"error": "invalid_client"}, 502),
            ("another sender", {"iss": "https://evil.example"}, 403),
            ("no sender", {"iss": None}, 403),
            ("a page of errors", {"status": 500}, 503),
            ("a redirect", {"status": 307}, 502),
        ]
        usual = {"id_claims": good, "id_token": "", "error": "", "iss": "", "status": 0}
        for name, wrong, status in cases:
            for field_, value in {**usual, **wrong}.items():
                setattr(issuer, field_, value)
            async with browser(here) as ann:
                world.clock.advance(1000)  # tries before count no more
                issuer.id_claims = {**issuer.id_claims, "exp": issuer.id_claims.get("exp", int(world.clock.now()) + 60)}
                arrived = await log_in(ann)
                assert arrived.status_code == status, (name, arrived.text)
                assert "actum-session" not in ann.cookies, name
                assert "hunter2" not in arrived.text, name
                assert (await ann.get("/who")).status_code == 401, name


async def test_an_issuer_that_is_away_is_told_in_plain_words(tmp_path: Path) -> None:
    async with worlds(tmp_path) as world:
        world.issuer.metadata = {"issuer": "https://evil.example"}
        async with world.server() as here, browser(here) as ann:
            told = await ann.get("/login")
            assert told.status_code == 502
            assert "answered wrongly" in told.text
            world.issuer.metadata = {"authorization_endpoint": "javascript:alert(1)"}
            world.clock.advance(6)
            assert (await ann.get("/login")).status_code == 502
            world.issuer.metadata = {}
            world.clock.advance(6)
            assert (await ann.get("/login")).status_code == 303
        world.issuer.url = "http://127.0.0.1:9"
        async with world.server() as here, browser(here) as ann:
            told = await ann.get("/login", headers={"accept-language": "zh"})
            assert told.status_code == 503
            assert "暂时没有响应" in told.text
            assert told.headers["retry-after"] == "5"


async def test_failed_log_ins_have_to_wait(tmp_path: Path) -> None:
    async with worlds(tmp_path) as world, world.server() as here, browser(here) as eve:
        world.issuer.id_claims = {"org": "north", "nonce": "n"}
        told = [(await log_in(eve)).status_code for _ in range(7)]
        assert told == [502] * 5 + [429] * 2


async def test_under_https_no_neighbour_can_plant_a_cookie(tmp_path: Path) -> None:
    async with worlds(tmp_path) as world:
        world.public = "https://tools.example.org"
        async with world.server() as here, browser(here, host="tools.example.org") as ann:
            sent = await ann.get("/login")
            (kept,) = sent.headers.get_list("set-cookie")
            assert kept.startswith("__Host-actum-login-")
            assert "; HttpOnly; SameSite=Lax; Secure" in kept
            assert (
                world.public + "/login/callback" in parse_qs(urlsplit(sent.headers["location"]).query)["redirect_uri"]
            )
            async with httpx2.AsyncClient(timeout=HANGS_S) as elsewhere:
                answer = await elsewhere.get(sent.headers["location"])
            way = answer.headers["location"].replace(world.public, here)
            arrived = await ann.get(way, headers={"cookie": kept.partition(";")[0]})
            session = next(c for c in arrived.headers.get_list("set-cookie") if c.startswith("__Host-actum-session="))
            assert "; Path=/; HttpOnly; SameSite=Strict; Secure" in session
            text = session.partition(";")[0].partition("=")[2]
            for name, status in (("__Host-actum-session", 200), ("actum-session", 401)):
                assert (await ann.get("/who", headers={"cookie": f"{name}={text}"})).status_code == status, name


async def test_the_page_to_return_to_is_a_path_of_ours_only(tmp_path: Path) -> None:
    evil = [
        "//evil.example", "/\\evil.example", "/%2fevil.example", "/%5Cevil.example", "/%252fevil.example",
        "/%25252fevil",
        "https://evil.example", "javascript:alert(1)", "evil", "/a\r\nx: y", "/%0d%0ax", "/\tevil", "/a b", "/é",
        "/./evil", "/../evil", "/%2e%2e//evil", "/a//b", "/login", "/logout", "/%6cogin", "/" + "a" * 2000, "", "?/x",
    ]  # fmt: skip
    assert [path for path in evil if own_path(path)] == []
    assert [path for path in ("/", "/a/b?c=//d&e=%2f", "/who", "/a%20b", "/x#y") if not own_path(path)] == []
    async with worlds(tmp_path) as world, world.server() as here, browser(here) as ann:
        for path in filter(None, evil):
            told = await ann.get("/login", params={"return_to": path})
            assert (told.status_code, "evil" in told.text) == (400, False), path


async def test_an_issuer_that_hangs_or_answers_without_end_keeps_nobody_waiting(tmp_path: Path) -> None:
    huge, late = 502, 503
    cases = [
        ("/.well-known/openid-configuration", {"huge": huge, "hangs": late, "stops": late}),
        ("/token", {"huge": huge, "hangs": late, "stops": late}),
        ("/jwks", {"huge": late, "hangs": late, "stops": late}),
    ]
    async with worlds(tmp_path) as world:
        world.answer_s = 0.3
        for path, expected in cases:
            for how, status in expected.items():
                world.bad.how = {path: how}
                async with world.server() as here, browser(here) as ann, asyncio.timeout(HANGS_S):
                    if path in ("/token", "/jwks"):
                        told = await log_in(ann)
                    else:
                        told = (await asyncio.gather(*(ann.get("/login") for _ in range(5))))[-1]
                    assert told.status_code == status, (path, how, told.text)
                    assert "actum-session" not in ann.cookies
                    assert (await ann.get("/who")).status_code == 401
                    # It is well again: people come in.
                    world.bad.how = {}
                    world.clock.advance(60)
                    async with browser(here) as again:
                        assert (await log_in(again)).status_code == 200, (path, how)


async def test_log_ins_that_were_refused_are_on_record_without_what_was_shown(tmp_path: Path) -> None:
    async with worlds(tmp_path) as world, world.server() as here:
        world.issuer.id_claims = {"org": "north", "nonce": "n"}
        codes = []
        for _ in range(3):
            async with browser(here) as eve:
                way = await back(eve)
                codes += parse_qs(urlsplit(way).query)["code"]
                assert (await eve.get(way)).status_code == 502
        world.clock.advance(61)
        world.issuer.id_claims = {"org": "north"}
        async with browser(here) as ann:
            assert (await log_in(ann)).status_code == 200
        (line,) = [line async for line in audit(world.journals[0]) if line.tool == "login.refused"]
        assert line.principal == ""
        assert (line.arguments or {})["tries"] == [{"address": "127.0.0.1", "key": "login", "count": 3}]
        assert len(codes) == 3
        assert not [text for text in codes if text.encode() in whole(tmp_path)]


def test_settings_of_the_log_in_that_lack_something_are_refused_at_the_start() -> None:
    good = {"issuer": "https://accounts.example.org", "client_id": "actum"}
    environment = {"PASSWORD": "hunter2", "EMPTY": "", "ACTUM_SECRET_OIDC": "hunter3"}
    cases: list[tuple[dict[str, str], str]] = [
        ({"client_id": "actum"}, "needs an issuer"),
        ({**good, "issuer": "accounts.example.org"}, "write an address"),
        ({**good, "issuer": "ftp://accounts.example.org"}, "write an address"),
        ({**good, "issuer": "https://"}, "write an address"),
        ({**good, "issuer": "https://accounts.example.org?a=1"}, "write an address"),
        ({**good, "issuer": "https://accounts.example.org#a"}, "write an address"),
        ({**good, "issuer": "https://[accounts"}, "write an address"),
        ({**good, "issuer": "https://accounts.example.org:x"}, "write an address"),
        ({**good, "issuer": "https://actum:hunter2@accounts.example.org"}, "write an address"),
        ({**good, "issuer": "http://accounts.example.org"}, "has to begin with https://"),
        ({"issuer": good["issuer"]}, "needs a client_id"),
        ({**good, "client_secret": "hunter2"}, "does not belong into a file of settings"),
        ({**good, "client_secret": "${NOWHERE}"}, "is not there, or is empty"),
        ({**good, "client_secret": "${EMPTY}"}, "is not there, or is empty"),
        ({**good, "client_secret": "${secret:nowhere}"}, "is not there, or is empty"),
    ]
    for table, told in cases:
        settings = Settings(serve=ServeSettings(login=LoginTable(**table)))  # type: ignore[arg-type]
        with pytest.raises(UsageError, match=re.escape(told)) as caught:
            open_login(settings, MemoryJournal(), environment)
        assert "hunter" not in str(caught.value), table
        assert "[serve.login]" in str(caught.value), table
    assert open_login(Settings(), MemoryJournal(), environment) is None
    for word in ("${PASSWORD}", "${secret:OIDC}", ""):
        table = {**good, "client_secret": word}
        settings = Settings(serve=ServeSettings(login=LoginTable(**table)))  # type: ignore[arg-type]
        assert open_login(settings, MemoryJournal(), environment) is not None, word
