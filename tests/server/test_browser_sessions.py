"""Sessions of browsers: a cookie together with a header, begun by a key or by a code of `actum studio`."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2

from actum.core.identity import Identity
from actum.core.interfaces import Journal
from actum.journal.audit import audit
from actum.journal.memory import MemoryJournal
from actum.runs.runner import Runner
from actum.server.access import Access
from actum.server.api.routes import ApiRoutes
from actum.server.attempts import Attempts, recorded_in
from actum.server.keys import make_key, revoke_key
from actum.server.login.browser_sessions import IDLE_S, BrowserSessions
from actum.server.login.codes import CODE_S, make_code
from actum.server.login.sessions import session_id
from actum.server.stored_keys import KeysOnceMade, StoredKeys
from actum.server.verifier import Authenticator, Verifier
from actum.server.web_application import WebApplication, WebApplicationSettings
from actum.storage.sqlite import SQLiteJournal
from actum.testing import FakeClock
from tests.patience import HANGS_S
from tests.web import serving

HOME = "http://localhost:8000"
ROOT = Identity(principal="root", scopes=("admin",))


class Browser:
    """A page of one origin: it keeps the text of its session, and the browser its cookie."""

    def __init__(self, client: httpx2.AsyncClient, browsers: BrowserSessions) -> None:
        self.client, self.browsers = client, browsers
        self.cookie, self.session = "", ""

    async def sign_in(self, home: str = HOME, **body: str) -> httpx2.Response:
        answer = await self.client.post("/v1/session", json=body, headers={"origin": home})
        self.client.cookies.clear()  # each request below says what it shows
        if answer.status_code == 201:
            assert answer.headers["cache-control"] == "no-store"
            self.cookie, self.session = answer.headers["set-cookie"].partition(";")[0], answer.json()["session"]
        return answer

    async def ask(self, method: str, path: str, home: str = HOME, **more: object) -> httpx2.Response:
        shown = {"cookie": self.cookie, "actum-session": self.session, "origin": home}
        return await self.client.request(method, path, headers=shown, **more)  # type: ignore[arg-type]


@asynccontextmanager
async def server(
    journal: Journal, clock: FakeClock, public: str = HOME, *, keys: bool = True
) -> AsyncIterator[Browser]:
    stored = StoredKeys(journal.keys, clock=clock)
    attempts = Attempts(recorded_in(journal), clock=clock)
    browsers = BrowserSessions(journal, stored, scopes=("admin",), public=public, attempts=attempts, clock=clock)
    verifier: Verifier = Authenticator([stored]) if keys else KeysOnceMade(stored)
    api = ApiRoutes(Runner([], name="api", journal=journal), clock=clock, browsers=browsers)
    settings = WebApplicationSettings(access=Access(verifier=verifier), public=public)
    application = WebApplication([api], settings, who=ROOT, clock=clock)
    async with (
        serving(application.app) as origin,
        httpx2.AsyncClient(base_url=origin, timeout=HANGS_S) as client,
    ):
        yield Browser(client, browsers)


def whole(folder: Path) -> str:
    """All that stands in the files of the journal."""
    return b"".join(file.read_bytes() for file in folder.glob("runs.db*")).decode("latin-1")


async def test_a_session_is_a_cookie_and_a_header_and_counts_at_the_address_where_it_began(tmp_path: Path) -> None:
    clock, path = FakeClock(now=1_000_000.0), tmp_path / "runs.db"
    one, two = SQLiteJournal(path, now=clock.now), SQLiteJournal(path, now=clock.now)
    made = await make_key(one, "ann", by="root", tenant="north", scopes=("runs",), clock=clock)
    await make_key(one, "bob", by="root", tenant="south", scopes=("runs",), clock=clock)
    try:
        async with (
            server(one, clock) as here,
            server(two, clock) as again,  # as after a restart
            server(two, clock, "http://localhost:8001") as elsewhere,
        ):
            assert (await here.client.get("/v1/session")).status_code == 401
            for wrong, status in (({"key": "ak_ann_" + "x" * 43}, 401), ({}, 422), ({"key": "a", "code": "b"}, 422)):
                assert (await here.sign_in(**wrong)).status_code == status
            begun = await here.sign_in(key=made.text)
            assert begun.status_code == 201, begun.text
            assert "HttpOnly; SameSite=Strict" in begun.headers["set-cookie"]
            told = (await here.ask("GET", "/v1/session")).json()
            assert (told["user"], told["tenant"], told["scopes"], told["key"]) == ("ann", "north", ["runs"], "ann")
            assert (told["is_session"], told["wants_key"], "runs" in told["features"]) == (True, True, True)
            again.cookie = elsewhere.cookie = here.cookie
            again.session = elsewhere.session = here.session
            assert (await again.ask("GET", "/v1/runs")).status_code == 200
            assert (await elsewhere.ask("GET", "/v1/runs", "http://localhost:8001")).status_code == 401
            either = [{"cookie": here.cookie}, {"actum-session": here.session}, {"cookie": "a=b", "actum-session": "x"}]
            either += [{"cookie": here.cookie, "actum-session": "y" * 43}, {"cookie": here.session}]
            for alone in either:
                assert (await here.client.get("/v1/runs", headers=alone)).status_code == 401, alone
            # What changes something is asked for by a page of this very origin.
            for origin, status in ((HOME, 404), ("http://localhost:8001", 403), ("https://localhost:8000", 403)):
                assert (await here.ask("DELETE", "/v1/sessions/c1", origin)).status_code == status, origin
            assert (await here.ask("DELETE", "/v1/session")).status_code == 204
            assert (await again.ask("GET", "/v1/runs")).status_code == 401
            acts = [(line.tool, line.tenant) async for line in audit(one) if line.tool.startswith("session.")]
            assert acts == [("session.begin", "north"), ("session.end", "north")]
            assert not any(text in whole(tmp_path) for text in (here.session, here.cookie.partition("=")[2]))
    finally:
        await one.close()
        await two.close()


async def test_a_session_ends_with_its_key_and_thirty_days_after_its_last_request(tmp_path: Path) -> None:
    clock, path = FakeClock(now=1_000_000.0), tmp_path / "runs.db"
    one, two = SQLiteJournal(path, now=clock.now), SQLiteJournal(path, now=clock.now)
    made = await make_key(one, "ann", by="root", scopes=("admin",), expires_at=2_000_000_000, clock=clock)
    lasting = await make_key(one, "bob", by="root", scopes=("runs",), clock=clock)
    try:
        async with server(one, clock) as ann, server(one, clock) as bob:
            await ann.sign_in(key=made.text)
            await bob.sign_in(key=lasting.text)
            # A session has what its key has: nothing that lasts longer than the key.
            refused = await ann.ask("POST", "/v1/keys", json={"id": "more", "scopes": ["runs"]})
            assert (refused.status_code, refused.json()["code"]) == (403, "more")
            identity = Identity(key_id="bob", session=session_id(bob.cookie.partition("=")[2]))
            for _ in range(3):
                clock.advance(IDLE_S - 60)
                assert (await bob.ask("GET", "/v1/runs")).status_code == 200
            assert not await bob.browsers.has_ended(identity)
            clock.advance(IDLE_S)
            assert (await bob.ask("GET", "/v1/runs")).status_code == 401
            assert await bob.browsers.has_ended(identity)
            await bob.sign_in(key=lasting.text)
            await revoke_key(two, "bob", by="root", clock=clock)  # in another process
            assert (await bob.ask("GET", "/v1/runs")).status_code == 401
            assert (await bob.sign_in(key=lasting.text)).status_code == 401
    finally:
        await one.close()
        await two.close()


async def test_a_code_counts_once_for_ten_minutes_whichever_server_is_asked(tmp_path: Path) -> None:
    clock, path = FakeClock(now=1_000_000.0), tmp_path / "runs.db"
    one, two = SQLiteJournal(path, now=clock.now), SQLiteJournal(path, now=clock.now)
    try:
        async with server(one, clock) as here, server(two, clock) as there:
            code = await make_code(one.sessions, "root", now=clock.now())
            answers = await asyncio.gather(here.sign_in(code=code), there.sign_in(code=code), here.sign_in(code=code))
            assert sorted(answer.status_code for answer in answers) == [201, 401, 401]
            late = await make_code(one.sessions, "root", now=clock.now())
            clock.advance(CODE_S)
            assert (await here.sign_in(code=late)).status_code == 401
            said, _, seal = (await make_code(one.sessions, "root", now=clock.now())).partition(".")
            other = base64.urlsafe_b64encode(base64.urlsafe_b64decode(said + "==").replace(b"root", b"eve1")).decode()
            for forged in (f"{other.rstrip('=')}.{seal}", f"{said}.", said, ".", "\u2028." + seal, f"{said}.{said}"):
                clock.advance(1000)  # nobody has to wait
                assert (await here.sign_in(code=forged)).status_code == 401, forged
            await here.sign_in(code=await make_code(two.sessions, "root", now=clock.now()))
            told = (await here.ask("GET", "/v1/session")).json()
            assert (told["user"], told["key"], "admin" in told["scopes"]) == ("root", "", True)
            first = await here.ask("POST", "/v1/keys", json={"id": "ann", "scopes": ["runs"]})
            assert (first.status_code, first.json()["is_first"]) == (201, True)
            assert (await here.ask("GET", "/v1/keys")).status_code == 200  # the first key ends no session
    finally:
        await one.close()
        await two.close()


async def test_where_no_key_is_wanted_a_page_of_another_origin_changes_nothing() -> None:
    journal, clock = MemoryJournal(), FakeClock(now=1_000_000.0)
    async with server(journal, clock, keys=False) as here:
        assert not (await here.client.get("/v1/session")).json()["wants_key"]
        pages: list[tuple[dict[str, str], int]] = [
            ({}, 404),
            ({"origin": HOME}, 404),
            ({"sec-fetch-site": "same-origin"}, 404),
            ({"origin": "http://localhost:3000"}, 403),
            ({"origin": "null"}, 403),
            ({"origin": "https://evil.example"}, 403),
            ({"sec-fetch-site": "same-site"}, 403),
            ({"sec-fetch-site": "cross-site"}, 403),
        ]
        for headers, status in pages:
            assert (await here.client.delete("/v1/sessions/c1", headers=headers)).status_code == status, headers
            assert (await here.client.post("/v1/session", json={"code": "x"}, headers=headers)).status_code in (
                401,
                403,
            )
        rebound = await here.client.delete("/v1/sessions/c1", headers={"host": "evil.example:8000"})
        assert rebound.status_code == 421
