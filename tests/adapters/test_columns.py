"""Columns that are left out, discarded or taken in later, from a real database to the lake, the ledger and `plan`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

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
        return {table.name: str(change) for table, (_, change) in runtime.checkpoints.schema_changes().items()}


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
    assert set(ledger(desk).values()) == {"secret: returned (string), by schema_changes: evolve"}
    assert all("columns (secret) are back after an absence" in " ".join(each.warnings) for each in reports.values())


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
    desk.land()
    assert [rows[1:] for rows in copies(desk, "id", "colour")] == [[(2, None), (3, None), (4, None)]] * 2
    with desk.runtime() as runtime:
        assert set(ledger(desk).values()) == {"id: widened (int -> bigint), by schema_changes: widen"}
        assert len(runtime.checkpoints.schema_changes()) == 2
