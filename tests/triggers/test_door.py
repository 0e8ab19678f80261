"""What the door of the triggers lets in: signed, forged, replayed, too large; by whom, and how often."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx2
import msgspec
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from actum.core.clock import SystemClock
from actum.core.identity import Identity
from actum.core.json import Json, JsonObject, dumps
from actum.core.stored.webhook import signature
from actum.journal.timeline import Timeline
from actum.protocols.a2a.remote_agent import RemoteAgent
from actum.server.a2a.signing import CardKey
from actum.server.access import Access
from actum.server.news_signature import NewsSignatures
from actum.server.trigger_senders import TriggerSenders
from actum.server.triggers import BODY_BYTES_MAX, TriggerRoutes
from actum.server.web_application import WebApplication, WebApplicationSettings
from actum.storage.sqlite import SQLiteJournal
from actum.transport.egress import Egress
from actum.triggers.intake import TriggerIntake
from actum.triggers.settings import TriggerTable
from tests.cli.test_serve import until
from tests.effort import turns_counted
from tests.endurance import share, some
from tests.patience import HANGS_S
from tests.server.a2a.serving import a2a_server, spoken
from tests.server.api.application import answering
from tests.storage.conftest import Store
from tests.web import serving

from .test_desk import Hall

pytestmark = pytest.mark.row("A6")

SECRET = "a-secret-of-the-sender"
BODY = b'{"room": "kitchen"}'


class Keys:
    """Two tenants with a key each, and a key that may use other agents."""

    async def verify_token(self, token: str) -> Identity | None:
        who = {
            "north": Identity(principal="ann", tenant="north", scopes=("admin",)),
            "south": Identity(principal="bob", tenant="south", scopes=("runs",)),
            "weak": Identity(principal="bob", tenant="south", scopes=("tools",)),
        }
        return who.get(token)


@pytest.fixture
def hall(shared: Store) -> Callable[..., Hall]:
    return lambda **triggers: Hall(shared, triggers)


def senders(intake: TriggerIntake, *secrets: str) -> TriggerSenders:
    weather = RemoteAgent(url="http://127.0.0.1:1/", name="weather")
    signatures = NewsSignatures(Egress(), intake.clock)
    return TriggerSenders(intake, lambda name: secrets or [SECRET], {"weather": weather}, signatures)


@asynccontextmanager
async def opened(hall: Hall, *secrets: str) -> AsyncIterator[httpx2.AsyncClient]:
    """The triggers behind a house that wants keys."""
    application = WebApplication(
        [TriggerRoutes(hall.intake, senders(hall.intake, *secrets))],
        WebApplicationSettings(access=Access(verifier=Keys())),
    )
    async with (
        serving(application.app) as url,
        httpx2.AsyncClient(base_url=f"{url}/v1/triggers", timeout=HANGS_S) as client,
    ):
        yield client


def standard(hall: Hall, body: bytes, id_: str = "msg_1", *, age_s: int = 0) -> dict[str, str]:
    at = int(hall.clock.now()) - age_s
    signed = signature([SECRET], id_, at, body)
    return {"webhook-id": id_, "webhook-timestamp": str(at), "webhook-signature": signed}


async def test_a_delivery_that_comes_sixteen_times_at_once_begins_one_run_and_a_forged_one_none(
    hall: Callable[..., Hall], caplog: pytest.LogCaptureFixture
) -> None:
    it = hall(press=TriggerTable(workflow="lamp", secret="s"), gone=TriggerTable(workflow="lamp", schedule="0 7 * * *"))
    async with opened(it) as client:
        headers = standard(it, BODY)
        told = await asyncio.gather(*(client.post("/press", content=BODY, headers=headers) for _ in range(16)))
        assert {each.status_code for each in told} == {202}
        (run_id,) = {each.json()["run_id"] for each in told}
        forged = headers | {"webhook-signature": signature(["another"], "msg_1", int(it.clock.now()), BODY)}
        deep = b'{"a":' * 200_000 + b"1" + b"}" * 200_000  # refused as too large
        nested = b"[" * 101 + b"]" * 101
        large = b'"' + b"x" * BODY_BYTES_MAX + b'"'
        for what, status, body, own in (
            ("forged", 401, BODY, forged),
            ("unsigned", 401, BODY, {}),
            ("another body", 401, b'{"room": "hall"}', headers),
            ("another id", 401, BODY, headers | {"webhook-id": "msg_2"}),
            ("old", 401, BODY, standard(it, BODY, age_s=301)),
            ("of the future", 401, BODY, standard(it, BODY, age_s=-301)),
            ("no JSON", 400, b"{", standard(it, b"{")),
            ("two meanings", 400, b'{"a":1,"a":2}', standard(it, b'{"a":1,"a":2}')),
            ("no UTF-8", 400, b"\xff", standard(it, b"\xff")),
            ("nested", 400, nested, standard(it, nested)),
            ("large", 413, large, standard(it, large)),
            ("large and nested", 413, deep, standard(it, deep)),
            ("no inputs", 422, b"{}", standard(it, b"{}", "msg_3")),
            ("no object", 422, b"[]", standard(it, b"[]", "msg_4")),
        ):
            answer = await client.post("/press", content=body, headers=own)
            assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), what
            assert answer.json()["status"] == status, what
        assert (await client.post("/gone", json={}, headers={"authorization": "Bearer north"})).status_code == 404
        assert (await client.post("/press", content=BODY, headers=headers)).json()["how"] == "known"
    assert [run.run_id for run in await it.journal.runs(limit=None)] == [run_id]
    assert SECRET not in caplog.text
    if isinstance(it.journal, SQLiteJournal):
        await it.journal.sync(run_id)
        written = b"".join(each.read_bytes() for each in Path(it.place).parent.iterdir() if each.is_file())
        assert SECRET.encode() not in written
        assert b"kitchen" in written


async def test_the_run_of_an_event_is_in_the_trace_of_its_sender(hall: Callable[..., Hall]) -> None:
    it, caller = hall(press=TriggerTable(workflow="lamp", secret="s")), f"00-{'a' * 32}-{'b' * 16}-01"
    async with opened(it) as client:
        traces = []
        for number, sent in enumerate((caller, caller[:-1], "x" * 2_000)):
            headers = {**standard(it, BODY, f"msg_{number}"), "traceparent": sent}
            told = await client.post("/press", content=BODY, headers=headers)
            started = Timeline(await it.journal.read(told.json()["run_id"])).started
            traces.append(started.trace if started is not None else None)
    assert traces == [caller, "", ""]


async def test_githubs_and_stripes_deliveries_are_known_by_their_ids(hall: Callable[..., Hall]) -> None:
    tables = {form: TriggerTable(workflow="lamp", secret="s", signature=form) for form in ("github", "stripe")}
    it, body = hall(**tables), b'{"id": "evt_1", "room": "kitchen"}'
    at = str(int(it.clock.now()))
    of_stripe = hmac.new(SECRET.encode(), f"{at}.".encode() + body, "sha256").hexdigest()
    of_github = hmac.new(SECRET.encode(), body, "sha256").hexdigest()
    signed = {
        "github": {"x-hub-signature-256": f"sha256={of_github}", "x-github-delivery": "d1"},
        "stripe": {"stripe-signature": f"t={at},v1={of_stripe}"},
    }
    async with opened(it) as client:
        for form, headers in signed.items():
            twice = [await client.post(f"/{form}", content=body, headers=headers) for _ in range(2)]
            assert [each.json()["how"] for each in twice] == ["begun", "known"], form
    assert len(await it.journal.runs(limit=None)) == 2


async def test_the_token_of_a_sender_is_no_key_of_the_server_and_each_press_is_an_event(
    hall: Callable[..., Hall],
) -> None:
    it = hall(press=TriggerTable(workflow="lamp", secret="s", signature="token"))
    async with opened(it) as client:
        for headers, status in (
            ({"authorization": f"Bearer {SECRET}"}, 202),
            ({"x-webhook-token": SECRET}, 202),
            ({"authorization": "Bearer north"}, 401),  # a key of the server is no token of the sender
            ({}, 401),
        ):
            assert (await client.post("/press", content=BODY, headers=headers)).status_code == status, headers
    assert len(await it.journal.runs(limit=None)) == 2


async def test_a_trigger_of_another_tenant_is_not_there_and_without_a_secret_a_key_is_needed(
    hall: Callable[..., Hall],
) -> None:
    it = hall(press=TriggerTable(workflow="lamp", tenant="south"), go=TriggerTable(wake="order 7", tenant="south"))
    begins = hall(begin=TriggerTable(workflow="order", tenant="north"))
    run_id = (await begins.intake.fire("begin", {})).run_id  # waits for the same token, in another tenant
    await begins.carry_out(run_id)
    async with opened(it) as client:
        for name, key, status in (
            ("press", "north", 404),
            ("none", "north", 404),
            ("press", "weak", 403),
            ("press", "wrong", 401),
            ("press", "", 401),
            ("go", "south", 404),
            ("press", "south", 202),
        ):
            headers = {"authorization": f"Bearer {key}"} if key else {}
            answer = await client.post(f"/{name}", content=BODY, headers=headers)
            assert answer.status_code == status, (name, key, answer.text)
    assert (await it.queue.look(run_id)).line.state == "waiting"
    (run,) = [each for each in await it.journal.runs(limit=None) if each.tenant == "south"]
    assert run.principal == "trigger:press"


async def test_limits_of_rate_and_queue_answer_429_and_an_answer_waits_for_its_run(
    hall: Callable[..., Hall],
) -> None:
    it = hall(
        rate=TriggerTable(workflow="lamp", secret="s", signature="token", per_minute=1),
        room=TriggerTable(workflow="lamp", secret="s", signature="token", queued_max=1),
        told=TriggerTable(workflow="lamp", secret="s", answer=True),
    )
    async with opened(it) as client:
        for name in ("rate", "room"):
            told = [await client.post(f"/{name}", content=BODY, headers={"x-webhook-token": SECRET}) for _ in range(2)]
            assert [each.status_code for each in told] == [202, 429], name
            assert int(told[1].headers["retry-after"]) > 0
        begun = await it.intake.fire("told", json.loads(BODY), id="msg_1")
        await it.carry_out(begun.run_id)
        answer = await client.post("/told", content=BODY, headers=standard(it, BODY))
        assert (answer.status_code, answer.json()["run_id"]) == (200, begun.run_id)
        assert (answer.json()["state"], answer.json()["result"]) == ("succeeded", "{}")
        await it.journal.forget(begun.run_id)
        answer = await client.post("/told", content=BODY, headers=standard(it, BODY))
        assert (answer.status_code, answer.json()["how"], "state" in answer.json()) == (202, "known", False)


async def test_a_body_that_is_too_long_or_of_another_kind_is_refused_before_anything_is_done(
    hall: Callable[..., Hall],
) -> None:
    it = hall(press=TriggerTable(workflow="lamp", secret="s", signature="token"))

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(160):
            yield bytes(65_536)

    async with opened(it) as client:
        token = {"x-webhook-token": SECRET}
        for content in (bytes(10 << 20), pieces()):
            try:
                answer = await client.post("/press", content=content, headers=token)
            except httpx2.TransportError:  # it was answered, and the connection closed, before all was sent
                continue
            assert answer.status_code == 413
        for kind, status in (
            ("application/x-www-form-urlencoded", 415),
            ("image/png", 415),
            ("application/octet-stream", 415),
            ("application/json; charset=utf-16", 202),
            ("application/problem+json", 202),
            ("", 202),
        ):
            answer = await client.post("/press", content=BODY, headers=token | {"content-type": kind})
            assert answer.status_code == status, kind
        in_utf_16 = BODY.decode().encode("utf-16")
        assert (await client.post("/press", content=in_utf_16, headers=token)).status_code == 400
        packed = token | {"content-encoding": "gzip"}
        assert (await client.post("/press", content=gzip.compress(BODY), headers=packed)).status_code == 400
    assert len(await it.journal.runs(limit=None)) == 3


async def test_a_header_that_comes_twice_counts_as_missing_and_a_secret_is_changed_without_a_gap(
    hall: Callable[..., Hall],
) -> None:
    it = hall(
        press=TriggerTable(workflow="lamp", secret=("new", "old")),
        told=TriggerTable(workflow="lamp", secret="new", signature="token", id="header:x-id"),
    )
    async with opened(it, "the-new-one", SECRET) as client:
        good = standard(it, BODY)
        for name in good:
            twice = [*good.items(), (name, good[name])]
            assert (await client.post("/press", content=BODY, headers=twice)).status_code == 401, name
        by_new = good | {"webhook-signature": signature(["the-new-one"], "msg_1", int(it.clock.now()), BODY)}
        told = [await client.post("/press", content=BODY, headers=headers) for headers in (good, by_new)]
        assert [each.json()["how"] for each in told] == ["begun", "known"]
        ids = [("x-webhook-token", SECRET), ("x-id", "1"), ("x-id", "2")]
        assert (await client.post("/told", content=BODY, headers=ids)).status_code == 400
        assert (await client.post("/told", content=BODY, headers=[*ids[:2], ids[0]])).status_code == 401
    async with opened(it, "", "") as client:
        assert (await client.post("/press", content=BODY, headers=good)).status_code == 401
        assert (await client.post("/told", content=BODY, headers={"x-webhook-token": ""})).status_code == 401


EVENTS, TAKEN = share(500, 150), share(150, 45)


@pytest.mark.endurance("src/actum/triggers", "src/actum/server/triggers.py", "src/actum/server/trigger_senders.py")
@pytest.mark.parametrize("limit", ["per_minute", "queued_max"])
async def test_of_hundreds_of_events_at_once_each_is_on_record_once_or_told_429(
    hall: Callable[..., Hall], limit: str
) -> None:
    """At two servers with one database."""
    limits = {"per_minute": 10_000, "queued_max": 10_000} | {limit: TAKEN}
    table = TriggerTable(workflow="lamp", secret="s", signature="token", id="body:id", **limits)  # type: ignore[arg-type]
    servers = [hall(press=table), hall(press=table)]
    settings = WebApplicationSettings(access=Access(verifier=Keys()), requests_per_caller_max=1_000)
    fresh = httpx2.Limits(max_connections=100, max_keepalive_connections=0)  # a server closes idle ones as it likes
    begun: dict[int, str] = {}
    async with AsyncExitStack() as stack:
        clients = []
        for server in servers:
            url = await stack.enter_async_context(
                serving(WebApplication([TriggerRoutes(server.intake, senders(server.intake))], settings).app)
            )
            clients.append(await stack.enter_async_context(httpx2.AsyncClient(base_url=url, timeout=120, limits=fresh)))

        async def press(number: int) -> int:
            answer = await clients[number % 2].post(
                "/v1/triggers/press",
                json={"id": number, "room": f"room {number}"},
                headers={"x-webhook-token": SECRET},
            )
            if answer.status_code == 202:
                assert begun.setdefault(number, answer.json()["run_id"]) == answer.json()["run_id"]
            return answer.status_code

        statuses = await asyncio.gather(*(press(number) for number in range(EVENTS)))
        assert set(statuses) == {202, 429}
        if limit == "per_minute":  # is counted in the database
            assert len(begun) == TAKEN
        else:  # each server has that number at most, and counts the other's when they are written
            assert TAKEN * 2 // 3 <= len(begun) <= TAKEN * 2
        assert len(await servers[0].journal.runs(limit=None)) == len(begun)
        for server in servers:
            server.clock.advance(61.0)
        if limit == "queued_max":
            for run_id in [*begun.values()][: len(begun) - TAKEN + 20]:
                await servers[0].carry_out(run_id)
        refused = [number for number in range(EVENTS) if number not in begun][:20]
        assert set(await asyncio.gather(*(press(number) for number in refused))) == {202}
    assert {run.run_id for run in await servers[0].journal.runs(limit=None)} == set(begun.values())
    assert len(set(begun.values())) == len(begun)


# News of remote agents ------------------------------------------------------------------------------------------------

DONE: JsonObject = {
    "taskId": "t1",
    "contextId": "c",
    "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-11-23T10:00:00Z"},
}


async def test_news_of_a_task_begin_one_run_however_often_and_in_whatever_form_they_come(
    hall: Callable[..., Hall],
) -> None:
    it = hall(weather=TriggerTable(workflow="lamp", a2a="weather", secret="s", with_={"room": "${event.kind}"}))
    artifact: JsonObject = {"taskId": "t1", "contextId": "c", "artifact": {"artifactId": "a", "parts": [{"text": "R"}]}}
    at = "2026-11-23T10:00:00Z"
    later: JsonObject = {"state": "completed", "timestamp": at[:-4]}
    old: JsonObject = DONE | {"kind": "status-update", "status": later}
    as_task: JsonObject = {"id": "t1", "contextId": "c", "status": DONE["status"], "artifacts": [artifact["artifact"]]}
    failed: JsonObject = DONE | {"status": {"state": "TASK_STATE_FAILED", "timestamp": "2026-11-23T10:00:00Z"}}
    async with opened(it) as client:

        async def news(body: Json, **headers: str) -> httpx2.Response:
            return await client.post("/weather", json=body, headers=headers or {"x-a2a-notification-token": SECRET})

        first = await asyncio.gather(*(news({"statusUpdate": DONE}) for _ in range(8)))
        again = [await news(old), await news(as_task), await news({"task": as_task})]
        (run_id,) = {each.json()["run_id"] for each in (*first, *again)}
        assert [each.json()["how"] for each in again] == ["known"] * 3
        others = [await news({"artifactUpdate": artifact}), await news({"statusUpdate": failed})]
        by_bearer = await news({"statusUpdate": DONE}, authorization=f"Bearer {SECRET}")
        assert (by_bearer.status_code, by_bearer.json()["run_id"]) == (202, run_id)
        assert len({run_id, *(each.json()["run_id"] for each in others)}) == 3
        for body, headers, status in (
            ({"statusUpdate": DONE}, {"x-a2a-notification-token": "wrong"}, 401),
            ({"statusUpdate": DONE}, {"authorization": "Bearer north"}, 401),  # a key of the server is no token
            ({"statusUpdate": DONE}, {"x-none": ""}, 401),
            # A signature that nobody can check is worse than none.
            ({"statusUpdate": DONE}, {"x-a2a-notification-token": SECRET, "authorization": "Bearer a.b.c"}, 401),
            ({"room": "hall"}, {}, 400),
            ({"statusUpdate": {"status": DONE["status"]}}, {}, 400),
            ([], {}, 400),
        ):
            assert (await news(body, **headers)).status_code == status, (body, headers)  # type: ignore[arg-type]
    runs = await it.journal.runs(limit=None)
    assert len(runs) == 3
    for run in runs:
        await it.carry_out(run.run_id)
    assert sorted(it.lit) == ["artifact", "status", "status"]


async def test_news_that_are_signed_need_a_key_of_the_agent(hall: Callable[..., Hall]) -> None:
    it = hall(weather=TriggerTable(workflow="lamp", a2a="weather", secret="s", with_={"room": "hall"}))
    key, stranger = CardKey.of_secret(b"one"), CardKey.of_secret(b"other")

    async def keys(request: Request) -> Response:
        return JSONResponse(key.jwks)

    body = msgspec.json.encode({"statusUpdate": DONE})
    claims: JsonObject = {
        "iat": int(it.clock.now()),
        "request_body_sha256": hashlib.sha256(body).hexdigest(),
    }
    async with serving(Starlette(routes=[Route("/keys.json", keys)])) as origin:
        agent = RemoteAgent(url=f"{origin}/", name="weather")
        checks = TriggerSenders(
            it.intake, lambda name: [SECRET], {"weather": agent}, NewsSignatures(Egress(), it.intake.clock)
        )
        application = WebApplication(
            [TriggerRoutes(it.intake, checks)], WebApplicationSettings(access=Access(verifier=Keys()))
        )
        async with serving(application.app) as url, httpx2.AsyncClient(base_url=url, timeout=HANGS_S) as client:
            for signer, said, status in (
                (stranger, claims, 401),
                (key, claims | {"iat": 7}, 401),
                (key, claims | {"request_body_sha256": "0" * 64}, 401),
                (key, claims, 202),
            ):
                signed = signer.sign_claims(said, f"{origin}/keys.json")
                headers = {"x-a2a-notification-token": SECRET, "authorization": f"Bearer {signed}"}
                headers["content-type"] = "application/json"
                answer = await client.post("/v1/triggers/weather", content=body, headers=headers)
                assert answer.status_code == status, said


async def test_an_agent_of_ours_elsewhere_pushes_the_news_of_a_task_to_a_trigger_and_signs_them(
    hall: Callable[..., Hall], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real sender: each piece of news is signed by the key of its server, and tried again when it is refused."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("ACTUM_SECRETS_KEY", "0123456789abcdef" * 4)
    table = TriggerTable(workflow="lamp", a2a="weather", secret="s", with_={"room": "${event.kind}"})
    it = hall(weather=table)
    it.clock.set(SystemClock().now())  # the sender's clock
    agents: dict[str, RemoteAgent] = {}
    checks = TriggerSenders(it.intake, lambda name: [SECRET], agents, NewsSignatures(Egress(), it.intake.clock))
    application = WebApplication(
        [TriggerRoutes(it.intake, checks)], WebApplicationSettings(access=Access(verifier=Keys()))
    )
    journal = SQLiteJournal(tmp_path / "far.db")
    async with serving(application.app) as url, a2a_server(answering("Rain."), journal=journal, private=[url]) as far:
        agents["weather"] = RemoteAgent(url=f"{far.url}/", name="weather")
        target = {"url": f"{url}/v1/triggers/weather", "token": SECRET}
        params = {**spoken("Will it rain?"), "configuration": {"taskPushNotificationConfig": target}}
        assert "result" in await far.ask("SendMessage", params)

        async def both_came() -> bool:
            return len(await it.journal.runs(limit=None)) == 2

        await until(both_came)
    await journal.close()
    for run in await it.journal.runs(limit=None):
        await it.carry_out(run.run_id)
    assert sorted(it.lit) == ["artifact", "status"]


@pytest.mark.endurance("src/actum/triggers", "src/actum/core/json.py")
async def test_a_large_event_leaves_the_loop_to_others(hall: Callable[..., Hall]) -> None:
    places: dict[str, Json] = {
        "value": "${event.data.room}",
        "text": "It is ${event.data}",
        "cel": {"cel": "string(size(event.data.room))"},
    }
    it = hall(
        **{name: TriggerTable(workflow="lamp", tenant="north", with_={"room": said}) for name, said in places.items()},
        bare=TriggerTable(workflow="lamp", tenant="north"),
        wake=TriggerTable(wake="order ${event.data}", tenant="north"),
    )
    bodies = {
        "names": dumps({"room": "a", **{f"n{n}": n for n in range(10_000)}}),
        "list": dumps({"room": [{"a": 1}] * 10_000}),
        "deep": '{"room": [' + ",".join(['{"a":' * 90 + "1" + "}" * 90] * 200) + "]}",
        "no end": '{"room": [' * 10_000,
    }
    headers = {"authorization": "Bearer north"}
    held: dict[str, int] = {}
    async with opened(it) as client:
        for name in it.intake.triggers:
            await client.post(f"/{name}", content=BODY, headers=headers)  # what is loaded at first is loaded now
            for kind in [*bodies] if name == "value" else some([*bodies], 2):
                async with turns_counted() as turns:
                    answer = await client.post(f"/{name}", content=bodies[kind], headers=headers)
                assert answer.status_code < 500
                held[f"{name}: {kind}"] = turns.held
    assert {name: calls for name, calls in held.items() if calls >= 30_000} == {}
