"""The access log and what `/metrics` tells of models: a line a request, bounded names, and no request that waits."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from actum import Agent, tool
from actum.compose.serving import watch_journal
from actum.core.budget import Price
from actum.core.call import TextPart, ToolCall
from actum.core.clock import SystemClock
from actum.core.errors import UsageError
from actum.core.identity import Identity
from actum.core.message import Reply, Usage
from actum.journal.memory import MemoryJournal
from actum.policy.rules import Rule, Rules
from actum.runs.runner import Runner
from actum.server.access import Access
from actum.server.access_log import LINES_MAX, AccessLine, AccessLog, encoded
from actum.server.api.api import GivenAgents
from actum.server.api.routes import ApiRoutes
from actum.server.metrics import Metrics, counted
from actum.server.models.upstream import ModelRoute, ModelUpstream
from actum.server.web import ConnectionLimits, Connections, PatientProtocol, RefusedRequests
from actum.server.web_application import WebApplication, WebApplicationSettings
from actum.testing import ScriptedModel
from tests.chat_server import ChatServer
from tests.patience import HANGS_S
from tests.server.models.gateway import STREAM, RawServer, gateway, upstream
from tests.server.test_metrics import samples
from tests.web import serving

pytestmark = pytest.mark.row("A6")

LINE = AccessLine(time="t", request_id="r", method="GET", route="/x", status=200, seconds=0.1, bytes=1)


@contextmanager
def written(place: Path, **more: object) -> Iterator[AccessLog]:
    log = AccessLog(str(place), **more)  # type: ignore[arg-type]
    with log.opened():
        yield log


def lines_of(place: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in place.read_text("ascii").splitlines()]


class Keys:
    async def verify_token(self, token: str) -> Identity | None:
        return Identity(principal="ann", tenant="north", key_id="k1", scopes=("runs", "metrics"))


@tool(effects={"spend"})
def pay(sum: int) -> str:
    """Pay."""
    return "paid"


@asynccontextmanager
async def desk(log: AccessLog, metrics: Metrics) -> AsyncIterator[tuple[httpx2.AsyncClient, MemoryJournal]]:
    """A server with an agent, behind a proxy that is believed."""
    kept = MemoryJournal()
    journal = counted(kept, metrics)
    spent = Usage(input_tokens=30, output_tokens=5, cached_tokens=10)
    model = ScriptedModel([Reply(content=(ToolCall("c1", "pay", {"sum": 1}),), usage=spent), Reply.of("Done.")])
    price = Price(input=Decimal(1_000_000), output=Decimal(0))
    policy = Rules(Rule("ask", tools="pay"), default="allow")
    agent = Agent(model, [pay], name="desk", journal=journal, policy=policy, prices={model.name: price})
    watch_journal(metrics, journal)
    door = ApiRoutes(Runner([], journal=journal), GivenAgents({"desk": agent}))
    settings = WebApplicationSettings(access=Access(verifier=Keys()), proxies=("127.0.0.1",))
    application = WebApplication([door], settings, metrics=metrics, access_log=log)
    refused = RefusedRequests(metrics, log, SystemClock())
    connections = Connections(ConnectionLimits(header_bytes_max=8_000), refused=refused)
    async with (
        serving(application.app, http=partial(PatientProtocol, counted=connections)) as origin,
        httpx2.AsyncClient(base_url=origin, timeout=HANGS_S) as client,
    ):
        client.headers["authorization"] = "Bearer a-key-of-ann"
        yield client, kept


async def test_a_request_that_never_reaches_the_application_has_a_line_and_is_counted(tmp_path: Path) -> None:
    place, metrics = tmp_path / "access.log", Metrics([])
    sent = {400: b"my-word\r\n\r\n", 431: b"GET / HTTP/1.1\r\na: " + b"x" * 8_000}
    with written(place) as log:
        async with desk(log, metrics) as (client, _), asyncio.timeout(HANGS_S):
            for status, request in sent.items():
                reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
                writer.write(request)
                assert str(status).encode() in (await reader.read()).splitlines()[0]
                writer.close()
            found = samples((await client.get("/metrics")).text)
    lines = [line for line in lines_of(place) if line["route"] == "unknown"]
    assert [(line["status"], line["method"], line["client"]) for line in lines] == [
        (400, "other", "127.0.0.1"),
        (431, "other", "127.0.0.1"),
    ]
    assert "my-word" not in place.read_text("ascii")
    unknown = {key: value for key, value in found.items() if "unknown" in str(key) and "requests_total" in str(key)}
    assert sum(unknown.values()) == len(sent), found


async def test_a_line_names_the_run_and_the_key_and_holds_no_word_of_the_client(tmp_path: Path) -> None:
    place, metrics = tmp_path / "access.log", Metrics(["scripted"])
    with written(place) as log:
        async with desk(log, metrics) as (client, journal):
            begun = await client.post(
                "/v1/runs",
                json={"agent": "desk", "question": "my-word"},
                headers={"x-forwarded-for": "198.51.100.7", "user-agent": "my-word", "x-request-id": "r1"},
            )
            run = begun.json()["id"]
            async with asyncio.timeout(HANGS_S):
                while not await journal.count_asked():
                    await client.get("/healthz")  # which leaves no line
            await client.get(f"/v1/runs/{run}?view=my-word", headers={"x-request-id": "my-word red"})
            await client.get("/v1/my-word%0a%1b%5b2J")
            await client.get("/v1/runs/my-word", headers={"authorization": "my-word"})
            found = samples((await client.get("/metrics")).text)
    text = place.read_text("ascii")
    assert place.stat().st_mode & 0o777 == 0o600
    assert "my-word" not in text
    assert "\x1b" not in text
    first, second, third, fourth, _ = lines_of(place)
    assert (first["request_id"], first["run_id"], first["route"], first["method"]) == ("r1", run, "/v1/runs", "POST")
    assert (first["key_id"], first["tenant"], first["client"], first["status"]) == ("k1", "north", "198.51.100.7", 202)
    assert first["bytes"] == len(begun.content)
    assert len(str(first["trace_id"])) == 32
    assert (second["route"], second["run_id"]) == ("/v1/runs/{id}", run)
    assert (third["route"], third["status"]) == ("unknown", 404)
    assert (fourth["route"], fourth["status"]) == ("/v1/runs/{id}", 401), "also where no key opened the door"
    labels = {("model", "scripted")}
    answered = frozenset({*labels, ("upstream", "scripted"), ("outcome", "answered")})
    assert found["actum_model_requests_total", answered] == 1
    tokens = {kind: found["actum_tokens_total", frozenset({*labels, ("kind", kind)})] for kind in ("input", "cached")}
    assert tokens == {"input": 30, "cached": 10}
    assert found["actum_cost_total", frozenset(labels)] == 30
    assert found["actum_approvals_waiting", frozenset()] == 1
    assert found["actum_approvals_oldest_seconds", frozenset()] >= 0
    assert found["actum_runs_interrupted", frozenset()] == 0


async def test_ten_thousand_names_that_fit_one_pattern_are_one_series_and_a_stream_has_its_line_at_its_end(
    tmp_path: Path,
) -> None:
    place = tmp_path / "access.log"
    said = Reply(content=(TextPart("Hi."),), usage=Usage(input_tokens=7, output_tokens=2))
    pieces = RawServer([STREAM, b""])
    async with pieces.serving() as slow, AsyncExitStack() as stack:
        quick = upstream(stack.enter_context(ChatServer([said] * 20)).url)
        metrics = Metrics(["gpt-*", "slow", quick.name])
        routes: dict[str, ModelRoute | ModelUpstream] = {"gpt-*": ModelRoute([quick]), "slow": upstream(slow)}
        with written(place) as log:
            async with gateway(routes, metrics=metrics, access_log=log) as it:
                for number in range(20):
                    body = {"model": f"gpt-{number}", "messages": [{"role": "user", "content": "secret-word"}]}
                    assert (await it.client.post("/v1/chat/completions", json=body)).status_code == 200
                streamed = {"model": "slow", "stream": True, "messages": [{"role": "user", "content": "x"}]}
                asking = asyncio.create_task(it.client.post("/v1/chat/completions", json=streamed))
                await asyncio.wait_for(pieces.came.wait(), HANGS_S)
                before = samples((await it.client.get("/metrics")).text)
                asking.cancel()
                await asyncio.wait_for(pieces.gone.wait(), HANGS_S)
    series = {labels for name, labels in before if name == "actum_model_requests_total"}
    assert {dict(labels)["model"] for labels in series} == {"gpt-*"}
    lines = lines_of(place)
    passed = [line for line in lines if line.get("model") == "gpt-*"]
    assert len(passed) == 20
    assert {(line["upstream"], line["tokens"]) for line in passed} == {(quick.name, 9)}
    assert "secret-word" not in place.read_text("ascii")
    assert [line["route"] for line in lines[20:]] == ["/metrics", "/v1/chat/completions"], "the stream ended last"


def test_a_model_that_the_settings_do_not_name_is_counted_as_other() -> None:
    metrics = Metrics(["gpt-*"])
    assert {metrics._named(f"tenant-model-{number}") for number in range(10_000)} == {"other"}


@given(st.text())
def test_no_sign_of_a_line_moves_the_cursor_of_a_terminal_or_begins_another_line(text: str) -> None:
    told = encoded(replace(LINE, client=text.encode("utf-8", "replace").decode()))
    assert all(0x20 <= sign < 0x7F for sign in told[:-1])
    assert told.endswith(b"\n")
    assert json.loads(told).get("client", "") == text.encode("utf-8", "replace").decode()


def test_a_reader_that_hangs_and_a_full_disk_lose_lines_that_are_counted_and_nobody_waits(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match="access_log"), written(pipe):  # nobody reads: the server says so, at once
        pass
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    hung: list[None] = []
    with written(pipe, lost=lambda: hung.append(None)) as log:
        for _ in range(LINES_MAX + 2_000):  # a pipe takes 64 KiB, less than 1,000 lines
            log.write(LINE)
        assert hung
    os.close(reader)
    full: list[None] = []
    with written(Path("/dev/full"), lost=lambda: full.append(None)) as log:
        for _ in range(100):  # several are written together
            log.write(LINE)
    assert len(full) == 100


def test_a_log_that_was_moved_goes_on_in_a_new_file(tmp_path: Path) -> None:
    place, old = tmp_path / "access.log", tmp_path / "access.log.1"
    with written(place) as log:
        log.write(LINE)
        place.rename(old)
        log.write(LINE)
        log.reopen()
        log.write(LINE)
    assert 1 <= len(lines_of(place)) <= 3
    assert len(lines_of(place)) + len(lines_of(old)) == 3


def test_the_folder_of_a_log_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="folder"):
        AccessLog(str(tmp_path / "none" / "access.log"))
