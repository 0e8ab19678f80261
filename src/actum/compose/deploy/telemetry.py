"""Telemetry as the settings describe it: where spans go, and what sends them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib.metadata import version
from urllib.parse import unquote

from ...core.clock import SystemClock
from ...core.errors import UsageError
from ...core.interfaces import Journal
from ...policy.record_mask import reader_mask
from ...runs.other_values import as_seen
from ...telemetry.exporter import Collector, Outcome, SpanExporter
from ...telemetry.settings import TelemetryTable
from ...transport.fetcher import Fetcher
from ...transport.guard import Guard, is_here
from ..mcp import secrets_of
from ..settings import SETTINGS_FILE, Settings

SEND_S = 10.0
"""A collector has to answer within this time."""
ANSWER_BYTES_MAX = 64 * 1024
_NAMED = re.compile(r"\$\{(secret:)?([A-Za-z0-9_.-]+)\}")


def _nobody_counts(outcome: Outcome, number: int) -> None:
    """Nobody counts the spans."""


@asynccontextmanager
async def telemetry_sent(
    settings: Settings,
    environment: Mapping[str, str],
    journal: Journal,
    count: Callable[[Outcome, int], None] = _nobody_counts,
) -> AsyncIterator[None]:
    """A block within which this process sends the spans of runs. Nothing happens where the settings name no collector.

    Args:
        settings: as read.
        environment: the variables of this process.
        journal: where the runs are on record.
        count: is told how many spans were sent, failed or dropped.

    Raises:
        UsageError: the address of the collector is none, or a header names a secret that is not there.
    """
    with open_exporter(settings, environment, journal, count) as exporter:
        running = asyncio.create_task(exporter.run(), name="telemetry") if exporter is not None else None
        try:
            yield
        finally:
            if running is not None:
                running.cancel()
                with suppress(asyncio.CancelledError):
                    await running
            if exporter is not None:
                await exporter.close()


@contextmanager
def open_exporter(
    settings: Settings,
    environment: Mapping[str, str],
    journal: Journal,
    count: Callable[[Outcome, int], None] = _nobody_counts,
) -> Iterator[SpanExporter | None]:
    """What sends spans; None where the settings name no collector. Arguments and errors are as for `telemetry_sent`."""
    table = settings.telemetry
    endpoint = (table.endpoint or environment.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")) if table is not None else ""
    if table is None or not endpoint:
        yield None
        return
    from ...telemetry.otlp import encoded, rejected  # noqa: PLC0415  # needs actum[otel]

    if not re.fullmatch(r"https?://[^\s/?#@]+[^\s?#]*", endpoint):
        raise UsageError("[telemetry] endpoint: write an address, such as http://collector:4318")
    _keep_what_is_the_persons(settings, table, environment)
    url = f"{endpoint.rstrip('/')}/v1/traces"
    headers = _headers(table, environment)
    headers()  # says now what is missing
    fetcher = Fetcher(Guard(url), bytes_max=ANSWER_BYTES_MAX, seconds_max=SEND_S)
    collector = Collector(url, headers, _resource(table, environment), encoded, rejected)
    yield SpanExporter(
        journal,
        collector,
        fetcher,
        table,
        SystemClock(),
        count,
        # who reads at the collector, nobody knows
        lambda run_id, entries: as_seen(reader_mask(settings.labels), journal, run_id, entries),
    )


def _keep_what_is_the_persons(settings: Settings, table: TelemetryTable, environment: Mapping[str, str]) -> None:
    """A file in the working folder, which may be anybody's, does not decide where secrets and words are sent.

    Raises:
        UsageError: it would.
    """
    if settings.sources.get("telemetry") != SETTINGS_FILE or not table.endpoint:
        return
    agreed = environment.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    if is_here(table.endpoint) or agreed.rstrip("/") == table.endpoint.rstrip("/"):
        return
    names_secrets = any("${" in value for value in table.headers.values())
    inherits = not table.headers and bool(environment.get("OTEL_EXPORTER_OTLP_HEADERS"))
    if names_secrets or inherits or table.content or table.users:
        what = "content" if table.content else "users" if table.users else "headers with secrets"
        key = "endpoint" if inherits and not (table.content or table.users) else what.partition(" ")[0]
        raise UsageError(
            "[telemetry] {key}: actum.toml names the collector {endpoint}, and {what} would be sent there: set "
            "OTEL_EXPORTER_OTLP_ENDPOINT to that address if you mean it",
            key=key,
            endpoint=table.endpoint,
            what=what,
        )


def _resource(table: TelemetryTable, environment: Mapping[str, str]) -> dict[str, str]:
    """What sends the spans. A process has no name here: the same span has the same bytes from each."""
    named = {
        "service.name": table.service or environment.get("OTEL_SERVICE_NAME", "") or "actum",
        "service.version": version("actum"),
        "deployment.environment.name": table.environment,
    }
    return {name: value for name, value in named.items() if value}


def _headers(table: TelemetryTable, environment: Mapping[str, str]) -> Callable[[], Mapping[str, str]]:
    """Gives the headers of a request, with the values of secrets as they are now."""
    said = table.headers or {
        name.strip(): unquote(value.strip())
        for name, equals, value in (
            each.partition("=") for each in environment.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(",")
        )
        if equals
    }

    def headers() -> Mapping[str, str]:
        if not table.headers:
            return said
        secrets = secrets_of(environment)

        def value_of(named: re.Match[str]) -> str:
            found = secrets.get(named[2]) if named[1] else environment.get(named[2])
            if not found:
                raise UsageError("[telemetry] headers: {said} is not there, or is empty", said=named[0])
            return found

        return {name: _NAMED.sub(value_of, value) for name, value in said.items()}

    return headers
