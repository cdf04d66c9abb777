"""`metrics`: each is moved by its cause, and what is not known has no sample. The checkpoint database is a real one, and nothing else is asked."""

from __future__ import annotations

import re
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.cli.exporter import Exporter
from incremental_assets.cli.metrics_server import MetricsServer
from incremental_assets.core.config.load import load
from incremental_assets.core.errors import CheckpointsUnreachable, SetupError
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.look import Look
from incremental_assets.core.model.schema_change import Change, SchemaChange
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verified import Drifted, Verified
from incremental_assets.core.model.window import Window
from incremental_assets.core.operations.exposition import PREFIX, text_of
from incremental_assets.core.operations.known import Known
from incremental_assets.core.operations.metrics import Watched, families
from incremental_assets.core.planning.events import Event
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import RowCounts, Status
from incremental_assets.core.strategies import Strategy
from tests.cli.conftest import CONFIG, Call, FakeRuntime, Outside
from tests.ports.stories import ORDERS, failed, idle, intent, landed, staged, sync
from tests.prometheus import promtool, read

MONDAY = datetime(2026, 11, 23, 9, tzinfo=UTC)
OF_ORDERS = '{source="shop",table="public.orders"'


@pytest.fixture
def checkpoints(config: Path) -> Iterator[SqlCheckpoints]:
    door = SqlCheckpoints(f"sqlite:///{config.parent}/checkpoints.db")
    yield door
    door.close()


@pytest.fixture
def exporter(config: Path, outside: Outside, monkeypatch: pytest.MonkeyPatch) -> Iterator[Exporter]:
    """Of a shop whose source must not be asked."""
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2")
    outside.broken = AssertionError("asked")
    runtime = FakeRuntime(load(config), outside, writes=False)
    yield Exporter(runtime)  # type: ignore[arg-type]
    runtime.close()


class Metrics:
    """What is exported of `orders` now."""

    def __init__(self, exporter: Exporter) -> None:
        self._samples = read(exporter.text())

    def __call__(self, name: str, **labels: str) -> float | None:
        more = "".join(f',{label}="{value}"' for label, value in labels.items())
        return self._samples.get(f"{PREFIX}{name}{OF_ORDERS}{more}}}")

    def of_source(self, name: str, more: str = "") -> float | None:
        return self._samples.get(f'{PREFIX}{name}{{source="shop"{more}}}')

    @property
    def names(self) -> set[str]:
        return {sample.partition("{")[0].removeprefix(PREFIX) for sample in self._samples}


def tell(checkpoints: SqlCheckpoints, *events: Event) -> None:
    with checkpoints.lease(ORDERS, "test") as lease:
        for event in events:
            lease.record(event)


def told(event: Event, **changed: object) -> Event:
    assert event.report is not None
    return replace(event, report=replace(event.report, **changed))  # type: ignore[arg-type]


def now(moment: float | None) -> bool:
    return moment is not None and abs(moment - datetime.now(UTC).timestamp()) < 60


def test_before_anything_is_known_there_are_the_tables_and_zeros_of_what_is_counted_from_the_first_sync_on(
    exporter: Exporter, config: Path
) -> None:
    found = Metrics(exporter)

    assert found("table_info", strategy="upsert") == 1
    assert found("syncs_total", result="failed") == 0, "so that the first failure is an increase"
    assert found.names == {
        "build_info",
        "table_info",
        "paused",
        "freshness_limit_seconds",
        "syncs_total",
        "rows_read_total",
        "rows_total",
        "reread_rows_total",
        "late_rows_total",
        "quarantined_rows_total",
    }
    assert (found("freshness_limit_seconds", severity="warn"), found("freshness_limit_seconds", severity="fail")) == (
        900,
        3600,
    )
    assert not (config.parent / "checkpoints.db").exists()


def test_a_sync_that_lands_is_counted_with_its_rows_and_its_moments(
    exporter: Exporter, checkpoints: SqlCheckpoints
) -> None:
    rows = RowCounts(read=9, inserted=4, updated=3, deleted=2, late=1, quarantined=5)
    tell(checkpoints, intent(0), staged(0), told(landed(0), rows=rows, lag=12.5))
    found = Metrics(exporter)

    assert found("syncs_total", result="landed") == 1
    assert found("rows_read_total") == 9
    assert [found("rows_total", operation=each) for each in ("inserted", "updated", "deleted")] == [4, 3, 2]
    assert (found("late_rows_total"), found("quarantined_rows_total"), found("reread_rows_total")) == (1, 5, 0)
    assert found("hold_back_seconds") == 12.5
    assert found("provisional_rows") is not None
    assert now(found("checkpoint_timestamp_seconds"))
    assert now(found("landed_timestamp_seconds"))
    assert now(found("in_step_timestamp_seconds"))
    assert found("settled_through_timestamp_seconds") == datetime(2024, 5, 1, 1, 0, 0, 123000, tzinfo=UTC).timestamp()
    assert found("health", health="ok") == 1
    assert found("interrupted") == 0
    assert found("failed_timestamp_seconds") is None
    assert found("lease_timestamp_seconds") is None


def test_a_sync_that_lands_is_in_the_histograms_of_its_source(exporter: Exporter, checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, intent(0), told(landed(0), seconds=2.5, phases=(("read", 0.4),)))
    tell(checkpoints, intent(1), told(landed(1), seconds=40.0, phases=(("read", 31.0),)))
    tell(checkpoints, told(failed(), seconds=1.0))
    found = Metrics(exporter)

    counts = [found.of_source("sync_duration_seconds_bucket", f',le="{end}"') for end in ("1", "2.5", "30", "60")]
    assert counts == [0, 1, 1, 2]
    assert found.of_source("sync_duration_seconds_sum") == 42.5
    assert found.of_source("sync_duration_seconds_count") == 2
    assert found.of_source("stage_duration_seconds_count", ',stage="read"') == 2
    assert found.of_source("stage_duration_seconds_bucket", ',stage="read",le="0.5"') == 1


def test_rows_that_a_backfill_reads_again_are_counted_apart_as_well(
    exporter: Exporter, checkpoints: SqlCheckpoints
) -> None:
    tell(checkpoints, *sync(0), intent(1), told(landed(1), mode=Mode.BACKFILL, rows=RowCounts(read=100)))
    found = Metrics(exporter)

    assert (found("reread_rows_total"), found("rows_read_total")) == (100, 106)


def test_a_sync_that_fails_or_is_refused_is_counted_by_its_end(exporter: Exporter, checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, *sync(0), failed())
    found = Metrics(exporter)
    assert (found("syncs_total", result="failed"), found("syncs_total", result="refused")) == (1, 0)
    assert found("health", health="error") == 1
    assert now(found("failed_timestamp_seconds"))

    tell(checkpoints, told(failed(), status=Status.REFUSED), idle(3))
    found = Metrics(exporter)
    assert (found("syncs_total", result="failed"), found("syncs_total", result="refused")) == (1, 1)
    assert (found("health", health="error"), found("health", health="ok")) == (0, 1)


def test_a_weaker_promise_changes_the_guarantee(exporter: Exporter, checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, *sync(0))
    assert Metrics(exporter)("guarantee", guarantee="settled") == 1

    tell(checkpoints, intent(1), told(landed(1), guarantee=Guarantee.BEST_EFFORT))

    found = Metrics(exporter)
    assert (found("guarantee", guarantee="settled"), found("guarantee", guarantee="best_effort")) == (0, 1)


def test_a_lease_has_a_moment_while_it_is_held_and_a_run_that_died_is_interrupted(
    exporter: Exporter, checkpoints: SqlCheckpoints
) -> None:
    with checkpoints.lease(ORDERS, "run") as lease:
        lease.record(intent(0))
        found = Metrics(exporter)
        assert now(found("lease_timestamp_seconds"))
        assert found("interrupted") == 0

    found = Metrics(exporter)
    assert (found("lease_timestamp_seconds"), found("interrupted")) == (None, 1)
    assert found("health", health="warn") == 1


def test_a_pause_of_a_table_or_its_source_moves_it_until_it_is_over(
    exporter: Exporter, checkpoints: SqlCheckpoints
) -> None:
    assert (Metrics(exporter)("paused"), Metrics(exporter)("paused_timestamp_seconds")) == (0, None)
    for what in (ORDERS, "shop"):
        checkpoints.pause(what, "ana@host", "moved")
        found = Metrics(exporter)
        assert found("paused") == 1
        assert now(found("paused_timestamp_seconds"))
        checkpoints.resume(what, "ana@host")
        assert Metrics(exporter)("paused") == 0


def test_a_check_that_finds_drift_moves_it_and_one_that_finds_none_too(
    exporter: Exporter, checkpoints: SqlCheckpoints
) -> None:
    tell(checkpoints, *sync(0))
    assert Metrics(exporter)("drift_rows") is None, "nothing was compared: 0 would say that nothing differs"
    for rows in (7, 0):
        found = (Drifted(Window(None, None), rows),) if rows else ()
        checkpoints.remember_verified(
            ORDERS, checkpoints.last_event(ORDERS), lambda _, __, drift=found: Verified(None, drift)
        )
        assert Metrics(exporter)("drift_rows") == rows
    assert now(Metrics(exporter)("verified_timestamp_seconds"))


def test_a_column_that_changes_is_counted_by_its_change(exporter: Exporter, checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, *sync(0))
    assert Metrics(exporter)("schema_changes_total", change="added") is None

    added = SchemaChange("colour", Change.ADDED, None, "string", "schema_changes: evolve")
    tell(checkpoints, intent(1), told(landed(1), schema_changes=(added,)))

    assert Metrics(exporter)("schema_changes_total", change="added") == 1


def test_an_objective_is_exported_as_it_is_configured(
    config: Path, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2")
    config.write_text(CONFIG + "        slo: {freshness: 95% within 5m, success: 99.9%}\n")
    runtime = FakeRuntime(load(config), outside, writes=False)
    found = Metrics(Exporter(runtime))  # type: ignore[arg-type]
    runtime.close()

    assert found("slo_objective_ratio", slo="freshness") == 0.95
    assert found("slo_objective_ratio", slo="success") == 0.999
    assert found("slo_freshness_seconds") == 300


def test_a_look_moves_what_is_known_of_its_source_and_of_tables_at_which_nothing_happens(
    exporter: Exporter, checkpoints: SqlCheckpoints
) -> None:
    tell(checkpoints, *sync(0))
    before = Metrics(exporter)
    assert before.of_source("source_up") is None

    checkpoints.record_look("shop", Look(frozenset(), 0.0, MONDAY, 5 << 20))
    found = Metrics(exporter)
    assert found.of_source("source_up") == 1
    assert now(found.of_source("look_timestamp_seconds"))
    assert found.of_source("oldest_transaction_timestamp_seconds") == MONDAY.timestamp()
    assert found.of_source("log_kept_bytes") == 5 << 20
    assert found.of_source("tables_behind") == 0
    assert (found("in_step_timestamp_seconds") or 0) > (before("in_step_timestamp_seconds") or 0)
    assert found("landed_timestamp_seconds") == before("landed_timestamp_seconds")

    checkpoints.record_look("shop", Look(frozenset({ORDERS}), 0.0))
    assert Metrics(exporter).of_source("tables_behind") == 1
    assert Metrics(exporter).of_source("log_kept_bytes") is None
    assert Metrics(exporter)("in_step_timestamp_seconds") == found("in_step_timestamp_seconds")


def test_a_source_that_does_not_answer_is_down(exporter: Exporter, checkpoints: SqlCheckpoints) -> None:
    checkpoints.record_look("shop", Look(frozenset(), 0.0))
    checkpoints.record_look("shop", None)
    found = Metrics(exporter)

    assert found.of_source("source_up") == 0
    assert now(found.of_source("look_failed_timestamp_seconds"))


def test_a_source_with_a_quiet_time_says_whether_it_is_now(
    config: Path, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2")
    now = datetime.now(UTC)

    def quiet(begins: int, ends: int) -> float | None:
        times = "-".join(f"{now + timedelta(hours=hours):%H:%M}" for hours in (begins, ends))
        config.write_text(CONFIG.replace("    tables:\n", f"    quiet: {times}\n    check_at: never\n    tables:\n", 1))
        runtime = FakeRuntime(load(config), outside, writes=False)
        found = Metrics(Exporter(runtime))  # type: ignore[arg-type]
        runtime.close()
        return found.of_source("source_quiet")

    assert (quiet(-2, 2), quiet(2, 4)) == (1, 0)


def test_every_metric_is_moved_by_a_test_of_this_file() -> None:
    everything = {family.name for family in families(Known(), (), "1")}
    text = Path(__file__).read_text(encoding="utf-8")

    assert [name for name in everything if not re.search(rf'"{name}(_bucket|_sum|_count)?"', text)] == []


def test_nothing_is_read_again_while_nothing_was_written(
    exporter: Exporter, checkpoints: SqlCheckpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(checkpoints, *sync(0))
    first = exporter.text()
    reads: list[int] = []
    ledger = exporter._ledger
    monkeypatch.setattr(ledger, "read", lambda read=ledger.read: (reads.append(1), read())[1])

    assert exporter.text() is first
    assert reads == []
    tell(checkpoints, *sync(1))
    assert exporter.text() != first
    assert reads == [1]


def test_the_tables_are_told_from_the_catalogue_again_once_it_is_another_or_a_table_was_never_written_before(
    exporter: Exporter, checkpoints: SqlCheckpoints, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a thousand tables that takes as long as the ledger."""
    asked: list[str] = []
    catalogue = SqlCheckpoints.catalogue
    monkeypatch.setattr(
        SqlCheckpoints, "catalogue", lambda door, source: asked.append(source) or catalogue(door, source)
    )
    tell(checkpoints, *sync(0))
    exporter.text()
    for seq in (1, 2):
        tell(checkpoints, *sync(seq))
        assert Metrics(exporter)("syncs_total", result="landed") == seq + 1
    assert asked == ["shop"]
    checkpoints.remember_catalogue("shop", ())
    exporter.text()
    assert asked == ["shop"] * 2
    twin = TableId("shop", "public", "twin")
    with checkpoints.lease(twin, "run") as lease:
        lease.record(replace(intent(0), table=twin))
    exporter.text()
    assert asked == ["shop"] * 3


def test_a_sync_is_counted_once_whatever_is_read_and_again_once_the_database_is_another(
    exporter: Exporter, checkpoints: SqlCheckpoints, config: Path
) -> None:
    for seq in range(3):
        tell(checkpoints, *sync(seq))
        assert Metrics(exporter)("syncs_total", result="landed") == seq + 1

    checkpoints.close()
    for file in config.parent.glob("checkpoints.db*"):
        file.unlink()
    assert Metrics(exporter)("syncs_total", result="landed") == 0
    tell(checkpoints, *sync(0))
    assert Metrics(exporter)("syncs_total", result="landed") == 1


def test_another_database_with_a_longer_history_is_counted_from_its_beginning(
    exporter: Exporter, checkpoints: SqlCheckpoints, config: Path
) -> None:
    checkpoints.installation()
    tell(checkpoints, intent(0), staged(0), told(landed(0), rows=RowCounts(read=100)))
    assert Metrics(exporter)("rows_read_total") == 100

    checkpoints.close()
    for file in config.parent.glob("checkpoints.db*"):
        file.unlink()
    checkpoints.installation()
    tell(checkpoints, *sync(0), *sync(1), *sync(2))

    assert Metrics(exporter)("rows_read_total") == 3 * 6


def test_a_table_that_is_configured_no_longer_has_no_sample(exporter: Exporter, checkpoints: SqlCheckpoints) -> None:
    left = TableId("formerly", "public", "left")
    with checkpoints.lease(left, "run") as lease:
        lease.record(landed(0, table=left))

    checkpoints.record_look("formerly", Look(frozenset(), 0.0))

    assert not re.search("left|formerly", exporter.text())


def test_no_label_tells_a_key_a_value_a_run_or_an_error(exporter: Exporter, checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, *sync(0), failed(run="run-of-monday"))
    text = exporter.text()

    labels = set(re.findall(r"[{,]([a-z_]+)=", text))
    assert labels == {
        "source", "table", "strategy", "version", "health", "guarantee", "severity", "result", "operation", "stage", "le",
    }  # fmt: skip
    assert not re.search("run-of-monday|hunter2|the disk said|batch-0", text)


def test_a_name_with_a_quote_a_backslash_and_a_line_is_one_label() -> None:
    hostile = TableId("shop", "public", 'a"b\\c\nd')
    text = text_of(families(Known(), [Watched(hostile, Strategy.APPEND)], "1"))

    assert len([sample for sample in read(text) if sample.startswith(f"{PREFIX}table_info")]) == 1


def test_promtool_has_nothing_to_say_of_them(exporter: Exporter, checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, *sync(0), failed(), intent(1))
    checkpoints.remember_verified(ORDERS, checkpoints.last_event(ORDERS), lambda _, __: Verified(None))
    checkpoints.record_look("shop", Look(frozenset(), 0.0, MONDAY, 5))
    checkpoints.record_look("shop", None)

    checked = subprocess.run(
        [promtool(), "check", "metrics"], input=exporter.text(), capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


# --- the command ----------------------------------------------------------------------------------


def test_the_command_prints_them_once_without_asking_the_source(
    call: Call, outside: Outside, checkpoints: SqlCheckpoints
) -> None:
    tell(checkpoints, *sync(0))
    outside.broken = AssertionError("asked")

    said = call("metrics")
    assert (said.code, said.err) == (0, "")
    assert read(said.out)[f'{PREFIX}syncs_total{OF_ORDERS},result="landed"}}'] == 1
    assert call("metrics", "--json").document["metrics"] == read(said.out)


@contextmanager
def served(text: Callable[[], str]) -> Iterator[str]:
    with MetricsServer("127.0.0.1", 0, text) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_they_are_served_under_one_path(exporter: Exporter, checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, *sync(0))
    with served(exporter.text) as url:
        with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            assert answer.read().decode() == exporter.text()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{url}/", timeout=10)


def test_checkpoints_that_do_not_answer_are_an_error_of_the_page_and_not_the_last_known_numbers() -> None:
    def text() -> str:
        raise CheckpointsUnreachable("postgresql://db/checkpoints", "it is away", "try again when it answers")

    with served(text) as url, pytest.raises(urllib.error.HTTPError, match="503") as refused:
        urllib.request.urlopen(f"{url}/metrics", timeout=10)
    assert b"it is away" in refused.value.read()


def test_they_are_served_on_an_address_of_ipv6_as_well() -> None:
    try:
        server = MetricsServer("::1", 0, lambda: "")
    except SetupError as error:
        pytest.skip(f"this machine has none: {error}")
    with server:
        assert server.server_address[0] == "::1"


def test_a_port_that_is_taken_is_named_with_the_way_out() -> None:
    with served(lambda: "") as url, pytest.raises(SetupError, match=r"choose another address with --host and --port"):
        MetricsServer("127.0.0.1", int(url.rpartition(":")[2]), lambda: "")
