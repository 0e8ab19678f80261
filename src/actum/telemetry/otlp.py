"""Spans as the bytes of OTLP: what a collector takes at `/v1/traces`. Needs actum[otel].

The library is handed our ids and times. It is never asked for a resource or an id of its own, which would be drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version

from google.protobuf.message import DecodeError  # noqa: TID253  # loaded only where telemetry is on
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from .spans import SCHEMA, TraceSpan

_SCOPE = InstrumentationScope("actum", version("actum"), SCHEMA)
_KINDS = {"internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT}
_STATUS = {"unset": Status(StatusCode.UNSET), "error": Status(StatusCode.ERROR)}


def encoded(spans: Sequence[TraceSpan], resource: Mapping[str, str]) -> bytes:
    """Spans in the form that collectors take.

    Args:
        spans: the spans.
        resource: what sends them: names of the service, its version and its environment; never of a process.
    """
    made = Resource({**resource}, schema_url=SCHEMA)
    body: bytes = encode_spans([_readable(span, made, _SCOPE) for span in spans]).SerializeToString()
    return body


def rejected(answer: bytes) -> int:
    """How many spans a collector says that it did not keep, in the body of a good answer."""
    try:
        return max(0, ExportTraceServiceResponse.FromString(answer).partial_success.rejected_spans)
    except DecodeError:  # what is none of OTLP says nothing
        return 0


def _readable(span: TraceSpan, resource: Resource, scope: InstrumentationScope) -> ReadableSpan:
    return ReadableSpan(
        name=span.name,
        context=_context(span.trace_id, span.span_id),
        parent=_context(span.trace_id, span.parent_span_id) if span.parent_span_id else None,
        resource=resource,
        attributes=span.attributes,
        events=[Event(each.name, {**each.attributes}, each.at) for each in span.events],
        kind=_KINDS[span.kind],
        status=_STATUS[span.status],
        start_time=span.start,
        end_time=span.end,
        instrumentation_scope=scope,
    )


def _context(trace: str, span: str) -> SpanContext:
    return SpanContext(int(trace, 16), int(span, 16), is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
