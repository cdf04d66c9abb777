"""Opens OpenTelemetry's exporter as its own variables say it."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from importlib.metadata import version
from urllib.parse import urlsplit

from incremental_assets.core.errors import SetupError
from incremental_assets.core.extras import OTEL
from incremental_assets.core.observing.datasets import Datasets
from incremental_assets.core.observing.observers import Observer

_log = logging.getLogger(__name__)
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_TIMEOUTS = ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")
_SECONDS_TO_END = 5
"""How long the end of a process waits for a collector that does not answer: traces are no reason to hold a run."""


def open_tracing(_: Datasets) -> Observer:
    """Traces over HTTP to the collector of the environment. Raises SetupError without the extra, and for another protocol."""
    OTEL.require()
    for name in _PROTOCOLS:
        if os.environ.get(name, "http/protobuf") != "http/protobuf":
            raise SetupError(
                f"traces are sent by OTLP over HTTP, and {name} asks for {os.environ[name]!r}; set it to http/protobuf, and the endpoint to the collector's port for HTTP (4318 as a rule)"
            )
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    from incremental_assets.adapters.telemetry.tracing import TraceIds, Tracing

    class Reported(SpanExporter):
        """A failure is one line in our log, once: a collector that is away for a night would fill it."""

        def __init__(self, exporter: SpanExporter) -> None:
            self._exporter, self._failed = exporter, False

        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            result = self._exporter.export(spans)
            if result is SpanExportResult.FAILURE and not self._failed:
                _log.warning("traces could not be sent to %s; syncs go on without them", _where())
            self._failed = result is SpanExportResult.FAILURE
            return result

        def shutdown(self) -> None:
            self._exporter.shutdown()

    # Its own sentences name the same, with a traceback, for every batch.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    named = {SERVICE_VERSION: version("incremental-assets")}
    if not os.environ.get("OTEL_SERVICE_NAME"):
        named[SERVICE_NAME] = "incremental-assets"
    ids = TraceIds()
    provider = TracerProvider(resource=Resource.create(named), id_generator=ids)
    provider.add_span_processor(BatchSpanProcessor(Reported(OTLPSpanExporter(timeout=_seconds()))))
    return Tracing(provider, ids)


def _seconds() -> float | None:
    """None: as the environment says."""
    return None if any(os.environ.get(name) for name in _TIMEOUTS) else _SECONDS_TO_END


def is_asked_for() -> bool:
    """Whether the environment names a collector, as it does for every program that sends traces."""
    return any(os.environ.get(name) for name in _ENDPOINTS) and os.environ.get("OTEL_SDK_DISABLED") != "true"


def _where() -> str:
    """The collector, without a password that its address may hold."""
    found = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), "http://localhost:4318")
    parts = urlsplit(found)
    return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
