"""`[telemetry]` of the settings."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

_COLLECTOR = Meta(
    pattern=r"^(https?://[^\s/?#@]+[^\s?#]*)?$",
    description="the address of a collector, such as http://collector:4318",
)


class TelemetryTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the spans of runs are sent, and what they say; the table `[telemetry]`.

    Attributes:
        endpoint: a collector of OTLP/HTTP, such as `http://collector:4318`; `/v1/traces` is added behind its path.
            Empty for `OTEL_EXPORTER_OTLP_ENDPOINT`; where both are empty, nothing is sent.
        headers: of each request; a value may be `${secret:NAME}` or `${VARIABLE}`, or hold one, such as
            `Basic ${secret:LANGFUSE}`. Empty for `OTEL_EXPORTER_OTLP_HEADERS`.
        service: the name of the service; empty for `OTEL_SERVICE_NAME`, or `actum`.
        environment: the name of the environment, such as `production`; empty for none.
        content: spans say what was asked, answered and called, as redacted as the record.
        users: spans name the users.
        sample: the share of traces that are sent, from 0 to 1; by the id of the trace, so that all processes agree.
        every_s: seconds between two looks for runs that have ended.
        queue: the most spans that wait while the collector takes none; beyond that the oldest are dropped and counted.
            Runs and passed-through requests have half of the places each, and what the others leave free.
    """

    endpoint: Annotated[str, _COLLECTOR] = ""
    headers: dict[str, str] = {}
    service: str = ""
    environment: str = ""
    content: bool = False
    users: bool = False
    sample: Annotated[float, Meta(ge=0, le=1)] = 1.0
    every_s: Annotated[float, Meta(gt=0)] = 2.0
    queue: Annotated[int, Meta(ge=1)] = 100_000
