"""What a server counts, as Prometheus reads it."""

from __future__ import annotations

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from actum import ToolError, tool
from actum.core.errors import CODES, JournalError
from actum.core.json import JsonObject
from actum.journal.memory import MemoryJournal
from actum.policy.rules import Rule, Rules
from actum.protocols.mcp.config import McpServer
from actum.server.house import House, HouseSettings
from actum.server.mcp.service import McpService
from actum.server.metrics import MEDIA_TYPE, Metrics, counted, gauge
from actum.server.web import metrics_app
from actum.testing import FakeClock
from actum.toolsets.mcp.connection import McpConnection
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


def samples(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """All samples, as the parser of Prometheus reads them."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_requests_runs_and_calls_are_counted_by_what_came_of_them() -> None:
    metrics = Metrics()
    journal = counted(MemoryJournal(), metrics)
    policy = Rules(Rule("deny", tools="barred", when="false"), Rule("deny", tools="barred"), default="allow")
    service = McpService([add, fail, barred], journal=journal, policy=policy)
    house = House([service.door()], HouseSettings(), metrics=metrics)
    async with serving(house.app) as origin, httpx2.AsyncClient(base_url=origin, trust_env=False) as client:
        async with McpConnection(McpServer(name="x", url=f"{origin}/mcp", transport="http"), era="modern") as way:
            added: list[JsonObject] = [{"a": 1, "b": 2}, {"a": 3, "b": 4}, {"a": "no number"}]
            for arguments in added:
                await way.request("tools/call", {"name": "add", "arguments": arguments})
            await way.request("tools/call", {"name": "fail", "arguments": {}})
            await way.request("tools/call", {"name": "barred", "arguments": {}})
        await client.get('/nothing"%0a\\')
        await client.request("PROPFIND", "/healthz")
        answer = await client.get("/metrics")
    assert answer.headers["content-type"] == MEDIA_TYPE.decode()
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
        httpx2.AsyncClient(base_url=origin, trust_env=False) as client,
    ):
        assert samples((await client.get("/metrics")).text)["actum_runs_started_total", frozenset()] == 0
        assert (await client.get("/metrics", headers={"host": "evil.example"})).status_code == 421
        assert (await client.get("/mcp")).status_code == 404
    house = House([], metrics=Metrics(), shows_metrics=False)
    async with serving(house.app) as origin, httpx2.AsyncClient(base_url=origin, trust_env=False) as client:
        assert (await client.get("/metrics")).status_code == 404


async def test_what_is_watched_is_looked_at_now_and_then_and_left_out_where_it_fails_or_hangs() -> None:
    clock, looks = FakeClock(), 0
    outcome: Exception | None = None

    async def look() -> list[str]:
        nonlocal looks
        looks += 1
        if outcome is not None:
            raise outcome
        return [*gauge("watched", "What is watched.", {(): looks})]

    metrics = Metrics()
    metrics.watch(look, clock)
    for _ in range(3):
        assert samples((await metrics.scraped()).decode())["watched", frozenset()] == 1
    clock.advance(5)
    assert samples((await metrics.scraped()).decode())["watched", frozenset()] == 2
    for error in (JournalError("the database is away"), TimeoutError()):
        outcome = error
        clock.advance(5)
        assert ("watched", frozenset()) not in samples((await metrics.scraped()).decode())
