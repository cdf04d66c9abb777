"""What happens arrives at a collector as traces, and a collector that is away holds nothing up."""

from __future__ import annotations

import http.server
import logging
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from incremental_assets.adapters.telemetry.opening import is_asked_for, open_tracing
from incremental_assets.core.errors import SetupError
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.verdict import Check, Severity, Verdict
from incremental_assets.core.observing.observers import Observers
from incremental_assets.core.observing.occurrences import CheckBegun, CheckEnded, Retried
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.syncing.sync_many import attempt
from tests.datasets import NOWHERE
from tests.fakes import World
from tests.scenario import ORDERS, monday, orders, shop

UPSERT = orders(Strategy.UPSERT)
RUN = "6f1f2a0e-38f8-4a3c-9a35-0d6f0f5c1a77"


@dataclass
class Collector:
    """What was posted to /v1/traces."""

    port: int
    requests: list[ExportTraceServiceRequest] = field(default_factory=list)

    @property
    def spans(self) -> list[Span]:
        """Of all requests, in the order of their begin."""
        found = [
            span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        return sorted(found, key=lambda span: span.start_time_unix_nano)


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    class Takes(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            assert self.path == "/v1/traces"
            made.requests.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Takes)
    made = Collector(server.server_port)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{made.port}")
    yield made
    server.shutdown()
    server.server_close()


@pytest.fixture
def world() -> World:
    made = World(shop())
    monday(made.database).commit()
    return made


def attributes(span: Span) -> dict[str, object]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value") or "string_value") for each in span.attributes}


def test_a_sync_is_a_trace_with_the_id_of_its_run_and_its_parts_are_inside(world: World, collector: Collector) -> None:
    tracing = open_tracing(NOWHERE)
    report = attempt(UPSERT, Request(RUN), replace(world.ports(), observer=Observers(tracing)))
    tracing.close()

    (sync,) = (span for span in collector.spans if not span.parent_span_id)
    assert sync.name == "sync shop.public.orders"
    assert {span.trace_id for span in collector.spans} == {uuid.UUID(RUN).bytes}
    inside = [span.name for span in collector.spans if span.parent_span_id == sync.span_id]
    assert sorted(inside) == ["apply", "lease", "look", "plan", "read"]
    (commit,) = sync.events
    assert {each.key: each.value.int_value for each in commit.attributes if each.value.int_value} == {
        "incremental_assets.version": report.target_version
    } | ({"incremental_assets.seq": report.seq} if report.seq else {})
    told = attributes(sync)
    assert (told["incremental_assets.table"], told["incremental_assets.run_id"]) == ("shop.public.orders", RUN)
    assert (told["incremental_assets.status"], told["incremental_assets.rows.inserted"]) == (
        "landed",
        report.rows.inserted,
    )
    assert told["incremental_assets.guarantee"] == "settled"
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in collector.spans)


def test_what_fails_is_red_and_shows_no_message_as_it_may_hold_a_value(world: World, collector: Collector) -> None:
    tracing = open_tracing(NOWHERE)
    world.stage.loses = 1
    report = attempt(UPSERT, Request(RUN), replace(world.ports(), observer=Observers(tracing)))
    tracing.close()
    (sync,) = (span for span in collector.spans if not span.parent_span_id)
    assert sync.status.code == sync.status.STATUS_CODE_ERROR
    assert report.error
    assert report.error not in str(collector.requests)


def test_a_sync_that_met_another_run_has_a_span_and_a_table_that_stands_still_has_none(
    world: World, collector: Collector
) -> None:
    tracing = open_tracing(NOWHERE)
    ports = replace(world.ports(), observer=Observers(tracing))
    with world.checkpoints.lease(ORDERS, "another run"):
        attempt(UPSERT, Request(RUN), ports)
    tracing.close()
    (busy,) = collector.spans
    assert attributes(busy)["incremental_assets.status"] == "busy"
    assert busy.status.code == busy.status.STATUS_CODE_UNSET


def test_a_run_that_finds_its_table_busy_ends_in_no_span_of_the_run_that_has_it(
    world: World, collector: Collector
) -> None:
    tracing = open_tracing(NOWHERE)
    observer, other, process = Observers(tracing), "9a3f0d6c-8f1a-4f6e-9d55-1c0c1f8a2b34", world.process()

    def meets() -> None:
        attempt(UPSERT, Request(other), replace(world.ports(), observer=observer))
        tracing.notify(Retried(ORDERS, OSError("a check of the same table")))

    process.at = {"before apply": meets}
    attempt(UPSERT, Request(RUN), replace(world.ports(process), observer=observer))
    tracing.close()

    ended = {span.trace_id: span for span in collector.spans if not span.parent_span_id}
    busy, landed = ended[uuid.UUID(other).bytes], ended[uuid.UUID(RUN).bytes]
    assert attributes(busy)["incremental_assets.status"] == "busy"
    assert attributes(landed)["incremental_assets.status"] == "landed"
    assert [event.name for event in landed.events] == ["commit"]
    inside = [span.name for span in collector.spans if span.parent_span_id == landed.span_id]
    assert sorted(inside) == ["apply", "lease", "look", "plan", "read"]


def test_a_check_is_a_trace_of_its_own(collector: Collector) -> None:
    tracing = open_tracing(NOWHERE)
    tracing.notify(CheckBegun(ORDERS, Check.RECONCILIATION))
    tracing.notify(
        CheckEnded(Verdict(ORDERS, Check.RECONCILIATION, False, Severity.ERROR, "2 rows differ: 4711, 4712"))
    )
    tracing.close()
    (check,) = collector.spans
    assert (check.name, attributes(check)["incremental_assets.passed"]) == (
        "check reconciliation shop.public.orders",
        False,
    )
    assert "4711" not in str(collector.requests)


def test_a_collector_that_is_away_is_one_line_and_holds_the_end_for_seconds_only(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:s3cret@127.0.0.1:1")
    tracing = open_tracing(NOWHERE)
    attempt(UPSERT, Request(RUN), replace(world.ports(), observer=Observers(tracing)))
    begun = time.monotonic()
    with caplog.at_level(logging.WARNING):
        tracing.close()
    assert [record.getMessage() for record in caplog.records] == [
        "traces could not be sent to 127.0.0.1:1; syncs go on without them"
    ]
    assert time.monotonic() - begun < 60


def test_another_protocol_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    with pytest.raises(SetupError, match="OTEL_EXPORTER_OTLP_PROTOCOL asks for 'grpc'; set it to http/protobuf"):
        open_tracing(NOWHERE)


@pytest.mark.parametrize(
    ("variables", "asked"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_the_variables_that_every_program_reads_ask_for_traces(
    variables: dict[str, str], asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert is_asked_for() is asked
