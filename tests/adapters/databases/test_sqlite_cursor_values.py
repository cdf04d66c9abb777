"""What a file holds in the column of a cursor, whatever the column was declared: texts, numbers, and what is neither."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.cli.discovering import proposals
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.captures.planner import plan
from incremental_assets.core.checks.doctor import Wanted
from incremental_assets.core.config.resolve import resolve
from incremental_assets.core.config.settings import TableConfig
from incremental_assets.core.errors import SourceRefused, SourceUnreachable
from incremental_assets.core.model.column_choice import ColumnChoice
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.table import Cursor, NullPolicy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import CommitIds, Request, SyncPlan
from incremental_assets.core.strategies import Strategy
from tests.adapters.databases.test_sqlite_files import of

MOMENT = "2026-03-01 10:00:00"
EVERY_POLICY = [NullPolicy.FAIL, NullPolicy.ALWAYS, NullPolicy.SKIP]


def visits(folder: Path, declared: str, values: Sequence[Any], options: str = "") -> SqlProbe:
    with closing(sqlite3.connect(folder / "shop.db")) as file:
        file.execute(f"CREATE TABLE visits (id INTEGER PRIMARY KEY, updated_at {declared}){options}")
        file.executemany("INSERT INTO visits (updated_at) VALUES (?)", [(value,) for value in values])
        file.commit()
    return of(folder / "shop.db")


def spec_of(probe: SqlProbe, kind: CursorType, nulls: NullPolicy = NullPolicy.FAIL) -> TableSpec:
    (shape,) = (each for each in probe.catalogue() if each.id.name == "visits")
    return resolve(TableConfig("main", "visits", Strategy.UPSERT, Cursor("updated_at", kind, nulls=nulls)), shape)


def landed(probe: SqlProbe, spec: TableSpec) -> tuple[int, int, int, str]:
    """Rows that were read, those of them in quarantine, those without a cursor, and the highest cursor."""
    decision = plan(spec, Request("run"), None, CommitIds("app", 0, "batch"), DatabaseObservation(probe.bound()))
    assert isinstance(decision, SyncPlan)
    with probe.snapshot(decision) as seen:
        return seen.rows, seen.rejected, seen.nulls, str(seen.highest)


@pytest.mark.parametrize("nulls", EVERY_POLICY)
@pytest.mark.parametrize("values", [[1772359200, 1772359201], [1772359200123], [2460736.5, 2460737.25]])
def test_a_time_cursor_that_holds_numbers_is_named_with_what_to_declare(
    tmp_path: Path, values: Sequence[Any], nulls: NullPolicy
) -> None:
    probe = visits(tmp_path, "DATETIME", [*values, None])
    with pytest.raises(SourceRefused) as told:
        landed(probe, spec_of(probe, CursorType.DATETIME, nulls))
    assert "main.visits: 'updated_at' holds numbers, not texts of moments" in str(told.value)
    assert "declare `cursor: {column: updated_at, type: integer}`" in str(told.value)
    (facts,) = probe.facts([Wanted(spec_of(probe, CursorType.DATETIME).id, ("updated_at",))]).tables
    assert facts.numbers == ("updated_at",)


@pytest.mark.parametrize("declared", ["INTEGER", "DATETIME", "TIMESTAMP", "DATE", "NUMERIC", ""])
def test_whole_numbers_are_an_integer_cursor_where_that_is_declared(tmp_path: Path, declared: str) -> None:
    probe = visits(tmp_path, declared, [1772359200, 1772359300])
    spec = spec_of(probe, CursorType.INTEGER)
    assert landed(probe, spec) == (2, 0, 0, "1772359300")
    assert spec.columns[1].spark_type == "bigint"


def test_numbers_with_a_fraction_are_no_integer_cursor_and_a_generated_column_is_the_cure(tmp_path: Path) -> None:
    probe = visits(tmp_path, "DATETIME", [2460736.5, 2460737.25])
    with pytest.raises(
        SourceRefused, match=r"'updated_at' holds numbers with a fraction in 2 rows.*`datetime\(updated_at\)`"
    ):
        landed(probe, spec_of(probe, CursorType.INTEGER))
    with closing(sqlite3.connect(tmp_path / "shop.db")) as file:
        file.execute("ALTER TABLE visits RENAME updated_at TO julian")
        file.execute("ALTER TABLE visits ADD COLUMN updated_at TEXT AS (datetime(julian)) VIRTUAL")
    (shape,) = probe.catalogue()
    terms = TableConfig(
        "main",
        "visits",
        Strategy.UPSERT,
        Cursor("updated_at", CursorType.DATETIME),
        columns=ColumnChoice(exclude=("julian",)),
    )
    assert landed(probe, resolve(terms, shape)) == (2, 0, 0, "2025-03-02T18:00:00")


@pytest.mark.parametrize(
    ("declared", "options"), [("TEXT", " STRICT"), ("ANY", " STRICT"), ("TEXT", ""), ("VARCHAR(30)", "")]
)
def test_texts_of_moments_are_a_time_cursor_where_that_is_declared(tmp_path: Path, declared: str, options: str) -> None:
    probe = visits(tmp_path, declared, [MOMENT, "2026-03-01T10:00:00.5"], options)
    spec = spec_of(probe, CursorType.DATETIME)
    assert landed(probe, spec) == (2, 0, 0, "2026-03-01T10:00:00.5")
    assert spec.columns[1].spark_type == "timestamp_ntz"


@pytest.mark.parametrize("declared", ["DATETIME", "TEXT"])
def test_moments_that_say_their_zone_are_those_of_utc_in_values_and_as_cursor(tmp_path: Path, declared: str) -> None:
    # In UTC the first is of the day before, the last of the day after.
    texts = ["2026-03-01T00:30:00+02:00", "2026-03-01T00:00:00Z", "2026-03-01 10:00:00", "2026-03-01T23:30:00.5-01:00"]
    probe = visits(tmp_path, declared, texts)
    spec = spec_of(probe, CursorType.DATETIME)
    assert landed(probe, spec) == (4, 0, 0, "2026-03-02T00:30:00.5")
    day = [CursorValue.parse(CursorType.DATETIME, f"2026-03-0{number}T00:00:00") for number in (1, 2)]
    whole = [Window(None, day[0]), Window(day[0], day[1]), Window(day[1], None)]
    assert [each.rows for each in probe.measure(spec, whole)] == [1, 2, 1]
    (lowest,) = probe.lowest((spec,))
    assert str(lowest) == "2026-02-28T22:30:00"


def test_a_moment_that_says_its_zone_cannot_be_compared_with_those_of_a_zone_that_is_declared(tmp_path: Path) -> None:
    probe = visits(tmp_path, "DATETIME", ["2026-03-01 10:00:00", "2026-03-01T10:00:00Z", None])
    (shape,) = probe.catalogue()
    cursor = Cursor("updated_at", CursorType.DATETIME, nulls=NullPolicy.ALWAYS)
    for zone, rejected in (("UTC", 0), ("Europe/Paris", 1)):
        terms = TableConfig("main", "visits", Strategy.UPSERT, replace(cursor, zone=zone))
        assert landed(probe, resolve(terms, shape)) == (3, rejected, 1, "2026-03-01T10:00:00")


@pytest.mark.parametrize("value", ["0001-01-01T00:00:00+02:00", "2026-03-01T10:00:00+25:00", "2026-03-01T10:00:00 Z"])
def test_what_says_no_zone_that_there_is_goes_to_quarantine(tmp_path: Path, value: str) -> None:
    probe = visits(tmp_path, "DATETIME", [MOMENT, value])
    assert landed(probe, spec_of(probe, CursorType.DATETIME)) == (2, 1, 0, "2026-03-01T10:00:00")


@pytest.mark.parametrize("nulls", EVERY_POLICY)
@pytest.mark.parametrize("value", [1772359200, 2460736.5, "noon", b"\x01"])
def test_a_single_value_that_is_no_moment_goes_to_quarantine_whatever_becomes_of_nulls(
    tmp_path: Path, value: Any, nulls: NullPolicy
) -> None:
    probe = visits(tmp_path, "DATETIME", [MOMENT, value])
    assert landed(probe, spec_of(probe, CursorType.DATETIME, nulls)) == (2, 1, 0, "2026-03-01T10:00:00")


@pytest.mark.parametrize(
    ("declared", "values", "proposed"),
    [
        ("INTEGER", [1772359200, 1772359300], CursorType.INTEGER),
        ("INTEGER", [1, 2], None),
        ("DATETIME", [1772359200123, 1772359300456], CursorType.INTEGER),
        ("DATETIME", [2460736.5, 2460737.25], None),
        ("DATETIME", [MOMENT], CursorType.DATETIME),
        ("DATETIME", [MOMENT, 1772359200], None),
        ("TEXT", [MOMENT], CursorType.DATETIME),
        ("TEXT", ["2026-03-01T10:00:00.123Z"], CursorType.DATETIME),
        ("TEXT", ["2026-03-01T10:00:00+02:00"], CursorType.DATETIME),
        ("TEXT", ["2026-03-01"], CursorType.DATE),
        ("TEXT", [MOMENT, "noon"], None),
        ("REAL", [2460736.5], None),
    ],
)
@pytest.mark.parametrize("options", ["", " WITHOUT ROWID"])
def test_what_is_proposed_is_what_the_values_can_be_read_as(
    tmp_path: Path, declared: str, values: Sequence[Any], proposed: CursorType | None, options: str
) -> None:
    probe = of(tmp_path / "shop.db")
    with closing(sqlite3.connect(tmp_path / "shop.db")) as file:
        file.execute(f"CREATE TABLE visits (id TEXT PRIMARY KEY NOT NULL, updated_at {declared}){options}")
        file.executemany("INSERT INTO visits VALUES (?, ?)", list(enumerate(values)))
        file.commit()
    (found,) = proposals(probe, probe.catalogue())
    assert found.terms is not None
    cursor = found.terms.cursor
    assert (cursor and (cursor.column, cursor.type)) == (proposed and ("updated_at", proposed))
    if cursor:
        (shape,) = probe.catalogue()
        assert landed(probe, resolve(found.terms, shape))[:2] == (len(values), 0)


@pytest.fixture
def closed_folder() -> Iterator[Path]:
    """A folder into which this process may not write, also where it is root's."""
    folder = Path(tempfile.mkdtemp())
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@contextmanager
def as_another(folder: Path) -> Iterator[None]:
    folder.chmod(0o555)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_log_that_is_read_through_a_file_which_may_not_be_made_is_told_with_the_folder(closed_folder: Path) -> None:
    with closing(sqlite3.connect(closed_folder / "shop.db")) as file:
        file.execute("PRAGMA journal_mode = wal")
        file.execute("CREATE TABLE visits (id INTEGER PRIMARY KEY)")
    with as_another(closed_folder), pytest.raises(SourceUnreachable) as told:
        of(closed_folder / "shop.db").catalogue()
    assert f"is read through shop.db-shm beside it, and this user may not make that in {closed_folder}" in str(
        told.value
    )
    closed_folder.chmod(0o755)
    with closing(sqlite3.connect(closed_folder / "shop.db")) as file:
        file.execute("PRAGMA journal_mode = delete")
    with as_another(closed_folder):
        assert [shape.id.name for shape in of(closed_folder / "shop.db").catalogue()] == ["visits"]


@pytest.mark.parametrize(("stamped", "guarantee"), [(True, Guarantee.SETTLED), (False, Guarantee.BEST_EFFORT)])
def test_texts_of_moments_are_settled_where_a_default_and_a_trigger_stamp_them(
    tmp_path: Path, stamped: bool, guarantee: Guarantee
) -> None:
    now = "strftime('%Y-%m-%d %H:%M:%f', 'now')"
    probe = visits(tmp_path, f"TEXT NOT NULL DEFAULT ({now})" if stamped else "TEXT NOT NULL", [MOMENT], " STRICT")
    if stamped:
        with closing(sqlite3.connect(tmp_path / "shop.db")) as file:
            file.execute(
                "CREATE TRIGGER stamp AFTER UPDATE ON visits WHEN NEW.updated_at IS OLD.updated_at "
                f"BEGIN UPDATE visits SET updated_at = {now} WHERE id = NEW.id; END"
            )
    decision = plan(
        spec_of(probe, CursorType.DATETIME),
        Request("run"),
        None,
        CommitIds("app", 0, "batch"),
        DatabaseObservation(probe.bound()),
    )
    assert isinstance(decision, SyncPlan)
    assert decision.reading.settled.guarantee is guarantee, decision.reading.settled.reason
