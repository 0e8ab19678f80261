"""What a server counts, as Prometheus reads it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx2
import pytest
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families

from actum import Agent, ToolError, tool
from actum.compose.serving import model_labels
from actum.compose.settings import Settings
from actum.core.call import TextPart, ToolCall
from actum.core.errors import CODES, JournalError
from actum.core.json import JsonObject
from actum.core.message import Reply, Usage
from actum.journal.memory import MemoryJournal
from actum.models.catalog import open_model
from actum.policy.rules import Rule, Rules
from actum.protocols.mcp.config import McpServer
from actum.server.mcp.service import McpService
from actum.server.metrics import CountedAttempts, Metrics, counted
from actum.server.web import metrics_app
from actum.server.web_application import WebApplication, WebApplicationSettings
from actum.testing import FakeClock, ScriptedModel
from actum.toolsets.mcp.connection import McpConnection
from tests.patience import HANGS_S
from tests.web import serving


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def fail() -> str:
    """Fail."""
    raise ToolError("no")


@tool
def barred() -> str:
    """Nobody may."""
    return ""


Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(text: str) -> Samples:
    """All samples, as the parser of Prometheus reads them."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@asynccontextmanager
async def scraping(metrics: Metrics) -> AsyncIterator[Callable[[], Awaitable[Samples]]]:
    """Read the counts over and over."""
    async with (
        serving(metrics_app(metrics, "127.0.0.1")) as origin,
        httpx2.AsyncClient(base_url=origin, timeout=HANGS_S) as client,
    ):

        async def scraped() -> Samples:
            return samples((await client.get("/metrics")).text)

        yield scraped


async def test_requests_runs_and_calls_are_counted_by_what_came_of_them() -> None:
    metrics = Metrics()
    journal = counted(MemoryJournal(), metrics)
    policy = Rules(Rule("deny", tools="barred", when="false"), Rule("deny", tools="barred"), default="allow")
    service = McpService([add, fail, barred], journal=journal, policy=policy)
    application = WebApplication([service.door()], WebApplicationSettings(), metrics=metrics)
    async with serving(application.app) as origin, httpx2.AsyncClient(base_url=origin, timeout=HANGS_S) as client:
        async with McpConnection(McpServer(name="x", url=f"{origin}/mcp", transport="http"), era="modern") as way:
            added: list[JsonObject] = [{"a": 1, "b": 2}, {"a": 3, "b": 4}, {"a": "no number"}]
            for arguments in added:
                await way.request("tools/call", {"name": "add", "arguments": arguments})
            await way.request("tools/call", {"name": "fail", "arguments": {}})
            await way.request("tools/call", {"name": "barred", "arguments": {}})
        await client.get('/nothing"%0a\\')
        await client.request("PROPFIND", "/healthz")
        answer = await client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = samples(answer.text)

    def value(name: str, **labels: str) -> float:
        return found[name, frozenset(labels.items())]

    assert value("actum_runs_started_total") == 5
    assert value("actum_calls_total", outcome="done") == 2
    assert value("actum_calls_total", outcome="tool_error") == 1
    outcomes = {dict(labels)["outcome"] for name, labels in found if name == "actum_calls_total"}
    assert outcomes <= {"done", *CODES}, "no text of a tool, and no name, becomes a label"
    assert sum(value("actum_calls_total", outcome=each) for each in outcomes) == 5
    assert value("actum_call_seconds_count") == 3
    assert value("actum_http_requests_total", route="unknown", method="GET", status="404") == 1
    assert value("actum_http_requests_total", route="/healthz", method="other", status="405") == 1
    assert value("actum_http_requests_under_way") == 1
    posts = value("actum_http_requests_total", route="/mcp", method="POST", status="200")
    assert value("actum_http_request_seconds_count", route="/mcp") == posts >= 5
    assert value("actum_http_request_seconds_bucket", route="/mcp", le="+Inf") == posts


async def test_the_counts_have_an_address_of_their_own_and_no_other_name_there() -> None:
    async with (
        serving(metrics_app(Metrics(), "127.0.0.1")) as origin,
        httpx2.AsyncClient(base_url=origin, timeout=HANGS_S) as client,
    ):
        assert samples((await client.get("/metrics")).text)["actum_runs_started_total", frozenset()] == 0
        assert (await client.get("/metrics", headers={"host": "evil.example"})).status_code == 421
        assert (await client.get("/mcp")).status_code == 404
    application = WebApplication([], metrics=Metrics(), shows_metrics=False)
    async with serving(application.app) as origin, httpx2.AsyncClient(base_url=origin, timeout=HANGS_S) as client:
        assert (await client.get("/metrics")).status_code == 404


async def test_what_is_watched_is_looked_at_now_and_then_and_left_out_where_it_fails_or_hangs() -> None:
    clock, looks = FakeClock(), 0
    outcome: Exception | None = None

    async def look() -> list[Metric]:
        nonlocal looks
        looks += 1
        if outcome is not None:
            raise outcome
        return [GaugeMetricFamily("watched", "What is watched.", looks)]

    metrics = Metrics()
    metrics.watch(look, clock)
    async with scraping(metrics) as scraped:
        for _ in range(3):
            assert (await scraped())["watched", frozenset()] == 1
        clock.advance(5)
        assert (await scraped())["watched", frozenset()] == 2
        for error in (JournalError("the database is away"), TimeoutError()):
            outcome = error
            clock.advance(5)
            assert ("watched", frozenset()) not in await scraped()


async def test_two_servers_of_one_process_count_apart_and_tell_nothing_else_of_the_process() -> None:
    busy, idle = Metrics(), Metrics()
    busy.request("/mcp", "POST", 200, 0.1)
    async with scraping(busy) as of_busy, scraping(idle) as of_idle:
        assert (await of_busy())["actum_http_request_seconds_count", frozenset({("route", "/mcp")})] == 1
        assert not [name for name, labels in await of_idle() if labels == frozenset({("route", "/mcp")})]
        names = {name for name, _ in await of_busy()}
    assert all(name.startswith("actum_") and not name.endswith("_created") for name in names)


def test_mcp_over_stdio_needs_no_package_for_metrics() -> None:
    program = "import sys; sys.modules['prometheus_client'] = None; import actum.server.mcp.service"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=HANGS_S)


async def test_what_attempts_at_tasks_put_on_record_counts_once_with_the_runs_that_their_calls_began() -> None:
    journal = MemoryJournal()
    said = Usage(input_tokens=7, output_tokens=2)
    told = Reply(content=(TextPart("5"),), usage=said)
    child = Agent(ScriptedModel([told]), name="clerk", journal=journal)
    replies = [Reply(content=(ToolCall("c1", "clerk", {"task": "2+3"}),), usage=said), told]
    agent = Agent(ScriptedModel(replies), [child.as_tool("clerk", "Adds.")], journal=journal)
    run_id = (await agent.run("?")).run_id
    metrics = Metrics(["scripted"])
    attempts = CountedAttempts(journal, metrics)
    await attempts.count(run_id, 0.0)
    await attempts.count(run_id, journal.now() + 1)  # a later attempt
    async with scraping(metrics) as scraped:
        found = await scraped()
    answered = frozenset({("model", "scripted"), ("upstream", "scripted"), ("outcome", "answered")})
    assert found["actum_model_requests_total", answered] == 3
    assert found["actum_calls_total", frozenset({("outcome", "done")})] == 1
    assert found["actum_runs_started_total", frozenset()] == 0, "which counts where a task is accepted"


@pytest.mark.row("F9")
async def test_a_model_that_the_settings_name_by_its_address_is_counted_by_that_name_and_no_other_is() -> None:
    """Records call it by its name and host. The usual model on a machine of one's own was counted as `other`."""
    address = "http://127.0.0.1:9/v1#qwen3"
    recorded = open_model(address).name
    journal, metrics = MemoryJournal(), Metrics(model_labels(Settings(model=address)))
    for name in (recorded, "gpt-made-up"):
        answer = Reply(content=(TextPart("Hi."),), model=name)
        run_id = (await Agent(ScriptedModel([answer], name=name), journal=journal).run("?")).run_id
        for entry in await journal.read(run_id):
            metrics.record(run_id, entry.record)
    async with scraping(metrics) as scraped:
        found = await scraped()
    for label in (address, "other"):
        answered = frozenset({("model", label), ("upstream", label), ("outcome", "answered")})
        assert found["actum_model_requests_total", answered] == 1
