"""Columns that are left out, discarded or taken in later, from a real database to the lake, the ledger and `plan`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from incremental_assets.core.planning.plan import Mode, SyncPlan
from incremental_assets.core.planning.report import Status
from incremental_assets.core.ports import Ports, Snapshot, Source
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance.stand import Stand
from tests.shop import PASSWORD, Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
- {table: public.orders, cursor: {column: at, type: timestamp}, strategy: upsert}
- {table: public.readings, cursor: {column: at, type: timestamp}}
"""
COLUMNS = "id int PRIMARY KEY, note text, secret text, at timestamptz NOT NULL DEFAULT clock_timestamp()"
NAMES = ("orders", "readings")


@pytest.fixture
def desk(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Stand:
    """An upsert and an append, each with a row in the source."""
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    stand = Stand(Shop.open(postgres, database, tmp_path, TABLES, options="unlisted: ignore"), spark)
    for name in NAMES:
        stand.execute(f"CREATE TABLE {name} ({COLUMNS})", f"INSERT INTO {name} VALUES (1, 'one', 'old')")
    return stand


def configure(desk: Stand, more: str) -> None:
    """Both tables with more keys."""
    desk.shop.config.write_text(desk.shop.config.read_text().replace("type: timestamp}", f"type: timestamp}}, {more}"))


def copies(desk: Stand, *columns: str) -> list[list[tuple[object, ...]]]:
    """What both tables show of these columns."""
    return [desk.copy(name, *columns) for name in NAMES]


def ledger(desk: Stand) -> dict[str, str]:
    """The last change of each table's columns."""
    with desk.runtime() as runtime:
        standings = runtime.checkpoints.standings()
        return {table.name: str(found.changed[1]) for table, found in standings.items() if found.changed}


def whole_lake(desk: Stand) -> bytes:
    """Every byte that syncs have left on disk: the lake, quarantine and staging, and the checkpoint table."""
    return b"".join(path.read_bytes() for path in desk.shop.folder.rglob("*") if path.is_file())


def test_an_excluded_column_is_never_read(desk: Stand) -> None:
    configure(desk, "columns: {exclude: [secret]}")
    for name in NAMES:
        desk.execute(f"UPDATE {name} SET secret = 'hunter2', note = 'infinity'")
    desk.land()
    assert copies(desk, "id", "note") == [[(1, "infinity")]] * 2
    assert b"hunter2" not in whole_lake(desk)
    assert b"secret" not in b"".join(path.read_bytes() for path in desk.lake.rglob("*") if path.is_file())
    assert [desk.check(name) for name in NAMES] == [0, 0]


@pytest.mark.acceptance
def test_a_column_that_is_excluded_later_stays_with_what_it_held_and_comes_back_when_it_is_read_again(
    desk: Stand,
) -> None:
    desk.land()
    before = desk.shop.config.read_text()
    configure(desk, "columns: {exclude: [secret]}, schema_changes: freeze")
    desk.execute(*(f"INSERT INTO {name} VALUES (2, 'two', 'new')" for name in NAMES))
    desk.land()
    assert copies(desk, "id", "secret") == [[(1, "old"), (2, None)]] * 2
    assert set(ledger(desk).values()) == {"secret: excluded (string), by columns"}
    assert [desk.check(name) for name in NAMES] == [0, 0]

    desk.shop.config.write_text(before)
    desk.execute(*(f"INSERT INTO {name} VALUES (3, 'three', 'newer')" for name in NAMES))
    reports = desk.land()
    # The second was written meanwhile, and may lie above the watermark, from where rows are read again.
    assert [[rows[0], rows[-1]] for rows in copies(desk, "id", "secret")] == [[(1, "old"), (3, "newer")]] * 2
    assert desk.copy("orders", "id", "secret") == [(1, "old"), (2, "new"), (3, "newer")]
    assert ledger(desk) == {
        "orders": "secret: filled (string), by schema_changes: evolve",
        "readings": "secret: returned (string), by schema_changes: evolve",
    }
    assert "columns (secret) are back after an absence" in " ".join(reports["readings"].warnings)
    assert [desk.check("orders"), {report.status for report in desk.sync().values()}] == [0, {"idle"}]


@pytest.mark.acceptance
def test_new_columns_are_discarded_and_told_once_until_they_are_wanted(desk: Stand) -> None:
    configure(desk, "schema_changes: discard")
    desk.land()
    told = []
    for number in (2, 3):
        for name in NAMES:
            desk.execute(f"ALTER TABLE {name} ADD COLUMN IF NOT EXISTS colour text")
            desk.execute(f"INSERT INTO {name} (id, note, colour) VALUES ({number}, 'more', 'red')")
        reports = desk.land()
        told.append({len([each for each in report.warnings if "not read" in each]) for report in reports.values()})
    assert told == [{1}, {0}]
    assert set(ledger(desk).values()) == {"colour: discarded, by schema_changes: discard"}
    assert [desk.check(name) for name in NAMES] == [0, 0]
    assert {report.status for report in desk.sync().values()} == {"idle"}

    desk.execute(*(f"ALTER TABLE {name} ALTER COLUMN id TYPE bigint" for name in NAMES))
    desk.execute(*(f"INSERT INTO {name} (id) VALUES (4)" for name in NAMES))
    refused = desk.sync()
    assert all("`schema_changes: discard` does not follow" in (each.error or "") for each in refused.values())

    desk.shop.config.write_text(desk.shop.config.read_text().replace("discard", "widen"))
    # The new type made the table compare itself, which reads the column where its rows differ: nothing is left to be filled.
    assert [[str(each) for each in report.schema_changes] for report in desk.land().values()] == [
        [
            "colour: added (string), by schema_changes: widen",
            "id: widened (int -> bigint), by schema_changes: widen",
        ]
    ] * 2
    held = {name: desk.copy(name, "id", "colour")[1:3] for name in NAMES}
    assert held == {"orders": [(2, "red"), (3, "red")], "readings": [(2, None), (3, None)]}
    assert set(ledger(desk).values()) == {"id: widened (int -> bigint), by schema_changes: widen"}


class MovedBeforeTheFill:
    """A source in which a row is changed after the sync, before the values of new columns are read."""

    def __init__(self, source: Source, change: Callable[[], object]) -> None:
        self._source, self._change = source, change

    @contextmanager
    def snapshot(self, plan: SyncPlan) -> Iterator[Snapshot]:
        if plan.request.mode is Mode.FILL:
            self._change()
        with self._source.snapshot(plan) as snapshot:
            yield snapshot


@pytest.mark.acceptance
def test_a_column_that_comes_with_a_default_has_it_in_every_row_and_no_row_is_shown_by_half(desk: Stand) -> None:
    stamps = "timestamptz '2024-01-01Z' + n * interval '1 day'"
    desk.execute(f"INSERT INTO orders SELECT n, 'many', '', {stamps} FROM generate_series(2, 60) n")
    desk.land("orders")
    desk.execute("ALTER TABLE orders ADD COLUMN colour text DEFAULT 'red'")

    def change() -> None:
        changed = "UPDATE orders SET colour = 'blue', note = 'moved'"
        desk.execute(f"{changed}, at = clock_timestamp() WHERE id = 7")
        # To another stamp of the range that is read: the source's row is another version than the copy's.
        desk.execute(f"{changed}, at = at + interval '1 h' WHERE id = 8")

    def moved(ports: Ports) -> Ports:
        source: Any = MovedBeforeTheFill(ports.source, change)
        return replace(ports, source=source)

    report = desk.land("orders", through=moved)["orders"]

    # That of today may lie above the watermark, from where whole rows are read.
    assert report.rows.updated >= 57
    assert report.warnings[-1].endswith("; none are left")
    assert [row for row in desk.copy("orders", "id", "note", "colour") if row[2] != "red"] == [
        (7, "many", None),
        (8, "many", None),
    ]
    assert ledger(desk) == {"orders": "colour: filled (string), by schema_changes: evolve"}
    desk.land("orders")
    assert [row for row in desk.copy("orders", "id", "note", "colour") if row[0] == 7] == [(7, "moved", "blue")]
    assert desk.check("orders") > 0
    desk.repair("orders")
    desk.assert_equal("orders", "SELECT id, note, secret, at, colour FROM orders")
    assert desk.sync("orders")["orders"].status is Status.IDLE


@pytest.mark.acceptance
def test_a_table_that_is_compared_or_read_whole_has_the_values_of_a_new_column_at_once_and_nothing_warns_of_it(
    desk: Stand,
) -> None:
    written, by_cursor = desk.shop.config.read_text(), "cursor: {column: at, type: timestamp}"
    written = written.replace(f"{by_cursor}, strategy: upsert", "strategy: upsert, compare: {every: 0s}")
    desk.shop.config.write_text(written.replace(by_cursor, "strategy: full_refresh, refresh_every: 0s"))
    desk.land()
    desk.execute(*(f"ALTER TABLE {name} ADD COLUMN colour text DEFAULT 'red'" for name in NAMES))
    reports = desk.land()
    assert copies(desk, "id", "colour") == [[(1, "red")]] * 2
    assert {name: report.warnings for name, report in reports.items()} == dict.fromkeys(NAMES, ())


@pytest.mark.acceptance
def test_a_new_column_whose_values_cannot_all_land_is_read_with_whole_rows(desk: Stand) -> None:
    desk.execute("INSERT INTO orders VALUES (2, 'two', 'old', '2024-01-01Z'), (3, 'three', 'old', '2024-01-02Z')")
    desk.land("orders")
    desk.execute("ALTER TABLE orders ADD COLUMN rate numeric(5,2) DEFAULT 1.5")
    desk.execute("UPDATE orders SET rate = 'NaN' WHERE id = 3")
    desk.land("orders")
    assert [row[1] for row in desk.copy("orders", "id", "rate")] == [Decimal("1.5"), Decimal("1.5")]
    (held,) = desk.quarantined("orders")
    assert "three" in str(held)
    assert desk.check("orders") == 0
